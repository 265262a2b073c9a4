//! The rounds that prove the limit of a step, in a dry run: how long they take, what they slow, and what they do not.

use clock::Ns;
use record::{Lever, Perturbation, Proof};
use scenario::{Scenario, Stage, Step};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The rounds of a step; `None` where its plan asks for none, or no live run could carry it out.
fn rounds(scenario: &Scenario, step: &Step) -> Option<Proof> {
    fleet::prove::planned(scenario, step, scenario.head.seed).ok().flatten()
}

/// The rounds of all steps together.
pub(super) fn time(scenario: &Scenario, stages: &[Stage]) -> Duration {
    let of = |stage: &Stage| match stage {
        Stage::Step(step) => rounds(scenario, step).map(|proof| proof.length()),
        Stage::Search(_) => None,
    };
    stages.iter().filter_map(of).fold(Ns::ZERO, Ns::plus).into()
}

/// Two lines on the rounds of a step; none where it has none.
pub(super) fn text(scenario: &Scenario, step: &Step) -> Vec<String> {
    let Some(proof) = rounds(scenario, step) else { return Vec::new() };
    let slowed: Vec<String> = proof.perturbations.iter().map(words).collect();
    let mut lines = vec![match slowed.is_empty() {
        true => "prove: nothing can be slowed, so there are no rounds".to_owned(),
        false => format!(
            "prove: {} rounds of {}, {} in all, with one of these slower, or none: {}",
            proof.rounds.len(),
            units::duration(proof.round.into()),
            units::duration(proof.length().into()),
            slowed.join(", ")
        ),
    }];
    let mut whys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for left in &proof.untouched {
        whys.entry(&left.why).or_default().push(&left.subject);
    }
    let left = |(why, subjects): (&str, Vec<&str>)| format!("{} ({why})", subjects.join(", "));
    let left: Vec<String> = whys.into_iter().map(left).collect();
    lines.extend((!left.is_empty()).then(|| format!("not slowed: {}", left.join("; "))));
    lines
}

/// The same for programs.
pub(super) fn as_json(scenario: &Scenario, step: &Step) -> Value {
    let Some(proof) = rounds(scenario, step) else { return Value::Null };
    let slowed = |of: &Perturbation| json!({ "subject": of.subject, "lever": word(of.lever), "factor": of.factor });
    let left = |of: &record::Untouched| json!({ "subject": of.subject, "why": of.why });
    json!({
        "rounds": proof.rounds.len(),
        "round_s": proof.round.as_secs_f64(),
        "length_s": proof.length().as_secs_f64(),
        "slowed": proof.perturbations.iter().map(slowed).collect::<Vec<_>>(),
        "untouched": proof.untouched.iter().map(left).collect::<Vec<_>>(),
    })
}

/// `store.p1 (rate)`.
fn words(of: &Perturbation) -> String {
    format!("{} ({})", of.subject, word(of.lever))
}

fn word(lever: Lever) -> &'static str {
    match lever {
        Lever::Rate => "rate",
        Lever::Ops => "ops",
        Lever::Latency => "latency",
        Lever::Cpu => "cpu",
        Lever::Depth => "depth",
        Lever::Think => "think",
        Lever::Arrivals => "arrivals",
    }
}

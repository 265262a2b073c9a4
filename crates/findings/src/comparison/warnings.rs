//! Warnings of a comparison: what makes two runs incomparable, or the evidence weak.

use super::pairs::{PlanPoint, UnpairedPoint};
use super::{Evidence, Method, StepPair};
use crate::Analysis;
use crate::figures::{Loops, StepFigures};
use crate::generator::Limit;
use crate::served::{ServedBy, Traffic};
use crate::steady::Steadiness;
use crate::warnings::Severity;
use record::{ProducerKind, Record, Status};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Something to know.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonWarning {
    /// A stable, lower-case, hyphenated word.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What is so, with numbers.
    pub text: String,
    /// What to do next; empty where there is nothing.
    pub next: &'static str,
}

type Run<'a> = (&'a Record, &'a Analysis);
type PointPair<'p, 'a> = &'p [PlanPoint<'a>; 2];

/// Everything to know, the gravest first.
pub(super) fn all_warnings(
    sides: [&[Run<'_>]; 2],
    pairs: &[[PlanPoint<'_>; 2]],
    steps: &[StepPair],
    unpaired: &[UnpairedPoint],
    interleaved: bool,
) -> Vec<ComparisonWarning> {
    let mut all = Vec::new();
    runs(sides, &mut all);
    if pairs.is_empty() {
        all.push(error(
            "nothing-paired",
            "the runs have no step in common: no plan and settings are on both sides".to_owned(),
            "run the same scenario on both systems",
        ));
    }
    loads(pairs, &mut all);
    trust(pairs, &mut all);
    evidence(steps, interleaved, &mut all);
    if !unpaired.is_empty() && !pairs.is_empty() {
        let text =
            format!("not compared, because only one side has them: {}", points(unpaired.len()));
        all.push(warning("unpaired", text, "see the list of steps without partner"));
    }
    all.sort_by_key(|c| c.severity);
    all
}

/// How the figures of a record came to be.
fn made(record: &Record) -> &'static str {
    match record.head().producer.kind {
        ProducerKind::Estimated => "estimated",
        ProducerKind::Simulated => "simulated",
        ProducerKind::Live | ProducerKind::Imported => "measured",
    }
}

/// What was left out of an observed record when it was made, or is known of a part alone, and files that are on both sides.
fn as_read(sides: [&[Run<'_>]; 2], all: &mut Vec<ComparisonWarning>) {
    let said = |code: &'static str, next: &'static str, all: &mut Vec<ComparisonWarning>| {
        for (name, side) in ["the baseline", "the other run"].into_iter().zip(sides) {
            let events = side.iter().flat_map(|(record, _)| record.events());
            for event in events.filter(|event| event.code == code) {
                all.push(warning(code, format!("{name}: {}", event.text), next));
            }
        }
    };
    said("places-left-out", "explain fewer places, or longer samples, in both records", all);
    let digests = |side: &[Run<'_>]| -> BTreeMap<String, String> {
        let facts = side.iter().flat_map(|(record, _)| record.facts());
        let of = facts.filter(|fact| fact.key == "sha256");
        of.map(|fact| (fact.value.clone(), fact.subject.clone())).collect()
    };
    let [a, b] = sides.map(digests);
    let both: Vec<&str> =
        a.iter().filter(|(digest, _)| b.contains_key(*digest)).map(|(_, name)| &name[..]).collect();
    if !both.is_empty() && !same(sides[0], sides[1]) {
        let text = format!("the same file was read for both sides: {}", both.join(", "));
        all.push(warning("same-file", text, ""));
    }
}

fn is_observed(analysis: &Analysis) -> bool {
    analysis.steps.iter().any(|step| step.loops == Loops::Observed)
}

/// Whether both sides are of the same run.
pub(super) fn same(a: &[Run<'_>], b: &[Run<'_>]) -> bool {
    let one = |a: &Run<'_>, b: &Run<'_>| {
        let (ha, hb) = (a.0.head(), b.0.head());
        (ha.wall_ns, ha.epoch, ha.seed, &ha.title) == (hb.wall_ns, hb.epoch, hb.seed, &hb.title)
            && (a.0.status(), a.0.facts()) == (b.0.status(), b.0.facts())
            && a.1.steps == b.1.steps
    };
    a.iter().any(|a| b.iter().any(|b| one(a, b)))
}

/// The runs as wholes.
fn runs(sides: [&[Run<'_>]; 2], all: &mut Vec<ComparisonWarning>) {
    if same(sides[0], sides[1]) {
        let text = "both sides have the same record: nothing can differ in it".to_owned();
        all.push(warning("same-run", text, "compare with the record of another run"));
    }
    for (name, side) in ["the baseline", "the other run"].into_iter().zip(sides) {
        for (_, analysis) in side {
            // What others load may idle, and was planned by nobody here.
            let whole = analysis.run.end == Status::Complete && is_observed(analysis);
            if let Some(how) = analysis.run.incomplete().filter(|_| !whole) {
                let text = format!("{name} {how}: steps that it did not complete are undecided");
                all.push(error("run-incomplete", text, "run it again to its end"));
            }
            if let Some(v) = analysis.verification.as_ref().filter(|v| v.wrong > 0) {
                let blocks = units::count(v.wrong as f64);
                let text = format!("{name} read wrong data: {blocks} blocks");
                all.push(error("wrong-data", text, "ignore performance until data is correct"));
            }
        }
    }
    if sides.iter().all(|side| side.iter().all(|(_, analysis)| is_observed(analysis))) {
        as_read(sides, all);
    }
    let [Some(wa), Some(wb)] = sides.map(|side| side.first().map(|(record, _)| made(record)))
    else {
        return;
    };
    if wa != wb {
        let text = format!(
            "the baseline was {wa}, the other run {wb}: the difference shows the model's error as well"
        );
        all.push(warning("simulated", text, "compare like with like to compare systems"));
    }
}

/// Whether the same was asked of both sides.
fn loads(pairs: &[[PlanPoint<'_>; 2]], all: &mut Vec<ComparisonWarning>) {
    let loops = count(pairs, |[a, b]| a.first().loops != b.first().loops);
    if loops > 0 {
        let text = format!(
            "the loops differ in {}: a closed loop waits for its target and an open one does not, so that neither \
             rate nor latency can be compared",
            points(loops)
        );
        all.push(error("loops-differ", text, "run the same workload on both systems"));
    }
    let load = count(pairs, |[a, b]| {
        let (a, b) = (a.first(), b.first());
        if a.loops == Loops::Observed {
            return false;
        }
        let asked = |s: &StepFigures| (s.depth, s.offered_iops.to_bits(), s.completeness.len());
        a.loops == b.loops && (asked(a) != asked(b) || transfers_differ(a, b))
    });
    if load > 0 {
        let text = format!(
            "depth, rate, number of workers or size of transfers differ though settings are equal, in {}: not the same load",
            points(load)
        );
        all.push(warning("loads-differ", text, "run the same scenario on both systems"));
    }
    mixes(pairs, all);
    if !all.iter().any(|of| of.code == "places-left-out") {
        places(pairs, all);
    }
}

/// Transfers and directions of observed loads differ from such shares on.
const TRANSFERS: f64 = 0.1;
const READS: f64 = 0.05;
/// Places that are named.
const NAMED: usize = 3;

/// What was asked of an observed system that has a part in its latency, beside the rate: said of the first pair, which is the
/// whole where there is one.
fn mixes(pairs: &[[PlanPoint<'_>; 2]], all: &mut Vec<ComparisonWarning>) {
    let pair = pairs.iter().map(|[a, b]| [a.first(), b.first()]);
    let Some(pair) = pair.into_iter().find(|[a, _]| a.loops == Loops::Observed) else { return };
    let window = crate::figures::label(&pair[0].plan, &pair[0].settings, 0);
    let size = pair.map(|s| s.total.both.bytes as f64 / s.total.both.ops as f64);
    let reads = pair.map(|s| s.total.read.ops as f64 / s.total.both.ops as f64);
    let mut parts = Vec::new();
    if (size[1] / size[0]).ln().abs() > TRANSFERS.ln_1p() {
        let [a, b] = size.map(|bytes| match bytes / 1e3 {
            kb if kb >= 99.95 => format!("{kb:.0} kB"),
            kb if kb >= 9.995 => format!("{kb:.1} kB"),
            kb => format!("{kb:.2} kB"),
        });
        parts.push(format!("an operation moves {b} and not {a}"));
    }
    if (reads[1] - reads[0]).abs() > READS {
        let [a, b] = reads.map(|share| units::percent((share * 100.0).round()));
        parts.push(format!("{b} of the operations read and not {a}"));
    }
    if !parts.is_empty() {
        let text = format!(
            "another mix of operations in {window}: {}; latency holds that as well",
            parts.join(", ")
        );
        all.push(warning("mix-differs", text, ""));
    }
}

/// Loads that only one side has, of the first observed pair.
fn places(pairs: &[[PlanPoint<'_>; 2]], all: &mut Vec<ComparisonWarning>) {
    let pair = pairs.iter().map(|[a, b]| [a.first(), b.first()]);
    let Some(pair) = pair.into_iter().find(|[a, _]| a.loops == Loops::Observed) else { return };
    let names = |s: &StepFigures| -> BTreeSet<String> {
        s.groups.iter().map(|group| group.group.clone()).collect()
    };
    let [a, b] = pair.map(names);
    for (less, more, side) in [(&a, &b, "the other run"), (&b, &a, "the baseline")] {
        let only: Vec<&str> = more.difference(less).map(String::as_str).collect();
        if let [first, ..] = only[..] {
            let rest = only.len().saturating_sub(NAMED);
            let named = only[..only.len().min(NAMED)].join(", ");
            let others = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let text = match only.len() {
                1 => format!("only {side} has the load of {first}"),
                n => format!("only {side} has {n} loads: {named}{others}"),
            };
            all.push(warning("places-differ", text, ""));
        }
    }
}

/// Whether the mean transfer is another one; mixed sizes may scatter by a hundredth.
fn transfers_differ(a: &StepFigures, b: &StepFigures) -> bool {
    let size = |s: &StepFigures| s.total.both.bytes as f64 / s.total.both.ops as f64;
    (size(a) / size(b) - 1.0).abs() > 0.01
}

/// Whether figures are the targets'.
fn trust(pairs: &[[PlanPoint<'_>; 2]], all: &mut Vec<ComparisonWarning>) {
    let either = |of: fn(&StepFigures) -> bool| {
        count(pairs, |points| points.iter().flat_map(|p| &p.steps).any(|s| of(s.figures)))
    };
    let limited = either(|s| s.generator.limit == Limit::Limited);
    if limited > 0 {
        let text = format!("the generator limited {}: no verdict on the system", points(limited));
        let next = "more workers or larger blocks, or a faster machine to generate the load";
        all.push(error("generator-limited", text, next));
    }
    let suspect = either(|s| s.generator.limit == Limit::Suspect);
    if suspect > 0 {
        let text = format!("the generator may have held {} back", points(suspect));
        all.push(warning("generator-suspect", text, "see the review of each run"));
    }
    let served = count(pairs, |[a, b]| cached(a.first()) != cached(b.first()));
    if served > 0 {
        let text = format!("served from a cache on one side only: {}", points(served));
        let next = "use a working set larger than the cache, or warm up both sides alike";
        all.push(warning("cache-differs", text, next));
    }
    let unsteady = either(|s| matches!(s.steady, Some(Steadiness::NotSteady(_))));
    if unsteady > 0 {
        let text = format!(
            "not steady: {}; intervals hold for the time that was measured, not for the next",
            points(unsteady)
        );
        all.push(warning("not-steady", text, "warm up until steady (plan.warmup, plan.steady)"));
    }
}

/// How better and worse can be told.
const TURNS: &str = "take turns: `wirespeed run A.toml --against B.toml`, or records made as A B B A … and compared by \
                     `wirespeed compare A1 A2 A3 --against B1 B2 B3`";

/// How strong the evidence is.
fn evidence(steps: &[StepPair], interleaved: bool, all: &mut Vec<ComparisonWarning>) {
    let by = |wanted: fn(&Method) -> bool| {
        let has = |s: &&StepPair| s.metrics.iter().any(|m| m.method.as_ref().is_some_and(wanted));
        steps.iter().filter(has).count()
    };
    let tested = |s: &&StepPair| s.metrics.iter().any(|m| m.method.is_some());
    hours(steps, all);
    let observed = steps.iter().any(|s| s.evidence.is_observed());
    let after = |s: &&StepPair| s.evidence == Evidence::OneAfterTheOther && tested(s);
    let after = steps.iter().filter(after).count();
    if after > 0 {
        let text = format!(
            "one side was measured after the other in {}: what the machine did meanwhile looks like a difference of the \
             systems, however often a side was repeated without a pause",
            points(after)
        );
        all.push(warning("one-after-the-other", text, TURNS));
    } else if !observed && by(|m| matches!(m, Method::Batches { .. })) > 0 {
        let text =
            "simulated once on each side: intervals hold what varies within a run".to_owned();
        all.push(warning("single-run", text, "repeat steps (plan.repeat)"));
    }
    if interleaved && by(|m| matches!(m, Method::Rounds { .. })) < steps.len() {
        let text = "not every step has two rounds that both sides completed".to_owned();
        all.push(warning("few-rounds", text, "run more rounds (plan.repeat)"));
    }
}

/// What a comparison of loads that nobody set entitles to say: of which hours it is, and of which days.
fn hours(steps: &[StepPair], all: &mut Vec<ComparisonWarning>) {
    // Results of a test were asked for, and have no samples to be judged by.
    let judged = || steps.iter().filter(|s| s.metrics.iter().any(|m| m.method.is_some()));
    if !judged().any(|s| s.evidence.is_observed()) {
        return;
    }
    let text = "nobody set these loads: rates are what was asked for, and latency rises with them; \"mean at equal IOPS\" \
                compares times of equal rates"
        .to_owned();
    all.push(ComparisonWarning { code: "observed", severity: Severity::Note, text, next: "" });
    let named = |of: &dyn Fn(&StepPair) -> bool| -> Option<String> {
        let names: Vec<&str> = judged().filter(|s| of(s)).map(|s| s.label.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    if let Some(names) = named(&|s| s.evidence == Evidence::OtherHours) {
        let text = format!(
            "other hours on each side: {names}; what a day or a week brings looks like a difference"
        );
        let next = "name windows of the same hours of both weeks: `wirespeed explain FILE… --window NAME=FROM..TO`";
        all.push(warning("other-hours", text, next));
    }
    if let Some(names) = named(&|s| s.evidence == Evidence::SameHoursOfDay) {
        let text = format!(
            "other days of the week on each side: {names}; the hours of the day are compared"
        );
        all.push(warning("other-days", text, ""));
    }
    for step in judged() {
        let Some([a, b]) = step.hours else { continue };
        if a.min(b) < ALL_HOURS {
            let [a, b] = [a, b].map(|share| units::percent((share * 100.0).round()));
            let text = format!(
                "{}: figures are of the hours that both sides have, {a} of the baseline's and {b} of the other's",
                step.label
            );
            all.push(warning("hours-in-common", text, ""));
        }
        if let Some(odd) = &step.odd_days {
            let change = |of: f64| {
                let sign = if of < 0.0 { '−' } else { '+' };
                format!("{sign}{}", units::percent((of.abs() * 100.0).round()))
            };
            let days = odd.days.iter().map(|(day, of)| format!("{day} {}", change(*of)));
            let text = format!(
                "{}: the load changed otherwise on {}, against {} on the middle day; a holiday or an outage hides what the other \
                 days share",
                step.label,
                days.collect::<Vec<_>>().join(", "),
                change(odd.usual)
            );
            let next =
                "name windows without those days: `wirespeed explain FILE… --window NAME=FROM..TO`";
            all.push(warning("odd-days", text, next));
        }
    }
}

/// Less than this part of a side is said to be compared.
const ALL_HOURS: f64 = 0.95;

/// Whether a cache served any of a step's targets.
fn cached(step: &StepFigures) -> bool {
    let by_cache = |t: &Option<Traffic>| t.is_some_and(|t| t.by == ServedBy::Cache);
    step.served.iter().any(|s| by_cache(&s.read) || by_cache(&s.write))
}

fn count(pairs: &[[PlanPoint<'_>; 2]], of: impl Fn(PointPair<'_, '_>) -> bool) -> usize {
    pairs.iter().filter(|pair| of(pair)).count()
}

/// `1 step`, `3 steps`: points of the plan, however often repeated.
fn points(n: usize) -> String {
    format!("{n} step{}", if n == 1 { "" } else { "s" })
}

fn error(code: &'static str, text: String, next: &'static str) -> ComparisonWarning {
    ComparisonWarning { code, severity: Severity::Error, text, next }
}

fn warning(code: &'static str, text: String, next: &'static str) -> ComparisonWarning {
    ComparisonWarning { code, severity: Severity::Warning, text, next }
}

//! What limits the steps, in sentences; steps with the same limit share one.

use crate::headline::plural;
use crate::sentence::{Section, Sentence, Tone};
use crate::text::clean;
use findings::attribution::{Attribution, Limiter};
use findings::network::NetLimit;
use findings::{Analysis, StepFigures};

/// Limits that get a sentence; the others are in the JSON.
const NAMED: usize = 6;

/// The attribution of a step in which a hop's utilization is known. Otherwise other findings cover load and generator.
fn answer(step: &StepFigures) -> Option<&Attribution> {
    let known = |found: &&Attribution| found.hops.iter().any(|hop| hop.utilization.is_some());
    step.attribution.as_ref().filter(known)
}

fn work(step: &StepFigures) -> f64 {
    step.total.both.bytes_per_s
}

/// What limits a step, where that was found: its storage loads together, and each direction of its network loads.
pub(crate) fn limits(step: &StepFigures) -> Vec<String> {
    let storage = answer(step).map(|found| clean(&found.line()));
    let directions = step.network.iter().flat_map(|pair| &pair.directions);
    let found =
        directions.filter(|way| !matches!(way.limit.by, NetLimit::NotFound | NetLimit::Unknown));
    let network = found.map(|direction| clean(&direction.limit.text));
    let bare = |text: String| text.strip_prefix("limited by ").unwrap_or(&text).to_owned();
    storage.into_iter().chain(network).map(bare).collect()
}

/// What limits the step of peak throughput.
pub(crate) fn headline(analysis: &Analysis) -> Option<Sentence> {
    let most = analysis.steps.iter().rev().max_by(|a, b| work(a).total_cmp(&work(b)))?;
    let found = answer(most)?;
    let at = if analysis.steps.len() > 1 { format!("{}: ", most.label()) } else { String::new() };
    let text = capital(&clean(&format!("{at}{}.", found.line())));
    Some(Sentence::new(tone(&found.limit), text, Section::Step(most.index)))
}

/// What limits each step.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<Sentence> {
    let all = || analysis.steps.iter().filter_map(|step| Some((step, answer(step)?)));
    let mut named: Vec<String> = Vec::new();
    let mut out = Vec::new();
    for (step, found) in all() {
        let limit = found.limit.to_string();
        if named.contains(&limit) {
            continue;
        }
        if named.len() == NAMED {
            let text = "What limits further steps is in the JSON review.".to_owned();
            out.push(Sentence::new(Tone::Plain, text, Section::Step(step.index)));
            break;
        }
        let alike: Vec<_> = all().filter(|(_, other)| other.limit.to_string() == limit).collect();
        let of_most = alike.iter().max_by(|a, b| work(a.0).total_cmp(&work(b.0)));
        let (most, shown) = of_most.copied().unwrap_or((step, found));
        named.push(limit);
        if analysis.steps.len() > 1 {
            out.push(of_steps(most, shown, alike.len()));
        }
    }
    out
}

fn of_steps(step: &StepFigures, found: &Attribution, alike: usize) -> Sentence {
    let more = match alike {
        0 | 1 => String::new(),
        n => format!(" and {} more", plural(n - 1, "step")),
    };
    let text = capital(&clean(&format!("{}{more}: {}.", step.label(), found.line())));
    Sentence::new(Tone::Plain, text, Section::Step(step.index))
}

/// An undetermined limit, and one outside the storage, are cautions.
fn tone(limit: &Limiter) -> Tone {
    match limit {
        Limiter::Unknown { .. } | Limiter::Generator => Tone::Caution,
        _ => Tone::Plain,
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

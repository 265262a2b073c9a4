//! The agents of a run on several machines, in sentences: which lag behind, and how well their clocks are known.

use crate::headline::plural;
use crate::number::{latency, percent};
use crate::sentence::{Section, Sentence, Tone};
use crate::text::clean;
use findings::{StepAgents, StepFigures};

/// Agents that a sentence names.
const NAMED: usize = 3;

/// How far the clock that is known worst may be off.
pub(crate) fn clock_error(of: &StepAgents) -> String {
    let bounds = of.agents.iter().filter_map(|agent| agent.clock).map(|clock| clock.within_ns);
    bounds.reduce(f64::max).map_or("–".to_owned(), latency)
}

/// The drifts of all clocks, in millionths: the least to the most, each at the middle of its bounds.
pub(crate) fn drift(of: &StepAgents) -> String {
    let drifts = || of.agents.iter().filter_map(|agent| agent.clock?.drift_ppm);
    match (drifts().reduce(f64::min), drifts().reduce(f64::max)) {
        (Some(least), Some(most)) => format!("{least:+.1} to {most:+.1}"),
        _ => "–".to_owned(),
    }
}

fn found(text: String, step: &StepFigures) -> Sentence {
    Sentence::new(Tone::Plain, text, Section::Agents(step.index))
}

/// One sentence for the step whose agents differ most, and one for all clocks.
pub(crate) fn sentences(steps: &[StepFigures]) -> Vec<Sentence> {
    let of = || steps.iter().filter_map(|step| Some((step, step.agents.as_ref()?)));
    let mut all = Vec::new();
    let lags = of().filter(|(_, of)| !of.stragglers.is_empty());
    if let Some((step, agents)) = lags.max_by_key(|(_, of)| of.stragglers.len()) {
        all.push(found(stragglers(step, agents, steps.len() > 1), step));
    }
    let widest = |of: &StepAgents| {
        let bounds = of.agents.iter().filter_map(|agent| agent.clock);
        bounds.map(|clock| clock.within_ns).fold(0.0, f64::max)
    };
    let worst = of().max_by(|a, b| widest(a.1).total_cmp(&widest(b.1)));
    if let Some((step, agents)) = worst.filter(|(_, of)| widest(of) > 0.0) {
        let drift = match drift(agents).as_str() {
            "–" => String::new(),
            drift => format!("; they drift by {drift} ppm"),
        };
        let text = format!(
            "The clocks of {} are known within {}{drift}.",
            plural(agents.agents.len(), "agent"),
            clock_error(agents)
        );
        all.push(found(text, step));
    }
    all
}

fn stragglers(step: &StepFigures, agents: &StepAgents, several: bool) -> String {
    let mut slow: Vec<(f64, &str)> = agents
        .agents
        .iter()
        .filter(|agent| agents.stragglers.contains(&agent.agent))
        .filter_map(|agent| Some((agent.pace?, agent.agent.as_str())))
        .collect();
    slow.sort_by(|a, b| a.0.total_cmp(&b.0));
    let named = slow.iter().take(NAMED);
    let named = named.map(|(pace, name)| format!("{} ({}%)", clean(name), percent(*pace)));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = match slow.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let at = if several { format!(" in {}", clean(&step.label())) } else { String::new() };
    let (agent, reach) = if slow.len() == 1 { ("agent", "reaches") } else { ("agents", "reach") };
    format!("Stragglers: {agent} {named}{more} {reach} less than 80% of the median agent{at}.")
}

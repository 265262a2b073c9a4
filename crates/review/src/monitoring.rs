//! What monitoring shows besides the limit, in sentences, with the window of each.

use crate::sentence::{Section, Sentence, Tone};
use crate::text::clean;
use findings::{Analysis, MonitoringFinding};

/// Statements that are shown; the others are in the JSON.
const SHOWN: usize = 14;

/// The statements of all windows. What is said of the whole is not said again of its parts.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<Sentence> {
    let all = &analysis.monitoring;
    let told = |at: usize| {
        let (before, one) = (&all[..at], &all[at]);
        let again = |other: &MonitoringFinding| {
            other.code == one.code
                && other.about == one.about
                && matches!(one.code.as_str(), "collect" | "uneven" | "errors")
        };
        !before.iter().any(again)
    };
    let shown: Vec<&MonitoringFinding> =
        (0..all.len()).filter(|at| told(*at)).map(|at| &all[at]).collect();
    let more = shown.len().saturating_sub(SHOWN);
    let mut out: Vec<Sentence> =
        shown.into_iter().take(SHOWN).map(|one| sentence(one, analysis)).collect();
    if more > 0 {
        let text = format!("{more} more statements about windows are in the JSON review.");
        out.push(Sentence::new(Tone::Plain, text, None));
    }
    out
}

fn sentence(one: &MonitoringFinding, analysis: &Analysis) -> Sentence {
    let window = analysis.steps.iter().find(|step| step.index == one.step);
    let window = window.and_then(|step| step.settings.first());
    let window = window.map_or(String::new(), |(setting, name)| match setting.as_str() {
        // The names of windows are words, those of tests are names.
        "window" => format!("{}: ", capital(&clean(name))),
        _ => format!("{}: ", clean(name)),
    });
    let tone = match one.code.as_str() {
        "credit-wait" | "errors" | "incident" | "noisy-neighbour" | "uneven"
        | "snapshots-differ" => Tone::Caution,
        "collect" => Tone::Note,
        _ => Tone::Plain,
    };
    let text = format!("{window}{}.", clean(&one.text));
    let next = if one.next.is_empty() {
        String::new()
    } else {
        capital(&format!("{}.", clean(&one.next)))
    };
    Sentence::new(tone, text, Section::Step(one.step)).next(next)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}

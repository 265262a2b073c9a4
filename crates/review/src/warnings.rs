//! Warnings, the most severe first, each with what to do next.

use crate::paint::{Ink, ReviewPage};
use crate::sentence::{Section, Sentence, Tone};
use crate::text::clean;
use findings::Warning;
use findings::warnings::Severity;

/// Codes of warnings about the conditions of a step rather than its figures.
const CONDUCT: [&str; 10] = [
    "generator-limited",
    "generator-suspect",
    "own-cost",
    "overruns",
    "late-starts",
    "too-short",
    "not-steady",
    "never-steady",
    "little-contradiction",
    "workers-incomplete",
];

/// The warnings as sentences, in their order.
pub(crate) fn sentences(warnings: &[Warning]) -> Vec<Sentence> {
    let said = |text: &str| clean(&capital(text));
    let sentence = |w: &Warning| {
        let tone = match w.severity {
            Severity::Error => Tone::Bad,
            Severity::Warning => Tone::Caution,
            Severity::Note => Tone::Note,
        };
        let next = if w.next.is_empty() { String::new() } else { said(&w.next) };
        Sentence::new(tone, said(&w.text), place(w)).next(next)
    };
    warnings.iter().map(sentence).collect()
}

fn place(warning: &Warning) -> Option<Section> {
    let step = warning.steps.first().copied();
    match warning.code.as_str() {
        "scenario-unreadable" | "run-incomplete" => Some(Section::Provenance),
        "unwritten-data" | "repeated-data" => Some(Section::Contents),
        "served-unknown" => step.map(Section::Served),
        code if CONDUCT.contains(&code) => step.map(Section::Conditions),
        _ => step.map(Section::Step),
    }
}

pub(crate) fn write(page: &mut ReviewPage, warnings: &[Warning]) {
    if warnings.is_empty() {
        return;
    }
    page.heading("Warnings");
    for sentence in sentences(warnings) {
        page.sentence("  ", &sentence, Ink::Plain);
        if !sentence.next.is_empty() {
            page.hanging("    → ", Ink::Accent, &sentence.next, Ink::Dim);
        }
    }
}

/// A sentence as it is printed: a full stop last, and a capital first unless it begins with a name.
pub(crate) fn capital(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let plain = !first.is_empty() && first.chars().all(|c| c.is_ascii_lowercase());
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    if plain {
        format!("{}{}{stop}", text[..1].to_ascii_uppercase(), &text[1..])
    } else {
        format!("{text}{stop}")
    }
}

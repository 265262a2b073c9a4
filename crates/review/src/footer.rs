//! Where the figures come from: producer, time, seed, hosts and targets, briefly. The record holds every fact.

use crate::number::began;
use crate::paint::{Ink, ReviewPage};
use crate::text::{clean, fit};
use findings::RunSummary;
use record::Fact;

/// Facts of a host that are worth a line, in order, with the words around them.
const HOST: [(&str, &str, &str); 6] = [
    ("os", "", ""),
    ("kernel", "Linux ", ""),
    ("cpu-model", "", ""),
    ("cpu-count", "", " CPUs"),
    ("memory", "", ""),
    ("virtualized", "virtualized: ", ""),
];
/// Facts that only the generator needs.
const NOT_SHOWN: [&str; 1] = ["depth"];
/// Columns that a fact may take.
const VALUE_MAX: usize = 48;
/// Hosts and targets that are listed.
const SUBJECTS_MAX: usize = 8;

/// The scenario and its seed, behind a dot; what was observed has neither.
pub(crate) fn planned(run: &RunSummary) -> String {
    match run.scenario.is_empty() {
        true => String::new(),
        false => format!(" · {} · seed {}", run.scenario, run.seed),
    }
}

pub(crate) fn write(page: &mut ReviewPage, run: &RunSummary) {
    page.gap();
    let source = run.source.as_ref().map_or(String::new(), |s| format!(" · after {s}"));
    let line = format!("{} · {}{}{source}", run.producer, began(run.wall_ns), planned(run));
    page.hanging("", Ink::Dim, &clean(&line), Ink::Dim);
    let mut subjects: Vec<&str> = Vec::new();
    for fact in run.facts.iter().filter(|f| is_shown(f)) {
        if !subjects.contains(&fact.subject.as_str()) {
            subjects.push(&fact.subject);
        }
    }
    for subject in subjects.iter().take(SUBJECTS_MAX) {
        let facts: Vec<&Fact> = run.facts.iter().filter(|f| f.subject == *subject).collect();
        let line = format!("{}: {}", fit(subject, VALUE_MAX), describe(&facts));
        page.hanging("", Ink::Dim, &clean(&line), Ink::Dim);
    }
    if subjects.len() > SUBJECTS_MAX {
        let text =
            format!("and {} more hosts and targets in the record", subjects.len() - SUBJECTS_MAX);
        page.hanging("", Ink::Dim, &text, Ink::Dim);
    }
}

/// What is assumed of a lab is counted in the first lines; the list is for those who open the record.
fn is_shown(fact: &Fact) -> bool {
    !NOT_SHOWN.contains(&fact.key.as_str())
        && !fact.key.starts_with("assumed/")
        && fact.key != "wire-rate"
}

/// The machines that issued the load, each by what matters of it.
pub(crate) fn hosts(run: &RunSummary) -> Vec<(String, String)> {
    let named = run.facts.iter().filter(|f| f.key == "kernel").take(SUBJECTS_MAX);
    named
        .map(|of| {
            let facts: Vec<&Fact> = run.facts.iter().filter(|f| f.subject == of.subject).collect();
            (of.subject.clone(), describe(&facts))
        })
        .collect()
}

/// A host by what matters of it; anything else by all its facts.
fn describe(facts: &[&Fact]) -> String {
    let value = |key: &str| facts.iter().find(|f| f.key == key).map(|f| f.value.as_str());
    let parts: Vec<String> = if value("kernel").is_some() {
        let shown = |(key, before, after): &(&str, &str, &str)| {
            Some(format!("{before}{}{after}", value(key)?))
        };
        HOST.iter().filter_map(shown).collect()
    } else {
        let shown = facts.iter().filter(|f| is_shown(f));
        shown.map(|f| format!("{} {}", f.key, fit(&f.value, VALUE_MAX))).collect()
    };
    parts.join(" · ")
}

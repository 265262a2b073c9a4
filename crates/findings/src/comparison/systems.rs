//! What differs between two systems beside their figures: provenance, and the scenario as it was run.

use crate::Analysis;
use crate::figures::Loops;
use record::{Fact, Record, RunHead};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The subject of the facts by which two records say that they were run interleaved.
const COMPARISON: &str = "comparison";
/// The fact of something that was made for one run and is gone with it.
const LIFETIME: &str = "lifetime";
/// Facts of such a thing that are never the same again and say nothing of it: where it was, and by which numbers it was known.
const PASSING: [&str; 5] = ["url", "portal", "serial", "designator", "claim"];
/// Lines of a scenario that are listed; the records have the whole texts.
const LINES_MAX: usize = 20;
/// Longer scenarios are not compared line by line.
const TEXT_MAX: usize = 1 << 20;

/// Something that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Differing {
    /// What it is about: `run`, `scenario`, a host's name, or a target's.
    pub subject: String,
    /// Which fact of it.
    pub key: String,
    /// What the baseline's record says; `None` where it says nothing.
    pub baseline: Option<String>,
    /// What the other's says.
    pub other: Option<String>,
}

/// How two records belong together, where they were run interleaved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InterleavedPair {
    pub id: String,
    pub side: String,
}

impl InterleavedPair {
    pub fn of(facts: &[Fact]) -> Option<InterleavedPair> {
        let fact = |key: &str| {
            let found = facts.iter().find(|f| f.subject == COMPARISON && f.key == key);
            found.map(|f| f.value.clone())
        };
        Some(InterleavedPair {
            id: fact("group").filter(|id| !id.is_empty())?,
            side: fact("side")?,
        })
    }
}

/// Everything that differs: the run, its facts, its scenario.
pub(super) fn differing(a: (&Record, &Analysis), b: (&Record, &Analysis)) -> Vec<Differing> {
    let mut all = Vec::new();
    let mut add = |subject: &str, key: &str, baseline: Option<String>, other: Option<String>| {
        if baseline != other {
            let (subject, key) = (subject.to_owned(), key.to_owned());
            all.push(Differing { subject, key, baseline, other });
        }
    };
    let observed = [a.1, b.1].map(|of| of.steps.iter().any(|s| s.loops == Loops::Observed));
    let observed = observed[0] && observed[1];
    if observed {
        let [fa, fb] = [a.0, b.0].map(|of| read(of.facts()));
        add("run", "interval of its files", fa, fb);
    }
    let (ra, rb) = (&a.1.run, &b.1.run);
    let row = |of: &dyn Fn(&crate::RunSummary) -> String| (Some(of(ra)), Some(of(rb)));
    for (key, (baseline, other)) in [
        ("title", row(&|r| r.title.clone())),
        ("producer", row(&|r| r.producer.clone())),
        ("seed", row(&|r| r.seed.to_string())),
    ] {
        // The title of what was observed is that of its files.
        if !(observed && key == "title") {
            add("run", key, baseline, other);
        }
    }
    let (mut fa, mut fb) = (facts(a.0.facts()), facts(b.0.facts()));
    if observed {
        for (of, record) in [(&mut fa, a.0), (&mut fb, b.0)] {
            leave_out_files(of, record.facts());
        }
    }
    let mut keys: Vec<_> = fa.keys().chain(fb.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        add(key.0, key.1, fa.get(key).cloned(), fb.get(key).cloned());
    }
    scenario(a.0.head(), b.0.head(), &mut add);
    all
}

/// The fact that every file has which was read.
const DIGEST: &str = "sha256";

/// Files that were read.
fn files(facts: &[Fact]) -> BTreeSet<&str> {
    facts.iter().filter(|f| f.key == DIGEST).map(|f| f.subject.as_str()).collect()
}

/// The lengths of the intervals of the files that were read.
fn read(facts: &[Fact]) -> Option<String> {
    let files = files(facts);
    let of = |f: &&Fact| f.key == "interval" && files.contains(f.subject.as_str());
    let lengths: BTreeSet<&str> = facts.iter().filter(of).map(|f| f.value.as_str()).collect();
    (!lengths.is_empty()).then(|| lengths.into_iter().collect::<Vec<_>>().join(", "))
}

/// Leaves out what says nothing but that other files were read.
fn leave_out_files(of: &mut BTreeMap<(&str, &str), String>, facts: &[Fact]) {
    let files = files(facts);
    of.retain(|(subject, key), _| {
        !files.contains(*subject) && (*subject, *key) != ("run", "command")
    });
}

/// Facts by subject and key; several of one name stand side by side.
fn facts(facts: &[Fact]) -> BTreeMap<(&str, &str), String> {
    let passing = facts.iter().filter(|f| f.key == LIFETIME).map(|f| f.subject.as_str());
    let passing: BTreeSet<&str> = passing.collect();
    let lasts = |f: &&Fact| {
        let passes = passing.contains(f.subject.as_str()) && PASSING.contains(&f.key.as_str());
        f.subject != COMPARISON && !passes
    };
    let mut by_name: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for fact in facts.iter().filter(lasts) {
        by_name
            .entry((&fact.subject, &fact.key))
            .and_modify(|value| {
                value.push_str("; ");
                value.push_str(&fact.value);
            })
            .or_insert_with(|| fact.value.clone());
    }
    by_name
}

/// The overrides by key, and the lines of the text that only one side has.
fn scenario(
    a: &RunHead,
    b: &RunHead,
    add: &mut impl FnMut(&str, &str, Option<String>, Option<String>),
) {
    let (a, b) = (&a.scenario, &b.scenario);
    add("scenario", "name", Some(a.name.clone()), Some(b.name.clone()));
    let last = |overrides: &[(String, String)], key: &str| {
        overrides.iter().rev().find(|(k, _)| k == key).map(|(_, value)| value.clone())
    };
    let mut keys: Vec<&str> =
        a.overrides.iter().chain(&b.overrides).map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        add("scenario", key, last(&a.overrides, key), last(&b.overrides, key));
    }
    if a.text == b.text {
        return;
    }
    if a.text.len() > TEXT_MAX || b.text.len() > TEXT_MAX {
        let size = |text: &str| Some(format!("{} bytes", text.len()));
        add("scenario", "text", size(&a.text), size(&b.text));
        return;
    }
    let (only_a, only_b) = (only(&a.text, &b.text), only(&b.text, &a.text));
    for at in 0..only_a.len().max(only_b.len()).min(LINES_MAX) {
        let line = |lines: &[&str]| lines.get(at).map(|line| (*line).to_owned());
        add("scenario", "line", line(&only_a), line(&only_b));
    }
}

/// Lines that the other text has not, or has fewer of; comments and blank lines say nothing.
fn only<'a>(text: &'a str, other: &str) -> Vec<&'a str> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for line in other.lines() {
        *count.entry(line.trim()).or_default() += 1;
    }
    let says = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let mut unknown = |line: &&str| match count.get_mut(*line) {
        Some(n) if *n > 0 => {
            *n -= 1;
            false
        }
        _ => true,
    };
    text.lines().map(str::trim).filter(says).filter(|line| unknown(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_for_one_run_is_not_told_apart_by_its_numbers() {
        let fact = |subject: &str, key: &str| Fact {
            subject: subject.to_owned(),
            key: key.to_owned(),
            value: "x".to_owned(),
        };
        let all = [
            fact("lun", "serial"),
            fact("store/data", "serial"),
            fact("store/data", "lifetime"),
            fact("store/data", "size"),
            fact("comparison", "side"),
        ];
        let row: Vec<(&str, &str)> = facts(&all).into_keys().collect();
        let expected = [("lun", "serial"), ("store/data", "lifetime"), ("store/data", "size")];
        assert_eq!(row, expected);
    }
}

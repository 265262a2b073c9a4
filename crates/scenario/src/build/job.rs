//! The phases of jobs: loads of a plan that wait for others and end.

use super::{complain, count_u32, place};
use crate::datum::Decoded;
use crate::diagnostics::{Class, Mistake, Sink, Span};
use crate::load::{Phase, Workload};
use crate::nearest::suggestion;
use crate::tree::clip;
use std::collections::BTreeMap;
use workload::SpecError;

/// The keys that end a load.
pub(super) const ENDS: &[&str] = &["amount", "passes"];

/// Phases of the loads of a plan, in the order of the loads; `None` for a load without one.
pub(super) fn phases(loads: &[&Decoded], sink: &mut Sink) -> Vec<Option<Phase>> {
    let names = names(loads, sink);
    let phases: Vec<Option<Phase>> = loads.iter().map(|record| phase(record)).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); loads.len()];
    for (n, record) in loads.iter().enumerate() {
        for text in record.texts("after") {
            let Some(&(before, at)) = names.get(&text.value) else {
                sink.push(|| {
                    let known = names.keys().map(String::as_str);
                    let none = "no load of this plan has a `name`".to_owned();
                    Mistake::new(
                        text.at,
                        format!("after: no load is named `{}`", clip(&text.value)),
                    )
                    .class(Class::Absence)
                    .help(suggestion(&text.value, known).unwrap_or(none))
                });
                continue;
            };
            if !ENDS.iter().any(|key| loads[before].has(key)) {
                sink.push(|| {
                    let name = clip(&text.value);
                    Mistake::new(
                        text.at,
                        format!("after: `{name}` does not end, so this load would not start"),
                    )
                    .related(at, format!("`{name}` has no `amount` and no `passes`"))
                    .help("give it `amount = \"100 GB\"`")
                });
            }
            after[n].push(before);
        }
    }
    if let Some(n) = circle(&after) {
        sink.push(|| {
            Mistake::new(
                place(loads[n], "after"),
                "after: the loads wait for each other in a circle",
            )
            .help("one of them must not wait for the others")
        });
    }
    phases
}

fn phase(record: &Decoded) -> Option<Phase> {
    let given = ["name", "after"].iter().chain(ENDS).any(|key| record.has(key));
    given.then(|| Phase {
        name: record.text("name").map(|at| at.value),
        after: record.texts("after").into_iter().map(|text| text.value).collect(),
        ..end(record)
    })
}

/// The end of the one load of a plan, whose keys are the plan's own.
pub(super) fn of_plan(record: &Decoded) -> Option<Phase> {
    ENDS.iter().any(|key| record.has(key)).then(|| end(record))
}

/// Where a load ends.
fn end(record: &Decoded) -> Phase {
    let amount = record.size("amount").map(|at| at.value);
    Phase { name: None, after: Vec::new(), amount, passes: count_u32(record, "passes") }
}

/// Reports an end that a load cannot have, and gives it to the workload.
pub(super) fn limit(workload: &mut Workload, phase: &Phase, record: &Decoded, sink: &mut Sink) {
    if phase.amount.is_some() && phase.passes.is_some() {
        let problem = "the load ends by `amount` already; give one of the two";
        return complain(record, "passes", problem, sink);
    }
    let Some(passes) = phase.passes else { return };
    let Workload::Disk(disk) = workload else {
        let problem = "only disk workloads have passes over their working set; give an `amount`";
        return complain(record, "passes", problem, sink);
    };
    disk.spec.passes = passes;
    for problem in disk.spec.problems() {
        if let SpecError::Invalid { field: "passes", problem } = problem {
            complain(record, "passes", &problem, sink);
        }
    }
}

fn names(loads: &[&Decoded], sink: &mut Sink) -> BTreeMap<String, (usize, Span)> {
    let mut names: BTreeMap<String, (usize, Span)> = BTreeMap::new();
    for (n, record) in loads.iter().enumerate() {
        let Some(name) = record.text("name") else { continue };
        if let Some((_, first)) = names.insert(name.value.clone(), (n, name.at)) {
            sink.push(|| {
                Mistake::new(name.at, format!("the load `{}` is given twice", clip(&name.value)))
                    .label("the second")
                    .related(first, "first given here")
            });
        }
    }
    names
}

/// A member of a circle of waits, found by repeatedly removing every load that waits for none of the rest.
fn circle(after: &[Vec<usize>]) -> Option<usize> {
    let mut waits: Vec<usize> = after.iter().map(Vec::len).collect();
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (n, before) in after.iter().enumerate() {
        before.iter().for_each(|b| followers[*b].push(n));
    }
    let mut free: Vec<usize> = (0..after.len()).filter(|n| waits[*n] == 0).collect();
    while let Some(n) = free.pop() {
        for follower in &followers[n] {
            waits[*follower] -= 1;
            if waits[*follower] == 0 {
                free.push(*follower);
            }
        }
    }
    waits.iter().position(|left| *left > 0)
}

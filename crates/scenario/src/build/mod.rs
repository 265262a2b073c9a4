//! Data to scenario: names are declared, references resolved, workloads settled, plans expanded and goals checked.
//!
//! Building continues after a mistake with a harmless value; the result is only handed out when there was none.

mod claim;
mod content;
mod copy;
mod counted;
mod disk;
mod embedded;
mod emulated;
mod fabric;
mod faults;
mod incidents;
mod job;
mod lab;
mod members;
mod net_plan;
mod net_verdict;
mod net_work;
mod parts;
mod plan;
mod project;
mod prove;
mod receiver;
mod search;
mod site;
mod steady;
mod trace;
mod verdict;
mod verify;
mod volume;
mod work;

pub(crate) use copy::{CopyDisks, copy};
pub(crate) use net_work::network;
pub(crate) use trace::trace;
pub(crate) use work::disk_workload;

use crate::datum::{Datum, Decoded};
use crate::diagnostics::{At, Mistake, Sink, Span};
use crate::directory::Directory;
use crate::model::{Part, Scenario, ScenarioHead};
use crate::source::Source;
use crate::spots::Spots;
use crate::topology;

/// Builds the scenario from its root table and the parts of users' catalogs, which come last in its lab.
pub(crate) fn scenario(
    root: &Decoded,
    source: &Source,
    users: &[Part],
    sink: &mut Sink,
) -> Scenario {
    let head = head(root.record("scenario"));
    let mut directory = Directory::default();
    let mut lab = lab::lab(root, users, &mut directory, sink);
    let workloads = work::workloads(root, &mut directory, sink);
    let plans = plan::plans(root, &lab, &workloads, &mut directory, sink);
    incidents::note_destinations(&plans, &mut lab);
    content::check(root, &lab, &plans, sink);
    verify::check(root, &lab, &workloads, &plans, sink);
    let projects = project::projects(root, sink);
    let spots = Spots::new(source, directory.spots());
    topology::check(&lab, &spots, sink);
    emulated::check(&lab, &spots, sink);
    let (goals, claims, assumed) = (Vec::new(), Vec::new(), Vec::new());
    let scenario = Scenario {
        head,
        lab,
        workloads,
        plans,
        goals,
        claims,
        projects,
        assumed,
        catalogs: Vec::new(),
        spots,
    };
    let reach = net_plan::reach(&scenario.lab);
    let hops = net_verdict::hops(&scenario.plans, &reach);
    let of_lab = verdict::hops_of_lab(root, &scenario, &directory);
    let judged = verdict::Judged { plans: &scenario.plans, hops: &hops, of_lab };
    let (goals, claims) = verdict::verdicts(root, judged, &mut directory, sink);
    Scenario { goals, claims, ..scenario }
}

fn head(record: Option<&Decoded>) -> ScenarioHead {
    let text = |key| record.and_then(|record| record.text(key)).map(|at| at.value);
    ScenarioHead {
        title: text("title").unwrap_or_default(),
        source: text("source"),
        description: text("description"),
        seed: record.and_then(|record| record.count("seed")).map_or(1, |at| at.value),
    }
}

/// A count, bounded to 32 bits by its description.
fn count_u32(record: &Decoded, key: &str) -> Option<u32> {
    record.count(key).and_then(|at| u32::try_from(at.value).ok())
}

/// A size, bounded to 32 bits by its description.
fn size_u32(record: &Decoded, key: &str) -> Option<u32> {
    record.size(key).and_then(|at| u32::try_from(at.value.0).ok())
}

/// The position of a key, or else of its table.
pub(crate) fn place(record: &Decoded, key: &str) -> Span {
    record.slot(key).map_or(record.at, |slot| slot.value.as_ref().map_or(slot.key.at, |v| v.at))
}

/// Reports a problem with the value of a key.
fn complain(record: &Decoded, key: &str, problem: impl Into<String>, sink: &mut Sink) {
    let message = format!("{key}: {}", problem.into());
    sink.push(|| Mistake::new(place(record, key), message));
}

/// The text of a value that is known to be a text.
fn text_of(item: &At<Datum>) -> Option<At<String>> {
    match &item.value {
        Datum::Text(text) => Some(At::new(item.at, text.clone())),
        _ => None,
    }
}

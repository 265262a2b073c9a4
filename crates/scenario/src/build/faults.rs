//! The faults of a plan: at ports that exist, within the measured time, and each a change of state.

use super::embedded::scaled_fits;
use super::incidents::{check_moment, is_of_lab};
use super::{complain, place};
use crate::datum::Decoded;
use crate::diagnostics::{At, Class, Mistake, Sink, Span};
use crate::directory::{Directory, NameKind};
use crate::embedded::{Fault, FaultAction};
use crate::scalar::link_rate;
use crate::tree::clip;
use std::collections::BTreeMap;
use std::time::Duration;
use units::LinkRate;

/// The keys of faults, each naming ports.
const ACTIONS: [&str; 5] = ["kill", "revive", "slow", "busy", "ready"];

/// The faults of a plan in the order of their moments; those of one moment in the order of the file.
pub(super) fn faults(
    plan: &Decoded,
    measure: Duration,
    directory: &mut Directory,
    sink: &mut Sink,
) -> Vec<Fault> {
    let mut all: Vec<(Fault, Span)> = Vec::new();
    for record in plan.records("faults") {
        check_moment(measure, record, sink);
        let at = record.time("at").map(|at| at.value);
        let Some(key) = ACTIONS.into_iter().find(|key| record.has(key)) else { continue };
        // A cable that is slowed and a host that is killed are no ports: they are incidents.
        if record.texts(key).iter().all(|text| is_of_lab(key, &text.value, directory)) {
            continue;
        }
        let action = action(key, record, sink);
        let ports = ports(record, key, directory, sink);
        let (Some(at), Some(action)) = (at, action) else { continue };
        for (array, port) in ports {
            if let FaultAction::Slow(rate) = action {
                check_speed(rate, &array, record, directory, sink);
            }
            all.push((Fault { at, array, port, action }, place(record, key)));
        }
    }
    all.sort_by_key(|(fault, _)| fault.at);
    check_order(&all, sink);
    all.into_iter().map(|(fault, _)| fault).collect()
}

fn action(key: &str, record: &Decoded, sink: &mut Sink) -> Option<FaultAction> {
    Some(match key {
        "kill" => FaultAction::Kill,
        "revive" => FaultAction::Revive,
        "busy" => FaultAction::Busy,
        "ready" => FaultAction::Ready,
        _ => {
            if !record.has("to") {
                sink.push(|| {
                    Mistake::new(record.at, "`slow` needs the new speed of the port")
                        .class(Class::Absence)
                        .help("add `to = \"50 MB/s\"`")
                });
            }
            let to = record.text("to")?;
            let rate = link_rate(&to.value).map_err(|(problem, help)| {
                sink.push(|| Mistake::new(to.at, format!("to: {problem}")).maybe_help(help));
            });
            FaultAction::Slow(rate.ok()?)
        }
    })
}

/// The array and the name of each port that a fault names.
fn ports(
    record: &Decoded,
    key: &str,
    directory: &mut Directory,
    sink: &mut Sink,
) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for text in record.texts(key) {
        if is_of_lab(key, &text.value, directory) {
            continue;
        }
        let Some((array, built)) = array_of(&text.value, directory) else {
            all.extend(found(&text, directory, sink));
            continue;
        };
        match built {
            // Its ports are unknown because they are wrong, which has been reported.
            Some(false) => {}
            Some(true) => all.extend(found(&text, directory, sink)),
            None => sink.push(|| {
                let message = format!(
                    "{key}: the array `{}` is not embedded, and a run cannot reach its ports",
                    clip(&array)
                );
                Mistake::new(text.at, message)
                    .help("give the array `embedded = { ports = [{ name = \"p1\" }] }`")
            }),
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|port| seen.insert(port.clone()));
    all
}

/// The array of `ARRAY.PORT`, where it is an array; and whether it is embedded without mistakes.
fn array_of(text: &str, directory: &Directory) -> Option<(String, Option<bool>)> {
    let (array, _) = text.rsplit_once('.')?;
    let built = directory.embedded.get(array).map(Option::is_some);
    (built.is_some() || directory.is(array, NameKind::Array)).then(|| (array.to_owned(), built))
}

fn found(text: &At<String>, directory: &mut Directory, sink: &mut Sink) -> Vec<(String, String)> {
    let found = directory.find(text, &[NameKind::Port], sink);
    let names = found.map(|found| found.names).unwrap_or_default();
    let arrays = &directory.embedded;
    // A port's name may hold a dot, and so may an array's.
    let split = |full: String| {
        let dots = full.match_indices('.').map(|(dot, _)| (&full[..dot], &full[dot + 1..]));
        let mut parts = dots.filter(|(array, port)| {
            arrays.get(*array).and_then(Option::as_ref).is_some_and(|e| e.port(port).is_some())
        });
        parts.next().map(|(array, port)| (array.to_owned(), port.to_owned()))
    };
    names.into_iter().filter_map(split).collect()
}

fn check_speed(
    rate: LinkRate,
    array: &str,
    record: &Decoded,
    directory: &Directory,
    sink: &mut Sink,
) {
    let embedded = directory.embedded.get(array).and_then(Option::as_ref);
    if let Some(Err(problem)) = embedded.map(|embedded| scaled_fits(rate, embedded.scale)) {
        complain(record, "to", problem, sink);
    }
}

/// The state of a port after the faults so far.
#[derive(Clone, Copy)]
struct Condition {
    dead: bool,
    busy: bool,
    last: Duration,
    place: Span,
}

/// Reports faults that change nothing, and those of one port at one moment, whose order is undefined.
fn check_order(all: &[(Fault, Span)], sink: &mut Sink) {
    let mut ports: BTreeMap<(&str, &str), Condition> = BTreeMap::new();
    for (fault, place) in all {
        let port = (fault.array.as_str(), fault.port.as_str());
        let before = ports.get(&port).copied();
        let (dead, busy) = before.map_or((false, false), |c| (c.dead, c.busy));
        let (hop, at) = (fault.hop(), units::duration(fault.at));
        let problem = match fault.action {
            _ if before.is_some_and(|c| c.last == fault.at) => {
                Some(format!("`{hop}` has another fault at {at}"))
            }
            FaultAction::Kill if dead => Some(format!("`{hop}` is already killed at {at}")),
            FaultAction::Revive if !dead => {
                Some(format!("`{hop}` works at {at}: it was not killed"))
            }
            FaultAction::Busy if busy => Some(format!("`{hop}` is already busy at {at}")),
            FaultAction::Ready if !busy => {
                Some(format!("`{hop}` is ready at {at}: it was not made busy"))
            }
            _ => None,
        };
        if let Some(problem) = problem {
            let related = before.map(|c| c.place);
            sink.push(|| {
                let mistake = Mistake::new(*place, problem);
                match related {
                    Some(first) => mistake.related(first, "the previous one"),
                    None => mistake,
                }
            });
        }
        let (dead, busy) = match fault.action {
            FaultAction::Kill => (true, busy),
            FaultAction::Revive => (false, busy),
            FaultAction::Busy => (dead, true),
            FaultAction::Ready => (dead, false),
            FaultAction::Slow(_) => (dead, busy),
        };
        ports.insert(port, Condition { dead, busy, last: fault.at, place: *place });
    }
}

//! What happens in a simulated or an emulated lab: each names an existing part, is within the measured time, and has an effect.

use super::place;
use crate::datum::Decoded;
use crate::diagnostics::{At, Class, Mistake, Sink, Span};
use crate::directory::{Directory, NameKind};
use crate::model::{Endpoint, Lab, Plan};
use crate::scalar::link_rate;
use crate::simulated::{Change, Hamper, Incident};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What can fail.
const FALLIBLE: &[NameKind] = &[
    NameKind::Vm,
    NameKind::Host,
    NameKind::Adapter,
    NameKind::Switch,
    NameKind::Array,
    NameKind::Link,
    NameKind::Port,
];
/// Devices with ports.
const PORTED: &[NameKind] = &[NameKind::Adapter, NameKind::Switch, NameKind::Array];

/// What cables hang on, for what hampers them.
const CABLED: &[NameKind] = &[
    NameKind::Host,
    NameKind::Adapter,
    NameKind::Switch,
    NameKind::Array,
    NameKind::Link,
    NameKind::Port,
];
/// The keys of incidents; `slow` and `kill` are those of ports of arrays too.
const KEYS: [&str; 8] = ["fail", "restore", "move", "slow", "lose", "mismatch", "stall", "kill"];

/// Whether what `slow` or `kill` names is a part of the lab and no port of an array.
pub(super) fn is_of_lab(key: &str, name: &str, directory: &Directory) -> bool {
    let is = |kind: &NameKind| directory.is(name, *kind);
    match key {
        "kill" => is(&NameKind::Host),
        "slow" => {
            name.contains(':') || CABLED.iter().filter(|kind| **kind != NameKind::Port).any(is)
        }
        _ => false,
    }
}

/// The incidents of a plan with their positions in the text, by moment, then in the order of the file.
pub(super) fn incidents(
    plan: &Decoded,
    lab: &Lab,
    directory: &mut Directory,
    sink: &mut Sink,
) -> Vec<(Incident, Span)> {
    let mut all: Vec<(Incident, Span)> = Vec::new();
    for record in plan.records("faults") {
        let Some(key) = KEYS.into_iter().find(|key| record.has(key)) else { continue };
        let changes = changes(record, key, directory, sink);
        let Some(at) = record.time("at").map(|at| at.value) else { continue };
        let spot = place(record, key);
        all.extend(changes.into_iter().map(|change| (Incident { at, change }, spot)));
    }
    all.sort_by_key(|(incident, _)| incident.at);
    check_order(&all, lab, sink);
    all
}

fn changes(record: &Decoded, key: &str, directory: &mut Directory, sink: &mut Sink) -> Vec<Change> {
    if key == "move" {
        let vms = directory.find_all(&record.texts("move"), &[NameKind::Vm], sink);
        let Some(to) = record.text("to") else {
            if !record.has("to") {
                sink.push(|| {
                    Mistake::new(record.at, "`move` needs the VM's new host")
                        .class(Class::Absence)
                        .help("add `to = \"…\"` with a host")
                });
            }
            return Vec::new();
        };
        let Some(found) = directory.find(&to, &[NameKind::Host], sink) else { return Vec::new() };
        let [host] = &found.names[..] else {
            let message = format!("to: it matches {} hosts; name one", found.names.len());
            sink.push(|| Mistake::new(to.at, message));
            return Vec::new();
        };
        return vms.into_iter().map(|vm| Change::Move { vm, to: host.clone() }).collect();
    }
    let theirs = |text: &At<String>, directory: &Directory| {
        matches!(key, "slow" | "kill") && !is_of_lab(key, &text.value, directory)
    };
    if record.texts(key).iter().all(|text| theirs(text, directory)) {
        return Vec::new();
    }
    let how = match key {
        "fail" | "restore" | "kill" => None,
        _ => match hamper(record, key, sink) {
            Some(how) => Some(how),
            None => return Vec::new(),
        },
    };
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    for text in record.texts(key) {
        if theirs(&text, directory) {
            continue;
        }
        let kinds = match key {
            _ if text.value.contains(':') => PORTED,
            "fail" | "restore" => FALLIBLE,
            _ => CABLED,
        };
        for (device, port) in directory.find_ports(&text, kinds, sink).unwrap_or_default() {
            let name = Endpoint { device, port }.to_string();
            if seen.insert(name.clone()) {
                all.push(match (key, how) {
                    (_, Some(how)) => Change::Hamper { part: name, how },
                    ("fail", _) => Change::Fail(name),
                    ("kill", _) => Change::Kill(name),
                    _ => Change::Restore(name),
                });
            }
        }
    }
    all
}

/// What hampers a cable; what is missing or wrong is reported.
fn hamper(record: &Decoded, key: &str, sink: &mut Sink) -> Option<Hamper> {
    let mut lacks = |what: &str, help: &str| {
        if !record.has(what) {
            let message = format!("`{key}` needs `{what}`");
            let help = help.to_owned();
            sink.push(|| Mistake::new(record.at, message).class(Class::Absence).help(help));
        }
    };
    Some(match key {
        "slow" => {
            // What lacks a speed is reported where ports are slowed as well.
            lacks("to", "add `to = \"50 MB/s\"`");
            let to = record.text("to")?;
            let rate = link_rate(&to.value).map_err(|(problem, help)| {
                sink.push(|| Mistake::new(to.at, format!("to: {problem}")).maybe_help(help));
            });
            Hamper::Slow(rate.ok()?)
        }
        "lose" => {
            lacks("share", "add `share = \"1%\"`, of the packets");
            Hamper::Lose(record.percent("share")?.value)
        }
        "mismatch" => {
            lacks("mtu", "add `mtu = 1400`, in bytes");
            Hamper::Mismatch(u32::try_from(record.count("mtu")?.value).ok()?)
        }
        _ => Hamper::Stall,
    })
}

/// Reports incidents without effect: failing twice, restoring what works, and moving to where a VM is.
fn check_order(all: &[(Incident, Span)], lab: &Lab, sink: &mut Sink) {
    let mut dead: BTreeMap<&str, Span> = BTreeMap::new();
    let mut hosts: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    let killed = |host: &str| {
        all.iter().any(|(of, _)| {
            matches!(&of.change, Change::Kill(name) if name == host)
                && lab.guests_host(&of.change).is_none()
        })
    };
    for (incident, spot) in all {
        let at = units::duration(incident.at);
        let problem = match &incident.change {
            Change::Fail(name) | Change::Kill(name) => {
                let before = dead.insert(name, *spot);
                before.map(|first| (format!("`{name}` has already failed at {at}"), Some(first)))
            }
            Change::Hamper { part: name, .. } => dead.insert(name, *spot).map(|first| {
                (
                    format!("`{name}` has failed or is hampered at {at}: restore it first"),
                    Some(first),
                )
            }),
            Change::Restore(name) if killed(name) => {
                Some((format!("`{name}` is killed at {at}, and stays so"), None))
            }
            Change::Restore(name) => match dead.remove(name.as_str()) {
                Some(_) => None,
                None => Some((format!("`{name}` works at {at}: it did not fail"), None)),
            },
            Change::Move { vm, to } => {
                moved(vm, to, lab, &mut hosts).map(|problem| (format!("{problem} at {at}"), None))
            }
        };
        if let Some((problem, first)) = problem {
            sink.push(|| {
                let mistake = Mistake::new(*spot, problem);
                match first {
                    Some(first) => mistake.related(first, "the previous one"),
                    None => mistake,
                }
            });
        }
    }
}

/// How long the disks of a VM that moves between emulated hosts wait for a path, where the scenario says nothing: each move ends
/// all of them.
const MOVE_RETRY: Duration = Duration::from_secs(30);

/// Enters at each VM where plans move it to.
pub(super) fn note_destinations(plans: &[Plan], lab: &mut Lab) {
    let emulated: Vec<String> =
        lab.hosts.iter().filter(|host| host.emulate).map(|host| host.name.clone()).collect();
    for incident in plans.iter().flat_map(|plan| &plan.incidents) {
        let Change::Move { vm: name, to } = &incident.change else { continue };
        let vm = lab.vms.iter_mut().find(|vm| vm.name == *name);
        if let Some(vm) = vm.filter(|vm| !vm.destinations.contains(to)) {
            vm.destinations.push(to.clone());
            let waits = vm.host.as_ref().is_some_and(|host| emulated.contains(host));
            for disk in vm.disks.iter_mut().filter(|_| waits) {
                disk.patience.no_path_retry.get_or_insert(MOVE_RETRY);
            }
        }
    }
}

/// Why a VM cannot move to a host.
fn moved<'a>(
    vm: &'a str,
    to: &'a str,
    lab: &'a Lab,
    hosts: &mut BTreeMap<&'a str, Option<&'a str>>,
) -> Option<String> {
    let first = || lab.vms.iter().find(|known| known.name == vm)?.host.as_deref();
    let now = hosts.get(vm).copied().unwrap_or_else(first);
    hosts.insert(vm, Some(to));
    match now {
        None => Some(format!("`{vm}` has no `host` to move from")),
        Some(now) if now == to => Some(format!("`{vm}` already runs on `{to}`")),
        Some(_) => None,
    }
}

/// Reports an incident after the measured time.
pub(super) fn check_moment(measure: Duration, record: &Decoded, sink: &mut Sink) {
    let at = record.time("at").map(|at| at.value);
    if at.is_some_and(|at| at >= measure) && !measure.is_zero() {
        let problem = format!("that is after the measured time of {}", units::duration(measure));
        super::complain(record, "at", problem, sink);
    }
}

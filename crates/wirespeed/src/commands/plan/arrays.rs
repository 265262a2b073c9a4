//! Embedded arrays in a dry run: what would run here, the speed of its ports, and their faults. It starts none.

use scenario::{Array, Embedded, EmbeddedPort, Fault, FaultAction, Scenario, Step, Volume};
use serde_json::{Value, json};
use std::time::Duration;

/// Lines that a list of ports, volumes or faults takes at most.
const SHOWN: usize = 16;

fn embedded(scenario: &Scenario) -> impl Iterator<Item = (&Array, &Embedded)> {
    scenario.lab.arrays.iter().filter_map(|array| Some((array, array.embedded.as_ref()?)))
}

fn volumes<'a>(scenario: &'a Scenario, array: &'a Array) -> impl Iterator<Item = &'a Volume> {
    scenario.lab.volumes.iter().filter(|volume| volume.array == array.name)
}

/// The section on arrays; nothing where none is embedded.
pub(super) fn text(scenario: &Scenario) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (array, embedded) in embedded(scenario) {
        if lines.is_empty() {
            lines.push("\narrays".to_owned());
        }
        let threads = match embedded.threads {
            None => String::new(),
            Some(1) => ", by 1 thread".to_owned(),
            Some(n) => format!(", by {n} threads"),
        };
        let threads = match embedded.cpu {
            Some(cpu) => format!("{threads}, each with {cpu} of a processor"),
            None => threads,
        };
        let name = &array.name;
        let place = if array.emulate { "in a namespace of its own" } else { "on loopback" };
        lines.push(format!(
            "  {name:<12} would run on this machine during the run, as an iSCSI target {place}{threads}"
        ));
        let ports = embedded.ports.iter().map(|port| {
            let speed =
                port.rate.map_or_else(|| "unlimited rate".to_owned(), |r| embedded.words(r));
            format!("{name}.{}: {speed}{}", port.name, delayed(port.latency))
        });
        lines.extend(indented(ports));
        let volumes = volumes(scenario, array).map(|volume| {
            let size = volume.size.unwrap_or_default();
            let block =
                volume.block.map(|b| format!(" in blocks of {b} bytes")).unwrap_or_default();
            let taken = if volume.thin { ", allocated on write" } else { "" };
            let rate = volume.rate.map(|rate| format!(", {rate}")).unwrap_or_default();
            let iops = volume.iops.map(|iops| format!(", {iops}")).unwrap_or_default();
            let held = format!("{rate}{iops}{}", delayed(volume.latency));
            format!("{name}/{}: {size} of memory{block}{taken}{held}", volume.name)
        });
        lines.extend(indented(volumes));
        let all: Vec<u64> =
            self::volumes(scenario, array).filter_map(|v| v.size).map(|s| s.0).collect();
        if all.len() > 1 {
            let sum = all.iter().fold(0, |sum: u64, size| sum.saturating_add(*size));
            lines.push(format!("  {:<12} {} of memory in total", "", units::binary_bytes(sum)));
        }
    }
    lines
}

/// What a delay of each I/O adds to the line of a port or a volume.
fn delayed(latency: Duration) -> String {
    match latency.is_zero() {
        true => String::new(),
        false => format!(", delayed by {}", units::duration(latency)),
    }
}

fn indented(all: impl Iterator<Item = String>) -> Vec<String> {
    let all: Vec<String> = all.map(|line| format!("  {:<12} {line}", "")).collect();
    shortened(all, |n| format!("  {:<12} and {n} more", ""))
}

fn shortened(mut all: Vec<String>, more: impl Fn(usize) -> String) -> Vec<String> {
    if all.len() > SHOWN {
        let rest = all.len() - (SHOWN - 1);
        all.truncate(SHOWN - 1);
        all.push(more(rest));
    }
    all
}

/// The speed that the sweep gives to all ports in a step, a line for each scale; nothing where each has its own.
pub(super) fn speeds(scenario: &Scenario, step: &Step) -> Vec<String> {
    let Some(rate) = step.port else { return Vec::new() };
    let mut speeds: Vec<(String, Vec<&str>)> = Vec::new();
    for (array, embedded) in embedded(scenario) {
        let speed = embedded.words(rate);
        match speeds.iter_mut().find(|(known, _)| *known == speed) {
            Some((_, arrays)) => arrays.push(&array.name),
            None => speeds.push((speed, vec![&array.name])),
        }
    }
    let line = |(speed, arrays): &(String, Vec<&str>)| {
        format!("ports of {}: {speed}", scenario::listed(arrays))
    };
    speeds.iter().map(line).collect()
}

/// The faults of a step, one a line.
pub(super) fn faults(scenario: &Scenario, step: &Step) -> Vec<String> {
    let faults = step.faults.iter().map(|fault| fault_line(scenario, fault)).collect();
    shortened(faults, |n| format!("and {n} more faults"))
}

/// `at 20 s: slow store.p2 to 50 MB/s, scaled to 50%: 25 MB/s`.
fn fault_line(scenario: &Scenario, fault: &Fault) -> String {
    let at = match fault.at.is_zero() {
        true => "0 s".to_owned(),
        false => units::duration(fault.at),
    };
    format!("at {at}: {}", fault.words(&scenario.lab))
}

/// The ways to a volume of an embedded array, in words: `by p1, p2; round-robin; switching after 8`. `None` of any other target.
pub(super) fn ways(url: &str) -> Option<String> {
    if fleet::scheme(url) != fleet::ARRAY_SCHEME {
        return None;
    }
    let (_, query) = url.split_once('?').unwrap_or((url, ""));
    let mut words = query.split('&').map(|pair| match pair.split_once('=') {
        Some(("ports", ports)) => format!("by {}", ports.replace(',', ", ")),
        Some(("policy", policy)) => policy.to_owned(),
        Some(("switch_after", after)) => format!("switching after {after}"),
        Some((name, value)) => format!("{name} {value}"),
        None => pair.to_owned(),
    });
    let first = words.next().unwrap_or_default();
    Some(words.fold(first, |all, word| format!("{all}; {word}")))
}

/// The embedded arrays for other programs.
pub(super) fn as_json(scenario: &Scenario) -> Vec<Value> {
    let port = |array: &Array, embedded: &Embedded, port: &EmbeddedPort| {
        json!({
            "name": port.name,
            "hop": format!("{}.{}", array.name, port.name),
            "rate": port.rate.map(|rate| rate.to_string()),
            "bytes_per_s": port.rate.map(|rate| rate.payload().0),
            "scaled_bytes_per_s": port.rate.map(|rate| embedded.scaled(rate).0),
        })
    };
    let volume = |array: &Array, volume: &Volume| {
        json!({
            "name": volume.name,
            "hop": format!("{}/{}", array.name, volume.name),
            "size_bytes": volume.size.map(|size| size.0),
            "block_bytes": volume.block.unwrap_or(512),
            "thin": volume.thin,
        })
    };
    let array = |(array, embedded): (&Array, &Embedded)| {
        json!({
            "name": array.name,
            "scale_percent": embedded.scale.0,
            "threads": embedded.threads,
            "ports": embedded.ports.iter().map(|p| port(array, embedded, p)).collect::<Vec<_>>(),
            "volumes": volumes(scenario, array).map(|v| volume(array, v)).collect::<Vec<_>>(),
        })
    };
    embedded(scenario).map(array).collect()
}

/// A step's faults for other programs.
pub(super) fn faults_json(scenario: &Scenario, step: &Step) -> Vec<Value> {
    let fault = |fault: &Fault| {
        let to = match fault.action {
            FaultAction::Slow(rate) => Some(rate),
            _ => None,
        };
        let scaled = to
            .zip(scenario.lab.embedded(&fault.array))
            .map(|(rate, embedded)| embedded.scaled(rate).0);
        json!({
            "at_s": fault.at.as_secs_f64(),
            "hop": fault.hop(),
            "action": fault.action.word(),
            "to": to.map(|rate| rate.to_string()),
            "scaled_bytes_per_s": scaled,
        })
    };
    step.faults.iter().map(fault).collect()
}

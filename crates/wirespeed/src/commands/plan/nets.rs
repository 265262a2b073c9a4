//! Network loads in a dry run: what would be carried, between which machines, and what would be changed at interfaces. It
//! looks at no interface and reaches no receiver.

use scenario::{Lab, NetHop, NetLoad, Receiver, ReceiverPlace, Scenario, Stage, Step, TokenFrom};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use workload::NetFrames;

/// What a step sets at interfaces, one a line; nothing where it takes them as they are found.
pub(super) fn frames(scenario: &Scenario, step: &Step) -> Vec<String> {
    let set = frame_words([step.frames]);
    let line = |receiver: &Receiver| {
        let interface = receiver.adjust.as_deref().unwrap_or_default();
        format!("{set} at {interface}, and at the interface of {}", receiver.name)
    };
    step.adjusted(&scenario.lab).into_iter().map(line).collect()
}

/// `MTU 1500 and 9000, offloads on and off`.
fn frame_words(all: impl IntoIterator<Item = NetFrames>) -> String {
    let (mut mtus, mut offloads) = (BTreeSet::new(), BTreeSet::new());
    for frames in all {
        mtus.extend(frames.mtu);
        offloads.extend(frames.offload);
    }
    let mtus: Vec<String> = mtus.iter().map(u32::to_string).collect();
    // On comes first, as people say it.
    let offloads: Vec<&str> =
        offloads.iter().rev().map(|on| if *on { "on" } else { "off" }).collect();
    let mut parts = Vec::new();
    if !mtus.is_empty() {
        parts.push(format!("MTU {}", mtus.join(" and ")));
    }
    if !offloads.is_empty() {
        parts.push(format!("offloads {}", offloads.join(" and ")));
    }
    parts.join(", ")
}

/// What each receiver that is reached would have set at its interfaces, by the steps that set something.
fn reached<'a>(scenario: &'a Scenario, stages: &[Stage]) -> Vec<(&'a Receiver, Vec<NetFrames>)> {
    let mut all: Vec<(&Receiver, Vec<NetFrames>)> = Vec::new();
    for step in stages.iter().flat_map(Stage::examples) {
        let hops = step.net_loads().flat_map(|net| net.hops(&scenario.lab));
        let names: BTreeSet<&str> = hops.map(|hop| hop.receiver.name.as_str()).collect();
        let adjusted: BTreeSet<&str> =
            step.adjusted(&scenario.lab).iter().map(|receiver| receiver.name.as_str()).collect();
        for receiver in names.into_iter().filter_map(|name| scenario.lab.receiver(name)) {
            let set = adjusted.contains(receiver.name.as_str()).then_some(step.frames);
            match all.iter_mut().find(|(known, _)| known.name == receiver.name) {
                Some((_, frames)) => frames.extend(set),
                None => all.push((receiver, set.into_iter().collect())),
            }
        }
    }
    all
}

/// The section on receivers; nothing where no load reaches one.
pub(super) fn text(scenario: &Scenario, stages: &[Stage]) -> Vec<String> {
    let mut lines = Vec::new();
    for (receiver, frames) in reached(scenario, stages) {
        if lines.is_empty() {
            lines.push("\nreceivers".to_owned());
        }
        lines.push(format!("  {:<12} {}", receiver.name, place(&scenario.lab, receiver)));
        if let Some(interface) = receiver.adjust.as_deref().filter(|_| !frames.is_empty()) {
            lines.push(format!(
                "  {:<12} {interface} WOULD BE CHANGED: {}; restored afterwards",
                "",
                frame_words(frames)
            ));
        }
    }
    lines
}

fn place(lab: &Lab, receiver: &Receiver) -> String {
    let host = lab.emulated_receiver(receiver);
    let place = match &receiver.place {
        ReceiverPlace::Embedded if host.is_some() => {
            let host = host.map_or("", |host| &host.name);
            format!("would run on the emulated host {host} during the run")
        }
        ReceiverPlace::Embedded => "would run on this machine's loopback during the run".to_owned(),
        ReceiverPlace::Modelled => match &receiver.site {
            Some(site) => format!("is the host {} of the lab, which is simulated", site.host),
            None => "is nowhere".to_owned(),
        },
        at => format!("would be reached at {at}"),
    };
    let family = receiver.family.map(|family| format!("over {} only", family.word()));
    let source = match (receiver.source, receiver.source_port) {
        (None, None) => None,
        (Some(address), None) => Some(format!("from {address}")),
        (None, Some(port)) => Some(format!("from port {port} on")),
        (Some(address), Some(port)) => Some(format!("from {address}, port {port} on")),
    };
    let token = receiver.token.as_ref().map(|token| match token {
        TokenFrom::File(file) => format!("with the token in the file {file}"),
        TokenFrom::Env(name) => format!("with the token in the variable {name}"),
    });
    let wire = receiver.rate.map(|rate| format!("over {rate}"));
    let more = [family, source, token, wire].into_iter().flatten();
    more.fold(place, |all, part| format!("{all}, {part}"))
}

/// What a run would change at this machine's interfaces, after what it would write; nothing where it changes none.
pub(super) fn summary(scenario: &Scenario, stages: &[Stage]) -> String {
    let interfaces: BTreeSet<String> = reached(scenario, stages)
        .into_iter()
        .filter(|(_, frames)| !frames.is_empty())
        .filter_map(|(receiver, _)| receiver.adjust.clone())
        .collect();
    let names: Vec<String> = interfaces.into_iter().collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!(" The interface {one} would be changed, and restored."),
        many => {
            format!(" The interfaces {} would be changed, and restored.", scenario::listed(many))
        }
    }
}

/// The network loads of a step, for other programs.
pub(super) fn step_json(scenario: &Scenario, step: &Step) -> Vec<Value> {
    let net = |net: NetLoad<'_>| {
        let hops: Vec<String> = net.hops(&scenario.lab).iter().map(NetHop::name).collect();
        json!({
            "workload": net.workload.name,
            "on": net.on,
            "hops": hops,
            "network": net.workload.network,
        })
    };
    step.net_loads().map(net).collect()
}

/// What a step sets at interfaces, for other programs.
pub(super) fn frames_json(scenario: &Scenario, step: &Step) -> Value {
    let adjusted: Vec<&str> =
        step.adjusted(&scenario.lab).iter().filter_map(|r| r.adjust.as_deref()).collect();
    json!({ "mtu": step.frames.mtu, "offload": step.frames.offload, "interfaces": adjusted })
}

/// The receivers that a run would reach, for other programs.
pub(super) fn as_json(scenario: &Scenario, stages: &[Stage]) -> Vec<Value> {
    let receiver = |(receiver, frames): (&Receiver, Vec<NetFrames>)| {
        json!({
            "name": receiver.name,
            "address": match &receiver.place {
                ReceiverPlace::Embedded | ReceiverPlace::Modelled => Value::Null,
                at => Value::from(at.to_string()),
            },
            "embedded": receiver.place == ReceiverPlace::Embedded,
            "host": receiver.site.as_ref().map(|site| &site.host),
            "rate": receiver.rate.map(|rate| rate.to_string()),
            "adjust": receiver.adjust,
            "would_change": !frames.is_empty(),
        })
    };
    reached(scenario, stages).into_iter().map(receiver).collect()
}

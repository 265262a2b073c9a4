//! Hosts that several files count under different names, or under none: one where the files share the identity of the machine.
//!
//! Names tell nothing. What a switch's walk of SNMP names are addresses of its own ports, so that a walk of a host's agent is known by
//! them; and what a host's own port receives is read.

use super::format::MonitorFormat;
use super::join::one_name;
use super::model::{Feed, Flow, Measure};
use super::topology::Topology;
use record::{HopKind, Level};
use std::collections::{BTreeMap, BTreeSet};
use telemetry::Machine;

/// A device of a file.
struct Unit {
    feed: usize,
    device: String,
    machine: Machine,
}

/// Finds hosts that several files count: gives each the other's name, and one where a file says none; and turns the
/// ports that SNMP counts at a host.
pub fn settle(feeds: &mut [Feed], topology: &Topology) {
    name_by_file(feeds, topology);
    let units = units(feeds);
    for (a, b, why) in pairs(&units, feeds) {
        let (one, other) = (&units[a], &units[b]);
        let both = [one, other];
        let named = both.iter().find(|unit| !unit.device.is_empty());
        let common = named.map_or(&feeds[one.feed].name, |unit| &unit.device).clone();
        for unit in both.iter().filter(|unit| unit.device.is_empty()) {
            name_nameless(&mut feeds[unit.feed], &common);
        }
        let text = format!(
            "{common} in {} and {} in {} are one host, by {why}",
            feeds[one.feed].name,
            if other.device.is_empty() { &common } else { &other.device },
            feeds[other.feed].name
        );
        let feed = &mut feeds[one.feed];
        feed.alias(&one.device, &other.device);
        feed.note(Level::Info, "one-host", text);
    }
    turn(feeds, topology);
    super::ends::count_once(feeds);
}

/// A file that does not say its host has the one to which the topology gives the file's name.
fn name_by_file(feeds: &mut [Feed], topology: &Topology) {
    for feed in feeds {
        let known = topology.devices.iter().find(|names| names.contains(&feed.name));
        let name = known.and_then(|names| names.iter().find(|name| **name != feed.name));
        name.into_iter().for_each(|name| name_nameless(feed, name));
    }
}

fn name_nameless(feed: &mut Feed, name: &str) {
    for place in feed.places.iter_mut().filter(|place| place.device.is_empty()) {
        name.clone_into(&mut place.device);
    }
}

fn units(feeds: &[Feed]) -> Vec<Unit> {
    let mut out: Vec<Unit> = Vec::new();
    let mut of: BTreeMap<(usize, String), usize> = BTreeMap::new();
    let mut machine = |feed: usize, device: &str, add: &dyn Fn(&mut Machine)| {
        let at = *of.entry((feed, device.to_ascii_lowercase())).or_insert_with(|| {
            let (device, machine) = (device.to_owned(), Machine::default());
            out.push(Unit { feed, device, machine });
            out.len() - 1
        });
        add(&mut out[at].machine);
    };
    for (at, feed) in feeds.iter().enumerate() {
        for place in feed.places.iter().filter(|place| is_own(feed, place.kind)) {
            machine(at, &place.device, &|of| place.ids.iter().for_each(|id| of.port(id)));
        }
        for (device, kind, id) in &feed.machines {
            machine(at, device, &|of| of.identify(kind, id));
        }
    }
    out
}

/// Whether the identities of such places are those of the device's own ports: a map may name what is connected to them.
fn is_own(feed: &Feed, kind: HopKind) -> bool {
    match kind {
        HopKind::InitiatorPort => feed.format != MonitorFormat::Mapped,
        HopKind::SwitchPort => feed.format == MonitorFormat::SnmpWalk,
        _ => false,
    }
}

/// Devices of different files that are one machine. What would be two devices of one file is none.
fn pairs(units: &[Unit], feeds: &mut [Feed]) -> Vec<(usize, usize, String)> {
    let mut all: Vec<(usize, usize, String)> = Vec::new();
    for (a, one) in units.iter().enumerate() {
        for (b, other) in units.iter().enumerate().skip(a + 1) {
            let named = !one.device.is_empty() && one.device.eq_ignore_ascii_case(&other.device);
            let same =
                one.machine.same(&other.machine).filter(|_| one.feed != other.feed && !named);
            all.extend(same.map(|why| (a, b, why)));
        }
    }
    let partners = |at: usize, feed: usize| {
        let of = |(a, b, _): &&(usize, usize, String)| {
            (*a == at && units[*b].feed == feed) || (*b == at && units[*a].feed == feed)
        };
        all.iter().filter(of).count()
    };
    let clear = |(a, b, why): &(usize, usize, String)| {
        let twice = partners(*a, units[*b].feed) > 1 || partners(*b, units[*a].feed) > 1;
        (!twice).then(|| (*a, *b, why.clone()))
    };
    let kept: Vec<(usize, usize, String)> = all.iter().filter_map(clear).collect();
    for (a, b, why) in all.iter().filter(|pair| !kept.contains(pair)) {
        let (one, other) = (&units[*a], &units[*b]);
        let text = format!(
            "{why} is of several hosts in {} and {}: nothing is joined by it",
            feeds[one.feed].name, feeds[other.feed].name
        );
        feeds[one.feed].note(Level::Warning, "identity-conflict", text);
    }
    kept
}

/// What SNMP counts at a device that another file shows to be a host are the host's own ports.
fn turn(feeds: &mut [Feed], topology: &Topology) {
    let names = one_name(feeds, topology);
    let name = |device: &str| {
        let lower = device.to_ascii_lowercase();
        names.get(&lower).cloned().unwrap_or(lower)
    };
    let at_host = |kind: HopKind| {
        use HopKind::{Adapter, BlockDevice, HostCpu, InitiatorPort, LunQueue};
        matches!(kind, Adapter | BlockDevice | HostCpu | InitiatorPort | LunQueue)
    };
    let hosts: BTreeSet<String> = feeds
        .iter()
        .filter(|feed| !matches!(feed.format, MonitorFormat::SnmpWalk | MonitorFormat::Mapped))
        .flat_map(|feed| feed.places.iter().filter(|place| at_host(place.kind)))
        .map(|place| name(&place.device))
        .filter(|name| !name.is_empty())
        .collect();
    for feed in feeds.iter_mut().filter(|feed| feed.format == MonitorFormat::SnmpWalk) {
        let own = |place: &super::Place| hosts.contains(&name(&place.device));
        // Those of an agent that says itself that it is a host are turned already.
        let turns = |place: &super::Place| place.kind == HopKind::SwitchPort && own(place);
        let ports: BTreeSet<usize> =
            (0..feed.places.len()).filter(|at| turns(&feed.places[*at])).collect();
        for at in &ports {
            feed.places[*at].kind = HopKind::InitiatorPort;
        }
        feed.remeasure(|place, measure| match measure {
            Measure::Bytes(Flow::Read) if ports.contains(&place) => Measure::Bytes(Flow::Write),
            Measure::Bytes(Flow::Write) if ports.contains(&place) => Measure::Bytes(Flow::Read),
            other => other,
        });
    }
}

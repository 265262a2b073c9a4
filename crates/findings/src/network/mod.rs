//! What a step's network loads did, pair by pair: both ends' counts side by side, the share of the wire with its
//! arithmetic, what the load cost both hosts, and what limited it.
//!
//! A *pair* is a member of the lab (or this machine) and a receiver; its name is the hop between them. Everything comes from
//! the record: the streams that a step announced, their intervals, and the counters of streams, pairs and machines. A
//! counter that was not kept is `None`, and what depends on it says that it cannot be known.

mod across;
mod direction;
pub(crate) mod judged;
mod limit;
mod machine;
mod planned;
mod stream;
mod wire;

pub use across::{Across, DirectionKey, Estimate, FrameGain, OffloadCost, Repeated};
pub use direction::{Direction, Way};
pub use limit::{
    AGAIN_FROM, BUFFER_FROM, Check, HOST_FROM, IDLE_FROM, LINK_FROM, LINK_TO, LOST_FROM, Limited,
    NetLimit, RATE_FROM, ROUND_TRIP_FROM, THREAD_FROM, WINDOW_FROM,
};
pub(crate) use machine::HOST;
pub use machine::{Machine, Thread};
pub use planned::Carries;
pub use stream::{Amount, Datagrams, Stream, Tcp};
pub use wire::{Framing, SpeedFrom, Wire};

pub(crate) use across::across;
pub(crate) use planned::{CrossedHop, PlannedLoads};
pub(crate) use stream::StreamData;

use crate::counters::Integrals;
use crate::pool::Latency;
use crate::step::StepData;
use limit::Hosts;
use machine::MachineEnd;
use record::{CounterId, Fact, Flow, Source, SourceId};
use serde::Serialize;
use wire::{CountedCable, WireSpeed};

/// A pair of machines in one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetPair {
    /// Its hop's name: `far`, or `vm1.far`.
    pub name: String,
    /// Each workload's streams, each way.
    pub directions: Vec<Direction>,
    /// Times of the small requests beside the streams: latency under load.
    pub probe: Option<Latency>,
    /// Probes that failed; `None` without a probe.
    pub probe_failed: Option<u64>,
    /// The machine that asked for the load.
    pub sender: Machine,
    /// The machine that served it.
    pub receiver: Machine,
    /// Whether both ends are on one machine, so that its figures are those of both.
    pub one_machine: bool,
    /// How far the receiver's clock was ahead of the sender's, in nanoseconds.
    pub clock_offset_ns: Option<f64>,
    /// By how much that may be wrong, in nanoseconds.
    pub clock_bound_ns: Option<f64>,
    /// The version of IP, 4 or 6.
    pub ip: Option<u8>,
    /// The congestion control that the kernel used.
    pub congestion: Option<String>,
    /// The addresses of both ends.
    pub addresses: Option<String>,
    /// Whether both ends of every stream reported the whole measured time.
    pub complete: bool,
    /// What is missing, in words.
    pub missing: Vec<String>,
}

impl NetPair {
    /// What was received each way, both ways together, in bytes a second.
    pub fn bytes_per_s(&self) -> f64 {
        self.directions.iter().map(|direction| direction.received.bytes_per_s).sum()
    }

    /// The machine that a way's data comes from, and the one that it goes to.
    pub fn ends(&self, way: Way) -> (&Machine, &Machine) {
        match way {
            Way::Up => (&self.sender, &self.receiver),
            Way::Down => (&self.receiver, &self.sender),
        }
    }

    /// The directions that go one way.
    pub fn going(&self, way: Way) -> impl Iterator<Item = &Direction> {
        self.directions.iter().filter(move |direction| direction.way == way)
    }
}

/// The pairs of a step, in the order in which it announced them.
pub(crate) fn pairs(
    step: &StepData,
    planned: &PlannedLoads,
    facts: &[Fact],
    sources: &[Source],
) -> Vec<NetPair> {
    let mut hops: Vec<SourceId> = Vec::new();
    for stream in &step.streams {
        if !hops.contains(&stream.load.hop) {
            hops.push(stream.load.hop);
        }
    }
    if hops.is_empty() {
        return Vec::new();
    }
    let counts = &step.integrals;
    hops.into_iter().map(|hop| pair(step, hop, counts, planned, facts, sources)).collect()
}

fn pair(
    step: &StepData,
    hop: SourceId,
    counts: &Integrals,
    planned: &PlannedLoads,
    facts: &[Fact],
    sources: &[Source],
) -> NetPair {
    let ends: Vec<&StreamData> = step.streams.iter().filter(|s| s.load.hop == hop).collect();
    let name = ends.first().map_or("", |end| end.hop.as_str());
    let mut directions = directions(step, counts, planned, &ends);
    let undelivered = |flow| match flow {
        Way::Up => counts.amount(hop, CounterId::WriteUndelivered),
        Way::Down => counts.amount(hop, CounterId::ReadUndelivered),
    };
    for way in [Way::Up, Way::Down] {
        let mut going = directions.iter_mut().filter(|direction| direction.way == way);
        // The hop counts all that goes one way: its count cannot be split among several workloads.
        if let (Some(only), None) = (going.next(), going.next()) {
            only.undelivered_bytes = undelivered(way);
        }
    }
    let bytes =
        directions.iter().map(|d| d.received.bytes as f64 + d.back_bytes.unwrap_or(0.0)).sum();
    let machine = |side: MachineEnd| {
        let hop = format!("{name}/{}", side.word());
        let id = sources.iter().find(|source| source.name == hop).map(|source| source.id);
        Machine::of((name, side), id, counts, facts, bytes)
    };
    let fact = |key: &str| {
        let found = facts.iter().rev().find(|fact| fact.subject == name && fact.key == key);
        found.map(|fact| fact.value.clone())
    };
    let missing: Vec<String> = missing(step, &ends);
    let probe = step.probe(name);
    let (sender, receiver) = (machine(MachineEnd::Sender), machine(MachineEnd::Receiver));
    let mut pair = NetPair {
        name: name.to_owned(),
        directions,
        probe: probe.and_then(|tally| direction::transactions([tally].into_iter())),
        probe_failed: probe.map(|tally| tally.errors),
        one_machine: sender.host.is_some()
            && sender.host == receiver.host
            && one(&sender, &receiver),
        sender,
        receiver,
        clock_offset_ns: counts.mean(hop, CounterId::ClockOffset),
        clock_bound_ns: counts.mean(hop, CounterId::ClockBound),
        ip: fact("ip-version").and_then(|text| ip(&text)),
        congestion: fact("congestion"),
        addresses: fact("addresses"),
        complete: missing.is_empty(),
        missing,
    };
    judge(&mut pair, planned, counts, sources);
    pair
}

/// Whether two ends of one host's name are one machine. Two namespaces of it are: they share its processors. Two machines may
/// have one name, but hardly one kernel and as many processors as well.
fn one(sender: &Machine, receiver: &Machine) -> bool {
    sender.kernel == receiver.kernel && sender.processors == receiver.processors
}

fn ip(text: &str) -> Option<u8> {
    match () {
        () if text.ends_with('6') => Some(6),
        () if text.ends_with('4') => Some(4),
        () => None,
    }
}

fn directions(
    step: &StepData,
    counts: &Integrals,
    planned: &PlannedLoads,
    ends: &[&StreamData],
) -> Vec<Direction> {
    let mut kinds: Vec<(&str, Flow)> = Vec::new();
    for end in ends {
        let kind = (end.load.workload.as_str(), end.load.flow);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let of = |kind: (&str, Flow)| {
        let mine = |end: &&&StreamData| (end.load.workload.as_str(), end.load.flow) == kind;
        let mine: Vec<&StreamData> = ends.iter().filter(mine).copied().collect();
        Direction::of(step, counts, planned, kind, &mine)
    };
    kinds.into_iter().map(of).collect()
}

/// Why the figures of a pair are not those of the whole measured time.
fn missing(step: &StepData, ends: &[&StreamData]) -> Vec<String> {
    let mut kinds: Vec<(&str, Flow)> =
        ends.iter().map(|end| (end.load.workload.as_str(), end.load.flow)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let of = |kind: (&str, Flow)| -> Vec<String> {
        let mine = |end: &&&StreamData| (end.load.workload.as_str(), end.load.flow) == kind;
        let mine: Vec<&StreamData> = ends.iter().filter(mine).copied().collect();
        stream::Ends::of(&mine).iter().filter_map(|(_, ends)| ends.shortfall(step)).collect()
    };
    kinds.into_iter().flat_map(of).collect()
}

/// Holds every direction against its wire, and finds what limits it.
fn judge(pair: &mut NetPair, planned: &PlannedLoads, counts: &Integrals, sources: &[Source]) {
    let framings: Vec<_> =
        pair.directions.iter().map(|direction| framing(pair, direction)).collect();
    let seconds = counts.seconds();
    let plain = speed(pair, planned);
    for i in 0..pair.directions.len() {
        let way = pair.directions[i].way;
        let share = framings[i].as_ref().ok().map(|framing| framing.share);
        let cable = fullest_cable((&pair.name, way, share), planned, counts, sources);
        let speed = cable.map(WireSpeed::Cable).map_or_else(|| plain.clone(), Ok);
        let beside = (0..pair.directions.len())
            .filter(|j| *j != i && pair.directions[*j].way == way)
            .map(|j| Wire::on_wire(&framings[j], pair.directions[j].received.bytes_per_s))
            .sum();
        let carried = pair.directions[i].received.bytes_per_s;
        pair.directions[i].wire = Wire::of(framings[i].clone(), speed, carried, beside);
        let (sending, receiving) = pair.ends(way);
        let hosts = Hosts { sending, receiving, one: pair.one_machine };
        let load = planned.load(&pair.directions[i].workload);
        let limit = limit::judge(&pair.directions[i], load, &hosts, seconds);
        pair.directions[i].limit = limit;
    }
}

/// How the payload of a direction lies in frames, or why that cannot be known.
fn framing(pair: &NetPair, direction: &Direction) -> Result<wire::Framing, String> {
    let ip = pair.ip.ok_or("the version of IP is not known (no fact `ip-version`)")?;
    let of_interfaces = [&pair.sender, &pair.receiver].into_iter().filter_map(|m| m.mtu);
    let least =
        |values: &mut dyn Iterator<Item = f64>| values.filter(|v| *v > 0.0).min_by(f64::total_cmp);
    let tcps = || direction.streams.iter().filter_map(|stream| stream.tcp.as_ref());
    let mtu = least(&mut tcps().filter_map(|tcp| tcp.path_mtu))
        .or_else(|| least(&mut of_interfaces.into_iter()))
        .ok_or("the MTU is not known (no counter `path-mtu` or `interface-mtu`)")?;
    match direction.carries {
        Carries::Tcp => {
            let stamps: Option<bool> =
                tcps().map(|tcp| tcp.timestamps).try_fold(false, |any, one| Some(any || one?));
            let stamps = stamps.filter(|_| tcps().next().is_some()).ok_or(
                "whether segments carry timestamps is not known (no counter `tcp-timestamps`)",
            )?;
            let mss = least(&mut tcps().filter_map(|tcp| tcp.mss));
            Ok(wire::tcp(mtu, ip, stamps, mss))
        }
        Carries::Udp => {
            let amount =
                if direction.received.ops > 0 { direction.received } else { direction.sent };
            match amount.ops {
                0 => Err("no datagram was carried".to_owned()),
                ops => Ok(wire::udp(mtu, ip, amount.bytes as f64 / ops as f64)),
            }
        }
        _ => Err("transactions wait for their answers, and do not fill a wire".to_owned()),
    }
}

/// The fullest of the lab's cables that a pair's data crosses one way; `None` unless each of them was counted.
fn fullest_cable(
    (pair, way, share): (&str, Way, Option<f64>),
    planned: &PlannedLoads,
    counts: &Integrals,
    sources: &[Source],
) -> Option<CountedCable> {
    let counted = |hop: &CrossedHop| {
        let id = sources.iter().find(|source| source.name == hop.name)?.id;
        let carried = match (way == Way::Up) != hop.turned {
            true => CounterId::WriteBytes,
            false => CounterId::ReadBytes,
        };
        let rate = counts.mean(id, CounterId::PortRate).or_else(|| hop.payload(share));
        let bytes = counts.amount(id, carried)?;
        // A cable without a speed of its own is never full.
        let Some(rate) = rate.filter(|rate| *rate > 0.0) else { return Some(None) };
        let fill = bytes / counts.seconds() / rate;
        Some(Some(CountedCable { name: hop.name.clone(), rate, fill }))
    };
    let all: Option<Vec<_>> = planned.route(pair).iter().map(counted).collect();
    all?.into_iter().flatten().max_by(|a, b| a.fill.total_cmp(&b.fill))
}

/// The speed of a pair's wire, or why it is not known.
fn speed(pair: &NetPair, planned: &PlannedLoads) -> Result<WireSpeed, String> {
    if let Some(speed) = planned.wire(&pair.name) {
        return Ok(speed);
    }
    let speeds = [&pair.sender, &pair.receiver].map(|machine| machine.speed_bytes_per_s);
    if let Some(slower) = speeds.into_iter().flatten().min_by(f64::total_cmp) {
        return Ok(WireSpeed::Line(slower, SpeedFrom::Interface));
    }
    let by = pair.sender.interface.as_deref();
    Err(match by {
        Some(interface) => format!(
            "interface {interface} has no speed, and the scenario names no wire (`rate` of the receiver)"
        ),
        None => {
            "no interface reports its speed, and the scenario names no wire (`rate` of the receiver)"
                .to_owned()
        }
    })
}

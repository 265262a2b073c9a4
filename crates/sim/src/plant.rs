//! A step of a scenario on its lab, compiled for both solvers.
//!
//! The compiler ([`crate::lab`]) makes a plant; the estimator reads its demands, the event engine runs its network, and
//! both report results under the names of its hops. Figures that had to be assumed are listed, so that every figure has
//! a source.

use crate::model::{LoadId, Network, PoolId, Station, StationId};
use record::{Flow, Loop};
use scenario::topology::HopKind;

/// A network of stations, with the names of the lab.
#[derive(Clone, Debug, Default)]
pub struct Plant {
    /// The network to solve.
    pub network: Network,
    /// The hops, in the order of the topology.
    pub hops: Vec<PlantHop>,
    /// The workers; each has at least one load.
    pub issuers: Vec<Issuer>,
    /// Figures that the scenario and the catalog do not give.
    pub assumptions: Vec<Assumption>,
    /// Pairs of machines that exchange network traffic, with their streams.
    pub pairs: Vec<MachinePair>,
    /// Remarks on the step for its reader.
    pub notes: Vec<PlantNote>,
}

impl Plant {
    /// The streams of all pairs; a pair's probe follows its other streams.
    pub fn streams(&self) -> impl Iterator<Item = &NetStream> {
        self.pairs.iter().flat_map(MachinePair::all)
    }
}

/// A remark on a step for its reader.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlantNote {
    /// The code of its event in the record.
    pub code: &'static str,
    /// What is so.
    pub text: String,
}

/// A member of a network load and its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct MachinePair {
    /// Its name in the record (`far`, `vm1.far`).
    pub name: String,
    /// The machine that runs the load, and the one that serves it.
    pub machines: [EndMachine; 2],
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// The streams of all loads between the two.
    pub streams: Vec<NetStream>,
    /// Small requests beside the streams, for latency.
    pub probe: Option<NetStream>,
}

impl MachinePair {
    /// Its streams, then its probe.
    pub fn all(&self) -> impl Iterator<Item = &NetStream> {
        self.streams.iter().chain(&self.probe)
    }
}

/// A machine at one end of a machine pair.
#[derive(Clone, Debug, PartialEq)]
pub struct EndMachine {
    /// Its name: a host or a VM.
    pub host: String,
    /// Index in [`Plant::hops`] of its processors.
    pub processors: usize,
    /// Number of cores.
    pub cores: u32,
    /// The network adapter used.
    pub interface: String,
    /// Speed of that adapter's port in bytes a second, all headers included.
    pub speed: Option<f64>,
}

/// A stream of a network load. Its I/Os are jobs: one or more messages, or a part of one, handled at once.
#[derive(Clone, Debug, PartialEq)]
pub struct NetStream {
    /// Its load in the network.
    pub load: LoadId,
    /// Its name in the record, without the end (`far/up1`).
    pub name: String,
    /// The workload's name.
    pub workload: String,
    /// Direction of its payload.
    pub flow: Flow,
    /// Its number among the streams of its workload with the same direction.
    pub number: u16,
    /// The number of the thread that carries it at each end.
    pub thread: u16,
    /// The cost of one job.
    pub job: StreamJob,
}

impl NetStream {
    /// Whether its payload goes to the receiver.
    pub fn is_up(&self) -> bool {
        self.flow == Flow::Up
    }
}

/// What a job of a stream moves, and what that costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamJob {
    /// Payload, or bytes of the request.
    pub bytes: u32,
    /// Bytes of the response.
    pub back: u32,
    /// Bytes of a message, headers excluded.
    pub message: u32,
    /// Each job is a request that waits for its response, so latency is recorded.
    pub timed: bool,
    /// Its messages are datagrams.
    pub datagrams: bool,
    /// System calls of the sending end.
    pub calls: f64,
    /// Packets of the payload.
    pub packets: f64,
    /// Payload of a full packet.
    pub segment: u32,
    /// CPU seconds of the thread at the sending end and at the receiving end.
    pub thread: [f64; 2],
    /// The part of `thread` spent on packets.
    pub packet_time: [f64; 2],
    /// Seconds from start to end without any queueing.
    pub floor: f64,
    /// Bytes in flight at most.
    pub window: u64,
    /// The send buffer limits the window, rather than the receive buffer.
    pub by_sender: bool,
    /// Rate limit in bytes a second, if one is set.
    pub rate: Option<u64>,
}

/// A hop with the elements of the network that it consists of.
#[derive(Clone, Debug, PartialEq)]
pub struct PlantHop {
    /// Its name in the record.
    pub name: String,
    /// What it is.
    pub kind: HopKind,
    /// The VM, host, switch, array or link that it belongs to.
    pub device: String,
    /// Its model in the catalog or in the scenario.
    pub part: Option<String>,
    /// Where its traffic is served or limited; empty where it costs no time and cannot fill up.
    pub places: Vec<HopElement>,
    /// Where its traffic is counted instead, added up, because an I/O visits its own places several times; empty where it
    /// visits them once.
    pub passed: Vec<HopElement>,
    /// What it is known to carry.
    pub limits: HopLimits,
}

impl PlantHop {
    /// The wire among its places on which its data in a direction (0: read) is counted: the one that gives its rate, or
    /// else one of both directions, or else the slowest; with it, whether it gives the rate.
    pub(crate) fn wire(&self, network: &Network, way: usize) -> Option<(usize, bool)> {
        let limit = [self.limits.read_rate, self.limits.write_rate][way];
        let rate = |place: &HopElement| match (*place, way) {
            (HopElement::ReadLink(id, link), 0)
            | (HopElement::WriteLink(id, link), 1)
            | (HopElement::BothLink(id, link), _) => match network.stations().get(id.0 as usize)? {
                Station::Links { rates } => rates.get(usize::from(link)).map(|rate| *rate as f64),
                _ => None,
            },
            _ => None,
        };
        let wires = self.places.iter().enumerate();
        let wires = wires.filter_map(|(at, place)| Some((at, place, rate(place)?)));
        let rank = |(_, place, rate): &(usize, &HopElement, f64)| {
            (limit != Some(*rate), !matches!(place, HopElement::BothLink(..)))
        };
        let first = wires.min_by(|a, b| rank(a).cmp(&rank(b)).then(a.2.total_cmp(&b.2)));
        first.map(|(at, _, rate)| (at, limit == Some(rate)))
    }
}

/// An element of the network that a hop consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopElement {
    /// A station that serves both directions.
    Station(StationId),
    /// A link of a station of links that carries reads (towards the guest).
    ReadLink(StationId, u16),
    /// A link that carries writes (towards the device).
    WriteLink(StationId, u16),
    /// A link that carries both directions and limits their sum.
    BothLink(StationId, u16),
    /// A queue limit: I/Os outstanding at once.
    Pool(PoolId),
}

/// The rated capacity of a hop, from parts, standards and the scenario; overhead beside payload is already subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HopLimits {
    /// Payload bytes a second, read.
    pub read_rate: Option<f64>,
    /// Payload bytes a second, written.
    pub write_rate: Option<f64>,
    /// Payload bytes a second, both directions together.
    pub both_rate: Option<f64>,
    /// I/Os a second.
    pub ops_rate: Option<f64>,
    /// I/Os outstanding at once.
    pub slots: Option<u32>,
    /// Servers that work in parallel.
    pub servers: Option<u32>,
}

/// A worker of the step, as in a live run.
#[derive(Clone, Debug, PartialEq)]
pub struct Issuer {
    /// Its load in the network.
    pub load: LoadId,
    /// The worker's name in the record (`vm1`, `vm1/2`).
    pub source: String,
    /// The VM or target that it works for.
    pub group: String,
    /// The workload's name.
    pub workload: String,
    /// Closed or open loop.
    pub arrivals: Loop,
    /// Operations of one transaction; 1 where the workload has none.
    pub ops_per_transaction: u32,
    /// Bytes after which it is done, where it ends.
    pub planned: Option<u64>,
}

/// A figure that had to be assumed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assumption {
    /// The hop or part that it belongs to.
    pub subject: String,
    /// The figure's name in the catalog (`lun_queue`).
    pub figure: String,
    /// The value, unit included.
    pub value: String,
    /// Why this value.
    pub reason: String,
}

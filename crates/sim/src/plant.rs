//! A step of a scenario on its lab, ready to be solved: one graph for both solvers.
//!
//! The compiler ([`crate::lab`]) makes a plant; the estimator reads its demands, the event engine runs its network, and both
//! write what they find under the names of its hops. What nobody gave and had to be assumed stands beside it, so that no
//! figure comes from nowhere.

use crate::model::{LoadId, Network, PoolId, StationId};
use record::{Flow, Loop};
use scenario::topology::HopKind;

/// A network of stations, with the names of the lab.
#[derive(Clone, Debug, Default)]
pub struct Plant {
    /// What is solved.
    pub network: Network,
    /// The hops, in the order of the topology.
    pub hops: Vec<PlantHop>,
    /// Who issues: at least one load each.
    pub issuers: Vec<Issuer>,
    /// Figures that were not given.
    pub assumptions: Vec<Assumption>,
    /// Who talks to whom over networks, with their streams.
    pub pairs: Vec<Pair>,
    /// What is to be known of the step besides.
    pub notes: Vec<String>,
}

impl Plant {
    /// The streams of all pairs, each pair's probe behind its others.
    pub fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.pairs.iter().flat_map(Pair::all)
    }
}

/// A member of a network load and its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Its name in the record (`far`, `vm1.far`).
    pub name: String,
    /// The machine that asks for the load, and the one that serves it.
    pub machines: [Machine; 2],
    /// Bytes of a packet at most.
    pub mtu: u32,
    /// The streams of all loads on it.
    pub streams: Vec<Stream>,
    /// Small requests beside the streams.
    pub probe: Option<Stream>,
}

impl Pair {
    /// Its streams, the probe behind the others.
    pub fn all(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().chain(&self.probe)
    }
}

/// A machine at one end of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its host, or the VM.
    pub host: String,
    /// The hop of its processors, by its place in [`Plant::hops`].
    pub processors: usize,
    /// How many they are.
    pub cores: u32,
    /// The adapter that it leaves by.
    pub interface: String,
    /// Bytes a second of that adapter's port, with everything that is on the wire.
    pub speed: Option<f64>,
}

/// A stream of a network load. Its I/Os are jobs: as many messages, or as much of one, as are handled at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Its load in the network.
    pub load: LoadId,
    /// Its name in the record, without its end (`far/up1`).
    pub name: String,
    /// The workload.
    pub workload: String,
    /// Which way it goes.
    pub flow: Flow,
    /// Its number among those of its workload that go the same way.
    pub number: u16,
    /// The thread that carries it at each end, by number.
    pub thread: u16,
    /// What a job is.
    pub job: Job,
}

impl Stream {
    /// Its payload goes to the receiver, and does not come from it.
    pub fn is_up(&self) -> bool {
        self.flow == Flow::Up
    }
}

/// What a stream moves at once, and what that costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Job {
    /// Payload, or bytes of the request.
    pub bytes: u32,
    /// Bytes of the response.
    pub back: u32,
    /// Bytes of a message.
    pub message: u32,
    /// Each is a request whose answer is waited for, so that it has a time.
    pub timed: bool,
    /// Its messages are datagrams.
    pub datagrams: bool,
    /// System calls of the writing end.
    pub calls: f64,
    /// Packets of the payload.
    pub packets: f64,
    /// Payload of a full packet.
    pub segment: u32,
    /// Seconds of the thread at the writing end, and at the reading end.
    pub thread: [f64; 2],
    /// Of them, seconds for packets.
    pub packet_time: [f64; 2],
    /// Seconds from the first to the last, with nobody else there.
    pub floor: f64,
    /// Bytes that may be on their way at once.
    pub window: u64,
    /// The send buffer is what allows no more, and not the receive buffer.
    pub by_sender: bool,
    /// Bytes a second, where that is set.
    pub rate: Option<u64>,
}

/// A hop with the places of the network that it consists of.
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
    /// Where its traffic is served or limited; empty where nothing of it takes time or can be full.
    pub places: Vec<Place>,
    /// What it is known to carry.
    pub limits: Limits,
}

/// A place of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A station that serves both directions.
    Station(StationId),
    /// A link of a station of links, which carries what is read (towards the guest).
    ReadLink(StationId, u16),
    /// A link that carries what is written (towards the device).
    WriteLink(StationId, u16),
    /// A link that carries both, which limits the sum of the directions.
    BothLink(StationId, u16),
    /// A queue limit: so many I/Os at once.
    Pool(PoolId),
}

/// What a hop is known to carry: from parts, standards and the scenario, after everything that it takes besides payload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Payload bytes a second, read.
    pub read_rate: Option<f64>,
    /// Payload bytes a second, written.
    pub write_rate: Option<f64>,
    /// Payload bytes a second, both directions together.
    pub both_rate: Option<f64>,
    /// I/Os a second.
    pub ops_rate: Option<f64>,
    /// I/Os at once.
    pub slots: Option<u32>,
    /// Servers that work at once.
    pub servers: Option<u32>,
}

/// A worker of the step, as a live run would have it.
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
    /// Its loop.
    pub arrivals: Loop,
    /// Operations of one transaction; 1 where the workload has none.
    pub ops_per_transaction: u32,
}

/// A figure that nobody gave.
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

//! A step of a scenario on its lab, ready to be solved: one graph for both solvers.
//!
//! The compiler ([`crate::lab`]) makes a plant; the estimator reads its demands, the event engine runs its network, and both
//! write what they find under the names of its hops. What nobody gave and had to be assumed stands beside it, so that no
//! figure comes from nowhere.

use crate::model::{LoadId, Network, PoolId, StationId};
use record::Loop;
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

//! The lab as a graph: the hops at which traffic can saturate, and the ways of disks through them.
//!
//! Hops have the names that goals, claims, records and the map use. A way belongs to a disk of a VM; its paths go from
//! the guest to the device, and there are several where there is multipath. What a zone or a mask forbids is not a
//! path. Nothing here says how fast anything is: that is the business of parts and their figures.
//!
//! What a lab lacks for a simulation is reported when the graph is built, at its place in the text, and not by `load`:
//! a live run needs none of it. `draft` bounds how long a hostile lab can keep this busy.

mod access;
mod backend;
mod cabling;
mod draft;
mod fabric;
mod nets;
mod ways;
mod wiring;

pub use hop::HopKind;
pub use wiring::{Wire, WireEnd, WireRole};

use crate::Policy;
use crate::diagnostics::{Diagnostics, Sink};
use crate::model::Scenario;
use std::collections::BTreeSet;

pub(crate) use fabric::check;

/// Number of a hop of one [`Topology`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HopId(pub u32);

/// The lab as a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Every hop that a way uses, and those of parts that no way uses; names are unique.
    pub hops: Vec<Hop>,
    /// The ways of disks: of VMs, in their order and that of their disks; of hosts; and of targets that a plan names.
    pub ways: Vec<Way>,
    /// The ways of VMs on the hosts that some plan moves them to, each pair of a VM and a host once.
    pub moves: Vec<Move>,
    /// The ways of network loads between hosts of the lab, each pair of a member and its receiver once.
    pub nets: Vec<NetRoute>,
}

/// How a network load gets from the host that sends to the one that receives.
#[derive(Clone, Debug, PartialEq)]
pub struct NetRoute {
    /// The pair, as [`crate::NetHop::name`] has it.
    pub pair: String,
    /// The VM that the load runs on; the host itself where there is none.
    pub vm: Option<String>,
    /// The host that sends.
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// From the sender's processors to the receiver's, in order.
    pub legs: Vec<NetLeg>,
}

/// A hop of such a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetLeg {
    /// The hop.
    pub hop: HopId,
    /// What goes to the receiver is read there: it comes to the host that the hop belongs to.
    pub turned: bool,
}

/// A VM on a host that it moves to.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// The VM.
    pub vm: String,
    /// The host.
    pub to: String,
    /// The ways of its disks from there, in their order.
    pub ways: Vec<Way>,
}

/// A place where traffic is counted and can saturate.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// Its name (`esx.hba:0`).
    pub name: String,
    /// What it is.
    pub kind: HopKind,
    /// The VM, host, switch, array or link that it belongs to.
    pub device: String,
    /// Its model in the catalog or in the scenario.
    pub part: Option<String>,
    /// How many like it stand behind this name: the disks of a group, the processors of a host.
    pub count: u32,
}

/// How a disk of a VM reaches its volume.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The VM; the host where no VM stands between; or the target where a plan names it itself.
    pub member: String,
    /// Which of its disks, from 0.
    pub disk: u32,
    /// The volume, `ARRAY/NAME`, or the target. One that its array provides is called `lun0`, `lun1`, … on it.
    pub volume: String,
    /// How its paths are used.
    pub policy: Policy,
    /// At least one; in the order in which a policy prefers them.
    pub paths: Vec<Route>,
}

/// One path of a way.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Its name where the scenario gives it one.
    pub name: Option<String>,
    /// The hops from the guest to the device, in order.
    pub hops: Vec<HopId>,
}

impl Topology {
    /// A hop by its number.
    pub fn hop(&self, id: HopId) -> &Hop {
        &self.hops[id.0 as usize]
    }

    /// A hop by its name.
    pub fn find(&self, name: &str) -> Option<HopId> {
        let position = self.hops.iter().position(|hop| hop.name == name)?;
        u32::try_from(position).ok().map(HopId)
    }
}

/// The names of the hops of a lab, as far as it can be made a graph.
pub(crate) fn names(scenario: &Scenario) -> BTreeSet<String> {
    let topology = ways::topology(scenario, &mut Sink::default());
    topology.hops.into_iter().map(|hop| hop.name).collect()
}

impl Scenario {
    /// The lab as a graph, for the simulator.
    /// # Errors
    /// Everything that keeps it from being one, at its place in the text: a disk without a way to its volume, and why; what
    /// is not said and cannot be guessed; more than the bounds allow.
    pub fn topology(&self) -> Result<Topology, Diagnostics> {
        let mut sink = Sink::default();
        let topology = ways::topology(self, &mut sink);
        if sink.is_empty() { Ok(topology) } else { Err(self.spots.finish(sink.once_a_place())) }
    }
}

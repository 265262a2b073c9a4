//! The lab of a record as a graph: the devices, the hops of each, and their connections, from hosts to arrays.
//!
//! A pure function of a record and the scenario in it. The graph is the scenario's topology; what a scenario describes in
//! other words (embedded arrays, plain targets, receivers of network loads) is added, and what a record counted and no
//! scenario names is added at its device. It holds no figures: [`loads`] finds those of a step, hop by hop, in its
//! findings. It knows no picture: the review draws it.

mod build;
mod loads;
mod local;
mod model;
mod wired;

pub use loads::loads;
pub(crate) use model::of_model;

use crate::figures::StepFigures;
use build::MapBuilder;
use record::{Fact, Source};
use scenario::Scenario;
use scenario::topology::Topology;
use serde::Serialize;

/// Hops of a map at most; a lab that is larger is said to be.
pub const HOPS_MAX: usize = 4096;
/// Ways from hop to hop at most.
pub const EDGES_MAX: usize = 16_384;

/// Devices, and their connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabMap {
    /// Whether the ways are those of the scenario's lab; otherwise the map shows what counted, without connections.
    pub wired: bool,
    /// Hosts, VMs, switches, arrays and whatever else has hops.
    pub devices: Vec<MapDevice>,
    /// The hops; their figures stand in `steps[].attribution.hops` under the same names.
    pub hops: Vec<MapHop>,
    /// What leads to what, from the guest to the device, each pair once.
    pub edges: Vec<MapEdge>,
    /// Hops that are not in it because there were too many.
    pub left_out: usize,
    /// Whether it is of a simulated or estimated record: nothing that costs time there goes uncounted.
    pub modelled: bool,
}

/// Something that has hops.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MapDevice {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Its model in the catalog.
    pub part: Option<String>,
    /// The host that a VM runs on, as a place in `devices`.
    pub host: Option<u32>,
}

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A virtual machine, or a target that workers are named after.
    Guest,
    /// A host.
    Host,
    /// A switch.
    Switch,
    /// An array or a tape library.
    Array,
    /// A file, a block device or whatever else a plain target is.
    Target,
    /// The far end of network loads.
    Receiver,
    /// Not known.
    Other,
}

/// A hop on the map.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MapHop {
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// What it belongs to, as a place in `devices`; a link belongs to nothing.
    pub device: Option<u32>,
    /// Its model in the catalog.
    pub part: Option<String>,
    /// How many like it stand behind this name.
    pub count: u32,
    /// Its rate as the scenario calls it (`8gfc`).
    pub rate: Option<String>,
    /// What it is called where it counts, if not by its name.
    pub counted_as: Option<String>,
}

/// What a hop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// What a VM or a target issues altogether.
    Guest,
    /// Virtual processors of a VM.
    GuestCpu,
    /// A virtual SCSI adapter.
    VirtualAdapter,
    /// A virtual disk with its queue.
    VirtualDisk,
    /// Processors of a host.
    HostCpu,
    /// A file system that holds virtual disks.
    Datastore,
    /// The queue of one LUN at one adapter.
    LunQueue,
    /// An adapter as a whole.
    Adapter,
    /// A port of an adapter.
    InitiatorPort,
    /// A cable.
    Link,
    /// A port of a switch.
    SwitchPort,
    /// A link between switches.
    Trunk,
    /// A port of an array.
    TargetPort,
    /// A controller of an array.
    Controller,
    /// The cache of an array.
    Cache,
    /// What joins an array's controllers to its disks.
    Backend,
    /// The disks of a volume, or the volume as a whole.
    Disks,
    /// A tape drive.
    TapeDrive,
    /// A block device.
    BlockDevice,
    /// The machine at one end of a network load.
    Machine,
    /// Not known.
    Other,
}

/// One hop leads to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MapEdge {
    /// The hop nearer to the guest, as a place in `hops`.
    pub from: u32,
    /// The hop nearer to the device.
    pub to: u32,
    /// Ways of disks that go there.
    pub ways: u32,
}

/// The map of a record, from the scenario in it, that scenario's topology where its lab has one without mistakes, and
/// the sources that reported; `None` where it would show nothing but a single target.
pub fn lab_map(
    scenario: Option<&Scenario>,
    topology: Option<&Topology>,
    sources: &[Source],
    facts: &[Fact],
    steps: &[StepFigures],
) -> Option<LabMap> {
    let mut builder = MapBuilder::default();
    if let Some(scenario) = scenario {
        if let Some(topology) = topology {
            let hops = sources.iter().filter(|source| source.hop().is_some());
            let counted = hops.map(|source| source.name.as_str()).collect();
            wired::graph(&mut builder, topology, &scenario.lab, &counted);
        }
        local::lab(&mut builder, scenario);
    }
    local::record(&mut builder, scenario, sources, facts, steps);
    let map = builder.finish();
    (map.hops.len() > 1).then_some(map)
}

//! The lab as a graph: the hops at which traffic can saturate, and the ways of disks through them.
//!
//! Hops have the names by which goals, claims, records and the map speak of them. A way belongs to a disk of a VM; its
//! paths go from the guest to the device, and there are several where there is multipath. What a zone or a mask forbids is
//! not a path. Nothing here says how fast anything is: that is the business of parts and their figures.

use crate::Policy;

/// Number of a hop of one [`Topology`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HopId(pub u32);

/// The lab as a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Every hop that a way uses, and those of parts that no way uses; names are unique.
    pub hops: Vec<Hop>,
    /// The ways of disks, by member and then by disk.
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

/// What a hop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HopKind {
    /// Virtual processors of a VM.
    VmCpu,
    /// A virtual SCSI adapter of a VM.
    VirtualAdapter,
    /// A virtual disk with its queue.
    VirtualDisk,
    /// Processors of a host, with its hypervisor's work.
    HostCpu,
    /// A file system that holds virtual disks as files, with its lock.
    Datastore,
    /// The queue of one LUN at one adapter.
    LunQueue,
    /// An HBA or a NIC as a whole: its chip, its bus, its limits over all ports.
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
    /// The disks of a volume, of whatever kind, as one RAID group.
    Disks,
    /// A tape drive.
    TapeDrive,
}

/// How a disk of a VM reaches its volume.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The VM, or the host where no VM stands between.
    pub member: String,
    /// Which of its disks, from 0.
    pub disk: u32,
    /// The volume, `ARRAY/NAME`.
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

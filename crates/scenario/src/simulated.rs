//! What only the simulator can carry out: how volumes are made of disks, teams of network adapters, and what goes wrong
//! in a lab that is not present.
//!
//! These are data, checked by `build`. They never say how anything is simulated.

use std::fmt;
use std::time::Duration;
use units::{LinkRate, Percent};

/// What the data of a volume lies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Memory.
    Ram,
    /// Solid-state disks of no particular model.
    Ssd,
    /// Rotating disks of no particular model.
    Disk,
    /// A file on the server that exports the volume.
    File,
    /// Disks of this model.
    Part(String),
}

/// How a volume is spread over its disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raid {
    /// One disk, or several one after the other.
    None,
    /// Striped, without redundancy.
    Raid0,
    /// Pairs of disks that hold the same.
    Raid1,
    /// Striped over pairs that hold the same.
    Raid10,
    /// Striped with one parity.
    Raid5,
    /// Striped with two parities.
    Raid6,
}

/// What an array's cache does for a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMode {
    /// Nothing: I/O goes past it.
    None,
    /// It answers reads; a write is acknowledged when it is on the disks.
    WriteThrough,
    /// A write is acknowledged when it is in the cache.
    WriteBack,
}

/// `[[team]]`: ports of network adapters of a host that act as one. Its full name is `HOST.NAME`.
#[derive(Clone, Debug, PartialEq)]
pub struct Team {
    /// Its name within the host.
    pub name: String,
    /// The host.
    pub host: String,
    /// Its members, `HOST.ADAPTER` with an optional `:PORT`; at least one.
    pub members: Vec<String>,
    /// How they are used.
    pub mode: TeamMode,
}

/// How the members of a team are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeamMode {
    /// Static link aggregation: a conversation stays on one member, chosen by a hash of its two ends.
    Static,
    /// IEEE 802.3ad with its protocol, which also finds dead members; conversations stay on one member as well.
    Dynamic,
    /// Without the switch's help (balance-alb): a conversation stays on one member, back as well, by what ARP says to the peer.
    Adaptive,
    /// One member carries everything until it fails.
    Failover,
}

/// Something that happens in a simulated or an emulated lab.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    /// When: since the beginning of the step's measured time, and before its end.
    pub at: Duration,
    /// What.
    pub change: Change,
}

/// What changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// This part fails: a VM, a host, an adapter, a switch, an array, or a port of one (`esx.hba:0`), or a link.
    Fail(String),
    /// What had failed works again.
    Restore(String),
    /// A VM runs on another host from now on.
    Move {
        /// The VM.
        vm: String,
        /// The host.
        to: String,
    },
    /// The cables of this part are up, and hampered until it is restored. In emulated labs alone.
    Hamper {
        /// The part.
        part: String,
        /// How.
        how: Hamper,
    },
    /// The processes of an emulated host are killed, those of its VMs among them.
    Kill(String),
}

/// What is wrong with a cable that is up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hamper {
    /// It has this speed, which is scaled like all of the lab.
    Slow(LinkRate),
    /// So many of its packets are lost, in each direction.
    Lose(Percent),
    /// One of its ends takes packets up to so many bytes only.
    Mismatch(u32),
    /// Nothing is taken off it: what is sent waits.
    Stall,
}

impl Raid {
    /// Its name in scenarios.
    pub fn word(self) -> &'static str {
        match self {
            Raid::None => "none",
            Raid::Raid0 => "raid-0",
            Raid::Raid1 => "raid-1",
            Raid::Raid10 => "raid-10",
            Raid::Raid5 => "raid-5",
            Raid::Raid6 => "raid-6",
        }
    }

    /// The fewest disks that a group can have.
    pub fn disks_min(self) -> u32 {
        match self {
            Raid::None | Raid::Raid0 => 1,
            Raid::Raid1 => 2,
            Raid::Raid5 => 3,
            Raid::Raid10 | Raid::Raid6 => 4,
        }
    }
}

impl TeamMode {
    /// Its name in scenarios.
    pub fn word(self) -> &'static str {
        match self {
            TeamMode::Static => "static",
            TeamMode::Dynamic => "dynamic",
            TeamMode::Adaptive => "adaptive",
            TeamMode::Failover => "failover",
        }
    }
}

impl Team {
    /// `HOST.NAME`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.host, self.name)
    }
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Medium::Ram => "ram",
            Medium::Ssd => "ssd",
            Medium::Disk => "disk",
            Medium::File => "file",
            Medium::Part(part) => part,
        })
    }
}

impl fmt::Display for Change {
    /// In the words of the scenario: `fail esx.hba:0`, `move vm1 to esx2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Fail(what) => write!(f, "fail {what}"),
            Change::Restore(what) => write!(f, "restore {what}"),
            Change::Move { vm, to } => write!(f, "move {vm} to {to}"),
            Change::Kill(host) => write!(f, "kill {host}"),
            Change::Hamper { part, how } => match how {
                Hamper::Slow(rate) => write!(f, "slow {part} to {rate}"),
                Hamper::Lose(share) => write!(f, "lose {share} of the packets of {part}"),
                Hamper::Mismatch(mtu) => write!(f, "mismatch the MTU of {part}: {mtu} at one end"),
                Hamper::Stall => write!(f, "stall {part}"),
            },
        }
    }
}

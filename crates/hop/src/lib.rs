//! Kinds of hops: the components of a path where traffic is counted and can saturate.
//!
//! The topology creates hops of these kinds, producers store the kind in the record, and findings read it there. The
//! type has its own crate because neither the language nor the record may depend on the other. A kind is never guessed
//! from a name.

#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// Defines the kinds with their stored words.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $word:literal,)+) => {
        /// The kind of a hop.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum HopKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl HopKind {
            /// Every kind.
            pub const ALL: &[HopKind] = &[$(HopKind::$kind),+];

            /// The stable word stored in a record.
            pub fn word(self) -> &'static str {
                match self {
                    $(HopKind::$kind => $word,)+
                }
            }
        }
    };
}

kinds! {
    /// Virtual processors of a VM.
    VmCpu = "vm-cpu",
    /// A virtual SCSI adapter of a VM.
    VirtualAdapter = "virtual-adapter",
    /// A virtual disk with its queue.
    VirtualDisk = "virtual-disk",
    /// Processors of a host, including the hypervisor's work.
    HostCpu = "host-cpu",
    /// A file system with virtual disks as files, and its lock.
    Datastore = "datastore",
    /// The queue of one LUN at one adapter.
    LunQueue = "lun-queue",
    /// An HBA or a NIC as a whole: its chip, its bus, its limits over all ports.
    Adapter = "adapter",
    /// A port of an adapter.
    InitiatorPort = "initiator-port",
    /// A cable.
    Link = "link",
    /// A port of a switch.
    SwitchPort = "switch-port",
    /// A link between switches.
    Trunk = "trunk",
    /// A port of an array.
    TargetPort = "target-port",
    /// A controller of an array.
    Controller = "controller",
    /// The cache of an array.
    Cache = "cache",
    /// The connection of an array's controllers to its disks.
    Backend = "backend",
    /// The disks of a volume, as one RAID group.
    Disks = "disks",
    /// A tape drive.
    TapeDrive = "tape-drive",
    /// A volume of an array as a whole.
    Volume = "volume",
    /// The process that serves an array, and its processors.
    ArrayCpu = "array-cpu",
    /// A disk or partition of a machine.
    BlockDevice = "block-device",
    /// All that is behind the adapter of a host, as that host sees it: fabric and array together.
    BehindHost = "behind-host",
    /// The path of network loads between two hosts.
    NetworkPair = "network-pair",
    /// The machine at one end of network loads.
    NetworkHost = "network-host",
    /// Anything else.
    Other = "other",
}

impl HopKind {
    /// The kind of a stored word; [`HopKind::Other`] for a word of a later version.
    pub fn of(word: &str) -> HopKind {
        HopKind::ALL.iter().copied().find(|kind| kind.word() == word).unwrap_or(HopKind::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_has_a_word_of_its_own() {
        let words: BTreeSet<&str> = HopKind::ALL.iter().map(|kind| kind.word()).collect();
        assert_eq!(words.len(), HopKind::ALL.len());
        for kind in HopKind::ALL {
            assert_eq!(HopKind::of(kind.word()), *kind);
        }
        assert_eq!(HopKind::of("of a later version"), HopKind::Other);
    }
}

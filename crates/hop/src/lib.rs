//! What a hop is: the kinds of places on a path where traffic is counted and can saturate.
//!
//! The lab's topology makes hops of these kinds, every producer stores the kind with its source in the record, and
//! findings read it there. The type has a crate of its own, below both, because the language must not depend on the
//! record and the record must not depend on the language. A kind is never guessed from a name.

#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// Defines the kinds with their words, so that a new kind is one line.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $word:literal,)+) => {
        /// What a hop is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum HopKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl HopKind {
            /// Every kind.
            pub const ALL: &[HopKind] = &[$(HopKind::$kind),+];

            /// The stable word that a record stores.
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
    /// Processors of a host, with its hypervisor's work.
    HostCpu = "host-cpu",
    /// A file system that holds virtual disks as files, with its lock.
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
    /// What joins an array's controllers to its disks.
    Backend = "backend",
    /// The disks of a volume, of whatever kind, as one RAID group.
    Disks = "disks",
    /// A tape drive.
    TapeDrive = "tape-drive",
    /// A volume of an array as a whole.
    Volume = "volume",
    /// The process that serves an array, with its processors.
    ArrayCpu = "array-cpu",
    /// A disk of a machine, or a partition of one.
    BlockDevice = "block-device",
    /// The way of network loads between two hosts.
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

//! What hops are to attribution, and which of them are alike: by their kinds, as the record has them.

use record::{HopKind, Source};

/// What a hop is, as far as attribution needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HopRole {
    /// Processors.
    Cpu,
    /// What a path consists of between a host's queues and an array's controllers: adapters, ports, links.
    Path,
    /// A queue before a device: virtual adapters and disks, LUN queues.
    Queue,
    /// Everything behind the ports: controllers, caches, disks, drives, devices.
    Device,
}

impl HopRole {
    /// The role of a kind of hop.
    pub fn of(kind: HopKind) -> HopRole {
        match kind {
            HopKind::VmCpu | HopKind::HostCpu => HopRole::Cpu,
            HopKind::VirtualAdapter | HopKind::VirtualDisk | HopKind::LunQueue => HopRole::Queue,
            HopKind::Adapter
            | HopKind::InitiatorPort
            | HopKind::Link
            | HopKind::SwitchPort
            | HopKind::Trunk
            | HopKind::TargetPort
            | HopKind::NetworkPair => HopRole::Path,
            HopKind::Datastore
            | HopKind::Controller
            | HopKind::Cache
            | HopKind::Backend
            | HopKind::Disks
            | HopKind::TapeDrive
            | HopKind::Volume
            | HopKind::ArrayCpu
            | HopKind::BlockDevice
            | HopKind::BehindHost
            | HopKind::NetworkHost
            | HopKind::Other => HopRole::Device,
        }
    }
}

/// Hops with the same value are alike: of one kind and, where a path has several hops of a kind, at the same position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alike(HopKind, String);

impl Alike {
    /// That of a hop.
    pub fn of(source: &Source, kind: HopKind) -> Alike {
        let place = match kind {
            // A path may cross two switches, and a partition and its disk.
            HopKind::SwitchPort | HopKind::BlockDevice | HopKind::Other => source.group.clone(),
            // What two adapters or links have in common is known by the names that the lab gave them alone.
            HopKind::Adapter | HopKind::InitiatorPort | HopKind::Link | HopKind::Trunk => {
                numberless(&source.name)
            }
            _ => String::new(),
        };
        Alike(kind, place)
    }
}

/// A name without its numbers: `esx.hba:#` of `esx.hba:12`.
fn numberless(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{SourceId, SourceKind};

    fn hop(name: &str, group: &str, kind: HopKind) -> Alike {
        let (name, group, agent) = (name.to_owned(), group.to_owned(), String::new());
        let source = Source { id: SourceId(0), kind: SourceKind::Hop(kind), name, group, agent };
        Alike::of(&source, kind)
    }

    #[test]
    fn a_device_is_a_device_whatever_its_name() {
        for name in ["dm-0", "nvme0n1", "md127", "sda-part:1"] {
            assert_eq!(HopRole::of(HopKind::BlockDevice), HopRole::Device);
            let other = hop("vda", "vda", HopKind::BlockDevice);
            assert_ne!(hop(name, name, HopKind::BlockDevice), other, "{name}");
        }
    }

    #[test]
    fn hops_of_one_kind_and_place_are_alike() {
        use HopKind::{Controller, Disks, Link, SwitchPort, VmCpu};
        let alike = |kind, one: (&str, &str), other: (&str, &str)| {
            hop(one.0, one.1, kind) == hop(other.0, other.1, kind)
        };
        assert!(alike(VmCpu, ("web.cpu", "web"), ("db.cpu", "db")));
        assert!(alike(Controller, ("a.controller0", "a"), ("b.controller1", "b")));
        assert!(alike(SwitchPort, ("core:1", "core"), ("core:2", "core")));
        assert!(!alike(SwitchPort, ("core:1", "core"), ("edge:1", "edge")));
        assert!(alike(Link, ("esx.hba:0-fabric", ""), ("esx.hba:1-fabric", "")));
        assert!(!alike(Link, ("esx.hba:0-fabric", ""), ("fabric-ssd1:0", "")));
        assert_ne!(hop("x", "x", Controller), hop("x", "x", Disks));
    }
}

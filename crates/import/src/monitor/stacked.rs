//! Places that repeat what others of the file count: partitions of disks, volumes and multipath devices on disks; bonds,
//! bridges and VLANs on ports.
//!
//! A name alone does not tell: `xvda1` is a partition where `xvda` is in the file, and a disk of its own where it is not.

use super::format::MonitorFormat;
use super::model::{Feed, Flow, Measure};
use record::HopKind;
use std::collections::{BTreeMap, BTreeSet};

/// Beginnings of the names that Linux gives to disks.
const DISKS: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "nbd", "rbd", "dasd", "cciss/", "ida/", "rssd",
    "pmem",
];
/// Beginnings of the names of what is stacked on disks.
const ON_DISKS: &[&str] =
    &["dm-", "md", "loop", "drbd", "bcache", "zd", "VolGroup", "mpath", "emcpower"];
/// The same of ports, in small letters: groups of ports, which are as fast as their members together.
const GROUPS: &[&str] = &[
    "bond",
    "team",
    "port-channel",
    "portchannel",
    "lag",
    "trk",
    "microsoft network adapter multiplexor driver",
];
/// And what has no speed of its own.
const ON_PORTS: &[&str] = &[
    "br-",
    "virbr",
    "vmbr",
    "docker",
    "veth",
    "vnet",
    "tap",
    "tun",
    "vlan",
    "vxlan",
    "cni",
    "flannel",
    "cali",
    "ovs",
    "wg",
    "dummy",
    "ifb",
    "gre",
    "sit",
    "ip6tnl",
    "macvtap",
    "macvlan",
    "ipvlan",
    "lxc",
    "fwbr",
    "fwpr",
    "fwln",
    "vmk",
    "irb",
    "loopback",
    "null",
    "vethernet",
    "hyper-v virtual",
    "isatap",
    "teredo",
    "6to4",
    "wan miniport",
    "kernel debugger",
];
/// By how much more a group or a volume may seem to carry than what it is stacked on.
const ROUNDING: f64 = 1.1;

/// What a port is, where its agent says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PortKind {
    /// A group of ports.
    Group,
    /// A VLAN, a tunnel, a bridge: no wire.
    Virtual,
}

/// Decides which disks and ports are within others of their host.
pub(super) fn settle(feed: &mut Feed, told: &BTreeMap<usize, PortKind>) {
    let mut hosts: BTreeMap<(HopKind, &str), BTreeSet<&str>> = BTreeMap::new();
    let is_port = |kind| matches!(kind, HopKind::InitiatorPort | HopKind::SwitchPort);
    for place in &feed.places {
        if place.kind == HopKind::BlockDevice || is_port(place.kind) {
            hosts.entry((place.kind, &place.device)).or_default().insert(&place.name);
        }
    }
    // Disks of Windows and of ESX have other names.
    let linux = feed.format != MonitorFormat::Pdh;
    let none = BTreeSet::new();
    let mut within = vec![false; feed.places.len()];
    let mut no_wire = Vec::new();
    for (at, place) in feed.places.iter().enumerate() {
        let others = hosts.get(&(place.kind, place.device.as_str())).unwrap_or(&none);
        if is_port(place.kind) {
            let kind = told.get(&at).copied().or_else(|| port(&place.name, others));
            within[at] = place.within || kind.is_some();
            no_wire.extend((kind == Some(PortKind::Virtual)).then_some(at));
        } else if place.kind == HopKind::BlockDevice {
            within[at] = place.within || linux && disk(&place.name, others);
        } else {
            within[at] = place.within;
        }
    }
    // More than all others carry does not pass through them: what it is stacked on is not in the file.
    let mut below: BTreeMap<(HopKind, &str), f64> = BTreeMap::new();
    for (at, place) in feed.places.iter().enumerate().filter(|(at, _)| !within[*at]) {
        *below.entry((place.kind, &place.device)).or_default() += carried(feed, at);
    }
    for (at, place) in feed.places.iter().enumerate() {
        if within[at] && passes_on(&place.name, told.get(&at).copied()) {
            let all = below.get(&(place.kind, place.device.as_str()));
            within[at] = all.is_none_or(|all| carried(feed, at) <= all * ROUNDING);
        }
    }
    for (place, within) in feed.places.iter_mut().zip(within) {
        if place.kind == HopKind::BlockDevice || is_port(place.kind) {
            place.within = within;
        }
    }
    // A VLAN says a speed that nothing keeps.
    no_wire.into_iter().for_each(|place| feed.forget(place, Measure::Speed));
}

/// The bytes a second of a place; of disks whose bytes are not counted, their operations.
fn carried(feed: &Feed, place: usize) -> f64 {
    let all = |of: fn(Flow) -> Measure| -> f64 {
        let mean = |flow| feed.mean(place, of(flow), 0..feed.rows.len());
        [Flow::Read, Flow::Write, Flow::Any].into_iter().filter_map(mean).sum()
    };
    let bytes = all(Measure::Bytes);
    if bytes > 0.0 { bytes } else { all(Measure::Ops) }
}

/// Whether all that passes a stacked place passes those below: caches, bridges and loops keep some of it to themselves.
fn passes_on(name: &str, told: Option<PortKind>) -> bool {
    let keeps = ["loop", "zd", "bcache", "md", "drbd"];
    let virtual_port = told == Some(PortKind::Virtual) || begins(&name.to_lowercase(), ON_PORTS);
    !virtual_port && !begins(name, &keeps)
}

fn begins(name: &str, with: &[&str]) -> bool {
    with.iter().any(|prefix| name.starts_with(prefix))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// The disk whose partition a name is, if it is one's: `sda1`, `nvme0n1p1`, `wwn-0x5000-part1`.
fn parent(name: &str) -> Option<&str> {
    let rest = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if rest.len() == name.len() {
        return None;
    }
    let numbered = |of: &str| of.ends_with(|c: char| c.is_ascii_digit());
    let parted = rest.strip_suffix("-part").or(rest.strip_suffix('p').filter(|of| numbered(of)));
    parted.or(Some(rest)).filter(|of| !of.is_empty())
}

/// Whether a name alone may be that of a partition, or of what is stacked on disks: its identity is that of another.
pub(super) fn may_be_within(name: &str) -> bool {
    let part = parent(name).is_some_and(|of| {
        let numbered = of.ends_with(|c: char| c.is_ascii_digit());
        numbered || begins(of, &["sd", "hd", "vd", "xvd", "dasd"])
    });
    begins(name, ON_DISKS) || name.contains("mapper") || part && begins(name, DISKS)
}

/// Whether a disk is within others of its host.
fn disk(name: &str, others: &BTreeSet<&str>) -> bool {
    if begins(name, ON_DISKS) || name.contains("mapper") {
        return true;
    }
    if parent(name).is_some_and(|of| others.contains(of)) {
        return true;
    }
    if let Some((major, minor)) = numbers(name) {
        return by_number(major, minor, others);
    }
    // `centos-root` beside `sda`: a name that no disk has.
    let hardware = |other: &&str| begins(other, DISKS);
    !begins(name, DISKS) && others.iter().any(|other| hardware(other) && *other != name)
}

/// `dev8-16`, as sar names devices.
fn numbers(name: &str) -> Option<(u32, u32)> {
    let (major, minor) = name.strip_prefix("dev")?.split_once('-')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether a device of these numbers is stacked: loops, arrays of disks; of numbers that are given as drivers come, those of
/// volumes, which follow each other, where those of virtual disks leave room for 15 partitions.
fn by_number(major: u32, minor: u32, others: &BTreeSet<&str>) -> bool {
    match major {
        7 | 9 | 147 => true,
        252..=254 => {
            let of: Vec<(u32, u32)> = others.iter().filter_map(|other| numbers(other)).collect();
            let spaced = |major: u32| of.iter().all(|(of, n)| *of != major || n % 16 == 0);
            let is_there = |major: u32| of.iter().any(|(of, _)| *of == major);
            let fixed = of.iter().any(|(major, _)| !matches!(major, 7 | 9 | 147 | 252..=254));
            // Where both could be either, 253 is that of volumes in most distributions.
            let other = [252, 254].into_iter().any(|of| is_there(of) && spaced(of));
            !spaced(major) || minor == 0 && (fixed || major == 253 && other)
        }
        _ => false,
    }
}

/// What a port is by its name, if it is no wire.
fn port(name: &str, others: &BTreeSet<&str>) -> Option<PortKind> {
    let small = name.to_lowercase();
    let short = |prefix: &str| small.strip_prefix(prefix).is_some_and(is_number);
    // `team0` and `bond-storage`, and not `teams`.
    let group = |prefix: &&str| {
        let rest = small.strip_prefix(*prefix);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphabetic()))
    };
    if GROUPS.iter().any(group) || short("po") || short("ae") {
        return Some(PortKind::Group);
    }
    let unit = name.rsplit_once(['.', ':']).filter(|(_, unit)| is_number(unit));
    let of_port = unit.is_some_and(|(of, _)| others.contains(of));
    // What Windows puts between a driver and its protocols: `Intel(R) 82574L-QoS Packet Scheduler-0000`.
    let filter = name.rsplit_once('-').filter(|(_, n)| n.len() == 4 && is_number(n));
    let above = |of: &&str| name.strip_prefix(*of).is_some_and(|rest| rest.starts_with('-'));
    let of_driver = filter.is_some() && others.iter().any(above);
    (begins(&small, ON_PORTS) || short("br") || of_port || of_driver).then_some(PortKind::Virtual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disks(names: &[&str]) -> Vec<String> {
        let all: BTreeSet<&str> = names.iter().copied().collect();
        names.iter().filter(|name| disk(name, &all)).map(|name| (*name).to_owned()).collect()
    }

    fn ports(names: &[&str]) -> Vec<String> {
        let all: BTreeSet<&str> = names.iter().copied().collect();
        let within = |name: &&&str| port(name, &all).is_some();
        names.iter().filter(within).map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_partition_is_within_its_disk_and_else_a_disk() {
        assert_eq!(disks(&["sda", "sda1", "sdb2"]), ["sda1"]);
        assert_eq!(disks(&["xvda1", "xvdb"]), [""; 0]);
        assert_eq!(disks(&["nvme0n1", "nvme0n1p1", "nvme1n1"]), ["nvme0n1p1"]);
        assert_eq!(
            disks(&["cciss/c0d0", "cciss/c0d0p2", "dasda", "dasda1"]),
            ["cciss/c0d0p2", "dasda1"]
        );
        assert_eq!(disks(&["wwn-0x5", "wwn-0x5-part1"]), ["wwn-0x5-part1"]);
        assert_eq!(disks(&["rbd0", "rbd0p1"]), ["rbd0p1"]);
    }

    #[test]
    fn volumes_are_on_disks() {
        assert_eq!(
            disks(&["sda", "dm-0", "md127", "centos-root", "mpatha", "emcpowera"]),
            ["dm-0", "md127", "centos-root", "mpatha", "emcpowera"]
        );
        assert_eq!(disks(&["ata-WDC", "ata-ST"]), [""; 0]);
        assert_eq!(disks(&["dev8-0", "dev253-0", "dev9-0"]), ["dev253-0", "dev9-0"]);
        assert_eq!(disks(&["dev252-0", "dev253-0", "dev253-1"]), ["dev253-0", "dev253-1"]);
        assert_eq!(disks(&["dev252-0", "dev253-0"]), ["dev253-0"]);
        assert_eq!(disks(&["dev253-0", "dev253-16"]), [""; 0]);
        assert_eq!(disks(&["dev253-0"]), [""; 0]);
    }

    #[test]
    fn bonds_and_vlans_are_on_ports() {
        assert_eq!(
            ports(&["eth0", "eth1", "bond0", "bond0.100", "br0", "docker0", "veth1a2b"]),
            ["bond0", "bond0.100", "br0", "docker0", "veth1a2b"]
        );
        assert_eq!(
            ports(&["Ethernet1/1", "port-channel10", "Vlan10", "Po1", "mgmt0"]),
            ["port-channel10", "Vlan10", "Po1"]
        );
        assert_eq!(ports(&["xe-0/0/0", "xe-0/0/0.0", "eth0.5"]), ["xe-0/0/0.0"]);
        let nic = "Intel(R) 82574L";
        let filter = "Intel(R) 82574L-QoS Packet Scheduler-0000";
        assert_eq!(ports(&[nic, filter, "Broadcom-0001"]), [filter]);
        assert_eq!(ports(&["broadcast", "teams", "Position1"]), [""; 0]);
    }
}

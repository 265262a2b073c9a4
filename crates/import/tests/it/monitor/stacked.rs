//! What is counted twice in a file is one load: partitions, volumes and paths of disks; bonds, VLANs and filters of ports. And
//! where a disk has only its partition's name, that is the disk.

use super::{Feed, fed, recorded};
use import::monitor::Topology;
use record::SourceKind;

/// The mean operations and bytes a second of all loads of a record, and the names of its hops.
fn load(feed: Feed) -> (f64, f64, Vec<String>) {
    let (_dir, record) = recorded(&[feed], &Topology::default());
    let [mut ops, mut bytes, mut seconds] = [0.0; 3];
    for interval in record.intervals(0).unwrap() {
        for side in [&interval.read, &interval.write].into_iter().flatten() {
            (ops, bytes) = (ops + side.ops as f64, bytes + side.bytes as f64);
        }
        seconds = interval.to.since(interval.from).0 as f64 / 1e9;
    }
    let hops = record.sources().iter().filter(|s| matches!(s.kind, SourceKind::Hop(_)));
    (ops / seconds, bytes / seconds, hops.map(|source| source.name.clone()).collect())
}

/// Two reports of iostat, the second of ten seconds, in which each disk does so many reads a second of 8 KiB.
fn iostat(disks: &[(&str, u32)]) -> String {
    let report = |at: &str| {
        let row = |(name, reads): &(&str, u32)| {
            format!("{name} {reads}.00 {}.00 1.00 10.00\n", reads * 8)
        };
        format!(
            "{at}\nDevice r/s rkB/s r_await %util\n{}\n",
            disks.iter().map(row).collect::<String>()
        )
    };
    "Linux 6.1.0 (db1) \t10/24/2018 \t_x86_64_\t(4 CPU)\n\n".to_owned()
        + &report("10/24/2018 10:49:00 AM")
        + &report("10/24/2018 10:49:10 AM")
}

#[track_caller]
fn reads(disks: &[(&str, u32)], expected: f64) {
    let (ops, ..) = load(fed(iostat(disks).as_bytes()));
    assert!((ops - expected).abs() < 0.2, "{ops} and not {expected}: {disks:?}");
}

#[test]
fn disks_are_counted_once() {
    reads(&[("sda", 100), ("sda1", 100), ("sdb", 50)], 150.0);
    // Xen and AWS name a disk so that has no other.
    reads(&[("xvda1", 100), ("xvdb", 50)], 150.0);
    reads(&[("xvda", 100), ("xvda1", 100), ("xvdb", 50)], 150.0);
    reads(&[("dasda", 100), ("dasda1", 100), ("rbd0", 20), ("rbd0p1", 20)], 120.0);
    reads(&[("sda", 100), ("centos-root", 100)], 100.0);
    reads(&[("sdb", 50), ("sdc", 50), ("mpatha", 100), ("emcpowera", 100)], 100.0);
    // More than all disks of the file carry: those below it are not in the file.
    reads(&[("sda", 10), ("dm-3", 500)], 510.0);
    reads(&[("dm-0", 30), ("dm-1", 20)], 50.0);
}

#[test]
fn parts_of_an_operation_are_carried_on() {
    // A file without time stamps has intervals of a second, in which a slow disk does less than one operation.
    let report = "Device r/s w/s rkB/s wkB/s %util\nsda 0.40 0.30 6.40 4.80 0.20\n\n";
    let text =
        "Linux 6.1.0 (db1) \t10/24/2018 \t_x86_64_\t(4 CPU)\n\n".to_owned() + &report.repeat(101);
    let (_dir, record) = recorded(&[fed(text.as_bytes())], &Topology::default());
    let sides = |interval: &record::Interval| {
        [&interval.read, &interval.write].map(|side| side.as_ref().map_or(0, |side| side.ops))
    };
    let all = record.intervals(0).unwrap().into_iter().map(|interval| sides(&interval));
    let sums = all.fold([0, 0], |sums, of| [sums[0] + of[0], sums[1] + of[1]]);
    assert_eq!(sums, [40, 30]);
}

#[test]
fn ports_of_a_host_are_counted_once() {
    let look = |at: u32, each: u64| {
        let line = |name: &str, n: u64| {
            format!("{name}: {} 1 0 0 0 0 0 0 {} 1 0 0 0 0 0 0\n", n * each, n * each)
        };
        let ports = [("lo", 9), ("eth0", 10), ("eth1", 5), ("bond0", 15), ("bond0.100", 15)];
        let lines: String = ports.iter().map(|(name, n)| line(name, *n)).collect();
        format!("# time {}\n{lines}", 1_700_000_000 + at)
    };
    let (_, bytes, hops) = load(fed((look(0, 0) + &look(10, 10_000_000)).as_bytes()));
    assert!((bytes - 30e6).abs() < 1.0, "{bytes}");
    assert_eq!(hops, ["eth0", "eth1"]);
}

#[test]
fn ports_of_a_switch_are_counted_once() {
    let walk = |at: u64, types: bool| {
        let port = |index: u32, name: &str, kind: &str, speed: u32, octets: u64| {
            let kind = if types {
                format!("IF-MIB::ifType.{index} = INTEGER: {kind}\n")
            } else {
                String::new()
            };
            format!(
                "IF-MIB::ifName.{index} = STRING: {name}\n{kind}IF-MIB::ifHighSpeed.{index} = Gauge32: {speed}\nIF-MIB::ifHCInOctets.{index} = Counter64: {}\n",
                octets * at
            )
        };
        format!("DISMAN-EVENT-MIB::sysUpTimeInstance = Timeticks: ({}) 0:00:10.00\n", at * 1000)
            + &port(1, "Ethernet1/1", "ethernetCsmacd(6)", 10_000, 1_000_000_000)
            + &port(2, "Ethernet1/2", "ethernetCsmacd(6)", 10_000, 500_000_000)
            + &port(3, "trunk7", "ieee8023adLag(161)", 20_000, 1_500_000_000)
            + &port(4, "Vlan10", "l3ipvlan(136)", 1_000, 1_500_000_000)
            + &port(5, "Null0", "other(1)", 10_000, 0)
            + &port(6, "lo0", "softwareLoopback(24)", 0, 77)
    };
    let (_, bytes, hops) = load(fed((walk(1, true) + &walk(2, true)).as_bytes()));
    assert!((bytes - 150e6).abs() < 1.0, "{bytes}");
    assert_eq!(hops, ["Ethernet1/1", "Ethernet1/2"]);
    // By their names alone all but `trunk7` and `lo0` are known.
    let (_, bytes, hops) = load(fed((walk(1, false) + &walk(2, false)).as_bytes()));
    assert_eq!(hops, ["Ethernet1/1", "Ethernet1/2", "lo0", "trunk7"]);
    assert!((bytes - 300e6).abs() < 10.0, "{bytes}");
}

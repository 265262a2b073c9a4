//! From the guest to the array's port, simulated: small labs whose figures are known by hand.

mod paths;
mod rig;
mod whole;

use rig::{Rig, Seen, Ways};
use workload::Dir::{Read, Write};

/// A host whose processors never limit, with an adapter of this part; a switch; an array with ports of this speed.
fn lab(port: &str, adapter: &str, more: &str) -> String {
    format!(
        r#"
[[part]]
name = "quick"
kind = "hypervisor"
figures = [
  {{ name = "cpu_per_io", value = "1 us", source = "test", kind = "assumed" }},
  {{ name = "cpu_per_byte", value = "0.001 ps/B", source = "test", kind = "assumed" }},
]
[[part]]
name = "server"
kind = "host"
figures = [{{ name = "cores", value = "64", source = "test", kind = "assumed" }}]
[[part]]
name = "virtual"
kind = "virtual-scsi"
figures = [
  {{ name = "cpu_per_io", value = "1 us", source = "test", kind = "assumed" }},
  {{ name = "adapter_queue", value = "254", source = "test", kind = "assumed" }},
  {{ name = "disk_queue", value = "64", source = "test", kind = "assumed" }},
]
[[part]]
name = "card"
kind = "{kind}"
figures = [
  {adapter}
]
[[part]]
name = "box"
kind = "array"
figures = [{{ name = "port_rate", value = "{port}", source = "test", kind = "assumed" }}]
[[array]]
name = "a"
part = "box"
[[switch]]
name = "fabric"
[[host]]
name = "esx"
part = "server"
hypervisor = "quick"
adapters = [{{ name = "hba", part = "card" }}]
[[vm]]
name = "vm{{1..4}}"
host = "esx"
vcpus = 32
scsi = ["virtual"]
disks = [{{ lun = "a/auto", adapter = "hba" }}]
{more}
"#,
        kind = if port.contains("gbe") { "nic" } else { "hba" },
    )
}

fn figure(name: &str, value: &str) -> String {
    format!(r#"{{ name = "{name}", value = "{value}", source = "test", kind = "assumed" }},"#)
}

/// The way of a VM over the only port of its adapter.
macro_rules! way {
    ($vm:literal, $lun:literal) => {
        (
            $vm,
            &[concat!(
                $vm,
                ".cpu ",
                $vm,
                ".scsi0 ",
                $vm,
                ".disk0 esx.cpu esx.hba.",
                $lun,
                " esx.hba esx.hba:0-fabric fabric:0 fabric:1 fabric:1-a a:0"
            )],
        )
    };
}

const ONE: Ways = &[way!("vm1", "a/1")];
const FOUR: Ways =
    &[way!("vm1", "a/1"), way!("vm2", "a/2"), way!("vm3", "a/3"), way!("vm4", "a/4")];

#[track_caller]
fn near(what: &str, found: f64, expected: f64, within: f64) {
    assert!((found / expected - 1.0).abs() <= within, "{what}: {found}, not {expected}");
}

fn fibre(port: &str) -> String {
    lab(port, &figure("port_rate", port), "")
}

/// Payload limits of the standards: one direction, the other, and both at once.
#[test]
fn a_port_of_fibre_channel_carries_its_payload_rate_each_way() {
    for (port, ceiling) in [("4gfc", 413.3), ("8gfc", 826.5), ("16gfc", 1653.0)] {
        let lab = fibre(port);
        let block = 65_536;
        for dir in [Read, Write] {
            let seen =
                Rig { lab: &lab, ways: ONE, loads: &[(0, dir, block, 32)], ..Rig::default() }.run();
            near(port, seen.rate(0, block), ceiling, 0.01);
        }
        let both = [(0, Read, block, 32), (1, Write, block, 32)];
        let seen = Rig { lab: &lab, ways: FOUR, loads: &both, ..Rig::default() }.run();
        near(port, seen.rate(0, block), ceiling, 0.012);
        near(port, seen.rate(1, block), ceiling, 0.012);
    }
}

/// 8 KB reads on 8GFC: 8,192 + 4 × 60 + 84 bytes on a wire of 850 MB/s.
#[test]
fn small_blocks_pay_for_their_frames() {
    let lab = fibre("8gfc");
    let expected = |wire: f64| 850e6 / wire;
    for (bytes, wire) in [(8192, 8516.0), (512, 656.0), (2112, 2256.0), (4096, 4300.0)] {
        let loads = [(0, Read, bytes, 32), (1, Read, bytes, 32), (2, Read, bytes, 32)];
        let seen = Rig { lab: &lab, ways: FOUR, loads: &loads, device: 1, ..Rig::default() }.run();
        let all: f64 = (0..3).map(|load| seen.iops(load)).sum();
        near(&format!("{bytes} bytes"), all, expected(wire), 0.01);
    }
}

/// Commands and responses go the other way: 92 bytes out for each read.
#[test]
fn the_other_direction_carries_commands() {
    let lab = fibre("8gfc");
    let seen = Rig { lab: &lab, ways: ONE, loads: &[(0, Read, 8192, 32)], ..Rig::default() }.run();
    let (read, write) = seen.wires("esx.hba");
    let payload = 2112.0 / 2172.0;
    near("home", read, seen.iops(0) * 8516.0 * payload, 0.01);
    near("out", write, seen.iops(0) * 92.0 * payload, 0.02);
    assert_eq!(seen.wires("a:0"), (read, write), "one crossing of all wires");
    assert_eq!(
        seen.wires("fabric:0"),
        (read, write),
        "a port without a speed is counted on its cable's wire"
    );
}

/// Little's law: 32 in the LUN queue, whatever the guest has outstanding.
#[test]
fn the_lun_queue_bounds_what_is_outstanding() {
    let lab = lab("32gfc", &[figure("port_rate", "32gfc"), figure("lun_queue", "8")].concat(), "");
    let loads = [(0, Read, 4096, 48)];
    let seen = Rig { lab: &lab, ways: ONE, loads: &loads, device: 1000, ..Rig::default() }.run();
    near("slots", seen.slots("esx.hba.a/1"), 8.0, 0.01);
    // A millisecond at the device and a few microseconds on the path.
    near("iops", seen.iops(0), 8.0 / 1004e-6, 0.04);
    near("behind the disk's queue", seen.slots("vm1.disk0"), 48.0, 0.01);
}

/// The queue of the virtual adapter limits several disks, that of a disk limits one.
#[test]
fn virtual_queues_bound_what_is_outstanding() {
    let lab =
        lab("32gfc", &[figure("port_rate", "32gfc"), figure("lun_queue", "500")].concat(), "");
    let loads = [(0, Read, 4096, 200)];
    let seen = Rig { lab: &lab, ways: ONE, loads: &loads, device: 1000, ..Rig::default() }.run();
    near("disk", seen.slots("vm1.disk0"), 64.0, 0.01);
    near("adapter", seen.slots("vm1.scsi0"), 64.0, 0.01);
}

/// The limits of an adapter: its chip, each direction, the sum of both, its bus.
#[test]
fn an_adapter_has_limits_of_its_own() {
    let block = 65_536;
    let run = |figures: &[(&str, &str)], loads: &[(usize, workload::Dir, u32, u32)]| -> Seen {
        let figures: String = figures.iter().map(|(name, value)| figure(name, value)).collect();
        let lab = lab("32gfc", &figures, "");
        Rig { lab: &lab, ways: FOUR, loads, ..Rig::default() }.run()
    };
    let one = [(0, Read, block, 32)];
    let both = [(0, Read, block, 32), (1, Write, block, 32)];
    near("read", run(&[("read_rate", "688 MB/s")], &one).rate(0, block), 688.0, 0.01);
    let seen = run(&[("read_rate", "688 MB/s"), ("write_rate", "676 MB/s")], &both);
    near("writes beside reads", seen.rate(1, block), 676.0, 0.01);
    let seen = run(&[("duplex_rate", "1000 MB/s")], &both);
    near("both together", seen.rate(0, block) + seen.rate(1, block), 1000.0, 0.01);
    near("read of both", seen.rate(0, block), 500.0, 0.02);
    let seen = run(&[("bus", "PCIe Gen1 x4")], &both);
    near("bus, each direction", seen.rate(0, block), 1000.0 * 128.0 / 152.0, 0.012);
    let seen = run(&[("iops_max", "50k IOPS")], &[(0, Read, 512, 32), (1, Read, 512, 32)]);
    near("chip", seen.iops(0) + seen.iops(1), 50_000.0, 0.01);
    let seen = run(&[("throttle", "16")], &[(0, Read, 512, 32), (1, Read, 512, 32)]);
    near("throttle", seen.slots("esx.hba"), 16.0, 0.01);
    let seen = run(&[("latency", "300 us")], &[(0, Read, 512, 1)]);
    assert!(seen.iops(0) < 1.0 / 310e-6, "{}", seen.iops(0));
}

/// 10 km of 8GFC: 100 us there and back, and 8 buffers that carry a fifth.
#[test]
fn distance_takes_time_and_credits() {
    let run = |length: &str, more: &str, loads: &[(usize, workload::Dir, u32, u32)]| {
        let cable = format!(
            "[[link]]\nname = \"far-cable\"\nfrom = \"esx.hba\"\nto = \"a\"\nlength_m = {length}\n"
        );
        const FAR: Ways =
            &[("vm1", &["vm1.cpu vm1.scsi0 vm1.disk0 esx.cpu esx.hba.a/1 esx.hba far-cable a:0"])];
        let figures = [figure("port_rate", "8gfc"), more.to_owned()].concat();
        let lab = lab("8gfc", &figures, &cable);
        Rig { lab: &lab, ways: FAR, loads, ..Rig::default() }.run()
    };
    let block = 65_536;
    let stream = [(0, Read, block, 32)];
    near("8 credits", run("10000", "", &stream).rate(0, block), 826.5 * 0.19933, 0.01);
    let many = figure("credits", "60");
    near("enough credits", run("10000", &many, &stream).rate(0, block), 826.5, 0.01);
    near("a short one", run("10", "", &stream).rate(0, block), 826.5, 0.01);
    // One read at a time: 100 us of fibre, 10 at the device, 2 of processors, and 0.9 of frames.
    let one = run("10000", &many, &[(0, Read, 512, 1)]);
    near("a read", 1e6 / one.iops(0), 112.9, 0.005);
    // A write waits for the other end twice.
    let one = run("10000", &many, &[(0, Write, 512, 1)]);
    near("a write", 1e6 / one.iops(0), 212.9, 0.005);
}

/// 32 cores of a host that need 100 us an I/O; 4 virtual processors that need 50.
#[test]
fn processors_limit() {
    let slow = |lab: &str, part: &str, time: &str| {
        let at = lab.find(&format!("name = \"{part}\"")).expect("a part");
        let (before, after) = lab.split_at(at);
        format!("{before}{}", after.replacen("\"1 us\"", &format!("\"{time}\""), 1))
    };
    let plain = fibre("32gfc");
    let loads: Vec<_> = (0..4).map(|way| (way, Read, 512, 60)).collect();
    let run = |lab: &str| Rig { lab, ways: FOUR, loads: &loads, ..Rig::default() }.run();
    let all = |seen: &Seen| (0..4).map(|load| seen.iops(load)).sum::<f64>();
    let host = slow(&plain, "quick", "1 ms");
    near("host", all(&run(&host)), 64_000.0, 0.01);
    let guest = slow(&plain, "virtual", "1 ms");
    let seen = run(&guest);
    (0..4).for_each(|load| near("guest", seen.iops(load), 32_000.0, 0.01));
}

/// iSCSI: rates of the MTU in use, and packets that cost the host.
#[test]
fn ethernet_pays_for_its_frames_and_packets() {
    let run = |port: &str, more: &str, block: u32, cores: &str| {
        let figures = [figure("port_rate", port), more.to_owned()].concat();
        let lab = lab(port, &figures, "")
            .replace("value = \"64\", source", &format!("value = \"{cores}\", source"));
        let loads: Vec<_> = (0..4).map(|way| (way, Read, block, 32)).collect();
        let seen = Rig { lab: &lab, ways: FOUR, loads: &loads, ..Rig::default() }.run();
        (0..4).map(|load| seen.rate(load, block)).sum::<f64>()
    };
    let free = [
        figure("cpu_per_packet_offload", "1 ns"),
        figure("cpu_per_byte", "0.001 ps/B"),
        figure("mtu_max", "9600 B"),
    ]
    .concat();
    // 64 KiB and a header of 48 in 45 segments of 1,460 or 8 of 8,960, each with 78 bytes around it.
    near(
        "standard",
        run("10gbe", &free, 65_536, "64"),
        1250.0 * 65_536.0 / (65_584.0 + 45.0 * 78.0),
        0.01,
    );
    near(
        "jumbo",
        run("10gbe:9000", &free, 65_536, "64"),
        1250.0 * 65_536.0 / (65_584.0 + 8.0 * 78.0),
        0.01,
    );
    // One core: 1 us an I/O of the hypervisor and 45 packets of 2 us.
    let dear =
        [figure("cpu_per_packet_offload", "2 us"), figure("cpu_per_byte", "0.001 ps/B")].concat();
    near("packets", run("10gbe", &dear, 65_536, "1"), 65_536.0 / 91.0, 0.01);
    let bytes =
        [figure("cpu_per_packet_offload", "1 ns"), figure("cpu_per_byte", "5 ns/B")].concat();
    near("bytes", run("10gbe", &bytes, 65_536, "1"), 65_536.0 / (1.0 + 327.68), 0.01);
}

/// Every figure that no part gives is an assumption with a reason; no given figure is.
#[test]
fn assumptions_are_named() {
    let lab = lab("8gfc", &figure("port_rate", "8gfc"), "");
    let plant =
        Rig { lab: &lab, ways: ONE, loads: &[(0, Read, 4096, 1)], ..Rig::default() }.plant();
    let named: Vec<String> =
        plant.assumptions.iter().map(|of| format!("{} {}", of.subject, of.figure)).collect();
    for expected in [
        "esx.hba.a/1 lun_queue",
        "esx.hba bus",
        "esx.hba throttle",
        "fabric latency",
        "fabric:0 port_rate",
    ] {
        assert!(named.iter().any(|name| name == expected), "{expected} in {named:?}");
    }
    for given in [
        "esx.cpu cores",
        "esx.cpu cpu_per_io",
        "vm1.scsi0 adapter_queue",
        "esx.hba port_rate",
        "a:0 port_rate",
    ] {
        assert!(!named.iter().any(|name| name == given), "{given} was given");
    }
    assert!(plant.assumptions.iter().all(|of| of.reason.starts_with("not given; ")));
}

/// The rated capacity of hops.
#[test]
fn limits_are_those_of_payload() {
    let figures =
        [figure("port_rate", "8gfc"), figure("duplex_rate", "1400 MB/s"), figure("throttle", "99")]
            .concat();
    let lab = lab("8gfc", &figures, "");
    let plant =
        Rig { lab: &lab, ways: ONE, loads: &[(0, Read, 4096, 1)], ..Rig::default() }.plant();
    let limits = |name: &str| plant.hops.iter().find(|hop| hop.name == name).expect("a hop").limits;
    let adapter = limits("esx.hba");
    assert_eq!(adapter.read_rate, Some(826_519_337.0));
    assert_eq!(adapter.write_rate, Some(826_519_337.0));
    assert_eq!((adapter.both_rate, adapter.slots), (Some(1.4e9), Some(99)));
    assert_eq!((limits("vm1.scsi0").slots, limits("vm1.disk0").slots), (Some(254), Some(64)));
    assert_eq!(limits("vm1.cpu").servers, Some(32));
    assert_eq!(limits("esx.cpu").ops_rate, Some(64e6));
    assert_eq!(
        limits("esx.hba:0-fabric").read_rate,
        adapter.read_rate,
        "a cable goes as fast as its slower end"
    );
}

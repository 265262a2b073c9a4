//! The mechanisms that the labs' figures ask for, each on a lab of its own against an independent truth: a closed form, or
//! what `truth.py` beside this file prints (frames counted one by one, copies event by event).

use crate::simulate::support;
use scenario::{Scenario, Source};
use sim::Ps;
use sim::engine::Simulation;
use sim::estimate::estimate;
use sim::lab::compile;
use sim::plant::Plant;

/// Figures of a part, all made up.
fn part(name: &str, kind: &str, figures: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| {
        format!(
            "{{ name = \"{name}\", value = \"{value}\", source = \"made up\", kind = \"assumed\" }},\n"
        )
    };
    let figures: String = figures.iter().map(one).collect();
    format!("[[part]]\nname = \"{name}\"\nkind = \"{kind}\"\nfigures = [\n{figures}]\n")
}

fn loaded(text: &str) -> Scenario {
    let text = format!("[scenario]\ntitle = \"t\"\n{text}");
    let source = Source { name: "t.toml".into(), text, ..Source::default() };
    scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[track_caller]
fn plant(text: &str) -> Plant {
    let scenario = loaded(text);
    let topology = scenario.topology().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let step = scenario.steps().into_iter().next().expect("a step");
    compile(&scenario, &topology, &step).unwrap_or_else(|why| panic!("{why}"))
}

/// I/Os a second, simulated for so many milliseconds after 200.
fn simulated(plant: &Plant, millis: u64) -> f64 {
    let mut simulation = Simulation::new(&plant.network, 1).expect("a simulation");
    simulation.run_until(Ps::millis(200)).expect("no halt");
    let before = simulation.snapshot();
    simulation.run_until(Ps::millis(200 + millis)).expect("no halt");
    let span = simulation.snapshot().since(&before);
    let done: u64 = span.classes.iter().map(|class| class.tally.departures).sum();
    done as f64 * 1e3 / millis as f64
}

#[track_caller]
fn near(what: &str, found: f64, truth: f64, within: f64) {
    assert!((found / truth - 1.0).abs() <= within, "{what}: {found}, not {truth}");
}

/// I/Os a second of a lab, by the simulator within the first share of the truth and by the estimator within the second.
#[track_caller]
fn check(what: &str, text: &str, truth: f64, within: [f64; 2]) {
    let plant = plant(text);
    // Few large I/Os take longer until their number is known as well as that of many small ones.
    let millis = if truth < 20_000.0 { 4000 } else { 800 };
    near(what, simulated(&plant, millis), truth, within[0]);
    near(&format!("{what}, estimated"), estimate(&plant).iops, truth, within[1]);
}

const FREE: &[(&str, &str)] = &[("cpu_per_io", "1 ns"), ("software_iscsi_queue", "4096")];

/// A host without software of its own before an array, over one switch; keys go into each table.
struct San<'a> {
    host: &'a [(&'a str, &'a str)],
    hypervisor: &'a [(&'a str, &'a str)],
    port: &'a str,
    switch: &'a [(&'a str, &'a str)],
    array: &'a [(&'a str, &'a str)],
    adapter: &'a str,
    rest: &'a str,
}

impl Default for San<'_> {
    fn default() -> Self {
        San {
            host: &[("cores", "64")],
            hypervisor: FREE,
            port: "4gfc",
            switch: &[],
            array: &[],
            adapter: "hba",
            rest: "",
        }
    }
}

impl San<'_> {
    fn text(&self) -> String {
        let port = ("port_rate", self.port);
        let switch: Vec<_> = [&[port, ("latency", "1 ns")], self.switch].concat();
        let array: Vec<_> =
            [&[port, ("ports", "4"), ("latency", "1 us"), ("media", "ram")], self.array].concat();
        let adapter = [port, ("ports", "2"), ("lun_queue", "4096")];
        [
            part("box", "host", self.host),
            part("none", "hypervisor", self.hypervisor),
            part("card", self.adapter, &adapter),
            part("sw", "switch", &switch),
            part("ssd", "array", &array),
            "[[switch]]\nname = \"fabric\"\npart = \"sw\"\n".to_owned(),
            "[[array]]\nname = \"ssd\"\npart = \"ssd\"\n".to_owned(),
            self.rest.to_owned(),
        ]
        .concat()
    }
}

const HOST: &str = r#"
[[volume]]
name = "v{1..2}"
array = "ssd"
size = "10GB"
[[host]]
name = "h"
part = "box"
hypervisor = "none"
adapters = [{ name = "c", part = "card" }]
disks = [{ lun = "ssd/v1" }, { lun = "ssd/v2" }]
[[link]]
from = "h.c:0"
to = "fabric"
[[link]]
from = "ssd:0"
to = "fabric"
"#;

fn plan(workload: &str, on: &str) -> String {
    format!(
        "[workload.w]\n{workload}\n[[plan]]\nworkload = \"w\"\non = \"{on}\"\nwarmup = \"0s\"\nmeasure = \"1s\"\n"
    )
}

/// A second port of the array, so that what it sends itself, with six words between frames, limits nothing.
const SECOND_PORT: &str = r#"
[[link]]
from = "ssd:2"
to = "fabric"
[[path]]
name = "p"
from = "h"
to = "ssd"
policy = "round-robin"
switch_after = 1
"#;

/// `truth.py`: 416.16 MB/s read with two words between frames, 413.05 with six; a switch sends what is read, and the
/// adapter, which leaves six, what is written.
#[test]
fn a_fabric_shrinks_the_gaps_of_what_it_sends() {
    let lab = |read: &str, words: &str| {
        let rest = format!(
            "{HOST}{SECOND_PORT}{}",
            plan(&format!("block = \"256KiB\"\nread = {read}\ndepth = 8"), "h.disk0")
        );
        San { switch: &[("fill_words", words)], rest: &rest, ..San::default() }.text()
    };
    for (read, words, truth) in [
        ("100", "2", 416.16e6),
        ("100", "4", 414.60e6),
        ("100", "6", 413.05e6),
        ("0", "2", 413.04e6),
    ] {
        let what = format!("{words} words, {read}% read");
        check(&what, &lab(read, words), truth / 262_144.0, [0.003, 0.01]);
    }
}

/// One write at a time takes longer by the time to its transfer ready, and a read does not.
#[test]
fn a_write_waits_for_its_transfer_ready() {
    let time = |read: u32, ready: &[(&str, &str)]| {
        let rest = format!(
            "{HOST}{}",
            plan(&format!("block = \"4KiB\"\nread = {read}\ndepth = 1"), "h.disk0")
        );
        let plant = plant(&San { array: ready, rest: &rest, ..San::default() }.text());
        [1.0 / simulated(&plant, 800), 1.0 / estimate(&plant).iops]
    };
    let ready: &[(&str, &str)] = &[("transfer_ready_time", "25 us")];
    for solver in [0, 1] {
        near("a write", time(0, ready)[solver] - time(0, &[])[solver], 25e-6, 0.01);
        near("a read", time(100, ready)[solver], time(100, &[])[solver], 1e-9);
    }
}

/// An I/O takes the thread of its session 100 us; from two ports to two portals there are four, of which a host that takes
/// paths in turn uses all.
#[test]
fn a_session_is_from_a_port_to_a_portal() {
    let rest = |links: &str| {
        format!(
            "[[volume]]\nname = \"v\"\narray = \"ssd\"\nsize = \"10GB\"\n[[host]]\nname = \"h\"\npart = \"box\"\nhypervisor = \"none\"\n\
             adapters = [{{ name = \"c\", part = \"card\" }}]\ndisks = [{{ lun = \"ssd/v\", queue = 512 }}]\n{links}\
             [[path]]\nfrom = \"h\"\nto = \"ssd\"\npolicy = \"round-robin\"\nname = \"p\"\nswitch_after = 1\n{}",
            plan("block = \"4KiB\"\ndepth = 256", "h.disk0")
        )
    };
    let link = |from: &str| format!("[[link]]\nfrom = \"{from}\"\nto = \"fabric\"\n");
    for (ends, sessions) in [
        (&["h.c:0", "ssd:0"][..], 1.0),
        (&["h.c:0", "ssd:0", "ssd:1"], 2.0),
        (&["h.c:0", "h.c:1", "ssd:0"], 2.0),
        (&["h.c:0", "h.c:1", "ssd:0", "ssd:1"], 4.0),
    ] {
        let links: String = ends.iter().map(|end| link(end)).collect();
        let lab = San {
            port: "10gbe",
            adapter: "nic",
            array: &[("session_time_per_io", "100 us")],
            rest: &rest(&links),
            ..San::default()
        };
        check(&format!("{ends:?}"), &lab.text(), sessions * 10_000.0, [0.02, 0.02]);
    }
}

/// `truth.py`, and by hand for one worker: 64 KiB at 650 MB/s and 100 us each way, and what a file system takes.
#[test]
fn a_block_is_read_and_then_written() {
    let lab = |workers: u32, files: bool| {
        let rest = format!(
            "{}[[array]]\nname = \"other\"\npart = \"ssd\"\n[[volume]]\nname = \"v\"\narray = \"ssd\"\nsize = \"10GB\"\n\
             [[volume]]\nname = \"v\"\narray = \"other\"\nsize = \"10GB\"\n[[host]]\nname = \"h\"\npart = \"box\"\n\
             hypervisor = \"none\"\nadapters = [{{ name = \"a\", part = \"wide\" }}, {{ name = \"b\", part = \"wide\" }}]\n\
             disks = [{{ lun = \"ssd/v\", adapter = \"a\" }}, {{ lun = \"other/v\", adapter = \"b\" }}]\n\
             [[link]]\nfrom = \"h.a\"\nto = \"ssd:0\"\n[[link]]\nfrom = \"h.b\"\nto = \"other:0\"\n{}",
            part(
                "wide",
                "hba",
                &[("port_rate", "650 MB/s"), ("ports", "1"), ("lun_queue", "4096")]
            ),
            plan(
                &format!(
                    "kind = \"copy\"\nfrom = \"ssd/v\"\nto = \"other/v\"\nblock = \"64KiB\"\nworkers = {workers}\nfiles = {files}"
                ),
                "h",
            )
        );
        let host =
            [("cores", "64"), ("file_cpu_per_io", "20 us"), ("file_cpu_per_byte", "0.4 ns/B")];
        let text = San { host: &host, port: "650 MB/s", rest: &rest, ..San::default() }.text();
        text.replace("\"1 us\"", "\"100 us\"")
    };
    for (workers, files, truth, within) in [
        (1, false, 163.2e6, [0.01, 0.02]),
        (1, true, 132.7e6, [0.01, 0.02]),
        (2, true, 245.3e6, [0.02, 0.10]),
        // Blocks of eight workers meet in groups for a while, which an estimate does not know.
        (8, true, 538.6e6, [0.03, 0.25]),
    ] {
        let what = format!("{workers} workers, files {files}");
        check(&what, &lab(workers, files), truth / 65_536.0, within);
    }
}

/// Guests of 10 us an I/O and a hypervisor of 30 us: four shared cores do 4 / 40 us. With processors of their own the
/// guests do not slow them.
#[test]
fn guests_share_the_cores_of_their_host() {
    let lab = |shares: &str| {
        let rest = format!(
            "{}[[host]]\nname = \"h\"\npart = \"box\"\nhypervisor = \"none\"\nadapters = [{{ name = \"c\", part = \"card\" }}]\n\
             [[vm]]\nname = \"vm{{1..8}}\"\nhost = \"h\"\nvcpus = 2\nscsi = [\"virtual\"]\ndisks = [{{ lun = \"ssd/auto\" }}]\n\
             [[link]]\nfrom = \"h.c:0\"\nto = \"fabric\"\n[[link]]\nfrom = \"ssd:0\"\nto = \"fabric\"\n{}",
            part("virtual", "virtual-scsi", &[("cpu_per_io", "10 us")]),
            plan("block = \"512B\"\ndepth = 16", "vm*")
        );
        let hypervisor = [("cpu_per_io", "30 us"), ("guests_share_cores", shares)];
        San { host: &[("cores", "4")], hypervisor: &hypervisor, rest: &rest, ..San::default() }
            .text()
    };
    check("shared", &lab("yes"), 4.0 / 40e-6, [0.01, 0.03]);
    check("apart", &lab("no"), 4.0 / 30e-6, [0.01, 0.03]);
    // Cores that each I/O visits twice carry each once, and no rate of one visit is theirs.
    for (shares, rate) in [("yes", None), ("no", Some(4.0 / 30e-6))] {
        let text = format!("[scenario]\ntitle = \"t\"\n{}", lab(shares));
        let at = plant(&lab(shares));
        let number = at.hops.iter().position(|hop| hop.name == "h.cpu").expect("cores");
        let found = at.hops[number].limits.ops_rate;
        assert_eq!(found.map(f64::round), rate.map(f64::round), "{shares}");
        let solved = estimate(&at);
        let passed: f64 = solved.hops[number].flows.iter().map(|flow| flow.ops).sum();
        near(&format!("passed, {shares}"), passed, solved.iops, 1e-6);
        let step = |_: &scenario::Step| Ok(plant(&lab(shares)));
        let kept = support::run_until(&text, &support::PLAIN, &step, |_| false);
        let (mut of_cores, mut done) = (0.0, 0.0);
        for counter in ["read-ops", "write-ops"] {
            let values = support::counters(&kept.record, 0, "h.cpu", counter);
            of_cores += values.iter().map(|(value, _)| value).sum::<f64>();
        }
        for interval in kept.record.intervals(0).expect("intervals") {
            let ends = [&interval.read, &interval.write].into_iter().flatten();
            done += ends.map(|tally| tally.ops as f64).sum::<f64>();
        }
        near(&format!("counted, {shares}"), of_cores, done, 1e-3);
    }
}

/// A program of 50 us an I/O on one thread does 20,000 a second, however many are outstanding and however many cores.
#[test]
fn a_program_is_one_thread() {
    for depth in [2, 32] {
        let rest = format!(
            "{HOST}{}",
            plan(&format!("block = \"512B\"\nrandom = 100\ndepth = {depth}"), "h.disk0")
        );
        let host = [("cores", "64"), ("program_cpu_per_io", "50 us")];
        let lab = San { host: &host, rest: &rest, ..San::default() };
        check(&format!("depth {depth}"), &lab.text(), 20_000.0, [0.02, 0.05]);
    }
}

/// A file system that reads 128 KiB ahead of one reader of 64 KiB blocks has three blocks outstanding; a random reader,
/// or a writer, is not read ahead.
#[test]
fn read_ahead_hides_latency() {
    let iops = |more: &str, depth: u32, ahead: &[(&str, &str)]| {
        let rest = format!(
            "{HOST}{}",
            plan(&format!("block = \"64KiB\"\n{more}\ndepth = {depth}"), "h.disk0")
        );
        let host = [&[("cores", "64")], ahead].concat();
        let text = San { host: &host, rest: &rest, ..San::default() }.text();
        let plant = plant(&text.replace("\"1 us\"", "\"2 ms\""));
        [simulated(&plant, 800), estimate(&plant).iops]
    };
    let ahead: &[(&str, &str)] = &[("read_ahead", "128KiB")];
    // One block in 2 ms of latency and 158.6 us on the wire (`truth.py` counts its frames: 65,536 B at 413 MB/s).
    near("one", iops("read = 100", 1, &[])[0], 1.0 / (2e-3 + 65_536.0 / 412.6e6), 0.005);
    assert_eq!(iops("read = 100", 1, ahead), iops("read = 100", 3, &[]));
    // Bounds of a closed loop of three: none waits for another, or each for both others.
    let (wire, found) = (65_536.0 / 412.6e6, iops("read = 100", 1, ahead)[0]);
    let bounds = [3.0 / (2e-3 + 3.0 * wire), 3.0 / (2e-3 + wire)];
    assert!((bounds[0] * 0.99..=bounds[1] * 1.01).contains(&found), "{found} in {bounds:?}");
    for other in ["read = 0", "random = 100"] {
        assert_eq!(iops(other, 1, ahead), iops(other, 1, &[]), "{other}");
    }
}

/// Two directors of two cores that take 100 us an I/O do 40,000.
#[test]
fn directors_take_time_for_an_io() {
    let load = plan("block = \"512B\"\ndepth = 64", "h.disk0");
    let rest = format!("{HOST}{SECOND_PORT}{load}");
    let array =
        [("controllers", "2"), ("controller_cores", "2"), ("controller_time_per_io", "100 us")];
    let lab = San { array: &array, rest: &rest, ..San::default() };
    check("two directors", &lab.text(), 40_000.0, [0.02, 0.03]);
}

/// Packets of 5 us on one core of the receiver: 200,000 a second, whatever the number of streams. A message of 4 KiB is one
/// packet of a jumbo frame and, where it ends a packet, three of standard ones.
#[test]
fn one_core_takes_the_packets_of_a_port() {
    let lab = |streams: u32, mtu: u32, cores: &str| {
        let card = [
            ("port_rate", "10gbe"),
            ("ports", "1"),
            ("mtu_max", "9600 B"),
            ("interrupt_cores", cores),
            ("latency", "1 ns"),
        ];
        let host = [
            ("cores", "64"),
            ("cpu_per_message", "1 ns"),
            ("cpu_per_packet_offload", "5 us"),
            ("cpu_per_byte", "0.000001 ns/B"),
        ];
        format!(
            "{}{}[[switch]]\nname = \"sw\"\n[[host]]\nname = \"s{{1..2}}\"\npart = \"box\"\nadapters = [{{ name = \"nic\", part = \"card\" }}]\n\
             [[receiver]]\nname = \"far\"\nhost = \"s2\"\nfrom = \"s1\"\n[workload.w]\nkind = \"net\"\nmessage = \"4KiB\"\nno_delay = true\n\
             streams = {streams}\n[[plan]]\nworkload = \"w\"\non = \"far\"\nwarmup = \"0s\"\nmeasure = \"1s\"\nmtu = {mtu}\n",
            part("box", "host", &host),
            part("card", "nic", &card),
        )
    };
    let messages = |text: &str| {
        let plant = plant(text);
        let job = f64::from(plant.pairs[0].streams[0].job.bytes);
        [simulated(&plant, 800) * job / 4096.0, estimate(&plant).iops * job / 4096.0]
    };
    for (streams, mtu, cores, truth) in [
        (4, 9000, "1", 200_000.0),
        (8, 9000, "1", 200_000.0),
        (8, 1500, "1", 200_000.0 / 3.0),
        (8, 1500, "2", 400_000.0 / 3.0),
    ] {
        let what = format!("{streams} streams, {mtu}, {cores} cores");
        let found = messages(&lab(streams, mtu, cores));
        near(&what, found[0], truth, 0.02);
        near(&format!("{what}, estimated"), found[1], truth, 0.05);
    }
}

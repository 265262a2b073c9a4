//! Network loads of simulated labs against closed forms, and the estimator against the simulator.

use record::Flow;
use scenario::{Scenario, Source};
use sim::Ps;
use sim::engine::Simulation;
use sim::estimate::estimate;
use sim::lab::{LabError, compile};
use sim::plant::Plant;

/// Two hosts of known costs, each with an adapter at one switch. `W` is replaced by keys of the workload, `A` of the
/// adapters, `P` of the plan.
const LAB: &str = r#"
[scenario]
title = "t"

[[part]]
name = "machine"
kind = "host"
figures = [
  { name = "cores", value = "4", source = "made up", kind = "assumed" },
  { name = "cpu_per_message", value = "2 us", source = "made up", kind = "assumed" },
  { name = "cpu_per_packet_offload", value = "1 ns", source = "made up", kind = "assumed" },
  { name = "cpu_per_packet", value = "4 us", source = "made up", kind = "assumed" },
  { name = "cpu_per_byte", value = "0.3 ns/B", source = "made up", kind = "assumed" },
]

[[part]]
name = "card"
kind = "nic"
figures = [
  { name = "port_rate", value = "10gbe", source = "made up", kind = "assumed" }, A
]

[[switch]]
name = "sw"

[[host]]
name = "server{1..2}"
part = "machine"
adapters = [{ name = "nic", part = "card" }]

[[receiver]]
name = "far"
host = "server2"
from = "server1"

[workload.w]
kind = "net"
message = "64KiB" W

[[plan]]
workload = "w"
on = "far"
warmup = "0s"
measure = "1s" P
"#;

fn lab(workload: &str, adapter: &str, plan: &str) -> String {
    LAB.replace(" W\n", &format!("\n{workload}\n"))
        .replace(" A\n", &format!("\n{adapter}\n"))
        .replace(" P\n", &format!("\n{plan}\n"))
}

fn loaded(text: &str) -> Scenario {
    let source = Source { name: "t.toml".into(), text: text.into(), ..Source::default() };
    scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[track_caller]
fn plant(text: &str) -> Plant {
    let scenario = loaded(text);
    let topology = scenario.topology().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let step = scenario.steps().into_iter().next().expect("a step");
    compile(&scenario, &topology, &step).unwrap_or_else(|why| panic!("{why}"))
}

/// Bytes a second to the receiver and from it: simulated for 400 ms after 100.
fn simulated(plant: &Plant) -> [f64; 2] {
    let mut simulation = Simulation::new(&plant.network, 1).expect("a simulation");
    simulation.run_until(Ps::millis(100)).expect("no halt");
    let before = simulation.snapshot();
    simulation.run_until(Ps::millis(500)).expect("no halt");
    let span = simulation.snapshot().since(&before);
    let way = |flow: Flow| {
        let streams = plant.streams().filter(|stream| stream.flow == flow);
        let jobs = |load: u32| -> u64 {
            let mine = span.classes.iter().filter(|class| class.load == load);
            mine.map(|class| class.tally.departures).sum()
        };
        streams.map(|s| jobs(s.load.0) as f64 * f64::from(s.job.bytes)).sum::<f64>() / 0.4
    };
    [way(Flow::Up), way(Flow::Down)]
}

fn estimated(plant: &Plant) -> [f64; 2] {
    let found = estimate(plant);
    let way = |flow: Flow| {
        let streams = plant.streams().zip(&found.streams).filter(|(s, _)| s.flow == flow);
        let rate = streams.map(|(s, of)| {
            of.flows.iter().map(|flow| flow.ops).sum::<f64>() * f64::from(s.job.bytes)
        });
        rate.sum()
    };
    [way(Flow::Up), way(Flow::Down)]
}

/// Rates to the receiver and from it, in MB/s; the simulator within `within` of them, and the estimator within `about`.
#[track_caller]
fn check(text: &str, expected: [f64; 2], within: f64, about: f64) {
    let plant = plant(text);
    for (who, found, share) in
        [("simulated", simulated(&plant), within), ("estimated", estimated(&plant), about)]
    {
        for (found, expected) in found.into_iter().zip(expected) {
            let expected = expected * 1e6;
            assert!(
                (found - expected).abs() <= share * expected,
                "{who}: {:.3} MB/s, not {:.3}",
                found / 1e6,
                expected / 1e6
            );
        }
    }
}

/// Payload of 10GbE at MTUs of 1,500 and 9,000, in MB/s.
const STANDARD: f64 = 1250.0 * 1460.0 / 1538.0;
const JUMBO: f64 = 1250.0 * 8960.0 / 9038.0;

#[test]
fn a_stream_is_as_fast_as_the_wire() {
    check(&lab("streams = 3", "", ""), [STANDARD, 0.0], 0.001, 0.01);
    check(&lab("streams = 3", "", "mtu = 9000"), [JUMBO, 0.0], 0.001, 0.01);
    check(&lab("streams = 3\ndirection = \"receive\"", "", ""), [0.0, STANDARD], 0.001, 0.01);
}

/// 4 KiB cost 2 us and 1.2288 us of one core, whatever the host's other three do.
#[test]
fn a_stream_is_as_fast_as_one_core() {
    let one = 4096.0 / 3.2288;
    let wide = "port_rate\", value = \"10gbe";
    let text = lab("", "", "").replace(wide, "port_rate\", value = \"100gbe");
    let text = text.replace("64KiB", "4KiB");
    check(&text, [one, 0.0], 0.01, 0.03);
    // The estimator takes the three for a little random, where they in fact run in step.
    check(&text.replace("4KiB\"", "4KiB\"\nstreams = 3"), [3.0 * one, 0.0], 0.01, 0.04);
    let shared = text.replace("4KiB\"", "4KiB\"\nstreams = 3\nthreads = 1");
    check(&shared, [one, 0.0], 0.01, 0.03);
}

/// A window goes out once a round trip: 2 × 100 km of fibre are 1 ms.
#[test]
fn a_stream_is_as_fast_as_its_window_over_the_round_trip() {
    let far = "[[link]]\nname = \"long\"\nfrom = \"server1.nic\"\nto = \"sw\"\nlength_m = 100000\n\
               [[link]]\nname = \"short\"\nfrom = \"server2.nic\"\nto = \"sw\"\n";
    let text = lab("receive_buffer = \"256KiB\"", "", "") + far;
    let plant = plant(&text);
    let job = plant.streams().next().expect("a stream").job;
    assert!((0.001..0.0012).contains(&job.floor), "{}", job.floor);
    // Its jobs queue slightly for the thread and the wire.
    let expected = 262_144.0 / job.floor / 1e6;
    check(&text, [expected, 0.0], 0.08, 0.12);
}

#[test]
fn both_directions_share_what_an_adapter_carries_together() {
    let limit = "{ name = \"duplex_rate\", value = \"1600 MB/s\", source = \"made up\", kind = \"assumed\" },";
    let both = "streams = 3\ndirection = \"both\"";
    check(&lab(both, limit, "mtu = 9000"), [800.0, 800.0], 0.01, 0.02);
    // Without a limit each has its own rate, less the acknowledgments of the other.
    let alone = JUMBO * (1.0 - 42.0 / 9038.0);
    check(&lab(both, "", "mtu = 9000"), [alone, alone], 0.01, 0.02);
}

/// Four links of 1GbE carry as much as one, because it is one connection.
#[test]
fn a_conversation_stays_on_one_link_of_a_team() {
    let ports = "{ name = \"ports\", value = \"4\", source = \"made up\", kind = \"assumed\" },";
    let team = "[[team]]\nname = \"all\"\nhost = \"server1\"\nmembers = [\"nic:0\", \"nic:1\", \"nic:2\", \"nic:3\"]\n";
    let text =
        lab("streams = 4\nreceive_buffer = \"64KiB\"", ports, "").replace("10gbe", "1gbe") + team;
    let text = text.replace("from = \"server1\"", "from = \"server1\"\nfrom_adapter = \"all\"");
    check(&text, [STANDARD / 10.0, 0.0], 0.01, 0.01);
}

#[test]
fn a_rate_is_kept() {
    check(&lab("streams = 2\nrate = \"100 MB/s\"", "", ""), [200.0, 0.0], 0.01, 0.01);
    let udp = lab("load = \"udp\"\nmessage = \"1400B\"\nrate = \"50 MB/s\"", "", "");
    check(&udp.replace("message = \"64KiB\"\n", ""), [50.0, 0.0], 0.01, 0.01);
}

/// Without offload a packet of 1,460 bytes costs 4 us: 45 of them and the bytes are 201 us for 64 KiB.
#[test]
fn offload_is_worth_its_packets() {
    let cost = 2.0 + 65_536.0 / 1460.0 * 4.0 + 65_536.0 * 0.0003;
    check(&lab("", "", "offload = \"off\""), [65_536.0 / cost, 0.0], 0.02, 0.04);
}

/// A request and its response, one at a time: four system calls, six crossings of the switch, and little data.
#[test]
fn transactions_take_their_round_trip() {
    let text = lab("load = \"requests\"", "", "").replace("message = \"64KiB\"", "");
    let plant = plant(&text);
    let stream = plant.streams().next().expect("a stream");
    let rate = simulated(&plant)[0] / f64::from(stream.job.bytes);
    assert!((rate * stream.job.floor - 1.0).abs() < 0.02, "{rate} and {}", stream.job.floor);
    assert!((9e-6..12e-6).contains(&stream.job.floor), "{}", stream.job.floor);
}

#[test]
fn datagrams_beyond_the_wire_are_reported() {
    let udp = |rate: &str| {
        let text = lab(&format!("load = \"udp\"\nrate = \"{rate}\""), "", "");
        plant(&text.replace("message = \"64KiB\"", "message = \"1400B\"")).notes.len()
    };
    assert_eq!(udp("1 GB/s"), 0);
    assert_eq!(udp("2 GB/s"), 1);
}

/// Streams and the probe have the names of a live run.
#[test]
fn streams_have_the_names_of_a_live_run() {
    let plant = plant(&lab("streams = 2\ndirection = \"both\"\nprobe = true", "", ""));
    let names: Vec<&str> = plant.streams().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["far/up1", "far/up2", "far/down1", "far/down2", "far/probe"]);
    assert_eq!(plant.pairs[0].machines[0].host, "server1");
}

#[test]
fn what_cannot_be_simulated_is_refused_by_name() {
    let refused = |text: &str| {
        let scenario = loaded(text);
        let topology = scenario.topology().expect("a graph");
        compile(&scenario, &topology, &scenario.steps()[0]).expect_err("no plant")
    };
    let text = lab("", "", "");
    let nowhere = text.replace("host = \"server2\"\nfrom = \"server1\"", "embedded = true");
    assert_eq!(refused(&nowhere), LabError::NoPlace { receiver: "far".into() });
    let nobody = text.replace("from = \"server1\"\n", "");
    assert_eq!(refused(&nobody), LabError::NoSender { receiver: "far".into() });
    assert!(matches!(refused(&nobody).about(), scenario::About::Name("far")));
    let vm = "[[vm]]\nname = \"vm1\"\nnics = [{ receiver = \"far\" }]\n";
    let homeless = text.replace("on = \"far\"", "on = \"vm1\"") + vm;
    assert_eq!(refused(&homeless), LabError::NoHost { vm: "vm1".into() });
}

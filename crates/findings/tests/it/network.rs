//! What steps with network loads show: both ends side by side, the wire's arithmetic, limits with their evidence, and
//! what is missing never taken for granted.

use crate::support::net::{At, NetLoad, NetSketch, SECONDS};
use crate::support::valid;
use clock::Ns;
use findings::network::{Carries, Direction, Estimate, NetLimit, NetPair, Way};
use findings::{Analysis, analyse};

/// What the tests' records hold, where no goal is judged.
const SCENARIO: &str = "";

#[track_caller]
fn analysed(sketch: &NetSketch<'_>) -> Analysis {
    let (_dir, record) = sketch.record();
    let analysis = analyse(&record).expect("the record is analysed");
    valid::check(&serde_json::to_value(&analysis).expect("an analysis is plain data"));
    analysis
}

#[track_caller]
fn one(loads: &[NetLoad]) -> NetPair {
    let analysis = analysed(&NetSketch::of(SCENARIO).step(&[], 0, loads));
    analysis.steps[0].network[0].clone()
}

#[track_caller]
fn direction(load: NetLoad) -> Direction {
    one(&[load]).directions[0].clone()
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= expected.abs() * 1e-6, "{found} is not {expected}");
}

#[test]
fn both_ends_stand_side_by_side() {
    let load = NetLoad { up: 2, rates: vec![400e6, 200e6], sent: 1.25, ..NetLoad::tcp() };
    let pair = one(&[load.once(At::Hop, &[("write-undelivered", 4096.0)])]);
    assert!(pair.complete, "{:?}", pair.missing);
    let direction = &pair.directions[0];
    assert_eq!((direction.way, direction.carries), (Way::Up, Carries::Tcp));
    near(direction.received.bytes_per_s, 600e6);
    near(direction.sent.bytes_per_s, 750e6);
    near(direction.difference_bytes, 150e6 * SECONDS as f64);
    assert_eq!(direction.undelivered_bytes, Some(4096.0));
    near(direction.messages_per_s(), (400e6_f64 / 65536.0).round() + (200e6_f64 / 65536.0).round());
    near(direction.packets_per_s.expect("packets"), 2.0 * 137_000.0);
    assert_eq!(direction.retransmitted_share, Some(0.0));
    let balance = direction.balance.as_ref().expect("two streams");
    near(balance.spread, 200.0 / 300.0);
    assert_eq!(direction.streams[0].name, "far/up1");
    assert_eq!((pair.clock_offset_ns, pair.clock_bound_ns), (Some(-12_000.0), Some(45_000.0)));
    assert_eq!(pair.congestion.as_deref(), Some("cubic"));
}

#[test]
fn both_ways_are_apart() {
    let load = NetLoad { up: 3, down: 3, rates: vec![400e6], ..NetLoad::tcp() };
    let pair = one(&[load]);
    let ways: Vec<Way> = pair.directions.iter().map(|d| d.way).collect();
    assert_eq!(ways, [Way::Up, Way::Down]);
    near(pair.bytes_per_s(), 2400e6);
    // What comes from the receiver was written there.
    assert_eq!(pair.ends(Way::Down).0.hop, "far/receiver");
}

#[test]
fn the_cost_of_both_ends() {
    let pair = one(&[NetLoad::tcp().each(At::Sender, &[("cycles", 2452e6)])]);
    let sender = &pair.sender;
    assert_eq!(
        (sender.host.as_deref(), sender.interface.as_deref()),
        (Some("alpha"), Some("eth1"))
    );
    // 15% of four processors: half of it the process.
    near(sender.host_share.expect("counted"), 0.15);
    near(sender.process_share.expect("counted"), 0.075);
    near(sender.process_s_per_gb.expect("counted"), 0.3 / 1.226);
    near(sender.host_s_per_gb.expect("counted"), 0.6 / 1.226);
    near(sender.cycles_per_byte.expect("counted"), 2.0);
    near(sender.interrupts_per_s.expect("counted"), 40_000.0);
    near(sender.softnet_squeezes.expect("counted"), 20.0);
    assert_eq!(sender.offloads, [("tx-tcp-segmentation".to_owned(), true)]);
    assert_eq!(sender.threads[0].name, "up-0");
    near(sender.threads[0].share, 0.16);
    assert_eq!(pair.receiver.cycles_per_byte, None, "no counter of cycles is no figure");
    assert!(!pair.one_machine);
}

#[test]
fn the_wires_arithmetic() {
    #[track_caller]
    fn check(load: NetLoad, fact: (&str, &str), payload: Option<f64>, text: &str) {
        let sketch = NetSketch::of(SCENARIO).fact("far", fact.0, fact.1).step(&[], 0, &[load]);
        let wire = analysed(&sketch).steps[0].network[0].directions[0].wire.clone();
        assert_eq!(wire.payload_bytes_per_s.map(f64::round), payload, "{}", wire.text);
        assert!(wire.text.contains(text), "{}", wire.text);
        assert_eq!(wire.share.is_none(), payload.is_none());
    }
    let (v4, v6) = (("ip-version", "ipv4"), ("ip-version", "ipv6"));
    let ethernet = "on the wire (38 B of Ethernet: preamble 8, header 14, FCS 4, gap 12)";
    check(
        NetLoad::tcp(),
        v4,
        Some(1_237_552_556.0),
        &format!(
            "MTU 9000 − 20 (IPv4) − 20 (TCP) − 12 (timestamps) = 8948 B of 9038 B {ethernet}: 99.0% of 1,250 MB/s = \
             1,238 MB/s; carried 1,226 MB/s, 99.1% of that"
        ),
    );
    check(NetLoad::tcp(), v6, Some(1_234_786_457.0), "MTU 9000 − 40 (IPv6) − 20 (TCP) − 12");
    let usual = NetLoad::tcp()
        .once(At::Sent, &[("path-mtu", 1500.0), ("mss", 1460.0), ("tcp-timestamps", 0.0)]);
    check(
        usual.clone(),
        v4,
        Some(1_186_605_982.0),
        "MTU 1500 − 20 (IPv4) − 20 (TCP) = 1460 B of 1538 B",
    );
    let small = usual.once(At::Sent, &[("mss", 536.0)]);
    check(small, v4, Some(1_091_205_212.0), "of which segments use 536 B (MSS), of 614 B");
    let no_speed = NetLoad::tcp().without("interface-speed");
    check(no_speed.clone(), v4, None, "no share of a wire: interface eth1 has no speed");
    check(NetLoad::tcp().without("tcp-timestamps"), v4, None, "no counter `tcp-timestamps`");
    check(NetLoad::tcp(), ("ip-version", "unknown"), None, "the version of IP is not known");
    let nothing = NetLoad::tcp().without("path-mtu").without("interface-mtu");
    check(nothing, v4, None, "the MTU is not known");
    check(
        NetLoad::udp(),
        v4,
        Some(1_193_724_420.0),
        "1400 B of a datagram + 8 (UDP) + 20 (IPv4) of 1466 B",
    );
    let large = NetLoad { message: 8192, rates: vec![491.52e6], ..NetLoad::udp() };
    check(
        large.clone(),
        v4,
        Some(1_197_941_039.0),
        "8192 B of a datagram in 6 fragments of MTU 1500",
    );
    check(large, v6, Some(1_174_850_849.0), "8192 B of a datagram in 6 fragments of MTU 1500");
    let tiny = NetLoad { message: 4, rates: vec![4e3], ..NetLoad::udp() };
    check(tiny, v4, Some(59_523_810.0), "filled up to 46 B of 84 B on the wire");
}

/// A stream at half the wire's rate, which nothing limits.
fn idle_half() -> NetLoad {
    NetLoad { rates: vec![600e6], ..NetLoad::tcp() }
}

#[test]
fn each_limit_with_its_evidence() {
    #[track_caller]
    fn check(load: NetLoad, by: NetLimit, evidence: &str) {
        let limit = direction(load).limit;
        assert_eq!(limit.by, by, "{}", limit.text);
        assert!(limit.text.contains(evidence), "{}", limit.text);
    }
    let thread = |name: &str, at, ns| idle_half().once(at, &[(name, ns)]);
    check(NetLoad::tcp(), NetLimit::Link, "the wire was 99.1% full (from 95.0%)");
    check(idle_half(), NetLimit::NotFound, "the wire was 48.5% full");
    check(
        thread("thread-cpu/up-0", At::Sender, 9.7e9),
        NetLimit::SendingThread,
        "thread up-0 of alpha used 97.0% of a processor",
    );
    check(
        thread("thread-cpu/up-0", At::Receiver, 9.2e9),
        NetLimit::ReceivingThread,
        "thread up-0 of beta",
    );
    let both =
        thread("thread-cpu/up-0", At::Receiver, 9.2e9).once(At::Sender, &[("thread-cpu/x", 9.5e9)]);
    check(both, NetLimit::SendingThread, "also thread up-0 of beta used 92.0%");
    let host = idle_half().each(At::Receiver, &[("host-softirq", 3e9)]);
    check(host, NetLimit::ReceivingHost, "beta was 100.0% busy");
    let window = idle_half().once(At::Sent, &[("receiver-limited", 6e9)]);
    check(window, NetLimit::ReceiverWindow, "shut for 60.6% of the time with data under way");
    let buffer = idle_half().once(At::Sent, &[("buffer-limited", 6e9)]);
    check(buffer, NetLimit::SendBuffer, "the send buffer was full for 60.6%");
    let again = idle_half().each(At::Sent, &[("retransmits", 400.0)]);
    check(again, NetLimit::Congestion, "0.29% of packets were sent again");
    let sender = idle_half().once(At::Sent, &[("tcp-busy", 2e9)]);
    check(sender, NetLimit::Sender, "no data was under way for 80.0% of the time");
    let lossy = NetLoad::udp().once(At::Received, &[("datagrams-lost", 70_560.0)]);
    check(lossy, NetLimit::Loss, "2.0% of datagrams were lost");
    check(NetLoad::udp(), NetLimit::NotFound, "0.8% of datagrams were lost (from 1.0%)");
    let asking =
        NetLoad { rates: vec![64_000.0], message: 64, takes: Some(Ns(990_000)), ..NetLoad::tcp() };
    let asking = asking.without("interface-speed");
    check(asking, NetLimit::RoundTrip, "streams waited for answers 99.0% of the time");
    let nothing = NetLoad { rates: vec![0.0], ..NetLoad::tcp() };
    check(nothing, NetLimit::Unknown, "nothing was carried");
    let too_much = NetLoad { rates: vec![3e9], ..NetLoad::tcp() };
    check(too_much, NetLimit::Unknown, "so it is another");
}

/// A missing counter is named, and never counts as a limit that was not reached.
#[test]
fn missing_counters_are_not_determined() {
    #[track_caller]
    fn check(name: &str, says: &str) {
        let limit = direction(idle_half().without(name)).limit;
        assert_eq!(limit.by, NetLimit::Unknown, "{name}: {}", limit.text);
        assert!(limit.text.contains(says), "{name}: {}", limit.text);
        assert!(limit.checks.iter().any(|check| check.crossed.is_none()), "{name}");
    }
    check("interface-speed", "not known: the share of the wire (interface eth1 has no speed");
    check("thread-cpu/up-0", "no counter `thread-cpu/…` of far/");
    check("processors", "no counters `host-…` of far/");
    check("host-irq", "no counters `host-…` of far/");
    check("tcp-busy", "no counter `tcp-busy`");
    check("receiver-limited", "no counter `receiver-limited`");
    check("buffer-limited", "no counter `buffer-limited`");
    check("retransmits", "no counter `retransmits` or `packets`");
    // A crossed limit is named all the same, with the missing counters.
    let window =
        idle_half().once(At::Sent, &[("receiver-limited", 6e9)]).without("interface-speed");
    let limit = direction(window).limit;
    assert_eq!(limit.by, NetLimit::ReceiverWindow);
    assert!(limit.text.contains("not determined: the share of the wire"), "{}", limit.text);
    // A counter of half the measured time is no counter.
    let udp = direction(NetLoad::udp().without("datagrams-sent"));
    assert_eq!(udp.limit.by, NetLimit::Unknown, "{}", udp.limit.text);
}

#[test]
fn an_end_that_ends_early_is_incomplete() {
    let load = NetLoad { seconds: 4, up: 2, rates: vec![100e6], ..NetLoad::tcp() };
    let analysis = analysed(&NetSketch::of(SCENARIO).step(&[], 0, &[load]));
    let pair = &analysis.steps[0].network[0];
    assert_eq!((pair.complete, pair.missing.len()), (false, 2));
    assert_eq!(pair.missing[0], "far/up1/received reported 40% of the measured time");
    // The rate still divides by the whole time.
    near(pair.directions[0].received.bytes_per_s, 80e6);
    let found = analysis.warnings.iter().find(|w| w.code == "streams-incomplete").expect("said");
    assert!(found.text.starts_with("2 streams did not report"), "{}", found.text);
    assert!(!analysis.steps[0].complete());
}

/// A step of network loads alone has no storage figures, and no warning asks for workers or latencies.
#[test]
fn a_network_step_misses_no_storage() {
    let analysis = analysed(&NetSketch::of(SCENARIO).step(&[], 0, &[NetLoad::tcp()]));
    let step = &analysis.steps[0];
    assert!(step.complete() && step.has_network() && !step.has_storage());
    assert_eq!((step.total.both.ops, step.measured_ns), (0, SECONDS * 1_000_000_000));
    let mut codes: Vec<&str> = analysis.warnings.iter().map(|w| w.code.as_str()).collect();
    codes.retain(|code| *code != "scenario-unreadable");
    assert!(codes.is_empty(), "{codes:?}");
    assert!(analysis.sweeps.is_empty());
}

#[test]
fn warnings_with_their_numbers() {
    #[track_caller]
    fn check(load: NetLoad, code: &str, says: &str) {
        let analysis = analysed(&NetSketch::of(SCENARIO).step(&[], 0, &[load]));
        let found = analysis.warnings.iter().find(|w| w.code == code);
        let found = found.unwrap_or_else(|| panic!("no {code}: {:#?}", analysis.warnings));
        assert!(found.text.contains(says), "{}", found.text);
    }
    let copied = [("zero-copy-done", 1000.0), ("zero-copy-copied", 900.0)];
    check(
        NetLoad::tcp().each(At::Sent, &copied),
        "zero-copy-copied",
        "up to 90% of the zero-copy sends",
    );
    let lost = NetLoad::udp().once(At::Received, &[("datagrams-lost", 352_800.0)]);
    check(lost, "datagrams-lost", "up to 10% of the datagrams");
    check(NetLoad { errors: 3, ..NetLoad::udp() }, "network-errors", "30 of 3,500,030 messages");
    check(NetLoad { rates: vec![0.0], ..NetLoad::tcp() }, "nothing-received", "received nothing");
    let drops = NetLoad::tcp().each(At::Receiver, &[("softnet-drops", 7.0)]);
    check(drops, "softnet-drops", "dropped 70 packets");
    let too_much = NetLoad { rates: vec![3e9], ..NetLoad::tcp() };
    check(too_much, "wire-exceeded", "of the named wire's rate");
    let clocks = NetLoad::tcp().once(At::Hop, &[("clock-bound", 2e8)]);
    check(clocks, "clocks-apart", "no better than a hundredth");
}

#[test]
fn two_ends_on_one_machine() {
    let sketch = NetSketch::of(SCENARIO).fact("far", "receiver-host", "alpha");
    let analysis =
        analysed(&sketch.step(&[], 0, &[idle_half().each(At::Sender, &[("host-user", 3.4e9)])]));
    let pair = &analysis.steps[0].network[0];
    assert!(pair.one_machine);
    assert_eq!(pair.directions[0].limit.by, NetLimit::OneHost);
    assert!(analysis.warnings.iter().any(|w| w.code == "one-machine"));
}

#[test]
fn latencies_of_transactions_and_of_the_probe() {
    let asking =
        NetLoad { rates: vec![64_000.0], message: 64, takes: Some(Ns(200_000)), ..NetLoad::tcp() };
    let pair = one(&[NetLoad { up: 2, probe: Some((Ns(150_000), 100)), ..asking }]);
    let direction = &pair.directions[0];
    assert_eq!(direction.carries, Carries::Requests);
    let times = direction.transactions.expect("timed");
    assert_eq!((times.count, times.max_ns / 1000), (20_000, 200));
    near(direction.messages_per_s(), 2000.0);
    let probe = pair.probe.expect("a probe");
    assert_eq!((probe.count, probe.max_ns / 1000, pair.probe_failed), (1000, 150, Some(0)));
}

#[test]
fn datagrams_are_accounted_for() {
    let direction = direction(NetLoad { up: 2, ..NetLoad::udp() });
    let datagrams = direction.datagrams.expect("datagrams");
    assert_eq!((datagrams.sent, datagrams.lost), (Some(7_056_000.0), Some(56_000.0)));
    assert_eq!(datagrams.received, Some(7_000_000.0));
    assert_eq!((datagrams.reordered, datagrams.duplicates), (Some(60.0), Some(20.0)));
    near(datagrams.jitter_ns.expect("jitter"), 5_000.0);
    assert!(direction.streams.iter().all(|stream| stream.tcp.is_none()));
}

/// Student: of 100, 110 and 120 the mean is 110, its standard error 10/√3, and t is 4.3027 at two degrees of freedom.
#[test]
fn repetitions_have_an_interval() {
    let at = |mb: f64| [NetLoad { rates: vec![mb * 1e6], ..NetLoad::tcp() }];
    let settings = [("message", "64KiB")];
    let sketch = NetSketch::of(SCENARIO);
    let sketch = sketch.step(&settings, 0, &at(100.0)).step(&settings, 1, &at(110.0));
    let analysis = analysed(&sketch.step(&settings, 2, &at(120.0)).step(&[], 0, &at(7.0)));
    let [repeated] = &analysis.network.repeated[..] else { panic!("one") };
    let Estimate { mean, half_width, runs, .. } = repeated.bytes_per_s;
    near(mean, 110e6);
    assert_eq!(runs, 3);
    assert!((half_width.expect("three runs") - 24.8414e6).abs() < 1e3, "{half_width:?}");
}

#[test]
fn frames_and_offloads_side_by_side() {
    let at = |mb: f64, mtu: f64, busy: f64| {
        let load = NetLoad { rates: vec![mb * 1e6], ..NetLoad::tcp() };
        let ns = busy * 1e9;
        let load = load.once(At::Sent, &[("path-mtu", mtu), ("mss", mtu - 52.0)]);
        let user =
            [("host-user", ns), ("host-system", 0.0), ("host-softirq", 0.0), ("host-irq", 0.0)];
        [load.each(At::Sender, &user)]
    };
    let sketch = NetSketch::of(SCENARIO)
        .step(
            &[("message", "4KiB"), ("mtu", "1500"), ("offload", "on")],
            0,
            &at(500.0, 1500.0, 1.0),
        )
        .step(
            &[("message", "4KiB"), ("mtu", "9000"), ("offload", "on")],
            0,
            &at(950.0, 9000.0, 1.0),
        )
        .step(
            &[("message", "4KiB"), ("mtu", "9000"), ("offload", "off")],
            0,
            &at(760.0, 9000.0, 2.0),
        )
        .step(
            &[("message", "8KiB"), ("mtu", "9000"), ("offload", "on")],
            0,
            &at(999.0, 9000.0, 1.0),
        );
    let across = analysed(&sketch).network;
    let [gain] = &across.jumbo[..] else { panic!("{:#?}", across.jumbo) };
    assert_eq!((gain.smaller.as_str(), gain.larger.as_str()), ("1500", "9000"));
    near(gain.ratio, 1.9);
    near(gain.framing_ratio.expect("both framings"), (8948.0 / 9038.0) / (1448.0 / 1538.0));
    assert_eq!(
        gain.place.at,
        [("message".to_owned(), "4KiB".to_owned()), ("offload".to_owned(), "on".to_owned())]
    );
    let [cost] = &across.offload[..] else { panic!("{:#?}", across.offload) };
    near(cost.ratio, 0.8);
    near(cost.with_sender_s_per_gb.expect("counted"), 1.0 / 0.95);
    near(cost.without_sender_s_per_gb.expect("counted"), 2.0 / 0.76);
    assert!(across.repeated.is_empty());
}

/// Several loads share the wire of one pair: each has its share, and the wire is as full as all of them make it.
#[test]
fn loads_that_share_a_wire() {
    let tcp = NetLoad { rates: vec![600e6], ..NetLoad::tcp() };
    let pair = one(&[tcp.clone(), NetLoad { workload: "other", ..tcp }]);
    let [one, other] = &pair.directions[..] else { panic!("two loads") };
    assert_eq!((one.workload.as_str(), other.workload.as_str()), ("wire", "other"));
    near(one.wire.share.expect("a wire"), 600e6 / (1.25e9 * 8948.0 / 9038.0));
    near(one.wire.fill.expect("a wire"), 2.0 * one.wire.share.expect("a wire"));
    assert_eq!((one.limit.by, other.limit.by), (NetLimit::Link, NetLimit::Link));
    assert_eq!(one.undelivered_bytes, None, "the pair's cannot be divided");
}

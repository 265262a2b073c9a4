//! The engine driven as a step is, against a receiver in this process: what it tells of both ends is on one grid, adds up, and
//! ends in order whatever happens.

use crate::prelude::*;
use crate::support::{
    Carried, STEP, Told, at, begin, engine, net, port, prepare, short, start, step, step_of,
    try_run, ways, with,
};
use engine::{Engine, NetSources, NetSpec, Output, ReceiverAddress, Stop, TokenSource};
use record::{Fact, Phase, SourceId};

/// What must hold of a load that came to its end: every end's intervals are the grid's, and the books agree.
#[track_caller]
fn sound(told: &Told, net: &NetSpec) {
    told.finished();
    let NetSources { hop, sender, receiver, streams, .. } = &net.sources;
    use Carriage::{DatagramExchange, Udp};
    let datagrams = matches!(net.network.carriage, Udp { .. } | DatagramExchange { .. });
    let mut books = (0, 0);
    for (index, (sent, received)) in streams.iter().enumerate() {
        for (source, writes) in [(*sent, true), (*received, false)] {
            on_the_grid(told, source, writes);
        }
        let [all_sent, all_received] = [*sent, *received].map(|source| told.carried(source, false));
        let totals = [*sent, *received].map(|source| told.sum(source, "total-bytes"));
        let [all_sent, all_received] = [all_sent.bytes, all_received.bytes];
        assert!(all_sent > 0 && all_sent <= totals[0], "{index}: {all_sent} of {totals:?}");
        assert!(all_received <= totals[1], "{index}: {all_received} of {totals:?}");
        books = (books.0 + totals[0], books.1 + totals[1]);
    }
    match datagrams {
        true => assert!(books.1 <= books.0, "{books:?}"),
        false => assert_eq!(books.0, books.1, "all that was accepted was read"),
    }
    let received: u64 = ends(net, 0).map(|(_, r)| told.carried(r, false).bytes).sum();
    let back = |s| if net.network.is_transactions() { told.sum(s, "back-bytes") } else { 0 };
    let from: u64 = ends(net, 1).map(|(_, r)| told.carried(r, false).bytes).sum();
    let from = from + ends(net, 0).map(|(s, _)| back(s)).sum::<u64>();
    assert_eq!((told.sum(*hop, "write-bytes"), told.sum(*hop, "read-bytes")), (received, from));
    for machine in [*sender, *receiver] {
        assert!(told.sum(machine, "processors") > 0);
        assert!(told.sum(machine, "interface-mtu") > 576);
        assert_eq!(told.counters(machine, "cpu-user").len(), told.intervals(streams[0].0).len());
    }
    assert_eq!(told.counters(*hop, "clock-bound").len(), 1);
    let keys = ["sender-host", "receiver-host", "sender-kernel", "receiver-kernel", "addresses"];
    for key in keys.into_iter().chain(["sender-interface", "receiver-interface"]) {
        let of = |fact: &&Fact| fact.subject == net.name && fact.key == key;
        assert!(!told.facts.iter().find(of).expect(key).value.is_empty());
    }
}

/// The ends of the streams of one direction: 0 to the receiver, 1 from it.
fn ends(net: &NetSpec, way: usize) -> impl Iterator<Item = (SourceId, SourceId)> + use<'_> {
    let up = usize::from(net.network.ways().0);
    let streams = net.sources.streams.iter().copied().enumerate();
    streams.filter(move |(index, _)| (*index >= up) == (way == 1)).map(|(_, both)| both)
}

/// Intervals follow each other from the start to the end, cut at whole seconds and at the edges, each in one phase.
#[track_caller]
pub fn on_the_grid(told: &Told, source: SourceId, writes: bool) {
    let [start, measure, cooldown, end] = told.edges;
    let intervals = told.intervals(source);
    let mut at = start;
    for interval in &intervals {
        assert_eq!((interval.from, interval.step), (at, STEP), "{interval:?}");
        assert_eq!((interval.write.is_some(), interval.read.is_some()), (writes, !writes));
        assert!(interval.testimony.is_none());
        let whole = Ns((at.0 / 1_000_000_000 + 1) * 1_000_000_000);
        let edges = [measure, cooldown, end].into_iter().filter(|edge| *edge > at);
        assert_eq!(Some(interval.to), edges.chain([whole]).min(), "{interval:?}");
        let phase = match at {
            at if at < measure => Phase::Warmup,
            at if at < cooldown => Phase::Measure,
            _ => Phase::Cooldown,
        };
        assert_eq!(interval.phase, phase);
        at = interval.to;
    }
    assert_eq!(at, end, "{} intervals", intervals.len());
}

/// One load with a receiver of this process, whose books must agree.
#[track_caller]
fn check(network: Network) -> Told {
    let receiver = start("127.0.0.1:0", None);
    let place = at(&receiver);
    let net = net("far", place, network, 10);
    let step = step(vec![net.clone()], [100, 500, 60]);
    let told = begin(&mut engine(), &step).end();
    sound(&told, &net);
    told
}

fn network(carriage: Carriage, up: u16, down: u16) -> Network {
    with(TestSpec::new(carriage), |n| ways(n, up, down)).network
}

#[test]
fn tcp_streams_are_told_at_both_ends_and_both_ways() {
    for (up, down) in [(1, 0), (0, 2), (2, 2)] {
        let mut network = network(Carriage::Tcp, up, down);
        network.sockets.congestion = Some("cubic".to_owned());
        let told = check(network);
        let mss = told.counters(SourceId(13), "mss");
        assert!(mss.len() == 1 && mss[0].value > 500.0, "{mss:?}");
        assert!(told.sum(SourceId(13), "packets") > 0 && told.sum(SourceId(13), "calls") > 0);
        let facts: Vec<&str> = told.facts.iter().map(|fact| fact.value.as_str()).collect();
        assert!(facts.contains(&"cubic") && facts.contains(&"ipv4"), "{facts:?}");
    }
}

#[test]
fn a_probe_is_told_like_an_end_that_asks() {
    for carriage in [Carriage::Tcp, Carriage::Udp { segmented: false }] {
        let rate = Some(400_000);
        let told = check(Network { probe: true, rate, ..network(carriage, 1, 0) });
        let probe = SourceId(15);
        on_the_grid(&told, probe, true);
        let Carried { bytes, ops, .. } = told.carried(probe, false);
        assert!(ops > 0 && told.sum(probe, "back-bytes") == 64 * ops, "{ops} answered");
        assert!(bytes >= 64 * ops && told.sum(probe, "mss") > 500);
        for interval in told.intervals(probe) {
            let tally = interval.write.as_ref().expect("it asks");
            assert_eq!((tally.service.count(), tally.errors), (tally.ops, 0));
        }
    }
}

#[test]
fn messages_of_a_paced_stream_are_counted_where_they_end() {
    let network = Network {
        message: 1000,
        rate: Some(2_000_000),
        streams: 3,
        threads: 1,
        ..network(Carriage::Tcp, 1, 0)
    };
    let told = check(network);
    for source in [13, 14, 15, 16, 17, 18].map(SourceId) {
        let Carried { bytes, ops, .. } = told.carried(source, false);
        assert_eq!(ops, bytes / 1000);
    }
}

#[test]
fn datagrams_sent_are_those_received_and_lost() {
    for segmented in [false, true] {
        let network =
            Network { rate: Some(400_000), batch: 4, ..network(Carriage::Udp { segmented }, 2, 2) };
        let told = check(network);
        for (sent, received) in [(13, 14), (15, 16), (17, 18), (19, 20)] {
            let (sent, received) = (SourceId(sent), SourceId(received));
            let left = told.sum(sent, "datagrams-sent");
            let came = told.sum(received, "datagrams-received");
            assert_eq!(came + told.sum(received, "datagrams-lost"), left);
            assert_eq!(told.counters(received, "jitter").len(), told.intervals(received).len());
            assert_eq!(told.sum(received, "reordered") + told.sum(received, "duplicates"), 0);
        }
    }
}

#[test]
fn transactions_are_timed_interval_by_interval() {
    let loads = [
        Carriage::Exchange { response: 100 },
        Carriage::DatagramExchange { response: 100 },
        Carriage::Connects { response: 100 },
    ];
    for carriage in loads {
        let told = check(network(carriage, 2, 0));
        for (asked, answered) in [(13, 14), (15, 16)] {
            for interval in told.intervals(SourceId(asked)) {
                let tally = interval.write.as_ref().expect("it asks");
                assert_eq!(tally.service.count(), tally.ops, "{carriage:?}: {interval:?}");
                assert!((tally.ops > 0) == (tally.service_sum > Ns::ZERO));
            }
            let (asked, answered) = (SourceId(asked), SourceId(answered));
            assert!(told.intervals(answered).iter().all(|interval| interval.read.is_some()));
            assert!(told.sum(asked, "back-bytes") >= 100 * told.carried(asked, true).ops);
        }
    }
}

#[test]
fn two_loads_run_at_once_and_an_embedded_receiver_serves_every_step() {
    let mut engine = engine();
    let receiver = start("127.0.0.1:0", None);
    let one = net("far", at(&receiver), network(Carriage::Tcp, 1, 1), 10);
    let paced =
        Network { rate: Some(400_000), ..network(Carriage::Udp { segmented: false }, 1, 0) };
    let other = net("near", ReceiverAddress::Embedded, paced, 50);
    for _ in 0..2 {
        let step = step(vec![one.clone(), other.clone()], [0, 400, 0]);
        let told = begin(&mut engine, &step).end();
        sound(&told, &one);
        sound(&told, &other);
    }
}

#[test]
fn a_step_that_is_stopped_ends_in_order() {
    for carriage in [Carriage::Tcp, Carriage::Exchange { response: 64 }] {
        let receiver = start("127.0.0.1:0", None);
        let net = net("far", at(&receiver), network(carriage, 1, 0), 10);
        let step = step(vec![net.clone()], [100, 3_600_000, 0]);
        let under = begin(&mut engine(), &step);
        assert!(!under.handle.measure(clock::now().plus(Ns::secs(1))), "it is agreed already");
        // In the midst of the measured time: this end has told some of it.
        let mut before = Vec::new();
        let measured = |output: &Output| {
            matches!(output, Output::Interval(interval)
            if interval.source == SourceId(13) && interval.phase == Phase::Measure)
        };
        while !before.last().is_some_and(measured) {
            before.push(under.outputs.recv_timeout(Duration::from_secs(60)).expect("it runs"));
        }
        under.handle.stop();
        let mut told = under.end();
        told.outputs.splice(0..0, before);
        told.finished();
        for source in [13, 14].map(SourceId) {
            let intervals = told.intervals(source);
            assert!(intervals.windows(2).all(|two| two[0].to == two[1].from));
            assert_eq!(intervals.first().map(|interval| interval.from), Some(told.edges[0]));
        }
        let sent = told.sum(SourceId(13), "total-bytes");
        assert_eq!(sent, told.sum(SourceId(14), "total-bytes"), "nothing is lost by stopping");
    }
}

/// Where the machine had no time for a look while a thread lived, once more and longer.
#[test]
fn every_machine_tells_the_processor_time_of_its_threads() {
    let receiver = start("127.0.0.1:0", None);
    let net = net("far", at(&receiver), network(Carriage::Tcp, 1, 0), 10);
    let tells = |told: &Told, machine: SourceId| {
        told.outputs.iter().any(|output| {
            matches!(output,
            Output::Counter(c) if c.source == machine && c.part.as_deref().is_some_and(|thread| thread.starts_with("net-")))
        })
    };
    let all_told = [200, 1_000, 5_000].into_iter().any(|measure| {
        let step = step(vec![net.clone()], [0, measure, 0]);
        let told = begin(&mut engine(), &step).end();
        [net.sources.sender, net.sources.receiver].iter().all(|machine| tells(&told, *machine))
    });
    assert!(all_told);
}

#[test]
fn a_step_that_is_dropped_before_its_start_leaves_the_receiver_ready() {
    let receiver = start("127.0.0.1:0", None);
    let net = net("far", at(&receiver), network(Carriage::Tcp, 1, 0), 10);
    let step = step(vec![net.clone()], [0, 200, 0]);
    let mut engine = engine();
    drop(prepare(&mut engine, &step).expect("it is ready"));
    sound(&begin(&mut engine, &step).end(), &net);
}

#[test]
fn a_lost_receiver_fails_the_step_and_stops_its_other_loads() {
    let lost = start("127.0.0.1:0", None);
    let stays = start("127.0.0.1:0", None);
    let loads = vec![
        net("lost", at(&lost), network(Carriage::Tcp, 1, 0), 10),
        net("stays", at(&stays), network(Carriage::Tcp, 1, 0), 50),
    ];
    let under = begin(&mut engine(), &step(loads, [0, 3_600_000, 0]));
    let _ = under.outputs.recv_timeout(Duration::from_secs(60)).expect("it runs");
    drop(lost);
    let why = under.end().failure().expect("it was lost");
    assert!(why.starts_with("lost: ") && why.contains("during the test"), "{why}");
    assert!(why.contains("check the receiver's output"), "{why}");
}

#[test]
fn strangers_and_a_second_client_do_a_step_no_harm() {
    let receiver = start("127.0.0.1:0", None);
    let address = receiver.addresses()[0];
    let net = net("far", at(&receiver), network(Carriage::Tcp, 1, 1), 10);
    let step = step(vec![net.clone()], [0, 700, 0]);
    let under = begin(&mut engine(), &step);
    for noise in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], b"\x06\0\0\0\"stop\"", b""] {
        let mut stranger = TcpStream::connect(address).expect("it listens");
        stranger.write_all(noise).expect("it reads");
    }
    let second = try_run(&step_of(at(&receiver), &short(Carriage::Tcp)));
    let second = second.expect("it is served too");
    assert!(second.carried(second.streams()[0].1, false).bytes > 0);
    sound(&under.end(), &net);
}

/// What cannot be prepared says which load, and why.
#[track_caller]
fn refused(change: impl FnOnce(&mut NetSpec), hint: &str) {
    let receiver = start("127.0.0.1:0", None);
    let mut net = net("far", at(&receiver), network(Carriage::Tcp, 1, 0), 10);
    change(&mut net);
    let result = prepare(&mut engine(), &step(vec![net], [0, 200, 0]));
    let error = result.err().expect("it cannot work").to_string();
    assert!(error.starts_with("far: ") && error.contains(hint), "{hint:?} is not in {error:?}");
}

#[test]
fn what_cannot_be_prepared_says_why() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
    let nobody = port(free.expect("loopback is there").port());
    refused(|net| net.receiver.place = nobody, "connection refused");
    refused(|net| net.receiver.ipv6 = Some(true), "no address of the family");
    refused(|net| net.network.message = 0, "1 B to 16 MiB");
    refused(|net| net.sources.streams.clear(), "sources for their figures");
    let missing = TokenSource::File("nowhere".to_owned());
    refused(|net| net.receiver.token = Some(missing), "nowhere: no such token");
    refused(
        |net| net.receiver.token = Some(TokenSource::Env("short".to_owned())),
        "16 to 256 bytes",
    );
    let stopped = Stop::default();
    stopped.ask();
    let receiver = start("127.0.0.1:0", None);
    let net = net("far", at(&receiver), network(Carriage::Tcp, 1, 0), 10);
    let (notes, _) = mpsc::channel();
    let mut engine = engine();
    let result = engine.prepare(&step(vec![net], [0, 200, 0]), &notes, &stopped);
    assert!(result.is_err_and(|e| e.to_string().contains("stopped")));
}

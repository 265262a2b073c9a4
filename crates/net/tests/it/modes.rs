//! Every mode between both ends: what is asked for happens, and both ends count the same.

use crate::support::{Bench, short, ways, with};
use clock::Ns;
use net::{Carriage, Direction, Flow, Phase, Report, Sockets, Spec};

const UDP: Carriage = Carriage::Udp { segmented: false };

/// What must hold of any test that went well.
#[track_caller]
fn sound(report: &Report) {
    let spec = &report.spec;
    let streams = usize::from(spec.up() + spec.down());
    for (side, intervals) in
        [(&report.sender, &report.sender_intervals), (&report.receiver, &report.receiver_intervals)]
    {
        assert_eq!(side.streams.len(), streams);
        assert!((0..).zip(&side.streams).all(|(i, s)| s.index == i), "{side:?}");
        let measured = intervals.iter().filter(|i| i.phase == Phase::Measured);
        assert!(side.streams.iter().any(|s| s.total.bytes > 0), "{side:?}");
        let of = |stream: &net::StreamReport| stream.measured.bytes as f64;
        let (whole, parts): (f64, f64) = (
            side.streams.iter().map(of).sum(),
            measured.map(|i| (i.written.bytes + i.read.bytes) as f64).sum(),
        );
        // The cuts of streams and of intervals are moments apart: long ones on a machine that has much to do.
        let all: f64 = side.streams.iter().map(|s| s.total.bytes as f64).sum();
        assert!(
            (whole - parts).abs() <= all / 2.0,
            "{whole} in the whole, {parts} in the parts of {all}"
        );
        assert!(intervals.windows(2).all(|two| two[0].to == two[1].from), "no gaps");
        assert!(side.machine.wall > Ns::ZERO, "{:?}", side.machine);
        assert!(
            side.threads
                .iter()
                .all(|t| t.used.is_none_or(|used| used <= side.machine.wall.plus(Ns::millis(50))))
        );
    }
    for direction in report.directions() {
        assert!(direction.received_rate.is_finite() && direction.sent_rate.is_finite());
        // Of datagrams a busy machine may lose some.
        assert!(direction.undelivered == 0 || spec.is_udp(), "all were closed in order");
    }
}

#[track_caller]
fn run(spec: Spec) -> Vec<Direction> {
    let report = Bench::new().run(&spec);
    sound(&report);
    report.directions()
}

#[test]
fn tcp_goes_either_way_and_both() {
    for (up, down) in [(1, 0), (0, 1), (2, 2), (3, 0)] {
        let directions = run(with(short(Carriage::Tcp), |n| ways(n, up, down)));
        let flows: Vec<Flow> = directions.iter().map(|d| d.flow).collect();
        let expected: Vec<Flow> = [(Flow::Up, up), (Flow::Down, down)]
            .into_iter()
            .filter_map(|(flow, n)| (n > 0).then_some(flow))
            .collect();
        assert_eq!(flows, expected);
    }
}

#[test]
fn many_streams_share_few_threads() {
    for threads in [1, 2, 3] {
        let spec = with(short(Carriage::Tcp), |n| {
            ways(n, 6, 6);
            n.threads = threads;
            n.message = 16 << 10;
        });
        let report = Bench::new().run(&spec);
        sound(&report);
        assert_eq!(report.sender.threads.len(), 2 * usize::from(threads));
        let of = |thread| report.sender.streams.iter().filter(|s| s.thread == thread).count();
        assert_eq!(of(0), 6 / usize::from(threads));
    }
}

#[test]
fn a_message_is_one_submission_and_a_batch_is_several() {
    for (message, batch) in [(4096, 1), (4096, 16)] {
        let spec = with(short(Carriage::Tcp), |n| {
            n.message = message;
            n.batch = batch;
            n.discard = batch > 1;
        });
        let report = Bench::new().run(&spec);
        sound(&report);
        let sent = report.sender.streams[0].total;
        // The last submission of all may be cut short by the end.
        assert!(sent.calls >= sent.bytes / spec.submission(), "{sent:?}");
        assert!(sent.bytes / sent.calls * 2 > spec.submission(), "{sent:?}");
    }
}

#[test]
fn sockets_are_set_at_both_ends() {
    let sockets = Sockets {
        no_delay: true,
        send_buffer: Some(100_000),
        receive_buffer: Some(150_000),
        congestion: Some("reno".to_owned()),
        dscp: Some(10),
        ..Sockets::default()
    };
    let report = Bench::new().run(&with(short(Carriage::Tcp), |n| {
        ways(n, 1, 1);
        n.sockets = sockets;
    }));
    sound(&report);
    for stream in report.sender.streams.iter().chain(&report.receiver.streams) {
        assert_eq!((stream.send_buffer, stream.receive_buffer), (200_000, 300_000), "doubled");
        assert_eq!(stream.congestion.as_deref(), Some("reno"));
        let tcp = stream.tcp.expect("TCP tells of itself");
        assert!(tcp.mss > 0 && tcp.pmtu > tcp.mss, "{tcp:?}");
        let segments = if stream.writes { tcp.data_segments_out } else { tcp.data_segments_in };
        assert!(segments > 0, "{tcp:?}");
    }
}

#[test]
fn zero_copy_that_was_a_copy_is_counted() {
    let sockets = Sockets { zero_copy: true, ..Sockets::default() };
    for (up, threads) in [(1, 0), (3, 1)] {
        let spec = with(short(Carriage::Tcp), |n| {
            ways(n, up, 0);
            n.sockets = sockets.clone();
            n.threads = threads;
        });
        let report = Bench::new().run(&spec);
        sound(&report);
        for stream in &report.sender.streams {
            let total = stream.total;
            assert_eq!(total.completed, total.calls, "each send has been completed");
            assert_eq!(total.copied, total.completed, "loopback copies always");
        }
    }
}

/// Both ends of one kernel: Multipath TCP comes about where it has it, for every load over connections.
#[test]
fn connections_are_multipath_where_the_kernel_has_it() {
    let (exchange, connects) =
        (Carriage::Exchange { response: 64 }, Carriage::Connects { response: 64 });
    for load in [Carriage::Tcp, exchange, connects] {
        let spec = with(short(load), |n| {
            n.sockets.multipath = true;
            n.discard = load == Carriage::Tcp;
        });
        let report = match Bench::new().try_run(&spec) {
            Ok(report) => report,
            Err(e) => {
                println!("skipped: {e}");
                assert!(e.to_string().contains("net.mptcp.enabled"), "{e}");
                return;
            }
        };
        sound(&report);
        let streams = report.sender.streams.iter().chain(&report.receiver.streams);
        let standing = load != connects;
        assert!(streams.clone().all(|s| (s.subflows > 0) == standing), "{load:?}");
        assert!(streams.clone().all(|s| s.error.is_none() && s.total.failed == 0));
    }
    let plain = Bench::new().run(&short(Carriage::Tcp));
    assert_eq!(plain.sender.streams[0].subflows, 0, "nobody asked for it");
}

#[test]
fn a_file_in_memory_is_sent() {
    let sockets = Sockets { sendfile: true, ..Sockets::default() };
    for (up, threads, batch) in [(1, 0, 1), (3, 1, 7)] {
        let spec = with(short(Carriage::Tcp), |n| {
            ways(n, up, 0);
            n.sockets = sockets.clone();
            n.threads = threads;
            n.batch = batch;
        });
        let report = Bench::new().run(&spec);
        sound(&report);
        assert!(report.sender.streams.iter().all(|s| s.total.bytes > 0 && s.total.completed == 0));
    }
}

#[test]
fn a_rate_is_kept() {
    for load in [Carriage::Tcp, UDP] {
        let spec = with(Spec { measure: Ns::millis(500), ..short(load) }, |n| {
            n.rate = Some(4_000_000);
            n.message = 1_000;
        });
        let directions = run(spec);
        let rate = directions[0].received_rate;
        // Without a pace it would be hundreds; on a machine that has much to do it may be any less.
        assert!(rate < 20_000_000.0, "{load:?}: {rate}");
    }
}

#[test]
fn udp_is_sent_one_by_one_batched_and_segmented() {
    for (segmented, batch) in [(false, 1), (false, 16), (true, 16)] {
        for (up, down, threads) in [(1, 1, 0), (3, 0, 1)] {
            let load = Carriage::Udp { segmented };
            let rate = Some(400_000);
            let report = Bench::new().run(&with(short(load), |n| {
                ways(n, up, down);
                n.batch = batch;
                n.threads = threads;
                n.rate = rate;
            }));
            sound_datagrams(&report);
        }
    }
}

#[track_caller]
fn sound_datagrams(report: &Report) {
    for stream in report.sender.streams.iter().chain(&report.receiver.streams) {
        let [sent, taken] = [stream.datagrams, stream.tally.map(|tally| tally.unique)];
        let phases = sent.or(taken).expect("datagrams are counted");
        assert!(phases.iter().sum::<u64>() > 0, "{stream:?}");
        assert_eq!(phases.iter().sum::<u64>(), stream.total.items);
    }
    for direction in report.directions() {
        let datagrams = direction.datagrams.expect("there were datagrams");
        assert_eq!(datagrams.received + datagrams.lost, datagrams.sent);
        assert_eq!((datagrams.reordered, datagrams.duplicates), (0, 0), "{datagrams:?}");
        assert!(datagrams.jitter.is_finite() && datagrams.jitter >= 0.0);
    }
}

#[test]
fn requests_are_answered_and_timed() {
    let by_datagram = Carriage::DatagramExchange { response: 4096 };
    let exchange = Carriage::Exchange { response: 4096 };
    for load in [exchange, by_datagram, Carriage::Connects { response: 1 }] {
        for up in [1, 3] {
            let report = Bench::new().run(&with(short(load), |n| ways(n, up, 0)));
            sound(&report);
            let direction = &report.directions()[0];
            let latency = direction.latency.as_ref().expect("there are times");
            let all: u64 = report.sender.streams.iter().map(|s| s.total.items).sum();
            // Only those that were begun in the measured time are timed.
            assert!((1..=all).contains(&latency.count()), "{} timed of {all}", latency.count());
            assert!(direction.sent.items <= all);
            // A datagram may be late on a machine that has much to do.
            assert!(direction.sent.failed == 0 || load == by_datagram);
            assert!(latency.percentile(50.0) > Some(Ns(1_000)));
            let (asked, answered): (u64, u64) = (
                report.sender.streams.iter().map(|s| s.total.items).sum(),
                report.receiver.streams.iter().map(|s| s.total.items).sum(),
            );
            let failed: u64 = report.sender.streams.iter().map(|s| s.total.failed).sum();
            assert!((asked..=asked + failed).contains(&answered), "each transaction has two ends");
        }
    }
}

#[test]
fn a_probe_goes_beside_every_load_and_is_counted_apart() {
    let answers = Carriage::DatagramExchange { response: 64 };
    let calls = Carriage::Connects { response: 64 };
    for load in [Carriage::Tcp, UDP, Carriage::Exchange { response: 64 }, answers, calls] {
        let spec = with(short(load), |n| {
            n.probe = true;
            n.rate = (load == UDP).then_some(400_000);
            ways(n, 2, if load == Carriage::Tcp { 2 } else { 0 });
        });
        let report = Bench::new().run(&spec);
        sound(&report);
        let probe = report.sender.probe.as_ref().expect("it was asked for");
        assert!(probe.total.items > 0 && probe.error.is_none(), "{load:?}: {probe:?}");
        assert_eq!(
            (probe.total.bytes, probe.total.back),
            (probe.total.items * 64, probe.total.bytes)
        );
        let latency = probe.latency.as_ref().expect("it is timed");
        assert_eq!(latency.count(), probe.measured.items);
        // A pause of a millisecond lies between two.
        let most = 2 * (probe.to.since(probe.from).0 / 1_000_000) + 10;
        assert!(probe.measured.items <= most, "{} of at most {most}", probe.measured.items);
        assert_eq!(report.receiver.probe, None, "only who asks can tell");
        for side in [&report.sender, &report.receiver] {
            let own = side.threads.iter().filter(|thread| thread.name == "net-probe");
            assert_eq!(own.count(), 1, "{:?}", side.threads);
        }
    }
    assert_eq!(Bench::new().run(&short(UDP)).sender.probe, None, "nobody asked for it");
}

#[test]
fn ipv6_is_taken() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        println!("skipped: this host has no IPv6");
        return;
    }
    let bench = Bench::at("[::1]:0");
    for load in [
        Carriage::Tcp,
        UDP,
        Carriage::Exchange { response: 10 },
        Carriage::DatagramExchange { response: 40 },
        Carriage::Connects { response: 10 },
    ] {
        let report = bench.run(&short(load));
        assert!(report.target.starts_with("[::1]:"), "{}", report.target);
        assert!(report.sender.streams[0].peer.starts_with("[::1]:"));
    }
}

#[test]
fn a_source_is_taken() {
    let bench = Bench::new();
    let source = Some("127.0.0.9".parse().expect("an address"));
    let config = net::SendConfig { source, source_port: Some(42_317), ..bench.config() };
    let spec = with(short(Carriage::Tcp), |n| ways(n, 2, 0));
    let report = net::send(&config, &spec, &net::Stop::default(), &mut |_| {}).expect("it runs");
    let locals: Vec<&str> = report.sender.streams.iter().map(|s| s.local.as_str()).collect();
    assert_eq!(locals, ["127.0.0.9:42317", "127.0.0.9:42318"]);
    assert_eq!(report.receiver.streams[1].peer, "127.0.0.9:42318");
}

#[test]
fn clocks_of_one_host_agree_within_their_bound() {
    let report = Bench::new().run(&short(Carriage::Exchange { response: 1 }));
    for clock in [report.clock, report.clock_after] {
        assert!(clock.offset.unsigned_abs() <= clock.bound.0, "{clock:?}");
        assert!(clock.bound < Ns::secs(1));
    }
}

#[test]
fn a_report_is_kept_whole_by_json() {
    let report = Bench::new().run(&short(Carriage::Exchange { response: 7 }));
    let text = serde_json::to_string(&report).expect("it is data");
    assert_eq!(serde_json::from_str::<Report>(&text).expect("it is the same data"), report);
}

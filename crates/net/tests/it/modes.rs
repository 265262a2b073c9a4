//! Every mode between both ends: what is asked for happens, and both ends count the same.

use crate::engine::on_the_grid;
use crate::support::{Bench, Told, only, short, step_of, try_run, ways, with};
use clock::Ns;
use net::{Carriage, SideReport, Sockets, StreamDirection, StreamReport, TestSpec};
use record::Counter;

const UDP: Carriage = Carriage::Udp { segmented: false };

/// What must hold of any test that went well.
#[track_caller]
fn sound(told: &Told, side: &SideReport, spec: &TestSpec) {
    let streams = told.streams();
    assert_eq!(side.streams.len(), streams.len());
    assert!((0..).zip(&side.streams).all(|(i, s)| s.index == i), "{side:?}");
    for (stream, ends) in side.streams.iter().zip(streams) {
        on_the_grid(told, ends.0, true);
        on_the_grid(told, ends.1, false);
        // What the receiver tells people is what it told the engine.
        let here = if stream.writes { ends.0 } else { ends.1 };
        assert_eq!(told.carried(here, true).bytes, stream.measured.bytes, "{stream:?}");
        assert_eq!(told.sum(here, "total-bytes"), stream.total.bytes);
    }
    assert!(side.machine.wall > Ns::ZERO, "{:?}", side.machine);
    let used_within = |used: Ns| used <= side.machine.wall.plus(Ns::millis(50));
    assert!(side.threads.iter().all(|thread| thread.used.is_none_or(used_within)), "{side:?}");
    // Of datagrams a busy machine may lose some.
    assert!(told.undelivered() == 0 || spec.is_udp(), "all were closed in order");
}

/// Runs a test that must go well.
#[track_caller]
fn run(spec: &TestSpec) -> (Told, SideReport) {
    let (told, side) = Bench::new().run(spec);
    sound(&told, &side, spec);
    (told, side)
}

/// A counter of each end of each stream.
#[track_caller]
fn of_ends<T>(told: &Told, name: &str, of: fn(&Counter) -> T) -> Vec<T> {
    let ends = told.streams().iter().flat_map(|(one, other)| [*one, *other]);
    ends.flat_map(|end| told.counters(end, name)).map(of).collect()
}

#[test]
fn tcp_goes_either_way_and_both() {
    for (up, down) in [(1, 0), (0, 1), (2, 2), (3, 0)] {
        let (told, side) = run(&with(short(Carriage::Tcp), |n| ways(n, up, down)));
        let of = |flow| side.streams.iter().filter(|stream| stream.flow == flow).count();
        assert_eq!((of(StreamDirection::Up), of(StreamDirection::Down)), (up.into(), down.into()));
        let hop = told.net().sources.hop;
        let moved = ["write-bytes", "read-bytes"].map(|way| told.sum(hop, way) > 0);
        assert_eq!(moved, [up > 0, down > 0]);
    }
}

#[test]
fn many_streams_share_few_threads() {
    for threads in [1, 2, 3] {
        let (told, side) = run(&with(short(Carriage::Tcp), |n| {
            ways(n, 6, 6);
            n.threads = threads;
            n.message = 16 << 10;
        }));
        let all = 2 * usize::from(threads);
        assert_eq!(side.threads.len(), all);
        let own = told.threads(told.net().sources.sender);
        assert!(own.len() <= all && own.iter().all(|(name, _)| name.starts_with("net-")));
        let of = |thread| side.streams.iter().filter(|s| s.thread == thread).count();
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
        let (told, _) = run(&spec);
        let (sent, _) = told.streams()[0];
        let (bytes, calls) = (told.carried(sent, false).bytes, told.sum(sent, "calls"));
        // The last submission of all may be cut short by the end.
        assert!(calls >= bytes / spec.submission(), "{bytes} B in {calls}");
        assert!(bytes / calls * 2 > spec.submission(), "{bytes} B in {calls}");
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
    let (told, side) = run(&with(short(Carriage::Tcp), |n| {
        ways(n, 1, 1);
        n.sockets = sockets;
    }));
    assert_eq!(of_ends(&told, "send-buffer", |c| c.value), [200_000.0; 4], "doubled");
    assert_eq!(of_ends(&told, "receive-buffer", |c| c.value), [300_000.0; 4], "doubled");
    assert_eq!(told.fact("congestion"), Some("reno"));
    assert!(side.streams.iter().all(|s| s.congestion.as_deref() == Some("reno")), "{side:?}");
    for (sent, received) in told.streams() {
        for end in [*sent, *received] {
            let (mss, mtu) = (told.sum(end, "mss"), told.sum(end, "path-mtu"));
            assert!(mss > 0 && mtu > mss, "{mss} of {mtu}");
        }
        assert!(told.sum(*sent, "data-segments-out") > 0);
        assert!(told.sum(*received, "data-segments-in") > 0);
    }
}

#[test]
fn zero_copy_that_was_a_copy_is_counted() {
    let sockets = Sockets { zero_copy: true, ..Sockets::default() };
    for (up, down, threads) in [(1, 0, 0), (3, 0, 1), (0, 1, 0), (0, 3, 1)] {
        let (told, side) = run(&with(short(Carriage::Tcp), |n| {
            ways(n, up, down);
            n.sockets = sockets.clone();
            n.threads = threads;
        }));
        for (sent, _) in told.streams() {
            let done = told.sum(*sent, "zero-copy-done");
            assert!(done > 0 && done <= told.sum(*sent, "calls"), "{done}");
            assert_eq!(told.sum(*sent, "zero-copy-copied"), done, "loopback copies always");
        }
        for stream in side.streams.iter().filter(|stream| stream.writes) {
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
        let bench = Bench::new();
        let told = match bench.try_run(&spec) {
            Ok(told) => told,
            Err(e) => {
                println!("skipped: {e}");
                assert!(e.contains("net.mptcp.enabled"), "{e}");
                return;
            }
        };
        sound(&told, &bench.ended(), &spec);
        told.finished();
        // Connections one after the other have none that stands when the kernel is asked.
        let expected = if load == connects { &[][..] } else { &[1.0; 2] };
        assert_eq!(of_ends(&told, "multipath", |c| c.value), expected, "{load:?}");
        let failed = told.streams().iter().map(|(sent, _)| told.carried(*sent, false).errors);
        assert_eq!(failed.sum::<u64>(), 0);
    }
    let (plain, _) = run(&short(Carriage::Tcp));
    assert_eq!(of_ends(&plain, "multipath", |c| c.value), [0.0; 2], "it was not asked for");
}

#[test]
fn a_file_in_memory_is_sent() {
    let sockets = Sockets { sendfile: true, ..Sockets::default() };
    for (up, threads, batch) in [(1, 0, 1), (3, 1, 7)] {
        let (told, _) = run(&with(short(Carriage::Tcp), |n| {
            ways(n, up, 0);
            n.sockets = sockets.clone();
            n.threads = threads;
            n.batch = batch;
        }));
        for (sent, _) in told.streams() {
            assert!(told.carried(*sent, false).bytes > 0);
            assert!(told.counters(*sent, "zero-copy-done").is_empty());
        }
    }
}

#[test]
fn a_rate_is_kept() {
    for load in [Carriage::Tcp, UDP] {
        let spec = with(TestSpec { measure: Ns::millis(500), ..short(load) }, |n| {
            n.rate = Some(4_000_000);
            n.message = 1_000;
        });
        let (told, _) = run(&spec);
        let [_, from, to, _] = told.edges;
        let bytes = told.carried(told.streams()[0].1, true).bytes;
        let rate = bytes as f64 / to.since(from).as_secs_f64();
        // Without a pace it would be hundreds; on a machine that has much to do it may be any less.
        assert!(rate < 20_000_000.0, "{load:?}: {rate}");
    }
}

#[test]
fn udp_is_sent_one_by_one_batched_and_segmented() {
    for (segmented, batch) in [(false, 1), (false, 16), (true, 16)] {
        for (up, down, threads) in [(1, 1, 0), (3, 0, 1)] {
            let load = Carriage::Udp { segmented };
            let (told, side) = run(&with(short(load), |n| {
                ways(n, up, down);
                n.batch = batch;
                n.threads = threads;
                n.rate = Some(400_000);
            }));
            sound_datagrams(&told, &side);
        }
    }
}

#[track_caller]
fn sound_datagrams(told: &Told, side: &SideReport) {
    for stream in &side.streams {
        let [sent, taken] = [stream.datagrams, stream.tally.map(|tally| tally.unique)];
        let phases = sent.or(taken).expect("datagrams are counted");
        assert!(phases.iter().sum::<u64>() > 0, "{stream:?}");
        assert_eq!(phases.iter().sum::<u64>(), stream.total.items);
    }
    for (sent, received) in told.streams() {
        let left = told.sum(*sent, "datagrams-sent");
        let came = told.sum(*received, "datagrams-received");
        assert_eq!(came + told.sum(*received, "datagrams-lost"), left);
        let harmed = ["reordered", "duplicates"].map(|name| told.sum(*received, name));
        assert_eq!(harmed, [0; 2]);
        let jitter = told.counters(*received, "jitter");
        assert!(jitter.iter().all(|c| c.value.is_finite() && c.value >= 0.0), "{jitter:?}");
    }
}

#[test]
fn requests_are_answered_and_timed() {
    let by_datagram = Carriage::DatagramExchange { response: 4096 };
    let exchange = Carriage::Exchange { response: 4096 };
    for load in [exchange, by_datagram, Carriage::Connects { response: 1 }] {
        for up in [1, 3] {
            let spec = with(short(load), |n| ways(n, up, 0));
            let (told, side) = run(&spec);
            let (mut asked, mut done) = (0, 0);
            for (asks, _) in told.streams() {
                let measured = told.carried(*asks, true);
                assert!(measured.ops > 0, "{load:?}");
                assert_eq!(measured.service.count(), measured.ops, "each is timed");
                assert!(measured.service.percentile(50.0) > Some(Ns(1_000)));
                let all = told.carried(*asks, false);
                // A datagram may be late on a machine that has much to do.
                assert!(all.errors == 0 || load == by_datagram);
                asked += told.sum(*asks, "total-bytes") / u64::from(spec.network.message);
                done += all.ops;
            }
            let answered = side.streams.iter().map(|stream| stream.total.items).sum();
            assert!((done..=asked).contains(&answered), "{done} done, {answered} of {asked}");
        }
    }
}

#[test]
fn a_probe_goes_beside_every_load_and_is_counted_apart() {
    let answers = Carriage::DatagramExchange { response: 64 };
    let calls = Carriage::Connects { response: 64 };
    for load in [Carriage::Tcp, UDP, Carriage::Exchange { response: 64 }, answers, calls] {
        let (told, side) = run(&with(short(load), |n| {
            n.probe = true;
            n.rate = (load == UDP).then_some(400_000);
            ways(n, 2, if load == Carriage::Tcp { 2 } else { 0 });
        }));
        let probe = told.net().sources.probe.expect("it was asked for");
        on_the_grid(&told, probe, true);
        let all = told.carried(probe, false);
        assert!(all.ops > 0 && all.errors == 0, "{load:?}: {} and {}", all.ops, all.errors);
        // One may be under way at the last cut.
        assert!((all.ops * 64..=(all.ops + 1) * 64).contains(&all.bytes), "{} B", all.bytes);
        assert_eq!(told.sum(probe, "back-bytes"), all.ops * 64);
        let measured = told.carried(probe, true);
        assert_eq!(measured.service.count(), measured.ops, "it is timed");
        // A pause of a millisecond lies between two.
        let [_, from, to, _] = told.edges;
        let most = 2 * (to.since(from).0 / 1_000_000) + 10;
        assert!(measured.ops <= most, "{} of at most {most}", measured.ops);
        assert_eq!(side.probe, None, "only the end that asks can tell");
        let own = side.threads.iter().filter(|thread| thread.name == "net-probe");
        assert_eq!(own.count(), 1, "{:?}", side.threads);
        let near = told.threads(told.net().sources.sender);
        assert!(near.iter().filter(|(name, _)| *name == "net-probe").count() <= 1, "{near:?}");
    }
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
        let (told, side) = bench.run(&short(load));
        assert_eq!(told.fact("ip-version"), Some("ipv6"));
        assert_eq!(told.fact("addresses"), Some("::1 to ::1"));
        assert!(side.streams[0].local.starts_with("[::1]:"), "{side:?}");
    }
}

#[test]
fn a_source_is_taken() {
    let bench = Bench::new();
    let mut step = step_of(bench.place(), &with(short(Carriage::Tcp), |n| ways(n, 2, 0)));
    let receiver = &mut only(&mut step).receiver;
    receiver.source = Some("127.0.0.9".parse().expect("an address"));
    receiver.source_port = Some(42_317);
    let told = try_run(&step).expect("it runs");
    assert_eq!(told.fact("addresses"), Some("127.0.0.9 to 127.0.0.1"));
    let of = |stream: &StreamReport| stream.peer.clone();
    let peers: Vec<String> = bench.ended().streams.iter().map(of).collect();
    assert_eq!(peers, ["127.0.0.9:42317", "127.0.0.9:42318"]);
}

#[test]
fn clocks_of_one_host_agree_within_their_bound() {
    let (told, _) = run(&short(Carriage::Exchange { response: 1 }));
    let hop = told.net().sources.hop;
    let [offset, bound] = ["clock-offset", "clock-bound"].map(|name| told.counters(hop, name));
    let (offset, bound) = (offset[0].value, bound[0].value);
    assert!(offset.abs() <= bound && bound < 1e9, "{offset} ns by at most {bound} ns");
}

#[test]
fn a_report_is_kept_whole_by_json() {
    for load in [Carriage::Exchange { response: 7 }, UDP] {
        let (_, side) = run(&short(load));
        let text = serde_json::to_string(&side).expect("it is data");
        assert_eq!(serde_json::from_str::<SideReport>(&text).expect("it is the same data"), side);
    }
}

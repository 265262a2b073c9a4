//! A running target as its operator sees it, against what a scripted initiator knows to have done.

use crate::prelude::*;
use crate::target::hand::{Hand, pattern, transfer};
use crate::target::test_target::{PATIENCE, TestTarget, config};

#[test]
fn sessions_are_described_as_they_logged_in() {
    let stand = TestTarget::new();
    let control = stand.target.control();
    assert!(control.snapshot(PATIENCE).sessions.is_empty());
    let addresses = stand.target.addresses();
    let (a, b) = (Hand::ready(addresses[0], "a"), Hand::ready(addresses[1], "b"));
    let snapshot = control.snapshot(PATIENCE);
    assert_eq!(snapshot.silent, 0);
    let seen = |n: usize| {
        let one = &snapshot.sessions[n];
        let [connection] = &one.connections[..] else { panic!("{one:?}") };
        (one.initiator.clone(), one.isid.clone(), one.tsih, connection.portal, connection.from)
    };
    for (n, (hand, name)) in [(&a, "a"), (&b, "b")].into_iter().enumerate() {
        let from = hand.stream.local_addr().expect("it is connected");
        let expected = (
            format!("iqn.2024-01.org.example:{name}"),
            "0x800000000001".to_owned(),
            hand.login.tsih,
            n,
            from,
        );
        assert_eq!(seen(n), expected);
    }
    a.logout();
    stand.event("the logout", |event| matches!(event, ServerEvent::Logout(_)));
    let left = control.snapshot(PATIENCE).sessions;
    assert!(left.iter().all(|one| one.initiator.ends_with(":b")), "{left:?}");
    drop(control);
    stand.stop();
}

#[test]
fn latencies_count_each_command_that_was_answered_once() {
    let stand = TestTarget::new();
    let mut hand = Hand::ready(stand.address(), "a");
    let data = pattern(3, 4096);
    for _ in 0..7 {
        assert_eq!(hand.write(0, &data).status, 0);
    }
    for _ in 0..11 {
        assert_eq!(hand.read(0, 4096).data, data);
    }
    // What moves no blocks does not count, nor does what another port carries.
    hand.calm();
    let control = stand.target.control();
    let port = |n: usize| control.portals().nth(n).expect("a portal").latencies();
    // The last answer is with the initiator before its thread has counted it.
    stand.settled("eleven reads", |_| control.latencies(0).reads.count() == 11);
    for counted in [control.latencies(0), port(0)] {
        assert_eq!((counted.reads.count(), counted.writes.count()), (11, 7));
        let (p50, p99) = (counted.reads.percentile(0.5), counted.reads.percentile(0.99));
        assert!(p50 > Some(Ns::ZERO) && p50 <= p99, "{p50:?} {p99:?}");
    }
    assert_eq!(port(1), Default::default());
    assert_eq!(control.latencies(7), Default::default(), "there is no such unit");
}

#[test]
fn a_paced_port_shows_in_the_latency() {
    let mut config = config();
    config.portals[0].rate = PortRate::new(4_000_000);
    let stand = TestTarget::with(config);
    let mut hand = Hand::ready(stand.address(), "a");
    for _ in 0..6 {
        assert_eq!(hand.read(0, 1 << 18).data.len(), 1 << 18);
    }
    let control = stand.target.control();
    stand.settled("six reads", |_| control.latencies(0).reads.count() == 6);
    // 256 KiB at 4 MB/s take 65.5 ms; a port may first send what it saved while it was idle.
    let p50 = control.latencies(0).reads.percentile(0.5).expect("there are some");
    assert!(p50 > Ns::millis(30), "{p50:?}");
    let begun = hand.begin(&transfer(0x28, 0, 1 << 20), 1 << 20, 0);
    let portal = stand.target.portal(0).expect("a portal");
    portal.set_rate(None);
    hand.finish(begun, &[]);
}

#[test]
fn reservations_and_keys_are_shown() {
    let stand = TestTarget::new();
    let control = stand.target.control();
    let shown = || control.snapshot(PATIENCE).reservations[0].clone();
    assert!(shown().is_empty());
    let mut hand = Hand::ready(stand.address(), "a");
    let mut parameters = [0; 24];
    parameters[8..16].copy_from_slice(&0x1122_3344_5566_7788u64.to_be_bytes());
    assert_eq!(hand.command(&[0x5f, 0, 0, 0, 0, 0, 0, 0, 24, 0], 0, &parameters).status, 0);
    let registered = shown();
    let [(nexus, key)] = &registered.registrations[..] else { panic!("{registered:?}") };
    assert_eq!(
        (*key, nexus.initiator_name()),
        (0x1122_3344_5566_7788, "iqn.2024-01.org.example:a")
    );
    assert_eq!((registered.held, nexus.port), (None, 1));
    // RESERVE, write exclusive for registrants only.
    let mut parameters = [0; 24];
    parameters[..8].copy_from_slice(&0x1122_3344_5566_7788u64.to_be_bytes());
    assert_eq!(hand.command(&[0x5f, 1, 5, 0, 0, 0, 0, 0, 24, 0], 0, &parameters).status, 0);
    let held = shown().held.expect("it is reserved");
    assert_eq!(held.1, "write exclusive, registrants only");
    assert_eq!(held.0.initiator_name(), "iqn.2024-01.org.example:a");
    // RELEASE, then RESERVE(6).
    assert_eq!(hand.command(&[0x5f, 2, 5, 0, 0, 0, 0, 0, 24, 0], 0, &parameters).status, 0);
    assert_eq!(shown().held, None);
}

#[test]
fn a_stopped_target_describes_nothing_in_the_time_it_has() {
    let stand = TestTarget::new();
    let control = stand.target.control();
    stand.stop();
    let snapshot = control.snapshot(Duration::from_millis(20));
    assert_eq!((snapshot.sessions.len(), snapshot.silent), (0, 2));
}

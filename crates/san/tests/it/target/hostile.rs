//! Peers that mean no good, or have died: none of them holds anything for long, and nobody else notices.

use crate::prelude::*;
use crate::target::hand::{Hand, connect, connect_from, is_closed, pattern, transfer, who};
use crate::target::test_target::{TestTarget, limited};

const SHORT: Duration = Duration::from_millis(200);

/// What is sent instead of a login, and then silence.
#[track_caller]
fn gets_nowhere(bytes: &[u8], half_open: bool) {
    let stand = TestTarget::with(limited(|limits| limits.login_time = SHORT));
    let mut peer = connect(stand.address());
    peer.write_all(bytes).expect("a target that takes it");
    assert!(half_open || is_closed(&mut peer));
    stand.event("the refusal", |event| matches!(event, ServerEvent::Refused { .. }));
    assert!(is_closed(&mut peer));
    Hand::ready(stand.address(), "somebody-else").logout();
}

#[test]
fn silence_garbage_and_halves_end_with_the_time_for_a_login() {
    let mut login = vec![0x43, 0x87, 0, 0, 0, 0, 0, 64];
    login.resize(48, 0);
    gets_nowhere(&[], true);
    gets_nowhere(&login[..20], true);
    gets_nowhere(&login, true);
    gets_nowhere(&[0xff; 48], false);
    gets_nowhere(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n and some more of this", false);
}

#[test]
fn a_login_that_announces_too_much_text_is_refused_by_its_header() {
    let mut login = vec![0x43, 0x87, 0, 0, 0, 0xff, 0xff, 0xff];
    login.resize(48, 0);
    gets_nowhere(&login, false);
}

#[test]
fn text_that_never_ends_is_refused() {
    let stand = TestTarget::new();
    let mut peer = connect(stand.address());
    // Each says that the text goes on (the C bit).
    let mut pdu = vec![0x43, 0x40, 0, 0, 0, 0, 0x20, 0];
    pdu.resize(48 + 8192, b'a');
    for _ in 0..64 {
        if peer.write_all(&pdu).is_err() {
            break;
        }
    }
    assert!(is_closed(&mut peer));
    stand.event("the refusal", |event| matches!(event, ServerEvent::Refused { .. }));
}

#[test]
fn a_flood_of_silent_connections_gives_way_to_those_that_log_in() {
    let stand = TestTarget::with(limited(|limits| {
        limits.logins = 4;
        limits.login_grace = Duration::from_millis(20);
    }));
    let mut flood: Vec<_> = (0..64).map(|_| connect(stand.address())).collect();
    let mut hand = Hand::ready(stand.address(), "a");
    assert_eq!(hand.read(0, 512).status, 0);
    assert!(is_closed(&mut flood[0]), "the first has given way");
}

#[test]
fn sessions_have_a_bound() {
    let stand = TestTarget::with(limited(|limits| limits.sessions = 2));
    let first = Hand::ready(stand.address(), "a");
    let _second = Hand::ready(stand.address(), "b");
    assert!(Hand::enter(stand.address(), who("c")).is_err());
    first.logout();
    stand.event("the logout", |event| matches!(event, ServerEvent::Logout(_)));
    // The door hears of the session's end a moment after that of its connection.
    let again = (0..1000).find_map(|_| {
        clock::sleep_until(clock::now().plus(clock::Ns::millis(5)));
        Hand::enter(stand.address(), who("d")).ok()
    });
    assert!(again.is_some(), "there is room again");
}

/// A peer that has logged in does this, and is dropped for that.
#[track_caller]
fn dropped(does: impl Fn(&mut Hand), why: impl Fn(&DropReason) -> bool) {
    let stand = TestTarget::with(limited(|limits| {
        limits.idle_time = SHORT;
        limits.stall_time = SHORT;
    }));
    let mut hand = Hand::ready(stand.address(), "a");
    does(&mut hand);
    let end = stand.event("the end", |event| matches!(event, ServerEvent::Dropped(..)));
    assert!(matches!(&end, ServerEvent::Dropped(_, got) if why(got)), "{end}");
    let counts =
        stand.settled("nothing is left", |counts| counts.queue == 0 && counts.connections == 0);
    assert_eq!(counts.queue, 0);
    stand.stop();
}

#[test]
fn a_session_that_falls_silent_is_dropped() {
    dropped(|_| {}, |why| *why == DropReason::Silent);
}

#[test]
fn half_a_command_is_no_sign_of_life() {
    dropped(
        |hand| hand.stream.write_all(&[1; 30]).expect("it is taken"),
        |why| matches!(why, DropReason::Stalled | DropReason::Silent),
    );
}

/// A byte now and then is no progress: the time of a PDU ends.
#[test]
fn a_pdu_that_trickles_in_ends_with_its_time() {
    let trickle = |hand: &mut Hand| {
        for _ in 0..2000 {
            if hand.stream.write_all(&[0]).is_err() {
                return;
            }
            clock::sleep_until(clock::now().plus(clock::Ns::millis(150)));
        }
        panic!("it was never dropped");
    };
    let data = |hand: &mut Hand| {
        hand.begin(&transfer(0x2a, 0, 65536), 0, 65536);
        let r2t = hand.r2t();
        hand.announce(&r2t, 8192);
        trickle(hand);
    };
    dropped(data, |why| *why == DropReason::Stalled);
}

#[test]
fn the_logins_of_one_host_leave_room_for_others() {
    let settings = limited(|limits| {
        limits.logins = 8;
        limits.logins_per_address = 6;
        limits.login_grace = Duration::from_secs(60);
    });
    let stand = TestTarget::with(settings);
    // All of loopback is one machine; its addresses are told apart.
    let mut flood: Vec<_> = (0..20).map(|_| connect(stand.address())).collect();
    stand.event("a refusal", |event| {
        matches!(event, ServerEvent::Refused { why, .. } if why.contains("6 logins of its host"))
    });
    let is_open = |stream: &mut TcpStream| {
        stream.set_nonblocking(true).expect("a socket");
        matches!(stream.peek(&mut [0]), Err(e) if e.kind() == std::io::ErrorKind::WouldBlock)
    };
    assert!(flood[..6].iter_mut().all(is_open), "they are young");
    let mut other = connect_from("127.0.0.2", stand.address());
    let others = Hand::over(connect_from("127.0.0.3", stand.address()), who("a"));
    assert!(others.is_ok() && is_open(&mut other), "other hosts find places");
}

#[test]
fn data_that_was_announced_and_does_not_come_is_not_waited_for() {
    let announce = |hand: &mut Hand| {
        hand.begin(&transfer(0x2a, 0, 65536), 0, 65536);
        hand.r2t();
    };
    dropped(announce, |why| *why == DropReason::Stalled);
}

#[test]
fn a_peer_that_does_not_take_what_it_asked_for_is_dropped() {
    let greedy = |hand: &mut Hand| {
        for _ in 0..100 {
            hand.begin(&transfer(0x28, 0, 1 << 20), 1 << 20, 0);
        }
    };
    dropped(greedy, |why| matches!(why, DropReason::Stalled | DropReason::Silent));
}

#[test]
fn what_is_no_iscsi_ends_the_connection() {
    let too_long = |hand: &mut Hand| {
        let mut pdu = vec![0x01, 0xa1, 0, 0, 0, 0xff, 0xff, 0xff];
        pdu.resize(48, 0);
        hand.stream.write_all(&pdu).expect("it is taken");
    };
    dropped(too_long, |why| matches!(why, DropReason::Protocol(_)));
    dropped(
        |hand| drop(hand.stream.shutdown(std::net::Shutdown::Both)),
        |why| *why == DropReason::Closed,
    );
}

#[test]
fn sessions_that_die_in_the_middle_of_commands_leave_nothing_behind() {
    let stand = TestTarget::new();
    let mut steady = Hand::ready(stand.address(), "steady");
    let data = pattern(7, 8192);
    for round in 0..40u8 {
        let mut hand = Hand::ready(stand.address(), &format!("dies-{}", round % 8));
        let write = transfer(0x2a, 64, 65536);
        hand.begin(&write, 0, 65536);
        let r2t = hand.r2t();
        for _ in 0..8 {
            hand.begin(&transfer(0x28, 0, 65536), 65536, 0);
        }
        match round % 3 {
            // In the middle of its data, before it, or behind some of it.
            0 => hand.stream.write_all(&[5; 17]).expect("it is taken"),
            1 => {}
            _ => hand.feed(&iscsi::pdu::R2t { desired_len: 512, ..r2t }, &data),
        }
        drop(hand);
        assert_eq!(steady.write(0, &data).status, 0);
        assert_eq!(steady.read(0, 8192).data, data);
    }
    let counts =
        stand.settled("all are gone", |counts| counts.connections == 1 && counts.queue == 0);
    assert_eq!(counts.queue, 0);
    stand.stop();
}

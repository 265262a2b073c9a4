//! Who gets in, and what becomes of sessions that somebody takes over.

use crate::prelude::*;
use crate::target::hand::{Hand, connect, is_closed, pattern, transfer, who};
use crate::target::test_target::{NAME, TestTarget, config, guarded};
use iscsi::login::{Auth, InitiatorAuth, InitiatorConfig, LoginError};
use iscsi::pdu::{Isid, LoginStatus, Response};
use san::server::{DropReason, PortalConfig, ServerEvent, StartError, TargetServer};

fn credentials(name: &str, secret: &str) -> Credentials {
    Credentials { name: name.to_owned(), secret: Secret::new(secret.as_bytes()).expect("a secret") }
}

#[track_caller]
fn refused(stand: &TestTarget, config: InitiatorConfig, status: LoginStatus) {
    match Hand::enter(stand.address(), config) {
        Err(LoginError::Refused(got)) => assert_eq!(got, status),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was let in"),
    }
    stand.event("the refusal", |event| matches!(event, ServerEvent::Refused { .. }));
}

#[test]
fn a_configuration_that_is_not_sound_does_not_start() {
    let start = |change: &dyn Fn(&mut san::server::TargetSettings)| {
        let mut config = config();
        change(&mut config);
        TargetServer::start(config).err().expect("it does not start")
    };
    assert!(matches!(start(&|c| c.portals.clear()), StartError::NoPortal));
    assert!(matches!(start(&|c| c.volumes.clear()), StartError::NoVolume));
    assert!(matches!(start(&|c| c.name = "disk".to_owned()), StartError::Name(_)));
    assert!(matches!(start(&|c| c.initiators.push("me".to_owned())), StartError::Initiator(_)));
    assert!(matches!(start(&|c| c.portals[1].group = 0), StartError::Group(_)));
    let everywhere = PortalConfig::new("0.0.0.0:0".parse().expect("an address"));
    assert!(matches!(start(&|c| c.portals.push(everywhere.clone())), StartError::Open(_)));
    let taken = TestTarget::new();
    let same = PortalConfig::new(taken.address());
    assert!(matches!(start(&|c| c.portals.push(same.clone())), StartError::Listen { .. }));
}

#[test]
fn urls_name_what_is_served() {
    let stand = TestTarget::new();
    let addresses = stand.target.addresses();
    let urls: Vec<String> =
        addresses.iter().map(|address| format!("iscsi://{address}/{NAME}/0")).collect();
    assert_eq!(stand.target.urls(), urls);
    assert!(addresses.iter().all(|address| address.port() != 0));
}

#[test]
fn only_who_proves_who_it_is_gets_in() {
    let target = Some(credentials("target", "the target's secret"));
    let stand = TestTarget::with(guarded(Auth::Chap {
        users: vec![credentials("joe", "a secret of joe")],
        target,
    }));
    let with = |user: Credentials, target| InitiatorConfig {
        auth: InitiatorAuth::Chap { user, target },
        ..who("a")
    };
    refused(&stand, who("a"), LoginStatus::AUTHENTICATION_FAILURE);
    refused(
        &stand,
        with(credentials("joe", "something else"), None),
        LoginStatus::AUTHENTICATION_FAILURE,
    );
    refused(
        &stand,
        with(credentials("jim", "a secret of joe"), None),
        LoginStatus::AUTHENTICATION_FAILURE,
    );
    let joe = || credentials("joe", "a secret of joe");
    let mut hand = Hand::enter(stand.address(), with(joe(), None)).expect("a login");
    hand.calm();
    let mutual = Some(credentials("target", "the target's secret"));
    Hand::enter(stand.address(), with(joe(), mutual)).expect("both have proved it");
    let wrong = Some(credentials("target", "another one's secret"));
    assert!(
        Hand::enter(stand.address(), with(joe(), wrong)).is_err(),
        "the target is not who it should be"
    );
}

#[test]
fn only_initiators_that_are_allowed_find_only_this_target() {
    let mut config = config();
    config.initiators = vec!["iqn.2024-01.org.example:friend".to_owned()];
    let stand = TestTarget::with(config);
    refused(&stand, who("stranger"), LoginStatus::AUTHORIZATION_FAILURE);
    let elsewhere = InitiatorConfig {
        target: Some("iqn.2024-01.org.example:else".parse().expect("a name")),
        ..who("friend")
    };
    refused(&stand, elsewhere, LoginStatus::NOT_FOUND);
    let unknown = InitiatorConfig { tsih: 77, ..who("friend") };
    refused(&stand, unknown, LoginStatus::NO_SESSION);
    Hand::ready(stand.address(), "friend").logout();
}

#[test]
fn a_discovery_session_lists_all_portals_and_refuses_commands() {
    let stand = TestTarget::new();
    let mut hand = Hand::enter(stand.address(), InitiatorConfig { target: None, ..who("a") })
        .expect("a login");
    hand.ask(b"SendTargets=All\0");
    let (response, list) = hand.receive().expect("a list");
    assert!(matches!(response, Response::Text(_)));
    let mut expected = format!("TargetName={NAME}\0");
    for (address, group) in stand.target.addresses().iter().zip([1, 2]) {
        expected += &format!("TargetAddress={address},{group}\0");
    }
    assert_eq!(String::from_utf8_lossy(&list), expected);
    hand.begin(&[0; 6], 0, 0);
    assert!(is_closed(&mut hand.stream));
}

#[test]
fn text_is_answered_key_by_key() {
    let stand = TestTarget::new();
    let own = format!("SendTargets={NAME}\0");
    let portals: String = stand
        .target
        .addresses()
        .iter()
        .zip([1, 2])
        .map(|(address, group)| format!("TargetAddress={address},{group}\0"))
        .collect();
    let list = format!("TargetName={NAME}\0{portals}");
    let mut normal = Hand::ready(stand.address(), "a");
    let mut discovery = Hand::enter(stand.address(), InitiatorConfig { target: None, ..who("b") })
        .expect("a login");
    for (asked, of_normal, of_discovery) in [
        ("SendTargets=All\0", "SendTargets=Reject\0", list.as_str()),
        ("SendTargets=\0", &list, "SendTargets=Reject\0"),
        (&own, &list, &list),
        ("SendTargets=iqn.2024-01.org.example:other\0", "", ""),
        ("SendTargets=not a name\0", "SendTargets=Reject\0", "SendTargets=Reject\0"),
        (
            "X-org.example.a=1\0InitialR2T=No\0Odd=2\0",
            "X-org.example.a=NotUnderstood\0InitialR2T=Reject\0Odd=NotUnderstood\0",
            "X-org.example.a=NotUnderstood\0InitialR2T=Reject\0Odd=NotUnderstood\0",
        ),
        ("InitiatorAlias=me\0", "", ""),
    ] {
        for (hand, expected) in [(&mut normal, of_normal), (&mut discovery, of_discovery)] {
            hand.ask(asked.as_bytes());
            let (response, answer) = hand.receive().expect("an answer");
            assert!(matches!(response, Response::Text(_)), "{asked:?}: {response:?}");
            assert_eq!(String::from_utf8_lossy(&answer), expected, "{asked:?}");
        }
    }
    for wrong in [&b"SendTargets\0"[..], b"SendTargets=All", b"=x\0", b"a=\xff\0"] {
        normal.ask(wrong);
        let (response, _) = normal.receive().expect("an answer");
        assert!(matches!(response, Response::Reject(_)), "{wrong:?}: {response:?}");
    }
    // A declared length holds from then on: no data segment is longer.
    normal.ask(b"MaxRecvDataSegmentLength=1024\0");
    assert!(matches!(normal.receive().expect("an answer").0, Response::Text(_)));
    normal.calm();
    let data = pattern(3, 8192);
    assert_eq!(normal.write(0, &data).status, 0);
    let tag = normal.begin(&transfer(0x28, 0, 8192), 8192, 0);
    let (response, first) = normal.receive().expect("data");
    assert!(matches!(response, Response::DataIn(_)) && first.len() == 1024, "{tag} {response:?}");
}

#[test]
fn a_new_login_of_the_same_port_ends_the_old_session_and_its_tasks() {
    let stand = TestTarget::new();
    let mut old = Hand::ready(stand.address(), "a");
    old.begin(&crate::target::hand::transfer(0x2a, 0, 4096), 0, 4096);
    old.r2t();
    let mut new = Hand::enter(stand.address(), who("a")).expect("a login");
    assert!(is_closed(&mut old.stream));
    stand.event("the old one's end", |event| {
        matches!(event, ServerEvent::Dropped(_, DropReason::Reinstated))
    });
    new.calm();
    assert_ne!(new.login.tsih, old.login.tsih);
    let counts = stand
        .settled("the old task is gone", |counts| counts.queue == 0 && counts.connections == 1);
    assert_eq!(counts.bytes_in, 0);
    // Another port of the same initiator is another session.
    let other = Hand::enter(
        stand.address(),
        InitiatorConfig { isid: Isid([0x80, 0, 0, 0, 0, 2]), ..who("a") },
    );
    let _other = other.expect("a login");
    assert_eq!(new.read(0, 512).status, 0);
}

#[test]
fn connections_share_a_session_and_replace_each_other() {
    let stand = TestTarget::new();
    let wishes = DesiredParams { max_connections: 2, ..who("a").wishes };
    let mut first =
        Hand::enter(stand.address(), InitiatorConfig { wishes: wishes.clone(), ..who("a") })
            .expect("a login");
    first.calm();
    let tsih = first.login.tsih;
    let more = |cid, cmd_sn| {
        let config = InitiatorConfig { wishes: wishes.clone(), tsih, cid, cmd_sn, ..who("a") };
        Hand::enter(stand.address(), config)
    };
    let mut second = more(1, first.cmd_sn).expect("another connection");
    let data = pattern(3, 4096);
    assert_eq!(second.write(0, &data).status, 0);
    first.cmd_sn = second.cmd_sn;
    assert_eq!(first.read(0, 4096).data, data);
    // The same number again: the connection is replaced, the session goes on.
    let mut third = more(1, first.cmd_sn).expect("the connection anew");
    assert!(is_closed(&mut second.stream));
    assert_eq!(third.read(0, 4096).data, data);
    first.cmd_sn = third.cmd_sn;
    assert_eq!(first.read(0, 4096).data, data);
}

#[test]
fn a_stop_asks_initiators_to_leave_and_keeps_what_was_written() {
    let stand = TestTarget::with(crate::target::test_target::limited(|limits| {
        limits.stop_time = crate::target::test_target::PATIENCE
    }));
    let mut hand = Hand::ready(stand.address(), "a");
    let address = stand.address();
    let stopped = std::thread::spawn(move || stand.stop());
    match hand.receive().expect("a notice").0 {
        Response::Async(message) => {
            assert_eq!(message.event, iscsi::pdu::AsyncEvent::RequestLogout)
        }
        other => panic!("{other:?} instead of a notice"),
    }
    assert_eq!(hand.write(0, &pattern(1, 512)).status, 0, "commands are still carried out");
    hand.logout();
    stopped.join().expect("a clean stop");
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn who_does_not_leave_is_dropped_when_the_time_is_up() {
    let stand = TestTarget::new();
    let mut hand = Hand::ready(stand.address(), "a");
    let _silent = connect(stand.address());
    stand.stop();
    assert!(is_closed(&mut hand.stream));
}

/// One initiator with several ports (RFC 7143, 4.2.7.1: the ISID is a part of the port's name): each is a nexus of its own.
#[test]
fn the_same_name_with_another_isid_is_another_nexus() {
    const CONFLICT: u8 = 0x18;
    let stand = TestTarget::new();
    let port = |number: u8| {
        let isid = Isid([0x80, 0, 0, 0, 0, number]);
        let hand = Hand::enter(stand.address(), InitiatorConfig { isid, ..who("a") });
        let mut hand = hand.expect("a login");
        hand.calm();
        hand
    };
    let data = pattern(1, 512);
    let (mut one, mut two) = (port(1), port(2));
    // RESERVE(6) is the nexus' alone, and ends with it: a session that is reinstated has none.
    assert_eq!(one.command(&[0x16, 0, 0, 0, 0, 0], 0, &[]).status, 0);
    assert_eq!(two.write(0, &data).status, CONFLICT);
    assert_eq!(one.write(0, &data).status, 0);
    let mut again = port(1);
    assert!(is_closed(&mut one.stream), "reinstated");
    assert_eq!(two.write(0, &data).status, 0, "the nexus was lost, and its reservation with it");
    assert_eq!(again.write(0, &data).status, 0);

    // A persistent one is kept for the port, whichever session it has.
    let list = |hand: &mut Hand, action: u8, reservation: u64, service: u64| {
        let mut keys = [0; 24];
        keys[..8].copy_from_slice(&reservation.to_be_bytes());
        keys[8..16].copy_from_slice(&service.to_be_bytes());
        hand.command(&[0x5f, action, 1, 0, 0, 0, 0, 0, 24, 0], 0, &keys).status
    };
    assert_eq!(list(&mut again, 0, 0, 0x77), 0, "REGISTER");
    assert_eq!(list(&mut again, 1, 0x77, 0), 0, "RESERVE, write exclusive");
    assert_eq!(two.write(0, &data).status, CONFLICT);
    assert_eq!(list(&mut two, 1, 0x77, 0), CONFLICT, "another port did not register the key");
    let mut third = port(1);
    assert!(is_closed(&mut again.stream), "reinstated");
    assert_eq!(third.write(0, &data).status, 0, "the port is still the holder");
    third.logout();
    assert_eq!(two.write(0, &data).status, CONFLICT, "also while it has no session");
    let mut other = port(3);
    assert_eq!(other.write(0, &data).status, CONFLICT, "a new session with another ISID is not it");
    let mut back = port(1);
    assert_eq!(back.write(0, &data).status, 0);
    let keys = two.command(&[0x5e, 0, 0, 0, 0, 0, 0, 0, 24, 0], 24, &[]).data;
    assert_eq!(keys[4..16], [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0x77], "one registration");
}

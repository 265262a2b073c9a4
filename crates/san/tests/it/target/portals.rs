//! Portals in trouble, and reservations that outlive the target.

use crate::prelude::*;
use crate::target::hand::{Hand, is_closed, pattern, transfer, who};
use crate::target::test_target::{TestTarget, config, volume};

#[test]
fn a_portal_goes_down_alone_and_comes_back() {
    let stand = TestTarget::new();
    let addresses = stand.target.addresses();
    let mut by_first = Hand::ready(addresses[0], "a");
    let mut by_second = Hand::ready(addresses[1], "a");
    let data = pattern(4, 4096);
    assert_eq!(by_first.write(0, &data).status, 0);
    let first = stand.target.portal(0).expect("a portal");
    for _ in 0..3 {
        first.kill();
        assert!(is_closed(&mut by_first.stream));
        stand.event("the drop", |event| {
            matches!(event, ServerEvent::Dropped(_, DropReason::PortalDown))
        });
        assert!(TcpStream::connect(addresses[0]).is_err(), "nobody listens");
        assert_eq!(by_second.read(0, 4096).data, data, "the other way is open");
        first.revive().expect("its address is free");
        by_first = Hand::ready(addresses[0], "a");
        assert_eq!(by_first.read(0, 4096).data, data);
    }
}

#[test]
fn a_busy_portal_says_so_and_carries_nothing_out() {
    let stand = TestTarget::new();
    let mut hand = Hand::ready(stand.address(), "a");
    let portal = stand.target.portal(0).expect("a portal");
    portal.set_busy(true);
    assert_eq!(hand.read(0, 512).status, 8);
    let tag = hand.begin(&transfer(0x2a, 0, 512), 0, 512);
    assert_eq!(hand.finish(tag, &[]).status, 8);
    portal.set_busy(false);
    assert_eq!(hand.read(0, 512).data, vec![0; 512]);
}

#[test]
fn a_slow_portal_works_and_can_be_sped_up() {
    let mut config = config();
    config.portals[0].rate = PortRate::new(20_000_000);
    let stand = TestTarget::with(config);
    let mut hand = Hand::ready(stand.address(), "a");
    let data = pattern(6, 1 << 20);
    assert_eq!(hand.write(0, &data).status, 0);
    assert!(hand.read(0, 1 << 20).data == data);
    let portal = stand.target.portal(0).expect("a portal");
    // At this speed a mebibyte takes a quarter of an hour: what is under way has to notice the change.
    portal.set_rate(PortRate::new(1_000));
    let tag = hand.begin(&transfer(0x28, 0, 1 << 20), 1 << 20, 0);
    portal.set_rate(None);
    assert!(hand.finish(tag, &[]).data == data);
    assert_eq!(portal.rate(), None);
}

#[test]
fn reservations_that_ask_for_it_outlive_the_target() {
    let state = tempfile::tempdir().expect("a directory");
    let target = |serial| TargetSettings {
        state: Some(state.path().to_owned()),
        volumes: vec![volume("ram:1MiB", serial)],
        ..config()
    };
    // REGISTER with a key and APTPL.
    let mut parameters = [0; 24];
    parameters[8..16].copy_from_slice(&0x1122_3344_5566_7788u64.to_be_bytes());
    parameters[20] = 1;
    let register = [0x5f, 0, 0, 0, 0, 0, 0, 0, 24, 0];
    let keys = [0x5e, 0, 0, 0, 0, 0, 0, 0, 64, 0];

    let stand = TestTarget::with(target("kept"));
    let mut hand = Hand::ready(stand.address(), "a");
    assert_eq!(hand.command(&register, 0, &parameters).status, 0);
    hand.logout();
    stand.stop();

    for (serial, kept) in [("kept", true), ("another", false)] {
        let stand = TestTarget::with(target(serial));
        let mut hand = Hand::ready(stand.address(), "a");
        let answer = hand.command(&keys, 64, &[]);
        assert_eq!(answer.status, 0);
        assert_eq!(answer.data.get(8..16) == Some(&parameters[8..16]), kept, "volume {serial}");
    }
}

#[test]
fn a_reservation_that_cannot_be_kept_is_not_acknowledged() {
    let state = tempfile::tempdir().expect("a directory");
    let path = state.path().join("gone");
    std::fs::create_dir(&path).expect("a directory");
    let stand = TestTarget::with(TargetSettings { state: Some(path.clone()), ..config() });
    std::fs::remove_dir(&path).expect("it is empty");
    let mut hand = Hand::enter(stand.address(), who("a")).expect("a login");
    hand.calm();
    let mut parameters = [0; 24];
    parameters[15] = 1;
    parameters[20] = 1;
    assert_eq!(hand.command(&[0x5f, 0, 0, 0, 0, 0, 0, 0, 24, 0], 0, &parameters).status, 2);
    stand.event("the failure", |event| matches!(event, ServerEvent::NotKept(_)));
}

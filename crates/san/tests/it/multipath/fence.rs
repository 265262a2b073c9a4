//! An old write that is delayed past a newer one never lands.

use crate::multipath::relay::Relay;
use crate::multipath::rig::{BLOCK, Hand, target, url};
use clock::Ns;

/// What the block holds when the old bytes have been delivered. They are held back on the way by the first path; where
/// there is `another` path, the write goes on by it, and a newer one after it.
fn holds(groups: &[u16], newer: bool) -> u8 {
    let target = target(groups, &["ram:4MiB"]);
    let addresses = target.addresses();
    let relay = Relay::before(addresses[0]);
    let url = url(&[relay.address, addresses[1]], "policy=fixed&path_timeout=400ms");
    let mut hand = Hand::to(&url);
    hand.write(0, 5, 1);
    assert_eq!(hand.finish(0), Ok(BLOCK));
    relay.hold(true);
    hand.write(0, 5, 2);
    relay.until_waiting(BLOCK as usize);
    if newer {
        assert_eq!(hand.finish(0), Ok(BLOCK), "it goes on by the other path");
        assert_eq!(hand.read(5), 2);
        hand.write(1, 5, 3);
        assert_eq!(hand.finish(1), Ok(BLOCK));
    }
    relay.hold(false);
    relay.until_delivered();
    // The target has had the time to carry it out if it ever does.
    for _ in 0..20 {
        hand.turn(Ns::millis(20));
    }
    let found = hand.read(5);
    drop(hand);
    target.stop().expect("it stops");
    found
}

#[test]
fn what_is_held_back_is_a_write_that_would_land() {
    assert_eq!(holds(&[1, 1], false), 2);
}

#[test]
fn an_old_write_never_lands_on_a_newer_one() {
    assert_eq!(
        holds(&[1, 1], true),
        3,
        "the session is reinstated by the other portal of its group"
    );
    assert_eq!(holds(&[1, 2], true), 3, "its registration is preempted by the other group");
}

#[test]
fn an_unfenceable_write_waits_for_its_own_path() {
    // The only path: nobody else can end the old session.
    let target = target(&[1], &["ram:4MiB"]);
    let relay = Relay::before(target.addresses()[0]);
    let url = url(&[relay.address], "path_timeout=400ms&no_path_retry=30s");
    let mut hand = Hand::to(&url);
    relay.hold(true);
    hand.write(0, 5, 1);
    relay.until_waiting(BLOCK as usize);
    relay.close(true);
    for _ in 0..40 {
        assert!(!hand.is_over(0), "it waits");
    }
    relay.close(false);
    relay.hold(false);
    assert_eq!(hand.finish(0), Ok(BLOCK));
    hand.write(1, 5, 2);
    assert_eq!(hand.finish(1), Ok(BLOCK));
    assert_eq!(hand.read(5), 2);
    drop(hand);
    target.stop().expect("it stops");
}

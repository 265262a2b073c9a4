//! Paths that go and come under a verified load.

use crate::initiator::peer::{Tgt, granted, mixed, step};
use crate::multipath::relay::Relay;
use crate::multipath::rig::{StepResult, at, run, target, url_of};
use crate::prelude::*;

/// One of two portals is killed and revived ten times, then the other.
#[track_caller]
fn check(target: &TargetServer, options: &str) -> StepResult {
    let lun = granted(&url_of(target, options));
    let step = step(vec![lun], 1, &mixed(4096, 50.0, 32), Ns::millis(3600));
    let mut faults: Vec<(u64, Box<dyn FnMut()>)> = Vec::new();
    for n in 0..10 {
        let portal = target.portal(n as usize % 2).expect("a portal");
        faults.push((100 + n * 330, Box::new(move || portal.kill())));
        faults.push((250 + n * 330, Box::new(move || portal.revive().expect("it comes back"))));
    }
    run(&step, at(faults)).expect("a verdict").sound()
}

#[test]
fn a_portal_that_is_killed_ten_times_is_no_error() {
    for (groups, policy) in [([1, 1], "round-robin"), ([1, 2], "least-queue"), ([1, 2], "fixed")] {
        let target = target(&groups, &["ram:16MiB"]);
        let story = check(&target, &format!("policy={policy}"));
        let lost = story.count("path-lost");
        assert_eq!(lost, 10, "{story:#?}");
        assert_eq!(story.count("path-returned"), 10, "{story:#?}");
        // A loss with I/O under way is a stall, and most of them are.
        let loaded =
            story.texts("path-lost").iter().filter(|text| text.contains(" I/Os moved ")).count();
        assert!(loaded >= 3 && story.count("path-stall") >= loaded, "{story:#?}");
        assert_eq!(story.counter("paths-lost"), 10.0);
        // Each moment is one of the step.
        assert!(story.events.iter().all(|(at, ..)| *at < Ns::secs(10)), "{story:#?}");
        target.stop().expect("it stops");
    }
}

#[test]
fn several_workers_and_luns_survive_together() {
    let target = target(&[1, 1], &["ram:8MiB", "ram:8MiB"]);
    let first = url_of(&target, "policy=round-robin");
    let luns = vec![granted(&first), granted(&first.replace("/0?", "/1?"))];
    let step = step(luns, 2, &mixed(8192, 50.0, 16), Ns::millis(1500));
    let portal = target.portal(1).expect("a portal");
    let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![
        (300, Box::new(move || portal.kill())),
        (700, Box::new(move || portal.revive().expect("it comes back"))),
    ];
    let story = run(&step, at(faults)).expect("a verdict").sound();
    assert_eq!((story.count("path-lost"), story.count("path-returned")), (2, 2), "{story:#?}");
    target.stop().expect("it stops");
}

#[test]
fn sessions_of_several_connections_are_lost_and_found_as_one() {
    let target = target(&[1, 2], &["ram:16MiB"]);
    let lun = granted(&url_of(&target, "connections=3&data_digest=crc32c"));
    let step = step(vec![lun], 1, &mixed(16384, 50.0, 32), Ns::millis(1500));
    let portal = target.portal(0).expect("a portal");
    let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![
        (200, Box::new(move || portal.kill())),
        (500, Box::new(move || portal.revive().expect("it comes back"))),
        (800, Box::new(move || portal.kill())),
        (1100, Box::new(move || portal.revive().expect("it comes back"))),
    ];
    let story = run(&step, at(faults)).expect("a verdict").sound();
    assert_eq!((story.count("path-lost"), story.count("path-returned")), (2, 2), "{story:#?}");
    target.stop().expect("it stops");
}

#[test]
fn all_paths_go_and_come_back() {
    let target = target(&[1, 2], &["ram:16MiB"]);
    let lun = granted(&url_of(&target, ""));
    let step = step(vec![lun], 1, &mixed(4096, 50.0, 8), Ns::millis(1500));
    let (one, two) = (target.portal(0).expect("one"), target.portal(1).expect("two"));
    let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![
        (200, Box::new(move || one.kill())),
        (250, Box::new(move || two.kill())),
        (600, Box::new(move || two.revive().expect("it comes back"))),
        (900, Box::new(move || one.revive().expect("it comes back"))),
    ];
    let story = run(&step, at(faults)).expect("a verdict").sound();
    assert_eq!((story.count("path-lost"), story.count("path-returned")), (2, 2), "{story:#?}");
    target.stop().expect("it stops");
}

#[test]
fn what_no_path_carries_fails_after_its_time() {
    let target = target(&[1, 1], &["ram:16MiB"]);
    for (options, given_up) in [("no_path_retry=0s", true), ("no_path_retry=200ms", true)] {
        let lun = granted(&url_of(&target, options)).url;
        // Reads only: a write would wait for its old session.
        let lun = engine::TargetSpec::new("lun", lun);
        let step = step(vec![lun], 1, &mixed(4096, 100.0, 4), Ns::millis(900));
        let portals = [0, 1].map(|n| target.portal(n).expect("a portal"));
        let faults: Vec<(u64, Box<dyn FnMut()>)> =
            vec![(200, Box::new(move || portals.iter().for_each(san::server::ServedPortal::kill)))];
        let story = run(&step, at(faults)).expect("a verdict");
        assert!(story.ops > 0 && story.errors > 0, "{story:#?}");
        assert_eq!(story.count("path-given-up") > 0, given_up, "{story:#?}");
        let told = story.texts("io-error").join(" ");
        assert!(told.contains("(os error "), "{story:#?}");
        for portal in &portals {
            portal.revive().expect("it comes back");
        }
    }
    target.stop().expect("it stops");
}

#[test]
fn the_only_path_comes_back_where_it_is_waited_for() {
    let target = target(&[1], &["ram:16MiB"]);
    let lun = granted(&url_of(&target, "no_path_retry=20s"));
    let step = step(vec![lun], 1, &mixed(4096, 50.0, 8), Ns::millis(1200));
    let portal = target.portal(0).expect("a portal");
    let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![
        (200, Box::new(move || portal.kill())),
        (500, Box::new(move || portal.revive().expect("it comes back"))),
    ];
    let story = run(&step, at(faults)).expect("a verdict").sound();
    assert_eq!((story.count("path-lost"), story.count("path-returned")), (1, 1), "{story:#?}");
    assert_eq!(story.count("path-stall"), 1, "{story:#?}");
    target.stop().expect("it stops");
}

#[test]
fn a_path_that_falls_silent_is_left() {
    let target = target(&[1, 1], &["ram:16MiB"]);
    let addresses = target.addresses();
    let relay = Relay::before(addresses[0]);
    let url = crate::multipath::rig::url(&[relay.address, addresses[1]], "path_timeout=400ms");
    let step = step(vec![granted(&url)], 1, &mixed(4096, 50.0, 16), Ns::millis(2000));
    let (hold, cut) = (relay.clone(), relay.clone());
    let faults: Vec<(u64, Box<dyn FnMut()>)> =
        vec![(200, Box::new(move || hold.hold(true))), (1400, Box::new(move || cut.hold(false)))];
    let story = run(&step, at(faults)).expect("a verdict").sound();
    let lost = story.texts("path-lost");
    assert!(!lost.is_empty() && lost[0].contains("silent"), "{story:#?}");
    assert_eq!(story.count("path-stall"), lost.len(), "{story:#?}");
    target.stop().expect("it stops");
}

#[test]
fn tgtd_is_left_and_found_again() {
    let Some(tgt) = Tgt::start() else { return };
    let url = tgt.url(1);
    let (portal, rest) =
        url.strip_prefix("iscsi://").and_then(|url| url.split_once('/')).expect("a URL");
    let direct = portal.parse().expect("an address");
    let relays = [Relay::before(direct), Relay::before(direct)];
    let url = format!("iscsi://{},{}/{rest}", relays[0].address, relays[1].address);
    let step = step(vec![granted(&url)], 1, &mixed(4096, 50.0, 32), Ns::millis(2500));
    let mut faults: Vec<(u64, Box<dyn FnMut()>)> = Vec::new();
    for n in 0..6_u64 {
        let relay = &relays[n as usize % 2];
        faults.push((
            150 + n * 350,
            Box::new(move || {
                relay.close(true);
                relay.cut();
            }),
        ));
        faults.push((300 + n * 350, Box::new(move || relay.close(false))));
    }
    let story = run(&step, at(faults)).expect("a verdict").sound();
    assert_eq!((story.count("path-lost"), story.count("path-returned")), (6, 6), "{story:#?}");
}

//! Paths that lead elsewhere, that are busy, that are slow.

use crate::initiator::peer::{granted, mixed, schemes, step};
use crate::multipath::relay::Relay;
use crate::multipath::rig::{NAME, at, run, target, target_with, url, url_of};
use crate::prelude::*;

/// Two portals are refused: one of a target with this volume, the other of one with `spec` by the name of `serial`.
#[track_caller]
fn differ(spec: &str, serial: &str, why: &str) {
    let one = target(&[1], &["ram:4MiB"]);
    let other = target_with(&[1], &["ram:4MiB"], |config: &mut TargetSettings| {
        let spec = spec.parse().expect("a volume");
        config.volumes = vec![Volume::open(&spec, serial).expect("room")];
    });
    let both = url(&[one.addresses()[0], other.addresses()[0]], "");
    let fate = schemes().inspect(&TargetSpec::new("lun", both), false).fate;
    let told = fate.expect_err("they differ").to_string();
    assert!(told.contains("different units") && told.contains(why), "{told}");
    one.stop().expect("it stops");
    other.stop().expect("it stops");
}

#[test]
fn portals_that_lead_to_different_units_are_refused() {
    differ("ram:4MiB", "another", "naa.");
    differ("ram:8MiB", "paths-0", "of 8388608 bytes");
    differ("ram:4MiB,block=4096", "paths-0", "blocks of 4096");
}

#[test]
fn a_path_that_is_away_at_the_start_is_used_when_it_comes() {
    let target = target(&[1, 1], &["ram:4MiB"]);
    let portal = target.portal(0).expect("a portal");
    portal.kill();
    let lun = granted(&url_of(&target, "policy=fixed"));
    let step = step(vec![lun], 1, &mixed(4096, 50.0, 8), Ns::millis(900));
    let faults: Vec<(u64, Box<dyn FnMut()>)> =
        vec![(200, Box::new(move || portal.revive().expect("it comes back")))];
    let story = run(&step, at(faults)).expect("a verdict").sound();
    assert!(story.texts("path-lost")[0].contains("before the start"), "{story:#?}");
    assert_eq!(story.count("path-returned"), 1, "{story:#?}");
    assert!(target.counts(0).expect("a portal").writes > 0);
    target.stop().expect("it stops");
}

#[test]
fn no_usable_path_is_reported_at_once() {
    let told = schemes().inspect(
        &TargetSpec::new("lun", format!("iscsi://127.0.0.1:1,127.0.0.1:2/{NAME}/0")),
        false,
    );
    let told = told.fate.expect_err("nobody is there").to_string();
    assert!(told.contains("127.0.0.1:1") && told.contains("is a target listening"), "{told}");
}

#[test]
fn a_path_that_comes_back_to_another_unit_is_not_used() {
    let one = target(&[1, 1], &["ram:4MiB"]);
    let other = target_with(&[1], &["ram:4MiB"], |config: &mut TargetSettings| {
        let spec = "ram:4MiB".parse().expect("a volume");
        config.volumes = vec![Volume::open(&spec, "another").expect("room")];
    });
    let relay = Relay::before(one.addresses()[0]);
    let url = url(&[relay.address, one.addresses()[1]], "");
    let lun = granted(&url);
    let step = step(vec![lun], 1, &mixed(4096, 50.0, 8), Ns::millis(900));
    let away = other.addresses()[0];
    let (turn, cut) = (relay.clone(), relay.clone());
    let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![(
        200,
        Box::new(move || {
            turn.lead_to(away);
            cut.cut();
        }),
    )];
    let story = run(&step, at(faults)).expect("a verdict").sound();
    assert_eq!((story.count("path-refused"), story.count("path-returned")), (1, 0), "{story:#?}");
    assert_eq!(other.counts(0).expect("a portal").writes, 0, "nothing was written there");
    one.stop().expect("it stops");
    other.stop().expect("it stops");
}

#[test]
fn a_busy_port_is_retried_and_reported_once_a_second() {
    for policy in ["fixed", "round-robin"] {
        let target = target(&[1, 1], &["ram:4MiB"]);
        let lun = granted(&url_of(&target, &format!("policy={policy}")));
        let step = step(vec![lun], 1, &mixed(4096, 50.0, 8), Ns::millis(900));
        let portal = target.portal(0).expect("a portal");
        let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![
            (200, Box::new(move || portal.set_busy(true))),
            (500, Box::new(move || portal.set_busy(false))),
        ];
        let story = run(&step, at(faults)).expect("a verdict").sound();
        assert!((1..=2).contains(&story.count("target-busy")), "{policy}: {story:#?}");
        assert!(story.counter("target-busy-answers") > 1.0, "{policy}: {story:#?}");
        assert_eq!(story.count("path-lost"), 0, "{policy}: {story:#?}");
        target.stop().expect("it stops");
    }
}

#[test]
fn a_port_that_slows_down_is_no_error() {
    let target = target(&[1, 2], &["ram:4MiB"]);
    let lun = granted(&url_of(&target, ""));
    let step = step(vec![lun], 1, &mixed(4096, 50.0, 16), Ns::millis(1200));
    let portal = target.portal(1).expect("a portal");
    let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![
        (200, Box::new(move || portal.set_rate(PortRate::new(500_000)))),
        (800, Box::new(move || portal.set_rate(None))),
    ];
    let story = run(&step, at(faults)).expect("a verdict").sound();
    assert_eq!(story.count("path-lost"), 0, "{story:#?}");
    target.stop().expect("it stops");
}

#[test]
fn a_command_that_takes_too_long_is_aborted_and_goes_elsewhere() {
    let target = target(&[1, 1], &["ram:4MiB"]);
    let lun = granted(&url_of(&target, "policy=fixed&command_timeout=300ms"));
    let step = step(vec![lun], 1, &mixed(65536, 100.0, 4), Ns::millis(1500));
    let portal = target.portal(0).expect("a portal");
    let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![
        // A block takes more than half a minute.
        (200, Box::new(move || portal.set_rate(PortRate::new(2_000)))),
        (900, Box::new(move || portal.set_rate(None))),
    ];
    let story = run(&step, at(faults)).expect("a verdict");
    assert!(story.count("command-timeout") > 0, "{story:#?}");
    assert!(story.ops > 0, "{story:#?}");
    target.stop().expect("it stops");
}

#[test]
fn an_io_that_ends_every_session_fails_in_the_end() {
    let target = target(&[1], &["ram:4MiB"]);
    let relay = Relay::before(target.addresses()[0]);
    let url = url(&[relay.address], "no_path_retry=60s");
    let step = step(vec![TargetSpec::new("lun", url)], 1, &mixed(65536, 100.0, 1), Ns::secs(20));
    let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![(200, Box::new(move || relay.bear(16 << 10)))];
    // Without a bound it would be sent again until the end of the step, and no operation would ever have failed.
    let told = run(&step, at(faults)).expect_err("nothing else ends").to_string();
    assert!(told.contains("every operation failed"), "{told}");
    target.stop().expect("it stops");
}

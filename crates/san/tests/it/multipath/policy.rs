//! How much each path carries.

use crate::initiator::peer::{granted, mixed, step};
use crate::multipath::rig::{StepResult, at, run, run_until, target, url_of};
use clock::Ns;
use san::server::{PortRate, PortState, PortalConfig, TargetServer};

/// Runs a load, and says how many reads went through each portal since the one before.
fn shares(
    target: &TargetServer,
    options: &str,
    faults: Vec<(u64, Box<dyn FnMut() + '_>)>,
) -> Vec<u64> {
    let lun = granted(&url_of(target, options));
    let lun = engine::TargetSpec { write_token: None, ..lun };
    let counts = || (0..target.portals()).map(|n| target.counts(n).expect("a portal").reads);
    let step = step(vec![lun], 1, &mixed(4096, 100.0, 16), Ns::millis(600));
    let before: Vec<u64> = counts().collect();
    run(&step, at(faults)).expect("a verdict").sound();
    counts().zip(before).map(|(after, before)| after - before).collect()
}

/// Whether a path carried no load: what the control plane read by it, before the load, is not counted as one.
fn idle(shares: &[u64], path: usize) -> bool {
    shares[path] < shares.iter().sum::<u64>() / 10
}

#[test]
fn policies_spread_the_load() {
    let target = target(&[1, 1, 2], &["ram:4MiB"]);
    for options in
        ["", "policy=round-robin&switch_after=16", "switch_after=64KiB", "policy=least-queue"]
    {
        let shares = shares(&target, options, Vec::new());
        let (least, most) =
            (shares.iter().min().expect("three"), shares.iter().max().expect("three"));
        assert!(
            *least > 100 && (*most < 2 * least || options.contains("least")),
            "{options}: {shares:?}"
        );
    }
    for policy in ["fixed", "active-passive"] {
        let shares = shares(&target, &format!("policy={policy}"), Vec::new());
        assert!(idle(&shares, 1) && idle(&shares, 2), "{policy}: {shares:?}");
    }
    target.stop().expect("it stops");
}

#[test]
fn the_shortest_queue_leaves_a_slow_port_alone() {
    let slow = PortRate::new(2_000_000);
    let target = crate::multipath::rig::target_with(&[1, 1], &["ram:4MiB"], |config| {
        config.portals[1] = PortalConfig { rate: slow, ..config.portals[1].clone() };
    });
    let shares = shares(&target, "policy=least-queue", Vec::new());
    assert!(shares[0] > 3 * shares[1], "{shares:?}");
    target.stop().expect("it stops");
}

#[test]
fn a_fixed_path_is_returned_to_and_an_active_one_is_not() {
    for (policy, back) in [("fixed", true), ("active-passive", false)] {
        let target = target(&[1, 2], &["ram:4MiB"]);
        let portal = target.portal(0).expect("a portal");
        let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![
            (100, Box::new(move || portal.kill())),
            (150, Box::new(move || portal.revive().expect("it comes back"))),
        ];
        let lun = granted(&url_of(&target, &format!("policy={policy}")));
        let lun = engine::TargetSpec { write_token: None, ..lun };
        let step = step(vec![lun], 1, &mixed(4096, 100.0, 4), Ns::millis(900));
        // What went by the first path when it had been back for long, and at the end.
        let mut late = None;
        let mut faults = at(faults);
        let story = run(&step, |now| {
            faults(now);
            if now > Ns::millis(600) && late.is_none() {
                late = Some(target.counts(0).expect("a portal").reads);
            }
        });
        assert_eq!(story.expect("a verdict").sound().count("path-returned"), 1);
        let grown = target.counts(0).expect("a portal").reads - late.expect("it ran so long");
        assert_eq!(grown > 0, back, "{policy}: {grown}");
        drop(faults);
        target.stop().expect("it stops");
    }
}

#[test]
fn the_best_access_state_is_used_and_changes_are_followed() {
    let target = target(&[1, 2], &["ram:4MiB"]);
    let state = |group, state| assert!(target.set_access(group, state));
    state(1, PortState::ActiveNonOptimized);
    let best = shares(&target, "", Vec::new());
    assert!(idle(&best, 0), "{best:?}");
    state(1, PortState::Standby);
    let standby = shares(&target, "policy=fixed", Vec::new());
    assert!(idle(&standby, 0), "{standby:?}");

    // A switch under a verified load: refused I/O takes the other path.
    let lun = granted(&url_of(&target, ""));
    let step = step(vec![lun], 1, &mixed(4096, 50.0, 16), Ns::secs(60));
    use PortState::{ActiveNonOptimized, ActiveOptimized, Standby, Unavailable};
    // What the two paths become, and by which the load goes then; `None`: nothing moves.
    let mut changes = vec![
        (ActiveOptimized, Unavailable, Some(0)),
        (Standby, ActiveOptimized, Some(1)),
        (Standby, Standby, None),
        (ActiveNonOptimized, Standby, Some(0)),
        (ActiveNonOptimized, ActiveOptimized, Some(1)),
    ]
    .into_iter();
    let at_port = |port| target.counts(port).map_or(0, |counts| counts.reads + counts.writes);
    // Each change comes when the one before has been noticed and the load goes where it should: however slow the machine
    // is. Before the first, it takes the only path that is not in standby.
    let mut shown = (0, Some((1, at_port(1))));
    let mut next = |_, story: &StepResult| {
        let (states, moves) = shown;
        let noticed = story.count("path-state") > states || changes.len() == 5;
        if !noticed || moves.is_some_and(|(port, before)| at_port(port) <= before + 16) {
            return false;
        }
        let Some((one, two, way)) = changes.next() else { return true };
        assert!(target.set_access(1, one) && target.set_access(2, two));
        shown = (story.count("path-state"), way.map(|port| (port, at_port(port))));
        false
    };
    let story = run_until(&step, &mut next).expect("a verdict").sound();
    assert_eq!(changes.len(), 0, "not all changes were followed: {story:#?}");
    assert!(
        story.texts("unit-attention").iter().any(|text| text.contains("2ah/06h")),
        "{story:#?}"
    );
    target.stop().expect("it stops");
}

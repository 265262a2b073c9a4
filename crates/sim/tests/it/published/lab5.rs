//! Lab 5: iSCSI over 10Gb Ethernet, with Fibre Channel behind it.

use super::{Lab, near};
use std::sync::LazyLock;

// Estimated once, for all tests.
static ISCSI: LazyLock<Lab> =
    LazyLock::new(|| Lab::new(include_str!("../../../../../scenarios/lab5-iscsi.toml")));

#[test]
fn every_step_can_be_estimated() {
    ISCSI.check();
}

/// Holds whatever the assumptions.
#[test]
fn jumbo_frames_help_large_blocks_more() {
    let lab = &*ISCSI;
    let iops: Vec<f64> = lab.plan("stream").map(|found| found.iops).collect();
    let [small, small_jumbo, large, large_jumbo] = iops[..] else { panic!("{iops:?}") };
    assert!(small_jumbo > small && large_jumbo > large, "{iops:?}");
    assert!(large_jumbo / large > small_jumbo / small, "{iops:?}");
}

#[test]
fn a_session_costs_what_was_calibrated() {
    let lab = &*ISCSI;
    let rates: Vec<f64> = lab.plan("stream").map(|found| found.iops * found.block).collect();
    near(rates[2], 223e6, 0.02);
    near(rates[3], 474e6, 0.02);
    near(rates[1] / rates[0], 1.16, 0.02);
}

#[test]
fn a_conversation_stays_on_one_link() {
    let lab = &*ISCSI;
    let team = lab.plan("team").next().expect("a step");
    assert!(team.iops * team.block < 119e6, "{}", team.iops);
}

/// On either path one process uses the same disks. The estimate overestimates their utilization under random choice, so
/// it also names the session as a limit; simulated they are 1% apart.
#[test]
fn the_array_limits_random_reads() {
    let lab = &*ISCSI;
    let of = |plan: &str| lab.plan(plan).next().expect("a step").iops;
    near(of("random-iscsi"), of("random-fc"), 0.12);
}

/// A session is one thread: sessions add up until the wire is full, however fast it is.
#[test]
fn a_faster_wire_does_nothing_for_one_session() {
    let lab = Lab::new(include_str!("../../../../../scenarios/lab5-25gbe.toml"));
    let of = |plan: &str| lab.plan(plan).map(|found| found.iops).collect::<Vec<f64>>();
    let [ten, hundred] = ["10gb", "100gb"].map(of);
    near(ten[0], hundred[0], 0.01);
    near(hundred[1], 2.0 * hundred[0], 0.01);
    assert!(hundred[3] > 2.0 * ten[3], "{ten:?} {hundred:?}");
}

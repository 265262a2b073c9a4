//! Little's law: contradictions that were planted, and where the check does not apply.

use crate::support::{Sketch, Work, one_target};
use findings::Little;

#[track_caller]
fn check(workload: &str, work: Work, expected: &str) {
    let analysis = Sketch::of(&one_target("4s", workload)).analyse(|_, _| work.clone());
    let told = match &analysis.steps[0].little {
        Little::Agrees { worst, .. } => format!("agrees within {:.0}%", worst * 100.0),
        Little::Contradicts { worst, .. } => format!("contradicts by {:.0}%", worst * 100.0),
        Little::DepthExceeded { in_flight, depth, .. } => {
            format!("{in_flight:.1} at depth {depth}")
        }
        Little::NotApplicable => "not applicable".to_owned(),
    };
    assert_eq!(told, expected);
}

/// Depth 8 and 1,000 operations of 4 ms a second: 4 in flight.
fn four_in_flight() -> Work {
    Work { service_ns: 4e6, ..Work::default() }
}

#[test]
fn agreement_and_contradiction() {
    let product = 4.0 * 1.0007;
    let off = |factor: f64| Work { in_flight: Some(product * factor), ..four_in_flight() };
    check("depth = 8", four_in_flight(), "agrees within 0%");
    check("depth = 8", off(1.04), "agrees within 4%");
    check("depth = 8", off(0.96), "agrees within 4%");
    check("depth = 8", off(1.5), "contradicts by 50%");
    check("depth = 8", off(0.5), "contradicts by 50%");
    check("depth = 8", off(0.0), "contradicts by 100%");
}

#[test]
fn the_edges_of_a_short_measurement_are_allowed_for() {
    // Two operations of a second each in four seconds: an edge may hide half of them.
    let slow = |mean| Work { ops: 2, service_ns: 1e9, in_flight: Some(mean), ..Work::default() };
    check("depth = 8", slow(2.2), "agrees within 21%");
}

#[test]
fn depth_is_a_bound() {
    check(
        "depth = 2",
        Work { in_flight: Some(2.5), service_ns: 2.5e6, ..Work::default() },
        "2.5 at depth 2",
    );
    check("depth = 4", Work { open: 9, ..four_in_flight() }, "9.0 at depth 4");
    check("depth = 4", Work { open: 4, ..four_in_flight() }, "agrees within 0%");
}

#[test]
fn where_it_does_not_apply() {
    let off = || Work { in_flight: Some(1.0), ..four_in_flight() };
    check("depth = 8\nthink = \"1ms\"", off(), "not applicable");
    check("rate = \"1000 IOPS\"", off(), "not applicable");
    check("depth = 8", Work { errors: 50, ..off() }, "not applicable");
    check("depth = 8", Work { ops: 0, ..off() }, "not applicable");
    check("depth = 8", Work { testifies: false, ..off() }, "not applicable");
    check("depth = 8", Work { seconds: 0, ..off() }, "not applicable");
}

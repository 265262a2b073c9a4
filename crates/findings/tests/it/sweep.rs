//! Which curves a run has, and what their points are.

use crate::support::{Sketch, Work};
use findings::knee::Answer;
use findings::{Analysis, Sweep, Unit};
use scenario::Step;

fn scenario(sweep: &str, repeat: u32) -> String {
    format!(
        r#"
scenario.title = "A sweep"
target = [{{ name = "data", file = "data.bin", create = "1GiB" }}]
workload.load.block = "8KiB"
[plan]
workload = "load"
on = "data"
measure = "2s"
repeat = {repeat}
sweep = {{ {sweep} }}
"#
    )
}

fn analyse(sweep: &str, repeat: u32, work: impl Fn(&Step) -> Work) -> Analysis {
    Sketch::of(&scenario(sweep, repeat)).analyse(|step, _| work(step))
}

fn setting(step: &Step, key: &str) -> f64 {
    let value = &step.settings.iter().find(|(k, _)| k == key).unwrap().1;
    value.parse().unwrap_or_else(|_| units::Bytes::parse(value).unwrap().0 as f64)
}

/// A corner at depth 4.
fn corner(step: &Step) -> Work {
    let depth = setting(step, "depth");
    let ops = 100.0 * depth.min(4.0);
    Work { ops: ops as u64, service_ns: depth / ops * 1e9, ..Work::default() }
}

fn knee(sweep: &Sweep) -> &str {
    match &sweep.knee {
        Answer::At { value, .. } => value,
        Answer::StillScaling { .. } => "scaling",
        Answer::Flat { .. } => "flat",
        Answer::Undecided { reason } => reason,
    }
}

#[test]
fn a_sweep_of_depths_has_one_curve_over_operations() {
    let found = analyse("depth = [1, 2, 4, 8, 16]", 1, corner).sweeps;
    let told: Vec<_> =
        found.iter().map(|s| (s.axis.as_str(), s.unit, s.points.len(), knee(s))).collect();
    assert_eq!(told, [("depth", Unit::Iops, 5, "4")]);
}

#[test]
fn a_sweep_of_blocks_is_over_bytes() {
    let work = |step: &Step| {
        let block = setting(step, "block");
        let ops = (1_000_000.0 / block).min(50.0);
        Work { ops: ops as u64, block: block as u64, service_ns: 1e9 / ops, ..Work::default() }
    };
    let found = analyse(r#"block = ["4KB", "8KB", "20KB", "100KB", "200KB"]"#, 1, work).sweeps;
    assert_eq!((found[0].unit, knee(&found[0])), (Unit::BytesPerS, "20KB"));
}

#[test]
fn repetitions_are_one_point() {
    let found = analyse("depth = [1, 2, 4, 8]", 3, corner).sweeps;
    assert_eq!(found.len(), 1);
    assert!(found[0].points.iter().all(|p| p.work.len() == 3), "{:?}", found[0].points);
}

#[test]
fn two_axes_give_a_curve_for_each_setting_of_the_other() {
    let found = analyse(r#"block = ["4KiB", "8KiB"], depth = [1, 2, 4, 8]"#, 1, corner).sweeps;
    let over = |axis: &str| {
        found.iter().filter(|s| s.axis == axis).map(|s| s.fixed[0].1.clone()).collect::<Vec<_>>()
    };
    assert_eq!(over("depth"), ["4KiB", "8KiB"]);
    assert_eq!(over("block"), ["1", "2", "4", "8"]);
    assert!(
        found
            .iter()
            .filter(|s| s.axis == "depth")
            .all(|s| knee(s) == "4" || knee(s).contains("last point"))
    );
}

#[test]
fn points_are_in_the_order_of_load() {
    let found = analyse("depth = [16, 4, 1, 8, 2]", 1, corner).sweeps;
    assert_eq!(
        found[0].points.iter().map(|p| p.load).collect::<Vec<_>>(),
        [1.0, 2.0, 4.0, 8.0, 16.0]
    );
}

#[test]
fn mixtures_are_no_load() {
    for sweep in [r#"read = ["0%", "50%", "100%"]"#, r#"working_set = ["1MiB", "8MiB", "64MiB"]"#] {
        assert_eq!(analyse(sweep, 1, |_| Work { ops: 10, ..Work::default() }).sweeps, []);
    }
}

#[test]
fn steps_that_are_not_whole_are_left_out() {
    let work = |step: &Step| match setting(step, "depth") as u64 {
        2 => Work { seconds: 1, ..corner(step) },
        8 => Work { ops: 0, ..corner(step) },
        _ => corner(step),
    };
    let found = analyse("depth = [1, 2, 4, 8]", 1, work).sweeps;
    assert_eq!(found[0].left_out, ["2", "8"]);
    assert_eq!(knee(&found[0]), "fewer than three points; sweep at least three values");
}

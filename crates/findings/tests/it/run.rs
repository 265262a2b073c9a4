//! The run as a whole: how it ended, what its figures divide by, and what a strange record does.

use crate::support::{Sketch, Work};
use findings::{Analysis, Verdict};
use record::{Level, Status};
use scenario::Step;

const GOALS: &str = r#"
scenario.title = "Two targets"
target = [{ name = "t{1..2}", file = "t{1..2}.bin", create = "1GiB" }]
workload.load = { block = "10KB", depth = 4 }
plan = { workload = "load", on = "t*", measure = "10s", sweep = { depth = [1, 2] } }
[[goal]]
iops = { at_least = "150 IOPS" }
[[goal]]
latency = { point = "p99", at_most = "1s" }
"#;

fn works(ops: u64) -> impl Fn(&Step, &str) -> Work {
    move |_, _| Work { ops, block: 10_000, ..Work::default() }
}

#[track_caller]
fn check(analysis: &Analysis, verdict: Verdict, exit: u8) {
    assert_eq!(
        (analysis.verdict, analysis.verdict.exit_code()),
        (verdict, exit),
        "{:?}",
        analysis.goals
    );
}

#[test]
fn verdicts_and_exit_codes() {
    check(&Sketch::of(GOALS).analyse(works(100)), Verdict::Met { met: 2 }, 0);
    check(
        &Sketch::of(GOALS).analyse(works(50)),
        Verdict::Failed { met: 1, failed: 1, undecided: 0 },
        1,
    );
    let none = GOALS.split("[[goal]]").next().unwrap();
    check(&Sketch::of(none).analyse(works(100)), Verdict::NoGoals, 0);
    let early = |_: &Step, _: &str| Work { ops: 100, seconds: 5, ..Work::default() };
    check(&Sketch::of(GOALS).analyse(early), Verdict::Undecided { met: 0, undecided: 2 }, 1);
}

#[test]
fn a_run_that_was_not_completed_is_incomplete_whatever_its_goals() {
    for status in [Status::Running, Status::Stopped, Status::Failed] {
        let cut = Sketch::of(GOALS).status(status).steps(1).analyse(works(100));
        check(&cut, Verdict::Incomplete { met: 0, failed: 0, undecided: 2 }, 3);
        let whole = Sketch::of(GOALS).status(status).analyse(works(100));
        check(&whole, Verdict::Incomplete { met: 2, failed: 0, undecided: 0 }, 3);
    }
    let missing = Sketch::of(GOALS).steps(1).analyse(works(100));
    check(&missing, Verdict::Incomplete { met: 0, failed: 0, undecided: 2 }, 3);
    let lost = Sketch::of(GOALS)
        .event(Level::Error, "agent-lost", "agent `b` was lost")
        .analyse(works(100));
    check(&lost, Verdict::Incomplete { met: 2, failed: 0, undecided: 0 }, 3);
}

#[test]
fn rates_divide_by_the_time_of_the_step() {
    // One target stops after half of the time: it moved half as much in the step's time.
    let early = |_: &Step, group: &str| Work {
        ops: 100,
        seconds: if group == "t1" { 5 } else { 10 },
        ..Work::default()
    };
    let analysis = Sketch::of(GOALS).analyse(early);
    let step = &analysis.steps[0];
    let rates: Vec<f64> = step.groups.iter().map(|g| g.figures.both.iops).collect();
    assert_eq!((rates, step.total.both.iops), (vec![50.0, 100.0], 150.0));
    assert_eq!(step.completeness.iter().map(|c| c.share).collect::<Vec<_>>(), [0.5, 1.0]);
    assert_eq!(step.groups.iter().map(|g| g.complete).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_step_that_was_cut_short_divides_by_what_was_measured() {
    let cut = |_: &Step, _: &str| Work { ops: 100, seconds: 3, ..Work::default() };
    let analysis = Sketch::of(GOALS).status(Status::Running).steps(1).analyse(cut);
    let step = &analysis.steps[0];
    assert_eq!((step.measured_ns, step.total.both.iops), (3_000_000_000, 200.0));
    assert!(!step.complete());
}

#[test]
fn directions_groups_and_transactions_add_up() {
    let mixed = GOALS
        .replace("block = \"10KB\", depth = 4", "preset = \"oblload\", workers = 2")
        .replace("depth = [1, 2]", "depth = [1]");
    let analysis =
        Sketch::of(&mixed).analyse(|_, _| Work { ops: 100, read: 75, ..Work::default() });
    let total = &analysis.steps[0].total;
    assert_eq!((total.read.ops, total.write.ops, total.both.ops), (3000, 1000, 4000));
    let latency = total.both.service.unwrap();
    assert_eq!(latency.count, 4000);
    assert_eq!(
        latency.max_ns,
        total.read.service.unwrap().max_ns.max(total.write.service.unwrap().max_ns)
    );
    assert!(total.transactions_per_s.is_some_and(|t| t > 0.0 && t < 400.0), "{total:?}");
}

#[test]
fn open_loops_have_two_latencies() {
    let open = GOALS
        .replace("depth = 4", "rate = \"100 IOPS\"")
        .replace("depth = [1, 2]", "rate = [\"100 IOPS\"]");
    let analysis =
        Sketch::of(&open).analyse(|_, _| Work { ops: 100, response: 3.0, ..Work::default() });
    let both = &analysis.steps[0].total.both;
    let (service, response) = (both.service.unwrap(), both.response.unwrap());
    assert!(response.p50_ns > 2 * service.p50_ns, "{service:?} {response:?}");
    assert_eq!(analysis.steps[0].offered_iops, 200.0);
}

#[test]
fn a_scenario_that_cannot_be_read_leaves_the_figures() {
    for text in ["", "[scenario", "\u{0}", "[scenario]\ntitle = 5"] {
        let analysis = Sketch::of(GOALS).stored(text).analyse(works(100));
        assert_eq!(analysis.verdict, Verdict::Undecided { met: 0, undecided: 0 }, "{text:?}");
        assert_eq!(analysis.steps.len(), 2);
        assert!(analysis.run.scenario_error.is_some());
        assert_eq!(analysis.warnings[0].code, "scenario-unreadable");
    }
}

#[test]
fn a_record_without_steps() {
    let analysis = Sketch::of(GOALS).status(Status::Failed).steps(0).analyse(works(1));
    assert_eq!((analysis.steps.len(), analysis.sweeps.len()), (0, 0));
    check(&analysis, Verdict::Incomplete { met: 0, failed: 0, undecided: 2 }, 3);
}

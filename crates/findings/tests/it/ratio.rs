//! Goals that ask for a ratio of two steps.

use crate::support::{Sketch, Work};
use findings::{GoalOutcome, Status};
use scenario::Step;

const LAB: &str = r#"
scenario.title = "Two speeds"
target = [{ name = "t{1..2}", file = "t{1..2}.bin" }]
workload.load.block = "8KiB"
[plan]
workload = "load"
on = "t*"
measure = "5s"
sweep = { depth = [1, 2], block = ["8KiB", "64KiB"] }
REST
[[goal]]
"#;

/// A worker does a thousand operations a second, and at depth 2 so many times as many.
fn deeper(times: f64) -> impl Fn(&Step, &str) -> Work {
    move |step, _| {
        let is_two = step.settings.contains(&("depth".into(), "2".into()));
        let ops = if is_two { 1000.0 * times } else { 1000.0 };
        Work { ops: ops as u64, in_flight: Some(0.9), ..Work::default() }
    }
}

fn judged(rest: &str, goal: &str, steps: usize, work: impl Fn(&Step, &str) -> Work) -> GoalOutcome {
    let scenario = LAB.replace("REST", rest) + goal;
    Sketch::of(&scenario).steps(steps).analyse(work).goals.remove(0)
}

/// How a goal comes out where depth 2 does so many times what depth 1 does.
#[track_caller]
fn check(times: f64, goal: &str, expected: (Status, &str, usize)) {
    let outcome = judged("", goal, usize::MAX, deeper(times));
    let observed = outcome.observed.map_or(String::new(), |q| q.to_string());
    assert_eq!((outcome.status, observed.as_str(), outcome.cells), expected, "{outcome:?}");
}

const TWICE: &str = "step = { depth = 2 }\nratio = { to = { depth = 1 }, is = 2, within = \"5%\" }";

#[test]
fn a_ratio_is_near_what_is_asked_or_not() {
    check(2.0, TWICE, (Status::Met, "2.00 ×", 2));
    check(1.9, TWICE, (Status::Met, "1.90 ×", 2));
    check(2.1, TWICE, (Status::Met, "2.10 ×", 2));
    check(1.89, TWICE, (Status::Failed, "1.89 ×", 2));
    check(2.2, TWICE, (Status::Failed, "2.20 ×", 2));
}

#[test]
fn what_is_compared_can_be_chosen() {
    let one = "step = { depth = 2, block = \"8KiB\" }\nratio = { to = { depth = 1 }, is = 2, within = \"5%\" }";
    check(2.0, one, (Status::Met, "2.00 ×", 1));
    let all = "ratio = { to = { depth = 1 }, of = \"iops\", is = 3, within = \"0%\" }";
    check(3.0, all, (Status::Met, "3.00 ×", 2));
    let reads = "step = { depth = 2 }\nratio = { to = { depth = 1 }, of = \"read\", is = 2, within = \"5%\" }";
    check(2.0, reads, (Status::Met, "2.00 ×", 2));
    let writes = reads.replace("\"read\"", "\"write\"");
    check(2.0, &writes, (Status::Undecided, "", 2));
    let each = format!("each = \"t*\"\n{TWICE}");
    check(2.0, &each, (Status::Met, "2.00 ×", 4));
    let other = "step = { depth = 2, block = \"8KiB\" }\nratio = { to = { depth = 1, block = \"64KiB\" }, is = 2, within = \"5%\" }";
    check(2.0, other, (Status::Met, "2.00 ×", 1));
}

#[test]
fn repetitions_are_held_against_each_other() {
    let outcome = judged("repeat = 3", TWICE, usize::MAX, deeper(2.0));
    assert_eq!((outcome.status, outcome.cells), (Status::Met, 6));
    assert_eq!(outcome.name, "total 2 × that at depth=1, within 5%, depth=2");
}

#[test]
fn without_the_other_step_nothing_is_decided() {
    // The first steps are those of depth 1: with three of four, one step of depth 2 is missing.
    let outcome = judged("", TWICE, 3, deeper(2.0));
    assert_eq!(
        (outcome.status, outcome.reason.as_str()),
        (Status::Undecided, "the step was not run")
    );
    let back = "step = { depth = 1 }\nratio = { to = { depth = 2 }, is = 0.5, within = \"5%\" }";
    let outcome = judged("", back, 3, deeper(2.0));
    assert_eq!(
        (outcome.status, outcome.reason.as_str()),
        (Status::Undecided, "the step was not run")
    );
    let silent =
        |step: &Step, _: &str| Work { ops: u64::from(step.index > 1) * 10, ..Work::default() };
    let outcome = judged("", TWICE, usize::MAX, silent);
    assert_eq!(outcome.reason, "the step that it is held against did nothing");
    let short = |_: &Step, group: &str| Work {
        seconds: if group == "t1" { 2 } else { 9 },
        ..Work::default()
    };
    let outcome = judged("", TWICE, usize::MAX, short);
    assert_eq!(outcome.status, Status::Undecided);
    assert!(outcome.reason.contains("reported 40% of the measured time"), "{outcome:?}");
}

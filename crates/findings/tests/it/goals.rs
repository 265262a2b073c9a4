//! Goals: every metric, bound and scope; and everything that can be missing.

use crate::support::{Sketch, Work};
use findings::{GoalOutcome, Status};
use record::Status as End;
use scenario::Step;

/// Two VMs that read and write, at two depths.
fn scenario(goal: &str) -> String {
    format!(
        r#"
scenario.title = "Two targets"
target = [{{ name = "t{{1..2}}", file = "t{{1..2}}.bin", create = "1GiB" }}]
switch = [{{ name = "fabric" }}]
workload.load = {{ block = "10KB", read = 60 }}
plan = {{ workload = "load", on = "t*", measure = "2s", sweep = {{ depth = [1, 2] }} }}
[[goal]]
{goal}
"#
    )
}

/// 1,000 operations of 10 KB a second, 60% of them reads; the second target does 10% less.
fn work(_: &Step, group: &str) -> Work {
    let ops = if group == "t1" { 1000 } else { 900 };
    Work { ops, block: 10_000, read: 60, ..Work::default() }
}

fn judged(
    goal: &str,
    sketch: impl FnOnce(Sketch<'_>) -> Sketch<'_>,
    work: impl Fn(&Step, &str) -> Work,
) -> GoalOutcome {
    let scenario = scenario(goal);
    sketch(Sketch::of(&scenario)).analyse(work).goals.remove(0)
}

#[track_caller]
fn check(goal: &str, status: Status, observed: &str) {
    let found = judged(goal, |s| s, work);
    assert_eq!(
        (found.status, shown(&found)),
        (status, observed.to_owned()),
        "{goal}: {}",
        found.reason
    );
}

fn shown(found: &GoalOutcome) -> String {
    let observed = found.observed.map_or("-".to_owned(), |q| q.to_string());
    found.member.as_ref().map_or(observed.clone(), |m| format!("{observed} at {m}"))
}

#[test]
fn rates_of_the_whole_step() {
    use Status::{Failed, Met};
    check(r#"read = { at_least = "11 MB/s" }"#, Met, "11.4 MB/s");
    check(r#"read = { at_least = "12 MB/s" }"#, Failed, "11.4 MB/s");
    check(r#"write = { at_most = "8 MB/s" }"#, Met, "7.60 MB/s");
    check(r#"write = { at_most = "7 MB/s" }"#, Failed, "7.60 MB/s");
    check(r#"total = { at_least = "19 MB/s" }"#, Met, "19 MB/s");
    check(r#"total = { at_most = "18.9 MB/s" }"#, Failed, "19 MB/s");
    check(r#"iops = { at_least = "1900 IOPS" }"#, Met, "1,900 IOPS");
    check(r#"iops = { at_least = "1901 IOPS" }"#, Failed, "1,900 IOPS");
}

#[test]
fn latencies_and_errors() {
    use Status::{Failed, Met};
    check(r#"latency = { point = "mean", at_most = "1.1ms" }"#, Met, "999 us");
    check(r#"latency = { point = "p50", at_most = "1ms" }"#, Met, "988 us");
    check(r#"latency = { point = "p99", at_most = "1ms" }"#, Failed, "1.14 ms");
    check(r#"latency = { point = "p99.95", at_most = "5.1ms" }"#, Met, "5.00 ms");
    check(r#"latency = { point = "max", at_most = "4ms" }"#, Failed, "5.00 ms");
    check(r#"latency = { point = "p99", of = "response", at_most = "2ms" }"#, Met, "1.14 ms");
    check("errors = { at_most = 0 }", Met, "0");
}

#[test]
fn scopes() {
    use Status::{Failed, Met, Undecided};
    check("over = \"t2\"\niops = { at_least = \"900 IOPS\" }", Met, "900 IOPS");
    check("over = \"t*\"\niops = { at_least = \"1900 IOPS\" }", Met, "1,900 IOPS");
    check("each = \"t*\"\niops = { at_least = \"900 IOPS\" }", Met, "900 IOPS at t2");
    check("each = \"t*\"\niops = { at_least = \"950 IOPS\" }", Failed, "900 IOPS at t2");
    check("each = \"t*\"\niops = { at_most = \"950 IOPS\" }", Failed, "1,000 IOPS at t1");
    check("each = \"t*\"\nlatency = { point = \"max\", at_most = \"6ms\" }", Met, "5.00 ms at t1");
    check("hop = \"fabric\"\nread = { at_least = \"1 MB/s\" }", Undecided, "-");
}

#[test]
fn balance_goals() {
    use Status::{Failed, Met};
    // 1,000 and 900 are 5.26% from their mean.
    check(r#"balance = { over = "t*", within = "6%" }"#, Met, "5.26% at t2");
    check(r#"balance = { over = "t*", within = "5%" }"#, Failed, "5.26% at t2");
    let goal = r#"balance = { over = "t1", within = "5%" }"#;
    let found = judged(goal, |s| s, work);
    assert_eq!(
        (found.status, found.reason.as_str()),
        (Status::Undecided, "balance needs two VMs or targets")
    );
    let idle = judged(
        r#"balance = { over = "t*", within = "5%" }"#,
        |s| s,
        |_, _| Work { ops: 0, ..Work::default() },
    );
    assert_eq!((idle.status, idle.reason.as_str()), (Status::Undecided, "nothing was moved"));
}

#[test]
fn edges_of_a_balance_hold() {
    let exact = |_: &Step, group: &str| Work {
        ops: if group == "t1" { 105 } else { 95 },
        ..Work::default()
    };
    let found = judged(r#"balance = { over = "t*", within = "5%" }"#, |s| s, exact);
    assert_eq!(found.status, Status::Met, "{found:?}");
}

#[test]
fn every_selected_step_must_hold_and_the_worst_is_named() {
    let slower = |step: &Step, group: &str| {
        let deep = step.settings[0].1 == "2";
        Work { ops: if deep { 500 } else { 1000 }, ..work(step, group) }
    };
    let all = judged(r#"iops = { at_least = "1500 IOPS" }"#, |s| s, slower);
    let told = (all.status, all.step.as_deref(), all.cells, all.cells_not_met);
    assert_eq!(told, (Status::Failed, Some("depth 2"), 2, 1));
    let first = judged("step = { depth = 1 }\niops = { at_least = \"1500 IOPS\" }", |s| s, slower);
    assert_eq!((first.status, first.cells), (Status::Met, 1));
}

/// What is missing makes a goal undecided, and says so.
#[track_caller]
fn undecided(
    goal: &str,
    sketch: impl FnOnce(Sketch<'_>) -> Sketch<'_>,
    work: impl Fn(&Step, &str) -> Work,
    why: &str,
) {
    let found = judged(goal, sketch, work);
    assert_eq!(found.status, Status::Undecided, "{goal}: {found:?}");
    assert!(found.reason.contains(why), "{}", found.reason);
}

#[test]
fn nothing_missing_passes() {
    let easy = "iops = { at_least = \"1 IOPS\" }";
    let early = |step: &Step, group: &str| Work {
        seconds: if group == "t2" { 1 } else { u64::MAX },
        ..work(step, group)
    };
    undecided(easy, |s| s, early, "t2/load/0 (agent sim) reported 50% of the measured time");
    undecided("over = \"t2\"\niops = { at_least = \"1 IOPS\" }", |s| s, early, "reported 50%");
    undecided("balance = { over = \"t*\", within = \"90%\" }", |s| s, early, "reported 50%");
    undecided(easy, |s| s.steps(1), work, "the step was not run");
    undecided(easy, |s| s.steps(0), work, "the step was not run");
    undecided(easy, |s| s.status(End::Running).steps(1), work, "the step was not run");
    let silent = |_: &Step, _: &str| Work { seconds: 0, ..Work::default() };
    undecided(easy, |s| s, silent, "reported 0%");
    // Who is not concerned is not held back by the other's absence.
    assert_eq!(
        judged("over = \"t1\"\niops = { at_least = \"1 IOPS\" }", |s| s, early).status,
        Status::Met
    );
}

#[test]
fn no_operations_decide_little() {
    let idle = |_: &Step, _: &str| Work { ops: 0, ..Work::default() };
    undecided(
        r#"latency = { point = "p99", at_most = "1s" }"#,
        |s| s,
        idle,
        "no operation completed",
    );
    undecided("errors = { at_most = 0 }", |s| s, idle, "no operation was completed");
    undecided(r#"total = { at_most = "1 GB/s" }"#, |s| s, idle, "no operation was completed");
    // Zero is less than required: that is known.
    assert_eq!(judged(r#"iops = { at_least = "1 IOPS" }"#, |s| s, idle).status, Status::Failed);
    let failing = |_: &Step, _: &str| Work { ops: 0, errors: 9, ..Work::default() };
    assert_eq!(judged("errors = { at_most = 0 }", |s| s, failing).status, Status::Failed);
    undecided(
        r#"latency = { point = "p99", at_most = "1s" }"#,
        |s| s,
        failing,
        "no operation completed",
    );
}

#[test]
fn growing_figures_fail_early() {
    let early = |step: &Step, group: &str| Work { seconds: 1, errors: 3, ..work(step, group) };
    let found = judged("errors = { at_most = 5 }", |s| s, early);
    assert_eq!(found.status, Status::Failed, "{found:?}");
    assert!(found.reason.starts_with("already, although"), "{}", found.reason);
    undecided("errors = { at_most = 6 }", |s| s, early, "reported 50%");
    let slow = judged(r#"latency = { point = "max", at_most = "4ms" }"#, |s| s, early);
    assert_eq!(slow.status, Status::Failed);
    undecided(r#"latency = { point = "p99", at_most = "1us" }"#, |s| s, early, "reported 50%");
}

/// A goal of a hop whose counters and facts are given.
#[track_caller]
fn hop(goal: &str, counters: &[(&str, f64)], wire: Option<&str>, status: Status, told: &str) {
    let scenario = scenario(&format!("hop = \"fabric\"\n{goal}"));
    let mut sketch = Sketch::of(&scenario).hop("fabric", counters);
    if let Some(rate) = wire {
        sketch = sketch.fact("fabric", "wire-rate", rate);
    }
    let found = sketch.analyse(work).goals.remove(0);
    let observed = if status == Status::Undecided { found.reason.clone() } else { shown(&found) };
    assert_eq!((found.status, observed.as_str()), (status, told), "{goal}");
}

#[test]
fn hops_are_judged_by_their_counters() {
    use Status::{Failed, Met, Undecided};
    let both: &[_] = &[("read-bytes", 700e6), ("write-bytes", 50e6)];
    hop(r#"read = { at_least = "600 MB/s" }"#, both, None, Met, "700 MB/s");
    hop(r#"total = { at_most = "740 MB/s" }"#, both, None, Failed, "750 MB/s");
    let reads: &[_] = &[("read-bytes", 700e6)];
    let missing = "hop fabric has no counter `write-bytes` in this step";
    hop(r#"total = { at_most = "800 MB/s" }"#, reads, None, Undecided, missing);
    let latency = "hop fabric counts traffic, not latency";
    hop(r#"latency = { point = "p99", at_most = "1s" }"#, both, None, Undecided, latency);
    hop(r#"read = { at_least = "90% of wire" }"#, both, Some("800 MB/s"), Failed, "700 MB/s");
    hop(r#"read = { at_least = "85% of wire" }"#, both, Some("800 MB/s"), Met, "700 MB/s");
    let unknown = "the wire rate of hop fabric is not known; it is no port with a speed, and the record has no fact `wire-rate` of it";
    hop(r#"read = { at_least = "90% of wire" }"#, both, None, Undecided, unknown);
}

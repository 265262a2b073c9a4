//! Claims: relations, rounding, readings and kinds.

use crate::support::{Sketch, Work};
use findings::{ClaimOutcome, Score};
use record::Status as End;
use scenario::Step;

fn scenario(claim: &str) -> String {
    format!(
        r#"
scenario.title = "One target"
target = [{{ name = "data", file = "data.bin", create = "1GiB" }}]
workload.load.block = "8KiB"
plan = {{ workload = "load", on = "data", measure = "2s", repeat = 2, sweep = {{ depth = [1, 2] }} }}
[[claim]]
kind = "held-out"
{claim}
"#
    )
}

/// A rate of so many bytes a second, at depth 2; half of it at depth 1.
fn moves(bytes: u64) -> impl Fn(&Step, &str) -> Work {
    move |step, _| {
        let part = if step.settings[0].1 == "2" { 10 } else { 20 };
        Work { ops: 10, block: bytes / part, ..Work::default() }
    }
}

fn compared(claim: &str, work: impl Fn(&Step, &str) -> Work) -> ClaimOutcome {
    Sketch::of(&scenario(claim)).analyse(work).claims.remove(0)
}

#[track_caller]
fn check(relation: &str, published: &str, ours_mb_per_s: f64, score: Score) {
    let claim = format!("step = {{ depth = 2 }}\nrelation = \"{relation}\"\nread = {published}");
    let found = compared(&claim, moves((ours_mb_per_s * 1e6) as u64));
    assert_eq!(found.score, score, "{relation} {published} against {ours_mb_per_s}: {found:?}");
}

#[test]
fn equal_within_the_figures_own_rounding() {
    use Score::{Met, Missed};
    check("equal", r#""786 MB/s""#, 786.4, Met);
    check("equal", r#""786 MB/s""#, 786.6, Missed);
    check("equal", r#""786 MB/s""#, 785.5, Met);
    // Three digits in MiB/s, though nine in MB/s: 785.5 to 786.5 MiB/s.
    check("equal", r#""786 MiB/s""#, 824.6, Met);
    check("equal", r#""786 MiB/s""#, 825.0, Missed);
    // 13,674 Mb/s is 1,709.25 MB/s.
    check("equal", r#""13674 Mb/s""#, 1709.3, Met);
    check("equal", r#""13674 Mb/s""#, 1709.5, Missed);
    // One significant figure would be half a hundred; 5% is the most.
    check("equal", r#""800 MB/s""#, 839.0, Met);
    check("equal", r#""800 MB/s""#, 841.0, Missed);
}

#[test]
fn about_over_and_up_to() {
    use Score::{Met, Missed};
    check("about", r#""800 MB/s""#, 760.0, Met);
    check("about", r#""800 MB/s""#, 759.0, Missed);
    check("about", r#""790 MB/s""#, 805.0, Met);
    check("about", r#""790 MB/s""#, 807.0, Missed);
    check("about", r#""675 MB/s""#, 681.0, Met);
    check("about", r#""675 MB/s""#, 683.0, Missed);
    check("over", r#""500 MB/s""#, 500.0, Met);
    check("over", r#""500 MB/s""#, 499.0, Missed);
    check("over", r#""500 MB/s""#, 5000.0, Met);
    check("up to", r#""397 MB/s""#, 397.4, Met);
    check("up to", r#""397 MB/s""#, 398.0, Missed);
    check("up to", r#""397 MB/s""#, 1.0, Met);
}

#[test]
fn readings_that_differ_leave_it_undecided() {
    let readings = r#"["786 MB/s", "786 MiB/s"]"#;
    check("equal", readings, 786.0, Score::Undecided);
    check("equal", readings, 824.3, Score::Undecided);
    check("equal", readings, 600.0, Score::Missed);
    check("over", readings, 900.0, Score::Met);
}

/// "Just over 600" is 600 to 630.
#[test]
fn just_over_is_within_five_percent_above() {
    for (ours, score) in [(599.0, Score::Missed), (600.0, Score::Met), (630.0, Score::Met)] {
        check("just over", r#""600 MB/s""#, ours, score);
    }
    check("just over", r#""600 MB/s""#, 631.0, Score::Missed);
}

#[test]
fn calibration_and_context_are_shown_and_not_scored() {
    let kinds = [
        ("calibration", Score::Calibration),
        ("context", Score::Context),
        ("inferred", Score::Context),
    ];
    for (kind, score) in kinds {
        let scenario =
            scenario("step = { depth = 2 }\nread = \"786 MB/s\"").replace("held-out", kind);
        let found = Sketch::of(&scenario).analyse(moves(786_000_000)).claims.remove(0);
        assert_eq!(found.score, score);
        assert_eq!(found.ours.map(|q| q.to_string()).as_deref(), Some("786 MB/s"));
    }
}

#[test]
fn the_furthest_of_several_steps_is_compared() {
    let found = compared("read = \"786 MB/s\"", moves(786_000_000));
    assert_eq!((found.score, found.step.as_deref()), (Score::Missed, Some("depth 1")));
    assert_eq!(found.readings[0].error_percent.map(f64::round), Some(-50.0));
}

#[test]
fn repetitions_are_taken_together_and_latencies_merged() {
    // One repetition at 1 ms, one at 3 ms: the median of both is not the mean of the medians.
    let uneven = |step: &Step, _: &str| {
        let (ops, ms) = if step.repetition == 0 { (100, 1.0) } else { (900, 3.0) };
        Work { ops, service_ns: ms * 1e6, ..Work::default() }
    };
    let rate = compared("step = { depth = 2 }\niops = \"500 IOPS\"", uneven);
    assert_eq!((rate.score, rate.ours.unwrap().value), (Score::Met, 500.0));
    let median =
        compared("step = { depth = 2 }\nlatency = { point = \"p50\", value = \"3ms\" }", uneven);
    let ours = median.ours.unwrap().value / 1e6;
    assert!((2.8..3.2).contains(&ours), "{ours} ms");
}

#[test]
fn what_is_missing_leaves_it_undecided() {
    let short = |step: &Step, _: &str| Work { seconds: 1, ..moves(786_000_000)(step, "") };
    let found = compared("step = { depth = 2 }\nread = \"786 MB/s\"", short);
    assert_eq!(found.score, Score::Undecided);
    assert!(found.reason.contains("reported 50%"), "{}", found.reason);
    let idle = |_: &Step, _: &str| Work { ops: 0, ..Work::default() };
    let found = compared("latency = { value = \"1ms\" }", idle);
    assert_eq!((found.score, found.reason.as_str()), (Score::Undecided, "no operation completed"));
    let scenario = scenario("read = \"786 MB/s\"");
    let cut = Sketch::of(&scenario).status(End::Stopped).steps(2).analyse(moves(786_000_000));
    assert_eq!(cut.claims[0].score, Score::Undecided);
    assert!(cut.claims[0].reason.contains("was not run"), "{}", cut.claims[0].reason);
}

#[test]
fn claims_never_change_the_verdict() {
    let scenario = scenario("read = \"786 MB/s\"");
    let analysis = Sketch::of(&scenario).analyse(moves(1_000_000));
    assert_eq!((analysis.claims[0].score, analysis.verdict.exit_code()), (Score::Missed, 0));
}

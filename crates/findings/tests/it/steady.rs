//! Whether the measured time was steady, and what ended the warm-up.

use crate::support::{Sketch, Work};
use clock::Ns;
use findings::{Steadiness, WarmUpEnd};
use record::Level;

fn scenario(measure: &str, steady: &str) -> String {
    format!(
        r#"
scenario.title = "Steady?"
target = [{{ name = "t{{1..2}}", url = "null:", size = "1GiB" }}]
workload.load.block = "8KiB"
[plan]
workload = "load"
on = "t*"
warmup = "2s"
measure = "{measure}"
{steady}
"#
    )
}

/// How a step is judged whose second half does `drift` times the work of its first: a word, and its figures in short.
#[track_caller]
fn check(measure: &str, steady: &str, work: &Work, expected: &str) {
    let analysis = Sketch::of(&scenario(measure, steady)).analyse(|_, _| work.clone());
    let figures = |m: &findings::Moved| {
        format!(
            "{} in {} × {} s, spread {:.3}, slope {:.3}",
            m.metric,
            m.rounds,
            m.round_ns / 1_000_000_000,
            m.spread,
            m.slope
        )
    };
    let found = match &analysis.steps[0].steady {
        None => "nothing to judge".to_owned(),
        Some(Steadiness::TooShort) => "too short".to_owned(),
        Some(Steadiness::Steady(moved)) => format!("steady: {}", figures(moved)),
        Some(Steadiness::NotSteady(moved)) => format!("not steady: {}", figures(moved)),
    };
    assert_eq!(found, expected);
}

fn drift(drift: f64) -> Work {
    Work { drift, ..Work::default() }
}

#[test]
fn the_measured_time_is_one_window_of_equal_rounds() {
    let even = drift(1.0);
    check("5s", "", &even, "steady: throughput in 5 × 1 s, spread 0.000, slope 0.000");
    check("60s", "", &even, "steady: throughput in 5 × 12 s, spread 0.000, slope 0.000");
    check("10s", "", &drift(0.5), "not steady: throughput in 5 × 2 s, spread 0.667, slope -0.800");
    check("4s", "", &even, "too short");
    check("1s", "", &drift(0.5), "too short");
}

#[test]
fn the_plans_rule_is_used_where_it_has_one() {
    let rule = "steady = { rounds = 10, spread = \"90%\", slope = \"95%\", metric = \"iops\" }";
    check("10s", rule, &drift(0.5), "steady: IOPS in 10 × 1 s, spread 0.667, slope -0.909");
    check("9s", rule, &drift(1.0), "too short");
    let latency = "steady = { metric = \"latency\" }";
    check("5s", latency, &drift(0.5), "steady: mean latency in 5 × 1 s, spread 0.001, slope 0.001");
}

#[test]
fn what_is_missing_is_not_judged() {
    check("10s", "", &Work { ops: 0, ..Work::default() }, "nothing to judge");
    check("10s", "", &Work { seconds: 9, ..Work::default() }, "nothing to judge");
}

#[test]
fn an_event_says_what_ended_the_warm_up() {
    for (code, expected) in [
        ("steady", WarmUpEnd::Steady),
        ("never-steady", WarmUpEnd::NeverSteady),
        ("something-else", WarmUpEnd::AsPlanned),
    ] {
        let scenario = scenario("5s", "");
        let sketch = Sketch::of(&scenario).event(Level::Info, code, "after 2 s of load");
        let warm_up = sketch.analyse(|_, _| Work::default()).steps[0].warm_up;
        assert_eq!((warm_up.ended, warm_up.lasted_ns), (expected, Ns::secs(2).0));
    }
}

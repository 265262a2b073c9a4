//! Searches: the rule applied to what a record holds.

use crate::support::{Sketch, Work};
use findings::{Analysis, SearchEnd, Verdict};
use record::Status;
use scenario::Step;
use workload::Arrivals;

const MOST: &str = r#"
scenario.title = "A search"
target = [{ name = "t", file = "t.bin", create = "1GiB" }]
workload.w.block = "8KiB"
[[plan]]
name = "find"
workload = "w"
on = "t"
warmup = "0s"
measure = "10s"
search = { most = "iops", while = "service mean <= 5 ms", to = 16 }
[[plan]]
name = "after"
workload = "w"
on = "t"
warmup = "0s"
measure = "10s"
"#;

/// Quick up to a depth of 5, slow beyond.
fn system(step: &Step, _: &str) -> Work {
    let Arrivals::Closed { depth, .. } =
        step.loads[0].workload.disk().expect("of disks").spec.arrivals
    else {
        panic!("a closed loop")
    };
    let service_ns = if depth <= 5 { 2e6 } else { 8e6 };
    Work { ops: (f64::from(depth) * 1e9 / service_ns) as u64, service_ns, ..Work::default() }
}

const WAY: [(f64, u32); 8] =
    [(1.0, 0), (2.0, 0), (4.0, 0), (8.0, 0), (6.0, 0), (5.0, 0), (6.0, 1), (5.0, 1)];

fn only(analysis: &Analysis) -> &findings::SearchOutcome {
    let [search] = &analysis.searches[..] else { panic!("{:?}", analysis.searches) };
    search
}

#[test]
fn a_search_that_came_to_its_end() {
    let analysis = Sketch::of(MOST).tried(&WAY).analyse(system);
    let search = only(&analysis);
    assert_eq!(
        (search.end, search.bracketed, search.as_the_rule_asks),
        (SearchEnd::Bracketed, true, true)
    );
    assert_eq!(search.steps, (0..8).collect::<Vec<u32>>());
    let end = |point: &Option<findings::SearchPoint>| {
        point.as_ref().map(|p| (p.value.clone(), p.runs, p.held))
    };
    assert_eq!(end(&search.lower), Some(("5".into(), 2, 2)));
    assert_eq!(end(&search.upper), Some(("6".into(), 2, 0)));
    let expected = "Most IOPS while service mean ≤ 5 ms, over depth: 2,500 IOPS at depth 5 (service mean 2.00 ms in 2 runs); \
                    not at depth 6 (service mean 8.00 ms in 2 runs)";
    assert_eq!(search.answer, expected);
    assert_eq!(analysis.verdict, Verdict::NoGoals);
    assert_eq!((analysis.run.steps_planned, analysis.run.steps_recorded), (Some(9), 9));
    assert!(analysis.run.incomplete().is_none(), "fewer steps than it may take are no shortfall");
    let axes: Vec<&str> = analysis.sweeps.iter().map(|sweep| sweep.axis.as_str()).collect();
    assert_eq!(axes, ["depth"], "its steps are a curve");
}

#[test]
fn a_search_that_was_cut_off() {
    let cut = Sketch::of(MOST).tried(&WAY[..3]).steps(3).status(Status::Stopped).analyse(system);
    assert_eq!(only(&cut).end, SearchEnd::Unfinished);
    assert!(only(&cut).answer.ends_with("not yet violated"), "{}", only(&cut).answer);
    assert!(matches!(cut.verdict, Verdict::Incomplete { .. }));

    // A record that calls itself complete is not, where its search is not over.
    let left = Sketch::of(MOST).tried(&WAY[..3]).analyse(system);
    assert_eq!(left.run.incomplete(), Some("left out steps of its plan"));
    let none = Sketch::of(MOST).analyse(system);
    assert_eq!((only(&none).end, none.run.steps_planned), (SearchEnd::Unfinished, Some(2)));
    assert!(only(&none).answer.ends_with("nothing was measured"), "{}", only(&none).answer);

    // What the end of the run left of a step is nothing that the search has seen.
    let half = |step: &Step, group: &str| Work {
        seconds: if step.index == 3 { 4 } else { 10 },
        ..system(step, group)
    };
    let cut = Sketch::of(MOST).tried(&WAY[..4]).steps(4).status(Status::Stopped).analyse(half);
    assert_eq!((only(&cut).end, only(&cut).points.len()), (SearchEnd::Unfinished, 3));
    let lost = Sketch::of(MOST).tried(&WAY[..4]).analyse(half);
    assert_eq!(only(&lost).end, SearchEnd::Incomplete);
}

#[test]
fn steps_that_the_rule_did_not_choose() {
    let analysis = Sketch::of(MOST).tried(&[(3.0, 0), (9.0, 0), (16.0, 4)]).analyse(system);
    let search = only(&analysis);
    assert!(!search.as_the_rule_asks);
    assert_eq!(search.lower.as_ref().map(|p| p.value.as_str()), Some("3"));
}

#[test]
fn an_answer_that_is_the_generators() {
    let busy = |step: &Step, group: &str| Work { own: 0.9, ..system(step, group) };
    let analysis = Sketch::of(MOST).tried(&WAY).analyse(busy);
    assert_eq!(only(&analysis).generator_limited, [4, 5, 6, 7], "the steps at 5 and at 6");
}

#[test]
fn a_knee_with_its_bracket() {
    let text = MOST.replace(
        r#"{ most = "iops", while = "service mean <= 5 ms", to = 16 }"#,
        r#"{ to = 16, steps = 5 }"#,
    );
    let queue = |step: &Step, _: &str| {
        let Arrivals::Closed { depth, .. } =
            step.loads[0].workload.disk().expect("of disks").spec.arrivals
        else {
            panic!()
        };
        let ops = depth.min(4) * 500;
        Work {
            ops: ops.into(),
            service_ns: f64::from(depth) / f64::from(ops) * 1e9,
            ..Work::default()
        }
    };
    let way = [(1.0, 0), (2.0, 0), (4.0, 0), (8.0, 0), (3.0, 0)];
    let analysis = Sketch::of(&text).tried(&way).analyse(queue);
    let search = only(&analysis);
    assert_eq!(search.end, SearchEnd::StepsSpent, "{}", search.answer);
    assert_eq!(search.best.as_ref().map(|p| p.value.as_str()), Some("4"));
    assert_eq!(search.answer, "Knee over depth: 4, 2,000 IOPS in 1 run, 100% of the peak");
    assert!(search.reason.contains("used all of its 5 steps"), "{}", search.reason);
}

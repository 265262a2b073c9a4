//! Times in which Wirespeed itself did not run: they count neither for nor against, and where too little is left, nothing is
//! decided. The expected figures are sums over the seconds that remain.

use crate::support::{Sketch, Work};
use findings::{Analysis, Status, Steadiness};
use record::Level;

/// Ten measured seconds of one target, with a goal.
fn scenario(goal: &str) -> String {
    format!(
        "scenario.title = \"Stopped\"\ntarget = [{{ name = \"t\", file = \"t.bin\", create = \"1GiB\" }}]\n\
         workload.load = {{ block = \"8KiB\", depth = 1 }}\n\
         plan = {{ workload = \"load\", on = \"t\", warmup = \"0s\", measure = \"10s\" }}\n[[goal]]\n{goal}\n"
    )
}

/// A thousand operations a second, and none in seconds 3 to 5.
const BY_SECOND: &[u64] = &[1000, 1000, 1000, 0, 0, 0, 1000, 1000, 1000, 1000];

fn analysed(goal: &str, stops: &[(u64, u64)]) -> Analysis {
    let text = scenario(goal);
    let sketch = stops.iter().fold(Sketch::of(&text), |sketch, (a, b)| sketch.stop(*a, *b));
    sketch.analyse(|_, _| Work { by_second: BY_SECOND, ..Work::default() })
}

#[test]
fn void_seconds_count_neither_for_nor_against() {
    let goal = "iops = { at_least = 950 }";
    let counted = analysed(goal, &[]);
    assert_eq!(counted.goals[0].status, Status::Failed, "700 a second on average");
    let void = analysed(goal, &[(3200, 5400)]);
    assert_eq!(void.goals[0].status, Status::Met);
    let step = &void.steps[0];
    assert_eq!((step.measured_ns, step.total.both.ops), (7_000_000_000, 7000));
    assert_eq!(step.total.both.iops, 1000.0);
    let spans: Vec<_> = step.void.iter().map(|v| (v.from_ns, v.to_ns)).collect();
    assert_eq!(spans, [(3_000_000_000, 6_000_000_000)]);
    assert!(step.completeness.iter().all(|one| one.is_full()));
    assert!(void.warnings.iter().any(|w| w.code == "seconds-void"));
    // Nor against the other side: an upper bound that only the void seconds would keep.
    let most = analysed("iops = { at_most = 800 }", &[(3200, 5400)]);
    assert_eq!(most.goals[0].status, Status::Failed);
}

#[test]
fn where_too_little_is_left_nothing_is_decided() {
    let little = analysed("iops = { at_least = 950 }", &[(1100, 2900), (5100, 8900)]);
    assert_eq!(little.goals[0].status, Status::Undecided, "{}", little.goals[0].reason);
    assert!(little.goals[0].reason.contains("did not run for 6 s of the measured 10 s"));
    assert_eq!(little.steps[0].steady, Some(Steadiness::TooShort));
    assert_eq!(little.verdict.exit_code(), 1);
    let nothing = analysed("iops = { at_least = 950 }", &[(0, 10_000)]);
    assert_eq!((nothing.steps[0].measured_ns, nothing.verdict.exit_code()), (0, 3));
}

#[test]
fn what_hung_only_while_wirespeed_was_stopped_is_no_hang() {
    let text = scenario("errors = { at_most = 0 }");
    let hung = |at: u64| {
        let sketch = Sketch::of(&text).stop(3200, 5400).event_of(0, at, "hang", "t: 5 s");
        let analysis = sketch.analyse(|_, _| Work { by_second: BY_SECOND, ..Work::default() });
        analysis.warnings.iter().any(|w| w.code == "hang")
    };
    assert_eq!([4, 8].map(hung), [false, true]);
}

#[test]
fn a_target_that_completes_nothing_ends_a_run_as_incomplete() {
    let text = scenario("errors = { at_most = 0 }");
    let sketch = Sketch::of(&text).event(Level::Error, "nothing-completed", "t completed nothing");
    let analysis = sketch.analyse(|_, _| Work { ops: 0, open: 1, ..Work::default() });
    assert_eq!(analysis.verdict.exit_code(), 3);
    let why = analysis.run.incomplete().expect("it is");
    assert!(why.contains("completed nothing"), "{why}");
    assert!(analysis.warnings.iter().any(|w| w.text.contains("t completed nothing")));
}

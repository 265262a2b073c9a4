//! Times in which Wirespeed itself did not run: they count neither for nor against, and where too little is left, nothing is
//! decided. The expected figures are sums over the seconds that remain.

use crate::support::net::{NetLoad, NetSketch};
use crate::support::{Sketch, Work};
use findings::{Analysis, JobPhase, Status, Steadiness};
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
    assert!(little.goals[0].reason.contains("6 s of the measured 10 s are void"));
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

/// What a stream receives a second where seconds 3 and 4 of ten are idle, and whether its pair is complete.
fn stream(stopped: bool) -> (f64, bool, usize) {
    let load = NetLoad { idle: (3, 5), stopped, rates: vec![100e6], ..NetLoad::tcp() };
    let (_dir, record) = NetSketch::of("").step(&[], 0, &[load]).record();
    let step = findings::analyse(&record).expect("the record is analysed").steps.remove(0);
    (step.network[0].directions[0].received.bytes_per_s, step.network[0].complete, step.void.len())
}

#[test]
fn void_seconds_of_a_network_load_count_neither_for_nor_against() {
    assert_eq!(stream(false), (80e6, true, 0));
    assert_eq!(stream(true), (100e6, true, 1));
}

/// A job that reads 300 MB a second, and what it reads in its first seconds instead.
fn job(first: &'static [u64], stops: &[(u64, u64)]) -> JobPhase {
    let text = "scenario.title = \"job\"\n\
                target = [{ name = \"t\", file = \"t.bin\", create = \"1GiB\" }]\n\
                workload.collect = { block = \"1MB\", read = 100 }\n\
                [plan]\nwarmup = \"0s\"\nmeasure = \"20s\"\n\
                load = [{ workload = \"collect\", on = \"t\", amount = \"3 GB\" }]\n";
    let sketch = stops.iter().fold(Sketch::of(text), |sketch, (a, b)| sketch.stop(*a, *b));
    let work = move |second: u64| {
        let before =
            |n: u64| -> u64 { (0..n).map(|s| first.get(s as usize).copied().unwrap_or(300)).sum() };
        let (done, more) = (before(second).min(3000), before(second + 1).min(3000));
        Work { ops: more - done, block: 1_000_000, read: 100, ..Work::default() }
    };
    let sketch = sketch.each_second(move |_, _, second| work(second));
    sketch.analyse(|_, _| Work::default()).steps.remove(0).job.remove(0)
}

/// By hand: 3 GB at 300 MB/s take 10 s, wherever the job was held up.
#[test]
fn a_job_takes_as_long_as_without_the_stop() {
    let figures = |of: &JobPhase| {
        let seconds = |ns: u64| (ns as f64 / 1e6).round() / 1e3;
        (of.finished, seconds(of.lasted_ns), seconds(of.void_ns), (of.bytes_per_s / 1e6).round())
    };
    assert_eq!(figures(&job(&[], &[])), (true, 10.0, 0.0, 300.0));
    // Nothing is read in seconds 3 and 4, or 60 and 90 MB: half a second's worth.
    let (nothing, little) = (&[300, 300, 300, 0, 0], &[300, 300, 300, 60, 90]);
    assert_eq!(figures(&job(nothing, &[])), (true, 12.0, 0.0, 250.0));
    assert_eq!(figures(&job(nothing, &[(3100, 4900)])), (true, 10.0, 2.0, 300.0));
    assert_eq!(figures(&job(little, &[(3200, 4700)])), (true, 10.0, 1.5, 300.0));
}

//! The data behind charts: nothing is lost between a record and them, and it stays within its budget.

use crate::support::{Sketch, Work};
use findings::Evidence;
use findings::evidence::{CurveSubject, LatencyKind, STEPS_MAX};
use record::{Level, Record, Status};

const CLOSED: &str = r#"
scenario.title = "Two targets"
target = [{ name = "a{1..2}", url = "null:", size = "1GiB" }]
workload.w.block = "8KiB"
[plan]
workload = "w"
on = "a*"
warmup = "0s"
measure = "5s"
cooldown = "0s"
sweep.depth = [1, 2, 4]
"#;

fn gathered(record: &Record) -> Evidence {
    let analysis = findings::analyse(record).expect("the record is analysed");
    findings::evidence(record, &analysis).expect("its evidence is gathered")
}

/// Operations of all intervals.
fn ops(record: &Record) -> u64 {
    let all = record.steps().iter().flat_map(|s| record.intervals(s.index).expect("intervals"));
    all.flat_map(|i| [i.read, i.write]).flatten().map(|t| t.ops).sum()
}

#[test]
fn counts_are_conserved() {
    let work = Work { read: 70, ..Work::default() };
    let (_dir, record) = Sketch::of(CLOSED).record(|_, _| work.clone());
    let evidence = gathered(&record);
    let sum = |counts: &[Vec<u64>]| counts.iter().flatten().sum::<u64>();
    let whole = evidence.latency.as_ref().expect("operations completed");
    assert_eq!(sum(&whole.counts), ops(&record));
    let each = evidence.steps.iter().filter_map(|s| s.latency.as_ref());
    assert_eq!(each.map(|heat| sum(&heat.counts)).sum::<u64>(), ops(&record));
    let total = &evidence.timeline.total;
    let amount = |rates: &[Option<f64>]| -> f64 {
        rates.iter().zip(&total.covered_s).map(|(rate, s)| rate.unwrap_or(0.0) * s).sum()
    };
    let moved = amount(&total.read_iops) + amount(&total.write_iops);
    assert!((moved - ops(&record) as f64).abs() < 1e-6, "{moved}");
    let groups: f64 = evidence.timeline.groups.iops.iter().map(|g| amount(g)).sum();
    assert!((groups - moved).abs() < 1e-6, "{groups}");
    assert_eq!(evidence.groups, ["a1", "a2"]);
}

#[test]
fn a_curve_is_read_off_the_merged_histogram() {
    let work = |_: &scenario::Step, group: &str| {
        let service_ns = if group == "a1" { 1e6 } else { 9e6 };
        Work { read: 60, service_ns, ..Work::default() }
    };
    let (_dir, record) = Sketch::of(CLOSED).record(work);
    let evidence = gathered(&record);
    for step in &evidence.steps {
        let kinds: Vec<_> = step.curves.iter().map(|c| (c.of, c.kind)).collect();
        assert_eq!(
            kinds,
            [CurveSubject::Both, CurveSubject::Read, CurveSubject::Write]
                .map(|of| (of, LatencyKind::Service))
        );
        let mut merged = record::Histogram::new();
        for total in record.totals(step.index).expect("totals") {
            [total.read, total.write].iter().flatten().for_each(|t| merged.merge(&t.service));
        }
        for point in &step.curves[0].points {
            let exact = merged.percentile(point.percent).expect("a latency");
            assert_eq!(point.latency_ns, exact.0, "at {}%", point.percent);
        }
    }
}

#[test]
fn open_loops_show_response_time_and_what_it_hides() {
    let text = CLOSED.replace("sweep.depth = [1, 2, 4]", "sweep.rate = [500, 1000]");
    let work = Work { response: 3.0, ..Work::default() };
    let (_dir, record) = Sketch::of(&text).record(|_, _| work.clone());
    let evidence = gathered(&record);
    let step = &evidence.steps[0];
    let heat = step.latency.as_ref().expect("operations completed");
    assert_eq!(heat.kind, LatencyKind::Response);
    let kinds: Vec<_> = step.curves.iter().map(|c| (c.of, c.kind)).collect();
    assert_eq!(
        kinds,
        [(CurveSubject::Read, LatencyKind::Response), (CurveSubject::Read, LatencyKind::Service)]
    );
    assert!(step.curves[0].points[4].latency_ns > 2 * step.curves[1].points[4].latency_ns);
    let median = heat.p50_ns[0].expect("a median");
    assert!((2_500_000..3_500_000).contains(&median), "{median}");
}

#[test]
fn workers_stand_beside_their_mean() {
    let work = |_: &scenario::Step, group: &str| {
        let ops = if group == "a1" { 1000 } else { 500 };
        Work { ops, ..Work::default() }
    };
    let (_dir, record) = Sketch::of(CLOSED).record(work);
    let set = &gathered(&record).steps[0].workers[0];
    assert_eq!((set.workload.as_str(), set.count, set.mean_iops), ("w", 2, 750.0));
    let iops: Vec<f64> = set.workers.iter().map(|w| w.iops).collect();
    assert_eq!(iops, [1000.0, 500.0]);
    assert!(set.workers.iter().all(|w| w.p99_ns.is_some() && w.complete));
}

#[test]
fn nothing_done_leaves_no_latency_and_rates_of_zero() {
    let work = Work { ops: 0, ..Work::default() };
    let (_dir, record) = Sketch::of(CLOSED).record(|_, _| work.clone());
    let evidence = gathered(&record);
    assert_eq!(evidence.latency, None);
    assert!(evidence.steps.iter().all(|s| s.latency.is_none() && s.curves.is_empty()));
    assert!(evidence.timeline.total.read_iops.iter().flatten().all(|rate| *rate == 0.0));
    assert_eq!(evidence.steps[0].workers[0].workers[0].p99_ns, None);
}

#[test]
fn a_run_that_was_killed_shows_what_there_is() {
    let work = |_: &scenario::Step, group: &str| {
        let seconds = if group == "a1" { 3 } else { 0 };
        Work { seconds, ..Work::default() }
    };
    let (_dir, record) = Sketch::of(CLOSED).status(Status::Running).steps(1).record(work);
    let evidence = gathered(&record);
    assert_eq!(evidence.timeline.phases[0].end_s, 3.0);
    assert_eq!(evidence.timeline.total.read_iops, [Some(1000.0); 3]);
    let groups = &evidence.timeline.groups.iops;
    assert_eq!((groups[0].len(), groups[1].iter().flatten().count()), (3, 0));
    assert!(!evidence.steps[0].workers[0].workers[1].complete);
}

#[test]
fn of_many_steps_some_are_shown_and_it_is_said() {
    let depths: Vec<String> = (1..=40).map(|n| n.to_string()).collect();
    let text = CLOSED.replace("[1, 2, 4]", &format!("[{}]", depths.join(", ")));
    let text = text.replace("measure = \"5s\"", "measure = \"1s\"");
    // Work grows up to a depth of 10, and latency after it.
    let work = |step: &scenario::Step, _: &str| {
        let depth: f64 = step.settings[0].1.parse().expect("a depth");
        let ops = (depth.min(10.0) * 20.0) as u64;
        Work { ops, service_ns: depth / ops as f64 * 1e9, ..Work::default() }
    };
    let (_dir, record) = Sketch::of(&text).record(work);
    let evidence = gathered(&record);
    assert_eq!(evidence.steps.len(), STEPS_MAX);
    let why = |word: &str| {
        let is = |s: &&findings::evidence::StepEvidence| s.why.iter().any(|w| w == word);
        evidence.steps.iter().find(is).map(|s| s.label.as_str())
    };
    assert_eq!(why("knee"), Some("depth 10"));
    assert_eq!((why("first"), why("last")), (Some("depth 1"), Some("depth 40")));
    assert!(evidence.left_out[0].text.contains("8 of 40 steps"), "{:?}", evidence.left_out);
    assert_eq!(evidence.timeline.phases.len(), 40);
}

#[test]
fn repetitions_of_a_sweep_have_a_mean_and_an_error() {
    let text = CLOSED.replace("cooldown = \"0s\"", "cooldown = \"0s\"\nrepeat = 2");
    let work = |step: &scenario::Step, _: &str| Work {
        ops: 100 + 20 * u64::from(step.repetition),
        ..Work::default()
    };
    let (_dir, record) = Sketch::of(&text).record(work);
    let sweeps = gathered(&record).sweeps;
    let values: Vec<_> = sweeps[0].points.iter().map(|p| (p.value.as_str(), p.load)).collect();
    assert_eq!(values, [("1", 1.0), ("2", 2.0), ("4", 4.0)]);
    let point = &sweeps[0].points[1];
    assert_eq!(point.runs.iter().map(|r| r.iops).collect::<Vec<_>>(), [200.0, 240.0]);
    let mean = point.iops.expect("both are complete");
    assert_eq!((mean.mean, mean.error), (220.0, Some(20.0)));
}

#[test]
fn hops_and_events_are_on_the_same_axis() {
    let sketch = Sketch::of(CLOSED).hop("vda", &[("read-bytes", 1e6)]).event(
        Level::Warning,
        "slow",
        "It was slow.",
    );
    let (_dir, record) = sketch.record(|_, _| Work::default());
    let timeline = gathered(&record).timeline;
    let series = &timeline.hops.series[0];
    assert_eq!((series.hop.as_str(), series.counter.as_str()), ("vda", "read-bytes"));
    assert!(series.values.iter().flatten().all(|v| (*v - 1e6).abs() < 1.0));
    assert_eq!((timeline.events[0].at_s, timeline.events[0].code.as_str()), (1.0, "slow"));
}

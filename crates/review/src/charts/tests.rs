//! Charts of made-up records: every axis has its unit, every latency its loop, every source its one colour, and what is
//! missing leaves no broken chart behind.

#[path = "../../../findings/tests/support/mod.rs"]
mod support;

use super::*;
use findings::evidence::{
    CurvePoint, CurveSubject, EventSeverity, HeatMap, HopUnit, LatencyKind, Mark, PercentileCurve,
    PhaseSpan, Series, WorkerRate, WorkerSet,
};
use record::{Level, Record, Status};
use serde_json::Value;
use support::{Sketch, Work};

const CLOSED: &str = r#"
scenario.title = "Two targets"
target = [{ name = "a{1..2}", url = "null:", size = "1GiB" }]
workload.w = { block = "8KiB", read = 70 }
[plan]
workload = "w"
on = "a*"
warmup = "0s"
measure = "3s"
cooldown = "0s"
sweep.depth = [1, 2, 4]
"#;

/// Everything that a chart can show.
const MIXED: Work = Work { read: 70, ..FULL };
const FULL: Work = Work {
    ops: 200,
    block: 8192,
    service_ns: 1e6,
    response: 2.0,
    read: 100,
    errors: 3,
    seconds: u64::MAX,
    drift: 1.0,
    own: 0.02,
    cpu_user: 0.05,
    cpu_system: 0.10,
    in_flight: None,
    late: 0,
    overruns: 0,
    open: 0,
    open_age: clock::Ns::ZERO,
    testifies: true,
    by_second: &[],
};

fn gathered(record: &Record) -> (Analysis, Evidence) {
    let analysis = findings::analyse(record).expect("the record is analysed");
    let evidence = findings::evidence(record, &analysis).expect("its evidence is gathered");
    (analysis, evidence)
}

fn drawn(sketch: Sketch<'_>, work: &Work) -> Vec<Chart> {
    let (_dir, record) = sketch.record(|_, _| work.clone());
    let (analysis, evidence) = gathered(&record);
    charts(&analysis, &evidence)
}

fn full() -> Vec<Chart> {
    let counters = [("read-bytes", 1e6), ("write-bytes", 2e6)];
    let sketch = Sketch::of(CLOSED).hop("vda", &counters);
    drawn(sketch.event(Level::Warning, "slow", "It was slow."), &MIXED)
}

fn chart<'a>(charts: &'a [Chart], id: &str) -> &'a Chart {
    charts.iter().find(|c| c.id == id).unwrap_or_else(|| panic!("no chart {id}"))
}

fn ids(charts: &[Chart]) -> Vec<&str> {
    charts.iter().map(|c| c.id.as_str()).collect()
}

#[test]
fn a_full_record_has_every_chart() {
    let expected = [
        "sweep-0",
        "response-0",
        "latency-of-steps",
        "percentiles",
        "read-write",
        "latency-over-time",
        "workers",
        "time-line",
    ];
    assert_eq!(ids(&full()), expected);
}

#[test]
fn every_axis_has_a_unit() {
    for chart in full() {
        let layout = chart.figure["layout"].as_object().expect("a layout");
        let axes = layout.iter().filter(|(key, _)| key.contains("axis"));
        for (key, axis) in axes.filter(|(_, axis)| axis.get("ticktext") != Some(&json_lane())) {
            let title = axis["title"]["text"].as_str().unwrap_or_default();
            assert!(title.contains('(') && title.contains(')'), "{} {key}: {title:?}", chart.id);
        }
    }
}

/// The ticks of the one axis without a quantity.
fn json_lane() -> Value {
    serde_json::json!(["phase", "event"])
}

/// Charts of latency, as they are in closed loops and in open ones.
#[track_caller]
fn check_loop(text: &str, says: &str, axis: &str) {
    let charts = drawn(Sketch::of(text), &MIXED);
    for id in ["latency-of-steps", "percentiles", "latency-over-time", "workers"] {
        let chart = chart(&charts, id);
        assert!(chart.note.contains(says), "{id}: {}", chart.note);
        let titles = chart.figure["layout"].to_string().to_lowercase();
        assert!(titles.contains(axis), "{id}");
    }
}

#[test]
fn every_latency_says_its_loop() {
    check_loop(CLOSED, "Closed loop: service time", "service time");
    let open = CLOSED.replace("sweep.depth = [1, 2, 4]", "sweep.rate = [100, 200]");
    check_loop(&open, "Open loop: response time", "response time");
}

#[test]
fn a_source_has_one_colour_on_every_chart() {
    let charts = full();
    let color = |id: &str, name: &str, part: &str| {
        let traces = chart(&charts, id).figure["data"].as_array().expect("traces");
        let trace = traces.iter().find(|t| t["name"] == name).expect("a trace of the source");
        trace[part]["color"].as_str().expect("a colour").to_owned()
    };
    for (name, expected) in [("a1", "var(--source-1)"), ("a2", "var(--source-2)")] {
        assert_eq!(color("workers", name, "marker"), expected);
        assert_eq!(color("time-line", name, "line"), expected);
    }
}

#[test]
fn rows_of_the_time_line_share_one_axis_and_one_cursor() {
    let charts = full();
    let figure = &chart(&charts, "time-line").figure;
    let traces = figure["data"].as_array().expect("traces");
    assert!(traces.iter().all(|t| t.get("xaxis").is_none_or(|x| x == "x")));
    assert_eq!(
        (&figure["layout"]["hoversubplots"], &figure["layout"]["hovermode"]),
        (&"axis".into(), &"x unified".into())
    );
    let errors = traces.iter().find(|t| t["name"] == "errors").expect("errors are shown");
    assert_eq!(errors["y"][0], 6.0);
    assert!(traces.iter().any(|t| t["name"] == "event: warning"));
}

#[test]
fn without_operations_there_is_no_latency() {
    let work = Work { ops: 0, errors: 0, ..MIXED };
    assert_eq!(ids(&drawn(Sketch::of(CLOSED), &work)), ["workers", "time-line"]);
}

#[test]
fn one_step_and_a_record_without_intervals() {
    let work = Work { read: 100, errors: 0, ..MIXED };
    let one = drawn(Sketch::of(CLOSED).steps(1), &work);
    assert_eq!(ids(&one), ["percentiles", "latency-over-time", "workers", "time-line"]);
    assert_eq!(chart(&one, "percentiles").figure["layout"].get("updatemenus"), None);
    let silent = Work { seconds: 0, ..work };
    let none = drawn(Sketch::of(CLOSED).status(Status::Running), &silent);
    assert_eq!(ids(&none), ["workers"]);
    assert_eq!(ids(&drawn(Sketch::of(CLOSED).steps(0), &silent)), Vec::<&str>::new());
}

#[test]
fn words_of_a_record_are_no_markup() {
    let foreign = "<script>alert(1)</script>&lt;b&gt;";
    let sketch = Sketch::of(CLOSED).rename("a1", foreign).event(Level::Error, foreign, foreign);
    for chart in drawn(sketch, &MIXED) {
        let text = chart.figure.to_string();
        assert!(!text.contains("<script"), "{}", chart.id);
        assert!(!text.contains("(1)</script>&lt;b&gt;"), "{}", chart.id);
    }
}

/// Evidence that fills every bound there is.
fn heaviest(evidence: &mut Evidence) {
    let row = |n: usize| vec![Some(123_456_789.123_f64); n];
    let total = &mut evidence.timeline.total;
    total.covered_s = vec![1.0; 3600];
    for rates in [
        &mut total.read_bytes_per_s,
        &mut total.write_bytes_per_s,
        &mut total.read_iops,
        &mut total.write_iops,
        &mut total.errors_per_s,
    ] {
        *rates = row(3600);
    }
    evidence.groups = (0..64).map(|n| format!("virtual-machine-{n}")).collect();
    evidence.timeline.groups.shown = (0..64).collect();
    evidence.timeline.groups.bytes_per_s = vec![row(600); 64];
    let hop = |n: usize| Series {
        hop: format!("host:device-{n}"),
        counter: "read-bytes".into(),
        unit: HopUnit::BytesPerS,
        values: row(600),
    };
    evidence.timeline.hops.series = (0..48).map(hop).collect();
    let mark = |n: usize| Mark {
        at_s: n as f64,
        step: None,
        source: None,
        severity: EventSeverity::Warning,
        code: "code".into(),
        text: "x".repeat(300),
    };
    evidence.timeline.events = (0..200).map(mark).collect();
    let phase = |n: u32| PhaseSpan {
        step: n,
        label: format!("block 8KiB, depth {n}, read 70"),
        start_s: f64::from(n) * 4.0,
        measure_s: f64::from(n) * 4.0 + 1.0,
        cooldown_s: f64::from(n) * 4.0 + 2.0,
        end_s: f64::from(n) * 4.0 + 3.0,
    };
    evidence.timeline.phases = (0..1000).map(phase).collect();
    evidence.latency = Some(heat(600));
    let mut step = evidence.steps[0].clone();
    step.latency = Some(heat(300));
    let point = |n: u32| CurvePoint {
        percent: 99.0,
        one_in: 1.234_567_89 * f64::from(n + 1),
        latency_ns: 123_456_789,
    };
    let kind = LatencyKind::Response;
    let (of, points) = (CurveSubject::Both, (0..41).map(point).collect());
    let curve = PercentileCurve { of, kind, count: 1 << 40, points };
    step.curves = vec![curve; 6];
    let worker = |n: usize| WorkerRate {
        worker: format!("virtual-machine-{n}/workload/{n}"),
        group: format!("virtual-machine-{}", n % 64),
        bytes_per_s: 123_456_789.123,
        iops: 12_345.678,
        p99_ns: Some(123_456_789),
        kind,
        complete: false,
    };
    let workers = (0..128).map(worker).collect();
    let (workload, mean_bytes_per_s, mean_iops) = ("w".to_owned(), 1e8, 1e4);
    step.workers = vec![WorkerSet { workload, mean_bytes_per_s, mean_iops, count: 500, workers }];
    evidence.steps = vec![step; findings::evidence::STEPS_MAX];
}

/// A map of which every cell is filled with a number of eight digits.
fn heat(columns: usize) -> HeatMap {
    HeatMap {
        kind: LatencyKind::Response,
        from_s: 0.0,
        bin_s: 6.0,
        edges_ns: (0..=60).map(|n| 1000 + n * 123_456).collect(),
        counts: vec![vec![12_345_678; columns]; 60],
        p50_ns: vec![Some(123_456_789); columns],
        p99_ns: vec![Some(123_456_789); columns],
        max_ns: vec![Some(123_456_789); columns],
    }
}

#[test]
fn the_heaviest_evidence_makes_a_page_within_the_budget() {
    let (_dir, record) = Sketch::of(CLOSED).record(|_, _| MIXED.clone());
    let (analysis, mut evidence) = gathered(&record);
    heaviest(&mut evidence);
    let page = crate::html(&analysis, &evidence, &record.head().scenario).len();
    assert!(page < 12_000_000, "{page} bytes");
    // Or it has shown little of it, and proves nothing.
    assert!(page > 8_000_000, "{page} bytes");
}

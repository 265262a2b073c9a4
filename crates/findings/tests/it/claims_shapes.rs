//! Claims of shapes: every form at and beyond its edge, points that are missing, curves of several axes, and zeros.

use crate::claims_intervals::scenario;
use crate::support::{Sketch, Work};
use findings::{ClaimOutcome, Score};
use scenario::Step;

/// A worker does so many operations a second at the first, the second and the third depth.
fn work(ops: [u64; 3]) -> impl Fn(&Step, &str) -> Work {
    move |step, _| {
        let depth = step.settings.iter().find(|(key, _)| key == "depth").map(|(_, v)| v.as_str());
        let at = match depth {
            Some("2") => 1,
            Some("4") => 2,
            _ => 0,
        };
        Work { ops: ops[at], ..Work::default() }
    }
}

fn shaped(claim: &str, make: impl FnOnce(Sketch<'_>) -> findings::Analysis) -> ClaimOutcome {
    let text = scenario(claim);
    make(Sketch::of(&text)).claims.remove(0)
}

/// How `shape = { of = "iops", along = "depth", is … }` comes out at depths 1, 2 and 4, and the deviations of the points.
#[track_caller]
fn check(is: &str, ops: [u64; 3], score: Score, deviations: [Option<f64>; 3]) {
    let claim = format!(
        "step = {{ plan = \"one\" }}\nshape = {{ of = \"iops\", along = \"depth\", {is} }}"
    );
    let found = shaped(&claim, |sketch| sketch.analyse(work(ops)));
    let shape = found.shape.as_ref().expect("a shape");
    let off = shape.points.iter().map(|p| p.deviation_percent.map(|d| (d * 10.0).round() / 10.0));
    assert_eq!(off.collect::<Vec<_>>(), deviations, "{is} {ops:?}");
    assert_eq!(found.score, score, "{is} {ops:?}: {found:?}");
    assert_eq!(found.reason.is_empty(), score != Score::Undecided, "{}", found.reason);
    assert!((found.ours, found.interval, found.readings.len()) == (None, None, 0));
    let json = serde_json::to_string(&found).expect("JSON");
    assert!(!json.contains("inf") && !json.contains("NaN"), "{json}");
}

#[test]
fn each_form_at_and_beyond_its_edge() {
    use Score::{Met, Missed};
    let linear = "is = \"linear\", within = \"5%\"";
    check(linear, [1000, 2000, 4000], Met, [None, Some(0.0), Some(0.0)]);
    check(linear, [1000, 2100, 3800], Met, [None, Some(5.0), Some(-5.0)]);
    check(linear, [1000, 2102, 4000], Missed, [None, Some(5.1), Some(0.0)]);
    check(linear, [1000, 2000, 3796], Missed, [None, Some(0.0), Some(-5.1)]);
    check("is = \"linear\"", [1000, 2100, 4000], Met, [None, Some(5.0), Some(0.0)]);
    let constant = "is = \"constant\", within = \"10%\"";
    check(constant, [1000, 1100, 900], Met, [None, Some(10.0), Some(-10.0)]);
    check(constant, [1000, 1101, 1000], Missed, [None, Some(10.1), Some(0.0)]);
    check(constant, [1000, 1000, 899], Missed, [None, Some(0.0), Some(-10.1)]);
    check("is = \"rising\"", [1000, 1001, 1500], Met, [None, Some(0.1), Some(49.9)]);
    check("is = \"rising\"", [1000, 1000, 1500], Missed, [None, Some(0.0), Some(50.0)]);
    check(
        "is = \"rising\", within = \"2%\"",
        [1000, 980, 1500],
        Met,
        [None, Some(-2.0), Some(53.1)],
    );
    check(
        "is = \"rising\", within = \"2%\"",
        [1000, 979, 1500],
        Missed,
        [None, Some(-2.1), Some(53.2)],
    );
    check("is = \"falling\"", [1500, 1001, 1000], Met, [None, Some(-33.3), Some(-0.1)]);
    check("is = \"falling\"", [1500, 1000, 1000], Missed, [None, Some(-33.3), Some(0.0)]);
    check(
        "is = \"falling\", within = \"2%\"",
        [1500, 1000, 1020],
        Met,
        [None, Some(-33.3), Some(2.0)],
    );
}

#[test]
fn zeros_are_nothing_to_be_in_proportion_to() {
    use Score::{Met, Missed, Undecided};
    check("is = \"linear\"", [0, 2000, 4000], Undecided, [None, None, None]);
    check("is = \"linear\"", [1000, 0, 4000], Missed, [None, Some(-100.0), Some(0.0)]);
    check("is = \"constant\"", [0, 0, 0], Met, [None, None, None]);
    check("is = \"constant\"", [0, 10, 10], Undecided, [None, None, None]);
    check("is = \"rising\"", [0, 10, 20], Met, [None, None, Some(100.0)]);
    check("is = \"rising\"", [0, 0, 20], Undecided, [None, None, None]);
    check("is = \"falling\"", [20, 10, 0], Met, [None, Some(-50.0), Some(-100.0)]);
}

#[test]
fn the_points_show_what_is_there_and_what_would_be() {
    let claim =
        "step = { plan = \"one\" }\nshape = { of = \"iops\", along = \"depth\", is = \"linear\" }";
    let found = shaped(claim, |sketch| sketch.analyse(work([1000, 2200, 3900])));
    let shape = found.shape.expect("a shape");
    assert_eq!(
        (shape.is, shape.along.as_deref(), shape.within_percent),
        ("linear", Some("depth"), 5.0)
    );
    assert_eq!(shape.furthest_percent.map(f64::round), Some(10.0));
    let said = |q: Option<findings::Quantity>| q.map(|q| q.to_string()).unwrap_or_default();
    let points: Vec<_> = shape
        .points
        .iter()
        .map(|p| (p.at, p.label.clone(), said(p.value), said(p.expected), p.agrees))
        .collect();
    let row = |at: f64, label: &str, value: &str, expected: &str, agrees| {
        (at, label.to_owned(), value.to_owned(), expected.to_owned(), agrees)
    };
    let rows = [
        row(1.0, "1", "1,000 IOPS", "", None),
        row(2.0, "2", "2,200 IOPS", "2,000 IOPS", Some(false)),
        row(4.0, "4", "3,900 IOPS", "4,000 IOPS", Some(true)),
    ];
    assert_eq!(points, rows);
}

#[test]
fn intervals_of_both_points_are_combined() {
    let claim =
        "step = { plan = \"one\" }\nshape = { of = \"iops\", along = \"depth\", is = \"linear\" }";
    let at = |first: (f64, f64), second: (f64, f64)| {
        let found = shaped(claim, |sketch| {
            sketch
                .confidence_of(0, None, "iops", first)
                .confidence_of(1, None, "iops", second)
                .confidence_of(2, None, "iops", (3990.0, 4010.0))
                .analyse(work([1000, 2200, 4000]))
        });
        (found.score, found.shape.map(|shape| shape.points[1].interval.is_some()))
    };
    // 10% above, of which 5% are allowed: 3% and 3% are 4.2% in quadrature, 4% and 4% are 5.7%.
    assert_eq!(at((970.0, 1030.0), (2134.0, 2266.0)), (Score::Missed, Some(true)));
    assert_eq!(at((960.0, 1040.0), (2112.0, 2288.0)), (Score::Met, Some(true)));
    assert_eq!(at((0.0, 9000.0), (0.0, 9000.0)), (Score::Met, Some(true)), "wider is no worse");
}

#[test]
fn steps_named_one_by_one_and_the_hops_of_points() {
    let claim = "shape = { of = \"iops\", is = \"linear\", points = [\
                 { at = 2, plan = \"both\", step = { depth = 1 } }, \
                 { at = 1, plan = \"one\", step = { depth = 1 } }] }";
    let found = shaped(claim, |sketch| sketch.analyse(work([1000, 1000, 1000])));
    assert_eq!(found.score, Score::Met, "{found:?}");
    let claim = "step = { plan = \"both\", depth = 1 }\nhop = \"t1\"\n\
                 shape = { of = \"read\", is = \"linear\", points = [{ at = 1, hop = \"t1\" }, { at = 2, hop = \"t2\" }] }";
    for (bytes, score) in [(200e6, Score::Met), (150e6, Score::Missed)] {
        let found = shaped(claim, |sketch| {
            let sketch = sketch.hop("t1", &[("read-bytes", 100e6)]);
            sketch.hop("t2", &[("read-bytes", bytes)]).analyse(work([1000, 1000, 1000]))
        });
        assert_eq!(found.score, score, "{found:?}");
    }
}

#[test]
fn every_curve_has_to_have_the_shape_and_the_worst_is_shown() {
    // Plans `one` and `both` are curves of their own.
    let claim = "shape = { of = \"iops\", along = \"depth\", is = \"constant\", within = \"1%\" }";
    let uneven = |step: &Step, _: &str| {
        let bent = step.plan == "both" && step.settings.iter().any(|(_, v)| v == "4");
        Work { ops: if bent { 900 } else { 1000 }, ..Work::default() }
    };
    let found = shaped(claim, |sketch| sketch.analyse(uneven));
    assert_eq!((found.score, found.step.as_deref()), (Score::Missed, Some("both")));
    let each = "step = { plan = \"both\" }\neach = \"t*\"\n\
                shape = { of = \"iops\", along = \"depth\", is = \"constant\", within = \"1%\" }";
    let by_member = |step: &Step, on: &str| {
        let bent = on == "t2" && step.settings.iter().any(|(_, v)| v == "4");
        Work { ops: if bent { 900 } else { 1000 }, ..Work::default() }
    };
    let found = shaped(each, |sketch| sketch.analyse(by_member));
    assert_eq!((found.score, found.member.as_deref()), (Score::Missed, Some("t2")));
}

#[test]
fn a_point_that_is_missing_leaves_it_undecided() {
    let claim =
        "step = { plan = \"one\" }\nshape = { of = \"iops\", along = \"depth\", is = \"linear\" }";
    for steps in [0, 2] {
        let found = shaped(claim, |sketch| sketch.steps(steps).analyse(work([1000, 2000, 4000])));
        assert_eq!(found.score, Score::Undecided, "{steps}");
        assert!(found.reason.contains("was not run"), "{}", found.reason);
    }
    let latency = claim.replace("iops", "latency").replace("linear", "constant");
    let found = shaped(&latency, |sketch| sketch.analyse(work([1000, 0, 4000])));
    assert_eq!(found.score, Score::Undecided);
    assert_eq!(found.reason, "at 2: no operation completed");
    let known = claim.replace("shape", "note = \"open\"\nshape");
    let kept = shaped(&known, |sketch| {
        let sketch = sketch.fact("claim/it", "calibration", "fitted");
        sketch.analyse(work([1000, 2000, 4000]))
    });
    assert_eq!((kept.score, kept.because.as_deref()), (Score::Calibration, Some("fitted")));
}

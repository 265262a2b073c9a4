//! Intervals of confidence are taken over as the record has them; what is no interval is left out.

use crate::support::{Sketch, Work, one_target};

#[track_caller]
fn check(confidences: &[(&'static str, f64, f64)], uncertainty: Option<f64>, kept: usize) {
    let one = one_target("10s", "");
    let sketch = confidences.iter().fold(Sketch::of(&one), |sketch, (figure, low, high)| {
        sketch.confidence(figure, *low, *high)
    });
    let analysis = sketch.analyse(|_, _| Work::default());
    let step = &analysis.steps[0];
    assert_eq!(step.confidence.len(), kept);
    let near = match (step.uncertainty(), uncertainty) {
        (Some(found), Some(expected)) => (found - expected).abs() < 1e-9,
        (found, expected) => found == expected,
    };
    assert!(near, "{:?}", step.uncertainty());
}

#[test]
fn half_the_interval_over_the_figure_is_its_uncertainty() {
    check(&[], None, 0);
    check(&[("iops", 950.0, 1050.0)], Some(0.05), 1);
    check(&[("total-rate", 1.0, 2.0)], None, 1);
    check(&[("iops", 2.0, 1.0)], None, 0);
    check(&[("iops", f64::NEG_INFINITY, 1.0), ("read-rate", 0.0, 0.0)], None, 1);
}

#[test]
fn a_run_knows_whether_it_was_simulated_and_what_was_assumed() {
    let run = |sketch: Sketch<'_>| {
        let run = sketch.analyse(|_, _| Work::default()).run;
        (run.simulated, run.assumed)
    };
    let one = one_target("10s", "");
    assert_eq!(run(Sketch::of(&one)), (false, 0));
    assert_eq!(run(Sketch::of(&one).fact("vm1", "simulated", "yes")), (false, 0));
    let simulated = Sketch::of(&one).fact("run", "simulated", "yes");
    assert_eq!(run(simulated.fact("hba", "assumed/latency", "0 s (…)")), (true, 1));
}

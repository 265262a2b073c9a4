//! Figures that the runs do not determine are named, with a run that would determine them; the others are still found.

use crate::support::{ARRAY, HBA, Lab, SERVER, VIRTUAL, fit, record};
use calibrate::Calibration;

/// Fits the figures `asked` of a lab with another `sweep`; checks those that are found, and those left out with words
/// of the reason and of the advice.
#[track_caller]
fn check(
    lab: &Lab,
    sweep: &str,
    asked: &[&str],
    found: &[&str],
    left_out: &[(&str, &str, &str)],
) -> Calibration {
    let dir = tempfile::tempdir().expect("a place");
    let swept = |text: String| {
        let start = text.find("sweep = ").expect("it sweeps");
        let end = text[start..].find('\n').expect("a line") + start;
        format!("{}{sweep}{}", &text[..start], &text[end..])
    };
    let (actual, stated) = (swept(lab.scenario(true)), swept(lab.scenario(false)));
    let record = record(&dir.path().join("a.wsr"), &actual, &stated, 5);
    let calibration =
        fit(vec![record], &[lab.part], asked).unwrap_or_else(|error| panic!("{error}")).calibration;
    let names: Vec<&str> = calibration.figures.iter().map(|of| of.figure.as_str()).collect();
    assert_eq!(names, found, "{calibration:#?}");
    assert_eq!(calibration.left_out.len(), left_out.len(), "{calibration:#?}");
    for (name, why, next) in left_out {
        let of = calibration.left_out.iter().find(|of| of.figure == *name);
        let of = of.unwrap_or_else(|| panic!("no {name}: {calibration:#?}"));
        assert!(of.why.contains(why), "{name}: {}", of.why);
        assert!(of.next.contains(next), "{name}: {}", of.next);
    }
    calibration
}

#[test]
fn one_size_cannot_separate_costs_per_byte_and_io() {
    let asked = ["cpu_per_io", "cpu_per_byte"];
    let sweep = r#"sweep = { depth = [1, 12] }"#;
    let found = check(
        &SERVER,
        sweep,
        &asked,
        &["cpu_per_io"],
        &[("cpu_per_byte", "only together with cpu_per_io", "two block sizes")],
    );
    // It says on what it rests: the figure that the runs do not tell from it.
    let with = &found.figures[0].only_with;
    assert!(with.len() == 1 && with[0].contains("cpu_per_byte = "), "{with:?}");
    // The fit finds the cost of an I/O of this size, less the per-byte cost that was assumed.
    let cost = found.figures[0].base + 4096.0 * 0.1e-9;
    let planted = 20e-6 + 4096.0 * 0.8e-9;
    assert!((cost / planted - 1.0).abs() < 0.05, "{cost}");
}

#[test]
fn a_queue_that_never_fills_is_not_determined() {
    let asked = ["disk_queue", "cpu_per_io"];
    let next = "more outstanding than the limit";
    let sweep = r#"sweep = { depth = [1, 2, 4] }"#;
    let found = [("disk_queue", "no measurement depends on it", next)];
    check(&VIRTUAL, sweep, &asked, &["cpu_per_io"], &found);
}

#[test]
fn saturated_steps_alone_do_not_determine_latency() {
    let sweep = r#"sweep = { depth = [32, 64] }"#;
    let next = "one I/O outstanding";
    let found = [("latency", "only together with iops_max", next)];
    check(&HBA, sweep, &["latency", "iops_max"], &["iops_max"], &found);
}

#[test]
fn one_depth_cannot_separate_a_delay_from_a_server() {
    let sweep = r#"sweep = { depth = [1] }"#;
    let asked = ["latency", "controller_time_per_io"];
    let found = check(
        &ARRAY,
        sweep,
        &asked,
        &["latency"],
        &[("controller_time_per_io", "only together with latency", "many outstanding")],
    );
    assert!(found.warnings.iter().any(|of| of.code == "no-freedom"), "{:#?}", found.warnings);
}

#[test]
fn no_figure_may_be_determined() {
    let found = [("write_rate", "no measurement", "large blocks")];
    check(&ARRAY, r#"sweep = { depth = [1, 4] }"#, &["write_rate"], &[], &found);
}

//! The machine of a run, whose threads serve their I/Os in passes: what rounds show of its drift, and which figures the
//! runs cannot tell apart.

use crate::support::{MACHINE, fit, record};

/// Four rounds on a machine that is slower by turns: the intervals of the costs hold in every round.
#[test]
fn intervals_include_the_drift_from_round_to_round() {
    let dir = tempfile::tempdir().expect("a place");
    let factors = [0.94, 0.98, 1.02, 1.06];
    let rounds = factors.iter().enumerate().map(|(number, factor)| {
        let mut actual = MACHINE.scenario(true);
        for (figure, value, unit) in [
            ("wake_time", 25.0, "us"),
            ("pass_time", 12.0, "us"),
            ("cpu_per_io", 3.0, "us"),
            ("cpu_per_byte", 0.2, " ns/B"),
        ] {
            let of = |value: f64| format!("\"{figure}\", value = \"{value}{unit}\"");
            let (before, after) = (of(value), of((value * factor * 1e4).round() / 1e4));
            assert!(actual.contains(&before), "{before}");
            actual = actual.replace(&before, &after);
        }
        let path = dir.path().join(format!("round-{number}.wsr"));
        record(&path, &actual, &MACHINE.scenario(false), 3)
    });
    let asked: Vec<&str> = MACHINE.planted.iter().map(|of| of.figure).collect();
    let found = fit(rounds.collect(), &["box"], &asked).unwrap_or_else(|error| panic!("{error}"));
    let found = found.calibration;
    // The standard deviation of these factors is 0.052; that of their effect is smaller where a port or depth helps.
    let drift = found.drift.expect("four rounds show a drift");
    assert!((0.03..0.09).contains(&drift), "{drift}");
    for planted in MACHINE.planted {
        let of = found.figures.iter().find(|of| of.figure == planted.figure).expect("it is found");
        let middle = of.base / planted.value - 1.0;
        assert!(middle.abs() < 0.08, "{}: {middle:.3}", of.figure);
        for factor in factors {
            let value = planted.value * factor;
            assert!(
                of.low <= value && value <= of.high,
                "{}: {value} in {}",
                of.figure,
                of.interval
            );
        }
    }
    let range = found.range;
    assert_eq!((range.depth_max, range.vms_max), (32, 2));
    assert_eq!((range.block_min, range.block_max, range.rate_max), (8192, 65_536, None));
    // Rounds are one set of observations.
    assert_eq!(found.residuals.len(), 12, "{:#?}", found.residuals);
}

/// A session's two ends take turns, so that only the sum of their costs shows.
#[test]
fn the_ends_of_a_session_cannot_be_told_apart() {
    let figures = ["wake_time", "pass_time", "cpu_per_io", "cpu_per_byte", "target_share"];
    let found = MACHINE.calibrate(2, &figures).calibration;
    let names: Vec<&str> = found.left_out.iter().map(|of| of.figure.as_str()).collect();
    assert_eq!(names, ["target_share"], "{:#?}", found.left_out);
}

/// What was fitted to stands in the part's file.
#[test]
fn the_range_of_the_fit_is_written() {
    let file = MACHINE.calibrate(1, &[]).part_file(&[]);
    for (figure, value) in [
        ("fitted_depth_max", "32"),
        ("fitted_block_min", "8192B"),
        ("fitted_block_max", "65536B"),
        ("fitted_vms_max", "2"),
    ] {
        let text = format!("name = \"{figure}\", value = \"{value}\", kind = \"calibrated\"");
        assert!(file.contains(&text), "{text}: {file}");
    }
}

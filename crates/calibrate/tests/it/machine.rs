//! The machine of a run, whose threads serve their I/Os in passes: what rounds show of its drift, and which figures the
//! runs cannot tell apart.

use crate::support::{HALTING, MACHINE, SERVER, fit, record};

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

/// A session's two ends take turns while a pass sends its I/Os together, and only the sum of their costs shows; with several
/// of 64 KiB they work at once, and what each does for the bytes shows.
#[test]
fn the_ends_of_a_session_are_told_apart_where_both_work_at_once() {
    let figures = ["wake_time", "pass_time", "cpu_per_io", "cpu_per_byte", "sender_share"];
    let found = MACHINE.calibrate(2, &figures).calibration;
    assert!(found.left_out.is_empty(), "{:#?}", found.left_out);
    let of = |figure| found.figures.iter().find(|of| of.figure == figure).expect("it is found");
    let share = of("sender_share").base;
    assert!((share - 0.5).abs() < 0.06, "{share}");
}

/// Open loops of low rates tell how late a halted processor wakes, and after how long it halts. Without them neither is found:
/// not with a value that another step happens to bear.
#[test]
fn open_loops_tell_when_processors_halt() {
    let figures: Vec<&str> = HALTING.planted.iter().map(|of| of.figure).collect();
    let found = HALTING.calibrate(1, &figures).calibration;
    assert!(found.left_out.is_empty(), "{:#?}", found.left_out);
    for planted in HALTING.planted {
        let of = found.figures.iter().find(|of| of.figure == planted.figure).expect("it is found");
        let off = of.base / planted.value - 1.0;
        println!("{}: {off:+.3}", of.figure);
        assert!(off.abs() < 0.15, "{}: {off:.3}: {found:#?}", of.figure);
    }
    // Closed loops, and one of which a hundredth finds a processor halted.
    let cut = |text: String| {
        let (before, after) = text.split_once("[[plan]]\nname = \"slow\"").expect("a plan");
        let (_, more) = after.split_once("[[plan]]\nname = \"more\"").expect("a plan");
        format!("{before}[[plan]]\nname = \"more\"{more}").replace("40000 IOPS", "80000 IOPS")
    };
    let dir = tempfile::tempdir().expect("a place");
    let (actual, assumed) = (cut(HALTING.scenario(true)), cut(HALTING.scenario(false)));
    let run = record(&dir.path().join("run.wsr"), &actual, &assumed, 3);
    let found = fit(vec![run], &["box"], &figures).unwrap_or_else(|error| panic!("{error}"));
    let left: Vec<&str> = found.calibration.left_out.iter().map(|of| of.figure.as_str()).collect();
    assert_eq!(left, ["halt_time", "halt_wake_time"], "{:#?}", found.calibration);
}

/// What was fitted to stands in the part's file.
#[test]
fn the_range_of_the_fit_is_written() {
    let file = MACHINE.calibrate(1, &["cpu_per_io"]).part_file(&[]);
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

/// A run during which the machine was twenty times slower counts little, and is named; so it does in a step of its own.
#[test]
fn a_disturbed_run_decides_nothing() {
    let dir = tempfile::tempdir().expect("a place");
    let one = |text: String| {
        let before = "sweep = { block = [\"4KiB\", \"16KiB\", \"64KiB\"], depth = [1, 12] }";
        assert!(text.contains(before));
        text.replace(before, "sweep = { block = [\"16KiB\"], depth = [6] }")
    };
    let whole =
        record(&dir.path().join("whole.wsr"), &SERVER.scenario(true), &SERVER.scenario(false), 3);
    let disturbed = one(SERVER.scenario(true)).replace("\"20us\"", "\"400us\"");
    let disturbed =
        record(&dir.path().join("disturbed.wsr"), &disturbed, &one(SERVER.scenario(false)), 4);
    let found = fit(vec![whole, disturbed], &["ours"], &["cpu_per_io", "cpu_per_byte"]);
    let found = found.unwrap_or_else(|error| panic!("{error}")).calibration;
    for planted in SERVER.planted {
        let of = found.figures.iter().find(|of| of.figure == planted.figure).expect("it is found");
        let off = of.base / planted.value - 1.0;
        assert!(off.abs() < 0.05, "{}: {off:.3}: {found:#?}", of.figure);
    }
    let named = found.warnings.iter().find(|warning| warning.code == "outlying");
    assert!(
        named.is_some_and(|warning| warning.text.contains("run2.wsr")),
        "{:#?}",
        found.warnings
    );
}

/// Where the model is off by more than its observations scatter, the intervals of costs are at least as wide: here each block
/// size has costs of its own, 15% apart.
#[test]
fn intervals_are_as_wide_as_the_model_is_off() {
    let dir = tempfile::tempdir().expect("a place");
    let runs = [("8KiB", 0.85), ("8KiB", 1.15), ("64KiB", 1.15), ("64KiB", 0.85)];
    let runs = runs.iter().enumerate().map(|(number, (block, factor))| {
        let only = |text: String| {
            let text =
                text.replace("block = [\"8KiB\", \"64KiB\"]", &format!("block = [\"{block}\"]"));
            // Each is a scenario of its own: no rounds of one.
            text.replace("\"Planted\"", &format!("\"Planted {number}\""))
        };
        let mut actual = only(MACHINE.scenario(true));
        for (figure, value, unit) in [
            ("wake_time", 25.0, "us"),
            ("pass_time", 12.0, "us"),
            ("cpu_per_io", 3.0, "us"),
            ("cpu_per_byte", 0.2, " ns/B"),
        ] {
            let of = |value: f64| format!("\"{figure}\", value = \"{value}{unit}\"");
            actual = actual.replace(&of(value), &of((value * factor * 1e4).round() / 1e4));
        }
        record(
            &dir.path().join(format!("run-{number}.wsr")),
            &actual,
            &only(MACHINE.scenario(false)),
            3,
        )
    });
    let asked: Vec<&str> = MACHINE.planted.iter().map(|of| of.figure).collect();
    let found = fit(runs.collect(), &["box"], &asked).unwrap_or_else(|error| panic!("{error}"));
    let found = found.calibration;
    assert!((0.08..0.25).contains(&found.fit.misfit), "{:#?}", found.fit);
    for of in &found.figures {
        let width = (of.high / of.low).ln() / 2.0;
        assert!(width > 1.9 * found.fit.misfit, "{}: {} in {}", of.figure, of.base, of.interval);
    }
}

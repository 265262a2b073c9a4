//! The rule of steadiness, on tables and on anything.

use proptest::prelude::*;
use scenario::steady::{Steady, SteadyWindow, WindowFigures};

/// Spread and slope of a window in percent of its mean, to a hundredth.
#[track_caller]
fn check(rounds: &[f64], spread: f64, slope: f64, steady: bool) {
    let window = SteadyWindow::of(rounds).expect("a window with a mean");
    let percent = |share: f64| (share * 10_000.0).round() / 100.0;
    assert_eq!((percent(window.spread), percent(window.slope)), (spread, slope), "{rounds:?}");
    assert_eq!(Steady::SNIA.holds(&window), steady, "{rounds:?}");
}

#[test]
fn spread_and_slope_by_hand() {
    check(&[100.0; 5], 0.0, 0.0, true);
    // A staircase: its line is itself, so spread and slope are one.
    check(&[96.0, 98.0, 100.0, 102.0, 104.0], 8.0, 8.0, true);
    check(&[104.0, 102.0, 100.0, 98.0, 96.0], 8.0, -8.0, true);
    check(&[94.0, 97.0, 100.0, 103.0, 106.0], 12.0, 12.0, false);
    // To and fro: far apart, and no slope.
    check(&[90.0, 110.0, 100.0, 110.0, 90.0], 20.0, 0.0, true);
    check(&[89.0, 111.0, 100.0, 111.0, 89.0], 22.0, 0.0, false);
    // One round out of line in the middle moves the spread alone, at the end the slope as well.
    check(&[100.0, 100.0, 150.0, 100.0, 100.0], 45.45, 0.0, false);
    check(&[100.0, 100.0, 100.0, 100.0, 110.0], 9.8, 7.84, true);
    check(&[0.0, 0.0, 0.0, 0.0, 5.0], 500.0, 400.0, false);
    check(&[1.0, 2.0], 66.67, 66.67, false);
}

#[test]
fn a_window_needs_its_rounds_and_something_to_compare_with() {
    let rule = Steady::SNIA;
    for rounds in [&[][..], &[5.0; 4], &[0.0; 5], &[f64::NAN; 5], &[f64::INFINITY; 5]] {
        assert_eq!(rule.window(rounds), None, "{rounds:?}");
    }
    assert_eq!(SteadyWindow::of(&[7.0]), None);
    // Only the last window counts: the fall before it is over.
    let settled = rule.window(&[900.0, 500.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
    assert_eq!(settled, Some(SteadyWindow { mean: 100.0, spread: 0.0, slope: 0.0 }));
}

#[test]
fn figures_are_told_beside_their_limits() {
    let window = SteadyWindow { mean: 1000.0, spread: 0.0314, slope: -0.1271 };
    let expected = "over 5 rounds of 1 s the spread of IOPS was 3.10% of its mean (at most 20%), and its line fell by \
                    12.7% (at most 10%)";
    assert_eq!(WindowFigures(&Steady::SNIA, &window).to_string(), expected);
}

proptest! {
    /// Neither the unit of the rounds nor their order in time backwards changes what is steady.
    #[test]
    fn the_unit_and_the_direction_of_time_do_not_matter(
        rounds in prop::collection::vec(1.0..1e9, 2..50),
        factor in 1e-6..1e6,
    ) {
        let window = SteadyWindow::of(&rounds).expect("a mean");
        let scaled: Vec<f64> = rounds.iter().map(|r| r * factor).collect();
        let scaled = SteadyWindow::of(&scaled).expect("a mean");
        let backwards: Vec<f64> = rounds.iter().rev().copied().collect();
        let backwards = SteadyWindow::of(&backwards).expect("a mean");
        prop_assert!((window.spread - scaled.spread).abs() < 1e-6 * (1.0 + window.spread));
        prop_assert!((window.slope - scaled.slope).abs() < 1e-6 * (1.0 + window.slope.abs()));
        prop_assert!((window.slope + backwards.slope).abs() < 1e-6 * (1.0 + window.slope.abs()));
    }

    /// The line is the best of all lines: the remainders have no slope of their own.
    #[test]
    fn the_line_is_that_of_least_squares(rounds in prop::collection::vec(1.0..1e6, 2..50)) {
        let window = SteadyWindow::of(&rounds).expect("a mean");
        let last = (rounds.len() - 1) as f64;
        let step = window.slope * window.mean / last;
        let error = |step: f64| -> f64 {
            let of = |(i, y): (usize, &f64)| y - window.mean - step * (i as f64 - last / 2.0);
            rounds.iter().enumerate().map(|r| of(r).powi(2)).sum()
        };
        let best = error(step);
        prop_assert!(best <= error(step + 1.0) && best <= error(step - 1.0));
    }

    #[test]
    fn nothing_is_too_odd(rounds in prop::collection::vec(any::<f64>(), 0..20)) {
        if let Some(window) = Steady::SNIA.window(&rounds) {
            prop_assert!(window.mean > 0.0);
            let _ = WindowFigures(&Steady::SNIA, &window).to_string();
        }
    }
}

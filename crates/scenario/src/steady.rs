//! When a load is steady: the definition of SNIA's Solid State Storage Performance Test Specification (PTS), as the key
//! `steady` of a plan sets it and as it is applied to a series of rounds.
//!
//! Pure arithmetic on numbers. It stands beside the language because the rule and its parameters are part of what a
//! scenario says: a campaign applies it while a load warms up, findings to what was measured, a simulator to what
//! it makes up, and all of them mean the same.

use std::fmt;
use std::time::Duration;
use units::{Percent, duration, percent};

/// When the measurement begins: as soon as a window of rounds is steady, but not before the plan's `warmup` has passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// The longest warm-up: then the measurement begins, steady or not.
    pub within: Duration,
    /// Rounds of the window.
    pub rounds: u32,
    /// Length of a round.
    pub round: Duration,
    /// The most that the largest and the smallest round of a window may differ, of their mean.
    pub spread: Percent,
    /// The most that the line fitted to a window may rise or fall from its first round to its last, of the mean.
    pub slope: Percent,
    /// What must be steady.
    pub metric: SteadyMetric,
}

/// What is looked at in each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyMetric {
    /// Operations a second.
    Iops,
    /// Bytes a second.
    Throughput,
    /// Mean service time.
    Latency,
}

/// How much a window of rounds moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyWindow {
    /// The mean of the rounds.
    pub mean: f64,
    /// (largest − smallest) / mean.
    pub spread: f64,
    /// What the least-squares line rises from the first round to the last, by the mean; negative where it falls.
    pub slope: f64,
}

/// A window together with the rule that it was judged by, as a clause for people.
#[derive(Clone, Copy, Debug)]
pub struct WindowFigures<'a>(pub &'a Steady, pub &'a SteadyWindow);

impl Steady {
    /// SNIA's definition over five rounds, of a second each so that it fits the intervals of a record: spread at most
    /// 20%, slope at most 10%. (Its own rounds are longer, since SSDs take hours to fill their spare space.)
    pub const SNIA: Steady = Steady {
        within: Duration::from_secs(60),
        rounds: 5,
        round: Duration::from_secs(1),
        spread: Percent(20.0),
        slope: Percent(10.0),
        metric: SteadyMetric::Iops,
    };

    /// The lengths of PTS itself: rounds of a minute, of which it runs at most 25.
    pub const PTS: Steady = Steady {
        within: Duration::from_secs(25 * 60),
        round: Duration::from_secs(60),
        ..Steady::SNIA
    };

    /// The last window of a series of rounds, in order of time; `None` if they are too few or have no mean.
    pub fn window(&self, rounds: &[f64]) -> Option<SteadyWindow> {
        let first = rounds.len().checked_sub(self.rounds as usize)?;
        SteadyWindow::of(&rounds[first..])
    }

    /// Whether a window is steady by this rule.
    pub fn holds(&self, window: &SteadyWindow) -> bool {
        window.spread <= self.spread.0 / 100.0 && window.slope.abs() <= self.slope.0 / 100.0
    }
}

impl SteadyWindow {
    /// Measures a window; `None` for fewer than two rounds, or where their mean is not a positive number.
    pub fn of(rounds: &[f64]) -> Option<SteadyWindow> {
        let n = rounds.len() as f64;
        let mean = rounds.iter().sum::<f64>() / n;
        if rounds.len() < 2 || !mean.is_finite() || mean <= 0.0 {
            return None;
        }
        let largest = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let smallest = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        // Rounds are equally far apart, so that they are numbered around the middle of the window.
        let middle = (n - 1.0) / 2.0;
        let moved = |(i, y): (usize, &f64)| (i as f64 - middle) * (y - mean);
        let covariance: f64 = rounds.iter().enumerate().map(moved).sum();
        let variance = n * (n * n - 1.0) / 12.0;
        let rise = covariance / variance * (n - 1.0);
        Some(SteadyWindow { mean, spread: (largest - smallest) / mean, slope: rise / mean })
    }
}

impl fmt::Display for SteadyMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SteadyMetric::Iops => "IOPS",
            SteadyMetric::Throughput => "throughput",
            SteadyMetric::Latency => "mean latency",
        })
    }
}

impl fmt::Display for WindowFigures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WindowFigures(rule, window) = self;
        let share = |share: f64| percent((share * 1000.0).round() / 10.0);
        let verb = if window.slope < 0.0 { "fell" } else { "rose" };
        write!(
            f,
            "over {} rounds of {} the spread of {} was {} of its mean (at most {}), and its line {verb} by {} (at most {})",
            rule.rounds,
            duration(rule.round),
            rule.metric,
            share(window.spread),
            percent(rule.spread.0),
            share(window.slope.abs()),
            percent(rule.slope.0),
        )
    }
}

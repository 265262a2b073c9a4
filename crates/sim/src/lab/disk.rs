//! A rotating disk: positioning, transfer, and the gain of reordering its queue.
//!
//! Positioning is a seek and the rotational delay. Seek time follows the square root of the distance beyond a minimum
//! (C. Ruemmler and J. Wilkes, *An introduction to disk drive modeling*, IEEE Computer 27(3), 1994), the distance
//! between two random positions has the density 2(1 − d), and the rotational delay is uniform over a revolution.
//! Transfer slows from the outer tracks to the inner ones. A disk that sees several commands serves the nearest first:
//! measured gains grow with a power of the queue's length (M. Seltzer, P. Chen and J. Ousterhout, *Disk scheduling
//! revisited*, USENIX Winter 1990; B. Worthington, G. Ganger and Y. Patt, *Scheduling algorithms for modern disk
//! drives*, SIGMETRICS 1994). Pure arithmetic: nothing here knows a scenario.

use crate::Ps;
use crate::model::{Law, Table};

/// Quantiles of a seek and of a revolution in the table of positioning times.
const QUANTILES: usize = 32;
/// The shortest seek as a share of the mean: 0.4 ms of 3.3 ms on disks of 15,000 rpm.
const SHORTEST: f64 = 0.125;
/// Greatest share that reordering can save: beyond that a disk would not rotate.
const SAVED_MAX: f64 = 0.95;
/// More commands than this gain nothing further.
const QUEUE_MAX: u32 = 1024;
/// The mean of √d for two random positions.
const MEAN_ROOT: f64 = 8.0 / 15.0;

/// A disk's figures: seconds, bytes, bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    /// Mean seek between random positions.
    pub seek: f64,
    /// Half a revolution.
    pub half_turn: f64,
    /// Sequential rate on the outermost tracks.
    pub rate_outer: f64,
    /// Sequential rate on the innermost tracks.
    pub rate_inner: f64,
    /// Capacity.
    pub size: f64,
    /// Commands in its queue.
    pub queue: u32,
    /// Share of the positioning time that a full queue saves, 0 to 1.
    pub saved: f64,
}

impl Disk {
    /// Mean time to reach a random position, in seconds.
    pub fn positioning(&self) -> f64 {
        self.seek + self.half_turn
    }

    /// Times to reach a random position, all equally probable; their mean is [`Disk::positioning`].
    pub fn position(&self) -> Law {
        let middle = |index: usize| (index as f64 + 0.5) / QUANTILES as f64;
        let roots: Vec<f64> =
            (0..QUANTILES).map(|at| (1.0 - (1.0 - middle(at)).sqrt()).sqrt()).collect();
        // Dividing by the quantiles' own mean gives the table exactly the mean asked for.
        let mean_root = roots.iter().sum::<f64>() / QUANTILES as f64;
        debug_assert!((mean_root - MEAN_ROOT).abs() < 0.01);
        let mut times = Vec::with_capacity(QUANTILES * QUANTILES);
        for root in roots {
            let seek = self.seek * (SHORTEST + (1.0 - SHORTEST) * root / mean_root);
            let turn = |at| 2.0 * self.half_turn * middle(at);
            times.extend((0..QUANTILES).map(|at| Ps::from_secs_f64(seek + turn(at))));
        }
        Table::new(&times).map_or(Law::ZERO, Law::Table)
    }

    /// Mean seconds per byte over the outer `share` (0 to 1) of its capacity. With constant linear bit density the rate
    /// is √(o² − x (o² − i²)) at the share x, outermost first.
    pub fn per_byte(&self, share: f64) -> f64 {
        let (outer, inner) = (self.rate_outer, self.rate_inner.min(self.rate_outer));
        let share = share.clamp(0.0, 1.0);
        let fall = (outer * outer - inner * inner) * share;
        if fall <= outer * outer * 1e-9 {
            return 1.0 / outer;
        }
        2.0 * (outer - (outer * outer - fall).sqrt()) / fall
    }

    /// The gain of reordering with 1, 2, … commands present, for an I/O with `transfer` seconds of transfer after its
    /// positioning: only positioning gets faster.
    pub fn gain(&self, transfer: f64) -> Vec<f64> {
        let positioning = self.positioning();
        let whole = positioning + transfer;
        let saved = self.saved.min(SAVED_MAX);
        if self.queue < 2 || saved <= 0.0 || whole <= 0.0 {
            return vec![1.0];
        }
        let power = -(1.0 - saved).ln() / f64::from(self.queue).ln();
        let gain = |present: u32| {
            let faster = f64::from(present).powf(power);
            whole / (positioning / faster + transfer)
        };
        (1..=self.queue.min(QUEUE_MAX)).map(gain).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 15,000 rpm, 450 GB: typical figures of the class.
    const FAST: Disk = Disk {
        seek: 3.3e-3,
        half_turn: 2.0e-3,
        rate_outer: 204e6,
        rate_inner: 122e6,
        size: 450e9,
        queue: 32,
        saved: 0.525,
    };

    #[track_caller]
    fn near(found: f64, expected: f64, within: f64) {
        assert!((found / expected - 1.0).abs() <= within, "{found}, not {expected}");
    }

    #[test]
    fn eight_kilobytes_at_random_take_five_milliseconds_and_a_third() {
        let law = FAST.position();
        near(law.mean(), 5.3e9, 1e-6);
        // By hand: a revolution (4 ms)² / 12; a seek (7/8 × 3.3 ms × 15/8)² (1/3 − (8/15)²).
        near(law.scv() * 5.3e-3 * 5.3e-3, 1.333e-6 + 1.433e-6, 0.02);
        near(FAST.positioning() + 8192.0 * FAST.per_byte(1.0), 5.35e-3, 2e-3);
    }

    #[test]
    fn tracks_slow_down_towards_the_middle() {
        near(1.0 / FAST.per_byte(0.0), 204e6, 1e-9);
        near(1.0 / FAST.per_byte(1e-6), 204e6, 1e-5);
        // By hand: 2 (204 − 122) / (204² − 122²) = 2 / (204 + 122) µs per byte.
        near(FAST.per_byte(1.0), 2.0 / 326e6, 1e-9);
        assert!(FAST.per_byte(0.3) < FAST.per_byte(0.6));
        let flat = Disk { rate_inner: 204e6, ..FAST };
        near(flat.per_byte(0.7), 1.0 / 204e6, 1e-9);
        let absurd = Disk { rate_inner: 300e6, ..FAST };
        near(absurd.per_byte(1.0), 1.0 / 204e6, 1e-9);
    }

    #[test]
    fn reordering_gains_by_a_power_of_the_queue_and_never_on_the_transfer() {
        let gain = FAST.gain(0.0);
        assert_eq!(gain.len(), 32);
        near(gain[0], 1.0, 1e-12);
        near(gain[31], 1.0 / 0.475, 1e-9);
        // 8 of 32: 1 / 0.475^(3/5) by hand.
        near(gain[7], 1.563, 1e-3);
        assert!(gain.windows(2).all(|pair| pair[0] < pair[1]));
        // Half of the time is transfer.
        near(FAST.gain(5.3e-3)[31], 2.0 / (0.475 + 1.0), 1e-9);
        assert_eq!(Disk { queue: 1, ..FAST }.gain(0.0), [1.0]);
        assert_eq!(Disk { saved: 0.0, ..FAST }.gain(0.0), [1.0]);
    }
}

//! Counts a stream's datagrams by their numbers: received, duplicate, reordered or lost.
//!
//! A datagram counts for the phase in which it was *sent*, which it carries; so for each phase, unique + lost = sent exactly,
//! whenever it arrived. Reordering is that of RFC 4737 (a number below the next expected one); jitter is the
//! interarrival jitter of RFC 3550, 6.4.1 and A.8, in the receiver's nanoseconds.

use super::header::DatagramHeader;
use super::{Count, PHASES, StreamMeter};
use crate::report::TestPhase;
use serde::{Deserialize, Serialize};

/// How far back a number is remembered: an older one could be a duplicate, and is not counted as received.
pub(crate) const WINDOW: u64 = 1 << 18;

/// The highest number that is believed: a test that sent more would have run for centuries.
const NUMBER_MAX: u64 = 1 << 56;

/// Datagrams of one stream at the end that reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatagramTally {
    /// Datagrams that arrived, each counted once, by the phase in which they were sent.
    pub unique: [u64; PHASES],
    /// Of them, those that a later one had overtaken.
    pub reordered: [u64; PHASES],
    /// Datagrams that had arrived before.
    pub duplicates: [u64; PHASES],
    /// Datagrams too late to be distinguished from duplicates; they count as lost.
    pub too_late: [u64; PHASES],
    /// Datagrams that are none of this stream.
    pub foreign: u64,
    /// Interarrival jitter at the end of the measured time, in nanoseconds.
    pub jitter: f64,
}

/// Watches the numbers of one stream.
pub(crate) struct SequenceWindow {
    tally: DatagramTally,
    /// One bit for each of the last [`WINDOW`] numbers.
    seen: Vec<u64>,
    /// The next number above all that arrived.
    next: u64,
    /// Of the datagram before: arrival minus departure, on two clocks, so only differences mean anything.
    transit: Option<i64>,
}

impl SequenceWindow {
    pub(crate) fn new() -> SequenceWindow {
        SequenceWindow {
            tally: DatagramTally::default(),
            seen: vec![0; (WINDOW / 64) as usize],
            next: 0,
            transit: None,
        }
    }

    /// Counts what is none of the stream's.
    pub(crate) fn foreign(&mut self) {
        self.tally.foreign += 1;
    }

    /// Counts a datagram; answers whether it is new.
    #[inline]
    pub(crate) fn take(&mut self, header: &DatagramHeader) -> bool {
        let (number, phase) = (header.number, usize::from(header.phase).min(PHASES - 1));
        if number >= NUMBER_MAX {
            self.foreign();
            return false;
        }
        if number >= self.next {
            self.forget(number);
            self.next = number + 1;
        } else if self.next - number > WINDOW {
            self.tally.too_late[phase] += 1;
            return false;
        } else if self.is_seen(number) {
            self.tally.duplicates[phase] += 1;
            return false;
        } else {
            self.tally.reordered[phase] += 1;
        }
        self.seen[place(number)] |= bit(number);
        self.tally.unique[phase] += 1;
        true
    }

    /// Takes a sample of jitter from a datagram that arrived at `at`, while the test is measured or before.
    #[inline]
    pub(crate) fn arrived(&mut self, header: &DatagramHeader, at: u64) {
        let transit = (at as i64).wrapping_sub(header.left.0 as i64);
        if let Some(before) = self.transit.replace(transit)
            && header.phase < TestPhase::Cooldown as u8
        {
            let difference = transit.wrapping_sub(before).unsigned_abs() as f64;
            self.tally.jitter += (difference - self.tally.jitter) / 16.0;
        }
    }

    /// Shows what was counted until now. What an interval lost are the numbers passed over by its end, less those passed
    /// over before it: where a late one fills a gap of an earlier interval, the next gaps are so much smaller.
    pub(crate) fn tell(&self, meter: &StreamMeter) {
        let sum = |counts: &[u64; PHASES]| counts.iter().sum::<u64>();
        let missing = self.next.saturating_sub(sum(&self.tally.unique));
        meter.set(Count::Lost, meter.get(Count::Lost).max(missing));
        meter.set(Count::Reordered, sum(&self.tally.reordered));
        meter.set(Count::Duplicates, sum(&self.tally.duplicates));
        meter.set(Count::Jitter, self.tally.jitter as u64);
    }

    /// What was counted.
    pub(crate) fn tally(&self) -> DatagramTally {
        self.tally
    }

    fn is_seen(&self, number: u64) -> bool {
        self.seen[place(number)] & bit(number) != 0
    }

    /// Clears the bits from the next number up to `number`, which stood for numbers that leave the window.
    #[inline]
    fn forget(&mut self, number: u64) {
        if number - self.next >= WINDOW {
            self.seen.fill(0);
            return;
        }
        for gone in self.next..=number {
            self.seen[place(gone)] &= !bit(gone);
        }
    }
}

fn place(number: u64) -> usize {
    (number % WINDOW / 64) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::{Ns, Rng};
    use std::collections::BTreeSet;

    fn header(number: u64, phase: u8) -> DatagramHeader {
        DatagramHeader { tag: 0, phase, number, left: Ns::ZERO }
    }

    /// Arrivals of phase 1, and what is to be counted: unique, reordered, duplicates, too late.
    #[track_caller]
    fn check(numbers: &[u64], expected: [u64; 4]) {
        let mut sequence = SequenceWindow::new();
        numbers.iter().for_each(|number| {
            sequence.take(&header(*number, 1));
        });
        let tally = sequence.tally();
        let of = |counts: [u64; PHASES]| counts[1];
        let found = [tally.unique, tally.reordered, tally.duplicates, tally.too_late].map(of);
        assert_eq!(found, expected, "{numbers:?}");
    }

    #[test]
    fn numbers_tell_what_became_of_datagrams() {
        check(&[], [0; 4]);
        check(&[0, 1, 2, 3], [4, 0, 0, 0]);
        check(&[0, 2, 4], [3, 0, 0, 0]);
        check(&[0, 2, 1, 3], [4, 1, 0, 0]);
        check(&[3, 2, 1, 0], [4, 3, 0, 0]);
        check(&[0, 0, 1, 1, 0], [2, 0, 3, 0]);
        check(&[1, 0, 0], [2, 1, 1, 0]);
        check(&[0, WINDOW, 1, 0], [3, 1, 0, 1]);
        check(&[0, 5 * WINDOW, 4 * WINDOW, 4 * WINDOW + 1, 4 * WINDOW + 1], [3, 1, 1, 1]);
        check(&[0, WINDOW - 1, WINDOW, 2 * WINDOW - 1, WINDOW - 1], [4, 0, 0, 1]);
        check(&[u64::MAX, NUMBER_MAX, 0], [1, 0, 0, 0]);
    }

    #[test]
    fn a_datagram_counts_for_the_phase_that_it_was_sent_in() {
        let mut sequence = SequenceWindow::new();
        for (number, phase) in [(0, 0), (2, 1), (1, 0), (2, 1), (3, 2)] {
            sequence.take(&header(number, phase));
        }
        let tally = sequence.tally();
        assert_eq!((tally.unique, tally.reordered), ([2, 1, 1], [1, 0, 0]));
        assert_eq!(tally.duplicates, [0, 1, 0]);
    }

    /// Against sets that remember everything.
    #[test]
    fn chance_agrees_with_a_slow_reference() {
        for seed in 0..20 {
            let mut rng = Rng::keyed(seed, &[]);
            let mut sequence = SequenceWindow::new();
            let (mut all, mut highest, mut sent) = (BTreeSet::new(), None, 0u64);
            let (mut reordered, mut duplicates) = (0, 0);
            for _ in 0..5_000 {
                sent += 1 + rng.below(3);
                let number = sent.saturating_sub(rng.below(40));
                match (all.insert(number), highest) {
                    (false, _) => duplicates += 1,
                    (true, Some(top)) if number < top => reordered += 1,
                    _ => {}
                }
                highest = highest.max(Some(number));
                sequence.take(&header(number, 1));
            }
            let tally = sequence.tally();
            let expected = (all.len() as u64, reordered, duplicates);
            assert_eq!(
                (tally.unique[1], tally.reordered[1], tally.duplicates[1]),
                expected,
                "{seed}"
            );
        }
    }

    /// Numbers in intervals, and the losses reported for each.
    #[track_caller]
    fn lost(intervals: &[&[u64]], expected: &[u64]) {
        let (mut sequence, meter) = (SequenceWindow::new(), StreamMeter::default());
        let mut before = 0;
        let mut found = Vec::new();
        for numbers in intervals {
            for number in *numbers {
                sequence.take(&header(*number, 1));
            }
            sequence.tell(&meter);
            let now = meter.get(Count::Lost);
            found.push(now - std::mem::replace(&mut before, now));
        }
        assert_eq!(found, expected, "{intervals:?}");
    }

    #[test]
    fn an_interval_loses_what_is_missing_by_its_end() {
        lost(&[&[0, 1, 2], &[3]], &[0, 0]);
        lost(&[&[0, 2], &[5]], &[1, 2]);
        // Late within the interval: nothing is missing.
        lost(&[&[0, 2, 1], &[3]], &[0, 0]);
        // Late in the next one: what that one loses is so much less.
        lost(&[&[0, 2], &[1, 3], &[6, 8]], &[1, 0, 2]);
        lost(&[&[], &[4], &[4, 4]], &[0, 4, 0]);
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut sequence = SequenceWindow::new();
        // Sent every 1,000 ns; transits of 500, 660, 500 and 500 ns differ by 160, 160 and 0.
        for (number, arrived) in [(0u64, 500), (1, 1_660), (2, 2_500), (3, 3_500)] {
            let left = Ns(number * 1_000);
            sequence.arrived(&DatagramHeader { left, ..header(number, 1) }, arrived);
        }
        let first = 160.0 / 16.0;
        let second = first + (160.0 - first) / 16.0;
        assert!((sequence.tally().jitter - second * 15.0 / 16.0).abs() < 1e-9);
        let calm = sequence.tally().jitter;
        sequence.arrived(&header(4, 2), 9_000_000);
        assert_eq!(sequence.tally().jitter, calm, "what follows the measurement is left out");
    }
}

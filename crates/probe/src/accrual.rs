//! Sums of what a source's counters moved, whatever the counters do: wrap, begin anew, or move further than is possible.
//!
//! A decrease is one wrap only where the width is known and the line could not have filled it in the time between; anything
//! else is a reset, and nothing is known of the interval. What is unknown is not a number, never zero.

use crate::source::{Amount, Look};
use clock::Ns;
use record::CounterId;
use std::collections::BTreeMap;

/// Bytes a second that no port exceeds, each way (400 Gbit/s): what a wrap is judged by.
const FASTEST: f64 = 50e9;
/// Bytes that a port of a known speed may have counted above it, over so many times its speed: counters that are refreshed
/// in batches show more than an interval's worth at once.
const SLACK: f64 = 64e6;
const BEYOND: f64 = 2.0;

/// What a source's counters have moved in all since the first look.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// When, on the monotonic clock.
    pub at: Ns,
    /// Of each place its counters; what is not a number is unknown at this moment.
    pub places: Vec<Vec<(CounterId, f64)>>,
}

/// Something odd about a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oddity {
    /// It went back and begins anew.
    Reset,
    /// It wrapped once, which was made up for.
    Wrapped,
    /// It moved further than its port can carry.
    Impossible,
    /// It may have wrapped more than once: too narrow for its port and the time between two looks.
    Narrow,
}

/// One counter of one place.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Ns,
    amount: Amount,
    total: f64,
}

/// Sums by place and counter.
#[derive(Debug, Default)]
pub struct Accrual {
    /// By place, and by position in its list: a counter may come in several parts.
    seen: BTreeMap<(usize, usize), (CounterId, Seen)>,
    life: Option<u64>,
}

impl Accrual {
    /// Takes in a look; the oddities come by place.
    pub fn take(&mut self, look: &Look) -> (Totals, Vec<(usize, CounterId, Oddity)>) {
        let mut odd = Vec::new();
        // Sums go on across lives, but for the interval in which one began.
        let new_life = self.life.replace(look.life).is_some_and(|life| life != look.life);
        let places = look.places.iter().enumerate().map(|(place, entries)| {
            let speed = entries.iter().find_map(|(id, amount)| match (id, amount) {
                (CounterId::PortRate, Amount::Level(rate)) if *rate > 0.0 => Some(*rate),
                _ => None,
            });
            let mut out: Vec<(CounterId, f64)> = Vec::with_capacity(entries.len());
            for (part, (id, amount)) in entries.iter().enumerate() {
                let key = (place, part);
                let before = self.seen.get(&key).filter(|(of, _)| of == id).map(|(_, seen)| *seen);
                let (value, total) = match (before, new_life) {
                    (Some(before), false) => {
                        let (value, oddity) = moved(*id, &before, *amount, look.at, speed);
                        odd.extend(oddity.map(|oddity| (place, *id, oddity)));
                        (
                            value,
                            before.total
                                + if value.is_finite() { value - before.total } else { 0.0 },
                        )
                    }
                    (Some(before), true) => (f64::NAN, before.total),
                    (None, _) => (first(*amount), 0.0),
                };
                self.seen.insert(key, (*id, Seen { at: look.at, amount: *amount, total }));
                match out.iter_mut().find(|(of, _)| of == id) {
                    Some((_, sum)) => *sum += value,
                    None => out.push((*id, value)),
                }
            }
            out
        });
        let totals = Totals { at: look.at, places: places.collect() };
        (totals, odd)
    }
}

/// The first value of a counter: its sum begins with nothing.
fn first(amount: Amount) -> f64 {
    match amount {
        Amount::Level(level) => level,
        _ => 0.0,
    }
}

/// The new sum of a counter, and what is odd about it.
fn moved(
    id: CounterId,
    before: &Seen,
    now: Amount,
    at: Ns,
    speed: Option<f64>,
) -> (f64, Option<Oddity>) {
    let seconds = at.since(before.at).as_secs_f64();
    let (delta, oddity) = match (before.amount, now) {
        (_, Amount::Level(level)) => return (level, None),
        (_, Amount::Rate(rate)) => (rate * seconds, None),
        (Amount::Total(old), Amount::Total(new)) if new >= old => (new - old, None),
        (Amount::Grows { raw: old, .. }, Amount::Grows { raw: new, bits, unit }) => {
            let width = 2_f64.powi(i32::try_from(bits).unwrap_or(0)) * unit;
            let most = match id {
                CounterId::ReadBytes | CounterId::WriteBytes => speed.unwrap_or(FASTEST) * seconds,
                _ => 0.0,
            };
            match new >= old {
                // It may have wrapped any number of times.
                _ if bits == 32 && most >= width => (f64::NAN, Some(Oddity::Narrow)),
                true => ((new - old) as f64 * unit, None),
                false if bits == 32 && wraps(id) => {
                    (new as f64 * unit + width - old as f64 * unit, Some(Oddity::Wrapped))
                }
                false => (f64::NAN, Some(Oddity::Reset)),
            }
        }
        _ => (f64::NAN, Some(Oddity::Reset)),
    };
    let bytes = matches!(id, CounterId::ReadBytes | CounterId::WriteBytes);
    let most = |speed: f64| BEYOND * speed * seconds + SLACK;
    match speed.filter(|speed| bytes && delta > most(*speed)) {
        Some(_) => (f64::NAN, Some(Oddity::Impossible)),
        None => (before.total + delta, oddity),
    }
}

/// Counters that wrap by themselves in hours. One of errors does not: what went back was cleared.
fn wraps(id: CounterId) -> bool {
    use CounterId::{Busy, QueueTime, ReadBytes, ReadTime, WriteBytes, WriteTime};
    matches!(id, ReadTime | WriteTime | Busy | QueueTime | ReadBytes | WriteBytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use CounterId::{Errors, PortRate, ReadBytes};

    fn grows(raw: u64, bits: u32) -> Amount {
        Amount::Grows { raw, bits, unit: 1.0 }
    }

    /// Values of one counter after each look, a second apart, at a port of this speed.
    fn check(id: CounterId, speed: f64, looks: &[Amount]) -> (Vec<f64>, Vec<Oddity>) {
        let (mut accrual, mut out, mut odd) = (Accrual::default(), Vec::new(), Vec::new());
        for (second, amount) in (1..).zip(looks) {
            let entries = vec![(id, *amount), (PortRate, Amount::Level(speed))];
            let look = Look { at: Ns::secs(second), life: 0, places: vec![entries] };
            let (totals, found) = accrual.take(&look);
            out.push(totals.places[0][0].1);
            odd.extend(found.into_iter().map(|(_, _, oddity)| oddity));
        }
        (out, odd)
    }

    #[test]
    fn a_narrow_counter_wraps_once_where_its_line_cannot_fill_it() {
        let top = (1 << 32) - 100;
        let looks = [grows(top, 32), grows(50, 32), grows(70, 32)];
        let (values, odd) = check(ReadBytes, 1.25e9, &looks);
        assert_eq!((values, odd), (vec![0.0, 150.0, 170.0], vec![Oddity::Wrapped]));
        // At 64 Gbit/s, or at an unknown speed, it may have wrapped twice, and growth means nothing either.
        for speed in [8e9, 0.0] {
            let (values, odd) = check(ReadBytes, speed, &[grows(5, 32), grows(9, 32)]);
            assert!(values[1].is_nan() && odd == [Oddity::Narrow], "{speed}");
        }
    }

    #[test]
    fn what_went_back_was_reset_and_goes_on_from_there() {
        for (id, bits) in [(ReadBytes, 64), (Errors, 32), (Errors, 0)] {
            let (values, odd) =
                check(id, 1.25e9, &[grows(900, bits), grows(20, bits), grows(30, bits)]);
            assert!(values[1].is_nan(), "{id:?}");
            assert_eq!((values[2], odd), (10.0, vec![Oddity::Reset]), "{id:?}");
        }
    }

    #[test]
    fn what_no_port_carries_is_not_believed() {
        let looks = [grows(0, 64), grows(1 << 40, 64), grows((1 << 40) + 7, 64)];
        let (values, odd) = check(ReadBytes, 1.25e9, &looks);
        assert!(values[1].is_nan());
        assert_eq!((values[2], odd), (7.0, vec![Oddity::Impossible]));
    }

    #[test]
    fn the_whole_width_is_exact() {
        let old = u64::MAX - 4096;
        let (values, _) = check(ReadBytes, 1.25e9, &[grows(old, 64), grows(old + 3, 64)]);
        assert_eq!(values, [0.0, 3.0]);
    }

    #[test]
    fn a_rate_is_summed_over_time_and_another_life_begins_with_a_hole() {
        let mut accrual = Accrual::default();
        let mut take = |second, life, amount| {
            let places = vec![vec![(ReadBytes, amount)]];
            accrual.take(&Look { at: Ns::secs(second), life, places }).0.places[0][0].1
        };
        assert_eq!(take(1, 0, Amount::Rate(10.0)), 0.0);
        assert_eq!(take(3, 0, Amount::Rate(10.0)), 20.0);
        assert!(take(4, 1, Amount::Rate(10.0)).is_nan());
        assert_eq!(take(5, 1, Amount::Rate(4.0)), 24.0);
    }
}

//! Counters that only grow, looked at several times: switches, SNMP walks, Prometheus. A decrease is a wrap only where the width
//! is known and the line could not have filled it in the time between; else it is a reset, and nothing is known of the interval.

use super::error::ReadError;
use super::model::{Feed, Measure, Span};
use record::Level;
use std::collections::BTreeMap;

/// Bytes a second that no port exceeds (128GFC and 100 Gbit/s, each way): what a wrap is judged by.
const FASTEST: f64 = 12.9e9;

/// By how much a port may seem faster than it is, as clocks are read.
const FASTER: f64 = 1.1;
/// A wait may last this times as long as clocks say.
const LONGER: f64 = 1.05;

/// A counter's value at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub place: usize,
    pub measure: Measure,
    /// Its value in base units.
    pub value: f64,
    /// The value at which it wraps, in base units; `None` where that is not known.
    pub wraps: Option<f64>,
}

/// Looks of a file, by their moment.
#[derive(Default)]
pub(super) struct Looks {
    pub at: BTreeMap<i64, Vec<Look>>,
    /// Bytes a second that places carry at most, where that is known.
    pub fastest: BTreeMap<usize, f64>,
}

impl Looks {
    pub fn add(&mut self, at: i64, look: Look) {
        self.at.entry(at).or_default().push(look);
    }

    /// Writes the differences into the rows of a feed. Several columns of one measure are added up.
    pub fn fill(self, feed: &mut Feed) -> Result<(), ReadError> {
        if self.at.len() < 2 {
            return Err(ReadError::new(
                1,
                1,
                "counters that only grow need two looks: take the output again after a minute, with `date` before each",
            ));
        }
        let mut last: BTreeMap<(usize, Measure), (f64, i64, Option<f64>)> = BTreeMap::new();
        let (mut resets, mut impossible) = (0, 0);
        let mut before: Option<i64> = None;
        for (at, looks) in self.at {
            let row = before.map(|from| {
                feed.rows.push(Span { from, to: at });
                feed.rows.len() - 1
            });
            let mut sums: BTreeMap<(usize, Measure), (f64, Option<f64>)> = BTreeMap::new();
            for look in looks {
                let sum = sums.entry((look.place, look.measure)).or_insert((0.0, look.wraps));
                sum.0 += look.value;
            }
            for ((place, measure), (value, wraps)) in sums {
                let old = last.insert((place, measure), (value, at, wraps));
                // A counter of another width is another counter.
                let old = old.filter(|(.., width)| *width == wraps);
                let (Some((old, since, _)), Some(row)) = (old, row) else { continue };
                let seconds = (at - since) as f64 / 1e9;
                let fastest = self.fastest.get(&place).map_or(FASTEST, |speed| speed * FASTER);
                let once = wraps.filter(|wraps| fastest * seconds < *wraps);
                let moved = match (value >= old, once) {
                    (true, _) if wraps.is_none_or(|w| w > fastest * seconds) => value - old,
                    (false, Some(wraps)) => value + wraps - old,
                    // It may have wrapped any number of times, or begun anew.
                    _ => {
                        resets += 1;
                        continue;
                    }
                };
                // No wait is longer than the time in which it was.
                if measure == Measure::CreditWait && moved > LONGER * seconds {
                    impossible += 1;
                } else if since == feed.rows[row].from {
                    feed.put(row, place, measure, moved / seconds);
                }
            }
            before = Some(at);
        }
        if resets > 0 {
            let text = format!(
                "{}: {resets} differences of counters are unknown: the counter was reset, or its width is too small for the interval; take the 64-bit counters",
                feed.name
            );
            feed.note(Level::Warning, "counter-reset", text);
        }
        if impossible > 0 {
            let text = format!(
                "{}: {impossible} times without credit are longer than the time between two looks, and left out",
                feed.name
            );
            feed.note(Level::Warning, "identity-failed", text);
        }
        Ok(())
    }
}

//! One alarm per station, which can be moved: for stations whose next departure changes with every arrival.
//!
//! A tournament beside the event queue, among all stations that may have an alarm: no stale entries remain, and no
//! positions need to be kept.

use super::event::{EventKey, SimEvent};
use super::tournament::Tournament;
use crate::Ps;

/// No alarm: later than any event.
const UNSET: EventKey = EventKey::MAX;

/// The alarms of all stations that can have one.
#[derive(Clone, Debug)]
pub struct Alarms {
    all: Tournament<EventKey>,
    /// Per station the number of its alarm; [`u32::MAX`] where it has none.
    numbers: Box<[u32]>,
}

impl Alarms {
    /// Unset alarms for the stations `with`, all below `stations`.
    pub fn new(stations: usize, with: &[u32]) -> Alarms {
        let mut numbers = vec![u32::MAX; stations];
        for (number, place) in (0..).zip(with) {
            numbers[*place as usize] = number;
        }
        Alarms { all: Tournament::new(with.len(), UNSET), numbers: numbers.into() }
    }

    /// The key of the first alarm; [`EventKey::MAX`] where none is set.
    #[inline]
    pub fn first(&self) -> EventKey {
        self.all.first()
    }

    /// Whether no alarm is set.
    pub fn is_empty(&self) -> bool {
        self.first() == UNSET
    }

    /// The first alarm, which stays until it is set again or cleared.
    #[inline]
    pub fn ringing(&self) -> Option<SimEvent> {
        let first = self.first();
        (first != UNSET).then(|| SimEvent::of(first))
    }

    /// Sets or moves the alarm of `place`.
    #[inline]
    pub fn set(&mut self, place: u32, time: Ps) {
        // A station has one alarm, so no sequence needs to order two.
        self.put(place, SimEvent::new(time, place, 0, 0).key());
    }

    /// Clears the alarm of `place`, if one is set.
    #[inline]
    pub fn clear(&mut self, place: u32) {
        self.put(place, UNSET);
    }

    fn put(&mut self, place: u32, key: EventKey) {
        let number = self.numbers[place as usize];
        if number != u32::MAX {
            self.all.set(number as usize, key);
        }
    }
}

//! One alarm per station, which can be moved: for stations whose next departure changes with every arrival.
//!
//! A tournament beside the event queue, among all stations that may have an alarm: no stale entries remain, and no
//! positions need to be kept.

use super::event::SimEvent;
use super::tournament::Tournament;
use crate::Ps;

/// No alarm: later than any event.
const UNSET: Ps = Ps::MAX;

/// The alarms of all stations that can have one.
#[derive(Clone, Debug)]
pub struct Alarms {
    all: Tournament<Ps>,
    /// Per alarm its station, in order.
    places: Box<[u32]>,
    /// Per station the number of its alarm; [`u32::MAX`] where it has none.
    numbers: Box<[u32]>,
}

impl Alarms {
    /// Unset alarms for the stations `with`, in order, all below `stations`.
    pub fn new(stations: usize, with: &[u32]) -> Alarms {
        let mut numbers = vec![u32::MAX; stations];
        for (number, place) in (0..).zip(with) {
            numbers[*place as usize] = number;
        }
        let all = Tournament::new(with.len(), UNSET);
        Alarms { all, places: with.into(), numbers: numbers.into() }
    }

    /// When the first rings; [`Ps::MAX`] where none is set.
    #[inline]
    pub fn first(&self) -> Ps {
        self.all.first()
    }

    /// The first alarm, which stays until it is set again or cleared. Of those at one moment it is that of the lowest
    /// station.
    #[inline]
    pub fn ringing(&self) -> Option<SimEvent> {
        let first = self.first();
        let place = *self.places.get(self.all.holder())?;
        // A station has one alarm, so no sequence needs to order two.
        (first != UNSET).then(|| SimEvent::new(first, place, 0, 0))
    }

    /// Sets or moves the alarm of `place`.
    #[inline]
    pub fn set(&mut self, place: u32, time: Ps) {
        let number = self.numbers[place as usize];
        if number != u32::MAX {
            self.all.set(number as usize, time);
        }
    }

    /// Clears the alarm of `place`, if one is set.
    #[inline]
    pub fn clear(&mut self, place: u32) {
        self.set(place, UNSET);
    }
}

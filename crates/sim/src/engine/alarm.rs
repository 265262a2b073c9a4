//! One alarm a place, which can be moved: for stations whose next departure changes with every arrival.
//!
//! A tournament beside the pending events: the leaves are the times of all places that may have an alarm, in the order of the
//! places, and each node above holds the lesser of the two below it. An alarm that is moved is compared upwards until nothing
//! changes, which is soon where it is not the first; nothing is left behind, and no positions need to be kept.

use super::event::{Event, Key};
use crate::Ps;

/// No alarm: later than any.
const UNSET: Ps = Ps::MAX;

/// The alarms of all places that have one.
#[derive(Clone, Debug)]
pub struct Alarms {
    /// Number 1 is the root; below number n are 2n and 2n + 1. The leaves are the second half.
    times: Box<[Ps]>,
    /// For each place the number of its leaf; 0 where there is none.
    leaves: Box<[u32]>,
    /// The places of the leaves.
    places: Box<[u32]>,
    /// The first alarm.
    first: Event,
}

impl Alarms {
    /// No alarm yet, for these places of all that are below `places`.
    pub fn new(places: usize, with: impl Iterator<Item = u32>) -> Alarms {
        let with: Box<[u32]> = with.collect();
        let half = with.len().next_power_of_two();
        let mut leaves = vec![0; places];
        for (leaf, place) in (half as u32..).zip(&with) {
            leaves[*place as usize] = leaf;
        }
        Alarms {
            times: vec![UNSET; 2 * half].into(),
            leaves: leaves.into(),
            places: with,
            first: Event::new(UNSET, 0, 0, 0),
        }
    }

    /// The key of the first alarm; beyond all where there is none.
    #[inline]
    pub fn first(&self) -> Key {
        if self.is_empty() { Key::MAX } else { self.first.key() }
    }

    /// Whether none is set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.time == UNSET
    }

    /// The first alarm, which stays until it is set anew or cleared.
    #[inline]
    pub fn ringing(&self) -> Option<Event> {
        (!self.is_empty()).then_some(self.first)
    }

    /// Sets the alarm of `place`, in the place of the one that was set.
    #[inline]
    pub fn set(&mut self, place: u32, time: Ps) {
        let leaf = self.leaves[place as usize] as usize;
        let times = &mut *self.times;
        let Some(at) = times.get_mut(leaf) else { return };
        *at = time;
        let (mut at, mut least) = (leaf, time);
        while at > 1 {
            // The other of the two.
            least = least.min(times[at ^ 1]);
            at /= 2;
            if times[at] == least {
                break;
            }
            times[at] = least;
        }
        if place == self.first.place() || time <= self.first.time {
            self.find();
        }
    }

    /// Takes back the alarm of `place`, if one is set.
    #[inline]
    pub fn clear(&mut self, place: u32) {
        self.set(place, UNSET);
    }

    /// Finds whose alarm is first: of equal times the lowest place's.
    #[inline]
    fn find(&mut self) {
        let times = &*self.times;
        let (half, time) = (times.len() / 2, times[1]);
        let mut at = 1;
        while at < half {
            at = 2 * at + usize::from(times[2 * at] != time);
        }
        let place = self.places.get(at - half).copied().unwrap_or(0);
        self.first = Event::new(time, place, 0, 0);
    }
}

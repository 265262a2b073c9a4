//! One alarm per station, which can be moved: for stations whose next departure changes with every arrival.
//!
//! A tournament tree beside the event queue: the leaves are the alarms of all stations that may have one, and each
//! inner node holds the lesser of its two children. Moving an alarm compares upwards until nothing changes, which is
//! soon unless it is the first; no stale entries remain, and no positions need to be kept.

use super::event::{EventKey, SimEvent};
use crate::Ps;

/// No alarm: later than any event.
const UNSET: EventKey = EventKey::MAX;

/// The alarms of all stations that can have one.
#[derive(Clone, Debug)]
pub struct Alarms {
    /// Node 1 is the root; the children of n are 2n and 2n + 1. The leaves are the second half.
    nodes: Box<[EventKey]>,
    /// Per station the number of its leaf; 0 where it has none.
    leaves: Box<[u32]>,
}

impl Alarms {
    /// Unset alarms for the stations `with`, all below `stations`.
    pub fn new(stations: usize, with: &[u32]) -> Alarms {
        let half = with.len().next_power_of_two();
        let mut leaves = vec![0; stations];
        for (leaf, place) in (half as u32..).zip(with) {
            leaves[*place as usize] = leaf;
        }
        Alarms { nodes: vec![UNSET; 2 * half].into(), leaves: leaves.into() }
    }

    /// The key of the first alarm; [`EventKey::MAX`] where none is set.
    #[inline]
    pub fn first(&self) -> EventKey {
        self.nodes[1]
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
        let mut at = self.leaves[place as usize] as usize;
        let nodes = &mut *self.nodes;
        if at == 0 {
            return;
        }
        let mut least = key;
        nodes[at] = least;
        while at > 1 {
            // Compares with the sibling.
            least = least.min(nodes[at ^ 1]);
            at /= 2;
            if nodes[at] == least {
                return;
            }
            nodes[at] = least;
        }
    }
}

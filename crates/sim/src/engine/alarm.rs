//! One alarm a place, which can be moved: for stations whose next departure changes with every arrival.
//!
//! A tournament beside the pending events: the leaves are the alarms of all places that may have one, and each node above
//! holds the lesser of the two below it. An alarm that is moved is compared upwards until nothing changes, which is soon where
//! it is not the first; nothing is left behind, and no positions need to be kept.

use super::event::{Event, Key};
use crate::Ps;

/// No alarm: later than any.
const UNSET: Key = Key::MAX;

/// The alarms of all places that have one.
#[derive(Clone, Debug)]
pub struct Alarms {
    /// Number 1 is the root; below number n are 2n and 2n + 1. The leaves are the second half.
    nodes: Box<[Key]>,
    /// For each place the number of its leaf; 0 where there is none.
    leaves: Box<[u32]>,
}

impl Alarms {
    /// No alarm yet, for those of all places below `places` that are numbered here.
    pub fn new(places: usize, with: &[u32]) -> Alarms {
        let half = with.len().next_power_of_two();
        let mut leaves = vec![0; places];
        for (leaf, place) in (half as u32..).zip(with) {
            leaves[*place as usize] = leaf;
        }
        Alarms { nodes: vec![UNSET; 2 * half].into(), leaves: leaves.into() }
    }

    /// The key of the first alarm; beyond all where there is none.
    #[inline]
    pub fn first(&self) -> Key {
        self.nodes[1]
    }

    /// Whether none is set.
    pub fn is_empty(&self) -> bool {
        self.first() == UNSET
    }

    /// The first alarm, which stays until it is set anew or cleared.
    #[inline]
    pub fn ringing(&self) -> Option<Event> {
        let first = self.first();
        (first != UNSET).then(|| Event::of(first))
    }

    /// Sets the alarm of `place`, in the place of the one that was set.
    #[inline]
    pub fn set(&mut self, place: u32, time: Ps) {
        // A place has one alarm, so that no sequence decides between two.
        self.put(place, Event::new(time, place, 0, 0).key());
    }

    /// Takes back the alarm of `place`, if one is set.
    #[inline]
    pub fn clear(&mut self, place: u32) {
        self.put(place, UNSET);
    }

    fn put(&mut self, place: u32, key: Key) {
        let mut at = self.leaves[place as usize] as usize;
        let nodes = &mut *self.nodes;
        if at == 0 {
            return;
        }
        let mut least = key;
        nodes[at] = least;
        while at > 1 {
            // Against the other of the two.
            least = least.min(nodes[at ^ 1]);
            at /= 2;
            if nodes[at] == least {
                return;
            }
            nodes[at] = least;
        }
    }
}

//! One alarm a place, which can be moved: for stations whose next departure changes with every arrival. A small heap with
//! positions beside the pending events, so that an alarm that was moved leaves nothing behind.

use super::event::{Event, Key};

const ABSENT: u32 = u32::MAX;

/// The alarms of all places that have one.
#[derive(Clone, Debug, Default)]
pub struct Alarms {
    heap: Vec<Event>,
    /// For each place, where in the heap its alarm stands.
    position: Vec<u32>,
}

impl Alarms {
    /// No alarm yet, for the places below `places`.
    pub fn new(places: usize) -> Alarms {
        Alarms { heap: Vec::with_capacity(places), position: vec![ABSENT; places] }
    }

    /// The key of the first alarm; beyond all where there is none.
    #[inline]
    pub fn first(&self) -> Key {
        self.heap.first().map_or(Key::MAX, Event::key)
    }

    /// Whether none is set.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The first alarm, which stays until it is set anew or cleared.
    #[inline]
    pub fn ringing(&self) -> Option<Event> {
        self.heap.first().copied()
    }

    /// Sets the alarm of `event`'s place, in the place of the one that was set.
    pub fn set(&mut self, event: Event) {
        let place = event.place() as usize;
        let at = match self.position[place] {
            ABSENT => {
                self.heap.push(event);
                self.heap.len() - 1
            }
            at => {
                self.heap[at as usize] = event;
                at as usize
            }
        };
        self.settle(at);
    }

    /// Takes back the alarm of `place`, if one is set.
    pub fn clear(&mut self, place: u32) {
        let at = std::mem::replace(&mut self.position[place as usize], ABSENT);
        if at != ABSENT {
            self.heap.swap_remove(at as usize);
            if (at as usize) < self.heap.len() {
                self.settle(at as usize);
            }
        }
    }

    /// Lets the alarm at `at` rise or sink to where it belongs.
    fn settle(&mut self, mut at: usize) {
        while at > 0 && self.heap[at].key() < self.heap[(at - 1) / 2].key() {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        loop {
            let children = (2 * at + 1)..self.heap.len().min(2 * at + 3);
            let least = children.min_by_key(|child| self.heap[*child].key());
            match least {
                Some(child) if self.heap[child].key() < self.heap[at].key() => {
                    self.swap(at, child);
                    at = child;
                }
                _ => break,
            }
        }
        self.position[self.heap[at].place() as usize] = at as u32;
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.position[self.heap[a].place() as usize] = a as u32;
        self.position[self.heap[b].place() as usize] = b as u32;
    }
}

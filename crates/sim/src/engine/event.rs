//! The pending events, in the order of (time, place, sequence).
//!
//! An implicit heap with four children a node: half the depth of a binary one, and the four lie side by side, so that a
//! level costs one or two cache lines. Most events cause one other, so a removal leaves a hole at the root that the next
//! insertion fills: one walk down in the place of two (after the hold operation of Jones, 1986, who compared event sets).

use crate::Ps;
use std::hint::select_unpredictable;

/// Bits of [`Event::tie`] that hold the sequence; above them stands the place.
const SEQUENCE_BITS: u32 = 44;
const ARITY: usize = 4;

/// Something that happens at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub time: Ps,
    /// What decides between events of one moment.
    tie: u64,
    /// To whom: an I/O, or a slot of a source.
    pub who: u32,
}

/// Orders events: the time, then the place, then the sequence.
pub type Key = u128;

impl Event {
    /// An event at `place` (below 2^20). Sequences count modulo 2^44, which is days of simulating.
    #[inline]
    pub fn new(time: Ps, place: u32, sequence: u64, who: u32) -> Event {
        let sequence = sequence & ((1 << SEQUENCE_BITS) - 1);
        Event { time, tie: u64::from(place) << SEQUENCE_BITS | sequence, who }
    }

    /// Where.
    #[inline]
    pub fn place(&self) -> u32 {
        (self.tie >> SEQUENCE_BITS) as u32
    }

    /// Its place in the order of all events.
    #[inline]
    pub fn key(&self) -> Key {
        u128::from(self.time.0) << 64 | u128::from(self.tie)
    }
}

/// Before all events of `time`, and after all earlier ones.
#[inline]
pub fn start_of(time: Ps) -> Key {
    u128::from(time.0) << 64
}

/// Before all events later than `time`, and after all others.
#[inline]
pub fn end_of(time: Ps) -> Key {
    (u128::from(time.0) + 1) << 64
}

/// Events that have not happened yet.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    heap: Vec<Event>,
    /// The root has been taken out, and nobody has taken its place yet.
    hole: bool,
}

impl Pending {
    /// Room for `events` without allocating.
    pub fn with_capacity(events: usize) -> Pending {
        Pending { heap: Vec::with_capacity(events), hole: false }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.heap[usize::from(self.hole)..].iter()
    }

    /// Adds one.
    #[inline]
    pub fn push(&mut self, event: Event) {
        if self.hole {
            self.hole = false;
            self.sink(event);
        } else {
            self.heap.push(event);
            self.rise(event);
        }
    }

    /// Takes out the first, if it comes before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: Key) -> Option<Event> {
        if self.hole {
            self.hole = false;
            let last = self.heap.pop()?;
            if self.heap.is_empty() {
                // What was popped was the hole itself.
                return None;
            }
            self.sink(last);
        }
        let first = *self.heap.first()?;
        if first.key() >= end {
            return None;
        }
        self.hole = true;
        Some(first)
    }

    /// Takes out all events that `which` says, wherever they are. Costs a look at each pending one.
    pub fn remove(&mut self, mut which: impl FnMut(&Event) -> bool) {
        if std::mem::take(&mut self.hole) {
            self.heap.swap_remove(0);
        }
        self.heap.retain(|event| !which(event));
        // Sinking from the last parent up makes a heap again (Floyd 1964).
        for at in (0..self.heap.len().div_ceil(ARITY)).rev() {
            let event = self.heap[at];
            self.sink_from(at, event);
        }
    }

    /// Lets `event`, the last of the heap, rise to its place.
    #[inline]
    fn rise(&mut self, event: Event) {
        let key = event.key();
        let mut at = self.heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent].key() <= key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = event;
    }

    /// Puts `event` at the root and lets it sink to its place.
    #[inline]
    fn sink(&mut self, event: Event) {
        self.sink_from(0, event);
    }

    /// Puts `event` in the place of the one at `at` and lets it sink to its place.
    #[inline]
    fn sink_from(&mut self, mut at: usize, event: Event) {
        let key = event.key();
        let heap = self.heap.as_mut_slice();
        loop {
            let first = at * ARITY + 1;
            let Some(children) = heap.get(first..heap.len().min(first + ARITY)) else { break };
            let (least, chosen) = least_of(children);
            if least >= key {
                break;
            }
            heap[at] = heap[first + chosen];
            at = first + chosen;
        }
        heap[at] = event;
    }
}

/// The least key of up to [`ARITY`] events, and which of them has it.
///
/// Which one it is cannot be foreseen, so that a branch would be mispredicted every other time: the rounds of a small
/// tournament choose without one.
#[inline]
fn least_of(children: &[Event]) -> (Key, usize) {
    if let [a, b, c, d] = children {
        let (a, b, c, d) = (a.key(), b.key(), c.key(), d.key());
        let (second, fourth) = (b < a, d < c);
        let left = select_unpredictable(second, b, a);
        let right = select_unpredictable(fourth, d, c);
        let to_right = right < left;
        let least = select_unpredictable(to_right, right, left);
        let chosen = select_unpredictable(to_right, 2 + usize::from(fourth), usize::from(second));
        return (least, chosen);
    }
    let mut least = (Key::MAX, 0);
    for (number, child) in children.iter().enumerate() {
        if child.key() < least.0 {
            least = (child.key(), number);
        }
    }
    least
}

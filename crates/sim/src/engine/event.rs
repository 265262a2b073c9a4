//! The pending events, in the order of (time, place, sequence).
//!
//! An implicit heap with four children a node: half the depth of a binary one, and the four lie side by side, so that a
//! level costs one or two cache lines. Most events cause one other, so a removal leaves a hole at the root that the next
//! insertion fills: one walk down in the place of two (after the hold operation of Jones, 1986, who compared event sets).
//!
//! What is scheduled always the same time ahead comes in the order in which it goes: it stands in a lane beside the heap, where
//! it costs no walk at all and makes nobody else's longer. Which lane an event is pushed on is a hint and no promise: one that
//! would stand before the last of its lane goes into the heap.

use crate::Ps;
use std::collections::VecDeque;
use std::hint::select_unpredictable;

/// Bits of [`Event::tie`] that hold the sequence; above them stands the place.
const SEQUENCE_BITS: u32 = 44;
const ARITY: usize = 4;
/// Lanes beside the heap; a greater number of a lane says that there is none.
pub const LANES: usize = 3;
/// Events that a lane has room for: more than this many at once are seldom the same time ahead, and there is the heap.
const LANE_ROOM: usize = 1 << 14;

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

    /// The event of this key that is nobody's in particular.
    #[inline]
    pub(super) fn of(key: Key) -> Event {
        Event { time: Ps((key >> 64) as u64), tie: key as u64, who: 0 }
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
#[derive(Clone, Debug)]
pub struct Pending {
    heap: Vec<Event>,
    /// The root has been taken out, and nobody has taken its place yet.
    hole: bool,
    /// The first key of each lane; beyond all where nobody stands in it.
    heads: [Key; LANES],
    lanes: [VecDeque<Event>; LANES],
    /// How many stand in all of them.
    lined: usize,
    /// How many a lane takes.
    room: usize,
}

impl Pending {
    /// Room for `events` without allocating.
    pub fn with_capacity(events: usize) -> Pending {
        let room = events.min(LANE_ROOM);
        Pending {
            heap: Vec::with_capacity(events),
            hole: false,
            heads: [Key::MAX; LANES],
            lined: 0,
            lanes: std::array::from_fn(|_| VecDeque::with_capacity(room)),
            room,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole) + self.lined
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.heap[usize::from(self.hole)..].iter().chain(self.lanes.iter().flatten())
    }

    /// Adds one.
    #[inline]
    pub fn push(&mut self, event: Event) {
        if self.hole {
            self.hole = false;
            self.sink_from(0, event);
        } else {
            self.heap.push(event);
            self.rise(event);
        }
    }

    /// Adds one that comes after all that were pushed on the same lane, as far as is known.
    #[inline]
    pub fn push_on(&mut self, lane: u8, event: Event) {
        let number = usize::from(lane);
        let Some(lane) = self.lanes.get_mut(number) else { return self.push(event) };
        match lane.back() {
            None if self.room > 0 => self.heads[number] = event.key(),
            Some(last) if last.key() <= event.key() && lane.len() < self.room => {}
            _ => return self.push(event),
        }
        lane.push_back(event);
        self.lined += 1;
    }

    /// Takes out the first, if it comes before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: Key) -> Option<Event> {
        if self.lined > 0 {
            return self.pop_any(end);
        }
        if self.hole {
            self.hole = false;
            // Nobody was pushed: the last fills it.
            let last = self.heap.pop()?;
            if self.heap.is_empty() {
                // What was popped was the hole itself.
                return None;
            }
            self.sink_from(0, last);
        }
        let first = *self.heap.first()?;
        if first.key() >= end {
            return None;
        }
        self.hole = true;
        Some(first)
    }

    /// The same, where somebody stands in a lane. A hole at the root stays for whoever is pushed next. Apart, so that what is
    /// done without lanes stays small enough to be a part of the loop.
    #[inline(never)]
    fn pop_any(&mut self, end: Key) -> Option<Event> {
        let (mut least, mut chosen) = (self.first_of_heap(), LANES);
        for (lane, head) in self.heads.iter().enumerate() {
            let before = *head < least;
            least = select_unpredictable(before, *head, least);
            chosen = select_unpredictable(before, lane, chosen);
        }
        if least >= end {
            return None;
        }
        if let Some(lane) = self.lanes.get_mut(chosen) {
            let first = lane.pop_front();
            self.heads[chosen] = lane.front().map_or(Key::MAX, Event::key);
            self.lined -= 1;
            return first;
        }
        if self.hole {
            let last = self.heap.pop()?;
            self.sink_from(0, last);
        }
        self.hole = true;
        self.heap.first().copied()
    }

    /// The first key of the heap; beyond all where nobody is in it.
    #[inline]
    fn first_of_heap(&self) -> Key {
        if self.hole {
            return least_of(&self.heap[1..self.heap.len().min(1 + ARITY)]).0;
        }
        self.heap.first().map_or(Key::MAX, Event::key)
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
        for (lane, head) in self.lanes.iter_mut().zip(&mut self.heads) {
            lane.retain(|event| !which(event));
            *head = lane.front().map_or(Key::MAX, Event::key);
        }
        self.lined = self.lanes.iter().map(VecDeque::len).sum();
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

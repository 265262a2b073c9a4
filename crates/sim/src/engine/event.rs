//! The pending events, in the order of (time, station, sequence).
//!
//! An implicit heap with four children per node: half the depth of a binary heap, and siblings are adjacent, so a level
//! costs one or two cache lines. Most events cause one other, so a removal leaves a hole at the root that the next
//! insertion fills: one walk down instead of two (after the hold operation of Jones, 1986, who compared event sets).
//!
//! Events that are always scheduled the same time ahead arrive in the order in which they leave. They go into lanes
//! (FIFO queues) beside the heap, which costs no walk and keeps the heap small. The lane is only a hint: an event that
//! would precede the last of its lane goes into the heap.

use crate::Ps;
use std::collections::VecDeque;
use std::hint::select_unpredictable;

/// Bits of [`SimEvent::tie`] that hold the sequence; the station's number is above them.
const SEQUENCE_BITS: u32 = 44;
/// Bits of the sequence where the events of one place are ordered by a rank before it, and the number of ranks.
const RANKED_BITS: u32 = 36;
pub const RANKS: usize = 1 << (SEQUENCE_BITS - RANKED_BITS);
const ARITY: usize = 4;
/// Lanes beside the heap; any lane number from here on means the heap.
pub const LANES: usize = 3;
/// Capacity of a lane. More events than this are rarely scheduled the same time ahead; the rest go into the heap.
const LANE_ROOM: usize = 1 << 14;

/// Something that happens at a station, a source or a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimEvent {
    /// When it happens.
    pub time: Ps,
    /// Orders events of one moment.
    tie: u64,
    /// What it concerns: an I/O, or a slot of a source.
    pub who: u32,
}

/// The order of events: time, then station, then sequence.
pub type EventKey = u128;

impl SimEvent {
    /// An event at `place` (below 2^20). Sequences count modulo 2^44, which is days of simulation.
    #[inline]
    pub fn new(time: Ps, place: u32, sequence: u64, who: u32) -> SimEvent {
        let sequence = sequence & ((1 << SEQUENCE_BITS) - 1);
        SimEvent { time, tie: u64::from(place) << SEQUENCE_BITS | sequence, who }
    }

    /// An event at `place` among events that are all ranked, below [`RANKS`].
    #[inline]
    pub(super) fn ranked(time: Ps, place: u32, rank: u64, sequence: u64, who: u32) -> SimEvent {
        let sequence = sequence & ((1 << RANKED_BITS) - 1);
        SimEvent::new(time, place, rank << RANKED_BITS | sequence, who)
    }

    /// The event of this key, for alarms that concern no particular I/O.
    #[inline]
    pub(super) fn of(key: EventKey) -> SimEvent {
        SimEvent { time: Ps((key >> 64) as u64), tie: key as u64, who: 0 }
    }

    /// The number of the station; sources and selectors come after all stations.
    #[inline]
    pub fn place(&self) -> u32 {
        (self.tie >> SEQUENCE_BITS) as u32
    }

    /// Its position in the order of all events.
    #[inline]
    pub fn key(&self) -> EventKey {
        u128::from(self.time.0) << 64 | u128::from(self.tie)
    }
}

/// Before all events at `time`, after all earlier ones.
#[inline]
pub fn start_of(time: Ps) -> EventKey {
    u128::from(time.0) << 64
}

/// After all events at `time`, before all later ones.
#[inline]
pub fn end_of(time: Ps) -> EventKey {
    (u128::from(time.0) + 1) << 64
}

/// Events that have not happened yet.
#[derive(Clone, Debug)]
pub struct EventQueue {
    heap: Vec<SimEvent>,
    /// The root has been removed and not replaced yet.
    hole: bool,
    /// The first key of each lane; [`EventKey::MAX`] for an empty lane.
    heads: [EventKey; LANES],
    lanes: [VecDeque<SimEvent>; LANES],
    /// Events in all lanes.
    lined: usize,
    /// Capacity of a lane.
    room: usize,
}

impl EventQueue {
    /// Preallocates for `events` events.
    pub fn with_capacity(events: usize) -> EventQueue {
        let room = events.min(LANE_ROOM);
        EventQueue {
            heap: Vec::with_capacity(events),
            hole: false,
            heads: [EventKey::MAX; LANES],
            lined: 0,
            lanes: std::array::from_fn(|_| VecDeque::with_capacity(room)),
            room,
        }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole) + self.lined
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All events, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &SimEvent> {
        self.heap[usize::from(self.hole)..].iter().chain(self.lanes.iter().flatten())
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: SimEvent) {
        if self.hole {
            self.hole = false;
            self.sink_from(0, event);
        } else {
            self.heap.push(event);
            self.rise(event);
        }
    }

    /// Adds an event that is expected to come after all others pushed on this lane.
    #[inline]
    pub fn push_on(&mut self, lane: u8, event: SimEvent) {
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

    /// Removes the first event if it comes before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: EventKey) -> Option<SimEvent> {
        if self.lined > 0 {
            return self.pop_any(end);
        }
        if self.hole {
            self.hole = false;
            // Nothing was pushed: the last event fills the hole.
            let last = self.heap.pop()?;
            if self.heap.is_empty() {
                // The hole itself was popped.
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

    /// [`EventQueue::pop_before`] where lanes are in use. A hole at the root is left for the next push. A separate
    /// function, so that the path without lanes is small enough to be inlined into the loop.
    #[inline(never)]
    fn pop_any(&mut self, end: EventKey) -> Option<SimEvent> {
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
            self.heads[chosen] = lane.front().map_or(EventKey::MAX, SimEvent::key);
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

    /// The first key of the heap; [`EventKey::MAX`] where it is empty.
    #[inline]
    fn first_of_heap(&self) -> EventKey {
        if self.hole {
            return least_of(&self.heap[1..self.heap.len().min(1 + ARITY)]).0;
        }
        self.heap.first().map_or(EventKey::MAX, SimEvent::key)
    }

    /// Removes all events that satisfy `which`; visits every pending event.
    pub fn remove(&mut self, mut which: impl FnMut(&SimEvent) -> bool) {
        if std::mem::take(&mut self.hole) {
            self.heap.swap_remove(0);
        }
        self.heap.retain(|event| !which(event));
        // Sinking from the last parent up restores the heap (Floyd 1964).
        for at in (0..self.heap.len().div_ceil(ARITY)).rev() {
            let event = self.heap[at];
            self.sink_from(at, event);
        }
        for (lane, head) in self.lanes.iter_mut().zip(&mut self.heads) {
            lane.retain(|event| !which(event));
            *head = lane.front().map_or(EventKey::MAX, SimEvent::key);
        }
        self.lined = self.lanes.iter().map(VecDeque::len).sum();
    }

    /// Moves `event`, the last of the heap, up to its position.
    #[inline]
    fn rise(&mut self, event: SimEvent) {
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

    /// Replaces the event at `at` with `event` and moves it down to its position.
    #[inline]
    fn sink_from(&mut self, mut at: usize, event: SimEvent) {
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

/// The least key of up to [`ARITY`] events, and its position.
///
/// Which one is least is unpredictable, so a branch would be mispredicted every other time: a small tournament chooses
/// without branches.
#[inline]
fn least_of(children: &[SimEvent]) -> (EventKey, usize) {
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
    let mut least = (EventKey::MAX, 0);
    for (number, child) in children.iter().enumerate() {
        if child.key() < least.0 {
            least = (child.key(), number);
        }
    }
    least
}

//! The pending events, in the order of (time, station, sequence).
//!
//! They are in a heap ([`super::heap`]). Events that are always scheduled the same time ahead arrive in the order in which they leave. They go into lanes
//! (FIFO queues) beside the heap, which costs no walk and keeps the heap small. The lane is only a hint: an event that
//! would precede the last of its lane goes into the heap.

use super::heap::Heap;
use crate::Ps;
use std::collections::VecDeque;
use std::hint::select_unpredictable;

/// Bits of [`SimEvent::tie`] that hold the sequence; the station's number is above them.
const SEQUENCE_BITS: u32 = 44;
/// Bits of the sequence where the events of one place are ordered by a rank before it, and the number of ranks.
const RANKED_BITS: u32 = 36;
pub const RANKS: usize = 1 << (SEQUENCE_BITS - RANKED_BITS);
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

    /// An event of the heap.
    #[inline]
    fn from_heap((time, rest): (u64, u128)) -> SimEvent {
        SimEvent { time: Ps(time), tie: (rest >> 64) as u64, who: rest as u32 }
    }

    /// What orders events of one moment, and whom it concerns.
    #[inline]
    fn rest(&self) -> u128 {
        u128::from(self.tie) << 64 | u128::from(self.who)
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
    heap: Heap,
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
            heap: Heap::with_capacity(events),
            heads: [EventKey::MAX; LANES],
            lined: 0,
            lanes: std::array::from_fn(|_| VecDeque::with_capacity(room)),
            room,
        }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.heap.len() + self.lined
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All events, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = SimEvent> {
        let lined = self.lanes.iter().flatten().copied();
        self.heap.iter().map(SimEvent::from_heap).chain(lined)
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: SimEvent) {
        self.heap.push(event.time.0, event.rest());
    }

    /// Adds an event that is expected to come after all others pushed on this lane.
    #[inline]
    pub fn push_on(&mut self, lane: u8, event: SimEvent) {
        if usize::from(lane) >= LANES {
            return self.push(event);
        }
        self.push_in_lane(lane, event);
    }

    #[inline(never)]
    fn push_in_lane(&mut self, lane: u8, event: SimEvent) {
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
        self.heap.pop_before((end >> 64) as u64, end as u64).map(SimEvent::from_heap)
    }

    /// [`EventQueue::pop_before`] where lanes are in use. A separate function, so that the path without lanes is small
    /// enough to be inlined into the loop.
    #[inline(never)]
    fn pop_any(&mut self, end: EventKey) -> Option<SimEvent> {
        let first = self.heap.first();
        let (mut least, mut chosen) = (first.map_or(EventKey::MAX, key_of), LANES);
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
        self.heap.take_first().map(SimEvent::from_heap)
    }

    /// Removes all events that satisfy `which`; visits every pending event.
    pub fn remove(&mut self, mut which: impl FnMut(&SimEvent) -> bool) {
        self.heap.remove(|event| which(&SimEvent::from_heap(event)));
        for (lane, head) in self.lanes.iter_mut().zip(&mut self.heads) {
            lane.retain(|event| !which(event));
            *head = lane.front().map_or(EventKey::MAX, SimEvent::key);
        }
        self.lined = self.lanes.iter().map(VecDeque::len).sum();
    }
}

/// The key of an event of the heap.
#[inline]
fn key_of((time, rest): (u64, u128)) -> EventKey {
    u128::from(time) << 64 | rest >> 64
}

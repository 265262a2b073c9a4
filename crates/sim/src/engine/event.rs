//! The pending events, in the order of (time, station, sequence).
//!
//! Those of the near future are in a calendar ([`super::calendar`]), all others in a heap ([`super::heap`]). Where few are
//! pending all are in the heap.

use super::calendar::Calendar;
use super::heap::Heap;
use crate::Ps;

/// Bits of [`SimEvent::tie`] that hold the sequence; the station's number is above them.
const SEQUENCE_BITS: u32 = 44;
/// Bits of the sequence where the events of one place are ordered by a rank before it, and the number of ranks.
const RANKED_BITS: u32 = 36;
pub const RANKS: usize = 1 << (SEQUENCE_BITS - RANKED_BITS);
/// The calendar is tuned to the pace of at least so many events.
const PACE: u64 = 4096;

/// Something that happens at a station, a source or a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimEvent {
    /// When it happens.
    pub time: Ps,
    /// Orders events of one moment.
    pub(super) tie: u64,
    /// What it concerns: an I/O, or a slot of a source.
    pub who: u32,
    /// Of an I/O in service in a queue, or that comes from links apart: its hop, so that what follows need not wait for
    /// the table of I/Os.
    pub(super) hop: u32,
}

/// The order of events: time, then station, then sequence.
pub type EventKey = u128;

impl SimEvent {
    /// An event at `place` (below 2^20). Sequences count modulo 2^44, which is days of simulation.
    #[inline]
    pub fn new(time: Ps, place: u32, sequence: u64, who: u32) -> SimEvent {
        let sequence = sequence & ((1 << SEQUENCE_BITS) - 1);
        SimEvent { time, tie: u64::from(place) << SEQUENCE_BITS | sequence, who, hop: 0 }
    }

    /// The same event of an I/O at this hop.
    #[inline]
    pub(super) fn at_hop(self, hop: u32) -> SimEvent {
        SimEvent { hop, ..self }
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
        let (who, hop) = (rest as u32, (rest >> 32) as u32);
        SimEvent { time: Ps(time), tie: (rest >> 64) as u64, who, hop }
    }

    /// What orders events of one moment, and whom it concerns.
    #[inline]
    fn rest(&self) -> u128 {
        u128::from(self.tie) << 64 | u128::from(self.hop) << 32 | u128::from(self.who)
    }

    /// The number of the station; sources and selectors come after all stations.
    #[inline]
    pub fn place(&self) -> u32 {
        (self.tie >> SEQUENCE_BITS) as u32
    }

    /// Whether it happens before `other`.
    #[inline]
    pub(super) fn is_before(&self, other: &SimEvent) -> bool {
        self.is_due_before(other.time.0, other.tie)
    }

    /// Whether it happens before this time, or at it and before this tie.
    #[inline]
    pub(super) fn is_due_before(&self, time: u64, tie: u64) -> bool {
        self.time.0 < time || self.time.0 == time && self.tie < tie
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
    near: Calendar,
    /// Events removed since the calendar was tuned last, and when that was.
    removed: u64,
    tuned: Ps,
}

impl EventQueue {
    /// Preallocates for `events` events.
    pub fn with_capacity(events: usize) -> EventQueue {
        EventQueue {
            heap: Heap::with_capacity(events),
            near: Calendar::with_capacity(events),
            removed: 0,
            tuned: Ps::ZERO,
        }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.heap.len() + self.near.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All events, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = SimEvent> {
        self.heap.iter().map(SimEvent::from_heap).chain(self.near.iter())
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: SimEvent) {
        let SimEvent { time, tie, who, hop } = event;
        if !self.near.is_open() || !self.near.push(time, tie, who, hop) {
            self.heap.push(event.time.0, event.rest());
        }
    }

    /// Removes the first event if it happens before `end` and is of the near future, which it nearly always is.
    #[inline]
    pub fn pop_near(&mut self, end: Ps) -> Option<SimEvent> {
        let first = self.near.first_time();
        (first < end && self.heap.is_empty()).then(|| {
            self.removed += 1;
            self.near.take_first()
        })
    }

    /// Removes the first event if it comes before `end`.
    pub fn pop_before(&mut self, end: EventKey) -> Option<SimEvent> {
        let (time, tie) = ((end >> 64) as u64, end as u64);
        self.removed += 1;
        if let Some(first) = self.near.first()
            && (self.heap.is_empty()
                || self.heap.first().is_none_or(|far| first.is_before(&SimEvent::from_heap(far))))
        {
            return first.is_due_before(time, tie).then(|| self.near.take_first());
        }
        self.heap.pop_before(time, tie).map(SimEvent::from_heap)
    }

    /// Follows the pace of the events, now and then. It decides how fast the queue is, and nothing else. The time between
    /// two events, where there have been enough.
    pub fn tune(&mut self, now: Ps) -> Option<Ps> {
        if self.removed < PACE || now <= self.tuned {
            return None;
        }
        let gap = Ps(now.since(self.tuned).0 / self.removed);
        (self.removed, self.tuned) = (0, now);
        let pending = self.len();
        if self.near.is_out_of_tune(pending, gap) {
            let heap = &mut self.heap;
            self.near.tune(pending, gap, |event| heap.push(event.time.0, event.rest()));
        }
        Some(gap)
    }

    /// When the first is due; [`Ps::MAX`] where there is none.
    pub fn first(&self) -> Ps {
        let near = self.near.first_time();
        self.heap.first().map_or(near, |(time, _)| near.min(Ps(time)))
    }

    /// Removes all events that satisfy `which`; visits every pending event.
    pub fn remove(&mut self, mut which: impl FnMut(&SimEvent) -> bool) {
        let heap = &mut self.heap;
        self.near.empty(|event| heap.push(event.time.0, event.rest()));
        heap.remove(|event| which(&SimEvent::from_heap(event)));
    }
}

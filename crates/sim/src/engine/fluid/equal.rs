//! One link, or servers, that all present share equally: one clock for all of them.

use super::{NEVER, SERVER, Tag, done_at};
use crate::Ps;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What is shared.
#[derive(Clone, Debug)]
pub enum Capacity {
    /// Each has the rate min(1, servers / present) of a server.
    Servers(u32),
    /// A link of a rate in fractions of a byte a second.
    Link { link: u16, rate: u64 },
}

/// Who waits to have been given enough, the first to be so at the front. Transfers of one size come in the order in which
/// they go, and stand in line; whoever would stand before the last of the line goes into the heap.
#[derive(Clone, Debug, Default)]
struct Tags {
    line: VecDeque<Tag>,
    heap: BinaryHeap<Reverse<Tag>>,
}

impl Tags {
    fn reserve(&mut self, room: usize) {
        self.line.reserve(room);
        self.heap.reserve(room);
    }

    #[inline]
    fn push(&mut self, tag: Tag) {
        match self.line.back() {
            Some(last) if last.clock > tag.clock => self.heap.push(Reverse(tag)),
            _ => self.line.push_back(tag),
        }
    }

    #[inline]
    fn peek(&self) -> Option<&Tag> {
        match (self.line.front(), self.heap.peek()) {
            (Some(line), Some(Reverse(heap))) => Some(line.min(heap)),
            (line, heap) => line.or(heap.map(|Reverse(tag)| tag)),
        }
    }

    /// Takes out the first, if it has been given enough where the clock stands.
    #[inline]
    fn pop_until(&mut self, clock: u128) -> Option<Tag> {
        let first = *self.peek().filter(|first| first.clock <= clock)?;
        if self.line.front().is_some_and(|line| *line == first) {
            self.line.pop_front();
        } else {
            self.heap.pop();
        }
        Some(first)
    }

    fn iter(&self) -> impl Iterator<Item = &Tag> {
        self.line.iter().chain(self.heap.iter().map(|Reverse(tag)| tag))
    }

    fn remove(&mut self, who: u32) {
        self.line.retain(|tag| tag.who != who);
        self.heap.retain(|Reverse(tag)| tag.who != who);
    }
}

/// Those who share it.
#[derive(Clone, Debug)]
pub struct Equal {
    capacity: Capacity,
    /// What each is given a picosecond.
    rate: u64,
    /// What each that was here from the beginning would have been given until `at`.
    clock: u128,
    at: Ps,
    /// When the next has been given all that it asked for.
    next: Ps,
    present: u64,
    tags: Tags,
    /// Those of one moment who have been given all, the next to leave at the end.
    due: Vec<Tag>,
    room: usize,
    stopped: bool,
}

impl Equal {
    /// Nobody there yet.
    pub fn new(capacity: Capacity) -> Equal {
        Equal {
            capacity,
            rate: 0,
            clock: 0,
            at: Ps::ZERO,
            next: NEVER,
            present: 0,
            tags: Tags::default(),
            due: Vec::new(),
            room: 0,
            stopped: false,
        }
    }

    /// Room for so many more.
    pub fn make_room(&mut self, present: usize) {
        self.room += present;
        self.tags.reserve(self.room);
        self.due.reserve(self.room);
    }

    /// When the next leaves if nobody comes.
    #[inline]
    pub fn next(&self) -> Ps {
        self.next
    }

    /// Where the clock stands at `now`.
    #[inline]
    pub fn clock(&mut self, now: Ps) -> u128 {
        let span = now.since(self.at).0;
        self.at = now;
        self.clock += u128::from(span) * u128::from(self.rate);
        self.clock
    }

    /// Who comes asks for as much as the tag says; where the clock stands.
    #[inline]
    pub fn enter(&mut self, now: Ps, mut tag: Tag) -> u128 {
        let clock = self.clock(now);
        tag.clock += clock;
        self.tags.push(tag);
        self.present += 1;
        self.divide();
        clock
    }

    /// The lowest path of those who have been given all.
    #[inline]
    pub fn ready(&mut self, now: Ps) -> Option<u32> {
        if self.next > now {
            return None;
        }
        let clock = self.clock(now);
        while let Some(first) = self.tags.pop_until(clock) {
            if self.due.is_empty() {
                self.due.push(first);
                continue;
            }
            let order = |tag: &Tag| Reverse((tag.path, tag.clock, tag.arrival));
            let at = self.due.partition_point(|tag| order(tag) < order(&first));
            self.due.insert(at, first);
        }
        self.due.last().map(|tag| tag.path)
    }

    /// That one leaves; where the clock stands.
    #[inline]
    pub fn leave(&mut self) -> Option<(u32, u128)> {
        let tag = self.due.pop()?;
        self.present -= 1;
        self.divide();
        Some((tag.who, self.clock))
    }

    /// The link, if it is this one, carries so much from now on.
    pub fn set_rate(&mut self, now: Ps, of: u16, to: u64) {
        if let Capacity::Link { link, rate } = &mut self.capacity
            && *link == of
        {
            *rate = to;
            self.clock(now);
            self.divide();
        }
    }

    /// The clock stands still, or goes on.
    pub fn stop(&mut self, now: Ps, stopped: bool) {
        self.clock(now);
        self.stopped = stopped;
        self.divide();
    }

    /// `who` is here no more; the path, and where the clock stands.
    pub fn remove(&mut self, now: Ps, who: u32) -> Option<(u32, u128)> {
        let clock = self.clock(now);
        let found = self.tags.iter().chain(&self.due);
        let path = found.filter(|tag| tag.who == who).map(|tag| tag.path).next()?;
        self.tags.remove(who);
        self.due.retain(|tag| tag.who != who);
        self.present -= 1;
        self.divide();
        Some((path, clock))
    }

    /// The rate of each, and when the next leaves by it.
    #[inline]
    fn divide(&mut self) {
        self.rate = match self.capacity {
            _ if self.stopped || self.present == 0 => 0,
            Capacity::Servers(servers) => {
                SERVER as u64 * self.present.min(u64::from(servers)) / self.present
            }
            Capacity::Link { rate: 0, .. } => 0,
            // Less than one unit for each would keep them for ever.
            Capacity::Link { rate, .. } => (rate / self.present).max(1),
        };
        self.next = match self.tags.peek() {
            _ if !self.due.is_empty() => self.at,
            Some(first) => done_at(self.at, first.clock.saturating_sub(self.clock), self.rate),
            None => NEVER,
        };
    }
}

//! One link, or a set of servers, shared equally by all I/Os present: one virtual clock for all.

use super::tags::{Tag, Tags};
use super::{NEVER, SERVER, done_at};
use crate::Ps;
use std::cmp::Reverse;

/// What is shared.
#[derive(Clone, Debug)]
pub enum SharedCapacity {
    /// Each I/O gets the rate min(1, servers / present) of a server.
    Servers(u32),
    /// A link; the rate is in fractions of a byte a second.
    Link { link: u16, rate: u64 },
}

/// The I/Os that share it.
#[derive(Clone, Debug)]
pub struct Equal {
    capacity: SharedCapacity,
    /// Work given to each I/O per picosecond.
    rate: u64,
    /// Work given up to `at` to an I/O that was present from the beginning.
    clock: u128,
    at: Ps,
    /// When the next I/O is complete.
    next: Ps,
    present: u64,
    tags: Tags,
    /// I/Os that are complete at one moment; the next to leave is last.
    due: Vec<Tag>,
    /// Where only one is, it is still among the others.
    alone: bool,
    room: usize,
    stopped: bool,
}

impl Equal {
    /// An idle station.
    pub fn new(capacity: SharedCapacity) -> Equal {
        Equal {
            capacity,
            rate: 0,
            clock: 0,
            at: Ps::ZERO,
            next: NEVER,
            present: 0,
            tags: Tags::default(),
            due: Vec::new(),
            alone: false,
            room: 0,
            stopped: false,
        }
    }

    /// Preallocates for `present` more I/Os, of `all` that there can be at once.
    pub fn make_room(&mut self, present: usize, all: usize) {
        self.room = self.room.saturating_add(present).min(all);
        self.tags.reserve(self.room);
        self.due.reserve(self.room);
    }

    /// When the next I/O leaves, if none arrives.
    #[inline]
    pub fn next(&self) -> Ps {
        self.next
    }

    /// The virtual clock at `now`.
    #[inline]
    pub fn clock(&mut self, now: Ps) -> u128 {
        let span = now.since(self.at).0;
        self.at = now;
        self.clock += u128::from(span) * u128::from(self.rate);
        self.clock
    }

    /// Adds an I/O that asks for the work in its tag; returns the virtual clock.
    #[inline]
    pub fn enter(&mut self, now: Ps, mut tag: Tag) -> u128 {
        let clock = self.clock(now);
        tag.clock += clock;
        self.tags.push(tag);
        self.present += 1;
        self.divide();
        clock
    }

    /// Where none is present: when one that asks for `work` now leaves again, if that is before `until` and none comes
    /// meanwhile, and the virtual clock before and after. It has then passed.
    #[inline]
    pub fn pass_alone(&mut self, now: Ps, work: u128, until: Ps) -> Option<(Ps, u128, u128)> {
        let SharedCapacity::Link { rate, .. } = self.capacity else { return None };
        let left = done_at(now, work, rate);
        if self.stopped || left >= until {
            return None;
        }
        // Without I/Os the clock stands.
        let from = self.clock;
        self.clock += u128::from(left.since(now).0) * u128::from(rate);
        self.at = left;
        Some((left, from, self.clock))
    }

    /// Removes the complete I/O where there is only one, which is nearly always; the caller divides again.
    #[inline]
    pub fn take_only(&mut self, now: Ps) -> Option<Tag> {
        let clock = self.clock(now);
        if !self.due.is_empty() {
            return None;
        }
        self.tags.only_until(clock)?;
        self.present -= 1;
        self.tags.pop_only()
    }

    /// The lowest path among the complete I/Os.
    #[inline]
    pub fn ready(&mut self, now: Ps) -> Option<u32> {
        if self.next > now {
            return None;
        }
        let clock = self.clock(now);
        let only = self.tags.only_until(clock).filter(|_| self.due.is_empty());
        self.alone = only.is_some();
        if let Some(only) = only {
            return Some(only.path);
        }
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

    /// Removes the complete I/O where there is only one; also returns the virtual clock.
    #[inline]
    pub fn leave_only(&mut self, now: Ps) -> Option<(Tag, u128)> {
        let tag = self.take_only(now)?;
        self.divide();
        Some((tag, self.clock))
    }

    /// The virtual clock as it was counted last.
    #[inline]
    pub fn counted(&self) -> u128 {
        self.clock
    }

    /// Removes that I/O; also returns the virtual clock.
    #[inline]
    pub fn leave(&mut self) -> Option<(u32, u128)> {
        let left = self.take()?;
        self.divide();
        Some(left)
    }

    /// The same; the caller divides again.
    #[inline]
    pub fn take(&mut self) -> Option<(u32, u128)> {
        let alone = std::mem::take(&mut self.alone);
        let tag = if alone { self.tags.pop_only() } else { self.due.pop() }?;
        self.present -= 1;
        Some((tag.who, self.clock))
    }

    /// The link offers this rate from the next change on.
    #[inline]
    pub fn offer(&mut self, of: u64) {
        if let SharedCapacity::Link { rate, .. } = &mut self.capacity {
            *rate = of;
        }
    }

    /// Removes all I/Os.
    pub fn empty(&mut self, each: &mut impl FnMut(Tag)) {
        self.tags.empty(each);
        self.due.drain(..).for_each(each);
        self.present = 0;
        self.divide();
    }

    /// Changes the link's rate, if it is this one.
    pub fn set_rate(&mut self, now: Ps, of: u16, to: u64) {
        if let SharedCapacity::Link { link, rate } = &mut self.capacity
            && *link == of
        {
            *rate = to;
            self.clock(now);
            self.divide();
        }
    }

    /// Stops or restarts the virtual clock.
    pub fn stop(&mut self, now: Ps, stopped: bool) {
        self.clock(now);
        self.stopped = stopped;
        self.divide();
    }

    /// Calls `of` with every I/O present and the virtual clock at `now`.
    pub fn each(&mut self, now: Ps, of: &mut impl FnMut(&Tag, u128)) {
        let clock = self.clock(now);
        self.tags.iter().chain(&self.due).for_each(|tag| of(tag, clock));
    }

    /// Removes `who`; returns its path and the virtual clock.
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

    /// Computes each I/O's rate and when the next leaves.
    #[inline]
    pub fn divide(&mut self) {
        self.rate = match self.capacity {
            _ if self.stopped || self.present == 0 => 0,
            // With less than one unit each, I/Os would never finish.
            SharedCapacity::Link { rate, .. } => (rate / self.present).max(u64::from(rate > 0)),
            SharedCapacity::Servers(servers) => {
                SERVER as u64 * self.present.min(u64::from(servers)) / self.present
            }
        };
        self.next = match self.tags.peek() {
            _ if !self.due.is_empty() => self.at,
            Some(first) => done_at(self.at, first.clock.saturating_sub(self.clock), self.rate),
            None => NEVER,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads that could each have all copies of a cache share a link.
    #[test]
    fn there_is_room_for_as_many_as_there_can_be_and_no_more() {
        let mut equal = Equal::new(SharedCapacity::Servers(1));
        for _ in 0..1000 {
            equal.make_room(1000, 1024);
        }
        assert!((1024..4096).contains(&equal.due.capacity()), "{}", equal.due.capacity());
    }
}

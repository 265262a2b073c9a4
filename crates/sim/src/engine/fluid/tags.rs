//! I/Os in service, in the order in which they finish.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An I/O in service: the clock at which it is complete, its order of arrival, its path and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    pub clock: u128,
    pub arrival: u64,
    pub path: u32,
    pub who: u32,
}

/// I/Os in the order in which they finish. Transfers of one size finish in the order of arrival and are queued; an I/O
/// that would precede the last of the queue goes into the heap.
#[derive(Clone, Debug, Default)]
pub struct Tags {
    line: VecDeque<Tag>,
    heap: BinaryHeap<Reverse<Tag>>,
}

impl Tags {
    /// Preallocates for so many.
    pub fn reserve(&mut self, room: usize) {
        self.line.reserve(room);
        self.heap.reserve(room);
    }

    /// Adds an I/O that has arrived after all others.
    #[inline]
    pub fn push(&mut self, tag: Tag) {
        match self.line.back() {
            Some(last) if last.clock > tag.clock => self.heap.push(Reverse(tag)),
            _ => self.line.push_back(tag),
        }
    }

    /// Adds an I/O that may have arrived before others.
    pub fn insert(&mut self, tag: Tag) {
        match self.line.back() {
            Some(last) if *last > tag => self.heap.push(Reverse(tag)),
            _ => self.line.push_back(tag),
        }
    }

    /// The first to finish.
    #[inline]
    pub fn peek(&self) -> Option<&Tag> {
        match (self.line.front(), self.heap.peek()) {
            (Some(line), Some(Reverse(heap))) => Some(line.min(heap)),
            (line, heap) => line.or(heap.map(|Reverse(tag)| tag)),
        }
    }

    /// Removes the first if it is complete at `clock`.
    #[inline]
    pub fn pop_until(&mut self, clock: u128) -> Option<Tag> {
        let first = *self.peek().filter(|first| first.clock <= clock)?;
        if self.line.front().is_some_and(|line| *line == first) {
            self.line.pop_front();
        } else {
            self.heap.pop();
        }
        Some(first)
    }

    /// The first if it is the only one that is complete at `clock`; `None` also where that needs a closer look.
    #[inline]
    pub fn only_until(&self, clock: u128) -> Option<&Tag> {
        let first =
            self.line.front().filter(|first| first.clock <= clock && self.heap.is_empty())?;
        match self.line.get(1) {
            Some(second) if second.clock <= clock => None,
            _ => Some(first),
        }
    }

    /// Removes that one.
    #[inline]
    pub fn pop_only(&mut self) -> Option<Tag> {
        self.line.pop_front()
    }

    /// All of them, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Tag> {
        self.line.iter().chain(self.heap.iter().map(|Reverse(tag)| tag))
    }

    /// Removes all.
    pub fn empty(&mut self, each: &mut impl FnMut(Tag)) {
        self.line.drain(..).for_each(&mut *each);
        self.heap.drain().for_each(|Reverse(tag)| each(tag));
    }

    /// Takes one out.
    pub fn remove(&mut self, who: u32) {
        self.line.retain(|tag| tag.who != who);
        self.heap.retain(|Reverse(tag)| tag.who != who);
    }
}

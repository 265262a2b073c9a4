//! Puts I/Os in order of issue, as far as a bounded memory allows.

use crate::TraceIo;
use clock::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// I/Os that are kept to put others before them.
const KEPT: usize = 1 << 16;

/// A window over a stream of I/Os that leaves in order of time; equal times keep their order.
#[derive(Default)]
pub(crate) struct Reorder {
    heap: BinaryHeap<Reverse<(Ns, u64, Kept)>>,
    number: u64,
    latest: Ns,
    left: Ns,
    /// Those that came after a later one.
    pub disordered: u64,
    /// Those that came after a later one had left.
    pub clamped: u64,
}

/// An I/O that takes no part in the order.
struct Kept(TraceIo);

impl PartialEq for Kept {
    fn eq(&self, _: &Kept) -> bool {
        true
    }
}

impl Eq for Kept {}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Kept) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kept {
    fn cmp(&self, _: &Kept) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Reorder {
    pub fn push(&mut self, mut io: TraceIo) {
        self.disordered += u64::from(io.at < self.latest);
        self.latest = self.latest.max(io.at);
        if io.at < self.left {
            self.clamped += 1;
            io.at = self.left;
        }
        self.heap.push(Reverse((io.at, self.number, Kept(io))));
        self.number += 1;
    }

    /// What leaves because there are enough behind it, or because `all` must.
    pub fn pop(&mut self, all: bool) -> Option<TraceIo> {
        if self.heap.len() <= KEPT && !all {
            return None;
        }
        let Reverse((at, _, Kept(io))) = self.heap.pop()?;
        self.left = at;
        Some(io)
    }
}

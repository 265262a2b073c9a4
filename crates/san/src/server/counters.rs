//! Counters of ports and volumes. Each thread has cells of its own, so that counting is a plain store; readers sum.

use std::sync::atomic::{AtomicU64, Ordering};

/// What went through one port, or to one volume, since the target's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficCounts {
    /// Bytes of SCSI data to initiators.
    pub bytes_out: u64,
    /// Bytes of SCSI data from initiators.
    pub bytes_in: u64,
    /// Commands that moved data to initiators.
    pub reads: u64,
    /// Commands that moved data from initiators.
    pub writes: u64,
    /// Other commands.
    pub others: u64,
    /// Commands under way at this moment.
    pub queue: u64,
    /// Connections at this moment; for volumes always zero.
    pub connections: u64,
}

/// The cell of one thread for one port or volume; written by that thread alone.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct CounterCell {
    pub bytes_out: AtomicCount,
    pub bytes_in: AtomicCount,
    pub reads: AtomicCount,
    pub writes: AtomicCount,
    pub others: AtomicCount,
    pub begun: AtomicCount,
    pub ended: AtomicCount,
    pub opened: AtomicCount,
    pub closed: AtomicCount,
}

/// A count with one writer.
#[derive(Debug, Default)]
pub(super) struct AtomicCount(AtomicU64);

impl AtomicCount {
    /// Adds; to be called by the cell's own thread alone.
    pub fn add(&self, n: u64) {
        // No read-modify-write: there is one writer.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Adds up the cells of all threads.
pub(super) fn total<'a>(cells: impl Iterator<Item = &'a CounterCell>) -> TrafficCounts {
    let mut sum = TrafficCounts::default();
    let (mut queue, mut connections) = (0u64, 0u64);
    for cell in cells {
        sum.bytes_out += cell.bytes_out.get();
        sum.bytes_in += cell.bytes_in.get();
        sum.reads += cell.reads.get();
        sum.writes += cell.writes.get();
        sum.others += cell.others.get();
        // Read in this order, a command that ends between the two reads counts as still under way, never as minus one.
        let (ended, closed) = (cell.ended.get(), cell.closed.get());
        queue += cell.begun.get().saturating_sub(ended);
        connections += cell.opened.get().saturating_sub(closed);
    }
    TrafficCounts { queue, connections, ..sum }
}

//! Per-thread state of a volume: counters, and the number of writers inside, each on its own cache line.

use std::ops::Index;
use std::sync::atomic::{AtomicU64, Ordering};

/// Threads with a slot of their own. Further threads share one, which only costs speed: all counting is atomic.
const PLACES: usize = 64;

/// The places that are taken, one bit each, over the whole process: a thread has the same place in every volume.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// A thread's place, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct ThreadSlot(usize);

impl ThreadSlot {
    /// The first free place, or the last one where none is free.
    pub fn take() -> ThreadSlot {
        let free = |taken: u64| (taken != u64::MAX).then(|| taken | (taken + 1));
        match TAKEN.fetch_update(Ordering::AcqRel, Ordering::Acquire, free) {
            Ok(before) => ThreadSlot(before.trailing_ones() as usize),
            Err(_) => ThreadSlot(PLACES),
        }
    }
}

impl Drop for ThreadSlot {
    fn drop(&mut self) {
        if self.0 < PLACES {
            TAKEN.fetch_and(!(1 << self.0), Ordering::AcqRel);
        }
    }
}

/// One thread's share of a volume's state.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct VolumeSlot {
    /// Writers that went through the open gate and are not out yet.
    pub writers: AtomicU64,
    pub reads: AtomicU64,
    pub writes: AtomicU64,
    pub others: AtomicU64,
    pub bytes_read: AtomicU64,
    pub bytes_written: AtomicU64,
    pub failed: AtomicU64,
    pub started: AtomicU64,
    pub ended: AtomicU64,
}

/// The slots of all places.
#[derive(Debug)]
pub(crate) struct Slots(Box<[VolumeSlot]>);

impl Slots {
    pub fn new() -> Slots {
        Slots((0..=PLACES).map(|_| VolumeSlot::default()).collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = &VolumeSlot> {
        self.0.iter()
    }

    /// The counts so far, over all threads. Any thread may read them: each figure is exact for a moment in the call.
    pub fn counters(&self) -> Counters {
        let sum = |of: fn(&VolumeSlot) -> &AtomicU64| {
            self.iter().map(|slot| of(slot).load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
        };
        // What ended is read first, so that nothing seems to have ended before it began.
        let ended = self.iter().map(|slot| slot.ended.load(Ordering::Acquire)).sum::<u64>();
        Counters {
            reads: sum(|s| &s.reads),
            writes: sum(|s| &s.writes),
            others: sum(|s| &s.others),
            bytes_read: sum(|s| &s.bytes_read),
            bytes_written: sum(|s| &s.bytes_written),
            failed: sum(|s| &s.failed),
            in_flight: sum(|s| &s.started).saturating_sub(ended),
        }
    }
}

impl Index<&ThreadSlot> for Slots {
    type Output = VolumeSlot;

    fn index(&self, place: &ThreadSlot) -> &VolumeSlot {
        &self.0[place.0]
    }
}

/// Adds with relaxed ordering: a counter synchronizes nothing else.
pub(crate) fn count(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

/// What a volume did since it was opened. Differences of two looks are what happened in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Commands that moved blocks to the initiator.
    pub reads: u64,
    /// Commands that moved blocks from the initiator to the medium.
    pub writes: u64,
    /// All others.
    pub others: u64,
    /// Bytes of the first.
    pub bytes_read: u64,
    /// Bytes of the second.
    pub bytes_written: u64,
    /// Commands of any kind that did not end in GOOD.
    pub failed: u64,
    /// Commands at work now that could not be done at once: the queue at the backing store.
    pub in_flight: u64,
}

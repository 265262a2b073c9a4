//! Cutting by the workers: each thread reads the clock as it works, and after a cut it delivers its streams' counters with the
//! times of the transactions until then. So an interval holds the work done in it, however late the collector wakes.
//!
//! Pages go out and times come back cleared over bounded single-producer rings, all of them made before the start, as in
//! `engine`. A stream without times needs no page of a thread that is blocked: its counters stand still meanwhile, and are
//! read from outside. One with times is waited for, so that no time is ever in another interval than its transaction; where
//! no cleared times are left the worker keeps accumulating, and they are in the interval that follows.

use super::{COUNTS, Count, StreamMeter};
use crate::figures::TransactionTimes;
use crate::grid::Grid;
use crate::report::TestPhase;
use clock::Ns;
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;

/// Pages that a stream can have on the way.
const PAGES: usize = 4;
/// Times beside those in use: one for each inner edge of the phases, and one for a collector that is late.
const SPARE: usize = 3;
/// The clock is looked at after so many calls of the kernel at most,
const STRIDE_MAX: u32 = 64;
/// and about so often, as long as calls are short.
const GLANCE: Ns = Ns(25_000);

/// A stream's counters at a cut.
pub(crate) struct CutCounters {
    pub cut: u32,
    pub counts: [u64; COUNTS],
    pub times: Option<Box<TransactionTimes>>,
}

/// The worker's end of a stream's pages.
pub(crate) struct PageWriter {
    meter: Arc<StreamMeter>,
    out: Producer<CutCounters>,
    times: Option<(Box<TransactionTimes>, Consumer<Box<TransactionTimes>>)>,
}

/// The collector's end.
pub(crate) struct PageReader {
    pub pages: Consumer<CutCounters>,
    pub cleared: Option<Producer<Box<TransactionTimes>>>,
}

impl PageWriter {
    /// Both ends of a stream's pages; with `timed` its transactions are timed.
    pub(crate) fn open(meter: Arc<StreamMeter>, timed: bool) -> (PageWriter, PageReader) {
        let (out, pages) = RingBuffer::new(PAGES);
        let (mut times, mut cleared) = (None, None);
        if timed {
            let (mut give, back) = RingBuffer::new(SPARE + 1);
            // Cannot fail: the ring holds all there are.
            (0..SPARE).for_each(|_| drop(give.push(Box::new(TransactionTimes::reserved()))));
            (times, cleared) = (Some((Box::new(TransactionTimes::reserved()), back)), Some(give));
        }
        (PageWriter { meter, out, times }, PageReader { pages, cleared })
    }

    fn hand_over(&mut self, cut: u32) {
        if self.out.is_full() {
            return;
        }
        let times = match &mut self.times {
            None => None,
            Some((current, back)) => match back.pop() {
                Ok(cleared) => Some(std::mem::replace(current, cleared)),
                Err(_) => return,
            },
        };
        // Cannot fail: it was not full.
        let _ = self.out.push(CutCounters { cut, counts: self.meter.all(), times });
    }
}

/// Cuts the intervals of one thread's streams.
pub(crate) struct Cutter {
    grid: Grid,
    /// The next cut's number and moment.
    cut: u32,
    next: Ns,
    phase: TestPhase,
    stride: u32,
    left: u32,
    last: Ns,
    writers: Vec<PageWriter>,
}

impl Cutter {
    /// For a thread with these streams, in their order.
    pub(crate) fn new(writers: Vec<PageWriter>) -> Cutter {
        Cutter {
            grid: Grid::default(),
            cut: 0,
            next: Ns::MAX,
            phase: TestPhase::Warmup,
            stride: 1,
            left: 1,
            last: Ns::ZERO,
            writers,
        }
    }

    /// The test begins.
    pub(crate) fn start(&mut self, grid: Grid) {
        let start = grid.start();
        (self.grid, self.cut, self.last) = (grid, 0, start);
        self.next = grid.cut_after(start).unwrap_or(Ns::MAX);
        self.phase = grid.phase_at(start);
    }

    /// The phase as an index of counts.
    #[inline]
    pub(crate) fn phase(&self) -> usize {
        self.phase as usize
    }

    /// Looks at the clock, unless it did a moment ago. Called after a call of the kernel and before its outcome is
    /// counted: what took until after a cut belongs behind it.
    #[inline]
    pub(crate) fn glance(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.look();
        }
    }

    fn look(&mut self) {
        let now = clock::now();
        let took = now.since(self.last);
        self.stride = match took {
            t if t < GLANCE => (self.stride * 2).min(STRIDE_MAX),
            t if t.0 > 4 * GLANCE.0 => (self.stride / 2).max(1),
            _ => self.stride,
        };
        (self.left, self.last) = (self.stride, now);
        self.at(now);
    }

    #[inline]
    pub(crate) fn at(&mut self, now: Ns) {
        if now >= self.next {
            self.pass(now);
        }
    }

    #[cold]
    fn pass(&mut self, now: Ns) {
        for writer in &mut self.writers {
            writer.hand_over(self.cut);
        }
        // Where several have passed, nothing was done between them.
        while now >= self.next {
            self.cut += 1;
            self.next = self.grid.cut_after(self.next).unwrap_or(Ns::MAX);
        }
        self.phase = self.grid.phase_at(now);
    }

    /// Counts the time of a transaction that ended `now`, on the thread's only stream.
    #[inline]
    pub(crate) fn timed(&mut self, took: Ns) {
        if let Some((times, _)) = self.writers.first_mut().and_then(|writer| writer.times.as_mut())
        {
            times.record(took);
        }
    }

    /// The times that its only stream has, which belong to no cut yet.
    #[cfg(test)]
    pub(crate) fn rest(&mut self) -> Option<Box<TransactionTimes>> {
        self.writers.pop()?.times.map(|(times, _)| times)
    }

    /// The thread ends: cuts that have passed are handed over; times that belong to none are given back, one a stream.
    pub(crate) fn close(mut self) -> Vec<Option<Box<TransactionTimes>>> {
        self.at(clock::now());
        self.writers.into_iter().map(|writer| writer.times.map(|(times, _)| times)).collect()
    }
}

impl StreamMeter {
    /// All counters as they stand.
    pub(crate) fn all(&self) -> [u64; COUNTS] {
        std::array::from_fn(|index| self.at(index))
    }
}

/// One counter of many.
pub(crate) fn count_of(counts: &[u64; COUNTS], count: Count) -> u64 {
    counts[count as usize]
}

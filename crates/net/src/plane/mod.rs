//! The data plane: the worker threads between start and end. They allocate nothing, take no locks and log nothing; they move
//! bytes and count them in their own [`StreamMeter`], which others only read.

pub(crate) mod connects;
pub(crate) mod cutter;
pub(crate) mod datagram_exchange;
pub(crate) mod exchange;
pub(crate) mod header;
pub(crate) mod probe;
pub(crate) mod sequence;
#[cfg(test)]
mod sequence_model;
pub(crate) mod tcp;
pub(crate) mod udp_receive;
pub(crate) mod udp_send;

pub(crate) use cutter::{CutCounters, Cutter, PageReader, PageWriter, count_of};
pub(crate) use header::{DatagramHeader, HEADER};

use crate::figures::TransactionTimes;
use crate::grid::Grid;
use sequence::DatagramTally;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a worker counts of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Bytes that the kernel took from us, at the end that writes; bytes that we read, at the one that reads.
    Bytes,
    /// Bytes of the other way: responses.
    Back,
    /// System calls that moved data.
    Calls,
    /// Datagrams sent or received, or transactions done.
    Items,
    /// Zero-copy sends that the kernel is done with.
    Completed,
    /// Of them, those that it copied.
    Copied,
    /// Datagrams that the kernel refused to take, transactions that failed.
    Failed,
    /// Responses that came after their request had been given up, or once more.
    Late,
    /// Datagrams whose numbers were passed over and that have not arrived since.
    Lost,
    /// Datagrams that arrived after a later one.
    Reordered,
    /// Datagrams that arrived again.
    Duplicates,
    /// Not a count: interarrival jitter, in nanoseconds.
    Jitter,
}

pub(crate) const COUNTS: usize = 12;

/// The counters of one stream at one end, on cache lines of their own. One thread writes, others read.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct StreamMeter([AtomicU64; COUNTS]);

impl StreamMeter {
    /// Adds to a counter: a plain load and store, since it has one writer.
    #[inline]
    pub(crate) fn add(&self, count: Count, by: u64) {
        let cell = &self.0[count as usize];
        cell.store(cell.load(Ordering::Relaxed) + by, Ordering::Relaxed);
    }

    /// Says what a counter stands at.
    #[inline]
    pub(crate) fn set(&self, count: Count, value: u64) {
        self.0[count as usize].store(value, Ordering::Relaxed);
    }

    /// A counter as it stands.
    pub(crate) fn get(&self, count: Count) -> u64 {
        self.at(count as usize)
    }

    fn at(&self, index: usize) -> u64 {
        self.0[index].load(Ordering::Relaxed)
    }
}

/// Phases that are counted apart.
pub(crate) const PHASES: usize = 3;

/// Signals of the control plane to the workers of one end.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// Who sends ends.
    stop: AtomicBool,
    /// The peer sends no more datagrams: what is on the way is still taken, then it is over.
    drain: AtomicBool,
    /// It is over at once.
    abort: AtomicBool,
}

impl Signals {
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn drain(&self) {
        self.drain.store(true, Ordering::Relaxed);
    }

    pub(crate) fn draining(&self) -> bool {
        self.drain.load(Ordering::Relaxed)
    }

    pub(crate) fn abort(&self) {
        self.stop();
        self.drain();
        self.abort.store(true, Ordering::Relaxed);
    }

    pub(crate) fn aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }
}

/// A worker's final result for a stream.
#[derive(Debug, Default)]
pub(crate) struct StreamResult {
    /// Datagrams received, lost and reordered, at the reading end.
    pub tally: Option<DatagramTally>,
    /// Datagrams sent in each phase, of a stream of them.
    pub sent: Option<[u64; PHASES]>,
    /// Times of transactions since the last cut that was handed over.
    pub times: Option<Box<TransactionTimes>>,
    /// Why it ended early.
    pub error: Option<io::Error>,
}

/// Waits at the start barrier and returns the test's phases. All allocations come before it is called.
pub(crate) type StartBarrier<'a> = &'a mut dyn FnMut() -> Grid;

/// What a worker thread needs besides its streams.
pub(crate) struct WorkerContext<'a> {
    /// Watches the clock for it.
    pub cutter: Cutter,
    /// Sets its end.
    pub signals: &'a Signals,
    /// Sets its beginning.
    pub barrier: StartBarrier<'a>,
}

impl WorkerContext<'_> {
    /// A call has timed out: whether to wait on. Cuts are not missed meanwhile.
    fn waits(&mut self) -> bool {
        self.cutter.at(clock::now());
        !self.signals.aborted()
    }

    /// Waits for the start.
    fn begin(&mut self) {
        self.cutter.start((self.barrier)());
    }
}

/// Whether a call is simply to be made again.
fn again(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// Whether a call found nothing to do within its time.
fn nothing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

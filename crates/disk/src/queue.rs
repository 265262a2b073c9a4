//! The interface between a worker and its I/O queue: one virtual call a batch, never one an I/O.

use crate::Arena;
use clock::Ns;
use engine::Reports;
use thiserror::Error;
use workload::Dir;

/// One I/O, with its buffer named by slot: the arena holds one buffer a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Which of the worker's slots (0 to depth - 1); names the buffer and comes back in the completion.
    pub slot: u32,
    /// What it does.
    pub dir: Dir,
    /// Index into the queue's targets.
    pub target: u16,
    /// Byte offset into the target.
    pub offset: u64,
    /// Bytes; 0 for a flush, which is of the whole target.
    pub len: u32,
    /// A write that completes once it is on the medium; of a target that is written in order only, one that the next flush
    /// reads back and compares.
    pub fua: bool,
}

/// How one I/O ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot of its [`Io`].
    pub slot: u32,
    /// Bytes moved (of a trim or zeroes: its length), or the operating system's error number. Fewer bytes than asked for is
    /// an error of the queue's making: it retries or reports `EIO`.
    pub result: Result<u32, i32>,
}

/// Completions of one reap: preallocated for a worker's depth.
pub type Completions = Vec<Completion>;

/// Builds a queue: made on the control plane (identity, size, grant), opened on the worker's own thread.
pub trait Opener: Send {
    /// Opens the queue. It keeps a clone of the arena for as long as its I/O may touch the buffers, which may be
    /// registered with the kernel.
    /// # Errors
    /// The queue cannot be set up for a target.
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError>;
}

/// Carries I/O for one worker. Owned by that worker's thread alone.
pub trait Queue {
    /// I/Os that can really be in flight at once; a worker keeps to it.
    fn depth_max(&self) -> u32;

    /// What carries the I/O, for the record's provenance: `io_uring, registered buffers, …`.
    fn how(&self) -> &str;

    /// Takes I/Os from the front of `ios` and returns how many; fewer than all only when the queue is full.
    fn submit(&mut self, ios: &[Io]) -> usize;

    /// Appends completions to `out` (never beyond its capacity): waits for at least `min` of them, at most until
    /// `until`.
    fn reap(&mut self, min: u32, until: Ns, out: &mut Completions);

    /// The control plane's end of what it reports beside completions, such as a path that was lost: asked once, after it
    /// was opened. Its own end belongs to the worker's thread, and keeps to what holds there: what happened is put into
    /// memory that was taken before the start, and what finds no room is counted.
    fn reports(&mut self) -> Option<Box<dyn Reports>> {
        None
    }
}

/// Why a queue could not be opened.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{target}: {problem}")]
pub struct OpenError {
    /// The target.
    pub target: String,
    /// What went wrong and what to do next.
    pub problem: String,
}

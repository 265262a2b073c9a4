//! The interface that prepares a worker's buffers before submission and examines them after completion: one virtual call a
//! batch each way. A worker whose buffers are not examined (pure reads, `null:`) has none, and pays a comparison.
//!
//! A payload may also hold I/Os back, as verification does while an overlapping one is in flight: they stay in the
//! batch and are offered again with the next one. Preparation counts as generator time, never as latency.

use crate::feed::IoBatch;
use crate::{Arena, Completion, Io, OpenError};
use clock::Ns;
use engine::Reports;

/// Makes a payload: built on the control plane, opened on the worker's own thread, where the arena is.
pub trait PayloadOpener: Send {
    /// Opens the payload for I/Os in the first `slots` buffers of the arena, which it clones. Allocates all its memory.
    /// # Errors
    /// Its memory or state cannot be allocated.
    fn open(self: Box<Self>, arena: &Arena, slots: u32) -> Result<Box<dyn Payload>, OpenError>;
}

/// Prepares what a worker writes and examines what it has read. Bare, like all that runs on a worker's thread.
pub trait Payload {
    /// Prepares the buffers of I/Os that wait ([`IoBatch::admit`] walks over them) and returns how many, from the front of
    /// the batch, may be submitted. Some always may where nothing is in flight. `now` is the worker's last stamp.
    fn admit(&mut self, batch: &mut IoBatch, now: Ns) -> usize;

    /// Looks at completions before they are counted, while their buffers still hold what was moved. It may turn one into
    /// an error, and must not trust their number or order.
    fn completed(&mut self, done: &mut [Completion], now: Ns);

    /// The control plane's end of what it reports; asked once, after it was opened.
    fn reports(&mut self) -> Option<Box<dyn Reports>> {
        None
    }

    /// The worker issues no more; `unsent` were admitted and never submitted.
    fn ended(&mut self, unsent: &[Io]) {
        let _ = unsent;
    }
}

//! What a load has to say beside its figures, such as the faults that verification finds. The worker's thread only puts
//! numbers where the collector finds them; words are made here, off the data plane.

use crate::Note;
use clock::Ns;
use record::CounterId;

/// The control plane's end of what a load reports. The collector asks it ten times a second, and once more when the
/// load's thread has gone.
pub trait Reports: Send {
    /// Hands over what is new since the last call, with its moment on the monotonic clock.
    fn news(&mut self, say: &mut dyn FnMut(Ns, Note));

    /// What has been counted from the start of the step until now: counters of the worker in the record. Asked once, at
    /// the end.
    fn counts(&mut self) -> Vec<(CounterId, u64)>;
}

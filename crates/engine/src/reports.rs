//! What a load reports in addition to its figures, such as the faults that verification finds. The worker's thread
//! only stores numbers for the collector; texts are made here, off the data plane.

use crate::EventNote;
use clock::Ns;

/// The control-plane end of a load's reports. The collector polls it ten times a second, and once more when the
/// load's thread has ended.
pub trait Reports: Send {
    /// Passes on what is new since the last call, with its time on the monotonic clock.
    fn news(&mut self, say: &mut dyn FnMut(Ns, EventNote));

    /// Totals since the start of the step, under stable names of lower-case words joined by hyphens. They become
    /// counters of the worker in the record. Called once, at the end.
    fn counts(&mut self) -> Vec<(&'static str, u64)>;
}

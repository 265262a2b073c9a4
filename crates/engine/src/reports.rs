//! What a load reports in addition to its figures, such as the faults that verification finds. The worker's thread
//! only stores numbers for the collector; texts are made here, off the data plane.

use crate::EventNote;
use clock::Ns;
use record::CounterId;

/// The control-plane end of a load's reports. The collector polls it ten times a second, and once after its end.
pub trait Reports: Send {
    /// Passes on what is new since the last call, with its time on the monotonic clock.
    fn news(&mut self, say: &mut dyn FnMut(Ns, EventNote));

    /// Bytes after which the load is done; `None` where it does not end by bytes.
    fn planned(&self) -> Option<u64> {
        None
    }

    /// Counts from the start of the step until now: counters of the worker in the record. Asked once, at the end.
    fn counts(&mut self) -> Vec<(CounterId, u64)>;
}

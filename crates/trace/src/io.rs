//! One I/O of a trace, the stream of them that every reader is, and what a reader counted beside them.

use crate::TraceError;
use clock::Ns;
use workload::Dir;

/// One I/O as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceIo {
    /// When it was issued, since the earliest time that the trace knows.
    pub at: Ns,
    /// What it did.
    pub dir: Dir,
    /// A write that was acknowledged from the medium (force unit access).
    pub fua: bool,
    /// Index into [`TraceReader::devices`].
    pub device: u16,
    /// Byte offset on the device.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub len: u32,
    /// From its issue to its completion, where the trace says.
    pub latency: Option<Ns>,
    /// The process or thread that issued it; 0 where the trace does not say.
    pub issuer: u32,
}

impl TraceIo {
    /// The first byte after it.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.len))
    }
}

/// What a reader met beside I/Os. A count of 0 is not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records, lines or events that were read.
    pub records: u64,
    /// Requests that were merged into others before they were issued.
    pub merged: u64,
    /// Requests that were split.
    pub split: u64,
    /// Requests that were completed in several parts.
    pub partial: u64,
    /// Requests that were given back and issued again.
    pub requeued: u64,
    /// Records whose time is before that of an earlier one; they were put in order.
    pub disordered: u64,
    /// Records that were behind by more than what is kept to put them in order: they have the time of their successor.
    pub clamped: u64,
    /// I/Os without a completion: their latency is unknown.
    pub open: u64,
    /// Completions of what had not been issued while the trace was taken.
    pub stray: u64,
    /// Completions with an error.
    pub failed: u64,
    /// Records that are no I/O to a range: messages, plugging, other commands.
    pub other: u64,
    /// Records that the program which took the trace lost.
    pub dropped: u64,
    /// What else has to be said of the trace as a whole.
    pub notes: Vec<String>,
}

impl Tally {
    /// The counts that are not 0, with what they count.
    pub fn rows(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("merged into others", self.merged),
            ("split", self.split),
            ("completed in parts", self.partial),
            ("given back and issued again", self.requeued),
            ("out of order, put in order", self.disordered),
            ("too far out of order, moved", self.clamped),
            ("without a completion", self.open),
            ("completions without an issue", self.stray),
            ("failed", self.failed),
            ("no I/O", self.other),
            ("lost when the trace was taken", self.dropped),
        ];
        all.into_iter().filter(|(_, n)| *n > 0).collect()
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}

/// A trace that is read from its start to its end, in constant memory.
pub trait TraceReader {
    /// The next I/O in order of issue; `None` after the last.
    /// # Errors
    /// Where the input cannot be read as what it is.
    fn next(&mut self) -> Result<Option<TraceIo>, TraceError>;

    /// The devices met so far, by the index that I/Os have.
    fn devices(&self) -> &[String];

    /// What was met so far.
    fn tally(&self) -> Tally;
}

/// Devices by name, numbered as they are met.
#[derive(Default)]
pub(crate) struct Devices {
    names: Vec<String>,
    numbers: std::collections::BTreeMap<String, u16>,
    /// The last one asked for: most records are of the same device as the one before.
    last: u16,
}

impl Devices {
    /// The number of a device; `None` where there are too many.
    pub fn number(&mut self, name: &str) -> Option<u16> {
        if self.names.get(usize::from(self.last)).is_some_and(|last| last == name) {
            return Some(self.last);
        }
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                let number = u16::try_from(self.names.len()).ok().filter(|n| *n < u16::MAX)?;
                self.names.push(name.to_owned());
                self.numbers.insert(name.to_owned(), number);
                number
            }
        };
        self.last = number;
        Some(number)
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// The complaint about a trace with more devices than can be numbered.
pub(crate) const DEVICES_MANY: &str = "more than 65,535 devices";

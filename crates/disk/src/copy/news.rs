//! What a copy reports beside its intervals: when it began and ended, and which faults it waited out. Its thread stores
//! numbers; the texts are made on the control plane.

use clock::Ns;
use engine::{EventNote, Reports, errno_name};
use record::{CounterId, Level};
use rtrb::{Consumer, Producer, RingBuffer};

/// Events that may wait for the collector, which looks ten times a second.
const ROOM: usize = 256;

/// Something that happened in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyEvent {
    /// Its first read was issued.
    Began,
    /// Everything is written and flushed: so many blocks.
    Ended {
        /// Blocks of this worker.
        blocks: u64,
    },
    /// A block failed and will be tried again.
    Failed {
        /// The side, as an index into the targets.
        side: u16,
        /// Why.
        errno: i32,
    },
    /// The first success after a failure.
    Resumed {
        /// How long nothing succeeded.
        after: Ns,
    },
}

/// The worker's end.
pub struct NewsTx(Producer<(Ns, CopyEvent)>);

/// The collector's end.
pub struct CopyNews {
    news: Consumer<(Ns, CopyEvent)>,
    name: String,
    targets: [String; 2],
    block: u32,
    /// Bytes after which it is done, where it ends.
    planned: Option<u64>,
    began: Ns,
    more: [Option<Box<dyn Reports>>; 2],
}

impl NewsTx {
    /// Both ends, the collector's with what else reports.
    pub fn new(
        name: String,
        targets: [String; 2],
        block: u32,
        blocks: Option<u64>,
        more: [Option<Box<dyn Reports>>; 2],
    ) -> (NewsTx, CopyNews) {
        let (tx, news) = RingBuffer::new(ROOM);
        let planned = blocks.map(|blocks| blocks.saturating_mul(block.into()));
        (NewsTx(tx), CopyNews { news, name, targets, block, planned, began: Ns::ZERO, more })
    }

    /// Stores what happened; it is left out where the collector is far behind.
    pub fn tell(&mut self, at: Ns, event: CopyEvent) {
        let _ = self.0.push((at, event));
    }
}

impl CopyNews {
    fn note(&mut self, at: Ns, event: CopyEvent) -> EventNote {
        let CopyNews { name, targets: [from, to], block, .. } = self;
        let seconds = |ns: Ns| format!("{:.3} s", ns.0 as f64 / 1e9);
        let (level, code, text) = match event {
            CopyEvent::Began => {
                self.began = at;
                (Level::Info, "copy-began", format!("{name}: copying {from} to {to}"))
            }
            CopyEvent::Ended { blocks } => {
                let bytes = blocks as f64 * f64::from(*block);
                let took = at.since(self.began);
                let rate = bytes / 1e6 / (took.0 as f64 / 1e9).max(1e-9);
                let text = format!(
                    "{name}: {:.3} GB of {from} are written to {to} and flushed, in {} ({rate:.1} MB/s)",
                    bytes / 1e9,
                    seconds(took)
                );
                (Level::Info, "copy-ended", text)
            }
            CopyEvent::Failed { side, errno } => {
                let (what, of) = match side {
                    super::FROM => ("a read of", from),
                    _ => ("a write to", to),
                };
                let why = std::io::Error::from_raw_os_error(errno);
                let text = format!(
                    "{name}: {what} {of} failed: {} ({why}); blocks are tried again until it answers",
                    errno_name(errno)
                );
                (Level::Warning, "copy-interrupted", text)
            }
            CopyEvent::Resumed { after } => {
                let text =
                    format!("{name}: goes on after {}; no block is left out", seconds(after));
                (Level::Info, "copy-resumed", text)
            }
        };
        EventNote { level, code, text }
    }
}

impl Reports for CopyNews {
    fn news(&mut self, say: &mut dyn FnMut(Ns, EventNote)) {
        while let Ok((at, event)) = self.news.pop() {
            let note = self.note(at, event);
            say(at, note);
        }
        self.more.iter_mut().flatten().for_each(|more| more.news(say));
    }

    fn planned(&self) -> Option<u64> {
        self.planned
    }

    fn counts(&mut self) -> Vec<(CounterId, u64)> {
        let planned = self.planned.map(|bytes| (CounterId::PlannedBytes, bytes));
        let more = self.more.iter_mut().flatten().flat_map(|more| more.counts());
        planned.into_iter().chain(more).collect()
    }
}

//! Events of Linux' block layer, and the I/Os that they tell of: at the layer where requests are queued, or at the one where
//! they are issued to the driver. blktrace, its text and the kernel's trace events all come through here.

use crate::{Tally, TraceIo};
use clock::Ns;
use std::collections::{BTreeMap, VecDeque};
use workload::Dir;

/// Bytes of a sector, in which the block layer counts whatever the device's own blocks are.
pub const SECTOR: u64 = 512;

/// I/Os that are kept until those before them have completed.
const KEPT: usize = 1 << 20;

/// Where in the block layer an I/O counts as issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layer {
    /// Where it is queued (Q): what programs and file systems ask for, before merges.
    #[default]
    Queue,
    /// Where it is issued to the driver (D): what the device gets, after merges.
    Driver,
}

impl Layer {
    /// What it is, for a reader.
    pub fn describe(self) -> &'static str {
        match self {
            Layer::Queue => "requests as queued (Q), before merges",
            Layer::Driver => "requests as issued to the driver (D), after merges",
        }
    }
}

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockAction {
    /// Queued: Q.
    Queue,
    /// Merged into another, at its end or its start: M, F.
    Merge,
    /// Issued to the driver: D.
    Issue,
    /// Given back by the driver: R.
    Requeue,
    /// Split in two: X.
    Split,
    /// Completed: C.
    Complete,
    /// Anything else.
    Other,
}

/// An event of the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// When.
    pub at: Ns,
    /// What happened.
    pub action: BlockAction,
    /// What the request does; `None` for one without a range, such as a SCSI command.
    pub dir: Option<Dir>,
    /// It has FUA.
    pub fua: bool,
    /// Number of the device.
    pub device: u16,
    /// The first sector.
    pub sector: u64,
    /// Bytes.
    pub bytes: u64,
    /// The process.
    pub pid: u32,
    /// A completion with an error.
    pub failed: bool,
}

/// An I/O that was issued.
struct Pending {
    io: TraceIo,
    /// The part that has not completed.
    left: (u64, u64),
    done: bool,
    parts: u32,
}

/// Joins issues with completions.
pub struct BlockMatcher {
    layer: Layer,
    /// In order of issue; the front has number `first`.
    queue: VecDeque<Pending>,
    first: u64,
    /// By device, kind, first byte that has not completed, and number.
    open: BTreeMap<(u16, Dir, u64, u64), ()>,
    /// Length of the longest request.
    longest: u64,
    /// Issue of the last one that left.
    left: Ns,
    tally: Tally,
}

impl BlockMatcher {
    /// A matcher at a layer.
    pub fn new(layer: Layer) -> BlockMatcher {
        let (queue, open) = (VecDeque::new(), BTreeMap::new());
        BlockMatcher {
            layer,
            queue,
            first: 0,
            open,
            longest: 0,
            left: Ns::ZERO,
            tally: Tally::default(),
        }
    }

    /// What was counted.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Takes the next event in order of time.
    pub fn push(&mut self, event: BlockEvent) {
        let issue = match self.layer {
            Layer::Queue => BlockAction::Queue,
            Layer::Driver => BlockAction::Issue,
        };
        match event.action {
            BlockAction::Merge => self.tally.merged += 1,
            BlockAction::Split => self.tally.split += 1,
            BlockAction::Requeue => {
                self.tally.requeued += 1;
                if self.layer == Layer::Driver {
                    self.forget(&event);
                }
            }
            BlockAction::Complete => self.complete(&event),
            action if action == issue => self.issue(&event),
            BlockAction::Queue | BlockAction::Issue => {}
            BlockAction::Other => self.tally.other += 1,
        }
    }

    fn issue(&mut self, event: &BlockEvent) {
        let Some(dir) = event.dir else {
            self.tally.other += 1;
            return;
        };
        let (start, most) = (event.sector.saturating_mul(SECTOR), u64::from(u32::MAX) & !511);
        let len = if dir == Dir::Flush { 0 } else { event.bytes.min(most) };
        if event.bytes > most && dir != Dir::Flush {
            self.tally.note("requests above 4 GiB, which are cut to that");
        }
        let start = if dir == Dir::Flush { 0 } else { start };
        let io = TraceIo {
            at: event.at,
            dir,
            fua: event.fua,
            device: event.device,
            offset: start,
            len: len as u32,
            latency: None,
            issuer: event.pid,
        };
        let number = self.first + self.queue.len() as u64;
        let end = start.saturating_add(len);
        self.queue.push_back(Pending { io, left: (start, end), done: false, parts: 0 });
        self.open.insert((event.device, dir, start, number), ());
        self.longest = self.longest.max(len);
    }

    /// The request of a range that goes back is no issue; the next one of that range is.
    fn forget(&mut self, event: &BlockEvent) {
        let Some(dir) = event.dir else { return };
        let start = if dir == Dir::Flush { 0 } else { event.sector.saturating_mul(SECTOR) };
        let range = (event.device, dir, start, 0)..=(event.device, dir, start, u64::MAX);
        let Some(key) = self.open.range(range).next_back().map(|(key, ())| *key) else { return };
        self.open.remove(&key);
        let place = (key.3 - self.first) as usize;
        if let Some(pending) = self.queue.get_mut(place) {
            // What is marked as an empty read of the last device leaves no I/O.
            pending.done = true;
            pending.io.device = u16::MAX;
        }
    }

    /// What a completion covers, request by request: where several have the same range, the one that waits longest.
    fn complete(&mut self, event: &BlockEvent) {
        self.tally.failed += u64::from(event.failed);
        let Some(dir) = event.dir else {
            self.tally.other += 1;
            return;
        };
        let (mut from, mut bytes) = (event.sector.saturating_mul(SECTOR), event.bytes);
        if dir == Dir::Flush {
            (from, bytes) = (0, 0);
        }
        let to = from.saturating_add(bytes);
        let mut found = false;
        let mut cursor = from;
        let mut start = (event.device, dir, from.saturating_sub(self.longest), 0);
        loop {
            let end = (event.device, dir, to, u64::MAX);
            let Some(key) = self.open.range(start..=end).next().map(|(key, ())| *key) else {
                break;
            };
            start = (key.0, key.1, key.2, key.3 + 1);
            let place = (key.3 - self.first) as usize;
            let Some(pending) = self.queue.get_mut(place) else { break };
            let left = pending.left;
            let flush = dir == Dir::Flush;
            if !flush && (left.0 < cursor || left.0 >= to) {
                continue;
            }
            found = true;
            self.open.remove(&key);
            pending.parts += 1;
            let until = left.1.min(to);
            if until < left.1 {
                pending.left.0 = until;
                self.open.insert((key.0, key.1, until, key.3), ());
            } else {
                pending.done = true;
                pending.io.latency = Some(event.at.since(pending.io.at));
                self.tally.partial += u64::from(pending.parts > 1);
            }
            cursor = until;
            if flush || cursor >= to {
                break;
            }
        }
        self.tally.stray += u64::from(!found);
    }

    /// The next I/O in order of issue that is complete, or that leaves because there is no room, or because `all` must.
    pub fn pop(&mut self, all: bool) -> Option<TraceIo> {
        loop {
            let front = self.queue.front()?;
            if !front.done && self.queue.len() <= KEPT && !all {
                return None;
            }
            let number = self.first;
            self.first += 1;
            let pending = self.queue.pop_front()?;
            if pending.io.device == u16::MAX {
                continue;
            }
            if !pending.done {
                self.tally.open += 1;
                let Pending { io, left, .. } = &pending;
                self.open.remove(&(io.device, io.dir, left.0, number));
            }
            let mut io = pending.io;
            self.tally.clamped += u64::from(io.at < self.left);
            io.at = io.at.max(self.left);
            self.left = io.at;
            return Some(io);
        }
    }
}

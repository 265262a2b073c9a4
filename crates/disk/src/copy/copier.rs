//! The data plane of a copy: issue, wait, account, over and over, as a worker does. After the start it allocates nothing,
//! locks nothing, and makes no system call but those of its queues and its clock.

use super::news::{CopyEvent, NewsTx};
use super::sides::Sides;
use super::{FROM, JobBoard, TO};
use crate::{Arena, Completion, Completions, Io};
use clock::Ns;
use engine::{CopySpec, EngineError, OpenedLoad, Spent, Stop, WRONG_DATA, WorkerMeter, errno_name};
use workload::{Dir, Extent};

/// How often a copy that waits for others looks whether they have ended.
const LOOK: Ns = Ns::millis(1);

/// How long after a failure blocks are tried again.
const PAUSE: Ns = Ns::millis(100);

/// No slot.
const NONE: u32 = u32::MAX;

/// Errors that stay: a full or read-only medium, or a request that no target takes.
const LASTING: [i32; 9] = [
    libc::ENOSPC,
    libc::EDQUOT,
    libc::EFBIG,
    libc::EROFS,
    libc::EPERM,
    libc::EACCES,
    libc::EINVAL,
    libc::EBADF,
    libc::EOPNOTSUPP,
];

/// Errors of a medium without room.
const FULL: [i32; 3] = [libc::ENOSPC, libc::EDQUOT, libc::EFBIG];

/// What a copy touches of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    start: u64,
    /// Blocks.
    pub blocks: u64,
    block: u32,
}

/// What a copier is made of beside its queues.
pub struct Setup {
    /// Its name.
    pub name: String,
    /// What it does, with depths that its queues carry.
    pub spec: CopySpec,
    /// The names of source and destination.
    pub targets: [String; 2],
    /// What it touches of them.
    pub regions: [Region; 2],
    /// The destination is written in order only: what is written is read back at the end, by the flush.
    pub in_order: bool,
    /// The copies of the step.
    pub board: JobBoard,
    /// Its place among them.
    pub place: usize,
    /// Those that it waits for.
    pub after: Vec<usize>,
    /// How long after the end it waits for what is in flight.
    pub grace: Ns,
}

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Copying,
    /// Everything is written: the flush is to be issued, or under way.
    Flushing,
    Ended,
}

/// What a buffer holds, or what is under way with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Free,
    Read,
    /// It waits to be written in its turn.
    Full,
    Write,
    /// It is read back.
    Check,
    Flush,
}

#[derive(Clone, Copy, Debug)]
struct Buffer {
    step: Step,
    block: u64,
    /// The checksum of what was read.
    sum: u32,
}

/// The load of a copy.
pub struct Copier {
    of: Setup,
    arena: Arena,
    sides: Sides,
    news: NewsTx,
    stage: Stage,
    buffers: Vec<Buffer>,
    free: Vec<u32>,
    /// Buffers that wait to be written, by block modulo their number.
    full: Vec<u32>,
    /// Buffers whose step is to be issued out of turn: blocks to read back, and what failed.
    again: Vec<u32>,
    next_read: u64,
    next_write: u64,
    reading: u32,
    writing: u32,
    written: u64,
    batch: Vec<Io>,
    done: Completions,
    /// Since when nothing has succeeded at a side.
    failing: [Option<Ns>; 2],
    /// When what failed may be tried again.
    retry_at: Ns,
}

impl Region {
    /// The part of a target that is the `share.0`-th of `share.1` copies.
    /// # Errors
    /// It has no whole block, or blocks that do not fit the target's.
    pub fn of(extent: Extent, share: (u32, u32), block: u32) -> Result<Region, String> {
        if block == 0 || !block.is_multiple_of(extent.block) {
            return Err(format!("blocks of {block} bytes are no multiple of its {}", extent.block));
        }
        let blocks = extent.size / u64::from(block) / u64::from(share.1.max(1));
        let start = u64::from(share.0) * blocks * u64::from(block);
        match blocks {
            0 => Err(format!("{} bytes are too few for {} copies", extent.size, share.1)),
            _ => Ok(Region { start, blocks, block }),
        }
    }

    fn offset(&self, block: u64) -> u64 {
        self.start + block % self.blocks * u64::from(self.block)
    }
}

impl Copier {
    /// A copy with its queues opened.
    pub fn new(of: Setup, arena: Arena, sides: Sides, news: NewsTx) -> Copier {
        let depth = of.spec.depth;
        Copier {
            arena,
            sides,
            news,
            stage: Stage::Waiting,
            buffers: vec![Buffer { step: Step::Free, block: 0, sum: 0 }; depth as usize],
            free: (0..depth).rev().collect(),
            full: vec![NONE; depth as usize],
            again: Vec::with_capacity(depth as usize),
            next_read: 0,
            next_write: 0,
            reading: 0,
            writing: 0,
            written: 0,
            batch: Vec::with_capacity(depth as usize),
            done: Vec::with_capacity(depth as usize),
            failing: [None; 2],
            retry_at: Ns::ZERO,
            of,
        }
    }

    fn place_of(&self, block: u64) -> usize {
        (block % self.full.len() as u64) as usize
    }

    fn io(&self, slot: u32) -> (u16, Io) {
        let Buffer { step, block, .. } = self.buffers[slot as usize];
        let (side, dir) = match step {
            Step::Read | Step::Free => (FROM, Dir::Read),
            Step::Full | Step::Write => (TO, Dir::Write),
            Step::Check => (TO, Dir::Read),
            Step::Flush => (TO, Dir::Flush),
        };
        // To a destination in order it says that the block is to be read back by the flush.
        let fua = self.of.in_order && self.of.spec.verify && side == TO;
        let region = self.of.regions[usize::from(side)];
        let (offset, len) = match step {
            Step::Flush => (0, 0),
            _ => (region.offset(block), self.of.spec.block),
        };
        (side, Io { slot, dir, target: side, offset, len, fua })
    }

    /// Issues what can go, as of the meter's present.
    fn issue(&mut self, meter: &mut WorkerMeter, now: Ns) -> Result<(), EngineError> {
        if now >= self.retry_at {
            self.issue_again(meter, now);
        }
        self.issue_writes(meter, now);
        self.issue_reads(meter, now);
        let held = self.again.is_empty() || now >= self.retry_at;
        if self.stage == Stage::Copying && meter.in_flight() == 0 && held {
            let problem = "its empty queues take no I/O: a fault of the queue".to_owned();
            return Err(EngineError::Worker { worker: self.of.name.clone(), problem });
        }
        Ok(())
    }

    /// What failed, what is to be read back, and the flush.
    fn issue_again(&mut self, meter: &mut WorkerMeter, now: Ns) {
        let mut n = 0;
        while n < self.again.len() {
            let slot = self.again[n];
            let (side, io) = self.io(slot);
            self.batch.clear();
            self.batch.push(io);
            if self.sides.submit(side, &mut self.batch) == 0 {
                n += 1;
                continue;
            }
            meter.submitted(slot, io.dir, now);
            self.again.swap_remove(n);
        }
    }

    fn issue_writes(&mut self, meter: &mut WorkerMeter, now: Ns) {
        self.batch.clear();
        let room = self.of.spec.writes.saturating_sub(self.writing);
        for block in (self.next_write..).take(room as usize) {
            let slot = self.full[self.place_of(block)];
            let waits = self.buffers.get(slot as usize).is_some_and(|of| of.block == block);
            if !waits {
                break;
            }
            let (_, io) = self.io(slot);
            self.batch.push(io);
        }
        if self.batch.is_empty() {
            return;
        }
        let taken = self.sides.submit(TO, &mut self.batch);
        for n in 0..taken {
            let Io { slot, dir, .. } = self.batch[n];
            meter.submitted(slot, dir, now);
            self.buffers[slot as usize].step = Step::Write;
            let place = self.place_of(self.next_write);
            self.full[place] = NONE;
            self.next_write += 1;
            self.writing += 1;
        }
    }

    fn issue_reads(&mut self, meter: &mut WorkerMeter, now: Ns) {
        self.batch.clear();
        if self.stage != Stage::Copying {
            return;
        }
        let room = self.of.spec.reads.saturating_sub(self.reading) as usize;
        let left = self.of.spec.blocks.map_or(u64::MAX, |all| all.saturating_sub(self.next_read));
        let count = (room.min(self.free.len()) as u64).min(left) as usize;
        for (n, slot) in self.free.iter().rev().take(count).enumerate() {
            let block = self.next_read + n as u64;
            self.buffers[*slot as usize] = Buffer { step: Step::Free, block, sum: 0 };
        }
        for n in 0..count {
            let (_, io) = self.io(self.free[self.free.len() - 1 - n]);
            self.batch.push(io);
        }
        if self.batch.is_empty() {
            return;
        }
        let taken = self.sides.submit(FROM, &mut self.batch);
        for n in 0..taken {
            let Io { slot, dir, .. } = self.batch[n];
            meter.submitted(slot, dir, now);
            self.buffers[slot as usize].step = Step::Read;
            self.free.pop();
            self.next_read += 1;
            self.reading += 1;
        }
    }

    /// Waits for a completion, the next try or the next cut, and accounts for what came back. Returns its stamp.
    fn wait(&mut self, meter: &mut WorkerMeter) -> Result<Ns, EngineError> {
        let mut until = meter.next_cut();
        if !self.again.is_empty() {
            until = until.min(self.retry_at.max(clock::now().plus(LOOK)));
        }
        if meter.in_flight() == 0 {
            clock::sleep_until(until);
        } else {
            self.sides.reap(until, &mut self.done);
        }
        self.account(meter)
    }

    fn account(&mut self, meter: &mut WorkerMeter) -> Result<Ns, EngineError> {
        let now = clock::now();
        meter.advance(now, Spent::Waiting);
        for n in 0..self.done.len() {
            let done = self.done[n];
            self.completed(done, meter, now)?;
        }
        self.done.clear();
        Ok(now)
    }

    fn completed(
        &mut self,
        Completion { slot, result }: Completion,
        meter: &mut WorkerMeter,
        now: Ns,
    ) -> Result<(), EngineError> {
        let Some(&Buffer { step, block, sum }) = self.buffers.get(slot as usize) else {
            return Err(self.stray());
        };
        let result = match step {
            Step::Check if result.is_ok() && self.sum(slot) != sum => Err(WRONG_DATA),
            _ => result,
        };
        if let Err(errno) = result
            && errno != WRONG_DATA
        {
            return self.failed(slot, step, errno, meter, now);
        }
        if !meter.completed(slot, result) {
            return Err(self.stray());
        }
        let side = if step == Step::Read { FROM } else { TO };
        if let Some(since) = self.failing[usize::from(side)].take() {
            self.news.tell(now, CopyEvent::Resumed { after: now.since(since) });
        }
        match step {
            Step::Read => {
                self.reading -= 1;
                let sum = if self.of.spec.verify { self.sum(slot) } else { 0 };
                self.buffers[slot as usize] = Buffer { step: Step::Full, block, sum };
                let place = self.place_of(block);
                self.full[place] = slot;
            }
            Step::Write if self.of.spec.verify && !self.of.in_order => {
                self.buffers[slot as usize].step = Step::Check;
                self.again.push(slot);
            }
            Step::Write | Step::Check => self.block_is_done(slot),
            Step::Flush => {
                self.stage = Stage::Ended;
                self.buffers[slot as usize].step = Step::Free;
                self.news.tell(now, CopyEvent::Ended { blocks: self.written });
                self.of.board.end(self.of.place);
                meter.work_done();
            }
            Step::Free | Step::Full => return Err(self.stray()),
        }
        Ok(())
    }

    /// A block is where it belongs; the last one is followed by a flush.
    fn block_is_done(&mut self, slot: u32) {
        self.writing -= 1;
        self.written += 1;
        self.buffers[slot as usize].step = Step::Free;
        self.free.push(slot);
        if self.of.spec.blocks == Some(self.written) {
            self.stage = Stage::Flushing;
            self.buffers[slot as usize].step = Step::Flush;
            self.again.push(slot);
        }
    }

    /// The checksum of a buffer that no I/O is using.
    fn sum(&self, slot: u32) -> u32 {
        let Some(base) = self.arena.slot(slot) else { return 0 };
        let len = (self.of.spec.block as usize).min(self.arena.slot_bytes());
        // SAFETY: the buffer is mapped and at least `len` long, and its I/O has completed.
        crc32c::crc32c(unsafe { std::slice::from_raw_parts(base, len) })
    }

    /// An I/O failed: its step is tried again after a while, or the copy ends.
    fn failed(
        &mut self,
        slot: u32,
        step: Step,
        errno: i32,
        meter: &mut WorkerMeter,
        now: Ns,
    ) -> Result<(), EngineError> {
        let side = if step == Step::Read { FROM } else { TO };
        let since = *self.failing[usize::from(side)].get_or_insert(now);
        let lasting = LASTING.contains(&errno) || now.since(since) >= self.of.spec.retry;
        if lasting {
            meter.completed(slot, Err(errno));
            return Err(self.given_up(side, errno, now.since(since)));
        }
        if !meter.withdrawn(slot) {
            return Err(self.stray());
        }
        if since == now {
            self.news.tell(now, CopyEvent::Failed { side, errno });
        }
        self.again.push(slot);
        self.retry_at = now.plus(PAUSE);
        Ok(())
    }

    fn given_up(&self, side: u16, errno: i32, waited: Ns) -> EngineError {
        let Setup { name, targets, spec, .. } = &self.of;
        let target = &targets[usize::from(side)];
        let what = if side == FROM { "a read of" } else { "a write to" };
        let why = std::io::Error::from_raw_os_error(errno);
        let gb = |blocks: u64| blocks as f64 * f64::from(spec.block) / 1e9;
        let of = spec.blocks.map_or(String::new(), |all| format!(" of {:.3} GB", gb(all)));
        let next = match side {
            TO if FULL.contains(&errno) => {
                "the destination is full: free space or take a larger one, and run it again"
            }
            _ if waited > Ns::ZERO => "it did not answer again in time (`retry`)",
            _ => "see the log of its host; `retry` lets a copy wait until it answers again",
        };
        let problem = format!(
            "{what} {target} failed: {} ({why}); {:.3} GB{of} are written; {next}",
            errno_name(errno),
            gb(self.written)
        );
        EngineError::Worker { worker: name.clone(), problem }
    }

    fn stray(&self) -> EngineError {
        let problem =
            "its queue completed an I/O that was not in flight: a fault of the queue".to_owned();
        EngineError::Worker { worker: self.of.name.clone(), problem }
    }

    /// Sleeps until there is something to do, or until the next cut.
    fn rest(&self, meter: &mut WorkerMeter, until: Ns) -> Ns {
        clock::sleep_until(until.min(meter.next_cut()));
        let now = clock::now();
        meter.advance(now, Spent::Waiting);
        now
    }
}

impl OpenedLoad for Copier {
    fn run(&mut self, meter: &mut WorkerMeter, stop: &Stop) -> Result<(), EngineError> {
        let mut now = clock::now();
        meter.advance(now, Spent::Waiting);
        while now < meter.line().end() && !stop.asked() {
            match self.stage {
                Stage::Waiting if !self.of.board.ended(&self.of.after) => {
                    now = self.rest(meter, now.plus(LOOK));
                    continue;
                }
                Stage::Waiting => {
                    self.stage = Stage::Copying;
                    // What it waited for may have ended after `now`, which was read before the board.
                    self.news.tell(clock::now(), CopyEvent::Began);
                }
                Stage::Ended => {
                    now = self.rest(meter, now.plus(PAUSE));
                    continue;
                }
                Stage::Copying | Stage::Flushing => {}
            }
            now = clock::now();
            meter.advance(now, Spent::Own);
            if now >= meter.line().end() {
                break;
            }
            self.issue(meter, now)?;
            now = self.wait(meter)?;
        }
        if stop.asked() {
            meter.finish(now);
        }
        let limit = clock::now().plus(self.of.grace);
        while meter.in_flight() > 0 && now < limit {
            self.sides.reap(limit, &mut self.done);
            now = self.account(meter)?;
        }
        Ok(())
    }
}

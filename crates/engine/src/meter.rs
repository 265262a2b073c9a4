//! The worker's side of measuring: counts into preallocated sheets and cuts them at the edges of the timeline.
//!
//! Every time comes in as an argument, so that a synthetic clock can drive it. Once it is made it allocates nothing,
//! locks nothing and makes one system call a cut, for the thread's CPU time. If no free sheet is available it keeps
//! accumulating and counts an overrun, but never across a phase edge.

use crate::buffers::{IdleSpan, IntervalBuffer, IntervalBuffers};
use crate::heartbeat::Heartbeat;
use crate::{MeterScope, StepEdge, StepTimeline};
use clock::{CpuTime, Ns};
use rtrb::{Consumer, Producer};
use workload::Dir;

/// A start later than this after it was due and a slot was free counts as late, and the generator is at fault. While
/// all slots are in flight the target makes operations wait, which response time shows.
const LATE: Ns = Ns::millis(1);

/// What a worker did during the time up to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// Generating and accounting: between a reaped batch and the next submission.
    Own,
    /// In the queue, or asleep because nothing was due.
    Waiting,
}

/// Operations that were still in flight when a worker abandoned them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOpen {
    /// Number of operations.
    pub count: u32,
    /// Age of the oldest one.
    pub age_max: Ns,
}

/// Counts what one worker does during one step.
pub struct WorkerMeter {
    line: StepTimeline,
    edge: StepEdge,
    end: StepEdge,
    scope: MeterScope,
    now: Ns,
    next_cut: Ns,
    slots: Vec<MeterSlot>,
    in_flight: u32,
    /// When the last shortage of slots ended.
    room_since: Ns,
    /// `None` once the step has ended: nothing more is counted.
    current: Option<Box<IntervalBuffer>>,
    #[expect(
        clippy::vec_box,
        reason = "sheets travel between the threads as boxes; unboxing would free on the way"
    )]
    reserve: Vec<Box<IntervalBuffer>>,
    out: Producer<Box<IntervalBuffer>>,
    back: Consumer<Box<IntervalBuffer>>,
    pulse: Heartbeat,
    cpu: fn() -> CpuTime,
    cpu_before: CpuTime,
    own_core: bool,
}

/// An operation in flight, or a free slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeterSlot {
    dir: Dir,
    due: Ns,
    /// [`Ns::MAX`] marks a free slot, so that the oldest is a plain minimum.
    submitted: Ns,
}

impl MeterSlot {
    pub(crate) const FREE: MeterSlot =
        MeterSlot { dir: Dir::Read, due: Ns::ZERO, submitted: Ns::MAX };
}

impl WorkerMeter {
    /// The same for a thread that has a processor of its own, by real-time priority, while others are left for everything else.
    #[must_use]
    pub fn on_own_core(self, own_core: bool) -> WorkerMeter {
        WorkerMeter { own_core, ..self }
    }

    /// Whether a short wait may be spent looking at the clock: a timer would wake the thread later than it asked for.
    #[inline]
    pub fn may_poll(&self) -> bool {
        self.own_core
    }

    /// A meter that starts with `line`, whose measurement and end `edges` may still move. `cpu` reads the calling thread's CPU time
    /// ([`clock::thread_cpu`]); CPU time before this call is not counted.
    pub fn new(
        sheets: IntervalBuffers,
        line: StepTimeline,
        [edge, end]: [StepEdge; 2],
        cpu: fn() -> CpuTime,
    ) -> WorkerMeter {
        let mut current = sheets.current;
        current.from = line.start();
        sheets.pulse.beat(line.start());
        WorkerMeter {
            line,
            edge,
            end,
            scope: sheets.scope,
            now: line.start(),
            next_cut: line.cut_after(line.start()).unwrap_or(Ns::MAX),
            slots: sheets.slots,
            in_flight: 0,
            room_since: Ns::ZERO,
            current: Some(current),
            reserve: sheets.reserve,
            out: sheets.out,
            back: sheets.back,
            pulse: sheets.pulse,
            cpu,
            cpu_before: cpu(),
            own_core: false,
        }
    }

    /// The step's timeline as of the last cut: its end may still move forward, but not before the next cut.
    #[inline]
    pub fn line(&self) -> &StepTimeline {
        &self.line
    }

    /// When the next interval ends and the worker should wake; [`Ns::MAX`] after the end.
    #[inline]
    pub fn next_cut(&self) -> Ns {
        self.next_cut
    }

    /// Operations in flight.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Advances to `now`, which the worker has just read, and cuts all intervals that end before. A completion at a
    /// cut belongs to the interval that begins there.
    #[inline]
    pub fn advance(&mut self, now: Ns, spent: Spent) {
        self.pulse.beat(now);
        if now >= self.next_cut {
            self.cut(now, spent);
        }
        self.flow(now, spent);
    }

    /// An operation was submitted now, in a free slot.
    #[inline]
    pub fn submitted(&mut self, slot: u32, dir: Dir, due: Ns) {
        let Some(place) = self.slots.get_mut(slot as usize) else { return };
        *place = MeterSlot { dir, due, submitted: self.now };
        self.in_flight += 1;
        if self.scope.open_loop
            && let Some(sheet) = &mut self.current
        {
            let delay = self.now.since(due.max(self.room_since));
            sheet.testimony.late += u64::from(delay > LATE);
            sheet.testimony.late_max = sheet.testimony.late_max.max(delay);
        }
    }

    /// The operation of `slot` ended now: bytes moved, or an error number. After the step's end it is only removed
    /// from those in flight. Returns whether there was one: a slot with nothing in flight is ignored.
    #[inline(always)]
    pub fn completed(&mut self, slot: u32, result: Result<u32, i32>) -> bool {
        let Some(place) = self.slots.get_mut(slot as usize) else { return false };
        let MeterSlot { dir, due, submitted } = std::mem::replace(place, MeterSlot::FREE);
        if submitted == Ns::MAX {
            return false;
        }
        if self.in_flight as usize == self.slots.len() {
            self.room_since = self.now;
        }
        self.in_flight -= 1;
        let Some(sheet) = self.current.as_deref_mut() else { return true };
        let Some(tally) = &mut sheet.tallies[dir as usize] else { return true };
        match result {
            Ok(bytes) => {
                tally.success(u64::from(bytes), self.now.since(submitted), self.now.since(due));
            }
            Err(errno) => {
                tally.errors += 1;
                sheet.errnos.count(errno);
            }
        }
        true
    }

    /// The operation of `slot` ended with an error and will be tried again: it is counted once it has come to an end. Returns
    /// whether there was one.
    pub fn withdrawn(&mut self, slot: u32) -> bool {
        let Some(place) = self.slots.get_mut(slot as usize) else { return false };
        let was = std::mem::replace(place, MeterSlot::FREE);
        let known = was.submitted != Ns::MAX;
        self.in_flight -= u32::from(known);
        known
    }

    /// All that the worker had to do is done, as of its present: it issues nothing more, and rests until the step's end.
    pub fn work_done(&self) {
        self.pulse.done(self.now);
    }

    /// Ends the step at `now`, early: the current interval is cut there. Does nothing after the end.
    pub fn finish(&mut self, now: Ns) {
        self.advance(now, Spent::Waiting);
        if let Some(sheet) = self.current.take() {
            self.send(sheet, self.now, None);
        }
        self.next_cut = Ns::MAX;
    }

    /// Operations in flight at `now`.
    pub fn left_open(&self, now: Ns) -> LeftOpen {
        LeftOpen { count: self.in_flight, age_max: self.oldest_age(now) }
    }

    fn oldest(&self) -> Ns {
        self.slots.iter().map(|s| s.submitted).min().unwrap_or(Ns::MAX)
    }

    fn oldest_age(&self, now: Ns) -> Ns {
        if self.in_flight == 0 { Ns::ZERO } else { now.since(self.oldest()) }
    }

    /// Advances the time within the current sheet.
    fn flow(&mut self, to: Ns, spent: Spent) {
        let span = to.since(self.now);
        if let Some(sheet) = &mut self.current {
            let of_all = Ns(span.0.saturating_mul(u64::from(self.in_flight)));
            sheet.testimony.in_flight = sheet.testimony.in_flight.plus(of_all);
            if spent == Spent::Own {
                sheet.testimony.own = sheet.testimony.own.plus(span);
            }
        }
        self.now = self.now.max(to);
    }

    /// Cuts at the next edge, and merges all further edges up to `now` into a silence: nothing happened between them.
    #[cold]
    fn cut(&mut self, now: Ns, spent: Spent) {
        self.line.follow(&self.edge);
        self.line.follow_end(&self.end);
        let first = self.next_cut;
        let last = self.line.cut_before(now).max(first);
        let Some(mut sheet) = self.current.take() else { return };
        let ends = last >= self.line.end();
        let fresh = if ends { None } else { self.fresh(sheet.from, last) };
        if !ends && fresh.is_none() {
            let missed = 1 + self.line.pieces(first, last).count();
            sheet.testimony.overruns += missed as u32;
            self.current = Some(sheet);
            self.flow(last, spent);
        } else {
            self.current = Some(sheet);
            self.flow(first, spent);
            let silence = (last > first).then(|| IdleSpan {
                until: last,
                open: self.in_flight,
                oldest: self.oldest(),
                own: spent == Spent::Own,
            });
            if let Some(sheet) = self.current.take() {
                self.send(sheet, first, silence);
            }
            self.current = fresh.map(|mut sheet| {
                sheet.from = last;
                sheet
            });
            self.now = last;
        }
        self.next_cut = self.line.cut_after(last).unwrap_or(Ns::MAX);
    }

    /// A free sheet. The reserve provides one if the next sheet must not mix with the phase that began at `from`, or
    /// if it holds more than the remaining edges can need.
    fn fresh(&mut self, from: Ns, until: Ns) -> Option<Box<IntervalBuffer>> {
        if let Ok(returned) = self.back.pop() {
            return Some(returned);
        }
        let crossed = self.line.edges_in(from, until) > 0;
        let ahead = self.line.edges_in(until, self.line.end());
        if crossed || self.reserve.len() > ahead { self.reserve.pop() } else { None }
    }

    fn send(&mut self, mut sheet: Box<IntervalBuffer>, at: Ns, silence: Option<IdleSpan>) {
        let cpu = (self.cpu)();
        let used = cpu.since(self.cpu_before);
        self.cpu_before = cpu;
        sheet.to = at;
        sheet.silence = silence;
        sheet.testimony.cpu_user = used.user;
        sheet.testimony.cpu_system = used.system;
        sheet.testimony.open = self.in_flight;
        sheet.testimony.open_age_max = self.oldest_age(at);
        let sent = self.out.push(sheet);
        debug_assert!(sent.is_ok(), "the ring holds every sheet there is");
    }
}

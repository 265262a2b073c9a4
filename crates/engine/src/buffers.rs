//! The interval buffers of one worker, and the two bounded rings that carry them: full ones to the collector, cleared
//! ones back. All of them exist before the start; the worker's thread neither allocates nor frees any after it.
//!
//! A stall longer than an interval is sent as one [`IdleSpan`] with the preceding sheet. The collector expands it to
//! one interval of zeros a cut, so a worker that wakes after a minute does not need sixty buffers.

use crate::heartbeat::Heartbeat;
use crate::meter::MeterSlot;
use crate::{ErrnoCounts, Phases, StepTimeline};
use clock::Ns;
use record::{Completed, Interval, Phase, SourceId, Testimony};
use rtrb::{Consumer, Producer, RingBuffer};

/// Buffers in addition to the one in use and those reserved for phase edges. The collector runs ten times a second
/// and cuts are a second apart, so it may miss nine runs before a cut is missed.
const SPARE: usize = 1;

/// The same where slices of less than a second follow the measurement.
const SPARE_SLICES: usize = 8;

/// What a worker can report, so that no memory is reserved for anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterScope {
    /// The worker may read.
    pub reads: bool,
    /// The worker may write.
    pub writes: bool,
    /// The operations without data that it may issue, in the order of [`workload::Dir::WITHOUT_DATA`].
    pub others: [bool; 3],
    /// Operations fall due by a clock: response time differs from service time, and starts can be late.
    pub open_loop: bool,
}

/// One interval as a worker fills it, with monotonic times.
#[derive(Debug)]
pub(crate) struct IntervalBuffer {
    pub from: Ns,
    pub to: Ns,
    /// One for each kind of operation, in the order of [`workload::Dir`]: found without a branch on what was drawn.
    pub tallies: [Option<Completed>; 5],
    pub testimony: Testimony,
    pub errnos: ErrnoCounts,
    pub silence: Option<IdleSpan>,
}

/// Whole intervals after a sheet's own in which nothing was submitted or completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleSpan {
    /// Where they end; they begin at the sheet's end.
    pub until: Ns,
    /// Operations in flight during the whole time.
    pub open: u32,
    /// When the oldest of them was submitted.
    pub oldest: Ns,
    /// The worker was busy itself, not waiting.
    pub own: bool,
}

/// The worker's end, from which a [`crate::WorkerMeter`] is made.
#[derive(Debug)]
pub struct IntervalBuffers {
    pub(crate) scope: MeterScope,
    pub(crate) slots: Vec<MeterSlot>,
    pub(crate) current: Box<IntervalBuffer>,
    /// One for each phase edge, so that measured figures have sheets of their own, even if the collector is slow.
    #[expect(
        clippy::vec_box,
        reason = "sheets travel between the threads as boxes; unboxing would free on the way"
    )]
    pub(crate) reserve: Vec<Box<IntervalBuffer>>,
    pub(crate) out: Producer<Box<IntervalBuffer>>,
    pub(crate) back: Consumer<Box<IntervalBuffer>>,
    pub(crate) pulse: Heartbeat,
}

/// The collector's end.
#[derive(Debug)]
pub struct IntervalDrain {
    scope: MeterScope,
    full: Consumer<Box<IntervalBuffer>>,
    empty: Producer<Box<IntervalBuffer>>,
    pulse: Heartbeat,
}

impl IntervalBuffers {
    /// Allocates all memory that a worker's metering needs for a step with at most `slots` operations in flight.
    pub fn provide(
        scope: MeterScope,
        slots: u32,
        phases: Phases,
    ) -> (IntervalBuffers, IntervalDrain) {
        let edges = phases.inner_edges();
        let spare = if phases.slice > Ns::ZERO { SPARE_SLICES } else { SPARE };
        let total = 1 + spare + edges;
        let (out, full) = RingBuffer::new(total);
        let (mut empty, back) = RingBuffer::new(total);
        for _ in 0..spare {
            // Cannot fail: the ring has room for every sheet.
            let _ = empty.push(IntervalBuffer::new(scope));
        }
        let slots = vec![MeterSlot::FREE; slots as usize];
        let current = IntervalBuffer::new(scope);
        let reserve = (0..edges).map(|_| IntervalBuffer::new(scope)).collect();
        let pulse = Heartbeat::new();
        let drain = IntervalDrain { scope, full, empty, pulse: pulse.clone() };
        (IntervalBuffers { scope, slots, current, reserve, out, back, pulse }, drain)
    }
}

impl IntervalBuffer {
    fn new(scope: MeterScope) -> Box<IntervalBuffer> {
        let tally = |used: bool| used.then(|| Completed::reserved(scope.open_loop));
        let [trims, zeroes, flushes] = scope.others;
        Box::new(IntervalBuffer {
            from: Ns::ZERO,
            to: Ns::ZERO,
            tallies: [scope.reads, scope.writes, trims, zeroes, flushes].map(tally),
            testimony: Testimony::default(),
            errnos: ErrnoCounts::default(),
            silence: None,
        })
    }

    fn clear(&mut self) {
        for tally in self.tallies.iter_mut().flatten() {
            tally.ops = 0;
            tally.bytes = 0;
            tally.errors = 0;
            tally.service_sum = Ns::ZERO;
            tally.service.clear();
            if let Some(response) = &mut tally.response {
                response.clear();
            }
        }
        self.testimony = Testimony::default();
        self.errnos = ErrnoCounts::default();
        self.silence = None;
    }
}

impl IntervalDrain {
    /// When the worker last read the clock, even if no sheet has been sent since; `None` before its start.
    pub fn last_seen(&self) -> Option<Ns> {
        self.pulse.last()
    }

    /// When the worker did the last of what it had to do; `None` before that.
    pub fn done_at(&self) -> Option<Ns> {
        self.pulse.done_at()
    }

    /// Receives every sheet that has arrived, passes its intervals to `sink` in order (times on the record's time
    /// base) together with the error numbers in them, and returns the sheet.
    pub fn collect(
        &mut self,
        source: SourceId,
        step: u32,
        line: &StepTimeline,
        mut sink: impl FnMut(Interval, &ErrnoCounts),
    ) {
        while let Ok(mut sheet) = self.full.pop() {
            let about = IntervalContext { source, step, line };
            if let Some(interval) = about.interval(&sheet) {
                sink(interval, &sheet.errnos);
            }
            if let Some(silence) = sheet.silence {
                for interval in about.zeros(self.scope, sheet.to, silence) {
                    sink(interval, &ErrnoCounts::default());
                }
            }
            sheet.clear();
            // Cannot fail: the ring has room for every sheet.
            let _ = self.empty.push(sheet);
        }
    }
}

/// The source and the time base of the intervals.
struct IntervalContext<'a> {
    source: SourceId,
    step: u32,
    line: &'a StepTimeline,
}

impl IntervalContext<'_> {
    fn head(&self, from: Ns, to: Ns) -> Option<(Phase, Ns, Ns)> {
        let phase = self.line.phase_at(from)?;
        (to > from).then(|| (phase, self.line.on_record(from), self.line.on_record(to)))
    }

    /// The sheet's own interval; `None` if it is empty, as when a step is stopped exactly at a cut.
    fn interval(&self, sheet: &IntervalBuffer) -> Option<Interval> {
        let (phase, from, to) = self.head(sheet.from, sheet.to)?;
        let [read, write, trims, zeroes, flushes] = sheet.tallies.clone();
        Some(Interval {
            source: self.source,
            step: self.step,
            phase,
            from,
            to,
            read,
            write,
            others: [trims, zeroes, flushes],
            testimony: Some(sheet.testimony),
        })
    }

    fn zeros(
        &self,
        scope: MeterScope,
        from: Ns,
        silence: IdleSpan,
    ) -> impl Iterator<Item = Interval> {
        let tally = move |used: bool| used.then(|| Completed::empty(scope.open_loop));
        self.line.pieces(from, silence.until).filter_map(move |(from, to)| {
            let length = to.since(from);
            let (phase, from, until) = self.head(from, to)?;
            let testimony = Testimony {
                own: if silence.own { length } else { Ns::ZERO },
                in_flight: Ns(length.0.saturating_mul(u64::from(silence.open))),
                open: silence.open,
                open_age_max: to.since(silence.oldest),
                ..Testimony::default()
            };
            Some(Interval {
                source: self.source,
                step: self.step,
                phase,
                from,
                to: until,
                read: tally(scope.reads),
                write: tally(scope.writes),
                others: scope.others.map(tally),
                testimony: Some(testimony),
            })
        })
    }
}

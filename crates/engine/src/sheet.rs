//! The interval buffers of one worker, and the two bounded rings on which they travel: full ones out to the collector,
//! cleared ones back. All of them exist before the start; none is made or freed on a worker's thread after it.
//!
//! A stall longer than an interval is carried as one [`Silence`] behind the sheet that it follows, and becomes one
//! interval of zeros a cut at the collector: a worker that wakes after a minute needs no sixty buffers to say so.

use crate::meter::Slot;
use crate::pulse::Pulse;
use crate::{ErrnoCounts, Phases, Timeline};
use clock::Ns;
use record::{Interval, Phase, SourceId, Tally, Testimony};
use rtrb::{Consumer, Producer, RingBuffer};

/// Buffers beyond the one in use and those held back for phase edges. The collector calls ten times a second and cuts
/// are a second apart, so it may be nine calls late before a cut is missed.
const SPARE: usize = 1;

/// What a worker can report, so that nothing is kept for what cannot happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// It may read.
    pub reads: bool,
    /// It may write.
    pub writes: bool,
    /// Operations fall due by a clock: response time differs from service time, and starts can be late.
    pub open_loop: bool,
}

/// One interval as a worker fills it, times on the monotonic clock.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub from: Ns,
    pub to: Ns,
    pub read: Option<Tally>,
    pub write: Option<Tally>,
    pub testimony: Testimony,
    pub errnos: ErrnoCounts,
    pub silence: Option<Silence>,
}

/// Whole intervals after a sheet's own in which nothing was submitted and nothing completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silence {
    /// Where they end; they begin at the sheet's end.
    pub until: Ns,
    /// Operations in flight all along.
    pub open: u32,
    /// When the oldest of them was submitted.
    pub oldest: Ns,
    /// The worker was busy with itself, not waiting.
    pub own: bool,
}

/// The worker's end: what a [`crate::Meter`] is made from.
#[derive(Debug)]
pub struct Sheets {
    pub(crate) scope: Scope,
    pub(crate) slots: Vec<Slot>,
    pub(crate) current: Box<Sheet>,
    /// One for each phase edge: measured figures never share a sheet with others, however slow the collector is.
    #[expect(
        clippy::vec_box,
        reason = "sheets travel between the threads as boxes; unboxing would free on the way"
    )]
    pub(crate) reserve: Vec<Box<Sheet>>,
    pub(crate) out: Producer<Box<Sheet>>,
    pub(crate) back: Consumer<Box<Sheet>>,
    pub(crate) pulse: Pulse,
}

/// The collector's end.
#[derive(Debug)]
pub struct Drain {
    scope: Scope,
    full: Consumer<Box<Sheet>>,
    empty: Producer<Box<Sheet>>,
    pulse: Pulse,
}

impl Sheets {
    /// Takes all memory that a worker's metering needs for a step: `slots` operations at most in flight.
    pub fn provide(scope: Scope, slots: u32, phases: Phases) -> (Sheets, Drain) {
        let edges = phases.inner_edges();
        let total = 1 + SPARE + edges;
        let (out, full) = RingBuffer::new(total);
        let (mut empty, back) = RingBuffer::new(total);
        for _ in 0..SPARE {
            // Cannot fail: the ring holds every sheet there is.
            let _ = empty.push(Sheet::new(scope));
        }
        let slots = vec![Slot::FREE; slots as usize];
        let current = Sheet::new(scope);
        let reserve = (0..edges).map(|_| Sheet::new(scope)).collect();
        let pulse = Pulse::new();
        let drain = Drain { scope, full, empty, pulse: pulse.clone() };
        (Sheets { scope, slots, current, reserve, out, back, pulse }, drain)
    }
}

impl Sheet {
    fn new(scope: Scope) -> Box<Sheet> {
        let tally = |used: bool| used.then(|| Tally::reserved(scope.open_loop));
        Box::new(Sheet {
            from: Ns::ZERO,
            to: Ns::ZERO,
            read: tally(scope.reads),
            write: tally(scope.writes),
            testimony: Testimony::default(),
            errnos: ErrnoCounts::default(),
            silence: None,
        })
    }

    fn clear(&mut self) {
        for tally in [&mut self.read, &mut self.write].into_iter().flatten() {
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

impl Drain {
    /// When the worker last read the clock, whether or not a sheet has come of it; `None` before its start.
    pub fn last_seen(&self) -> Option<Ns> {
        self.pulse.last()
    }

    /// Takes every sheet that has arrived, hands its intervals to `sink` in order (times on the record's time base)
    /// together with the error numbers seen in them, and sends the sheet back.
    pub fn collect(
        &mut self,
        source: SourceId,
        step: u32,
        line: &Timeline,
        mut sink: impl FnMut(Interval, &ErrnoCounts),
    ) {
        while let Ok(mut sheet) = self.full.pop() {
            let about = About { source, step, line };
            if let Some(interval) = about.interval(&sheet) {
                sink(interval, &sheet.errnos);
            }
            if let Some(silence) = sheet.silence {
                for interval in about.zeros(self.scope, sheet.to, silence) {
                    sink(interval, &ErrnoCounts::default());
                }
            }
            sheet.clear();
            // Cannot fail: the ring holds every sheet there is.
            let _ = self.empty.push(sheet);
        }
    }
}

/// Whose intervals are built, and on which time base.
struct About<'a> {
    source: SourceId,
    step: u32,
    line: &'a Timeline,
}

impl About<'_> {
    fn head(&self, from: Ns, to: Ns) -> Option<(Phase, Ns, Ns)> {
        let phase = self.line.phase_at(from)?;
        (to > from).then(|| (phase, self.line.on_record(from), self.line.on_record(to)))
    }

    /// The sheet's own interval; `None` where it is empty, as when a step is stopped right at a cut.
    fn interval(&self, sheet: &Sheet) -> Option<Interval> {
        let (phase, from, to) = self.head(sheet.from, sheet.to)?;
        Some(Interval {
            source: self.source,
            step: self.step,
            phase,
            from,
            to,
            read: sheet.read.clone(),
            write: sheet.write.clone(),
            testimony: Some(sheet.testimony),
        })
    }

    fn zeros(&self, scope: Scope, from: Ns, silence: Silence) -> impl Iterator<Item = Interval> {
        let tally = move |used: bool| used.then(|| Tally::empty(scope.open_loop));
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
                testimony: Some(testimony),
            })
        })
    }
}

//! When a step's phases begin and end, and where its intervals are cut: at the epoch plus whole seconds *and* at
//! every phase edge, so that an interval belongs to one phase and is at most a second long. The edges after the
//! warm-up, and the end, may be moved forward once ([`StepEdge`]).
//!
//! Pure arithmetic on monotonic times; it never reads the clock.

use crate::{StepEdge, StepSpec};
use clock::Ns;
use record::{Phase, StepTimes};

const SECOND: u64 = 1_000_000_000;

/// The lengths of a step's phases, before its start is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Load before the measurement.
    pub warmup: Ns,
    /// The measured time.
    pub measure: Ns,
    /// Load after the measurement.
    pub cooldown: Ns,
    /// From the end of the measurement on intervals are cut at multiples of this as well; zero: they are not.
    pub slice: Ns,
}

/// A step's phases and cuts on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTimeline {
    epoch: Ns,
    times: StepTimes,
    slice: Ns,
}

impl From<&StepSpec> for Phases {
    fn from(step: &StepSpec) -> Phases {
        let StepSpec { warmup, measure, cooldown, slice, .. } = *step;
        Phases { warmup, measure, cooldown, slice }
    }
}

impl Phases {
    /// Edges between two non-empty phases: figures from both sides of one must not be mixed.
    pub fn inner_edges(&self) -> usize {
        let lengths = [self.warmup, self.measure, self.cooldown];
        lengths.iter().filter(|l| **l > Ns::ZERO).count().saturating_sub(1)
    }
}

impl StepTimeline {
    /// A step that starts at `start`; `epoch` is zero of the record's time base. An epoch after the start would put
    /// intervals before zero, so the start is used instead.
    pub fn new(epoch: Ns, start: Ns, phases: Phases) -> StepTimeline {
        let measure = start.plus(phases.warmup);
        let cooldown = measure.plus(phases.measure);
        let end = cooldown.plus(phases.cooldown);
        let times = StepTimes { start, measure, cooldown, end };
        StepTimeline { epoch: epoch.min(start), times, slice: phases.slice }
    }

    /// Whether the measurement may start at `at`: at a regular cut, earlier than planned, and after the step's start.
    pub fn may_measure_from(&self, at: Ns) -> bool {
        let StepTimes { start, measure, .. } = self.times;
        let whole = at.since(self.epoch).0.is_multiple_of(SECOND);
        start < at && at <= measure && whole
    }

    /// Whether the step may end at `at`: at a regular cut, earlier than planned, and after its measurement has begun.
    pub fn may_end_at(&self, at: Ns) -> bool {
        let StepTimes { measure, end, .. } = self.times;
        measure < at && at <= end && at.since(self.epoch).0.is_multiple_of(SECOND)
    }

    /// Moves the end once it is settled; does nothing before that, or a second time.
    pub fn follow_end(&mut self, edge: &StepEdge) {
        if let Some(at) = edge.settled().filter(|at| self.may_end_at(*at)) {
            (self.times.cooldown, self.times.end) = (self.times.cooldown.min(at), at);
        }
    }

    /// Moves the phases once the edge is settled; does nothing before that, or a second time.
    pub fn follow(&mut self, edge: &StepEdge) {
        let Some(at) = edge.settled().filter(|at| self.may_measure_from(*at)) else { return };
        let StepTimes { start, measure, cooldown, end } = self.times;
        let (measured, cool) = (cooldown.since(measure), end.since(cooldown));
        let cooldown = at.plus(measured);
        self.times = StepTimes { start, measure: at, cooldown, end: cooldown.plus(cool) };
    }

    /// When the load starts.
    pub fn start(&self) -> Ns {
        self.times.start
    }

    /// When the measurement begins.
    pub fn measure(&self) -> Ns {
        self.times.measure
    }

    /// When the measurement ends.
    pub fn cooldown(&self) -> Ns {
        self.times.cooldown
    }

    /// When the load ends.
    pub fn end(&self) -> Ns {
        self.times.end
    }

    /// The phase at this time; `None` outside the step.
    pub fn phase_at(&self, at: Ns) -> Option<Phase> {
        self.times.phase_at(at)
    }

    /// Converts a time to the record's time base.
    pub fn on_record(&self, at: Ns) -> Ns {
        at.since(self.epoch)
    }

    /// The first cut after `at`, including the end; `None` from the end on.
    pub fn cut_after(&self, at: Ns) -> Option<Ns> {
        let StepTimes { start, measure, cooldown, end } = self.times;
        if at >= end {
            return None;
        }
        let at = at.max(start);
        let whole =
            self.epoch.plus(Ns((at.since(self.epoch).0 / SECOND + 1).saturating_mul(SECOND)));
        let edges = [measure, cooldown, end].into_iter().filter(|edge| *edge > at);
        edges.chain(self.slice_after(at)).chain([whole]).min()
    }

    /// The first slice edge after `at`.
    fn slice_after(&self, at: Ns) -> Option<Ns> {
        let StepTimes { cooldown, .. } = self.times;
        let sliced = self.slice > Ns::ZERO && at >= cooldown;
        let done = || at.since(cooldown).0 / self.slice.0;
        sliced.then(|| cooldown.plus(Ns((done() + 1).saturating_mul(self.slice.0))))
    }

    /// The last slice edge at or before `at`.
    fn slice_before(&self, at: Ns) -> Option<Ns> {
        let StepTimes { cooldown, .. } = self.times;
        let sliced = self.slice > Ns::ZERO && at >= cooldown;
        sliced.then(|| cooldown.plus(Ns(at.since(cooldown).0 / self.slice.0 * self.slice.0)))
    }

    /// The last cut at or before `at`; the start if there is none.
    pub fn cut_before(&self, at: Ns) -> Ns {
        let StepTimes { start, measure, cooldown, end } = self.times;
        let at = at.clamp(start, end);
        let whole = self.epoch.plus(Ns(at.since(self.epoch).0 / SECOND * SECOND));
        let edges = [start, measure, cooldown, end].into_iter().filter(|edge| *edge <= at);
        edges.chain(self.slice_before(at)).chain([whole]).max().unwrap_or(start)
    }

    /// The pieces into which the cuts divide `from..to`, in order and without gaps.
    pub fn pieces(&self, from: Ns, to: Ns) -> impl Iterator<Item = (Ns, Ns)> + use<> {
        let line = *self;
        let mut at = from;
        std::iter::from_fn(move || {
            let next = line.cut_after(at)?.min(to);
            (next > at).then(|| (std::mem::replace(&mut at, next), next))
        })
    }

    /// Phase edges after `from` and up to `to`: what happened on both sides of one must stay apart.
    pub fn edges_in(&self, from: Ns, to: Ns) -> usize {
        let StepTimes { measure, cooldown, end, .. } = self.times;
        let later = if cooldown > measure { Some(cooldown) } else { None };
        let edges = [Some(measure), later].into_iter().flatten();
        edges.filter(|edge| from < *edge && *edge <= to && *edge < end).count()
    }
}

//! Jobs as results: the phases of a step whose loads wait for each other and end, with what each moved and how long it took.
//!
//! A phase begins and ends where its workers' operations do. Intervals are a second long, so both moments are placed within
//! their interval by its share of the rate beside it. What limits a phase is attributed over its own time alone.

use crate::attribution::{self, Attribution};
use crate::figures::StepFigures;
use crate::steady;
use crate::step::StepData;
use clock::Ns;
use record::{Record, RecordError, StepHead};
use scenario::{Load, Phase, Step, Workload};
use serde::Serialize;

/// Share of its amount from which a phase is finished; the rest is the last block of each worker.
const FINISHED: f64 = 0.999;

/// One phase of a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobPhase {
    /// Its name in the plan, or that of its workload.
    pub name: String,
    /// The workload.
    pub workload: String,
    /// The phases that it waits for.
    pub after: Vec<String>,
    /// Bytes after which it ends; `None` where it does not end by itself.
    pub amount: Option<u64>,
    /// Bytes of the amount that are done: copied, or read and written.
    pub moved: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// When it began, since the load of the step began, in nanoseconds; `None` where it did not begin.
    pub began_ns: Option<u64>,
    /// How long it took, or has taken.
    pub lasted_ns: u64,
    /// Bytes of the amount a second.
    pub bytes_per_s: f64,
    /// Whether the amount is done.
    pub finished: bool,
    /// Bytes of the amount that are left.
    pub left: u64,
    /// When it would end at its rate, since the load of the step began; `None` where it is finished or does not end.
    pub projected_end_ns: Option<u64>,
    /// What limited it.
    pub attribution: Option<Attribution>,
}

/// How long a job takes as a whole, and how much its window holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobWindow {
    /// Bytes of its largest phase: what is backed up, however often it is moved.
    pub bytes: u64,
    /// From the beginning of its first phase to the end of its last; projected where one is not finished.
    pub lasted_ns: u64,
    /// How long a terabyte takes at this rate.
    pub terabyte_ns: u64,
    /// The time that it may take, where the plan says so.
    pub window_ns: Option<u64>,
    /// Bytes that the window holds at this rate.
    pub fits: Option<u64>,
}

/// How long a job takes as a whole; `None` where it has no end, or did not move anything.
pub(crate) fn window(phases: &[JobPhase], planned: &Step) -> Option<JobWindow> {
    let ending: Vec<&JobPhase> = phases.iter().filter(|phase| phase.amount.is_some()).collect();
    let bytes = ending.iter().filter_map(|phase| phase.amount).max()?;
    let began = ending.iter().filter_map(|phase| phase.began_ns).min()?;
    let end = |phase: &&JobPhase| match phase.finished {
        true => phase.began_ns.map(|began| began + phase.lasted_ns),
        false => phase.projected_end_ns,
    };
    let ends: Option<Vec<u64>> = ending.iter().map(end).collect();
    let lasted_ns = ends?.into_iter().max()?.saturating_sub(began).max(1);
    let window_ns = planned.window.map(|window| Ns::from(window).0);
    let scaled = |of: u64, by: f64| (by * of as f64 / lasted_ns as f64) as u64;
    Some(JobWindow {
        bytes,
        lasted_ns,
        terabyte_ns: (lasted_ns as f64 * 1e12 / bytes.max(1) as f64) as u64,
        window_ns,
        fits: window_ns.map(|window| scaled(window, bytes as f64)),
    })
}

/// What the workers of a phase moved between two cuts.
struct PhaseInterval {
    from: Ns,
    to: Ns,
    read: u64,
    written: u64,
}

/// The phases of a step, in the order of the plan; none where it is no job.
pub(crate) fn phases(
    record: &Record,
    head: &StepHead,
    planned: &Step,
) -> Result<Vec<JobPhase>, RecordError> {
    let loads: Vec<(&Load, &Phase)> =
        planned.loads.iter().filter_map(|load| Some((load, load.phase.as_ref()?))).collect();
    loads.into_iter().map(|load| phase(record, head, load)).collect()
}

fn phase(
    record: &Record,
    head: &StepHead,
    (load, phase): (&Load, &Phase),
) -> Result<JobPhase, RecordError> {
    let mut mine = head.clone();
    let group = |id| record.sources().iter().find(|s| s.id == id).map(|s| s.group.as_str());
    mine.workers.retain(|worker| {
        let on = group(worker.source).is_some_and(|group| load.on.iter().any(|name| name == group));
        worker.workload == load.workload.name() && on
    });
    let work = intervals(record, &mine)?;
    let (read, written) = work.iter().fold((0, 0), |sum, i| (sum.0 + i.read, sum.1 + i.written));
    // The simulator counts a block of a copy once, as a read, when it has been written.
    let copy = matches!(load.workload, Workload::Copy(_));
    let once = copy && written == 0;
    let (read, written) = if once { (read, read) } else { (read, written) };
    let done = |interval: &PhaseInterval| match copy {
        true if once => interval.read,
        true => interval.written,
        false => interval.read + interval.written,
    };
    let moved: u64 = work.iter().map(done).sum();
    let amount = phase.amount.map(|bytes| bytes.0);
    let finished = amount.is_some_and(|amount| moved as f64 >= FINISHED * amount as f64);
    let span = span(&work, finished, done);
    let start = head.times.start;
    let (began, lasted) = span.map_or((None, Ns::ZERO), |(from, to)| (Some(from), to.since(from)));
    let bytes_per_s = crate::pool::per_second(moved as f64, lasted);
    let left = amount.map_or(0, |amount| amount.saturating_sub(moved)) * u64::from(!finished);
    let more =
        (left > 0 && bytes_per_s > 0.0).then(|| Ns((left as f64 / bytes_per_s * 1e9) as u64));
    let ends = span.zip(more).map(|((_, to), more)| to.plus(more).since(start).0);
    let attribution = match span {
        Some(span) => limit(record, mine, span)?,
        None => None,
    };
    Ok(JobPhase {
        name: phase.name.clone().unwrap_or_else(|| load.workload.name().to_owned()),
        workload: load.workload.name().to_owned(),
        after: phase.after.clone(),
        amount,
        moved,
        read,
        written,
        began_ns: began.map(|began| began.since(start).0),
        lasted_ns: lasted.0,
        bytes_per_s,
        finished,
        left,
        projected_end_ns: ends,
        attribution,
    })
}

/// The intervals of some workers together, of every phase of the step, in the order of time.
fn intervals(record: &Record, head: &StepHead) -> Result<Vec<PhaseInterval>, RecordError> {
    let mut all: std::collections::BTreeMap<(Ns, Ns), (u64, u64)> = Default::default();
    record.for_each_interval(head.index, &mut |interval| {
        if head.workers.iter().any(|worker| worker.source == interval.source) {
            let sum = all.entry((interval.from, interval.to)).or_default();
            sum.0 += interval.read.as_ref().map_or(0, |done| done.bytes);
            sum.1 += interval.write.as_ref().map_or(0, |done| done.bytes);
        }
    })?;
    let interval = |((from, to), (read, written))| PhaseInterval { from, to, read, written };
    Ok(all.into_iter().map(interval).collect())
}

/// From when to when a phase moved data. In its first interval it began late, and in its last it ended early, by the rate
/// of the interval beside it.
fn span(
    work: &[PhaseInterval],
    finished: bool,
    done: impl Fn(&PhaseInterval) -> u64,
) -> Option<(Ns, Ns)> {
    let first = work.iter().position(|interval| done(interval) > 0)?;
    let last = work.iter().rposition(|interval| done(interval) > 0)?;
    let length = |n: usize| work[n].to.since(work[n].from).0 as f64;
    let rate = |n: usize| done(&work[n]) as f64 / length(n).max(1.0);
    // How much of an interval its bytes fill at the rate of a whole one beside it.
    let filled = |n: usize, beside: usize| match last - first {
        0 | 1 => length(n),
        _ => (done(&work[n]) as f64 / rate(beside)).min(length(n)),
    };
    let late = length(first) - filled(first, first + 1);
    let used = if finished { filled(last, last.saturating_sub(1)) } else { length(last) };
    Some((work[first].from.plus(Ns(late as u64)), work[last].from.plus(Ns(used as u64))))
}

/// What limited some workers of a step between two moments.
fn limit(
    record: &Record,
    mut head: StepHead,
    (from, to): (Ns, Ns),
) -> Result<Option<Attribution>, RecordError> {
    (head.times.measure, head.times.cooldown) = (from.max(head.times.measure), to);
    if head.times.cooldown <= head.times.measure {
        return Ok(None);
    }
    let step = StepData::read(record, head, record.sources(), &steady::RULE)?;
    let figures = StepFigures::of(&step, false, &steady::RULE, record.events());
    Ok(attribution::alone(record, &step, &figures))
}

//! Jobs as results: the phases of a step whose loads wait for each other and end, with what each moved and how long it took.
//!
//! A phase begins and ends where its workers' operations do. Intervals are a second long, so both moments are placed within
//! their interval by its share of the rate beside it. What limits a phase is attributed over its own time alone.
//!
//! Seconds in which Wirespeed itself did not run ([`Voids`]) are left out of all times, as if the job had gone on without
//! them; what was moved in them takes the time that it takes at the rate of the others.

use crate::attribution::{self, Attribution};
use crate::figures::StepFigures;
use crate::steady;
use crate::step::StepData;
use clock::Ns;
use record::{Counter, CounterId, Record, RecordError, StepHead, Voids};
use scenario::{Load, Phase, Step, Workload};
use serde::Serialize;
use std::collections::BTreeMap;

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
    /// Whether it copies: what it reads it writes.
    pub copies: bool,
    /// The phases that it waits for.
    pub after: Vec<String>,
    /// Bytes after which it ends, of all passes where it has some; `None` where it does not end by itself.
    pub amount: Option<u64>,
    /// How often it uses each block of its working set, where it ends by that.
    pub passes: Option<u32>,
    /// Bytes of the amount that are done: copied, or read, written, trimmed and zeroed.
    pub moved: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// When it began, since the load of the step began, in nanoseconds; `None` where it did not begin.
    pub began_ns: Option<u64>,
    /// How long it took, or has taken.
    pub lasted_ns: u64,
    /// Time of it in which Wirespeed itself did not run, in nanoseconds: no other time of the job holds it.
    pub void_ns: u64,
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
    /// Trimmed and zeroed.
    others: u64,
    /// Of its amount.
    done: u64,
}

/// The phases of a step, in the order of the plan; none where it is no job.
pub(crate) fn phases(
    record: &Record,
    head: &StepHead,
    planned: &Step,
) -> Result<Vec<JobPhase>, RecordError> {
    let loads: Vec<(&Load, &Phase)> =
        planned.loads.iter().filter_map(|load| Some((load, load.phase.as_ref()?))).collect();
    if loads.is_empty() {
        return Ok(Vec::new());
    }
    let read = |(load, phase)| PhaseWork::read(record, head, load, phase);
    let works: Vec<PhaseWork<'_>> =
        loads.into_iter().map(read).collect::<Result<_, RecordError>>()?;
    let time = CountedTime::of(&record.voids(head.index)?, &works);
    works.into_iter().map(|work| work.phase(record, head.times.start, &time)).collect()
}

/// The workers of a phase, and what they did.
struct PhaseWork<'a> {
    load: &'a Load,
    phase: &'a Phase,
    /// The step with these workers alone.
    head: StepHead,
    work: Vec<PhaseInterval>,
    /// Bytes after which it ends.
    amount: Option<u64>,
    finished: bool,
    /// From when to when it moved data.
    span: Option<(Ns, Ns)>,
}

impl<'a> PhaseWork<'a> {
    fn read(
        record: &Record,
        head: &StepHead,
        load: &'a Load,
        phase: &'a Phase,
    ) -> Result<PhaseWork<'a>, RecordError> {
        let mut mine = head.clone();
        let group = |id| record.sources().iter().find(|s| s.id == id).map(|s| s.group.as_str());
        mine.workers.retain(|worker| {
            let on =
                group(worker.source).is_some_and(|group| load.on.iter().any(|name| name == group));
            worker.workload == load.workload.name() && on
        });
        let mut work = intervals(record, &mine)?;
        // The simulator counts a block of a copy once, as a read, when it has been written.
        let copy = matches!(load.workload, Workload::Copy(_));
        let once = copy && work.iter().all(|interval| interval.written == 0);
        for interval in &mut work {
            if once {
                interval.written = interval.read;
            }
            let others = interval.read + interval.others;
            interval.done = interval.written + if copy { 0 } else { others };
        }
        let moved: u64 = work.iter().map(|interval| interval.done).sum();
        let planned = match phase.ends() {
            true => planned(record, &mine)?,
            false => Planned::default(),
        };
        let amount = match phase.amount {
            Some(bytes) => Some(bytes.0),
            None => planned.bytes,
        };
        let finished = amount.is_some_and(|amount| moved as f64 >= FINISHED * amount as f64);
        let span = span(&work, finished, planned.done);
        Ok(PhaseWork { load, phase, head: mine, work, amount, finished, span })
    }

    fn phase(
        self,
        record: &Record,
        start: Ns,
        time: &CountedTime,
    ) -> Result<JobPhase, RecordError> {
        let PhaseWork { load, phase, head, work, amount, finished, span: wall } = self;
        let sum = |of: fn(&PhaseInterval) -> u64| work.iter().map(of).sum::<u64>();
        let (moved, read, written) = (sum(|i| i.done), sum(|i| i.read), sum(|i| i.written));
        let span = wall.map(|(from, to)| (time.counted(from), time.counted(to)));
        let lasted = span.map_or(Ns::ZERO, |(from, to)| to.since(from));
        let bytes_per_s = crate::pool::per_second(moved as f64, lasted);
        let left = amount.map_or(0, |amount| amount.saturating_sub(moved)) * u64::from(!finished);
        let more =
            (left > 0 && bytes_per_s > 0.0).then(|| Ns((left as f64 / bytes_per_s * 1e9) as u64));
        let ends = span.zip(more).map(|((_, to), more)| to.plus(more).since(start).0);
        let attribution = match wall {
            Some(span) => limit(record, head, span)?,
            None => None,
        };
        Ok(JobPhase {
            name: phase.name.clone().unwrap_or_else(|| load.workload.name().to_owned()),
            workload: load.workload.name().to_owned(),
            copies: matches!(load.workload, Workload::Copy(_)),
            after: phase.after.clone(),
            amount,
            passes: phase.passes,
            moved,
            read,
            written,
            began_ns: span.map(|(began, _)| began.since(start).0),
            lasted_ns: lasted.0,
            void_ns: wall.map_or(0, |(from, to)| to.since(from).since(lasted).0),
            bytes_per_s,
            finished,
            left,
            projected_end_ns: ends,
            attribution,
        })
    }

    /// Bytes of the amount a second in the seconds that count.
    fn rate(&self, voids: &Voids) -> f64 {
        let counts = |interval: &&PhaseInterval| !voids.touch(interval.from, interval.to);
        let done: u64 = self.work.iter().filter(counts).map(|interval| interval.done).sum();
        let time =
            self.span.map_or(Ns::ZERO, |(from, to)| to.since(from).since(voids.within(from, to)));
        crate::pool::per_second(done as f64, time)
    }
}

/// The time of a job without what is void.
struct CountedTime {
    /// Void times, and how much of each does not count, in order.
    left_out: Vec<(Ns, Ns, Ns)>,
}

impl CountedTime {
    fn of(voids: &Voids, works: &[PhaseWork<'_>]) -> CountedTime {
        let rates: Vec<f64> = works.iter().map(|work| work.rate(voids)).collect();
        let left_out = |&(from, to): &(Ns, Ns)| {
            // What was moved all the same takes its time.
            let taken = |(work, rate): (&PhaseWork<'_>, &f64)| {
                let inside = work.work.iter().filter(|i| i.from < to && from < i.to);
                let done: u64 = inside.map(|interval| interval.done).sum();
                if done == 0 { 0.0 } else { done as f64 / rate * 1e9 }
            };
            let taken = works.iter().zip(&rates).map(taken).fold(0.0, f64::max);
            let length = to.since(from);
            (from, to, length.since(Ns(taken.min(length.0 as f64) as u64)))
        };
        CountedTime { left_out: voids.spans().iter().map(left_out).collect() }
    }

    /// The moment `at`, less what does not count before it.
    fn counted(&self, at: Ns) -> Ns {
        let before = |&(from, to, out): &(Ns, Ns, Ns)| {
            let share = at.min(to).since(from).0 as f64 / to.since(from).0.max(1) as f64;
            Ns((share * out.0 as f64) as u64)
        };
        at.since(self.left_out.iter().map(before).fold(Ns::ZERO, Ns::plus))
    }
}

/// What the workers of a phase were to do.
#[derive(Default)]
struct Planned {
    /// The bytes of all; `None` where a worker does not say.
    bytes: Option<u64>,
    /// The latest moment at which one was done, as far as they say.
    done: Ns,
}

fn planned(record: &Record, head: &StepHead) -> Result<Planned, RecordError> {
    let counters = record.counters(Some(head.index))?;
    let of = |source| {
        let mine = |counter: &&Counter| {
            counter.source == source && counter.kind.id() == Some(CounterId::PlannedBytes)
        };
        counters.iter().find(mine)
    };
    let all: Vec<Option<&Counter>> = head.workers.iter().map(|worker| of(worker.source)).collect();
    let done = all.iter().flatten().map(|counter| counter.to).max().unwrap_or(Ns::ZERO);
    let bytes = all.into_iter().map(|counter| counter.map(|of| of.value as u64)).sum();
    Ok(Planned { bytes, done })
}

/// The intervals of some workers together, of every phase of the step, in the order of time.
fn intervals(record: &Record, head: &StepHead) -> Result<Vec<PhaseInterval>, RecordError> {
    let mut all: BTreeMap<(Ns, Ns), [u64; 3]> = Default::default();
    record.for_each_interval(head.index, &mut |interval| {
        if head.workers.iter().any(|worker| worker.source == interval.source) {
            let sum = all.entry((interval.from, interval.to)).or_default();
            sum[0] += interval.read.as_ref().map_or(0, |done| done.bytes);
            sum[1] += interval.write.as_ref().map_or(0, |done| done.bytes);
            sum[2] += interval.others.iter().flatten().map(|done| done.bytes).sum::<u64>();
        }
    })?;
    let interval = |((from, to), bytes): ((Ns, Ns), [u64; 3])| {
        let [read, written, others] = bytes;
        PhaseInterval { from, to, read, written, others, done: 0 }
    };
    Ok(all.into_iter().map(interval).collect())
}

/// From when to when a phase moved data. In its first interval it began late, and in its last it ended early, by the rate
/// of the interval beside it; where its workers say when they were done, that moment is known.
fn span(work: &[PhaseInterval], finished: bool, over: Ns) -> Option<(Ns, Ns)> {
    let first = work.iter().position(|interval| interval.done > 0)?;
    let last = work.iter().rposition(|interval| interval.done > 0)?;
    let length = |n: usize| work[n].to.since(work[n].from).0 as f64;
    let rate = |n: usize| work[n].done as f64 / length(n).max(1.0);
    // How much of an interval its bytes fill at the rate of a whole one beside it.
    let filled = |n: usize, beside: usize| match last - first {
        0 | 1 => length(n),
        _ => (work[n].done as f64 / rate(beside)).min(length(n)),
    };
    let late = length(first) - filled(first, first + 1);
    let used = if finished { filled(last, last.saturating_sub(1)) } else { length(last) };
    let known = finished && work[last].from <= over && over <= work[last].to;
    let to = if known { over } else { work[last].from.plus(Ns(used as u64)) };
    Some((work[first].from.plus(Ns(late as u64)), to))
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

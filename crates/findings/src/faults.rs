//! Planned faults as results: what the load did before a part failed, while it was away and after it was back.
//!
//! The scenario says what fails and when; the record's events say when it was carried out. Work is that of the intervals
//! of all workers: an interval in which a part fails, or comes back, counts as time of the failure.

use crate::pool;
use clock::Ns;
use record::{
    Completed, Counter, CounterId, Event, HopKind, Phase, Record, RecordError, SourceId, StepHead,
    StreamEnd,
};
use scenario::{Change, FaultAction, Hamper, Step};
use serde::Serialize;
use std::collections::BTreeMap;

/// Share of the throughput before a fault from which a load has recovered.
pub const RECOVERED: f64 = 0.9;
/// Events of faults that were carried out begin with one of these.
const CODES: [&str; 2] = ["fault-", "incident-"];

/// One planned fault, with the change that ended it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultOutcome {
    /// The part, by its name in the scenario.
    pub part: String,
    /// What happened to it.
    pub kind: FaultKind,
    /// What the change brought: the speed of a slow port, the share of packets lost, the MTU of one end, the host that a VM
    /// moved to.
    pub to: Option<String>,
    /// When, since the beginning of the measured time, in nanoseconds.
    pub at_ns: u64,
    /// Whether an event of the record shows that it was carried out.
    pub carried_out: bool,
    /// When it was over, since the beginning of the measured time; `None` where the plan does not end it.
    pub until_ns: Option<u64>,
    /// Work before it.
    pub before: FaultSpan,
    /// Work while it lasted.
    pub during: FaultSpan,
    /// Work after it.
    pub after: Option<FaultSpan>,
    /// Time to fail over: the longest service time of an I/O that completed while the fault lasted, where it exceeds all
    /// before.
    pub fail_over_ns: Option<u64>,
    /// For how long the clock of a guest that stopped or moved may have stood still in the step: no response time that it
    /// measured has that time in it.
    pub clock_stood_ns: Option<u64>,
    /// From the fault to the end of the interval in which throughput was [`RECOVERED`] again; `None` where it was not
    /// while the fault lasted.
    pub resumed_ns: Option<u64>,
    /// From the end of the fault to the end of the interval in which throughput was [`RECOVERED`] again.
    pub recovered_ns: Option<u64>,
}

/// What happens to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// A port is killed: its connections close. Or the processes of an emulated host are.
    Killed,
    /// A simulated or emulated part fails.
    Failed,
    /// A port or a cable has another speed from then on.
    Slowed,
    /// A cable loses packets.
    Lossy,
    /// One end of a cable takes small packets alone.
    Mismatched,
    /// A cable is up and carries next to nothing.
    Stalled,
    /// A port answers every command with BUSY.
    Busy,
    /// A VM runs on another host from then on.
    Moved,
}

/// Work of all workers and streams over a part of the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultSpan {
    /// How long it was, in nanoseconds.
    pub length_ns: u64,
    /// Bytes a second in both directions.
    pub bytes_per_s: f64,
    /// Operations a second in both directions.
    pub iops: f64,
    /// Service time that 99% of its operations did not exceed; `None` where none completed.
    pub p99_ns: Option<u64>,
    /// The longest service time.
    pub max_ns: Option<u64>,
    /// Operations that failed.
    pub errors: u64,
}

/// A change of a plan.
struct PlannedChange {
    at: Ns,
    part: String,
    to: Option<String>,
    /// `None` for one that ends a fault.
    kind: Option<FaultKind>,
}

/// What the workers did between two cuts.
struct WorkInterval {
    from: Ns,
    to: Ns,
    done: Completed,
}

/// The faults of a step, in the order of their moments; none where its plan injects none.
pub(crate) fn outcomes(
    record: &Record,
    head: &StepHead,
    planned: &Step,
) -> Result<Vec<FaultOutcome>, RecordError> {
    let changes = changes(planned);
    if changes.iter().all(|change| change.kind.is_none()) {
        return Ok(Vec::new());
    }
    let work = intervals(record, head)?;
    let counters = record.counters(Some(head.index))?;
    let moments = moments(&changes, head, record.events());
    let measured = head.times.measured();
    let outcome = |n: usize| {
        let (change, (at, carried_out)) = (&changes[n], moments[n]);
        let kind = change.kind?;
        let ends = (n + 1..changes.len())
            .find(|m| changes[*m].kind.is_none() && changes[*m].part == change.part);
        // What other faults do to the load is not this one's.
        let next = (n + 1..changes.len()).find(|m| changes[*m].kind.is_some());
        let next = next.map_or(measured, |m| moments[m].0);
        let until = ends.map(|m| moments[m].0).filter(|until| *until <= next);
        let begins = (0..n).rev().map(|m| moments[m].0).find(|before| *before < at);
        let spans = Spans { work: &work, head };
        let times = (begins.unwrap_or(Ns::ZERO), at, until, next);
        let stood = stood_still(record, &counters, &change.part);
        let clock_stood_ns = stood.filter(|_| carried_out);
        Some(FaultOutcome { clock_stood_ns, ..spans.outcome(change, kind, times, carried_out) })
    };
    Ok((0..changes.len()).filter_map(outcome).collect())
}

/// By how much the clock of a guest may have been wrong at any moment of the step, where the part is one.
fn stood_still(record: &Record, counters: &[Counter], part: &str) -> Option<u64> {
    let hop = record.sources().iter().find(|source| {
        source.hop() == Some(HopKind::VmCpu) && source.name.strip_suffix(".cpu") == Some(part)
    })?;
    let of_hop = |one: &&Counter| one.source == hop.id;
    let mut bounds = counters.iter().filter(of_hop);
    bounds.find(|one| one.kind.id() == Some(CounterId::ClockBound)).map(|one| one.value as u64)
}

/// The changes of a step in the order of their moments.
fn changes(planned: &Step) -> Vec<PlannedChange> {
    let faults = planned.faults.iter().map(|fault| {
        let (kind, to) = match fault.action {
            FaultAction::Kill => (Some(FaultKind::Killed), None),
            FaultAction::Busy => (Some(FaultKind::Busy), None),
            FaultAction::Slow(rate) => (Some(FaultKind::Slowed), Some(rate.to_string())),
            FaultAction::Revive | FaultAction::Ready => (None, None),
        };
        PlannedChange { at: fault.at.into(), part: fault.hop(), to, kind }
    });
    let incidents = planned.incidents.iter().map(|incident| {
        let (part, to, kind) = match &incident.change {
            Change::Fail(part) => (part, None, Some(FaultKind::Failed)),
            Change::Restore(part) => (part, None, None),
            Change::Move { vm, to } => (vm, Some(to.clone()), Some(FaultKind::Moved)),
            Change::Kill(host) => (host, None, Some(FaultKind::Killed)),
            Change::Hamper { part, how } => match how {
                Hamper::Slow(rate) => (part, Some(rate.to_string()), Some(FaultKind::Slowed)),
                Hamper::Lose(share) => (part, Some(share.to_string()), Some(FaultKind::Lossy)),
                Hamper::Mismatch(mtu) => (part, Some(mtu.to_string()), Some(FaultKind::Mismatched)),
                Hamper::Stall => (part, None, Some(FaultKind::Stalled)),
            },
        };
        PlannedChange { at: incident.at.into(), part: part.clone(), to, kind }
    });
    let mut all: Vec<PlannedChange> = faults.chain(incidents).collect();
    all.sort_by_key(|change| change.at);
    all
}

/// When each change happened, since the beginning of the measured time, and whether an event shows it. Events come in the
/// order of the plan.
fn moments(changes: &[PlannedChange], head: &StepHead, events: &[Event]) -> Vec<(Ns, bool)> {
    let mine = |event: &&Event| {
        event.step == Some(head.index) && CODES.iter().any(|code| event.code.starts_with(code))
    };
    let mut seen: Vec<&Event> = events.iter().filter(mine).collect();
    seen.sort_by_key(|event| event.at);
    let mut at = |change: &PlannedChange| {
        let place = seen.iter().position(|event| event.text.starts_with(&change.part))?;
        Some(seen.remove(place).at.since(head.times.measure))
    };
    changes.iter().map(|change| at(change).map_or((change.at, false), |at| (at, true))).collect()
}

/// The measured intervals of all workers and streams together, in the order of time. A stream's work is what was received; the
/// times and failures of its requests are the sender's.
fn intervals(record: &Record, head: &StepHead) -> Result<Vec<WorkInterval>, RecordError> {
    let workers: Vec<_> = head.workers.iter().map(|load| load.source).collect();
    let ends: BTreeMap<SourceId, StreamEnd> =
        head.streams.iter().map(|load| (load.source, load.end)).collect();
    let mut by: BTreeMap<(Ns, Ns), Completed> = BTreeMap::new();
    record.for_each_interval(head.index, &mut |interval| {
        let end = ends.get(&interval.source);
        if interval.phase != Phase::Measure
            || !(end.is_some() || workers.contains(&interval.source))
        {
            return;
        }
        let sum = by.entry((interval.from, interval.to)).or_insert_with(|| Completed::empty(false));
        match end {
            None => {
                let both = [interval.read.as_ref(), interval.write.as_ref()];
                both.into_iter().flatten().for_each(|done| sum.merge(done));
            }
            Some(StreamEnd::Received) => {
                interval.read.iter().for_each(|done| sum.merge(done));
            }
            Some(StreamEnd::Sent) => {
                let sent = interval.write.clone();
                sent.iter()
                    .for_each(|done| sum.merge(&Completed { ops: 0, bytes: 0, ..done.clone() }));
            }
        }
    })?;
    Ok(by.into_iter().map(|((from, to), done)| WorkInterval { from, to, done }).collect())
}

/// The work of a step and its times.
struct Spans<'a> {
    work: &'a [WorkInterval],
    head: &'a StepHead,
}

impl Spans<'_> {
    fn outcome(
        &self,
        change: &PlannedChange,
        kind: FaultKind,
        (begins, at, until, next): (Ns, Ns, Option<Ns>, Ns),
        carried_out: bool,
    ) -> FaultOutcome {
        let start = self.head.times.measure;
        let [begins, fails, next] = [begins, at, next].map(|moment| start.plus(moment));
        let over = until.map(|until| start.plus(until));
        let ends = over.unwrap_or(next);
        let before = self.span(|i| i.from >= begins && i.to <= fails);
        let during = self.span(|i| i.to > fails && i.from < ends);
        let after = over.map(|over| self.span(|i| i.from >= over && i.to <= next));
        let longest = during.max_ns.filter(|longest| Some(*longest) > before.max_ns);
        let enough = before.bytes_per_s * RECOVERED;
        let back = |from: Ns, to: Ns| {
            let recovered = |i: &&WorkInterval| {
                let seconds = i.to.since(i.from).as_secs_f64();
                i.from >= from && i.to <= to && i.done.bytes as f64 >= enough * seconds
            };
            let found = self.work.iter().find(recovered).filter(|_| enough > 0.0);
            found.map(|interval| interval.to.since(from).0)
        };
        FaultOutcome {
            part: change.part.clone(),
            kind,
            to: change.to.clone(),
            at_ns: at.0,
            carried_out,
            until_ns: until.map(|until| until.0),
            before,
            during,
            after,
            fail_over_ns: longest,
            clock_stood_ns: None,
            resumed_ns: back(fails, ends),
            recovered_ns: over.and_then(|over| back(over, next)),
        }
    }

    fn span(&self, within: impl Fn(&WorkInterval) -> bool) -> FaultSpan {
        let (mut done, mut length) = (Completed::empty(false), Ns::ZERO);
        for interval in self.work.iter().filter(|interval| within(interval)) {
            done.merge(&interval.done);
            length = length.plus(interval.to.since(interval.from));
        }
        FaultSpan {
            length_ns: length.0,
            bytes_per_s: pool::per_second(done.bytes as f64, length),
            iops: pool::per_second(done.ops as f64, length),
            p99_ns: done.service.percentile(99.0).map(|ns| ns.0),
            max_ns: done.service.max().map(|ns| ns.0),
            errors: done.errors,
        }
    }
}

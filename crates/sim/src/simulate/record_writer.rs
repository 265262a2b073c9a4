//! Writes the record of a simulation: events of steps under the names and numbers of the record.
//!
//! One thread writes, step after step in the order of the plan, so that the file does not depend on how many threads
//! simulated it. Each cut is a transaction: a killed process loses at most the last second.

use super::SIMULATOR;
use super::pairs::OpenPair;
use super::step_event::{Cut, DoubledHops, HopHead, Note, Reading, StepStart};
use crate::plant::{Assumption, HopLimits, Issuer, PlantNote};
use campaign::HopMeter;
use clock::Ns;
use record::{
    Confidence, Counter, CounterId, Event, Fact, Interval, Level, Loop, RecordError, Source,
    SourceId, SourceKind, Status, StepHead, StepTimes, WorkerLoad, Writer,
};
use scenario::Step;
use std::collections::{BTreeMap, BTreeSet};

/// Writes the record.
pub(crate) struct RecordBook {
    pub(super) writer: Writer,
    numbers: BTreeMap<String, SourceId>,
    facts: BTreeSet<(String, String)>,
    /// Where the steps so far end: a whole second.
    end: Ns,
    step: Option<Open>,
    /// How full hops are, for those who watch.
    pub hops: HopMeter,
}

/// The step that is being written.
struct Open {
    index: u32,
    /// Its beginning on the record's time base.
    start: Ns,
    times: StepTimes,
    workers: Vec<SourceId>,
    hops: Vec<(SourceId, HopLimits)>,
    /// Workers that end, with the bytes after which they are done.
    planned: Vec<(SourceId, u64)>,
    pairs: Vec<OpenPair>,
    experiments: Vec<DoubledHops>,
}

impl RecordBook {
    pub fn new(writer: Writer) -> RecordBook {
        let (numbers, facts) = (BTreeMap::new(), BTreeSet::new());
        let hops = HopMeter::simulated();
        RecordBook { writer, numbers, facts, end: Ns::ZERO, step: None, hops }
    }

    /// Adds facts that are not there yet.
    pub fn facts(&mut self, facts: Vec<Fact>) -> Result<(), RecordError> {
        let is_new = |fact: &Fact| self.facts.insert((fact.subject.clone(), fact.key.clone()));
        let new: Vec<Fact> = facts.into_iter().filter(is_new).collect();
        self.writer.facts(&new)
    }

    /// Opens a step; what its workers are to do.
    pub fn begin(&mut self, step: &Step, begun: StepStart) -> Result<Vec<WorkerLoad>, RecordError> {
        let group = |name: &String| {
            let issuer = begun.issuers.iter().find(|issuer| issuer.source == *name);
            issuer.map_or_else(|| name.clone(), |issuer| issuer.group.clone())
        };
        let workers = begun
            .workers
            .iter()
            .map(|name| self.number(name, group(name), SourceKind::Worker))
            .collect::<Result<Vec<_>, _>>()?;
        let wires: Vec<Fact> = begun.hops.iter().filter_map(wire_rate).collect();
        let hops = begun
            .hops
            .into_iter()
            .map(|HopHead { name, kind, device, limits }| {
                Ok((self.number(&name, device, SourceKind::Hop(kind))?, limits))
            })
            .collect::<Result<Vec<_>, RecordError>>()?;
        self.facts(begun.assumptions.iter().map(fact).chain(wires).collect())?;
        let (pairs, streams) = self.open_pairs(begun.pairs)?;
        let start = self.end;
        let loads = loads(&begun.issuers, &begun.workers, &workers);
        let planned = planned(&begun.issuers, &begun.workers, &workers);
        let times = begun.times;
        self.hops.begin_step();
        self.writer.step(&StepHead {
            index: step.index,
            plan: step.plan.clone(),
            settings: step.settings.clone(),
            repetition: step.repetition,
            times: shifted(&times, start),
            workers: loads.clone(),
            streams,
        })?;
        let experiments = begun.experiments;
        let index = step.index;
        self.step = Some(Open { index, start, times, workers, hops, planned, pairs, experiments });
        for PlantNote { code, text } in begun.notes {
            self.note(Note { at: Ns::ZERO, level: Level::Warning, code, text })?;
        }
        self.writer.commit()?;
        Ok(loads)
    }

    /// Corrects the times of the step.
    pub fn times(&mut self, times: StepTimes) -> Result<(), RecordError> {
        let Some(step) = &mut self.step else { return Ok(()) };
        step.times = times;
        self.writer.step_times(step.index, &shifted(&times, step.start))
    }

    /// Writes what happened between two cuts; the workers' intervals as they were written.
    pub fn cut(&mut self, cut: Cut) -> Result<Vec<Interval>, RecordError> {
        let Some(step) = &mut self.step else { return Ok(Vec::new()) };
        let (from, to) = (step.start.plus(cut.from), step.start.plus(cut.to));
        let mut intervals = Vec::with_capacity(cut.workers.len());
        let done = cut.workers.into_iter().zip(cut.others);
        for (source, ([read, write], others)) in step.workers.iter().zip(done) {
            let (source, step, phase) = (*source, step.index, cut.phase);
            let testimony = None;
            let interval =
                Interval { source, step, phase, from, to, read, write, others, testimony };
            self.writer.interval(&interval)?;
            intervals.push(interval);
        }
        for ((source, _), readings) in step.hops.iter().zip(&cut.hops) {
            for reading in readings {
                let counter = counter(*source, step.index, (from, to), reading);
                self.writer.counter(&counter)?;
                self.hops.add(&counter);
            }
        }
        let mut streams = cut.streams.into_iter();
        for (pair, busy) in step.pairs.iter_mut().zip(cut.machines) {
            let place = (step.index, cut.phase, (from, to));
            pair.cut(place, &mut streams, busy, &mut self.writer)?;
        }
        self.writer.commit()?;
        Ok(intervals)
    }

    /// Writes an event of the step, which is `None` outside one; the event.
    pub fn note(&mut self, note: Note) -> Result<Event, RecordError> {
        let start = self.step.as_ref().map_or(self.end, |step| step.start);
        let event = Event {
            at: start.plus(note.at),
            step: self.step.as_ref().map(|step| step.index),
            source: None,
            level: note.level,
            code: note.code.to_owned(),
            text: note.text,
        };
        self.writer.event(&event)?;
        Ok(event)
    }

    /// The step has come to its end.
    pub fn done(&mut self, confidences: &[Confidence]) -> Result<(), RecordError> {
        let Some(step) = self.step.take() else { return Ok(()) };
        let measured = (step.start.plus(step.times.measure), step.start.plus(step.times.cooldown));
        for (source, limits) in &step.hops {
            for reading in known(limits) {
                let counter = counter(*source, step.index, measured, &reading);
                self.writer.counter(&counter)?;
            }
        }
        for (source, bytes) in &step.planned {
            let reading = (CounterId::PlannedBytes, *bytes as f64);
            self.writer.counter(&counter(*source, step.index, measured, &reading))?;
        }
        for counter in step.experiments(measured) {
            self.writer.counter(&counter)?;
        }
        for pair in &step.pairs {
            pair.done(step.index, measured, &mut self.writer)?;
        }
        for confidence in confidences {
            self.writer.confidence(confidence)?;
        }
        self.writer.step_done(step.index)?;
        self.end = whole_second(step.start.plus(step.times.end));
        self.writer.commit()
    }

    /// Closes the record.
    pub fn finish(self, status: Status) -> Result<(), RecordError> {
        self.writer.finish(status)
    }

    /// The number of a source, which is announced when it is first met.
    pub(super) fn number(
        &mut self,
        name: &str,
        group: String,
        kind: SourceKind,
    ) -> Result<SourceId, RecordError> {
        if let Some(id) = self.numbers.get(name) {
            return Ok(*id);
        }
        let id = SourceId(self.numbers.len() as u32);
        let agent = SIMULATOR.to_owned();
        let source = Source { id, kind, name: name.to_owned(), group, agent };
        self.writer.source(&source)?;
        if matches!(kind, SourceKind::Hop(_)) {
            self.hops.hop(&source);
        }
        self.numbers.insert(name.to_owned(), id);
        Ok(id)
    }
}

impl Open {
    /// What was found by doubling, as counters of the first worker: they are of all loads together.
    fn experiments(&self, measured: (Ns, Ns)) -> Vec<Counter> {
        let Some(source) = self.workers.first() else { return Vec::new() };
        let mut all = Vec::new();
        for of in &self.experiments {
            let plain = counter(*source, self.index, measured, &of.reading);
            match of.hops.is_empty() {
                true => all.push(plain),
                false => all.extend(
                    of.hops.iter().map(|hop| Counter { part: Some(hop.clone()), ..plain.clone() }),
                ),
            }
        }
        all
    }
}

/// What each worker is to do: of several loads that one worker carries the first, with the depth of all.
fn loads(issuers: &[Issuer], names: &[String], sources: &[SourceId]) -> Vec<WorkerLoad> {
    let of = |(name, source): (&String, &SourceId)| {
        let mut mine = issuers.iter().filter(|issuer| issuer.source == *name);
        let first = mine.next()?;
        let arrivals = mine.fold(first.arrivals, |sum, issuer| both(sum, issuer.arrivals));
        Some(WorkerLoad {
            source: *source,
            workload: first.workload.clone(),
            arrivals,
            ops_per_transaction: first.ops_per_transaction,
        })
    };
    names.iter().zip(sources).filter_map(of).collect()
}

/// The bytes of each worker that ends: of all loads that it carries.
fn planned(issuers: &[Issuer], names: &[String], sources: &[SourceId]) -> Vec<(SourceId, u64)> {
    let of = |(name, source): (&String, &SourceId)| {
        let mine = issuers.iter().filter(|issuer| issuer.source == *name);
        let bytes: Option<u64> = mine.map(|issuer| issuer.planned).sum();
        bytes.filter(|bytes| *bytes > 0).map(|bytes| (*source, bytes))
    };
    names.iter().zip(sources).filter_map(of).collect()
}

/// Two loops that one worker carries.
fn both(first: Loop, second: Loop) -> Loop {
    match (first, second) {
        (Loop::Closed { depth: a, think: x }, Loop::Closed { depth: b, think: y }) => {
            Loop::Closed { depth: a.saturating_add(b), think: x || y }
        }
        (Loop::Open { rate: a }, Loop::Open { rate: b }) => Loop::Open { rate: a + b },
        (first, _) => first,
    }
}

fn fact(assumption: &Assumption) -> Fact {
    Fact {
        subject: assumption.subject.clone(),
        key: format!("assumed/{}", assumption.figure),
        value: format!("{} ({})", assumption.value, assumption.reason),
    }
}

/// What a hop's wire carries in one direction, by which goals in percent of it are judged.
fn wire_rate(hop: &HopHead) -> Option<Fact> {
    let HopLimits { read_rate, write_rate, .. } = hop.limits;
    let rate = match (read_rate, write_rate) {
        (Some(read), Some(write)) => read.min(write),
        (one, other) => one.or(other)?,
    };
    let (subject, key) = (hop.name.clone(), "wire-rate".to_owned());
    Some(Fact { subject, key, value: format!("{:.6} MB/s", rate / 1e6) })
}

pub(super) fn counter(source: SourceId, step: u32, span: (Ns, Ns), reading: &Reading) -> Counter {
    let (id, value) = *reading;
    let (from, to) = span;
    Counter { source, step: Some(step), from, to, kind: id.into(), part: None, value }
}

/// What a hop is known to carry, as counters over the measured time.
fn known(limits: &HopLimits) -> impl Iterator<Item = Reading> {
    let count = |n: Option<u32>| n.map(f64::from);
    let all = [
        (CounterId::Servers, count(limits.servers)),
        (CounterId::Slots, count(limits.slots)),
        (CounterId::ReadRate, limits.read_rate),
        (CounterId::WriteRate, limits.write_rate),
        (CounterId::BothRate, limits.both_rate),
        (CounterId::OpsRate, limits.ops_rate),
    ];
    all.into_iter().filter_map(|(id, value)| Some((id, value?)))
}

/// Times of a step on the record's time base.
fn shifted(times: &StepTimes, by: Ns) -> StepTimes {
    StepTimes {
        start: times.start.plus(by),
        measure: times.measure.plus(by),
        cooldown: times.cooldown.plus(by),
        end: times.end.plus(by),
    }
}

/// The first whole second not before `at`: where the next step begins, so that its cuts do not depend on those before it.
fn whole_second(at: Ns) -> Ns {
    let second = Ns::secs(1).0;
    Ns(at.0.div_ceil(second).saturating_mul(second))
}

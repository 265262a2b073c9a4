//! One step of a record as plain numbers: what every worker did in the measured time, before anything is judged.
//!
//! Only this module and [`crate::analyse`] read the record. Histograms live here and no longer than one step, so a
//! long run is analysed in the memory of its largest step.

use crate::confidence;
use crate::counters::Integrals;
use crate::network::{NetPair, StreamData};
use crate::steady::{round, second};
use crate::wires::PortTraffic;
use clock::Ns;
use record::{
    Completed, Confidence, Counter, CounterId, HopKind, Interval, OtherTallies, Phase, Record,
    Rounds, Source, SourceId, SourceKind, StepHead, StepTotal, Testimony, Voids, WorkerLoad,
};
use scenario::Steady;
use std::collections::{BTreeMap, BTreeSet};

/// Below this share of the planned measured time a worker (or a step) counts as incomplete. Cuts tile the measured
/// time exactly; the slack only absorbs rounding.
pub(crate) const COMPLETE_SHARE: f64 = 0.999;
/// The end of the name of a pair's probe.
const PROBE: &str = "probe";

/// A step with everything that its workers reported.
pub(crate) struct StepData {
    pub head: StepHead,
    pub workers: Vec<WorkerData>,
    /// Both ends of every network stream.
    pub streams: Vec<StreamData>,
    /// The pairs of the streams, judged: filled in with the scenario.
    pub pairs: Vec<NetPair>,
    /// Sources that are no ends of streams and counted operations: the probes beside them, by name.
    probes: Vec<(String, Completed)>,
    pub counters: Vec<(String, Counter)>,
    /// The same over the measured time.
    pub integrals: Integrals,
    /// Hops that are processors of VMs or hosts.
    processors: BTreeSet<String>,
    /// Intervals of confidence of it and its parts.
    pub confidences: Vec<Confidence>,
    /// From the beginning of the measured time to the last moment of it that any worker or stream reported.
    pub span: Ns,
    /// What counts neither for nor against: a process of the run did not run itself.
    pub voids: Voids,
    /// The measured time in rounds.
    pub rounds: Rounds,
    /// The same in seconds.
    pub seconds: Rounds,
    /// The ports of embedded arrays, as the scenario has them in this step.
    pub wires: Vec<PortTraffic>,
}

/// A worker that the step announced, whether or not it reported.
pub(crate) struct WorkerData {
    pub source: Source,
    pub load: WorkerLoad,
    pub read: Option<Completed>,
    pub write: Option<Completed>,
    pub others: OtherTallies,
    pub testimony: Option<Testimony>,
    /// Measured time that its intervals cover.
    pub covered: Ns,
    /// End of its last measured interval.
    pub last: Option<Ns>,
    /// End of the last interval, of whatever phase, in which an operation ended.
    pub done: Option<Ns>,
    /// Bytes in the first and the second half of the measured time.
    pub halves: [f64; 2],
    /// The most operations in flight at the end of any interval.
    pub open_max: u32,
}

/// Gives each total to the worker or the end of a stream that it is of; the others are those of probes, with their names.
fn divide(
    totals: Vec<StepTotal>,
    workers: &mut [WorkerData],
    streams: &mut [StreamData],
    sources: &[Source],
) -> Vec<(String, Completed)> {
    let mut probes = Vec::new();
    for total in totals {
        if let Some(w) = workers.iter_mut().find(|w| w.load.source == total.source) {
            w.read = total.read;
            w.write = total.write;
            w.others = total.others;
            w.testimony = total.testimony;
        } else if let Some(end) = streams.iter_mut().find(|s| s.load.source == total.source) {
            end.tally = end.of(total);
        } else if let (Some(source), Some(tally)) =
            (sources.iter().find(|s| s.id == total.source), total.write)
        {
            probes.push((source.name.clone(), tally));
        }
    }
    probes
}

/// Whether a step was measured until its loads were done: each of its workers said what it was to do.
fn ended_with_loads(record: &Record, head: &StepHead, counters: &[Counter]) -> bool {
    let planned = counters.iter().filter(|c| c.kind.id() == Some(CounterId::PlannedBytes));
    let ending: BTreeSet<SourceId> = planned.map(|counter| counter.source).collect();
    let whole = record.steps().iter().find(|step| step.index == head.index);
    let to_its_end = whole.is_some_and(|step| step.times.cooldown == head.times.cooldown);
    to_its_end
        && !head.workers.is_empty()
        && head.workers.iter().all(|load| ending.contains(&load.source))
}

impl StepData {
    /// Reads a step. A worker that the step announced and no source describes is kept under its number.
    pub fn read(
        record: &Record,
        head: StepHead,
        sources: &[Source],
        rule: &Steady,
    ) -> Result<StepData, record::RecordError> {
        let mut workers: Vec<WorkerData> =
            head.workers.iter().map(|load| WorkerData::silent(load.clone(), sources)).collect();
        let mut streams: Vec<StreamData> =
            head.streams.iter().map(|load| StreamData::silent(load.clone(), sources)).collect();
        let voids = record.voids(head.index)?;
        let probes = divide(record.totals(head.index)?, &mut workers, &mut streams, sources);
        let middle = head.times.measure.plus(Ns(head.times.measured().0 / 2));
        let length = round(rule, head.times.measured());
        let mut rounds = Rounds::new(head.times.measure, length, workers.len());
        let second = second(head.times.measured());
        let mut seconds = Rounds::new(head.times.measure, second, workers.len());
        record.for_each_interval(head.index, &mut |interval| {
            let void = voids.touch(interval.from, interval.to);
            if let Some(w) = workers.iter_mut().find(|w| w.load.source == interval.source) {
                w.take(&interval, (middle, head.times.cooldown), void);
                if interval.phase == Phase::Measure && !void {
                    rounds.add(&interval);
                    seconds.add(&interval);
                }
            } else if let Some(end) = streams.iter_mut().find(|s| s.load.source == interval.source)
            {
                end.take(&interval, void);
            }
        })?;
        let mut counters = record.counters(Some(head.index))?;
        if ended_with_loads(record, &head, &counters) {
            // What was counted in the interval in which the loads ended was counted before that.
            let over = head.times.cooldown;
            let across = counters.iter_mut().filter(|c| c.from < over && over < c.to);
            across.for_each(|counter| counter.to = over);
        }
        let integrals = Integrals::of(&counters, sources, &head, &voids);
        let counters = named_counters(counters, sources);
        let processors = [Some(HopKind::VmCpu), Some(HopKind::HostCpu)];
        let processors = sources.iter().filter(|source| processors.contains(&source.hop()));

        let ends = workers.iter().map(|w| w.last).chain(streams.iter().map(|s| s.last));
        let end = ends.flatten().max();
        let span = match end {
            Some(end) => {
                let end = end.min(head.times.cooldown);
                let void = voids.within(head.times.measure, end);
                end.since(head.times.measure).since(void)
            }
            None => Ns::ZERO,
        };
        Ok(StepData {
            workers,
            streams,
            pairs: Vec::new(),
            probes,
            counters,
            integrals,
            processors: processors.map(|source| source.name.clone()).collect(),
            confidences: confidence::sound(record, head.index).cloned().collect(),
            span,
            voids,
            rounds,
            seconds,
            wires: Vec::new(),
            head,
        })
    }

    /// Whether a hop is the processors of a VM or a host.
    pub fn has_processors(&self, hop: &str) -> bool {
        self.processors.contains(hop)
    }

    /// Whether it has workers, and all of them work for these VMs or targets.
    pub fn is_on_nothing_but(&self, groups: &[&str]) -> bool {
        let all = self.workers.iter().all(|w| groups.contains(&w.source.group.as_str()));
        all && !self.workers.is_empty()
    }

    /// What the probe beside the streams of a pair did.
    pub fn probe(&self, pair: &str) -> Option<&Completed> {
        let name = format!("{pair}/{PROBE}");
        self.probes.iter().find(|(probe, _)| *probe == name).map(|(_, tally)| tally)
    }

    /// Share of the planned measured time that a worker reported, 0 to 1.
    pub fn completeness(&self, worker: &WorkerData) -> f64 {
        self.share(worker.covered)
    }

    /// The share of the measured time that counts which `covered` is, 0 to 1.
    pub fn share(&self, covered: Ns) -> f64 {
        let planned = self.head.times.measured().since(self.void()).as_secs_f64();
        match planned > 0.0 {
            true => (covered.as_secs_f64() / planned).min(1.0),
            // Nothing is left to be reported.
            false => f64::from(u8::from(!self.voids.is_empty())),
        }
    }

    /// How much of the measured time is void.
    pub fn void(&self) -> Ns {
        self.voids.within(self.head.times.measure, self.head.times.cooldown)
    }

    /// Why too little of the measured time is left to decide anything; `None` where enough is.
    pub fn too_little(&self) -> Option<String> {
        let (void, planned) = (self.void(), self.head.times.measured());
        (void.0 > planned.0 / 2).then(|| {
            format!(
                "{:.0} s of the measured {:.0} s are void",
                void.as_secs_f64(),
                planned.as_secs_f64()
            )
        })
    }
}

impl WorkerData {
    /// A worker without reports yet.
    pub fn silent(load: WorkerLoad, sources: &[Source]) -> WorkerData {
        let source = sources
            .iter()
            .find(|s| s.id == load.source)
            .cloned()
            .unwrap_or_else(|| unnamed(load.source, SourceKind::Worker));
        WorkerData {
            source,
            load,
            read: None,
            write: None,
            others: OtherTallies::default(),
            testimony: None,
            covered: Ns::ZERO,
            last: None,
            done: None,
            halves: [0.0; 2],
            open_max: 0,
        }
    }

    /// Takes in the light part of an interval; its histograms are in the step's totals already. A void one only shows
    /// that the worker was there. `middle` and `over` are those of the measured time.
    pub fn take(&mut self, interval: &Interval, (middle, over): (Ns, Ns), void: bool) {
        if let Some(t) = &interval.testimony {
            self.open_max = self.open_max.max(t.open);
        }
        let tallies = || [interval.read.as_ref(), interval.write.as_ref()].into_iter().flatten();
        if interval.tallies().any(|t| t.ops > 0 || t.errors > 0) {
            self.done = self.done.max(Some(interval.to));
        }
        if interval.phase != Phase::Measure {
            return;
        }
        self.last = self.last.max(Some(interval.to));
        if void {
            return;
        }
        // Of a step that ended with its loads the rest of the last interval is none of its time.
        let length = interval.to.min(over).since(interval.from.min(over));
        self.covered = self.covered.plus(length);
        let bytes = tallies().map(|t| t.bytes as f64).sum::<f64>();
        // An interval across the middle is divided in proportion to its time.
        let early = match length.0 {
            0 => f64::from(u8::from(interval.from < middle)),
            ns => middle.since(interval.from).0.min(ns) as f64 / ns as f64,
        };
        for (half, share) in self.halves.iter_mut().zip([early, 1.0 - early]) {
            *half += bytes * share;
        }
    }

    /// Operations of all kinds that completed successfully.
    pub fn ops(&self) -> u64 {
        let all = self.tallies().chain(self.others.iter().flatten());
        all.fold(0, |n, t| n.saturating_add(t.ops))
    }

    /// Reads and writes that completed successfully.
    pub fn data_ops(&self) -> u64 {
        self.tallies().fold(0, |n, t| n.saturating_add(t.ops))
    }

    /// Operations of all kinds that failed.
    pub fn errors(&self) -> u64 {
        let all = self.tallies().chain(self.others.iter().flatten());
        all.fold(0, |n, t| n.saturating_add(t.errors))
    }

    /// The sum of the service times of its successful operations of all kinds.
    pub fn service_sum(&self) -> Ns {
        let all = self.tallies().chain(self.others.iter().flatten());
        all.fold(Ns::ZERO, |sum, t| sum.plus(t.service_sum))
    }

    /// The tallies of reads and writes that there are.
    pub fn tallies(&self) -> impl Iterator<Item = &Completed> {
        [self.read.as_ref(), self.write.as_ref()].into_iter().flatten()
    }
}

/// A source that the record does not describe.
pub(crate) fn unnamed(id: SourceId, kind: SourceKind) -> Source {
    let name = format!("source {}", id.0);
    Source { id, kind, group: name.clone(), name, agent: String::new() }
}

fn named_counters(counters: Vec<Counter>, sources: &[Source]) -> Vec<(String, Counter)> {
    // Network loads make many sources and many counters of each.
    let names: BTreeMap<SourceId, &str> = sources.iter().map(|s| (s.id, s.name.as_str())).collect();
    counters
        .into_iter()
        .map(|c| match names.get(&c.source) {
            Some(name) => ((*name).to_owned(), c),
            None => (format!("source {}", c.source.0), c),
        })
        .collect()
}

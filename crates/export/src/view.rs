//! A step as exports see it: its workers with their totals, their plan, and their sums in each interval.

use crate::{ExportError, no_step};
use clock::Ns;
use record::{Completed, Phase, Record, Source, StepHead, StepTotal, Testimony, Voids, WorkerLoad};
use scenario::{Course, DiskLoad, Scenario, Step};
use std::collections::BTreeMap;

/// A record's steps, and the scenario inside it where that can be read.
pub(crate) struct RecordView<'a> {
    pub record: &'a Record,
    pub scenario: Option<Scenario>,
    course: Course,
}

/// A step with its workers.
pub(crate) struct StepView<'a> {
    pub head: &'a StepHead,
    planned: Option<Step>,
    pub workers: Vec<WorkerView<'a>>,
    /// What does not count, because Wirespeed itself did not run.
    voids: Voids,
}

/// A worker that the step announced, whether or not it reported.
pub(crate) struct WorkerView<'a> {
    pub load: &'a WorkerLoad,
    pub source: Option<&'a Source>,
    pub total: Option<StepTotal>,
    /// What it did in each of its measured intervals.
    intervals: Vec<(TimeSpan, Amounts)>,
}

type TimeSpan = (Ns, Ns);

/// What some workers did between two cuts.
#[derive(Clone, Copy, Default)]
pub(crate) struct Amounts {
    pub read_ops: u64,
    pub read_bytes: u64,
    pub write_ops: u64,
    pub write_bytes: u64,
}

impl<'a> RecordView<'a> {
    pub fn of(record: &'a Record) -> RecordView<'a> {
        let text = record.head().scenario.clone();
        let (name, text, overrides) = (text.name, text.text, text.overrides);
        let scenario = scenario::load(&scenario::Source {
            name,
            text,
            overrides,
            ..scenario::Source::default()
        })
        .ok();
        let course = scenario.as_ref().map(Course::of).unwrap_or_default();
        RecordView { record, scenario, course }
    }

    /// The heads of all steps, or of the one that was asked for.
    /// # Errors
    /// Where that one is not there.
    pub fn heads(&self, only: Option<u32>) -> Result<Vec<&'a StepHead>, ExportError> {
        let all = self.record.steps();
        let Some(index) = only else { return Ok(all.iter().collect()) };
        match all.iter().find(|head| head.index == index) {
            Some(head) => Ok(vec![head]),
            None => {
                let held: Vec<u32> = all.iter().map(|head| head.index).collect();
                Err(no_step(index, &held))
            }
        }
    }

    /// What the scenario had planned for a network workload of a step; `None` where it cannot be read.
    pub fn network(&self, index: u32, workload: &str) -> Option<workload::Network> {
        let head = self.record.steps().iter().find(|head| head.index == index)?;
        let planned = self.course.step(head.index, &head.plan, &head.settings, head.repetition)?;
        let net = planned.net_loads().find(|net| net.workload.name == workload)?;
        Some(net.workload.network.clone())
    }

    /// One step. A long one is gone through interval by interval, so that it takes no memory for their histograms.
    pub fn step(&self, head: &'a StepHead) -> Result<StepView<'_>, ExportError> {
        let mut totals: BTreeMap<_, _> =
            self.record.totals(head.index)?.into_iter().map(|t| (t.source, t)).collect();
        let mut workers: Vec<WorkerView> = head
            .workers
            .iter()
            .map(|load| WorkerView {
                load,
                source: self.record.sources().iter().find(|s| s.id == load.source),
                total: totals.remove(&load.source),
                intervals: Vec::new(),
            })
            .collect();
        let voids = self.record.voids(head.index)?;
        self.record.for_each_interval(head.index, &mut |interval| {
            let void = voids.touch(interval.from, interval.to);
            if interval.phase != Phase::Measure || void {
                return;
            }
            if let Some(worker) = workers.iter_mut().find(|w| w.load.source == interval.source) {
                let amounts = Amounts::of(interval.read.as_ref(), interval.write.as_ref());
                worker.intervals.push(((interval.from, interval.to), amounts));
            }
        })?;
        let planned = self.course.step(head.index, &head.plan, &head.settings, head.repetition);
        Ok(StepView { head, planned, workers, voids })
    }
}

impl StepView<'_> {
    /// The workloads that its workers ran, in the order in which it names them.
    pub fn workloads(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for worker in &self.workers {
            if !names.contains(&worker.load.workload.as_str()) {
                names.push(&worker.load.workload);
            }
        }
        names
    }

    /// What the scenario had planned for a workload; `None` where it cannot be read.
    pub fn planned(&self, workload: &str) -> Option<DiskLoad<'_>> {
        self.planned.as_ref()?.disk_loads().find(|load| load.workload.name == workload)
    }

    /// The longest that it may be measured, by its plan: one that ends with its loads was measured for less.
    pub fn measure_max(&self) -> Option<Ns> {
        self.planned.as_ref().map(|step| step.measure.into())
    }

    /// From the beginning of the measured time to the last moment of it that any worker reported: what divides rates.
    pub fn span(&self) -> Ns {
        let ends = self.workers.iter().flat_map(|w| w.intervals.iter().map(|((_, to), _)| *to));
        let times = &self.head.times;
        let end = ends.max().map_or(times.measure, |end| end.min(times.cooldown));
        end.since(times.measure).since(self.void(end))
    }

    /// What of the measured time up to `end` does not count.
    fn void(&self, end: Ns) -> Ns {
        self.voids.within(self.head.times.measure, end)
    }

    /// `plan block 8KiB depth 4`, with the repetition from the second on.
    pub fn name(&self) -> String {
        let settings = self.head.settings.iter().map(|(key, value)| format!(" {key} {value}"));
        let again = match self.head.repetition {
            0 => String::new(),
            n => format!(" (run {})", u64::from(n) + 1),
        };
        format!("{}{}{again}", self.head.plan, settings.collect::<String>())
    }
}

impl WorkerView<'_> {
    pub fn name(&self) -> &str {
        self.source.map_or("?", |s| &s.name)
    }

    pub fn group(&self) -> &str {
        self.source.map_or("?", |s| &s.group)
    }

    pub fn agent(&self) -> &str {
        self.source.map_or("?", |s| &s.agent)
    }
}

/// What some workers did in the measured time, merged; histograms are merged bin by bin.
pub(crate) struct MergedView {
    pub read: Completed,
    pub write: Completed,
    /// Operations without data, in the order of [`workload::Dir::WITHOUT_DATA`].
    pub others: [Completed; 3],
    /// `None` where no worker testifies.
    pub testimony: Option<Testimony>,
    /// Measured time, summed over the workers.
    pub worker_time: Ns,
}

impl MergedView {
    pub fn of<'w>(workers: impl Iterator<Item = &'w WorkerView<'w>>) -> MergedView {
        let (read, write) = (Completed::empty(false), Completed::empty(false));
        let others = [0; 3].map(|_| Completed::empty(false));
        let mut merged = MergedView { read, write, others, testimony: None, worker_time: Ns::ZERO };
        for total in workers.filter_map(|w| w.total.as_ref()) {
            total.read.iter().for_each(|t| merged.read.merge(t));
            total.write.iter().for_each(|t| merged.write.merge(t));
            for (mine, theirs) in merged.others.iter_mut().zip(&total.others) {
                theirs.iter().for_each(|t| mine.merge(t));
            }
            if let Some(testimony) = &total.testimony {
                merged.testimony.get_or_insert_default().merge(testimony);
            }
            merged.worker_time = merged.worker_time.plus(total.measured);
        }
        merged
    }

    pub fn both(&self) -> Completed {
        let mut both = self.read.clone();
        both.merge(&self.write);
        both
    }
}

/// What some workers did together in each interval, in the order of time.
pub(crate) fn intervals<'w>(
    workers: impl Iterator<Item = &'w WorkerView<'w>>,
) -> BTreeMap<TimeSpan, Amounts> {
    let mut sums: BTreeMap<TimeSpan, Amounts> = BTreeMap::new();
    for (span, amounts) in workers.flat_map(|w| &w.intervals) {
        sums.entry(*span).or_default().add(amounts);
    }
    sums
}

impl Amounts {
    fn of(read: Option<&Completed>, write: Option<&Completed>) -> Amounts {
        let of = |tally: Option<&Completed>| tally.map_or((0, 0), |t| (t.ops, t.bytes));
        let ((read_ops, read_bytes), (write_ops, write_bytes)) = (of(read), of(write));
        Amounts { read_ops, read_bytes, write_ops, write_bytes }
    }

    fn add(&mut self, other: &Amounts) {
        self.read_ops = self.read_ops.saturating_add(other.read_ops);
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.write_ops = self.write_ops.saturating_add(other.write_ops);
        self.write_bytes = self.write_bytes.saturating_add(other.write_bytes);
    }
}

/// An amount over a time as a rate; zero where there was no time.
pub(crate) fn per_second(amount: f64, span: Ns) -> f64 {
    if span == Ns::ZERO { 0.0 } else { amount / span.as_secs_f64() }
}

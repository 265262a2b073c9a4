//! A run in progress as its record tells it: second by second, step by step, hop by hop. A pure function of what a
//! [`record::Follower`] hands over, so that a page that is opened late has the same as one that was there from the start.

use campaign::{HopLoad, HopMeter};
use clock::Ns;
use record::{
    Event, Histogram, Interval, Level, News, Phase, RunHead, Source, SourceId, SourceKind, Status,
    StepHead, StreamEnd,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Seconds whose histograms are kept: what comes later adds to rates, and leaves the second without percentiles.
const OPEN: usize = 5;
/// Events that are kept, the latest.
const EVENTS: usize = 200;
/// Seconds of a group's course.
const COURSE: u64 = 60;
/// Seconds that are kept: three days. Older ones go; the record has them.
const SECONDS: usize = 259_200;
/// A second of which less was covered shows no rate: it would be one of chance.
const LEAST: f64 = 0.1;

/// What all workers did in one second, from the record's zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Second {
    pub step: u32,
    pub iops: f64,
    pub read: f64,
    pub write: f64,
    /// Bytes a second that streams of a network load received.
    pub net: f64,
    pub errors: u64,
    /// The median, the 99th and the 99.9th percentile of response time.
    pub latency: Option<[Ns; 3]>,
}

/// What one group of workers (a VM, a target) did in the latest second.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Group {
    pub iops: f64,
    pub read: f64,
    pub write: f64,
    pub p99: Option<Ns>,
    pub errors: u64,
    /// Bytes a second of the latest seconds, each with its second.
    pub course: VecDeque<(u64, f64)>,
}

/// A step as far as it has come: its measured time alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub measured: BTreeMap<SourceId, Sums>,
    pub latency: Histogram,
}

/// Counts of one source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub ops: u64,
    pub read: u64,
    pub written: u64,
    pub errors: u64,
    pub covered: Ns,
}

impl Sums {
    fn add(&mut self, interval: &Interval) {
        self.covered = self.covered.plus(interval.to.since(interval.from));
        for tally in interval.tallies() {
            self.ops = self.ops.saturating_add(tally.ops);
            self.errors = self.errors.saturating_add(tally.errors);
        }
        let bytes = |tally: &Option<record::Completed>| tally.as_ref().map_or(0, |t| t.bytes);
        self.read = self.read.saturating_add(bytes(&interval.read));
        self.written = self.written.saturating_add(bytes(&interval.write));
    }

    /// A rate of this source, or nothing where too little was covered.
    pub fn rate(&self, of: u64) -> f64 {
        let seconds = self.covered.as_secs_f64();
        if seconds < LEAST { 0.0 } else { of as f64 / seconds }
    }
}

/// A second that may still grow.
#[derive(Default)]
struct Cell {
    step: u32,
    sums: BTreeMap<SourceId, Sums>,
    latency: Option<Histogram>,
    groups: BTreeMap<String, Option<Histogram>>,
    /// Something came after its histograms were gone.
    late: bool,
}

/// How a source counts.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Worker,
    Received,
    Other,
}

/// A run in progress.
pub(crate) struct State {
    pub head: RunHead,
    pub status: Status,
    pub sources: Vec<Source>,
    pub steps: Vec<StepHead>,
    /// By second from the record's zero.
    pub seconds: BTreeMap<u64, Second>,
    pub groups: BTreeMap<String, Group>,
    pub hops: Vec<HopLoad>,
    pub events: VecDeque<Event>,
    /// Events by severity: info, warning, error.
    pub event_counts: [u64; 3],
    pub measured: BTreeMap<u32, Measured>,
    /// All that was counted in any phase, by direction, since the beginning.
    pub totals: Sums,
    /// Response times of all workers in any phase, since the beginning.
    pub latency: Histogram,
    roles: BTreeMap<SourceId, (Role, String)>,
    cells: BTreeMap<u64, Cell>,
    /// The second that groups show.
    grouped: u64,
    meter: HopMeter,
    hops_known: BTreeSet<SourceId>,
    /// Grows with every change.
    pub version: u64,
}

impl State {
    pub fn new(head: RunHead) -> State {
        let meter =
            if head.producer.is_model() { HopMeter::simulated() } else { HopMeter::default() };
        State {
            head,
            status: Status::Running,
            sources: Vec::new(),
            steps: Vec::new(),
            seconds: BTreeMap::new(),
            groups: BTreeMap::new(),
            hops: Vec::new(),
            events: VecDeque::new(),
            event_counts: [0; 3],
            measured: BTreeMap::new(),
            totals: Sums::default(),
            latency: Histogram::new(),
            roles: BTreeMap::new(),
            cells: BTreeMap::new(),
            grouped: 0,
            meter,
            hops_known: BTreeSet::new(),
            version: 0,
        }
    }

    /// Takes in what was committed since; whether anything changed.
    pub fn take(&mut self, news: News) -> bool {
        let changed = news.shape.is_some()
            || !news.intervals.is_empty()
            || !news.counters.is_empty()
            || !news.events.is_empty()
            || news.status != self.status;
        if let Some((sources, steps)) = news.shape {
            self.shaped(sources, steps);
        }
        self.status = news.status;
        let mut touched = BTreeSet::new();
        for interval in &news.intervals {
            touched.extend(self.interval(interval));
        }
        touched.iter().for_each(|second| self.settle(*second));
        touched.iter().for_each(|second| self.group_figures(*second));
        while self.cells.len() > OPEN {
            self.cells.pop_first();
        }
        while self.seconds.len() > SECONDS {
            self.seconds.pop_first();
        }
        self.counters(&news.counters);
        news.events.into_iter().for_each(|event| self.event(event));
        self.version += u64::from(changed);
        changed
    }

    fn shaped(&mut self, sources: Vec<Source>, steps: Vec<StepHead>) {
        for source in &sources {
            let role = match source.kind {
                SourceKind::Worker => Role::Worker,
                _ => Role::Other,
            };
            self.roles.entry(source.id).or_insert_with(|| (role, source.group.clone()));
            if source.hop().is_some() && self.hops_known.insert(source.id) {
                self.meter.hop(source);
            }
        }
        let ends = steps.iter().flat_map(|step| &step.streams);
        for stream in ends.filter(|stream| stream.end == StreamEnd::Received) {
            if let Some((role, _)) = self.roles.get_mut(&stream.source) {
                *role = Role::Received;
            }
        }
        (self.sources, self.steps) = (sources, steps);
    }

    /// Adds an interval; the second that it belongs to.
    fn interval(&mut self, interval: &Interval) -> Option<u64> {
        let (role, group) = self.roles.get(&interval.source)?;
        if *role == Role::Other {
            return None;
        }
        let second = interval.from.0 / 1_000_000_000;
        let late = self.cells.first_key_value().is_some_and(|(first, _)| second < *first)
            || (!self.cells.contains_key(&second) && self.seconds.contains_key(&second));
        let cell = self.cells.entry(second).or_default();
        cell.late |= late;
        cell.step = interval.step;
        cell.sums.entry(interval.source).or_default().add(interval);
        self.totals.add(interval);
        if *role == Role::Worker {
            let of_group = cell.groups.entry(group.clone()).or_default();
            for tally in interval.tallies() {
                merged(&mut cell.latency, tally.response());
                merged(of_group, tally.response());
                self.latency.merge(tally.response());
            }
        }
        if interval.phase == Phase::Measure {
            let step = self.measured.entry(interval.step).or_default();
            step.measured.entry(interval.source).or_default().add(interval);
            if *role == Role::Worker {
                interval.tallies().for_each(|tally| step.latency.merge(tally.response()));
            }
        }
        Some(second)
    }

    /// The figures of a second from what it holds now.
    fn settle(&mut self, second: u64) {
        let Some(cell) = self.cells.get(&second) else { return };
        let is = |id: &SourceId, role: Role| self.roles.get(id).is_some_and(|(r, _)| *r == role);
        let mut found = Second { step: cell.step, ..Second::default() };
        for (id, sums) in &cell.sums {
            if is(id, Role::Received) {
                found.net += sums.rate(sums.read.saturating_add(sums.written));
            } else {
                found.iops += sums.rate(sums.ops);
                found.read += sums.rate(sums.read);
                found.write += sums.rate(sums.written);
            }
            found.errors = found.errors.saturating_add(sums.errors);
        }
        found.latency = cell.latency.as_ref().filter(|_| !cell.late).and_then(percentiles);
        if let (true, Some(before)) = (cell.late, self.seconds.get(&second)) {
            // What came late is added to what is known.
            found.iops += before.iops;
            found.read += before.read;
            found.write += before.write;
            found.net += before.net;
            found.errors += before.errors;
        }
        let late = cell.late;
        self.seconds.insert(second, found);
        if late {
            self.cells.remove(&second);
        }
    }

    /// What each group did in a second. What is shown of a group is its latest second, with the course of the last minute.
    fn group_figures(&mut self, second: u64) {
        let Some(cell) = self.cells.get(&second) else { return };
        let mut found: BTreeMap<&str, Group> = BTreeMap::new();
        for (id, sums) in &cell.sums {
            let Some((Role::Worker, group)) = self.roles.get(id) else { continue };
            let group = found.entry(group).or_default();
            group.iops += sums.rate(sums.ops);
            group.read += sums.rate(sums.read);
            group.write += sums.rate(sums.written);
            group.errors += sums.errors;
        }
        if self.grouped > second {
            return;
        }
        self.grouped = second;
        // Who did not report in this second did nothing in it that is known.
        for known in self.groups.values_mut() {
            *known = Group { course: std::mem::take(&mut known.course), ..Group::default() };
        }
        for (name, mut group) in found {
            let latency = cell.groups.get(name).and_then(Option::as_ref);
            group.p99 = latency.and_then(|latency| latency.percentile(99.0));
            let known = self.groups.entry(name.to_owned()).or_default();
            group.course = std::mem::take(&mut known.course);
            // A second that has grown takes its own place.
            while group.course.back().is_some_and(|(at, _)| *at >= second) {
                group.course.pop_back();
            }
            group.course.push_back((second, group.read + group.write));
            while group.course.front().is_some_and(|(at, _)| at + COURSE <= second) {
                group.course.pop_front();
            }
            *known = group;
        }
    }

    fn counters(&mut self, counters: &[record::Counter]) {
        if counters.is_empty() {
            return;
        }
        // A page that was opened late reads many seconds at once, and shows the latest.
        let latest = counters.iter().map(|counter| counter.to).max().unwrap_or_default();
        let recent = latest.since(Ns::millis(1500).min(latest));
        for counter in
            counters.iter().filter(|counter| counter.to > recent || counter.from >= recent)
        {
            self.meter.add(counter);
        }
        let loads = self.meter.take();
        if !loads.is_empty() {
            self.hops = loads;
        }
    }

    fn event(&mut self, event: Event) {
        let severity = match event.level {
            Level::Info => 0,
            Level::Warning => 1,
            Level::Error => 2,
        };
        self.event_counts[severity] += 1;
        self.events.push_back(event);
        while self.events.len() > EVENTS {
            self.events.pop_front();
        }
    }

    /// The step under way, or the last one.
    pub fn step(&self) -> Option<&StepHead> {
        let current = self.seconds.last_key_value().map(|(_, second)| second.step);
        let current = current.and_then(|n| self.steps.iter().find(|step| step.index == n));
        self.steps.last().filter(|last| current.is_none_or(|c| c.index < last.index)).or(current)
    }

    /// The latest second that is whole, as far as can be told.
    pub fn latest(&self) -> Option<(u64, &Second)> {
        self.seconds.last_key_value().map(|(at, second)| (*at, second))
    }
}

impl Measured {
    /// I/Os, bytes read and bytes written a second, of all sources, each by its own time.
    pub fn rates(&self) -> [f64; 3] {
        self.measured.values().fold([0.0; 3], |[ops, read, written], sums| {
            [
                ops + sums.rate(sums.ops),
                read + sums.rate(sums.read),
                written + sums.rate(sums.written),
            ]
        })
    }

    /// Seconds that were measured so far.
    pub fn seconds(&self) -> f64 {
        self.measured.values().map(|sums| sums.covered.as_secs_f64()).fold(0.0, f64::max)
    }
}

/// The median, the 99th and the 99.9th percentile; `None` where nothing completed.
pub(crate) fn percentiles(of: &Histogram) -> Option<[Ns; 3]> {
    Some([of.percentile(50.0)?, of.percentile(99.0)?, of.percentile(99.9)?])
}

fn merged(into: &mut Option<Histogram>, other: &Histogram) {
    match into {
        Some(known) => known.merge(other),
        None => *into = Some(other.clone()),
    }
}

//! Records written by hand, as a simulator would: a scenario, and what each VM or target does in each step.
//!
//! The tests of `review` and `export` use it too.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod net;
pub mod readers;
pub mod valid;

use clock::Ns;
use findings::{Analysis, analyse};
use record::{
    Completed, Counter, CounterId, CounterKind, Event, Fact, HopKind, Interval, Level, Loop,
    Meaning, Perturbation, Phase, Producer, ProducerKind, Proof, Record, RunHead, ScenarioText,
    Source, SourceId, SourceKind, Status, StepHead, StepTimes, Testimony, WorkerLoad, Writer,
};
use scenario::Step;
use std::collections::BTreeMap;
use workload::Arrivals;

/// What one worker does in every second of a step.
#[derive(Clone, Debug)]
pub struct Work {
    /// Operations that complete in a second.
    pub ops: u64,
    /// Bytes of each.
    pub block: u64,
    /// Mean service time; single latencies scatter around it in a fixed shape with a tail.
    pub service_ns: f64,
    /// Response time over service time, in open loops.
    pub response: f64,
    /// Of a hundred operations, how many read.
    pub read: u64,
    /// Operations that fail in a second.
    pub errors: u64,
    /// Measured seconds that are reported; more than there are means all.
    pub seconds: u64,
    /// Work of the second half over work of the first.
    pub drift: f64,
    /// What the worker says of itself, as shares of a second.
    pub own: f64,
    pub cpu_user: f64,
    pub cpu_system: f64,
    /// Mean in flight; `None` = what Little's law asks for.
    pub in_flight: Option<f64>,
    pub late: u64,
    pub overruns: u32,
    pub open: u32,
    pub open_age: Ns,
    /// Whether the worker testifies at all.
    pub testifies: bool,
    /// Operations of each second, where they are not all the same.
    pub by_second: &'static [u64],
}

impl Default for Work {
    fn default() -> Work {
        Work {
            ops: 1000,
            block: 8192,
            service_ns: 1e6,
            response: 1.0,
            read: 100,
            errors: 0,
            seconds: u64::MAX,
            drift: 1.0,
            own: 0.02,
            cpu_user: 0.05,
            cpu_system: 0.10,
            in_flight: None,
            late: 0,
            overruns: 0,
            open: 0,
            open_age: Ns::ZERO,
            testifies: true,
            by_second: &[],
        }
    }
}

/// A run to be written.
pub struct Sketch<'a> {
    scenario: &'a str,
    status: Status,
    steps_max: usize,
    facts: Vec<Fact>,
    events: Vec<Event>,
    stops: Vec<(CounterId, u64, u64)>,
    hops: Vec<(&'a str, Vec<(&'a str, f64)>)>,
    counts: Vec<(&'a str, f64)>,
    passed: Vec<(&'a str, f64)>,
    title: Option<&'a str>,
    stored: Option<&'a str>,
    renamed: Option<(&'a str, &'a str)>,
    tried: Vec<(f64, u32)>,
    confidences: Vec<Confided<'a>>,
    timed: Option<Box<Timed<'a>>>,
    utilized: Vec<(&'a str, Box<Utilized<'a>>)>,
    rounds: Option<(Proof, Box<Carried<'a>>)>,
    wall_ns: u64,
    agents: bool,
}

/// I/Os of each worker, and their service time, in a round in which something is slowed.
type Carried<'a> = dyn Fn(usize, Option<&Perturbation>) -> Option<(u64, f64)> + 'a;

/// What a worker of a workload does in one measured second of a step.
type Timed<'a> = dyn Fn(&Step, &str, u64) -> Work + 'a;

/// The share of its time that a hop is busy in a step.
type Utilized<'a> = dyn Fn(&Step) -> f64 + 'a;

/// Of one step or of all, whose figure, which, and both ends of its interval.
type Confided<'a> = (Option<u32>, Option<&'a str>, &'a str, f64, f64);

impl<'a> Sketch<'a> {
    pub fn of(scenario: &'a str) -> Sketch<'a> {
        Sketch {
            scenario,
            status: Status::Complete,
            steps_max: usize::MAX,
            facts: Vec::new(),
            events: Vec::new(),
            stops: Vec::new(),
            hops: Vec::new(),
            counts: Vec::new(),
            passed: Vec::new(),
            title: None,
            stored: None,
            renamed: None,
            tried: Vec::new(),
            confidences: Vec::new(),
            timed: None,
            utilized: Vec::new(),
            rounds: None,
            wall_ns: 1_780_000_000_000_000_000,
            agents: false,
        }
    }

    /// Each VM or target is on an agent of its own name, and so are the hops of which it is the first part of the name.
    pub fn agents(mut self) -> Sketch<'a> {
        self.agents = true;
        self
    }

    /// What workers do in each measured second, instead of the same in all of them.
    pub fn each_second(mut self, work: impl Fn(&Step, &str, u64) -> Work + 'a) -> Sketch<'a> {
        self.timed = Some(Box::new(work));
        self
    }

    /// A time, in milliseconds of the record, in which the process of step 0's first worker did not run.
    pub fn stop(mut self, from: u64, to: u64) -> Sketch<'a> {
        self.stops.push((CounterId::OwnStop, from, to));
        self
    }

    /// A time at an edge of step 0 in which clocks leave it open whether all agents were under load.
    pub fn edge(mut self, from: u64, to: u64) -> Sketch<'a> {
        self.stops.push((CounterId::ClockEdge, from, to));
        self
    }

    /// A hop that is busy for a share of its time, which depends on the step.
    pub fn busy(mut self, hop: &'a str, share: impl Fn(&Step) -> f64 + 'a) -> Sketch<'a> {
        self.utilized.push((hop, Box::new(share)));
        self
    }

    /// Rounds after each step, with what each worker does in each: so many I/Os of 8 KiB that take so long; `None`: it does not
    /// report the round.
    pub fn rounds(
        mut self,
        proof: Proof,
        carried: impl Fn(usize, Option<&Perturbation>) -> Option<(u64, f64)> + 'a,
    ) -> Sketch<'a> {
        self.rounds = Some((proof, Box::new(carried)));
        self
    }

    /// An event of the first step at a moment of the record.
    pub fn event_at(mut self, at: Ns, code: &str, text: &str) -> Sketch<'a> {
        let (code, text) = (code.to_owned(), text.to_owned());
        let level = Level::Info;
        self.events.push(Event { at, step: Some(0), source: None, level, code, text });
        self
    }

    /// Loads that the first search of the scenario tried, each with the number of its run; what else is planned follows.
    pub fn tried(mut self, tried: &[(f64, u32)]) -> Sketch<'a> {
        self.tried = tried.to_vec();
        self
    }

    /// How the run came to be, as its facts say.
    fn producer(&self) -> ProducerKind {
        let says = |key: &str| self.facts.iter().any(|f| f.subject == "run" && f.key == key);
        match () {
            () if says("estimated") => ProducerKind::Estimated,
            () if says("simulated") => ProducerKind::Simulated,
            () => ProducerKind::Live,
        }
    }

    fn planned(&self, scenario: &scenario::Scenario) -> Vec<Step> {
        let course = scenario::Course::of(scenario);
        let hunt = course.hunts().next();
        let searched =
            self.tried.iter().filter_map(|(load, n)| Some(hunt?.step(0, *load, *n, false)));
        let all = searched.chain(scenario.steps());
        (0..).zip(all).map(|(index, step)| Step { index, ..step }).collect()
    }

    pub fn status(mut self, status: Status) -> Sketch<'a> {
        self.status = status;
        self
    }

    /// The record's title, where it is not the scenario's.
    /// When it began: so many seconds after others.
    pub fn later(mut self, seconds: u64) -> Sketch<'a> {
        self.wall_ns += seconds * 1_000_000_000;
        self
    }

    pub fn title(mut self, title: &'a str) -> Sketch<'a> {
        self.title = Some(title);
        self
    }

    /// The scenario that the record holds, where it is not the one that was run.
    pub fn stored(mut self, text: &'a str) -> Sketch<'a> {
        self.stored = Some(text);
        self
    }

    /// A VM or target has another name in the record than in the scenario.
    pub fn rename(mut self, from: &'a str, to: &'a str) -> Sketch<'a> {
        self.renamed = Some((from, to));
        self
    }

    /// Only the first steps are in the record.
    pub fn steps(mut self, max: usize) -> Sketch<'a> {
        self.steps_max = max;
        self
    }

    pub fn fact(mut self, subject: &str, key: &str, value: &str) -> Sketch<'a> {
        self.facts.push(Fact { subject: subject.into(), key: key.into(), value: value.into() });
        self
    }

    pub fn event(mut self, level: Level, code: &str, text: &str) -> Sketch<'a> {
        let (code, text) = (code.to_owned(), text.to_owned());
        self.events.push(Event { at: Ns::secs(1), step: Some(0), source: None, level, code, text });
        self
    }

    /// Something worth a warning that happened in a step.
    pub fn event_in(mut self, step: u32, code: &str, text: &str) -> Sketch<'a> {
        let (level, source) = (Level::Warning, None);
        let (code, text) = (code.to_owned(), text.to_owned());
        self.events.push(Event { at: Ns::ZERO, step: Some(step), source, level, code, text });
        self
    }

    /// An event to one worker at a moment.
    pub fn event_of(mut self, source: u32, second: u64, code: &str, text: &str) -> Sketch<'a> {
        let (code, text) = (code.to_owned(), text.to_owned());
        let (at, source) = (Ns::secs(second), Some(SourceId(source)));
        self.events.push(Event { at, step: Some(0), source, level: Level::Warning, code, text });
        self
    }

    /// A hop with counters, each by name and amount a second.
    pub fn hop(mut self, name: &'a str, counters: &[(&'a str, f64)]) -> Sketch<'a> {
        self.hops.push((name, counters.to_vec()));
        self
    }

    /// What each worker itself counts, by name and amount a second.
    pub fn counts(mut self, counters: &[(&'a str, f64)]) -> Sketch<'a> {
        self.counts = counters.to_vec();
        self
    }

    /// A hop that counts so many times what all workers move.
    pub fn passed(mut self, name: &'a str, times: f64) -> Sketch<'a> {
        self.passed.push((name, times));
        self
    }

    /// A figure of every step with its interval of confidence.
    pub fn confidence(mut self, figure: &'a str, low: f64, high: f64) -> Sketch<'a> {
        self.confidences.push((None, None, figure, low, high));
        self
    }

    /// A figure of a step, or of a group or a hop in it, with its interval of confidence.
    pub fn confidence_of(
        mut self,
        step: u32,
        source: Option<&'a str>,
        figure: &'a str,
        (low, high): (f64, f64),
    ) -> Sketch<'a> {
        self.confidences.push((Some(step), source, figure, low, high));
        self
    }

    /// Writes the record, opens it and analyses it. `work` says what a worker of a VM or target does in a step.
    #[track_caller]
    pub fn analyse(self, work: impl Fn(&Step, &str) -> Work) -> Analysis {
        let (_dir, record) = self.record(work);
        let analysis = analyse(&record).expect("the record is analysed");
        valid::check(&serde_json::to_value(&analysis).expect("an analysis is plain data"));
        analysis
    }

    /// Writes the record and opens it; it is gone with its directory.
    #[track_caller]
    pub fn record(self, work: impl Fn(&Step, &str) -> Work) -> (tempfile::TempDir, Record) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("run.wsr");
        self.write(&path, &work);
        let record = Record::open(&path).expect("the record opens");
        (dir, record)
    }

    fn write(&self, path: &std::path::Path, work: &dyn Fn(&Step, &str) -> Work) {
        let source = scenario::Source {
            name: "test.toml".into(),
            text: self.scenario.into(),
            ..scenario::Source::default()
        };
        let scenario = scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let text = ScenarioText {
            name: source.name,
            text: self.stored.unwrap_or(self.scenario).into(),
            overrides: vec![],
        };
        let head = RunHead {
            title: self.title.unwrap_or(&scenario.head.title).to_owned(),
            producer: Producer::new(self.producer(), "wirespeed simulate"),
            scenario: text,
            epoch: Ns::ZERO,
            wall_ns: self.wall_ns,
            seed: scenario.head.seed,
        };
        let mut writer = Writer::create(path, &head).expect("the record is created");
        writer.facts(&self.facts).expect("facts are written");
        let agents = self.agents;
        let mut known = Known { ids: BTreeMap::new(), renamed: self.renamed, agents };
        let passed = self.passed.iter().map(|(name, _)| name);
        let busy = self.utilized.iter().map(|(name, _)| name);
        let hops: Vec<SourceId> = (0..)
            .zip(self.hops.iter().map(|(name, _)| name).chain(passed).chain(busy))
            .map(|(n, name)| {
                let hop = hop_of(u32::MAX - n, name, agents);
                writer.source(&hop).expect("the hop is announced");
                hop.id
            })
            .collect();
        let mut start = Ns::ZERO;
        for step in self.planned(&scenario).iter().take(self.steps_max) {
            let (head, groups) = step_head(step, start, &mut known, &mut writer);
            writer.step(&head).expect("the step is announced");
            let mut moved = [0.0; 2];
            for (load, group) in head.workers.iter().zip(&groups) {
                let work = work(step, group);
                let each = |second| match &self.timed {
                    None => work.clone(),
                    Some(timed) => timed(step, &load.workload, second),
                };
                worker(&mut writer, &head, load, &each);
                count(&mut writer, &head, load.source, &self.counts);
                let reads = (work.ops * work.read).div_ceil(100);
                moved[0] += (reads * work.block) as f64;
                moved[1] += ((work.ops - reads) * work.block) as f64;
            }
            if let Some((proof, carried)) = &self.rounds {
                writer.proof(head.index, proof).expect("the rounds are announced");
                rounds_of(&mut writer, &head, proof, carried);
            }
            self.count_hops(&mut writer, (step, &head), &hops, moved);
            self.stop_workers(&mut writer, &head);
            self.confide(&mut writer, step.index);
            if self.status == Status::Complete {
                writer.step_done(step.index).expect("the step is done");
            }
            let rounds = self.rounds.as_ref().map_or(Ns::ZERO, |(proof, _)| proof.length());
            start = head.times.end.plus(rounds);
        }
        for event in &self.events {
            writer.event(event).expect("the event is written");
        }
        writer.finish(self.status).expect("the record is finished");
    }
}

impl Sketch<'_> {
    /// What all hops count in a step in which workers `moved` so many bytes a second, read and written.
    fn count_hops(
        &self,
        writer: &mut Writer,
        (step, head): (&Step, &StepHead),
        hops: &[SourceId],
        moved: [f64; 2],
    ) {
        let (own, rest) = hops.split_at(self.hops.len());
        let (passed, utilized) = rest.split_at(self.passed.len());
        for (id, (_, times)) in passed.iter().zip(&self.passed) {
            let [read, write] = moved.map(|bytes| bytes * times);
            count(writer, head, *id, &[("read-bytes", read), ("write-bytes", write)]);
        }
        for (id, (_, counters)) in own.iter().zip(&self.hops) {
            count(writer, head, *id, counters);
        }
        for (id, (_, share)) in utilized.iter().zip(&self.utilized) {
            count(writer, head, *id, &[("busy", share(step) * 1e9)]);
        }
    }

    /// The stops and edges, all of step 0.
    fn stop_workers(&self, writer: &mut Writer, head: &StepHead) {
        let stops = self.stops.iter().filter(|_| head.index == 0);
        for ((id, from, to), load) in stops.zip(head.workers.iter().cycle()) {
            let stop = Counter {
                source: load.source,
                step: Some(0),
                from: Ns::millis(*from),
                to: Ns::millis(*to),
                kind: (*id).into(),
                part: None,
                value: 1e6 * (to - from) as f64,
            };
            writer.counter(&stop).expect("the stop is written");
        }
    }

    /// The intervals of confidence of a step.
    fn confide(&self, writer: &mut Writer, step: u32) {
        let here = |of: &Option<u32>| of.is_none_or(|of| of == step);
        for (_, source, figure, low, high) in self.confidences.iter().filter(|c| here(&c.0)) {
            let confidence = record::Confidence {
                step,
                source: source.map(str::to_owned),
                figure: (*figure).to_owned(),
                low: *low,
                high: *high,
                unit: "1/s".to_owned(),
                level: 0.95,
                batches: 32,
            };
            writer.confidence(&confidence).expect("an interval of confidence");
        }
    }
}

/// Sources that have been announced, by name, and those with another name.
struct Known<'a> {
    ids: BTreeMap<String, SourceId>,
    renamed: Option<(&'a str, &'a str)>,
    agents: bool,
}

impl Known<'_> {
    /// A worker's source, announced when it is first met.
    fn worker(&mut self, group: &str, workload: &str, n: u32, writer: &mut Writer) -> SourceId {
        let group = match self.renamed {
            Some((from, to)) if from == group => to,
            _ => group,
        };
        let name = format!("{group}/{workload}/{n}");
        let next = u32::try_from(self.ids.len()).unwrap();
        let mut source = source_of(next, &name, group, SourceKind::Worker);
        if self.agents {
            source.agent = group.to_owned();
        }
        *self.ids.entry(name).or_insert_with(|| {
            writer.source(&source).expect("a source is announced");
            SourceId(next)
        })
    }
}

fn source_of(id: u32, name: &str, group: &str, kind: SourceKind) -> Source {
    Source { id: SourceId(id), kind, name: name.into(), group: group.into(), agent: "sim".into() }
}

/// A hop, of the agent that the first part of its name says where there are several.
fn hop_of(id: u32, name: &str, agents: bool) -> Source {
    let hop = source_of(id, name, name, SourceKind::Hop(kind_of(name)));
    match agents {
        true => Source { agent: name.split('.').next().unwrap_or_default().to_owned(), ..hop },
        false => hop,
    }
}

/// A step as it is announced, with the VM or target of each worker.
fn step_head(
    step: &Step,
    start: Ns,
    known: &mut Known<'_>,
    writer: &mut Writer,
) -> (StepHead, Vec<String>) {
    let (mut workers, mut groups) = (Vec::new(), Vec::new());
    for load in step.disk_loads() {
        for (group, n) in
            load.on.iter().flat_map(|on| (0..load.workload.workers).map(move |n| (on, n)))
        {
            let id = known.worker(group, &load.workload.name, n, writer);
            workers.push(WorkerLoad {
                source: id,
                workload: load.workload.name.clone(),
                arrivals: arrivals(&load.workload.spec.arrivals),
                ops_per_transaction: match &load.workload.spec.kind {
                    workload::WorkloadKind::Transaction(t) => t.index_pages + t.table_pages,
                    workload::WorkloadKind::Access(_) => 1,
                },
            });
            groups.push(group.clone());
        }
    }
    let measure = start.plus(step.warmup.into());
    let cooldown = measure.plus(step.measure.into());
    let head = StepHead {
        index: step.index,
        plan: step.plan.clone(),
        settings: step.settings.clone(),
        repetition: step.repetition,
        times: StepTimes { start, measure, cooldown, end: cooldown.plus(step.cooldown.into()) },
        workers,
        streams: vec![],
    };
    (head, groups)
}

fn arrivals(arrivals: &Arrivals) -> Loop {
    match arrivals {
        Arrivals::Closed { depth, think } => {
            Loop::Closed { depth: *depth, think: *think > Ns::ZERO }
        }
        Arrivals::Open { process, .. } => Loop::Open {
            rate: match process {
                workload::Process::Fixed { rate } | workload::Process::Poisson { rate } => *rate,
                workload::Process::Ramp { from, to, .. } => (from + to) / 2.0,
                workload::Process::Bursts { .. } => process.mean_rate(Ns::ZERO, Ns::ZERO),
            },
        },
    }
}

/// A worker's measured seconds.
fn worker(writer: &mut Writer, head: &StepHead, load: &WorkerLoad, work: &dyn Fn(u64) -> Work) {
    let open = matches!(load.arrivals, Loop::Open { .. });
    let all = head.times.measured().0 / 1_000_000_000;
    for second in 0..all.min(work(0).seconds) {
        let work = work(second);
        let late_half = second * 2 >= all;
        let planned = work.by_second.get(second as usize).copied().unwrap_or(work.ops);
        let ops = if late_half { (planned as f64 * work.drift) as u64 } else { planned };
        let (mut read, mut write) = (Completed::empty(open), Completed::empty(open));
        for i in 0..ops {
            let service = work.service_ns * shape(i, ops);
            let tally = if i * 100 / ops.max(1) < work.read { &mut read } else { &mut write };
            tally.success(work.block, Ns(service as u64), Ns((service * work.response) as u64));
        }
        read.errors = work.errors;
        let from = head.times.measure.plus(Ns::secs(second));
        let share = |of: f64| Ns((of * 1e9) as u64);
        let in_flight = match work.in_flight {
            Some(mean) => share(mean),
            None => read.service_sum.plus(write.service_sum),
        };
        let testimony = Testimony {
            cpu_user: share(work.cpu_user),
            cpu_system: share(work.cpu_system),
            own: share(work.own),
            in_flight,
            late: work.late,
            late_max: if work.late > 0 { Ns::millis(3) } else { Ns::ZERO },
            overruns: work.overruns,
            open: work.open,
            open_age_max: work.open_age,
        };
        writer
            .interval(&Interval {
                others: Default::default(),
                source: load.source,
                step: head.index,
                phase: Phase::Measure,
                from,
                to: from.plus(Ns::secs(1)),
                read: (work.read > 0).then_some(read),
                write: (work.read < 100).then_some(write),
                testimony: work.testifies.then_some(testimony),
            })
            .expect("an interval is written");
    }
}

/// What every worker does in the rounds after a step; while a round settles, ten times as much.
fn rounds_of(writer: &mut Writer, head: &StepHead, proof: &Proof, carried: &Carried<'_>) {
    for (n, round) in proof.rounds_of(head).enumerate() {
        let slowed = round.slowed.map(|n| &proof.perturbations[n as usize]);
        let Some((ops, service)) = carried(n, slowed) else { continue };
        let begin = Ns(round.from.0 - proof.settle.0);
        for (from, to, ops) in [(begin, round.from, ops * 10), (round.from, round.to, ops)] {
            for load in &head.workers {
                let mut read = Completed::empty(matches!(load.arrivals, Loop::Open { .. }));
                (0..ops).for_each(|_| read.success(8192, Ns(service as u64), Ns(service as u64)));
                let (source, step, phase) = (load.source, head.index, Phase::Cooldown);
                let (read, write, others, testimony) = (Some(read), None, Default::default(), None);
                let one =
                    Interval { source, step, phase, from, to, read, write, others, testimony };
                writer.interval(&one).expect("an interval is written");
            }
        }
    }
}

/// Latencies around a mean of 1: most within 15%, one in a hundred at twice, one in a thousand at five times the mean.
fn shape(i: u64, n: u64) -> f64 {
    match (i * 7919 % 1000, i as f64 / n.max(1) as f64) {
        (999, _) => 5.0,
        (990..=998, _) => 2.0,
        (_, part) => 0.837 + 0.3 * part,
    }
}

fn count(writer: &mut Writer, head: &StepHead, source: SourceId, counters: &[(&str, f64)]) {
    for (name, value) in counters {
        let (from, to) = (head.times.measure, head.times.cooldown);
        writer
            .counter(&Counter {
                source,
                step: Some(head.index),
                from,
                to,
                kind: counter(name, "B"),
                part: None,
                value: value * to.since(from).as_secs_f64(),
            })
            .expect("a counter is written");
    }
}

/// A scenario that measures one target for so long; `workload` are further keys of its workload `load` of 8 KiB.
pub fn one_target(measure: &str, workload: &str) -> String {
    format!(
        r#"
scenario.title = "One target"
target = [{{ name = "data", file = "data.bin", create = "1GiB" }}]
[workload.load]
block = "8KiB"
{workload}
[plan]
workload = "load"
on = "data"
measure = "{measure}"
"#
    )
}

/// A counter by its name, which a sketch writes.
pub fn counter(name: &str, unit: &str) -> CounterKind {
    CounterId::of(name)
        .map_or_else(|| CounterKind::stored(name, unit, Some(Meaning::Count)), CounterKind::from)
}

/// What a hop of a sketch is: sketches call hops as labs do, and a name without a mark is a disk's.
pub fn kind_of(name: &str) -> HopKind {
    let last = name.rsplit('.').next().unwrap_or(name);
    match last.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "cpu" => HopKind::HostCpu,
        "scsi" => HopKind::VirtualAdapter,
        "disks" => HopKind::Disks,
        "controller" => HopKind::Controller,
        _ if name.contains('.') && name.contains('/') => HopKind::LunQueue,
        _ if name.contains('.') => HopKind::TargetPort,
        _ if name.contains('/') => HopKind::Volume,
        _ if name.contains(':') => HopKind::SwitchPort,
        _ => HopKind::BlockDevice,
    }
}

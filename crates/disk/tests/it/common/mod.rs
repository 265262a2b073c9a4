//! Steps in few words, and what comes out of them.
#![allow(dead_code)] // Each test file uses its own part of this.

use crate::prelude::*;
use disk::{DiskEngine, DiskWorker, Opener, Turn};
use engine::{
    Crew, CrewSettings, Engine, EngineError, MeterScope, Output, Phases, Pinning, Prepared,
    StepSpec, Stop, TargetSpec, WorkerSetup, WorkerSpec, WorkerTask,
};
use record::{Counter, Event, Interval, Phase, SourceId, Testimony};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use workload::{Arrivals, Extent, Placement, Process, Regions, Row, Spec, StreamKey};

/// Nothing here takes longer; whoever waits this long hangs.
pub const HANG: Duration = Duration::from_secs(60);

pub const KIB: u32 = 1024;

/// Random access in blocks of `size`, with a share of reads in percent.
pub fn random(size: u32, read: f64, arrivals: Arrivals) -> Spec {
    Spec::access(vec![Row::new(size, read, 100.0)], arrivals, Regions::Shared)
}

pub fn closed(depth: u32) -> Arrivals {
    Arrivals::closed(depth)
}

pub fn fixed(rate: f64, limit: u32) -> Arrivals {
    Arrivals::Open { process: Process::Fixed { rate }, limit }
}

pub fn null() -> TargetSpec {
    target("null:", None)
}

pub fn file(path: &Path, create: Option<u64>) -> TargetSpec {
    target(path.to_str().expect("a path in UTF-8"), create)
}

fn target(url: &str, create: Option<u64>) -> TargetSpec {
    TargetSpec { create, ..TargetSpec::new("data", url) }
}

/// A step of one target and equal workers, with 200 ms of warm-up, `measure` and 100 ms of cool-down.
pub fn step(target: TargetSpec, workers: u32, workload: Spec, measure: Ns) -> StepSpec {
    let worker = |i| WorkerSpec {
        sharer: i,
        sharers: workers,
        ..WorkerSpec::new(i, format!("data/{i}"), vec![0], workload.clone())
    };
    StepSpec {
        index: 3,
        seed: 1,
        warmup: Ns::millis(200),
        measure,
        cooldown: Ns::millis(100),
        slice: Ns::ZERO,
        targets: vec![target],
        workers: (0..workers).map(worker).collect(),
        loads: Vec::new(),
        attended: Vec::new(),
        counted: None,
        lab: None,
    }
}

/// Everything that came out of a step.
#[derive(Debug)]
pub struct Outcome {
    pub intervals: Vec<Interval>,
    pub events: Vec<Event>,
    pub counters: Vec<Counter>,
    /// Sources that had done all that they had to do, and when.
    pub ended: Vec<(SourceId, Ns)>,
    pub verdict: Result<(), EngineError>,
}

impl Outcome {
    /// Collects until the verdict.
    pub fn of(outputs: &Receiver<Output>) -> Outcome {
        let mut outcome = Outcome {
            intervals: Vec::new(),
            events: Vec::new(),
            counters: Vec::new(),
            ended: Vec::new(),
            verdict: Ok(()),
        };
        loop {
            match outputs.recv_timeout(HANG).expect("a verdict in bounded time") {
                Output::Interval(interval) => outcome.intervals.push(*interval),
                Output::Event(event) => outcome.events.push(event),
                Output::Counter(counter) => outcome.counters.push(counter),
                Output::Ended(source, at) => outcome.ended.push((source, at)),
                Output::Finished => return outcome,
                Output::Failed(e) => {
                    outcome.verdict = Err(e);
                    return outcome;
                }
            }
        }
    }

    pub fn codes(&self) -> Vec<&str> {
        self.events.iter().map(|e| e.code.as_str()).collect()
    }

    pub fn ops(&self) -> u64 {
        let tallies = self.intervals.iter().flat_map(|i| [&i.read, &i.write]);
        tallies.flatten().map(|t| t.ops).sum()
    }

    pub fn errors(&self) -> u64 {
        let tallies = self.intervals.iter().flat_map(|i| [&i.read, &i.write]);
        tallies.flatten().map(|t| t.errors).sum()
    }

    pub fn testimony(&self) -> Testimony {
        let mut sum = Testimony::default();
        for t in self.intervals.iter().filter_map(|i| i.testimony.as_ref()) {
            sum.merge(t);
        }
        sum
    }

    pub fn of_source(&self, source: u32) -> Vec<&Interval> {
        self.intervals.iter().filter(|i| i.source == SourceId(source)).collect()
    }

    /// Intervals of every source tile the step, one phase after the other, none longer than a second but
    /// where a buffer was missing.
    #[track_caller]
    pub fn check_tiling(&self, sources: u32, from: Ns, to: Ns) {
        for source in 0..sources {
            let mut at = from;
            for interval in self.of_source(source) {
                assert_eq!(interval.from, at, "a gap or an overlap: {:?}", interval.testimony);
                let overruns = interval.testimony.map_or(0, |t| t.overruns);
                assert!(interval.to.since(interval.from) <= Ns::secs(1 + u64::from(overruns)));
                at = interval.to;
            }
            assert_eq!(at, to);
            let phases: Vec<Phase> = self.of_source(source).iter().map(|i| i.phase).collect();
            assert!(phases.is_sorted(), "{phases:?}");
        }
    }
}

/// Prepares a step on an engine and runs it to its end.
pub fn run_on(engine: &mut DiskEngine, step: &StepSpec) -> Result<Outcome, EngineError> {
    let (out, outputs) = mpsc::channel();
    let prepared = engine.prepare(step, &out, &Stop::default())?;
    let now = clock::now();
    let _running = prepared.start(now, now.plus(Ns::millis(20)), out);
    Ok(Outcome::of(&outputs))
}

/// The same on an engine of its own.
pub fn run(step: &StepSpec) -> Result<Outcome, EngineError> {
    run_on(&mut DiskEngine::new(Pinning::Never), step)
}

/// A worker over an injected queue, on a target of 1 GiB.
pub fn worker(opener: Box<dyn Opener>, spec: Spec, grace: Ns) -> DiskWorker {
    DiskWorker {
        name: "probe".to_owned(),
        spec,
        place: Placement {
            targets: vec![Extent { size: 1 << 30, block: 512 }],
            sharer: 0,
            sharers: 1,
            start: Ns::ZERO,
        },
        key: StreamKey { seed: 1, step: 3, worker: 0, slot: 0 },
        opener,
        payload: None,
        grace,
        changes: Vec::new(),
        limit: None,
        turn: Turn::alone(),
    }
}

/// A crew of such tasks, ready to start.
pub fn assemble(
    tasks: Vec<Box<dyn WorkerTask>>,
    open_loop: bool,
    phases: Phases,
) -> (Crew, mpsc::Sender<Output>, Receiver<Output>) {
    let (out, outputs) = mpsc::channel();
    let orders = CrewSettings {
        step: 3,
        phases,
        grace: Ns::secs(2),
        hang_after: Ns::millis(1200),
        pinning: Pinning::Never,
        facts: Vec::new(),
    };
    let post = |(i, task)| WorkerSetup {
        source: SourceId(i),
        name: format!("probe/{i}"),
        targets: vec!["t".to_owned()],
        scope: MeterScope { reads: true, writes: true, others: [false; 3], open_loop },
        task,
    };
    let posts = (0..).zip(tasks).map(post).collect();
    let crew = Crew::assemble(orders, posts, &out).expect("queues that open");
    (crew, out, outputs)
}

/// Runs such tasks to their end. The record's time base begins with the step.
pub fn run_tasks(tasks: Vec<Box<dyn WorkerTask>>, open_loop: bool, phases: Phases) -> Outcome {
    let (crew, out, outputs) = assemble(tasks, open_loop, phases);
    let at = clock::now().plus(Ns::millis(20));
    let _running = Box::new(crew).start(at, at, out);
    Outcome::of(&outputs)
}

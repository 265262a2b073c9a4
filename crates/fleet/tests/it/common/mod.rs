//! What the tests of a fleet share: a scenario in hand, an engine that does as its script says, and a record that is a
//! list. Fake engines know no time: they put out the intervals of a whole step at once.

#![allow(dead_code)] // Each test binary uses its own part.

use crate::prelude::*;
use fleet::carrier::{self, CarrierEnd, CarrierError, MessageInbox, Outbox};
use fleet::sequence::{Numbered, Numberer};
use fleet::{
    AgentIdentity, AgentLink, Control, Coordinator, EngineRegistry, Progress, RecordSink, RunError,
    RunOutcome, SinkError, WaitLimits,
};
use record::{
    Completed, Counter, Event, Fact, Interval, Level, Phase, Proof, RunHead, ScenarioText, Source,
    Status, StepHead, StepTimes, Testimony,
};
use scenario::{
    Backing, DiskWorkload, Lab, Load, Patience, Scenario, ScenarioHead, Spots, Stage, Step, Target,
    Vm, VmDisk, Workload,
};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use workload::{Arrivals, Regions, Row, Spec};

// ---------------------------------------------------------------------------------------------------- scenario

/// A scenario in which targets `t0`, `t1`, … stand, and the VMs of `vms` on those they name.
pub fn scenario(targets: usize, vms: &[(&str, &[&str])]) -> Scenario {
    let target =
        |i: usize| Target { name: format!("t{i}"), url: format!("fake:{i}"), ..Target::default() };
    let disk = |name: &&str| VmDisk {
        backing: Backing::Target((*name).to_owned()),
        map: None,
        adapter: None,
        controller: None,
        size: None,
        ports: Vec::new(),
        policy: None,
        by_kernel: false,
        patience: Patience::default(),
        queue: None,
    };
    let vm = |(name, disks): &(&str, &[&str])| Vm {
        name: (*name).to_owned(),
        disks: disks.iter().map(disk).collect(),
        ..Vm::default()
    };
    let lab = Lab {
        targets: (0..targets).map(target).collect(),
        vms: vms.iter().map(vm).collect(),
        ..Lab::default()
    };
    Scenario {
        head: ScenarioHead { title: "a test".into(), source: None, description: None, seed: 7 },
        lab,
        workloads: Vec::new(),
        plans: Vec::new(),
        goals: Vec::new(),
        claims: Vec::new(),
        projects: Vec::new(),
        assumed: Vec::new(),
        catalogs: Vec::new(),
        spots: Spots::default(),
    }
}

/// Reads of 8 KiB, at this depth.
pub fn spec(depth: u32) -> Spec {
    Spec::access(vec![Row::new(8192, 100.0, 100.0)], Arrivals::closed(depth), Regions::Own)
}

pub fn load(workload: &str, workers: u32, on: &[&str]) -> Load {
    Load {
        workload: Workload::Disk(DiskWorkload {
            name: workload.to_owned(),
            spec: spec(4),
            workers,
            verify: false,
            each_disk: false,
        }),
        on: on.iter().map(|&n| n.to_owned()).collect(),
        phase: None,
    }
}

/// A step of one second of warm-up and two of measurement.
pub fn step(index: u32, loads: Vec<Load>) -> Step {
    Step {
        index,
        plan: "plan".into(),
        settings: vec![("depth".into(), index.to_string())],
        repetition: 0,
        warmup: Duration::from_secs(1),
        steady: None,
        measure: Duration::from_secs(2),
        cooldown: Duration::ZERO,
        precondition: false,
        loads,
        frames: workload::NetFrames::default(),
        port: None,
        faults: Vec::new(),
        incidents: Vec::new(),
        prove: None,
        window: None,
    }
}

// ---------------------------------------------------------------------------------------------------- engine

/// An engine for `fake:` targets that follows a script, named by a word so that it can be given to a child process.
pub struct Fake(pub String);

/// The engines of an agent that follows a script.
pub fn engines(script: &str) -> EngineRegistry {
    EngineRegistry::new().register(&["fake"], Box::new(Fake(script.to_owned())))
}

impl Engine for Fake {
    fn prepare(
        &mut self,
        step: &StepSpec,
        notes: &IntervalTx,
        stop: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        match self.0.as_str() {
            "refuse" => return Err(EngineError::Refused("t0 is mounted".into())),
            "refuse second" if step.index == 1 => {
                return Err(EngineError::Refused("t0 is mounted".into()));
            }
            "panic in prepare" => panic!("a defect"),
            "fill" => {
                while !stop.asked() {
                    clock::sleep_until(clock::now().plus(Ns::millis(5)));
                }
                let _ = notes.send(Output::Event(note("fill-stopped", step.workers[0].source)));
                return Err(EngineError::Unsupported("stopped".into()));
            }
            "hang in prepare" => loop {
                thread::park();
            },
            "note" => {
                let _ = notes.send(Output::Event(note("depth-clamped", step.workers[0].source)));
            }
            _ => {}
        }
        Ok(Box::new(FakePrepared { script: self.0.clone(), step: step.clone() }))
    }
}

pub fn note(code: &str, source: record::SourceId) -> Event {
    Event {
        at: Ns::ZERO,
        step: None,
        source: Some(source),
        level: Level::Warning,
        code: code.into(),
        text: "a note".into(),
    }
}

struct FakePrepared {
    script: String,
    step: StepSpec,
}

impl FakePrepared {
    /// What the script says of this step.
    fn part(&self) -> &str {
        match self.script.as_str() {
            "cliff, and wait" if self.step.index == 3 => "wait",
            other => other,
        }
    }

    fn intervals(&self, start: Ns) -> Vec<Interval> {
        let list = intervals(&self.step, start);
        if self.script.starts_with("cliff") { cliff(&self.step, list) } else { list }
    }

    /// Six seconds of warm-up in no time, each with twice the work of the last, if need be; what the step has time for.
    fn long_warmup(&self, start: Ns) -> Vec<Interval> {
        let step = StepSpec { warmup: Ns::secs(6), ..self.step.clone() };
        let mut list = intervals(&step, start);
        list.retain(|interval| interval.to <= start.plus(self.step.length()));
        for interval in list.iter_mut().filter(|_| self.script == "unsteady") {
            let read = interval.read.as_mut().unwrap();
            read.ops <<= interval.from.since(start).0 / 1_000_000_000;
        }
        list
    }
}

impl Prepared for FakePrepared {
    fn facts(&self) -> Vec<Fact> {
        let fact = |target: &engine::TargetSpec| Fact {
            subject: target.name.clone(),
            key: "model".into(),
            value: "fake".into(),
        };
        self.step.targets.iter().map(fact).collect()
    }

    /// A queue that carries one operation at a time.
    fn depths(&self) -> Vec<(record::SourceId, u32)> {
        match self.script.as_str() {
            "cliff" | "cliff, and wait" => Vec::new(),
            _ => self.step.workers.iter().map(|w| (w.source, 1)).collect(),
        }
    }

    fn start(self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn StepHandle> {
        let (stop, stopped) = mpsc::channel();
        let (measure, told) = mpsc::channel::<Ns>();
        let in_time = self.script != "too late";
        let play = move || {
            let intervals = self.intervals(at.since(epoch));
            let half = intervals.len() / 2;
            let send = |list: &[Interval]| {
                for interval in list {
                    let _ = out.send(Output::Interval(Box::new(interval.clone())));
                }
            };
            let end = match self.part() {
                "wait in second" if self.step.index == 0 => {
                    send(&intervals);
                    Output::Finished
                }
                "silent" | "wait" | "wait in second" => {
                    send(&intervals[..half]);
                    let _ = stopped.recv();
                    Output::Finished
                }
                "fail" => {
                    send(&intervals[..half]);
                    let target = "t0".into();
                    Output::Failed(EngineError::Target { target, problem: "it broke".into() })
                }
                "tell pid" => {
                    send(&intervals[..half]);
                    eprintln!("the last words");
                    let pid = std::process::id().to_string();
                    let event = Event { text: pid, ..note("pid", self.step.workers[0].source) };
                    let _ = out.send(Output::Event(event));
                    while stopped.recv().is_ok() {}
                    return;
                }
                // Warms up in no time, and measures from when it is told on.
                "steady" => {
                    let mut warmup = intervals;
                    warmup.retain(|interval| interval.to <= at.since(epoch).plus(Ns::secs(6)));
                    send(&warmup);
                    let from = told.recv().unwrap().since(epoch);
                    let step = StepSpec { warmup: Ns::ZERO, ..self.step.clone() };
                    send(&self::intervals(&step, from));
                    Output::Finished
                }
                "too late" | "unsteady" => {
                    send(&self.long_warmup(at.since(epoch)));
                    let _ = stopped.recv_timeout(Duration::from_secs(2));
                    Output::Finished
                }
                "vanish" => return,
                "empty" => Output::Finished,
                _ => {
                    send(&intervals);
                    Output::Finished
                }
            };
            let _ = out.send(end);
        };
        let thread = Some(thread::spawn(play));
        Box::new(FakeHandle { stop: Some(stop), measure, in_time, thread })
    }
}

struct FakeHandle {
    stop: Option<Sender<()>>,
    measure: Sender<Ns>,
    in_time: bool,
    thread: Option<JoinHandle<()>>,
}

impl StepHandle for FakeHandle {
    fn stop(&self) {
        let _ = self.stop.as_ref().map(|s| s.send(()));
    }

    fn measure(&self, at: Ns) -> bool {
        let _ = self.measure.send(at);
        self.in_time
    }
}

impl Drop for FakeHandle {
    fn drop(&mut self) {
        self.stop = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The intervals of a step that starts at `start`: one a second and worker, with as many reads as its number.
pub fn intervals(step: &StepSpec, start: Ns) -> Vec<Interval> {
    let seconds = step.length().0 / 1_000_000_000;
    let one = |second: u64, worker: &engine::WorkerSpec| {
        let mut read = Completed::empty(false);
        for _ in 0..=worker.source.0 {
            read.success(8192, Ns(1000), Ns(1000));
        }
        let from = start.plus(Ns::secs(second));
        Interval {
            others: Default::default(),
            source: worker.source,
            step: step.index,
            phase: if Ns::secs(second) < step.warmup { Phase::Warmup } else { Phase::Measure },
            from,
            to: from.plus(Ns::secs(1)),
            read: Some(read),
            write: None,
            testimony: Some(Testimony::default()),
        }
    };
    (0..seconds).flat_map(|s| step.workers.iter().map(move |w| one(s, w))).collect()
}

/// The same of a system that is quick up to a depth of 11, and slow beyond.
fn cliff(step: &StepSpec, mut list: Vec<Interval>) -> Vec<Interval> {
    for interval in &mut list {
        let worker = step.workers.iter().find(|w| w.source == interval.source).unwrap();
        let Arrivals::Closed { depth, .. } = worker.workload.arrivals else { continue };
        let latency = Ns::millis(if depth <= 11 { 1 } else { 9 });
        let mut read = Completed::empty(false);
        (0..depth).for_each(|_| read.success(8192, latency, latency));
        interval.read = Some(read);
    }
    list
}

// ---------------------------------------------------------------------------------------------------- agents

pub fn identity(name: &str) -> AgentIdentity {
    let host = Fact { subject: name.to_owned(), key: "kernel".into(), value: "6.1".into() };
    AgentIdentity { name: name.to_owned(), facts: vec![host] }
}

/// An agent on a thread, with an engine that follows a script.
pub fn threaded(name: &str, script: &str) -> AgentLink {
    AgentLink::in_process(identity(name), engines(script)).unwrap()
}

/// An end of a carrier that a test holds: messages get their numbers on the way out and lose them on the way in.
pub type AgentEnd = CarrierEnd<FromAgent, ToAgent>;
pub type CoordinatorEnd = CarrierEnd<ToAgent, FromAgent>;

pub fn plain<S: Send + 'static, R: Send + 'static>(
    end: CarrierEnd<Numbered<S>, Numbered<R>>,
) -> CarrierEnd<S, R> {
    struct Numbering<S>(Box<dyn Outbox<Numbered<S>>>, Numberer);

    impl<S: Send> Outbox<S> for Numbering<S> {
        fn send(&mut self, message: S) -> Result<(), CarrierError> {
            let message = self.1.number(message);
            self.0.send(message)
        }
    }

    struct Plain<R>(Box<dyn MessageInbox<Numbered<R>>>);

    impl<R: Send> MessageInbox<R> for Plain<R> {
        fn recv(&mut self) -> Result<R, CarrierError> {
            Ok(self.0.recv()?.message)
        }
    }

    CarrierEnd {
        outbox: Box::new(Numbering(end.outbox, Numberer::default())),
        inbox: Box::new(Plain(end.inbox)),
    }
}

/// An agent on a thread that is no more than what the test says.
pub fn by_hand(name: &str, agent: impl FnOnce(AgentEnd) + Send + 'static) -> AgentLink {
    let (ours, theirs) = carrier::in_process();
    thread::spawn(move || agent(plain(theirs)));
    AgentLink::over(name, ours)
}

/// The answer of an agent that is ready for a step and has nothing to add.
pub fn ready(step: u32) -> FromAgent {
    FromAgent::Ready {
        step,
        facts: Vec::new(),
        depths: Vec::new(),
        planned: Vec::new(),
        hops: Vec::new(),
        same: Vec::new(),
        places: Vec::new(),
    }
}

/// Introduces an agent by hand, as any agent does.
pub fn introduce(end: &mut AgentEnd, name: &str) {
    assert!(matches!(end.inbox.recv(), Ok(ToAgent::Hello { version: PROTOCOL, .. })));
    let greeting =
        Greeting { version: PROTOCOL, name: name.to_owned(), facts: Vec::new(), now: clock::now() };
    end.outbox.send(FromAgent::Hello(greeting)).unwrap();
}

// ---------------------------------------------------------------------------------------------------- record

/// A record that is a list, and may fail at a call of the test's choice.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    pub log: Arc<Mutex<Log>>,
    pub fail_at: Option<&'static str>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    pub facts: Vec<Fact>,
    pub sources: Vec<Source>,
    pub steps: Vec<StepHead>,
    pub intervals: Vec<Interval>,
    /// The rounds of steps.
    pub proofs: Vec<(u32, Proof)>,
    pub counters: Vec<Counter>,
    pub events: Vec<Event>,
    pub done: Vec<u32>,
    pub status: Option<Status>,
}

impl Kept {
    fn keep(&self, call: &str, put: impl FnOnce(&mut Log)) -> Result<(), SinkError> {
        if self.fail_at == Some(call) {
            return Err(format!("run.wsr: {call}: no space left").into());
        }
        put(&mut self.log.lock().unwrap());
        Ok(())
    }
}

impl RecordSink for Kept {
    fn facts(&mut self, facts: &[Fact]) -> Result<(), SinkError> {
        self.keep("facts", |log| log.facts.extend_from_slice(facts))
    }
    fn source(&mut self, source: &Source) -> Result<(), SinkError> {
        self.keep("source", |log| log.sources.push(source.clone()))
    }
    fn step(&mut self, head: &StepHead) -> Result<(), SinkError> {
        self.keep("step", |log| log.steps.push(head.clone()))
    }
    fn step_times(&mut self, index: u32, times: &StepTimes) -> Result<(), SinkError> {
        let of = |head: &&mut StepHead| head.index == index;
        self.keep("step_times", |log| {
            log.steps.iter_mut().find(of).expect("an announced step").times = *times;
        })
    }
    fn proof(&mut self, index: u32, proof: &Proof) -> Result<(), SinkError> {
        self.keep("proof", |log| log.proofs.push((index, proof.clone())))
    }
    fn interval(&mut self, interval: &Interval) -> Result<(), SinkError> {
        self.keep("interval", |log| log.intervals.push(interval.clone()))
    }
    fn counter(&mut self, counter: &Counter) -> Result<(), SinkError> {
        self.keep("counter", |log| log.counters.push(counter.clone()))
    }
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.keep("event", |log| log.events.push(event.clone()))
    }
    fn step_done(&mut self, index: u32) -> Result<(), SinkError> {
        self.keep("step_done", |log| log.done.push(index))
    }
    fn commit(&mut self) -> Result<(), SinkError> {
        self.keep("commit", |_| ())
    }
    fn finish(self, status: Status) -> Result<(), SinkError> {
        self.keep("finish", |log| log.status = Some(status))
    }
}

impl Log {
    /// Codes of the events, in order.
    pub fn codes(&self) -> Vec<&str> {
        self.events.iter().map(|e| e.code.as_str()).collect()
    }

    /// The event with this code.
    #[track_caller]
    pub fn event(&self, code: &str) -> &Event {
        self.events.iter().find(|e| e.code == code).expect(code)
    }

    /// The same with every step's times counted from its own start, so that two runs can be compared.
    pub fn timeless(mut self) -> Log {
        for step in &mut self.steps {
            let start = step.times.start;
            let of_step = self.intervals.iter_mut().filter(|i| i.step == step.index);
            for interval in of_step {
                interval.from = interval.from.since(start);
                interval.to = interval.to.since(start);
            }
            let times = &mut step.times;
            for edge in [&mut times.measure, &mut times.cooldown, &mut times.end] {
                *edge = edge.since(start);
            }
            times.start = Ns::ZERO;
        }
        self.events.iter_mut().for_each(|e| e.at = Ns::ZERO);
        self
    }
}

// ---------------------------------------------------------------------------------------------------- run

pub fn head() -> RunHead {
    RunHead {
        title: "a test".into(),
        producer: record::Producer::new(record::ProducerKind::Live, "wirespeed run"),
        scenario: ScenarioText { name: "a.toml".into(), text: String::new(), overrides: vec![] },
        epoch: clock::now(),
        wall_ns: clock::wall_ns(),
        seed: 7,
    }
}

/// A run of a test: the steps, and what may be changed of its circumstances.
pub struct Trial {
    pub scenario: Scenario,
    pub steps: Vec<Step>,
    /// In place of the steps.
    pub stages: Option<Vec<Stage>>,
    pub limits: WaitLimits,
    pub control: Control,
    pub sink: Kept,
}

impl Trial {
    /// Two steps: one worker on each of `t0` and `t1`.
    pub fn new() -> Trial {
        let both = || vec![load("read", 1, &["t0", "t1"])];
        Trial {
            scenario: scenario(2, &[]),
            steps: vec![step(0, both()), step(1, both())],
            stages: None,
            limits: WaitLimits { lead: Ns::ZERO, ..WaitLimits::default() },
            control: Control::new(),
            sink: Kept::default(),
        }
    }

    pub fn run(&self, agents: Vec<AgentLink>) -> (Result<RunOutcome, RunError>, Log) {
        self.run_watched(agents, &mut |_| ())
    }

    pub fn run_watched(
        &self,
        agents: Vec<AgentLink>,
        observer: &mut dyn FnMut(Progress),
    ) -> (Result<RunOutcome, RunError>, Log) {
        let head = head();
        let stages: Vec<Stage> = match &self.stages {
            Some(stages) => stages.clone(),
            None => self.steps.iter().cloned().map(Stage::Step).collect(),
        };
        let coordinator = Coordinator {
            scenario: &self.scenario,
            stages: &stages,
            head: &head,
            limits: self.limits,
            control: &self.control,
        };
        let outcome = coordinator.run(agents, self.sink.clone(), observer);
        let log = self.sink.log.lock().unwrap().clone();
        (outcome, log)
    }
}

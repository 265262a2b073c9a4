//! A step's threads: spawned, named, pinned and opened before the start, parked at a barrier, released together.
//!
//! A [`WorkerTask`] opens on its own thread what only that thread will own, and becomes a [`OpenedLoad`] that runs with a meter.
//! Everything that can fail or take long happens before [`Crew::assemble`] returns. A thread that panics, fails or
//! hangs ends in [`Output::Failed`]; the step itself never hangs.

use crate::buffers::{IntervalBuffers, IntervalDrain, MeterScope};
use crate::collector::{Collector, WorkerState};
use crate::hang::HangWatch;
use crate::timeline::{Phases, StepTimeline};
use crate::{
    EngineError, IntervalTx, LeftOpen, Output, Pinning, Prepared, Reports, StepEdge, StepHandle,
    WorkerMeter, pin,
};
use clock::Ns;
use record::{Event, Fact, Level, SourceId};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};

/// The kernel keeps this many bytes of a thread's name.
const NAME_MAX: usize = 15;

/// A write by one processor is visible to all others well within this time.
const VISIBLE: Ns = Ns::millis(1);

/// Targets of a worker that a message names before it counts the rest.
const TARGETS_NAMED: usize = 4;

/// How often a thread that waits for the agreed start checks whether the step was cancelled.
const CALLED_OFF: Ns = Ns::millis(100);

/// The work of one worker's thread: handed to the thread and opened there.
pub trait WorkerTask: Send + 'static {
    /// Opens and allocates everything that the load needs. Runs on the worker's own thread, before the start.
    /// # Errors
    /// The target cannot be opened, or memory is missing. The step fails.
    fn open(self: Box<Self>) -> Result<Opened, EngineError>;
}

/// A task that is ready to run.
pub struct Opened {
    /// The load.
    pub load: Box<dyn OpenedLoad>,
    /// Most operations in flight: the slots of its meter.
    pub slots: u32,
    /// Remarks on how it was opened, reported as events.
    pub notes: Vec<EventNote>,
    /// What it reports in addition to intervals, if anything.
    pub reports: Option<Box<dyn Reports>>,
    /// The I/O interface that carries its operations, for the record's provenance: equal workers return equal texts.
    pub how: String,
}

/// An event without its source and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventNote {
    /// How much it matters.
    pub level: Level,
    /// A stable code: lower-case words joined by hyphens.
    pub code: &'static str,
    /// A sentence for users: what happened and what to do next.
    pub text: String,
}

/// The data plane of one worker. It owns what it opened and never leaves its thread.
pub trait OpenedLoad {
    /// Runs from the start of the meter's timeline to its end, or until `stop` is set, and then abandons what is
    /// still in flight after its configured grace time. Allocates nothing, locks nothing, logs nothing.
    /// # Errors
    /// The load cannot continue. The step fails.
    fn run(&mut self, meter: &mut WorkerMeter, stop: &Stop) -> Result<(), EngineError>;
}

/// The request for an early end. Workers check it once a batch; slow preparations check it before the start.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

/// One worker of a crew.
pub struct WorkerSetup {
    /// Source number in the record.
    pub source: SourceId,
    /// Name for messages and for the thread.
    pub name: String,
    /// The names of its targets, for messages.
    pub targets: Vec<String>,
    /// What it can report.
    pub scope: MeterScope,
    /// The work to be done.
    pub task: Box<dyn WorkerTask>,
}

/// Settings that all workers of a crew share.
#[derive(Clone, Debug)]
pub struct CrewSettings {
    /// Number of the step in the run.
    pub step: u32,
    /// Lengths of the phases.
    pub phases: Phases,
    /// How long after the end a thread may still wait for an I/O before it is abandoned. Loads use a shorter limit.
    pub grace: Ns,
    /// Age at which an operation counts as hung and is reported: [`crate::HANG_AFTER`].
    pub hang_after: Ns,
    /// Whether threads are pinned.
    pub pinning: Pinning,
    /// Provenance of what was opened.
    pub facts: Vec<Fact>,
}

/// Threads that are ready at the start barrier. Dropping it releases and ends them.
pub struct Crew {
    orders: CrewSettings,
    members: Vec<WorkerState>,
    releases: Vec<Sender<StepTimeline>>,
    stop: Stop,
    /// The start of the measurement, and the end.
    edges: [StepEdge; 2],
    alive: Receiver<Infallible>,
}

/// What a thread reports once it has opened.
type ReadyReport = (usize, Result<OpenedWorker, EngineError>);

struct OpenedWorker {
    drain: IntervalDrain,
    slots: u32,
    notes: Vec<EventNote>,
    how: String,
    reports: Option<Box<dyn Reports>>,
}

impl Stop {
    /// Requests an early end.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether an early end was requested.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Crew {
    /// Spawns one thread a post and waits until all are ready. Notes of their opening go to `notes`, stamped zero
    /// because there is no time base before the start. The first failure ends the others.
    /// # Errors
    /// A thread cannot be started, or a worker fails, panics or is cancelled while it opens.
    pub fn assemble(
        orders: CrewSettings,
        posts: Vec<WorkerSetup>,
        notes: &IntervalTx,
    ) -> Result<Crew, EngineError> {
        let allowed = pin::allowed();
        warn_if_over_subscribed(&orders, allowed.len(), posts.len(), notes);
        let places = pin::places(orders.pinning, &allowed, posts.len());
        let (ready_tx, ready_rx) = mpsc::channel();
        let (alive_tx, alive) = mpsc::channel();
        let mut crew = Crew {
            orders,
            members: Vec::with_capacity(posts.len()),
            releases: Vec::with_capacity(posts.len()),
            stop: Stop::default(),
            edges: Default::default(),
            alive,
        };
        let spare = allowed.len() > posts.len();
        for (index, (post, cpu)) in posts.into_iter().zip(places).enumerate() {
            let (release, released) = mpsc::channel();
            let seat = WorkerThread {
                index,
                cpu,
                spare,
                scope: post.scope,
                phases: crew.orders.phases,
                task: post.task,
                ready: ready_tx.clone(),
                released,
                stop: crew.stop.clone(),
                edges: crew.edges.clone(),
                alive: alive_tx.clone(),
            };
            let thread = spawn(&post.name, move || seat.occupy())?;
            let watch = HangWatch::new(crew.orders.hang_after);
            let targets = one_of(&post.targets);
            crew.members.push(WorkerState::new(post.source, post.name, targets, watch, thread));
            crew.releases.push(release);
        }
        drop(ready_tx);
        crew.await_ready(&ready_rx, notes)?;
        Ok(crew)
    }

    /// The I/O interface of each worker.
    pub fn carriers(&self) -> impl Iterator<Item = (SourceId, &str)> {
        self.members.iter().map(|member| (member.source, member.how.as_str()))
    }

    /// Adds provenance that is known only after the workers have opened.
    pub fn add_facts(&mut self, facts: Vec<Fact>) {
        self.orders.facts.extend(facts);
    }

    fn await_ready(
        &mut self,
        ready: &Receiver<ReadyReport>,
        notes: &IntervalTx,
    ) -> Result<(), EngineError> {
        // The channel closes when every thread has reported or died.
        for (index, answer) in ready {
            let OpenedWorker { drain, slots, notes: said, how, reports } = answer?;
            let member = &mut self.members[index];
            member.how = how;
            member.reports = reports;
            member.drain = Some(drain);
            member.depth = slots;
            for note in said {
                let event = note.event(self.orders.step, Some(member.source));
                let _ = notes.send(Output::Event(event));
            }
        }
        match self.members.iter().find(|m| m.drain.is_none()) {
            Some(silent) => Err(EngineError::Worker {
                worker: silent.name.clone(),
                problem: "its thread panicked while opening; its message is on stderr".to_owned(),
            }),
            None => Ok(()),
        }
    }
}

impl Prepared for Crew {
    fn facts(&self) -> Vec<Fact> {
        self.orders.facts.clone()
    }

    fn depths(&self) -> Vec<(SourceId, u32)> {
        self.members.iter().map(|m| (m.source, m.depth)).collect()
    }

    fn planned(&self) -> Vec<(SourceId, u64)> {
        let bytes = |m: &WorkerState| m.reports.as_ref().and_then(|reports| reports.planned());
        self.members.iter().filter_map(|m| Some((m.source, bytes(m)?))).collect()
    }

    fn start(mut self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn StepHandle> {
        let line = StepTimeline::new(epoch, at, self.orders.phases);
        if clock::now() > at {
            let event = late_start(&self.orders, line.on_record(at));
            let _ = out.send(Output::Event(event));
        }
        let (_, nobody) = mpsc::channel();
        let collector = Collector {
            line,
            step: self.orders.step,
            grace: self.orders.grace,
            members: std::mem::take(&mut self.members),
            alive: std::mem::replace(&mut self.alive, nobody),
            stop: self.stop.clone(),
            edge: self.edges[0].clone(),
            end: self.edges[1].clone(),
            out: out.clone(),
            budget: Default::default(),
            failure: None,
        };
        let (stop, edges) = (self.stop.clone(), self.edges.clone());
        match Builder::new().name("collector".to_owned()).spawn(move || collector.run()) {
            Ok(thread) => {
                for release in self.releases.drain(..) {
                    // The collector finds a thread that has died in the meantime.
                    let _ = release.send(line);
                }
                Box::new(RunningCrew { stop, edges, line, collector: Some(thread) })
            }
            Err(e) => {
                let _ = out.send(Output::Failed(no_thread("collector", &e)));
                Box::new(RunningCrew { stop, edges, line, collector: None })
            }
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // Threads at the barrier see their channel close and end.
        self.releases.clear();
        for member in &mut self.members {
            member.join();
        }
    }
}

impl EventNote {
    /// Turns this note into an event of a step, and perhaps of one source, stamped zero.
    pub fn event(self, step: u32, source: Option<SourceId>) -> Event {
        let EventNote { level, code, text } = self;
        Event { at: Ns::ZERO, step: Some(step), source, level, code: code.to_owned(), text }
    }
}

/// A thread's part of a crew.
struct WorkerThread {
    index: usize,
    cpu: Option<usize>,
    /// Processors are left beside those of the crew.
    spare: bool,
    scope: MeterScope,
    phases: Phases,
    task: Box<dyn WorkerTask>,
    ready: Sender<ReadyReport>,
    released: Receiver<StepTimeline>,
    stop: Stop,
    edges: [StepEdge; 2],
    /// Nothing is ever sent: the channel closes when the last thread has ended for any reason.
    alive: Sender<Infallible>,
}

impl WorkerThread {
    fn occupy(self) -> Result<LeftOpen, EngineError> {
        let WorkerThread {
            index,
            cpu,
            spare,
            scope,
            phases,
            task,
            ready,
            released,
            stop,
            edges,
            alive: _alive,
        } = self;
        pin::settle(cpu);
        let (mut load, sheets) = match task.open() {
            Ok(Opened { load, slots, notes, how, reports }) => {
                // Allocated on this thread, so that the memory is near its processor.
                let (sheets, drain) = IntervalBuffers::provide(scope, slots, phases);
                let stance = OpenedWorker { drain, slots, notes, how, reports };
                let _ = ready.send((index, Ok(stance)));
                (load, sheets)
            }
            Err(e) => {
                let _ = ready.send((index, Err(e)));
                return Ok(LeftOpen::default());
            }
        };
        drop(ready);
        let Ok(line) = released.recv() else { return Ok(LeftOpen::default()) };
        wait_for(line.start(), &stop);
        let meter = WorkerMeter::new(sheets, line, edges, clock::thread_cpu);
        let mut meter = meter.on_own_core(spare && cpu.is_some() && pin::has_priority());
        let result = load.run(&mut meter, &stop);
        let now = clock::now();
        meter.finish(now);
        result.map(|()| meter.left_open(now))
    }
}

/// Sleeps until `at`, or until the step is cancelled.
fn wait_for(at: Ns, stop: &Stop) {
    while !stop.asked() {
        let now = clock::now();
        if now >= at {
            return;
        }
        clock::sleep_until(at.min(now.plus(CALLED_OFF)));
    }
}

/// A running step.
struct RunningCrew {
    stop: Stop,
    edges: [StepEdge; 2],
    line: StepTimeline,
    collector: Option<JoinHandle<()>>,
}

impl StepHandle for RunningCrew {
    fn stop(&self) {
        self.stop.ask();
    }

    fn measure(&self, at: Ns) -> bool {
        // Checked after it is settled: a worker that makes this cut from now on sees it, and none has made it yet.
        let [edge, _] = &self.edges;
        self.line.may_measure_from(at) && edge.settle(at) && clock::now().plus(VISIBLE) < at
    }

    fn finish(&self, at: Ns) -> bool {
        // As above. Where the measurement was moved forward, the line is as it was planned, and its end the latest.
        let [_, end] = &self.edges;
        at > self.line.start() && end.settle(at) && clock::now().plus(VISIBLE) < at
    }
}

impl Drop for RunningCrew {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(thread) = self.collector.take() {
            let _ = thread.join();
        }
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, EngineError> {
    // The kernel refuses a NUL and more than 15 bytes, so cut at a character.
    let mut kept: String = name.chars().filter(|c| *c != '\0').collect();
    kept.truncate(kept.floor_char_boundary(NAME_MAX));
    Builder::new().name(kept).spawn(body).map_err(|e| no_thread(name, &e))
}

/// One target by its name; several as "one of …".
fn one_of(targets: &[String]) -> String {
    match targets {
        [one] => one.clone(),
        _ => {
            let named = &targets[..targets.len().min(TARGETS_NAMED)];
            let more = match targets.len() - named.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            format!("one of {}{more}", named.join(", "))
        }
    }
}

fn no_thread(name: &str, e: &std::io::Error) -> EngineError {
    EngineError::Worker {
        worker: name.to_owned(),
        problem: format!(
            "no thread could be started ({e}); use fewer workers or raise `ulimit -u`"
        ),
    }
}

fn warn_if_over_subscribed(orders: &CrewSettings, cpus: usize, workers: usize, notes: &IntervalTx) {
    if workers <= cpus {
        return;
    }
    let text = format!(
        "{workers} workers share {cpus} processors: they may wait for one, which counts as latency; read the \
         generator's own share of the time beside it"
    );
    let note = EventNote { level: Level::Warning, code: "over-subscribed", text };
    let _ = notes.send(Output::Event(note.event(orders.step, None)));
}

fn late_start(orders: &CrewSettings, at: Ns) -> Event {
    let text = "the agreed start had passed when the workers were released: the first interval is short of load, \
                so use a warm-up";
    let note = EventNote { level: Level::Warning, code: "late-start", text: text.to_owned() };
    Event { at, ..note.event(orders.step, None) }
}

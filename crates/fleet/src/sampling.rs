//! Samples hops beside a step: at its start, at every cut of its intervals and at its end, so that what the hops counted
//! and what the workers did are of the same time.
//!
//! The agent's builder provides the [`Sampler`], which knows the hops. Sampling has its own thread on the control plane, which
//! sleeps between cuts. A sample carries its own time, a little after the cut: counters are contiguous, without gaps.

use crate::message::{MachinePlace, SameHop};
use clock::Ns;
use engine::{OwnStops, StepEdge, StepSpec, StepTimeline};
use record::{Counter, CounterId, Event, HopKind, Level, SourceId};
use std::convert::Infallible;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};

/// Counts that began so long before a step are not of its load.
const EARLY: Ns = Ns::secs(2);

/// Samples hops.
pub trait Sampler: Send {
    /// The hops of a step, once all that it uses is open. Slow and fallible work belongs here; missing hops are left
    /// out.
    fn hops(&mut self, step: &StepSpec) -> Vec<SampledHop>;

    /// Which of these hops agents of other machines count as well.
    fn same(&self) -> Vec<SameHop> {
        Vec::new()
    }

    /// Which of these hops are what places of this machine, for agents that share it.
    fn places(&self) -> Vec<MachinePlace> {
        Vec::new()
    }

    /// Samples all hops of the last [`hops`](Sampler::hops), in their order. Must be quick. A hop that has nothing new since
    /// the last time repeats its last sample, time and all: what it counts next is of the whole time between.
    fn sample(&mut self) -> Vec<Sample>;

    /// What happened to the sources of counters since the last time.
    fn news(&mut self) -> Vec<SamplerNews> {
        Vec::new()
    }
}

/// Something that happened to a source of counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplerNews {
    /// When, on the monotonic clock.
    pub at: Ns,
    /// How grave.
    pub level: Level,
    /// A stable hyphenated word.
    pub code: String,
    /// A sentence.
    pub text: String,
}

/// A place where traffic is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledHop {
    /// Its name on this machine: `vda`.
    pub name: String,
    /// What it is.
    pub kind: HopKind,
    /// What is worth knowing about it, by key.
    pub facts: Vec<(String, String)>,
}

/// One sample of one hop.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When, on the monotonic clock.
    pub at: Ns,
    /// Its readings, each counter once; empty if it has none at this moment.
    pub readings: Vec<HopReading>,
}

/// One number of a hop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HopReading {
    /// What is counted. Of counts and times the differences between two looks are recorded, of levels the values.
    pub counter: CounterId,
    /// The number: of counts and times since the hop came to be.
    pub value: f64,
}

pub(crate) struct StepSampling {
    counters: Receiver<Counter>,
    events: Receiver<Event>,
    edge: StepEdge,
    over: StepEdge,
    /// Dropping it ends the thread.
    stay: Sender<Infallible>,
    thread: JoinHandle<Box<dyn Sampler>>,
}

struct SamplingWork {
    sampler: Box<dyn Sampler>,
    /// The hops' numbers in the record, in the order of the samples.
    hops: Vec<SourceId>,
    step: u32,
    line: StepTimeline,
    edge: StepEdge,
    over: StepEdge,
    out: Sender<Counter>,
    told: Sender<Event>,
    until: Receiver<Infallible>,
}

impl StepSampling {
    /// Begins to sample hops, whose numbers in the record are given in their order.
    pub fn start(
        sampler: Box<dyn Sampler>,
        hops: Vec<SourceId>,
        step: u32,
        line: StepTimeline,
    ) -> io::Result<StepSampling> {
        let (out, counters) = mpsc::channel();
        let (told, events) = mpsc::channel();
        let (stay, until) = mpsc::channel();
        let [edge, over] = <[StepEdge; 2]>::default();
        let (theirs, end) = (edge.clone(), over.clone());
        let work =
            SamplingWork { sampler, hops, step, line, edge: theirs, over: end, out, told, until };
        let thread = Builder::new().name("sampler".to_owned()).spawn(move || work.run())?;
        Ok(StepSampling { counters, events, edge, over, stay, thread })
    }

    /// What has been counted since the last time.
    pub fn counters(&self) -> Vec<Counter> {
        self.counters.try_iter().collect()
    }

    /// What has happened to the sources since the last time.
    pub fn events(&self) -> Vec<Event> {
        self.events.try_iter().collect()
    }

    /// The measurement begins at `at`.
    pub fn measure(&self, at: Ns) {
        self.edge.settle(at);
    }

    /// The step ends at `at`.
    pub fn finish(&self, at: Ns) {
        self.over.settle(at);
    }

    /// Takes a last sample and returns the sampler with the counters until then; no sampler if its thread has panicked.
    pub fn end(self) -> (Option<Box<dyn Sampler>>, Vec<Counter>, Vec<Event>) {
        let StepSampling { counters, events, stay, thread, .. } = self;
        drop(stay);
        let sampler = thread.join().ok();
        (sampler, counters.try_iter().collect(), events.try_iter().collect())
    }
}

impl SamplingWork {
    fn run(mut self) -> Box<dyn Sampler> {
        let mut ended = self.sleep_until(self.line.start());
        let mut before = self.sampler.sample();
        self.tell();
        let mut cut = self.line.start();
        let mut stops = OwnStops::begin();
        while !ended {
            self.line.follow(&self.edge);
            self.line.follow_end(&self.over);
            // Cuts that were slept through, on a busy machine, are not made up for.
            let Some(next) = self.line.cut_after(cut.max(clock::now())) else { break };
            cut = next;
            ended = self.sleep_until(cut);
            // Where workers run in this process, their collector sees the same.
            let stop = stops.woke(cut, clock::now()).filter(|_| !ended);
            if let (Some(stop), Some(hop)) = (stop, self.hops.first()) {
                let _ = self.out.send(stop.counter(*hop, self.step, |at| self.line.on_record(at)));
            }
            let now = self.sampler.sample();
            self.send(&before, &now);
            self.tell();
            before = now;
        }
        self.sampler
    }

    /// Whether the end came before the moment.
    fn sleep_until(&self, at: Ns) -> bool {
        let wait = at.since(clock::now());
        self.until.recv_timeout(wait.into()) == Err(RecvTimeoutError::Disconnected)
    }

    fn send(&self, before: &[Sample], now: &[Sample]) {
        for ((source, before), now) in self.hops.iter().zip(before).zip(now) {
            // Nothing new; or a count that began long before the load did.
            let early = self.line.start().since(before.at) > EARLY;
            if now.at == before.at || early && !before.readings.is_empty() {
                continue;
            }
            for reading in &now.readings {
                let same = |of: &&HopReading| of.counter == reading.counter;
                let counter = Counter {
                    source: *source,
                    step: Some(self.step),
                    from: self.line.on_record(before.at),
                    to: self.line.on_record(now.at),
                    kind: reading.counter.into(),
                    part: None,
                    value: amount(before.readings.iter().find(same), reading),
                };
                let _ = self.out.send(counter);
            }
        }
    }
}

impl SamplingWork {
    /// Passes on what happened to the sources.
    fn tell(&mut self) {
        for SamplerNews { at, level, code, text } in self.sampler.news() {
            let (at, step) = (self.line.on_record(at), Some(self.step));
            let _ = self.told.send(Event { at, step, source: None, level, code, text });
        }
    }
}

/// The change of a reading since the last one; not a number without one, or where it shrank (a replaced device).
fn amount(before: Option<&HopReading>, now: &HopReading) -> f64 {
    match before {
        _ if !now.counter.meaning().adds_up() => now.value,
        Some(before) if before.value <= now.value => now.value - before.value,
        _ => f64::NAN,
    }
}

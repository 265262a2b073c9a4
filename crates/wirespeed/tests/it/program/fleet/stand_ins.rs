//! Agents that load nothing: the real ones but for their engine, which puts out an interval of every worker at every cut, and
//! one hop. Each has a connection of its own.

use super::servers::{NatsServer, pause};
use crate::prelude::*;
use engine::{
    Engine, EngineError, IntervalTx, Output, Phases, Prepared, StepHandle, StepSpec, StepTimeline,
    Stop,
};
use fleet::{EngineRegistry, HopReading, Sample, SampledHop, Sampler};
use nats::{AgentConfig, Credentials, Server, spool::Room};
use record::{Completed, CounterId, Fact, HopKind, Interval, SourceId, Testimony};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

/// Agents that wait until this is dropped.
pub struct StandIns {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl StandIns {
    pub fn join(server: &NatsServer, count: usize) -> StandIns {
        let over = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for n in 0..count {
            let config = AgentConfig {
                server: Server { url: server.url(), credentials: Credentials::None, ca: None },
                group: "default".to_owned(),
                name: format!("s{n:04}"),
                labels: Vec::new(),
                room: Room { memory: 1 << 20, disk: 0, dir: std::env::temp_dir() },
                lease: Ns::secs(600),
                release: env!("CARGO_PKG_VERSION").to_owned(),
                engines: Box::new(|| {
                    EngineRegistry::new()
                        .register(&["null"], Box::new(Light))
                        .sampler(Box::new(OneHop { cuts: 0.0 }))
                }),
                facts: Box::new(|| {
                    let (subject, key) = ("host".to_owned(), "cpu-count".to_owned());
                    vec![Fact { subject, key, value: "1".to_owned() }]
                }),
                updates: None,
                watch: Arc::default(),
            };
            let theirs = Arc::clone(&over);
            let serve = move || {
                let stopped = Arc::new(move || theirs.load(Ordering::Relaxed));
                nats::agent::serve(config, Arc::new(|_| {}), stopped).expect("it serves");
            };
            threads.push(Builder::new().stack_size(256 << 10).spawn(serve).expect("a thread"));
            // Not all at one instant.
            pause(Ns::millis(2));
        }
        StandIns { over, threads }
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

struct Light;

struct LightStep(StepSpec);

struct LightLoad(Arc<AtomicBool>);

impl Engine for Light {
    fn prepare(
        &mut self,
        step: &StepSpec,
        _: &IntervalTx,
        _: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        Ok(Box::new(LightStep(step.clone())))
    }
}

impl Prepared for LightStep {
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn depths(&self) -> Vec<(SourceId, u32)> {
        Vec::new()
    }

    fn start(self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn StepHandle> {
        let stopped = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&stopped);
        let line = StepTimeline::new(epoch, at, Phases::from(&self.0));
        let run = move || {
            let mut from = at;
            while let Some(to) = line.cut_after(from).filter(|_| !theirs.load(Ordering::Relaxed)) {
                clock::sleep_until(to);
                for worker in &self.0.workers {
                    let (mut read, length) = (Completed::empty(true), to.since(from));
                    // Ten a second, each of its own latency.
                    for n in 0..length.0 / 100_000_000 {
                        read.success(4096, Ns(20_000 + n * 7_919), Ns(40_000 + n * 104_729));
                    }
                    let interval = Interval {
                        source: worker.source,
                        step: self.0.index,
                        phase: line.phase_at(from).expect("within the step"),
                        from: line.on_record(from),
                        to: line.on_record(to),
                        read: Some(read),
                        write: None,
                        others: Default::default(),
                        testimony: Some(Testimony::default()),
                    };
                    let _ = out.send(Output::Interval(Box::new(interval)));
                }
                from = to;
            }
            let _ = out.send(Output::Finished);
        };
        Builder::new().stack_size(256 << 10).spawn(run).expect("a thread");
        Box::new(LightLoad(stopped))
    }
}

impl StepHandle for LightLoad {
    fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn measure(&self, _: Ns) -> bool {
        false
    }
}

struct OneHop {
    cuts: f64,
}

impl Sampler for OneHop {
    fn hops(&mut self, _: &StepSpec) -> Vec<SampledHop> {
        vec![SampledHop { name: "host.cpu".to_owned(), kind: HopKind::HostCpu, facts: Vec::new() }]
    }

    fn sample(&mut self) -> Vec<Sample> {
        self.cuts += 1e8;
        let reading = |counter| HopReading { counter, value: self.cuts };
        let readings = [CounterId::Busy].map(reading).to_vec();
        vec![Sample { at: clock::now(), readings }]
    }
}

//! The network engine: connects to receivers or starts them, agrees on tests, and passes on their figures by source
//! number.
//!
//! Each load has a thread of the control plane, which keeps its receiver waiting until the step starts and holds the control
//! connection while it runs; several run at once. A load that fails stops the others, and the step with it.

mod figures;
#[cfg(any(fuzzing, test))]
mod fuzzing;
mod pair;
mod surroundings;
mod totals;

#[cfg(any(fuzzing, test))]
pub(crate) use fuzzing::{tell_end, tell_interval};
pub use surroundings::{EmbeddedReceiver, Surroundings};

use crate::interface::Interfaces;
use crate::{NetError, SendConfig};
use ::engine::{
    Engine, EngineError, IntervalTx, NetSpec, Output, Prepared, ReceiverAddress, ReceiverSpec,
    StepHandle, StepSpec, Stop,
};
use clock::Ns;
use pair::{NetStepStart, ReadyNetLoad, failure};
use record::{Fact, SourceId};
use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};

/// Carries out network loads.
pub struct NetEngine {
    around: Box<dyn Surroundings>,
    /// Embedded receivers, by their names in the scenario.
    embedded: BTreeMap<String, EmbeddedReceiver>,
}

impl NetEngine {
    /// An engine that asks `around` for tokens and for receivers of its own.
    pub fn new(around: Box<dyn Surroundings>) -> NetEngine {
        NetEngine { around, embedded: BTreeMap::new() }
    }

    /// How to reach a receiver; starts an embedded one on first use.
    fn config(&mut self, receiver: &ReceiverSpec) -> Result<SendConfig, NetError> {
        let base = SendConfig {
            ipv6: receiver.ipv6,
            source: receiver.source,
            source_port: receiver.source_port,
            ..SendConfig::default()
        };
        match &receiver.place {
            ReceiverAddress::At { host, port } => {
                let token = receiver.token.as_ref().map(|from| self.around.token(from));
                Ok(SendConfig {
                    host: host.clone(),
                    port: *port,
                    token: token.transpose()?,
                    ..base
                })
            }
            ReceiverAddress::Embedded => {
                if !self.embedded.contains_key(&receiver.name) {
                    let stands = self.around.embed(receiver)?;
                    self.embedded.insert(receiver.name.clone(), stands);
                }
                let stands = &self.embedded[&receiver.name];
                let (host, token) = (stands.host.clone(), stands.token.clone());
                Ok(SendConfig { host, port: stands.port, token, ..base })
            }
        }
    }
}

impl Engine for NetEngine {
    fn prepare(
        &mut self,
        step: &StepSpec,
        notes: &IntervalTx,
        stop: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        let guardian = self.around.guardian();
        let mut ready = ReadyLoads::new(step);
        for net in step.nets() {
            if stop.asked() {
                return Err(failure(&net.name, NetError::Stopped));
            }
            let config = self.config(&net.receiver).map_err(|e| failure(&net.name, e))?;
            let set = ready.interfaces.prepare(net, &config, guardian.as_ref(), notes);
            set.map_err(|e| failure(&net.name, e))?;
            let pair = ReadyNetLoad::prepare(net, step, &config)?;
            ready.facts.extend(pair.facts());
            ready.facts.extend(ready.interfaces.facts(net));
            ready.threads.push(stand(&net.name, pair)?);
        }
        Ok(Box::new(ready))
    }
}

/// Gives a load its thread.
fn stand(name: &str, pair: ReadyNetLoad) -> Result<LoadThread, EngineError> {
    let (start, started) = mpsc::channel();
    let thread = Builder::new().name("net-pair".to_owned()).spawn(move || pair.stand_by(&started));
    let thread = thread.map_err(|e| {
        failure(name, NetError::socket("a thread that holds its control connection")(e))
    })?;
    Ok(LoadThread { start, thread })
}

/// Loads that are ready at both ends.
struct ReadyLoads {
    threads: Vec<LoadThread>,
    facts: Vec<Fact>,
    /// Put back once the loads above are gone.
    interfaces: Interfaces,
    nets: Vec<NetSpec>,
    /// Load before the measurement, and both together.
    warmup: Ns,
    measured: Ns,
}

impl ReadyLoads {
    fn new(step: &StepSpec) -> ReadyLoads {
        ReadyLoads {
            threads: Vec::new(),
            facts: Vec::new(),
            interfaces: Interfaces::new(step.index),
            nets: step.nets().cloned().collect(),
            warmup: step.warmup,
            measured: step.warmup.plus(step.measure),
        }
    }
}

/// One load's thread. It ends without a start if its channel closes.
struct LoadThread {
    start: Sender<NetStepStart>,
    thread: JoinHandle<()>,
}

impl Prepared for ReadyLoads {
    fn facts(&self) -> Vec<Fact> {
        self.facts.clone()
    }

    fn depths(&self) -> Vec<(SourceId, u32)> {
        Vec::new()
    }

    fn start(self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn StepHandle> {
        let stop = Stop::default();
        let (ended, ends) = mpsc::channel();
        let go =
            NetStepStart { epoch: epoch.min(at), at, out: out.clone(), stop: stop.clone(), ended };
        let mut threads = Vec::new();
        for LoadThread { start, thread } in self.threads {
            // A thread that has panicked is found missing at the end.
            let _ = start.send(go.clone());
            threads.push(thread);
        }
        drop(go);
        let (asks, verdict, epoch) = (stop.clone(), out.clone(), epoch.min(at));
        let measured = (at.plus(self.warmup), at.plus(self.measured));
        let (interfaces, nets) = (self.interfaces, self.nets);
        let judge = move || {
            let end = judge(threads, &ends, &asks);
            tell_interfaces(interfaces, &nets, epoch, measured, &verdict);
            // The listener may be gone.
            let _ = verdict.send(end);
        };
        let judge = Builder::new().name("net-step".to_owned()).spawn(judge);
        if let Err(e) = &judge {
            stop.ask();
            let problem = format!("the thread that waits for the loads cannot be started ({e})");
            let worker = "net-step".to_owned();
            // The listener may be gone.
            let _ = out.send(Output::Failed(EngineError::Worker { worker, problem }));
        }
        Box::new(RunningNetStep { stop, judge: judge.ok() })
    }
}

/// Tells what the interfaces were while they were measured, and puts them back.
fn tell_interfaces(
    interfaces: Interfaces,
    nets: &[NetSpec],
    epoch: Ns,
    (from, to): (Ns, Ns),
    out: &IntervalTx,
) {
    let on_record = |at: Ns| at.since(epoch);
    let to = to.min(clock::now());
    if to > from {
        for net in nets {
            for counter in interfaces.counters(net, on_record(from), on_record(to)) {
                // The listener may be gone.
                let _ = out.send(Output::Counter(counter));
            }
        }
    }
    for event in interfaces.put_back(|| on_record(clock::now())) {
        // As above.
        let _ = out.send(Output::Event(event));
    }
}

/// Waits for all loads; answers how the step ended.
fn judge(
    threads: Vec<JoinHandle<()>>,
    ends: &Receiver<Result<(), EngineError>>,
    stop: &Stop,
) -> Output {
    let mut failure = None;
    let mut missing = threads.len();
    // It ends when the last load's thread has gone.
    for end in ends {
        missing -= 1;
        if let Err(e) = end {
            stop.ask();
            failure.get_or_insert(e);
        }
    }
    for thread in threads {
        // Its panic is on stderr already.
        let _ = thread.join();
    }
    if missing > 0 {
        failure.get_or_insert_with(|| EngineError::Worker {
            worker: "net-pair".to_owned(),
            problem: "its thread panicked; its message is on stderr".to_owned(),
        });
    }
    failure.map_or(Output::Finished, Output::Failed)
}

/// A step under way.
struct RunningNetStep {
    stop: Stop,
    judge: Option<JoinHandle<()>>,
}

impl StepHandle for RunningNetStep {
    fn stop(&self) {
        self.stop.ask();
    }

    /// Phases of network loads are agreed with another host before the start, and stay.
    fn measure(&self, _at: Ns) -> bool {
        false
    }
}

impl Drop for RunningNetStep {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(judge) = self.judge.take() {
            // Its panic is on stderr already.
            let _ = judge.join();
        }
    }
}

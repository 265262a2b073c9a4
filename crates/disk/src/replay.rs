//! The feed of a worker that replays a trace, and the traces of a step, each loaded once.

use crate::Completion;
use crate::feed::{AHEAD, CATCH_UP, Feed, IoBatch};
use clock::Ns;
use engine::{EngineError, StepSpec, Throttle, WorkerSpec};
use record::Fact;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use workload::{Placement, Replay, SpecError, TraceOps, TraceSpec};

/// What tells replays apart that need other I/Os.
type Key = (String, bool, Ns, Option<Ns>);

/// The traces that an engine has loaded for the step that runs.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    loaded: BTreeMap<Key, TraceOps>,
}

impl Traces {
    /// The step with what its workers replay; what no worker needs any more is dropped.
    pub fn loaded<'s>(&mut self, step: &'s StepSpec) -> Result<Cow<'s, StepSpec>, EngineError> {
        let mut step = Cow::Borrowed(step);
        if step.workers.iter().any(|worker| worker.workload.trace.is_some()) {
            self.load(step.to_mut())?;
        }
        Ok(step)
    }

    fn load(&mut self, step: &mut StepSpec) -> Result<(), EngineError> {
        let mut kept = BTreeMap::new();
        for worker in &mut step.workers {
            let Some(trace) = &mut worker.workload.trace else { continue };
            let key = (trace.file.clone(), trace.writes, trace.from, trace.length);
            let ops = match kept.get(&key).or_else(|| self.loaded.get(&key)) {
                Some(ops) => TraceOps::clone(ops),
                None => match trace.ops.take() {
                    Some(ops) => ops,
                    None => load(trace, &worker.name)?,
                },
            };
            kept.insert(key, ops.clone());
            trace.ops = Some(ops);
        }
        self.loaded = kept;
        Ok(())
    }
}

fn load(trace: &TraceSpec, worker: &str) -> Result<TraceOps, EngineError> {
    let wrong = |problem: String| EngineError::Worker {
        worker: worker.to_owned(),
        problem: format!("the trace {}: {problem}", trace.file),
    };
    let file = File::open(&trace.file).map_err(|e| wrong(e.to_string()))?;
    trace::load_ops(file, trace).map_err(|e| wrong(e.to_string()))
}

/// Where the trace of a worker lies on its targets, as a fact of the record.
pub(crate) fn fact(worker: &WorkerSpec, place: &Placement) -> Result<Option<Fact>, EngineError> {
    let Some(trace) = &worker.workload.trace else { return Ok(None) };
    let wrong = |e: SpecError| EngineError::Worker {
        worker: worker.name.clone(),
        problem: format!("the trace {}: {e}", trace.file),
    };
    let replay = Replay::new(trace, place).map_err(wrong)?;
    let digest =
        if trace.digest.is_empty() { String::new() } else { format!(", sha256:{}", trace.digest) };
    let value = format!("{}{digest}: {}", trace.file, replay.how());
    Ok(Some(Fact { subject: worker.name.clone(), key: "replay".to_owned(), value }))
}

/// Issues the I/Os of a trace.
pub(crate) struct ReplayFeed {
    replay: Replay,
    free: Vec<u32>,
    /// The number of the I/O in each slot.
    numbers: Vec<u32>,
    /// Of so many I/Os one is left out; zero: none is.
    skip_every: u32,
    issued: u32,
}

impl ReplayFeed {
    pub fn new(replay: Replay, depth: u32) -> ReplayFeed {
        let free = (0..depth).rev().collect();
        ReplayFeed { replay, free, numbers: vec![0; depth as usize], skip_every: 0, issued: 0 }
    }

    fn issue(&mut self, moment: Ns, most: usize, batch: &mut IoBatch) {
        for _ in 0..most {
            let Some(slot) = self.free.last().copied() else { return };
            let Some((number, op)) = self.replay.next(moment) else { return };
            if self.skip_every > 0 {
                self.issued += 1;
                if self.issued.is_multiple_of(self.skip_every) {
                    self.replay.completed(number, moment);
                    continue;
                }
            }
            self.free.pop();
            self.numbers[slot as usize] = number;
            batch.push(slot, op);
        }
    }
}

impl Feed for ReplayFeed {
    fn fill(&mut self, now: Ns, batch: &mut IoBatch) {
        if self.replay.arrival(now) <= now {
            self.issue(now, CATCH_UP, batch);
        } else {
            self.issue(now.plus(AHEAD), 1, batch);
        }
    }

    fn completed(&mut self, done: &[Completion], now: Ns) {
        for completion in done {
            self.replay.completed(self.numbers[completion.slot as usize], now);
            self.free.push(completion.slot);
        }
    }

    fn throttle(&mut self, to: Throttle) {
        (self.skip_every, self.issued) = (to.skip_every, 0);
    }

    fn wake(&self, now: Ns) -> Ns {
        match self.replay.arrival(now) {
            _ if self.free.is_empty() => Ns::MAX,
            arrival if arrival <= now.plus(AHEAD) => now,
            arrival => arrival,
        }
    }

    fn is_over(&self) -> bool {
        self.replay.is_done()
    }
}

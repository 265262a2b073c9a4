//! Writes states to their files while a step runs: a checkpoint a second, and a last one at its end. A thread of the
//! control plane; no worker ever waits for it.

use super::state::TargetState;
use super::state_file::StateFile;
use clock::Ns;
use engine::{EngineError, EventNote, IntervalTx, Output, Prepared, StepHandle};
use record::{Fact, Level, SourceId};
use rustix::io::Errno;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// From one checkpoint's end to the next one's beginning.
const PERIOD: Duration = Duration::from_secs(1);

/// A step of which some targets have a kept state.
pub(crate) struct Checkpoints {
    step: u32,
    inner: Box<dyn Prepared>,
    states: InUse,
}

/// Kept states of which the words may change. Dropped, they are closed, however a step ends.
struct InUse(Vec<Arc<TargetState>>);

impl Checkpoints {
    /// Takes these states into use, before any write.
    pub fn new(
        step: u32,
        inner: Box<dyn Prepared>,
        states: Vec<Arc<TargetState>>,
    ) -> Result<Checkpoints, EngineError> {
        let states = InUse(states);
        for (state, kept) in states.kept() {
            kept.begin().map_err(|e| EngineError::Target {
                target: state.label.clone(),
                problem: format!("its verification state cannot be written ({e})"),
            })?;
        }
        Ok(Checkpoints { step, inner, states })
    }
}

impl InUse {
    /// Those that may be written: a state of which only what was flushed is known stays as it is.
    fn kept(&self) -> impl Iterator<Item = (&TargetState, &StateFile)> {
        let writable = self.0.iter().filter(|state| !state.at_least);
        writable.filter_map(|state| Some((&**state, state.kept.as_ref()?)))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        for (state, kept) in self.kept() {
            // Told where it can be heard; here the state merely stays as after a crash.
            let _ = kept.close(&state.ledger);
        }
    }
}

struct RunningCheckpoint {
    /// Dropped first: its workers end, and no write is in flight any more.
    inner: Option<Box<dyn StepHandle>>,
    /// Dropping it ends the thread.
    stay: Option<Sender<Infallible>>,
    keeper: Option<JoinHandle<()>>,
}

struct Checkpointer {
    states: InUse,
    step: u32,
    epoch: Ns,
    out: IntervalTx,
    /// A failure is reported once.
    failed: bool,
}

impl Prepared for Checkpoints {
    fn facts(&self) -> Vec<Fact> {
        self.inner.facts()
    }

    fn depths(&self) -> Vec<(SourceId, u32)> {
        self.inner.depths()
    }

    fn planned(&self) -> Vec<(SourceId, u64)> {
        self.inner.planned()
    }

    fn start(self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn StepHandle> {
        let Checkpoints { step, inner, states } = *self;
        let (stay, until) = mpsc::channel();
        let keeper = Checkpointer { states, step, epoch, out: out.clone(), failed: false };
        let thread = Builder::new().name("verify-keeper".to_owned());
        let keeper = match thread.spawn(move || keeper.run(&until)) {
            Ok(thread) => Some(thread),
            Err(e) => {
                let text = format!(
                    "no thread to keep the verification state could be started ({e}): after a power cut it will know \
                     nothing of this step"
                );
                let note = EventNote { level: Level::Warning, code: "verify-state-not-kept", text };
                let _ = out.send(Output::Event(note.event(step, None)));
                None
            }
        };
        Box::new(RunningCheckpoint {
            inner: Some(inner.start(epoch, at, out)),
            stay: Some(stay),
            keeper,
        })
    }
}

impl StepHandle for RunningCheckpoint {
    fn stop(&self) {
        if let Some(inner) = &self.inner {
            inner.stop();
        }
    }

    fn measure(&self, at: Ns) -> bool {
        self.inner.as_ref().is_none_or(|inner| inner.measure(at))
    }

    fn finish(&self, at: Ns) -> bool {
        self.inner.as_ref().is_none_or(|inner| inner.finish(at))
    }
}

impl Drop for RunningCheckpoint {
    fn drop(&mut self) {
        self.inner = None;
        self.stay = None;
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

impl Checkpointer {
    fn run(mut self, until: &Receiver<Infallible>) {
        let states = std::mem::replace(&mut self.states, InUse(Vec::new()));
        while until.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
            for (state, kept) in states.kept() {
                self.tell(state, kept.checkpoint(&state.ledger));
            }
        }
        for (state, kept) in states.kept() {
            self.tell(state, kept.checkpoint(&state.ledger));
        }
    }

    fn tell(&mut self, state: &TargetState, outcome: Result<(), Errno>) {
        let Err(e) = outcome else { return };
        if std::mem::replace(&mut self.failed, true) {
            return;
        }
        let text = format!(
            "{}: its verification state could not be brought to stable storage ({e}): after a power cut it will know less \
             than it should; see the kernel log (dmesg)",
            state.label
        );
        let note = EventNote { level: Level::Error, code: "verify-state-not-kept", text };
        let event =
            record::Event { at: clock::now().since(self.epoch), ..note.event(self.step, None) };
        let _ = self.out.send(Output::Event(event));
    }
}

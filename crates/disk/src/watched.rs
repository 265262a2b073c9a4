//! A step whose written targets are looked at while it runs: whether they still are what was granted, and this run's alone.
//! A device is held exclusively, but a file can be given to a loop device and mounted, or be removed, and a reservation can
//! be taken away. A thread of the control plane looks once a second, or less often where a look takes long; what it finds
//! ends the step. No worker ever waits for it.

use clock::Ns;
use engine::{EngineError, EventNote, IntervalTx, Output, Prepared, StepHandle};
use guard::{RemoteGrant, WriteGrant};
use record::{Fact, Level, SourceId};
use std::convert::Infallible;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// From one look to the next one, at least; and how much longer than a look takes.
const PERIOD: Ns = Ns::secs(1);
const SPARING: u64 = 50;

/// How often the name and the size of a file are looked at, which costs two system calls.
const GLANCE: Ns = Ns::millis(100);

/// One target that is written, by its name.
pub(crate) struct WatchedTarget {
    pub label: String,
    pub grant: WatchedGrant,
}

pub(crate) enum WatchedGrant {
    Local(WriteGrant),
    Remote(RemoteGrant),
}

/// A step of which some targets are written.
pub(crate) struct Watched {
    step: u32,
    inner: Box<dyn Prepared>,
    targets: Vec<WatchedTarget>,
}

/// The running step, until it is dropped, and why it failed.
#[derive(Default)]
struct Shared {
    inner: Mutex<Option<Box<dyn StepHandle>>>,
    /// What the last look found; held while one is made.
    failure: Mutex<Option<EngineError>>,
}

struct RunningWatched {
    shared: Arc<Shared>,
    /// Dropping it ends the looking.
    stay: Option<Sender<Infallible>>,
    threads: Vec<JoinHandle<()>>,
}

impl Watched {
    /// Wraps a step where it writes to anything.
    pub fn wrap(
        step: u32,
        inner: Box<dyn Prepared>,
        targets: Vec<WatchedTarget>,
    ) -> Box<dyn Prepared> {
        match targets.is_empty() {
            true => inner,
            false => Box::new(Watched { step, inner, targets }),
        }
    }
}

impl Prepared for Watched {
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
        let Watched { step, inner, targets } = *self;
        let shared = Arc::new(Shared::default());
        let (tx, rx) = mpsc::channel();
        let (stay, until) = mpsc::channel();
        let (told, looked) = (shared.clone(), shared.clone());
        let to = out.clone();
        let targets = Arc::new(targets);
        let last = targets.clone();
        let forward = move || forward(&rx, &to, &last, &told);
        let look = move || look(&targets, &until, &looked);
        let thread = |name: &str| Builder::new().name(name.to_owned());
        let threads = thread("guard-forward")
            .spawn(forward)
            .and_then(|one| Ok(vec![one, thread("guard-watch").spawn(look)?]));
        match threads {
            Ok(threads) => {
                *lock(&shared.inner) = Some(inner.start(epoch, at, tx));
                Box::new(RunningWatched { shared, stay: Some(stay), threads })
            }
            Err(e) => {
                let text = format!("no thread to watch what is written could be started ({e})");
                let note = EventNote { level: Level::Error, code: "guard-watch-missing", text };
                let _ = out.send(Output::Event(note.event(step, None)));
                let problem = "its targets cannot be watched; see the event before".to_owned();
                let worker = "guard-watch".to_owned();
                let _ = out.send(Output::Failed(EngineError::Worker { worker, problem }));
                Box::new(RunningWatched { shared, stay: None, threads: Vec::new() })
            }
        }
    }
}

impl StepHandle for RunningWatched {
    fn stop(&self) {
        self.shared.stop();
    }

    fn measure(&self, at: Ns) -> bool {
        lock(&self.shared.inner).as_ref().is_none_or(|inner| inner.measure(at))
    }

    fn finish(&self, at: Ns) -> bool {
        lock(&self.shared.inner).as_ref().is_none_or(|inner| inner.finish(at))
    }
}

impl Drop for RunningWatched {
    fn drop(&mut self) {
        // Its workers end, and with them what is forwarded.
        let inner = lock(&self.shared.inner).take();
        drop(inner);
        self.stay = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn stop(&self) {
        if let Some(inner) = lock(&self.inner).as_ref() {
            inner.stop();
        }
    }

    /// Looks at all targets, unless something was found before.
    fn look(&self, targets: &[WatchedTarget]) -> Option<EngineError> {
        let mut failure = lock(&self.failure);
        if failure.is_none() {
            *failure = targets.iter().find_map(WatchedTarget::trouble);
        }
        failure.clone()
    }
}

impl WatchedTarget {
    /// What has become of a file that has lost its name or its size.
    fn gone(&self) -> Option<EngineError> {
        match &self.grant {
            WatchedGrant::Local(grant) => self.failure(grant.still_there()),
            WatchedGrant::Remote(_) => None,
        }
    }

    /// What has become of it, where it is not what was granted any more.
    fn trouble(&self) -> Option<EngineError> {
        self.failure(match &self.grant {
            WatchedGrant::Local(grant) => grant.still_held(),
            WatchedGrant::Remote(grant) => grant.still_held(),
        })
    }

    fn failure(&self, held: Result<(), String>) -> Option<EngineError> {
        let why = held.err()?;
        let problem = format!("{why}; the run was stopped so that nothing is overwritten");
        Some(EngineError::Target { target: self.label.clone(), problem })
    }
}

/// Passes on what the step puts out. Its good end is a failure where a target was lost, which a last look shows.
fn forward(from: &Receiver<Output>, to: &IntervalTx, targets: &[WatchedTarget], shared: &Shared) {
    for output in from {
        let ended = matches!(output, Output::Finished | Output::Failed(_));
        let failure = ended.then(|| shared.look(targets)).flatten();
        let _ = to.send(failure.map_or(output, Output::Failed));
    }
}

/// Looks until the step is over or something is wrong.
fn look(targets: &[WatchedTarget], until: &Receiver<Infallible>, shared: &Shared) {
    let mut next = clock::now().plus(PERIOD);
    while until.recv_timeout(GLANCE.into()) == Err(RecvTimeoutError::Timeout) {
        let began = clock::now();
        // What was cut may soon have its size again, by the run's own writes.
        if let Some(gone) = targets.iter().find_map(WatchedTarget::gone) {
            lock(&shared.failure).get_or_insert(gone);
            return shared.stop();
        }
        if began < next {
            continue;
        }
        if shared.look(targets).is_some() {
            return shared.stop();
        }
        let now = clock::now();
        next = now.plus(PERIOD.max(Ns(now.since(began).0.saturating_mul(SPARING))));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

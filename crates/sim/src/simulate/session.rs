//! Steps spread over threads, and all of it written in the order of the plan.
//!
//! Steps that do not depend on each other are simulated at once, each by one thread that takes the next as it is done. What
//! they tell waits in a queue of [`PIECES`] cuts, so that a long step that is ahead of the record waits for it rather than
//! fill memory. A step of a search depends on those before it and is simulated alone.

use super::record_writer::RecordBook;
use super::step::{self, StepTerms};
use super::step_event::{Note, StepEvent};
use super::{Order, Outcome, SIMULATED, SIMULATOR, SimulateError};
use crate::engine::Seeds;
use campaign::{Campaign, Gauge, Progress, RateMeter, StepEnd, Stepper};
use clock::{Ns, Rng};
use record::{Event, Fact, Level, Status, Writer};
use scenario::Step;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::Scope;
use std::time::Duration;

/// What a step that is ahead of the record may have told.
const PIECES: usize = 64;
/// How often those who watch are told, while nothing is written.
const TICK: Duration = Duration::from_millis(100);
/// The name of the random streams of a step's draws.
const STEP: u64 = 3;

/// What the threads of a simulation share.
#[derive(Default)]
struct Shared {
    /// Nanoseconds that all steps have been simulated for.
    advanced: AtomicU64,
    /// Set where the record takes nothing more, or the user wants no more.
    over: AtomicBool,
}

/// A simulation under way.
struct Session<'s, 'e, 'w> {
    order: &'e Order<'e>,
    shared: &'e Shared,
    scope: &'s Scope<'s, 'e>,
    record_writer: RecordBook,
    watch: &'w mut dyn FnMut(Progress),
    /// Steps that are being simulated or are to be, in order.
    ahead: VecDeque<Receiver<StepEvent>>,
    failure: Option<(u32, String)>,
    ios: u64,
}

/// All stages, to the end of the record.
pub(super) fn run(
    order: &Order,
    writer: Writer,
    watch: &mut dyn FnMut(Progress),
) -> Result<Outcome, SimulateError> {
    let shared = Shared::default();
    std::thread::scope(|scope| {
        let mut record_writer = RecordBook::new(writer);
        record_writer.facts(provenance(order))?;
        let (ahead, failure, ios) = (VecDeque::new(), None, 0);
        let session =
            Session { order, shared: &shared, scope, record_writer, watch, ahead, failure, ios };
        Campaign::new(session, order.stages).run(order.stages)
    })
}

impl Stepper for Session<'_, '_, '_> {
    type Outcome = Outcome;
    type Error = SimulateError;

    fn ahead(&mut self, steps: impl Iterator<Item = Step>) {
        let (jobs, hears): (Vec<_>, Vec<_>) = steps
            .map(|step| {
                let (tell, hear) = sync_channel(PIECES);
                ((step, tell), hear)
            })
            .unzip();
        let (order, shared) = (self.order, self.shared);
        let threads = order.threads.clamp(1, jobs.len().max(1));
        let jobs = Arc::new(Mutex::new(jobs.into_iter()));
        self.ahead.extend(hears);
        for _ in 0..threads {
            let jobs = Arc::clone(&jobs);
            let next = move || jobs.lock().ok()?.next();
            self.scope.spawn(move || {
                while let Some((step, tell)) = next() {
                    if !shared.over.load(Ordering::Relaxed) {
                        simulate_step(order, &step, &shared.advanced, &tell);
                    }
                }
            });
        }
    }

    fn step(
        &mut self,
        step: &Step,
        mut gauge: Option<&mut Gauge>,
    ) -> Result<StepEnd, SimulateError> {
        let Some(hear) = self.ahead.pop_front() else {
            return self.failed(step, "it was not announced".to_owned());
        };
        let mut meter = RateMeter::default();
        loop {
            let step_event = match hear.recv_timeout(TICK) {
                Ok(step_event) => Some(step_event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(StepEnd::Stopped),
            };
            self.show(Progress::Advanced(Ns(self.shared.advanced.load(Ordering::Relaxed))));
            match step_event {
                None => {}
                Some(StepEvent::StepStart(begun)) => {
                    let measured = begun.times.measured();
                    let loads = self.record_writer.begin(step, *begun)?;
                    gauge.iter_mut().for_each(|gauge| gauge.begin(measured, &loads));
                }
                Some(StepEvent::Times(times)) => self.record_writer.times(times)?,
                Some(StepEvent::Cut(cut)) => {
                    let elapsed = cut.to;
                    for interval in self.record_writer.cut(*cut)? {
                        meter.add(&interval);
                        let tallies = [&interval.read, &interval.write];
                        self.ios +=
                            tallies.into_iter().flatten().map(|tally| tally.ops).sum::<u64>();
                        gauge.iter_mut().for_each(|gauge| gauge.add(&interval));
                    }
                    let hops = self.record_writer.hops.take();
                    if let Some(rates) = meter.take() {
                        self.show(Progress::SimulatedSecond { elapsed, rates, hops });
                    }
                }
                Some(StepEvent::Note(note)) => {
                    let event = self.record_writer.note(note)?;
                    self.show(Progress::Event(event));
                }
                Some(StepEvent::Done(confidences)) => {
                    self.record_writer.done(&confidences)?;
                    return Ok(StepEnd::Done);
                }
                Some(StepEvent::Failed(why)) => return self.failed(step, why),
            }
        }
    }

    fn stopped(&mut self) -> bool {
        self.order.stop.stopped()
    }

    fn event(
        &mut self,
        level: Level,
        code: &'static str,
        text: &str,
    ) -> Result<Event, SimulateError> {
        Ok(self.record_writer.note(Note { at: Ns::ZERO, level, code, text: text.to_owned() })?)
    }

    fn show(&mut self, progress: Progress) {
        (self.watch)(progress);
    }

    fn finish(self, status: Status) -> Result<Outcome, SimulateError> {
        // Steps that are ahead find their receiver gone, and end.
        self.shared.over.store(true, Ordering::Relaxed);
        drop(self.ahead);
        self.record_writer.finish(status)?;
        let simulated = Ns(self.shared.advanced.load(Ordering::Relaxed));
        Ok(Outcome { status, failure: self.failure, ios: self.ios, simulated })
    }
}

impl Session<'_, '_, '_> {
    fn failed(&mut self, step: &Step, why: String) -> Result<StepEnd, SimulateError> {
        let text = format!("the step cannot be simulated: {why}");
        let event = self.event(Level::Error, "step-failed", &text)?;
        self.show(Progress::Event(event));
        self.failure = Some((step.index, why));
        Ok(StepEnd::Failed)
    }
}

/// Compiles and simulates a step, sending all its events.
fn simulate_step(order: &Order, step: &Step, advanced: &AtomicU64, tell: &SyncSender<StepEvent>) {
    let plant = match (order.compile)(step) {
        Ok(plant) => plant,
        Err(why) => {
            // The listener may be gone.
            let _ = tell.send(StepEvent::Failed(why));
            return;
        }
    };
    let draws = Rng::keyed(order.seed, &[STEP, step.index.into()]).next_u64();
    let terms = StepTerms {
        named: order.named,
        seeds: Seeds { operations: order.seed, draws },
        settle: order.settle,
        stop: order.stop,
        advanced,
    };
    step::simulate(step, plant, &terms, &mut |step_event| tell.send(step_event).is_ok());
}

/// How the record came to be.
fn provenance(order: &Order) -> Vec<Fact> {
    let fact =
        |key: &str, value: String| Fact { subject: "run".to_owned(), key: key.to_owned(), value };
    vec![
        fact(SIMULATED, "yes".to_owned()),
        fact("simulator-version", format!("{SIMULATOR} {}", env!("CARGO_PKG_VERSION"))),
        fact("simulator-settle", if order.settle { "yes" } else { "no" }.to_owned()),
    ]
}

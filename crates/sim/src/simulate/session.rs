//! Stage after stage: steps spread over threads, searches step by step, all of it written in the order of the plan.
//!
//! Steps that do not depend on each other are simulated at once, each by one thread that takes the next as it is done. What
//! they tell waits in a queue of [`PIECES`] cuts, so that a long step that is ahead of the record waits for it rather than
//! fill memory. A step of a search depends on those before it and is simulated alone.

use super::book::Book;
use super::course::{self, Terms};
use super::piece::{Note, Piece};
use super::seen::Gauge;
use super::{Order, Outcome, Progress, SIMULATED, SIMULATOR, SimulateError};
use crate::engine::Seeds;
use clock::{Ns, Rng};
use record::{Fact, Level, Status, Writer};
use scenario::search::Next;
use scenario::{Hunt, Stage, Step};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// What a step that is ahead of the record may have told.
const PIECES: usize = 64;
/// How often those who watch are told, while nothing is written.
const TICK: Duration = Duration::from_millis(100);
/// The name of the random streams of a step's draws.
const STEP: u64 = 3;

/// A simulation under way.
pub(super) struct Session<'a, 'w> {
    order: &'a Order<'a>,
    book: Book,
    watch: &'w mut dyn FnMut(Progress),
    /// The number of the next step.
    next: u32,
    /// Steps at most, and searches that are not over.
    of: u32,
    searches: usize,
    advanced: AtomicU64,
    failure: Option<(u32, String)>,
    ios: u64,
}

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Stopped,
    Failed,
}

impl<'a, 'w> Session<'a, 'w> {
    pub fn new(
        order: &'a Order<'a>,
        writer: Writer,
        watch: &'w mut dyn FnMut(Progress),
    ) -> Session<'a, 'w> {
        let of =
            order.stages.iter().fold(0_u32, |sum, stage| sum.saturating_add(stage.steps_max()));
        let searches = order.stages.iter().filter(|s| matches!(s, Stage::Search(_))).count();
        Session {
            order,
            book: Book::new(writer),
            watch,
            next: 0,
            of,
            searches,
            advanced: AtomicU64::new(0),
            failure: None,
            ios: 0,
        }
    }

    /// All stages, to the end of the record.
    pub fn run(mut self) -> Result<Outcome, SimulateError> {
        self.book.facts(provenance(self.order))?;
        let mut rest = self.order.stages;
        let mut end = End::Done;
        while end == End::Done && !rest.is_empty() {
            let steps: Vec<&Step> = rest
                .iter()
                .map_while(|stage| match stage {
                    Stage::Step(step) => Some(step),
                    Stage::Search(_) => None,
                })
                .collect();
            rest = &rest[steps.len()..];
            end = self.steps(&steps)?;
            if let (End::Done, Some((Stage::Search(hunt), after))) = (end, rest.split_first()) {
                rest = after;
                end = self.search(hunt)?;
            }
        }
        let status = match end {
            End::Done => Status::Complete,
            End::Stopped => Status::Stopped,
            End::Failed => Status::Failed,
        };
        self.book.finish(status)?;
        Ok(Outcome { status, failure: self.failure, ios: self.ios })
    }

    /// Steps that do not depend on each other, spread over the threads.
    fn steps(&mut self, steps: &[&Step]) -> Result<End, SimulateError> {
        let first = self.next;
        let numbered: Vec<Step> =
            (first..).zip(steps).map(|(index, step)| Step { index, ..(*step).clone() }).collect();
        let (order, advanced) = (self.order, std::mem::take(&mut self.advanced));
        // Set where the record takes nothing more, or the user wants no more.
        let over = AtomicBool::new(false);
        let (tells, hears): (Vec<_>, Vec<_>) =
            numbered.iter().map(|_| sync_channel::<Piece>(PIECES)).unzip();
        let tells: Vec<std::sync::Mutex<Option<SyncSender<Piece>>>> =
            tells.into_iter().map(|tell| std::sync::Mutex::new(Some(tell))).collect();
        let next = AtomicUsize::new(0);
        let end = std::thread::scope(|scope| {
            for _ in 0..order.threads.clamp(1, numbered.len().max(1)) {
                scope.spawn(|| {
                    while let Some((step, tell)) = take(&next, &numbered, &tells) {
                        if !over.load(Ordering::Relaxed) {
                            simulate_step(order, step, &advanced, &tell);
                        }
                    }
                });
            }
            let mut end = Ok(End::Done);
            for (step, hear) in numbered.iter().zip(hears) {
                if matches!(end, Ok(End::Done)) {
                    end = self.write(step, &hear, &advanced, None, None);
                }
                if !matches!(end, Ok(End::Done)) {
                    // Whoever still tells finds nobody who listens, and ends.
                    over.store(true, Ordering::Relaxed);
                }
            }
            end
        });
        self.advanced = advanced;
        end
    }

    /// A search, step by step.
    fn search(&mut self, hunt: &Hunt) -> Result<End, SimulateError> {
        let search = &hunt.search;
        let mut seen = Vec::new();
        let found = loop {
            let (load, repetition) = match search.next(&seen) {
                Next::Run { load, repetition, .. } => (load, repetition),
                Next::Stop(found) => break *found,
            };
            let known = search.progress(&search.so_far(&seen));
            let known = if known.is_empty() { known } else { format!(": {known}") };
            let aim = format!("{}{known}", search.question());
            let step = hunt.step(self.next, load, repetition, seen.is_empty());
            let mut gauge = Gauge::default();
            match self.alone(&step, aim, &mut gauge)? {
                End::Done => {}
                other => return Ok(other),
            }
            seen.push(gauge.seen(search, &step, load));
        };
        let unused = search.steps.saturating_sub(seen.len() as u32);
        self.of -= unused.min(self.of);
        self.searches = self.searches.saturating_sub(1);
        let text =
            format!("{}. The search ended: {}", search.answer(&found), search.reason(&found));
        let note =
            Note { at: Ns::ZERO, level: Level::Info, code: "search-ended", text: text.clone() };
        self.book.note(note)?;
        let load: Ns = hunt.base.duration().into();
        let unused = Ns(load.0.saturating_mul(unused.into()));
        (self.watch)(Progress::Searched { text, unused });
        Ok(End::Done)
    }

    /// One step by itself.
    fn alone(&mut self, step: &Step, aim: String, gauge: &mut Gauge) -> Result<End, SimulateError> {
        let (order, advanced) = (self.order, std::mem::take(&mut self.advanced));
        let (tell, hear) = sync_channel(PIECES);
        let end = std::thread::scope(|scope| {
            let advanced = &advanced;
            scope.spawn(move || simulate_step(order, step, advanced, &tell));
            // Dropped with this, so that a simulation nobody listens to ends.
            let hear = hear;
            self.write(step, &hear, advanced, Some(aim), Some(gauge))
        });
        self.advanced = advanced;
        end
    }

    /// Writes all that a step tells.
    fn write(
        &mut self,
        step: &Step,
        hear: &Receiver<Piece>,
        advanced: &AtomicU64,
        aim: Option<String>,
        mut gauge: Option<&mut Gauge>,
    ) -> Result<End, SimulateError> {
        self.next = step.index + 1;
        let at_most = self.searches > 0;
        let (index, of, name) = (step.index, self.of, step.name());
        (self.watch)(Progress::StepStarting { index, of, at_most, name, aim });
        loop {
            let piece = match hear.recv_timeout(TICK) {
                Ok(piece) => Some(piece),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(End::Stopped),
            };
            (self.watch)(Progress::Advanced(Ns(advanced.load(Ordering::Relaxed))));
            match piece {
                None => {}
                Some(Piece::Begun(begun)) => {
                    let loads = self.book.begin(step, *begun)?;
                    gauge.iter_mut().for_each(|gauge| gauge.begin(loads.clone()));
                }
                Some(Piece::Times(times)) => self.book.times(times)?,
                Some(Piece::Cut(cut)) => {
                    for interval in self.book.cut(*cut)? {
                        let tallies = [&interval.read, &interval.write];
                        self.ios +=
                            tallies.into_iter().flatten().map(|tally| tally.ops).sum::<u64>();
                        gauge.iter_mut().for_each(|gauge| gauge.add(&interval));
                    }
                }
                Some(Piece::Note(note)) => {
                    let event = self.book.note(note)?;
                    (self.watch)(Progress::Event(&event));
                }
                Some(Piece::Done(confidences)) => {
                    self.book.done(&confidences)?;
                    gauge.iter_mut().for_each(|gauge| gauge.done = true);
                    return Ok(End::Done);
                }
                Some(Piece::Failed(why)) => return self.failed(step, why),
            }
        }
    }

    fn failed(&mut self, step: &Step, why: String) -> Result<End, SimulateError> {
        let text = format!("the step cannot be simulated: {why}");
        let note = Note { at: Ns::ZERO, level: Level::Error, code: "step-failed", text };
        let event = self.book.note(note)?;
        (self.watch)(Progress::Event(&event));
        self.failure = Some((step.index, why));
        Ok(End::Failed)
    }
}

/// The next step that nobody has taken.
fn take<'s>(
    next: &AtomicUsize,
    steps: &'s [Step],
    tells: &[std::sync::Mutex<Option<SyncSender<Piece>>>],
) -> Option<(&'s Step, SyncSender<Piece>)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    let tell = tells.get(number)?.lock().ok()?.take()?;
    Some((steps.get(number)?, tell))
}

/// Compiles and simulates a step, telling all of it.
fn simulate_step(order: &Order, step: &Step, advanced: &AtomicU64, tell: &SyncSender<Piece>) {
    let plant = match (order.compile)(step) {
        Ok(plant) => plant,
        Err(why) => {
            // Where nobody listens any more, nobody needs to know.
            let _ = tell.send(Piece::Failed(why));
            return;
        }
    };
    let draws = Rng::keyed(order.seed, &[STEP, step.index.into()]).next_u64();
    let terms = Terms {
        named: order.named,
        seeds: Seeds { operations: order.seed, draws },
        settle: order.settle,
        stop: order.stop,
        advanced,
    };
    course::simulate(step, plant, &terms, &mut |piece| tell.send(piece).is_ok());
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

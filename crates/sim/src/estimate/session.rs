//! The steps of a scenario estimated, and the record of it.
//!
//! Steps that do not depend on each other are estimated at once, and each thread waits until what it has found is in the
//! record, which is written in the order of the plan.
//!
//! A step of the record is one second long: nothing changes in an estimate, so one interval says all of it. Workers' counts
//! and the sums of their times are those of the estimate; their histograms are empty, because means are all that is known.
//! Searches go by the same rule as in a run. Where a limit speaks of a percentile, the search alone takes latency for
//! exponential, and an event of the record says so.

use super::{DirectionRates, Estimate, Experiments, HopEstimate, IssuerEstimate, Solution};
use crate::plant::{EndMachine, NetStream, Plant};
use crate::simulate::meter::StreamCounts;
use crate::simulate::record_writer::RecordBook;
use crate::simulate::step_event::{Cut, HopHead, Note, Reading, StepStart, named};
use crate::simulate::{Compile, SIMULATED, SIMULATOR};
use campaign::{Campaign, Gauge, Progress, StepEnd, Stepper};
use clock::Ns;
use record::{
    Completed, CounterId, Event, Fact, Histogram, Level, Loop, OtherTallies, Phase, RecordError,
    Status, StepTimes, Writer,
};
use scenario::{Stage, Step};
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::Scope;

/// The fact of a record, of the subject `run`, that says that it is an estimate.
pub const ESTIMATED: &str = "estimated";
/// How long a step of the record is.
const STEP: Ns = Ns::secs(1);

/// What is to be estimated.
pub struct Order<'a> {
    /// In this order.
    pub stages: &'a [Stage],
    /// The lab as a network.
    pub compile: &'a Compile<'a>,
    /// Steps that are estimated at once, at least 1. Changes no figure.
    pub threads: usize,
}

/// A step, estimated.
pub struct Told<'a> {
    /// The step.
    pub step: &'a Step,
    /// Its network.
    pub plant: &'a Plant,
    /// What it will carry.
    pub estimate: &'a Estimate,
}

/// Estimates all stages into a record, which must be new. `tell` hears of each step. The step that could not be estimated,
/// by its number, and why: then the record is *failed*.
///
/// # Errors
/// The record cannot be written.
pub fn record(
    order: &Order,
    writer: Writer,
    tell: &mut dyn FnMut(Told),
) -> Result<Option<(u32, String)>, RecordError> {
    let mut book = RecordBook::new(writer);
    book.facts(provenance())?;
    std::thread::scope(|scope| {
        let session = Session { order, scope, book, tell, ahead: VecDeque::new(), failure: None };
        Campaign::new(session, order.stages).run(order.stages)
    })
}

/// What is known of a step.
struct Answer {
    plant: Plant,
    estimate: Estimate,
    experiments: Experiments,
}

impl Answer {
    fn of(order: &Order, step: &Step) -> Result<Answer, String> {
        let plant = (order.compile)(step)?;
        let solution = Solution::of(&plant);
        let (estimate, experiments) = (solution.estimate(), solution.experiments());
        Ok(Answer { plant, estimate, experiments })
    }
}

struct Session<'s, 'e, 't> {
    order: &'e Order<'e>,
    scope: &'s Scope<'s, 'e>,
    book: RecordBook,
    tell: &'t mut dyn FnMut(Told),
    /// Steps that are being estimated or are to be, in order.
    ahead: VecDeque<Receiver<Result<Answer, String>>>,
    failure: Option<(u32, String)>,
}

impl Stepper for Session<'_, '_, '_> {
    type Outcome = Option<(u32, String)>;
    type Error = RecordError;

    fn ahead(&mut self, steps: impl Iterator<Item = Step>) {
        // Without room: a thread that has found an answer waits until it is taken, so that few are kept.
        let (jobs, found): (Vec<_>, Vec<_>) = steps
            .map(|step| {
                let (tell, hear) = sync_channel(0);
                ((step, tell), hear)
            })
            .unzip();
        let order = self.order;
        let threads = order.threads.clamp(1, jobs.len().max(1));
        let jobs = Arc::new(Mutex::new(jobs.into_iter()));
        self.ahead.extend(found);
        for _ in 0..threads {
            let jobs = Arc::clone(&jobs);
            let next = move || jobs.lock().ok()?.next();
            self.scope.spawn(move || {
                while let Some((step, tell)) = next()
                    && tell.send(Answer::of(order, &step)).is_ok()
                {}
            });
        }
    }

    fn step(&mut self, step: &Step, gauge: Option<&mut Gauge>) -> Result<StepEnd, RecordError> {
        let found = self.ahead.pop_front().and_then(|found| found.recv().ok());
        let answer = match found.unwrap_or_else(|| Err("it was not announced".to_owned())) {
            Ok(answer) => answer,
            Err(why) => {
                let text = format!("the step cannot be estimated: {why}");
                self.event(Level::Error, "step-failed", &text)?;
                self.failure = Some((step.index, why));
                return Ok(StepEnd::Failed);
            }
        };
        let Answer { plant, estimate, experiments } = answer;
        self.write(step, &plant, &estimate, experiments, gauge)?;
        (self.tell)(Told { step, plant: &plant, estimate: &estimate });
        Ok(StepEnd::Done)
    }

    fn stopped(&mut self) -> bool {
        false
    }

    fn event(
        &mut self,
        level: Level,
        code: &'static str,
        text: &str,
    ) -> Result<Event, RecordError> {
        self.book.note(Note { at: Ns::ZERO, level, code, text: text.to_owned() })
    }

    /// An estimate is there at once: there is nothing to watch.
    fn show(&mut self, _: Progress) {}

    fn finish(self, status: Status) -> Result<Self::Outcome, RecordError> {
        self.book.finish(status)?;
        Ok(self.failure)
    }
}

impl Session<'_, '_, '_> {
    fn write(
        &mut self,
        step: &Step,
        plant: &Plant,
        of: &Estimate,
        experiments: Experiments,
        gauge: Option<&mut Gauge>,
    ) -> Result<(), RecordError> {
        let mut workers: BTreeMap<&str, ([Option<Completed>; 2], OtherTallies)> = BTreeMap::new();
        let mut names: Vec<String> = Vec::new();
        for (issuer, figures) in plant.issuers.iter().zip(&of.issuers) {
            if !names.contains(&issuer.source) {
                names.push(issuer.source.clone());
            }
            let (sides, others) = workers.entry(&issuer.source).or_default();
            let all = sides.iter_mut().chain(others);
            for (side, flow) in all.zip(figures.flows.iter().chain(&figures.others)) {
                add(side, flow, matches!(issuer.arrivals, Loop::Open { .. }));
            }
        }
        let hops = plant.hops.iter().filter(|hop| !hop.places.is_empty());
        let heads = hops.map(|hop| HopHead {
            name: hop.name.clone(),
            kind: hop.kind,
            device: hop.device.clone(),
            limits: hop.limits,
        });
        let times = StepTimes { start: Ns::ZERO, measure: Ns::ZERO, cooldown: STEP, end: STEP };
        let begun = StepStart {
            issuers: plant.issuers.clone(),
            workers: names.clone(),
            hops: heads.collect(),
            assumptions: plant.assumptions.clone(),
            pairs: plant.pairs.clone(),
            notes: plant.notes.clone(),
            experiments: named(plant, experiments),
            times,
        };
        let loads = self.book.begin(step, begun)?;
        for text in &of.left_out {
            let text = format!("the estimate leaves out {text}; simulate it");
            self.event(Level::Warning, "left-out", &text)?;
        }
        let streams = plant.streams().zip(&of.streams).map(carried).collect();
        let machines = machines(plant, of);
        let hops = plant.hops.iter().zip(&of.hops).filter(|(hop, _)| !hop.places.is_empty());
        let tallies = names.iter().filter_map(|name| workers.remove(name.as_str()));
        let (tallies, others) = tallies.unzip();
        let intervals = self.book.cut(Cut {
            phase: Phase::Measure,
            from: Ns::ZERO,
            to: STEP,
            workers: tallies,
            others,
            hops: hops.map(|(_, hop)| readings(hop)).collect(),
            streams,
            machines,
        })?;
        if let Some(gauge) = gauge {
            gauge.begin(times.measured(), &loads);
            intervals.iter().for_each(|interval| gauge.add(interval));
            // What waits ever longer has no mean.
            let response = |issuer: &IssuerEstimate| issuer.response.unwrap_or(f64::INFINITY);
            gauge.means(mean_ns(of, |issuer| issuer.service), mean_ns(of, response));
        }
        self.book.done(&[])
    }
}

/// A time of all issuers in nanoseconds, averaged over their I/Os; nothing where none ends.
fn mean_ns(of: &Estimate, of_issuer: impl Fn(&IssuerEstimate) -> f64) -> Option<f64> {
    let sum: f64 = of.issuers.iter().map(|i| of_issuer(i) * ops(i)).sum();
    (of.iops > 0.0).then(|| sum / of.iops * 1e9)
}

fn ops(issuer: &IssuerEstimate) -> f64 {
    issuer.flows.iter().map(|flow| flow.ops).sum()
}

/// Adds what an issuer does in a second; a direction in which it does nothing stays away.
fn add(side: &mut Option<Completed>, flow: &DirectionRates, open: bool) {
    if flow.ops <= 0.0 {
        return;
    }
    let tally = side.get_or_insert_with(|| Completed {
        response: open.then(Histogram::new),
        ..Completed::empty(false)
    });
    tally.ops += flow.ops.round() as u64;
    tally.bytes += flow.bytes.round() as u64;
    tally.service_sum = tally.service_sum.plus(Ns((flow.time * 1e9).round() as u64));
}

/// What a stream does in a second.
fn carried((stream, of): (&NetStream, &IssuerEstimate)) -> StreamCounts {
    let jobs = of.flows.iter().map(|flow| flow.ops).sum::<f64>();
    let times = Completed {
        ops: jobs.round() as u64,
        service_sum: Ns((of.service * jobs * 1e9).round() as u64),
        ..Completed::empty(false)
    };
    StreamCounts { jobs: jobs.round() as u64, lost: 0, times: stream.job.timed.then_some(times) }
}

/// Seconds of a second for which the processors of each pair's machines are busy, all of them together.
fn machines(plant: &Plant, of: &Estimate) -> Vec<[f64; 2]> {
    let busy = |machine: &EndMachine| {
        let share = of.hops.get(machine.processors).map_or(0.0, |hop| hop.utilization);
        share * f64::from(machine.cores)
    };
    plant.pairs.iter().map(|pair| [busy(&pair.machines[0]), busy(&pair.machines[1])]).collect()
}

/// A hop's counters over the second.
fn readings(hop: &HopEstimate) -> Vec<Reading> {
    let [read, write] = hop.flows;
    let mut all = vec![
        (CounterId::ReadOps, read.ops),
        (CounterId::WriteOps, write.ops),
        (CounterId::ReadBytes, read.bytes),
        (CounterId::WriteBytes, write.bytes),
        (CounterId::ReadTime, read.time * 1e9),
        (CounterId::WriteTime, write.time * 1e9),
        (CounterId::Busy, hop.utilization * 1e9),
        (CounterId::QueueDepthMean, hop.queue),
        (CounterId::Waiting, hop.waiting),
    ];
    if let Some(used) = hop.slots_used {
        all.push((CounterId::SlotsUsed, used));
        all.push((CounterId::SlotsWaiting, hop.slots_waiting));
    }
    all
}

/// How the record came to be.
fn provenance() -> Vec<Fact> {
    let fact =
        |key: &str, value: String| Fact { subject: "run".to_owned(), key: key.to_owned(), value };
    vec![
        fact(SIMULATED, "yes".to_owned()),
        fact(ESTIMATED, "yes".to_owned()),
        fact("simulator-version", format!("{SIMULATOR} {}", env!("CARGO_PKG_VERSION"))),
    ]
}

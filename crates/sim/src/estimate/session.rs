//! The steps of a scenario estimated one after the other, and the record of it.
//!
//! A step of the record is one second long: nothing changes in an estimate, so one interval says all of it. Workers' counts
//! and the sums of their times are those of the estimate; their histograms are empty, because means are all that is known.
//! Searches go by the same rule as in a run. Where a limit speaks of a percentile, the search alone takes latency for
//! exponential, and an event of the record says so.

use super::figures::of_all;
use super::{DirectionRates, Estimate, HopEstimate, IssuerEstimate, estimate};
use crate::plant::{EndMachine, Issuer, NetStream, Plant};
use crate::simulate::book::Book;
use crate::simulate::meter::Carried;
use crate::simulate::piece::{Begun, Cut, HopHead, Note, Reading};
use crate::simulate::{Compile, SIMULATED, SIMULATOR};
use clock::Ns;
use record::{Fact, Histogram, Level, Loop, Phase, RecordError, Status, StepTimes, Tally, Writer};
use scenario::search::{Limit, Measured, Next, Seen, Side};
use scenario::{Hunt, LatencyPoint, Metric, Stage, Step};
use std::collections::BTreeMap;

/// The fact of a record, of the subject `run`, that says that it is an estimate.
pub const ESTIMATED: &str = "estimated";
/// How long a step of the record is.
const STEP: Ns = Ns::secs(1);

/// What is to be estimated.
pub struct Order<'a> {
    /// In this order.
    pub stages: &'a [Stage],
    /// Steps by their numbers, from 0; all where there is none. Searches are left out where there is one.
    pub only: &'a [u32],
    /// The lab as a network.
    pub compile: &'a Compile<'a>,
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
    let mut session = Session { order, book: Book::new(writer), tell, next: 0, failure: None };
    session.book.facts(provenance())?;
    session.stages()?;
    let status = if session.failure.is_some() { Status::Failed } else { Status::Complete };
    session.book.finish(status)?;
    Ok(session.failure)
}

struct Session<'a, 't> {
    order: &'a Order<'a>,
    book: Book,
    tell: &'t mut dyn FnMut(Told),
    next: u32,
    failure: Option<(u32, String)>,
}

impl Session<'_, '_> {
    fn stages(&mut self) -> Result<(), RecordError> {
        let order = self.order;
        for (number, stage) in (0..).zip(order.stages) {
            match stage {
                Stage::Step(step) if order.only.is_empty() || order.only.contains(&number) => {
                    let step = Step { index: self.next, ..Step::clone(step) };
                    self.step(&step)?;
                }
                Stage::Search(hunt) if order.only.is_empty() => self.search(hunt)?,
                _ => {}
            }
            if self.failure.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// One step; what it showed, unless it could not be estimated.
    fn step(&mut self, step: &Step) -> Result<Option<(Plant, Estimate)>, RecordError> {
        self.next = step.index + 1;
        let plant = match (self.order.compile)(step) {
            Ok(plant) => plant,
            Err(why) => {
                let text = format!("the step cannot be estimated: {why}");
                let (level, code) = (Level::Error, "step-failed");
                self.book.note(Note { at: Ns::ZERO, level, code, text })?;
                self.failure = Some((step.index, why));
                return Ok(None);
            }
        };
        let estimate = estimate(&plant);
        self.write(step, &plant, &estimate)?;
        (self.tell)(Told { step, plant: &plant, estimate: &estimate });
        Ok(Some((plant, estimate)))
    }

    fn write(&mut self, step: &Step, plant: &Plant, of: &Estimate) -> Result<(), RecordError> {
        let mut workers: BTreeMap<&str, [Option<Tally>; 2]> = BTreeMap::new();
        let mut names: Vec<String> = Vec::new();
        for (issuer, figures) in plant.issuers.iter().zip(&of.issuers) {
            if !names.contains(&issuer.source) {
                names.push(issuer.source.clone());
            }
            let sides = workers.entry(&issuer.source).or_default();
            for (side, flow) in sides.iter_mut().zip(&figures.flows) {
                add(side, flow, matches!(issuer.arrivals, Loop::Open { .. }));
            }
        }
        let hops = plant.hops.iter().filter(|hop| !hop.places.is_empty());
        let heads = hops.map(|hop| HopHead {
            name: hop.name.clone(),
            device: hop.device.clone(),
            limits: hop.limits,
        });
        let times = StepTimes { start: Ns::ZERO, measure: Ns::ZERO, cooldown: STEP, end: STEP };
        let begun = Begun {
            issuers: plant.issuers.clone(),
            workers: names.clone(),
            hops: heads.collect(),
            assumptions: plant.assumptions.clone(),
            pairs: plant.pairs.clone(),
            notes: plant.notes.clone(),
            times,
        };
        self.book.begin(step, begun)?;
        for text in &of.left_out {
            let text = format!("the estimate leaves out {text}; simulate it");
            let (level, code) = (Level::Warning, "left-out");
            self.book.note(Note { at: Ns::ZERO, level, code, text })?;
        }
        let streams = plant.streams().zip(&of.streams).map(carried).collect();
        let machines = machines(plant, of);
        let hops = plant.hops.iter().zip(&of.hops).filter(|(hop, _)| !hop.places.is_empty());
        let tallies = names.iter().filter_map(|name| workers.remove(name.as_str()));
        self.book.cut(Cut {
            phase: Phase::Measure,
            from: Ns::ZERO,
            to: STEP,
            workers: tallies.collect(),
            hops: hops.map(|(_, hop)| readings(hop)).collect(),
            streams,
            machines,
        })?;
        self.book.done(&[])
    }

    /// A search, step by step, with the estimator in the place of a lab.
    fn search(&mut self, hunt: &Hunt) -> Result<(), RecordError> {
        let search = &hunt.search;
        let mut seen: Vec<Seen> = Vec::new();
        let found = loop {
            let (load, repetition) = match search.next(&seen) {
                Next::Run { load, repetition, .. } => (load, repetition),
                Next::Stop(found) => break *found,
            };
            let step = hunt.step(self.next, load, repetition, seen.is_empty());
            let Some((plant, of)) = self.step(&step)? else { return Ok(()) };
            seen.push(see(search, &step, load, &plant, &of));
        };
        if search.limits().iter().any(is_percentile) {
            let text =
                "an estimate knows means: the search took latency for exponential".to_owned();
            let (level, code) = (Level::Warning, "assumed-exponential");
            self.book.note(Note { at: Ns::ZERO, level, code, text })?;
        }
        let text =
            format!("{}. The search ended: {}", search.answer(&found), search.reason(&found));
        self.book.note(Note { at: Ns::ZERO, level: Level::Info, code: "search-ended", text })?;
        Ok(())
    }
}

fn is_percentile(limit: &Limit) -> bool {
    let point = |point: LatencyPoint| !matches!(point, LatencyPoint::Mean);
    matches!(limit.metric, Metric::Latency { point: of, .. } if point(of))
}

/// What an estimated step has shown, as the rule of a search wants to see it.
fn see(
    search: &scenario::search::Search,
    step: &Step,
    load: f64,
    plant: &Plant,
    of: &Estimate,
) -> Seen {
    let all = of_all(&of.issuers);
    let side = |flow: &DirectionRates| Side {
        ops: flow.ops.round() as u64,
        bytes: flow.bytes.round() as u64,
        errors: 0,
    };
    let (mut due, mut done, mut depth) = (0.0, 0.0, 0.0);
    for (Issuer { arrivals, .. }, figures) in plant.issuers.iter().zip(&of.issuers) {
        match arrivals {
            Loop::Closed { depth: of, .. } => depth += f64::from(*of),
            Loop::Open { rate } => {
                due += rate;
                done += figures.flows.iter().map(|flow| flow.ops).sum::<f64>();
            }
        }
    }
    let mean = |of_issuer: fn(&IssuerEstimate) -> f64| {
        let sum: f64 = of.issuers.iter().map(|i| of_issuer(i) * ops(i)).sum();
        (of.iops > 0.0).then(|| sum / of.iops * 1e9)
    };
    let latency = |point: LatencyPoint, response: bool| {
        let mean = match response {
            // What waits ever longer has no mean.
            true => mean(|issuer| issuer.response.unwrap_or(f64::INFINITY)),
            false => mean(|issuer| issuer.service),
        }?;
        let share = match point {
            LatencyPoint::Mean => return Some(mean),
            LatencyPoint::Percentile(p) => (p / 100.0).min(1.0 - 1e-9),
            LatencyPoint::Max => 1.0 - 1e-6,
        };
        Some(-mean * (1.0 - share).ln())
    };
    search.see(&Measured {
        load,
        seconds: 1.0,
        read: side(&all[0]),
        write: side(&all[1]),
        latency: &latency,
        open: due > 0.0,
        due,
        done,
        depth_asked: step.depth_asked(),
        depth_carried: depth,
        complete: !plant.issuers.is_empty(),
    })
}

fn ops(issuer: &IssuerEstimate) -> f64 {
    issuer.flows.iter().map(|flow| flow.ops).sum()
}

/// Adds what an issuer does in a second; a direction in which it does nothing stays away.
fn add(side: &mut Option<Tally>, flow: &DirectionRates, open: bool) {
    if flow.ops <= 0.0 {
        return;
    }
    let tally = side.get_or_insert_with(|| Tally {
        response: open.then(Histogram::new),
        ..Tally::empty(false)
    });
    tally.ops += flow.ops.round() as u64;
    tally.bytes += flow.bytes.round() as u64;
    tally.service_sum = tally.service_sum.plus(Ns((flow.time * 1e9).round() as u64));
}

/// What a stream does in a second.
fn carried((stream, of): (&NetStream, &IssuerEstimate)) -> Carried {
    let jobs = of.flows.iter().map(|flow| flow.ops).sum::<f64>();
    let times = Tally {
        ops: jobs.round() as u64,
        service_sum: Ns((of.service * jobs * 1e9).round() as u64),
        ..Tally::empty(false)
    };
    Carried { jobs: jobs.round() as u64, lost: 0, times: stream.job.timed.then_some(times) }
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
        ("read-ops", read.ops, "1"),
        ("write-ops", write.ops, "1"),
        ("read-bytes", read.bytes, "B"),
        ("write-bytes", write.bytes, "B"),
        ("read-time", read.time * 1e9, "ns"),
        ("write-time", write.time * 1e9, "ns"),
        ("busy", hop.utilization * 1e9, "ns"),
        ("queue", hop.queue, "1"),
        ("waiting", hop.waiting, "1"),
    ];
    if let Some(used) = hop.slots_used {
        all.push(("slots-used", used, "1"));
        all.push(("slots-waiting", hop.slots_waiting, "1"));
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

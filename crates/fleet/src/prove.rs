//! Plans the rounds that prove what limits a step: what is slowed in them, what cannot be and why, and in which order.
//!
//! What is slowed is the capacity of a hop itself, or a load, never the flow: a hop without a limit of its own is left alone, as
//! holding it to nine tenths of what it carries would cost a tenth whatever limits. A round in which nothing is slowed and one
//! of each kind make a block; the order within a block is drawn, so that a drift falls on all alike.

use crate::arrays::port_hop;
use crate::assign::AssignError;
use crate::draft::{IoTarget, TargetTable, WorkerDraft, draft};
use clock::{Ns, Rng};
use engine::{LoadChange, Throttle};
use record::{Lever, Loop, Perturbation, Proof, SourceId, Untouched, WorkerLoad};
use scenario::{Prove, SLOWED, Scenario, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use workload::Arrivals;

/// Purpose of the random stream that orders the rounds.
const ORDER: u64 = 0x0070_726f_7665;

/// Of so many arrivals one is left out where an open loop is slowed.
const SKIP_EVERY: u32 = 10;

/// Why a hop or a load is left alone.
const NO_SPEED: &str = "it has neither a speed nor a delay of its own";
const NOT_OURS: &str = "no array of this run holds it";
const ONE_AT_A_TIME: &str = "one I/O at a time is the least";
const NETWORK: &str = "a network load";
const GENERATOR: &str = "what issues the load cannot be slowed without a change of the load";

/// The rounds of a step, as a run would plan them; `None` where its plan asks for none.
/// # Errors
/// Where the step cannot be run on live engines.
pub fn planned(scenario: &Scenario, step: &Step, seed: u64) -> Result<Option<Proof>, AssignError> {
    let table = TargetTable::new(scenario);
    let drafts = draft(&table, step)?;
    Ok(proof(&table, step, &drafts, seed))
}

/// The same for the workers of a step.
pub(crate) fn proof(
    table: &TargetTable,
    step: &Step,
    drafts: &[WorkerDraft],
    seed: u64,
) -> Option<Proof> {
    let Prove { rounds, round } = step.prove?;
    let mut found = Found::default();
    found.arrays(table, step, drafts);
    found.loads(drafts);
    for load in step.net_loads() {
        found.leave(&load.workload.name, NETWORK);
    }
    found.leave("the generator", GENERATOR);
    let Found { perturbations, untouched } = found;
    let settle = Ns(Ns::from(round).0 / 3);
    let rounds = order(rounds, perturbations.len() as u32, seed, step.index);
    Some(Proof { round: Ns(settle.0 * 3), settle, perturbations, untouched, rounds })
}

/// Blocks of one round of each kind, each block in an order of its own; none where nothing can be slowed.
fn order(blocks: u32, kinds: u32, seed: u64, step: u32) -> Vec<Option<u32>> {
    let mut rng = Rng::keyed(seed, &[ORDER, step.into()]);
    let mut all = Vec::new();
    for _ in 0..if kinds > 0 { blocks } else { 0 } {
        let mut block: Vec<Option<u32>> = (0..kinds).map(Some).chain([None]).collect();
        for last in (1..block.len()).rev() {
            block.swap(last, rng.below(last as u64 + 1) as usize);
        }
        all.extend(block);
    }
    all
}

/// What is slowed, and what is left alone.
#[derive(Default)]
struct Found {
    perturbations: Vec<Perturbation>,
    untouched: Vec<Untouched>,
}

impl Found {
    fn slow(&mut self, subject: &str, lever: Lever, factor: f64) {
        self.perturbations.push(Perturbation { subject: subject.to_owned(), lever, factor });
    }

    fn leave(&mut self, subject: &str, why: &str) {
        self.untouched.push(Untouched { subject: subject.to_owned(), why: why.to_owned() });
    }

    /// Slows what a hop has; leaves it alone where that is nothing.
    fn hop(&mut self, subject: &str, has: &[(Lever, bool)]) {
        let before = self.perturbations.len();
        for (lever, _) in has.iter().filter(|(_, has)| *has) {
            self.slow(subject, *lever, SLOWED);
        }
        if self.perturbations.len() == before {
            self.leave(subject, NO_SPEED);
        }
    }

    /// The ports, volumes and processors that the workers reach, and what they reach beside embedded arrays.
    fn arrays(&mut self, table: &TargetTable, step: &Step, drafts: &[WorkerDraft]) {
        let used: BTreeSet<usize> = drafts.iter().flat_map(|of| &of.targets).copied().collect();
        let (mut ports, mut volumes, mut others) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for target in used {
            match &table.targets[target] {
                IoTarget::Disk(disk) => {
                    ports.extend(disk.ports.iter().map(|port| (disk.array, port.as_str())));
                    volumes.insert((disk.array, disk.volume));
                }
                IoTarget::Target(target) => others.push(target.name.as_str()),
            }
        }
        let lab = &table.scenario.lab;
        for array in &lab.arrays {
            let Some(embedded) = &array.embedded else { continue };
            if !volumes.iter().any(|(of, _)| *of == array.name) {
                continue;
            }
            for port in &embedded.ports {
                if ports.contains(&(array.name.as_str(), port.name.as_str())) {
                    let rate = (Lever::Rate, embedded.rate(port, step).is_some());
                    let delay = (Lever::Latency, port.latency > Duration::ZERO);
                    self.hop(&port_hop(&array.name, &port.name), &[rate, delay]);
                }
            }
            self.slow(&array.name, Lever::Cpu, SLOWED);
        }
        for volume in &lab.volumes {
            if volumes.contains(&(volume.array.as_str(), volume.name.as_str())) {
                let has = [
                    (Lever::Rate, volume.rate.is_some()),
                    (Lever::Ops, volume.iops.is_some()),
                    (Lever::Latency, volume.latency > Duration::ZERO),
                ];
                self.hop(&lab.volume_hop(&volume.array, &volume.name), &has);
            }
        }
        others.into_iter().for_each(|name| self.leave(name, NOT_OURS));
    }

    /// The loads of the workers, by workload.
    fn loads(&mut self, drafts: &[WorkerDraft]) {
        for (workload, of) in by_workload(drafts) {
            match of[0].load.workload.spec.arrivals {
                Arrivals::Open { .. } => {
                    let skipped = f64::from(SKIP_EVERY - 1) / f64::from(SKIP_EVERY);
                    self.slow(workload, Lever::Arrivals, skipped);
                }
                Arrivals::Closed { think, .. } => {
                    let slots: u32 = depths(&of).iter().sum();
                    match slots {
                        0 | 1 => self.leave(workload, ONE_AT_A_TIME),
                        _ => {
                            let left = slots - idle(slots);
                            self.slow(workload, Lever::Depth, f64::from(left) / f64::from(slots));
                        }
                    }
                    if think > Ns::ZERO {
                        self.slow(workload, Lever::Think, SLOWED);
                    }
                }
            }
        }
    }
}

/// The workers of each workload, in their order.
fn by_workload<'a, 'b>(
    drafts: &'b [WorkerDraft<'a>],
) -> BTreeMap<&'a str, Vec<&'b WorkerDraft<'a>>> {
    let mut all: BTreeMap<&str, Vec<&WorkerDraft>> = BTreeMap::new();
    for of in drafts {
        all.entry(&of.load.workload.name).or_default().push(of);
    }
    all
}

/// The slots of each worker of a closed loop.
fn depths(of: &[&WorkerDraft]) -> Vec<u32> {
    of.iter().map(|worker| worker.load.workload.spec.outstanding_max()).collect()
}

/// How many of so many slots issue nothing while a closed loop is slowed: a tenth, and at least one.
pub(crate) fn idle(slots: u32) -> u32 {
    ((f64::from(slots) * (1.0 - SLOWED)).round() as u32).max(1)
}

/// How the load of each worker changes in the rounds.
pub(crate) fn changes(proof: &Proof, drafts: &[WorkerDraft]) -> Vec<Vec<LoadChange>> {
    let mut idle_slots = BTreeMap::new();
    for (_, of) in by_workload(drafts) {
        let mut left = depths(&of);
        for _ in 0..idle(left.iter().sum()) {
            // The deepest gives one; of equal ones the first.
            let most = left.iter().copied().max().unwrap_or(0);
            if let Some(deepest) = left.iter_mut().find(|slots| **slots == most && most > 0) {
                *deepest -= 1;
            }
        }
        for (worker, (left, slots)) in of.iter().zip(left.into_iter().zip(depths(&of))) {
            idle_slots.insert(worker.name.clone(), slots - left);
        }
    }
    let of_worker = |worker: &WorkerDraft| {
        let workload = &worker.load.workload;
        let think = match workload.spec.arrivals {
            Arrivals::Closed { think, .. } => think,
            Arrivals::Open { .. } => Ns::ZERO,
        };
        let throttle = |slowed: &Perturbation| match slowed.lever {
            _ if slowed.subject != workload.name => Throttle::default(),
            Lever::Depth => {
                let idle_slots = idle_slots.get(&worker.name).copied().unwrap_or(0);
                Throttle { idle_slots, ..Throttle::default() }
            }
            Lever::Think => {
                let more_think = Ns((think.0 as f64 * (1.0 / slowed.factor - 1.0)).round() as u64);
                Throttle { more_think, ..Throttle::default() }
            }
            Lever::Arrivals => Throttle { skip_every: SKIP_EVERY, ..Throttle::default() },
            _ => Throttle::default(),
        };
        let mut changes: Vec<LoadChange> = Vec::new();
        let rounds =
            proof.rounds.iter().map(|of| of.and_then(|n| proof.perturbations.get(n as usize)));
        for (n, slowed) in rounds.chain([None]).enumerate() {
            let to = slowed.map_or(Throttle::default(), throttle);
            let before = changes.last().map_or(Throttle::default(), |last| last.to);
            if to != before {
                changes.push(LoadChange { after: proof.begin(n), to });
            }
        }
        changes
    };
    drafts.iter().map(of_worker).collect()
}

/// Corrects by how much loads are slowed where their queues carry fewer operations than were asked for.
pub(crate) fn carried_out(
    proof: &mut Proof,
    loads: &[WorkerLoad],
    depths: &BTreeMap<SourceId, u32>,
) {
    for slowed in proof.perturbations.iter_mut().filter(|of| of.lever == Lever::Depth) {
        let of = loads.iter().filter(|load| load.workload == slowed.subject);
        let slots = of.map(|load| match load.arrivals {
            Loop::Closed { depth, .. } => [depth, *depths.get(&load.source).unwrap_or(&depth)],
            Loop::Open { .. } | Loop::Observed => [0, 0],
        });
        let [asked, real] = slots.fold([0, 0], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
        if real > idle(asked) {
            slowed.factor = f64::from(real - idle(asked)) / f64::from(real);
        }
    }
}

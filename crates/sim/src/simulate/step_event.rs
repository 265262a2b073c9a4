//! The events of a simulated step, in order: the interface between the thread that simulates it and the one that writes the
//! record.
//!
//! Times count from the step's start. No event depends on the simulation of other steps, so the number of threads has no effect.

use super::meter::{StreamCounts, Tallies};
use crate::estimate::{Doubled, Experiment, Experiments, HopTurn};
use crate::plant::{Assumption, HopLimits, Issuer, MachinePair, Plant, PlantNote};
use clock::Ns;
use record::{Confidence, CounterId, HopKind, Level, OtherTallies, Phase, StepTimes};

/// An event of a simulated step.
pub(crate) enum StepEvent {
    /// It begins.
    StepStart(Box<StepStart>),
    /// Its measurement begins sooner than announced, or later.
    Times(StepTimes),
    /// What happened between two cuts.
    Cut(Box<Cut>),
    /// Something to be known.
    Note(Note),
    /// It has come to its end.
    Done(Vec<Confidence>),
    /// It cannot go on.
    Failed(String),
}

/// The participants of a step.
pub(crate) struct StepStart {
    pub issuers: Vec<Issuer>,
    /// Names of the workers: those of the issuers, each once.
    pub workers: Vec<String>,
    pub hops: Vec<HopHead>,
    pub assumptions: Vec<Assumption>,
    pub pairs: Vec<MachinePair>,
    /// Further notes.
    pub notes: Vec<PlantNote>,
    /// What throughput gains where something is doubled.
    pub experiments: Vec<DoubledHops>,
    pub times: StepTimes,
}

/// What is known by experiment of some hops, or with none of them of the load.
pub(crate) struct DoubledHops {
    pub reading: Reading,
    pub hops: Vec<String>,
}

/// The experiments on a plant under the names of its hops.
pub(crate) fn named(plant: &Plant, of: Experiments) -> Vec<DoubledHops> {
    if of.all.is_empty() {
        return Vec::new();
    }
    let named = |Experiment { doubled, gain }| {
        let (counter, hops) = match doubled {
            Doubled::Served(hops) => (CounterId::DoubledGain, hops),
            Doubled::Slots(hops) => (CounterId::DoubledSlotsGain, hops),
            Doubled::Together(hops) => (CounterId::DoubledTogetherGain, hops),
            Doubled::Load => (CounterId::DoubledGain, Vec::new()),
        };
        let hops = hops.into_iter().map(|hop| plant.hops[hop].name.clone()).collect();
        DoubledHops { reading: (counter, gain), hops }
    };
    let before = DoubledHops { reading: (CounterId::EstimatedOps, of.iops), hops: Vec::new() };
    let turned = |HopTurn { hop, ios, paths }| {
        let of = [(CounterId::TurnIos, ios), (CounterId::TurnPaths, paths)];
        of.map(|reading| DoubledHops { reading, hops: vec![plant.hops[hop].name.clone()] })
    };
    let turns = of.turns.into_iter().flat_map(turned);
    std::iter::once(before).chain(of.all.into_iter().map(named)).chain(turns).collect()
}

/// A hop as the record names it.
pub(crate) struct HopHead {
    pub name: String,
    pub kind: HopKind,
    pub device: String,
    pub limits: HopLimits,
}

/// The work of all participants between two cuts.
pub(crate) struct Cut {
    pub phase: Phase,
    pub from: Ns,
    pub to: Ns,
    /// Of each worker.
    pub workers: Vec<Tallies>,
    /// Of each worker, operations without data.
    pub others: Vec<OtherTallies>,
    /// Of each hop: its counters.
    pub hops: Vec<Vec<Reading>>,
    /// Of each stream, in the order of the pairs.
    pub streams: Vec<StreamCounts>,
    /// Seconds for which the processors of each pair's two machines were busy, all of them together.
    pub machines: Vec<[f64; 2]>,
}

/// Seconds for which all processors of each pair's machines were busy, by what the hops of a plant counted.
pub(crate) fn machines(pairs: &[MachinePair], hops: &[Vec<Reading>]) -> Vec<[f64; 2]> {
    let busy = |machine: &crate::plant::EndMachine| {
        let readings = hops.get(machine.processors);
        let reading = readings.and_then(|all| all.iter().find(|(id, _)| *id == CounterId::Busy));
        reading.map_or(0.0, |(_, value)| value * 1e-9 * f64::from(machine.cores))
    };
    pairs.iter().map(|pair| [busy(&pair.machines[0]), busy(&pair.machines[1])]).collect()
}

/// A counter and its value.
pub(crate) type Reading = (CounterId, f64);

/// An event of a step.
pub(crate) struct Note {
    pub at: Ns,
    pub level: Level,
    pub code: &'static str,
    pub text: String,
}

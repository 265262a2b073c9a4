//! Proof by perturbation: what throughput and p99 lost in the rounds in which a hop, or the load, was slowed, as elasticities.
//!
//! An elasticity is the logarithm of the ratio of two figures by that of two capacities: 1 means that a capacity lowered by a
//! tenth takes a tenth of the throughput, 0 that it takes nothing. The rounds of a block are compared with the one of them in which
//! nothing was slowed, so that a drift cancels, and the differences of all blocks have a location and an interval
//! ([`statistics::location`]).

use crate::statistics::{CONFIDENCE, location};
use clock::Ns;
use record::{Histogram, Interval, Lever, Proof, ProofRound, Record, RecordError, StepHead};
use serde::Serialize;

/// Latencies are stored with two digits: so far may a ratio of two be off.
const RESOLUTION: f64 = 0.01;
/// The logarithm of the largest ratio of two rounds that counts: a hundredfold.
const FARTHEST: f64 = 4.6;
/// A round of which more is missing than this share was not reported.
const MISSING: f64 = 0.001;

/// The rounds of a step, and what they tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepProof {
    /// Rounds that were planned.
    pub rounds: u32,
    /// Rounds that every worker reported.
    pub rounds_done: u32,
    /// The length of a round, its settling included.
    pub round_ns: u64,
    /// What was slowed, that which throughput follows most first.
    pub slowed: Vec<Slowed>,
    /// What was not slowed.
    pub untouched: Vec<LeftAlone>,
}

/// Something that was slowed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slowed {
    /// The hop, or the workload.
    pub subject: String,
    /// What of it was lowered.
    pub lever: LeverName,
    /// What was left of it, as a share.
    pub factor: f64,
    /// Blocks with a round in which it was slowed and one in which nothing was.
    pub blocks: u32,
    /// The elasticity of throughput; `None` where too few rounds were reported.
    pub throughput: Option<Elasticity>,
    /// The elasticity of the 99th percentile of latency.
    pub p99: Option<Elasticity>,
}

/// Something that was not slowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftAlone {
    /// The hop, or the workload.
    pub subject: String,
    /// Why.
    pub why: String,
}

/// An elasticity with its interval of 95% confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Elasticity {
    /// The estimate.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// What the figure changed by in these rounds, as a share: -0.098.
    pub change: f64,
}

/// What of a hop or of a load was lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LeverName {
    /// Bytes a second.
    Rate,
    /// I/Os a second.
    Ops,
    /// A delay, which was longer.
    Latency,
    /// The speed of processors.
    Cpu,
    /// Outstanding I/Os of a closed loop.
    Depth,
    /// The pause of a closed loop, which was longer.
    Think,
    /// The rate of an open loop.
    Arrivals,
}

impl From<Lever> for LeverName {
    fn from(lever: Lever) -> LeverName {
        match lever {
            Lever::Rate => LeverName::Rate,
            Lever::Ops => LeverName::Ops,
            Lever::Latency => LeverName::Latency,
            Lever::Cpu => LeverName::Cpu,
            Lever::Depth => LeverName::Depth,
            Lever::Think => LeverName::Think,
            Lever::Arrivals => LeverName::Arrivals,
        }
    }
}

/// What all workers did in a round.
#[derive(Clone, Debug, Default)]
struct RoundTally {
    bytes: u64,
    /// Summed over the workers.
    covered: Ns,
    latency: Option<Histogram>,
}

impl RoundTally {
    fn add(&mut self, interval: &Interval) {
        self.covered = self.covered.plus(interval.to.since(interval.from));
        for tally in interval.work() {
            self.bytes = self.bytes.saturating_add(tally.bytes);
            let theirs = tally.response.as_ref().unwrap_or(&tally.service);
            match &mut self.latency {
                Some(mine) => mine.merge(theirs),
                none => *none = Some(theirs.clone()),
            }
        }
    }

    fn figures(self) -> RoundFigures {
        let p99_ns = self.latency.and_then(|latency| latency.percentile(99.0));
        RoundFigures { bytes: self.bytes as f64, p99_ns: p99_ns.map(|p99| p99.0 as f64) }
    }
}

/// What counts of a round.
#[derive(Clone, Copy, Debug)]
struct RoundFigures {
    bytes: f64,
    /// `None` where nothing was done.
    p99_ns: Option<f64>,
}

/// The proof of a step; `None` where it has no rounds.
pub(crate) fn of_step(record: &Record, head: &StepHead) -> Result<Option<StepProof>, RecordError> {
    let Some(proof) = record.proof(head.index).filter(|_| !head.workers.is_empty()) else {
        return Ok(None);
    };
    let rounds: Vec<ProofRound> = proof.rounds_of(head).collect();
    let mut tallies = vec![RoundTally::default(); rounds.len()];
    record.for_each_interval(head.index, &mut |interval| {
        let known = head.workers.iter().any(|worker| worker.source == interval.source);
        let at = rounds.partition_point(|round| round.to <= interval.from);
        let within =
            rounds.get(at).is_some_and(|of| of.from <= interval.from && interval.to <= of.to);
        if known && within {
            tallies[at].add(&interval);
        }
    })?;
    let whole = proof.round.since(proof.settle).0 as f64 * head.workers.len() as f64;
    let done = |tally: RoundTally| {
        (tally.covered.0 as f64 >= whole * (1.0 - MISSING)).then(|| tally.figures())
    };
    let tallies: Vec<Option<RoundFigures>> = tallies.into_iter().map(done).collect();
    Ok(Some(told(proof, &tallies)))
}

/// What the rounds tell.
fn told(proof: &Proof, tallies: &[Option<RoundFigures>]) -> StepProof {
    let block = proof.perturbations.len() + 1;
    let rounds: Vec<_> = proof.rounds.iter().zip(tallies).collect();
    let round = |block: &[(&Option<u32>, &Option<RoundFigures>)], wanted: Option<u32>| {
        let (_, figures) = block.iter().find(|(slowed, _)| **slowed == wanted)?;
        **figures
    };
    let pairs = |wanted: u32| -> Vec<[RoundFigures; 2]> {
        let pair = |block| Some([round(block, None)?, round(block, Some(wanted))?]);
        rounds.chunks(block).filter_map(pair).collect()
    };
    let mut slowed: Vec<Slowed> = (0..)
        .zip(&proof.perturbations)
        .map(|(n, of)| {
            let pairs = pairs(n);
            let bytes: Vec<_> = pairs.iter().map(|pair| pair.map(|of| of.bytes)).collect();
            let p99 = pairs.iter().map(|[a, b]| Some([a.p99_ns?, b.p99_ns?]));
            let p99: Option<Vec<_>> = p99.collect();
            Slowed {
                subject: of.subject.clone(),
                lever: of.lever.into(),
                factor: of.factor,
                blocks: pairs.len() as u32,
                throughput: elasticity(&bytes, of.factor, 0.0),
                p99: p99.and_then(|p99| elasticity(&p99, of.factor, RESOLUTION)),
            }
        })
        .collect();
    let follows = |of: &Slowed| of.throughput.map_or(f64::NEG_INFINITY, |of| of.value);
    slowed.sort_by(|a, b| follows(b).total_cmp(&follows(a)));
    let left = proof.untouched.iter();
    StepProof {
        rounds: proof.rounds.len() as u32,
        rounds_done: tallies.iter().flatten().count() as u32,
        round_ns: proof.round.0,
        slowed,
        untouched: left
            .map(|of| LeftAlone { subject: of.subject.clone(), why: of.why.clone() })
            .collect(),
    }
}

/// The elasticity of a figure to a capacity that was lowered to a share: from pairs of the figure without and with that, each of
/// which may be off by a share of `resolution`. `None` where the pairs are too few for an interval, or a pair is of zeros.
pub fn elasticity(pairs: &[[f64; 2]], factor: f64, resolution: f64) -> Option<Elasticity> {
    let lowered = factor.ln();
    // A round in which the machine stood still is as far off as a figure counts, and no further.
    let ratio = |[usual, slowed]: &[f64; 2]| (slowed / usual).ln().clamp(-FARTHEST, FARTHEST);
    let ratios: Vec<f64> = pairs.iter().map(ratio).collect();
    let found = location(&ratios, CONFIDENCE)?;
    // Capacity falls, so the ends of the interval change places.
    let by = |ratio: f64| ratio / lowered;
    let off = (resolution / lowered).abs();
    Some(Elasticity {
        value: by(found.value),
        low: by(found.high) - off,
        high: by(found.low) + off,
        change: found.value.exp() - 1.0,
    })
}

//! Estimates what a plant will carry without simulating it: mean values, bounds, and the chain of bottlenecks.
//!
//! ```text
//! Plant ──► walk (flat routes) ──► symmetry ──► Lumped ─┬─► fluid  (constant times: prices of full spots)
//!                                                       ├─► mean   (exponential times: mean value analysis)
//!                                                       ├─► blend  (interpolates by variability)
//!                                                       └─► open   (queue limits of open loads) ──► Estimate
//! ```
//!
//! The fluid solution comes first, since it starts the others, and stands alone where mean value analysis does not
//! converge.
//!
//! A pure function of the plant, without randomness or clock. It yields means only. What it ignores (scheduled failures,
//! successive phases, priorities) is listed in [`Estimate::left_out`] and needs the event engine.

mod accelerate;
mod arms;
mod blend;
mod bounds;
mod bursts;
mod company;
mod experiment;
mod figures;
mod fluid;
mod gated;
mod held;
mod in_use;
mod joint;
mod limits;
mod lumped;
mod mean;
mod mix;
mod open;
mod own_limits;
mod pace;
mod parallel;
mod ramps;
mod repeats;
mod session;
mod sites;
#[cfg(test)]
mod smooth;
mod spacing;
mod state;
mod stripes;
mod symmetry;
mod turns;
mod upstream;
mod walk;

pub use experiment::{Doubled, Experiment, Experiments, HopTurn, experiments};
pub use session::{ESTIMATED, Order, Told, record};

use crate::analytic::ThroughputBounds;
use crate::plant::Plant;
use limits::{Bottleneck, HopGroup, Solved};
use lumped::Lumped;
use ramps::Ramps;
use state::SiteSums;
use symmetry::Alike;

/// What a plant will carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// In the order of the plant's hops.
    pub hops: Vec<HopEstimate>,
    /// In the order of the plant's issuers.
    pub issuers: Vec<IssuerEstimate>,
    /// In the order of the plant's streams; counted in jobs.
    pub streams: Vec<IssuerEstimate>,
    /// I/Os a second of all issuers, those without data among them, and jobs of all streams.
    pub iops: f64,
    /// Throughput bounds for any distributions, in I/Os a second.
    pub bounds: ThroughputBounds,
    /// The tighter bounds of balanced jobs, valid for exponential times; where they apply.
    pub balanced: Option<ThroughputBounds>,
    /// The bottleneck, then the next one with the first doubled, and so on; at least one.
    pub limits: Vec<Limiting>,
    /// The answer is the fluid one, where every full hop is exactly full and no other hop has a queue, because the
    /// solution with queues was not found.
    pub is_fluid: bool,
    /// What the estimate ignores of the plant, in words.
    pub left_out: Vec<String>,
    /// The effort that the estimate took.
    pub work: Work,
}

/// Estimated figures of a hop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HopEstimate {
    /// Utilization of its busiest server or direction, 0 to 1.
    pub utilization: f64,
    /// Read and written.
    pub flows: [DirectionRates; 2],
    /// Mean I/Os present, waiting or in service.
    pub queue: f64,
    /// Mean I/Os waiting.
    pub waiting: f64,
    /// Mean tokens in use, where it has a queue limit.
    pub slots_used: Option<f64>,
    /// Mean I/Os waiting for a token.
    pub slots_waiting: f64,
}

/// The traffic in one direction, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionRates {
    /// I/Os a second.
    pub ops: f64,
    /// Bytes a second.
    pub bytes: f64,
    /// Residence times of a second's I/Os, in seconds; divided by `ops` it is the mean latency.
    pub time: f64,
}

/// Estimated figures of an issuer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IssuerEstimate {
    /// Read and written.
    pub flows: [DirectionRates; 2],
    /// Operations without data, in the order of [`workload::Dir::WITHOUT_DATA`].
    pub others: [DirectionRates; 3],
    /// Mean seconds from submission to completion.
    pub service: f64,
    /// Mean seconds from when an I/O was due; `None` where more falls due than is carried, so that it grows without
    /// limit.
    pub response: Option<f64>,
    /// I/Os a second that fall due, for an open load.
    pub asked: Option<f64>,
}

/// A bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct Limiting {
    /// What limits.
    pub limit: LimitedBy,
    /// Utilization of its fullest hop, 0 to 1.
    pub utilization: f64,
    /// How much more of this load fills it, as a share: 0.25 is a quarter more.
    pub headroom: f64,
    /// The fullest of the plant's hops, where no hop is the bottleneck.
    pub fullest: Option<usize>,
    /// Hops with room that limit as their paths take turns: the I/Os over one before the next.
    pub turn: Option<f64>,
    /// I/Os a second, with the bottlenecks before it in the chain doubled.
    pub iops: f64,
    /// Bytes a second, with the bottlenecks before it in the chain doubled.
    pub rate: f64,
}

/// What limits the throughput.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitedBy {
    /// Hops that are full: indices in the plant. Several where they are alike, or full at once.
    Hops(Vec<usize>),
    /// The number of outstanding I/Os; no hop is full. More depth, or less latency, would bring more.
    Depth,
    /// The arrival rate: all that falls due is carried.
    Rate,
}

/// The effort of an estimate, so that a test can bound it without a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Distinct loads.
    pub loads: usize,
    /// Distinct stations, links and pools.
    pub places: usize,
    /// Visits of these loads.
    pub visits: usize,
    /// Iterations of all fixed points.
    pub rounds: usize,
}

/// The elasticity of throughput to a hop's speed, measured with the hop 10% faster: 1 where throughput grows in
/// proportion, 0 where it does not grow.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Indices in the plant: hops that are alike.
    pub hops: Vec<usize>,
    /// Relative change of throughput over relative change of speed.
    pub elasticity: f64,
}

/// The hops, issuers and streams of an estimate, without its bottlenecks.
#[derive(Clone, Debug, PartialEq)]
pub struct Means {
    /// In the order of the plant's hops.
    pub hops: Vec<HopEstimate>,
    /// In the order of the plant's issuers.
    pub issuers: Vec<IssuerEstimate>,
    /// In the order of the plant's streams; counted in jobs.
    pub streams: Vec<IssuerEstimate>,
}

/// The means of [`estimate`] alone, for frequent callers: the bottlenecks cost several times as much.
pub fn means(plant: &Plant) -> Means {
    let Solution { lumped, solved, .. } = Solution::of(plant);
    Means {
        hops: figures::hops(plant, &lumped, &solved),
        issuers: figures::issuers(plant, &lumped, &solved),
        streams: figures::streams(plant, &lumped, &solved),
    }
}

/// A plant whose network is solved, from which several answers follow.
pub struct Solution<'a> {
    plant: &'a Plant,
    /// The network with like elements merged, and its solution.
    lumped: Lumped,
    solved: Solved,
    /// Where rates rise or fall, these are means; what limits follows from the same at the highest rates.
    highest: Option<(Lumped, Solved)>,
}

impl Solution<'_> {
    /// Solves the network of a plant. A stock, such as the dirty data of a cache, is taken to be small; where that would fill it,
    /// it is full.
    pub fn of(plant: &Plant) -> Solution<'_> {
        let alike = Alike::of(&plant.network);
        let at = |held: f64| {
            let mut lumped = lumped::lump(&alike, held);
            turns::add(&mut lumped, &plant.network);
            let ramps = Ramps::of(plant, &lumped);
            let lumped = if ramps.is_empty() { lumped } else { ramps.highest(&lumped) };
            let solved = limits::solve(&lumped, None);
            (lumped, solved, ramps)
        };
        let (mut lumped, mut solved, mut ramps) = at(0.0);
        if fills(&lumped, &solved) {
            (lumped, solved, ramps) = at(1.0);
        }
        if ramps.is_empty() {
            return Solution { plant, lumped, solved, highest: None };
        }
        let (mean, of_mean) = ramps.mean(&lumped, &solved);
        Solution { plant, lumped: mean, solved: of_mean, highest: Some((lumped, solved)) }
    }

    /// The network and its solution by which limits are found.
    fn limiting(&self) -> (&Lumped, &Solved) {
        match &self.highest {
            Some((lumped, solved)) => (lumped, solved),
            None => (&self.lumped, &self.solved),
        }
    }
}

/// Whether a stock is full, or grows until it is, because what empties it is full. So few I/Os may be outstanding that they do
/// not fill it by themselves: in the first solution they are slowed down only.
fn fills(lumped: &Lumped, solved: &Solved) -> bool {
    const FULL: f64 = 0.99;
    let is_full = |spot: usize| solved.utilization[spot] >= FULL;
    let empties = lumped.loads.iter().flat_map(|load| {
        let stocked = |section: &usize| lumped.stocks.contains(&load.sections[*section].spot);
        load.items.iter().filter(move |item| item.background && item.within.iter().any(stocked))
    });
    let mut spots = empties.flat_map(|item| item.touches.iter().map(|touch| touch.spot));
    lumped.stocks.iter().copied().any(is_full) || spots.any(is_full)
}

/// Estimates what the plant will carry.
pub fn estimate(plant: &Plant) -> Estimate {
    Solution::of(plant).estimate()
}

impl Solution<'_> {
    /// What the plant will carry.
    pub fn estimate(&self) -> Estimate {
        let Solution { plant, lumped, solved, .. } = self;
        let groups = limits::groups(plant, lumped);
        let (of_limits, solved_limits) = self.limiting();
        let (limits, rounds) = chain(of_limits, &groups, solved_limits);
        let rounds = rounds + solved.work - solved_limits.work;
        Estimate {
            hops: figures::hops(plant, lumped, solved),
            issuers: figures::issuers(plant, lumped, solved),
            streams: figures::streams(plant, lumped, solved),
            iops: limits::of_data(lumped, &solved.state),
            bounds: figures::bounds(lumped),
            balanced: bounds::balanced(lumped),
            limits,
            is_fluid: solved.is_fluid,
            left_out: figures::left_out(
                plant,
                lumped,
                solved,
                &SiteSums::of(lumped, &solved.state),
            ),
            work: Work {
                loads: lumped.loads.len(),
                places: lumped.spots.len(),
                visits: lumped.loads.iter().map(|load| load.items.len()).sum(),
                rounds,
            },
        }
    }
}

impl Estimate {
    /// The traffic of all issuers together, read and written.
    pub fn flows(&self) -> [DirectionRates; 2] {
        figures::of_all(&self.issuers)
    }

    /// Mean seconds from submission to completion over all I/Os; `None` where none completes.
    pub fn latency(&self) -> Option<f64> {
        let [read, write] = self.flows();
        let ops = read.ops + write.ops;
        (ops > 0.0).then(|| (read.time + write.time) / ops)
    }
}

/// The elasticity of each group of like hops, in the order of the plant.
pub fn sensitivities(plant: &Plant) -> Vec<Sensitivity> {
    const MORE: f64 = 1.1;
    let solution = Solution::of(plant);
    let (lumped, solved) = solution.limiting();
    let groups = limits::groups(plant, lumped);
    let of = |twins: &Vec<usize>| {
        let of_twins = || twins.iter().map(|group| &groups[*group]);
        let spots: Vec<usize> = of_twins().flat_map(|group| group.spots.clone()).collect();
        let faster = limits::faster(lumped, &spots, MORE);
        let after = limits::solve(&faster, Some(&solved.state));
        let gained = limits::gain((lumped, solved), (&faster, &after));
        let gained = if limits::loses_nothing(lumped) { gained.max(0.0) } else { gained };
        let mut hops: Vec<usize> = of_twins().flat_map(|group| group.hops.clone()).collect();
        hops.sort_unstable();
        Sensitivity { hops, elasticity: gained / (MORE - 1.0) }
    };
    let all: Vec<usize> = (0..groups.len()).collect();
    limits::twins(lumped, &groups, &all, solved).iter().map(of).collect()
}

/// The chain of bottlenecks, and the iterations that finding it took.
fn chain(lumped: &Lumped, groups: &[HopGroup], solved: &Solved) -> (Vec<Limiting>, usize) {
    let mut chain = Vec::new();
    let mut rounds = solved.work;
    let mut network = lumped.clone();
    let mut owned: Option<Solved> = None;
    // By how much a solution of another kind differs from what the first gains.
    let mut like = 1.0;
    for _ in 0..limits::CHAIN {
        let now = owned.as_ref().unwrap_or(solved);
        let found = limits::find(&network, groups, now);
        let mut next = limiting(&network, groups, now, &found);
        (next.iops, next.rate) = (next.iops * like, next.rate * like);
        if let Some(last) = chain.last().filter(|_| limits::loses_nothing(lumped)) {
            no_less(&mut next, last);
        }
        chain.push(next);
        let next = match chain.last().map(|last| &last.limit) {
            Some(LimitedBy::Hops(_)) => {
                let spots: Vec<usize> =
                    found.full.iter().flat_map(|group| groups[*group].spots.clone()).collect();
                limits::scaled(&network, &spots, 2.0)
            }
            _ => limits::more_load(&network),
        };
        if chain.len() < limits::CHAIN {
            let after = limits::solve_like(&next, now);
            rounds += after.work;
            if after.is_fluid != now.is_fluid {
                let gain = limits::gain((&network, now), (&next, &after));
                let seen = limits::total(&next, &after.state) / limits::total(&network, &now.state);
                like *= if seen.is_finite() && seen > 0.0 { (1.0 + gain) / seen } else { 1.0 };
            }
            owned = Some(after);
            network = next;
        }
    }
    (chain, rounds)
}

/// Doubling a hop loses no throughput: where the approximations say so, it gains none.
fn no_less(of: &mut Limiting, before: &Limiting) {
    (of.iops, of.rate) = (of.iops.max(before.iops), of.rate.max(before.rate));
}

fn limiting(lumped: &Lumped, groups: &[HopGroup], solved: &Solved, found: &Bottleneck) -> Limiting {
    let free = lumped
        .loads
        .iter()
        .zip(&solved.state.rates)
        .all(|(load, rate)| load.mix.rate.is_some() && load.is_free(*rate));
    let hops = |groups_of: &[usize]| {
        let mut hops: Vec<usize> =
            groups_of.iter().flat_map(|group| groups[*group].hops.clone()).collect();
        hops.sort_unstable();
        hops
    };
    let limit = match found.full.as_slice() {
        [] if free => LimitedBy::Rate,
        [] => LimitedBy::Depth,
        full => LimitedBy::Hops(hops(full)),
    };
    let bytes = |(load, rate): (&lumped::LumpedLoad, &f64)| -> f64 {
        let mean: f64 = load.classes.iter().map(|class| class.share * class.bytes).sum();
        load.count * rate * mean
    };
    Limiting {
        limit,
        utilization: found.utilization,
        headroom: if found.utilization > 0.0 {
            1.0 / found.utilization - 1.0
        } else {
            f64::INFINITY
        },
        fullest: found.fullest.and_then(|group| groups[group].hops.first().copied()),
        turn: found.full.iter().find_map(|group| {
            turns::filling(lumped, &groups[*group].spots, solved).map(|turn| turn.ios)
        }),
        iops: limits::of_data(lumped, &solved.state),
        rate: lumped.loads.iter().zip(&solved.state.rates).map(bytes).sum(),
    }
}

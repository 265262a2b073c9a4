//! What a plant will carry, at once and without simulating: mean values, bounds, what limits, and what would limit next.
//!
//! ```text
//! Plant ──► walk (routes, flat) ──► symmetry ──► Lumped ─┬─► fluid  (nothing varies: prices of what is full)
//!                                                        ├─► mean   (everything is exponential: mean value analysis)
//!                                                        └─► blend  (between the two, by how much times vary) ──► Estimate
//! ```
//!
//! What is fluid begins, since the rest is nearly known by it, and it answers alone where mean value analysis comes to no end.
//!
//! A pure function of the plant: no randomness, no clock. It knows means only. What it does not treat (failures at a moment,
//! phases one after the other, priorities) is named in [`Estimate::left_out`], and is for the event engine.

mod blend;
mod bounds;
mod figures;
mod fluid;
mod limits;
mod lumped;
mod mean;
mod mix;
mod session;
mod sites;
mod state;
mod symmetry;
mod walk;

pub use session::{ESTIMATED, Order, Told, record};

use crate::analytic::Bounds;
use crate::plant::Plant;
use limits::{Alike, Found, Solved};
use lumped::Lumped;
use state::Sums;

/// What a plant will carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// In the order of the plant's hops.
    pub hops: Vec<HopEstimate>,
    /// In the order of the plant's issuers.
    pub issuers: Vec<IssuerEstimate>,
    /// In the order of the plant's streams: jobs.
    pub streams: Vec<IssuerEstimate>,
    /// I/Os a second of all issuers, and jobs of all streams.
    pub iops: f64,
    /// What they cannot exceed and cannot miss, whatever the distributions, I/Os a second.
    pub bounds: Bounds,
    /// The closer bounds of balanced jobs, which hold for exponential times; where they apply.
    pub balanced: Option<Bounds>,
    /// What limits, then what would limit if there were two of it, and so on: at least one.
    pub limits: Vec<Limiting>,
    /// What of the plant was left out, in words.
    pub left_out: Vec<String>,
    /// How much was to be done.
    pub work: Work,
}

/// Figures of a hop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HopEstimate {
    /// Of its busiest server or direction, 0 to 1.
    pub utilization: f64,
    /// Read and written.
    pub flows: [Flow; 2],
    /// Present on average, waiting or served.
    pub queue: f64,
    /// Of those, waiting.
    pub waiting: f64,
    /// Tokens taken on average, where it has a queue limit.
    pub slots_used: Option<f64>,
    /// I/Os that wait for a token, on average.
    pub slots_waiting: f64,
}

/// What goes in one direction, a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// I/Os.
    pub ops: f64,
    /// Bytes.
    pub bytes: f64,
    /// Seconds that they stay, summed over them: divided by the I/Os it is the mean latency.
    pub time: f64,
}

/// Figures of an issuer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IssuerEstimate {
    /// Read and written.
    pub flows: [Flow; 2],
    /// Seconds from submission to completion, on average.
    pub service: f64,
    /// Seconds from when an I/O was due, on average; `None` where more falls due than is carried, so that it grows.
    pub response: Option<f64>,
    /// I/Os a second that fall due, where a clock makes them.
    pub asked: Option<f64>,
}

/// What limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Limiting {
    /// What.
    pub limit: Limit,
    /// Utilization of the fullest hop that is meant, 0 to 1.
    pub utilization: f64,
    /// How much more of this load it takes until that is full: 0.25 is a quarter more.
    pub headroom: f64,
    /// The fullest of the plant's hops, where no hop is the limit.
    pub fullest: Option<usize>,
    /// I/Os a second, with everything before it in the chain doubled.
    pub iops: f64,
    /// Bytes a second, the same.
    pub rate: f64,
}

/// A limit of the throughput.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Hops that are full: positions in the plant. Several where they are alike, or full at once.
    Hops(Vec<usize>),
    /// So many I/Os are outstanding, and no hop is full: more depth, or less latency, would bring more.
    Depth,
    /// All that falls due is carried.
    Rate,
}

/// How much was to be done, so that a test can bound it without a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Loads that are not alike.
    pub loads: usize,
    /// Places that are not alike.
    pub places: usize,
    /// Visits of those loads.
    pub visits: usize,
    /// Rounds of all fixed points.
    pub rounds: usize,
}

/// By how much the I/Os a second change if a hop were a tenth as fast again, as a share of a tenth: 1 where all of it comes
/// through, 0 where nothing does.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Positions in the plant: hops that are alike.
    pub hops: Vec<usize>,
    /// The elasticity.
    pub elasticity: f64,
}

/// What hops, issuers and streams do, and nothing else of an estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Means {
    /// In the order of the plant's hops.
    pub hops: Vec<HopEstimate>,
    /// In the order of the plant's issuers.
    pub issuers: Vec<IssuerEstimate>,
    /// In the order of the plant's streams: jobs.
    pub streams: Vec<IssuerEstimate>,
}

/// The means of [`estimate`] alone, for who asks often: what limits, and what would next, costs several times as much.
pub fn means(plant: &Plant) -> Means {
    let lumped = lumped::lump(&plant.network);
    let solved = limits::solve(&lumped, None);
    Means {
        hops: figures::hops(plant, &lumped, &solved),
        issuers: figures::issuers(plant, &lumped, &solved),
        streams: figures::streams(plant, &lumped, &solved),
    }
}

/// Estimates what the plant will carry.
pub fn estimate(plant: &Plant) -> Estimate {
    let lumped = lumped::lump(&plant.network);
    let groups = limits::groups(plant, &lumped);
    let solved = limits::solve(&lumped, None);
    let (limits, rounds) = chain(&lumped, &groups, &solved);
    Estimate {
        hops: figures::hops(plant, &lumped, &solved),
        issuers: figures::issuers(plant, &lumped, &solved),
        streams: figures::streams(plant, &lumped, &solved),
        iops: limits::total(&lumped, &solved.state),
        bounds: figures::bounds(&lumped),
        balanced: bounds::balanced(&lumped),
        limits,
        left_out: figures::left_out(plant, &Sums::of(&lumped, &solved.state)),
        work: Work {
            loads: lumped.loads.len(),
            places: lumped.spots.len(),
            visits: lumped.loads.iter().map(|load| load.items.len()).sum(),
            rounds,
        },
    }
}

impl Estimate {
    /// What all issuers do together, read and written.
    pub fn flows(&self) -> [Flow; 2] {
        figures::of_all(&self.issuers)
    }

    /// Seconds from submission to completion, averaged over all I/Os; nothing where none ends.
    pub fn latency(&self) -> Option<f64> {
        let [read, write] = self.flows();
        let ops = read.ops + write.ops;
        (ops > 0.0).then(|| (read.time + write.time) / ops)
    }
}

/// How much each hop's speed matters, those alike together, in the order of the plant.
pub fn sensitivities(plant: &Plant) -> Vec<Sensitivity> {
    const MORE: f64 = 1.1;
    let lumped = lumped::lump(&plant.network);
    let groups = limits::groups(plant, &lumped);
    let solved = limits::solve(&lumped, None);
    let before = limits::total(&lumped, &solved.state);
    let of = |group: &Alike| {
        let faster = limits::faster(&lumped, &group.spots, MORE);
        let after = limits::solve(&faster, Some(&solved.state));
        let gained = limits::total(&faster, &after.state) / before.max(1e-12) - 1.0;
        Sensitivity { hops: group.hops.clone(), elasticity: gained / (MORE - 1.0) }
    };
    groups.iter().map(of).collect()
}

/// What limits, and what would next; and the rounds that finding it took.
fn chain(lumped: &Lumped, groups: &[Alike], solved: &Solved) -> (Vec<Limiting>, usize) {
    let mut chain = Vec::new();
    let mut rounds = solved.work;
    let mut network = lumped.clone();
    let mut owned: Option<Solved> = None;
    for _ in 0..limits::CHAIN {
        let now = owned.as_ref().unwrap_or(solved);
        let found = limits::find(&network, groups, now);
        chain.push(limiting(&network, groups, now, &found));
        let next = match chain.last().map(|last| &last.limit) {
            Some(Limit::Hops(_)) => {
                let spots: Vec<usize> =
                    found.full.iter().flat_map(|group| groups[*group].spots.clone()).collect();
                limits::scaled(&network, &spots, 2.0)
            }
            _ => limits::more_load(&network),
        };
        if chain.len() < limits::CHAIN {
            let after = limits::solve(&next, Some(&now.state));
            rounds += after.work;
            owned = Some(after);
            network = next;
        }
    }
    (chain, rounds)
}

fn limiting(lumped: &Lumped, groups: &[Alike], solved: &Solved, found: &Found) -> Limiting {
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
        [] if free => Limit::Rate,
        [] => Limit::Depth,
        full => Limit::Hops(hops(full)),
    };
    let bytes = |(load, rate): (&lumped::Load, &f64)| -> f64 {
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
        iops: limits::total(lumped, &solved.state),
        rate: lumped.loads.iter().zip(&solved.state.rates).map(bytes).sum(),
    }
}

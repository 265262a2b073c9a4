//! Where an I/O goes, and what it asks of each place.

use super::{Law, PoolId, SelectorId, StationId};
use workload::Dir;

/// What one visit asks of a station: a time an I/O and a time a byte.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Time an I/O.
    pub time: Law,
    /// Picoseconds a byte, finite and at least 0.
    pub per_byte: f64,
}

impl Demand {
    /// A time an I/O alone.
    pub const fn of(time: Law) -> Demand {
        Demand { time, per_byte: 0.0 }
    }

    /// The mean for an I/O of `bytes`, in picoseconds.
    pub fn mean(&self, bytes: u32) -> f64 {
        self.time.mean() + self.per_byte * f64::from(bytes)
    }
}

/// One step of a route.
#[derive(Clone, Debug, PartialEq)]
pub enum Hop {
    /// Is served at a station, which is not one of links.
    Visit {
        /// Where.
        station: StationId,
        /// How much.
        demand: Demand,
    },
    /// Crosses several links of one station at once.
    Cross {
        /// A [`super::Station::Links`].
        station: StationId,
        /// Numbers of the links, at least one and none twice.
        links: Vec<u16>,
        /// Bytes on the wire for each byte of the I/O, more than 0 and at most 1,000.
        scale: f64,
        /// Bytes on the wire besides.
        extra: u32,
    },
    /// Takes tokens, waiting in line for them if need be.
    Take {
        /// From which pool.
        pool: PoolId,
        /// How many, at least 1.
        tokens: u32,
    },
    /// Gives back tokens that the route took before.
    Give {
        /// To which pool.
        pool: PoolId,
        /// How many, at least 1.
        tokens: u32,
    },
    /// Leaves out the next hops by chance: a hit in a cache. What is left out must give back all tokens that it takes.
    Skip {
        /// Probability.
        chance: f64,
        /// How many hops of the same route, at least 1; a branch with its arms is one.
        hops: u32,
    },
    /// Takes one of several ways, by a policy and by which of them live: paths to a LUN, members of a team.
    Branch {
        /// Who chooses. All branches of a selector have as many arms.
        selector: SelectorId,
        /// The ways, at least one. Each gives back what it takes, and nothing else.
        arms: Vec<Vec<Hop>>,
    },
    /// Is served at one of several stations in a row, each as probable as every other: the disks of a group.
    Spread {
        /// The first of them.
        first: StationId,
        /// How many, at least 1.
        count: u32,
        /// How much.
        demand: Demand,
    },
    /// A copy begins this route in the background, and nobody waits for it: what a cache destages. It brings tokens that
    /// the I/O took and that its route gives back once it is through; they bound how many there are.
    Fork {
        /// Where the copy goes. What it gives back in all is handed over to it here.
        route: Vec<Hop>,
    },
    /// Copies begin these routes at once, and the I/O goes on when all have ended: a mirrored write. Each gives back what
    /// it takes, and nothing else. Where one is lost, so is the I/O, once the others have ended.
    Together {
        /// Where they go, at least one.
        routes: Vec<Vec<Hop>>,
    },
    /// From here on its bytes count as read or as written at stations and pools: a copy reads, then writes.
    As {
        /// Which.
        dir: Dir,
    },
}

impl Hop {
    /// A visit that takes a time whatever the size of the I/O.
    pub const fn visit(station: StationId, time: Law) -> Hop {
        Hop::Visit { station, demand: Demand::of(time) }
    }
}

//! Routes: the hops of an I/O and what it asks of each station.

use super::{Law, PoolId, RaidVisit, SelectorId, StationId};
use crate::Ps;
use clock::Rng;
use std::sync::Arc;
use workload::Dir;

/// The service time of one visit: a part per I/O and a part per byte.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Time per I/O.
    pub time: Law,
    /// Picoseconds per byte, finite and at least 0.
    pub per_byte: f64,
}

impl Demand {
    /// A time per I/O only.
    pub const fn of(time: Law) -> Demand {
        Demand { time, per_byte: 0.0 }
    }

    /// Draws the time for an I/O of `bytes`.
    #[inline]
    pub fn draw(&self, rng: &mut Rng, bytes: u32) -> Ps {
        let time = self.time.draw(rng);
        if self.per_byte > 0.0 {
            return time.plus(Ps((self.per_byte * f64::from(bytes) + 0.5) as u64));
        }
        time
    }

    /// The mean time for an I/O of `bytes`, in picoseconds.
    pub fn mean(&self, bytes: u32) -> f64 {
        self.time.mean() + self.per_byte * f64::from(bytes)
    }
}

/// One step of a route.
#[derive(Clone, Debug, PartialEq)]
pub enum Hop {
    /// Is served at a station, which must not be one of links.
    Visit {
        /// The station.
        station: StationId,
        /// Service time.
        demand: Demand,
    },
    /// Crosses several links of one station at once.
    Cross {
        /// A [`super::Station::Links`].
        station: StationId,
        /// Numbers of the links, at least one and none twice. Routes share them.
        links: Arc<[u16]>,
        /// Bytes on the wire for each byte of the I/O, more than 0 and at most 1,000.
        scale: f64,
        /// Further bytes on the wire, independent of the size.
        extra: u32,
    },
    /// Takes tokens, queueing for them if necessary.
    Take {
        /// The pool.
        pool: PoolId,
        /// How many, at least 1.
        tokens: u32,
    },
    /// Returns tokens that the route took before.
    Give {
        /// The pool.
        pool: PoolId,
        /// How many, at least 1.
        tokens: u32,
    },
    /// Skips the next hops with a probability: a cache hit. The skipped hops must return all tokens that they take.
    Skip {
        /// Probability.
        chance: f64,
        /// Number of hops of the same route, at least 1; a branch with its arms counts as one.
        hops: u32,
    },
    /// Takes one of several arms by a policy and by which of them are up: paths to a LUN, members of a team.
    Branch {
        /// The selector that chooses. All branches of a selector have the same number of arms.
        selector: SelectorId,
        /// The arms, at least one. Each returns exactly the tokens that it takes.
        arms: Vec<Vec<Hop>>,
    },
    /// Is served at one of several consecutive stations, all equally probable: the disks of a group.
    Spread {
        /// The first station.
        first: StationId,
        /// Number of stations, at least 1.
        count: u32,
        /// Service time.
        demand: Demand,
    },
    /// Is served by the disks of a RAID group: by several at once for a large I/O or for redundancy. Continues when the
    /// last of them has ended.
    Raid {
        /// Which disks, and what they do. Routes share it.
        visit: Arc<RaidVisit>,
    },
    /// Skips the next hops with a probability that depends on the share of a pool's tokens that are held: a write of a
    /// block that is dirty already needs no room. The skipped hops must return all tokens that they take.
    SkipHeld {
        /// The pool.
        pool: PoolId,
        /// Probabilities for equally spaced shares from 0 to 1, at least two; between them on a straight line.
        chances: Arc<[f64]>,
        /// Number of hops of the same route, at least 1; a branch with its arms counts as one.
        hops: u32,
    },
    /// Starts a copy on this route in the background, which the I/O does not wait for: a cache's destage. The copy
    /// takes over tokens that the I/O took and returns them at the end of its route; they bound the number of copies.
    Fork {
        /// The copy's route. The tokens that it returns in all are handed over to it here. Clones of one route are laid
        /// out once: the paths of a volume share the work behind its array's ports.
        route: Arc<[Hop]>,
    },
    /// Starts copies on these routes at once and continues when all have ended: a mirrored write. Each returns exactly
    /// the tokens that it takes. If one is lost, so is the I/O, once the others have ended.
    Together {
        /// The copies' routes, at least one.
        routes: Vec<Vec<Hop>>,
    },
    /// Counts its bytes as read or as written from here on: a copy job reads, then writes.
    As {
        /// Which.
        dir: Dir,
    },
    /// Counts as issued from here on, so that its latency has what comes after, and its response time all: the source issues
    /// I/Os by work of its own. At most once on a route, outside of its branches and copies.
    Submit,
}

impl Hop {
    /// A visit whose time does not depend on the size of the I/O.
    pub const fn visit(station: StationId, time: Law) -> Hop {
        Hop::Visit { station, demand: Demand::of(time) }
    }
}

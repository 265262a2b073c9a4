//! Where an I/O goes, and what it asks of each place.

use super::{Law, PoolId, StationId};

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
        /// How many hops, at least 1.
        hops: u32,
    },
}

impl Hop {
    /// A visit that takes a time whatever the size of the I/O.
    pub const fn visit(station: StationId, time: Law) -> Hop {
        Hop::Visit { station, demand: Demand::of(time) }
    }
}

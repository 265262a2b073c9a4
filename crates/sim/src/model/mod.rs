//! What is simulated: stations, pools, and the loads whose I/Os go through them. Data only; nothing here moves.
//!
//! The words are those of queueing theory: a station serves customers, a load is closed (a number of customers who think
//! and come again) or open (arrivals by a clock), a route is the order of visits. Where a network is also one of product
//! form (Baskett, Chandy, Muntz and Palacios 1975), [`crate::analytic`] can answer for it exactly.

mod check;
mod law;
mod load;
mod route;
mod station;

pub use check::NetworkError;
pub use law::{Law, Table};
pub use load::{Class, Load, Operations, Source};
pub use route::{Demand, Hop};
pub use station::{Full, PRIORITIES, Pool, Station};

pub(crate) use check::held_before;

/// The number of a station of one [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u32);

/// The number of a pool of one [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub u32);

/// The number of a load of one [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoadId(pub u32);

/// Stations, pools of tokens and loads.
#[derive(Clone, Debug, Default)]
pub struct Network {
    pub(crate) stations: Vec<Station>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) loads: Vec<Load>,
}

impl Network {
    /// Nothing yet.
    pub fn new() -> Network {
        Network::default()
    }

    /// Adds a station.
    pub fn station(&mut self, station: Station) -> StationId {
        self.stations.push(station);
        StationId(self.stations.len() as u32 - 1)
    }

    /// Adds a pool of tokens.
    pub fn pool(&mut self, pool: Pool) -> PoolId {
        self.pools.push(pool);
        PoolId(self.pools.len() as u32 - 1)
    }

    /// Adds a load.
    pub fn load(&mut self, load: Load) -> LoadId {
        self.loads.push(load);
        LoadId(self.loads.len() as u32 - 1)
    }

    /// The stations, in the order of their numbers.
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// The pools, in the order of their numbers.
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// The loads, in the order of their numbers.
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// Whether all of it can be simulated.
    ///
    /// # Errors
    /// The first thing that cannot, with its place.
    pub fn check(&self) -> Result<(), NetworkError> {
        check::check(self)
    }
}

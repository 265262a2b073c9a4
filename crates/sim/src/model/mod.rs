//! The queueing network to be simulated: stations, pools, and loads whose I/Os follow routes. Data only.
//!
//! The terms are those of queueing theory: a station serves customers, a load is closed (a fixed number of customers
//! with think time) or open (an arrival process), a route is a sequence of visits. Where a network has product form
//! (Baskett, Chandy, Muntz and Palacios 1975), [`crate::analytic`] can solve it exactly.

mod change;
mod check;
mod law;
mod load;
mod route;
mod selector;
mod station;
mod stripe;

pub use change::Change;
pub use check::NetworkError;
pub use law::{Law, Table};
pub use load::{Begin, Class, Load, Operations, Source};
pub use route::{Demand, Hop};
pub use selector::{Policy, Selector};
pub use station::{Full, Gated, Halting, PRIORITIES, Parts, Pool, Station};
pub use stripe::{
    DiskParts, RaidAccess, RaidGroup, RaidLevel, RaidVisit, StripeChoice, StripeStart,
};

pub(crate) use check::{
    HOPS_MAX, HeldTokens, arms_of, copies_at_once, hold, ios_at_once, ios_of, net_of,
};

use crate::Ps;

/// The number of a station of one [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u32);

/// The number of a pool of one [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub u32);

/// The number of a load of one [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoadId(pub u32);

/// The number of a selector of one [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SelectorId(pub u32);

/// Stations, token pools, loads, selectors and scheduled changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    pub(crate) stations: Vec<Station>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) loads: Vec<Load>,
    pub(crate) selectors: Vec<Selector>,
    pub(crate) changes: Vec<(Ps, Change)>,
}

impl Network {
    /// An empty network.
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

    /// Adds a selector for branches to use.
    pub fn selector(&mut self, selector: Selector) -> SelectorId {
        self.selectors.push(selector);
        SelectorId(self.selectors.len() as u32 - 1)
    }

    /// Schedules a change at `at`. Changes at the same time happen in the order in which they were added, before all
    /// other events of that time.
    pub fn change(&mut self, at: Ps, change: Change) {
        self.changes.push((at, change));
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

    /// The selectors, in the order of their numbers.
    pub fn selectors(&self) -> &[Selector] {
        &self.selectors
    }

    /// The scheduled changes, in the order in which they were added.
    pub fn changes(&self) -> &[(Ps, Change)] {
        &self.changes
    }

    /// The least and the greatest rate that each link of a station will have; empty for a station without links.
    pub(crate) fn link_rates(&self, station: StationId) -> Vec<(u64, u64)> {
        let Some(Station::Links { rates }) = self.stations.get(station.0 as usize) else {
            return Vec::new();
        };
        let mut ranges: Vec<(u64, u64)> = rates.iter().map(|rate| (*rate, *rate)).collect();
        for (_, change) in &self.changes {
            if let Change::LinkRate { station: of, link, rate } = change
                && *of == station
                && let Some((least, greatest)) = ranges.get_mut(usize::from(*link))
            {
                (*least, *greatest) = ((*least).min(*rate), (*greatest).max(*rate));
            }
        }
        ranges
    }

    /// Checks that the network can be simulated.
    ///
    /// # Errors
    /// The first problem, with its location.
    pub fn check(&self) -> Result<(), NetworkError> {
        check::check(self)
    }
}

//! One numbering of everything that can be full: stations, the links of stations of links, and pools.

use super::stripes::Stripes;
use crate::model::{Network, PoolId, Station, StationId};

/// The number of a station, a link or a pool.
pub type Site = u32;

/// The numbering.
#[derive(Clone, Debug)]
pub struct Sites {
    stations: Vec<Site>,
    pools: Site,
    count: Site,
    /// What visits to RAID groups come to.
    pub stripes: Stripes,
}

impl Sites {
    /// Numbers stations first, with one number per link for stations of links; then pools.
    pub fn new(network: &Network) -> Sites {
        let mut next: Site = 0;
        let stations = network.stations().iter().map(|station| {
            let first = next;
            next += match station {
                Station::Links { rates } => rates.len() as Site,
                _ => 1,
            };
            first
        });
        let stations = stations.collect();
        let count = next + network.pools().len() as Site;
        Sites { stations, pools: next, count, stripes: Stripes::default() }
    }

    /// Number of sites.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// The site of a station, or of the first of its links.
    pub fn station(&self, station: StationId) -> Site {
        self.stations[station.0 as usize]
    }

    /// The site of a link.
    pub fn link(&self, station: StationId, link: u16) -> Site {
        self.station(station) + Site::from(link)
    }

    /// The site of a pool.
    pub fn pool(&self, pool: PoolId) -> Site {
        self.pools + pool.0
    }
}

//! Hand-made plants.

use record::Loop;
use scenario::topology::HopKind;
use sim::Ps;
use sim::model::*;
use sim::plant::{HopElement, HopLimits, Issuer, Plant, PlantHop};

/// Microseconds.
pub const fn us(n: u64) -> Ps {
    Ps::micros(n)
}

pub fn constant(n: u64) -> Law {
    Law::Constant(us(n))
}

pub fn exponential(n: u64) -> Law {
    Law::Exponential(us(n))
}

/// A plant under construction.
#[derive(Default)]
pub struct Lab {
    pub plant: Plant,
}

impl Lab {
    pub fn network(&mut self) -> &mut Network {
        &mut self.plant.network
    }

    pub fn hop(&mut self, name: &str, places: Vec<HopElement>) {
        let (device, kind) = ("lab".to_owned(), HopKind::Controller);
        let limits = HopLimits::default();
        self.plant.hops.push(PlantHop {
            name: name.to_owned(),
            kind,
            device,
            part: None,
            places,
            passed: Vec::new(),
            limits,
        });
    }

    /// A station that is a hop.
    pub fn station(&mut self, name: &str, station: Station) -> StationId {
        let id = self.network().station(station);
        self.hop(name, vec![HopElement::Station(id)]);
        id
    }

    /// A queue limit that is a hop.
    pub fn pool(&mut self, name: &str, tokens: u32) -> PoolId {
        let id = self.network().pool(Pool { tokens });
        self.hop(name, vec![HopElement::Pool(id)]);
        id
    }

    /// Links of one station, each a hop for reads.
    pub fn links(&mut self, names: &[&str], rates: &[u64]) -> StationId {
        let id = self.network().station(Station::Links { rates: rates.to_vec() });
        for (number, name) in names.iter().enumerate() {
            self.hop(name, vec![HopElement::ReadLink(id, number as u16)]);
        }
        id
    }

    /// Adds an issuer.
    pub fn issuer(&mut self, name: &str, load: Load) -> LoadId {
        let arrivals = Loop::Closed { depth: load.limit(), think: false };
        let load = self.network().load(load);
        self.plant.issuers.push(Issuer {
            load,
            source: name.to_owned(),
            group: name.to_owned(),
            workload: "work".to_owned(),
            arrivals,
            ops_per_transaction: 1,
            planned: None,
        });
        load
    }
}

/// `depth` I/Os outstanding through these stations.
pub fn line(stations: &[(Station, Law)], depth: u32, think: Law) -> Plant {
    let mut lab = Lab::default();
    let mut route = Vec::new();
    for (number, (station, law)) in stations.iter().enumerate() {
        let id = lab.station(&format!("s{number}"), station.clone());
        route.push(Hop::visit(id, law.clone()));
    }
    lab.issuer("worker", Load::closed(depth, think, Class::read(8192, route)));
    lab.plant
}

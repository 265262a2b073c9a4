//! What can be seen of a simulation from outside: its integer counts at a moment, and its histograms.

use super::fluid::LinkTally;
use super::station::Kind;
use super::{Observer, Simulation};
use crate::Ps;
use crate::model::{PoolId, StationId};
use crate::statistics::{Histogram, Tally};

/// All counts at one moment, or (as a difference of two) of one span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The moment, or the length of the span.
    pub at: Ps,
    /// Of the stations, in the order of their numbers.
    pub stations: Vec<Tally>,
    /// Of the lines before the pools, in the order of their numbers; busy are tokens in use.
    pub pools: Vec<Tally>,
    /// Of the links of each station, in the order of their numbers; none of a station that is not of links.
    pub links: Vec<Vec<LinkTally>>,
    /// Of those who wait before the branches of each selector: pulled out of an arm that died, or without an arm that
    /// lives. Lost are those who gave up.
    pub selectors: Vec<Tally>,
    /// Of the classes, numbered through all loads in order.
    pub classes: Vec<ClassTally>,
}

/// The counts of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTally {
    /// The load that it belongs to.
    pub load: u32,
    /// Of its I/Os between issue and end.
    pub tally: Tally,
    /// Sum of the times from when they were due to their end, in picoseconds.
    pub responded: u128,
}

fn links(
    ours: &[Vec<LinkTally>],
    theirs: &[Vec<LinkTally>],
    both: impl Fn(&LinkTally, &LinkTally) -> LinkTally,
) -> Vec<Vec<LinkTally>> {
    let station = |(ours, theirs): (&Vec<LinkTally>, &Vec<LinkTally>)| {
        ours.iter().zip(theirs).map(|(a, b)| both(a, b)).collect()
    };
    ours.iter().zip(theirs).map(station).collect()
}

impl Snapshot {
    /// What happened since `earlier`, a snapshot of the same simulation.
    pub fn since(&self, earlier: &Snapshot) -> Snapshot {
        let tallies = |ours: &[Tally], theirs: &[Tally]| {
            ours.iter().zip(theirs).map(|(now, then)| now.since(then)).collect()
        };
        let classes = self.classes.iter().zip(&earlier.classes);
        Snapshot {
            at: Ps(self.at.0 - earlier.at.0),
            stations: tallies(&self.stations, &earlier.stations),
            pools: tallies(&self.pools, &earlier.pools),
            links: links(&self.links, &earlier.links, LinkTally::since),
            selectors: tallies(&self.selectors, &earlier.selectors),
            classes: classes.map(|(now, then)| now.since(then)).collect(),
        }
    }
}

impl Snapshot {
    /// This span and the one that followed it, as one.
    pub fn joined(&self, later: &Snapshot) -> Snapshot {
        let tallies = |ours: &[Tally], theirs: &[Tally]| {
            ours.iter().zip(theirs).map(|(first, then)| first.joined(then)).collect()
        };
        let classes = self.classes.iter().zip(&later.classes);
        Snapshot {
            at: self.at.plus(later.at),
            stations: tallies(&self.stations, &later.stations),
            pools: tallies(&self.pools, &later.pools),
            links: links(&self.links, &later.links, LinkTally::joined),
            selectors: tallies(&self.selectors, &later.selectors),
            classes: classes.map(|(first, then)| first.joined(then)).collect(),
        }
    }
}

impl ClassTally {
    fn joined(&self, later: &ClassTally) -> ClassTally {
        ClassTally {
            load: self.load,
            tally: self.tally.joined(&later.tally),
            responded: self.responded + later.responded,
        }
    }

    fn since(&self, earlier: &ClassTally) -> ClassTally {
        ClassTally {
            load: self.load,
            tally: self.tally.since(&earlier.tally),
            responded: self.responded - earlier.responded,
        }
    }
}

impl<O: Observer> Simulation<O> {
    /// All counts until now.
    pub fn snapshot(&mut self) -> Snapshot {
        let now = self.now;
        let touched = |tally: &mut Tally| {
            tally.touch(now);
            *tally
        };
        let mut stations: Vec<Tally> =
            self.places.iter_mut().map(|place| touched(&mut place.tally)).collect();
        self.add_runs(&mut stations);
        Snapshot {
            at: now,
            stations,
            pools: self.pools.iter_mut().map(|pool| touched(&mut pool.tally)).collect(),
            links: self.places.iter_mut().map(|place| place.links_until(now)).collect(),
            selectors: self.choosers.iter_mut().map(|of| touched(&mut of.tally)).collect(),
            classes: self
                .classes
                .iter_mut()
                .map(|class| ClassTally {
                    load: class.load,
                    tally: touched(&mut class.account.tally),
                    responded: class.account.responded,
                })
                .collect(),
        }
    }

    /// Times from coming to a station to going on; here and below `None` where the observer keeps no times.
    pub fn latency(&self, station: StationId) -> Option<&Histogram> {
        self.places.get(station.0 as usize).filter(|_| O::TIMES).map(|place| &place.latency)
    }

    /// Times in the line before a pool, zeros included.
    pub fn waits(&self, pool: PoolId) -> Option<&Histogram> {
        self.pools.get(pool.0 as usize).filter(|_| O::TIMES).map(|pool| &pool.waits)
    }

    /// Times from issue to end of a class, numbered through all loads.
    pub fn service(&self, class: u32) -> Option<&Histogram> {
        let class = self.classes.get(class as usize).filter(|_| O::TIMES)?;
        Some(&class.account.service)
    }

    /// Times from when I/Os of a class were due to their end; of a closed load they are those from issue to end.
    pub fn response(&self, class: u32) -> Option<&Histogram> {
        let account = &self.classes.get(class as usize).filter(|_| O::TIMES)?.account;
        account.response.as_ref().or(Some(&account.service))
    }

    /// What is counted of the payload over each link of a station of links, until now.
    pub fn crossed(&mut self, station: StationId) -> Vec<Tally> {
        let now = self.now;
        match self.places.get_mut(station.0 as usize).map(|place| &mut place.kind) {
            Some(Kind::Fluid(fluid)) => fluid.crossed(now),
            _ => Vec::new(),
        }
    }

    /// Bytes that have flowed over each link of a station of links, on the wire.
    pub fn carried(&mut self, station: StationId) -> Vec<f64> {
        let now = self.now;
        let place = self.places.get_mut(station.0 as usize);
        let links = place.map(|place| place.links_until(now)).unwrap_or_default();
        links.iter().map(LinkTally::bytes).collect()
    }
}

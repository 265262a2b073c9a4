//! The counts and histograms of a simulation at a moment.

use super::fluid::LinkTally;
use super::station::Discipline;
use super::{Observer, Simulation};
use crate::Ps;
use crate::model::{PoolId, StationId};
use crate::statistics::{Tally, TimeHistogram};

/// All counts at one moment or, as a difference of two, of one span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The moment, or the length of the span.
    pub at: Ps,
    /// The stations, in order of number.
    pub stations: Vec<Tally>,
    /// The queues of the pools, in order of number; `busy` counts tokens in use.
    pub pools: Vec<Tally>,
    /// The links of each station, in order of number; empty for a station without links.
    pub links: Vec<Vec<LinkTally>>,
    /// The I/Os that wait before the branches of each selector, because their arm failed or no arm is up. `lost` counts
    /// those that gave up.
    pub selectors: Vec<Tally>,
    /// The classes, numbered through all loads.
    pub classes: Vec<ClassTally>,
}

/// The counts of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTally {
    /// The load's number.
    pub load: u32,
    /// I/Os between issue and end.
    pub tally: Tally,
    /// Sum of the times from due to end, in picoseconds.
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
    /// The difference from `earlier`, a snapshot of the same simulation.
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
    /// This span and the next one, merged.
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
    /// All counts up to now.
    pub fn snapshot(&mut self) -> Snapshot {
        self.add_passes();
        let now = self.now;
        let mut stations: Vec<Tally> =
            self.stations.iter().map(|place| place.tally.until(now)).collect();
        let mut pools: Vec<Tally> = self.pools.iter().map(|pool| pool.until(now)).collect();
        self.add_runs(&mut stations, &mut pools);
        Snapshot {
            at: now,
            stations,
            pools,
            links: self.stations.iter_mut().map(|place| place.links_until(now)).collect(),
            selectors: self.choosers.iter().map(|of| of.tally.until(now)).collect(),
            classes: self
                .classes
                .iter()
                .map(|class| ClassTally {
                    load: class.load,
                    tally: class.account.tally.until(now),
                    responded: class.responded,
                })
                .collect(),
        }
    }

    /// Residence times at a station. This and the other histograms are `None` where the observer keeps no times.
    pub fn latency(&self, station: StationId) -> Option<&TimeHistogram> {
        self.stations.get(station.0 as usize).filter(|_| O::TIMES).map(|place| &place.latency)
    }

    /// Times in the queue of a pool, zeros included.
    pub fn waits(&self, pool: PoolId) -> Option<&TimeHistogram> {
        self.pools.get(pool.0 as usize).filter(|_| O::TIMES).map(|pool| &pool.waits)
    }

    /// Times from issue to end, for a class numbered through all loads.
    pub fn service(&self, class: u32) -> Option<&TimeHistogram> {
        let class = self.classes.get(class as usize).filter(|_| O::TIMES)?;
        Some(&class.account.service)
    }

    /// Times from due to end of a class; equal to the service times for a closed load.
    pub fn response(&self, class: u32) -> Option<TimeHistogram> {
        let account = &self.classes.get(class as usize).filter(|_| O::TIMES)?.account;
        let mut all = account.service.clone();
        if let Some([service, response]) = &account.late {
            all.subtract(service);
            all.add(response);
        }
        Some(all)
    }

    /// Payload over each link of a station of links, up to now.
    pub fn crossed(&mut self, station: StationId) -> Vec<Tally> {
        let now = self.now;
        match self.stations.get_mut(station.0 as usize).map(|place| &mut place.kind) {
            Some(Discipline::Fluid(fluid)) => fluid.crossed(now),
            _ => Vec::new(),
        }
    }

    /// Bytes on the wire over each link of a station of links.
    pub fn carried(&mut self, station: StationId) -> Vec<f64> {
        let now = self.now;
        let place = self.stations.get_mut(station.0 as usize);
        let links = place.map(|place| place.links_until(now)).unwrap_or_default();
        links.iter().map(LinkTally::bytes).collect()
    }
}

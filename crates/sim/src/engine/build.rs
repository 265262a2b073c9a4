//! From a network to one that can run: routes laid out in one table, room for all that can be outstanding.

use super::alarm::Alarms;
use super::entity::{Entities, Line};
use super::event::Pending;
use super::source::{self, Origin};
use super::station::{Account, Kind, Place, Tokens};
use super::{Class, Observer, Seeds, SetUpError, Simulation};
use crate::Ps;
use crate::model::{Begin, Demand, Hop, Network, Station, net_of};
use clock::Rng;

/// A hop with its numbers looked up. Positions are those in the table of all routes.
#[derive(Clone, Debug)]
pub enum Step {
    Visit { station: u32, demand: Demand },
    Cross { station: u32, path: u32, scale: f64, extra: u32 },
    Take { pool: u32, tokens: u32 },
    Give { pool: u32, tokens: u32 },
    Skip { chance: f64, to: u32 },
    End,
}

/// Events of one moment that can be right, for each that may be outstanding: a route's hops, twice.
const MOMENT: u64 = 8192;

impl Simulation {
    /// The network at time 0, with the randomness named by `seed`.
    ///
    /// # Errors
    /// The network does not pass its check, or a workload does not fit its targets.
    pub fn new(network: &Network, seed: u64) -> Result<Simulation, SetUpError> {
        Simulation::observed(network, seed, ())
    }
}

impl<O: Observer> Simulation<O> {
    /// As [`Simulation::new`], telling `observer` of each I/O.
    ///
    /// # Errors
    /// The same.
    pub fn observed(
        network: &Network,
        seeds: impl Into<Seeds>,
        observer: O,
    ) -> Result<Simulation<O>, SetUpError> {
        let seeds = seeds.into();
        network.check()?;
        known(network)?;
        let outstanding: u32 = network.loads.iter().map(|load| load.limit()).sum();
        let places = network.stations.len() + network.loads.len();
        let mut simulation = Simulation {
            now: Ps::ZERO,
            sequence: 0,
            dispatched: 0,
            standing: 0,
            standing_max: (u64::from(outstanding) + 1024) * MOMENT,
            // An I/O has one event at most, and so has a source besides.
            pending: Pending::with_capacity(outstanding as usize + network.loads.len()),
            alarms: Alarms::new(network.stations.len()),
            entities: Entities::new(outstanding),
            ready: Line::EMPTY,
            steps: Box::default(),
            held: Box::default(),
            places: Vec::with_capacity(places),
            pools: network.pools.iter().map(Tokens::new).collect(),
            origins: Vec::new(),
            classes: Vec::new(),
            observer,
        };
        let visitors = visitors(network);
        for (number, station) in network.stations.iter().enumerate() {
            let rng = Rng::keyed(seeds.draws, &[super::STATION, number as u64]);
            simulation.places.push(Place::new(station, rng, visitors[number] as usize));
        }
        simulation.lay_out(network, seeds)?;
        simulation.begin();
        Ok(simulation)
    }

    /// Routes and sources.
    fn lay_out(&mut self, network: &Network, seeds: Seeds) -> Result<(), SetUpError> {
        let (mut steps, mut held) = (Vec::new(), Vec::new());
        for (number, load) in network.loads.iter().enumerate() {
            let first_class = self.classes.len() as u32;
            let origin = Origin::new(load, number, first_class, seeds)?;
            let may_be_late = match &origin.kind {
                source::Kind::Closed { .. } => false,
                source::Kind::Open(_) => true,
                source::Kind::Operations(worker) => worker.open,
            };
            self.origins.push(origin);
            for class in &load.classes {
                let first_step = steps.len() as u32;
                for (at, hop) in class.route.iter().enumerate() {
                    steps.push(self.step(hop, steps.len() as u32, load.limit()));
                    let tokens = net_of(&class.route[..at]).into_iter();
                    held.push(tokens.map(|(pool, tokens)| (pool.0, tokens as u32)).collect());
                }
                steps.push(Step::End);
                held.push(Box::default());
                self.classes.push(Class {
                    load: number as u32,
                    first_step,
                    bytes: class.bytes,
                    priority: class.priority,
                    dir: class.dir,
                    account: Account::new(may_be_late),
                });
            }
        }
        (self.steps, self.held) = (steps.into(), held.into());
        Ok(())
    }

    fn step(&mut self, hop: &Hop, at: u32, outstanding: u32) -> Step {
        match hop {
            Hop::Visit { station, demand } => {
                Step::Visit { station: station.0, demand: demand.clone() }
            }
            Hop::Cross { station, links, scale, extra } => {
                let path = match &mut self.places[station.0 as usize].kind {
                    Kind::Fluid(fluid) => fluid.path(links, outstanding as usize),
                    Kind::Queue(_) | Kind::Delay => 0,
                };
                Step::Cross { station: station.0, path, scale: *scale, extra: *extra }
            }
            Hop::Take { pool, tokens } => Step::Take { pool: pool.0, tokens: *tokens },
            Hop::Give { pool, tokens } => Step::Give { pool: pool.0, tokens: *tokens },
            Hop::Skip { chance, hops } => Step::Skip { chance: *chance, to: at + 1 + hops },
            Hop::Branch { .. }
            | Hop::Spread { .. }
            | Hop::Fork { .. }
            | Hop::Together { .. }
            | Hop::As { .. } => Step::End,
        }
    }
}

/// What the engine does not simulate is refused.
fn known(network: &Network) -> Result<(), SetUpError> {
    let refuse = |what| Err(SetUpError::Unknown(what));
    if !network.changes.is_empty() {
        return refuse("changes");
    }
    if network
        .stations
        .iter()
        .any(|at| matches!(at, Station::Sorted { .. } | Station::Batch { .. }))
    {
        return refuse("queues that sort and batches");
    }
    for load in &network.loads {
        if load.begins != Begin::Now || load.total.is_some() {
            return refuse("loads that begin later or end");
        }
        let unknown = |hop: &Hop| {
            !matches!(
                hop,
                Hop::Visit { .. }
                    | Hop::Cross { .. }
                    | Hop::Take { .. }
                    | Hop::Give { .. }
                    | Hop::Skip { .. }
            )
        };
        if load.classes.iter().flat_map(|class| &class.route).any(unknown) {
            return refuse("branches, copies, spread visits and changes of direction");
        }
    }
    Ok(())
}

/// How many I/Os can be at each station at once.
fn visitors(network: &Network) -> Vec<u32> {
    let mut visitors = vec![0; network.stations.len()];
    for load in &network.loads {
        let mut visited = vec![false; network.stations.len()];
        for hop in load.classes.iter().flat_map(|class| &class.route) {
            if let Hop::Visit { station, .. } = hop {
                visited[station.0 as usize] = true;
            }
        }
        for (count, _) in visitors.iter_mut().zip(visited).filter(|(_, visited)| *visited) {
            *count += load.limit();
        }
    }
    visitors
}

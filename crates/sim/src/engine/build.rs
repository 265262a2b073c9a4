//! From a network to one that can run: routes laid out in one table, room for all that can be outstanding.

use super::alarm::Alarms;
use super::choose::Chooser;
use super::entity::{Entities, Line};
use super::event::Pending;
use super::fuse::fuse;
use super::kin::Kin;
use super::lane;
use super::layout::Layout;
use super::source::{self, Origin};
use super::station::{Account, Place, Tokens};
use super::{Class, Observer, Seeds, SetUpError, Simulation, Turn};
use crate::Ps;
use crate::model::{
    Begin, Change, Full, Hop, Network, Station, arms_of, copies_at_once, ios_at_once, ios_of,
};
use clock::Rng;

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
        Simulation::built(network, seeds.into(), observer, true)
    }

    /// As [`Simulation::observed`], with an event for each visit and all links in one division: what the shortcuts save is
    /// seen by it, and that they change nothing.
    ///
    /// # Errors
    /// The same.
    pub fn unfused(
        network: &Network,
        seeds: impl Into<Seeds>,
        observer: O,
    ) -> Result<Simulation<O>, SetUpError> {
        Simulation::built(network, seeds.into(), observer, false)
    }

    fn built(
        network: &Network,
        seeds: Seeds,
        observer: O,
        fast: bool,
    ) -> Result<Simulation<O>, SetUpError> {
        network.check()?;
        // What passes the check fits.
        let ios = u32::try_from(ios_at_once(network)).unwrap_or(u32::MAX);
        let fails =
            network.changes.iter().any(|(_, change)| matches!(change, Change::ArmDown { .. }));
        let mut simulation = Simulation {
            now: Ps::ZERO,
            sequence: 0,
            dispatched: 0,
            standing: 0,
            standing_max: (u64::from(ios) + 1024) * MOMENT,
            // An I/O has one event at most, and so has a source besides.
            pending: Pending::with_capacity(ios as usize + network.loads.len()),
            alarms: alarms(network),
            entities: Entities::new(ios),
            kin: Kin::all(network, ios),
            issued: 0,
            ready: Line::EMPTY,
            steps: Box::default(),
            scopes: Box::default(),
            starts: Box::default(),
            runs: Box::default(),
            places: Vec::with_capacity(network.stations.len()),
            pools: network.pools.iter().map(|pool| Tokens::new(pool, O::TIMES)).collect(),
            choosers: Vec::new(),
            origins: Vec::new(),
            classes: Vec::new(),
            turns: turns(network),
            turned: 0,
            pulled: Vec::with_capacity(if fails { ios as usize } else { 0 }),
            doors: network
                .stations
                .iter()
                .any(|station| matches!(station, Station::Queue { full: Full::Block, .. })),
            progress: None,
            observer,
        };
        for (number, station) in network.stations.iter().enumerate() {
            let rng = Rng::keyed(seeds.draws, &[super::STATION, number as u64]);
            simulation.places.push(Place::new(station, rng, O::TIMES));
        }
        let arms = arms_of(network).into_iter();
        simulation.choosers =
            network.selectors.iter().zip(arms).map(|(of, arms)| Chooser::new(of, arms)).collect();
        simulation.lay_out(network, seeds, fast)?;
        // Who is on a run can be neither pulled out nor stopped.
        if fast && network.changes.is_empty() {
            let steps = &mut simulation.steps;
            simulation.runs = fuse(steps, &simulation.starts, &simulation.places).into();
        }
        lane::assign(&mut simulation.steps, &mut simulation.places, ios);
        simulation.begin(network);
        Ok(simulation)
    }

    /// Routes and sources.
    fn lay_out(&mut self, network: &Network, seeds: Seeds, fast: bool) -> Result<(), SetUpError> {
        let copies = copies_at_once(network);
        let mut layout = Layout::new(&mut self.places);
        for (number, load) in network.loads.iter().enumerate() {
            let origin = Origin::new(load, number, self.classes.len() as u32, seeds)?;
            let may_be_late = match &origin.kind {
                source::Kind::Closed { .. } => false,
                source::Kind::Open(_) => true,
                source::Kind::Operations(worker) => worker.open,
            };
            self.origins.push(origin);
            layout.load(number, ios_of(load).saturating_add(copies));
            for class in &load.classes {
                self.classes.push(Class {
                    load: number as u32,
                    first_step: layout.class(&class.route),
                    bytes: class.bytes,
                    priority: class.priority,
                    dir: class.dir,
                    account: Account::new(may_be_late, O::TIMES),
                });
            }
        }
        let (steps, scopes, starts) = layout.make_room(fast.then_some(network));
        (self.steps, self.scopes, self.starts) = (steps.into(), scopes.into(), starts.into());
        for (number, load) in network.loads.iter().enumerate() {
            if let Begin::After(before) = &load.begins {
                self.origins[number].waits = before.len() as u32;
                for other in before {
                    self.origins[other.0 as usize].followers.push(number as u32);
                }
            }
        }
        Ok(())
    }
}

/// No alarm yet; of those stations that ever set one.
fn alarms(network: &Network) -> Alarms {
    let with = |station: &Station| match station {
        Station::Sharing { .. } | Station::Links { .. } | Station::Batch { .. } => true,
        Station::Queue { .. } | Station::Delay | Station::Sorted { .. } => false,
    };
    let all = (0..).zip(&network.stations);
    let numbers: Vec<u32> =
        all.filter(|(_, station)| with(station)).map(|(number, _)| number).collect();
    Alarms::new(network.stations.len(), &numbers)
}

/// What happens at moments that are known beforehand, in order: of one moment loads begin first.
fn turns(network: &Network) -> Box<[(Ps, Turn)]> {
    let begins = network.loads.iter().enumerate().filter_map(|(number, load)| match load.begins {
        Begin::At(at) => Some((at, Turn::Begin(number as u32))),
        Begin::Now | Begin::After(_) => None,
    });
    let changes = network.changes.iter().map(|(at, change)| (*at, Turn::Change(*change)));
    let mut turns: Vec<(Ps, Turn)> = begins.chain(changes).collect();
    // Stable: what was added first happens first.
    turns.sort_by_key(|(at, _)| *at);
    turns.into()
}

/// Whether a hop of any route, within arms and copies too, is one that `which` says.
pub fn any_hop(network: &Network, which: &impl Fn(&Hop) -> bool) -> bool {
    fn any(hops: &[Hop], which: &impl Fn(&Hop) -> bool) -> bool {
        hops.iter().any(|hop| {
            which(hop)
                || match hop {
                    Hop::Branch { arms: routes, .. } | Hop::Together { routes } => {
                        routes.iter().any(|route| any(route, which))
                    }
                    Hop::Fork { route } => any(route, which),
                    _ => false,
                }
        })
    }
    network.loads.iter().flat_map(|load| &load.classes).any(|class| any(&class.route, which))
}

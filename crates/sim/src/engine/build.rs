//! Builds a simulation from a network: routes in one table, memory for all I/Os that can be outstanding.

use super::alarm::Alarms;
use super::apart::Apart;
use super::choose::Chooser;
use super::copies::CopyState;
use super::entity::{Entities, Fifo};
use super::event::EventQueue;
use super::fuse::{Foreseeable, entered, fuse};
use super::layout::{RouteLayout, StepFigures};
use super::source::{self, SourceState};
use super::station::{ClassCounts, PoolState, StationState};
use super::stretch::{self, Passes};
use super::{ClassState, Observer, Scheduled, Seeds, SetUpError, Simulation};
use crate::Ps;
use crate::model::{
    Begin, Change, DiskParts, Full, Hop, Network, Station, arms_of, copies_at_once, ios_at_once,
    ios_of,
};
use clock::Rng;

/// Events at one moment that are plausible for each outstanding I/O: twice the longest route.
const MOMENT: u64 = 8192;

impl Simulation {
    /// The network at time 0, its randomness seeded with `seed`.
    ///
    /// # Errors
    /// The network fails its check, or a workload does not fit its targets.
    pub fn new(network: &Network, seed: u64) -> Result<Simulation, SetUpError> {
        Simulation::observed(network, seed, ())
    }
}

impl<O: Observer> Simulation<O> {
    /// As [`Simulation::new`], reporting each I/O to `observer`.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn observed(
        network: &Network,
        seeds: impl Into<Seeds>,
        observer: O,
    ) -> Result<Simulation<O>, SetUpError> {
        Simulation::built(network, seeds.into(), observer, true)
    }

    /// As [`Simulation::observed`], without shortcuts: one event per visit, and all links divided together. Tests
    /// compare both for equal results and measure what the shortcuts save.
    ///
    /// # Errors
    /// As [`Simulation::new`].
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
        // A network that passes the check fits.
        let ios = u32::try_from(ios_at_once(network)).unwrap_or(u32::MAX);
        let fails =
            network.changes.iter().any(|(_, change)| matches!(change, Change::ArmDown { .. }));
        let mut simulation = Simulation {
            now: Ps::ZERO,
            sequence: 0,
            dispatched: 0,
            standing: 0,
            standing_max: (u64::from(ios) + 1024) * MOMENT,
            // At most one event per I/O, plus one per source and one per station that frees a processor.
            pending: EventQueue::with_capacity(
                ios as usize + network.loads.len() + network.stations.len(),
            ),
            at_once: None,
            alarms: alarms(network),
            entities: Entities::new(ios),
            copies: CopyState::all(network, ios),
            issued: 0,
            ready: Fifo::EMPTY,
            steps: Box::default(),
            scopes: Box::default(),
            starts: Box::default(),
            figures: StepFigures::default(),
            raids: Box::default(),
            parts: DiskParts::default(),
            runs: Box::default(),
            passes: Passes::default(),
            apart: Apart::default(),
            stations: Vec::with_capacity(network.stations.len()),
            pools: network.pools.iter().map(|pool| PoolState::new(pool, O::TIMES)).collect(),
            choosers: Vec::new(),
            origins: Vec::new(),
            classes: Vec::new(),
            scheduled: scheduled(network),
            scheduled_done: 0,
            pulled: Vec::with_capacity(if fails { ios as usize } else { 0 }),
            doors: network
                .stations
                .iter()
                .any(|station| matches!(station, Station::Queue { full: Full::Block, .. })),
            progress: None,
            transfers: Default::default(),
            observer,
        };
        for (number, station) in network.stations.iter().enumerate() {
            let rng = Rng::keyed(seeds.draws, &[super::STATION, number as u64]);
            simulation.stations.push(StationState::new(station, rng, O::TIMES));
        }
        simulation.admit_threads();
        let arms = arms_of(network).into_iter();
        simulation.choosers =
            network.selectors.iter().zip(arms).map(|(of, arms)| Chooser::new(of, arms)).collect();
        simulation.lay_out(network, (seeds, ios), fast)?;
        if fast && network.changes.is_empty() {
            simulation.shorten(network);
        }
        simulation.begin(network);
        Ok(simulation)
    }

    /// Fuses visits, and finds what can be simulated apart. Nothing ever changes: an I/O on fused visits can be neither
    /// pulled out nor stopped.
    fn shorten(&mut self, network: &Network) {
        let (starts, stations) = (&self.starts, &mut self.stations);
        let mut known = Foreseeable::of(network);
        let demands = &self.figures.demands;
        self.runs = fuse(&mut self.steps, starts, stations, demands, &mut known).into();
        if !O::SERVICES {
            self.apart = self.find_apart(network);
        }
        let entered = entered(&self.steps, &self.starts);
        self.passes = stretch::shorten(&mut self.steps, &entered, &known);
    }

    /// Lays out the routes and the sources.
    fn lay_out(
        &mut self,
        network: &Network,
        (seeds, ios): (Seeds, u32),
        fast: bool,
    ) -> Result<(), SetUpError> {
        let copies = copies_at_once(network);
        let mut layout = RouteLayout::new(&mut self.stations);
        for (number, load) in network.loads.iter().enumerate() {
            let origin = SourceState::new(load, number, self.classes.len() as u32, seeds)?;
            let may_be_late = match &origin.kind {
                source::SourceKind::Closed { .. } => false,
                source::SourceKind::Open(_) => true,
                source::SourceKind::Operations(worker) => worker.open,
            };
            self.origins.push(origin);
            layout.load(number, ios_of(load).saturating_add(copies));
            for class in &load.classes {
                self.classes.push(ClassState {
                    responded: 0,
                    load: number as u32,
                    first_step: layout.class(&class.route),
                    submits: class.route.contains(&Hop::Submit),
                    bytes: class.bytes,
                    priority: class.priority,
                    dir: class.dir,
                    account: ClassCounts::new(may_be_late, O::TIMES),
                });
            }
        }
        let laid_out = layout.make_room(fast.then_some(network), ios);
        (self.steps, self.scopes) = (laid_out.steps, laid_out.scopes);
        (self.starts, self.raids) = (laid_out.starts, laid_out.raids);
        self.figures = laid_out.figures;
        let disks = self.raids.iter().map(|visit| visit.group.disks).max();
        self.parts = DiskParts::new(disks.unwrap_or(0));
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

/// Unset alarms for the stations that can ever set one.
fn alarms(network: &Network) -> Alarms {
    let with = |station: &Station| match station {
        Station::Sharing { .. } | Station::Links { .. } => true,
        Station::Batch { .. } | Station::Gated(_) => true,
        Station::Queue { .. } | Station::Delay | Station::Sorted { .. } => false,
        Station::Processors { .. } => false,
    };
    let all = (0..).zip(&network.stations);
    let numbers: Vec<u32> =
        all.filter(|(_, station)| with(station)).map(|(number, _)| number).collect();
    Alarms::new(network.stations.len(), &numbers)
}

/// Scheduled begins and changes in order of time; at the same time begins come first.
fn scheduled(network: &Network) -> Box<[(Ps, Scheduled)]> {
    let begins = network.loads.iter().enumerate().filter_map(|(number, load)| match load.begins {
        Begin::At(at) => Some((at, Scheduled::Begin(number as u32))),
        Begin::Now | Begin::After(_) => None,
    });
    let changes = network.changes.iter().map(|(at, change)| (*at, Scheduled::Change(*change)));
    let mut scheduled: Vec<(Ps, Scheduled)> = begins.chain(changes).collect();
    // The sort is stable and keeps the order of insertion at equal times.
    scheduled.sort_by_key(|(at, _)| *at);
    scheduled.into()
}

/// Whether any hop of any route, arms and copies included, satisfies `which`.
pub fn any_hop(network: &Network, which: &impl Fn(&Hop) -> bool) -> bool {
    network.loads.iter().flat_map(|load| &load.classes).any(|class| any_of(&class.route, which))
}

/// The same of one route.
pub fn any_of(hops: &[Hop], which: &impl Fn(&Hop) -> bool) -> bool {
    hops.iter().any(|hop| {
        which(hop)
            || match hop {
                Hop::Branch { arms: routes, .. } | Hop::Together { routes } => {
                    routes.iter().any(|route| any_of(route, which))
                }
                Hop::Fork { route } => any_of(route, which),
                _ => false,
            }
    })
}

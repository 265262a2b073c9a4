//! Routes laid out in one table of steps. Arms and copies are stored inside the route that names them, so a step's
//! number alone says which tokens an I/O at it holds, which arms it is within, and whether it is a copy.

use super::fluid::Fluid;
use super::station::{Discipline, StationState};
use crate::model::{Demand, HeldTokens, Hop, Network, RaidVisit, StationId, hold, net_of};
use std::collections::BTreeMap;
use std::sync::Arc;
use workload::Dir;

/// A figure is looked for among so many of its table.
const LOOKED_AT: usize = 64;

/// A hop with its numbers resolved, four to a cache line. Positions refer to the table of all routes, and what is larger
/// than a number is in the tables of [`StepFigures`].
#[derive(Clone, Copy, Debug)]
pub enum RouteStep {
    Visit {
        station: u32,
        demand: u32,
    },
    Spread {
        first: u32,
        count: u32,
        demand: u32,
    },
    Cross {
        station: u32,
        path: u32,
        size: u32,
    },
    Take {
        pool: u32,
        tokens: u32,
    },
    Give {
        pool: u32,
        tokens: u32,
    },
    Skip {
        chance: u32,
        to: u32,
    },
    As {
        dir: Dir,
    },
    Submit,
    /// The arms' first steps are in the table of starts, from `starts` on.
    Branch {
        selector: u32,
        starts: u32,
    },
    /// The end of an arm.
    Leave {
        selector: u32,
        arm: u32,
        to: u32,
    },
    /// The copy starts at `start`; the I/O continues at `next`.
    Fork {
        start: u32,
        next: u32,
    },
    /// The copies' first steps are in the table of starts.
    Together {
        starts: u32,
        count: u32,
        next: u32,
    },
    /// Tokens that are always there are counted, and the I/O continues at `to`; or with the visit so many steps ahead, or
    /// with its end ([`super::stretch`]).
    Pass {
        place: u32,
        to: u32,
    },
    PassVisit {
        ahead: u8,
        place: u32,
        station: u32,
        demand: u32,
    },
    PassEnd {
        place: u32,
    },
    /// One token, and the visit that is the next step.
    TakeVisit {
        pool: u32,
        station: u32,
        demand: u32,
    },
    GiveVisit {
        pool: u32,
        station: u32,
        demand: u32,
    },
    /// Several visits as one event, at the last of their stations.
    Run {
        run: u32,
        last: u32,
        next: u32,
    },
    /// The next two steps are a copy's at one disk, and the third is the I/O's own where it needs only one disk.
    Raid {
        visit: u32,
    },
    /// At one of the disks of a RAID group.
    RaidPart {
        visit: u32,
        first: u32,
        count: u32,
    },
    /// The step depends on the tokens of a pool that are held.
    SkipHeld {
        pool: u32,
        chances: u32,
        to: u32,
    },
    /// The end of a copy that an I/O waits for.
    Joined,
    /// The end of a background copy.
    Gone,
    End,
}

/// The bytes that an I/O brings on a path: a share of its own, and more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossSize {
    pub scale: f64,
    pub extra: u32,
}

impl CrossSize {
    /// For an I/O of `bytes`.
    #[inline]
    pub fn of(&self, bytes: u32) -> u64 {
        // As a signed number: the processor has an instruction for it.
        (f64::from(bytes) * self.scale + 0.5) as i64 as u64 + u64::from(self.extra)
    }

    /// Whether the transfer carries the I/O's bytes, unlike commands, responses and acknowledgements.
    #[inline]
    pub fn brings_payload(&self) -> bool {
        self.scale >= 0.5
    }
}

/// What steps refer to. Routes differ in their stations and hardly in these figures, so that the tables are short.
#[derive(Debug, Default)]
pub struct StepFigures {
    pub demands: Vec<Demand>,
    pub sizes: Vec<CrossSize>,
    pub chances: Vec<f64>,
    /// Chances for equally spaced shares of a pool's tokens that are held.
    pub held: Vec<Arc<[f64]>>,
}

/// The number of a figure in its table, where it is added if the last ones are others.
fn number<T: PartialEq>(table: &mut Vec<T>, figure: T) -> u32 {
    let from = table.len().saturating_sub(LOOKED_AT);
    let known = table[from..].iter().position(|of| *of == figure).map(|at| from + at);
    known.unwrap_or_else(|| {
        table.push(figure);
        table.len() - 1
    }) as u32
}

/// What a step belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strand {
    /// The I/O itself.
    Main,
    /// A copy that its I/O waits for.
    Waited,
    /// A copy in the background.
    Background,
}

/// An arm that encloses a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnclosingArm {
    pub selector: u32,
    pub arm: u32,
    /// The step of the branch.
    pub branch: u32,
}

/// What an I/O at a step holds.
#[derive(Clone, Debug)]
pub struct StepScope {
    /// PoolState held: pools in order, and how many of each.
    pub held: Box<[(u32, u32)]>,
    /// The enclosing arms, outermost first; for a copy that is waited for, the waiting I/O's arms come before its own.
    pub arms: Box<[EnclosingArm]>,
    /// How many of these arms are the waiting I/O's.
    pub inherited: usize,
    pub strand: Strand,
}

impl StepScope {
    /// The position of this arm among `arms`.
    pub fn level(&self, selector: u32, arm: u32) -> Option<usize> {
        self.arms.iter().position(|at| (at.selector, at.arm) == (selector, arm))
    }
}

/// The context in which a route is laid out.
#[derive(Clone)]
struct RouteContext {
    held: HeldTokens,
    arms: Vec<EnclosingArm>,
    inherited: usize,
    strand: Strand,
}

/// The tables of all routes laid out so far.
pub struct RouteLayout<'a> {
    pub steps: Vec<RouteStep>,
    pub scopes: Vec<StepScope>,
    pub starts: Vec<u32>,
    figures: StepFigures,
    /// The visits to RAID groups.
    pub raids: Vec<RaidVisit>,
    stations: &'a mut [StationState],
    /// The load's I/Os that can exist at once, copies included.
    ios: u64,
    /// Per path at a fluid station: how many I/Os can be on it, and the load that was added last.
    rooms: BTreeMap<(u32, u32), (u64, usize)>,
    load: usize,
    /// The first steps of this load's background copies, by route: a copy does not depend on where it starts.
    copies: BTreeMap<*const Hop, u32>,
}

/// The tables of all routes.
pub struct LaidOut {
    pub steps: Box<[RouteStep]>,
    pub scopes: Box<[StepScope]>,
    pub starts: Box<[u32]>,
    pub figures: StepFigures,
    pub raids: Box<[RaidVisit]>,
}

impl<'a> RouteLayout<'a> {
    /// Empty tables.
    pub fn new(stations: &'a mut [StationState]) -> RouteLayout<'a> {
        RouteLayout {
            steps: Vec::new(),
            scopes: Vec::new(),
            starts: Vec::new(),
            figures: StepFigures::default(),
            raids: Vec::new(),
            stations,
            ios: 0,
            rooms: BTreeMap::new(),
            load: 0,
            copies: BTreeMap::new(),
        }
    }

    /// The routes that follow belong to load `number`, of which `ios` I/Os can exist at once.
    pub fn load(&mut self, number: usize, ios: u64) {
        (self.load, self.ios) = (number, ios);
        self.copies.clear();
    }

    /// Lays out the route of a class and returns its first step.
    pub fn class(&mut self, route: &[Hop]) -> u32 {
        let first = self.steps.len() as u32;
        let (held, arms) = (HeldTokens::new(), Vec::new());
        self.route(
            route,
            &RouteContext { held, arms, inherited: 0, strand: Strand::Main },
            RouteStep::End,
        );
        first
    }

    /// Partitions all fluid stations and preallocates their memory, nowhere for more than the network's `all` I/Os. Where
    /// `network` is given, links that can never limit are left out.
    pub fn make_room(self, network: Option<&Network>, all: u32) -> LaidOut {
        for (number, place) in (0..).zip(self.stations.iter_mut()) {
            if let Discipline::Fluid(fluid) = &mut place.kind {
                fluid.divide(
                    network.map(|network| network.link_rates(StationId(number))).as_deref(),
                );
            }
        }
        for ((station, path), (ios, _)) in self.rooms {
            if let Discipline::Fluid(fluid) = &mut self.stations[station as usize].kind {
                fluid.make_room(path, ios, all);
            }
        }
        LaidOut {
            steps: self.steps.into(),
            scopes: self.scopes.into(),
            starts: self.starts.into(),
            figures: self.figures,
            raids: self.raids.into(),
        }
    }

    fn push(&mut self, step: RouteStep, inside: &RouteContext) -> usize {
        let tokens = |tokens: i64| u32::try_from(tokens).unwrap_or(0);
        self.steps.push(step);
        self.scopes.push(StepScope {
            held: inside.held.iter().map(|(pool, held)| (pool.0, tokens(*held))).collect(),
            arms: inside.arms.as_slice().into(),
            inherited: inside.inherited,
            strand: inside.strand,
        });
        self.steps.len() - 1
    }

    fn route(&mut self, hops: &[Hop], inside: &RouteContext, end: RouteStep) {
        let mut inside = inside.clone();
        let mut firsts = Vec::with_capacity(hops.len() + 1);
        for hop in hops {
            firsts.push(self.steps.len() as u32);
            self.hop(hop, &inside);
            hold(&mut inside.held, hop);
        }
        firsts.push(self.push(end, &inside) as u32);
        for (number, hop) in hops.iter().enumerate() {
            if let Hop::Skip { hops: over, .. } | Hop::SkipHeld { hops: over, .. } = hop
                && let RouteStep::Skip { to, .. } | RouteStep::SkipHeld { to, .. } =
                    &mut self.steps[firsts[number] as usize]
            {
                *to = firsts[number + 1 + *over as usize];
            }
        }
    }

    fn hop(&mut self, hop: &Hop, inside: &RouteContext) {
        match hop {
            Hop::Branch { selector, arms } => self.branch(selector.0, arms, inside),
            Hop::Fork { route } => self.fork(route, inside),
            Hop::Together { routes } => {
                let (starts, count) = (self.starts.len() as u32, routes.len() as u32);
                self.starts.resize(self.starts.len() + routes.len(), 0);
                let at = self.push(RouteStep::Together { starts, count, next: 0 }, inside);
                let (arms, strand) = (inside.arms.clone(), Strand::Waited);
                let copy =
                    RouteContext { held: HeldTokens::new(), inherited: arms.len(), arms, strand };
                for (number, route) in (starts..).zip(routes) {
                    self.starts[number as usize] = self.steps.len() as u32;
                    self.route(route, &copy, RouteStep::Joined);
                }
                self.steps[at] =
                    RouteStep::Together { starts, count, next: self.steps.len() as u32 };
            }
            Hop::Raid { visit } => self.raid(visit, inside),
            plain => {
                let step = self.plain(plain);
                self.push(step, inside);
            }
        }
    }

    fn fork(&mut self, route: &Arc<[Hop]>, inside: &RouteContext) {
        let at = self.push(RouteStep::Fork { start: 0, next: 0 }, inside);
        let known = self.copies.get(&route.as_ptr()).copied();
        let start = known.unwrap_or_else(|| {
            let start = self.steps.len() as u32;
            self.copies.insert(route.as_ptr(), start);
            let handed = net_of(route).into_iter().map(|(pool, tokens)| (pool, -tokens));
            let held = handed.filter(|(_, tokens)| *tokens > 0).collect();
            let strand = Strand::Background;
            let copy = RouteContext { held, arms: Vec::new(), inherited: 0, strand };
            self.route(route, &copy, RouteStep::Gone);
            start
        });
        self.steps[at] = RouteStep::Fork { start, next: self.steps.len() as u32 };
    }

    fn raid(&mut self, visit: &RaidVisit, inside: &RouteContext) {
        let number = self.raids.len() as u32;
        self.raids.push(visit.clone());
        let (first, count) = (visit.group.first.0, visit.group.disks);
        (first..first + count).for_each(|station| self.room(station, 0));
        let part = || RouteStep::RaidPart { visit: number, first, count };
        self.push(RouteStep::Raid { visit: number }, inside);
        let (arms, strand) = (inside.arms.clone(), Strand::Waited);
        let copy = RouteContext { held: HeldTokens::new(), inherited: arms.len(), arms, strand };
        self.push(part(), &copy);
        self.push(RouteStep::Joined, &copy);
        self.push(part(), inside);
    }

    fn branch(&mut self, selector: u32, arms: &[Vec<Hop>], inside: &RouteContext) {
        let starts = self.starts.len() as u32;
        self.starts.resize(self.starts.len() + arms.len(), 0);
        let branch = self.push(RouteStep::Branch { selector, starts }, inside) as u32;
        let mut ends = Vec::with_capacity(arms.len());
        for (arm, route) in (0..).zip(arms) {
            self.starts[(starts + arm) as usize] = self.steps.len() as u32;
            let mut of_arm = inside.clone();
            of_arm.arms.push(EnclosingArm { selector, arm, branch });
            self.route(route, &of_arm, RouteStep::Leave { selector, arm, to: 0 });
            ends.push(self.steps.len() - 1);
        }
        let behind = self.steps.len() as u32;
        for end in ends {
            if let RouteStep::Leave { to, .. } = &mut self.steps[end] {
                *to = behind;
            }
        }
    }

    /// A hop without inner routes.
    fn plain(&mut self, hop: &Hop) -> RouteStep {
        match hop {
            Hop::Visit { station, demand } => {
                self.room(station.0, 0);
                let demand = number(&mut self.figures.demands, demand.clone());
                RouteStep::Visit { station: station.0, demand }
            }
            Hop::Spread { first, count, demand } => {
                (first.0..first.0 + count).for_each(|station| self.room(station, 0));
                let demand = number(&mut self.figures.demands, demand.clone());
                RouteStep::Spread { first: first.0, count: *count, demand }
            }
            Hop::Cross { station, links, scale, extra } => {
                let path = match &mut self.stations[station.0 as usize].kind {
                    Discipline::Fluid(fluid) => Fluid::path(fluid, links),
                    _ => 0,
                };
                self.room(station.0, path);
                let size = CrossSize { scale: *scale, extra: *extra };
                let size = number(&mut self.figures.sizes, size);
                RouteStep::Cross { station: station.0, path, size }
            }
            Hop::Take { pool, tokens } => RouteStep::Take { pool: pool.0, tokens: *tokens },
            Hop::Give { pool, tokens } => RouteStep::Give { pool: pool.0, tokens: *tokens },
            Hop::Skip { chance, .. } => {
                RouteStep::Skip { chance: number(&mut self.figures.chances, *chance), to: 0 }
            }
            Hop::As { dir } => RouteStep::As { dir: *dir },
            Hop::Submit => RouteStep::Submit,
            Hop::SkipHeld { pool, chances, .. } => {
                let chances = number(&mut self.figures.held, chances.clone());
                RouteStep::SkipHeld { pool: pool.0, chances, to: 0 }
            }
            // Laid out by the caller.
            Hop::Branch { .. } | Hop::Fork { .. } | Hop::Together { .. } | Hop::Raid { .. } => {
                RouteStep::End
            }
        }
    }

    /// All I/Os of the current load may be on this path at once.
    fn room(&mut self, station: u32, path: u32) {
        let (ios, load) = self.rooms.entry((station, path)).or_insert((0, usize::MAX));
        if *load != self.load {
            *ios += self.ios;
            *load = self.load;
        }
    }
}

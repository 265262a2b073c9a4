//! Routes laid out in one table of steps. Arms and copies lie inside the route that names them, so that a step's number
//! alone says what an I/O at it holds, which arms it is within, and whether it is a copy.

use super::fluid::Fluid;
use super::station::{Kind, Place};
use crate::Ps;
use crate::model::{Demand, Held, Hop, Network, StationId, hold, net_of};
use std::collections::BTreeMap;
use workload::Dir;

/// A hop with its numbers looked up. Positions are those in the table of all routes.
#[derive(Clone, Debug)]
pub enum Step {
    Visit {
        station: u32,
        demand: Demand,
    },
    Spread {
        first: u32,
        count: u32,
        demand: Demand,
    },
    Cross {
        station: u32,
        path: u32,
        scale: f64,
        extra: u32,
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
        chance: f64,
        to: u32,
    },
    As {
        dir: Dir,
    },
    /// The arms' first steps stand in the table of starts, from `starts` on.
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
    /// The copy begins at the next step, and the I/O goes on at `next`.
    Fork {
        next: u32,
    },
    /// The copies' first steps stand in the table of starts.
    Together {
        starts: u32,
        count: u32,
        next: u32,
    },
    /// Several visits that are one event, at the last of their stations.
    Run {
        run: u32,
        last: u32,
        total: Ps,
        next: u32,
        lane: u8,
    },
    /// The end of a copy that is waited for.
    Joined,
    /// The end of a copy that nobody waits for.
    Gone,
    End,
}

/// Whose step it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strand {
    /// The I/O's itself.
    Main,
    /// Of a copy that it waits for.
    Waited,
    /// Of a copy in the background.
    Background,
}

/// An arm that a step is within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    pub selector: u32,
    pub arm: u32,
    /// The step of the branch.
    pub branch: u32,
}

/// What is known of whoever is at a step.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Tokens that it holds: pools in order, and how many.
    pub held: Box<[(u32, u32)]>,
    /// The arms that it is within, the outermost first; of a copy that is waited for, those of who waits before its own.
    pub arms: Box<[Within]>,
    /// How many of these arms are not its own.
    pub inherited: usize,
    pub strand: Strand,
}

impl Scope {
    /// Which of the arms, the outermost first, this one is.
    pub fn level(&self, selector: u32, arm: u32) -> Option<usize> {
        self.arms.iter().position(|at| (at.selector, at.arm) == (selector, arm))
    }
}

/// Where a route is laid out.
#[derive(Clone)]
struct Inside {
    held: Held,
    arms: Vec<Within>,
    inherited: usize,
    strand: Strand,
}

/// The tables of all routes, as far as they are laid out.
pub struct Layout<'a> {
    pub steps: Vec<Step>,
    pub scopes: Vec<Scope>,
    pub starts: Vec<u32>,
    places: &'a mut [Place],
    /// I/Os of the route's load that there can be at once, copies included.
    ios: u64,
    /// For each path at a station that serves all at once: how many can be on it, and the load that was added last.
    rooms: BTreeMap<(u32, u32), (u64, usize)>,
    load: usize,
}

impl<'a> Layout<'a> {
    /// Nothing laid out yet.
    pub fn new(places: &'a mut [Place]) -> Layout<'a> {
        Layout {
            steps: Vec::new(),
            scopes: Vec::new(),
            starts: Vec::new(),
            places,
            ios: 0,
            rooms: BTreeMap::new(),
            load: 0,
        }
    }

    /// What follows belongs to load `number`, of which there are `ios` at once.
    pub fn load(&mut self, number: usize, ios: u64) {
        (self.load, self.ios) = (number, ios);
    }

    /// Lays out the route of a class; its first step.
    pub fn class(&mut self, route: &[Hop]) -> u32 {
        let first = self.steps.len() as u32;
        let (held, arms) = (Held::new(), Vec::new());
        self.route(route, &Inside { held, arms, inherited: 0, strand: Strand::Main }, Step::End);
        first
    }

    /// Divides all stations that serve all at once, leaving out links that never limit where `network` is given, and makes
    /// room at them.
    pub fn make_room(self, network: Option<&Network>) -> (Vec<Step>, Vec<Scope>, Vec<u32>) {
        for (number, place) in (0..).zip(self.places.iter_mut()) {
            if let Kind::Fluid(fluid) = &mut place.kind {
                fluid.divide(
                    network.map(|network| network.link_rates(StationId(number))).as_deref(),
                );
            }
        }
        for ((station, path), (ios, _)) in self.rooms {
            if let Kind::Fluid(fluid) = &mut self.places[station as usize].kind {
                fluid.make_room(path, ios as usize);
            }
        }
        (self.steps, self.scopes, self.starts)
    }

    fn push(&mut self, step: Step, inside: &Inside) -> usize {
        let tokens = |tokens: i64| u32::try_from(tokens).unwrap_or(0);
        self.steps.push(step);
        self.scopes.push(Scope {
            held: inside.held.iter().map(|(pool, held)| (pool.0, tokens(*held))).collect(),
            arms: inside.arms.as_slice().into(),
            inherited: inside.inherited,
            strand: inside.strand,
        });
        self.steps.len() - 1
    }

    fn route(&mut self, hops: &[Hop], inside: &Inside, end: Step) {
        let mut inside = inside.clone();
        let mut firsts = Vec::with_capacity(hops.len() + 1);
        for hop in hops {
            firsts.push(self.steps.len() as u32);
            self.hop(hop, &inside);
            hold(&mut inside.held, hop);
        }
        firsts.push(self.push(end, &inside) as u32);
        for (number, hop) in hops.iter().enumerate() {
            if let Hop::Skip { hops: over, .. } = hop
                && let Step::Skip { to, .. } = &mut self.steps[firsts[number] as usize]
            {
                *to = firsts[number + 1 + *over as usize];
            }
        }
    }

    fn hop(&mut self, hop: &Hop, inside: &Inside) {
        match hop {
            Hop::Branch { selector, arms } => self.branch(selector.0, arms, inside),
            Hop::Fork { route } => {
                let at = self.push(Step::Fork { next: 0 }, inside);
                let handed = net_of(route).into_iter().map(|(pool, tokens)| (pool, -tokens));
                let held = handed.filter(|(_, tokens)| *tokens > 0).collect();
                let strand = Strand::Background;
                let copy = Inside { held, arms: Vec::new(), inherited: 0, strand };
                self.route(route, &copy, Step::Gone);
                self.steps[at] = Step::Fork { next: self.steps.len() as u32 };
            }
            Hop::Together { routes } => {
                let (starts, count) = (self.starts.len() as u32, routes.len() as u32);
                self.starts.resize(self.starts.len() + routes.len(), 0);
                let at = self.push(Step::Together { starts, count, next: 0 }, inside);
                let (arms, strand) = (inside.arms.clone(), Strand::Waited);
                let copy = Inside { held: Held::new(), inherited: arms.len(), arms, strand };
                for (number, route) in (starts..).zip(routes) {
                    self.starts[number as usize] = self.steps.len() as u32;
                    self.route(route, &copy, Step::Joined);
                }
                self.steps[at] = Step::Together { starts, count, next: self.steps.len() as u32 };
            }
            plain => {
                let step = self.plain(plain);
                self.push(step, inside);
            }
        }
    }

    fn branch(&mut self, selector: u32, arms: &[Vec<Hop>], inside: &Inside) {
        let starts = self.starts.len() as u32;
        self.starts.resize(self.starts.len() + arms.len(), 0);
        let branch = self.push(Step::Branch { selector, starts }, inside) as u32;
        let mut ends = Vec::with_capacity(arms.len());
        for (arm, route) in (0..).zip(arms) {
            self.starts[(starts + arm) as usize] = self.steps.len() as u32;
            let mut of_arm = inside.clone();
            of_arm.arms.push(Within { selector, arm, branch });
            self.route(route, &of_arm, Step::Leave { selector, arm, to: 0 });
            ends.push(self.steps.len() - 1);
        }
        let behind = self.steps.len() as u32;
        for end in ends {
            if let Step::Leave { to, .. } = &mut self.steps[end] {
                *to = behind;
            }
        }
    }

    /// A hop that has no routes within.
    fn plain(&mut self, hop: &Hop) -> Step {
        match hop {
            Hop::Visit { station, demand } => {
                self.room(station.0, 0);
                Step::Visit { station: station.0, demand: demand.clone() }
            }
            Hop::Spread { first, count, demand } => {
                (first.0..first.0 + count).for_each(|station| self.room(station, 0));
                Step::Spread { first: first.0, count: *count, demand: demand.clone() }
            }
            Hop::Cross { station, links, scale, extra } => {
                let path = match &mut self.places[station.0 as usize].kind {
                    Kind::Fluid(fluid) => Fluid::path(fluid, links),
                    Kind::Queue(_) | Kind::Delay(_) | Kind::Batch(_) => 0,
                };
                self.room(station.0, path);
                Step::Cross { station: station.0, path, scale: *scale, extra: *extra }
            }
            Hop::Take { pool, tokens } => Step::Take { pool: pool.0, tokens: *tokens },
            Hop::Give { pool, tokens } => Step::Give { pool: pool.0, tokens: *tokens },
            Hop::Skip { chance, .. } => Step::Skip { chance: *chance, to: 0 },
            Hop::As { dir } => Step::As { dir: *dir },
            // Laid out by whoever calls.
            Hop::Branch { .. } | Hop::Fork { .. } | Hop::Together { .. } => Step::End,
        }
    }

    /// The I/Os of the load at hand may all be on this path.
    fn room(&mut self, station: u32, path: u32) {
        let (ios, load) = self.rooms.entry((station, path)).or_insert((0, usize::MAX));
        if *load != self.load {
            *ios += self.ios;
            *load = self.load;
        }
    }
}

//! Fused visits: a queue and the constant delays behind it, or delays in sequence, cost one event.
//!
//! Delays are fused where their times are constant and above zero, no step jumps into their middle, nothing is ever
//! changed, and only I/Os of equal sequences come to the last station. A queue before them joins the sequence where it is
//! first come, first served without limits or priorities: then an arrival knows when it will leave ([`super::foreseen`]).
//! So do tokens that are taken on the way from a pool in which there are always enough. Nothing else is drawn or waited for
//! within, and I/Os that leave at one moment leave in the order of entry; so the remaining event has the position in the
//! order of events that it would have had, and all I/Os leave all stations at the same moments.

use super::apart::NOT_APART;
use super::event::RANKS;
use super::layout::RouteStep;
use super::station::{Discipline, StationState};
use crate::Ps;
use crate::model::{Demand, Full, Hop, Law, Network, PoolId, Station, ios_of};
use std::collections::{BTreeMap, BTreeSet};

/// A queue with more servers is not foreseen.
const SERVERS_MOST: u32 = 1024;

/// A sequence that is one event.
#[derive(Clone, Debug)]
pub struct FusedRun {
    /// The queue that it begins with, and the number of the demand there.
    pub queue: Option<(u32, u32)>,
    /// What follows.
    pub legs: Box<[RunLeg]>,
    /// The sum of the delays.
    pub total: Ps,
    /// The position of its queue among those whose sequences end at the same station: I/Os that leave several queues at
    /// one moment leave them in the order of the queues' numbers.
    pub rank: u64,
    /// The links apart that it leads to.
    pub apart: u16,
    /// I/Os that reached its end, read and written, and their bytes.
    pub ios: [u64; 2],
    pub bytes: [u64; 2],
    /// Their times at the queue, read and written, and in service there.
    pub stayed: [u128; 2],
    pub served: u128,
}

/// A part of a sequence behind its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLeg {
    /// A station and the time there.
    Delay(u32, Ps),
    /// A pool and the tokens taken there.
    Take(u32, u32),
}

impl RunLeg {
    /// Whether tokens are taken.
    pub fn takes(&self) -> bool {
        matches!(self, RunLeg::Take(..))
    }

    /// Whether both are at one station.
    fn is_at(&self, other: &RunLeg) -> bool {
        matches!((self, other), (RunLeg::Delay(a, _), RunLeg::Delay(b, _)) if a == b)
    }
}

impl FusedRun {
    /// The station of its event.
    pub fn last(&self) -> u32 {
        let queue = || self.queue.as_ref().map(|(station, _)| *station);
        self.delays().last().map(|(station, _)| station).or_else(queue).unwrap_or(0)
    }

    /// Its delays: stations and times.
    pub fn delays(&self) -> impl Iterator<Item = (u32, Ps)> + '_ {
        self.legs.iter().filter_map(|leg| match leg {
            RunLeg::Delay(station, time) => Some((*station, *time)),
            RunLeg::Take(..) => None,
        })
    }

    /// Whether I/Os on one and on the other go through the same delays, both behind a queue or both not.
    fn is_like(&self, other: &FusedRun) -> bool {
        self.queue.is_some() == other.queue.is_some() && self.delays().eq(other.delays())
    }
}

/// What of a network can be known in advance.
#[derive(Clone, Debug, Default)]
pub struct Foreseeable {
    /// By station: a queue whose departures are known on arrival.
    queues: Vec<bool>,
    /// By pool: it has enough tokens for all I/Os.
    pools: Vec<bool>,
}

impl Foreseeable {
    /// Whether a pool has enough tokens for all I/Os.
    pub fn has_enough(&self, pool: u32) -> bool {
        self.pools[pool as usize]
    }

    /// Of a network in which nothing changes.
    pub fn of(network: &Network) -> Foreseeable {
        let blocks =
            |station: &Station| matches!(station, Station::Queue { full: Full::Block, .. });
        let classes = || network.loads.iter().flat_map(|load| &load.classes);
        let first = classes().next().map(|class| class.priority);
        let alike = classes().all(|class| Some(class.priority) == first);
        let plain = alike && !network.stations.iter().any(blocks);
        let queue = |station: &Station| match station {
            Station::Queue { servers, capacity: None, .. } => *servers <= SERVERS_MOST,
            _ => false,
        };
        let queues = network.stations.iter().map(|station| plain && queue(station)).collect();
        let mut asked: Vec<Option<u64>> = vec![Some(0); network.pools.len()];
        for load in &network.loads {
            let mut most = AskedTokens::new();
            for class in &load.classes {
                let mut of_class = AskedTokens::new();
                tokens(&class.route, ios_of(load), false, &mut of_class);
                for (pool, of_class) in of_class {
                    let most = most.entry(pool).or_insert(Some(0));
                    *most = most.zip(of_class).map(|(most, of_class)| most.max(of_class));
                }
            }
            for (pool, most) in most {
                let asked = &mut asked[pool as usize];
                *asked = asked.zip(most).map(|(asked, most)| asked.saturating_add(most));
            }
        }
        let enough = asked.into_iter().zip(&network.pools);
        let enough = enough.map(|(asked, pool)| asked.is_some_and(|of| of <= pool.tokens.into()));
        Foreseeable { queues, pools: enough.collect() }
    }
}

/// By pool: tokens that are asked for at once at most; `None` where they may outlast the I/O, or decide what it does.
type AskedTokens = BTreeMap<u32, Option<u64>>;

/// Adds the tokens that a route asks for with so many I/Os on it; of a copy's route none are known.
fn tokens(route: &[Hop], ios: u64, copy: bool, asked: &mut AskedTokens) {
    for hop in route {
        let mut ask = |pool: &PoolId, by: Option<u64>| {
            let of = asked.entry(pool.0).or_insert(Some(0));
            *of = of.zip(by).map(|(of, by)| of.saturating_add(by));
        };
        match hop {
            Hop::Take { pool, .. } | Hop::Give { pool, .. } if copy => ask(pool, None),
            Hop::Take { pool, tokens } => ask(pool, Some(ios.saturating_mul((*tokens).into()))),
            Hop::SkipHeld { pool, .. } => ask(pool, None),
            Hop::Branch { arms, .. } => arms.iter().for_each(|arm| tokens(arm, ios, copy, asked)),
            Hop::Together { routes } => routes.iter().for_each(|of| tokens(of, ios, true, asked)),
            Hop::Fork { route } => tokens(route, ios, true, asked),
            _ => {}
        }
    }
}

/// Replaces sequences of visits where they can be fused, and makes their queues foreseen ones.
pub fn fuse(
    steps: &mut [RouteStep],
    starts: &[u32],
    stations: &mut [StationState],
    demands: &[Demand],
    known: &mut Foreseeable,
) -> Vec<FusedRun> {
    let (visits, entered) = (visits(steps), entered(steps, starts));
    let (mut found, queues) = loop {
        let mut found = sequences(steps, &entered, (stations, demands), known);
        let alone = alone(&found, &visits);
        // Of each queue the sequences that begin there: all of its visits, some of which go on.
        let mut queues: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
        let mut failed = BTreeSet::new();
        for ((_, run), alone) in found.iter().zip(&alone) {
            let Some((station, _)) = run.queue else { continue };
            let goes_on = run.total > Ps::ZERO;
            let (count, some) = queues.entry(station).or_default();
            (*count, *some) = (*count + 1, *some || goes_on);
            if goes_on && !alone {
                failed.insert(station);
            }
        }
        // More queues than can be ranked end at one station.
        let mut ends: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (_, run) in &found {
            ends.entry(run.last()).or_default().extend(run.queue.iter().map(|(queue, _)| *queue));
        }
        failed.extend(ends.into_values().filter(|queues| queues.len() > RANKS).flatten());
        let fails = |(station, (count, goes_on)): (&u32, &(usize, bool))| {
            (!goes_on || visits.get(station) != Some(count)).then_some(*station)
        };
        failed.extend(queues.iter().filter_map(fails));
        if failed.is_empty() {
            let mut alone = alone.into_iter();
            found.retain(|(_, run)| {
                let alone = alone.next() == Some(true);
                run.queue.is_some() || alone && run.delays().count() > 1
            });
            break (found, queues);
        }
        // What follows these queues may be fused without them.
        failed.into_iter().for_each(|station| known.queues[station as usize] = false);
    };
    rank(&mut found);
    for (number, (at, run)) in (0..).zip(&found) {
        let next = (at + usize::from(run.queue.is_some()) + run.legs.len()) as u32;
        steps[*at] = RouteStep::Run { run: number, last: run.last(), next };
    }
    for station in queues.into_keys() {
        stations[station as usize].kind.foresee();
    }
    found.into_iter().map(|(_, run)| run).collect()
}

/// Ranks the queues whose sequences end at one station by their numbers.
fn rank(found: &mut [(usize, FusedRun)]) {
    let mut queues: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (_, run) in found.iter() {
        queues.entry(run.last()).or_default().extend(run.queue.iter().map(|(queue, _)| *queue));
    }
    for (_, run) in found {
        if let Some((queue, _)) = run.queue {
            run.rank = queues[&run.last()].range(..queue).count() as u64;
        }
    }
}

/// Whether only sequences like each one come to the station where it ends.
fn alone(found: &[(usize, FusedRun)], visits: &BTreeMap<u32, usize>) -> Vec<bool> {
    let mut ends: BTreeMap<u32, (&FusedRun, usize)> = BTreeMap::new();
    for (_, run) in found.iter().filter(|(_, run)| run.total > Ps::ZERO) {
        let (first, alike) = ends.entry(run.last()).or_insert((run, 0));
        *alike += usize::from(first.is_like(run));
    }
    let alike = |run: &FusedRun| ends.get(&run.last()).map(|(_, alike)| *alike);
    let all = |run: &FusedRun| alike(run) == visits.get(&run.last()).copied();
    found.iter().map(|(_, run)| all(run) && run.total > Ps::ZERO).collect()
}

/// All sequences, as long as they can be, with the steps at which they begin.
fn sequences(
    steps: &[RouteStep],
    entered: &BTreeSet<u32>,
    (stations, demands): (&[StationState], &[Demand]),
    known: &Foreseeable,
) -> Vec<(usize, FusedRun)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let queue = queue(&steps[at], known);
        let first = at + usize::from(queue.is_some());
        let mut legs: Vec<RunLeg> = Vec::new();
        while let Some(leg) =
            steps.get(first + legs.len()).and_then(|of| leg(of, (stations, demands), known))
            && (first + legs.len() == at || !entered.contains(&((first + legs.len()) as u32)))
            && !(legs.is_empty() && queue.is_none() && matches!(leg, RunLeg::Take(..)))
            && !legs.iter().any(|of| of.is_at(&leg))
        {
            legs.push(leg);
        }
        // Tokens are taken here only where a delay follows.
        while let Some(RunLeg::Take(..)) = legs.last() {
            legs.pop();
        }
        let length = usize::from(queue.is_some()) + legs.len();
        if length > 0 {
            let times = legs.iter().map(|leg| match leg {
                RunLeg::Delay(_, time) => *time,
                RunLeg::Take(..) => Ps::ZERO,
            });
            let total = times.fold(Ps::ZERO, Ps::plus);
            let (ios, bytes, stayed, served) = ([0; 2], [0; 2], [0; 2], 0);
            let legs = legs.into();
            let (rank, apart) = (0, NOT_APART);
            let run = FusedRun { queue, legs, total, rank, apart, ios, bytes, stayed, served };
            found.push((at, run));
        }
        at += length.max(1);
    }
    found
}

/// The queue of a visit, if it can be foreseen.
fn queue(step: &RouteStep, known: &Foreseeable) -> Option<(u32, u32)> {
    let RouteStep::Visit { station, demand } = step else { return None };
    known.queues[*station as usize].then_some((*station, *demand))
}

/// A visit of constant time, or tokens that are there.
fn leg(
    step: &RouteStep,
    (stations, demands): (&[StationState], &[Demand]),
    known: &Foreseeable,
) -> Option<RunLeg> {
    let (station, demand) = match step {
        RouteStep::Visit { station, demand } => (*station, &demands[*demand as usize]),
        RouteStep::Take { pool, tokens } if known.pools[*pool as usize] => {
            return Some(RunLeg::Take(*pool, *tokens));
        }
        _ => return None,
    };
    let Law::Constant(time) = demand.time else { return None };
    let constant = time > Ps::ZERO && demand.per_byte == 0.0;
    let delay = matches!(stations[station as usize].kind, Discipline::Delay(_));
    (constant && delay).then_some(RunLeg::Delay(station, time))
}

/// Steps that are reached from elsewhere than the step before.
pub fn entered(steps: &[RouteStep], starts: &[u32]) -> BTreeSet<u32> {
    let targets = steps.iter().filter_map(|step| match step {
        RouteStep::Skip { to, .. }
        | RouteStep::SkipHeld { to, .. }
        | RouteStep::Leave { to, .. } => Some(*to),
        RouteStep::Fork { next, .. } | RouteStep::Together { next, .. } => Some(*next),
        _ => None,
    });
    targets.chain(starts.iter().copied()).collect()
}

/// How many steps visit each station.
fn visits(steps: &[RouteStep]) -> BTreeMap<u32, usize> {
    let mut visits = BTreeMap::new();
    for step in steps {
        let stations = match step {
            RouteStep::Visit { station, .. } => *station..*station + 1,
            RouteStep::Spread { first, count, .. } | RouteStep::RaidPart { first, count, .. } => {
                *first..*first + *count
            }
            _ => continue,
        };
        stations.for_each(|station| *visits.entry(station).or_insert(0) += 1);
    }
    visits
}

//! Checks that a network can be simulated. A network that passes needs no further checks at run time: all numbers are
//! valid, tokens are returned, and nothing divides by zero.

mod order;
mod route;

use super::{Change, Law, Load, Network, Operations, PRIORITIES, Policy, Source, Station};
use route::KnownCopies;
use std::collections::BTreeSet;
use thiserror::Error;

pub(crate) use route::{
    HOPS_MAX, HeldTokens, arms_of, copies_at_once, hold, ios_at_once, ios_of, net_of,
};

/// Limit of stations, loads and selectors together: their numbers share a word with the event sequence.
const PLACES_MAX: usize = 1 << 20;
/// Limit of I/Os outstanding at once, over all loads, copies included.
const OUTSTANDING_MAX: u64 = 1 << 28;
/// Limit of hops of all loads together, each of which takes some 200 bytes while it is simulated.
const STEPS_MAX: usize = 1 << 23;
/// Limit of scheduled changes.
const CHANGES_MAX: usize = 1 << 20;
/// Range of a queue's gain by sorting.
const GAIN: std::ops::RangeInclusive<f64> = 0.001..=1000.0;
/// Limit of entries of such a gain.
const GAINS_MAX: usize = 1 << 16;
/// Limit of a link's rate in bytes a second: rates are counted in 1/1024 of it.
const RATE_MAX: u64 = 1 << 53;

/// Why a network cannot be simulated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NetworkError {
    /// The network as a whole.
    #[error("{0}")]
    Whole(String),
    /// A station.
    #[error("station {station}: {problem}")]
    Station {
        /// The station's number.
        station: usize,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// A pool.
    #[error("pool {0} has no tokens; give it at least 1")]
    EmptyPool(usize),
    /// A selector.
    #[error("selector {selector}: {problem}")]
    Selector {
        /// The selector's number.
        selector: usize,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// A scheduled change.
    #[error("change {change}: {problem}")]
    Change {
        /// The change's number, in the order of insertion.
        change: usize,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// A load.
    #[error("load {load}: {problem}")]
    Load {
        /// The load's number.
        load: usize,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// A route of too many hops.
    #[error(
        "load {load}: a route of {hops} hops, arms and copies included; at most {} are simulated",
        HOPS_MAX
    )]
    Long {
        /// The load's number.
        load: usize,
        /// Hops of its longest route.
        hops: usize,
    },
    /// A hop of a route.
    #[error("load {load}, class {class}, hop {hop}: {problem}")]
    Hop {
        /// The load's number.
        load: usize,
        /// The class's number within the load.
        class: usize,
        /// The hop's number within the route; for a hop within a branch or a copy's route, that of the outermost hop.
        hop: usize,
        /// What is wrong, and the remedy.
        problem: String,
    },
}

pub(super) fn check(network: &Network) -> Result<(), NetworkError> {
    let places = network.stations.len() + network.loads.len() + network.selectors.len();
    // One place more is that of freed processors.
    if places >= PLACES_MAX {
        return Err(NetworkError::Whole(format!(
            "the lab has {places} places where I/Os queue or begin; at most {PLACES_MAX} are simulated"
        )));
    }
    for (number, station) in network.stations.iter().enumerate() {
        self::station(network, station)
            .map_err(|problem| NetworkError::Station { station: number, problem })?;
    }
    if let Some(empty) = network.pools.iter().position(|pool| pool.tokens == 0) {
        return Err(NetworkError::EmptyPool(empty));
    }
    selectors(network)?;
    let mut copies = KnownCopies::new();
    for (number, load) in network.loads.iter().enumerate() {
        self::load(network, (number, load), &mut copies)?;
    }
    lengths(network)?;
    arms_agree(network)?;
    // Copies can be counted only now that the routes are known to be sound.
    let outstanding = ios_at_once(network);
    if outstanding > OUTSTANDING_MAX {
        return Err(NetworkError::Whole(format!(
            "{outstanding} I/Os outstanding at once, copies included; at most {OUTSTANDING_MAX} are simulated"
        )));
    }
    order::check(network)?;
    changes(network)
}

/// The tables of all routes stay within bounds.
fn lengths(network: &Network) -> Result<(), NetworkError> {
    let mut all = 0;
    for (load, of) in network.loads.iter().enumerate() {
        let mut copies = BTreeSet::new();
        for class in &of.classes {
            let long = route::count(&class.route, &mut BTreeSet::new());
            if long > HOPS_MAX {
                return Err(NetworkError::Long { load, hops: long });
            }
            all += route::count(&class.route, &mut copies);
        }
    }
    match all > STEPS_MAX {
        true => Err(NetworkError::Whole(format!(
            "the routes of all loads have {all} hops; at most {STEPS_MAX} are simulated"
        ))),
        false => Ok(()),
    }
}

fn selectors(network: &Network) -> Result<(), NetworkError> {
    for (number, selector) in network.selectors.iter().enumerate() {
        let problem = match selector.policy {
            Policy::RoundRobin { ios: 0 } => "a turn of 0 I/Os; give each arm at least 1",
            Policy::RoundRobinBytes { bytes: 0 } => "a turn of 0 bytes; give each arm at least 1",
            _ => continue,
        };
        return Err(NetworkError::Selector { selector: number, problem: problem.to_owned() });
    }
    Ok(())
}

/// All branches of a selector must have the same number of arms.
fn arms_agree(network: &Network) -> Result<(), NetworkError> {
    let branches = route::branches(network);
    let mut arms = vec![0; network.selectors.len()];
    branches.iter().for_each(|(selector, count)| arms[*selector as usize] = *count as u32);
    for (selector, count) in branches {
        let of_last = arms[selector as usize] as usize;
        if count != of_last {
            let problem =
                format!("one branch has {count} arms, another {of_last}; they must agree");
            return Err(NetworkError::Selector { selector: selector as usize, problem });
        }
    }
    Ok(())
}

fn changes(network: &Network) -> Result<(), NetworkError> {
    if network.changes.len() > CHANGES_MAX {
        let problem =
            format!("{} changes; at most {CHANGES_MAX} are simulated", network.changes.len());
        return Err(NetworkError::Whole(problem));
    }
    if network.changes.is_empty() {
        return Ok(());
    }
    let arms = arms_of(network);
    for (number, (_, change)) in network.changes.iter().enumerate() {
        self::change(network, &arms, change)
            .map_err(|problem| NetworkError::Change { change: number, problem })?;
    }
    Ok(())
}

fn change(network: &Network, arms: &[u32], change: &Change) -> Result<(), String> {
    match *change {
        Change::ArmDown { selector, arm } | Change::ArmUp { selector, arm } => {
            match arms.get(selector.0 as usize) {
                None => Err(format!("there is no selector {}", selector.0)),
                Some(0) => Err(format!("no branch uses selector {}", selector.0)),
                Some(arms) if arm >= *arms => {
                    Err(format!("selector {} has arms 0 to {}, not {arm}", selector.0, arms - 1))
                }
                Some(_) => Ok(()),
            }
        }
        Change::LinkRate { station, link, rate } => {
            let found = network.stations.get(station.0 as usize);
            let Some(Station::Links { rates }) = found else {
                return Err(format!("station {} is not links", station.0));
            };
            if usize::from(link) >= rates.len() {
                return Err(format!("link {link} is not one of 0 to {}", rates.len() - 1));
            }
            rate_fits(rate)
        }
        Change::Stop(station) | Change::Go(station) => {
            let found = network.stations.get(station.0 as usize);
            found.map(|_| ()).ok_or_else(|| format!("there is no station {}", station.0))
        }
        Change::LoadStop(load) | Change::LoadStart(load) => {
            let found = network.loads.get(load.0 as usize);
            found.map(|_| ()).ok_or_else(|| format!("there is no load {}", load.0))
        }
    }
}

fn rate_fits(rate: u64) -> Result<(), String> {
    match rate {
        0..=RATE_MAX => Ok(()),
        _ => Err(format!("a link of more than {RATE_MAX} bytes a second")),
    }
}

fn station(network: &Network, station: &Station) -> Result<(), String> {
    let servers = |servers: u32| match servers {
        0 => Err("it has no servers; give it at least 1".to_owned()),
        _ => Ok(()),
    };
    match station {
        Station::Delay => Ok(()),
        Station::Sharing { servers: n } => servers(*n),
        Station::Queue { servers: n, capacity, .. } => {
            servers(*n)?;
            match capacity {
                Some(capacity) if capacity < n => {
                    Err(format!("it has a capacity of {capacity}, less than its {n} servers"))
                }
                _ => Ok(()),
            }
        }
        Station::Links { rates } if rates.is_empty() || rates.len() > usize::from(u16::MAX) => {
            Err(format!("it has {} links; 1 to {} are simulated", rates.len(), u16::MAX))
        }
        Station::Links { rates } => match rates.iter().position(|rate| *rate == 0) {
            Some(link) => Err(format!("link {link} has rate 0; give it a rate")),
            None => rates.iter().try_for_each(|rate| rate_fits(*rate)),
        },
        Station::Sorted { servers: n, gain } => {
            servers(*n)?;
            if gain.is_empty() || gain.len() > GAINS_MAX {
                return Err(format!(
                    "{} entries of gain; 1 to {GAINS_MAX} are possible",
                    gain.len()
                ));
            }
            match gain.iter().find(|gain| !GAIN.contains(gain)) {
                Some(gain) => Err(format!("a gain of {gain}; 0.001 to 1000 is possible")),
                None => Ok(()),
            }
        }
        Station::Batch { count: 0, .. } => {
            Err("a batch of 0 I/Os; give it a count of at least 1".to_owned())
        }
        Station::Batch { .. } => Ok(()),
        Station::Processors { count: 0, .. } => Err("no processors; give it at least 1".to_owned()),
        Station::Processors { .. } => Ok(()),
        Station::Gated(of) => {
            let found = network.stations.get(of.processors.0 as usize);
            if !matches!(found, Some(Station::Processors { .. })) {
                return Err(format!("station {} is no processors", of.processors.0));
            }
            if of.parts.is_some_and(|parts| parts.bytes == 0) {
                return Err("parts of 0 bytes".to_owned());
            }
            match of.thread as usize >= PLACES_MAX {
                true => Err(format!("thread {}; the last is {}", of.thread, PLACES_MAX - 1)),
                false => Ok(()),
            }
        }
    }
}

fn load(
    network: &Network,
    (number, load): (usize, &Load),
    copies: &mut KnownCopies,
) -> Result<(), NetworkError> {
    let refuse = |problem: String| Err(NetworkError::Load { load: number, problem });
    if load.limit() == 0 {
        return refuse("0 I/Os may be outstanding; allow at least 1".to_owned());
    }
    if load.total == Some(0) {
        return refuse("it issues 0 I/Os; give it a total of at least 1, or none".to_owned());
    }
    let classes = load.classes.len();
    match &load.source {
        Source::Closed { think: law, shares, .. } | Source::Open { gap: law, shares, .. } => {
            if shares.len() != classes || classes == 0 {
                return refuse(format!("{} shares for {classes} classes", shares.len()));
            }
            let sound = shares.iter().all(|share| share.is_finite() && *share >= 0.0);
            if !sound || shares.iter().sum::<f64>() <= 0.0 {
                return refuse("shares are at least 0, and one is more".to_owned());
            }
            if let Err(problem) = self::law(law) {
                return refuse(problem);
            }
            if matches!(load.source, Source::Open { .. }) && law.mean() < 1.0 {
                return refuse("arrivals follow each other without a gap".to_owned());
            }
        }
        Source::Operations(operations) => {
            if let Some(problem) = operations.spec.problems().into_iter().next() {
                return refuse(problem.to_string());
            }
            let targets = operations.place.targets.len();
            let kinds = Operations::kinds(&operations.spec).len();
            if classes != kinds * targets {
                return refuse(format!(
                    "{classes} classes for {targets} targets, {kinds} a target"
                ));
            }
        }
    }
    for (class, of) in load.classes.iter().enumerate() {
        if of.priority >= PRIORITIES {
            return refuse(format!("priority {}; the last is {}", of.priority, PRIORITIES - 1));
        }
        route::check(network, of, copies).map_err(|(hop, problem)| NetworkError::Hop {
            load: number,
            class,
            hop,
            problem,
        })?;
    }
    Ok(())
}

fn law(law: &Law) -> Result<(), String> {
    match law {
        Law::Uniform(low, high) if low > high => {
            Err(format!("uniform from {} ps to {} ps", low.0, high.0))
        }
        Law::Erlang { phases, .. } if !(1..=64).contains(phases) => {
            Err(format!("{phases} phases; 1 to 64 are drawn"))
        }
        Law::Hyper { first, .. } if !(0.0..=1.0).contains(first) => {
            Err(format!("a probability of {first}"))
        }
        _ => Ok(()),
    }
}

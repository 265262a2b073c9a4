//! Whether a network can be simulated. What passes here needs no further check while it runs: every number is within its
//! vector, tokens come back, and nothing divides by zero.

use super::{Class, Hop, Law, Load, Network, PRIORITIES, PoolId, Source, Station};
use thiserror::Error;

/// The bound of stations and loads together: their numbers share a word with the sequence of events.
const PLACES_MAX: usize = 1 << 20;
/// The bound of I/Os outstanding at once, over all loads.
const OUTSTANDING_MAX: u64 = 1 << 28;
/// The bound of hops of one route.
const HOPS_MAX: usize = 4096;
/// The bound of bytes on the wire for one byte.
const SCALE_MAX: f64 = 1000.0;
/// The bound of a link's rate in bytes a second: rates are counted in 1/1024 of it.
const RATE_MAX: u64 = 1 << 53;

/// Why a network cannot be simulated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NetworkError {
    /// Something about the network as a whole.
    #[error("{0}")]
    Whole(String),
    /// A station.
    #[error("station {station}: {problem}")]
    Station {
        /// Its number.
        station: usize,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A pool.
    #[error("pool {0} has no token; give it at least one")]
    EmptyPool(usize),
    /// A load.
    #[error("load {load}: {problem}")]
    Load {
        /// Its number.
        load: usize,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A hop of a route.
    #[error("load {load}, class {class}, hop {hop}: {problem}")]
    Hop {
        /// The load's number.
        load: usize,
        /// The class's number within the load.
        class: usize,
        /// The hop's number within the route.
        hop: usize,
        /// What is wrong and what would be right.
        problem: String,
    },
}

pub(super) fn check(network: &Network) -> Result<(), NetworkError> {
    let places = network.stations.len() + network.loads.len();
    if places > PLACES_MAX {
        let problem = format!("{places} stations and loads; at most {PLACES_MAX} are simulated");
        return Err(NetworkError::Whole(problem));
    }
    let outstanding: u64 = network.loads.iter().map(|load| u64::from(load.limit())).sum();
    if outstanding > OUTSTANDING_MAX {
        let problem = format!(
            "{outstanding} I/Os outstanding at once; at most {OUTSTANDING_MAX} are simulated"
        );
        return Err(NetworkError::Whole(problem));
    }
    for (number, station) in network.stations.iter().enumerate() {
        self::station(station)
            .map_err(|problem| NetworkError::Station { station: number, problem })?;
    }
    if let Some(empty) = network.pools.iter().position(|pool| pool.tokens == 0) {
        return Err(NetworkError::EmptyPool(empty));
    }
    network
        .loads
        .iter()
        .enumerate()
        .try_for_each(|(number, load)| self::load(network, number, load))
}

fn station(station: &Station) -> Result<(), String> {
    let servers = |servers: u32| match servers {
        0 => Err("it has no server; give it at least one".to_owned()),
        _ => Ok(()),
    };
    match station {
        Station::Delay => Ok(()),
        Station::Sharing { servers: n } => servers(*n),
        Station::Queue { servers: n, capacity, .. } => {
            servers(*n)?;
            match capacity {
                Some(capacity) if capacity < n => {
                    Err(format!("it has room for {capacity}, less than its {n} servers"))
                }
                _ => Ok(()),
            }
        }
        Station::Links { rates } if rates.is_empty() || rates.len() > usize::from(u16::MAX) => {
            Err(format!("it has {} links; 1 to {} are simulated", rates.len(), u16::MAX))
        }
        Station::Links { rates } => match rates.iter().position(|rate| *rate == 0) {
            Some(link) => Err(format!("link {link} carries nothing; give it a rate")),
            None if rates.iter().any(|rate| *rate > RATE_MAX) => {
                Err(format!("a link carries more than {RATE_MAX} bytes a second"))
            }
            None => Ok(()),
        },
    }
}

fn load(network: &Network, number: usize, load: &Load) -> Result<(), NetworkError> {
    let refuse = |problem: String| Err(NetworkError::Load { load: number, problem });
    if load.limit() == 0 {
        return refuse("nothing may be outstanding; allow at least one I/O".to_owned());
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
            if classes != 2 * targets {
                return refuse(format!("{classes} classes for {targets} targets, two a target"));
            }
        }
    }
    for (class, of) in load.classes.iter().enumerate() {
        if of.priority >= PRIORITIES {
            return refuse(format!("priority {}; the last is {}", of.priority, PRIORITIES - 1));
        }
        route(network, of).map_err(|(hop, problem)| NetworkError::Hop {
            load: number,
            class,
            hop,
            problem,
        })?;
    }
    Ok(())
}

fn route(network: &Network, class: &Class) -> Result<(), (usize, String)> {
    let hops = &class.route;
    if hops.len() > HOPS_MAX {
        return Err((HOPS_MAX, format!("{} hops; at most {HOPS_MAX}", hops.len())));
    }
    for (number, hop) in hops.iter().enumerate() {
        self::hop(network, hop).map_err(|problem| (number, problem))?;
        if let Hop::Skip { hops: over, .. } = hop {
            let target = number + 1 + *over as usize;
            if target > hops.len() {
                return Err((number, "skips beyond the end of the route".to_owned()));
            }
            if held_before(hops, target) != held_before(hops, number) {
                return Err((number, "skips tokens that are taken or given back".to_owned()));
            }
        }
    }
    for end in 1..=hops.len() {
        if let Some((pool, _)) = held_before(hops, end).iter().find(|(_, tokens)| *tokens < 0) {
            return Err((end - 1, format!("gives pool {} more than was taken", pool.0)));
        }
    }
    if let Some((pool, _)) = held_before(hops, hops.len()).first() {
        return Err((hops.len(), format!("ends with tokens of pool {}; give them back", pool.0)));
    }
    Ok(())
}

/// The tokens that an I/O holds when it has come to hop `end`: skipping never changes that.
pub(crate) fn held_before(hops: &[Hop], end: usize) -> Vec<(PoolId, i64)> {
    let mut held: Vec<(PoolId, i64)> = Vec::new();
    for hop in &hops[..end] {
        let (pool, change) = match hop {
            Hop::Take { pool, tokens } => (*pool, i64::from(*tokens)),
            Hop::Give { pool, tokens } => (*pool, -i64::from(*tokens)),
            _ => continue,
        };
        match held.iter_mut().find(|(of, _)| *of == pool) {
            Some((_, tokens)) => *tokens += change,
            None => held.push((pool, change)),
        }
    }
    held.retain(|(_, tokens)| *tokens != 0);
    held.sort_unstable();
    held
}

fn hop(network: &Network, hop: &Hop) -> Result<(), String> {
    let known = |station: super::StationId| {
        let found = network.stations.get(station.0 as usize);
        found.ok_or_else(|| format!("there is no station {}", station.0))
    };
    match hop {
        Hop::Visit { station, demand } => {
            if matches!(known(*station)?, Station::Links { .. }) {
                return Err(format!("station {} is links, which are crossed", station.0));
            }
            if !demand.per_byte.is_finite() || demand.per_byte < 0.0 {
                return Err("the time a byte is not a number of at least 0".to_owned());
            }
            law(&demand.time)
        }
        Hop::Cross { station, links, scale, .. } => {
            let Station::Links { rates } = known(*station)? else {
                return Err(format!("station {} is not links", station.0));
            };
            if links.is_empty() || links.iter().any(|link| usize::from(*link) >= rates.len()) {
                return Err(format!("crosses links that are not 0 to {}", rates.len() - 1));
            }
            if (1..links.len()).any(|at| links[..at].contains(&links[at])) {
                return Err("crosses a link twice".to_owned());
            }
            if !(*scale > 0.0 && *scale <= SCALE_MAX) {
                return Err(format!("{scale} bytes on the wire for a byte"));
            }
            Ok(())
        }
        Hop::Take { pool, tokens } | Hop::Give { pool, tokens } => {
            let Some(of) = network.pools.get(pool.0 as usize) else {
                return Err(format!("there is no pool {}", pool.0));
            };
            if *tokens == 0 || *tokens > of.tokens {
                return Err(format!("{tokens} tokens of a pool of {}", of.tokens));
            }
            Ok(())
        }
        Hop::Skip { chance, hops } => {
            if !(0.0..=1.0).contains(chance) || *hops == 0 {
                return Err("skips at least one hop, with a probability of 0 to 1".to_owned());
            }
            Ok(())
        }
    }
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

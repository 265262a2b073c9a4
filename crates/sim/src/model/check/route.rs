//! Whether a route can be gone: every number is known, tokens come back, copies are bounded.

use super::law;
use crate::model::{Class, Demand, Hop, Law, Load, Network, PoolId, Station, StationId};

/// The bound of hops of one route, those of arms and copies included.
const HOPS_MAX: usize = 4096;
/// The bound of arms and copies within each other.
const DEPTH_MAX: usize = 8;
/// The bound of bytes on the wire for one byte.
const SCALE_MAX: f64 = 1000.0;

/// Tokens held of each pool; pools of which none is held are left out.
pub(crate) type Held = Vec<(PoolId, i64)>;

/// The route of a class, hop by hop; what is wrong comes with the number of the outermost hop.
pub fn check(network: &Network, class: &Class) -> Result<(), (usize, String)> {
    if depth(&class.route) > DEPTH_MAX {
        return Err((0, format!("arms and copies within each other more than {DEPTH_MAX} deep")));
    }
    let hops = count(&class.route);
    if hops > HOPS_MAX {
        return Err((0, format!("{hops} hops; at most {HOPS_MAX}")));
    }
    Walk { network, arms: Vec::new() }.route(&class.route, Held::new())
}

/// How deep arms and copies are within each other, looked at no deeper than is needed to refuse it.
fn depth(hops: &[Hop]) -> usize {
    let mut level: Vec<&[Hop]> = vec![hops];
    for depth in 0..=DEPTH_MAX {
        level = level.into_iter().flatten().flat_map(inner).collect();
        if level.is_empty() {
            return depth;
        }
    }
    DEPTH_MAX + 1
}

/// The routes within a hop.
fn inner(hop: &Hop) -> Vec<&[Hop]> {
    match hop {
        Hop::Branch { arms: routes, .. } | Hop::Together { routes } => {
            routes.iter().map(Vec::as_slice).collect()
        }
        Hop::Fork { route } => vec![route],
        _ => Vec::new(),
    }
}

fn count(hops: &[Hop]) -> usize {
    hops.iter().map(|hop| 1 + inner(hop).into_iter().map(count).sum::<usize>()).sum()
}

struct Walk<'a> {
    network: &'a Network,
    /// The selectors of the branches that it is within.
    arms: Vec<u32>,
}

impl Walk<'_> {
    /// One route, begun with the tokens of `held`, all of which are given back at its end.
    fn route(&mut self, hops: &[Hop], mut held: Held) -> Result<(), (usize, String)> {
        let mut before = Vec::with_capacity(hops.len() + 1);
        for (number, hop) in hops.iter().enumerate() {
            before.push(held.clone());
            self.hop(hop).map_err(|problem| (number, problem))?;
            hold(&mut held, hop);
            if let Some((pool, _)) = held.iter().find(|(_, tokens)| *tokens < 0) {
                return Err((number, format!("gives pool {} more than was taken", pool.0)));
            }
        }
        if let Some((pool, _)) = held.first() {
            let problem = format!("ends with tokens of pool {}; give them back", pool.0);
            return Err((hops.len(), problem));
        }
        before.push(held);
        for (number, hop) in hops.iter().enumerate() {
            let Hop::Skip { hops: over, .. } = hop else { continue };
            let target = number + 1 + *over as usize;
            match before.get(target) {
                None => return Err((number, "skips beyond the end of the route".to_owned())),
                Some(held) if *held != before[number] => {
                    return Err((number, "skips tokens that are taken or given back".to_owned()));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// A route within a hop.
    fn within(&mut self, what: &str, hops: &[Hop], held: Held) -> Result<(), String> {
        self.route(hops, held)
            .map_err(|(hop, problem)| format!("{what}, hop {hop} of it: {problem}"))
    }

    fn hop(&mut self, hop: &Hop) -> Result<(), String> {
        match hop {
            Hop::Visit { station, demand } => self.served(*station, 1, demand),
            Hop::Spread { count: 0, .. } => Err("spread over no station".to_owned()),
            Hop::Spread { first, count, demand } => self.served(*first, *count, demand),
            Hop::Cross { station, links, scale, .. } => self.cross(*station, links, *scale),
            Hop::Take { pool, tokens } | Hop::Give { pool, tokens } => {
                let Some(of) = self.network.pools.get(pool.0 as usize) else {
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
            Hop::Branch { selector, arms } => {
                if selector.0 as usize >= self.network.selectors.len() {
                    return Err(format!("there is no selector {}", selector.0));
                }
                if self.arms.contains(&selector.0) {
                    return Err(format!(
                        "a branch of selector {} within one of its own arms",
                        selector.0
                    ));
                }
                if arms.is_empty() {
                    return Err("a branch without an arm".to_owned());
                }
                self.arms.push(selector.0);
                for (number, arm) in arms.iter().enumerate() {
                    self.within(&format!("arm {number}"), arm, Held::new())?;
                }
                self.arms.pop();
                Ok(())
            }
            Hop::Fork { route } => self.fork(route),
            Hop::Together { routes } => {
                if routes.is_empty() {
                    return Err("copies that go nowhere; give at least one route".to_owned());
                }
                for (number, route) in routes.iter().enumerate() {
                    self.within(&format!("copy {number}"), route, Held::new())?;
                }
                Ok(())
            }
            Hop::As { .. } => Ok(()),
        }
    }

    /// A visit at `count` stations from `first` on.
    fn served(&self, first: StationId, count: u32, demand: &Demand) -> Result<(), String> {
        let known = self.network.stations.len();
        let end = first.0 as usize + count as usize;
        if end > known {
            let missing = (first.0 as usize).max(known);
            return Err(format!("there is no station {missing}"));
        }
        for (number, station) in (first.0..).zip(&self.network.stations[first.0 as usize..end]) {
            match station {
                Station::Links { .. } => {
                    return Err(format!("station {number} is links, which are crossed"));
                }
                Station::Batch { .. } if *demand != Demand::of(Law::ZERO) => {
                    return Err(format!(
                        "station {number} gathers a batch, which asks for no time"
                    ));
                }
                _ => {}
            }
        }
        if !demand.per_byte.is_finite() || demand.per_byte < 0.0 {
            return Err("the time a byte is not a number of at least 0".to_owned());
        }
        law(&demand.time)
    }

    fn cross(&self, station: StationId, links: &[u16], scale: f64) -> Result<(), String> {
        let found = self.network.stations.get(station.0 as usize);
        let found = found.ok_or_else(|| format!("there is no station {}", station.0))?;
        let Station::Links { rates } = found else {
            return Err(format!("station {} is not links", station.0));
        };
        if links.is_empty() || links.iter().any(|link| usize::from(*link) >= rates.len()) {
            return Err(format!("crosses links that are not 0 to {}", rates.len() - 1));
        }
        if (1..links.len()).any(|at| links[..at].contains(&links[at])) {
            return Err("crosses a link twice".to_owned());
        }
        if !(scale > 0.0 && scale <= SCALE_MAX) {
            return Err(format!("{scale} bytes on the wire for a byte"));
        }
        Ok(())
    }

    fn fork(&mut self, route: &[Hop]) -> Result<(), String> {
        let handed: Held =
            net_of(route).into_iter().map(|(pool, tokens)| (pool, -tokens)).collect();
        // Arms outside do not hold a copy that has left them, so their selectors may be asked again.
        let outside = std::mem::take(&mut self.arms);
        let walked = self.within("the copy", route, handed);
        self.arms = outside;
        walked?;
        match bound(self.network, route) {
            Some(_) => Ok(()),
            None => Err("nothing bounds how many copies there are; let the I/O take tokens that the copy's route gives back \
                         last of all"
                .to_owned()),
        }
    }
}

/// What a hop does to the tokens that are held.
pub(crate) fn hold(held: &mut Held, hop: &Hop) {
    let mut add = |pool: PoolId, tokens: i64| match held.iter_mut().find(|(of, _)| *of == pool) {
        Some((_, sum)) => *sum += tokens,
        None => held.push((pool, tokens)),
    };
    match hop {
        Hop::Take { pool, tokens } => add(*pool, i64::from(*tokens)),
        Hop::Give { pool, tokens } => add(*pool, -i64::from(*tokens)),
        // What the copy gives in all is handed over to it.
        Hop::Fork { route } => net_of(route).into_iter().for_each(|(pool, sum)| add(pool, sum)),
        _ => {}
    }
    held.retain(|(_, tokens)| *tokens != 0);
    held.sort_unstable();
}

/// The tokens that a route takes more than it gives back, by pool: for a copy's, less than nothing.
pub(crate) fn net_of(hops: &[Hop]) -> Held {
    let mut held = Held::new();
    hops.iter().for_each(|hop| hold(&mut held, hop));
    held
}

/// Whether an I/O can be at this hop while time passes.
fn rests(hop: &Hop) -> bool {
    !matches!(hop, Hop::Give { .. } | Hop::Skip { .. } | Hop::As { .. } | Hop::Fork { .. })
}

/// What bounds the copies of one kind: the pool, its tokens, and how many of them each copy holds wherever it may rest.
struct Bound {
    pool: PoolId,
    tokens: u64,
    least: u64,
}

/// The pool that bounds the copies on this route most narrowly; `None` where none does.
fn bound(network: &Network, route: &[Hop]) -> Option<Bound> {
    let least = |pool: PoolId, tokens: i64| {
        let (mut now, mut least) = (tokens, tokens);
        for hop in route {
            if rests(hop) {
                least = least.min(now);
            }
            let mut after = vec![(pool, now)];
            hold(&mut after, hop);
            now = after.iter().find(|(of, _)| *of == pool).map_or(0, |(_, tokens)| *tokens);
        }
        u64::try_from(least).ok().filter(|least| *least > 0)
    };
    let bounds = net_of(route).into_iter().filter_map(|(pool, handed)| {
        let of = network.pools.get(pool.0 as usize)?;
        Some(Bound { pool, tokens: u64::from(of.tokens), least: least(pool, -handed)? })
    });
    bounds.min_by_key(|bound| (bound.tokens / bound.least, bound.pool))
}

/// I/Os that one on this route can be at once: itself and the copies that it waits for.
fn width(hops: &[Hop]) -> u64 {
    let copies = hops.iter().map(|hop| match hop {
        Hop::Together { routes } => routes.iter().map(|route| width(route)).sum(),
        Hop::Branch { arms, .. } => arms.iter().map(|arm| width(arm) - 1).max().unwrap_or(0),
        _ => 0,
    });
    1 + copies.max().unwrap_or(0)
}

/// For each pool, how many copies in the background it lets go on at once, if those that need the fewest tokens have all.
fn forked(network: &Network, hops: &[Hop], sum: &mut [u64]) {
    for hop in hops {
        if let Hop::Fork { route } = hop
            && let Some(Bound { pool, tokens, least }) = bound(network, route)
        {
            let most = &mut sum[pool.0 as usize];
            *most = (*most).max(tokens.saturating_mul(width(route)).div_ceil(least));
        }
        inner(hop).into_iter().for_each(|route| forked(network, route, sum));
    }
}

/// I/Os that there can be at once of one load whose routes are sound, with the copies that they wait for.
pub(crate) fn ios_of(load: &Load) -> u64 {
    let widest = load.classes.iter().map(|class| width(&class.route)).max();
    u64::from(load.limit()).saturating_mul(widest.unwrap_or(1))
}

/// Copies in the background that there can be at once in a network whose routes are sound.
pub(crate) fn copies_at_once(network: &Network) -> u64 {
    let mut copies = vec![0; network.pools.len()];
    for class in network.loads.iter().flat_map(|load| &load.classes) {
        forked(network, &class.route, &mut copies);
    }
    copies.into_iter().fold(0, u64::saturating_add)
}

/// All I/Os that there can be at once in a network whose routes are sound.
pub(crate) fn ios_at_once(network: &Network) -> u64 {
    network.loads.iter().map(ios_of).fold(copies_at_once(network), u64::saturating_add)
}

/// The branches of all routes, in order: whose each is, and its number of arms.
pub fn branches(network: &Network) -> Vec<(u32, usize)> {
    let mut found = Vec::new();
    for class in network.loads.iter().flat_map(|load| &load.classes) {
        branches_of(&class.route, &mut found, DEPTH_MAX);
    }
    found
}

/// The branches of a route, looked for no deeper than routes may be.
fn branches_of(hops: &[Hop], found: &mut Vec<(u32, usize)>, deeper: usize) {
    for hop in hops {
        if let Hop::Branch { selector, arms } = hop {
            found.push((selector.0, arms.len()));
        }
        if deeper > 0 {
            inner(hop).into_iter().for_each(|route| branches_of(route, found, deeper - 1));
        }
    }
}

/// The number of arms of each selector; none where no branch asks it.
pub(crate) fn arms_of(network: &Network) -> Vec<u32> {
    let mut arms = vec![0; network.selectors.len()];
    for (selector, count) in branches(network) {
        arms[selector as usize] = count as u32;
    }
    arms
}

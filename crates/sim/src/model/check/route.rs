//! Checks a route: all numbers are known, tokens are returned, copies are bounded.

use super::law;
use crate::model::{
    Class, Demand, Hop, Law, Load, Network, PoolId, RaidVisit, Source, Station, StationId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use workload::IoDemand;

/// Limit of hops of one route, arms and copies included: a thousand paths of a RAID volume.
pub const HOPS_MAX: usize = 65_536;
/// Limit of the nesting depth of arms and copies.
const DEPTH_MAX: usize = 8;
/// Limit of bytes on the wire per byte.
const SCALE_MAX: f64 = 1000.0;

/// Tokens held, by pool; pools without held tokens are left out.
pub(crate) type HeldTokens = Vec<(PoolId, i64)>;

/// Background copies that were checked, by their routes, with the tokens that each takes in all.
pub type KnownCopies = BTreeMap<*const Hop, HeldTokens>;

/// Checks the route of a class hop by hop; an error has the number of the outermost hop.
/// `copies` holds the background copies that are known to be sound: many paths share the work behind an array's ports.
pub fn check(
    network: &Network,
    class: &Class,
    copies: &mut KnownCopies,
) -> Result<(), (usize, String)> {
    if depth(&class.route) > DEPTH_MAX {
        return Err((0, format!("arms and copies are nested more than {DEPTH_MAX} deep")));
    }
    submits(&class.route)?;
    RouteCheck { network, arms: Vec::new(), within: 0, copies }
        .route(&class.route, HeldTokens::new())
}

/// An I/O is issued at most once, and always if at all.
fn submits(route: &[Hop]) -> Result<(), (usize, String)> {
    let mut all = (0..).zip(route).filter(|(_, hop)| matches!(hop, Hop::Submit));
    let Some((at, _)) = all.next() else { return Ok(()) };
    if let Some((again, _)) = all.next() {
        return Err((again, "issues the I/O once more".to_owned()));
    }
    for (number, hop) in route[..at].iter().enumerate() {
        let (Hop::Skip { hops, .. } | Hop::SkipHeld { hops, .. }) = hop else { continue };
        if number + *hops as usize >= at {
            return Err((number, "skips the hop that issues the I/O".to_owned()));
        }
    }
    Ok(())
}

/// Nesting depth of arms and copies, searched no deeper than needed to refuse the route.
fn depth(hops: &[Hop]) -> usize {
    let mut level: Vec<&[Hop]> = vec![hops];
    for depth in 0..=DEPTH_MAX {
        level = level.into_iter().flatten().flat_map(inner).collect();
        // Clones of one copy's route are as deep.
        level.sort_unstable_by_key(|route| (route.as_ptr(), route.len()));
        level.dedup_by_key(|route| (route.as_ptr(), route.len()));
        if level.is_empty() {
            return depth;
        }
    }
    DEPTH_MAX + 1
}

/// The routes within a hop.
fn inner(hop: &Hop) -> impl Iterator<Item = &[Hop]> {
    let (routes, copy): (&[Vec<Hop>], Option<&[Hop]>) = match hop {
        Hop::Branch { arms: routes, .. } | Hop::Together { routes } => (routes, None),
        Hop::Fork { route } => (&[], Some(route)),
        _ => (&[], None),
    };
    routes.iter().map(Vec::as_slice).chain(copy)
}

/// Hops of a route, arms and copies included. Clones of one background copy's route count once, as they are laid out once;
/// `copies` holds those that were counted.
pub fn count(hops: &[Hop], copies: &mut BTreeSet<*const Hop>) -> usize {
    let mut within = |hop: &Hop| match hop {
        Hop::Fork { route } if !copies.insert(route.as_ptr()) => 0,
        hop => inner(hop).map(|route| count(route, copies)).sum::<usize>(),
    };
    hops.len() + hops.iter().map(&mut within).sum::<usize>()
}

struct RouteCheck<'a> {
    network: &'a Network,
    /// The selectors of the enclosing branches.
    arms: Vec<u32>,
    /// How many arms and copies enclose the route.
    within: usize,
    copies: &'a mut KnownCopies,
}

impl RouteCheck<'_> {
    /// Checks one route that starts with the tokens of `held` and must return all of them.
    fn route(&mut self, hops: &[Hop], mut held: HeldTokens) -> Result<(), (usize, String)> {
        let skips = |hop: &Hop| matches!(hop, Hop::Skip { .. } | Hop::SkipHeld { .. });
        let skips = hops.iter().any(skips);
        // What was held: each as long as it did not change, and which it was before each hop.
        let (mut all, mut before) = (Vec::new(), Vec::new());
        for (number, hop) in hops.iter().enumerate() {
            if skips {
                note(&held, &mut all, &mut before);
            }
            self.hop(hop).map_err(|problem| (number, problem))?;
            match hop {
                Hop::Fork { route } => {
                    let moved = self.copies.get(&route.as_ptr());
                    add(&mut held, moved.map_or(&[], Vec::as_slice));
                }
                hop => hold(&mut held, hop),
            }
            if let Some((pool, _)) = held.iter().find(|(_, tokens)| *tokens < 0) {
                return Err((number, format!("gives pool {} more than was taken", pool.0)));
            }
        }
        if let Some((pool, _)) = held.first() {
            let problem = format!("ends with tokens of pool {}; give them back", pool.0);
            return Err((hops.len(), problem));
        }
        note(&held, &mut all, &mut before);
        for (number, hop) in hops.iter().enumerate() {
            let (Hop::Skip { hops: over, .. } | Hop::SkipHeld { hops: over, .. }) = hop else {
                continue;
            };
            let target = number + 1 + *over as usize;
            match before.get(target) {
                None => return Err((number, "skips beyond the end of the route".to_owned())),
                Some(held) if all[*held] != all[before[number]] => {
                    return Err((number, "skips tokens that are taken or given back".to_owned()));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Checks a route within a hop.
    fn within(
        &mut self,
        what: impl fmt::Display,
        hops: &[Hop],
        held: HeldTokens,
    ) -> Result<(), String> {
        self.within += 1;
        let checked = self.route(hops, held);
        self.within -= 1;
        checked.map_err(|(hop, problem)| format!("{what}, hop {hop} of it: {problem}"))
    }

    fn hop(&mut self, hop: &Hop) -> Result<(), String> {
        match hop {
            Hop::Visit { station, demand } => self.served(*station, 1, demand),
            Hop::Spread { count: 0, .. } => Err("spread over 0 stations".to_owned()),
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
                        "a branch of selector {} is nested in one of its own arms",
                        selector.0
                    ));
                }
                if arms.is_empty() {
                    return Err("a branch without an arm".to_owned());
                }
                self.arms.push(selector.0);
                for (number, arm) in arms.iter().enumerate() {
                    self.within(format_args!("arm {number}"), arm, HeldTokens::new())?;
                }
                self.arms.pop();
                Ok(())
            }
            Hop::Raid { visit } => self.raid(visit),
            Hop::SkipHeld { pool, chances, hops } => {
                if pool.0 as usize >= self.network.pools.len() {
                    return Err(format!("there is no pool {}", pool.0));
                }
                let sound = chances.iter().all(|chance| (0.0..=1.0).contains(chance));
                if !sound || chances.len() < 2 || *hops == 0 {
                    return Err("skips at least one hop, with probabilities of 0 to 1".to_owned());
                }
                Ok(())
            }
            Hop::Fork { route } => self.fork(route),
            Hop::Together { routes } => {
                if routes.is_empty() {
                    return Err("no routes for the copies; give at least one".to_owned());
                }
                for (number, route) in routes.iter().enumerate() {
                    self.within(format_args!("copy {number}"), route, HeldTokens::new())?;
                }
                Ok(())
            }
            Hop::Submit if self.within > 0 => {
                Err("issues the I/O within a branch or a copy, where not all of it is".to_owned())
            }
            Hop::As { .. } | Hop::Submit => Ok(()),
        }
    }

    /// Checks a visit to a RAID group.
    fn raid(&self, visit: &RaidVisit) -> Result<(), String> {
        let group = &visit.group;
        if group.unit == 0 || group.width == 0 || group.width > group.disks {
            return Err(
                "a RAID group has units, disks, and no more disks than there are".to_owned()
            );
        }
        if group.raid.within(group.width) != group.raid {
            return Err(format!("{} of {} disks", group.raid, group.width));
        }
        self.served(group.first, group.disks, &visit.demand)
    }

    /// Checks a visit at `count` stations from `first` on.
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
                Station::Processors { .. } => {
                    return Err(format!("station {number} is processors, which threads use"));
                }
                Station::Batch { .. } if *demand != Demand::of(Law::ZERO) => {
                    return Err(format!("station {number} is a batch, whose visits take no time"));
                }
                _ => {}
            }
        }
        if !demand.per_byte.is_finite() || demand.per_byte < 0.0 {
            return Err("the time per byte is not a number of at least 0".to_owned());
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
            return Err(format!("{scale} bytes on the wire per byte"));
        }
        Ok(())
    }

    fn fork(&mut self, route: &[Hop]) -> Result<(), String> {
        if self.copies.contains_key(&route.as_ptr()) {
            return Ok(());
        }
        let moved = net_of(route);
        let handed: HeldTokens = moved.iter().map(|(pool, tokens)| (*pool, -tokens)).collect();
        // A copy has left the enclosing arms, so it may use their selectors again.
        let outside = std::mem::take(&mut self.arms);
        let walked = self.within("the copy", route, handed);
        self.arms = outside;
        walked?;
        match bound(self.network, route) {
            Some(_) => {
                self.copies.insert(route.as_ptr(), moved);
                Ok(())
            }
            None => Err("the number of copies is unbounded; let the I/O take tokens that the copy's route gives back \
                         last of all"
                .to_owned()),
        }
    }
}

/// Notes what is held before a hop.
fn note(held: &HeldTokens, all: &mut Vec<HeldTokens>, before: &mut Vec<usize>) {
    if all.last() != Some(held) {
        all.push(held.clone());
    }
    before.push(all.len() - 1);
}

/// Applies a hop to the tokens held.
pub(crate) fn hold(held: &mut HeldTokens, hop: &Hop) {
    match hop {
        Hop::Take { pool, tokens } => add(held, &[(*pool, i64::from(*tokens))]),
        Hop::Give { pool, tokens } => add(held, &[(*pool, -i64::from(*tokens))]),
        // The tokens that the copy returns in all are handed over to it.
        Hop::Fork { route } => add(held, &net_of(route)),
        _ => {}
    }
}

/// Adds tokens to those held.
fn add(held: &mut HeldTokens, more: &[(PoolId, i64)]) {
    for (pool, tokens) in more {
        match held.iter_mut().find(|(of, _)| of == pool) {
            Some((_, sum)) => *sum += tokens,
            None => held.push((*pool, *tokens)),
        }
    }
    held.retain(|(_, tokens)| *tokens != 0);
    held.sort_unstable();
}

/// The tokens that a route takes less those it returns, by pool: negative for a copy.
pub(crate) fn net_of(hops: &[Hop]) -> HeldTokens {
    let mut held = HeldTokens::new();
    hops.iter().for_each(|hop| hold(&mut held, hop));
    held
}

/// Whether time can pass while an I/O is at this hop.
fn rests(hop: &Hop) -> bool {
    !matches!(
        hop,
        Hop::Give { .. }
            | Hop::Skip { .. }
            | Hop::SkipHeld { .. }
            | Hop::As { .. }
            | Hop::Submit
            | Hop::Fork { .. }
    )
}

/// What bounds the copies of one fork: the pool, its tokens, and the fewest that a copy holds wherever time can pass.
struct CopyBound {
    pool: PoolId,
    tokens: u64,
    least: u64,
}

/// The pool with the tightest bound on the copies on this route; `None` where none bounds them.
fn bound(network: &Network, route: &[Hop]) -> Option<CopyBound> {
    let least = |pool: PoolId, tokens: i64| {
        let (mut now, mut least) = (tokens, tokens);
        for hop in route {
            if rests(hop) {
                least = least.min(now);
            }
            now += match hop {
                Hop::Take { pool: of, tokens } if *of == pool => i64::from(*tokens),
                Hop::Give { pool: of, tokens } if *of == pool => -i64::from(*tokens),
                Hop::Fork { route } => {
                    let moved = net_of(route).into_iter().find(|(of, _)| *of == pool);
                    moved.map_or(0, |(_, tokens)| tokens)
                }
                _ => 0,
            };
        }
        u64::try_from(least).ok().filter(|least| *least > 0)
    };
    let bounds = net_of(route).into_iter().filter_map(|(pool, handed)| {
        let of = network.pools.get(pool.0 as usize)?;
        Some(CopyBound { pool, tokens: u64::from(of.tokens), least: least(pool, -handed)? })
    });
    bounds.min_by_key(|bound| (bound.tokens / bound.least, bound.pool))
}

/// The largest I/O of a class of a load, in bytes.
fn largest(load: &Load, class: &Class) -> u32 {
    match &load.source {
        Source::Operations(operations) => IoDemand::of(&operations.spec).block_max,
        Source::Closed { .. } | Source::Open { .. } => class.bytes,
    }
}

/// Entities that an I/O of at most `bytes` on this route can be at once: itself and the copies that it waits for.
fn width(hops: &[Hop], bytes: u32) -> u64 {
    let copies = hops.iter().map(|hop| match hop {
        Hop::Together { routes } => routes.iter().map(|route| width(route, bytes)).sum(),
        Hop::Branch { arms, .. } => arms.iter().map(|arm| width(arm, bytes) - 1).max().unwrap_or(0),
        Hop::Raid { visit } => u64::from(visit.group.parts_most(bytes)),
        _ => 0,
    });
    1 + copies.max().unwrap_or(0)
}

/// Per pool, how many background copies it allows at once, if those that need the fewest tokens hold all.
fn forked(
    network: &Network,
    hops: &[Hop],
    bytes: u32,
    (sum, known): (&mut [u64], &mut BTreeSet<(*const Hop, u32)>),
) {
    for hop in hops {
        if let Hop::Fork { route } = hop
            && !known.insert((route.as_ptr(), bytes))
        {
            continue;
        }
        if let Hop::Fork { route } = hop
            && let Some(CopyBound { pool, tokens, least }) = bound(network, route)
        {
            let most = &mut sum[pool.0 as usize];
            *most = (*most).max(tokens.saturating_mul(width(route, bytes)).div_ceil(least));
        }
        for route in inner(hop) {
            forked(network, route, bytes, (&mut *sum, &mut *known));
        }
    }
}

/// I/Os of one load that can exist at once, with the copies they wait for. Its routes must be sound.
pub(crate) fn ios_of(load: &Load) -> u64 {
    let widest = load.classes.iter().map(|class| width(&class.route, largest(load, class))).max();
    u64::from(load.limit()).saturating_mul(widest.unwrap_or(1))
}

/// Background copies that can exist at once in a network with sound routes.
pub(crate) fn copies_at_once(network: &Network) -> u64 {
    let (mut copies, mut known) = (vec![0; network.pools.len()], BTreeSet::new());
    for load in &network.loads {
        for class in &load.classes {
            let bytes = largest(load, class);
            forked(network, &class.route, bytes, (&mut copies, &mut known));
        }
    }
    copies.into_iter().fold(0, u64::saturating_add)
}

/// All I/Os that can exist at once in a network with sound routes.
pub(crate) fn ios_at_once(network: &Network) -> u64 {
    network.loads.iter().map(ios_of).fold(copies_at_once(network), u64::saturating_add)
}

/// The selector and the number of arms of each branch of all routes, in order; those of a background copy once.
pub fn branches(network: &Network) -> Vec<(u32, usize)> {
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    for class in network.loads.iter().flat_map(|load| &load.classes) {
        branches_of(&class.route, (&mut found, &mut known), DEPTH_MAX);
    }
    found
}

/// A copy's route, and how much deeper it is searched.
type CopyAt = (*const Hop, usize);

/// The branches of a route, searched no deeper than routes may be.
fn branches_of(
    hops: &[Hop],
    (found, known): (&mut Vec<(u32, usize)>, &mut BTreeSet<CopyAt>),
    deeper: usize,
) {
    for hop in hops {
        if let Hop::Fork { route } = hop
            && !known.insert((route.as_ptr(), deeper))
        {
            continue;
        }
        if let Hop::Branch { selector, arms } = hop {
            found.push((selector.0, arms.len()));
        }
        if deeper > 0 {
            for route in inner(hop) {
                branches_of(route, (&mut *found, &mut *known), deeper - 1);
            }
        }
    }
}

/// The number of arms of each selector; 0 where no branch uses it.
pub(crate) fn arms_of(network: &Network) -> Vec<u32> {
    let mut arms = vec![0; network.selectors.len()];
    for (selector, count) in branches(network) {
        arms[selector as usize] = count as u32;
    }
    arms
}

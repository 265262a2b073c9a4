//! Throughput bounds for any distributions: without queueing, and with all customers queueing for each other everywhere
//! (Denning and Buzen 1978). Where all loads see one network of single servers, also the tighter bounds of balanced
//! jobs (Zahorjan, Sevcik, Eager and Galler 1982), which hold for exponential times.

use super::lumped::{ItemKind, Lumped, LumpedItem, LumpedLoad, LumpedSite, SiteKind};
use super::state::{CopyEnd, SolverState};
use crate::analytic::{self, Center, Population, Service, ThroughputBounds};

/// ThroughputBounds of the I/Os a second of one load of each kind.
pub fn asymptotic(lumped: &Lumped) -> Vec<ThroughputBounds> {
    let mut alone = SolverState::alone(lumped, CopyEnd::Steady);
    // I/Os that help each other leave sooner than one that is alone.
    for (load, stays) in lumped.loads.iter().zip(&mut alone.stays) {
        for (item, stay) in load.items.iter().zip(stays) {
            *stay *= stretches(&lumped.spots[item.touches[0].spot]).0;
        }
    }
    alone.settle(lumped, CopyEnd::Steady);
    let crowded = crowded(lumped, &alone);
    let bounds = lumped.loads.iter().enumerate().map(|(number, load)| {
        let high = alone.rates[number].min(alone_at_capacity(lumped, load));
        ThroughputBounds { low: crowded.rates[number].min(high), high }
    });
    bounds.collect()
}

/// The least and the greatest time at a flow-equivalent server for that of an I/O alone; 1 elsewhere.
fn stretches(spot: &LumpedSite) -> (f64, f64) {
    let SiteKind::Flow(speeds) = &spot.kind else { return (1.0, 1.0) };
    let present = (1..=spot.most.max(1.0) as usize).map(|n| {
        let last = speeds.len().saturating_sub(1);
        n as f64 / speeds.get((n - 1).min(last)).copied().unwrap_or(1.0)
    });
    present.fold((1.0, 1.0), |(least, most), n| (n.min(least), n.max(most)))
}

/// I/Os a second of one load if only loads of its kind used the capacity.
fn alone_at_capacity(lumped: &Lumped, load: &LumpedLoad) -> f64 {
    let mut demands = vec![0.0; lumped.spots.len()];
    for item in &load.items {
        for touch in item.touches.iter() {
            demands[touch.spot] += item.visits * demand(lumped, item, touch.spot);
        }
    }
    let most = demands.iter().zip(&lumped.spots).filter(|(demand, _)| **demand > 0.0);
    most.map(|(demand, spot)| spot.servers() * spot.count / demand / load.count)
        .fold(f64::INFINITY, f64::min)
}

/// Server seconds of a visit; waiting for tokens has none.
fn demand(lumped: &Lumped, item: &LumpedItem, spot: usize) -> f64 {
    match (&lumped.spots[spot].kind, item.kind) {
        (_, ItemKind::Tokens(_)) => 0.0,
        (SiteKind::Link(rate), _) => item.wire / rate,
        _ => item.time,
    }
}

/// The state in which all customers wait for each other everywhere.
fn crowded(lumped: &Lumped, alone: &SolverState) -> SolverState {
    let mut state = alone.clone();
    // The slowest service at each spot bounds all others.
    let mut slowest = vec![0.0f64; lumped.spots.len()];
    for item in lumped.loads.iter().flat_map(|load| &load.items) {
        for touch in item.touches.iter() {
            let slowest = &mut slowest[touch.spot];
            *slowest = slowest.max(demand(lumped, item, touch.spot));
        }
    }
    let wait = |spot: usize, floor: f64| {
        let of = &lumped.spots[spot];
        let servers = match &of.kind {
            SiteKind::Sorted(speeds) => speeds.iter().copied().fold(f64::INFINITY, f64::min),
            _ => of.servers(),
        };
        if servers.is_finite() {
            slowest[spot].max(floor) * of.most / servers.max(1e-3)
        } else {
            0.0
        }
    };
    for (load, stays) in lumped.loads.iter().zip(&mut state.stays) {
        for (item, stay) in load.items.iter().zip(stays) {
            *stay = match (item.kind, &lumped.spots[item.touches[0].spot].kind) {
                (ItemKind::Tokens(_), _) => 0.0,
                (_, SiteKind::Batch(_, within)) => *within,
                (_, SiteKind::Flow(_)) => {
                    item.time * stretches(&lumped.spots[item.touches[0].spot]).1
                }
                _ => item.touches.iter().fold(item.time, |sum, touch| sum + wait(touch.spot, 0.0)),
            };
        }
    }
    // Inner sections come after the enclosing ones.
    for (number, load) in lumped.loads.iter().enumerate() {
        for section in (0..load.sections.len()).rev() {
            let hold = state.holds(number, load)[section];
            let of = load.sections[section];
            let SiteKind::Pool(tokens) = lumped.spots[of.spot].kind else { continue };
            let slots = (tokens / of.tokens).floor().max(1.0);
            let ahead = (lumped.spots[of.spot].most - slots).max(0.0);
            let tokens = load.items.iter().position(|i| i.kind == ItemKind::Tokens(section));
            if let Some(item) = tokens {
                state.stays[number][item] = hold * (ahead / slots).ceil();
            }
        }
    }
    state.settle(lumped, CopyEnd::Latest);
    state
}

/// The bounds of balanced jobs for all loads together, where they apply.
pub fn balanced(lumped: &Lumped) -> Option<ThroughputBounds> {
    let [load] = lumped.loads.as_slice() else { return None };
    let copies = load.items.iter().any(|item| item.background)
        || load.classes.iter().any(|class| !class.together.is_empty());
    if load.mix.rate.is_some() || copies {
        return None;
    }
    let mut centers: Vec<Center> = Vec::new();
    for (number, spot) in lumped.spots.iter().enumerate() {
        let service = match &spot.kind {
            SiteKind::Delay => Service::Delay,
            SiteKind::Queue(servers) | SiteKind::Sharing(servers) if *servers <= 1.0 => {
                Service::Single
            }
            SiteKind::Link(_) => Service::Single,
            SiteKind::Pool(tokens) if *tokens >= spot.most => continue,
            _ => return None,
        };
        let time = |item: &LumpedItem| {
            let here = item.touches.iter().any(|touch| touch.spot == number);
            // A transfer over several links is not a sequence of visits to them.
            let dear = item.kind == ItemKind::Service || slowest(lumped, item) == Some(number);
            if here && dear { item.visits * item.time } else { 0.0 }
        };
        let demand: f64 = load.items.iter().map(time).sum();
        if spot.count > 1.0 && service != Service::Delay {
            return None;
        }
        centers.push(Center { service, demands: vec![demand] });
    }
    let customers = (load.mix.customers * load.count).min(f64::from(u32::MAX)) as u32;
    let population = Population { customers, think: load.mix.think };
    analytic::balanced(&centers, population).ok().flatten()
}

/// The slowest link of a transfer.
fn slowest(lumped: &Lumped, item: &LumpedItem) -> Option<usize> {
    let rate = |spot: usize| match lumped.spots[spot].kind {
        SiteKind::Link(rate) => rate,
        _ => f64::INFINITY,
    };
    let spots = item.touches.iter().map(|touch| touch.spot);
    spots.min_by(|a, b| rate(*a).total_cmp(&rate(*b)))
}

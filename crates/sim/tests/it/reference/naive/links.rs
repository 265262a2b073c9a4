//! Links of the naive reference: rates, divided again at each change.

use super::{Who, World};
use sim::model::{Hop, Network, Station};

impl World {
    pub(super) fn share(&mut self, station: usize, who: Who, mut path: Vec<u16>, work: i128) {
        path.sort_unstable();
        self.flow(station);
        self.places[station].flows.push((who, path, work));
        self.divide(station);
    }

    /// Gives every I/O at a shared station what flowed since the last change.
    pub(super) fn flow(&mut self, station: usize) {
        let (now, place) = (self.now, &mut self.places[station]);
        let span = i128::from(now - place.at);
        for ((_, _, left), rate) in place.flows.iter_mut().zip(&place.rates) {
            *left -= span * i128::from(*rate);
        }
        place.at = now;
    }

    pub(super) fn divide(&mut self, station: usize) {
        let place = &mut self.places[station];
        place.rates = match &self.network.stations()[station] {
            _ if place.stopped => vec![0; place.flows.len()],
            Station::Links { .. } => max_min(&place.capacity, &place.flows),
            Station::Sharing { servers } => {
                let present = place.flows.len() as u64;
                let rate = (present.min(u64::from(*servers)) << 32).checked_div(present);
                vec![rate.unwrap_or(0); place.flows.len()]
            }
            _ => unreachable!("not shared"),
        };
        place.version += 1;
        let version = place.version;
        let ends = place.flows.iter().zip(&place.rates);
        let first = ends.filter_map(|((_, _, left), rate)| {
            let left = u128::try_from(*left).unwrap_or(0);
            if *rate == 0 && left > 0 {
                return None;
            }
            Some(left.div_ceil(u128::from((*rate).max(1))))
        });
        let moves = !place.stopped;
        if let Some(first) = first.min().filter(|_| moves) {
            let time = self.now.saturating_add(u64::try_from(first).unwrap_or(u64::MAX));
            self.at(time, station, move |world| {
                if world.places[station].version == version {
                    world.finish(station);
                }
            });
        }
    }

    /// Removes one complete I/O: from the first path, the one with the least work.
    pub(super) fn finish(&mut self, station: usize) {
        self.flow(station);
        let paths = paths(&self.network, station);
        let place = &mut self.places[station];
        let done = place.flows.iter().enumerate().filter(|(_, (_, _, left))| *left <= 0);
        let order = |path: &Vec<u16>| paths.iter().position(|known| known == path);
        let leaving =
            done.min_by_key(|(_, (_, path, left))| (order(path), *left)).map(|(number, _)| number);
        if let Some(number) = leaving {
            let (who, _, _) = place.flows.remove(number);
            self.left(station, &who);
            self.goes_on(&who);
            self.ready.push_back(who);
        }
        self.divide(station);
    }
}

/// The paths over the links of a station, in the order in which routes name them.
pub(super) fn paths(network: &Network, station: usize) -> Vec<Vec<u16>> {
    let mut paths = vec![Vec::new()];
    for class in network.loads().iter().flat_map(|load| &load.classes) {
        paths_of(&class.route, station, &mut paths);
    }
    paths
}

fn paths_of(hops: &[Hop], station: usize, paths: &mut Vec<Vec<u16>>) {
    for hop in hops {
        match hop {
            Hop::Cross { station: of, links, .. } if of.0 as usize == station => {
                let mut links = links.to_vec();
                links.sort_unstable();
                if !paths.contains(&links) {
                    paths.push(links);
                }
            }
            Hop::Branch { arms: routes, .. } | Hop::Together { routes } => {
                routes.iter().for_each(|route| paths_of(route, station, paths));
            }
            Hop::Fork { route } => paths_of(route, station, paths),
            _ => {}
        }
    }
}

/// Every flow's rate: progressive filling, the tightest link first.
fn max_min(rates: &[u64], flows: &[(Who, Vec<u16>, i128)]) -> Vec<u64> {
    let mut left: Vec<u64> = rates.iter().map(|rate| rate * 1024).collect();
    let mut found: Vec<Option<u64>> = vec![None; flows.len()];
    loop {
        let open = |link: u16| {
            let on = flows
                .iter()
                .zip(&found)
                .filter(move |((_, path, _), rate)| rate.is_none() && path.contains(&link));
            on.count() as u64
        };
        let offers = (0..rates.len() as u16).filter(|link| open(*link) > 0);
        let tightest = offers.map(|link| (left[usize::from(link)] / open(link), link)).min();
        let Some((offer, link)) = tightest else { break };
        for number in 0..flows.len() {
            let path = &flows[number].1;
            if found[number].is_none() && path.contains(&link) {
                let rate = if rates[usize::from(link)] == 0 { 0 } else { offer.max(1) };
                found[number] = Some(rate);
                for link in path {
                    let left = &mut left[usize::from(*link)];
                    *left = left.saturating_sub(rate);
                }
            }
        }
    }
    found.into_iter().map(|rate| rate.unwrap_or(0)).collect()
}

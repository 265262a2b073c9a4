//! Mean value analysis of the whole network, as if every service time were exponential: Schweitzer's fixed point, with what
//! the loads of a storage fabric need besides. Stations of several servers and queues that sort are solved as one of two
//! centres ([`crate::analytic`]). Tokens are a station whose service is what is done while they are held: a server that is
//! equivalent to the flow behind it (Chandy, Herzog and Woo 1975; Jacobson and Lazowska 1982 for several resources held at
//! once), and who has got tokens meets at most the others that have. Transfers share links by max-min.

use super::lumped::{Item, ItemKind, Kind, Lumped};
use super::state::{Copies, State, Sums};
use crate::analytic::{Flow as Stream, Met, Others, Service, max_min, met};

/// Rounds at most, and after how many the steps become smaller: what runs in circles is drawn to their middle.
const ROUNDS_MAX: usize = 800;
const ROUNDS_BOLD: usize = 200;
/// Share of a cycle by which two rounds may still differ.
const SETTLED: f64 = 1e-6;
/// Who still moves so far when the steps become smaller will not come to rest.
const LOST: f64 = 0.02;
/// What is known of the rest of the network is renewed so often, and moves this share of the way.
const RENEWED: usize = 4;
const SLOW: f64 = 0.3;
/// Tokens of one pool that are looked at one by one.
const SLOTS_MOST: f64 = 512.0;

/// The solution, and the rounds that it took; none where they come to no end.
pub fn mean(lumped: &Lumped, from: State) -> (Option<State>, usize) {
    let mut state = from;
    state.settle(lumped, Copies::Random);
    let mut solver = Solver::new(lumped);
    for round in 0..ROUNDS_MAX {
        let change = solver.round(&mut state, round);
        state.settle(lumped, Copies::Random);
        if change < SETTLED && round > 2 * RENEWED {
            return (Some(state), round);
        }
        if round == ROUNDS_BOLD && change > LOST {
            return (None, round);
        }
    }
    (None, ROUNDS_MAX)
}

struct Solver<'a> {
    lumped: &'a Lumped,
    /// How each spot of several servers serves.
    services: Vec<Option<Service>>,
    /// Of each spot: how far the rest of the network is like one queue.
    queued: Vec<f64>,
    /// Of each spot: where the search for what is met there begins, since it ended there in the round before.
    births: Vec<Option<f64>>,
    /// Spots with which a spot shares customers by tokens.
    related: Vec<Vec<usize>>,
    /// Groups of flows that share links.
    groups: Vec<Vec<usize>>,
}

impl<'a> Solver<'a> {
    fn new(lumped: &'a Lumped) -> Solver<'a> {
        let mut related = vec![Vec::new(); lumped.spots.len()];
        for load in &lumped.loads {
            for item in &load.items {
                for (section, touch) in
                    item.within.iter().flat_map(|s| item.touches.iter().map(move |t| (s, t)))
                {
                    let pool = load.sections[*section].spot;
                    related[pool].push(touch.spot);
                    related[touch.spot].push(pool);
                }
            }
        }
        for list in &mut related {
            list.sort_unstable();
            list.dedup();
        }
        let mut groups = vec![Vec::new(); lumped.flows.len()];
        for (number, flow) in lumped.flows.iter().enumerate() {
            groups[flow.group].push(number);
        }
        groups.retain(|group| !group.is_empty());
        let services = lumped.spots.iter().map(|spot| match &spot.kind {
            Kind::Queue(servers) | Kind::Sharing(servers) if *servers > 1.0 => {
                Some(Service::Servers(*servers as u32))
            }
            Kind::Sorted(speeds) => Some(Service::Rates(speeds.clone())),
            _ => None,
        });
        let services = services.collect();
        let (queued, births) = (vec![0.0; lumped.spots.len()], vec![None; lumped.spots.len()]);
        Solver { lumped, services, queued, births, related, groups }
    }

    /// One round; by which share of its cycle an item of a load moved at most.
    fn round(&mut self, state: &mut State, round: usize) -> f64 {
        let sums = Sums::of(self.lumped, state);
        if round.is_multiple_of(RENEWED) {
            self.renew(state, &sums);
        }
        let step = 0.5 * (ROUNDS_BOLD as f64 / round as f64).min(1.0);
        let shares = self.shares(&sums);
        let spots: Vec<Met> =
            (0..self.lumped.spots.len()).map(|spot| self.meet(spot, &sums, &shares)).collect();
        let paces = self.paces(state, &sums, &spots);
        let mut change: f64 = 0.0;
        for (number, load) in self.lumped.loads.iter().enumerate() {
            let holds = state.holds(number, load);
            let cycle = (state.cycle(number, load) + load.mix.think).max(1e-12);
            for (at, item) in load.items.iter().enumerate() {
                let now = match item.kind {
                    ItemKind::Transfer(flow) => item.wire / paces[flow].max(1e-9),
                    ItemKind::Tokens(section) => {
                        holds[section] * (spots[item.touches[0].spot].stretch - 1.0).max(0.0)
                    }
                    ItemKind::Service => self.service(number, item, &sums, &spots),
                };
                let stay = &mut state.stays[number][at];
                change = change.max((now - *stay).abs() * item.visits / cycle);
                *stay += step * (now - *stay);
            }
        }
        change
    }

    /// Seconds that a visit to a station takes.
    fn service(&self, load: usize, item: &Item, sums: &Sums, spots: &[Met]) -> f64 {
        let spot = item.touches[0].spot;
        let mean = |of: &[f64]| {
            if sums.present[spot] > 0.0 { of[spot] / sums.present[spot] } else { 0.0 }
        };
        match &self.lumped.spots[spot].kind {
            Kind::Queue(servers) if *servers <= 1.0 => {
                let others = sums.present[spot] - self.own(load, item, 0, sums, spots);
                item.time + mean(&sums.work) * others.max(0.0)
            }
            Kind::Sharing(servers) if *servers <= 1.0 => {
                let others = sums.present[spot] - self.own(load, item, 0, sums, spots);
                item.time * (1.0 + others.max(0.0))
            }
            Kind::Queue(_) => {
                let mean = sums.busy[spot] / sums.rates[spot].max(1e-12);
                item.time + mean * (spots[spot].stretch - 1.0).max(0.0)
            }
            Kind::Sharing(_) | Kind::Sorted(_) => item.time * spots[spot].stretch,
            Kind::Batch(count, within) => {
                company(*count, *within, sums.rates[spot], self.lumped.spots[spot].most)
            }
            Kind::Delay | Kind::Link(_) | Kind::Pool(_) => item.time,
        }
    }

    /// How many of those at a place an arriving customer must not count: itself, on average.
    fn own(&self, load: usize, item: &Item, touch: usize, sums: &Sums, spots: &[Met]) -> f64 {
        let of = &self.lumped.loads[load];
        let at = &item.touches[touch];
        let mut own: f64 = match of.mix.rate {
            None if !item.background => sums.own[load][at.local] / of.mix.customers.max(1.0),
            _ => 0.0,
        };
        for (section, pair) in item.within.iter().zip(&at.pairs) {
            let pool = of.sections[*section].spot;
            let holding = sums.busy[pool];
            if holding > 0.0 {
                let one = (holding - spots[pool].beside).clamp(0.0, 1.0);
                own = own.max(one * sums.pairs[*pair] / holding);
            }
        }
        own.min(1.0)
    }

    /// Of each spot: the share of a customer that arriving ones see too few of, averaged over its loads.
    fn shares(&self, sums: &Sums) -> Vec<f64> {
        let mut seen = vec![0.0; self.lumped.spots.len()];
        let mut weights = vec![0.0; self.lumped.spots.len()];
        for (number, load) in self.lumped.loads.iter().enumerate() {
            let closed = load.mix.rate.is_none();
            for (local, spot) in load.locals.iter().enumerate() {
                let own = sums.own[number][local];
                let share = if closed { own / load.mix.customers.max(1.0) } else { 0.0 };
                seen[*spot] += load.count * own * share;
                weights[*spot] += load.count * own;
            }
        }
        let share = |(seen, weight): (f64, &f64)| if *weight > 0.0 { seen / weight } else { 0.0 };
        seen.into_iter().zip(&weights).map(share).collect()
    }

    /// What arriving customers meet at a spot of several servers or of tokens.
    fn meet(&mut self, spot: usize, sums: &Sums, shares: &[f64]) -> Met {
        let of = &self.lumped.spots[spot];
        let mean = (sums.present[spot] - shares[spot]).max(0.0);
        let others = Others { mean, most: of.most - 1.0, queued: self.queued[spot] };
        let births = &mut self.births[spot];
        match (&of.kind, &self.services[spot]) {
            (Kind::Pool(tokens), _) => {
                let slots = (tokens / sums.tokens[spot].max(1e-9)).floor().max(1.0);
                if of.most <= slots {
                    return Met { stretch: 1.0, beside: mean };
                }
                // Of very many slots a smaller image: how many are taken varies less the more there are, so that a wait comes
                // out a little longer than it is.
                let scale = (slots / SLOTS_MOST).max(1.0);
                let (slots, most) = ((slots / scale).round(), others.most / scale);
                let others = Others { mean: mean / scale, most, ..others };
                let met = met(&Service::Servers(slots as u32), slots, others, births);
                Met { beside: met.beside * scale, ..met }
            }
            (_, Some(service)) => met(service, of.servers().max(1.0), others, births),
            _ => Met { stretch: 1.0 + mean, beside: 0.0 },
        }
    }

    /// Renews what is known of the rest of the network, for spots that are solved with it.
    fn renew(&mut self, state: &State, sums: &Sums) {
        let lumped = self.lumped;
        let busy: Vec<f64> =
            (0..lumped.spots.len()).map(|spot| sums.utilization(lumped, spot).min(1.0)).collect();
        let mut slowest = vec![0.0f64; lumped.spots.len()];
        // Of the loads that come to a spot: I/Os elsewhere if nobody waits, and visits of open ones and of all.
        let mut alone = vec![0.0; lumped.spots.len()];
        let mut open = vec![[0.0; 2]; lumped.spots.len()];
        for (number, load) in lumped.loads.iter().enumerate() {
            let rate = state.rates[number] * load.count;
            let whole: f64 = load.items.iter().map(|item| item.visits * item.time).sum();
            let mut spots = load.locals.clone();
            spots.sort_unstable();
            spots.dedup();
            for spot in &spots {
                let is_solved = self.services[*spot].is_some()
                    || matches!(lumped.spots[*spot].kind, Kind::Pool(_));
                if !is_solved {
                    continue;
                }
                let related = &self.related[*spot];
                let others = spots.iter().filter(|other| *other != spot);
                let apart = others.filter(|other| related.binary_search(other).is_err());
                slowest[*spot] = apart.fold(slowest[*spot], |most, other| most.max(busy[*other]));
                alone[*spot] += rate * (load.mix.think + whole);
                open[*spot][1] += rate;
                if load.mix.rate.is_some() {
                    open[*spot][0] += rate;
                }
            }
        }
        for (spot, queued) in self.queued.iter_mut().enumerate() {
            let here = sums.busy[spot] * lumped.spots[spot].count;
            let elsewhere = alone[spot] - here.min(alone[spot]);
            let closed = if elsewhere > 0.0 { (slowest[spot] / elsewhere).min(1.0) } else { 1.0 };
            let [open, all] = open[spot];
            let open = if all > 0.0 { open / all } else { 0.0 };
            *queued += (open + (1.0 - open) * closed - *queued) * SLOW;
        }
    }

    /// Bytes a second of one more transfer of each flow.
    fn paces(&self, state: &State, sums: &Sums, spots: &[Met]) -> Vec<f64> {
        let lumped = self.lumped;
        let mut present = vec![0.0; lumped.flows.len()];
        for (number, load) in lumped.loads.iter().enumerate() {
            for (at, item) in load.items.iter().enumerate() {
                if let ItemKind::Transfer(flow) = item.kind {
                    present[flow] +=
                        load.count * state.rates[number] * item.visits * state.stays[number][at];
                }
            }
        }
        let mut paces = vec![0.0; lumped.flows.len()];
        for group in &self.groups {
            let mut links: Vec<usize> =
                group.iter().flat_map(|f| lumped.flows[*f].links.iter().map(|l| l.0)).collect();
            links.sort_unstable();
            links.dedup();
            let rate = |link: usize| match lumped.spots[link].kind {
                Kind::Link(rate) => rate,
                _ => 0.0,
            };
            let rates: Vec<f64> = links.iter().map(|link| rate(*link)).collect();
            let stream = |flow: usize| {
                let of = &lumped.flows[flow];
                let crossed = of.links.iter().map(|(link, times)| {
                    let at = links.binary_search(link).unwrap_or(0);
                    (at, (present[flow] * times / lumped.spots[*link].count).max(1e-9))
                });
                let slowest = of.links.iter().map(|(link, _)| rate(*link));
                let ceiling = slowest.fold(f64::INFINITY, f64::min);
                Stream { links: crossed.collect(), ceiling }
            };
            let mut streams: Vec<Stream> = group.iter().map(|flow| stream(*flow)).collect();
            for (at, flow) in group.iter().enumerate() {
                let of = &lumped.flows[*flow];
                let item = &lumped.loads[of.load].items[of.item];
                let before = streams[at].links.clone();
                for (entry, (link, _)) in streams[at].links.iter_mut().zip(&of.links) {
                    let touch = item.touches.iter().position(|touch| touch.spot == *link);
                    let own =
                        touch.map_or(0.0, |touch| self.own(of.load, item, touch, sums, spots));
                    entry.1 = (entry.1 - own).max(0.0) + 1.0;
                }
                paces[*flow] = max_min(&rates, &streams)[at];
                streams[at].links = before;
            }
        }
        paces
    }
}

/// Seconds until `count` are there at `rate` a second, or `within` has passed since the first came, averaged over all.
fn company(count: f64, within: f64, rate: f64, most: f64) -> f64 {
    let by_time = within * (1.0 + rate * within / 2.0) / (1.0 + rate * within);
    if most < count || rate <= 0.0 { by_time } else { by_time.min((count - 1.0) / (2.0 * rate)) }
}

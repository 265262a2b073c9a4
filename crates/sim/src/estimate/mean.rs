//! Mean value analysis of the whole network with exponential service times: Schweitzer's fixed point, extended to the
//! loads of a storage fabric. Stations with several servers and sorting queues are solved as one of two centres
//! ([`crate::analytic`]). Tokens are a station whose service is what is done while they are held: a flow-equivalent
//! server (Chandy, Herzog and Woo 1975; Jacobson and Lazowska 1982 for simultaneous resource possession); an I/O with
//! tokens sees at most the other holders. Transfers share links max-min fair.

use super::lumped::{ItemKind, Lumped, LumpedItem, SiteKind};
use super::state::{CopyEnd, SiteSums, SolverState};
use crate::analytic::{LinkFlow, Met, Others, Service, max_min, met};

/// Greatest number of iterations, and after how many the steps become smaller, which damps oscillations.
const ROUNDS_MAX: usize = 800;
const ROUNDS_BOLD: usize = 200;
/// Convergence: the greatest change in an iteration, as a share of a cycle.
const SETTLED: f64 = 1e-6;
/// Where the change is still this large when the steps become smaller, the iteration will not converge.
const LOST: f64 = 0.02;
/// Iterations between updates of the rest of the network, and the step of an update.
const RENEWED: usize = 4;
const SLOW: f64 = 0.3;
/// Tokens of one pool that are modelled individually, at most.
const SLOTS_MOST: f64 = 512.0;

/// The solution, if the iteration converges, and the iterations that it took.
pub fn mean(lumped: &Lumped, from: SolverState) -> (Option<SolverState>, usize) {
    let mut state = from;
    state.settle(lumped, CopyEnd::Random);
    let mut solver = MeanSolver::new(lumped);
    for round in 0..ROUNDS_MAX {
        let change = solver.round(&mut state, round);
        state.settle(lumped, CopyEnd::Random);
        if change < SETTLED && round > 2 * RENEWED {
            return (Some(state), round);
        }
        if round == ROUNDS_BOLD && change > LOST {
            return (None, round);
        }
    }
    (None, ROUNDS_MAX)
}

struct MeanSolver<'a> {
    lumped: &'a Lumped,
    /// The service of each spot with several servers.
    services: Vec<Option<Service>>,
    /// Per spot: how far the rest of the network is like one queue.
    queued: Vec<f64>,
    /// Per spot: the birth rate found in the iteration before, where the next search starts.
    births: Vec<Option<f64>>,
    /// Per spot: the spots with which it shares customers through tokens.
    related: Vec<Vec<usize>>,
    /// Groups of flows that share links.
    groups: Vec<Vec<usize>>,
}

impl<'a> MeanSolver<'a> {
    fn new(lumped: &'a Lumped) -> MeanSolver<'a> {
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
            SiteKind::Queue(servers) | SiteKind::Sharing(servers) if *servers > 1.0 => {
                Some(Service::Servers(*servers as u32))
            }
            SiteKind::Sorted(speeds) | SiteKind::Flow(speeds) => {
                Some(Service::Rates(speeds.clone()))
            }
            _ => None,
        });
        let services = services.collect();
        let (queued, births) = (vec![0.0; lumped.spots.len()], vec![None; lumped.spots.len()]);
        MeanSolver { lumped, services, queued, births, related, groups }
    }

    /// One iteration; returns the greatest change of an item's time as a share of its load's cycle.
    fn round(&mut self, state: &mut SolverState, round: usize) -> f64 {
        let sums = SiteSums::of(self.lumped, state);
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

    /// Seconds of a visit to a station.
    fn service(&self, load: usize, item: &LumpedItem, sums: &SiteSums, spots: &[Met]) -> f64 {
        let spot = item.touches[0].spot;
        let mean = |of: &[f64]| {
            if sums.present[spot] > 0.0 { of[spot] / sums.present[spot] } else { 0.0 }
        };
        match &self.lumped.spots[spot].kind {
            SiteKind::Queue(servers) if *servers <= 1.0 => {
                let others = sums.present[spot] - self.own(load, item, 0, sums, spots);
                item.time + mean(&sums.work) * others.max(0.0)
            }
            SiteKind::Sharing(servers) if *servers <= 1.0 => {
                let others = sums.present[spot] - self.own(load, item, 0, sums, spots);
                item.time * (1.0 + others.max(0.0))
            }
            SiteKind::Queue(_) => {
                let mean = sums.busy[spot] / sums.rates[spot].max(1e-12);
                item.time + mean * (spots[spot].stretch - 1.0).max(0.0)
            }
            SiteKind::Sharing(_) | SiteKind::Sorted(_) | SiteKind::Flow(_) => {
                item.time * spots[spot].stretch
            }
            SiteKind::Batch(count, within) => {
                company(*count, *within, sums.rates[spot], self.lumped.spots[spot].most)
            }
            SiteKind::Delay | SiteKind::Link(_) | SiteKind::Pool(_) => item.time,
        }
    }

    /// The share of those present that an arriving customer must not count: itself, on average.
    fn own(
        &self,
        load: usize,
        item: &LumpedItem,
        touch: usize,
        sums: &SiteSums,
        spots: &[Met],
    ) -> f64 {
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

    /// Per spot: the share of one customer that arriving customers see too few of, averaged over its loads.
    fn shares(&self, sums: &SiteSums) -> Vec<f64> {
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

    /// What arriving customers see at a spot with several servers or tokens.
    fn meet(&mut self, spot: usize, sums: &SiteSums, shares: &[f64]) -> Met {
        let of = &self.lumped.spots[spot];
        let mean = (sums.present[spot] - shares[spot]).max(0.0);
        let others = Others { mean, most: of.most - 1.0, queued: self.queued[spot] };
        let births = &mut self.births[spot];
        match (&of.kind, &self.services[spot]) {
            (SiteKind::Pool(tokens), _) => {
                let slots = (tokens / sums.tokens[spot].max(1e-9)).floor().max(1.0);
                if of.most <= slots {
                    return Met { stretch: 1.0, beside: mean };
                }
                // Very many tokens are scaled down: the relative variation of their use falls with their number, so
                // waits come out slightly too long.
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

    /// Updates the rest of the network as seen from the spots that are solved with it.
    fn renew(&mut self, state: &SolverState, sums: &SiteSums) {
        let lumped = self.lumped;
        let busy: Vec<f64> =
            (0..lumped.spots.len()).map(|spot| sums.utilization(lumped, spot).min(1.0)).collect();
        let mut slowest = vec![0.0f64; lumped.spots.len()];
        // Of the loads that visit a spot: I/Os elsewhere without queueing, and visits of open loads and of all.
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
                    || matches!(lumped.spots[*spot].kind, SiteKind::Pool(_));
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

    /// Bytes a second that one more transfer of each flow would get.
    fn paces(&self, state: &SolverState, sums: &SiteSums, spots: &[Met]) -> Vec<f64> {
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
                SiteKind::Link(rate) => rate,
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
                LinkFlow { links: crossed.collect(), ceiling }
            };
            let mut streams: Vec<LinkFlow> = group.iter().map(|flow| stream(*flow)).collect();
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

/// Mean seconds until `count` I/Os have arrived at `rate` a second, or `within` has passed since the first.
fn company(count: f64, within: f64, rate: f64, most: f64) -> f64 {
    let by_time = within * (1.0 + rate * within / 2.0) / (1.0 + rate * within);
    if most < count || rate <= 0.0 { by_time } else { by_time.min((count - 1.0) / (2.0 * rate)) }
}

//! Mean value analysis of the whole network with random arrivals: Schweitzer's fixed point, extended to the loads of a
//! storage fabric. At one server, what is left of the service that a closed load's I/O finds under way follows from its
//! variance (Reiser 1979); all else is as with exponential times. Stations with several servers and sorting queues are solved as one of two centres
//! ([`crate::analytic`]). Tokens are a station whose service is what is done while they are held: a flow-equivalent
//! server (Chandy, Herzog and Woo 1975; Jacobson and Lazowska 1982 for simultaneous resource possession); an I/O with
//! tokens sees at most the other holders. Transfers share links max-min fair.

use super::lumped::{ItemKind, Lumped, LumpedItem, LumpedLoad, SiteKind};
use super::state::{CopyEnd, SiteSums, SolverState};
use crate::analytic::{LinkFlow, Met, Others, Service, arrivals, max_min_of, met};

/// Greatest number of iterations, and after how many the steps become smaller, which damps oscillations.
const ROUNDS_MAX: usize = 800;
const ROUNDS_BOLD: usize = 200;
/// Convergence: the greatest change in an iteration, as a share of a cycle.
const SETTLED: f64 = 1e-6;
/// What it may be when the iterations end.
const NEARLY: f64 = 1e-3;
/// Steps, as a share of the change, that are tried one after the other.
const STEPS: [f64; 3] = [0.5, 0.15, 0.04];
/// Where the change is still this large when the steps become smaller, the iteration will not converge.
const LOST: f64 = 0.02;
/// Iterations between updates of the rest of the network, and the step of an update.
const RENEWED: usize = 4;
const SLOW: f64 = 0.3;
/// Share of a server that open loads leave to closed ones, at least: where they would leave less, they are not open
/// (`open`).
const LEFT_LEAST: f64 = 1e-9;
/// Steps of the search for the stretch of a station that open and closed loads share, and its tolerance.
const STEPS_MAX: usize = 30;
const NEAR: f64 = 1e-8;
/// Tokens of one pool that are modelled individually, at most.
const SLOTS_MOST: f64 = 512.0;

/// The solution, if the iteration converges, and the iterations that it took. Where it does not, it begins again with
/// smaller steps.
pub fn mean(lumped: &Lumped, from: SolverState) -> (Option<SolverState>, usize) {
    let mut rounds = 0;
    for step in STEPS {
        let (found, took) = iterate(lumped, from.clone(), step);
        rounds += took;
        if found.is_some() {
            return (found, rounds);
        }
    }
    (None, rounds)
}

/// Iterates with steps of this share.
fn iterate(lumped: &Lumped, from: SolverState, step: f64) -> (Option<SolverState>, usize) {
    let mut state = from;
    state.settle(lumped, CopyEnd::Random);
    let mut solver = MeanSolver::new(lumped);
    let mut change = f64::INFINITY;
    for round in 0..ROUNDS_MAX {
        change = solver.round(&mut state, round, step);
        state.settle(lumped, CopyEnd::Random);
        if change < SETTLED && round > 2 * RENEWED {
            return (Some(state), round);
        }
        if round == ROUNDS_BOLD && change > LOST {
            return (None, round);
        }
    }
    ((change < NEARLY).then_some(state), ROUNDS_MAX)
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
    /// What the open loads bring to each spot: known, since nothing slows them down.
    open: SiteSums,
    /// Per spot of one server, which may sort: by how many seconds what is left of a service under way is longer than a service, times the
    /// share of the time in which closed loads have one under way. Less than zero where times vary less than exponential
    /// ones.
    under_way: Vec<f64>,
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
        let alone = SolverState::alone(lumped, CopyEnd::Steady);
        let open = SiteSums::of_loads(lumped, &alone, |load| load.mix.rate.is_some());
        let under_way = vec![0.0; lumped.spots.len()];
        MeanSolver { lumped, services, queued, births, related, groups, open, under_way }
    }

    /// Updates what is left of services under way.
    fn leave(&mut self, state: &SolverState, closed: &SiteSums) {
        self.under_way.fill(0.0);
        for (number, load) in self.lumped.loads.iter().enumerate() {
            if load.mix.rate.is_some() {
                continue;
            }
            let rate = state.rates[number] * load.count;
            for item in load.items.iter().filter(|item| item.kind == ItemKind::Service) {
                let spot = item.touches[0].spot;
                let each = rate * item.visits / self.lumped.spots[spot].count;
                self.under_way[spot] += each * item.time * item.time * (item.scv - 1.0) / 2.0;
            }
        }
        for (spot, under_way) in self.under_way.iter_mut().enumerate() {
            if let SiteKind::Sorted(speeds) = &self.lumped.spots[spot].kind {
                let gain = gain_of(speeds, closed.busy[spot], closed.present[spot]);
                *under_way /= gain * gain;
            }
        }
    }

    /// One iteration; returns the greatest change of an item's time as a share of its load's cycle.
    fn round(&mut self, state: &mut SolverState, round: usize, step: f64) -> f64 {
        let sums = SiteSums::of(self.lumped, state);
        if round.is_multiple_of(RENEWED) {
            self.renew(state, &sums);
        }
        let step = step * (ROUNDS_BOLD as f64 / round as f64).min(1.0);
        let is_open = self.lumped.loads.iter().any(|load| load.mix.rate.is_some());
        let apart =
            is_open.then(|| SiteSums::of_loads(self.lumped, state, |load| load.mix.rate.is_none()));
        let closed = apart.as_ref().unwrap_or(&sums);
        let shares = self.shares(closed);
        let spots: Vec<Met> = (0..self.lumped.spots.len())
            .map(|spot| self.meet(spot, (&sums, closed), &shares))
            .collect();
        let paces = self.paces(state, closed, &spots);
        self.leave(state, closed);
        let mut change: f64 = 0.0;
        for (number, load) in self.lumped.loads.iter().enumerate() {
            let holds = state.holds(number, load);
            let cycle = (state.cycle(number, load) + load.mix.think).max(1e-12);
            let is_open = load.mix.rate.is_some();
            for (at, item) in load.items.iter().enumerate() {
                let now = match item.kind {
                    ItemKind::Transfer(flow) => item.wire / paces[flow].max(1e-9),
                    // Waits of open loads follow when all stations are solved (`open`).
                    ItemKind::Tokens(_) if is_open => 0.0,
                    ItemKind::Tokens(section) => {
                        holds[section] * (spots[item.touches[0].spot].stretch - 1.0).max(0.0)
                    }
                    ItemKind::Service => self.service(number, item, (&sums, closed), &spots),
                };
                let stay = &mut state.stays[number][at];
                change = change.max((now - *stay).abs() * item.visits / cycle);
                *stay += step * (now - *stay);
            }
        }
        change
    }

    /// Seconds of a visit to a station. Open loads take their share of a server first: what is left serves the closed
    /// ones, and arrivals of both find the same queue (exact for mixed networks of product form).
    fn service(
        &self,
        load: usize,
        item: &LumpedItem,
        (all, closed): (&SiteSums, &SiteSums),
        spots: &[Met],
    ) -> f64 {
        let spot = item.touches[0].spot;
        let left = (1.0 - self.open.busy[spot]).max(LEFT_LEAST);
        let others = || (closed.present[spot] - self.own(load, item, 0, closed, spots)).max(0.0);
        match &self.lumped.spots[spot].kind {
            SiteKind::Queue(servers) if *servers <= 1.0 => {
                let each = closed.work[spot] + self.under_way[spot] * item.random;
                let each = each.max(0.0) / closed.present[spot].max(f64::MIN_POSITIVE);
                item.time + (self.open.work[spot] + each * others()) / left
            }
            SiteKind::Sharing(servers) if *servers <= 1.0 => item.time * (1.0 + others()) / left,
            SiteKind::Queue(_) => {
                let mean = all.busy[spot] / all.rates[spot].max(1e-12);
                item.time + mean * (spots[spot].stretch - 1.0).max(0.0)
            }
            SiteKind::Sharing(_) | SiteKind::Flow(_) => item.time * spots[spot].stretch,
            SiteKind::Sorted(_) => {
                let met = closed.present[spot].max(f64::MIN_POSITIVE);
                let less = self.under_way[spot] * item.random * (others() / met).min(1.0);
                let stay = item.time * spots[spot].stretch;
                (stay + less).max(stay / 2.0)
            }
            SiteKind::Batch(count, within) => {
                company(*count, *within, all.rates[spot], self.lumped.spots[spot].most)
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
    fn meet(&mut self, spot: usize, (all, closed): (&SiteSums, &SiteSums), shares: &[f64]) -> Met {
        let of = &self.lumped.spots[spot];
        let births = &mut self.births[spot];
        let others = |mean: f64| Others {
            mean: mean.max(0.0),
            most: of.most - 1.0,
            queued: self.queued[spot],
        };
        match (&of.kind, &self.services[spot]) {
            (SiteKind::Pool(tokens), _) => {
                let mean = (all.present[spot] - shares[spot]).max(0.0);
                let slots = (tokens / all.tokens[spot].max(1e-9)).floor().max(1.0);
                if of.most <= slots {
                    return Met { stretch: 1.0, beside: mean };
                }
                // Very many tokens are scaled down: the relative variation of their use falls with their number, so
                // waits come out slightly too long.
                let scale = (slots / SLOTS_MOST).max(1.0);
                let (slots, most) = ((slots / scale).round(), (of.most - 1.0) / scale);
                let others = Others { mean: mean / scale, most, queued: self.queued[spot] };
                let met = met(&Service::Servers(slots as u32), slots, others, births);
                Met { beside: met.beside * scale, ..met }
            }
            (_, Some(service)) => {
                let servers = of.servers().max(1.0);
                let mean = closed.present[spot] - shares[spot];
                let busy = self.open.busy[spot];
                if busy <= 0.0 {
                    return met(service, servers, others(mean), births);
                }
                if closed.present[spot] <= 1e-9 {
                    return arrivals(service, servers, busy);
                }
                // The stretch that those of open loads have, who are present the longer for it.
                let waits = match of.kind {
                    SiteKind::Queue(_) => {
                        self.open.rates[spot] * all.busy[spot] / all.rates[spot].max(1e-12)
                    }
                    _ => busy,
                };
                let at = |stretch: f64, births: &mut Option<f64>| {
                    let present = mean + busy + waits * (stretch - 1.0).max(0.0);
                    met(service, servers, others(present), births)
                };
                solved(|stretch| at(stretch, births))
            }
            _ => {
                Met { stretch: 1.0 + others(closed.present[spot] - shares[spot]).mean, beside: 0.0 }
            }
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
        let closed = |(_, load): &(usize, &LumpedLoad)| load.mix.rate.is_none();
        for (number, load) in lumped.loads.iter().enumerate().filter(closed) {
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
            let left = |link: usize| (1.0 - self.open.busy[link]).max(LEFT_LEAST);
            let rates: Vec<f64> = links.iter().map(|link| rate(*link) * left(*link)).collect();
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
                paces[*flow] = max_min_of(&rates, &streams, at);
                streams[at].links = before;
            }
        }
        paces
    }
}

/// How many times as fast a queue that sorts works as with one, where `present` are there on average and would keep it
/// busy for `busy` of the time if there were never more than one.
fn gain_of(speeds: &[f64], busy: f64, present: f64) -> f64 {
    const TIMES: usize = 6;
    let at = |number: f64| {
        let below = (number.floor().max(1.0) as usize - 1).min(speeds.len() - 1);
        let above = (below + 1).min(speeds.len() - 1);
        speeds[below] + (speeds[above] - speeds[below]) * (number - number.floor())
    };
    let mut used = busy.clamp(1e-9, 1.0);
    for _ in 0..TIMES {
        // Those present while it is at work.
        let gain = at((present / used).max(1.0)).max(f64::MIN_POSITIVE);
        used = (busy / gain).clamp(1e-9, 1.0);
    }
    (busy / used).max(f64::MIN_POSITIVE)
}

/// What customers see where the stretch that they see says how many are there: the fixed point, by the secant method
/// between bounds.
fn solved(mut at: impl FnMut(f64) -> Met) -> Met {
    let (mut low, mut high) = (1.0, f64::INFINITY);
    let mut stretch = 1.0;
    let mut before: Option<(f64, f64)> = None;
    let mut met = at(stretch);
    for _ in 0..STEPS_MAX {
        let off = met.stretch - stretch;
        if off.abs() <= NEAR * stretch {
            break;
        }
        if off > 0.0 {
            low = stretch
        } else {
            high = stretch
        }
        let slope = before.map_or(0.0, |(then, was)| (off - was) / (stretch - then));
        let next = if slope < 0.0 { stretch - off / slope } else { met.stretch };
        before = Some((stretch, off));
        let inside = next > low && next < high;
        stretch = match inside {
            true => next,
            false if high.is_finite() => (low + high) / 2.0,
            false => low * 2.0,
        };
        met = at(stretch);
    }
    met
}

/// Mean seconds until `count` I/Os have arrived at `rate` a second, or `within` has passed since the first.
fn company(count: f64, within: f64, rate: f64, most: f64) -> f64 {
    let by_time = within * (1.0 + rate * within / 2.0) / (1.0 + rate * within);
    if most < count || rate <= 0.0 { by_time } else { by_time.min((count - 1.0) / (2.0 * rate)) }
}

//! Mean value analysis of the whole network with random arrivals: Schweitzer's fixed point, extended to the loads of a
//! storage fabric. At one server, what is left of the service that a closed load's I/O finds under way follows from its
//! variance (Reiser 1979); all else is as with exponential times. Stations with several servers and sorting queues are solved as one of two centres
//! ([`crate::analytic`]). Tokens are a station whose service is what is done while they are held: a flow-equivalent
//! server (Chandy, Herzog and Woo 1975; Jacobson and Lazowska 1982 for simultaneous resource possession); an I/O with
//! tokens sees at most the other holders. Transfers share links max-min fair.

use super::accelerate::Accelerator;
use super::company;
use super::lumped::{ItemKind, Lumped, LumpedItem, LumpedLoad, SiteKind};
use super::pace::{self, FlowGroup};
use super::state::{CopyEnd, SiteSums, SolverState};
use crate::analytic::{Met, Others, Service, arrivals, met};

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
/// Iterations that are tried with acceleration, their step, and their convergence.
const ROUNDS_FAST: usize = 120;
const ROUNDS_LAST: usize = ROUNDS_FAST - 1;
const STEP_FAST: f64 = 0.5;
const SETTLED_FAST: f64 = 5e-7;
/// Where steps come first: how many at least, and the change at which acceleration takes over.
const ROUNDS_FIRST: usize = 24;
const NEAR_BY: f64 = 5e-3;
/// Accelerated iterations after which it suffices that cycles have been steady for half as many, within this share.
const ROUNDS_STEADY: usize = 20;
const STEADY: f64 = 1e-3;
/// Accelerated iterations after which so small a change suffices.
const ROUNDS_ENOUGH: usize = 40;
const ENOUGH: f64 = 3e-4;
/// Where an iterate is so many times as far off as the one before, what was remembered is forgotten; and by what factor
/// an accelerated time may differ from its last two values.
const WORSE: f64 = 3.0;
const APART: f64 = 3.0;
/// How far off the rest of the network may be, as seen from a spot, beside a time.
const SEEN: f64 = 0.02;
/// Iterations between updates of the rest of the network, and the step of an update.
const RENEWED: usize = 4;
const SLOW: f64 = 0.3;
/// Share of a server that open loads leave to closed ones, at least: where they would leave less, they are not open
/// (`open`).
pub(super) const LEFT_LEAST: f64 = 1e-9;
/// Steps of the search for the stretch of a station that open and closed loads share, and its tolerance.
const STEPS_MAX: usize = 30;
const NEAR: f64 = 1e-8;
/// Tokens of one pool that are modelled individually, at most.
const SLOTS_MOST: f64 = 512.0;

/// How a solution is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// With acceleration, and where that does not converge by steps.
    Accelerated,
    /// By steps until it is near. Acceleration may find another of several solutions than steps do, as there may be where
    /// open loads are nearly more than is carried: in networks with open loads steps choose the solution.
    Approached,
    /// By steps: acceleration did not converge for a network like it.
    Steps,
}

/// What a search found.
pub struct Found {
    /// The solution, if the iteration converged.
    pub state: Option<SolverState>,
    /// The iterations that it took.
    pub rounds: usize,
    /// Steps found it where acceleration did not.
    pub by_steps: bool,
}

/// Looks for the solution. Where the iteration does not converge, it begins again with smaller steps.
pub fn mean(lumped: &Lumped, from: SolverState, search: Search) -> Found {
    let (found, mut rounds, lost) = match search {
        Search::Accelerated => {
            let (found, took) = accelerated(lumped, from.clone());
            (found, took, false)
        }
        Search::Approached => approached(lumped, from.clone()),
        Search::Steps => (None, 0, false),
    };
    if found.is_some() {
        return Found { state: found, rounds, by_steps: false };
    }
    // Bold steps that did not even come near are not tried again.
    for step in STEPS.into_iter().skip(usize::from(lost)) {
        let (found, took) = iterate(lumped, from.clone(), step);
        rounds += took;
        if found.is_some() {
            return Found { state: found, rounds, by_steps: search != Search::Approached };
        }
    }
    Found { state: None, rounds, by_steps: false }
}

/// Iterates with acceleration.
fn accelerated(lumped: &Lumped, from: SolverState) -> (Option<SolverState>, usize) {
    let mut state = from;
    state.settle(lumped, CopyEnd::Random);
    accelerate(MeanSolver::new(lumped), state)
}

/// Iterates with bold steps until the solution is near, and with acceleration from there. The last says that it never came
/// near.
fn approached(lumped: &Lumped, from: SolverState) -> (Option<SolverState>, usize, bool) {
    let mut state = from;
    state.settle(lumped, CopyEnd::Random);
    let mut solver = MeanSolver::new(lumped);
    let mut change = f64::INFINITY;
    for round in 0..ROUNDS_BOLD {
        if round.is_multiple_of(RENEWED) {
            solver.renew(&state);
        }
        change = solver.round(&state);
        solver.step(&mut state, STEPS[0]);
        state.settle(lumped, CopyEnd::Random);
        if change < SETTLED && round > 2 * RENEWED {
            return (Some(state), round, false);
        }
        if change < NEAR_BY && round >= ROUNDS_FIRST {
            let (found, took) = accelerate(solver, state);
            return (found, round + took, false);
        }
    }
    (None, ROUNDS_BOLD, change > LOST)
}

fn accelerate(mut solver: MeanSolver, mut state: SolverState) -> (Option<SolverState>, usize) {
    let lumped = solver.lumped;
    let mut accelerator = Accelerator::default();
    let mut steady = Steady::default();
    let mut before = f64::INFINITY;
    for round in 0..ROUNDS_FAST {
        let mut change = solver.round(&state);
        let iterate = solver.iterate(&state);
        for (off, weight) in iterate.off.iter().zip(&iterate.weights).skip(iterate.times) {
            change = change.max(off.abs() * weight);
        }
        if !change.is_finite() {
            return (None, round);
        }
        if change < SETTLED_FAST && round > 2 {
            return (Some(state), round);
        }
        let enough = match round {
            _ if steady.lasts(lumped, &state, round) => NEARLY,
            0..ROUNDS_ENOUGH => 0.0,
            ROUNDS_LAST => NEARLY,
            _ => ENOUGH,
        };
        if change < enough {
            return (Some(state), round);
        }
        if change > WORSE * before {
            accelerator.forget();
        }
        before = change;
        let next = accelerator.next(&iterate.at, &iterate.off, &iterate.weights, STEP_FAST);
        solver.take(&mut state, &iterate, &next);
        state.settle(lumped, CopyEnd::Random);
    }
    (None, ROUNDS_FAST)
}

/// For how long the loads' cycles have not changed. Where many queue limits are nearly full it takes hundreds of iterations
/// until it is known how many wait before each, and none of that matters to how many wait in all.
#[derive(Default)]
struct Steady {
    cycles: Vec<f64>,
    since: usize,
}

impl Steady {
    /// Whether they have been steady for long.
    fn lasts(&mut self, lumped: &Lumped, state: &SolverState, round: usize) -> bool {
        let cycle =
            |(number, load): (usize, &LumpedLoad)| state.cycle(number, load) + load.mix.think;
        let now: Vec<f64> = lumped.loads.iter().enumerate().map(cycle).collect();
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= STEADY * b;
        if self.cycles.is_empty() || !now.iter().zip(&self.cycles).all(near) {
            (self.cycles, self.since) = (now, round);
        }
        round >= ROUNDS_STEADY && round - self.since >= ROUNDS_STEADY / 2
    }
}

/// All unknowns in a row: times of items, and how far the rest of the network is like one queue, by spot.
struct Iterate {
    at: Vec<f64>,
    /// By how much the next iterate would differ, and what that weighs.
    off: Vec<f64>,
    weights: Vec<f64>,
    /// How many of them are times.
    times: usize,
}

/// Iterates with steps of this share.
fn iterate(lumped: &Lumped, from: SolverState, step: f64) -> (Option<SolverState>, usize) {
    let mut state = from;
    state.settle(lumped, CopyEnd::Random);
    let mut solver = MeanSolver::new(lumped);
    let mut change = f64::INFINITY;
    for round in 0..ROUNDS_MAX {
        if round.is_multiple_of(RENEWED) {
            solver.renew(&state);
        }
        change = solver.round(&state);
        solver.step(&mut state, step * (ROUNDS_BOLD as f64 / round as f64).min(1.0));
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
    /// Flows that share links.
    groups: Vec<FlowGroup>,
    /// What the open loads bring to each spot: known, since nothing slows them down.
    open: SiteSums,
    /// Per spot of one server, which may sort: by how many seconds what is left of a service under way, of one that does not,
    /// is longer than a service, times the share of the time in which closed loads have one under way. Less than zero where
    /// times vary less than exponential ones.
    under_way: Vec<f64>,
    /// Per load and item: the time that the last iteration found, and what a second of it weighs.
    found: Vec<Vec<(f64, f64)>>,
    /// Per load: its spots that are solved with the rest of the network.
    visited: Vec<Vec<VisitedSpot>>,
    /// What the last iteration added up.
    sums: Option<SiteSums>,
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
        let services = lumped.spots.iter().map(|spot| match &spot.kind {
            SiteKind::Queue(servers) | SiteKind::Sharing(servers) if *servers > 1.0 => {
                Some(Service::Servers(*servers as u32))
            }
            SiteKind::Sorted(speeds) | SiteKind::Flow(speeds) => {
                Some(Service::Rates(speeds.clone()))
            }
            _ => None,
        });
        let services: Vec<Option<Service>> = services.collect();
        let (queued, births) = (vec![0.0; lumped.spots.len()], vec![None; lumped.spots.len()]);
        let alone = SolverState::alone(lumped, CopyEnd::Steady);
        let open = SiteSums::of_loads(lumped, &alone, |load| load.mix.rate.is_some());
        let under_way = vec![0.0; lumped.spots.len()];
        let found = lumped.loads.iter().map(|load| vec![(0.0, 0.0); load.items.len()]).collect();
        let is_solved = |spot: usize| {
            services[spot].is_some() || matches!(lumped.spots[spot].kind, SiteKind::Pool(_))
        };
        let visited = lumped.loads.iter().map(|load| visited(load, &related, is_solved)).collect();
        let groups = pace::groups(lumped, &open);
        MeanSolver {
            lumped,
            services,
            queued,
            births,
            groups,
            open,
            under_way,
            found,
            visited,
            sums: None,
        }
    }

    /// Updates what is left of services under way.
    fn leave(&mut self, state: &SolverState) {
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
    }

    /// Moves the times by a share of what they are off.
    fn step(&self, state: &mut SolverState, step: f64) {
        for (stays, found) in state.stays.iter_mut().zip(&self.found) {
            for (stay, (now, _)) in stays.iter_mut().zip(found) {
                *stay += step * (now - *stay);
            }
        }
    }

    /// All unknowns after an iteration of this state.
    fn iterate(&mut self, state: &SolverState) -> Iterate {
        let at: Vec<f64> = state.stays.iter().flatten().chain(&self.queued).copied().collect();
        let found = self.found.iter().flatten();
        let times = at.len() - self.queued.len();
        let mut off: Vec<f64> = found.clone().zip(&at).map(|((now, _), at)| now - at).collect();
        let items = self.lumped.loads.iter().flat_map(|load| &load.items);
        let weigh = |((_, weight), item): (&(f64, f64), &LumpedItem)| weight * item.times.sqrt();
        let mut weights: Vec<f64> = found.zip(items).map(weigh).collect();
        let sums = self.sums.take().unwrap_or_else(|| SiteSums::in_use(self.lumped, state));
        let seen = self.seen(state, &sums);
        off.extend(seen.iter().zip(&self.queued).map(|(now, queued)| now - queued));
        weights.resize(at.len(), SEEN);
        Iterate { at, off, weights, times }
    }

    /// Takes over the next iterate, as far as it is likely.
    fn take(&mut self, state: &mut SolverState, iterate: &Iterate, next: &[f64]) {
        let likely = |number: usize| {
            let (at, now) = (iterate.at[number], iterate.at[number] + iterate.off[number]);
            let (low, high) = (at.min(now).max(0.0), at.max(now).max(0.0));
            next[number].clamp(low / APART, high * APART)
        };
        let mut number = 0;
        for stay in state.stays.iter_mut().flatten() {
            *stay = likely(number);
            number += 1;
        }
        for (queued, next) in self.queued.iter_mut().zip(&next[number..]) {
            *queued = next.clamp(0.0, 1.0);
        }
    }

    /// One iteration; returns the greatest change of an item's time as a share of its load's cycle.
    fn round(&mut self, state: &SolverState) -> f64 {
        let sums = SiteSums::of(self.lumped, state);
        let is_open = self.lumped.loads.iter().any(|load| load.mix.rate.is_some());
        let apart =
            is_open.then(|| SiteSums::of_loads(self.lumped, state, |load| load.mix.rate.is_none()));
        let closed = apart.as_ref().unwrap_or(&sums);
        let spots = self.met(state, (&sums, closed));
        let paces = self.paces(state, closed, &spots);
        self.leave(state);
        let mut change: f64 = 0.0;
        for (number, load) in self.lumped.loads.iter().enumerate() {
            let holds = &sums.holds[number];
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
                    ItemKind::Service => self
                        .service(number, item, (&sums, closed), &spots)
                        .max(company::together(self.lumped, state, (number, at))),
                };
                let (stay, weight) = (state.stays[number][at], item.visits / item.times / cycle);
                change = change.max((now - stay).abs() * weight);
                self.found[number][at] = (now, weight);
            }
        }
        self.sums = Some(sums);
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
                let less = less * spots[spot].left;
                let stay = item.time * spots[spot].stretch;
                (stay + less).max(stay / 2.0)
            }
            SiteKind::Batch(count, within) => {
                company::wait(*count, *within, all.rates[spot], self.lumped.spots[spot].most)
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
        for (section, pair) in item.within.iter().zip(at.pairs.iter()) {
            let pool = of.sections[*section].spot;
            let holding = sums.busy[pool];
            if holding > 0.0 {
                let one = (holding - spots[pool].beside).clamp(0.0, 1.0);
                own = own.max(one * sums.pairs[*pair] / holding);
            }
        }
        own.min(1.0)
    }

    /// What arriving customers see at each spot: first where there are tokens, which say how many others hold some.
    fn met(&mut self, state: &SolverState, (all, closed): (&SiteSums, &SiteSums)) -> Vec<Met> {
        let is_pool = |spot: usize| matches!(self.lumped.spots[spot].kind, SiteKind::Pool(_));
        let mut shares = self.shares(closed);
        let mut spots = vec![Met { stretch: 1.0, beside: 0.0, left: 0.0 }; shares.len()];
        let (pools, others): (Vec<usize>, Vec<usize>) = (0..spots.len()).partition(|s| is_pool(*s));
        for spot in pools {
            spots[spot] = self.meet(spot, (all, closed), &shares);
        }
        self.hold(state, closed, &spots, &mut shares);
        for spot in others {
            spots[spot] = self.meet(spot, (all, closed), &shares);
        }
        spots
    }

    /// Of the few that hold tokens one is a greater share than of all customers.
    fn hold(&self, state: &SolverState, closed: &SiteSums, spots: &[Met], shares: &mut [f64]) {
        let mut seen = vec![[0.0; 2]; shares.len()];
        let loads = self.lumped.loads.iter().enumerate();
        for (number, load) in loads.filter(|(_, load)| load.mix.rate.is_none()) {
            for (at, item) in load.items.iter().enumerate() {
                for (touch, site) in item.touches.iter().enumerate() {
                    if self.services[site.spot].is_some() {
                        let here = state.rates[number] * item.visits * state.stays[number][at];
                        let own = self.own(number, item, touch, closed, spots);
                        let [of, all] = &mut seen[site.spot];
                        *of += load.count * here * own;
                        *all += load.count * here;
                    }
                }
            }
        }
        for (share, [of, all]) in shares.iter_mut().zip(seen) {
            *share = if all > 0.0 { share.max(of / all) } else { *share };
        }
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
                    return Met { stretch: 1.0, beside: mean, left: 0.0 };
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
                let stretch = 1.0 + others(closed.present[spot] - shares[spot]).mean;
                Met { stretch, beside: 0.0, left: 0.0 }
            }
        }
    }

    /// Updates the rest of the network as seen from the spots that are solved with it.
    fn renew(&mut self, state: &SolverState) {
        let sums = SiteSums::in_use(self.lumped, state);
        let seen = self.seen(state, &sums);
        for (queued, now) in self.queued.iter_mut().zip(seen) {
            *queued += (now - *queued) * SLOW;
        }
    }

    /// Per spot: how far the rest of the network is like one queue, as seen from there.
    fn seen(&self, state: &SolverState, sums: &SiteSums) -> Vec<f64> {
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
            for VisitedSpot { spot, apart } in &self.visited[number] {
                let apart = apart.iter().map(|other| busy[*other]);
                slowest[*spot] = apart.fold(slowest[*spot], f64::max);
                alone[*spot] += rate * (load.mix.think + whole);
                open[*spot][1] += rate;
                if load.mix.rate.is_some() {
                    open[*spot][0] += rate;
                }
            }
        }
        let like = |spot: usize| {
            let here = sums.busy[spot] * lumped.spots[spot].count;
            let elsewhere = alone[spot] - here.min(alone[spot]);
            let closed = if elsewhere > 0.0 { (slowest[spot] / elsewhere).min(1.0) } else { 1.0 };
            let [open, all] = open[spot];
            let open = if all > 0.0 { open / all } else { 0.0 };
            open + (1.0 - open) * closed
        };
        (0..lumped.spots.len()).map(like).collect()
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
            let own = |flow: usize, touch: usize| {
                let of = &lumped.flows[flow];
                let item = &lumped.loads[of.load].items[of.item];
                self.own(of.load, item, touch, sums, spots)
            };
            group.pace(&present, own, &mut paces);
        }
        paces
    }
}

/// A spot that a load comes to.
struct VisitedSpot {
    spot: usize,
    /// The load's other spots that share no customers with it through tokens.
    apart: Vec<usize>,
}

/// The spots of a load that are solved with the rest of the network. `related` are, by spot, those with which it shares
/// customers through tokens.
fn visited(
    load: &LumpedLoad,
    related: &[Vec<usize>],
    is_solved: impl Fn(usize) -> bool,
) -> Vec<VisitedSpot> {
    let mut spots = load.locals.clone();
    spots.sort_unstable();
    spots.dedup();
    let visited = spots.iter().filter(|spot| is_solved(**spot)).map(|spot| {
        let others = spots.iter().filter(|other| *other != spot);
        let apart = others.filter(|other| related[*spot].binary_search(other).is_err());
        VisitedSpot { spot: *spot, apart: apart.copied().collect() }
    });
    visited.collect()
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

#[cfg(test)]
mod tests {
    use super::super::symmetry::Alike;
    use super::super::{fluid, limits, lumped};
    use super::*;
    use scenario::{Source, Stage};

    /// Plain steps converge slowly, and to the same: what is left of a change is many times smaller than 1e-4.
    const SAME: f64 = 1e-4;

    /// Compares the solutions of all steps of a lab of this repository; how many iterations each way took.
    fn compare(name: &str, text: &str) -> (usize, usize) {
        let source = Source { name: name.to_owned(), text: text.to_owned(), ..Source::default() };
        let scenario = scenario::load(&source).unwrap_or_else(|wrong| panic!("{wrong}"));
        let topology = scenario.topology().unwrap_or_else(|wrong| panic!("{wrong}"));
        let (mut fast, mut slow) = (0, 0);
        for step in scenario.stages().iter().flat_map(Stage::examples) {
            let plant = crate::lab::compile(&scenario, &topology, &step).expect("a plant");
            let network = lumped::lump(&Alike::of(&plant.network), 0.0);
            let from = SolverState::alone(&network, CopyEnd::Random);
            let from = fluid::fluid(&network, &from).state;
            let (found, took) = accelerated(&network, from.clone());
            let (plain, plainly) = iterate(&network, from, STEPS[0]);
            let Some((found, plain)) = found.zip(plain) else { continue };
            (fast, slow) = (fast + took, slow + plainly);
            for (number, load) in network.loads.iter().enumerate() {
                let [a, b] =
                    [&found, &plain].map(|state| [state.rates[number], state.cycle(number, load)]);
                for (a, b) in a.into_iter().zip(b) {
                    assert!((a - b).abs() <= SAME * b, "{name} {}: {a}, not {b}", step.name());
                }
            }
        }
        (fast, slow)
    }

    /// Solves a large lab with an open load of this rate, or of twice as much, as [`mean`] does, and by steps alone; how many
    /// iterations each way took.
    fn compare_open((rate, twice): (&str, bool)) -> (usize, usize) {
        let text = include_str!("../../benches/estimate.toml");
        let text = text.replace("depth = 32", &format!("rate = \"{rate}\""));
        let source = Source { name: rate.to_owned(), text, ..Source::default() };
        let scenario = scenario::load(&source).unwrap_or_else(|wrong| panic!("{wrong}"));
        let topology = scenario.topology().unwrap_or_else(|wrong| panic!("{wrong}"));
        let plant = crate::lab::compile(&scenario, &topology, &scenario.steps()[0]);
        let mut network = lumped::lump(&Alike::of(&plant.expect("a plant").network), 0.0);
        if twice {
            network = limits::more_load(&network);
        }
        let from = SolverState::alone(&network, CopyEnd::Random);
        let first = fluid::fluid(&network, &from).state;
        let carried = network.loads.iter().zip(&first.rates);
        let held: Vec<bool> = carried.map(|(load, rate)| !load.is_free(*rate)).collect();
        let network = network.overloaded(&held);
        let from = fluid::fluid(&network, &first).state;
        let Found { state: found, rounds: took, .. } =
            mean(&network, from.clone(), Search::Approached);
        let mut plainly = 0;
        let plain = STEPS.into_iter().find_map(|step| {
            let (plain, took) = iterate(&network, from.clone(), step);
            plainly += took;
            plain
        });
        let (Some(found), Some(plain)) = (found, plain) else {
            panic!("{rate}: no solution");
        };
        let mut worst = 0.0f64;
        for (number, load) in network.loads.iter().enumerate() {
            let [a, b] =
                [&found, &plain].map(|state| [state.rates[number], state.cycle(number, load)]);
            a.into_iter().zip(b).for_each(|(a, b)| worst = worst.max((a / b - 1.0).abs()));
        }
        // Steps may end before they have settled, too.
        assert!(worst <= 2.0 * STEADY, "{rate}: {worst}, {took} and {plainly} iterations");
        (took, plainly)
    }

    #[test]
    fn open_loads_near_saturation_are_solved_in_a_third_of_the_steps() {
        let took = [("17500 IOPS", false), ("60000 IOPS", false), ("17500 IOPS", true)];
        let took = took.map(compare_open);
        let (fast, slow) = took.iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        assert!(3 * fast < slow && took[0].0 <= took[0].1, "{took:?}");
    }

    #[test]
    fn acceleration_finds_what_plain_steps_find_in_a_third_of_them() {
        let labs = [
            ("lab1", include_str!("../../../../scenarios/lab1-xen-4gb.toml")),
            ("lab2", include_str!("../../../../scenarios/lab2-esx-8gb.toml")),
            ("lab3", include_str!("../../../../scenarios/lab3-backup.toml")),
            ("lab4", include_str!("../../../../scenarios/lab4-million-iops.toml")),
            ("one VM", include_str!("../../../../scenarios/lab4-one-vm.toml")),
            ("lab5", include_str!("../../../../scenarios/lab5-iscsi.toml")),
        ];
        let took = labs.map(|(name, text)| compare(name, text));
        let (fast, slow) = took.iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        assert!(3 * fast < slow, "{took:?}");
    }
}

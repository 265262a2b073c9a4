//! Open loads before queue limits: how many of their I/Os are within each limit, and how many wait before it.
//!
//! The stations are solved as if nothing bounded an open load. A queue limit takes nothing from what a full station
//! carries: it only moves the queue to before the limit, and slows I/Os where too few are let in to keep the stations
//! behind it busy. Both follow from the distribution of the number within: what its stations have alone, convolved (Buzen
//! 1973; the part behind a limit as one server, Chandy, Herzog and Woo 1975). Up to the limit it stays as it is; beyond
//! it each state has the same share of the one before, and what waits is the less the more evenly I/Os leave a full limit
//! (`held`). The I/Os that a load may have outstanding are a limit around its
//! whole route.

use super::held::{self, Held};
use super::lumped::{ItemKind, Lumped, LumpedItem, SiteKind};
use super::state::{CopyEnd, SiteSums, SolverState};
use std::collections::BTreeMap;

/// Numbers of I/Os that a distribution has entries for; beyond them it is geometric.
const STATES: usize = 1024;
/// Servers of one station that are counted one by one.
const SERVERS_MOST: f64 = 64.0;
/// A share of one before that leaves no steady state.
const ENDLESS: f64 = 1.0 - 1e-9;

/// What becomes of the open loads.
pub struct Carried {
    /// Per load: mean seconds from due to end; `None` for closed loads, and where more falls due than is carried.
    pub responses: Vec<Option<f64>>,
    /// Per load: whether all that falls due is carried; true for closed loads.
    pub carried: Vec<bool>,
}

/// A part of the network that holds I/Os: a queue limit with what is behind it, or a load's whole route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Load(usize),
    Pool(usize),
}

/// The I/Os of one part, at each of some stations or behind an inner limit.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    /// Mean number at one of them.
    mean: f64,
    /// How many there are.
    sites: f64,
}

/// How I/Os are nested: of each part the stations and the limits directly within.
#[derive(Default)]
struct Nesting {
    stations: BTreeMap<(Part, usize), Share>,
    /// By part and pool: how often an I/O of the part takes tokens of it, a second.
    inner: BTreeMap<(Part, usize), f64>,
    /// By part and pool: the part's I/Os that hold tokens of the pool.
    holding: BTreeMap<(Part, usize), f64>,
    /// Times that tokens of a pool are taken a second, over all pools that are alike.
    taken: BTreeMap<usize, f64>,
}

/// A distribution of a number of I/Os: its first entries, unnormalized; the share that each further one has of the one
/// before; and its mean.
#[derive(Clone, Debug)]
struct Count {
    first: Vec<f64>,
    ratio: f64,
    /// Of the part with the greatest ratio: the probability that there are some, and its mean.
    tail: (f64, f64),
    mean: f64,
}

/// Sets the waits of open loads for tokens, and moves what they wait from behind the limits to before them.
/// `outstanding` bounds each load's I/Os under way.
pub fn carried(
    lumped: &Lumped,
    outstanding: &[f64],
    state: &mut SolverState,
    varies: &[f64],
) -> Carried {
    let open: Vec<bool> = lumped.loads.iter().map(|load| load.mix.rate.is_some()).collect();
    let mut out = Carried { responses: vec![None; open.len()], carried: vec![true; open.len()] };
    if !open.contains(&true) {
        return out;
    }
    let limits = Limits::new(lumped, outstanding, state, varies);
    let mut known = BTreeMap::new();
    let sums = SiteSums::of_loads(lumped, state, |load| load.mix.rate.is_some());
    for pool in limits.nesting.taken.keys() {
        limits.of(Part::Pool(*pool), &mut known);
    }
    for number in (0..open.len()).filter(|number| open[*number]) {
        let all = limits.of(Part::Load(number), &mut known);
        let load = &lumped.loads[number];
        let full = |spot: &usize| match &lumped.spots[*spot].kind {
            SiteKind::Flow(speeds) => {
                sums.busy[*spot] >= ENDLESS * speeds.iter().copied().fold(0.0, f64::max)
            }
            _ => sums.utilization(lumped, *spot) >= ENDLESS,
        };
        let stations = |spot: &&usize| !matches!(lumped.spots[**spot].kind, SiteKind::Pool(_));
        let endless = load.locals.iter().filter(stations).any(full);
        // A section that no I/O enters is not among them.
        let mut pools = load.sections.iter().filter_map(|of| known.get(&Part::Pool(of.spot)));
        let stuck = pools.any(|of| of.waiting.is_none());
        // No queue before a limit is that long.
        let slow = load.mix.rate.is_some_and(|due| state.rates[number] < ENDLESS * due);
        let (true, Some(waiting)) = (!endless && !stuck && !slow, all.waiting) else {
            out.carried[number] = false;
            continue;
        };
        // A queue that closed loads keep up does not get shorter while this load waits at its source.
        let beside = load.locals.iter().any(|spot| limits.closed_at[*spot]);
        if beside && all.unlimited > limits.limit(Part::Load(number)) {
            out.carried[number] = false;
            continue;
        }
        let rate = state.rates[number];
        limits.settle(number, &known, state);
        limits.stretch(number, all.inside / rate, state);
        // What waits before the load's own limit of outstanding I/Os is not under way.
        out.responses[number] = Some(state.cycle(number, load) + waiting / rate);
    }
    out
}

/// A part that has been solved.
#[derive(Clone, Debug)]
struct Within {
    count: Count,
    /// Mean number within the limit without waits for tokens, as it would be without this limit, and with it.
    raw: f64,
    unlimited: f64,
    inside: f64,
    /// Mean number waiting before the limit; `None` where it grows without end.
    waiting: Option<f64>,
}

struct Limits<'a> {
    lumped: &'a Lumped,
    outstanding: &'a [f64],
    nesting: Nesting,
    sums: SiteSums,
    varies: &'a [f64],
    /// What is done within a limit, by pool and by load.
    held: (Vec<Held>, Vec<Held>),
    /// Per pool: what closed loads wait there.
    closed: Vec<f64>,
    /// Per spot: whether closed loads come there.
    closed_at: Vec<bool>,
}

impl<'a> Limits<'a> {
    fn new(
        lumped: &'a Lumped,
        outstanding: &'a [f64],
        state: &SolverState,
        varies: &'a [f64],
    ) -> Limits<'a> {
        let mut nesting = Nesting::default();
        let mut closed = vec![0.0; lumped.spots.len()];
        let mut closed_at = vec![false; lumped.spots.len()];
        for (number, load) in lumped.loads.iter().enumerate() {
            if load.mix.rate.is_some() {
                nest(lumped, number, state, &mut nesting);
                continue;
            }
            load.locals.iter().for_each(|spot| closed_at[*spot] = true);
            for (item, stay) in load.items.iter().zip(&state.stays[number]) {
                if let ItemKind::Tokens(section) = item.kind {
                    let wait = &mut closed[load.sections[section].spot];
                    *wait = stay.max(*wait);
                }
            }
        }
        let sums = SiteSums::of(lumped, state);
        let held = held::held(lumped, state, outstanding);
        Limits { lumped, outstanding, nesting, sums, varies, held, closed, closed_at }
    }

    /// Solves a part, after those within it.
    fn of(&self, part: Part, known: &mut BTreeMap<Part, Within>) -> Within {
        if let Some(of) = known.get(&part) {
            return of.clone();
        }
        let limit = self.limit(part);
        let mut count = Count::none(if limit <= STATES as f64 { limit as usize + 1 } else { 1 });
        let of_part = (part, 0)..=(part, usize::MAX);
        let mut held = self.held(part);
        let mut raw = 0.0;
        for ((_, spot), share) in self.nesting.stations.range(of_part.clone()) {
            self.add_station(&mut count, (*spot, limit), *share);
            raw += share.mean * share.sites;
        }
        for ((_, pool), taken) in self.nesting.inner.range(of_part) {
            let inner = self.of(Part::Pool(*pool), known);
            // Of a limit that others use as well, this part's share.
            let all = self.nesting.taken[pool];
            let pools = self.lumped.spots[*pool].count;
            let parts = self.parts(part);
            let each = (taken / parts).min(all) / (all / pools);
            let waiting = inner.waiting.unwrap_or(0.0);
            let keeps = inner.inside / inner.raw.max(f64::MIN_POSITIVE);
            let times = (each.round() as usize).clamp(1, STATES);
            let own = self.nesting.holding.get(&(part, *pool)).map_or(0.0, |own| own / parts);
            raw += own;
            // What holds tokens in the background is not under way for the load itself, nor within what it holds.
            let own = own * keeps / times as f64;
            let is_load = matches!(part, Part::Load(_));
            let partly = is_load || own < 0.99 * inner.inside;
            let mean = match partly || each < 1.0 - 1e-6 {
                true => own + waiting * each / times as f64,
                false => inner.inside + waiting,
            };
            let is_whole = each >= 1.0 - 1e-6
                && count.first.len() <= inner.count.first.len()
                && own >= 0.99 * inner.inside;
            if !is_whole {
                // The tail of what is within says how variable it is.
                // Others who come to it may be served for longer than those of this part.
                let served = each * self.held(Part::Pool(*pool)).served;
                held.served = (held.served - served).max(0.0);
            }
            for _ in 0..times {
                match is_whole {
                    true => count.add(&inner.count, mean),
                    false => count.add_tail(mean, inner.count.ratio, each.min(1.0)),
                }
            }
        }
        let mut within = Within { raw, ..count.limited(limit, &held) };
        if let (Part::Pool(pool), Some(waiting)) = (part, &mut within.waiting) {
            // Beside closed loads an I/O waits as long as theirs do.
            let taken = self.nesting.taken[&pool] / self.lumped.spots[pool].count;
            *waiting = waiting.max(self.closed[pool] * taken);
        }
        known.insert(part, within.clone());
        within
    }

    fn held(&self, part: Part) -> Held {
        match part {
            Part::Load(number) => self.held.1[number],
            Part::Pool(pool) => self.held.0[pool],
        }
    }

    fn limit(&self, part: Part) -> f64 {
        match part {
            Part::Load(number) => self.outstanding[number].max(1.0),
            Part::Pool(pool) => match self.lumped.spots[pool].kind {
                SiteKind::Pool(tokens) => {
                    (tokens / self.sums.taken(self.lumped, pool)).floor().max(1.0)
                }
                _ => f64::INFINITY,
            },
        }
    }

    /// How many of a part are alike.
    fn parts(&self, part: Part) -> f64 {
        match part {
            Part::Load(_) => 1.0,
            Part::Pool(pool) => self.lumped.spots[pool].count,
        }
    }

    /// Adds a part's I/Os at stations of a kind.
    fn add_station(&self, count: &mut Count, (spot, limit): (usize, f64), share: Share) {
        let all = self.sums.present[spot];
        let of = (share.mean / all.max(f64::MIN_POSITIVE)).min(1.0);
        let kind = &self.lumped.spots[spot];
        let servers = kind.servers();
        if !servers.is_finite() {
            return count.add_poisson(share.mean * share.sites);
        }
        let busy = self.sums.utilization(self.lumped, spot).min(ENDLESS);
        // The decay of a queue as variable as this one; with one server the mean says it (exact for M/M/1).
        let ratio = 1.0 - (1.0 - busy) / (1.0 - busy + self.varies[spot].max(1e-6) * busy);
        for _ in 0..(share.sites.round() as usize).clamp(1, 4096) {
            if servers <= 1.0 {
                count.add_tail(share.mean, share.mean / (share.mean + 1.0), 1.0);
                continue;
            }
            let serving = (self.sums.busy[spot] * of).min(share.mean);
            if servers >= limit && of > 0.999 {
                // There is a server for each that the limit lets in.
                count.add_poisson(serving);
                count.mean += share.mean - serving;
                continue;
            }
            match servers <= SERVERS_MOST {
                true => {
                    let chance = (serving / servers).min(1.0);
                    (0..servers as usize).for_each(|_| count.add_one(chance));
                    // A queue that sorts is as fast as a number of servers that need not be whole.
                    count.add_one(chance * servers.fract());
                }
                false => count.add_poisson(serving),
            }
            count.add_tail(share.mean - serving, ratio, of);
        }
    }

    /// Sets a load's waits for tokens, and shortens what it waits behind them.
    fn settle(&self, number: usize, known: &BTreeMap<Part, Within>, state: &mut SolverState) {
        let load = &self.lumped.loads[number];
        for (at, item) in load.items.iter().enumerate() {
            if let ItemKind::Tokens(section) = item.kind {
                let pool = load.sections[section].spot;
                let (Some(taken), Some(of)) =
                    (self.nesting.taken.get(&pool), known.get(&Part::Pool(pool)))
                else {
                    continue;
                };
                let taken = taken / self.lumped.spots[pool].count;
                let waiting = of.waiting.unwrap_or(0.0);
                state.stays[number][at] = waiting / taken.max(f64::MIN_POSITIVE);
            }
        }
        // What a limit keeps out is missing within.
        let stays = state.stays[number].clone();
        for (at, item) in load.items.iter().enumerate() {
            let limits = item.within.iter().map(|section| load.sections[*section].spot);
            let limits = limits.filter_map(|pool| known.get(&Part::Pool(pool)));
            let keeps = limits.map(|of| {
                if of.unlimited > 0.0 { (of.inside / of.unlimited).min(1.0) } else { 1.0 }
            });
            let keeps = keeps.fold(1.0, f64::min);
            state.stays[number][at] = (stays[at] * keeps).max(item.time.min(stays[at]));
        }
        state.reweigh(number, load, CopyEnd::Random);
    }

    /// Lengthens or shortens a load's waits so that its I/Os take `inside` seconds.
    fn stretch(&self, number: usize, inside: f64, state: &mut SolverState) {
        let load = &self.lumped.loads[number];
        let now = state.cycle(number, load);
        let base = |state: &SolverState| {
            let waited = load.items.iter().enumerate().filter(|(_, item)| !item.background);
            let time = |(at, item): (usize, &LumpedItem)| {
                item.visits * item.time.min(state.stays[number][at]) * state.weights[number][at]
            };
            waited.map(time).sum::<f64>()
        };
        let base = base(state);
        if now - base <= 1e-9 * now || now <= 0.0 {
            return;
        }
        let by = ((inside - base) / (now - base)).max(0.0);
        for (item, stay) in load.items.iter().zip(&mut state.stays[number]) {
            let time = item.time.min(*stay);
            *stay = time + (*stay - time) * by;
        }
    }
}

/// Adds what a load has at stations and behind limits.
fn nest(lumped: &Lumped, number: usize, state: &SolverState, nesting: &mut Nesting) {
    let load = &lumped.loads[number];
    let rate = state.rates[number] * load.count;
    for (at, item) in load.items.iter().enumerate().filter(|(_, item)| item.visits > 0.0) {
        let inner = item.within.last().map(|section| load.sections[*section].spot);
        let part = match inner {
            Some(pool) => Part::Pool(pool),
            // A load does not wait for what is done in the background, and nothing bounds it.
            None if item.background => continue,
            None => Part::Load(number),
        };
        let parts = if inner.is_some() { 1.0 } else { load.count };
        if let ItemKind::Tokens(section) = item.kind {
            let pool = load.sections[section].spot;
            *nesting.inner.entry((part, pool)).or_default() += rate * item.visits / parts;
            *nesting.taken.entry(pool).or_default() += rate * item.visits;
            continue;
        }
        // A transfer is at its links at once, and counts at the first.
        let Some(touch) = item.touches.iter().min_by(|a, b| {
            let rate = |spot: usize| match lumped.spots[spot].kind {
                SiteKind::Link(rate) => rate,
                _ => 0.0,
            };
            rate(a.spot).total_cmp(&rate(b.spot))
        }) else {
            continue;
        };
        let sites = match part {
            Part::Load(_) => touch.spread,
            Part::Pool(pool) => {
                let pair = lumped.pair_of.get(&(pool, touch.spot));
                let pairs = pair.map_or(1.0, |pair| lumped.pairs[*pair]);
                (pairs / lumped.spots[pool].count).max(1.0)
            }
        };
        let parts = match part {
            Part::Load(_) => load.count,
            Part::Pool(pool) => lumped.spots[pool].count,
        };
        let weight = state.weights[number][at];
        let mut outer = Part::Load(number);
        for section in item.within.iter() {
            let pool = load.sections[*section].spot;
            let is_load = outer == Part::Load(number);
            let parts = if is_load { load.count } else { 1.0 };
            let held = if item.background && is_load { 0.0 } else { 1.0 };
            let holding = nesting.holding.entry((outer, pool)).or_default();
            *holding += held * rate * item.visits * state.stays[number][at] * weight / parts;
            outer = Part::Pool(pool);
        }
        let share = nesting.stations.entry((part, touch.spot)).or_default();
        share.mean += rate * item.visits * state.stays[number][at] * weight / parts / sites;
        share.sites = share.sites.max(sites);
    }
}

impl Count {
    /// Always none, with room for so many entries.
    fn none(states: usize) -> Count {
        let mut first = vec![0.0; states];
        first[0] = 1.0;
        Count { first, ratio: 0.0, tail: (0.0, 0.0), mean: 0.0 }
    }

    /// Adds one I/O with this probability.
    fn add_one(&mut self, chance: f64) {
        self.mean += chance;
        for n in (0..self.first.len()).rev() {
            let before = if n > 0 { self.first[n - 1] } else { 0.0 };
            self.first[n] = self.first[n] * (1.0 - chance) + before * chance;
        }
        self.level();
    }

    /// Adds a Poisson number with this mean.
    fn add_poisson(&mut self, mean: f64) {
        self.mean += mean.max(0.0);
        let states = self.first.len();
        if mean <= 0.0 || states < 2 {
            return;
        }
        // Relative to the greatest entry, so that nothing overflows.
        let mut logs = Vec::with_capacity(states);
        let mut log = 0.0;
        for n in 0..states {
            log += if n == 0 { 0.0 } else { (mean / n as f64).ln() };
            logs.push(log);
        }
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let poisson: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
        self.join(&poisson);
    }

    /// Adds a number with this mean: none, or one and a geometric number beyond it whose ratio is `ratio` thinned to a
    /// share `of`.
    fn add_tail(&mut self, mean: f64, ratio: f64, of: f64) {
        if mean <= 0.0 {
            return;
        }
        self.mean += mean;
        let thinned = of * ratio / (1.0 - ratio + of * ratio);
        // A mean that asks for more has a longer tail.
        let ratio = thinned.min(ENDLESS);
        let ratio = if mean * (1.0 - ratio) < 1.0 { ratio } else { mean / (mean + 1.0) };
        let some = mean * (1.0 - ratio);
        let mut running = 0.0;
        for here in &mut self.first {
            let before = *here;
            *here = before * (1.0 - some) + running * some * (1.0 - ratio);
            running = running * ratio + before;
        }
        self.level();
        if ratio > self.ratio {
            (self.ratio, self.tail) = (ratio, (some, mean));
        }
    }

    /// Adds another number of this mean.
    fn add(&mut self, other: &Count, mean: f64) {
        self.mean += mean;
        let last = other.first.last().copied().unwrap_or(0.0);
        let beyond =
            std::iter::successors(Some(last * other.ratio), |last| Some(last * other.ratio));
        let all: Vec<f64> =
            other.first.iter().copied().chain(beyond).take(self.first.len()).collect();
        self.join(&all);
        if other.ratio > self.ratio {
            (self.ratio, self.tail) = (other.ratio, other.tail);
        }
    }

    fn join(&mut self, other: &[f64]) {
        let mut first = vec![0.0; self.first.len()];
        for (n, a) in self.first.iter().enumerate().filter(|(_, a)| **a > 0.0) {
            for (sum, b) in first[n..].iter_mut().zip(other) {
                *sum += a * b;
            }
        }
        self.first = first;
        self.level();
    }

    /// Keeps the entries away from the smallest numbers.
    fn level(&mut self) {
        let most = self.first.iter().copied().fold(0.0, f64::max);
        if most > 0.0 && most < 1e-100 {
            self.first.iter_mut().for_each(|share| *share /= most);
        }
    }

    /// With at most `limit` within: beyond it all are served as fast as with that many.
    fn limited(mut self, limit: f64, held: &Held) -> Within {
        let unlimited = self.mean;
        let last = self.first.len() - 1;
        if last == 0 || unlimited <= 0.0 {
            return self.far_limited(limit);
        }
        let (at, before) = (self.first[last], self.first[last - 1]);
        let ratio = if before > 0.0 { at / before } else { 0.0 };
        // No more can leave than while all of those within are served.
        let ratio = ratio.max(held.served / limit);
        if ratio >= ENDLESS {
            self.ratio = ENDLESS;
            return Within { count: self, raw: 0.0, unlimited, inside: limit, waiting: None };
        }
        let more = at * ratio / (1.0 - ratio);
        let all = self.first.iter().sum::<f64>() + more;
        let inside: f64 = (0..).zip(&self.first).map(|(n, share)| f64::from(n) * share).sum();
        let inside = (inside + more * limit) / all;
        let stretch = held.stretch(limit, ratio);
        let waiting = more / (1.0 - ratio) / all * stretch;
        let ratio = 1.0 - ((1.0 - ratio) / stretch.max(f64::MIN_POSITIVE)).min(1.0);
        // The entries are exact in what waits; what is within they may round.
        let inside = if waiting < 1e-9 * inside { unlimited } else { inside };
        self.ratio = if waiting > 0.0 { ratio } else { self.ratio };
        Within { count: self, raw: 0.0, unlimited, inside, waiting: Some(waiting) }
    }

    /// Where the limit is so far out that its entries are not computed: by the longest tail alone.
    fn far_limited(self, limit: f64) -> Within {
        let (some, mean) = self.tail;
        let unlimited = self.mean;
        let beyond = (limit - (unlimited - mean)).max(0.0);
        let waiting = match self.ratio > 0.0 {
            true => some * self.ratio.powf(beyond) / (1.0 - self.ratio),
            false => 0.0,
        };
        let waiting = waiting.max(unlimited - limit).clamp(0.0, unlimited);
        Within {
            count: self,
            raw: 0.0,
            unlimited,
            inside: unlimited - waiting,
            waiting: Some(waiting),
        }
    }
}

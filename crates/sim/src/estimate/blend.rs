//! Interpolates between two solutions: one with constant times, one with random ones.
//!
//! Waiting grows with the variability of arrivals and of service, half of each (Kingman 1961). So each wait is
//! interpolated by that share: 0 where both are constant, 1 where both are exponential. Where a closed load waits for one
//! server the second solution knows how service varies, and the share is of what random arrivals bring. The variability of
//! service is known. That of arrivals follows from how much a cycle varies, compared with the time between two arrivals:
//! customers whose cycles are constant synchronize and stay so, others arrive at random (two moments, as in Whitt's
//! Queueing Network Analyzer, 1983).

use super::lumped::{ItemKind, ItemSite, Lumped, LumpedClass, LumpedItem, LumpedLoad, SiteKind};
use super::spacing;
use super::state::{CopyEnd, SiteSums, SolverState};
use super::upstream::{self, Joint, Known, Origin};
use crate::analytic::sorting;
use std::collections::BTreeMap;

/// Tolerance of probabilities that should add up to a whole number.
const ROUNDED: f64 = 1e-9;
/// Greatest variability of arrivals and service considered, relative to exponential: of closed loads, whose number
/// bounds their waits, and of any.
const VARIABLE_CLOSED: f64 = 4.0;
const VARIABLE_MOST: f64 = 1000.0;

/// What a wait for tokens counts beside others.
const ALONE: f64 = 1e-3;

/// Waits so small a share of a service tell nothing.
const LITTLE: f64 = 1e-6;

/// Interpolates between the two states; with the state, per spot, how variable what happens there is.
pub fn blend(
    lumped: &Lumped,
    steady: &SolverState,
    random: &SolverState,
) -> (SolverState, Vec<f64>) {
    let sums = SiteSums::of(lumped, random);
    let (shares, closed) = shares(lumped, random, &sums);
    let mut out = random.clone();
    for (number, load) in lumped.loads.iter().enumerate() {
        let of_load = if load.mix.rate.is_none() { &closed } else { &shares };
        let share = share_of(lumped, (load, &random.stays[number]), of_load);
        let stays = steady.stays[number].iter().zip(&random.stays[number]);
        for (stay, (low, high)) in out.stays[number].iter_mut().zip(stays) {
            *stay = (low + share * (high - low)).max(0.0);
        }
        out.reweigh(number, load, CopyEnd::Random);
        let floor = steady.cycle(number, load).min(random.cycle(number, load));
        out.rates[number] = load.rate(out.cycle(number, load).max(floor * (1.0 - 1e-9)));
    }
    fit(lumped, &mut out);
    (out, shares)
}

/// One share for all of a load's items: the mean share of what makes its I/Os wait.
fn share_of(lumped: &Lumped, (load, random): (&LumpedLoad, &[f64]), shares: &[f64]) -> f64 {
    let (mut waits, mut shared) = (0.0, 0.0);
    for (item, stay) in load.items.iter().zip(random) {
        let weight = item.visits * weight_of(lumped, load, item, *stay);
        let share = item.touches.iter().map(|touch| shares[touch.spot]).fold(0.0, f64::max);
        waits += weight;
        shared += weight * share;
    }
    let share = if waits > 0.0 { shared / waits } else { 1.0 };
    // More variability than exponential costs a closed load less than an open one.
    let closed = load.mix.rate.is_none();
    if closed { share.min(1.0 + (share.min(VARIABLE_CLOSED) - 1.0).max(0.0) / 2.0) } else { share }
}

/// How much an item, where an I/O stays for so long with random times, counts in the share of its load.
///
/// It must not depend on where I/Os wait in the solution with constant times: of two full places in a row either may be the
/// one, and a hop that becomes a little faster moves all of that wait to another. For closed loads it also does not grow
/// with the wait beyond the time of a service: a wait there becomes shorter by more than a hop becomes faster, because the
/// customers go elsewhere, and a share that grew by that would take back what is gained.
fn weight_of(lumped: &Lumped, load: &LumpedLoad, item: &LumpedItem, stay: f64) -> f64 {
    let wait = (stay - item.time).max(0.0);
    let servers = match (item.kind, &lumped.spots[item.touches[0].spot].kind) {
        // As variable as what is done with them, unless little else makes wait.
        (ItemKind::Tokens(_), _) => return ALONE * wait,
        // No queue: the same in both solutions.
        (_, kind) if kind.is_company() => return 0.0,
        (_, SiteKind::Queue(servers) | SiteKind::Sharing(servers)) => servers.max(1.0),
        _ => 1.0,
    };
    let service = item.time / servers;
    match load.mix.rate {
        None if wait > 0.0 => wait * service / (wait + service),
        _ => wait,
    }
}

/// Sums over the visits to a spot, weighted by their rates.
#[derive(Clone, Default)]
pub(super) struct Visits {
    all: f64,
    /// Sums of the mean times, of their squares, and of the second moments.
    first: f64,
    means: f64,
    second: f64,
    /// Variability of the arrivals of closed loads.
    closed: f64,
    /// Of open loads: rate, variability, by how much more even than random ones they come, and the squared rates of each stream.
    open: f64,
    varies: f64,
    even: f64,
    squares: f64,
    /// Of those that come again at once: the time, and its product with that of the visit before.
    again: f64,
    products: f64,
    /// What comes as one stream, by where it is from: the rate and how many such streams there are.
    from: BTreeMap<Origin, (f64, f64)>,
}

impl Visits {
    /// Adds a stream of an open load of this variability, and by how much its arrivals are more even than random ones.
    pub(super) fn add_stream(&mut self, rate: f64, scv: f64, even: f64) {
        self.open += rate;
        self.varies += rate * scv;
        self.even += rate * even;
    }

    /// Adds visits of which a share follows one of this time by the same I/O at once.
    pub(super) fn add_again(&mut self, (share, before): (f64, f64), rate: f64, time: f64) {
        self.again += rate * share * time;
        self.products += rate * share * time * before;
    }

    /// By how much longer the queue is because some come again at once: they find what came while they were there, and bring
    /// more work the longer they were. In terms of all work, that of visits to come included, the queue is that of I/Os which
    /// come once with all of it (Pollaczek and Khinchine); with random times it is as long as without.
    fn returning(&self, servers: f64, busy: f64) -> f64 {
        if self.again <= 0.0 {
            return 1.0;
        }
        let more = (1.0 + 2.0 * self.products / self.second) / (1.0 + self.again / self.first);
        // Of several servers one is free for it, unless most are in use.
        1.0 + (more - 1.0) * busy.powf((servers - 1.0).max(0.0) / 4.0)
    }

    /// Adds a share of a stream that is independent of others.
    pub(super) fn add_apart(&mut self, rate: f64, share: f64) {
        self.squares += rate * rate * share;
    }

    /// Adds a part of a stream that comes in one with others from the same, of which there are `alike`.
    pub(super) fn add_from(&mut self, from: Origin, rate: f64, alike: f64) {
        let (all, count) = self.from.entry(from).or_default();
        *all += rate;
        *count = count.max(alike);
    }

    /// The squared coefficient of variation of all arrivals, at a spot of this utilization. Few streams keep what they
    /// have; many together come at random while the spot is not busy (Whitt's weights).
    fn arrives(&self, busy: f64) -> f64 {
        let open = if self.open > 0.0 {
            let weight = self.own(busy);
            weight * self.varies / self.open + 1.0 - weight
        } else {
            0.0
        };
        (self.closed + self.open * open) / self.all
    }

    /// How far streams of open loads keep what they have.
    fn own(&self, busy: f64) -> f64 {
        let from: f64 = self.from.values().map(|(rate, alike)| rate * rate / alike).sum();
        let streams = self.open * self.open / (self.squares + from).max(f64::MIN_POSITIVE);
        let idle = (1.0 - busy).max(0.0);
        1.0 / (1.0 + 4.0 * idle * idle * (streams - 1.0).max(0.0))
    }

    /// The part of the wait at one server that even arrivals of open loads leave where it is not busy: those at random would
    /// come close together at times (Krämer and Langenbach-Belz 1976).
    fn evenly(&self, busy: f64) -> f64 {
        if self.even <= 0.0 {
            return 1.0;
        }
        let even = (self.own(busy) * self.even / self.open).min(1.0);
        let varies = (1.0 - even + self.serves().max(0.0)).max(f64::MIN_POSITIVE);
        let idle = (1.0 - busy).max(0.0) / busy.max(f64::MIN_POSITIVE);
        (-2.0 / 3.0 * idle * even * even / varies * self.open / self.all).exp()
    }

    /// The squared coefficient of variation of the service.
    fn serves(&self) -> f64 {
        let mean = self.first / self.all;
        if mean > 0.0 { self.second / self.all / mean / mean - 1.0 } else { 0.0 }
    }
}

/// How often an I/O of a load comes to each spot: as a read or as a write, and whichever class it is of. By class, the item
/// with which it comes there most often.
struct Coming(Vec<BTreeMap<usize, f64>>);

impl Coming {
    fn of(load: &LumpedLoad) -> Coming {
        let of_class = |class: &LumpedClass| {
            let mut most: BTreeMap<usize, f64> = BTreeMap::new();
            for item in &load.items[class.items.clone()] {
                for touch in item.touches.iter() {
                    let of = most.entry(touch.spot).or_default();
                    *of = of.max(item.visits / touch.spread);
                }
            }
            most
        };
        Coming(load.classes.iter().map(of_class).collect())
    }

    /// The probability that an I/O comes to a spot with this item, or as one of another class.
    fn with(&self, class: usize, item: &LumpedItem, touch: &ItemSite) -> f64 {
        let others = self.0.iter().enumerate().filter(|(other, _)| *other != class);
        let others = others.filter_map(|(_, most)| most.get(&touch.spot));
        (item.visits / touch.spread + others.sum::<f64>()).min(1.0)
    }
}

/// Per spot: half the variability of arrivals plus half that of service; then the same as closed loads see it.
///
/// Sharing lets no I/O wait behind a long one. What waits at one server is work: that the loads' times differ is in it already.
/// For closed loads links in a row carry as much as with random times, but for what does not meet there.
fn shares(lumped: &Lumped, random: &SolverState, sums: &SiteSums) -> (Vec<f64>, Vec<f64>) {
    let mut visits = vec![Visits::default(); lumped.spots.len()];
    for (number, load) in lumped.loads.iter().enumerate() {
        let cycle = Cycle::of(load);
        let rate = random.rates[number];
        let comes = Coming::of(load);
        for (class, of_class) in load.classes.iter().enumerate() {
            let items = load.items[of_class.items.clone()].iter();
            for item in items.filter(|item| item.visits > 0.0) {
                for touch in item.touches.iter() {
                    let each = rate * item.visits * load.count / lumped.spots[touch.spot].count;
                    let of = &mut visits[touch.spot];
                    of.all += each;
                    of.first += each * item.time;
                    of.means += each * item.time * item.time;
                    of.second += each * item.time * item.time * (1.0 + item.scv);
                    if load.mix.rate.is_none() {
                        let comes = comes.with(class, item, touch);
                        of.closed += each * cycle.varies(rate, comes, sums.rates[touch.spot]);
                    }
                }
            }
        }
    }
    let served: Vec<f64> =
        visits.iter().map(|of| if of.all > 0.0 { of.serves() } else { 0.0 }).collect();
    let known = Known { lumped, random, sums, served: &served };
    let joint = Joint::of(&known);
    for (number, load) in lumped.loads.iter().enumerate() {
        if load.mix.rate.is_some() {
            upstream::follow(&known, number, &joint, &mut visits);
        }
    }
    let share = |spot: usize| {
        let of = &visits[spot];
        if of.all <= 0.0 {
            return 0.0;
        }
        let busy = sums.utilization(lumped, spot).min(1.0);
        let arrives = of.arrives(busy).clamp(0.0, VARIABLE_MOST);
        let returning = of.returning(lumped.spots[spot].kind.queue_servers(), busy);
        let share = match lumped.spots[spot].kind {
            SiteKind::Sharing(_) | SiteKind::Link(_) | SiteKind::Pool(_) => arrives.min(1.0),
            _ if lumped.spots[spot].kind.is_one_server() && of.means > 0.0 => {
                let even = of.first * of.first / of.all / of.means;
                let share = (of.second / of.means + (arrives - 1.0) * even) / 2.0;
                share.clamp(0.0, VARIABLE_MOST) * of.evenly(busy)
            }
            _ => {
                let varies = arrives + served[spot].clamp(0.0, VARIABLE_MOST);
                let sorted = sorting_share(lumped, sums, spot, varies * returning);
                return sorted.unwrap_or(varies / 2.0 * returning);
            }
        };
        share * returning
    };
    let spaced = spacing::spaced(lumped, random, &served);
    let closed = |spot: usize| match lumped.spots[spot].kind {
        SiteKind::Queue(servers) if servers > 1.0 => share(spot),
        SiteKind::Link(_) => share(spot).max(1.0 - spaced[spot]),
        SiteKind::Queue(_) | SiteKind::Sorted(_) if visits[spot].all > 0.0 => {
            let arrives = visits[spot].arrives(sums.utilization(lumped, spot)).clamp(0.0, 1.0);
            let serves = served[spot].clamp(0.0, VARIABLE_MOST);
            (arrives + serves) / (1.0 + serves)
        }
        _ => share(spot),
    };
    let spots = || 0..lumped.spots.len();
    (spots().map(share).collect(), spots().map(closed).collect())
}

impl SiteKind {
    /// Whether it is a queue of one server: also one that could sort and gains nothing.
    fn is_one_server(&self) -> bool {
        match self {
            SiteKind::Queue(servers) => *servers <= 1.0,
            SiteKind::Sorted(speeds) => speeds.iter().all(|speed| *speed <= 1.0),
            _ => false,
        }
    }

    /// The servers of a plain queue; of others one.
    fn queue_servers(&self) -> f64 {
        match self {
            SiteKind::Queue(servers) => *servers,
            _ => 1.0,
        }
    }
}

/// The wait before a queue that sorts, as a share of that with exponential times, where the variability of arrivals and of
/// services is `varies` together. A shorter queue leaves less to choose from, so that it is not in proportion to that.
fn sorting_share(lumped: &Lumped, sums: &SiteSums, spot: usize, varies: f64) -> Option<f64> {
    let SiteKind::Sorted(speeds) = &lumped.spots[spot].kind else { return None };
    let served = sums.busy[spot];
    let random = sums.present[spot] - served;
    // Of several servers what is known of queues in general holds.
    let [one, two, ..] = speeds.as_slice() else { return None };
    if two > one || random <= LITTLE * served {
        return None;
    }
    // Of those speeds each is that of a choice among one fewer than are present.
    let found = sorting(served, (varies - 1.0).max(0.0), &speeds[1..])?;
    Some((found - served).max(0.0) / random * varies.min(1.0))
}

/// The cycle time without queueing.
struct Cycle {
    mean: f64,
    variance: f64,
}

impl Cycle {
    fn of(load: &LumpedLoad) -> Cycle {
        let (mut first, mut second) = (0.0, 0.0);
        for class in &load.classes {
            let items = load.items[class.items.clone()].iter().filter(|item| !item.background);
            let items = items.filter(|item| !matches!(item.kind, ItemKind::Tokens(_)));
            // Arms that are alike count as one visit, whichever an I/O takes.
            let mut visits: BTreeMap<(u64, u64), f64> = BTreeMap::new();
            for item in items {
                *visits.entry((item.time.to_bits(), item.scv.to_bits())).or_default() +=
                    item.chance;
            }
            let (mut mean, mut variance) = (0.0, 0.0);
            for ((time, scv), count) in visits {
                let (time, scv) = (f64::from_bits(time), f64::from_bits(scv));
                let chance = count - (count + ROUNDED).floor();
                mean += count * time;
                variance += time * time * (count * scv + (chance - chance * chance).max(0.0));
            }
            first += class.share * mean;
            second += class.share * (variance + mean * mean);
        }
        let think = load.mix.think;
        let variance = (second - first * first).max(0.0) + think * think * load.mix.scv;
        Cycle { mean: first + think, variance }
    }

    /// The squared coefficient of variation of the arrivals at a spot, `all` a second, if one I/O of the load visits
    /// it with probability `comes`.
    fn varies(&self, rate: f64, comes: f64, all: f64) -> f64 {
        let comes = comes.max(1e-9);
        let between =
            self.variance / comes + self.mean * self.mean * (1.0 - comes) / (comes * comes);
        let rate = all.max(rate * comes);
        (between * rate * rate).min(1.0)
    }
}

/// Slows loads down where a spot would be more than full.
fn fit(lumped: &Lumped, state: &mut SolverState) {
    let sums = SiteSums::in_use(lumped, state);
    let over: Vec<f64> =
        (0..lumped.spots.len()).map(|spot| sums.utilization(lumped, spot)).collect();
    // What open loads bring is known, and less than full.
    let closed = |(_, load): &(usize, &LumpedLoad)| load.mix.rate.is_none();
    for (number, load) in lumped.loads.iter().enumerate().filter(closed) {
        let most = load
            .locals
            .iter()
            .filter(|spot| !matches!(lumped.spots[**spot].kind, SiteKind::Pool(_)));
        let most = most.map(|spot| over[*spot]).fold(1.0, f64::max);
        if most > 1.0 {
            state.rates[number] /= most;
        }
    }
}

//! How evenly the I/Os of open loads come to a station: what those that they have left before do to their gaps.
//!
//! Behind a server that takes equally long for each I/O no two come closer together than that, so that an equal or faster
//! one finds no queue, whatever comes to the first: the wait in a row of such servers is that of the slowest alone
//! (Friedman 1965). The more services vary, the less of that is left. What is in between and takes unequally long brings
//! I/Os out of step again.

use super::blend::Visits;
use super::bursts;
use super::lumped::{ItemJoin, ItemKind, Lumped, LumpedClass, LumpedItem, LumpedLoad, SiteKind};
use super::state::{SiteSums, SolverState};
use std::collections::{BTreeMap, BTreeSet};

/// Services that vary less than this are taken for constant.
const CONSTANT: f64 = 0.05;
/// An item that so large a share of a class's I/Os comes to is on the way of all of them.
const WHOLE: f64 = 0.999;
/// The least that a stream may vary, where its variation is divided by.
const LEAST: f64 = 1e-3;

/// What is known of the spots before arrivals are followed.
pub struct Known<'a> {
    pub lumped: &'a Lumped,
    pub random: &'a SolverState,
    pub sums: &'a SiteSums,
    /// Per spot: the squared coefficient of variation of services.
    pub served: &'a [f64],
}

/// A station that an open load's I/Os have left: what it does to the variability of their arrivals further on.
struct Upstream {
    spot: usize,
    /// The item with which they came there.
    item: usize,
    /// Utilization, and the squared coefficient of variation of what its servers let through.
    busy: f64,
    serves: f64,
    /// Share of the stream that passes it.
    through: f64,
    /// Seconds in which its queue forgets.
    forgets: f64,
    /// How many of the like loads use one of these stations.
    loads: f64,
    /// The variance of what took unequally long before it.
    moved: f64,
}

/// An item's visit to a station that is reached from those before.
struct Reached {
    spot: usize,
    busy: f64,
    serves: f64,
    forgets: f64,
    loads: f64,
    chance: f64,
    spread: f64,
    /// The probability that an I/O of the load comes there, of whichever class.
    part: f64,
    moved: f64,
}

/// Where what comes as one stream comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    Station(usize),
    Load(usize),
    /// Loads of this rate, in its bits, of which so many come in turn.
    InTurn(u64, u64),
}

/// Variability of a stream as it is handed on, with how much of it servers of constant times have taken already.
#[derive(Clone, Copy)]
struct Stream {
    scv: f64,
    /// By how much what comes to the station in question varies more than random arrivals.
    more: f64,
    /// What is left of how it came: the share that no station has replaced by its own.
    kept: f64,
    covered: f64,
    /// By which station, and how much, it is made even most.
    most: Option<(usize, f64, f64)>,
}

impl Default for Stream {
    /// Random arrivals.
    fn default() -> Stream {
        Stream { scv: 1.0, more: 0.0, kept: 1.0, covered: 0.0, most: None }
    }
}

impl Upstream {
    /// The share of a stream's variability that this station replaces by its own, as another of utilization `busy` sees it. A
    /// busy server passes on its own variability for short times and that of the arrivals for long ones; what matters further
    /// on is the shorter, the less that station is loaded in comparison (after Whitt's variability functions, 1995).
    fn partly(&self, busy: f64) -> f64 {
        let idle = (1.0 - self.busy).max(1e-9) / (1.0 - busy).max(1e-9);
        self.through * self.busy * self.busy / (1.0 + idle)
    }

    /// The same where all I/Os of a stream with `scv` pass it on their way: what the exact rule for constant times says, and
    /// less where either's services vary, fitted to simulations of two stations (`in_a_row.py` in the tests).
    /// Where a part goes elsewhere, what is left of the stream is like all of it with a service for that part alone.
    fn wholly(&self, scv: f64, to: &Reached, part: f64) -> f64 {
        let idle = (1.0 - self.busy).max(1e-9) / (1.0 - to.busy).max(1e-9);
        let ratio = self.busy / to.busy.max(1e-9);
        let exact = (ratio * ratio / idle).min(1.0);
        let scv = scv.max(LEAST);
        let part = part.clamp(LEAST, 1.0);
        let served = (to.serves + 1.0 - part) / part;
        let (own, served) = ((self.serves / scv).min(1.0), served / scv);
        let varies = ((1.0 - own) * (served + 0.64 * own)).max(0.0).sqrt();
        let less = match idle <= 1.0 {
            true => varies * idle * idle,
            false => varies.powf(1.0 + idle.log2()),
        };
        // What came out of step in less time than the queues take to forget is as uneven as before.
        let apart = (to.moved - self.moved).max(0.0).sqrt();
        let within = (self.forgets * to.forgets).sqrt().max(f64::MIN_POSITIVE);
        let steps = (3.1 - 1.1 * to.serves.min(1.0)) * (apart / within).sqrt();
        exact / (1.0 + less) * (-steps).exp()
    }

    /// Hands a stream on.
    fn passes(&self, stream: Stream, to: &Reached, joint: Option<f64>) -> Stream {
        let whole = joint.filter(|_| stream.scv > self.serves);
        let Some(joint) = whole else {
            let weight = self.partly(to.busy);
            let scv = stream.scv + weight * (self.serves - stream.scv);
            let own = (to.chance / to.spread).min(1.0) * (self.serves - 1.0);
            let more = stream.more + weight * (own - stream.more);
            return Stream { scv, more, kept: stream.kept * (1.0 - weight), ..stream };
        };
        // Of all that leave it those that come to one such station are a part.
        let part = joint * self.loads.min(to.loads) / self.loads / to.spread;
        let weight = self.wholly(stream.scv, to, part) * (part / to.part).min(1.0);
        let steady = self.serves <= CONSTANT;
        // Several of constant times in a row do no more than the one that does most.
        let more = match steady {
            true => 1.0 - (1.0 - weight.max(stream.covered)) / (1.0 - stream.covered).max(1e-9),
            false => weight,
        };
        let before = stream.most.map_or(0.0, |(_, most, _)| most);
        let alike = (to.loads / to.loads.min(self.loads).max(f64::MIN_POSITIVE)).max(1.0);
        Stream {
            scv: stream.scv + more * (self.serves - stream.scv),
            more: stream.more + more * (to.part * (self.serves - 1.0) - stream.more),
            kept: stream.kept * (1.0 - more),
            covered: if steady { stream.covered.max(weight) } else { 0.0 },
            most: if weight > before { Some((self.spot, weight, alike)) } else { stream.most },
        }
    }
}

/// Of what leaves a station in all, the share that comes to another, for stations of open loads: by both spots.
pub struct Joint(BTreeMap<(usize, usize), f64>);

impl Joint {
    pub fn of(known: &Known) -> Joint {
        let mut flows: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        let open = |(_, load): &(usize, &LumpedLoad)| load.mix.rate.is_some();
        for (number, load) in known.lumped.loads.iter().enumerate().filter(open) {
            let rate = known.random.rates[number] * load.count;
            for class in &load.classes {
                let mut passed: Vec<usize> = Vec::new();
                for item in &load.items[class.items.clone()] {
                    for touch in item.touches.iter() {
                        let flow = rate * class.share * item.chance.min(1.0);
                        for from in passed.iter().filter(|from| **from != touch.spot) {
                            *flows.entry((*from, touch.spot)).or_default() += flow;
                        }
                    }
                    let spot = item.touches[0].spot;
                    if is_on_the_way(known.lumped, item) && !passed.contains(&spot) {
                        passed.push(spot);
                    }
                }
            }
        }
        for ((from, _), flow) in &mut flows {
            let all = known.sums.rates[*from] * known.lumped.spots[*from].count;
            *flow = (*flow / all.max(f64::MIN_POSITIVE)).min(1.0);
        }
        Joint(flows)
    }
}

/// Whether all I/Os of a class pass this item at one and the same queue, and only then come to what follows.
fn is_on_the_way(lumped: &Lumped, item: &LumpedItem) -> bool {
    let touch = &item.touches[0];
    let queue = matches!(lumped.spots[touch.spot].kind, SiteKind::Queue(_));
    let whole = item.chance / touch.spread >= WHOLE;
    queue && whole && item.kind == ItemKind::Service && !item.background
}

/// Whether of two items of a class one comes after the other, rather than at once with it.
fn is_after(class: &LumpedClass, first: usize, then: usize) -> bool {
    let apart = |group: &Vec<std::ops::Range<usize>>| {
        let of = |item: usize| group.iter().position(|range| range.contains(&item));
        matches!((of(first), of(then)), (Some(a), Some(b)) if a != b)
    };
    !class.together.iter().any(apart)
}

/// By how much an item brings I/Os out of step: the variance of its time, where they do not leave in the order in which they
/// came.
fn moves(lumped: &Lumped, item: &LumpedItem, stay: f64) -> f64 {
    let touch = &item.touches[0];
    let through = item.chance / touch.spread;
    let ordered = matches!(lumped.spots[touch.spot].kind, SiteKind::Queue(n) if n <= 1.0);
    if item.background || (ordered && through >= WHOLE) {
        return 0.0;
    }
    let chance = item.chance.min(1.0);
    // Of several stations each has a wait of its own.
    let wait = if through < WHOLE { (stay - item.time).max(0.0) } else { 0.0 };
    let second = item.time * item.time * (1.0 + item.scv) + wait * wait;
    chance * second - (chance * item.time).powi(2)
}

/// By spot, how likely an I/O of a load is to come to one of its stations, of whichever class it is.
fn parts(load: &LumpedLoad) -> BTreeMap<usize, f64> {
    let mut all = BTreeMap::new();
    for class in &load.classes {
        let mut most: BTreeMap<usize, f64> = BTreeMap::new();
        for item in &load.items[class.items.clone()] {
            for touch in item.touches.iter() {
                let of = most.entry(touch.spot).or_default();
                *of = (item.chance / touch.spread).min(1.0).max(*of);
            }
        }
        for (spot, chance) in most {
            *all.entry(spot).or_default() += class.share * chance;
        }
    }
    all
}

/// Follows the arrivals of an open load along its classes' items, and adds their variability at each.
pub fn follow(known: &Known, number: usize, joint: &Joint, visits: &mut [Visits]) {
    let Known { lumped, random, sums, served } = known;
    let (load, rate) = (&lumped.loads[number], random.rates[number]);
    let bursts = bursts::at_spots(lumped, (load, rate), sums, served);
    let parts = parts(load);
    for class in &load.classes {
        let mut passed: Vec<Upstream> = Vec::new();
        let mut met: BTreeSet<usize> = BTreeSet::new();
        let mut moved = 0.0;
        for at in class.items.clone().filter(|at| load.items[*at].visits > 0.0) {
            let item = &load.items[at];
            for touch in item.touches.iter() {
                let spot = &lumped.spots[touch.spot];
                let each = rate * item.visits * load.count / spot.count;
                let mut to = reached(known, (load, at), touch.spot, moved);
                // Bursts are known for each spot as they come there.
                let first = match &bursts {
                    Some(scvs) => scvs[touch.spot] - 1.0,
                    None => parts[&touch.spot] * (load.mix.scv - 1.0),
                };
                to.part = parts[&touch.spot].max(LEAST);
                let came = Stream { scv: 1.0 + first, more: first, ..Stream::default() };
                let stream = passed.iter().fold(came, |stream, from| {
                    let sure = is_on_the_way(lumped, &load.items[from.item])
                        && is_after(class, from.item, at);
                    let joint = joint.0.get(&(from.spot, touch.spot)).filter(|_| sure);
                    from.passes(stream, &to, joint.copied())
                });
                let of = &mut visits[touch.spot];
                of.add_stream(each, (1.0 + stream.more).max(0.0), (-first).max(0.0) * stream.kept);
                // In a burst an I/O comes more often each time that it comes.
                let again = !met.insert(touch.spot) && bursts.is_none();
                let in_turn = in_turn(lumped, load, (touch.spot, touch.spread / spot.count));
                let streams = match in_turn {
                    Some(streams) => streams,
                    None => (load.count * touch.spread / spot.count).max(1.0),
                };
                let (from, like, alike) =
                    stream.most.filter(|_| bursts.is_none()).unwrap_or_default();
                of.add_from(Origin::Station(from), each * like.sqrt(), alike.max(1.0));
                of.add_again(returns(load, class, at), each, item.time);
                match again {
                    true => of.add_apart(each, (1.0 - like) / streams),
                    false => {
                        let origin = match in_turn {
                            Some(_) => Origin::InTurn(load.mix.in_turn as u64, rate.to_bits()),
                            None => Origin::Load(number),
                        };
                        of.add_from(origin, each * (1.0 - like).sqrt(), streams);
                    }
                }
                if let (SiteKind::Queue(servers), ItemKind::Service) = (&spot.kind, item.kind) {
                    let serves = 1.0 + (served[touch.spot].min(1.0) - 1.0) / servers.sqrt();
                    let through = (item.chance / touch.spread).min(1.0);
                    passed.push(to.left(at, serves, through));
                }
            }
            moved += moves(lumped, item, random.stays[number][at]);
        }
    }
}

/// How many streams the loads are that come to a spot, to this share of those that are alike, evenly in turn; `None` where they
/// do not, or some of them go elsewhere.
fn in_turn(lumped: &Lumped, load: &LumpedLoad, (spot, share): (usize, f64)) -> Option<f64> {
    let each = load.mix.in_turn;
    if each <= 1.0 || share < WHOLE {
        return None;
    }
    let others = lumped.loads.iter().filter(|of| of.mix.rate == load.mix.rate);
    let others = others.filter(|of| of.mix.in_turn == each && of.locals.contains(&spot));
    let all: f64 = others.map(|of| of.count).sum();
    (all >= each).then_some(all / each)
}

/// Of the visits of an item to disks, the share that follows one of the same I/O there at once, and the time of that.
fn returns(load: &LumpedLoad, class: &LumpedClass, at: usize) -> (f64, f64) {
    let item = &load.items[at];
    let on = |join: &&ItemJoin| join.items.contains(&at);
    let Some(join) = class.joins.iter().find(on).filter(|_| item.random < 1.0) else {
        return (0.0, 0.0);
    };
    let spot = item.touches[0].spot;
    let before = class.joins.iter().filter(|other| other.items.end <= join.items.start);
    let there = |other: &ItemJoin| {
        let mut items = load.items[other.items.clone()].iter();
        items.find(|item| item.touches[0].spot == spot).map(|item| item.time)
    };
    match before.filter_map(there).next_back() {
        Some(time) => (1.0 - item.random, time),
        None => (0.0, 0.0),
    }
}

impl Reached {
    /// The station as one that has been left: by this item, which lets through what varies so much.
    fn left(self, item: usize, serves: f64, through: f64) -> Upstream {
        let Reached { spot, busy, forgets, loads, moved, .. } = self;
        Upstream { spot, item, busy, serves, through, forgets, loads, moved }
    }
}

fn reached(known: &Known, (load, item): (&LumpedLoad, usize), spot: usize, moved: f64) -> Reached {
    let of = &known.lumped.spots[spot];
    let spread = load.items[item].touches.iter().find(|touch| touch.spot == spot);
    let spread = spread.map_or(1.0, |touch| touch.spread);
    let busy = known.sums.utilization(known.lumped, spot).min(1.0);
    let idle = (1.0 - busy).max(1e-9);
    Reached {
        spot,
        busy,
        serves: known.served[spot],
        forgets: busy / known.sums.rates[spot].max(f64::MIN_POSITIVE) / (idle * idle),
        loads: (load.count * spread / of.count).max(1.0),
        chance: load.items[item].chance.max(f64::MIN_POSITIVE),
        spread,
        part: 1.0,
        moved,
    }
}

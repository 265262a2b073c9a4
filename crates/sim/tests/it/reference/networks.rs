//! Random networks. Half of all times are whole microseconds, so that events coincide.

use proptest::collection::vec;
use proptest::prelude::*;
use sim::Ps;
use sim::model::*;

/// A kind of station to draw from.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Single,
    Many,
    Delay,
    Sharing,
    Losing,
    Blocking,
    Links,
    Sorted,
    Batch,
}

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Single,
        Kind::Many,
        Kind::Delay,
        Kind::Sharing,
        Kind::Losing,
        Kind::Blocking,
        Kind::Links,
        Kind::Sorted,
        Kind::Batch,
    ];
}

/// Arms per selector, and number of selectors.
const ARMS: u32 = 2;
const SELECTORS: u32 = 2;
/// The times of changes: within the simulated span.
const MOMENTS: std::ops::Range<u64> = 1..380;

const LINKS: u16 = 4;

fn station(kind: Kind) -> BoxedStrategy<Station> {
    let finite = |full| {
        (1u32..3, 0u32..3)
            .prop_map(move |(servers, more)| Station::finite(servers, servers + more, full))
    };
    match kind {
        Kind::Single => Just(Station::SINGLE).boxed(),
        Kind::Many => (2u32..5).prop_map(Station::many).boxed(),
        Kind::Delay => Just(Station::Delay).boxed(),
        Kind::Sharing => (1u32..4).prop_map(|servers| Station::Sharing { servers }).boxed(),
        Kind::Losing => finite(Full::Lose).boxed(),
        Kind::Blocking => finite(Full::Block).boxed(),
        Kind::Links => {
            // Whole ones too, so that links are as wide as others, or as several of them together.
            let any = 1_000_000_000u64..4_000_000_000;
            let rate = prop_oneof![any, (1u64..5).prop_map(|whole| whole * 1_000_000_000)];
            vec(rate, usize::from(LINKS)).prop_map(|rates| Station::Links { rates }).boxed()
        }
        Kind::Sorted => (1u32..3, vec(0.5f64..4.0, 1..5))
            .prop_map(|(servers, gain)| Station::Sorted { servers, gain })
            .boxed(),
        Kind::Batch => (1u32..4, 1u64..9)
            .prop_map(|(count, within)| Station::Batch { count, within: Ps::micros(within) })
            .boxed(),
    }
}

fn law() -> impl Strategy<Value = Law> {
    let time = (1u64..8).prop_map(Ps::micros);
    prop_oneof![
        4 => time.clone().prop_map(Law::Constant),
        2 => time.clone().prop_map(Law::Exponential),
        1 => (time.clone(), time.clone()).prop_map(|(low, more)| Law::Uniform(low, low.plus(more))),
        1 => (1u32..5, time.clone()).prop_map(|(phases, mean)| Law::Erlang { phases, mean }),
        1 => (0.0..1.0, time.clone(), time.clone())
            .prop_map(|(first, a, b)| Law::Hyper { first, means: [a, b] }),
        1 => vec(time, 1..5).prop_map(|times| Law::Table(Table::new(&times).expect("some"))),
    ]
}

/// A hop before the stations are known.
#[derive(Clone, Debug)]
struct Draft {
    station: u32,
    law: Law,
    per_byte: f64,
    links: Vec<u16>,
    skip: Option<f64>,
    /// Number of stations that it is spread over; 0 for a plain visit.
    spread: u32,
}

fn draft() -> impl Strategy<Value = Draft> {
    let links =
        proptest::sample::subsequence((0..LINKS).collect::<Vec<_>>(), 1..=usize::from(LINKS));
    let per_byte = prop_oneof![Just(0.0), 1.0..900.0];
    let spread = prop_oneof![4 => Just(0), 1 => 1u32..4];
    let skip = proptest::option::weighted(0.2, 0.0..1.0);
    (any::<u32>(), law(), per_byte, links, skip, spread).prop_map(
        |(station, law, per_byte, links, skip, spread)| Draft {
            station,
            law,
            per_byte,
            links,
            skip,
            spread,
        },
    )
}

/// A piece of a route: one hop, or nested ones.
#[derive(Clone, Debug)]
enum Piece {
    Plain(Draft),
    Branch(u32, Vec<Vec<Piece>>),
    Together(Vec<Vec<Piece>>),
    /// A copy, and the pool that bounds it.
    Fork(u32, Vec<Piece>),
    /// Tokens held over several pieces.
    Held(u32, u32, Vec<Piece>),
    As(bool),
}

fn piece(all: bool) -> BoxedStrategy<Piece> {
    let plain = draft().prop_map(Piece::Plain);
    if !all {
        return plain.boxed();
    }
    let leaf = prop_oneof![8 => plain, 1 => any::<bool>().prop_map(Piece::As)];
    let nested = leaf.clone().prop_recursive(3, 12, 3, |inner| {
        let some = vec(inner, 0..4);
        prop_oneof![
            4 => (0..SELECTORS, vec(some.clone(), ARMS as usize))
                .prop_map(|(selector, arms)| Piece::Branch(selector, arms)),
            2 => vec(some.clone(), 1..4).prop_map(Piece::Together),
            2 => (any::<u32>(), some.clone()).prop_map(|(pool, route)| Piece::Fork(pool, route)),
            1 => (any::<u32>(), 1u32..3, some)
                .prop_map(|(pool, tokens, of)| Piece::Held(pool, tokens, of)),
        ]
    });
    prop_oneof![1 => leaf, 1 => nested].boxed()
}

/// The hops of a piece, within arms of these selectors.
fn hops_of(piece: &Piece, stations: &[Station], pools: &[Pool], within: &[u32]) -> Vec<Hop> {
    let all = |pieces: &[Piece], within: &[u32]| -> Vec<Hop> {
        pieces.iter().flat_map(|piece| hops_of(piece, stations, pools, within)).collect()
    };
    let take = |pool: u32, tokens: u32| {
        let number = pool % pools.len() as u32;
        let (pool, tokens) = (PoolId(number), tokens.min(pools[number as usize].tokens));
        (Hop::Take { pool, tokens }, Hop::Give { pool, tokens })
    };
    match piece {
        Piece::Plain(draft) => hops(draft, stations),
        // A selector in use is not used again within its own arms.
        Piece::Branch(selector, arms) if within.contains(selector) => all(&arms[0], within),
        Piece::Branch(selector, arms) => {
            let within = [within, &[*selector]].concat();
            let arms = arms.iter().map(|arm| all(arm, &within)).collect();
            vec![Hop::Branch { selector: SelectorId(*selector), arms }]
        }
        Piece::Together(routes) => {
            vec![Hop::Together { routes: routes.iter().map(|route| all(route, within)).collect() }]
        }
        Piece::Fork(pool, route) => {
            let (take, give) = take(*pool, 1);
            vec![take, Hop::Fork { route: [all(route, &[]), vec![give]].concat().into() }]
        }
        Piece::Held(pool, tokens, of) => {
            let (take, give) = take(*pool, *tokens);
            [vec![take], all(of, within), vec![give]].concat()
        }
        Piece::As(write) => {
            let dir = if *write { workload::Dir::Write } else { workload::Dir::Read };
            vec![Hop::As { dir }]
        }
    }
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Fixed),
        Just(Policy::ActivePassive),
        (1u32..4).prop_map(|ios| Policy::RoundRobin { ios }),
        (1u64..30_000).prop_map(|bytes| Policy::RoundRobinBytes { bytes }),
        Just(Policy::LeastQueue),
    ]
}

fn selectors() -> impl Strategy<Value = Vec<Selector>> {
    let patience = prop_oneof![Just(0), 0u64..20].prop_map(Ps::micros);
    let give_up = prop_oneof![Just(Ps::MAX), (0u64..60).prop_map(Ps::micros)];
    let selector = (policy(), patience, give_up).prop_map(|(policy, patience, give_up)| Selector {
        policy,
        patience,
        give_up,
    });
    vec(selector, SELECTORS as usize)
}

/// A change before stations, branches and loads are known: time, duration until it is undone, kind, subject, and value.
type Changed = (u64, Option<u64>, u8, u32, u32);

/// The change and its reversal; none where nothing can be changed.
fn change(draft: Changed, network: &Network, asked: &[u32]) -> Vec<(Ps, Change)> {
    let (at, lasts, kind, which, how) = draft;
    let station = StationId(which % network.stations().len() as u32);
    let load = LoadId(which % network.loads().len() as u32);
    let (change, undone) = match kind {
        0..6 if !asked.is_empty() => {
            let selector = SelectorId(asked[which as usize % asked.len()]);
            let arm = how % ARMS;
            (Change::ArmDown { selector, arm }, Change::ArmUp { selector, arm })
        }
        6..8 => {
            let Station::Links { rates } = &network.stations()[station.0 as usize] else {
                return Vec::new();
            };
            let link = how as u16 % LINKS;
            let rate = [0, 1_500_000_000, 5_000_000_000][how as usize % 3];
            let before = rates[usize::from(link)];
            let rate_of = |rate| Change::LinkRate { station, link, rate };
            (rate_of(rate), rate_of(before))
        }
        8 => (Change::Stop(station), Change::Go(station)),
        9 => (Change::LoadStop(load), Change::LoadStart(load)),
        _ => return Vec::new(),
    };
    let undone = lasts.map(|lasts| (Ps::micros(at + lasts), undone));
    std::iter::once((Ps::micros(at), change)).chain(undone).collect()
}

/// Which selectors are in use.
fn asked(hops: &[Hop], asks: &mut [bool]) {
    for hop in hops {
        match hop {
            Hop::Branch { selector, arms } => {
                asks[selector.0 as usize] = true;
                arms.iter().for_each(|arm| asked(arm, asks));
            }
            Hop::Together { routes } => routes.iter().for_each(|route| asked(route, asks)),
            Hop::Fork { route } => asked(route, asks),
            _ => {}
        }
    }
}

fn hops(draft: &Draft, stations: &[Station]) -> Vec<Hop> {
    let number = draft.station % stations.len() as u32;
    let station = StationId(number);
    let hop = match &stations[number as usize] {
        Station::Links { .. } => {
            Hop::Cross { station, links: draft.links.clone().into(), scale: 1.25, extra: 38 }
        }
        Station::Batch { .. } => Hop::visit(station, Law::ZERO),
        _ => {
            let demand = Demand { time: draft.law.clone(), per_byte: draft.per_byte };
            let plain =
                |of: &&Station| !matches!(of, Station::Links { .. } | Station::Batch { .. });
            let row = stations[number as usize..].iter().take_while(plain).count() as u32;
            match draft.spread.min(row) {
                0 => Hop::Visit { station, demand },
                count => Hop::Spread { first: station, count, demand },
            }
        }
    };
    let skip = draft.skip.map(|chance| Hop::Skip { chance, hops: 1 });
    skip.into_iter().chain([hop]).collect()
}

#[derive(Clone, Debug)]
struct Route {
    pieces: Vec<Piece>,
    /// Pool, tokens, and the pieces between which they are held.
    tokens: Vec<(u32, u32, usize, usize)>,
    write: bool,
    bytes: u32,
    priority: u8,
}

fn route(all: bool) -> impl Strategy<Value = Route> {
    let tokens = vec((any::<u32>(), 1u32..3, 0usize..4, 1usize..4), 0..3);
    (vec(piece(all), 1..5), tokens, any::<bool>(), 0u32..20_000, 0..PRIORITIES).prop_map(
        |(pieces, tokens, write, bytes, priority)| Route { pieces, tokens, write, bytes, priority },
    )
}

fn class(route: &Route, stations: &[Station], pools: &[Pool]) -> Class {
    let mut hops_of: Vec<Vec<Hop>> =
        route.pieces.iter().map(|piece| hops_of(piece, stations, pools, &[])).collect();
    for (pool, tokens, from, length) in &route.tokens {
        let number = pool % pools.len() as u32;
        let tokens = (*tokens).min(pools[number as usize].tokens);
        let pool = PoolId(number);
        let from = from % hops_of.len();
        let to = (from + length - 1).min(hops_of.len() - 1);
        hops_of[from].insert(0, Hop::Take { pool, tokens });
        hops_of[to].push(Hop::Give { pool, tokens });
    }
    let hops = hops_of.concat();
    let make = if route.write { Class::write } else { Class::read };
    Class { priority: route.priority, ..make(route.bytes, hops) }
}

#[derive(Clone, Debug)]
struct LoadDraft {
    open: bool,
    count: u32,
    law: Law,
    routes: Vec<Route>,
    shares: Vec<f64>,
    total: Option<u64>,
    /// Start time; `None` where it begins after the loads before it.
    begins: Option<u64>,
    after: bool,
}

fn load(all: bool) -> impl Strategy<Value = LoadDraft> {
    // A probability of zero is invalid; one in a million never occurs here.
    let likely = if all { 0.4 } else { 1e-6 };
    let total = proptest::option::weighted(likely, 1u64..80);
    let begins = proptest::option::weighted(likely / 2.0, 0u64..200);
    let after = proptest::bool::weighted(likely);
    let plain = (any::<bool>(), 1u32..7, law(), vec(route(all), 1..3), vec(0.1..3.0, 2));
    (plain, total, begins, after).prop_map(|(plain, total, begins, after)| {
        let (open, count, law, routes, shares) = plain;
        LoadDraft { open, count, law, routes, shares, total, begins, after }
    })
}

/// A network of stations of these kinds, of plain routes.
pub fn network(kinds: &[Kind]) -> impl Strategy<Value = Network> + use<> {
    drawn(kinds, false, Runs::None)
}

/// A network of plain routes, each starting with delays that can be fused.
pub fn of_runs() -> impl Strategy<Value = Network> {
    drawn(&[Kind::Single, Kind::Delay, Kind::Blocking, Kind::Sharing], false, Runs::Delays)
}

/// A network of plain routes, each starting at a queue that all share, with delays behind it that can be fused with it.
pub fn of_queues() -> impl Strategy<Value = Network> {
    drawn(
        &[Kind::Single, Kind::Many, Kind::Delay, Kind::Sharing, Kind::Losing],
        false,
        Runs::Queues,
    )
}

/// What all routes of a network begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    None,
    Delays,
    Queues,
}

/// A network of everything: branches, copies, loads that begin later and end, changes.
pub fn of_everything() -> impl Strategy<Value = Network> {
    drawn(&Kind::ALL, true, Runs::None)
}

fn drawn(kinds: &[Kind], all: bool, runs: Runs) -> impl Strategy<Value = Network> + use<> {
    let station = proptest::sample::select(kinds.to_vec()).prop_flat_map(station);
    let lasts = proptest::option::weighted(0.8, 0u64..100);
    let changed = (MOMENTS, lasts, 0u8..10, any::<u32>(), any::<u32>());
    let changes = vec(changed, if all { 0..8 } else { 0..1 });
    let places = (vec(station, 1..5), vec(1u32..5, 1..3), selectors());
    (places, vec(load(all), 1..4), changes).prop_map(
        move |((stations, tokens, selectors), loads, changes)| {
            let mut network = Network::new();
            let pools: Vec<Pool> = tokens.iter().map(|tokens| Pool { tokens: *tokens }).collect();
            for pool in &pools {
                network.pool(*pool);
            }
            for station in &stations {
                network.station(station.clone());
            }
            for selector in selectors {
                network.selector(selector);
            }
            let mut asks = [false; SELECTORS as usize];
            for load in &loads {
                let mut classes: Vec<Class> =
                    load.routes.iter().map(|route| class(route, &stations, &pools)).collect();
                match runs {
                    Runs::None => {}
                    Runs::Delays => {
                        let run = run(&mut network, load.count);
                        for class in &mut classes {
                            class.route = [run.clone(), std::mem::take(&mut class.route)].concat();
                        }
                    }
                    Runs::Queues => behind_queue(&mut network, load, &mut classes),
                }
                classes.iter().for_each(|class| asked(&class.route, &mut asks));
                add(&mut network, load, classes);
            }
            let asked: Vec<u32> =
                (0..SELECTORS).filter(|selector| asks[*selector as usize]).collect();
            for draft in changes {
                for (at, change) in change(draft, &network, &asked) {
                    network.change(at, change);
                }
            }
            network
        },
    )
}

/// Delays that only this load visits, except for the first.
fn run(network: &mut Network, salt: u32) -> Vec<Hop> {
    let shared = (0..).zip(network.stations()).find(|(_, of)| **of == Station::Delay);
    let shared = shared.map(|(number, _)| StationId(number));
    let own = (0..2).map(|_| network.station(Station::Delay)).collect::<Vec<_>>();
    let times = (0..).map(|number| Law::Constant(Ps::micros(u64::from(salt + number) % 4 + 1)));
    let stations = shared.into_iter().chain(own);
    let visits = stations.zip(times).map(|(station, law)| Hop::visit(station, law));
    // The next hop is not part of it.
    visits.chain([Hop::As { dir: workload::Dir::Read }]).collect()
}

/// A queue that the classes of all loads begin at, and delays that only this load visits, with tokens taken between them that
/// are always there and some that may not be. The first class of every other load has no delays.
fn behind_queue(network: &mut Network, load: &LoadDraft, classes: &mut [Class]) {
    let first = network.loads().iter().flat_map(|load| &load.classes).next();
    let shared = first.and_then(|class| match class.route.first() {
        Some(Hop::Visit { station, .. }) => Some(*station),
        _ => None,
    });
    let queue = shared.unwrap_or_else(|| network.station(Station::many(1 + load.count % 3)));
    let own = [0, 1].map(|_| network.station(Station::Delay));
    let enough = network.pool(Pool { tokens: 2 * load.count });
    let more = network.pool(Pool { tokens: load.count });
    let few = network.pool(Pool { tokens: load.count.div_ceil(2) });
    let plain = network.loads().len() % 2 == 1;
    for (number, class) in classes.iter_mut().enumerate() {
        let micros = |n: u64| Law::Constant(Ps::micros(1 + (u64::from(load.count) + n) % 4));
        let mut route = vec![Hop::Visit {
            station: queue,
            demand: Demand { time: load.law.clone(), per_byte: 100.0 * number as f64 },
        }];
        if !(plain && number == 0) {
            route.extend([
                Hop::Take { pool: enough, tokens: 2 },
                Hop::visit(own[0], micros(0)),
                Hop::Take { pool: more, tokens: 1 },
                Hop::visit(own[1], micros(1)),
                Hop::Take { pool: few, tokens: 1 },
            ]);
            route.append(&mut class.route);
            route.push(Hop::Give { pool: few, tokens: 1 });
            route.push(Hop::Give { pool: more, tokens: 1 });
            route.push(Hop::Give { pool: enough, tokens: 2 });
        } else {
            route.append(&mut class.route);
        }
        class.route = route;
    }
}

fn add(network: &mut Network, load: &LoadDraft, classes: Vec<Class>) {
    let shares = load.shares[..classes.len()].to_vec();
    let source = if load.open {
        Source::Open { gap: load.law.clone(), limit: load.count, shares }
    } else {
        Source::Closed { customers: load.count, think: load.law.clone(), shares }
    };
    let ending = (0..).zip(network.loads()).filter(|(_, before)| before.total.is_some());
    let before: Vec<LoadId> = ending.map(|(number, _)| LoadId(number)).collect();
    let begins = match load.begins {
        _ if load.after && !before.is_empty() => Begin::After(before),
        Some(at) => Begin::At(Ps::micros(at)),
        None => Begin::Now,
    };
    network.load(Load { total: load.total, ..Load::of(source, classes).beginning(begins) });
}

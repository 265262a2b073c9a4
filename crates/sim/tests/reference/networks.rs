//! Random networks. Half of all times are multiples of a microsecond, so that events coincide.

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
}

impl Kind {
    pub const ALL: [Kind; 7] = [
        Kind::Single,
        Kind::Many,
        Kind::Delay,
        Kind::Sharing,
        Kind::Losing,
        Kind::Blocking,
        Kind::Links,
    ];
}

const LINKS: u16 = 3;

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
        Kind::Links => vec(1_000_000_000u64..4_000_000_000, usize::from(LINKS))
            .prop_map(|rates| Station::Links { rates })
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

/// A hop before it is known which stations there are.
#[derive(Clone, Debug)]
struct Draft {
    station: u32,
    law: Law,
    per_byte: f64,
    links: Vec<u16>,
    skip: Option<f64>,
}

fn draft() -> impl Strategy<Value = Draft> {
    let links = proptest::sample::subsequence((0..LINKS).collect::<Vec<_>>(), 1..=3);
    let per_byte = prop_oneof![Just(0.0), 1.0..900.0];
    (any::<u32>(), law(), per_byte, links, proptest::option::weighted(0.2, 0.0..1.0)).prop_map(
        |(station, law, per_byte, links, skip)| Draft { station, law, per_byte, links, skip },
    )
}

fn hops(draft: &Draft, stations: &[Station]) -> Vec<Hop> {
    let number = draft.station % stations.len() as u32;
    let station = StationId(number);
    let hop = match &stations[number as usize] {
        Station::Links { .. } => {
            Hop::Cross { station, links: draft.links.clone(), scale: 1.25, extra: 38 }
        }
        _ => Hop::Visit {
            station,
            demand: Demand { time: draft.law.clone(), per_byte: draft.per_byte },
        },
    };
    let skip = draft.skip.map(|chance| Hop::Skip { chance, hops: 1 });
    skip.into_iter().chain([hop]).collect()
}

#[derive(Clone, Debug)]
struct Route {
    drafts: Vec<Draft>,
    /// Pool, tokens, and between which of the drafts they are held.
    tokens: Vec<(u32, u32, usize, usize)>,
    write: bool,
    bytes: u32,
    priority: u8,
}

fn route() -> impl Strategy<Value = Route> {
    let tokens = vec((any::<u32>(), 1u32..3, 0usize..4, 1usize..4), 0..3);
    (vec(draft(), 1..5), tokens, any::<bool>(), 0u32..20_000, 0..PRIORITIES).prop_map(
        |(drafts, tokens, write, bytes, priority)| Route { drafts, tokens, write, bytes, priority },
    )
}

fn class(route: &Route, stations: &[Station], pools: &[Pool]) -> Class {
    let mut hops_of: Vec<Vec<Hop>> =
        route.drafts.iter().map(|draft| hops(draft, stations)).collect();
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
}

fn load() -> impl Strategy<Value = LoadDraft> {
    (any::<bool>(), 1u32..7, law(), vec(route(), 1..3), vec(0.1..3.0, 2)).prop_map(
        |(open, count, law, routes, shares)| LoadDraft { open, count, law, routes, shares },
    )
}

/// A network of stations of these kinds.
pub fn network(kinds: &[Kind]) -> impl Strategy<Value = Network> + use<> {
    let station = proptest::sample::select(kinds.to_vec()).prop_flat_map(station);
    (vec(station, 1..5), vec(1u32..5, 1..3), vec(load(), 1..4)).prop_map(
        |(stations, tokens, loads)| {
            let mut network = Network::new();
            let pools: Vec<Pool> = tokens.iter().map(|tokens| Pool { tokens: *tokens }).collect();
            for pool in &pools {
                network.pool(*pool);
            }
            for station in &stations {
                network.station(station.clone());
            }
            for load in &loads {
                let classes: Vec<Class> =
                    load.routes.iter().map(|route| class(route, &stations, &pools)).collect();
                let shares = load.shares[..classes.len()].to_vec();
                let source = if load.open {
                    Source::Open { gap: load.law.clone(), limit: load.count, shares }
                } else {
                    Source::Closed { customers: load.count, think: load.law.clone(), shares }
                };
                network.load(Load::of(source, classes));
            }
            network
        },
    )
}

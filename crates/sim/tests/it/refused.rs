//! Networks that cannot be simulated are refused with the location and the reason, and halts report their cause.

use sim::Ps;
use sim::engine::{Halt, SetUpError, Simulation, WaitPoint, Waiting};
use sim::model::*;
use workload::Dir;

/// A station, links, a pool of two, and a closed load over this route.
fn over(route: Vec<Hop>) -> Network {
    let mut network = Network::new();
    network.station(Station::SINGLE);
    network.station(Station::Links { rates: vec![1000, 1000] });
    network.pool(Pool { tokens: 2 });
    network.selector(Selector::new(Policy::Fixed));
    network.load(Load::closed(3, Law::ZERO, Class::read(1, route)));
    network
}

const HERE: StationId = StationId(0);
const LINKS: StationId = StationId(1);
const POOL: PoolId = PoolId(0);

fn visit() -> Hop {
    Hop::visit(HERE, Law::Constant(Ps::micros(1)))
}

fn cross(links: &[u16], scale: f64) -> Hop {
    Hop::Cross { station: LINKS, links: links.into(), scale, extra: 0 }
}

const fn take(tokens: u32) -> Hop {
    Hop::Take { pool: POOL, tokens }
}

const fn give(tokens: u32) -> Hop {
    Hop::Give { pool: POOL, tokens }
}

#[track_caller]
fn refused(network: &Network, says: &str) {
    match Simulation::new(network, 1) {
        Err(SetUpError::Network(error)) => {
            assert!(error.to_string().contains(says), "{error}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("not refused: {says}"),
    }
}

#[test]
fn routes() {
    let unknown = Hop::visit(StationId(7), Law::ZERO);
    let slow = Hop::Visit { station: HERE, demand: Demand { time: Law::ZERO, per_byte: f64::NAN } };
    let skip = |chance, hops| Hop::Skip { chance, hops };
    let law = |law| vec![Hop::visit(HERE, law)];
    let branch = |selector, arms| Hop::Branch { selector: SelectorId(selector), arms };
    let together = |route| Hop::Together { routes: vec![route] };
    let fork = |route: Vec<Hop>| Hop::Fork { route: route.into() };
    let spread = |first, count| Hop::Spread {
        first: StationId(first),
        count,
        demand: Demand::of(Law::ZERO),
    };
    let nested = |depth| (0..depth).fold(vec![visit()], |inner, _| vec![together(inner)]);
    for (route, says) in [
        (vec![visit(), unknown], "load 0, class 0, hop 1: there is no station 7"),
        (vec![slow], "the time per byte"),
        (vec![Hop::visit(LINKS, Law::ZERO)], "which are crossed"),
        (
            vec![Hop::Cross { station: HERE, links: [0].into(), scale: 1.0, extra: 0 }],
            "is not links",
        ),
        (vec![cross(&[], 1.0)], "crosses links that are not 0 to 1"),
        (vec![cross(&[2], 1.0)], "crosses links that are not 0 to 1"),
        (vec![cross(&[1, 1], 1.0)], "twice"),
        (vec![cross(&[1], 0.0)], "bytes on the wire"),
        (vec![cross(&[1], f64::NAN)], "bytes on the wire"),
        (vec![Hop::Take { pool: PoolId(1), tokens: 1 }], "there is no pool 1"),
        (vec![take(3), give(3)], "3 tokens of a pool of 2"),
        (vec![take(0)], "0 tokens"),
        (vec![take(1), visit()], "hop 2: ends with tokens of pool 0"),
        (vec![take(1), give(2)], "gives pool 0 more than was taken"),
        (vec![give(1), take(1)], "gives pool 0 more than was taken"),
        (vec![skip(0.5, 2), visit()], "beyond the end"),
        (vec![skip(0.5, 1), take(1), give(1)], "skips tokens"),
        (vec![skip(1.5, 1), visit()], "a probability of 0 to 1"),
        (vec![skip(0.5, 0), visit()], "at least one hop"),
        (vec![visit(); 70_000], "load 0: a route of 70000 hops"),
        (vec![branch(0, vec![vec![visit()]; 70_000])], "at most 65536 are simulated"),
        (vec![branch(1, vec![vec![]])], "there is no selector 1"),
        (vec![branch(0, vec![])], "a branch without an arm"),
        (vec![branch(0, vec![vec![visit(), take(1)]])], "arm 0, hop 2 of it: ends with tokens"),
        (vec![take(1), branch(0, vec![vec![give(1)]])], "hop 1: arm 0, hop 0 of it: gives pool 0"),
        (vec![branch(0, vec![vec![branch(0, vec![vec![]])]])], "nested in one of its own arms"),
        (vec![branch(0, vec![vec![]]), branch(0, vec![vec![]; 2])], "selector 0: one branch has"),
        (vec![spread(0, 3)], "there is no station 2"),
        (vec![spread(0, 2)], "station 1 is links"),
        (vec![spread(0, 0)], "spread over 0 stations"),
        (vec![Hop::Together { routes: vec![] }], "no routes for the copies"),
        (vec![together(vec![take(1)])], "copy 0, hop 1 of it: ends with tokens"),
        (vec![take(1), together(vec![give(1)]), give(1)], "copy 0, hop 0 of it: gives pool 0"),
        (vec![fork(vec![visit()])], "is unbounded"),
        (vec![fork(vec![visit(), give(1)])], "hop 0: gives pool 0 more than was taken"),
        (vec![take(1), fork(vec![give(1), visit()])], "is unbounded"),
        (vec![take(1), fork(vec![visit(), give(1)]), give(1)], "hop 2: gives pool 0 more than"),
        (vec![skip(0.5, 1), fork(vec![visit(), give(1)])], "hop 1: gives pool 0 more than"),
        (vec![Hop::Submit, visit(), Hop::Submit], "hop 2: issues the I/O once more"),
        (vec![skip(0.5, 1), Hop::Submit, visit()], "hop 0: skips the hop that issues"),
        (vec![branch(0, vec![vec![Hop::Submit]])], "arm 0, hop 0 of it: issues the I/O within"),
        (nested(9), "more than 8 deep"),
        (law(Law::Uniform(Ps(2), Ps(1))), "uniform"),
        (law(Law::Erlang { phases: 0, mean: Ps(1) }), "0 phases"),
        (law(Law::Hyper { first: 2.0, means: [Ps(1); 2] }), "a probability of 2"),
    ] {
        refused(&over(route), says);
    }
}

#[test]
fn what_several_routes_share_is_counted_once() {
    let copy: std::sync::Arc<[Hop]> = [vec![visit(); 60_000], vec![give(1)]].concat().into();
    let arm = || vec![take(1), Hop::Fork { route: copy.clone() }];
    let branch = Hop::Branch { selector: SelectorId(0), arms: vec![arm(), arm(), arm()] };
    let network = over(vec![branch.clone()]);
    assert_eq!(network.check(), Ok(()));
    let mut copies = vec![take(1), Hop::Fork { route: copy.clone() }];
    copies.extend([take(1), Hop::Fork { route: copy.iter().cloned().collect() }]);
    refused(&over(copies), "a route of 120006 hops");
    let mut network = network;
    for _ in 1..140 {
        network.load(Load::closed(1, Law::ZERO, Class::read(1, vec![branch.clone()])));
    }
    refused(&network, "the routes of all loads have 8401120 hops");
}

#[test]
fn stations_and_pools() {
    for (station, says) in [
        (Station::many(0), "station 0: it has no servers"),
        (Station::Sharing { servers: 0 }, "no servers"),
        (Station::finite(3, 2, Full::Lose), "a capacity of 2, less than its 3 servers"),
        (Station::Links { rates: vec![] }, "0 links"),
        (Station::Links { rates: vec![5, 0] }, "link 1 has rate 0"),
        (Station::Links { rates: vec![u64::MAX] }, "bytes a second"),
        (Station::Sorted { servers: 0, gain: vec![1.0] }, "no servers"),
        (Station::Sorted { servers: 1, gain: vec![] }, "0 entries of gain"),
        (Station::Sorted { servers: 1, gain: vec![1.0, 0.0] }, "a gain of 0"),
        (Station::Sorted { servers: 1, gain: vec![f64::NAN] }, "a gain of NaN"),
        (Station::Batch { count: 0, within: Ps(1) }, "a batch of 0 I/Os"),
        (Station::Processors { count: 0, halt: None }, "no processors"),
    ] {
        let mut network = Network::new();
        network.station(station);
        refused(&network, says);
    }
    let mut network = Network::new();
    network.pool(Pool { tokens: 0 });
    refused(&network, "pool 0 has no tokens");
}

#[test]
fn threads() {
    let gate = Gated {
        processors: StationId(0),
        thread: 0,
        pass: Ps(1),
        wake: Ps(0),
        switch: Ps(0),
        spin: Ps(0),
        counted: true,
        parts: None,
    };
    let parts = Some(Parts { dir: Dir::Read, bytes: 0, header: 48 });
    for (gate, says) in [
        (Gated { processors: StationId(1), ..gate }, "station 1 is no processors"),
        (Gated { thread: u32::MAX, ..gate }, "thread 4294967295; the last is"),
        (Gated { parts, ..gate }, "parts of 0 bytes"),
    ] {
        let mut network = Network::new();
        network.station(Station::Processors { count: 1, halt: None });
        network.station(Station::Gated(gate));
        refused(&network, says);
    }
}

#[test]
fn loads() {
    let class = || Class::read(0, vec![]);
    let closed = |customers, shares: &[f64]| {
        let shares = shares.to_vec();
        Load::of(Source::Closed { customers, think: Law::ZERO, shares }, vec![class()])
    };
    let late = Class { priority: PRIORITIES, ..class() };
    for (load, says) in [
        (closed(0, &[1.0]), "0 I/Os may be outstanding"),
        (closed(1, &[]), "0 shares for 1 classes"),
        (closed(1, &[-1.0]), "shares are at least 0"),
        (closed(1, &[0.0]), "shares are at least 0"),
        (closed(1 << 29, &[1.0]), "at most 268435456"),
        (Load::closed(1, Law::Uniform(Ps(2), Ps(1)), class()), "uniform"),
        (Load::open(Law::ZERO, 1, class()), "without a gap"),
        (Load::closed(1, Law::ZERO, late), "priority 8; the last is 7"),
        (Load::closed(1, Law::ZERO, class()).ending_after(0), "it issues 0 I/Os"),
        (Load::closed(1, Law::ZERO, class()).beginning(Begin::After(vec![])), "after no load"),
        (
            Load::closed(1, Law::ZERO, class()).beginning(Begin::After(vec![LoadId(4)])),
            "there is no load 4",
        ),
        (
            Load::closed(1, Law::ZERO, class())
                .ending_after(5)
                .beginning(Begin::After(vec![LoadId(0)])),
            "it begins after itself",
        ),
    ] {
        let mut network = Network::new();
        network.load(load);
        refused(&network, says);
    }
}

#[test]
fn selectors_and_changes() {
    let sound =
        || over(vec![Hop::Branch { selector: SelectorId(0), arms: vec![vec![visit()]; 2] }]);
    for (policy, says) in [
        (Policy::RoundRobin { ios: 0 }, "selector 1: a turn of 0 I/Os"),
        (Policy::RoundRobinBytes { bytes: 0 }, "selector 1: a turn of 0 bytes"),
    ] {
        let mut network = sound();
        network.selector(Selector::new(policy));
        refused(&network, says);
    }
    let (selector, arm) = (SelectorId(0), 2);
    let rate = |station, link, rate| Change::LinkRate { station, link, rate };
    for (change, says) in [
        (Change::ArmDown { selector, arm }, "change 0: selector 0 has arms 0 to 1, not 2"),
        (Change::ArmUp { selector: SelectorId(1), arm: 0 }, "there is no selector 1"),
        (rate(HERE, 0, 1), "station 0 is not links"),
        (rate(LINKS, 2, 1), "link 2 is not one of 0 to 1"),
        (rate(LINKS, 1, u64::MAX), "bytes a second"),
        (Change::Stop(StationId(2)), "there is no station 2"),
        (Change::LoadStart(LoadId(1)), "there is no load 1"),
    ] {
        let mut network = sound();
        network.change(Ps(1), change);
        refused(&network, says);
    }
    let mut network = over(vec![]);
    network.change(Ps(1), Change::ArmDown { selector, arm: 0 });
    refused(&network, "no branch uses selector 0");
}

#[track_caller]
fn halts(network: &Network) -> Halt {
    Simulation::new(network, 1).unwrap().run_until(Ps::secs(1)).unwrap_err()
}

#[test]
fn time_that_does_not_advance_is_a_livelock() {
    assert_eq!(halts(&over(vec![])), Halt::Livelock(Ps::ZERO));
    // A rejected I/O is issued again at once.
    let mut network = Network::new();
    let station = network.station(Station::finite(1, 1, Full::Lose));
    let class = Class::read(0, vec![Hop::visit(station, Law::Constant(Ps::micros(1)))]);
    network.load(Load::closed(2, Law::ZERO, class));
    assert_eq!(halts(&network), Halt::Livelock(Ps::ZERO));
}

/// Two I/Os that each hold a token and want a second.
#[test]
fn a_cycle_of_waiting_is_a_deadlock() {
    let network = over(vec![take(1), visit(), take(1), visit(), give(2)]);
    let halt = halts(&network);
    let Halt::Deadlock { at, waits } = &halt else { panic!("{halt:?}") };
    assert!(*at > Ps::ZERO);
    assert_eq!(*waits, [Waiting { at: WaitPoint::Pool(POOL), ios: 3 }]);
    assert!(halt.to_string().ends_with("for each other: 3 for tokens of pool 0"), "{halt}");
}

#[test]
fn an_idle_network_is_no_deadlock() {
    let mut simulation = Simulation::new(&Network::new(), 1).unwrap();
    assert_eq!(simulation.run_until(Ps::secs(1)), Ok(()));
    assert_eq!((simulation.now(), simulation.dispatched()), (Ps::secs(1), 0));
}

//! Networks that cannot be simulated are refused with the place and the reason, and what cannot go on says so.

use sim::Ps;
use sim::engine::{Halt, SetUpError, Simulation};
use sim::model::*;

/// A station, links, a pool of two, and a closed load over this route.
fn over(route: Vec<Hop>) -> Network {
    let mut network = Network::new();
    network.station(Station::SINGLE);
    network.station(Station::Links { rates: vec![1000, 1000] });
    network.pool(Pool { tokens: 2 });
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
    Hop::Cross { station: LINKS, links: links.to_vec(), scale, extra: 0 }
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
    for (route, says) in [
        (vec![visit(), unknown], "load 0, class 0, hop 1: there is no station 7"),
        (vec![slow], "the time a byte"),
        (vec![Hop::visit(LINKS, Law::ZERO)], "which are crossed"),
        (vec![Hop::Cross { station: HERE, links: vec![0], scale: 1.0, extra: 0 }], "is not links"),
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
        (vec![visit(); 5000], "at most 4096"),
        (law(Law::Uniform(Ps(2), Ps(1))), "uniform"),
        (law(Law::Erlang { phases: 0, mean: Ps(1) }), "0 phases"),
        (law(Law::Hyper { first: 2.0, means: [Ps(1); 2] }), "a probability of 2"),
    ] {
        refused(&over(route), says);
    }
}

#[test]
fn stations_and_pools() {
    for (station, says) in [
        (Station::many(0), "station 0: it has no server"),
        (Station::Sharing { servers: 0 }, "no server"),
        (Station::finite(3, 2, Full::Lose), "room for 2, less than its 3 servers"),
        (Station::Links { rates: vec![] }, "0 links"),
        (Station::Links { rates: vec![5, 0] }, "link 1 carries nothing"),
        (Station::Links { rates: vec![u64::MAX] }, "bytes a second"),
    ] {
        let mut network = Network::new();
        network.station(station);
        refused(&network, says);
    }
    let mut network = Network::new();
    network.pool(Pool { tokens: 0 });
    refused(&network, "pool 0 has no token");
}

#[test]
fn loads() {
    let class = || Class::read(0, vec![]);
    let closed = |customers, shares: &[f64]| Load {
        source: Source::Closed { customers, think: Law::ZERO, shares: shares.to_vec() },
        classes: vec![class()],
    };
    let late = Class { priority: PRIORITIES, ..class() };
    for (load, says) in [
        (closed(0, &[1.0]), "nothing may be outstanding"),
        (closed(1, &[]), "0 shares for 1 classes"),
        (closed(1, &[-1.0]), "shares are at least 0"),
        (closed(1, &[0.0]), "shares are at least 0"),
        (closed(1 << 29, &[1.0]), "at most 268435456"),
        (Load::closed(1, Law::Uniform(Ps(2), Ps(1)), class()), "uniform"),
        (Load::open(Law::ZERO, 1, class()), "without a gap"),
        (Load::closed(1, Law::ZERO, late), "priority 8; the last is 7"),
    ] {
        let mut network = Network::new();
        network.load(load);
        refused(&network, says);
    }
}

#[track_caller]
fn halts(network: &Network) -> Halt {
    Simulation::new(network, 1).unwrap().run_until(Ps::secs(1)).unwrap_err()
}

#[test]
fn time_that_does_not_pass() {
    assert_eq!(halts(&over(vec![])), Halt::Livelock(Ps::ZERO));
    // Who is turned away comes again at once.
    let mut network = Network::new();
    let station = network.station(Station::finite(1, 1, Full::Lose));
    let class = Class::read(0, vec![Hop::visit(station, Law::Constant(Ps::micros(1)))]);
    network.load(Load::closed(2, Law::ZERO, class));
    assert_eq!(halts(&network), Halt::Livelock(Ps::ZERO));
}

/// Two who each hold a token and want a second.
#[test]
fn a_circle_of_waiting() {
    let network = over(vec![take(1), visit(), take(1), visit(), give(2)]);
    let halt = halts(&network);
    assert!(matches!(halt, Halt::Deadlock(at) if at > Ps::ZERO), "{halt:?}");
    assert!(halt.to_string().contains("all I/Os wait for each other"));
}

#[test]
fn nothing_to_do_is_no_deadlock() {
    let mut simulation = Simulation::new(&Network::new(), 1).unwrap();
    assert_eq!(simulation.run_until(Ps::secs(1)), Ok(()));
    assert_eq!((simulation.now(), simulation.dispatched()), (Ps::secs(1), 0));
}

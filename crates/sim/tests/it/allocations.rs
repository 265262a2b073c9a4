//! After the start the loop allocates nothing, and memory does not grow with simulated time.

use allocation_counter::{AllocationInfo, measure};
use sim::Ps;
use sim::engine::Simulation;
use sim::model::*;
use std::sync::Arc;

/// Runs a network for a while: nothing is allocated, and so nothing grows with simulated time.
#[track_caller]
fn bare(network: &Network) {
    let mut simulation = Simulation::new(network, 1).unwrap();
    let calls = measure(|| simulation.run_until(Ps::millis(50)).unwrap());
    assert_eq!(calls, AllocationInfo::default());
    assert!(simulation.dispatched() > 10_000);
}

fn over(network: &mut Network, route: Vec<Hop>) {
    let class = Class::write(4096, route);
    network.load(Load::closed(8, Law::Exponential(Ps::micros(5)), class.clone()));
    network.load(Load::open(Law::Exponential(Ps::micros(3)), 20, class));
}

#[track_caller]
fn check(stations: &[Station]) {
    let mut network = Network::new();
    let pool = network.pool(Pool { tokens: 6 });
    let mut route = vec![Hop::Take { pool, tokens: 1 }];
    for station in stations {
        let law = match station {
            Station::Batch { .. } => Law::ZERO,
            _ => Law::Exponential(Ps::micros(2)),
        };
        let links = matches!(station, Station::Links { .. });
        let station = network.station(station.clone());
        route.push(Hop::Skip { chance: 0.1, hops: 1 });
        route.push(if links {
            Hop::Cross { station, links: [0, 1].into(), scale: 1.1, extra: 10 }
        } else {
            Hop::visit(station, law)
        });
    }
    route.push(Hop::Give { pool, tokens: 1 });
    over(&mut network, route);
    bare(&network);
}

#[test]
fn no_station_allocates() {
    check(&[Station::SINGLE, Station::many(4), Station::Delay]);
    check(&[Station::finite(2, 3, Full::Lose), Station::SINGLE]);
    check(&[Station::SINGLE, Station::finite(1, 2, Full::Block)]);
    check(&[Station::Sharing { servers: 2 }, Station::SINGLE]);
    check(&[Station::Links { rates: vec![2_000_000_000, 3_000_000_000] }, Station::Delay]);
    check(&[Station::Sorted { servers: 1, gain: vec![1.0, 1.5] }, Station::Delay]);
    check(&[Station::Batch { count: 3, within: Ps::micros(4) }, Station::SINGLE]);
}

/// Links apart keep what is due in lists of their own, which soon are as long as they will be.
#[test]
fn windows_allocate_no_more() {
    let mut network = Network::new();
    let host = network.station(Station::many(8));
    let links = Station::Links { rates: vec![1_000_000_000, 700_000_000] };
    let [out, back] = [network.station(links.clone()), network.station(links)];
    let [delay, cache] = [network.station(Station::Delay), network.station(Station::Delay)];
    let director = network.station(Station::many(3));
    let cross = |station, scale| Hop::Cross { station, links: [0, 1].into(), scale, extra: 48 };
    let constant = |micros| Law::Constant(Ps::micros(micros));
    let route = vec![
        Hop::visit(host, Law::Exponential(Ps::micros(1))),
        Hop::visit(delay, constant(1)),
        cross(out, f64::MIN_POSITIVE),
        Hop::visit(director, Law::Exponential(Ps::micros(1))),
        Hop::visit(cache, constant(50)),
        cross(back, 1.0),
    ];
    network.load(Load::closed(200, Law::ZERO, Class::read(512, route)));
    let mut simulation = Simulation::new(&network, 1).unwrap();
    simulation.run_until(Ps::millis(20)).unwrap();
    simulation.run_until(Ps::millis(60)).unwrap();
    assert_eq!(simulation.links_apart(), 2);
    let calls = measure(|| simulation.run_until(Ps::millis(110)).unwrap());
    assert_eq!(calls, AllocationInfo::default());
}

/// Copies of both kinds, branches by all policies, arms that die with I/Os on them, loads that begin later.
#[test]
fn nothing_that_happens_allocates() {
    for policy in [
        Policy::Fixed,
        Policy::ActivePassive,
        Policy::RoundRobin { ios: 3 },
        Policy::RoundRobinBytes { bytes: 10_000 },
        Policy::LeastQueue,
    ] {
        let mut network = Network::new();
        let pool = network.pool(Pool { tokens: 6 });
        let (take, give) = (Hop::Take { pool, tokens: 1 }, Hop::Give { pool, tokens: 1 });
        let service = Law::Exponential(Ps::micros(1));
        let stations: Vec<StationId> = [Station::SINGLE, Station::many(3), Station::Delay]
            .into_iter()
            .map(|station| network.station(station))
            .collect();
        let visit = |at: usize| Hop::visit(stations[at], service.clone());
        let link = network.station(Station::Links { rates: vec![2_000_000_000] });
        let cross = Hop::Cross { station: link, links: [0].into(), scale: 1.0, extra: 0 };
        let (patience, give_up) = (Ps::micros(7), Ps::micros(30));
        let selector = network.selector(Selector { policy, patience, give_up });
        let group = RaidGroup {
            first: stations[0],
            disks: 3,
            width: 3,
            raid: RaidLevel::Parity,
            unit: 512,
        };
        let raid = |access, choice| {
            let demand = Demand::of(service.clone());
            Hop::Raid { visit: Arc::new(RaidVisit { group, access, choice, demand }) }
        };
        let read = raid(RaidAccess::Read, StripeChoice::Drawn);
        let write = raid(RaidAccess::Write, StripeChoice::Idle);
        let both = Hop::Together { routes: vec![vec![visit(1)], vec![visit(2)]] };
        let arms = vec![vec![visit(0), both, read, write], vec![take.clone(), cross, give.clone()]];
        let branch = Hop::Branch { selector, arms };
        let spread =
            Hop::Spread { first: stations[0], count: 3, demand: Demand::of(service.clone()) };
        let fork = Hop::Fork { route: [spread, give].into() };
        over(&mut network, vec![branch, take, fork]);
        let more = Class::read(512, vec![visit(1)]);
        let first = network.load(
            Load::closed(4, service.clone(), more.clone())
                .ending_after(50)
                .beginning(Begin::At(Ps::micros(90))),
        );
        let after = Begin::After(vec![first]);
        network.load(Load::closed(4, service.clone(), more).beginning(after));
        for (number, at) in (0..).zip((100..40_000).step_by(333)) {
            let arm = number % 2;
            network.change(Ps::micros(at), Change::ArmDown { selector, arm });
            network.change(Ps::micros(at + 200), Change::ArmUp { selector, arm });
            network.change(Ps::micros(at + 210), Change::Stop(stations[0]));
            network.change(Ps::micros(at + 220), Change::Go(stations[0]));
            network.change(Ps::micros(at + 220), Change::LoadStop(LoadId(0)));
            network.change(Ps::micros(at + 230), Change::LoadStart(LoadId(0)));
        }
        bare(&network);
    }
}

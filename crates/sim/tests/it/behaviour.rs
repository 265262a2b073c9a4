//! The behaviour of branches, copies, batches, phases and failures, checked by the times at which I/Os end.

use clock::Ns;
use sim::Ps;
use sim::engine::{
    Ended, Halt, Observer, SharedProgress, Simulation, Snapshot, WaitPoint, Waiting,
};
use sim::model::*;
use std::sync::Arc;

/// Ends of I/Os: class, time in microseconds, whether it was lost.
#[derive(Default)]
struct Ends(Vec<(u32, u64, bool)>);

impl Observer for Ends {
    fn ended(&mut self, io: &Ended) {
        self.0.push((io.class, io.now.0 / 1_000_000, io.lost));
    }
}

const fn us(us: u64) -> Ps {
    Ps::micros(us)
}

fn visit(station: StationId, time: u64) -> Hop {
    Hop::visit(station, Law::Constant(us(time)))
}

/// One I/O every `gap` microseconds, `count` in all, without a limit of outstanding I/Os.
fn every(gap: u64, count: u64, route: Vec<Hop>) -> Load {
    Load::open(Law::Constant(us(gap)), 64, Class::read(1000, route)).ending_after(count)
}

fn ends_until(network: &Network, until: Ps) -> (Vec<(u32, u64, bool)>, Snapshot) {
    let mut simulation = Simulation::observed(network, 1, Ends::default()).unwrap();
    simulation.run_until(until).unwrap();
    (simulation.observer().0.clone(), simulation.snapshot())
}

/// Checks the times at which I/Os end; none may be lost.
#[track_caller]
fn check(network: &Network, expected: &[u64]) -> Snapshot {
    let (ends, snapshot) = ends_until(network, us(10_000));
    assert!(ends.iter().all(|(.., lost)| !lost), "{ends:?}");
    assert_eq!(ends.iter().map(|(_, at, _)| *at).collect::<Vec<_>>(), expected);
    snapshot
}

#[test]
fn a_batch_goes_on_when_it_is_full_or_has_waited() {
    let mut network = Network::new();
    let batch = network.station(Station::Batch { count: 3, within: us(25) });
    network.load(every(10, 5, vec![Hop::visit(batch, Law::ZERO)]));
    // Three at 10, 20, 30; then 40 and 50, of which the first has waited for 25 at 65.
    check(&network, &[30, 30, 30, 65, 65]);
}

#[test]
fn a_sorting_queue_gains_with_its_length() {
    let mut network = Network::new();
    let disk = network.station(Station::Sorted { servers: 1, gain: vec![1.0, 2.0, 4.0] });
    network.load(every(10, 4, vec![visit(disk, 100)]));
    // The first starts alone; at 110 three are there, at 135 two, at 185 one.
    check(&network, &[110, 135, 185, 285]);
}

#[test]
fn copies_that_go_together_are_waited_for() {
    let mut network = Network::new();
    let (a, b) = (network.station(Station::SINGLE), network.station(Station::SINGLE));
    let routes = vec![vec![visit(a, 3)], vec![visit(b, 5), visit(a, 1)], vec![]];
    network.load(every(10, 2, vec![Hop::Together { routes }, visit(b, 1)]));
    let snapshot = check(&network, &[17, 27]);
    assert_eq!(snapshot.stations[0].departures, 4);
    // If one copy is lost, so is the I/O, once the others have ended.
    let full = network.station(Station::finite(1, 1, Full::Lose));
    let twice = Hop::Together { routes: vec![vec![visit(full, 4)], vec![visit(full, 4)]] };
    network.load(every(10, 1, vec![twice]));
    let (ends, _) = ends_until(&network, us(100));
    assert!(ends.contains(&(1, 14, true)), "{ends:?}");
}

/// RAID-5 of three single servers, where every disk I/O takes 10 us; the I/Os follow each other, 1,000 bytes each.
fn raid(network: &mut Network, access: RaidAccess, unit: u64) -> Hop {
    let first = network.station(Station::SINGLE);
    network.station(Station::SINGLE);
    network.station(Station::SINGLE);
    let group = RaidGroup { first, disks: 3, width: 3, raid: RaidLevel::Parity, unit };
    let (choice, demand) = (StripeChoice::Addressed, Demand::of(Law::Constant(us(10))));
    Hop::Raid { visit: Arc::new(RaidVisit { group, access, choice, demand }) }
}

#[test]
fn a_group_is_waited_for_and_reads_before_it_writes_a_part() {
    // Read from one disk and from two; a whole stripe written; a part of one read and then written.
    for (access, unit, ends, visits) in [
        (RaidAccess::Read, 1000, [110, 210], 2),
        (RaidAccess::Read, 500, [110, 210], 4),
        (RaidAccess::Write, 500, [110, 210], 6),
        (RaidAccess::Write, 1000, [120, 220], 8),
    ] {
        let mut network = Network::new();
        let hop = raid(&mut network, access, unit);
        network.load(every(100, 2, vec![hop]));
        let snapshot = check(&network, &ends);
        let departures: u64 = snapshot.stations.iter().map(|station| station.departures).sum();
        assert_eq!(departures, visits, "{access:?} of units of {unit}");
    }
}

/// The parts of an I/O on an arm that fails are given up, and it starts again on the other arm.
#[test]
fn a_group_on_an_arm_that_fails_is_left() {
    for at in [105, 115] {
        let mut network = Network::new();
        let hop = raid(&mut network, RaidAccess::Write, 1000);
        let other = network.station(Station::Delay);
        let selector = network.selector(Selector::new(Policy::Fixed));
        let arms = vec![vec![hop.clone()], vec![visit(other, 50)]];
        network.load(every(100, 1, vec![Hop::Branch { selector, arms }]));
        network.change(us(at), Change::ArmDown { selector, arm: 0 });
        let snapshot = check(&network, &[at + 50]);
        assert!(snapshot.stations.iter().all(|station| station.level.present == 0));
    }
}

#[test]
fn a_skip_goes_by_the_tokens_that_are_held() {
    let mut network = Network::new();
    let (cache, disk) = (network.station(Station::Delay), network.station(Station::SINGLE));
    let pool = network.pool(Pool { tokens: 1 });
    let (take, give) = (Hop::Take { pool, tokens: 1 }, Hop::Give { pool, tokens: 1 });
    let skip = Hop::SkipHeld { pool, chances: [0.0, 1.0].into(), hops: 2 };
    let fork = Hop::Fork { route: [visit(disk, 25), give].into() };
    network.load(every(10, 5, vec![skip, take, fork, visit(cache, 1)]));
    // The first and the fourth take the token, for 25 us each; the others find it held.
    let snapshot = check(&network, &[11, 21, 31, 41, 51]);
    assert_eq!(snapshot.stations[1].arrivals, 2);
}

#[test]
fn a_copy_in_the_background_is_not_waited_for_but_bounded() {
    let mut network = Network::new();
    let (cache, disk) = (network.station(Station::Delay), network.station(Station::SINGLE));
    let pool = network.pool(Pool { tokens: 2 });
    let (take, give) = (Hop::Take { pool, tokens: 1 }, Hop::Give { pool, tokens: 1 });
    let route = vec![take, visit(cache, 1), Hop::Fork { route: [visit(disk, 100), give].into() }];
    network.load(every(10, 4, route));
    // Two find room; the third waits until 111 for the first destaged, the fourth until 211.
    check(&network, &[11, 21, 112, 212]);
}

/// Two arms, of 20 and 50 microseconds.
fn two_ways(policy: Policy, patience: u64, give_up: Ps) -> (Network, SelectorId) {
    let mut network = Network::new();
    let (a, b) = (network.station(Station::Delay), network.station(Station::Delay));
    let selector = network.selector(Selector { policy, patience: us(patience), give_up });
    let arms = vec![vec![visit(a, 20)], vec![visit(b, 50)]];
    network.load(every(10, 6, vec![Hop::Branch { selector, arms }]));
    (network, selector)
}

#[test]
fn arms_are_taken_by_the_policy() {
    for (policy, first, second) in [
        (Policy::Fixed, 6, 0),
        (Policy::ActivePassive, 6, 0),
        (Policy::RoundRobin { ios: 1 }, 3, 3),
        (Policy::RoundRobin { ios: 2 }, 4, 2),
        (Policy::RoundRobinBytes { bytes: 2500 }, 3, 3),
        // The second at 20, while the first is on the other arm; from then on both are equal at each arrival.
        (Policy::LeastQueue, 5, 1),
    ] {
        let (network, _) = two_ways(policy, 0, Ps::MAX);
        let (_, snapshot) = ends_until(&network, us(1000));
        let taken = [snapshot.stations[0].departures, snapshot.stations[1].departures];
        assert_eq!(taken, [first, second], "{policy:?}");
    }
}

#[test]
fn ios_on_a_failed_arm_take_another_after_the_patience() {
    for (policy, expected) in [
        // At 25 the first two are pulled out; at 30 they take the second arm, as do later arrivals. The first arm
        // recovers at 45: `Fixed` returns to it, `ActivePassive` does not.
        (Policy::Fixed, [70, 80, 80, 80, 80, 90]),
        (Policy::ActivePassive, [80, 80, 80, 90, 100, 110]),
    ] {
        let (mut network, selector) = two_ways(policy, 5, Ps::MAX);
        network.change(us(25), Change::ArmDown { selector, arm: 0 });
        network.change(us(45), Change::ArmUp { selector, arm: 0 });
        let snapshot = check(&network, &expected);
        assert_eq!((snapshot.stations[0].pulled, snapshot.selectors[0].departures), (2, 2));
        assert_eq!(snapshot.selectors[0].stayed, 2 * u128::from(us(5).0));
    }
}

#[test]
fn without_an_arm_that_is_up_ios_wait_or_give_up() {
    let dies = |give_up| {
        let (mut network, selector) = two_ways(Policy::Fixed, 5, give_up);
        network.change(us(25), Change::ArmDown { selector, arm: 0 });
        network.change(us(25), Change::ArmDown { selector, arm: 1 });
        network.change(us(85), Change::ArmUp { selector, arm: 1 });
        network
    };
    check(&dies(Ps::MAX), &[135; 6]);
    let (ends, snapshot) = ends_until(&dies(us(35)), us(1000));
    let lost = [65, 65, 65, 75, 85].map(|at| (0, at, true));
    // An I/O whose patience ends at the moment the arm recovers takes the arm.
    assert_eq!(ends[..4], lost[..4], "{ends:?}");
    assert_eq!(ends[4..], [(0, 135, false); 2], "{ends:?}");
    assert_eq!((snapshot.classes[0].tally.lost, snapshot.selectors[0].lost), (4, 4));
    // Waiting for ever is a deadlock that names the selector.
    let (mut network, selector) = two_ways(Policy::Fixed, 5, Ps::MAX);
    network.change(us(25), Change::ArmDown { selector, arm: 0 });
    network.change(us(25), Change::ArmDown { selector, arm: 1 });
    let halt = Simulation::new(&network, 1).unwrap().run_until(us(1000)).unwrap_err();
    let waits = vec![Waiting { at: WaitPoint::Selector(selector), ios: 6 }];
    assert_eq!(halt, Halt::Deadlock { at: us(60), waits });
    assert!(halt.to_string().contains("6 for an arm of selector 0"), "{halt}");
}

#[test]
fn a_link_carries_more_or_less_or_nothing() {
    let mut network = Network::new();
    let station = network.station(Station::Links { rates: vec![100_000_000] });
    let cross = Hop::Cross { station, links: [0].into(), scale: 1.0, extra: 0 };
    network.load(every(10, 1, vec![cross]));
    let rate = |rate| Change::LinkRate { station, link: 0, rate };
    check(&network, &[20]);
    network.change(us(15), rate(50_000_000));
    check(&network, &[25]);
    network.change(us(20), rate(0));
    network.change(us(100), rate(25_000_000));
    let snapshot = check(&network, &[110]);
    let link = &snapshot.links[0][0];
    assert_eq!(link.bytes(), 1000.0);
    let could = 15e-6 * 100e6 + 5e-6 * 50e6 + 9900e-6 * 25e6;
    assert!((link.capacity() - could).abs() < 1e-6, "{} {could}", link.capacity());
}

#[test]
fn a_stopped_station_starts_no_service() {
    for (station, expected) in [
        (Station::SINGLE, [18, 108, 116]),
        (Station::Delay, [18, 108, 108]),
        // Three microseconds of the first, and all of the others, remain.
        (Station::Sharing { servers: 1 }, [109, 119, 119]),
    ] {
        let mut network = Network::new();
        let station = network.station(station);
        network.load(every(10, 3, vec![visit(station, 8)]));
        network.change(us(15), Change::Stop(station));
        network.change(us(100), Change::Go(station));
        let (ends, _) = ends_until(&network, us(1000));
        assert_eq!(ends.iter().map(|end| end.1).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn loads_begin_when_others_are_done() {
    let mut network = Network::new();
    let station = network.station(Station::SINGLE);
    let route = || Class::read(0, vec![visit(station, 10)]);
    let closed = || Load::closed(1, Law::Constant(us(5)), route());
    let first = network.load(closed().ending_after(2));
    let second = network.load(closed().ending_after(1).beginning(Begin::At(us(100))));
    network.load(closed().ending_after(1).beginning(Begin::After(vec![first, second])));
    let (ends, _) = ends_until(&network, us(1000));
    assert_eq!(ends, [(0, 15, false), (0, 30, false), (1, 115, false), (2, 130, false)]);
}

#[test]
fn a_load_that_is_stopped_issues_nothing() {
    let mut network = Network::new();
    let station = network.station(Station::Delay);
    let class = Class::read(0, vec![visit(station, 10)]);
    let load = network.load(Load::closed(1, Law::Constant(us(10)), class).ending_after(4));
    network.change(us(25), Change::LoadStop(load));
    network.change(us(95), Change::LoadStart(load));
    // It would have issued at 30, and does at 95.
    check(&network, &[20, 105, 125, 145]);
}

#[test]
fn operations_count_time_from_when_their_load_begins() {
    let process = workload::Process::Fixed { rate: 100_000.0 };
    let spec = workload::Spec {
        arrivals: workload::Arrivals::Open { process, limit: 8 },
        ..workload::preset("file-server").expect("a preset").spec()
    };
    let target = workload::Extent { size: 1 << 30, block: 512 };
    let place =
        workload::Placement { targets: vec![target], sharer: 0, sharers: 1, start: Ns::ZERO };
    let operations = Operations { spec, place, step: 0, worker: 0 };
    let mut network = Network::new();
    let station = network.station(Station::Delay);
    let class = || Class::read(0, vec![visit(station, 1)]);
    let source = Source::Operations(Box::new(operations));
    let load = Load::of(source, vec![class(), class()]).ending_after(3);
    network.load(load.beginning(Begin::At(us(500))));
    let (ends, _) = ends_until(&network, us(1000));
    assert_eq!(ends.iter().map(|(_, at, _)| *at).collect::<Vec<_>>(), [501, 511, 521]);
}

#[test]
fn bytes_count_as_written_after_an_as_hop() {
    let mut network = Network::new();
    let (a, b) = (network.station(Station::Delay), network.station(Station::Delay));
    let route = vec![visit(a, 1), Hop::As { dir: workload::Dir::Write }, visit(b, 1)];
    network.load(every(10, 3, route));
    let snapshot = check(&network, &[12, 22, 32]);
    assert_eq!((snapshot.stations[0].bytes, snapshot.stations[0].writes), ([3000, 0], 0));
    assert_eq!((snapshot.stations[1].bytes, snapshot.stations[1].writes), ([0, 3000], 3));
    assert_eq!(snapshot.stations[1].stayed_writing, snapshot.stations[1].stayed);
}

#[test]
fn progress_is_visible_from_outside_and_can_be_stopped() {
    let mut network = Network::new();
    let station = network.station(Station::SINGLE);
    network.load(Load::closed(1, Law::ZERO, Class::read(0, vec![visit(station, 1)])));
    let mut simulation = Simulation::new(&network, 1).unwrap();
    let progress = Arc::new(SharedProgress::default());
    simulation.report_to(progress.clone());
    simulation.run_until(us(1000)).unwrap();
    assert_eq!((progress.now(), progress.events()), (us(1000), simulation.dispatched()));
    progress.stop();
    let Err(Halt::Stopped(at)) = simulation.run_until(Ps::secs(3600)) else {
        panic!("not stopped")
    };
    assert!(at < Ps::secs(1), "{at:?}");
}

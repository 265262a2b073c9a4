//! The engine and a naive reference agree on every departure of every I/O, over random networks; and invariants of
//! every network hold: Little's law at every station, conservation of I/Os, utilization of at most 1.

mod naive;
mod networks;

use naive::{Story, tell};
use networks::{Kind, network, of_everything, of_queues, of_runs};
use proptest::prelude::*;
use sim::Ps;
use sim::engine::{Ended, Halt, Observer, Simulation, Snapshot};
use sim::model::{Network, Station};

#[derive(Default)]
struct Teller(Story);

impl Observer for Teller {
    const SERVICES: bool = true;

    fn served(&mut self, station: u32, class: u32, _: u32, now: Ps) {
        self.0.served.push((station, class, now.0));
    }

    fn ended(&mut self, io: &Ended) {
        self.0.ended.push((io.class, io.due.0, io.now.0, io.lost));
    }
}

const UNTIL: Ps = Ps::micros(400);

/// Runs and compares both; returns the engine's counts.
#[track_caller]
fn agree(network: &Network, seed: u64) -> Snapshot {
    let mut simulation = Simulation::unfused(network, seed, Teller::default()).unwrap();
    run_until(&mut simulation, UNTIL);
    let expected = tell(network, seed, UNTIL);
    let story = &simulation.observer().0;
    let same = story.served.iter().zip(&expected.served).take_while(|(a, b)| a == b).count();
    assert_eq!(
        story.served.get(same),
        expected.served.get(same),
        "the departure after {same} that agree"
    );
    assert_eq!(story.ended, expected.ended);
    simulation.snapshot()
}

fn run_until(simulation: &mut Simulation<Teller>, until: Ps) {
    match simulation.run_until(until) {
        Ok(()) | Err(Halt::Deadlock { .. }) => {}
        Err(halt) => panic!("{halt}"),
    }
}

/// With and without shortcuts, all I/Os leave all stations at the same times, and all counts are equal at all times.
/// Returns the number of events of each.
#[track_caller]
fn shortcuts_agree(network: &Network, seed: u64) -> (u64, u64) {
    let mut fused = Simulation::observed(network, seed, Teller::default()).unwrap();
    let mut plain = Simulation::unfused(network, seed, Teller::default()).unwrap();
    for until in [UNTIL.0 / 7, UNTIL.0 / 3, UNTIL.0] {
        run_until(&mut fused, Ps(until));
        run_until(&mut plain, Ps(until));
        assert_eq!(fused.snapshot(), plain.snapshot());
        assert_eq!(fused.observer().0.ended, plain.observer().0.ended);
    }
    // An I/O on fused visits is reported at their end.
    let told = |simulation: &Simulation<Teller>, until: Ps| {
        let served = simulation.observer().0.served.iter();
        let mut all: Vec<_> =
            served.filter(|(.., at)| *at < until.0).map(|(a, b, at)| (*at, *a, *b)).collect();
        all.sort_unstable();
        all
    };
    let before = Ps(fused.now().0.saturating_sub(Ps::micros(20).0));
    assert_eq!(told(&fused, before), told(&plain, before));
    (fused.dispatched(), plain.dispatched())
}

/// Invariants of all networks. Integrals and sums of residence times are compared exactly: they differ only by the I/Os
/// still present, whose share is bounded by the elapsed time.
fn invariants(network: &Network, snapshot: &Snapshot) {
    let span = u128::from(snapshot.at.0);
    for (station, tally) in network.stations().iter().zip(&snapshot.stations) {
        let level = tally.level;
        assert_eq!(
            tally.arrivals,
            tally.departures + tally.pulled + u64::from(level.present),
            "I/Os are conserved"
        );
        assert!(tally.stayed <= tally.present);
        assert!(tally.present - tally.stayed <= u128::from(level.present) * span);
        if level.present == 0 {
            assert_eq!(tally.present, tally.stayed, "Little's law");
        }
        let servers = match station {
            Station::Queue { servers, .. }
            | Station::Sharing { servers }
            | Station::Sorted { servers, .. } => *servers,
            Station::Delay | Station::Batch { .. } => u32::MAX,
            Station::Links { .. } | Station::Gated(_) => 1,
            Station::Processors { count, .. } => *count,
        };
        assert!(tally.busy + tally.blocked <= u128::from(servers) * span, "busier than always");
        assert!(tally.busy + tally.blocked <= tally.present);
        if let Station::Queue { capacity: Some(capacity), .. } = station {
            assert!(level.present <= *capacity);
        }
    }
    for (pool, tally) in network.pools().iter().zip(&snapshot.pools) {
        assert_eq!(
            tally.arrivals,
            tally.departures + tally.pulled + u64::from(tally.level.present)
        );
        assert!(tally.level.busy <= pool.tokens);
        assert!(tally.busy <= u128::from(pool.tokens) * span);
    }
    for class in &snapshot.classes {
        let tally = &class.tally;
        assert_eq!(
            tally.arrivals,
            tally.departures + tally.lost + u64::from(tally.level.present),
            "I/Os are conserved"
        );
        assert!(class.responded >= tally.stayed);
    }
    for selector in &snapshot.selectors {
        let gone = selector.departures + selector.pulled + selector.lost;
        assert_eq!(selector.arrivals, gone + u64::from(selector.level.present));
    }
    for links in snapshot.links.iter().flatten() {
        assert!(links.bytes() <= links.capacity());
    }
    let inside: u32 = snapshot.classes.iter().map(|class| class.tally.level.present).sum();
    let most: u32 = network.loads().iter().map(|load| load.limit()).sum();
    assert!(inside <= most);
    let at_stations: u32 = snapshot.stations.iter().map(|station| station.level.present).sum();
    let in_line: u32 = snapshot.pools.iter().map(|pool| pool.level.present).sum();
    if inside + at_stations + in_line == 0 {
        assert!(snapshot.pools.iter().all(|pool| pool.level.busy == 0), "tokens are conserved");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 250,
        rng_seed: proptest::test_runner::RngSeed::Fixed(8),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn in_product_form(network in network(&[Kind::Single, Kind::Many, Kind::Delay, Kind::Sharing]), seed in 0u64..1000) {
        invariants(&network, &agree(&network, seed));
    }

    #[test]
    fn with_loss_and_blocking(
        network in network(&[Kind::Single, Kind::Losing, Kind::Blocking, Kind::Blocking]),
        seed in 0u64..1000,
    ) {
        invariants(&network, &agree(&network, seed));
    }

    #[test]
    fn over_links(network in network(&[Kind::Links, Kind::Links, Kind::Many]), seed in 0u64..1000) {
        invariants(&network, &agree(&network, seed));
        shortcuts_agree(&network, seed);
    }

    #[test]
    fn of_all_kinds(network in network(&Kind::ALL), seed in 0u64..1000) {
        invariants(&network, &agree(&network, seed));
        shortcuts_agree(&network, seed);
    }

    #[test]
    fn networks_of_everything(network in of_everything(), seed in 0u64..1000) {
        invariants(&network, &agree(&network, seed));
        shortcuts_agree(&network, seed);
    }

    #[test]
    fn with_queues_whose_departures_are_known(network in of_queues(), seed in 0u64..1000) {
        invariants(&network, &agree(&network, seed));
        let (fused, plain) = shortcuts_agree(&network, seed);
        if plain > 400 {
            assert!(fused < plain, "nothing was fused");
        }
    }

    #[test]
    fn with_fused_hops(network in of_runs(), seed in 0u64..1000) {
        invariants(&network, &agree(&network, seed));
        let (fused, plain) = shortcuts_agree(&network, seed);
        if plain > 200 {
            assert!(fused < plain, "nothing was fused");
        }
    }
}

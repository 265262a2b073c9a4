//! Links that are simulated apart from the rest, in windows: nothing happens at another time, or in another order, than
//! without shortcuts. Half of all times are whole microseconds, so that events coincide.

use clock::Rng;
use scenario::{Source as Text, Step};
use sim::Ps;
use sim::engine::{Ended, Halt, Observer, SharedProgress, Simulation};
use sim::lab::compile;
use sim::model::*;
use std::sync::Arc;

/// The ends of I/Os; with `TOGETHER` nothing is simulated apart.
#[derive(Default)]
struct Ends<const TOGETHER: bool>(Vec<Ended>);

impl<const TOGETHER: bool> Observer for Ends<TOGETHER> {
    const SERVICES: bool = TOGETHER;

    fn ended(&mut self, io: &Ended) {
        self.0.push(*io);
    }
}

/// A network like a storage fabric: hosts' processors, adapters, wires to an array's directors, and back.
struct Fabric {
    network: Network,
    rng: Rng,
}

impl Fabric {
    fn new(seed: u64) -> Fabric {
        Fabric { network: Network::new(), rng: Rng::keyed(seed, &[]) }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.rng.below(n)
    }

    /// A time from `least` microseconds up to as many more.
    fn time(&mut self, least: u64) -> Law {
        let (low, more) = (Ps::micros(least), Ps(self.rng.below(least * 1_000_000) + 1));
        match self.rng.below(4) {
            0 => Law::Uniform(low, low.plus(more)),
            1 => Law::Constant(low.plus(more)),
            _ => Law::Constant(low.plus(Ps::micros(self.rng.below(least + 1)))),
        }
    }

    /// Links of a trunk and of others behind it.
    fn wires(&mut self, others: usize) -> StationId {
        let trunk = 1_000_000_000 * (1 + self.below(3));
        let other =
            |n: u64| [trunk, trunk - 1, trunk - trunk / 50, trunk / 2, 3 * trunk][n as usize];
        let rates = (0..others).map(|_| other(self.rng.below(5))).collect::<Vec<u64>>();
        self.network.station(Station::Links { rates: [vec![trunk], rates].concat() })
    }

    /// A pool for so many I/Os, or for fewer.
    fn pool(&mut self, ios: u32) -> PoolId {
        let tokens = if self.rng.chance(0.5) { ios } else { ios.div_ceil(2) };
        self.network.pool(Pool { tokens })
    }
}

/// What may stand in the way of windows, one of them or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spoiler {
    Nothing,
    /// Some I/Os come to a director another way.
    OtherWay,
    /// A delay leads to more than its wires.
    SharedDelay,
    /// Tokens are taken behind the director.
    TokensBehind,
    /// Some skip the array.
    Skip,
    /// There is no director, but only delays.
    NoDirector,
}

const SPOILERS: [Spoiler; 6] = [
    Spoiler::Nothing,
    Spoiler::OtherWay,
    Spoiler::SharedDelay,
    Spoiler::TokensBehind,
    Spoiler::Skip,
    Spoiler::NoDirector,
];

/// Loads through two to four adapters; `total` I/Os each, where given.
fn fabric(seed: u64, spoiler: Spoiler, total: Option<u64>) -> Network {
    let mut of = Fabric::new(seed);
    let host = of.network.station(Station::many(20 + seed as u32 % 9));
    let directors: Vec<StationId> =
        (0..1 + of.below(3)).map(|n| of.network.station(Station::many(2 + n as u32))).collect();
    let cache = of.network.station(Station::Delay);
    let cached = Law::Constant(Ps::micros(30 + of.below(20)));
    let adapters: Vec<(StationId, StationId, StationId, Law)> = (0..2 + of.below(2))
        .map(|_| {
            let (out, back) = (of.wires(2), of.wires(2));
            let delay = of.network.station(Station::Delay);
            (delay, out, back, of.time(1))
        })
        .collect();
    let handed = of.network.pool(Pool { tokens: 1000 });
    for number in 0..8u64 {
        let (delay, out, back, takes) = adapters[number as usize % adapters.len()].clone();
        let director = directors[number as usize % directors.len()];
        let few = total.is_some() && number == 0;
        let customers = if few { 2 } else { 24 + of.below(24) as u32 };
        let (disk, lun) = (of.pool(customers), of.pool(customers));
        let links = [0, 1 + number as u16 % 2];
        let cross = |station, scale| Hop::Cross { station, links: links.into(), scale, extra: 48 };
        let mut route = vec![
            Hop::Take { pool: disk, tokens: 1 },
            Hop::visit(host, of.time(1)),
            Hop::Take { pool: lun, tokens: 1 },
            Hop::visit(delay, takes.clone()),
            cross(out, f64::MIN_POSITIVE),
            Hop::visit(director, of.time(1)),
            Hop::visit(cache, cached.clone()),
            cross(back, 1.0),
            Hop::Give { pool: lun, tokens: 1 },
            Hop::visit(host, of.time(1)),
            Hop::Give { pool: disk, tokens: 1 },
        ];
        match spoiler {
            Spoiler::OtherWay if number % 3 == 0 => drop(route.drain(3..5)),
            Spoiler::SharedDelay if number % 3 == 0 => drop(route.remove(4)),
            Spoiler::TokensBehind => {
                route.insert(6, Hop::Take { pool: handed, tokens: 1 });
                route.push(Hop::Give { pool: handed, tokens: 1 });
            }
            Spoiler::Skip => route.insert(4, Hop::Skip { chance: 0.2, hops: 4 }),
            Spoiler::NoDirector if number % 2 == 0 => drop(route.remove(5)),
            _ => {}
        }
        let bytes = 512 << of.below(4);
        let think = if number % 2 == 0 { Law::ZERO } else { of.time(1) };
        let load = Load::closed(customers, think, Class::read(bytes, route));
        of.network.load(match total {
            Some(total) if number > 0 => load.ending_after(total),
            _ => load,
        });
    }
    of.network
}

fn run_until<O: Observer>(simulation: &mut Simulation<O>, moment: Ps) {
    match simulation.run_until(moment) {
        Ok(()) | Err(Halt::Deadlock { .. }) => {}
        Err(halt) => panic!("{halt}"),
    }
}

/// Runs simulations with windows, without, and without any shortcut to each of these moments, and compares all that can be
/// seen. The stations of links that were apart at each.
fn agree(network: &Network, seed: u64, moments: &[Ps]) -> Vec<usize> {
    let mut apart = Simulation::observed(network, seed, Ends::<false>::default()).unwrap();
    let mut together = Simulation::observed(network, seed, Ends::<true>::default()).unwrap();
    let mut plain = Simulation::unfused(network, seed, Ends::<true>::default()).unwrap();
    let mut open = Vec::new();
    for moment in moments {
        run_until(&mut apart, *moment);
        run_until(&mut together, *moment);
        run_until(&mut plain, *moment);
        assert_eq!(together.links_apart(), 0);
        assert_eq!(apart.snapshot(), plain.snapshot());
        assert_eq!(apart.held(), plain.held());
        let same = apart.observer().0.iter().zip(&plain.observer().0).take_while(|(a, b)| a == b);
        let same = same.count();
        assert_eq!(apart.observer().0.get(same), plain.observer().0.get(same), "after {same}");
        for number in 0..network.stations().len() {
            let station = StationId(number as u32);
            // An I/O on fused visits is counted at their end.
            assert!(apart.latency(station) == together.latency(station), "{station:?}");
            assert_eq!(apart.crossed(station), plain.crossed(station), "{station:?}");
        }
        for number in 0..network.pools().len() {
            let pool = PoolId(number as u32);
            assert!(apart.waits(pool) == together.waits(pool), "{pool:?}");
        }
        let mut both = [Vec::new(), Vec::new()];
        apart.under_way(&mut both[0]);
        plain.under_way(&mut both[1]);
        assert_eq!(both[0], both[1]);
        open.push(apart.links_apart());
    }
    assert_eq!(apart.dispatched(), together.dispatched());
    open
}

fn millis(all: &[u64]) -> Vec<Ps> {
    all.iter().map(|at| Ps(at * 1_000_000_000 + 777_777)).collect()
}

#[test]
fn links_apart_change_nothing() {
    let mut opened = [0; SPOILERS.len()];
    for seed in 0..120 {
        let number = seed as usize % SPOILERS.len();
        let network = fabric(seed, SPOILERS[number], None);
        let open = agree(&network, seed, &millis(&[1, 2, 3, 5, 8]));
        opened[number] += usize::from(open.last() > Some(&0));
    }
    // Where nothing is in the way all wires are apart, and else some at most.
    assert_eq!(opened[0], 20, "{opened:?}");
    assert!(opened.iter().sum::<usize>() < 120, "{opened:?}");
}

/// Windows are shorter than the time between two updates of the progress.
#[test]
fn a_simulation_in_windows_can_be_stopped() {
    let mut simulation = Simulation::new(&fabric(0, Spoiler::Nothing, None), 1).unwrap();
    let progress = Arc::new(SharedProgress::default());
    simulation.report_to(progress.clone());
    millis(&[1, 2, 3]).into_iter().for_each(|at| simulation.run_until(at).unwrap());
    assert!(simulation.links_apart() > 0);
    progress.stop();
    let halted = simulation.run_until(Ps::secs(1)).unwrap_err();
    assert!(matches!(halted, Halt::Stopped(at) if at < Ps::millis(100)), "{halted:?}");
}

/// With two I/Os left there are too few events for windows.
#[test]
fn all_are_simulated_together_again_when_events_are_few() {
    let network = fabric(12, Spoiler::Nothing, Some(2_000));
    let open = agree(&network, 3, &millis(&[1, 2, 3, 40, 60]));
    assert!(open[1] > 0 && open.last() == Some(&0), "{open:?}");
}

/// A million I/Os a second: the wires of 12 ports, in both directions. With a few I/Os at each disk the LUNs' queues never
/// limit, and what leads to the wires is one event.
#[test]
fn a_lab_is_the_same_with_its_wires_apart() {
    let name = "lab4-million-iops.toml".to_owned();
    let text = include_str!("../../../../scenarios/lab4-million-iops.toml").to_owned();
    let scenario = scenario::load(&Text { name, text, ..Text::default() }).unwrap();
    for (plan, key, value) in [("sizes", "block", "8KiB"), ("load", "depth", "4")] {
        let asked = (key.to_owned(), value.to_owned());
        let is_it = |step: &Step| step.plan == plan && step.settings.contains(&asked);
        let step = scenario.steps().into_iter().find(is_it).unwrap();
        let plant = compile(&scenario, &scenario.topology().unwrap(), &step).unwrap();
        let open = agree(&plant.network, 5, &millis(&[1, 8, 11]));
        assert_eq!(open.last(), Some(&12), "{plan}: {open:?}");
    }
}

//! How fast a whole lab is simulated: VMware's million I/Os a second of 2011, on one thread, against real time.
//!
//! Times the engine on the step with the highest throughput, after warm-up: 6 VMs, 60 virtual disks on 18 virtual
//! adapters, processors of guests and of the hypervisor, queue limits, 12 ports of 8Gb with their wires through a
//! switch to 60 ports of an array, its controllers and its cache. That is 1.2 million I/Os a second, the limit of the
//! ports; the same lab with 4 instead of 32 I/Os outstanding per disk is timed as well, the step closest to the million
//! of the claim. Rounds are short and many, because other work on the machine only slows a round down: the best and the
//! median are printed. Compiling and estimating are timed too, because elasticities need hundreds of them. Nothing is
//! asserted.
//!
//! `cargo bench --package sim --bench labs -- FILE [KEY=VALUE …]` times another scenario.

use scenario::{Scenario, Source, Step};
use sim::Ps;
use sim::engine::{Observer, Simulation};
use sim::estimate::estimate;
use sim::lab::compile;
use sim::plant::Plant;
use std::hint::black_box;

const LAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lab4-million-iops.toml");
/// Simulated time before the first round, and per round.
const WARMUP: Ps = Ps::millis(50);
const ROUND: Ps = Ps::millis(200);
const ROUNDS: u64 = 10;
/// Compilations and estimates.
const LAPS: usize = 20;

/// Keeps no histograms, like the observer of a recorded simulation.
struct Plain;

impl Observer for Plain {
    const TIMES: bool = false;
}

fn main() {
    let (file, overrides) = arguments();
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let source = Source { name: file.clone(), text, overrides, ..Source::default() };
    let scenario = scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let topology = scenario.topology().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    println!("\n{file}");
    for step in timed(&scenario) {
        let plant_of =
            || compile(&scenario, &topology, &step).unwrap_or_else(|error| panic!("{error}"));
        println!("  step: {}", step.name());
        let plant = plant_of();
        round_trip(&plant);
        laps("compile", || plant_of().hops.len());
        laps("estimate", || estimate(&plant).iops as usize);
    }
}

/// The file and its overrides.
fn arguments() -> (String, Vec<(String, String)>) {
    let given: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let file = given.first().cloned().unwrap_or_else(|| LAB.to_owned());
    let sets = given.iter().skip(1).filter_map(|set| set.split_once('='));
    (file, sets.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

/// The step of the claim, and the one closest to a million I/Os a second; of another scenario the first.
fn timed(scenario: &Scenario) -> Vec<Step> {
    let of = |plan: &str, key: &str, value: &str| {
        let asked = (key.to_owned(), value.to_owned());
        let is_it = |step: &Step| step.plan == plan && step.settings.contains(&asked);
        scenario.steps().into_iter().find(is_it)
    };
    let steps = [of("sizes", "block", "8KiB"), of("load", "depth", "4")];
    let steps: Vec<Step> = steps.into_iter().flatten().collect();
    if steps.is_empty() { scenario.steps().into_iter().take(1).collect() } else { steps }
}

/// Simulates the plant.
fn round_trip(plant: &Plant) {
    let mut simulation =
        Simulation::observed(&plant.network, 1, Plain).unwrap_or_else(|error| panic!("{error}"));
    let run = |simulation: &mut Simulation<Plain>, until: Ps| {
        simulation.run_until(until).unwrap_or_else(|halt| panic!("{halt}"));
    };
    run(&mut simulation, WARMUP);
    let (ios, events) = (ios(&mut simulation), simulation.dispatched());
    let mut rounds = Vec::new();
    for round in 1..=ROUNDS {
        let laps = Laps::begin();
        run(&mut simulation, WARMUP.plus(Ps(ROUND.0 * round)));
        rounds.push(laps.end());
    }
    let ios = (self::ios(&mut simulation) - ios) as f64;
    let events = (simulation.dispatched() - events) as f64 / ios;
    let rate = ios / (ROUND.as_secs_f64() * ROUNDS as f64);
    let network = &plant.network;
    println!(
        "  {} hops, {} stations, {} queue limits; {rate:.0} I/Os a simulated second, {events:.1} events an I/O; {} links apart",
        plant.hops.len(),
        network.stations().len(),
        network.pools().len(),
        simulation.links_apart(),
    );
    println!("  one thread, {ROUNDS} rounds    simulated s a second      I/Os/s     events/s");
    for (name, of_cpu) in [("processor time", true), ("wall time", false)] {
        let of = |laps: &Laps| if of_cpu { laps.cpu } else { laps.wall };
        let mut seconds: Vec<f64> = rounds.iter().map(of).collect();
        seconds.sort_by(f64::total_cmp);
        for (which, seconds) in [("best", seconds[0]), ("median", seconds[seconds.len() / 2])] {
            let ratio = ROUND.as_secs_f64() / seconds;
            let (ios, events) = (ratio * rate, ratio * rate * events);
            println!("    {name:<14} {which:<8} {ratio:>18.2} {ios:>11.0} {events:>12.0}");
        }
    }
}

/// I/Os that have completed.
fn ios(simulation: &mut Simulation<Plain>) -> u64 {
    simulation.snapshot().classes.iter().map(|class| class.tally.departures).sum()
}

/// Thread CPU seconds and wall-clock seconds.
struct Laps {
    cpu: f64,
    wall: f64,
}

impl Laps {
    /// Current readings of both clocks.
    fn begin() -> Laps {
        let used = clock::thread_cpu();
        let cpu = used.user.plus(used.system).as_secs_f64();
        Laps { cpu, wall: clock::now().as_secs_f64() }
    }

    /// Elapsed time on both clocks.
    fn end(self) -> Laps {
        let now = Laps::begin();
        Laps { cpu: now.cpu - self.cpu, wall: now.wall - self.wall }
    }
}

/// The duration of an operation: CPU time over all laps, because its clock is coarse.
fn laps(name: &str, what: impl Fn() -> usize) {
    let all = Laps::begin();
    let mut best = f64::INFINITY;
    for _ in 0..LAPS {
        let lap = Laps::begin();
        black_box(what());
        best = best.min(lap.end().wall);
    }
    let mean = all.end().cpu / LAPS as f64;
    println!(
        "  {name:<9} {:>8.2} ms of processor time, at best {:.2} ms by the wall's clock",
        mean * 1e3,
        best * 1e3
    );
}

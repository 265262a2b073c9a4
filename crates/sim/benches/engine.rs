//! Engine speed: the event queue by the hold model, and M/M/1 with every event going through it, against Cimba and
//! SimPy in the same run.
//!
//! All figures are processor time of the one simulating thread, taken in turn (ours, Cimba, SimPy, ours …), so that
//! drift of the machine affects all; ratios are medians. Set-up, compiling and loading are not counted.
//! `scripts/simulators` installs the peers beside the build; where it cannot, their lines say `skipped`.

use clock::Rng;
use sim::Ps;
use sim::engine::{EventKey, EventQueue, SimEvent, Simulation};
use sim::model::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Rounds of each.
const ROUNDS: usize = 5;
/// Customers of a round: about half a second's worth.
const CUSTOMERS: u64 = 4_000_000;
const CUSTOMERS_CIMBA: u64 = 2_000_000;
const CUSTOMERS_SIMPY: u64 = 100_000;
/// Holds of a round.
const HOLDS: u64 = 2_000_000;
/// The queue follows the pace of the events as often as the engine lets it.
const TUNED: u64 = 1 << 16;
/// Load of M/M/1, and its mean residence time in units of service time.
const LOAD: f64 = 0.75;

fn main() {
    hold_model();
    fused_hops();
    let ours: fn() -> Round = mm1;
    println!(
        "\nM/M/1 at load {LOAD}, timed events a second of processor time; {ROUNDS} rounds in turn"
    );
    let python = peers();
    let script =
        |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(name);
    let peer = |name, customers: u64| {
        python.as_ref().and_then(|python| run(python, &script(name), customers))
    };
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let cimba = peer("mm1_cimba.py", CUSTOMERS_CIMBA);
        rounds.push((ours(), cimba, peer("mm1_simpy.py", CUSTOMERS_SIMPY)));
    }
    let all: Vec<f64> = rounds.iter().map(|(ours, ..)| ours.rate()).collect();
    let stay = rounds[0].0.stay;
    println!("  ours   {:>8.2} M/s, mean time in the system {stay:.3}", median(&all) / 1e6);
    compare("Cimba", 3.0, rounds.iter().map(|(ours, cimba, _)| (*ours, *cimba)));
    compare("SimPy", 50.0, rounds.iter().map(|(ours, _, simpy)| (*ours, *simpy)));
}

/// Hops of a simulated I/O in the comparison of fused with plain.
const HOPS: u64 = 10;

/// A path of constant delays to one queue: the saving by fusing.
fn fused_hops() {
    let mut network = Network::new();
    let delay = |number: u64| Law::Constant(Ps::nanos(300 + 70 * number));
    let delays = (1..HOPS).map(|number| Hop::visit(network.station(Station::Delay), delay(number)));
    let mut route: Vec<Hop> = delays.collect();
    route.push(Hop::visit(network.station(Station::SINGLE), Law::Exponential(Ps::micros(1))));
    network.load(Load::closed(64, Law::Exponential(Ps::micros(80)), Class::read(4096, route)));
    let round = |fused: bool| {
        let made = if fused {
            Simulation::observed(&network, 1, ())
        } else {
            Simulation::unfused(&network, 1, ())
        };
        let mut simulation = made.expect("a path can be simulated");
        let began = clock::thread_cpu();
        simulation.run_until(Ps::millis(300)).expect("a path does not halt");
        let seconds = seconds_since(began);
        let ios = simulation.snapshot().classes[0].tally.departures as f64;
        (ios / seconds, simulation.dispatched() as f64 / ios)
    };
    println!("\nfused hops: {HOPS} hops a simulated I/O, medians of {ROUNDS} rounds in turn");
    let rounds: Vec<_> = (0..ROUNDS).map(|_| (round(true), round(false))).collect();
    for (name, fused) in [("fused", true), ("plain", false)] {
        let of = |pair: &((f64, f64), (f64, f64))| if fused { pair.0 } else { pair.1 };
        let rates: Vec<f64> = rounds.iter().map(|pair| of(pair).0).collect();
        let rate = median(&rates);
        println!(
            "  {name}  {:>6.2} M I/Os/s, {:>7.2} M hops/s, {:.2} events an I/O",
            rate / 1e6,
            rate * HOPS as f64 / 1e6,
            of(&rounds[0]).1
        );
    }
}

/// The result of one M/M/1 round.
#[derive(Clone, Copy)]
struct Round {
    events: f64,
    seconds: f64,
    /// Mean residence time in units of service time.
    stay: f64,
}

impl Round {
    fn rate(&self) -> f64 {
        self.events / self.seconds
    }
}

fn compare(name: &str, bar: f64, rounds: impl Iterator<Item = (Round, Option<Round>)>) {
    let pairs: Vec<(Round, Round)> =
        rounds.filter_map(|(ours, theirs)| Some((ours, theirs?))).collect();
    if pairs.len() < ROUNDS {
        return println!("  skipped: {name} cannot be had here");
    }
    let rates: Vec<f64> = pairs.iter().map(|(_, theirs)| theirs.rate()).collect();
    let ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| ours.rate() / theirs.rate()).collect();
    let (low, high) = ends(&ratios);
    println!(
        "  {name:<6} {:>8.2} M/s, mean time in the system {:.3}; ours is {:.2} times as fast ({low:.2} to {high:.2}), \
         at least {bar}: {}",
        median(&rates) / 1e6,
        pairs[0].1.stay,
        median(&ratios),
        if median(&ratios) >= bar { "met" } else { "MISSED" },
    );
}

/// Our own round: every arrival and every end of service goes through the event queue.
fn mm1() -> Round {
    let mut network = Network::new();
    let station = network.station(Station::SINGLE);
    let service = Law::Exponential(Ps::micros(1));
    let class = Class::read(4096, vec![Hop::visit(station, service)]);
    let gap = Law::Exponential(Ps((1e6 / LOAD) as u64));
    network.load(Load::open(gap, 1 << 16, class));
    let mut simulation = Simulation::new(&network, 1).expect("M/M/1 can be simulated");
    let began = clock::thread_cpu();
    let until = Ps((CUSTOMERS as f64 * 1e6 / LOAD) as u64);
    simulation.run_until(until).expect("M/M/1 does not halt");
    let seconds = seconds_since(began);
    let tally = simulation.snapshot().stations[0];
    let stay = tally.stayed as f64 / tally.departures as f64 / 1e6;
    Round { events: simulation.dispatched() as f64, seconds, stay }
}

fn seconds_since(began: clock::CpuTime) -> f64 {
    let used = clock::thread_cpu().since(began);
    used.user.plus(used.system).as_secs_f64()
}

/// A Python with the peers; `None` where they cannot be installed.
fn peers() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/simulators");
    let room = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulators");
    let installed = Command::new(script).arg(&room).status();
    let python = room.join("bin/python");
    installed.is_ok_and(|status| status.success()).then_some(python)
}

/// A round of a peer: its script prints events, seconds, and the mean time in the system.
fn run(python: &Path, script: &Path, customers: u64) -> Option<Round> {
    let output = Command::new(python).arg(script).arg(customers.to_string()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut figures = text.split_whitespace().filter_map(|figure| figure.parse().ok());
    let mut next = || figures.next();
    Some(Round { events: next()?, seconds: next()?, stay: next()? })
}

/// Removes the first event and inserts another, repeatedly (Jones 1986), with exponential increments.
fn hold_model() {
    println!("hold model: ns a hold, {HOLDS} holds, medians of {ROUNDS} rounds in turn");
    println!("  pending      ours   std::collections::BinaryHeap   ratio");
    let mut rng = Rng::keyed(1, &[]);
    let spans: Vec<u64> = (0..1 << 12).map(|_| rng.exp(1e6) as u64 + 1).collect();
    for count in [2, 64, 2_048, 65_536] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(hold_ours(count, &spans));
            theirs.push(hold_binary(count, &spans));
        }
        let (ours, theirs) = (median(&ours), median(&theirs));
        println!("  {count:>7} {ours:>9.1} {theirs:>30.1} {:>7.2}", theirs / ours);
    }
}

fn events(count: u64, spans: &[u64]) -> impl Iterator<Item = SimEvent> + '_ {
    (0..count).map(|n| SimEvent::new(Ps(spans[n as usize % spans.len()] + n), 0, n, n as u32))
}

fn later(event: SimEvent, number: u64, spans: &[u64]) -> SimEvent {
    let span = Ps(spans[number as usize % spans.len()]);
    SimEvent::new(event.time.plus(span), 0, number, event.who)
}

fn hold_ours(count: u64, spans: &[u64]) -> f64 {
    let mut pending = EventQueue::with_capacity(count as usize);
    events(count, spans).for_each(|event| pending.push(event));
    let began = clock::thread_cpu();
    for number in count..count + HOLDS {
        if let Some(event) = pending.pop_before(EventKey::MAX) {
            pending.push(later(event, number, spans));
            if number % TUNED == 0 {
                pending.tune(event.time);
            }
        }
    }
    black_box(pending.len());
    seconds_since(began) * 1e9 / HOLDS as f64
}

fn hold_binary(count: u64, spans: &[u64]) -> f64 {
    let mut pending: BinaryHeap<Reverse<(EventKey, u32)>> =
        events(count, spans).map(|event| Reverse((event.key(), event.who))).collect();
    let began = clock::thread_cpu();
    for number in count..count + HOLDS {
        if let Some(Reverse((key, who))) = pending.pop() {
            let event = SimEvent::new(Ps((key >> 64) as u64), 0, number, who);
            let next = later(event, number, spans);
            pending.push(Reverse((next.key(), who)));
        }
    }
    black_box(pending.len());
    seconds_since(began) * 1e9 / HOLDS as f64
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn ends(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}

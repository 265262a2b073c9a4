//! Threads that serve their I/Os in passes and share processors: the engine's stations and the estimator's server of the
//! population, against closed forms and against an independent simulation (`passes.py`).

mod lab;

use crate::estimate::labs::Lab;
use sim::Ps;
use sim::engine::Simulation;
use sim::estimate::estimate;
use sim::model::*;
use sim::plant::Plant;
use sim::study::{Length, StudyPlan, study};
use std::process::Command;
use std::sync::OnceLock;
use workload::Dir;

/// A machine with its loads; times in microseconds.
#[derive(Clone, Copy, Debug)]
struct Machine {
    vms: u32,
    depth: u32,
    processors: u32,
    wake: f64,
    switch: f64,
    pass: f64,
    each: f64,
    spin: f64,
    /// I/Os that fill a part of what a target's pass sends; 0: all leave together.
    part: f64,
    halt: Option<Halting>,
}

fn us(micros: f64) -> Ps {
    Ps::from_secs_f64(micros * 1e-6)
}

impl Machine {
    /// An initiator thread a VM, and as many target threads as processors.
    fn plant(self, varied: bool) -> Plant {
        let mut lab = Lab::default();
        let processors = lab
            .station("processors", Station::Processors { count: self.processors, halt: self.halt });
        let law = match varied {
            true => Law::Uniform(us(0.5 * self.each), us(1.5 * self.each)),
            false => Law::Constant(us(self.each)),
        };
        for vm in 0..self.vms {
            let mut gate = |thread, spin, counted, parts| {
                let (pass, wake, switch) = (us(self.pass), us(self.wake), us(self.switch));
                let gate = Gated { processors, thread, pass, wake, switch, spin, counted, parts };
                lab.network().station(Station::Gated(gate))
            };
            let bytes = (self.part * 8192.0) as u32;
            let parts = Parts { dir: Dir::Read, bytes, header: 0 };
            let parts = Some(parts).filter(|_| self.part > 0.0);
            let target = gate(vm % self.processors, Ps::ZERO, false, parts);
            let initiator = gate(self.processors + vm, us(self.spin), true, None);
            let route = [target, initiator].map(|station| Hop::visit(station, law.clone()));
            let class = Class::read(8192, route.to_vec());
            lab.issuer(&format!("vm{vm}"), Load::closed(self.depth, Law::ZERO, class));
        }
        lab.plant
    }
}

/// I/Os a second and mean seconds, simulated.
fn simulated(network: &Network, seconds: f64) -> (f64, f64) {
    let (warmup, measured) = (Ps::from_secs_f64(0.2 * seconds), Ps::from_secs_f64(seconds));
    let length = Length::Fixed { warmup, measured };
    let plan = StudyPlan { seed: 5, length, runs: 1, threads: 1 };
    let study = study(network, &plan).expect("a study");
    let (mut done, mut stayed, mut span) = (0.0, 0.0, 0.0);
    for cell in study.runs.iter().flat_map(|run| &run.cells) {
        span += cell.at.as_secs_f64();
        for class in &cell.classes {
            done += class.tally.departures as f64;
            stayed += class.tally.stayed as f64 * 1e-12;
        }
    }
    (done / span, stayed / done)
}

/// Mean seconds from due to end, simulated.
fn responses(network: &Network, seconds: f64) -> f64 {
    let mut simulation = Simulation::new(network, 6).expect("a simulation");
    let mut sums = [(0, 0); 2];
    for (sum, until) in sums.iter_mut().zip([0.2, 1.2]) {
        simulation.run_until(Ps::from_secs_f64(until * seconds)).expect("it runs");
        let class = &simulation.snapshot().classes[0];
        *sum = (class.tally.departures, class.responded);
    }
    let [(before, from), (ended, to)] = sums;
    (to - from) as f64 * 1e-12 / (ended - before) as f64
}

#[track_caller]
fn near(what: &str, ours: f64, truth: f64, within: f64) {
    assert!((ours / truth - 1.0).abs() <= within, "{what}: {ours} and not {truth}");
}

/// One VM moves its I/Os as one clump: every pass serves all of them.
#[test]
fn one_clump_by_its_closed_form() {
    for (depth, wake, pass, each) in
        [(1, 30.0, 4.0, 1.5), (2, 2.0, 5.0, 3.0), (8, 30.0, 4.0, 1.5), (64, 20.0, 6.0, 12.0)]
    {
        let machine = Machine {
            vms: 1,
            depth,
            processors: 2,
            wake,
            switch: 0.0,
            pass,
            each,
            spin: 0.0,
            part: 0.0,
            halt: None,
        };
        let cycle = 2.0 * (wake + pass + f64::from(depth) * each) * 1e-6;
        let truth = f64::from(depth) / cycle;
        let plant = machine.plant(false);
        near("simulated", simulated(&plant.network, 1000.0 * cycle).0, truth, 2e-3);
        near("estimated", estimate(&plant).iops, truth, 1e-3);
        // On one processor nothing sleeps while there is work: waking costs nothing.
        let alone = Machine { processors: 1, ..machine }.plant(false);
        let truth = f64::from(depth) / (cycle - 2.0 * wake * 1e-6);
        near("on one processor", simulated(&alone.network, 1000.0 * cycle).0, truth, 2e-3);
        near("estimated on one", estimate(&alone).iops, truth, 1e-3);
    }
}

/// Poisson arrivals at one thread whose passes take `pass` whatever they serve, and `wake` more after sleep. Passes after
/// sleep (A) and others (B) follow each other by whether anything came meanwhile; what comes during a pass waits for half
/// of it on average and is served by the next.
#[test]
fn arrivals_at_a_thread_by_their_closed_form() {
    for (rate, wake, pass, halt) in [
        (10_000.0, 30e-6, 5e-6, None),
        (100_000.0, 20e-6, 8e-6, None),
        (4e5, 5e-6, 5e-6, None),
        (6_000.0, 10e-6, 5e-6, Some((100e-6, 25e-6))),
        (50_000.0, 5e-6, 4e-6, Some((20e-6, 40e-6))),
    ] {
        let mut network = Network::new();
        let halting = halt.map(|(after, wake): (f64, f64)| Halting {
            after: Ps::from_secs_f64(after),
            wake: Ps::from_secs_f64(wake),
        });
        let processors = network.station(Station::Processors { count: 1, halt: halting });
        let of = Gated {
            processors,
            thread: 0,
            pass: Ps::from_secs_f64(pass),
            wake: Ps::from_secs_f64(wake),
            switch: Ps::ZERO,
            spin: Ps::ZERO,
            counted: true,
            parts: None,
        };
        let station = network.station(Station::Gated(of));
        let class = Class::read(512, vec![Hop::visit(station, Law::ZERO)]);
        let gap = Law::Exponential(Ps::from_secs_f64(1.0 / rate));
        network.load(Load::open(gap, 1000, class));
        // What comes while the thread wakes is served by the same pass, which waits for it.
        let (none_a, none_b) = ((-rate * pass).exp(), (-rate * pass).exp());
        // Shares of the passes: a = a × none_a + b × none_b, a + b = 1.
        let a = none_b / (1.0 - none_a + none_b);
        let later = rate * pass * (pass / 2.0 + pass);
        // An idle time is longer than the processor polls in this share of the cases.
        let (halts, more) = halt.map_or((0.0, 0.0), |(after, more)| ((-rate * after).exp(), more));
        let mean = wake + halts * more;
        let square = (1.0 - halts) * wake.powi(2) + halts * (wake + more).powi(2);
        let woken = (mean + pass) + rate * (square / 2.0 + mean * pass);
        let count = a * (1.0 + rate * mean) + rate * pass;
        let truth = (a * woken + later) / count;
        let (_, mean) = simulated(&network, 400_000.0 / rate);
        near(&format!("{rate} a second"), mean, truth, 0.01);
    }
}

/// The cases of the independent simulation: what it says of each in the last two words of a line. It runs once.
fn cases() -> &'static [(String, Vec<f64>)] {
    static CASES: OnceLock<Vec<(String, Vec<f64>)>> = OnceLock::new();
    CASES.get_or_init(run_cases)
}

fn run_cases() -> Vec<(String, Vec<f64>)> {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/gated/passes.py");
    let out = Command::new("python3").arg(program).output().expect("python3 runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).expect("text");
    let cases = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let numbers = words[2..].iter().map(|word| word.parse().expect("a number"));
        (words[0].to_owned(), numbers.collect())
    });
    cases.collect()
}

#[test]
fn populations_as_an_independent_simulation_has_them() {
    let (mut simulations, mut estimates, mut seen) = (0.0_f64, 0.0_f64, 0);
    for (kind, of) in cases().iter().filter(|(kind, _)| kind == "closed" || kind == "switch") {
        let [vms, depth, processors, wake, pass, each, spin, part, after, more, iops, mean] =
            of[..]
        else {
            panic!("{of:?}")
        };
        let (switch, after, more) = match kind.as_str() {
            "switch" => (after, 0.0, 0.0),
            _ => (0.0, after, more),
        };
        let [vms, depth, processors] = [vms, depth, processors].map(|n| n as u32);
        let halt = (more > 0.0).then(|| Halting { after: us(after), wake: us(more) });
        let machine =
            Machine { vms, depth, processors, wake, switch, pass, each, spin, part, halt };
        let plant = machine.plant(true);
        let (ours, latency) = simulated(&plant.network, 2000.0 * mean * 1e-6);
        let told = estimate(&plant);
        println!(
            "{vms} x {depth} on {processors}, {wake} {pass} {each} {spin} {part}: {iops} {ours:.0} {:.0}",
            told.iops
        );
        near(&format!("simulated {of:?}"), ours, iops, 0.02);
        near(&format!("simulated latency {of:?}"), latency, mean * 1e-6, 0.02);
        near(&format!("estimated {of:?}"), told.iops, iops, 0.05);
        simulations = simulations.max((ours / iops - 1.0).abs());
        estimates = estimates.max((told.iops / iops - 1.0).abs());
        seen += 1;
    }
    println!("{seen} cases, at most {simulations:.4} and {estimates:.4} off");
    assert!(seen > 90, "{seen}");
}

/// Two processors with an initiator of an open loop and its target; times in microseconds.
struct Trip {
    rate: f64,
    costs: [f64; 3],
    spin: f64,
    halt: Option<Halting>,
    /// I/Os outstanding at most.
    limit: u32,
}

impl Trip {
    fn plant(&self) -> Plant {
        let mut lab = Lab::default();
        let processors = Station::Processors { count: 2, halt: self.halt };
        let processors = lab.station("processors", processors);
        let [wake, pass, each] = self.costs;
        let (pass, wake) = (us(pass), us(wake));
        let mut gate = |thread, spin, counted| {
            let switch = Ps::ZERO;
            let gate = Gated { processors, thread, pass, wake, switch, spin, counted, parts: None };
            lab.network().station(Station::Gated(gate))
        };
        let (target, initiator) = (gate(0, Ps::ZERO, false), gate(2, us(self.spin), true));
        let law = Law::Uniform(us(0.5 * each), us(1.5 * each));
        let mut route = vec![Hop::visit(initiator, Law::ZERO), Hop::Submit];
        route.extend([target, initiator].map(|station| Hop::visit(station, law.clone())));
        let gap = Law::Exponential(Ps::from_secs_f64(1.0 / self.rate));
        lab.issuer("vm", Load::open(gap, self.limit, Class::read(512, route)));
        lab.plant
    }
}

/// An initiator is woken by the clock, issues, and polls for answers alone: while nothing is under way it sleeps, and what it
/// waits then is no habit. Processors halt.
#[test]
fn round_trips_of_an_open_loop_as_an_independent_simulation_has_them() {
    let mut seen = 0;
    for (kind, of) in cases() {
        if kind != "trip" {
            continue;
        }
        let [_, _, rate, wake, pass, each, spin, after, more, iops, mean, response] = of[..] else {
            panic!("{of:?}")
        };
        let halt = (more > 0.0).then(|| Halting { after: us(after), wake: us(more) });
        let plant = Trip { rate, costs: [wake, pass, each], spin, halt, limit: 2000 }.plant();
        let (done, latency) = simulated(&plant.network, 100_000.0 / rate);
        let responded = responses(&plant.network, 100_000.0 / rate);
        let told = estimate(&plant).latency().expect("a latency");
        println!("{of:?}: {:.2} {:.2} {:.2}", latency * 1e6, responded * 1e6, told * 1e6);
        near(&format!("{of:?}"), done, iops, 0.015);
        near(&format!("{of:?}"), latency, mean * 1e-6, 0.02);
        near(&format!("response {of:?}"), responded, response * 1e-6, 0.02);
        near(&format!("estimated {of:?}"), told, mean * 1e-6, 0.05);
        seen += 1;
    }
    assert_eq!(seen, 36);
}

/// Passes grow with the load, and the estimate with them. From 250,000 a second on, what comes gathers in one clump, which
/// the two ends serve in turns, until as many are outstanding as may be.
#[test]
fn open_loops_near_saturation_are_estimated() {
    let halt = Some(Halting { after: us(100.0), wake: us(25.0) });
    let mut before = 0.0;
    for rate in [100e3, 200e3, 240e3, 400e3, 600e3] {
        let plant = Trip { rate, costs: [10.0, 4.0, 2.0], spin: 50.0, halt, limit: 2000 }.plant();
        let (done, latency) = simulated(&plant.network, 200_000.0 / rate);
        let told = estimate(&plant);
        let mean = told.latency().expect("a latency");
        println!("{rate}: {done:.0} {:.2}, {:.0} {:.2}", latency * 1e6, told.iops, mean * 1e6);
        near(&format!("throughput at {rate}"), told.iops, done, 0.02);
        near(&format!("latency at {rate}"), mean, latency, 0.1);
        assert!(mean >= before, "{mean} after {before} at {rate}");
        before = mean;
    }
}

#[test]
fn open_loops_as_an_independent_simulation_has_them() {
    for (kind, of) in cases() {
        if kind != "open" {
            continue;
        }
        let [_, _, rate, wake, pass, each, _, iops, mean] = of[..] else { panic!("{of:?}") };
        let mut network = Network::new();
        let processors = network.station(Station::Processors { count: 1, halt: None });
        let (spin, counted) = (Ps::ZERO, true);
        let (pass, wake) = (us(pass), us(wake));
        let switch = Ps::ZERO;
        let gate = Gated { processors, thread: 0, pass, wake, switch, spin, counted, parts: None };
        let station = network.station(Station::Gated(gate));
        let route = vec![Hop::visit(station, Law::Constant(us(each)))];
        let gap = Law::Exponential(Ps::from_secs_f64(1.0 / rate));
        network.load(Load::open(gap, 100_000, Class::read(512, route)));
        let (done, latency) = simulated(&network, 400_000.0 / rate);
        near(&format!("{of:?}"), done, iops, 0.01);
        near(&format!("{of:?}"), latency, mean * 1e-6, 0.02);
    }
}

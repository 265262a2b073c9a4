//! The time of an estimate, from the text of a scenario to the result, for a lab of 6 VMs, 60 LUNs and 960 disks:
//! twelve ports of 8Gb into an array of eight engines, ten disks per VM, each on a meta-LUN of eight mirrored pairs.
//! The target is 50 ms. Printed by phase, as the median of several rounds.

use scenario::Source;
use sim::estimate::estimate;
use sim::lab::compile;
use std::hint::black_box;

const LAB: &str = include_str!("estimate.toml");
const ROUNDS: usize = 21;

fn main() {
    let source =
        Source { name: "estimate.toml".to_owned(), text: LAB.to_owned(), ..Source::default() };
    let mut parts = [const { Vec::new() }; 4];
    let mut last = None;
    for _ in 0..ROUNDS {
        let mut timed = Timed::new();
        let scenario = scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        parts[0].push(timed.lap());
        let topology = scenario.topology().unwrap_or_else(|mistakes| panic!("{mistakes}"));
        parts[1].push(timed.lap());
        let step = &scenario.steps()[0];
        let plant = compile(&scenario, &topology, step).unwrap_or_else(|e| panic!("{e}"));
        parts[2].push(timed.lap());
        let answer = estimate(&plant);
        parts[3].push(timed.lap());
        last = Some((plant, black_box(answer)));
    }
    println!("estimate of 6 VMs, 60 LUNs, 960 disks: median of {ROUNDS}");
    let mut sum = 0.0;
    for (name, times) in ["scenario", "topology", "compile", "estimate"].iter().zip(&mut parts) {
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        sum += median;
        println!("  {name:<10} {median:>8.2} ms");
    }
    println!("  {:<10} {sum:>8.2} ms   bar: under 50 ms", "all");
    if let Some((plant, answer)) = last {
        let stations = plant.network.stations().len();
        println!("  {} hops, {stations} stations; {:.0} IOPS", plant.hops.len(), answer.iops);
    }
}

/// Time since the last lap.
struct Timed(f64);

impl Timed {
    fn new() -> Timed {
        Timed(now())
    }

    fn lap(&mut self) -> f64 {
        let before = std::mem::replace(&mut self.0, now());
        self.0 - before
    }
}

/// Wall-clock milliseconds.
fn now() -> f64 {
    clock::now().0 as f64 / 1e6
}

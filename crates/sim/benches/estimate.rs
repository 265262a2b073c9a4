//! The time of an estimate on a processor, by phase, as the shortest of several rounds, over labs that are large or hard: a lab
//! of 6 VMs, 60 LUNs and 960 disks; two fabrics with 200 VMs, 16 ports of an array and 1,000 disks; each with closed loops,
//! and with open ones that are carried, nearly full, and overloaded. Then the slowest step of every lab of this repository.
//!
//! The target is 50 ms a step, compiled and estimated. Nothing is asserted. An argument chooses among them by a part of their
//! names: `cargo bench -p sim --bench estimate -- "60 LUNs"`.

use scenario::{Scenario, Source, Stage};
use sim::estimate::{Estimate, estimate};
use sim::lab::compile;
use std::hint::black_box;
use std::path::Path;

const META_LUNS: &str = include_str!("estimate.toml");
const TWO_FABRICS: &str = include_str!("estimate-two-fabrics.toml");
const ROUNDS: usize = 11;
/// Milliseconds of a step.
const BAR: f64 = 50.0;

fn main() {
    println!("estimate, ms: shortest of {ROUNDS} rounds; bar for a step: under {BAR} ms");
    println!("  {:<44} scenario topology  compile estimate  a step", "");
    let loads =
        ["depth = 32", "rate = \"1000 IOPS\"", "rate = \"17500 IOPS\"", "rate = \"60000 IOPS\""];
    let only = std::env::args().nth(1).filter(|of| of != "--bench");
    let wanted = |name: &str| only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    let time = |name: &str, text: &str| {
        if wanted(name) {
            time(name, text);
        }
    };
    for load in loads {
        time(&format!("60 LUNs, {load}"), &META_LUNS.replace("depth = 32", load));
    }
    let loads = ["depth = 32", "rate = \"50 IOPS\"", "rate = \"190 IOPS\"", "rate = \"2000 IOPS\""];
    for load in loads {
        time(&format!("two fabrics, {load}"), &TWO_FABRICS.replace("depth = 32", load));
    }
    if wanted("lab") {
        labs();
    }
}

/// Times the first step of a scenario, by phase.
fn time(name: &str, text: &str) {
    let source = Source { name: "lab.toml".to_owned(), text: text.to_owned(), ..Source::default() };
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
        last = Some((plant.network.stations().len(), black_box(answer)));
    }
    let [scenario, topology, compiled, estimated] = parts.map(shortest);
    let step = compiled + estimated;
    print!(
        "  {name:<44} {scenario:>8.1} {topology:>8.1} {compiled:>8.1} {estimated:>8.1} {step:>7.1}"
    );
    if let Some((stations, answer)) = last {
        println!("{}", verdict(step, &answer, stations));
    }
}

/// The slowest step of each lab.
fn labs() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"));
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{error}"));
    let mut files: Vec<_> = files.flatten().map(|file| file.path()).collect();
    files.sort();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with("lab") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}"));
        let source = Source { name: name.clone(), text, ..Source::default() };
        let scenario = scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        slowest(&name, &scenario);
    }
}

fn slowest(name: &str, scenario: &Scenario) {
    let topology = scenario.topology().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let mut slowest: Option<(f64, f64, String)> = None;
    for step in scenario.stages().iter().flat_map(Stage::examples) {
        let mut parts = [const { Vec::new() }; 2];
        let mut last = None;
        for _ in 0..3 {
            let mut timed = Timed::new();
            let plant = compile(scenario, &topology, &step).unwrap_or_else(|e| panic!("{e}"));
            parts[0].push(timed.lap());
            let answer = estimate(&plant);
            parts[1].push(timed.lap());
            last = Some((plant.network.stations().len(), black_box(answer)));
        }
        let [compiled, estimated] = parts.map(shortest);
        let Some((stations, answer)) = last else { continue };
        if slowest.as_ref().is_none_or(|(c, e, _)| c + e < compiled + estimated) {
            let said = verdict(compiled + estimated, &answer, stations);
            slowest = Some((compiled, estimated, format!("{said}; {}", step.name())));
        }
    }
    if let Some((compiled, estimated, said)) = slowest {
        let step = compiled + estimated;
        println!("  {name:<44} {:>17} {compiled:>8.1} {estimated:>8.1} {step:>7.1}{said}", "");
    }
}

fn verdict(step: f64, answer: &Estimate, stations: usize) -> String {
    let met = if step < BAR { "met" } else { "MISSED" };
    format!("  {met}  {stations} stations, {:.0} IOPS", answer.iops)
}

fn shortest(times: Vec<f64>) -> f64 {
    times.into_iter().fold(f64::INFINITY, f64::min)
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

/// Milliseconds of this thread on a processor, which other work does not lengthen.
fn now() -> f64 {
    clock::thread_time().0 as f64 / 1e6
}

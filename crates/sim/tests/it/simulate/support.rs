//! A scenario of targets, plants for its steps, and records of their simulation.

use campaign::{Control, Progress};
use clock::Ns;
use record::{Loop, Record, RunHead, ScenarioText, Writer};
use scenario::topology::HopKind;
use scenario::{Scenario, Source, Step};
use sim::Ps;
use sim::model::*;
use sim::plant::{Assumption, HopElement, HopLimits, Issuer, Plant, PlantHop};
use sim::simulate::{Named, Order, Outcome, simulate};
use std::path::{Path, PathBuf};
use workload::Arrivals;

/// A record in a directory of its own.
pub struct Kept {
    pub record: Record,
    pub outcome: Outcome,
    /// What those who watched were told.
    pub told: Vec<String>,
    pub path: PathBuf,
    _dir: tempfile::TempDir,
}

/// A closed load of two workers, with these lines of a plan.
pub fn text(plan: &str) -> String {
    format!(
        r#"
[scenario]
title = "By hand"
seed = 7
[[target]]
name = "t{{1..2}}"
url = "null:"
size = "1GiB"
[workload.w]
block = "8KiB"
read = 70
depth = 4
[plan]
workload = "w"
on = "t*"
{plan}
"#
    )
}

pub fn scenario(text: &str) -> Scenario {
    let source =
        Source { name: "hand.toml".to_owned(), text: text.to_owned(), ..Source::default() };
    scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

/// What a step becomes: each worker has a queue limit of its own, and all share a station, a wire with two directions and
/// what limits both.
pub fn plant(step: &Step) -> Plant {
    plant_with(step, Law::Exponential(Ps::micros(400)))
}

/// The same with another time at the station.
pub fn plant_with(step: &Step, time: Law) -> Plant {
    let mut network = Network::new();
    let station = network.station(Station::many(2));
    let rates = vec![200_000_000, 100_000_000, 250_000_000];
    let wire = network.station(Station::Links { rates });
    let mut plant = Plant::default();
    for group in ["t1", "t2"] {
        let load = step.loads[0].workload.disk().expect("of disks");
        let Arrivals::Closed { depth, .. } = load.spec.arrivals else { panic!("a closed loop") };
        let pool = network.pool(Pool { tokens: 3 });
        let route = |way: u16| {
            vec![
                Hop::Take { pool, tokens: 1 },
                Hop::visit(station, time.clone()),
                Hop::Cross { station: wire, links: [way, 2].into(), scale: 1.0, extra: 100 },
                Hop::Give { pool, tokens: 1 },
            ]
        };
        let source = sim::model::Source::Closed {
            customers: depth,
            think: Law::ZERO,
            shares: vec![0.7, 0.3],
        };
        let classes = vec![Class::read(8192, route(0)), Class::write(8192, route(1))];
        let load = network.load(Load::of(source, classes));
        plant.issuers.push(Issuer {
            load,
            source: group.to_owned(),
            group: group.to_owned(),
            workload: "w".to_owned(),
            arrivals: Loop::Closed { depth, think: false },
            ops_per_transaction: 1,
            planned: None,
        });
        let name = format!("{group}.queue");
        plant.hops.push(hop(&name, HopKind::LunQueue, vec![HopElement::Pool(pool)]));
    }
    let places = [
        HopElement::ReadLink(wire, 0),
        HopElement::WriteLink(wire, 1),
        HopElement::BothLink(wire, 2),
    ];
    plant.hops.push(hop("disk", HopKind::Disks, vec![HopElement::Station(station)]));
    plant.hops.push(PlantHop {
        limits: HopLimits { read_rate: Some(2e8), servers: Some(1), ..HopLimits::default() },
        ..hop("wire", HopKind::Link, places.to_vec())
    });
    plant.assumptions.push(Assumption {
        subject: "disk".to_owned(),
        figure: "latency".to_owned(),
        value: "400 us".to_owned(),
        reason: "made up".to_owned(),
    });
    plant.network = network;
    plant
}

fn hop(name: &str, kind: HopKind, places: Vec<HopElement>) -> PlantHop {
    let (name, device) = (name.to_owned(), "array".to_owned());
    PlantHop {
        name,
        kind,
        device,
        part: None,
        places,
        passed: Vec::new(),
        limits: HopLimits::default(),
    }
}

pub struct Asked {
    pub threads: usize,
    pub settle: bool,
}

pub const PLAIN: Asked = Asked { threads: 2, settle: false };

/// What is asked for besides: a hop, and both targets together.
fn named() -> Named {
    let sum = vec!["t1".to_owned(), "t2".to_owned()];
    Named { hops: ["wire".to_owned()].into(), sums: [sum].into() }
}

/// Simulates a scenario.
#[track_caller]
pub fn run(text: &str, asked: &Asked, compile: fn(&Step) -> Plant) -> Kept {
    run_until(text, asked, &|step| Ok(compile(step)), |_| false)
}

/// The same until the progress is that at which to stop.
#[track_caller]
pub fn run_until(
    text: &str,
    asked: &Asked,
    compile: &(dyn Fn(&Step) -> Result<Plant, String> + Sync),
    is_end: fn(&Progress) -> bool,
) -> Kept {
    let scenario = scenario(text);
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("run.wsr");
    let stop = Control::new();
    let order = Order {
        stages: &scenario.stages(),
        named: &named(),
        seed: scenario.head.seed,
        threads: asked.threads,
        settle: asked.settle,
        compile,
        stop: &stop,
    };
    let mut told = Vec::new();
    let writer = writer(&path, text);
    let mut watch = |progress: Progress| {
        if is_end(&progress) {
            stop.stop();
        }
        told.push(format!("{progress:?}"));
    };
    let outcome = simulate(&order, writer, &mut watch).expect("a record");
    Kept { record: Record::open(&path).expect("a record"), outcome, told, path, _dir: dir }
}

pub fn writer(path: &Path, text: &str) -> Writer {
    let head = RunHead {
        title: "By hand".to_owned(),
        producer: record::Producer::new(record::ProducerKind::Simulated, "a test"),
        scenario: ScenarioText {
            name: "hand.toml".to_owned(),
            text: text.to_owned(),
            overrides: vec![],
        },
        epoch: Ns::ZERO,
        wall_ns: 0,
        seed: 7,
    };
    Writer::create(path, &head).expect("a file")
}

/// The values of a hop's counter in a step.
pub fn counters(record: &Record, step: u32, hop: &str, name: &str) -> Vec<(f64, f64)> {
    let source = record.sources().iter().find(|source| source.name == hop).expect("a hop").id;
    let counters = record.counters(Some(step)).expect("counters");
    counters
        .iter()
        .filter(|counter| counter.source == source && counter.kind.name() == name)
        .map(|counter| (counter.value, counter.to.since(counter.from).as_secs_f64()))
        .collect()
}

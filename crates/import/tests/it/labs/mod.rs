//! Simulated labs whose limits were found by experiment, written out as monitoring files by `write.py`, which shares nothing
//! with the readers, and explained. The answers are scored as those of attribution are, and the weights for observed loads are
//! fitted on every second lab (`weights`).

mod weights;

use campaign::Control;
use clock::Ns;
use findings::Limiter;
use import::monitor::{self, Calendar, Detected, Map, MonitorFormat, Options, Order, TimeZone};
use record::{Producer, ProducerKind, Record, RunHead, ScenarioText, Writer};
use scenario::{Source, Step};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Labs that are tried in a quick run.
const SEEDS: [&str; 2] = ["5001", "5004"];

fn here(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/labs").join(file)
}

fn python(program: PathBuf, args: &[&str]) -> String {
    let out = Command::new("python3").arg(program).args(args).output().expect("python3 runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

/// A record of the lab of a seed.
fn simulated(folder: &Path, seed: &str) {
    let drawn = Path::new(env!("CARGO_MANIFEST_DIR")).join("../findings/tests/it/drawn/labs.py");
    let text = python(drawn, &["text", seed]);
    std::fs::write(folder.join(format!("{seed}.toml")), &text).expect("a file");
    let source = Source { name: "lab.toml".to_owned(), text: text.clone(), ..Source::default() };
    let scenario = scenario::load(&source).expect("a scenario");
    let topology = scenario.topology().expect("a graph");
    let compile = |step: &Step| {
        sim::lab::compile(&scenario, &topology, step).map_err(|wrong| wrong.to_string())
    };
    let (stages, stop) = (scenario.stages(), Control::new());
    let order = sim::simulate::Order {
        stages: &stages,
        named: &sim::simulate::Named::default(),
        seed: scenario.head.seed,
        threads: 1,
        settle: false,
        compile: &compile,
        stop: &stop,
    };
    let head = RunHead {
        title: scenario.head.title.clone(),
        producer: Producer::new(ProducerKind::Simulated, "wirespeed simulate"),
        scenario: ScenarioText { name: "lab.toml".to_owned(), text, overrides: Vec::new() },
        epoch: Ns::ZERO,
        wall_ns: 0,
        seed: scenario.head.seed,
    };
    let writer = Writer::create(&folder.join(format!("{seed}.wsr")), &head).expect("a record");
    sim::simulate::simulate(&order, writer, &mut |_| ()).expect("a record");
}

/// Explains the files of a folder: the first window with its throughput and its answer.
fn explained(folder: &Path) -> (f64, findings::Attribution) {
    let record = recorded(folder);
    let analysis = findings::analyse(&record).expect("an analysis");
    let step = &analysis.steps[0];
    (step.total.both.bytes_per_s, step.attribution.clone().expect("an answer"))
}

/// The record that the files of a folder are explained by.
fn recorded(folder: &Path) -> Record {
    let named = |end: &str| -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
            .expect("a folder")
            .map(|e| e.expect("a file").path())
            .collect();
        all.retain(|path| path.to_string_lossy().ends_with(end) && !path.ends_with("names.json"));
        all.sort();
        all
    };
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("text");
    let maps = named(".toml").into_iter().filter(|path| !path.ends_with("topology.toml"));
    let options = Options {
        calendar: Calendar { order: None, zone: Some(TimeZone::UTC) },
        maps: maps.map(|path| Map::parse("map", &text(&path)).expect("a map")).collect(),
        ..Options::default()
    };
    let files = [".csv", ".walk", ".txt", ".json"].into_iter().flat_map(named);
    let feeds: Vec<_> = files
        .map(|path| {
            let bytes = std::fs::read(&path).expect("bytes");
            let format = match monitor::detect(&bytes) {
                Detected::Is(format) => format,
                _ => MonitorFormat::Mapped,
            };
            monitor::read("file", format, &bytes[..], &options)
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        })
        .collect();
    let rate = |text: &str| {
        text.trim_end_matches(" MB/s").parse::<f64>().map(|mb| mb * 1e6).map_err(|e| e.to_string())
    };
    let known = folder.join("topology.toml");
    let known = if known.exists() {
        monitor::topology(&text(&known), &rate).unwrap_or_default()
    } else {
        monitor::Topology::default()
    };
    let out = folder.join("explained.wsr");
    let order = Order {
        feeds: &feeds,
        windows: &[],
        facts: Vec::new(),
        topology: &known,
        producer: "a test".to_owned(),
        title: "t".to_owned(),
    };
    monitor::write(&out, &order).expect("a record");
    Record::open(&out).expect("a record")
}

/// What the lab did while its load was on, and the share of the time that it was.
fn truth(folder: &Path, seed: &str) -> f64 {
    let record = Record::open(&folder.join(format!("{seed}.wsr"))).expect("a record");
    let analysis = findings::analyse(&record).expect("an analysis");
    analysis.steps[0].total.both.bytes_per_s
}

#[test]
fn labs_are_explained_from_their_monitoring() {
    let folder = tempfile::tempdir().expect("a directory");
    for seed in SEEDS {
        simulated(folder.path(), seed);
        let on = truth(folder.path(), seed);
        let mut shares = BTreeMap::new();
        for form in ["fabric", "esxtop", "iostat", "sadf"] {
            let place = folder.path().to_str().expect("a path");
            python(here("write.py"), &[place, seed, "20", form]);
            let (rate, found) = explained(&folder.path().join(format!("{seed}.20.{form}")));
            shares.insert(form, rate / on);
            assert!(
                found.probability < 0.9 || matches!(found.limit, Limiter::Unknown { .. }),
                "{seed} {form}: {found:?}"
            );
            if form != "fabric" {
                // What limits the second lab is its load, and a disk that is often idle shows that.
                let load = seed == "5004" && matches!(found.limit, Limiter::None);
                assert!(
                    load || matches!(found.limit, Limiter::Unknown { .. }),
                    "nothing is known behind the host: {seed} {form}: {found:?}"
                );
            }
        }
        // The same bytes in every format: what was on, for the part of the time that it was.
        let first = shares["fabric"];
        assert!((0.3..1.0).contains(&first), "{shares:?}");
        assert!(shares.values().all(|share| (share / first - 1.0).abs() < 0.02), "{shares:?}");
    }
}

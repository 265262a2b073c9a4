//! Attribution on labs that know nothing of its rules: `labs.py` draws them as scenario text and finds by experiment what limits
//! each of them, doubling one resource in the text after the other. Here they are simulated and estimated, and the answers
//! are scored against `limits.txt`, which holds what the program printed (`labs.py truth BINARY 1000 …`).

use campaign::Control;
use clock::Ns;
use record::{Producer, ProducerKind, Record, RunHead, ScenarioText, Writer};
use scenario::{Scenario, Source, Step};
use sim::simulate::Named;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Of the labs in the file `make test` tries every so many.
const EVERY: usize = 5;

/// `labs.py` with arguments; what it prints.
fn labs(args: &[&str]) -> String {
    let program = here("labs.py");
    let out = Command::new("python3").arg(program).args(args).output().expect("python3 runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

fn here(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/drawn").join(file)
}

fn writer(path: &Path, scenario: &Scenario, text: &str) -> Writer {
    let head = RunHead {
        title: scenario.head.title.clone(),
        producer: Producer::new(ProducerKind::Simulated, "wirespeed simulate"),
        scenario: ScenarioText {
            name: "lab.toml".to_owned(),
            text: text.to_owned(),
            overrides: Vec::new(),
        },
        epoch: Ns::ZERO,
        wall_ns: 0,
        seed: scenario.head.seed,
    };
    Writer::create(path, &head).expect("a record")
}

/// Simulates and estimates a scenario of the folder.
fn carry_out(folder: &Path, seed: &str) {
    let text = std::fs::read_to_string(folder.join(format!("{seed}.toml"))).expect("a scenario");
    let source = Source { name: "lab.toml".to_owned(), text: text.clone(), ..Source::default() };
    let scenario = scenario::load(&source).unwrap_or_else(|wrong| panic!("{seed}: {wrong}"));
    let topology = scenario.topology().unwrap_or_else(|wrong| panic!("{seed}: {wrong}"));
    let compile = |step: &Step| {
        sim::lab::compile(&scenario, &topology, step).map_err(|wrong| wrong.to_string())
    };
    let (stages, stop) = (scenario.stages(), Control::new());
    let order = sim::simulate::Order {
        stages: &stages,
        named: &Named::default(),
        seed: scenario.head.seed,
        threads: 1,
        settle: false,
        compile: &compile,
        stop: &stop,
    };
    let path = |kind: &str| folder.join(format!("{seed}{kind}.wsr"));
    let to = writer(&path(""), &scenario, &text);
    sim::simulate::simulate(&order, to, &mut |_| ()).expect("a record");
    let order = sim::estimate::Order { stages: &stages, compile: &compile, threads: 2 };
    let to = writer(&path(".estimate"), &scenario, &text);
    sim::estimate::record(&order, to, &mut |_| ()).expect("a record");
}

/// What is said of the only step of a record, as JSON beside it.
fn attribute(folder: &Path, seed: &str, from: &str, kind: &str) {
    let record = Record::open(&folder.join(format!("{seed}{from}.wsr"))).expect("a record");
    let analysis = findings::analyse(&record).expect("an analysis");
    let said = analysis.steps.first().and_then(|step| step.attribution.as_ref());
    let text = serde_json::to_string(said.expect("an attribution")).expect("JSON");
    std::fs::write(folder.join(format!("{seed}.{kind}.json")), text).expect("a file");
}

/// A score as `labs.py` prints it.
#[derive(Debug)]
struct Score {
    labs: usize,
    right: f64,
    sure_and_wrong: usize,
    brier: f64,
}

fn score(folder: &Path, limits: &Path, kind: &str) -> Score {
    let folder = folder.to_str().expect("a path");
    let text = labs(&["score", folder, limits.to_str().expect("a path"), kind]);
    println!("{kind}\n{text}");
    let after = |word: &str| -> f64 {
        let rest = text.rsplit_once(word).expect("the word").1.trim_start();
        let number = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next();
        number.and_then(|number| number.parse().ok()).expect("a number")
    };
    Score {
        labs: after("% of ") as usize,
        right: after("right "),
        sure_and_wrong: after("or more:") as usize,
        brier: after("Brier score"),
    }
}

/// The scores of every `every`th lab: simulated, with every second hop's counters removed, and estimated.
fn scores(every: usize) -> [Score; 3] {
    let file = std::env::var("DRAWN_LIMITS").map_or_else(|_| here("limits.txt"), PathBuf::from);
    let all = std::fs::read_to_string(file).expect("the limits");
    let lines: Vec<&str> = all.lines().step_by(every).collect();
    let folder = tempfile::tempdir().expect("a directory");
    let limits = folder.path().join("limits.txt");
    std::fs::write(&limits, lines.join("\n")).expect("a file");
    let place = folder.path().to_str().expect("a path");
    labs(&["texts", place, limits.to_str().expect("a path")]);
    let seeds: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    carry_out(folder.path(), seed);
                }
            });
        }
    });
    labs(&["blind", place]);
    for seed in seeds {
        for (from, kind) in [("", "full"), (".blind", "blind"), (".estimate", "estimate")] {
            attribute(folder.path(), seed, from, kind);
        }
    }
    ["full", "blind", "estimate"].map(|kind| score(folder.path(), &limits, kind))
}

#[test]
fn limits_found_by_experiment_are_named() {
    for score in scores(EVERY) {
        assert!(score.labs >= 20 && score.right >= 90.0, "{score:?}");
        assert!(score.sure_and_wrong <= 1 && score.brier <= 0.1, "{score:?}");
    }
}

/// All labs of the file, with the tables of `docs/attribution.md`.
#[test]
#[ignore = "minutes"]
fn limits_found_by_experiment_are_named_in_all_labs() {
    for score in scores(1) {
        assert!(score.right >= 95.0 && score.sure_and_wrong <= 1, "{score:?}");
    }
}

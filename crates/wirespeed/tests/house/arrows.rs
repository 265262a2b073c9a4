//! Which crate may use which. The arrows are the architecture: the list below is the whole of it, an arrow more or an
//! arrow less is a decision, and it is made here.
//!
//! Tests may use more (a test of `findings` may write a record through `fleet`), but never a crate that stands above
//! theirs: such a crate could not be understood without what is built on it.

use crate::{Breach, Source, caught, none, root, sources};
use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};

/// Every crate of the workspace with the crates that it uses. `wirespeed` wires everything.
const ARROWS: [(&str, &[&str]); 30] = [
    ("units", &[]),
    ("clock", &[]),
    ("hop", &[]),
    ("workload", &["clock"]),
    ("scenario", &["clock", "hop", "units", "workload"]),
    ("record", &["clock", "hop", "workload"]),
    ("campaign", &["clock", "record", "scenario"]),
    ("engine", &["clock", "record", "workload"]),
    ("guard", &["clock"]),
    ("guest", &["clock"]),
    ("disk", &["clock", "engine", "guard", "record", "trace", "workload"]),
    ("net", &["clock", "engine", "record", "workload"]),
    ("iscsi", &[]),
    ("tape", &["clock", "iscsi"]),
    ("san", &["clock", "disk", "engine", "guard", "iscsi", "record", "tape", "units", "workload"]),
    ("telemetry", &["hop"]),
    ("probe", &["clock", "hop", "record", "telemetry"]),
    ("lab", &["clock", "scenario", "units"]),
    ("sim", &["campaign", "clock", "record", "scenario", "units", "workload"]),
    ("fleet", &["campaign", "clock", "engine", "record", "scenario", "units", "workload"]),
    ("nats", &["clock", "fleet", "record"]),
    ("findings", &["clock", "record", "scenario", "units", "workload"]),
    ("calibrate", &["findings", "record", "scenario", "sim", "units", "workload"]),
    ("score", &["findings", "scenario", "sim", "units"]),
    ("export", &["clock", "findings", "record", "scenario", "workload"]),
    ("import", &["clock", "record", "scenario", "telemetry"]),
    ("trace", &["clock", "workload"]),
    ("review", &["findings", "record", "scenario", "units", "workload"]),
    (
        "serve",
        &["campaign", "clock", "export", "findings", "record", "review", "scenario", "units"],
    ),
    (
        "wirespeed",
        &[
            "calibrate",
            "campaign",
            "clock",
            "disk",
            "engine",
            "export",
            "findings",
            "fleet",
            "guard",
            "guest",
            "import",
            "iscsi",
            "lab",
            "nats",
            "net",
            "probe",
            "record",
            "review",
            "san",
            "scenario",
            "score",
            "serve",
            "sim",
            "telemetry",
            "trace",
            "units",
            "workload",
        ],
    ),
];

/// Libraries of others that belong to few rooms. Not listed: those that carry no responsibility (`serde`, `thiserror`).
const ROOMS: [(&str, &[&str]); 33] = [
    ("libc", &["clock", "disk", "engine", "guard", "guest", "net", "san"]),
    ("rand", &["clock"]),
    ("rand_pcg", &["clock"]),
    (
        "rustix",
        &[
            "disk",
            "engine",
            "fleet",
            "guard",
            "guest",
            "lab",
            "net",
            "probe",
            "san",
            "serve",
            "wirespeed",
        ],
    ),
    ("neli", &["net"]),
    ("rtrb", &["disk", "engine", "net", "san"]),
    ("hdrhistogram", &["record"]),
    ("statrs", &["findings", "sim"]),
    ("rusqlite", &["record"]),
    ("rmp-serde", &["fleet"]),
    ("toml", &["import", "scenario", "trace", "wirespeed"]),
    ("strsim", &["san", "scenario"]),
    ("maud", &["review", "serve"]),
    ("plotly", &["review"]),
    ("clap", &["wirespeed"]),
    ("clap_complete", &["wirespeed"]),
    ("clap_mangen", &["wirespeed"]),
    ("miette", &["wirespeed"]),
    ("nix", &["wirespeed"]),
    ("quick-xml", &["import"]),
    ("async-snmp", &["probe"]),
    // The page that stays open has many viewers, most of them idle, and a fleet has many agents that say little: what an async
    // runtime is for. Neither has one on the path of an I/O. The client of SNMP has a runtime of its source's own thread.
    ("tokio", &["nats", "probe", "serve"]),
    ("async-nats", &["nats"]),
    ("nkeys", &["nats"]),
    ("futures-util", &["nats"]),
    ("axum", &["serve"]),
    ("hyper", &["serve"]),
    ("hyper-util", &["serve"]),
    ("prometheus-client", &["serve"]),
    ("tokio-rustls", &["serve"]),
    ("csv", &["import"]),
    ("encoding_rs", &["import"]),
    ("jiff", &["import"]),
];

/// What one crate declares.
#[derive(Default)]
struct Crate {
    /// Dependencies of the crate itself, for whatever target, and of its build script.
    uses: BTreeSet<String>,
    /// Dependencies of its tests and benches alone.
    tests_use: BTreeSet<String>,
}

type Workspace = BTreeMap<String, Crate>;

fn workspace() -> Workspace {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml")).no_deps();
    command.other_options(["--offline".to_owned(), "--locked".to_owned()]);
    let metadata = command.exec().expect("cargo reads its own workspace");
    let mut crates = Workspace::new();
    for package in metadata.packages {
        let krate = crates.entry(package.name.to_string()).or_default();
        // A crate may switch on features of its own for its tests.
        let own = package.name.to_string();
        for dependency in package.dependencies.into_iter().filter(|other| other.name != own) {
            match dependency.kind {
                DependencyKind::Development => krate.tests_use.insert(dependency.name),
                _ => krate.uses.insert(dependency.name),
            };
        }
    }
    crates
}

fn breach(krate: &str, what: String) -> Breach {
    Breach { place: format!("crates/{krate}/Cargo.toml"), what }
}

/// The arrows drawn are exactly the arrows allowed.
fn arrows(workspace: &Workspace) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (name, krate) in workspace {
        let Some((_, allowed)) = ARROWS.iter().find(|(listed, _)| listed == name) else {
            breaches.push(breach(name, "a crate without a place: list its arrows".to_owned()));
            continue;
        };
        let drawn = || krate.uses.iter().filter(|used| workspace.contains_key(*used));
        for used in drawn().filter(|used| !allowed.contains(&used.as_str())) {
            breaches.push(breach(name, format!("`{name}` must not know `{used}`")));
        }
        for unused in allowed.iter().filter(|a| !drawn().any(|used| used == *a)) {
            breaches.push(breach(name, format!("leave to use `{unused}` is not needed")));
        }
    }
    breaches
}

/// Tests use nothing that uses what they test, at whatever distance.
fn upward_tests(workspace: &Workspace) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (name, krate) in workspace {
        for used in krate.tests_use.iter().filter(|used| reaches(workspace, used, name)) {
            breaches
                .push(breach(name, format!("`{used}` stands above `{name}`; move the test there")));
        }
    }
    breaches
}

/// Whether `from` is `to`, or uses it directly or through others.
fn reaches(workspace: &Workspace, from: &str, to: &str) -> bool {
    let mut open = vec![from];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if name == to {
            return true;
        }
        if let Some(krate) = workspace.get(name).filter(|_| seen.insert(name)) {
            open.extend(krate.uses.iter().map(String::as_str));
        }
    }
    false
}

fn rooms(workspace: &Workspace) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (library, rooms) in ROOMS {
        for (name, krate) in workspace {
            if krate.uses.contains(library) && !rooms.contains(&name.as_str()) {
                breaches.push(breach(name, format!("`{library}` does not belong into `{name}`")));
            }
        }
    }
    breaches
}

/// The table of crates in ARCHITECTURE.md, whose last column lists what each depends on, tells the same.
fn table(page: &Source) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (name, allowed) in ARROWS {
        let row = format!("| `{name}` |");
        let found = (1..).zip(page.text.lines()).find(|(_, line)| line.starts_with(&row));
        let Some((line, text)) = found else {
            breaches.push(page.breach(1, format!("no row for `{name}`")));
            continue;
        };
        let column = text.trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim();
        let listed: Vec<String> = allowed.iter().map(|name| format!("`{name}`")).collect();
        if column != listed.join(", ") && !(column == "all" && allowed.len() == ARROWS.len() - 1) {
            breaches.push(page.breach(line, format!("depends on {}", listed.join(", "))));
        }
    }
    breaches
}

#[test]
fn the_arrows_are_those_allowed() {
    none(arrows(&workspace()));
}

#[test]
fn the_architecture_shows_the_arrows() {
    let page = sources().iter().find(|source| source.path == "ARCHITECTURE.md");
    none(table(page.expect("there is a map")));
}

#[test]
fn a_wrong_row_is_caught() {
    let row = |(name, uses): &(&str, &[&str])| {
        let listed: Vec<String> = uses.iter().map(|used| format!("`{used}`")).collect();
        format!("| `{name}` | holds | {} |\n", listed.join(", "))
    };
    let right: String = ARROWS.iter().map(row).collect();
    let check = |text: &str, expected: &[&str]| {
        caught(table(&Source::sample("ARCHITECTURE.md", text)), expected);
    };
    check(&right, &[]);
    check(&right.replace("| `units` |", "| `unit` |"), &["ARCHITECTURE.md:1: no row for `units`"]);
    check(
        &right.replace("`workload` | holds | `clock`", "`workload` | holds | all"),
        &["depends on `clock`"],
    );
}

#[test]
fn tests_use_nothing_from_above() {
    none(upward_tests(&workspace()));
}

#[test]
fn libraries_stay_in_their_rooms() {
    none(rooms(&workspace()));
}

/// The allowed workspace with one more arrow.
fn with(name: &str, used: &str) -> Workspace {
    let mut all: Workspace = ARROWS
        .iter()
        .map(|(name, uses)| {
            let uses = uses.iter().map(|used| (*used).to_owned()).collect();
            ((*name).to_owned(), Crate { uses, tests_use: BTreeSet::new() })
        })
        .collect();
    all.entry(name.to_owned()).or_default().uses.insert(used.to_owned());
    all
}

#[test]
fn a_forbidden_arrow_is_caught() {
    caught(arrows(&with("clock", "clock-free")), &[]);
    caught(arrows(&with("units", "clock")), &["`units` must not know `clock`"]);
    caught(arrows(&with("disk", "fleet")), &["`disk` must not know `fleet`"]);
    caught(arrows(&with("review", "export")), &["`review` must not know `export`"]);
    caught(arrows(&with("newcomer", "units")), &["newcomer/Cargo.toml: a crate without a place"]);
    let mut poorer = with("clock", "libc");
    poorer.get_mut("record").unwrap().uses.remove("workload");
    caught(arrows(&poorer), &["leave to use `workload` is not needed"]);
}

#[test]
fn a_test_that_looks_up_is_caught() {
    let with_test = |name: &str, used: &str| {
        let mut all = with("clock", "libc");
        all.get_mut(name).unwrap().tests_use.insert(used.to_owned());
        all
    };
    caught(upward_tests(&with_test("record", "disk")), &["`disk` stands above `record`"]);
    caught(upward_tests(&with_test("units", "wirespeed")), &["`wirespeed` stands above `units`"]);
    caught(upward_tests(&with_test("clock", "clock")), &["`clock` stands above `clock`"]);
    caught(upward_tests(&with_test("findings", "disk")), &[]);
    caught(upward_tests(&with_test("record", "proptest")), &[]);
}

#[test]
fn a_library_out_of_its_room_is_caught() {
    caught(rooms(&with("workload", "rand")), &["`rand` does not belong into `workload`"]);
    caught(rooms(&with("disk", "tokio")), &["`tokio` does not belong into `disk`"]);
    caught(rooms(&with("clock", "rand")), &[]);
}

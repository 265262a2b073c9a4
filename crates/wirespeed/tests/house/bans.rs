//! The bans of `clippy.toml` bite: each banned path is used once in a tiny crate, against the very libraries that the
//! workspace is locked to, and clippy must name every one of them and nothing else.
//!
//! tokio is no dependency yet; a stand-in with its paths shows that the ban will bite when it is.

use crate::root;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Banned functions that are generic, with types to name them by.
const GENERIC: [(&str, &str); 6] = [
    ("rand::make_rng", "::<rand::rngs::StdRng>"),
    ("rand::random", "::<u8>"),
    ("rand::random_iter", "::<u8>"),
    ("rand::random_range", "::<u8, std::ops::Range<u8>>"),
    ("rand::fill", "::<u8>"),
    ("rustix::rand::getrandom", "::<&mut [u8]>"),
];

const MANIFEST: &str = r#"
[package]
name = "bans"
version = "0.0.0"
edition = "2024"

[workspace]

[dependencies]
getrandom = "*"
libc = "0.2"
rand = { version = "*", features = ["thread_rng"] }
rustix = { version = "*", features = ["rand", "thread", "time"] }
tokio = { path = "tokio" }
"#;

const TOKIO_MANIFEST: &str = r#"
[package]
name = "tokio"
version = "1.0.0"
edition = "2024"
"#;

const TOKIO: &str = "
pub mod time {
    pub struct Instant;
    impl Instant {
        pub fn now() -> Instant { Instant }
        pub fn elapsed(&self) {}
    }
    pub fn sleep() {}
    pub fn sleep_until() {}
    pub fn interval() {}
    pub fn interval_at() {}
}
";

/// The banned paths of one clippy.toml.
#[derive(Debug, PartialEq)]
struct Bans {
    methods: BTreeSet<String>,
    types: BTreeSet<String>,
}

impl Bans {
    fn read(file: &Path) -> Bans {
        let text = std::fs::read_to_string(file).expect("clippy.toml is there");
        let table: toml::Table = text.parse().expect("clippy.toml is TOML");
        let paths = |key: &str| {
            let entries = table.get(key).and_then(toml::Value::as_array).map_or(&[][..], |all| all);
            let path = |entry: &toml::Value| {
                assert!(entry["reason"].is_str(), "a ban says what to use instead: {entry}");
                entry["path"].as_str().expect("a ban has a path").to_owned()
            };
            entries.iter().map(path).collect()
        };
        Bans { methods: paths("disallowed-methods"), types: paths("disallowed-types") }
    }

    fn all(&self) -> BTreeSet<String> {
        self.methods.union(&self.types).cloned().collect()
    }

    /// A crate that uses every banned path once, and some harmless ones.
    fn offender(&self) -> String {
        let mut code = "pub fn harmless() { let _ = std::time::Duration::from_secs; }\n".to_owned();
        for (i, path) in self.methods.iter().enumerate() {
            let types =
                GENERIC.iter().find(|(name, _)| name == path).map_or("", |(_, types)| types);
            writeln!(code, "pub fn f{i}() {{ let _ = {path}{types}; }}").expect("a string grows");
        }
        for (i, path) in self.types.iter().enumerate() {
            let types = if path.ends_with("Map") { "<u8, u8>" } else { "<u8>" };
            writeln!(code, "pub type T{i} = {path}{types};").expect("a string grows");
        }
        code
    }
}

/// Writes `files` to an own directory; the lock file is the workspace's, so that the versions are.
fn write_crate(name: &str, code: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bans").join(name);
    let files = [
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", code),
        ("tokio/Cargo.toml", TOKIO_MANIFEST),
        ("tokio/src/lib.rs", TOKIO),
    ];
    for (file, text) in files {
        let path = dir.join(file);
        std::fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("writable");
        std::fs::write(path, text).expect("writable");
    }
    std::fs::copy(root().join("Cargo.lock"), dir.join("Cargo.lock")).expect("writable");
    dir
}

/// The paths that clippy calls disallowed in `dir` under the bans of `conf`.
fn bitten(dir: &Path, conf: &Path) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--quiet", "--message-format=json", "--target-dir"])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("bans/target"))
        .current_dir(dir)
        .env("CLIPPY_CONF_DIR", conf)
        .env_remove("RUSTFLAGS")
        .output()
        .expect("clippy runs");
    let mut found = BTreeSet::new();
    let mut errors = String::from_utf8_lossy(&output.stderr).into_owned();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line).expect("cargo prints JSON");
        let message = &message["message"];
        let text = message["message"].as_str().unwrap_or_default();
        if let Some((_, rest)) = text.split_once("use of a disallowed ") {
            let path = rest.split('`').nth(1).expect("the path is quoted");
            assert!(found.insert(path.to_owned()), "{path} is named twice");
        } else {
            errors.push_str(message["rendered"].as_str().unwrap_or_default());
        }
    }
    assert!(output.status.success(), "clippy could not read the offender:\n{errors}");
    found
}

#[track_caller]
fn check(name: &str, conf: &str) {
    let conf = root().join(conf);
    let bans = Bans::read(&conf.join("clippy.toml"));
    let dir = write_crate(name, &bans.offender());
    assert_eq!(bitten(&dir, &conf), bans.all());
}

#[test]
fn every_ban_bites() {
    check("everywhere", ".");
    check("workload", "crates/workload");
    check("sim", "crates/sim");
}

#[test]
fn a_lifted_ban_does_not_bite() {
    let everywhere = Bans::read(&root().join("clippy.toml"));
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bans/lifted");
    let dir = write_crate("lifted", &everywhere.offender());
    std::fs::write(empty.join("clippy.toml"), "disallowed-methods = []\n").expect("writable");
    assert_eq!(bitten(&dir, &empty), BTreeSet::new());
}

#[test]
fn what_repeats_has_every_ban_and_no_hash_tables() {
    let everywhere = Bans::read(&root().join("clippy.toml"));
    for krate in ["workload", "sim"] {
        let bans = Bans::read(&root().join("crates").join(krate).join("clippy.toml"));
        assert_eq!(bans.methods, everywhere.methods);
        assert!(bans.types.is_superset(&everywhere.types));
        for table in ["std::collections::HashMap", "std::collections::HashSet"] {
            assert!(bans.types.contains(table), "{krate}: {table}");
        }
    }
}

/// Nobody else may lift a ban, in whatever form.
#[test]
fn only_the_clock_is_exempt() {
    let lint = concat!("clippy::dis", "allowed_");
    let exempt: Vec<&str> = crate::sources()
        .iter()
        .filter(|source| source.is_rust() && source.text.contains(lint))
        .map(|source| source.path.as_str())
        .collect();
    assert_eq!(exempt, ["crates/clock/src/secret.rs", "crates/clock/src/system.rs"]);
}

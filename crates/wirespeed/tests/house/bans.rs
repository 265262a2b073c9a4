//! The bans of `clippy.toml` bite: each banned path is used once in a tiny crate, against the very libraries that the
//! workspace is locked to, and clippy must name every one of them and nothing else.

use crate::{root, sources};
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
getrandom = "0.4"
libc = "0.2"
rand = { version = "0.10", features = ["thread_rng"] }
rustix = { version = "*", features = ["rand", "thread", "time"] }
tokio = { version = "1", default-features = false, features = ["time"] }
"#;

/// The banned paths of clippy.toml.
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

/// Writes the crate to a directory of its own; the lock file is the workspace's, so that the versions are.
fn write_crate(code: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bans");
    std::fs::create_dir_all(dir.join("src")).expect("writable");
    for (file, text) in [("Cargo.toml", MANIFEST), ("src/lib.rs", code)] {
        std::fs::write(dir.join(file), text).expect("writable");
    }
    std::fs::copy(root().join("Cargo.lock"), dir.join("Cargo.lock")).expect("writable");
    dir
}

/// The paths that clippy calls disallowed in `dir`.
fn bitten(dir: &Path) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--quiet", "--message-format=json", "--target-dir"])
        .arg(dir.join("target"))
        .current_dir(dir)
        .env("CLIPPY_CONF_DIR", root())
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

#[test]
fn every_ban_bites() {
    let bans = Bans::read(&root().join("clippy.toml"));
    assert_eq!(bitten(&write_crate(&bans.offender())), bans.all());
}

/// Hash tables of the standard library iterate in random order: banned where operations must repeat.
#[test]
fn hash_tables_are_banned_where_runs_repeat() {
    let deny = concat!("#![deny(clippy::dis", "allowed_types)]");
    for path in ["crates/workload/src/lib.rs", "crates/sim/src/lib.rs"] {
        let source = sources().iter().find(|source| source.path == path).expect(path);
        assert!(source.text.lines().any(|line| line == deny), "{path} lacks {deny}");
    }
}

#[test]
fn only_the_clock_is_exempt() {
    let lint = concat!("clippy::dis", "allowed_methods");
    let exempt: Vec<&str> = sources()
        .iter()
        .filter(|source| source.is_rust() && source.text.contains(lint))
        .map(|source| source.path.as_str())
        .collect();
    assert_eq!(exempt, ["crates/clock/src/secret.rs", "crates/clock/src/system.rs"]);
}

//! The rules of the house, each as a test over this repository, so that a breach is a failed build and not a remark in
//! a review. `CONTRIBUTING.md` states the rules.
//!
//! A rule is a pure function from what it looks at to its breaches. Every rule is tested twice: on the repository, and
//! on bad samples that it must catch, for a check that cannot fail is worth nothing. The idea is rust-analyzer's
//! (`tidy` tests) and ArchUnit's (arrows between modules).

mod arrows;
mod bans;
mod docs;
mod doctests;
mod files;
mod percentiles;
mod rust;
mod tools;
mod writing;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A text file of the repository.
struct Source {
    /// Relative to the root, with `/` on every system.
    path: String,
    text: String,
}

impl Source {
    fn sample(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn breach(&self, line: usize, what: impl Into<String>) -> Breach {
        Breach { place: format!("{}:{line}", self.path), what: what.into() }
    }
}

/// A breach of a rule: where, and what to do about it.
#[derive(Debug, PartialEq)]
struct Breach {
    place: String,
    what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Fails with all breaches, one a line.
#[track_caller]
fn none(breaches: impl IntoIterator<Item = Breach>) {
    let lines: Vec<String> = breaches.into_iter().map(|breach| breach.to_string()).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

/// Holds that `breaches` are exactly those `expected`, each given by a part of its text.
#[track_caller]
fn caught(breaches: impl IntoIterator<Item = Breach>, expected: &[&str]) {
    let lines: Vec<String> = breaches.into_iter().map(|breach| breach.to_string()).collect();
    let matches = lines.len() == expected.len()
        && lines.iter().zip(expected).all(|(line, part)| line.contains(part));
    assert!(matches, "caught {lines:#?}\nexpected {expected:#?}");
}

fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        here.ancestors().nth(2).expect("crates/wirespeed lies two below the root").to_owned()
    });
    &ROOT
}

/// Every text file that people write; what is generated or built is left out.
fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let mut found = Vec::new();
        walk(root(), &made(), &mut found);
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    });
    &SOURCES
}

fn rust_sources() -> impl Iterator<Item = &'static Source> {
    sources().iter().filter(|source| source.is_rust())
}

/// What the targets of the Makefile leave in the root, which `.gitignore` names.
fn made() -> Vec<PathBuf> {
    let ignored = std::fs::read_to_string(root().join(".gitignore")).expect("there is one");
    let names = ignored.lines().filter_map(|line| line.strip_prefix('/'));
    names.map(|name| root().join(name.trim_end_matches('/'))).collect()
}

fn walk(dir: &Path, made: &[PathBuf], found: &mut Vec<Source>) {
    const NOT_OURS: [&str; 6] = [".git", "target", "corpus", "artifacts", "seeds", "Cargo.lock"];
    const WRITTEN: [&str; 7] = ["rs", "md", "toml", "txt", "json", "snap", "sql"];
    for entry in std::fs::read_dir(dir).expect("the repository is readable").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type().expect("a file has a type");
        if NOT_OURS.iter().any(|other| name == *other) || made.contains(&path) {
            continue;
        }
        if kind.is_dir() {
            walk(&path, made, found);
        } else if kind.is_file() && path.extension().is_none_or(|e| WRITTEN.iter().any(|w| e == *w))
        {
            // A file that is no text, or that vanished since it was listed, is no source.
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let relative = path.strip_prefix(root()).expect("it lies below the root");
            found.push(Source { path: relative.to_string_lossy().replace('\\', "/"), text });
        }
    }
}

#[test]
fn the_repository_is_seen() {
    for path in ["Cargo.toml", "Makefile", "scripts/fuzz", "crates/clock/src/lib.rs", ".ci/run"] {
        assert!(sources().iter().any(|source| source.path == path), "{path} is not looked at");
    }
}

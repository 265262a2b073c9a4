//! Code in the docs of a crate is run. Asking each crate for such code costs more time than most tests, so the crates
//! without any say `doctest = false`; this rule holds both together.

use crate::{Breach, Source, caught, none, rust_sources, sources};
use std::collections::BTreeMap;

/// Words after a fence that mark what is no Rust code.
const OTHER: [&str; 5] = ["text", "toml", "sh", "json", "ignore"];

/// The first line at which the docs of a file show Rust code.
fn shown(source: &Source) -> Option<usize> {
    let mut open = false;
    let fence = |line: &str| -> Option<String> {
        let doc = line.trim_start();
        let doc = doc.strip_prefix("//!").or_else(|| doc.strip_prefix("///"))?;
        doc.trim_start().strip_prefix("```").map(str::to_owned)
    };
    let mut fences = (1..).zip(source.text.lines()).filter_map(|(n, line)| Some((n, fence(line)?)));
    fences.find_map(|(number, language)| {
        open = !open;
        (open && !OTHER.contains(&language.as_str())).then_some(number)
    })
}

/// Crates that show code and do not run it, or run what they do not show.
fn unrun<'a>(rust: impl Iterator<Item = &'a Source>, manifests: &[&Source]) -> Vec<Breach> {
    let crate_of = |path: &str| path.split('/').nth(1).unwrap_or_default().to_owned();
    let mut showing = BTreeMap::new();
    for source in rust.filter(|source| source.path.contains("/src/")) {
        if let Some(line) = shown(source) {
            showing
                .entry(crate_of(&source.path))
                .or_insert_with(|| source.breach(line, "shows code, and `doctest = false`"));
        }
    }
    let mut breaches = Vec::new();
    for manifest in manifests {
        let off = manifest.text.lines().any(|line| line == "doctest = false");
        match showing.remove(&crate_of(&manifest.path)) {
            Some(breach) if off => breaches.push(breach),
            None if !off => {
                breaches.push(manifest.breach(1, "shows no code: say `doctest = false` in [lib]"))
            }
            _ => {}
        }
    }
    breaches
}

fn manifests() -> Vec<&'static Source> {
    // A binary has no such code.
    let of_library = |path: &str| {
        path.starts_with("crates/")
            && path.ends_with("/Cargo.toml")
            && path != "crates/wirespeed/Cargo.toml"
    };
    sources().iter().filter(|source| of_library(&source.path)).collect()
}

#[test]
fn code_in_docs_is_run() {
    none(unrun(rust_sources(), &manifests()));
}

#[test]
fn code_that_is_not_run_is_caught() {
    let off = "[lib]\ndoctest = false\n";
    let code = [
        Source::sample("crates/a/src/lib.rs", "//! ```\n//! a();\n//! ```\n"),
        Source::sample("crates/b/src/lib.rs", "//! ```text\n//! a\n//! ```\n"),
        Source::sample("crates/c/src/lib.rs", "/// ```compile_fail,E0451\n/// a();\n/// ```\n"),
    ];
    let manifests = [
        Source::sample("crates/a/Cargo.toml", off),
        Source::sample("crates/b/Cargo.toml", ""),
        Source::sample("crates/c/Cargo.toml", ""),
    ];
    let all: Vec<&Source> = manifests.iter().collect();
    caught(
        unrun(code.iter(), &all),
        &["crates/a/src/lib.rs:1: shows code", "crates/b/Cargo.toml:1: shows no code"],
    );
}

//! What holds for the tools around the code: the list of packages, the Makefile and the fuzz targets agree.

use crate::{Breach, Source, caught, none, root, sources};
use std::collections::BTreeSet;

fn source(path: &str) -> &'static Source {
    let found = sources().iter().find(|source| source.path == path);
    found.unwrap_or_else(|| panic!("{path} is missing"))
}

/// Targets of a Makefile that say in its help what they are for.
fn targets(makefile: &str) -> BTreeSet<&str> {
    let helped = makefile.lines().filter(|line| line.contains("## "));
    helped.filter_map(|line| line.split_once(':')).map(|(target, _)| target).collect()
}

/// A line of packages.txt names a package, targets that there are, a command that proves it, and a reason.
fn packages(list: &Source, makefile: &str) -> Vec<Breach> {
    let known = targets(makefile);
    let mut breaches = Vec::new();
    let entries =
        (1..).zip(list.text.lines()).filter(|(_, l)| !l.is_empty() && !l.starts_with('#'));
    for (line, text) in entries {
        let columns: Vec<&str> = text.split('|').map(str::trim).collect();
        let [_, wanted, _, _] = columns[..] else {
            breaches.push(list.breach(line, "expected `package | targets | command | why`"));
            continue;
        };
        if columns.contains(&"") {
            breaches.push(list.breach(line, "an empty column"));
        }
        for target in wanted.split_whitespace().filter(|target| !known.contains(target)) {
            breaches.push(list.breach(line, format!("the Makefile has no `{target}`")));
        }
    }
    breaches
}

/// Every fuzz target is registered under its own name and has seeds.
fn fuzz_targets(manifest: &Source, files: &[&str], seeds: &[&str]) -> Vec<Breach> {
    let table: toml::Table = manifest.text.parse().expect("a manifest is TOML");
    let bins = table.get("bin").and_then(toml::Value::as_array).map_or(&[][..], |all| all);
    let registered: BTreeSet<&str> = bins.iter().filter_map(|bin| bin["path"].as_str()).collect();
    let mut breaches = Vec::new();
    for file in files {
        if !registered.contains(format!("fuzz_targets/{file}.rs").as_str()) {
            breaches.push(manifest.breach(1, format!("`{file}` is not registered as a [[bin]]")));
        }
        if !seeds.contains(file) {
            breaches.push(manifest.breach(1, format!("`{file}` has no seeds")));
        }
    }
    breaches
}

fn names_in(dir: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(dir)).expect("the directory is there").flatten();
    let names = entries.map(|entry| entry.path().file_stem().expect("a name").to_owned());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

#[test]
fn the_list_of_packages_is_sound() {
    none(packages(source("packages.txt"), &source("Makefile").text));
}

#[test]
fn an_unsound_list_is_caught() {
    let makefile = "test: x ## Tests\n\tcargo test\nfuzz: ## Fuzzes\nhidden:\n";
    let check = |line: &str, expected: &[&str]| {
        let list = Source::sample("packages.txt", &format!("# Packages\n\n{line}\n"));
        caught(packages(&list, makefile), expected);
    };
    check("fio | test fuzz | fio --version | the peer", &[]);
    check("fio | test | fio --version", &["packages.txt:3: expected `package"]);
    check("fio | test | | the peer", &["an empty column"]);
    check("fio | bench | fio --version | the peer", &["the Makefile has no `bench`"]);
    check("fio | hidden | fio --version | the peer", &["the Makefile has no `hidden`"]);
}

#[test]
fn every_fuzz_target_runs() {
    let (files, seeds) = (names_in("fuzz/fuzz_targets"), names_in("fuzz/seeds"));
    let (files, seeds) = (as_strs(&files), as_strs(&seeds));
    none(fuzz_targets(source("fuzz/Cargo.toml"), &files, &seeds));
}

fn as_strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

#[test]
fn a_forgotten_fuzz_target_is_caught() {
    let bin = "[[bin]]\nname = \"units\"\npath = \"fuzz_targets/units.rs\"\n";
    let check = |files: &[&str], seeds: &[&str], expected: &[&str]| {
        caught(fuzz_targets(&Source::sample("fuzz/Cargo.toml", bin), files, seeds), expected);
    };
    check(&["units"], &["units"], &[]);
    check(&["units", "record"], &["units", "record"], &["`record` is not registered"]);
    check(&["units"], &["record"], &["`units` has no seeds"]);
}

//! Percentiles are never averaged: there is one way to read one, and none to combine two.

use std::path::Path;

/// Public functions below a folder that speak of percentiles or averages, with their files.
fn suspects(folder: &Path, found: &mut Vec<String>) {
    let words = ["percentile", "quantile", "median", "average", "avg", "mean"];
    for entry in std::fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            suspects(&path, found);
            continue;
        }
        let file = path.strip_prefix(SOURCES).expect("a path below").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a source file");
        for line in text.lines().map(str::trim) {
            let Some(rest) = line.strip_prefix("pub fn ").or(line.strip_prefix("pub const fn "))
            else {
                continue;
            };
            // What a counter means is no average.
            let rest_of = rest.replace("meaning", "").replace("Meaning", "");
            if words.iter().any(|word| rest_of.to_lowercase().contains(word)) {
                found.push(format!("{file}: {rest}"));
            }
        }
    }
}

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

#[test]
fn only_a_histogram_has_percentiles() {
    let mut found = Vec::new();
    suspects(Path::new(SOURCES), &mut found);
    found.sort();
    let file = "histogram/mod.rs";
    let mean = format!("{file}: mean(&self) -> Option<Ns> {{");
    let percentile = format!("{file}: percentile(&self, p: f64) -> Option<Ns> {{");
    assert_eq!(found, [mean, percentile]);
}

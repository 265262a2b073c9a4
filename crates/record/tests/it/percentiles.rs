//! Percentiles are never averaged: there is one way to read one, and none to combine two.

/// Public functions of the crate that speak of percentiles or averages, with their files.
fn suspects() -> Vec<String> {
    let words = ["percentile", "quantile", "median", "average", "avg", "mean"];
    let src = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(src).expect("the sources") {
        let path = entry.expect("an entry").path();
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a source file");
        for line in text.lines().map(str::trim) {
            let Some(rest) = line.strip_prefix("pub fn ").or(line.strip_prefix("pub const fn "))
            else {
                continue;
            };
            if words.iter().any(|word| rest.to_lowercase().contains(word)) {
                found.push(format!("{file}: {rest}"));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn only_a_histogram_has_percentiles() {
    assert_eq!(
        suspects(),
        [
            "histogram.rs: pub fn mean(&self) -> Option<Ns> {".replace("pub fn ", ""),
            "histogram.rs: pub fn percentile(&self, p: f64) -> Option<Ns> {".replace("pub fn ", ""),
        ]
    );
}

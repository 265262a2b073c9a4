//! What the tests of the language share: text in, a scenario or its mistakes out.

use scenario::{Diagnostics, Scenario, Source, load};

pub fn source(text: &str, overrides: &[(&str, &str)]) -> Source {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides = overrides.iter().map(owned).collect();
    Source { name: "lab.toml".into(), text: text.into(), overrides, ..Source::default() }
}

#[track_caller]
pub fn good_with(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    load(&source(text, overrides)).unwrap_or_else(|d| panic!("{d}"))
}

#[track_caller]
pub fn good(text: &str) -> Scenario {
    good_with(text, &[])
}

#[track_caller]
pub fn bad(text: &str) -> Diagnostics {
    load(&source(text, &[])).expect_err("a mistake was expected")
}

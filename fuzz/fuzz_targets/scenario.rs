//! Any text as a scenario: no panic, every place within its text, every mistake printable. Lines that begin with
//! `--set ` are overrides, so that those are reached too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::{Diagnostics, Source, load};

fuzz_target!(|input: &str| {
    let override_of = |line: &str| {
        let (key, value) = line.strip_prefix("--set ")?.split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    };
    let overrides: Vec<_> = input.lines().filter_map(override_of).collect();
    let text = match overrides.is_empty() {
        true => input.to_owned(),
        false => input.lines().filter(|l| override_of(l).is_none()).collect::<Vec<_>>().join("\n"),
    };
    match load(&Source { name: "lab.toml".to_owned(), text, overrides, ..Source::default() }) {
        Ok(scenario) => {
            for step in scenario.steps() {
                assert!(step.disk_loads().all(|load| load.workload.spec.problems().is_empty()));
                assert!(step.net_loads().all(|net| net.workload.network.problems().is_empty()));
                assert!(step.net_loads().all(|net| !net.hops(&scenario.lab).is_empty()));
            }
            let asked = [scenario.live(), scenario.topology().map(|_| ())];
            asked.iter().filter_map(|answer| answer.as_ref().err()).for_each(inspect);
        }
        Err(diagnostics) => inspect(&diagnostics),
    }
});

fn inspect(diagnostics: &Diagnostics) {
    assert!(!diagnostics.is_empty(), "a refusal without a mistake");
    for diagnostic in diagnostics {
        let related = diagnostic.related.iter().map(|(place, _)| place);
        for place in related.chain([&diagnostic.place]) {
            let text = diagnostics.text(place.origin);
            assert!(text.get(place.span.clone()).is_some(), "{place:?} of {} bytes", text.len());
        }
    }
    let printed = diagnostics.to_string();
    assert!(
        !printed.chars().any(|c| c.is_control() && c != '\n'),
        "a control character in {printed:?}"
    );
}

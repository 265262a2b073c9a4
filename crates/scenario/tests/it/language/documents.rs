//! The generated documents are as the language is. `UPDATE_DOCS=1 cargo test -p scenario documents` rewrites them.

use crate::language::support::source;
use std::path::{Path, PathBuf};

const BEGIN: &str =
    "<!-- The reference below is generated: UPDATE_DOCS=1 cargo test -p scenario -->\n";
const END: &str = "<!-- End of the generated reference -->\n";

fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[track_caller]
fn fresh(name: &str, current: impl FnOnce(&str) -> String) {
    let path = document(name);
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let current = current(&found);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        // Other tests read it meanwhile.
        if found != current {
            std::fs::write(&path, current).expect("a writable document");
        }
    } else {
        assert!(found == current, "docs/{name} is stale: UPDATE_DOCS=1 cargo test -p scenario");
    }
}

#[test]
fn the_schema_is_fresh() {
    let schema = serde_json::to_string_pretty(&scenario::schema()).expect("JSON");
    fresh("scenario.schema.json", |_| format!("{schema}\n"));
}

#[test]
fn every_reference_of_the_schema_leads_somewhere() {
    fn check(value: &serde_json::Value, root: &serde_json::Value) {
        if let Some(target) = value.get("$ref").and_then(|r| r.as_str()) {
            let pointer = target.strip_prefix('#').expect("a reference within the schema");
            assert!(root.pointer(pointer).is_some_and(|d| d.is_object()), "{target}");
        }
        let inner = value.as_object().map(|o| o.values().collect::<Vec<_>>());
        let inner = inner.or_else(|| value.as_array().map(|a| a.iter().collect()));
        inner.into_iter().flatten().for_each(|v| check(v, root));
    }
    let schema = scenario::schema();
    check(&schema, &schema);
}

/// The example of mistakes in the page, and the answer that the page shows.
#[test]
fn the_shown_mistakes_are_fresh() {
    const MARK: &str = "<!-- Checked by a test. -->\n```text\n";
    fresh("scenario.md", |found| {
        let (before, rest) = found.split_once(MARK).expect("the mark before the answer");
        let (_, after) = rest.split_once("```\n").expect("the end of the answer");
        let (_, example) = before.rsplit_once("```toml\n").expect("the example before the answer");
        let (example, _) = example.split_once("```\n").expect("the end of the example");
        let source = source(example, &[("plan.cooldown", "1")]);
        let answer = scenario::load(&source).expect_err("the example is full of mistakes");
        format!("{before}{MARK}{answer}```\n{after}")
    });
}

#[test]
fn the_minimal_scenario_of_the_page_loads() {
    let page = std::fs::read_to_string(document("scenario.md")).expect("the page");
    let (_, example) = page.split_once("```toml\n").expect("a first example");
    let (example, _) = example.split_once("```\n").expect("the end of the example");
    assert_eq!(crate::language::support::good(example).steps().len(), 1);
}

#[test]
fn the_reference_is_fresh() {
    fresh("scenario.md", |found| {
        let (before, rest) = found.split_once(BEGIN).expect("the mark where the reference begins");
        let (_, after) = rest.split_once(END).expect("the mark where the reference ends");
        format!("{before}{BEGIN}\n{}{END}{after}", scenario::reference())
    });
}

/// The page with a headline of its own before the example that follows a heading.
fn example_after(heading: &str) -> String {
    let page = std::fs::read_to_string(document("scenario.md")).expect("the page");
    let (_, after) = page.split_once(heading).expect("the heading");
    let (_, example) = after.split_once("```toml\n").expect("an example");
    let (example, _) = example.split_once("```\n").expect("the end of the example");
    format!("scenario.title = \"t\"\n{example}")
}

#[test]
fn the_array_of_the_page_stands() {
    let scenario = crate::language::support::good(&example_after("## An array on this machine\n"));
    let steps = scenario.steps();
    assert_eq!((steps.len(), steps[0].faults.len()), (4, 2));
    assert!(scenario.lab.embedded("store").is_some());
}

#[test]
fn the_networks_of_the_page_are_planned() {
    let scenario = crate::language::support::good(&example_after("## Networks\n"));
    let steps = scenario.steps();
    assert_eq!((steps.len(), scenario.goals.len()), (21, 4));
    assert_eq!((steps[20].disk_loads().count(), steps[20].net_loads().count()), (1, 1));
}

/// Every speed that goes by a name, with its payload as the page rounds it.
#[test]
fn the_shown_speeds_are_those_of_the_standards() {
    let page = std::fs::read_to_string(document("scenario.md")).expect("the page");
    for name in scenario::LinkRate::names() {
        let payload = scenario::LinkRate::parse(name).expect("a standard").payload().0 / 1e6;
        let whole = units::count(payload.trunc());
        let row = format!("| `{name}` | {whole}.{:.0} MB/s |", (payload.fract() * 10.0).round());
        assert!(page.contains(&row), "docs/scenario.md lacks {row}");
    }
}

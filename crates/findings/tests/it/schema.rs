//! The schema of a review is fresh, every field of it is described, and its version is raised when a field goes or
//! changes. `UPDATE_DOCS=1 cargo test -p findings documents` rewrites what is generated.

use crate::support::{Sketch, Work, valid};
use findings::VERSION;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

fn updating() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

#[test]
fn documents_the_schema_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/review.schema.json");
    let current = format!("{:#}\n", findings::schema());
    if updating() {
        std::fs::write(&path, current).expect("a writable document");
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == current, "docs/review.schema.json is stale: make docs");
}

/// Every field of a schema as a path with what it may hold, a line each; every word of an enumeration is a line.
fn fields(schema: &Value) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    walk(schema, schema, "", &mut out);
    out
}

fn walk(schema: &Value, root: &Value, path: &str, out: &mut BTreeSet<String>) {
    if let Some(target) = schema["$ref"].as_str() {
        let pointer = target.strip_prefix('#').expect("a reference within the schema");
        walk(root.pointer(pointer).expect("a definition"), root, path, out);
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        let all = schema[key].as_array();
        all.into_iter().flatten().for_each(|inner| walk(inner, root, path, out));
    }
    let words = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    out.extend(words.map(|word| format!("{path} = {word}")));
    match &schema["type"] {
        Value::String(kind) => _ = out.insert(format!("{path}: {kind}")),
        Value::Array(kinds) => {
            out.extend(
                kinds.iter().filter_map(Value::as_str).map(|kind| format!("{path}: {kind}")),
            );
        }
        _ => {}
    }
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        walk(inner, root, format!("{path}.{key}").trim_start_matches('.'), out);
    }
    let items = schema["prefixItems"].as_array().into_iter().flatten();
    for item in items.chain(schema.get("items").filter(|items| items.is_object())) {
        walk(item, root, &format!("{path}[]"), out);
    }
}

/// The path of a field, with its separator, and what it may hold.
fn split(field: &str) -> (&str, &str) {
    let end = field.find([':', '=']).expect("a separator") + 2;
    field.split_at(end)
}

/// The fields of a line of the list, `path: one | other`.
fn alternatives(line: &str) -> Vec<String> {
    let (path, all) = split(line);
    all.split(" | ").map(|what| format!("{path}{what}")).collect()
}

/// What a reader of the old schema could have used and no longer finds.
fn gone(old: &BTreeSet<String>, new: &BTreeSet<String>) -> Vec<String> {
    old.difference(new).cloned().collect()
}

#[test]
fn documents_a_field_that_goes_raises_the_version() {
    let name = format!("tests/fields/review-{VERSION}.txt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let known: BTreeSet<String> = text.lines().flat_map(alternatives).collect();
    let current = fields(&findings::schema());
    let gone = gone(&known, &current);
    assert!(
        gone.is_empty(),
        "readers of version {VERSION} would miss {gone:#?}: raise `findings::VERSION`, and keep {name} as it is"
    );
    if updating() {
        let lines: Vec<String> = current
            .iter()
            .map(|field| split(field))
            .collect::<Vec<_>>()
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| {
                let all: Vec<&str> = same.iter().map(|(_, what)| *what).collect();
                format!("{}{}", same[0].0, all.join(" | "))
            })
            .collect();
        std::fs::write(&path, lines.join("\n") + "\n").expect("a writable list");
        return;
    }
    assert!(known == current, "{name} lacks new fields: make docs");
}

/// The rule itself: what raises the version and what does not.
#[test]
fn what_readers_would_miss() {
    #[track_caller]
    fn check(old: Value, new: Value, expected: &[&str]) {
        let object = |properties: Value| fields(&json!({ "properties": properties }));
        assert_eq!(gone(&object(old), &object(new)), expected);
    }
    let number = || json!({ "type": "number" });
    check(json!({ "a": number() }), json!({ "a": number(), "b": number() }), &[]);
    check(json!({ "a": number(), "b": number() }), json!({ "a": number() }), &["b: number"]);
    check(json!({ "a_ns": number() }), json!({ "a_s": number() }), &["a_ns: number"]);
    check(json!({ "a": number() }), json!({ "a": { "type": "string" } }), &["a: number"]);
    check(
        json!({ "a": { "enum": ["x", "y"] } }),
        json!({ "a": { "enum": ["x"] } }),
        &["a = \"y\""],
    );
    let list = |items: Value| json!({ "a": { "type": "array", "items": items } });
    check(list(number()), list(json!({ "type": "boolean" })), &["a[]: number"]);
}

/// Descriptions are what makes the file a document.
#[test]
fn every_field_is_described() {
    fn check(schema: &Value, path: &str) {
        for (key, field) in schema["properties"].as_object().into_iter().flatten() {
            let told = field["description"].is_string() || field.get("const").is_some();
            assert!(told, "{path}.{key} has no description: {field}");
            assert!(!field["description"].as_str().is_some_and(|d| d.contains("[`")), "{field}");
        }
        let inner = schema.as_object().map(|o| o.iter().collect::<Vec<_>>()).unwrap_or_default();
        inner.into_iter().for_each(|(key, value)| check(value, &format!("{path}/{key}")));
        schema.as_array().into_iter().flatten().for_each(|value| check(value, path));
    }
    check(&findings::schema(), "");
}

const SCENARIO: &str = r#"
scenario.title = "One step"
target = [{ name = "t", url = "null:", size = "1GiB" }]
workload.load.block = "8KiB"
[plan]
workload = "load"
on = "t"
measure = "5s"
"#;

/// The validation that every analysis of the tests goes through can fail.
#[test]
fn the_schema_tells_right_from_wrong() {
    let analysis = Sketch::of(SCENARIO).analyse(|_, _| Work::default());
    let right = serde_json::to_value(&analysis).expect("JSON");
    let check = |pointer: &str, value: Value, expected: bool| {
        let mut review = right.clone();
        *review.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
        assert_eq!(valid::holds(findings::schema(), &review), expected, "{pointer}");
    };
    check("/version", json!(VERSION), true);
    check("/version", json!(VERSION + 1), false);
    check("/steps/0/total/both/iops", Value::Null, true);
    check("/steps/0/total/both/iops", json!("many"), false);
    check("/steps/0/total/both/ops", Value::Null, false);
    check("/steps/0/total/both/service", Value::Null, true);
    check("/verdict/kind", json!("perhaps"), false);
    check("/run/facts", json!([{ "subject": "a" }]), false);
    let mut newer = right.clone();
    newer["a_field_of_tomorrow"] = json!(1);
    assert!(valid::holds(findings::schema(), &newer), "new fields are no new version");
}

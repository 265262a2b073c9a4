//! JSON Schema 2020-12 of the language, made from the descriptions in `fields`, for editors and other programs.
//!
//! It knows shapes, units and the rules within one table; names are checked by `load` only.

use crate::fields::{KeyWord, Need, ROOT, TableDef, TableKind, Type};
use crate::scalar::expected;
use serde_json::{Map, Value, json};
use units::LinkRate;

const NUMBER: &str = r"[0-9][0-9_,]*(\.[0-9]+)?\s*";

/// The schema, as `docs/scenario.schema.json` holds it.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    let root = table(&ROOT, &mut definitions);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Wirespeed scenario",
        "$defs": definitions,
    });
    if let (Some(schema), Value::Object(root)) = (schema.as_object_mut(), root) {
        schema.extend(root);
    }
    schema
}

fn table(def: &'static TableDef, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut prefixed = Map::new();
    for field in def.fields {
        let mut value = shape(&field.ty, definitions);
        if def.prefixed && field.of_workload() {
            prefixed.insert(format!("^.+\\.{}$", field.key), value.clone());
        }
        if let Some(object) = value.as_object_mut() {
            object.insert("description".to_owned(), json!(field.doc));
            if let Need::Default(value) = field.need {
                object.insert("default".to_owned(), json!(value));
            }
        }
        properties.insert(field.key.to_owned(), value);
    }
    let required: Vec<&str> =
        def.fields.iter().filter(|f| matches!(f.need, Need::Required)).map(|f| f.key).collect();
    let mut schema = json!({
        "type": "object",
        "description": def.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if def.prefixed {
        schema["patternProperties"] = Value::Object(prefixed);
        schema["additionalProperties"] = json!({ "type": "object" });
    }
    let rules = rules(def);
    if !rules.is_empty() {
        schema["allOf"] = Value::Array(rules);
    }
    schema
}

/// The rules between the keys of one table.
fn rules(def: &TableDef) -> Vec<Value> {
    let mut rules = Vec::new();
    let both = |a: &str, b: &str| json!({ "not": { "required": [a, b] } });
    for choice in def.choices {
        let single: Vec<Value> = choice.keys.iter().map(|k| json!({ "required": [k] })).collect();
        if choice.required {
            rules.push(json!({ "oneOf": single }));
        } else {
            let pairs = choice.keys.iter().enumerate();
            rules.extend(
                pairs.flat_map(|(i, a)| choice.keys[i + 1..].iter().map(move |b| both(a, b))),
            );
        }
    }
    for conflict in def.conflicts {
        rules.extend(conflict.others.iter().map(|other| both(conflict.key, other)));
    }
    rules
}

/// A reference to a table's definition, which is made when first met.
fn reference(def: &'static TableDef, definitions: &mut Map<String, Value>) -> Value {
    if !definitions.contains_key(def.id) {
        // Entered first, so that a table that holds itself would not be followed for ever.
        definitions.insert(def.id.to_owned(), Value::Null);
        let schema = table(def, definitions);
        definitions.insert(def.id.to_owned(), schema);
    }
    json!({ "$ref": format!("#/$defs/{}", def.id) })
}

fn shape(ty: &Type, definitions: &mut Map<String, Value>) -> Value {
    let text = |units: &str| json!({ "type": "string", "pattern": format!("^\\s*{NUMBER}({units})\\s*$") });
    const BYTES: &str = "B|[kKMGTP]B|[KMGTP]iB";
    const RATES: &str = "[kKMGT]?B/s|[KMG]iB/s|[kMG]?b/s";
    match ty {
        Type::Text | Type::Name | Type::Ref(_) | Type::LinkRateOrRef(_) => {
            json!({ "type": "string", "minLength": 1 })
        }
        Type::Refs(_) => one_or_many(json!({ "type": "string", "minLength": 1 })),
        Type::Flag => json!({ "type": "boolean" }),
        Type::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Type::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Type::Size { .. } => text(BYTES),
        Type::Time { .. } => json!({ "type": "string", "examples": ["10s", "250ms", "1h30m"] }),
        Type::Amount => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            text("k?\\s*IOPS|M?\\s*IOPS|k?/s"),
            text(BYTES),
        ] }),
        Type::LinkRate => json!({ "anyOf": [
            text(RATES),
            { "type": "string", "pattern": link_names() },
        ] }),
        Type::Sector => json!({ "anyOf": [
            { "enum": [512, 4096] },
            { "type": "string", "pattern": "^\\s*(512\\s*B|4096\\s*B|4\\s*KiB)\\s*$" },
        ] }),
        Type::CountOrSize => json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, text(BYTES)] }),
        Type::Rate => text(RATES),
        Type::IopsOrRate => json!({ "anyOf": [
            { "type": "number", "minimum": 0 },
            text("k?\\s*IOPS|M?\\s*IOPS|k?/s"),
            text(RATES),
        ] }),
        Type::RateOrWire => json!({ "anyOf": [text(RATES), text("%\\s*of wire")] }),
        Type::Iops => json!({ "anyOf": [
            { "type": "number", "minimum": 0 },
            text("k?\\s*IOPS|M?\\s*IOPS|k?/s"),
        ] }),
        Type::Percent => percent(text("%")),
        Type::SizeOrPercent => json!({ "anyOf": [text(BYTES), percent(text("%"))] }),
        Type::Point => json!({ "type": "string", "pattern": "^(mean|max|p[0-9]+([._][0-9]+)?)$" }),
        Type::Word(words) => self::words(words),
        Type::Table(def) => reference(def, definitions),
        Type::Tables(def) => json!({ "type": "array", "items": reference(def, definitions) }),
        Type::TableOrTables(def) => one_or_many(reference(def, definitions)),
        Type::Map(kinds) => {
            json!({ "type": "object", "additionalProperties": of_kinds(kinds, definitions) })
        }
        Type::WordOrTable(words, def) => {
            json!({ "anyOf": [self::words(words), reference(def, definitions)] })
        }
        Type::FlagOrTable(def) => {
            json!({ "anyOf": [{ "type": "boolean" }, reference(def, definitions)] })
        }
        Type::OneOrMany(one) => one_or_many(shape(one, definitions)),
        Type::Axis(one) => {
            let list = json!({ "type": "array", "minItems": 1, "items": shape(one, definitions) });
            match **one {
                Type::Size { .. } | Type::Count { .. } => json!({ "anyOf": [
                    list,
                    { "type": "string", "pattern": "\\.\\.", "description": expected(ty) },
                ] }),
                _ => list,
            }
        }
    }
}

/// A table of one of several kinds, by its key `kind`; the first where that is not given.
fn of_kinds(kinds: &'static [TableKind], definitions: &mut Map<String, Value>) -> Value {
    let [usual, others @ ..] = kinds else { return json!({ "type": "object" }) };
    let mut schema = reference(usual.def, definitions);
    for kind in others {
        schema = json!({
            "if": { "properties": { "kind": { "const": kind.word } }, "required": ["kind"] },
            "then": reference(kind.def, definitions),
            "else": schema,
        });
    }
    schema
}

/// Names of standards in any case; those of Ethernet may be followed by an MTU.
fn link_names() -> String {
    let speeds = |family: &str| -> String {
        let speeds: Vec<&str> = LinkRate::names().filter_map(|n| n.strip_suffix(family)).collect();
        speeds.join("|")
    };
    let (fibre, ether) = (speeds("gfc"), speeds("gbe"));
    format!(r"^\s*(({fibre})[gG][fF][cC]|({ether})[gG][bB][eE](:([mM][tT][uU]=)?[0-9]+)?)\s*$")
}

fn percent(text: Value) -> Value {
    json!({ "anyOf": [
        { "const": 0 },
        { "type": "number", "exclusiveMinimum": 1, "maximum": 100 },
        text,
    ] })
}

fn one_or_many(one: Value) -> Value {
    json!({ "anyOf": [one.clone(), { "type": "array", "minItems": 1, "items": one }] })
}

fn words(words: &[KeyWord]) -> Value {
    let words: Vec<Value> =
        words.iter().map(|w| json!({ "const": w.word, "description": w.doc })).collect();
    json!({ "oneOf": words })
}

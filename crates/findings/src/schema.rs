//! JSON Schema 2020-12 of an [`Analysis`], for programs that read reviews.
//!
//! It is derived from the types themselves, so that it cannot say anything else than what is written; their doc comments
//! are its descriptions. What is added here is what the types cannot know: the version, that figures which are not finite
//! are written as `null`, and that a reader must let fields pass that it does not know.

use crate::{Analysis, VERSION};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

/// What the schema is, for people who find it alone.
const DESCRIPTION: &str = "What `wirespeed review RUN --format json` prints. A field that goes or changes its meaning \
                           raises `version`; a new field does not, so a reader lets fields pass that it does not know. \
                           Names carry their unit last (`bytes_per_s`, `p99_ns`); a name without a unit is a count, a \
                           share from 0 to 1, or says so. A figure that is not finite is `null`.";

/// The schema, as `docs/review.schema.json` holds it.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(plain_words))
        .with_transform(RecursiveTransform(finite_or_null));
    let mut schema = settings.into_generator().into_root_schema_for::<Analysis>();
    schema.insert("$id".to_owned(), json!(format!("urn:wirespeed:review:{VERSION}")));
    schema.insert("title".to_owned(), json!(format!("A Wirespeed review, version {VERSION}")));
    schema.insert("description".to_owned(), json!(DESCRIPTION));
    schema.to_value()
}

/// Doc comments as plain text. Links lead nowhere here: `` [`x`](y) `` and `` [`x`] `` become `` `x` ``.
fn plain_words(schema: &mut Schema) {
    let Some(Value::String(text)) = schema.get_mut("description") else { return };
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else { break };
        plain.push_str(&format!("{before}`{name}`"));
        let target = after.strip_prefix('(').and_then(|a| a.split_once(')'));
        rest = target.map_or(after, |(_, after)| after);
    }
    plain.push_str(rest);
    // Lines end where the source code has room, paragraphs where they mean it.
    let paragraphs: Vec<String> = plain.split("\n\n").map(|p| p.replace('\n', " ")).collect();
    *text = paragraphs.join("\n\n");
}

/// Any float of a damaged record may be infinite or no number, for which JSON has no word but `null`.
fn finite_or_null(schema: &mut Schema) {
    if let Some(kind) = schema.get_mut("type").filter(|kind| **kind == json!("number")) {
        *kind = json!(["number", "null"]);
    }
}

/// The version is one number, and a reader can tell by the schema alone which.
pub(crate) fn version(_: &mut schemars::SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "integer", "const": VERSION })
}

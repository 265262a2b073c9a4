//! Reviews as JSON are what `docs/review.schema.json` says. Every analysis of the tests passes here.
#![allow(dead_code, reason = "each test program uses a part of it")]

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;
use std::sync::LazyLock;

static SCHEMA: LazyLock<(Schemas, SchemaIndex)> = LazyLock::new(|| compiled(findings::schema()));

/// Fails where a review breaks the schema.
#[track_caller]
pub fn check(review: &Value) {
    let (schemas, index) = &*SCHEMA;
    if let Err(error) = schemas.validate(review, *index) {
        panic!("the review is not what its schema says: {error}\n{review:#}");
    }
}

/// Whether a review is what a schema says.
pub fn holds(schema: Value, review: &Value) -> bool {
    let (schemas, index) = compiled(schema);
    schemas.validate(review, index).is_ok()
}

fn compiled(schema: Value) -> (Schemas, SchemaIndex) {
    const NAME: &str = "urn:wirespeed:test:review";
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource(NAME, schema).expect("a schema");
    let index = compiler.compile(NAME, &mut schemas).expect("a schema that compiles");
    (schemas, index)
}

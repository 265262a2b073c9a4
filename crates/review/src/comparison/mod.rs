//! A comparison of runs, rendered: for a terminal, in Markdown, as JSON, and (in `html`) as a page. The wording is
//! the same everywhere, from `words`; every number is one of [`findings::comparison`].

mod markdown;
mod text;
pub(crate) mod words;

pub use markdown::markdown;
pub use text::text;

use findings::Comparison;

/// The comparison as JSON, described in `docs/compare.md`. Figures that are not finite are `null`.
pub fn json(comparison: &Comparison) -> serde_json::Value {
    // A comparison is plain data with text keys, which serialisation cannot refuse.
    serde_json::to_value(comparison).unwrap_or(serde_json::Value::Null)
}

//! A record's findings, rendered: for a terminal, as a page, as Markdown and as JSON.
//!
//! The verdict comes first, then findings in sentences, the tables behind them, and warnings. This crate measures and
//! judges nothing; every number comes from [`findings`]. Text from a record is cleaned before it reaches a terminal.

#![forbid(unsafe_code)]

mod agents;
mod answers;
mod charts;
mod comparison;
mod devices;
pub mod estimate;
mod fabric;
mod footer;
mod goals;
mod headline;
mod highlights;
mod hops;
mod html;
mod limits;
mod load_line;
mod map;
mod markdown;
mod monitoring;
mod network;
mod network_loads;
mod number;
mod paint;
mod projections;
mod proof;
mod provenance;
mod published;
mod results;
mod sentence;
mod steps;
mod table;
mod text;
mod warnings;

pub use comparison::{
    json as comparison_json, markdown as comparison_markdown, text as comparison_text,
};
pub use html::{STYLE, comparison as comparison_html, html};
pub use load_line::load_line;
pub use map::live_map;
pub use markdown::markdown;
pub use network_loads::{both_units, fact, network_loads};
pub use paint::Style;
pub use text::{clean, plain, printable};

use findings::Analysis;
use paint::ReviewPage;

/// A review for a terminal. No line is longer than the style's width (at least 60, at most 100).
pub fn terminal(analysis: &Analysis, style: Style) -> String {
    let mut page = ReviewPage::new(style);
    headline::write(&mut page, analysis);
    highlights::write(&mut page, analysis);
    steps::write(&mut page, analysis);
    hops::write(&mut page, analysis);
    network::write(&mut page, analysis);
    goals::write(&mut page, &analysis.goals);
    published::write(&mut page, &analysis.claims, &analysis.claims_summary);
    warnings::write(&mut page, &analysis.warnings);
    footer::write(&mut page, &analysis.run);
    page.finish()
}

/// The same as JSON: the [`Analysis`] as it is, described in `docs/review.md`. Its `version` says how to read it; figures
/// that are not finite are `null`.
pub fn json(analysis: &Analysis) -> serde_json::Value {
    // An analysis is plain data with text keys, which serialisation cannot refuse.
    serde_json::to_value(analysis).unwrap_or(serde_json::Value::Null)
}

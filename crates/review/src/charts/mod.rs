//! Charts for the page: figures as plotly reads them, each with its words. They render what [`findings`] holds and
//! compute nothing.
//!
//! A figure names its colours by the theme's custom properties (`"var(--series-1)"`, as in the style sheet); the page's
//! script puts in what they stand for in the theme that is shown, so that one figure serves light, dark and paper.

mod sweep;

use crate::text::clean;
use findings::Analysis;

/// One chart of the page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chart {
    /// Unique in the page and fit for an address (`[a-z0-9-]+`): the chart can be linked to as `#chart-ID`.
    pub id: String,
    /// The heading.
    pub title: String,
    /// One sentence: what is seen, and closed or open loop where it is latency.
    pub note: String,
    /// The same in words, for who cannot see it.
    pub alt: String,
    /// Height in CSS pixels.
    pub height: u32,
    /// Whether it needs the whole width of the page; others may share a row.
    pub wide: bool,
    /// `{data, layout}` of plotly, colours as `var(--name)`.
    pub figure: serde_json::Value,
    /// The steps that it shows.
    pub steps: Vec<u32>,
}

/// The charts in the order of the page.
pub(crate) fn charts(analysis: &Analysis) -> Vec<Chart> {
    analysis.sweeps.iter().enumerate().filter_map(|(i, s)| sweep::chart(i, s, analysis)).collect()
}

/// A word of a record as plotly shows it and nothing else: its texts understand a few tags and entities.
pub(crate) fn word(text: &str) -> String {
    clean(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

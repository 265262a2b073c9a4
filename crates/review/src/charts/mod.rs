//! Charts for the page: figures as plotly reads them, with their texts. They render [`findings`] and compute nothing.
//!
//! A figure names its colours by the theme's custom properties (`"var(--source-1)"`, as in `assets/charts.css`); the page's
//! script puts in what they stand for in the theme that is shown, so that one figure serves light, dark and paper.

mod comparison;
mod curve;
mod figure;
mod heat;
mod network;
mod palette;
mod ports;
mod response;
mod shape;
mod steps;
mod sweep;
#[cfg(test)]
mod tests;
mod timeline;
mod trace;
mod workers;

pub(crate) use comparison::comparison;
pub(crate) use shape::id as shape_id;

use crate::text::clean;
use findings::evidence::{Part, StepEvidence};
use findings::{Analysis, Evidence};

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

/// The charts in the order of the page. One that would have nothing to show is left out.
pub(crate) fn charts(analysis: &Analysis, evidence: &Evidence) -> Vec<Chart> {
    let mut charts = sweep::charts(analysis, evidence);
    charts.extend(response::charts(analysis));
    charts.extend(steps::latency(analysis));
    charts.extend(curve::chart(evidence));
    charts.extend(steps::directions(analysis));
    charts.extend(heat::chart(evidence));
    charts.extend(workers::chart(evidence));
    charts.extend(network::charts(analysis));
    charts.extend(timeline::chart(evidence));
    charts.extend(shape::charts(analysis));
    charts
}

/// The chart of a sweep of the analysis: that of its plan and axis.
pub(crate) fn sweep_id(analysis: &Analysis, index: usize) -> Option<String> {
    sweep::id(analysis, index)
}

/// What a part of the evidence leaves out, to go on a note with.
pub(crate) fn left_out(evidence: &Evidence, part: Part) -> String {
    let texts = evidence.left_out.iter().filter(|l| l.from == part);
    texts.map(|l| format!(" {}", word(&l.text))).collect()
}

/// A step as a reader chooses it, with what it was chosen for.
pub(crate) fn step_name(step: &StepEvidence) -> String {
    match step.why.as_slice() {
        [] => word(&step.label),
        why => format!("{} ({})", word(&step.label), why.join(", ")),
    }
}

/// A word of a record as plotly shows it and nothing else: its texts understand a few tags and entities.
pub(crate) fn word(text: &str) -> String {
    clean(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

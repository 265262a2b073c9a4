//! The review as one page that needs nothing else: no network, no second file, no storage.
//!
//! The order is that of a laboratory's publication: the question, the verdict, what was found and what to be careful
//! about on the first screen; then charts, tables, the scenario in words, and where all of it comes from. Every sentence
//! leads to its evidence. Every word of a record is escaped by the templates, and cleaned of what could deceive a
//! reader. Figures come from [`findings`] and from nowhere else.

mod agents;
mod appendix;
mod balance;
mod claims;
mod comparison;
mod conditions;
mod embed;
mod embedded;
mod figures;
mod goals;
mod grid;
mod links;
mod map;
mod net_words;
mod network;
mod network_across;
mod ports;
mod scenario;
mod steps;
mod summary;
mod words;

pub use comparison::comparison;
pub use embed::STYLE;

use crate::charts;
use crate::text::clean;
use findings::{Analysis, Evidence, StepFigures};
use links::Links;
use maud::{DOCTYPE, Markup, html};
use record::ScenarioText;

/// The page of a review, with the data behind its charts and the scenario as it was run.
pub fn html(analysis: &Analysis, evidence: &Evidence, text: &ScenarioText) -> String {
    let source = ::scenario::Source {
        name: text.name.clone(),
        text: text.text.clone(),
        overrides: text.overrides.clone(),
        ..::scenario::Source::default()
    };
    let scenario = ::scenario::load(&source).ok();
    // What was observed was not planned.
    let planned = !text.text.is_empty();
    let charts = charts::charts(analysis, evidence);
    let map = map::of(analysis);
    let links = Links { analysis, charts: &charts };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { (embed::head(&clean(&analysis.run.title))) }
            body {
                (bar(analysis, !charts.is_empty(), map.is_some(), planned))
                main id="top" {
                    (summary::section(analysis, scenario.as_ref(), &links))
                    (map::section(analysis, map.as_ref()))
                    (figures::section(&charts))
                    (steps::section(analysis))
                    (network::section(analysis))
                    (balance::section(analysis))
                    (agents::section(analysis))
                    (goals::section(analysis, &links))
                    (claims::section(analysis))
                    (appendix::verification(analysis.verification.as_ref()))
                    (appendix::contents(&analysis.contents))
                    @if planned { (self::scenario::section(analysis, scenario.as_ref())) }
                    (appendix::provenance(analysis))
                    @if planned { (appendix::scenario(text)) }
                }
                (footer())
                (embed::data("charts", &figures::data(&charts)))
                @if let Some(map) = &map { (embed::data("map-data", &map::data(map))) }
                @for script in embed::scripts() { (embed::script(script)) }
            }
        }
    };
    page.into_string()
}

/// The way through the page, and the choice of the theme. It is not printed.
fn bar(analysis: &Analysis, charts: bool, map: bool, planned: bool) -> Markup {
    html! {
        a.skip href="#findings" { "Skip to the findings" }
        nav.bar aria-label="Sections" {
            a.brand href="#top" { "Wirespeed" }
            @if map { a href="#map" { "Map" } }
            @if charts { a href="#charts-section" { "Charts" } }
            a href="#steps" { "Figures" }
            @if analysis.steps.iter().any(StepFigures::has_network) { a href="#network" { "Network" } }
            @if !analysis.goals.is_empty() { a href="#goals" { "Goals" } }
            @if !analysis.claims.is_empty() { a href="#claims" { "Published" } }
            @if planned { a href="#scenario" { "Scenario" } }
            a href="#provenance" { "Provenance" }
            button id="theme" type="button" hidden { "Dark" }
        }
    }
}

fn footer() -> Markup {
    html! {
        footer {
            p {
                "Made by wirespeed " (env!("CARGO_PKG_VERSION")) " from the record alone. Charts are drawn by plotly.js, © Plotly, Inc., MIT licence. "
                "1 MB = 10⁶ bytes; KiB, MiB and GiB are marked. p99: 99% of the operations took at most this long."
            }
        }
    }
}

//! The charts of the page: a place for each, and the data that the script draws them from.

use crate::charts::Chart;
use maud::{Markup, html};
use serde_json::Value;

/// The section with a place for every chart; nothing where there are none.
pub(super) fn section(charts: &[Chart]) -> Markup {
    html! {
        @if !charts.is_empty() {
            section id="charts-section" aria-labelledby="charts-heading" {
                h2 id="charts-heading" { "Charts" }
                div.charts {
                    @for chart in charts {
                        figure.wide[chart.wide] id={ "chart-" (chart.id) } {
                            figcaption { h3 { (chart.title) } p { (chart.note) } }
                            div.chart data-chart=(chart.id) role="img" aria-label=(chart.alt)
                                style={ "height:" (chart.height) "px" } {}
                        }
                    }
                }
            }
        }
    }
}

/// Every figure by the name of its chart.
pub(super) fn data(charts: &[Chart]) -> Value {
    charts
        .iter()
        .map(|chart| (chart.id.clone(), chart.figure.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

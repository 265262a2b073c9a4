//! The review as one page that needs nothing else: no network, no second file, no storage.
//!
//! Every word of a record is escaped by the templates, and cleaned of what could deceive a reader. Figures come from
//! [`findings`] and from nowhere else.

mod embed;
mod figures;

use crate::charts;
use crate::text::clean;
use findings::{Analysis, Evidence};
use maud::{DOCTYPE, html};
use record::ScenarioText;

/// The page of a review, with the data behind its charts and the scenario as it was run.
pub fn html(analysis: &Analysis, evidence: &Evidence, scenario: &ScenarioText) -> String {
    let charts = charts::charts(analysis, evidence);
    let plotly = embed::plotly();
    let title = clean(&analysis.run.title);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { (embed::head(&title, &[&plotly, embed::PAGE])) }
            body {
                main {
                    h1 { (title) }
                    (figures::section(&charts))
                    pre { (scenario.text) }
                }
                (embed::data("charts", &figures::data(&charts)))
                (embed::script(&plotly))
                (embed::script(embed::PAGE))
            }
        }
    };
    page.into_string()
}

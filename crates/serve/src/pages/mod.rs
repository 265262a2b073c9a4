//! The pages: made by the server as a whole, readable without script, with words of others escaped by the templates.

pub(crate) mod chart;
pub(crate) mod explore;
pub(crate) mod figures;
pub(crate) mod library;
pub(crate) mod live;
pub(crate) mod login;
pub(crate) mod record;
pub(crate) mod start;
pub(crate) mod trend;

use maud::{DOCTYPE, Markup, html};

/// The style of every page: that of reviews, and what these pages have besides.
pub(crate) fn style() -> String {
    format!("{}\n{}", review::STYLE, include_str!("../../assets/serve.css"))
}

/// The script of every page.
pub(crate) const SCRIPT: &str = include_str!("../../assets/serve.js");

/// The ways through the pages.
const WAYS: [(&str, &str); 4] =
    [("/", "Library"), ("/live", "Live"), ("/start", "Start"), ("/explore", "Explore")];

/// A page with its name, the way that it belongs to, and its content.
pub(crate) fn frame(title: &str, way: Option<&str>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/assets/serve.css";
                title { (title) " · Wirespeed" }
            }
            body {
                a.skip href="#top" { "Skip to the content" }
                nav.bar aria-label="Pages" {
                    a.brand href="/" { "Wirespeed" }
                    @for (address, name) in WAYS {
                        a href=(address) aria-current=[(way == Some(name)).then_some("page")] { (name) }
                    }
                    button id="theme" type="button" hidden { "Dark" }
                }
                main id="top" tabindex="-1" { (body) }
                footer { p { "wirespeed " (env!("CARGO_PKG_VERSION")) ". 1 MB = 10⁶ bytes. For programs: " a href="/api/v1/openapi.json" { "API" } ", " a href="/metrics" { "metrics" } "." } }
                script src="/assets/serve.js" defer {}
            }
        }
    }
}

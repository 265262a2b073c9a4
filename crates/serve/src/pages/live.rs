//! Runs in progress: their list, and the page of each.

use crate::app::Running;
use crate::jobs::Job;
use crate::live::parts::Parts;
use maud::{Markup, html};

/// A run in progress with its title.
pub(crate) struct Titled {
    pub run: Running,
    pub title: String,
}

/// The list.
pub(crate) fn list(all: &[Titled], jobs: &[Job]) -> Markup {
    let body = html! {
        section aria-labelledby="live-heading" {
            h1 id="live-heading" { "Runs in progress" }
            @if all.is_empty() { p { "Nothing runs on this machine. " a href="/start" { "Start a run" } "." } }
            ul.cards {
                @for Titled { run, title } in all {
                    li { article.card {
                        h2 { a href={ "/live/" (run.id) } { (title) } }
                        p.file { (review::clean(&run.path.to_string_lossy())) ", process " (run.pid) }
                    } }
                }
            }
        }
        @if !jobs.is_empty() { section { h2 { "Started from this page" }
            div.scroll tabindex="0" role="region" aria-label="Jobs" { table {
                thead { tr { th scope="col" { "what" } th scope="col" { "title" } th scope="col" { "end" } } }
                tbody { @for job in jobs.iter().rev() { tr {
                    td { @match job.kind { crate::jobs::Kind::Run => "run", crate::jobs::Kind::Simulate => "simulation" } }
                    th scope="row" { a href={ @if job.exit.is_some() { "/records/" } @else { "/live/" } (job.id) } { (review::clean(&job.title)) } }
                    td { (ended(job)) }
                } } }
            } }
        } }
    };
    super::frame("Live", Some("Live"), &body)
}

/// How a job ended, in words.
pub(crate) fn ended(job: &Job) -> String {
    match job.exit {
        None => "runs".to_owned(),
        Some(0) => "done".to_owned(),
        Some(1) => "done; a goal was not met or is undecided".to_owned(),
        Some(4) => format!("refused by the write guard: {}", job.said.trim()),
        Some(code) => format!("failed with {code}: {}", job.said.trim()),
    }
}

/// The page of a run. `parts` are as they stand now; the script replaces them as they change.
pub(crate) fn page(
    id: &str,
    title: &str,
    parts: Option<&Parts>,
    over: bool,
    may_stop: bool,
) -> Markup {
    let part = |of: fn(&Parts) -> &Markup| {
        parts.map(|parts| of(parts).clone()).unwrap_or_else(|| html! {})
    };
    let body = html! {
        @if !over { noscript { meta http-equiv="refresh" content="5"; } }
        section.run data-parts=[(!over).then(|| format!("/live/{id}/parts"))] {
            h1 { (title) }
            p id="live-state" role="status" { (part(|p| &p.state)) }
            p id="live-link" hidden role="status" { "The page has lost its server and tries again." }
            @if may_stop && !over {
                form.stop method="post" action={ "/live/" (id) "/stop" } {
                    button type="submit" { "Stop the run" }
                    span.none { "It ends cleanly: its record is finished and says that it was stopped." }
                }
            }
            p { a href={ "/records/" (id) "/review" } { "Review of what there is so far" } }
        }
        section { h2 { "Now" } div id="live-now" { (part(|p| &p.tiles)) } }
        section { h2 { "Over time" } div.line-charts id="live-charts" { (part(|p| &p.charts)) } }
        section { h2 { "Map of the lab" }
            div.picture id="live-map" tabindex="0" role="region" aria-label="Map of the lab with the load of the latest second" { (part(|p| &p.map)) }
        }
        section { h2 { "VMs and targets" } (table("live-groups", "VMs and targets", &part(|p| &p.groups))) }
        section { h2 { "Hops" } (table("live-hops", "Hops", &part(|p| &p.hops))) }
        section { h2 { "Steps" } (table("live-steps", "Steps", &part(|p| &p.steps))) }
        section { h2 { "Events" } div id="live-events" { (part(|p| &p.events)) } }
    };
    super::frame(title, Some("Live"), &body)
}

fn table(id: &str, label: &str, content: &Markup) -> Markup {
    html! { div.scroll id=(id) tabindex="0" role="region" aria-label=(label) { (content) } }
}

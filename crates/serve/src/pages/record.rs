//! One record: what is known of it in short, where its review is, what people say of it, and its forms for other programs.

use super::figures::{bytes_rate, latency, moment, ops};
use super::library::{producer, verdict};
use crate::library::Entry;
use maud::{Markup, html};

/// Forms in which a record can be taken along: the word in the address, the words, the kind of file.
pub(crate) const FORMS: [(&str, &str, &str, &str); 8] = [
    ("record", "Record", "wsr", "application/vnd.sqlite3"),
    ("review", "Review as one page", "html", "text/html; charset=utf-8"),
    ("json", "Findings as JSON", "json", "application/json"),
    ("csv", "Steps as CSV", "csv", "text/csv; charset=utf-8"),
    ("intervals", "Seconds as CSV", "csv", "text/csv; charset=utf-8"),
    ("parquet", "Seconds as Parquet", "parquet", "application/vnd.apache.parquet"),
    ("markdown", "Summary as Markdown", "md", "text/markdown; charset=utf-8"),
    ("junit", "Goals as JUnit XML", "xml", "application/xml"),
];

/// The page of a record.
pub(crate) fn page(entry: &Entry, running: bool, read_only: bool, saved: bool) -> Markup {
    let summary = entry.summary.as_deref();
    let body = html! {
        section.record {
            h1 { (entry.title()) }
            p.meta {
                @if running { a.state.caution href={ "/live/" (entry.id) } { "Running: watch it" } " " }
                @else if let Some(summary) = summary { @let (words, tone) = verdict(summary); b class={ "state " (tone) } { (words) } " " }
                time { (moment(entry.unix_s())) " UTC" } " "
                @if let Some(summary) = summary { (producer(summary)) }
            }
            @if let Some(why) = summary.and_then(|summary| summary.failure.as_ref()) { p.problem { (why) } }
            @else { p { a.button href={ "/records/" (entry.id) "/review" } { "Open the review" } } }
            @if let Some(summary) = summary.filter(|summary| summary.failure.is_none()) {
                dl.tiles {
                    div { dt { "Most throughput" } dd { (bytes_rate(summary.best_bytes_per_s)) } }
                    div { dt { "IOPS there" } dd { (ops(summary.best_iops)) } }
                    div { dt { "p99 there" } dd { (latency(summary.best_p99_ns)) } }
                    div { dt { "Steps" } dd { (summary.steps) } }
                    div { dt { "Goals met, failed, undecided" } dd { (summary.goals[0]) " · " (summary.goals[1]) " · " (summary.goals[2]) } }
                }
                @if !summary.lab.is_empty() { p { "Lab: " (summary.lab.join(", ")) } }
                @if !summary.workloads.is_empty() { p { "Workloads: " (summary.workloads.join(", ")) } }
            }
            p.file { (entry.name) ", " (units::binary_bytes(entry.bytes)) }
        }
        section { h2 { "Take along" }
            ul.forms { @for (word, words, ..) in FORMS { li { a href={ "/records/" (entry.id) "/download/" (word) } { (words) } } } }
        }
        section { h2 { "Tags and notes" }
            @if saved { p role="status" { "Saved." } }
            @if read_only {
                p.tags { @for tag in &entry.notes.tags { span.tag { (tag) } " " } }
                pre { (entry.notes.notes) }
            } @else {
                form.notes method="post" action={ "/records/" (entry.id) "/notes" } {
                    label for="tags" { "Tags, apart by commas or blanks" }
                    input id="tags" name="tags" value=(entry.notes.tags.join(", "));
                    label for="notes" { "Notes" }
                    textarea id="notes" name="notes" rows="5" { (entry.notes.notes) }
                    button type="submit" { "Save" }
                    p.none { "They are kept in a file beside the record." }
                }
            }
        }
    };
    super::frame(entry.title(), Some("Library"), &body)
}

//! The library: search, cards with verdict and course, and what is compared with what.

use super::chart::sparkline;
use super::figures::{bytes_rate, latency, moment, ops};
use crate::library::{Entry, Query, Summary};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Verdicts: the word of JSON, for people, and its tone.
const VERDICTS: [(&str, &str, &str); 7] = [
    ("met", "Goals met", "good"),
    ("failed", "Goal failed", "bad"),
    ("wrong", "Wrong data", "bad"),
    ("undecided", "Undecided", "caution"),
    ("no-goals", "No goals", "plain"),
    ("incomplete", "Incomplete", "caution"),
    ("unreadable", "Unreadable", "bad"),
];
const PRODUCERS: [(&str, &str); 4] = [
    ("live", "Measured"),
    ("simulated", "Simulated"),
    ("estimated", "Estimated"),
    ("imported", "Imported"),
];
const ORDERS: [(&str, &str); 4] =
    [("date", "Newest"), ("title", "Title"), ("throughput", "Throughput"), ("iops", "IOPS")];

/// A verdict in a word, with its tone.
pub(crate) fn verdict(summary: &Summary) -> (&'static str, &'static str) {
    let known = VERDICTS.iter().find(|(word, ..)| *word == summary.verdict);
    known.map_or(("Unknown", "plain"), |(_, words, tone)| (*words, *tone))
}

pub(crate) fn producer(summary: &Summary) -> &'static str {
    PRODUCERS.iter().find(|(word, _)| *word == summary.producer).map_or("", |(_, words)| words)
}

/// The page: what was asked for of all there is. `running` are the identifiers of runs in progress.
pub(crate) fn page(
    query: &Query,
    all: &BTreeMap<String, Entry>,
    running: &BTreeSet<String>,
) -> Markup {
    let unread = all.values().filter(|entry| entry.summary.is_none()).count();
    let tags: BTreeSet<&str> =
        all.values().flat_map(|entry| &entry.notes.tags).map(String::as_str).collect();
    let body = html! {
        section.library aria-labelledby="library-heading" {
            h1 id="library-heading" { "Library" }
            (form(query, &tags))
            div id="results" data-live="library" { (results(query, all, running)) }
            @if unread > 0 { p.none role="status" { (unread) " records are still being read; they are found by name and date until then." } }
        }
    };
    super::frame("Library", Some("Library"), &body)
}

fn form(query: &Query, tags: &BTreeSet<&str>) -> Markup {
    html! {
        form.search method="get" action="/" role="search" data-search="results" {
            div.wide {
                label for="q" { "Words" }
                input id="q" name="q" type="search" value=(query.q) placeholder="title, lab, workload, tag, note";
            }
            (choice("verdict", "Verdict", "any", VERDICTS.iter().map(|(word, words, _)| (*word, *words)), &query.verdict))
            (choice("producer", "Kind", "any", PRODUCERS.iter().copied(), &query.producer))
            @if !tags.is_empty() {
                (choice("tag", "Tag", "any", tags.iter().map(|tag| (*tag, *tag)), &query.tag))
            }
            div { label for="from" { "From" } input id="from" name="from" type="date" value=(query.from); }
            div { label for="to" { "To" } input id="to" name="to" type="date" value=(query.to); }
            (choice("sort", "Order", "", ORDERS.iter().copied(), if query.sort.is_empty() { "date" } else { &query.sort }))
            div.go { button type="submit" { "Search" } }
        }
    }
}

fn choice<'a>(
    name: &str,
    label: &str,
    any: &str,
    all: impl Iterator<Item = (&'a str, &'a str)>,
    chosen: &str,
) -> Markup {
    html! {
        div {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                @if !any.is_empty() { option value="" { (any) } }
                @for (value, words) in all { option value=(value) selected[value == chosen] { (words) } }
            }
        }
    }
}

/// The part that changes while somebody types.
pub(crate) fn results(
    query: &Query,
    all: &BTreeMap<String, Entry>,
    running: &BTreeSet<String>,
) -> Markup {
    let found = query.find(all);
    html! {
        p.count role="status" {
            (found.all) @if found.all == 1 { " record" } @else { " records" }
            @if found.all < all.len() { " of " (all.len()) }
        }
        @if all.is_empty() {
            p { "No record is here yet. " a href="/start" { "Start a run" } ", or put records (" code { ".wsr" } ") into the folder." }
        }
        form method="get" action="/compare" {
            ul.cards {
                @for entry in &found.entries { li { (card(entry, running.contains(&entry.id))) } }
            }
            @if found.all > 1 {
                p.compare-bar {
                    button type="submit" { "Compare the chosen" }
                    button type="submit" formaction="/trend" { "Trend of the chosen" }
                    a.button href={ "/trend?" (address(query, 1)) } { "Trend of all " (found.all) }
                }
            }
        }
        @if found.pages > 1 { (pages(query, found.page, found.pages)) }
    }
}

fn card(entry: &Entry, running: bool) -> Markup {
    let summary = entry.summary.as_deref();
    html! {
        article.card {
            div.head {
                input type="checkbox" name="id" value=(entry.id) aria-label={ "Choose " (entry.title()) };
                h2 { a href={ "/records/" (entry.id) } { (entry.title()) } }
            }
            p.meta {
                @if running { a.state.caution href={ "/live/" (entry.id) } { "Running" } " " }
                @else if let Some(summary) = summary {
                    @let (words, tone) = verdict(summary);
                    b class={ "state " (tone) } { (words) } " "
                }
                time { (moment(entry.unix_s())) } " "
                @if let Some(summary) = summary { span { (producer(summary)) } }
            }
            @match summary {
                None => p.none { "Not read yet" },
                Some(summary) if summary.failure.is_some() => p.none { (summary.failure.as_deref().unwrap_or_default()) },
                Some(summary) => {
                    (sparkline(&summary.course.iter().map(|v| f64::from(*v)).collect::<Vec<_>>()))
                    p.best {
                        b { (bytes_rate(summary.best_bytes_per_s)) } ", " (ops(summary.best_iops)) " IOPS"
                        @if summary.best_p99_ns.is_some() { ", p99 " (latency(summary.best_p99_ns)) }
                        span.none { " · " (summary.steps) @if summary.steps == 1 { " step" } @else { " steps" } }
                    }
                }
            }
            @if !entry.notes.tags.is_empty() {
                p.tags { @for tag in &entry.notes.tags { span.tag { (tag) } " " } }
            }
            p.file { (entry.name) }
        }
    }
}

fn pages(query: &Query, page: usize, pages: usize) -> Markup {
    let link = |page: usize| format!("/?{}", address(query, page));
    html! {
        nav.pages aria-label="Pages of the library" {
            @if page > 1 { a href=(link(page - 1)) rel="prev" { "Newer" } }
            span { "page " (page) " of " (pages) }
            @if page < pages { a href=(link(page + 1)) rel="next" { "Older" } }
        }
    }
}

/// A query as the address says it.
pub(crate) fn address(query: &Query, page: usize) -> String {
    let number = if page > 1 { page.to_string() } else { String::new() };
    let all = [
        ("q", &query.q),
        ("verdict", &query.verdict),
        ("producer", &query.producer),
        ("tag", &query.tag),
        ("from", &query.from),
        ("to", &query.to),
        ("sort", &query.sort),
        ("page", &number),
    ];
    let given = all.iter().filter(|(_, value)| !value.is_empty());
    given.map(|(key, value)| format!("{key}={}", percent(value))).collect::<Vec<_>>().join("&")
}

/// Text as a part of an address.
pub(crate) fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte))
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

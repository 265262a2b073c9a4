//! A comparison as a page of the same kind as a review: the verdict, what to know before it is believed, the differences
//! with their intervals drawn, the tables, and what differs between the systems.

use super::grid::{Column, table};
use super::summary::{class, icon};
use super::{embed, figures, footer};
use crate::charts;
use crate::comparison::words::{self, MetricRow};
use crate::sentence::Sentence;
use findings::Comparison;
use findings::comparison::{Against, Opinion, StepPair};
use maud::{DOCTYPE, Markup, html};

/// The page of a comparison.
pub fn comparison(comparison: &Comparison) -> String {
    let charts = charts::comparison(comparison);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { (embed::head("Comparison")) }
            body {
                (bar(!charts.is_empty()))
                main id="top" {
                    header.question {
                        h1 { "Comparison of " (comparison.runs.len()) " runs" }
                        @for party in parties(comparison) { p.tested { (party) } }
                    }
                    @for against in &comparison.against { (verdict(comparison, against)) }
                    (figures::section(&charts))
                    section id="steps" aria-labelledby="steps-heading" {
                        h2 id="steps-heading" { "Steps" }
                        @for against in &comparison.against { (steps(comparison, against)) }
                    }
                    @for against in &comparison.against { (rest(against)) }
                }
                (footer())
                (embed::data("charts", &figures::data(&charts)))
                @for script in embed::scripts() { (embed::script(script)) }
            }
        }
    };
    page.into_string()
}

/// The runs, each once.
fn parties(comparison: &Comparison) -> Vec<String> {
    let all = comparison.against.iter().flat_map(|against| words::parties(comparison, against));
    let mut parties: Vec<String> = Vec::new();
    for party in all {
        if !parties.contains(&party) {
            parties.push(party);
        }
    }
    parties
}

fn bar(charts: bool) -> Markup {
    html! {
        a.skip href="#steps" { "Skip to the steps" }
        nav.bar aria-label="Sections" {
            a.brand href="#top" { "Wirespeed" }
            @if charts { a href="#charts-section" { "Charts" } }
            a href="#steps" { "Steps" }
            a href="#differing" { "Systems" }
            button id="theme" type="button" hidden { "Dark" }
        }
    }
}

fn verdict(comparison: &Comparison, against: &Against) -> Markup {
    let sentence = words::verdict(comparison, against);
    let word = match (against.count.worse, against.count.better, against.family) {
        _ if against.same => "The same record",
        (_, _, 0) => "Not compared",
        (0, 0, _) if against.steps.iter().any(|s| s.evidence.is_observed()) => {
            if against.count.differs > 0 { "Different" } else { "No difference seen" }
        }
        (0, 0, _) if against.count.differs > 0 => "Different, or the machine",
        (0, 0, _) => "Undecided",
        (0, _, _) => "Better",
        (_, 0, _) => "Worse",
        _ => "Worse and better",
    };
    let cautions = words::cautions(against);
    html! {
        section id={ "verdict-" (against.run) } class={ "verdict " (class(sentence.tone)) } {
            div.big { (icon(sentence.tone)) h2 { (word) } }
            div {
                p.sentence { (sentence.text) }
                @if !cautions.is_empty() { ul.trust { @for caution in &cautions { (item(caution)) } } }
            }
        }
    }
}

fn item(sentence: &Sentence) -> Markup {
    html! {
        li class=(class(sentence.tone)) {
            span.mark aria-hidden="true" { (sentence.tone.mark()) }
            span {
                (sentence.text)
                @if !sentence.next.is_empty() { span.next { (sentence.next) } }
            }
        }
    }
}

fn steps(comparison: &Comparison, against: &Against) -> Markup {
    html! {
        @for (i, step) in against.steps.iter().enumerate() {
            h3 id={ "step-" (against.run) "-" (i) } { (words::step_name(step)) }
            @for reason in words::reasons(step) { p { (reason) } }
            @if !step.metrics.is_empty() { (metrics(comparison, against, step)) }
            @for limit in words::limits(step, against.run) { p { (limit) } }
            @if !step.places.is_empty() { (places(against, step)) }
        }
        @let how = words::how_to_read(comparison, against);
        @if !how.is_empty() { p { (how) } }
    }
}

fn metrics(comparison: &Comparison, against: &Against, step: &StepPair) -> Markup {
    let rows: Vec<(MetricRow, bool)> =
        step.metrics.iter().map(|m| (MetricRow::of(m), m.opinion != Opinion::Undecided)).collect();
    let [metric, a, b, change, interval, verdict, seen, needs] =
        words::headings(comparison, against.run);
    let number = |name: &str, of: fn(&MetricRow) -> &String| {
        Column::numbers(name, "", move |row: &(MetricRow, bool)| of(&row.0).clone())
    };
    let columns = [
        Column::words(&metric, |(l, _): &(MetricRow, bool)| html! { (l.metric) }),
        number(&a, |l| &l.baseline),
        number(&b, |l| &l.other),
        number(&change, |l| &l.difference),
        number(&interval, |l| &l.interval),
        Column::words(&verdict, |(l, _): &(MetricRow, bool)| {
            html! { span class={ "mark " (class(l.tone)) } { (l.opinion) } }
        }),
        number(&seen, |l| &l.detectable),
        number(&needs, |l| &l.needed),
    ];
    let caption = format!("{} against A: {}", words::letter(against.run), words::step_name(step));
    table(&caption, &columns, &rows, |(_, decided)| (None, if *decided { "knee" } else { "" }))
}

/// How full the places of an observed load were.
fn places(against: &Against, step: &StepPair) -> Markup {
    let rows: Vec<[String; 4]> = step.places.iter().map(words::place).collect();
    let [place, a, b, change] = words::place_headings(against.run);
    let number =
        |name: &str, at: usize| Column::numbers(name, "", move |row: &[String; 4]| row[at].clone());
    let columns = [
        Column::words(&place, |row: &[String; 4]| html! { (row[0]) }),
        number(&a, 1),
        number(&b, 2),
        number(&change, 3),
    ];
    let caption = format!("How full places were: {}", words::step_name(step));
    table(&caption, &columns, &rows, |_| (None, ""))
}

/// What has no partner, and what differs.
fn rest(against: &Against) -> Markup {
    let differing: Vec<[String; 3]> = against.differing.iter().map(words::differing).collect();
    let name = words::letter(against.run);
    let columns = [
        Column::words("what", |d: &[String; 3]| html! { (d[0]) }),
        Column::words("A", |d: &[String; 3]| html! { (d[1]) }),
        Column::words(&name, |d: &[String; 3]| html! { (d[2]) }),
    ];
    html! {
        @if !against.unpaired.is_empty() {
            section {
                h2 { "Steps without partner" }
                ul { @for unpaired in &against.unpaired { li { (words::unpaired(unpaired)) } } }
            }
        }
        section id="differing" {
            h2 { "Differences in the setup" }
            @if differing.is_empty() { p.none { "None in the records." } }
            @else { (table("What differs", &columns, &differing, |_| (None, ""))) }
        }
    }
}

//! What was published, beside what was found: a row for each reading, the points of shapes, and what there is to say.

use super::grid::{Column, table};
use super::summary::class;
use crate::charts::shape_id;
use crate::published::{
    ClaimRow, between, deviation, form, kind, ours, place, remarks, rows, score, summary,
};
use crate::sentence::Tone;
use crate::text::clean;
use findings::{Analysis, ClaimOutcome, PointOutcome, Score};
use maud::{Markup, html};

pub(super) fn section(analysis: &Analysis) -> Markup {
    if analysis.claims.is_empty() {
        return html! {};
    }
    let rows = rows(&analysis.claims);
    html! {
        section id="claims" aria-labelledby="claims-heading" {
            h2 id="claims-heading" { "What was published" }
            p { strong { (summary(&analysis.claims_summary)) } }
            p {
                "For comparison; it never changes the verdict. Error = (ours − published) / published. A figure with an "
                "interval is met where its interval of confidence overlaps what the published one allows by its rounding "
                "and its relation, and one without where it lies there itself. A calibration proves nothing when it comes "
                "back."
            }
            (table("What was published", &columns(analysis), &rows, |row| {
                (row.first.then(|| format!("claim-{}", row.number)), "")
            }))
            (shapes(analysis))
        }
    }
}

fn columns<'a>(analysis: &Analysis) -> Vec<Column<'a, ClaimRow<'a>>> {
    let words = |name: &str, of: fn(&ClaimOutcome) -> String| {
        Column::words(name, move |row: &ClaimRow<'_>| html! { (row.once(of)) })
    };
    let dash = |text: String| if text == "-" { "–".to_owned() } else { text };
    let error = |row: &ClaimRow<'_>| row.error().map_or("–".to_owned(), |e| format!("{e:+.1}"));
    let allowed = |row: &ClaimRow<'_>| {
        row.reading.map_or("–".to_owned(), |reading| format!("{:.1}", reading.allowance_percent))
    };
    let any = |of: fn(&ClaimOutcome) -> bool| analysis.claims.iter().any(of);
    let mut columns = vec![
        Column::words("claim", claim),
        Column::words("verdict", |row: &ClaimRow<'_>| {
            let word = score(row.claim.score).1;
            html! { @if row.first { span class=(class(tone(row.claim.score))) { (word) } } }
        }),
        Column::numbers("published", "", move |row: &ClaimRow<'_>| dash(row.published())),
        Column::numbers("ours", "", move |row: &ClaimRow<'_>| dash(row.once(ours))),
    ];
    if any(|claim| claim.interval.is_some()) {
        let interval = move |row: &ClaimRow<'_>| dash(row.once(|claim| between(claim.interval)));
        columns.push(Column::numbers("interval", "95%", interval));
    }
    columns.push(Column::numbers("error", "%", error));
    columns.push(Column::numbers("allowed", "± %", allowed));
    if any(|claim| claim.frames.is_some()) {
        columns.push(Column::marked("of frames", "%", frames));
    }
    columns.extend([
        words("kind", |claim| kind(claim.kind).to_owned()),
        words("in", place),
        Column::words("remarks", |row: &ClaimRow<'_>| html! { (row.once(said)) }),
    ]);
    columns
}

/// The name of a claim; that of a shape leads to its chart.
fn claim(row: &ClaimRow<'_>) -> Markup {
    let name = row.once(|claim| clean(&claim.name));
    html! {
        @if row.first && row.claim.shape.is_some() {
            a href={ "#chart-" (shape_id(row.number)) } { (name) }
        } @else { (name) }
    }
}

/// How far ours is from the reading that frames support, at that reading's row.
fn frames(row: &ClaimRow<'_>) -> Markup {
    let frames = row
        .claim
        .frames
        .filter(|frames| row.reading.is_some_and(|reading| reading.published == frames.reading));
    let Some(frames) = frames else { return html! { "–" } };
    let error = frames.error_percent.map_or("–".to_owned(), |error| format!("{error:+.1}"));
    let (mark, tone) = match frames.within {
        Some(true) => ("✔", Tone::Good),
        Some(false) => ("✘", Tone::Bad),
        None => ("?", Tone::Caution),
    };
    html! { span class=(class(tone)) { (mark) " " (error) } }
}

/// What there is to say of a claim, its twin and its source too.
fn said(claim: &ClaimOutcome) -> String {
    let twin = claim.twin_of.as_ref().map(|twin| format!("follows from “{}”", clean(twin)));
    let source = claim.source.as_ref().map(|source| format!("source: {}", clean(source)));
    let remarks = Some(remarks(claim)).filter(|text| !text.is_empty());
    remarks.into_iter().chain(twin).chain(source).collect::<Vec<_>>().join(". ")
}

fn tone(score: Score) -> Tone {
    match score {
        Score::Met => Tone::Good,
        Score::Missed => Tone::Bad,
        Score::Undecided => Tone::Caution,
        Score::Calibration | Score::Context => Tone::Note,
    }
}

/// A point of a shape with its claim; the first speaks for the claim.
type ClaimPoint<'a> = (&'a ClaimOutcome, &'a PointOutcome, bool);

/// The points of all shapes.
fn shapes(analysis: &Analysis) -> Markup {
    let points: Vec<ClaimPoint<'_>> = analysis
        .claims
        .iter()
        .filter_map(|claim| Some((claim, claim.shape.as_ref()?)))
        .flat_map(|(claim, shape)| {
            shape.points.iter().enumerate().map(move |(n, point)| (claim, point, n == 0))
        })
        .collect();
    if points.is_empty() {
        return html! {};
    }
    let quantity =
        |quantity: Option<findings::Quantity>| quantity.map_or("–".to_owned(), |q| q.to_string());
    let columns = [
        Column::words("shape", |(claim, _, first): &ClaimPoint<'_>| {
            html! { @if *first { (clean(&claim.name)) } }
        }),
        Column::words("published", |(claim, _, first): &ClaimPoint<'_>| {
            let form = claim.shape.as_ref().map(form).unwrap_or_default();
            html! { @if *first { (form) } }
        }),
        Column::words(
            "of",
            |(claim, _, first): &ClaimPoint<'_>| html! { @if *first { (claim.metric) } },
        ),
        Column::words("at", |(_, point, _): &ClaimPoint<'_>| html! { (clean(&point.label)) }),
        Column::numbers("ours", "", move |(_, point, _): &ClaimPoint<'_>| quantity(point.value)),
        Column::numbers("interval", "95%", |(_, point, _): &ClaimPoint<'_>| {
            point.interval.map_or("–".to_owned(), |interval| between(Some(interval)))
        }),
        Column::numbers("by the shape", "", move |(_, point, _): &ClaimPoint<'_>| {
            quantity(point.expected)
        }),
        Column::marked("deviation", "%", |(_, point, _): &ClaimPoint<'_>| {
            let tone = match point.agrees {
                Some(true) => Tone::Good,
                Some(false) => Tone::Bad,
                None => Tone::Plain,
            };
            html! { span class=(class(tone)) { (deviation(point).replace('-', "−")) } }
        }),
    ];
    html! { (table("Shapes, point by point", &columns, &points, |_| (None, ""))) }
}

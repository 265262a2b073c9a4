//! Goals and published figures: what had to hold, and what somebody else has measured, beside what was found.

use super::first::{class, status};
use super::grid::{Column, table};
use super::links::Links;
use crate::judgements::{place, score, why};
use crate::said::Place;
use crate::text::clean;
use findings::{Analysis, ClaimOutcome, GoalOutcome, ReadingOutcome, Score, Status};
use maud::{Markup, html};

/// A goal with its number.
type Row<'a> = (usize, &'a GoalOutcome);

pub(super) fn goals(analysis: &Analysis, links: &Links<'_>) -> Markup {
    if analysis.goals.is_empty() {
        return html! {};
    }
    let rows: Vec<Row<'_>> = analysis.goals.iter().enumerate().collect();
    let columns = [
        Column::words("goal", |(_, g): &Row<'_>| html! { (clean(&g.name)) }),
        Column::words("outcome", |(_, g): &Row<'_>| {
            let (mark, word, tone) = status(g.status);
            html! { span class=(class(tone)) { (mark) " " (word) } }
        }),
        Column::numbers("required", "", |(_, g): &Row<'_>| quantity(g.required)),
        Column::numbers("observed", "", |(_, g): &Row<'_>| quantity(g.observed)),
        Column::words("in", |(_, g): &Row<'_>| {
            // A step of the plan that was not run decides, and is nowhere.
            let step = g.step_index.and_then(|step| links.id(Place::Step(step)));
            html! {
                @if let Some(id) = step { a href={ "#" (id) } { (place(g)) } } @else { (place(g)) }
            }
        }),
        Column::numbers("checks", "not met of all", |(_, g): &Row<'_>| {
            format!("{} of {}", g.cells_not_met, g.cells)
        }),
        Column::words(
            "why",
            |(_, g): &Row<'_>| html! { @if g.status != Status::Met { (clean(&why(g))) } },
        ),
    ];
    html! {
        section id="goals" aria-labelledby="goals-heading" {
            h2 id="goals-heading" { "Goals" }
            (table("Goals", &columns, &rows, |(i, _)| (Some(format!("goal-{i}")), "")))
        }
    }
}

fn quantity(quantity: Option<findings::Quantity>) -> String {
    quantity.map_or("–".to_owned(), |q| q.to_string())
}

/// A reading of a claim; the first of a claim's readings speaks for all of them.
struct Reading<'a> {
    number: usize,
    claim: &'a ClaimOutcome,
    reading: Option<&'a ReadingOutcome>,
    first: bool,
}

pub(super) fn claims(analysis: &Analysis) -> Markup {
    if analysis.claims.is_empty() {
        return html! {};
    }
    let rows: Vec<Reading<'_>> = analysis
        .claims
        .iter()
        .enumerate()
        .flat_map(|(number, claim)| {
            let none = claim.readings.is_empty().then_some(None);
            let readings = claim.readings.iter().map(Some).chain(none).enumerate();
            readings.map(move |(i, reading)| Reading { number, claim, reading, first: i == 0 })
        })
        .collect();
    html! {
        section id="claims" aria-labelledby="claims-heading" {
            h2 id="claims-heading" { "Published figures" }
            p { "For comparison; they never change the verdict. Error = (ours − published) / published." }
            (table("Published figures", &claim_columns(), &rows, |r| {
                (r.first.then(|| format!("claim-{}", r.number)), "")
            }))
        }
    }
}

fn claim_columns<'a>() -> Vec<Column<'a, Reading<'a>>> {
    let first = |r: &Reading<'_>, text: String| if r.first { text } else { String::new() };
    let words = |name: &str, of: fn(&ClaimOutcome) -> String| {
        Column::words(name, move |r: &Reading<'_>| html! { (first(r, of(r.claim))) })
    };
    let published = |r: &Reading<'_>| match (r.reading, r.claim.relation) {
        (Some(reading), "equal") => reading.published.to_string(),
        (Some(reading), relation) => format!("{relation} {}", reading.published),
        (None, _) => "–".to_owned(),
    };
    let error = |r: &Reading<'_>| {
        let error = r.reading.and_then(|reading| reading.error_percent);
        error.map_or("–".to_owned(), |e| format!("{e:+.1}"))
    };
    let allowed = |r: &Reading<'_>| {
        r.reading.map_or("–".to_owned(), |reading| format!("{:.1}", reading.allowance_percent))
    };
    vec![
        words("claim", |c| clean(&c.name)),
        Column::numbers("published", "", published),
        Column::numbers("ours", "", move |r: &Reading<'_>| first(r, quantity(r.claim.ours))),
        Column::numbers("error", "%", error),
        Column::numbers("allowed", "± %", allowed),
        words("kind", |c| kind(c.score).to_owned()),
        words("outcome", |c| score(c.score).1.to_owned()),
        words("in", |c| {
            let parts = [c.member.as_deref(), c.step.as_deref()];
            clean(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
        }),
        words("source", |c| c.source.as_deref().map(clean).unwrap_or_default()),
        words("why", |c| clean(&c.reason)),
    ]
}

/// What a claim proves.
fn kind(score: Score) -> &'static str {
    match score {
        Score::Calibration => "calibration",
        Score::Context => "context",
        Score::Met | Score::Missed | Score::Undecided => "held-out",
    }
}

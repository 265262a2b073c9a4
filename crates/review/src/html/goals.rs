//! Goals: the limit of each beside the observed value.

use super::grid::{Column, table};
use super::links::Links;
use super::summary::{class, status};
use crate::goals::{place, why};
use crate::sentence::Section;
use crate::text::clean;
use findings::{Analysis, GoalOutcome, Status};
use maud::{Markup, html};

type NumberedGoal<'a> = (usize, &'a GoalOutcome);

pub(super) fn section(analysis: &Analysis, links: &Links<'_>) -> Markup {
    if analysis.goals.is_empty() {
        return html! {};
    }
    let rows: Vec<NumberedGoal<'_>> = analysis.goals.iter().enumerate().collect();
    let columns = [
        Column::words("goal", |(_, g): &NumberedGoal<'_>| html! { (clean(&g.name)) }),
        Column::words("outcome", |(_, g): &NumberedGoal<'_>| {
            let (mark, word, tone) = status(g.status);
            html! { span class=(class(tone)) { (mark) " " (word) } }
        }),
        Column::numbers("required", "", |(_, g): &NumberedGoal<'_>| quantity(g.required)),
        Column::numbers("observed", "", |(_, g): &NumberedGoal<'_>| quantity(g.observed)),
        Column::words("in", |(_, g): &NumberedGoal<'_>| {
            // A step of the plan that was not run decides, and is nowhere.
            let step = g.step_index.and_then(|step| links.id(Section::Step(step)));
            html! {
                @if let Some(id) = step { a href={ "#" (id) } { (place(g)) } } @else { (place(g)) }
            }
        }),
        Column::numbers("checks", "not met of all", |(_, g): &NumberedGoal<'_>| {
            format!("{} of {}", g.cells_not_met, g.cells)
        }),
        Column::words(
            "why",
            |(_, g): &NumberedGoal<'_>| html! { @if g.status != Status::Met { (clean(&why(g))) } },
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

//! The first screen: the question, what was tested, how it came out, what was found, and what to be careful about. It is
//! made to be read without scrolling, so that what is long is cut here and whole further down.

use super::grid::{self, Column};
use super::links::Links;
use super::scenario::tested;
use crate::headline;
use crate::sentence::{AnswerTable, Sentence, Tone};
use crate::text::{Align, clean};
use crate::{highlights, provenance, warnings};
use findings::{Analysis, GoalOutcome, Status, Verdict};
use maud::{Markup, PreEscaped, html};
use scenario::Scenario;

/// Goals under the verdict; the table has all.
const GOALS_MAX: usize = 4;
/// Findings and warnings that are shown at once; the others unfold.
const SENTENCES_MAX: usize = 6;
/// A sentence whose first words end in a colon within this many bytes begins with a name, which is set apart.
const NAME_MAX: usize = 48;

pub(super) fn section(
    analysis: &Analysis,
    scenario: Option<&Scenario>,
    links: &Links<'_>,
) -> Markup {
    html! {
        header.question {
            h1 {
                (clean(&analysis.run.title)) " "
                span.tag { (provenance::word(&analysis.run, scenario)) }
            }
            p.tested { (tested(analysis, scenario)) }
            @if let Some(source) = &analysis.run.source {
                p.source { "After " (clean(source)) }
            }
        }
        (verdict(analysis, links))
        div.columns {
            (list("findings", "Key findings", &highlights::sentences(analysis), links,
                "No findings."))
            (list("warnings", "Warnings", &warnings::sentences(&analysis.warnings), links, "None."))
        }
    }
}

/// The verdict with its goals, and what is to be known before any figure is believed.
fn verdict(analysis: &Analysis, links: &Links<'_>) -> Markup {
    let sentence = headline::verdict(analysis);
    let goals = by_gravity(&analysis.goals);
    html! {
        section id="verdict" class={ "verdict " (class(sentence.tone)) } aria-labelledby="verdict-word" {
            div.big {
                (icon(sentence.tone))
                h2 id="verdict-word" { (word(analysis)) }
            }
            div {
                p.sentence { (sentence.text) }
                @if !goals.is_empty() {
                    ul.goals {
                        @for (i, goal) in goals.iter().take(GOALS_MAX) {
                            @let (mark, state, tone) = status(goal.status);
                            li class=(class(tone)) {
                                span.mark aria-hidden="true" { (mark) } " "
                                a href={ "#goal-" (i) } { (clean(&goal.name)) } ": " (state)
                                @if let Some(observed) = goal.observed { " (" (observed) ")" }
                            }
                        }
                        @if goals.len() > GOALS_MAX {
                            li { a href="#goals" { (goals.len() - GOALS_MAX) " more" } }
                        }
                    }
                }
                @let trust = headline::trust(analysis);
                @if !trust.is_empty() {
                    ul.trust { @for sentence in &trust { (item(sentence, links)) } }
                } @else if let Some(first) = warnings::sentences(&analysis.warnings).first() {
                    // Where the warnings do not stand beside the findings, the first is not to be scrolled for.
                    p class={ "foremost " (class(first.tone)) } {
                        span.mark aria-hidden="true" { (first.tone.mark()) " " }
                        (named(&first.text)) " "
                        a href="#warnings" { (counted(analysis.warnings.len())) }
                    }
                }
            }
        }
    }
}

/// How many warnings there are, in words.
fn counted(warnings: usize) -> String {
    if warnings == 1 { "1 warning".to_owned() } else { format!("{warnings} warnings") }
}

/// The goals with their numbers, those that did not hold first.
fn by_gravity(goals: &[GoalOutcome]) -> Vec<(usize, &GoalOutcome)> {
    let mut all: Vec<_> = goals.iter().enumerate().collect();
    all.sort_by_key(|(_, goal)| match goal.status {
        Status::Failed => 0,
        Status::Undecided => 1,
        Status::Met => 2,
    });
    all
}

fn list(id: &str, heading: &str, all: &[Sentence], links: &Links<'_>, none: &str) -> Markup {
    let (shown, more) = all.split_at(all.len().min(SENTENCES_MAX));
    html! {
        section id=(id) aria-labelledby={ (id) "-heading" } {
            h2 id={ (id) "-heading" } { (heading) }
            @if all.is_empty() { p.none { (none) } }
            ul.sentences { @for sentence in shown { (item(sentence, links)) } }
            @if !more.is_empty() {
                details {
                    summary { (more.len()) " more" }
                    ul.sentences { @for sentence in more { (item(sentence, links)) } }
                }
            }
        }
    }
}

/// A sentence with its mark, what to do next, and the way to its evidence.
fn item(sentence: &Sentence, links: &Links<'_>) -> Markup {
    let id = sentence.place.and_then(|place| links.id(place));
    let what = match &id {
        Some(id) if id.starts_with("chart-") => "chart",
        _ => "figures",
    };
    html! {
        li class=(class(sentence.tone)) {
            span.mark aria-hidden="true" { (sentence.tone.mark()) }
            span {
                (named(&sentence.text))
                @if let Some(id) = id {
                    " " a.evidence href={ "#" (id) } aria-label={ "Evidence: " (what) } { (what) }
                }
                @if !sentence.next.is_empty() { span.next { (coded(&sentence.next)) } }
            }
            @if let Some(below) = &sentence.table { (answers(below)) }
        }
    }
}

/// The small table below a sentence.
fn answers(below: &AnswerTable) -> Markup {
    let column = |(i, (name, align)): (usize, &(&'static str, Align))| -> Column<'_, Vec<String>> {
        let cell = move |row: &Vec<String>| row.get(i).cloned().unwrap_or_default();
        match align {
            Align::Right => Column::numbers(name, "", cell),
            Align::Left => Column::words(name, move |row| html! { (cell(row)) }),
        }
    };
    let columns: Vec<_> = below.columns.iter().enumerate().map(column).collect();
    html! {
        div.answers { (grid::table("What each plan does at its best", &columns, &below.rows, |_| (None, ""))) }
    }
}

/// A sentence with the name that it begins with set apart.
fn named(text: &str) -> Markup {
    match text.split_once(": ") {
        Some((name, rest)) if name.len() <= NAME_MAX => {
            html! { b { (name) ":" } " " (coded(rest)) }
        }
        _ => coded(text),
    }
}

/// A text in which backquotes mark what one types.
fn coded(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd one has no partner.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (i, part) in parts.into_iter().enumerate() {
            @if i % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The verdict in a word or two.
fn word(analysis: &Analysis) -> &'static str {
    match analysis.verdict {
        Verdict::Met { met: 1 } => "Goal met",
        Verdict::Met { .. } => "Goals met",
        Verdict::Failed { .. } => "Not met",
        Verdict::Wrong { .. } => "Data wrong",
        Verdict::Undecided { .. } => "Undecided",
        Verdict::NoGoals => headline::done(&analysis.run),
        Verdict::Incomplete { .. } => "Incomplete",
    }
}

/// How a goal came out: a mark, a word and a tone.
pub(super) fn status(status: Status) -> (&'static str, &'static str, Tone) {
    match status {
        Status::Met => ("✔", "met", Tone::Good),
        Status::Undecided => ("?", "undecided", Tone::Caution),
        Status::Failed => ("✘", "failed", Tone::Bad),
    }
}

/// The class of a tone in the style sheet.
pub(super) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Good => "good",
        Tone::Caution => "caution",
        Tone::Bad => "bad",
        Tone::Note => "note",
    }
}

/// A tick, a cross, a question mark or a bar in a circle: drawn, so that every machine shows the same.
pub(super) fn icon(tone: Tone) -> Markup {
    let path = match tone {
        Tone::Good => "M14 25l7 7 13-15",
        Tone::Bad => "M16 16l16 16M32 16L16 32",
        Tone::Caution => "M18 19a6 6 0 1 1 8.5 5.5c-1.9 1-2.5 2-2.5 4.500M24 34v.5",
        Tone::Plain | Tone::Note => "M15 24h18",
    };
    let svg = format!(
        r#"<svg class="icon" viewBox="0 0 48 48" width="48" height="48" aria-hidden="true"><circle cx="24" cy="24" r="21"/><path d="{path}"/></svg>"#
    );
    html! { (PreEscaped(svg)) }
}

//! Goals and claims: what had to hold, and what was published, beside what was found.

use crate::headline::plural;
use crate::paint::{Ink, Page};
use crate::table::{self, Column};
use crate::text::clean;
use findings::{ClaimOutcome, GoalOutcome, ReadingOutcome, Score, Status};

pub(crate) fn goals(page: &mut Page, goals: &[GoalOutcome]) {
    if goals.is_empty() {
        return;
    }
    page.heading("Goals");
    let inked = |g: &GoalOutcome| {
        let (ink, word) = match g.status {
            Status::Met => (Ink::Good, "✔ met"),
            Status::Undecided => (Ink::Caution, "? undecided"),
            Status::Failed => (Ink::Bad, "✘ failed"),
        };
        (ink, word.to_owned())
    };
    let observed = |g: &GoalOutcome| g.observed.map_or("-".to_owned(), |q| q.to_string());
    let columns = vec![
        Column::names("").fill_inked(goals.iter().map(inked)),
        Column::names("goal").fill(goals.iter().map(|g| clean(&g.name))),
        Column::numbers("observed", "").fill(goals.iter().map(observed)),
        Column::names("where").fill(goals.iter().map(place)),
    ];
    table::write(page, columns);
    for goal in goals.iter().filter(|g| g.status != Status::Met) {
        let ink = if goal.status == Status::Failed { Ink::Bad } else { Ink::Caution };
        page.hanging("  - ", ink, &clean(&why(goal)), Ink::Plain);
    }
}

/// The member and the step that decided.
pub(crate) fn place(goal: &GoalOutcome) -> String {
    let parts = [goal.member.as_deref(), goal.step.as_deref()];
    clean(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// A goal that did not hold, in a sentence.
pub(crate) fn why(goal: &GoalOutcome) -> String {
    let more = match goal.cells_not_met {
        0 | 1 => String::new(),
        n => format!(" ({n} of {} not met)", plural(goal.cells, "check")),
    };
    format!("{}: {}{more}.", goal.name, goal.reason)
}

pub(crate) fn claims(page: &mut Page, claims: &[ClaimOutcome]) {
    if claims.is_empty() {
        return;
    }
    page.heading("Published figures");
    page.hanging("  ", Ink::Plain, "for comparison; they never change the verdict", Ink::Dim);
    // A row for each reading; the claim itself on the first of its rows.
    let rows: Vec<(usize, &ClaimOutcome, Option<&ReadingOutcome>)> = claims
        .iter()
        .flat_map(|c| {
            let none = c.readings.is_empty().then_some((0, c, None));
            c.readings.iter().enumerate().map(move |(i, r)| (i, c, Some(r))).chain(none)
        })
        .collect();
    let first = |(i, c, _): &(usize, &ClaimOutcome, Option<&ReadingOutcome>),
                 text: fn(&ClaimOutcome) -> String| {
        if *i == 0 { text(c) } else { String::new() }
    };
    let score = |row: &(usize, &ClaimOutcome, Option<&ReadingOutcome>)| {
        let (ink, word) = score(row.1.score);
        if row.0 == 0 { (ink, word.to_owned()) } else { (Ink::Plain, String::new()) }
    };
    let ours = |c: &ClaimOutcome| c.ours.map_or("-".to_owned(), |q| q.to_string());
    let published =
        |(_, c, r): &(usize, &ClaimOutcome, Option<&ReadingOutcome>)| match (r, c.relation) {
            (Some(r), "equal") => r.published.to_string(),
            (Some(r), relation) => format!("{relation} {}", r.published),
            (None, _) => "-".to_owned(),
        };
    let error = |(_, _, r): &(usize, &ClaimOutcome, Option<&ReadingOutcome>)| {
        r.and_then(|r| r.error_percent).map_or("-".to_owned(), |e| format!("{e:+.1}"))
    };
    let columns = vec![
        Column::names("").fill_inked(rows.iter().map(score)),
        Column::names("claim").fill(rows.iter().map(|r| first(r, |c| clean(&c.name)))),
        Column::numbers("published", "").fill(rows.iter().map(published)),
        Column::numbers("ours", "").fill(rows.iter().map(|r| first(r, ours))),
        Column::numbers("error", "%").fill(rows.iter().map(error)),
    ];
    table::write(page, columns);
    for claim in claims.iter().filter(|c| c.score == Score::Undecided) {
        let text = clean(&format!("{}: {}.", claim.name, claim.reason));
        page.hanging("  - ", Ink::Caution, &text, Ink::Plain);
    }
}

/// How a claim came out.
pub(crate) fn score(score: Score) -> (Ink, &'static str) {
    match score {
        Score::Met => (Ink::Good, "✔ reproduced"),
        Score::Missed => (Ink::Bad, "✘ missed"),
        Score::Undecided => (Ink::Caution, "? undecided"),
        Score::Calibration => (Ink::Dim, "calibration"),
        Score::Context => (Ink::Dim, "context"),
    }
}

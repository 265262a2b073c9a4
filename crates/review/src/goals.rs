//! Goals: the limit of each beside the observed value.

use crate::headline::plural;
use crate::paint::{Ink, ReviewPage};
use crate::table::{self, TableColumn};
use crate::text::clean;
use findings::{GoalOutcome, Status};

pub(crate) fn write(page: &mut ReviewPage, goals: &[GoalOutcome]) {
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
        TableColumn::names("").fill_inked(goals.iter().map(inked)),
        TableColumn::names("goal").fill(goals.iter().map(|g| clean(&g.name))),
        TableColumn::numbers("observed", "").fill(goals.iter().map(observed)),
        TableColumn::names("where").fill(goals.iter().map(place)),
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

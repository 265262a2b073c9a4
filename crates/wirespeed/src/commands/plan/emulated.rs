//! The emulated part of a lab in a dry run: what would be made of this machine's kernel. Nothing is made.

use crate::commands::lab::described;
use lab::{LabError, LabPlan};
use scenario::Scenario;

/// The section on it; nothing where nothing is emulated.
pub(super) fn text(scenario: &Scenario) -> Vec<String> {
    match planned(scenario) {
        None => Vec::new(),
        Some(Ok(plan)) => vec![format!("\nemulated lab\n{}", described(&plan, None).trim_end())],
        Some(Err(LabError::Scenario(mistakes))) => {
            vec![format!("\nemulated lab: cannot be made\n{}", mistakes.to_string().trim_end())]
        }
        Some(Err(error)) => vec![format!("\nemulated lab\n  cannot be made: {error}")],
    }
}

/// Whether a run would refuse to make it.
pub(super) fn is_refused(scenario: &Scenario) -> bool {
    planned(scenario).is_some_and(|plan| plan.is_err())
}

fn planned(scenario: &Scenario) -> Option<Result<LabPlan, LabError>> {
    scenario.lab.is_emulated().then(|| lab::plan(scenario))
}

//! The emulated part of a lab in a dry run: what would be made of this machine's kernel. Nothing is made.

use crate::commands::lab::described;
use scenario::Scenario;

/// The section on it; nothing where nothing is emulated.
pub(super) fn text(scenario: &Scenario) -> Vec<String> {
    if !scenario.lab.is_emulated() {
        return Vec::new();
    }
    match lab::plan(scenario) {
        Ok(plan) => vec![format!("\nemulated lab\n{}", described(&plan, None).trim_end())],
        Err(error) => vec![format!("\nemulated lab\n  cannot be made: {error}")],
    }
}

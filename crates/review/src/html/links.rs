//! The way from a sentence to its evidence: a chart where there is one, else the row of a table. An address that is
//! given out exists in the page.

use crate::charts::Chart;
use crate::sentence::Section;
use findings::{Analysis, StepFigures};

/// The addresses of a page.
pub(super) struct Links<'a> {
    pub analysis: &'a Analysis,
    pub charts: &'a [Chart],
}

impl Links<'_> {
    /// The element that holds the evidence; `None` where the page has none.
    pub fn id(&self, place: Section) -> Option<String> {
        let analysis = self.analysis;
        let found = match place {
            Section::Step(step) => return self.step(step),
            Section::Sweep(index) => return self.sweep(index),
            Section::Balance(step) if self.has(step, |s| !s.balance.is_empty()) => {
                format!("balance-{step}")
            }
            Section::Agents(step) if self.has(step, |s| s.agents.is_some()) => {
                format!("agents-{step}")
            }
            Section::Served(step) if self.has(step, |s| !s.served.is_empty()) => {
                format!("served-{step}")
            }
            Section::Ports(step) if self.has(step, |s| !s.ports.is_empty()) => {
                format!("ports-{step}")
            }
            Section::Network(step) if self.has(step, StepFigures::has_network) => {
                format!("network-{step}")
            }
            Section::Conditions(step) if self.has(step, |s| !s.network_only()) => {
                format!("conduct-{step}")
            }
            Section::Balance(step)
            | Section::Agents(step)
            | Section::Served(step)
            | Section::Ports(step)
            | Section::Network(step)
            | Section::Conditions(step) => {
                return self.step(step);
            }
            Section::Goals if analysis.goals.is_empty() => "steps".to_owned(),
            Section::Goals => "goals".to_owned(),
            Section::Verification => {
                analysis.verification.as_ref().map(|_| "verification".to_owned())?
            }
            Section::Contents => (!analysis.contents.is_empty()).then(|| "contents".to_owned())?,
            Section::Provenance => "provenance".to_owned(),
        };
        Some(found)
    }

    fn has(&self, step: u32, part: impl Fn(&StepFigures) -> bool) -> bool {
        self.analysis.steps.iter().any(|s| s.index == step && part(s))
    }

    fn step(&self, step: u32) -> Option<String> {
        // A step of network loads alone has a row among those, and none among the steps.
        let only = self.has(step, StepFigures::network_only);
        let word = if only { "network" } else { "step" };
        self.has(step, |_| true).then(|| format!("{word}-{step}"))
    }

    /// The chart of a sweep, else the first step of its plan.
    fn sweep(&self, index: usize) -> Option<String> {
        let id = crate::charts::sweep_id(self.analysis, index);
        if let Some(id) = id.filter(|id| self.charts.iter().any(|chart| chart.id == *id)) {
            return Some(format!("chart-{id}"));
        }
        let sweep = self.analysis.sweeps.get(index)?;
        let first = self.analysis.steps.iter().find(|s| s.plan == sweep.plan)?;
        self.step(first.index)
    }
}

//! The lab of a scenario for its solvers: compiled before anything is written, with all mistakes at their places.

use scenario::topology::Topology;
use scenario::{About, Diagnostics, Scenario, Stage, Step};
use sim::lab::{self, LabError};
use sim::plant::Plant;

/// A scenario's lab, of which every step is known to compile.
pub struct CompiledLab<'a> {
    scenario: &'a Scenario,
    topology: Topology,
}

impl<'a> CompiledLab<'a> {
    /// The lab of `scenario`, tried with all its steps; of a search with the first and the largest load.
    ///
    /// # Errors
    /// Something that the lab lacks, or cannot do, at its place in the scenario.
    pub fn new(scenario: &'a Scenario, stages: &[Stage]) -> Result<CompiledLab<'a>, Diagnostics> {
        let lab = CompiledLab { scenario, topology: scenario.topology()? };
        let mut mistakes: Vec<LabError> = Vec::new();
        for step in stages.iter().flat_map(Stage::examples) {
            if let Err(mistake) = lab.plant(&step)
                && !mistakes.contains(&mistake)
            {
                mistakes.push(mistake);
            }
        }
        if mistakes.is_empty() {
            return Ok(lab);
        }
        let told = mistakes.iter().map(|mistake| (mistake.about(), mistake.to_string()));
        Err(scenario.mistaken(told))
    }

    /// The same for a solver, which has nothing to do without a step.
    ///
    /// # Errors
    /// As above; or there is no plan.
    pub fn planned(
        scenario: &'a Scenario,
        stages: &[Stage],
    ) -> Result<CompiledLab<'a>, Diagnostics> {
        if scenario.plans.is_empty() {
            let told =
                "nothing is asked of the lab: add a [plan] with `workload`, `on` and `measure`";
            return Err(scenario.mistaken([(About::Whole, told.to_owned())]));
        }
        CompiledLab::new(scenario, stages)
    }

    /// Its hops and paths.
    pub fn into_topology(self) -> Topology {
        self.topology
    }

    /// A step on it.
    pub fn plant(&self, step: &Step) -> Result<Plant, LabError> {
        lab::compile(self.scenario, &self.topology, step)
    }
}

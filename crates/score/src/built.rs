//! A scenario with its lab and its steps, ready to be estimated, optionally with some values overridden.
//!
//! Searches are left out: their steps are known only when they run, and no claim selects them.

use crate::figure::StepEstimate;
use scenario::topology::Topology;
use scenario::{Diagnostics, Scenario, Source, Stage, Step};
use sim::lab::{self, LabError};
use sim::plant::Plant;
use thiserror::Error;

/// Why a scenario has no ledger.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The scenario has mistakes.
    #[error("{0}")]
    Scenario(#[from] Diagnostics),
    /// A step cannot be solved on the lab.
    #[error("step {} cannot be estimated: {why}", index + 1)]
    Step {
        /// The step's number, from 0.
        index: u32,
        /// The reason.
        why: LabError,
    },
}

/// A scenario with the graph of its lab.
pub struct Built {
    /// The scenario.
    pub scenario: Scenario,
    /// Its steps, in order, without those of searches.
    pub steps: Vec<Step>,
    topology: Topology,
}

impl Built {
    /// Reads a scenario.
    ///
    /// # Errors
    /// Its mistakes, including those of its lab.
    pub fn new(source: &Source) -> Result<Built, BuildError> {
        Built::of(scenario::load(source)?)
    }

    /// Of a scenario that was read, or changed since.
    ///
    /// # Errors
    /// Mistakes of its lab.
    pub fn of(scenario: Scenario) -> Result<Built, BuildError> {
        let topology = scenario.topology()?;
        let stages = scenario.stages().into_iter();
        let step = |stage| match stage {
            Stage::Step(step) => Some(step),
            Stage::Search(_) => None,
        };
        let steps = stages.filter_map(step).collect();
        Ok(Built { scenario, steps, topology })
    }

    /// The plant of a step, by its index.
    ///
    /// # Errors
    /// The step needs something that the lab cannot do.
    pub fn plant(&self, position: usize) -> Result<Plant, BuildError> {
        let step = &self.steps[position];
        let failed = |why| BuildError::Step { index: step.index, why };
        lab::compile(&self.scenario, &self.topology, step).map_err(failed)
    }
}

/// What a plant carries, by the estimator.
pub fn carried(plant: &Plant) -> StepEstimate {
    StepEstimate::of(plant, &sim::estimate::means(plant))
}

//! A scenario with its lab and its steps, ready to be estimated; the same with some values set on top of it.
//!
//! Searches are left out: what they find is not known before they are carried out, and no claim selects it.

use crate::figure::Carried;
use scenario::topology::Topology;
use scenario::{Diagnostics, Scenario, Source, Stage, Step};
use sim::lab::{self, LabError};
use sim::plant::Plant;
use thiserror::Error;

/// Why a scenario has no ledger.
#[derive(Debug, Error)]
pub enum BuildError {
    /// It is full of mistakes.
    #[error("{0}")]
    Scenario(#[from] Diagnostics),
    /// A step cannot be solved on the lab.
    #[error("step {} cannot be estimated: {why}", index + 1)]
    Step {
        /// Its number, from 0.
        index: u32,
        /// Why.
        why: LabError,
    },
}

/// A scenario that has been read, with its lab as a graph.
pub struct Built {
    /// The scenario.
    pub scenario: Scenario,
    /// Its steps that are known beforehand, in order.
    pub steps: Vec<Step>,
    topology: Topology,
}

impl Built {
    /// Reads a scenario.
    ///
    /// # Errors
    /// Its mistakes, those of its lab among them.
    pub fn new(source: &Source) -> Result<Built, BuildError> {
        let scenario = scenario::load(source)?;
        let topology = scenario.topology()?;
        let stages = scenario.stages().into_iter();
        let step = |stage| match stage {
            Stage::Step(step) => Some(step),
            Stage::Search(_) => None,
        };
        let steps = stages.filter_map(step).collect();
        Ok(Built { scenario, steps, topology })
    }

    /// The network of a step, by its position.
    ///
    /// # Errors
    /// The step asks for what the lab cannot do.
    pub fn plant(&self, position: usize) -> Result<Plant, BuildError> {
        let step = &self.steps[position];
        let failed = |why| BuildError::Step { index: step.index, why };
        lab::compile(&self.scenario, &self.topology, step).map_err(failed)
    }
}

/// What a network carries, by the estimator.
pub fn carried(plant: &Plant) -> Carried {
    Carried::of(plant, &sim::estimate::means(plant))
}

//! Findings about embedded arrays, gathered step by step: the speeds of their ports, what went through
//! them, and whether the counters of workers and arrays agree.

use crate::figures::StepFigures;
use crate::gain::{self, PortGain};
use crate::scaled::{self, Scaled};
use crate::step::StepData;
use crate::{counter_check, ports, wires};
use record::{Fact, Record};
use scenario::{Scenario, Step};
use std::collections::BTreeMap;

/// What is known so far.
#[derive(Default)]
pub(crate) struct KnownFabric {
    scaled: Vec<Scaled>,
    /// Speeds by their names, in bytes a second before scaling.
    speeds: BTreeMap<String, f64>,
    /// Whether all was counted in a model.
    modelled: bool,
}

impl KnownFabric {
    /// For the steps of one record.
    pub fn of(record: &Record) -> KnownFabric {
        KnownFabric { modelled: record.head().producer.is_model(), ..KnownFabric::default() }
    }

    /// Takes in a step and completes its figures. `step` knows its ports already.
    pub fn see(
        &mut self,
        step: &StepData,
        (scenario, planned): (&Scenario, &Step),
        figures: &mut StepFigures,
        facts: &[Fact],
    ) {
        figures.ports = ports::loads(step);
        figures.counter_checks = counter_check::checks(step, scenario, planned);
        if self.modelled {
            // What a model counts agrees by itself; there is no counter that could be missing.
            figures.counter_checks.retain(|check| check.unknown.is_none());
        }
        scaled::see(&mut self.scaled, &step.wires, facts);
        gain::see(&mut self.speeds, &step.wires);
    }

    /// Arrays that are scaled, and what each speed brought over the next slower one.
    pub fn finish(self, steps: &[StepFigures]) -> (Vec<Scaled>, Vec<PortGain>) {
        (self.scaled, gain::gains(steps, &self.speeds))
    }
}

/// Gives a step its ports, as the scenario has them.
pub(crate) fn equip(step: &mut StepData, (scenario, planned): (&Scenario, &Step)) {
    step.wires = wires::wires(scenario, planned, &step.head.times);
}

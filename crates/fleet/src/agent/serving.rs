//! An agent that serves arrays: how it does what is never asked of an agent with workers.

use super::conversation::StepReadiness;
use super::{AgentLoop, AgentStep, ReadyStep, Wires, facts_of};
use crate::arrays::faults::FaultPlan;
use crate::arrays::served::{ArraySampler, ServedArrays};
use crate::arrays::{ArraySpec, ArrayStep, Portals};
use engine::EngineError;
use std::sync::{Arc, mpsc};

impl AgentLoop {
    /// Makes arrays and serves them.
    pub(super) fn serve_arrays(
        &mut self,
        specs: Vec<ArraySpec>,
    ) -> Result<Vec<Portals>, EngineError> {
        let server = self.engines.as_mut().and_then(|engines| engines.server.as_deref_mut());
        let none = || EngineError::Unsupported("this agent cannot serve arrays".to_owned());
        let served = ServedArrays::serve(server.ok_or_else(none)?, specs)?;
        let portals = served.portals();
        self.served = Some(Arc::new(served));
        Ok(portals)
    }

    /// Makes its arrays ready for a step.
    pub(super) fn arrange(&mut self, step: &ArrayStep) -> Result<StepReadiness, EngineError> {
        let none = || EngineError::Unsupported("this agent serves no arrays".to_owned());
        let served = self.served.clone().ok_or_else(none)?;
        let plan = FaultPlan::new(served.clone(), step)?;
        let hops = served.hops();
        let mut facts = served.facts();
        facts.extend(hops.iter().flat_map(facts_of));
        let hops = hops.into_iter().map(|hop| (hop.name, hop.kind)).collect();
        if let Some(engines) = &mut self.engines {
            engines.sampler = Some(Box::new(ArraySampler(served)));
        }
        let (tx, rx) = mpsc::channel();
        self.work = AgentStep::Ready(ReadyStep {
            step: step.index,
            phases: plan.phases(),
            prepared: Vec::new(),
            plan: Some(plan),
            wires: Wires { tx, rx },
        });
        Ok(StepReadiness { facts, hops, parts: 1, ..StepReadiness::default() })
    }

    /// After a step every port of its arrays is as before it, so that steps do not depend on each other.
    pub(super) fn heal(&self) -> Result<(), EngineError> {
        self.served.as_ref().map_or(Ok(()), |served| served.heal())
    }
}

//! An agent that serves arrays: what it does with the messages that an agent with workers never gets.

use super::{Agent, Ready, ServeError, State, Wires, facts_of};
use crate::arrays::attend::Attendance;
use crate::arrays::estate::{Estate, EstateSampler};
use crate::arrays::{ArraySpec, ArrayStep};
use crate::message::FromAgent;
use crate::registry::EngineRegistry;
use engine::EngineError;
use std::sync::{Arc, mpsc};

impl Agent {
    /// Makes the arrays that it was told to.
    pub(super) fn serve_arrays(
        &mut self,
        specs: Vec<ArraySpec>,
        mut engines: EngineRegistry,
    ) -> Result<EngineRegistry, ServeError> {
        let none = || EngineError::Unsupported("this agent cannot serve arrays".to_owned());
        let server = engines.server.as_deref_mut().ok_or_else(none);
        let answer = match server.and_then(|server| Estate::serve(server, specs)) {
            Ok(estate) => {
                let portals = estate.portals();
                self.estate = Some(Arc::new(estate));
                FromAgent::Serving(portals)
            }
            Err(error) => FromAgent::Failed { step: None, error: error.into() },
        };
        self.outbox.send(answer)?;
        Ok(engines)
    }

    /// Makes its arrays ready for a step.
    pub(super) fn arrange(
        &mut self,
        step: &ArrayStep,
        mut engines: EngineRegistry,
    ) -> Result<State, ServeError> {
        let index = step.index;
        let Some(estate) = self.estate.clone() else {
            return Err(self.refuse("Arrange before Serve".to_owned()));
        };
        let attendance = match Attendance::new(estate.clone(), step) {
            Ok(attendance) => attendance,
            Err(error) => {
                self.outbox.send(FromAgent::Failed { step: Some(index), error: error.into() })?;
                return Ok(State::Idle(engines));
            }
        };
        let hops = estate.hops();
        let mut facts = estate.facts();
        facts.extend(hops.iter().flat_map(facts_of));
        let hops = hops.into_iter().map(|hop| (hop.name, hop.kind)).collect();
        self.outbox.send(FromAgent::Ready { step: index, facts, depths: Vec::new(), hops })?;
        engines.sampler = Some(Box::new(EstateSampler(estate)));
        let (tx, rx) = mpsc::channel();
        Ok(State::Ready(Ready {
            step: index,
            phases: attendance.phases(),
            engines,
            prepared: Vec::new(),
            attendance: Some(attendance),
            wires: Wires { tx, rx },
        }))
    }

    /// After a step every port of its arrays is as before it, so that steps do not depend on each other.
    pub(super) fn heal(&self) -> Result<(), EngineError> {
        self.estate.as_ref().map_or(Ok(()), |estate| estate.heal())
    }
}

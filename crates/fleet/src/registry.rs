//! Which engine serves which targets, and the division of a step among engines.
//!
//! The binary registers engines by the schemes of the URLs that they understand (`""` for paths, `null` for `null:`);
//! the agent knows no engine by name. Network loads have no URL: they go to the engine of the scheme [`NET_SCHEME`].

use crate::arrays::ArrayServer;
use crate::attend::Attendance;
use crate::sampling::Sampler;
use engine::{Engine, EngineError, IntervalTx, Prepared, StepSpec, Stop};

/// The scheme under which the engine for network loads is registered.
pub const NET_SCHEME: &str = "net";

/// The scheme under which what changes an emulated lab is registered.
pub const LAB_SCHEME: &str = "lab";

/// The engines of an agent.
#[derive(Default)]
pub struct EngineRegistry {
    entries: Vec<EngineEntry>,
    /// Samples the hops under them; absent while it samples a step.
    pub(crate) sampler: Option<Box<dyn Sampler>>,
    /// What makes arrays, where the agent can serve some.
    pub(crate) server: Option<Box<dyn ArrayServer>>,
}

struct EngineEntry {
    schemes: Vec<String>,
    engine: Box<dyn Engine>,
}

impl EngineRegistry {
    /// No engine at all.
    pub fn new() -> EngineRegistry {
        EngineRegistry::default()
    }

    /// Adds an engine for the URLs of these schemes; `""` is for paths. The first one registered for a scheme is used.
    pub fn register(mut self, schemes: &[&str], engine: Box<dyn Engine>) -> EngineRegistry {
        let schemes = schemes.iter().map(|&s| s.to_owned()).collect();
        self.entries.push(EngineEntry { schemes, engine });
        self
    }

    /// Adds what samples the hops under the engines' targets.
    pub fn sampler(self, sampler: Box<dyn Sampler>) -> EngineRegistry {
        EngineRegistry { sampler: Some(sampler), ..self }
    }

    /// Adds what makes arrays.
    pub fn arrays(self, server: Box<dyn ArrayServer>) -> EngineRegistry {
        EngineRegistry { server: Some(server), ..self }
    }

    /// Prepares a step: every engine that is concerned gets its workers and their targets, or the network loads.
    pub(crate) fn prepare(
        &mut self,
        step: &StepSpec,
        notes: &IntervalTx,
        stop: &Stop,
    ) -> Result<Vec<Box<dyn Prepared>>, EngineError> {
        let parts = self.divide(step)?;
        let prepare = |(entry, part): (usize, StepSpec)| {
            self.entries[entry].engine.prepare(&part, notes, stop)
        };
        let mut prepared = parts.into_iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
        if prepared.is_empty() && !step.attended.is_empty() {
            prepared.push(Box::new(Attendance::of(step)));
        }
        Ok(prepared)
    }

    /// The part of each engine that has something to do in the step, by the engine's position.
    fn divide(&self, step: &StepSpec) -> Result<Vec<(usize, StepSpec)>, EngineError> {
        let mut engines = Vec::with_capacity(step.workers.len());
        for worker in &step.workers {
            engines.push(self.engine_of(step, worker)?);
        }
        let net = match step.nets.first() {
            Some(load) => {
                Some(self.entry_for(NET_SCHEME).ok_or_else(|| no_net_engine(&load.name))?)
            }
            None => None,
        };
        let lab = step.lab.as_ref().and_then(|_| self.entry_for(LAB_SCHEME));
        let concerned = (0..self.entries.len())
            .filter(|entry| engines.contains(entry) || net == Some(*entry) || lab == Some(*entry));
        let part = |entry| (entry, part(step, &engines, entry, net == Some(entry)));
        Ok(concerned.map(part).collect())
    }

    /// The one engine that serves all targets of a worker.
    fn engine_of(
        &self,
        step: &StepSpec,
        worker: &engine::WorkerSpec,
    ) -> Result<usize, EngineError> {
        let wrong = |problem: &str| EngineError::Worker {
            worker: worker.name.clone(),
            problem: problem.to_owned(),
        };
        let mut found = None;
        for &index in &worker.targets {
            let target = step
                .targets
                .get(usize::from(index))
                .ok_or_else(|| wrong("it refers to a target that the step does not have"))?;
            let scheme =
                Some(scheme(&target.url)).filter(|of| ![NET_SCHEME, LAB_SCHEME].contains(of));
            let entry = scheme.and_then(|scheme| self.entry_for(scheme));
            let entry = entry.ok_or_else(|| self.unknown(target))?;
            if found.is_some_and(|other| other != entry) {
                return Err(wrong(
                    "its targets need different engines; give each kind of target a worker of its own",
                ));
            }
            found = Some(entry);
        }
        found.ok_or_else(|| wrong("it has no target"))
    }

    fn entry_for(&self, scheme: &str) -> Option<usize> {
        self.entries.iter().position(|e| e.schemes.iter().any(|s| s == scheme))
    }

    fn unknown(&self, target: &engine::TargetSpec) -> EngineError {
        let schemes: Vec<String> = self
            .entries
            .iter()
            .flat_map(|e| &e.schemes)
            .filter(|s| ![NET_SCHEME, LAB_SCHEME].contains(&s.as_str()))
            .map(|s| if s.is_empty() { "a path".to_owned() } else { format!("`{s}:`") })
            .collect();
        EngineError::Unsupported(format!(
            "{}: no engine serves `{}`; this program knows {}",
            target.name,
            target.url,
            schemes.join(", ")
        ))
    }
}

fn no_net_engine(load: &str) -> EngineError {
    EngineError::Unsupported(format!(
        "{load}: no engine of this agent carries network loads; start it from a wirespeed that has one"
    ))
}

/// The workers of one engine with the targets that they use, renumbered, and the network loads where they are its own.
fn part(step: &StepSpec, engines: &[usize], entry: usize, with_nets: bool) -> StepSpec {
    let nets = if with_nets { step.nets.clone() } else { Vec::new() };
    let mut part = StepSpec { targets: Vec::new(), workers: Vec::new(), nets, ..step.clone() };
    let mut renumbered: Vec<Option<u16>> = vec![None; step.targets.len()];
    for (worker, _) in step.workers.iter().zip(engines).filter(|(_, e)| **e == entry) {
        let mut worker = worker.clone();
        for index in &mut worker.targets {
            let old = usize::from(*index);
            *index = *renumbered[old].get_or_insert_with(|| {
                part.targets.push(step.targets[old].clone());
                (part.targets.len() - 1) as u16
            });
        }
        part.workers.push(worker);
    }
    part
}

/// The scheme of a target's URL in lower case letters, or `""` for a path.
pub fn scheme(url: &str) -> &str {
    let is_scheme = |s: &str| {
        s.starts_with(|c: char| c.is_ascii_lowercase())
            && s.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c))
    };
    match url.split_once(':') {
        Some((scheme, _)) if is_scheme(scheme) => scheme,
        _ => "",
    }
}

//! Which engine serves which targets, and the division of a step among engines.
//!
//! The binary registers engines by the schemes of the URLs that they understand (`""` for paths, `null` for `null:`), and
//! those that carry loads without workers by the name that these loads have for them; the agent knows no engine by name.

use crate::arrays::ArrayServer;
use crate::attend::Attendance;
use crate::sampling::Sampler;
use engine::{Engine, EngineError, EngineLoad, IntervalTx, Prepared, StepSpec, Stop};

/// The name under which what changes an emulated lab, or guests, is registered.
pub const LAB_ENGINE: &str = "lab";

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
    serves: Serves,
    engine: Box<dyn Engine>,
}

/// What an engine is for.
enum Serves {
    /// Workers on targets, by the schemes of their URLs.
    Urls(Vec<String>),
    /// What has no workers, by the name of its engine.
    Loads(&'static str),
}

impl EngineRegistry {
    /// No engine at all.
    pub fn new() -> EngineRegistry {
        EngineRegistry::default()
    }

    /// Adds an engine for the URLs of these schemes; `""` is for paths. The first one registered for a scheme is used.
    pub fn register(mut self, schemes: &[&str], engine: Box<dyn Engine>) -> EngineRegistry {
        let schemes = schemes.iter().map(|&s| s.to_owned()).collect();
        self.entries.push(EngineEntry { serves: Serves::Urls(schemes), engine });
        self
    }

    /// Adds the engine of this name for loads without workers.
    pub fn carries(mut self, name: &'static str, engine: Box<dyn Engine>) -> EngineRegistry {
        self.entries.push(EngineEntry { serves: Serves::Loads(name), engine });
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

    /// Prepares a step: every engine that is concerned gets its workers and their targets, or its loads.
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
        let of_load = |load: &EngineLoad| self.named(load.engine()).ok_or_else(|| no_engine(load));
        let loads = step.loads.iter().map(of_load).collect::<Result<Vec<_>, _>>()?;
        let lab = step.lab.as_ref().and_then(|_| self.named(LAB_ENGINE));
        let concerned = (0..self.entries.len()).filter(|entry| {
            engines.contains(entry) || loads.contains(entry) || lab == Some(*entry)
        });
        let part = |entry| (entry, part(step, entry, &engines, &loads));
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
            let entry = self.entry_for(scheme(&target.url)).ok_or_else(|| self.unknown(target))?;
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
        let serves = |e: &EngineEntry| matches!(&e.serves, Serves::Urls(all) if all.iter().any(|s| s == scheme));
        self.entries.iter().position(serves)
    }

    fn named(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|e| matches!(e.serves, Serves::Loads(of) if of == name))
    }

    fn unknown(&self, target: &engine::TargetSpec) -> EngineError {
        let urls = self.entries.iter().filter_map(|e| match &e.serves {
            Serves::Urls(schemes) => Some(schemes),
            Serves::Loads(_) => None,
        });
        let words = |s: &String| if s.is_empty() { "a path".to_owned() } else { format!("`{s}:`") };
        let schemes: Vec<String> = urls.flatten().map(words).collect();
        EngineError::Unsupported(format!(
            "{}: no engine serves `{}`; this program knows {}",
            target.name,
            target.url,
            schemes.join(", ")
        ))
    }
}

fn no_engine(load: &EngineLoad) -> EngineError {
    EngineError::Unsupported(format!(
        "{}: no engine of this agent carries {} loads; start it from a wirespeed that has one",
        load.name(),
        load.family()
    ))
}

/// The workers of one engine with the targets that they use, renumbered, and the loads that are its own. `engines` is that
/// of each worker, `loads` that of each load.
fn part(step: &StepSpec, entry: usize, engines: &[usize], loads: &[usize]) -> StepSpec {
    let own = step.loads.iter().zip(loads).filter(|(_, e)| **e == entry);
    let loads = own.map(|(load, _)| load.clone()).collect();
    let mut part = StepSpec { targets: Vec::new(), workers: Vec::new(), loads, ..step.clone() };
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

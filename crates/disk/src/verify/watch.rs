//! The engine's verification states from step to step: opened at first use, with a pass over a stored one.

use super::checkpoints::Checkpoints;
use super::examiner::ExaminerCounts;
use super::memory::StateMemory;
use super::pass::{Passed, pass};
use super::report::FaultLead;
use super::state::TargetState;
use super::verifier::VerifierSpec;
use crate::PayloadOpener;
use crate::conditioning::ConditioningTask;
use crate::surface::ReadTarget;
use crate::target::label;
use engine::{EngineError, Fill, Prepared, StepSpec, TargetSpec, WorkerSpec};
use record::Level;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use workload::{Extent, IoDemand};

/// States by the URL of their target.
#[derive(Debug, Default)]
pub(crate) struct VerifyStates {
    states: BTreeMap<String, Arc<TargetState>>,
    /// What passes have counted and no worker has reported yet.
    passed: BTreeMap<String, Arc<ExaminerCounts>>,
    /// Names of the workers of this run, by number.
    writers: BTreeMap<u32, String>,
    /// Where states outlive this process, unless a file is named.
    pub memory: Option<StateMemory>,
}

/// What a step verifies.
pub(crate) struct VerifyPlan {
    /// For each target of the step, its state.
    states: Vec<Option<Arc<TargetState>>>,
    passed: BTreeMap<String, Arc<ExaminerCounts>>,
    writers: Arc<BTreeMap<u32, String>>,
    /// States that a worker speaks for already.
    led: BTreeSet<u64>,
}

impl VerifyStates {
    /// The state of a target: opened the first time that a step verifies it, or before anything happens to a target
    /// whose state is kept. `created` tells that the target's file is new.
    pub fn state(
        &mut self,
        errand: &ConditioningTask,
        thing: ReadTarget<'_>,
        extent: Extent,
        created: bool,
    ) -> Result<Option<Arc<TargetState>>, EngineError> {
        let spec = errand.spec;
        let needed = spec.verify_state.is_some() || is_verified(errand.step, spec);
        if !needed {
            return Ok(None);
        }
        if let Some(state) = self.states.get(&spec.url) {
            may_write(spec, state, errand.step)?;
            return Ok(Some(state.clone()));
        }
        let state = match (&spec.verify_state, &self.memory) {
            (None, None) => TargetState::new(label(spec), extent).map_err(|e| trouble(spec, e))?,
            (None, Some(memory)) => remembered(errand, extent, memory)?,
            (Some(path), _) => self.kept(errand, thing, extent, created, Path::new(path))?,
        };
        let state = Arc::new(state);
        self.states.insert(spec.url.clone(), state.clone());
        may_write(spec, &state, errand.step)?;
        if state.kept.is_some() && !errand.demand.writes {
            self.pass(errand, thing, &state)?;
        }
        Ok(Some(state))
    }

    fn kept(
        &self,
        errand: &ConditioningTask,
        thing: ReadTarget<'_>,
        extent: Extent,
        created: bool,
        path: &Path,
    ) -> Result<TargetState, EngineError> {
        let spec = errand.spec;
        let target = thing.open(false).map_err(|e| trouble(spec, format!("{e}")))?;
        let (state, was) =
            TargetState::kept(label(spec), extent, path, spec.verify_flushed, target)
                .map_err(|e| trouble(spec, e))?;
        let name = path.display();
        if was.known > 0 && created {
            return Err(trouble(
                spec,
                format!(
                    "its verification state {name} is of a file that is gone; remove it, or name another"
                ),
            ));
        }
        if was.known > 0 && matches!(spec.fill, Fill::Always | Fill::SniaPts) {
            return Err(trouble(
                spec,
                format!(
                    "filling it would overwrite the {} blocks that its verification state {name} knows; leave `fill` out, or \
                 remove the state",
                    was.known
                ),
            ));
        }
        if was.damaged > 0 {
            let text = format!(
                "{}: {} sectors of its verification state {name} are damaged: nothing is known of their blocks",
                spec.name, was.damaged
            );
            errand.say(Level::Warning, "verify-state-damaged", text);
        }
        let how = match (was.old, state.at_least) {
            (false, _) => "is new".to_owned(),
            (true, false) => format!("knows {} blocks exactly", was.known),
            (true, true) if was.damaged > 0 => {
                format!("knows {} blocks, and nothing may be written", was.known)
            }
            (true, true) => format!(
                "tells of {} blocks what had been flushed: they must hold that or something newer, and nothing may be \
                 written",
                was.known
            ),
        };
        let text = format!("{}: its verification state {name} {how}", spec.name);
        errand.say(Level::Info, "verify-state", text);
        Ok(state)
    }

    /// Whether a target's content must stay as it is, because a state knows it. Where the plan overwrites it all the
    /// same, the state forgets it.
    pub fn holds(&self, spec: &TargetSpec) -> bool {
        let Some(state) = self.states.get(&spec.url) else { return false };
        if spec.fill == Fill::SniaPts {
            state.forget();
            return false;
        }
        state.ledger.words().any(|word| !word.is_unwritten())
    }

    fn pass(
        &mut self,
        errand: &ConditioningTask,
        thing: ReadTarget<'_>,
        state: &Arc<TargetState>,
    ) -> Result<(), EngineError> {
        let spec = errand.spec;
        let held = thing
            .open(!spec.buffered)
            .map_err(|e| trouble(spec, format!("cannot be read ({e})")))?;
        let passed = pass(state, held.source(), errand.stop).map_err(|e| trouble(spec, e))?;
        let Passed { counts, unreadable, first, blocks, notes, stopped } = passed;
        for note in notes {
            errand.say(note.level, note.code, note.text);
        }
        if let Some(e) = first {
            let text = format!(
                "{}: {unreadable} blocks could not be read to verify them ({e}); see the kernel log (dmesg)",
                spec.name
            );
            errand.say(Level::Error, "verify-unreadable", text);
        }
        if stopped {
            return Err(trouble(spec, "verifying it was stopped".to_owned()));
        }
        let text = format!(
            "{}: read all {blocks} blocks: {} checked, {} of which nothing is known",
            spec.name,
            counts.checked(),
            counts.unknown()
        );
        errand.say(Level::Info, "verify-pass", text);
        self.passed.insert(spec.url.clone(), counts);
        Ok(())
    }

    /// What a step verifies, once the states of its targets are open.
    pub fn plan(&mut self, step: &StepSpec, states: Vec<Option<Arc<TargetState>>>) -> VerifyPlan {
        for worker in &step.workers {
            self.writers.insert(worker.source.0, worker.name.clone());
        }
        VerifyPlan {
            states,
            passed: std::mem::take(&mut self.passed),
            writers: Arc::new(self.writers.clone()),
            led: BTreeSet::new(),
        }
    }
}

impl VerifyPlan {
    /// What stamps and checks the blocks of a worker.
    pub fn payload(
        &mut self,
        step: &StepSpec,
        worker: &WorkerSpec,
    ) -> Result<Box<dyn PayloadOpener>, EngineError> {
        let unknown = || {
            EngineError::Unsupported(format!(
                "worker {}: `null:` holds nothing that could be verified",
                worker.name
            ))
        };
        let state = |t: &u16| self.states.get(usize::from(*t))?.clone();
        let states: Option<Vec<Arc<TargetState>>> = worker.targets.iter().map(state).collect();
        let states = states.ok_or_else(unknown)?;
        let mut lead = FaultLead::default();
        for (target, state) in worker.targets.iter().zip(&states) {
            if self.led.insert(state.id) {
                lead.states.push(state.clone());
                let url = step.targets.get(usize::from(*target)).map(|t| &t.url);
                lead.pass.extend(url.and_then(|url| self.passed.remove(url)));
            }
        }
        Ok(Box::new(VerifierSpec {
            states,
            all: self.states.iter().flatten().cloned().collect(),
            worker: worker.source.0,
            step: step.index,
            block_max: IoDemand::of(&worker.workload).block_max,
            lead,
            writers: self.writers.clone(),
        }))
    }

    /// Wraps a step so that kept states are brought to stable storage while it runs.
    pub fn keep(
        self,
        step: &StepSpec,
        inner: Box<dyn Prepared>,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        let kept = self.states.into_iter().flatten().filter(|state| state.kept.is_some());
        let states: Vec<Arc<TargetState>> = kept.collect();
        if states.is_empty() {
            return Ok(inner);
        }
        Ok(Box::new(Checkpoints::new(step.index, inner, states)?))
    }
}

/// The state that a target has in memory, by the number that it was made with: names of devices change from boot to boot.
fn remembered(
    errand: &ConditioningTask,
    extent: Extent,
    memory: &StateMemory,
) -> Result<TargetState, EngineError> {
    let spec = errand.spec;
    let name = spec.made_as.as_ref().unwrap_or(&spec.url);
    let (state, was) =
        TargetState::remembered(label(spec), extent, name, memory).map_err(|e| trouble(spec, e))?;
    if was.old {
        let text = format!(
            "{}: its verification state outlived the guest, and knows {} blocks exactly",
            spec.name, was.known
        );
        errand.say(Level::Info, "verify-state", text);
    }
    Ok(state)
}

/// Whether any worker of a step verifies a target.
fn is_verified(step: &StepSpec, spec: &TargetSpec) -> bool {
    let number = step.targets.iter().position(|t| t.url == spec.url);
    let uses = |w: &WorkerSpec| w.targets.iter().any(|t| Some(usize::from(*t)) == number);
    step.workers.iter().any(|w| w.verify && uses(w))
}

/// Refuses to write where a power cut has left only what was flushed: a generation could be issued twice.
fn may_write(spec: &TargetSpec, state: &TargetState, step: &StepSpec) -> Result<(), EngineError> {
    let number = step.targets.iter().position(|t| t.url == spec.url);
    let uses = |w: &WorkerSpec| w.targets.iter().any(|t| Some(usize::from(*t)) == number);
    let writes = step.workers.iter().any(|w| uses(w) && IoDemand::of(&w.workload).writes);
    match &state.kept {
        Some(kept) if state.at_least && writes => Err(trouble(
            spec,
            format!(
                "its verification state {} is damaged or tells only what had been flushed before a power cut: it can only be read against (`--read 100`); remove it to \
             write anew",
                kept.path().display()
            ),
        )),
        _ => Ok(()),
    }
}

fn trouble(spec: &TargetSpec, problem: String) -> EngineError {
    EngineError::Target { target: spec.name.clone(), problem }
}

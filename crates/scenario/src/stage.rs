//! What a run consists of: steps that are known beforehand, and searches, whose steps are decided on the way.

use crate::load::DiskLoad;
use crate::model::{Scenario, Step};
use crate::search::Search;
use std::collections::BTreeMap;
use std::time::Duration;
use workload::Arrivals;

/// A part of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// One step.
    Step(Step),
    /// Steps that follow from each other.
    Search(Hunt),
}

/// A search with the step that it varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Hunt {
    /// What is looked for.
    pub search: Search,
    /// Its steps without the load that is searched: what the sweep has settled.
    pub base: Step,
}

/// The planned stages of a run, matched with the steps that it did: which step of the plan is which of the record.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Its parts, in their order.
    pub stages: Vec<Stage>,
    by_name: BTreeMap<(String, StageSettings, u32), usize>,
}

type StageSettings = Vec<(String, String)>;

impl Course {
    /// The course of a scenario.
    pub fn of(scenario: &Scenario) -> Course {
        let stages = scenario.stages();
        let named = |(n, stage): (usize, &Stage)| match stage {
            Stage::Step(step) => {
                Some(((step.plan.clone(), step.settings.clone(), step.repetition), n))
            }
            Stage::Search(_) => None,
        };
        let by_name = stages.iter().enumerate().filter_map(named).collect();
        Course { stages, by_name }
    }

    /// The searches, in their order.
    pub fn hunts(&self) -> impl Iterator<Item = &Hunt> {
        self.stages.iter().filter_map(|stage| match stage {
            Stage::Search(hunt) => Some(hunt),
            Stage::Step(_) => None,
        })
    }

    /// The step that a recorded one was to be: of the same plan, with the same settings, as the same repetition.
    pub fn step(
        &self,
        index: u32,
        plan: &str,
        settings: &[(String, String)],
        repetition: u32,
    ) -> Option<Step> {
        let name = (plan.to_owned(), settings.to_vec(), repetition);
        if let Some(Stage::Step(step)) = self.by_name.get(&name).and_then(|n| self.stages.get(*n)) {
            return Some(Step { index, ..step.clone() });
        }
        self.hunts().find_map(|hunt| {
            let load = hunt.load_of(plan, settings)?;
            Some(hunt.step(index, load, repetition, false))
        })
    }
}

impl Stage {
    /// Steps at most.
    pub fn steps_max(&self) -> u32 {
        match self {
            Stage::Step(_) => 1,
            Stage::Search(hunt) => hunt.search.steps,
        }
    }

    /// The load of all its steps together, at the longest.
    pub fn duration_max(&self) -> Duration {
        match self {
            Stage::Step(step) => step.duration(),
            Stage::Search(hunt) => hunt.base.duration().saturating_mul(hunt.search.steps),
        }
    }

    /// Steps that together use every worker and target of the stage: the one step, or a search's first and largest
    /// load.
    pub fn examples(&self) -> Vec<Step> {
        match self {
            Stage::Step(step) => vec![step.clone()],
            Stage::Search(hunt) => {
                let range = hunt.search.range;
                let step = |load, first| hunt.step(hunt.base.index, load, 0, first);
                vec![step(range.from, true), step(range.to, false)]
            }
        }
    }
}

impl From<Step> for Stage {
    fn from(step: Step) -> Stage {
        Stage::Step(step)
    }
}

impl Hunt {
    pub(crate) fn new(search: Search, base: Step) -> Hunt {
        Hunt { search, base }
    }

    /// The step that tries a load: its number in the run, its repetition, and whether it is the search's first.
    pub fn step(&self, index: u32, load: f64, repetition: u32, first: bool) -> Step {
        let setting = self.search.setting(load);
        let mut step = Step { index, repetition, ..self.base.clone() };
        step.precondition &= first;
        step.settings.push((self.search.key.clone(), setting.to_string()));
        for load in &mut step.loads {
            load.search(&self.search.key, &setting);
        }
        step
    }

    /// The load of a recorded step, where it is one of this search: of its plan, with what the sweep had settled.
    pub fn load_of(&self, plan: &str, settings: &[(String, String)]) -> Option<f64> {
        let ((key, value), fixed) = settings.split_last()?;
        let mine = plan == self.base.plan && fixed == self.base.settings && *key == self.search.key;
        let plain = || value.parse().ok();
        let size = || units::Bytes::parse(value).ok().map(|bytes| bytes.0 as f64);
        let rate = || units::Iops::parse(value).ok().map(|rate| rate.0);
        plain().or_else(size).or_else(rate).filter(|load: &f64| mine && *load > 0.0)
    }
}

impl Step {
    /// Operations that its closed loops together are to have outstanding.
    pub fn depth_asked(&self) -> f64 {
        let of = |load: DiskLoad<'_>| match load.workload.spec.arrivals {
            Arrivals::Closed { depth, .. } => {
                f64::from(depth) * f64::from(load.workload.workers) * load.on.len() as f64
            }
            Arrivals::Open { .. } => 0.0,
        };
        self.disk_loads().map(of).sum()
    }
}

//! Plans expanded to steps. What a setting does to a workload is said by its family (`load`).
//!
//! A plan's steps are the product of its axes, the first varying slowest; with `repeat`, the whole sweep is run again,
//! so that slow drift of a device does not fall on single settings.

use crate::load::Load;
use crate::model::{Plan, Scenario, Setting, Step};
use crate::stage::{Hunt, Stage};
use std::time::Duration;
use workload::NetFrames;

/// Whether an axis (`block`, or `WORKLOAD.block`) concerns a workload, by its name.
pub(crate) fn concerns(axis: &str, workload: &str) -> bool {
    axis.rsplit_once('.').is_none_or(|(name, _)| name == workload)
}

impl Plan {
    /// How many steps one pass over the sweep makes; saturates.
    pub(crate) fn combinations(&self) -> u64 {
        self.sweep.iter().fold(1, |n, axis| n.saturating_mul(axis.values.len() as u64))
    }

    /// The n-th combination: one setting an axis.
    pub(crate) fn combination(&self, n: u64) -> Vec<(&str, &Setting)> {
        let mut rest = n;
        let mut chosen: Vec<(&str, &Setting)> = Vec::with_capacity(self.sweep.len());
        for axis in self.sweep.iter().rev() {
            let length = (axis.values.len() as u64).max(1);
            if let Some(value) = axis.values.get((rest % length) as usize) {
                chosen.push((&axis.key, value));
            }
            rest /= length;
        }
        chosen.reverse();
        chosen
    }
}

impl Scenario {
    /// Every step that is known beforehand, in the order in which they run. At most 10,000: `load` refuses more. Settings
    /// that a workload cannot have are refused by `load` as well, and left out here. The steps of a search are not among
    /// them: see [`Scenario::stages`].
    pub fn steps(&self) -> Vec<Step> {
        let known = self.stages().into_iter().filter_map(|stage| match stage {
            Stage::Step(step) => Some(step),
            Stage::Search(_) => None,
        });
        (0..).zip(known).map(|(index, step)| Step { index, ..step }).collect()
    }

    /// What runs, in order: known steps, and searches. A step is numbered as if searches took none; the driver
    /// renumbers.
    pub fn stages(&self) -> Vec<Stage> {
        let (mut stages, mut index) = (Vec::new(), 0);
        for plan in &self.plans {
            for repetition in 0..plan.repeat {
                for n in 0..plan.combinations() {
                    let first = repetition == 0 && n == 0;
                    let settings = plan.combination(n);
                    let step = step(plan, index, repetition, &settings, first);
                    stages.push(match &plan.search {
                        Some(search) => Stage::Search(Hunt::new(search.clone(), step)),
                        None => {
                            index += 1;
                            Stage::Step(step)
                        }
                    });
                }
            }
        }
        stages
    }
}

fn step(
    plan: &Plan,
    index: u32,
    repetition: u32,
    settings: &[(&str, &Setting)],
    first: bool,
) -> Step {
    let load = |load: &Load| {
        let mut load = load.clone();
        settings.iter().for_each(|(key, setting)| load.settle(key, setting));
        load
    };
    Step {
        index,
        plan: plan.name.clone(),
        settings: settings.iter().map(|(k, v)| ((*k).to_owned(), v.to_string())).collect(),
        repetition,
        warmup: plan.warmup,
        steady: plan.steady,
        measure: plan.measure,
        cooldown: plan.cooldown,
        precondition: plan.precondition && first,
        loads: plan.loads.iter().map(load).collect(),
        frames: frames(plan.frames, settings),
        port: settings.iter().find_map(|(_, setting)| match setting {
            Setting::Port(rate) => Some(*rate),
            _ => None,
        }),
        faults: plan.faults.clone(),
        incidents: plan.incidents.clone(),
        prove: plan.prove,
        window: plan.window,
    }
}

/// What a step sets at interfaces: what the plan says, and what its axes say instead.
fn frames(plan: NetFrames, settings: &[(&str, &Setting)]) -> NetFrames {
    settings.iter().fold(plan, |frames, (_, setting)| match setting {
        Setting::Mtu(mtu) => NetFrames { mtu: Some(*mtu), ..frames },
        Setting::Offload(on) => NetFrames { offload: Some(*on), ..frames },
        _ => frames,
    })
}

impl Step {
    /// A short name for people: the settings (`block=8KiB depth=4`), after the plan's name where it has one of its own;
    /// repetitions after the first carry their number.
    pub fn name(&self) -> String {
        let mut words: Vec<String> =
            self.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
        if words.is_empty() || self.plan != Plan::UNNAMED {
            words.insert(0, self.plan.clone());
        }
        if self.repetition > 0 {
            words.push(format!("#{}", self.repetition + 1));
        }
        words.join(" ")
    }

    /// The longest that its warm-up can take.
    pub fn warmup_max(&self) -> Duration {
        self.steady.map_or(self.warmup, |steady| steady.within.max(self.warmup))
    }

    /// Warm-up, measurement and cool-down together, at the longest.
    pub fn duration(&self) -> Duration {
        self.warmup_max().saturating_add(self.measure).saturating_add(self.cooldown)
    }
}

impl Plan {
    /// The name of a single plan without one.
    pub const UNNAMED: &str = "plan";
}

//! Settings applied to workloads, and plans expanded to steps. What a setting does to a network load is in `settle_net`.
//!
//! A plan's steps are the product of its axes, the first varying slowest; with `repeat`, the whole sweep is run again,
//! so that slow drift of a device does not fall on single settings.

use crate::members;
use crate::model::{Load, Plan, Scenario, Setting, Step, StepLoad, Workload};
use crate::network::{NetWorkload, StepNet};
use crate::settle_net::{frames, settle_net};
use crate::simulated::{CopyWorkload, StepCopy};
use crate::stage::{Hunt, Stage};
use std::collections::BTreeMap;
use std::time::Duration;
use workload::{Arrivals, Process, WorkloadKind};

/// Operations outstanding per worker at most in an open loop, unless a limit is given.
pub(crate) const LIMIT_DEFAULT: u32 = 256;

/// Applies one setting, or says why the workload cannot have it.
pub(crate) fn apply(workload: &mut Workload, setting: &Setting) -> Result<(), String> {
    let spec = &mut workload.spec;
    match *setting {
        Setting::Workers(workers) => workload.workers = workers,
        Setting::WorkingSet(set) => spec.working_set = Some(set),
        // Those of arrays, of interfaces and of loads, whatever the workload is.
        Setting::Members(_) | Setting::Port(_) | Setting::Mtu(_) | Setting::Offload(_) => {}
        Setting::StreamRate(rate) => {
            return Err(format!(
                "a disk workload has a rate of operations, such as `5000 IOPS`, not {rate}"
            ));
        }
        Setting::Message(_) | Setting::Batch(_) | Setting::Streams(_) | Setting::Direction(_) => {
            return Err("it belongs to network workloads, and this is a disk workload".into());
        }
        Setting::Depth(n) => match &mut spec.arrivals {
            Arrivals::Closed { depth, .. } => *depth = n,
            Arrivals::Open { .. } => {
                return Err("an open loop has no depth; `limit` bounds what is outstanding".into());
            }
        },
        Setting::Rate(rate) => spec.arrivals = open(spec.arrivals, rate.0)?,
        Setting::Read(share) => match &mut spec.kind {
            WorkloadKind::Access(access) => {
                access.rows.iter_mut().for_each(|row| row.read = share.0)
            }
            WorkloadKind::Transaction(transaction) => transaction.read = share.0,
        },
        Setting::Random(share) => match &mut spec.kind {
            WorkloadKind::Access(access) => {
                access.rows.iter_mut().for_each(|row| row.random = share.0)
            }
            WorkloadKind::Transaction(_) => {
                return Err("transactions are random by their skews; they have no `random`".into());
            }
        },
        Setting::Block(size) => match &mut spec.kind {
            WorkloadKind::Access(access) if access.ladder.is_some() => {
                return Err("the workload's `ladder` sets the block size".into());
            }
            WorkloadKind::Access(access) => match access.rows.as_mut_slice() {
                [row] => {
                    row.size = u32::try_from(size.0)
                        .map_err(|_| format!("{size} is more than one operation can carry"))?;
                }
                rows => {
                    return Err(format!(
                        "the workload has {} rows, each with its size",
                        rows.len()
                    ));
                }
            },
            WorkloadKind::Transaction(_) => {
                return Err("a transaction has pages; set `transaction = { page = … }`".into());
            }
        },
    }
    Ok(())
}

fn open(arrivals: Arrivals, rate: f64) -> Result<Arrivals, String> {
    match arrivals {
        Arrivals::Open { process: Process::Poisson { .. }, limit } => {
            Ok(Arrivals::Open { process: Process::Poisson { rate }, limit })
        }
        Arrivals::Open { process: Process::Fixed { .. }, limit } => {
            Ok(Arrivals::Open { process: Process::Fixed { rate }, limit })
        }
        Arrivals::Open { process: Process::Ramp { .. }, .. } => {
            Err("the workload's `ramp` sets the rate".into())
        }
        Arrivals::Closed { think, .. } if think.0 > 0 => {
            Err("the workload has a `think` time, which an open loop has not".into())
        }
        Arrivals::Closed { .. } => {
            Ok(Arrivals::Open { process: Process::Fixed { rate }, limit: LIMIT_DEFAULT })
        }
    }
}

/// Applies the setting of an axis to a workload that it speaks of.
pub(crate) fn settle(workload: &mut Workload, key: &str, setting: &Setting) {
    if speaks(key, setting, &workload.name, Side::Disk) {
        let _refused_by_load = apply(workload, setting);
    }
}

/// Whether an axis (`block`, or `WORKLOAD.block`) speaks of a workload, going by its name.
pub(crate) fn concerns(axis: &str, workload: &str) -> bool {
    axis.rsplit_once('.').is_none_or(|(name, _)| name == workload)
}

/// The two kinds of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Disk,
    Net,
    Copy,
}

/// Whether a setting of disk workloads is one of copies as well.
pub(crate) fn copies_too(setting: &Setting) -> bool {
    matches!(setting, Setting::Block(_) | Setting::Depth(_) | Setting::Workers(_))
}

/// Applies a setting to a copy; what no copy has is left out.
pub(crate) fn settle_copy(copy: &mut CopyWorkload, key: &str, setting: &Setting) {
    if !speaks(key, setting, &copy.name, Side::Copy) {
        return;
    }
    match *setting {
        Setting::Block(size) => copy.block = u32::try_from(size.0).unwrap_or(u32::MAX),
        Setting::Depth(depth) => copy.depth = depth,
        Setting::Workers(workers) => copy.workers = workers,
        _ => {}
    }
}

impl Side {
    /// The kind of workloads that have such a setting; none where no workload has it, or a load of any kind.
    pub fn of(setting: &Setting) -> Option<Side> {
        match setting {
            Setting::Block(_)
            | Setting::Depth(_)
            | Setting::Workers(_)
            | Setting::Read(_)
            | Setting::Random(_)
            | Setting::Rate(_)
            | Setting::WorkingSet(_) => Some(Side::Disk),
            Setting::Message(_)
            | Setting::Batch(_)
            | Setting::Streams(_)
            | Setting::Direction(_)
            | Setting::StreamRate(_) => Some(Side::Net),
            Setting::Members(_) | Setting::Port(_) | Setting::Mtu(_) | Setting::Offload(_) => None,
        }
    }
}

/// Whether a setting of an axis is for a workload of this name and kind: where the axis names a workload it is for that one,
/// otherwise for all that have such a setting.
pub(crate) fn speaks(axis: &str, setting: &Setting, workload: &str, side: Side) -> bool {
    match axis.rsplit_once('.') {
        Some((name, _)) => name == workload,
        None if side == Side::Copy => copies_too(setting),
        None => Side::of(setting) == Some(side),
    }
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

    /// What runs, in its order: steps that are known beforehand, and searches. A step is numbered as if every search
    /// before it took no step; who runs them numbers them anew.
    pub fn stages(&self) -> Vec<Stage> {
        let known = Known {
            disk: self.workloads.iter().map(|w| (w.name.as_str(), w)).collect(),
            net: self.networks.iter().map(|w| (w.name.as_str(), w)).collect(),
            copy: self.copies.iter().map(|w| (w.name.as_str(), w)).collect(),
        };
        let (mut stages, mut index) = (Vec::new(), 0);
        for plan in &self.plans {
            for repetition in 0..plan.repeat {
                for n in 0..plan.combinations() {
                    let first = repetition == 0 && n == 0;
                    let settings = plan.combination(n);
                    let step = step(plan, index, repetition, &settings, &known, first);
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

/// The workloads of a scenario by their names.
struct Known<'a> {
    disk: BTreeMap<&'a str, &'a Workload>,
    net: BTreeMap<&'a str, &'a NetWorkload>,
    copy: BTreeMap<&'a str, &'a CopyWorkload>,
}

fn step(
    plan: &Plan,
    index: u32,
    repetition: u32,
    settings: &[(&str, &Setting)],
    known: &Known<'_>,
    first: bool,
) -> Step {
    let load = |load: &Load| {
        let mut workload = (*known.disk.get(load.workload.as_str())?).clone();
        settings.iter().for_each(|(key, setting)| settle(&mut workload, key, setting));
        Some(StepLoad { workload, on: members::of(load, settings), phase: load.phase.clone() })
    };
    let net = |load: &Load| {
        let mut workload = (*known.net.get(load.workload.as_str())?).clone();
        settings.iter().for_each(|(key, setting)| settle_net(&mut workload, key, setting));
        Some(StepNet { workload, on: members::of(load, settings) })
    };
    let copy = |load: &Load| {
        let mut workload = (*known.copy.get(load.workload.as_str())?).clone();
        settings.iter().for_each(|(key, setting)| settle_copy(&mut workload, key, setting));
        Some(StepCopy { workload, on: members::of(load, settings), phase: load.phase.clone() })
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
        loads: plan.loads.iter().filter_map(load).collect(),
        nets: plan.nets.iter().filter_map(net).collect(),
        copies: plan.copies.iter().filter_map(copy).collect(),
        frames: frames(plan.frames, settings),
        port: settings.iter().find_map(|(_, setting)| match setting {
            Setting::Port(rate) => Some(*rate),
            _ => None,
        }),
        faults: plan.faults.clone(),
        incidents: plan.incidents.clone(),
    }
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

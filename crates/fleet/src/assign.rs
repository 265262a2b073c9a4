//! From the steps of a scenario to what each agent is told and what the record announces.
//!
//! All of a run is assigned before any of it starts, so that a mistake in its last step is found before its first, and so
//! that a worker which appears in several steps is one source. Nothing is opened here.

use crate::cluster::cluster;
use clock::Ns;
use engine::{StepSpec, TargetSpec, WorkerSpec};
use record::{Loop, Source, SourceId, SourceKind, WorkerLoad};
use scenario::{Backing, Scenario, Step, Target, Vm};
use std::collections::BTreeMap;
use thiserror::Error;
use workload::{Arrivals, Process};

/// A run as it is divided among agents.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// Every worker of every step, in order of first appearance; a source's number is its position.
    pub sources: Vec<Source>,
    /// The steps, in order.
    pub steps: Vec<AssignedStep>,
}

/// One step as it is divided among agents.
#[derive(Clone, Debug, PartialEq)]
pub struct AssignedStep {
    /// The step.
    pub step: Step,
    /// What every worker is asked to do, for the record.
    pub loads: Vec<WorkerLoad>,
    /// For each agent, what it is told; `None` for an agent without workers in this step.
    pub specs: Vec<Option<StepSpec>>,
}

/// Why a scenario cannot be run on live engines. The text says what to do instead.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AssignError {
    /// Hardware of the lab that nobody here owns.
    #[error(
        "`{vm}` has a disk on the array `{array}`, which is not at hand: `wirespeed simulate` runs this scenario on a \
         model; to measure, give the disk a `target`"
    )]
    NotAtHand {
        /// The VM.
        vm: String,
        /// The array.
        array: String,
    },
    /// A disk smaller than what backs it.
    #[error(
        "a disk of `{vm}` is smaller than its target, which a live run cannot enforce: leave out the disk's `size`, or \
         give the workload a `working_set`"
    )]
    DiskSize {
        /// The VM.
        vm: String,
    },
    /// A VM without disks.
    #[error(
        "`{vm}` has no disks for `{workload}` to use; give it `disks = [{{ target = \"…\" }}]`"
    )]
    NoDisks {
        /// The VM.
        vm: String,
        /// The workload.
        workload: String,
    },
    /// A name that is neither a VM nor a target.
    #[error("`{name}` is neither a VM nor a target of this scenario")]
    Unknown {
        /// The name.
        name: String,
    },
    /// More targets than a step can number.
    #[error("step {step} uses more than 65,536 targets; divide it into several plans")]
    TooManyTargets {
        /// The step.
        step: u32,
    },
    /// Nobody to give the work to.
    #[error("there is no agent to carry out the run")]
    NoAgents,
}

/// Divides the steps of a scenario among agents.
pub fn assign(
    scenario: &Scenario,
    steps: &[Step],
    seed: u64,
    agents: &[String],
) -> Result<Assignment, AssignError> {
    if agents.is_empty() {
        return Err(AssignError::NoAgents);
    }
    let lab = Lab::new(scenario);
    let drafts =
        steps.iter().map(|step| draft(&lab, step)).collect::<Result<Vec<Vec<Draft>>, _>>()?;
    let all: Vec<&Draft> = drafts.iter().flatten().collect();
    let places = place(&all.iter().map(|d| d.targets.as_slice()).collect::<Vec<_>>(), agents.len());

    let mut sources = Sources { agents, by_name: BTreeMap::new(), list: Vec::new() };
    let mut places = places.into_iter();
    let mut assigned = Vec::with_capacity(steps.len());
    for (step, drafts) in steps.iter().zip(&drafts) {
        let placed: Vec<Placed> = drafts
            .iter()
            .zip(places.by_ref())
            .map(|(draft, agent)| Placed { draft, agent, source: sources.number(draft, agent) })
            .collect();
        assigned.push(assigned_step(&lab, step, seed, &placed, agents.len())?);
    }
    Ok(Assignment { sources: sources.list, steps: assigned })
}

/// The agent of each worker, by the targets of all workers of a run. Workers that share a target, directly or through
/// others, stay on one agent: two agents never create, fill or write the same file. The rest goes round.
fn place(targets: &[&[usize]], agents: usize) -> Vec<usize> {
    cluster(targets).into_iter().map(|cluster| cluster % agents).collect()
}

/// A worker of a step before it has a number.
struct Draft<'a> {
    load: &'a scenario::StepLoad,
    /// The VM or target that it works for.
    group: &'a str,
    /// Its name, unique in the step.
    name: String,
    /// Positions in [`Lab::targets`].
    targets: Vec<usize>,
    sharer: u32,
    sharers: u32,
}

struct Placed<'a> {
    draft: &'a Draft<'a>,
    agent: usize,
    source: SourceId,
}

/// What may be named in `on`.
struct Lab<'a> {
    targets: &'a [Target],
    target_by_name: BTreeMap<&'a str, usize>,
    vm_by_name: BTreeMap<&'a str, &'a Vm>,
}

impl<'a> Lab<'a> {
    fn new(scenario: &'a Scenario) -> Lab<'a> {
        let targets = &scenario.lab.targets;
        Lab {
            targets,
            target_by_name: targets.iter().enumerate().map(|(i, t)| (t.name.as_str(), i)).collect(),
            vm_by_name: scenario.lab.vms.iter().map(|vm| (vm.name.as_str(), vm)).collect(),
        }
    }

    /// The targets of a VM or a target.
    fn targets_of(&self, name: &str, workload: &str) -> Result<Vec<usize>, AssignError> {
        match self.vm_by_name.get(name) {
            Some(vm) if vm.disks.is_empty() => {
                let (vm, workload) = (name.to_owned(), workload.to_owned());
                Err(AssignError::NoDisks { vm, workload })
            }
            Some(vm) => vm.disks.iter().map(|disk| self.backing(vm, disk)).collect(),
            None => Ok(vec![self.target(name)?]),
        }
    }

    fn backing(&self, vm: &Vm, disk: &scenario::VmDisk) -> Result<usize, AssignError> {
        let vm = vm.name.clone();
        match &disk.backing {
            Backing::Lun { array, .. } => Err(AssignError::NotAtHand { vm, array: array.clone() }),
            Backing::Target(_) if disk.size.is_some() => Err(AssignError::DiskSize { vm }),
            Backing::Target(name) => self.target(name),
        }
    }

    fn target(&self, name: &str) -> Result<usize, AssignError> {
        let index = self.target_by_name.get(name).copied();
        index.ok_or_else(|| AssignError::Unknown { name: name.to_owned() })
    }
}

/// The workers of a step with their names.
fn draft<'a>(lab: &Lab<'a>, step: &'a Step) -> Result<Vec<Draft<'a>>, AssignError> {
    let mut drafts = Vec::new();
    for load in &step.loads {
        let first = drafts.len();
        for group in &load.on {
            let targets = lab.targets_of(group, &load.workload.name)?;
            for _ in 0..load.workload.workers {
                let targets = targets.clone();
                drafts.push(Draft {
                    load,
                    group,
                    name: String::new(),
                    targets,
                    sharer: 0,
                    sharers: 1,
                });
            }
        }
        share(&mut drafts[first..]);
    }
    name(&mut drafts);
    Ok(drafts)
}

/// Numbers the workers of a load that share targets, directly or through others, so that regions of their own are
/// disjoint on every target.
fn share(drafts: &mut [Draft]) {
    let clusters = cluster(&drafts.iter().map(|d| d.targets.as_slice()).collect::<Vec<_>>());
    let mut members: BTreeMap<usize, u32> = BTreeMap::new();
    for (draft, cluster) in drafts.iter_mut().zip(&clusters) {
        let count = members.entry(*cluster).or_default();
        draft.sharer = *count;
        *count += 1;
    }
    for (draft, cluster) in drafts.iter_mut().zip(&clusters) {
        draft.sharers = members[cluster];
    }
}

/// Names workers after their VM or target; with the workload where several run on it, and a number where several
/// workers remain.
fn name(drafts: &mut [Draft]) {
    let mut workloads: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
    for draft in drafts.iter() {
        let on_group = workloads.entry(draft.group).or_default();
        *on_group.entry(&draft.load.workload.name).or_default() += 1;
    }
    let mut next: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for draft in drafts.iter_mut() {
        let workload = draft.load.workload.name.as_str();
        draft.name = draft.group.to_owned();
        if workloads[draft.group].len() > 1 {
            draft.name = format!("{}/{workload}", draft.name);
        }
        if workloads[draft.group][workload] > 1 {
            let number = next.entry((draft.group, workload)).or_default();
            draft.name = format!("{}/{number}", draft.name);
            *number += 1;
        }
    }
}

/// Sources by name over all steps.
struct Sources<'a> {
    agents: &'a [String],
    by_name: BTreeMap<String, SourceId>,
    list: Vec<Source>,
}

impl Sources<'_> {
    fn number(&mut self, draft: &Draft, agent: usize) -> SourceId {
        let Sources { agents, by_name, list } = self;
        *by_name.entry(draft.name.clone()).or_insert_with(|| {
            let id = SourceId(list.len() as u32);
            list.push(Source {
                id,
                kind: SourceKind::Worker,
                name: draft.name.clone(),
                group: draft.group.to_owned(),
                agent: agents[agent].clone(),
            });
            id
        })
    }
}

fn assigned_step(
    lab: &Lab,
    step: &Step,
    seed: u64,
    placed: &[Placed],
    agents: usize,
) -> Result<AssignedStep, AssignError> {
    let mut specs = Vec::with_capacity(agents);
    for agent in 0..agents {
        let workers = placed.iter().enumerate().filter(|(_, p)| p.agent == agent);
        specs.push(step_spec(lab, step, seed, workers)?);
    }
    let loads = placed.iter().map(|p| worker_load(step, p)).collect();
    Ok(AssignedStep { step: step.clone(), loads, specs })
}

/// What one agent is told of a step; `None` when it has no part in it.
fn step_spec<'a>(
    lab: &Lab,
    step: &Step,
    seed: u64,
    placed: impl Iterator<Item = (usize, &'a Placed<'a>)>,
) -> Result<Option<StepSpec>, AssignError> {
    let mut spec = StepSpec {
        index: step.index,
        seed,
        warmup: step.warmup.into(),
        measure: step.measure.into(),
        cooldown: step.cooldown.into(),
        targets: Vec::new(),
        workers: Vec::new(),
    };
    let mut numbers: BTreeMap<usize, u16> = BTreeMap::new();
    for (key, Placed { draft, source, .. }) in placed {
        let mut targets = Vec::with_capacity(draft.targets.len());
        for &target in &draft.targets {
            if let Some(&number) = numbers.get(&target) {
                targets.push(number);
                continue;
            }
            let number = u16::try_from(spec.targets.len())
                .map_err(|_| AssignError::TooManyTargets { step: step.index })?;
            numbers.insert(target, number);
            spec.targets.push(target_spec(&lab.targets[target]));
            targets.push(number);
        }
        spec.workers.push(WorkerSpec {
            source: *source,
            name: draft.name.clone(),
            key: key as u32,
            targets,
            sharer: draft.sharer,
            sharers: draft.sharers,
            workload: draft.load.workload.spec.clone(),
        });
    }
    Ok((!spec.workers.is_empty()).then_some(spec))
}

fn target_spec(target: &Target) -> TargetSpec {
    TargetSpec {
        name: target.name.clone(),
        url: target.url.clone(),
        create: target.create.map(|b| b.0),
        size: target.size.map(|b| b.0),
        buffered: target.buffered,
    }
}

fn worker_load(step: &Step, Placed { draft, source, .. }: &Placed) -> WorkerLoad {
    let workload = &draft.load.workload;
    let arrivals = match workload.spec.arrivals {
        Arrivals::Closed { depth, think } => Loop::Closed { depth, think: think > Ns::ZERO },
        Arrivals::Open { process, .. } => Loop::Open { rate: mean_rate(process, step) },
    };
    WorkerLoad {
        source: *source,
        workload: workload.name.clone(),
        arrivals,
        ops_per_transaction: workload.spec.ops_per_transaction().unwrap_or(1),
    }
}

/// Mean operations a second over the measured time.
fn mean_rate(process: Process, step: &Step) -> f64 {
    let (from, to, over) = match process {
        Process::Fixed { rate } | Process::Poisson { rate } => return rate,
        Process::Ramp { from, to, over } => (from, to, over.as_secs_f64()),
    };
    // Operations from the start of the load until `t` seconds later.
    let until = |t: f64| {
        let climbing = t.min(over);
        let slope = if over > 0.0 { (to - from) / over } else { 0.0 };
        from * climbing + slope * climbing * climbing / 2.0 + to * (t - climbing)
    };
    let (start, length) = (step.warmup.as_secs_f64(), step.measure.as_secs_f64());
    if length > 0.0 { (until(start + length) - until(start)) / length } else { 0.0 }
}

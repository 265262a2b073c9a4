//! The workers of a step before they have numbers and agents: who they are, what they are called, what they share.

use crate::assign::AssignError;
use crate::cluster::cluster;
use scenario::{Backing, Scenario, Step, StepLoad, Target, Vm, VmDisk};
use std::collections::{BTreeMap, BTreeSet};

/// Targets that one step can number.
const TARGETS_MAX: usize = 1 << 16;

/// A worker of a step.
pub(crate) struct Draft<'a> {
    pub load: &'a StepLoad,
    /// The VM or target that it works for.
    pub group: &'a str,
    /// Its name, unique in the step.
    pub name: String,
    /// Positions in [`Lab::targets`].
    pub targets: Vec<usize>,
    /// Its number among those that share its targets under the same load.
    pub sharer: u32,
    /// How many they are.
    pub sharers: u32,
}

/// What may be named in a load.
pub(crate) struct Lab<'a> {
    pub targets: &'a [Target],
    target_by_name: BTreeMap<&'a str, usize>,
    vm_by_name: BTreeMap<&'a str, &'a Vm>,
}

impl<'a> Lab<'a> {
    pub fn new(scenario: &'a Scenario) -> Lab<'a> {
        let targets = &scenario.lab.targets;
        Lab {
            targets,
            target_by_name: targets.iter().enumerate().map(|(i, t)| (t.name.as_str(), i)).collect(),
            vm_by_name: scenario.lab.vms.iter().map(|vm| (vm.name.as_str(), vm)).collect(),
        }
    }

    /// The targets of a VM, or the one target of this name.
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

    fn backing(&self, vm: &Vm, disk: &VmDisk) -> Result<usize, AssignError> {
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

/// The workers of a step, in the order of its loads.
pub(crate) fn draft<'a>(lab: &Lab, step: &'a Step) -> Result<Vec<Draft<'a>>, AssignError> {
    let mut drafts = Vec::new();
    for load in &step.loads {
        let first = drafts.len();
        for group in &load.on {
            let targets = lab.targets_of(group, &load.workload.name)?;
            drafts.extend((0..load.workload.workers).map(|_| Draft {
                load,
                group,
                name: String::new(),
                targets: targets.clone(),
                sharer: 0,
                sharers: 1,
            }));
        }
        share(&mut drafts[first..]);
    }
    name(&mut drafts);
    let used: BTreeSet<usize> = drafts.iter().flat_map(|d| &d.targets).copied().collect();
    if used.len() > TARGETS_MAX {
        return Err(AssignError::TooManyTargets { step: step.index });
    }
    Ok(drafts)
}

/// Numbers the workers of a load that share targets, directly or through others, so that regions of their own are
/// disjoint on every target.
fn share(drafts: &mut [Draft]) {
    let clusters = cluster(drafts.iter().map(|d| d.targets.as_slice()));
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

/// Names workers after their VM or target; with the workload where several run on it, and with a number where several
/// workers remain.
fn name(drafts: &mut [Draft]) {
    let mut counts: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
    for draft in drafts.iter() {
        let on_group = counts.entry(draft.group).or_default();
        *on_group.entry(&draft.load.workload.name).or_default() += 1;
    }
    let mut next: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for draft in drafts.iter_mut() {
        let workload = draft.load.workload.name.as_str();
        draft.name = draft.group.to_owned();
        if counts[draft.group].len() > 1 {
            draft.name = format!("{}/{workload}", draft.name);
        }
        if counts[draft.group][workload] > 1 {
            let number = next.entry((draft.group, workload)).or_default();
            draft.name = format!("{}/{number}", draft.name);
            *number += 1;
        }
    }
}

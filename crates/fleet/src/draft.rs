//! The workers of a step before they have numbers and agents: who they are, what they are called, what they share.

use crate::arrays::disk::ArrayDisk;
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
    /// Positions in [`Lab::things`].
    pub targets: Vec<usize>,
    /// Its number among those that share its targets under the same load.
    pub sharer: u32,
    /// How many they are.
    pub sharers: u32,
}

/// What I/O can be issued to.
#[derive(Clone, Copy)]
pub(crate) enum Thing<'a> {
    /// A `[[target]]`.
    Target(&'a Target),
    /// A volume of an embedded array by certain ways.
    Disk(ArrayDisk<'a>),
}

/// What may be named in a load.
pub(crate) struct Lab<'a> {
    pub scenario: &'a Scenario,
    /// Targets, then disks on embedded arrays, each once.
    pub things: Vec<Thing<'a>>,
    /// For each thing, the first one that is the same storage.
    media: Vec<usize>,
    target_by_name: BTreeMap<&'a str, usize>,
    /// Disks by what stands for them.
    disk_by_url: BTreeMap<String, usize>,
    vm_by_name: BTreeMap<&'a str, &'a Vm>,
}

impl<'a> Lab<'a> {
    pub fn new(scenario: &'a Scenario) -> Lab<'a> {
        let Scenario { lab, .. } = scenario;
        let targets = &lab.targets;
        let mut made = Lab {
            scenario,
            things: targets.iter().map(Thing::Target).collect(),
            media: (0..targets.len()).collect(),
            target_by_name: targets.iter().enumerate().map(|(i, t)| (t.name.as_str(), i)).collect(),
            disk_by_url: BTreeMap::new(),
            vm_by_name: lab.vms.iter().map(|vm| (vm.name.as_str(), vm)).collect(),
        };
        let mut volumes = BTreeMap::new();
        let disks = lab.vms.iter().flat_map(|vm| &vm.disks);
        for disk in disks.filter_map(|disk| embedded(scenario, disk)) {
            let place = made.things.len();
            if made.disk_by_url.contains_key(&disk.url()) {
                continue;
            }
            made.disk_by_url.insert(disk.url(), place);
            made.things.push(Thing::Disk(disk));
            made.media.push(*volumes.entry((disk.array, disk.volume)).or_insert(place));
        }
        made
    }

    /// The first thing that is the same storage, by whatever way it is reached.
    pub fn medium(&self, thing: usize) -> usize {
        self.media.get(thing).copied().unwrap_or(thing)
    }

    /// The same for several.
    pub fn media(&self, things: &[usize]) -> Vec<usize> {
        things.iter().map(|thing| self.medium(*thing)).collect()
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
        let embedded = embedded(self.scenario, disk);
        let at_hand = embedded.is_some() || matches!(disk.backing, Backing::Target(_));
        let vm = vm.name.clone();
        if at_hand && disk.size.is_some() {
            return Err(AssignError::DiskSize { vm });
        }
        match (&disk.backing, embedded) {
            (_, Some(embedded)) => {
                let name = embedded.name();
                let place = self.disk_by_url.get(&embedded.url()).copied();
                place.ok_or(AssignError::Unknown { name })
            }
            (Backing::Lun { array, .. }, None) => {
                Err(AssignError::NotAtHand { vm, array: array.clone() })
            }
            (Backing::Target(name), None) => self.target(name),
        }
    }

    fn target(&self, name: &str) -> Result<usize, AssignError> {
        let index = self.target_by_name.get(name).copied();
        index.ok_or_else(|| AssignError::Unknown { name: name.to_owned() })
    }
}

/// A VM's disk, where it is a volume of an embedded array.
fn embedded<'a>(scenario: &'a Scenario, disk: &'a VmDisk) -> Option<ArrayDisk<'a>> {
    let Backing::Lun { array, volume: Some(volume) } = &disk.backing else { return None };
    scenario.lab.arrays.iter().find(|known| known.name == *array)?.embedded.as_ref()?;
    Some(ArrayDisk {
        array,
        volume,
        ports: &disk.ports,
        policy: disk.policy,
        patience: disk.patience,
    })
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
        share(lab, &mut drafts[first..]);
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
fn share(lab: &Lab, drafts: &mut [Draft]) {
    let media: Vec<Vec<usize>> = drafts.iter().map(|draft| lab.media(&draft.targets)).collect();
    let clusters = cluster(media.iter().map(Vec::as_slice));
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

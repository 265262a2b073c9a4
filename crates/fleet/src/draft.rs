//! The targets of a step's workers: scenario targets, and disks on embedded arrays.

use crate::arrays::disk::ArrayDisk;
use crate::assign::AssignError;
use crate::bind::Binding;
use scenario::crew::{Copier, Worker, copiers, workers};
use scenario::{Backing, Scenario, Step, Target, Vm, VmDisk};
use std::collections::{BTreeMap, BTreeSet};

/// Targets that one step can number.
const TARGETS_MAX: usize = 1 << 16;

/// A worker of a step; its targets are positions in [`TargetTable::targets`].
pub(crate) type WorkerDraft<'a> = Worker<'a>;

/// A target of I/O.
#[derive(Clone, Copy)]
pub(crate) enum IoTarget<'a> {
    /// A `[[target]]`.
    Target(&'a Target),
    /// A volume of an embedded array by certain ways.
    Disk(ArrayDisk<'a>),
}

/// What may be named in a load.
pub(crate) struct TargetTable<'a> {
    pub scenario: &'a Scenario,
    /// Targets, then disks on embedded arrays, each once.
    pub targets: Vec<IoTarget<'a>>,
    /// For each thing, the first one that is the same storage.
    media: Vec<usize>,
    target_by_name: BTreeMap<&'a str, usize>,
    /// Disks by the URLs that represent them.
    disk_by_url: BTreeMap<String, usize>,
    vm_by_name: BTreeMap<&'a str, &'a Vm>,
    /// The agents of VMs and targets, where these are on several machines.
    binding: Binding,
    /// What a target is on the machine of an agent.
    on_agent: BTreeMap<(usize, usize), usize>,
}

impl<'a> TargetTable<'a> {
    pub fn new(scenario: &'a Scenario) -> TargetTable<'a> {
        TargetTable::bound(scenario, &Binding::default())
    }

    /// The same where VMs and targets are on the machines of several agents, each with files and devices of its own.
    pub fn bound(scenario: &'a Scenario, binding: &Binding) -> TargetTable<'a> {
        let Scenario { lab, .. } = scenario;
        let targets = &lab.targets;
        let mut made = TargetTable {
            scenario,
            targets: targets.iter().map(IoTarget::Target).collect(),
            media: (0..targets.len()).collect(),
            target_by_name: targets.iter().enumerate().map(|(i, t)| (t.name.as_str(), i)).collect(),
            disk_by_url: BTreeMap::new(),
            vm_by_name: lab.vms.iter().map(|vm| (vm.name.as_str(), vm)).collect(),
            binding: binding.clone(),
            on_agent: BTreeMap::new(),
        };
        made.spread();
        let mut volumes = BTreeMap::new();
        let own = lab.hosts.iter().flat_map(|host| &host.disks);
        let disks = lab.vms.iter().flat_map(|vm| &vm.disks).chain(own);
        for disk in disks.filter_map(|disk| embedded(scenario, disk)) {
            let place = made.targets.len();
            if made.disk_by_url.contains_key(&disk.url()) {
                continue;
            }
            made.disk_by_url.insert(disk.url(), place);
            made.targets.push(IoTarget::Disk(disk));
            made.media.push(*volumes.entry((disk.array, disk.volume)).or_insert(place));
        }
        made
    }

    /// Gives each agent a target of its own.
    fn spread(&mut self) {
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        let binding = self.binding.clone();
        for (group, agent) in &binding.agents {
            let names = match self.vm_by_name.get(group.as_str()) {
                Some(vm) => vm
                    .disks
                    .iter()
                    .filter_map(|disk| match &disk.backing {
                        Backing::Target(name) => Some(name.as_str()),
                        Backing::Lun { .. } => None,
                    })
                    .collect(),
                None => vec![group.as_str()],
            };
            for name in names {
                let Some(&target) = self.target_by_name.get(name) else { continue };
                if self.on_agent.contains_key(&(target, *agent)) {
                    continue;
                }
                let place = match taken.insert(target) {
                    true => target,
                    false => {
                        let place = self.targets.len();
                        self.targets.push(self.targets[target]);
                        self.media.push(place);
                        place
                    }
                };
                self.on_agent.insert((target, *agent), place);
            }
        }
    }

    /// Targets that one LUN is behind, though agents of several machines use it.
    pub fn shared_luns(&self) -> Vec<(&'a Target, Vec<usize>)> {
        let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for ((target, _), place) in &self.on_agent {
            places.entry(*target).or_default().push(*place);
        }
        let shared = |(target, places): (usize, Vec<usize>)| match &self.targets[target] {
            IoTarget::Target(target) if target.url.contains("://") => Some((*target, places)),
            _ => None,
        };
        places.into_iter().filter(|(_, places)| places.len() > 1).filter_map(shared).collect()
    }

    /// The first thing that is the same storage, by whatever way it is reached.
    pub fn medium(&self, target: usize) -> usize {
        self.media.get(target).copied().unwrap_or(target)
    }

    /// The same for several.
    pub fn media(&self, targets: &[usize]) -> Vec<usize> {
        targets.iter().map(|target| self.medium(*target)).collect()
    }

    /// The targets of a VM, or the one target of this name.
    fn targets_of(&self, name: &str, workload: &str) -> Result<Vec<usize>, AssignError> {
        match self.vm_by_name.get(name) {
            Some(vm) if vm.disks.is_empty() => {
                let (vm, workload) = (name.to_owned(), workload.to_owned());
                Err(AssignError::NoDisks { vm, workload })
            }
            Some(vm) => vm.disks.iter().map(|disk| self.backing(&vm.name, disk)).collect(),
            None => Ok(vec![self.target(name, name)?]),
        }
    }

    /// The positions of a VM's disks that are at hand, in order.
    pub fn places_of(&self, vm: &Vm) -> Vec<usize> {
        vm.disks.iter().filter_map(|disk| self.backing(&vm.name, disk).ok()).collect()
    }

    /// The disks of a VM that are at hand.
    pub fn of_vm(&self, name: &str) -> Vec<&IoTarget<'a>> {
        let places = self.vm_by_name.get(name).map(|vm| self.places_of(vm)).unwrap_or_default();
        places.into_iter().map(|place| &self.targets[place]).collect()
    }

    /// The name of a target.
    pub fn name(&self, target: usize) -> String {
        match self.targets.get(target) {
            Some(IoTarget::Target(target)) => target.name.clone(),
            Some(IoTarget::Disk(disk)) => disk.name(),
            None => String::new(),
        }
    }

    /// The disk of a VM or host that is on a volume (`ARRAY/VOLUME`) or target.
    fn disk_on(&self, owner: &str, on: &str, workload: &str) -> Result<usize, AssignError> {
        let hosts = || self.scenario.lab.hosts.iter().find(|host| host.name == owner);
        let disks = match self.vm_by_name.get(owner) {
            Some(vm) => Some(&vm.disks),
            None => hosts().map(|host| &host.disks),
        };
        let is_on = |disk: &&VmDisk| match &disk.backing {
            Backing::Target(name) => name == on,
            Backing::Lun { array, volume } => {
                volume.as_ref().is_some_and(|volume| format!("{array}/{volume}") == on)
            }
        };
        let disk = disks.and_then(|disks| disks.iter().find(is_on));
        let none = || AssignError::NoDisks { vm: owner.to_owned(), workload: workload.to_owned() };
        self.backing(owner, disk.ok_or_else(none)?)
    }

    fn backing(&self, owner: &str, disk: &VmDisk) -> Result<usize, AssignError> {
        let embedded = embedded(self.scenario, disk);
        let at_hand = embedded.is_some() || matches!(disk.backing, Backing::Target(_));
        let vm = owner.to_owned();
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
            (Backing::Target(name), None) => self.target(&vm, name),
        }
    }

    /// The target of this name, as a VM or target uses it.
    fn target(&self, group: &str, name: &str) -> Result<usize, AssignError> {
        let index = self.target_by_name.get(name).copied();
        let index = index.ok_or_else(|| AssignError::Unknown { name: name.to_owned() })?;
        let own = self.binding.agent_of(group).and_then(|agent| self.on_agent.get(&(index, agent)));
        Ok(own.copied().unwrap_or(index))
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
pub(crate) fn draft<'a>(
    lab: &TargetTable,
    step: &'a Step,
) -> Result<Vec<WorkerDraft<'a>>, AssignError> {
    let targets_of = |group, workload| lab.targets_of(group, workload);
    let drafts = workers(step, targets_of, |target| lab.medium(target))?;
    let used: BTreeSet<usize> = drafts.iter().flat_map(|d| &d.targets).copied().collect();
    if used.len() > TARGETS_MAX {
        return Err(AssignError::TooManyTargets { step: step.index });
    }
    Ok(drafts)
}

/// The workers of a step's copies, in the order of its loads.
pub(crate) fn copies<'a>(
    lab: &TargetTable,
    step: &'a Step,
) -> Result<Vec<Copier<'a>>, AssignError> {
    copiers(step, |owner, on, workload| lab.disk_on(owner, on, workload))
}

//! What a step's figures rest on: how long it was measured, over how much capacity, and how much of that was accessed.

use scenario::{Backing, Scenario, Step, VmDisk};
use serde::Serialize;
use std::collections::BTreeMap;
use workload::WorkingSet;

/// How much lies behind a measured step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Footprint {
    /// Measured seconds, over all repetitions.
    pub measured_s: f64,
    /// Capacity of the targets and volumes; `None` where the scenario does not say it.
    pub capacity_bytes: Option<u64>,
    /// How much of it was accessed: the working set.
    pub accessed_bytes: Option<u64>,
}

/// Capacity and working set of the disks that a step's loads use, as the scenario says them.
pub(crate) fn of(known: Option<(&Scenario, &Step)>) -> (Option<u64>, Option<u64>) {
    let Some((scenario, step)) = known else { return (None, None) };
    // By backing, which several members may share: its capacity, and the most that any load accesses.
    let mut found: BTreeMap<String, (Option<u64>, Option<u64>)> = BTreeMap::new();
    for load in step.disk_loads() {
        for member in load.on {
            for (name, size) in backings(scenario, member) {
                let accessed = match load.workload.spec.working_set {
                    None => size,
                    Some(WorkingSet::Bytes(bytes)) => {
                        Some(size.map_or(bytes, |size| size.min(bytes)))
                    }
                    Some(WorkingSet::Percent(share)) => {
                        size.map(|size| (size as f64 * share / 100.0) as u64)
                    }
                };
                let known = found.entry(name).or_insert((size, accessed));
                known.1 = known.1.max(accessed);
            }
        }
    }
    fn sum(mut all: impl Iterator<Item = Option<u64>>) -> Option<u64> {
        all.try_fold(0, |sum: u64, one| Some(sum.saturating_add(one?)))
    }
    match found.is_empty() {
        true => (None, None),
        false => (sum(found.values().map(|of| of.0)), sum(found.values().map(|of| of.1))),
    }
}

/// What backs the disks of a member, with sizes: of a target, of a VM or host, or of one disk of these.
fn backings(scenario: &Scenario, member: &str) -> Vec<(String, Option<u64>)> {
    let lab = &scenario.lab;
    let target = |name: &str| {
        let target = lab.targets.iter().find(|target| target.name == name)?;
        Some((name.to_owned(), target.create.or(target.size).map(|size| size.0)))
    };
    if let Some(found) = target(member) {
        return vec![found];
    }
    let (owner, only) = match member.rsplit_once(".disk") {
        Some((owner, number)) => (owner, number.parse::<usize>().ok()),
        None => (member, None),
    };
    let of_vm = lab.vms.iter().find(|vm| vm.name == owner).map(|vm| &vm.disks[..]);
    let of_host = || lab.hosts.iter().find(|host| host.name == owner).map(|host| &host.disks[..]);
    let disks = of_vm.or_else(of_host).unwrap_or_default();
    let chosen = disks.iter().enumerate().filter(|(n, _)| only.is_none_or(|only| only == *n));
    let backing = |(n, disk): (usize, &VmDisk)| {
        let (name, whole) = match &disk.backing {
            Backing::Target(name) => target(name).unwrap_or((name.clone(), None)),
            Backing::Lun { array, volume: Some(volume) } => {
                let known = lab.volumes.iter().find(|of| &of.array == array && &of.name == volume);
                let size = known.and_then(|volume| volume.size).map(|size| size.0);
                (format!("{array}/{volume}"), size)
            }
            Backing::Lun { array, volume: None } => (format!("{array}/{owner}/{n}"), None),
        };
        (name, disk.size.map(|size| size.0).or(whole))
    };
    chosen.map(backing).collect()
}

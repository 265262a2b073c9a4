//! Served from a cache or by the device: the workers' bytes against the counters of the disks under their targets.
//!
//! Targets on the same disk, and disks of the same VM, cannot be separated and are compared together. A device without
//! counters, or whose counters do not change though the page cache is bypassed, shows nothing about a cache: unknown.

use crate::counters::CounterReading;
use crate::step::{StepData, WorkerData};
use record::{Completed, CounterId, Fact, HopKind, Source};
use scenario::{Backing, Scenario};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Below this share of what was asked for, the rest came from a cache or stayed in one.
pub const CACHED_BELOW: f64 = 0.9;
/// Above this share, the device did more than it was asked for.
pub const MORE_ABOVE: f64 = 1.1;

/// What a set of disks did for the workers of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Served {
    /// The disks or partitions, by their names on their machine.
    pub devices: Vec<String>,
    /// The targets on them.
    pub targets: Vec<String>,
    /// Whether all of them bypass the page cache.
    pub direct: bool,
    /// Reads; `None` where the workers read nothing, or it is unknown.
    pub read: Option<Traffic>,
    /// Writes, in the same way.
    pub write: Option<Traffic>,
    /// Why it is unknown.
    pub unknown: Option<String>,
}

/// One direction, over the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Traffic {
    /// Bytes that the workers moved.
    pub asked_bytes: f64,
    /// Bytes that the devices moved, for whomever.
    pub device_bytes: f64,
    /// The second by the first.
    pub ratio: f64,
    /// What that means.
    pub by: ServedBy,
}

/// Who served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ServedBy {
    /// A cache, in part or altogether: less reached the device.
    Cache,
    /// The device.
    Device,
    /// The device, which did more than that besides: read-ahead, other programs, the file system's own writes.
    DeviceAndMore,
}

/// The fact of a hop that is a disk of the machine, under a name of the lab: the kernel's name of it.
pub(crate) const BLOCK_DEVICE: &str = "block-device";

/// The fact of an agent that no other machine shares, nor this one after its next start.
pub(crate) const BOOT: &str = "boot";

/// What is known about the targets of a run.
pub(crate) struct Places<'a> {
    /// Targets by VM or target.
    targets: BTreeMap<&'a str, Vec<&'a str>>,
    facts: BTreeMap<(&'a str, &'a str), &'a str>,
    hops: Vec<&'a Source>,
}

impl<'a> Places<'a> {
    pub fn new(scenario: Option<&'a Scenario>, facts: &'a [Fact], sources: &'a [Source]) -> Self {
        let mut targets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for lab in scenario.iter().map(|s| &s.lab) {
            targets.extend(lab.targets.iter().map(|t| (t.name.as_str(), vec![t.name.as_str()])));
            for vm in &lab.vms {
                let backed = vm.disks.iter().filter_map(|disk| match &disk.backing {
                    Backing::Target(target) => Some(target.as_str()),
                    _ => None,
                });
                targets.insert(&vm.name, backed.collect());
            }
        }
        let pair = |f: &'a Fact| ((f.subject.as_str(), f.key.as_str()), f.value.as_str());
        let hops = sources.iter().filter(|s| s.hop().is_some()).collect();
        Places { targets, facts: facts.iter().map(pair).collect(), hops }
    }

    fn fact(&self, subject: &str, key: &str) -> Option<&'a str> {
        self.facts.get(&(subject, key)).copied()
    }

    /// Whether two agents are on one machine: one of them then counts its places.
    fn same_machine(&self, a: &str, b: &str) -> bool {
        a == b || self.fact(a, BOOT).is_some_and(|boot| self.fact(b, BOOT) == Some(boot))
    }

    /// The hop of a device on an agent's machine: called like it, or as the lab calls what others count there too.
    fn hop(&self, device: &str, agent: &str) -> Option<&'a Source> {
        let is = |hop: &&&Source| {
            let named = hop.group == device && hop.hop() == Some(HopKind::BlockDevice);
            self.same_machine(&hop.agent, agent)
                && (named || self.fact(&hop.group, BLOCK_DEVICE) == Some(device))
        };
        self.hops.iter().find(is).copied()
    }
}

/// VMs and targets that share disks, directly or through others.
#[derive(Default)]
struct Set<'a> {
    groups: BTreeSet<&'a str>,
    targets: BTreeSet<&'a str>,
    devices: BTreeSet<&'a str>,
    /// Targets under which no device is known.
    nowhere: BTreeSet<&'a str>,
}

/// Compares the workers of a step with the disks under their targets; nothing where no target was opened on a machine (a
/// simulated run), and nothing for `null:`.
pub(crate) fn served(step: &StepData, places: &Places<'_>) -> Vec<Served> {
    sets(step, places).iter().map(|set| compare(step, places, set)).collect()
}

fn sets<'a>(step: &'a StepData, places: &Places<'a>) -> Vec<Set<'a>> {
    let used = || {
        let groups: BTreeSet<&str> = step.workers.iter().map(|w| w.source.group.as_str()).collect();
        groups.into_iter().flat_map(|group| {
            let targets = places.targets.get(group).into_iter().flatten();
            targets.map(move |target| (group, *target))
        })
    };
    // Opened on a machine: whatever is opened says how it goes about the page cache.
    let opened = || used().filter(|(_, target)| places.fact(target, "cache").is_some());
    let at = |target: &str| Some((places.fact(target, "device")?, places.fact(target, "disk")?));
    // Where a whole disk is a target, its partitions are counted with it.
    let whole: BTreeSet<&str> = opened()
        .filter_map(|(_, t)| at(t))
        .filter(|(device, disk)| device == disk)
        .map(|d| d.1)
        .collect();
    let mut sets: Vec<Set<'a>> = Vec::new();
    for (group, target) in opened() {
        let device =
            at(target).map(|(device, disk)| if whole.contains(disk) { disk } else { device });
        let mut set = Set::default();
        set.groups.insert(group);
        set.targets.insert(target);
        set.devices.extend(device);
        if device.is_none() {
            set.nowhere.insert(target);
        }
        let touches = |other: &Set<'_>| {
            !other.groups.is_disjoint(&set.groups) || !other.devices.is_disjoint(&set.devices)
        };
        let (joined, mut rest): (Vec<_>, Vec<_>) = sets.into_iter().partition(touches);
        for other in joined {
            set.groups.extend(other.groups);
            set.targets.extend(other.targets);
            set.devices.extend(other.devices);
            set.nowhere.extend(other.nowhere);
        }
        rest.push(set);
        sets = rest;
    }
    sets
}

fn compare(step: &StepData, places: &Places<'_>, set: &Set<'_>) -> Served {
    let workers = || step.workers.iter().filter(|w| set.groups.contains(w.source.group.as_str()));
    let asked = |of: fn(&WorkerData) -> Option<&Completed>| -> f64 {
        workers().filter_map(of).map(|t| t.bytes as f64).sum()
    };
    let asked = [asked(|w| w.read.as_ref()), asked(|w| w.write.as_ref())];
    let agent = workers().next().map_or("", |w| w.source.agent.as_str());
    let direct = set.targets.iter().all(|t| places.fact(t, "cache") == Some("direct"));
    let counted = known(set).and_then(|()| devices(step, places, set, agent));
    let counted = counted.and_then(|bytes| {
        // A device with work that counts nothing has no counters, unless the page cache can have done the work instead.
        match bytes == [0.0; 2] && asked != [0.0; 2] && direct {
            true => Err(format!("the counters of {} did not change", list(&set.devices))),
            false => Ok(bytes),
        }
    });
    let owned = |names: &BTreeSet<&str>| names.iter().map(|n| (*n).to_owned()).collect();
    let traffic = |i: usize| {
        let device = counted.as_ref().ok()?[i];
        (asked[i] > 0.0).then(|| Traffic::new(asked[i], device))
    };
    Served {
        devices: owned(&set.devices),
        targets: owned(&set.targets),
        direct,
        read: traffic(0),
        write: traffic(1),
        unknown: counted.as_ref().err().cloned(),
    }
}

/// Refuses a set of which a part lies on nothing that could count.
fn known(set: &Set<'_>) -> Result<(), String> {
    match set.nowhere.is_empty() {
        true => Ok(()),
        false => Err(format!("no block device is known under {}", list(&set.nowhere))),
    }
}

/// Bytes that the devices of a set read and wrote, or why that is not known.
fn devices(
    step: &StepData,
    places: &Places<'_>,
    set: &Set<'_>,
    agent: &str,
) -> Result<[f64; 2], String> {
    let mut sum = [0.0; 2];
    for device in &set.devices {
        let hop = places.hop(device, agent);
        let hop = hop.ok_or_else(|| format!("the record has no counters of {device}"))?;
        let why = || {
            let why = places.fact(&hop.group, "counters");
            why.map(|why| format!(": {why}")).unwrap_or_default()
        };
        let mut bytes = [0.0; 2];
        let ids = [CounterId::ReadBytes, CounterId::WriteBytes];
        for (bytes, id) in bytes.iter_mut().zip(ids) {
            *bytes = match step.integrals.counted(&hop.name, id) {
                CounterReading::Whole(bytes) => bytes,
                CounterReading::Part(_) => {
                    return Err(format!("{device} was not sampled over the whole measured time"));
                }
                CounterReading::NoNumber => {
                    return Err(format!("no counters from {device}{}", why()));
                }
                CounterReading::Absent => {
                    return Err(format!("{device} has no counter `{}` in this step", id.name()));
                }
            };
        }
        sum = [sum[0] + bytes[0], sum[1] + bytes[1]];
    }
    Ok(sum)
}

impl Traffic {
    fn new(asked_bytes: f64, device_bytes: f64) -> Traffic {
        let ratio = device_bytes / asked_bytes;
        let by = match ratio {
            r if r < CACHED_BELOW => ServedBy::Cache,
            r if r > MORE_ABOVE => ServedBy::DeviceAndMore,
            _ => ServedBy::Device,
        };
        Traffic { asked_bytes, device_bytes, ratio, by }
    }

    /// The share of what was asked for that no device moved, 0 to 1.
    pub fn cached_share(&self) -> f64 {
        (1.0 - self.ratio).max(0.0)
    }
}

fn list(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{SourceId, SourceKind};

    #[test]
    fn a_disk_that_the_lab_names_is_found_by_the_kernels_name_of_it() {
        let source = |id, kind, group: &str, agent: &str| Source {
            id: SourceId(id),
            kind: SourceKind::Hop(kind),
            name: format!("{agent}/{group}"),
            group: group.to_owned(),
            agent: agent.to_owned(),
        };
        let sources = [
            source(0, HopKind::LunQueue, "vda", "local"),
            source(1, HopKind::Volume, "ssd1.disk", "local"),
            source(2, HopKind::BlockDevice, "vda", "other"),
        ];
        let fact = |key: &str, value: &str| Fact {
            subject: "ssd1.disk".to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let found = |facts: &[Fact], agent| {
            let places = Places::new(None, facts, &sources);
            places.hop("vda", agent).map(|hop| hop.id.0)
        };
        assert_eq!(found(&[fact(BLOCK_DEVICE, "vda")], "local"), Some(1));
        assert_eq!(found(&[fact("device", "vda")], "local"), None);
        assert_eq!(found(&[], "other"), Some(2));
        // An agent whose machine another counts.
        let boot = |agent: &str, id: &str| Fact {
            subject: agent.to_owned(),
            key: BOOT.to_owned(),
            value: id.to_owned(),
        };
        assert_eq!(found(&[boot("other", "5e2c"), boot("third", "5e2c")], "third"), Some(2));
        assert_eq!(found(&[boot("other", "5e2c"), boot("third", "77aa")], "third"), None);
    }
}

//! The disks of VMs and of hosts.

use super::embedded::patience;
use super::lab::LabBuilder;
use super::{complain, count_u32, place};
use crate::datum::Decoded;
use crate::diagnostics::{At, Mistake};
use crate::directory::{NameKind, deal};
use crate::model::{Backing, DiskMap, VmDisk};
use crate::spots::Spot;
use crate::tree::clip;

/// The owners of the disks of one definition.
pub(super) struct Owners<'a> {
    pub names: &'a [String],
    /// The host of each, as long as `names`.
    pub hosts: &'a [Option<String>],
    /// Whether the definition names a host.
    pub hosted: bool,
    /// Virtual SCSI adapters of each.
    pub scsi: usize,
    /// Whether they are hosts themselves.
    pub bare: bool,
    /// Whether they are guests of QEMU.
    pub guests: bool,
}

impl LabBuilder<'_> {
    /// The disks of each owner of one definition.
    pub(super) fn disks(&mut self, record: &Decoded, owners: &Owners<'_>) -> Vec<Vec<VmDisk>> {
        let mut all: Vec<Vec<VmDisk>> = vec![Vec::new(); owners.names.len()];
        // Wrong disks have been reported.
        let given = record.slot("disks").is_some_and(|slot| slot.value.is_none());
        if !given && record.records("disks").is_empty() {
            self.directory.without_disks.extend(owners.names.iter().cloned());
        }
        for disk in record.records("disks") {
            self.disk(disk, owners, &mut all);
        }
        if owners.bare {
            let at = place(record, "disks");
            for (owner, disks) in owners.names.iter().zip(&all) {
                for n in 0..disks.len() {
                    let name = format!("{owner}.disk{n}");
                    self.directory.declare(name, NameKind::Disk, at, self.sink);
                }
            }
        }
        all
    }

    /// Adds a disk to every owner of one definition.
    fn disk(&mut self, disk: &Decoded, owners: &Owners<'_>, all: &mut [Vec<VmDisk>]) {
        let n = owners.names.len();
        if !self.directory.afford(n, disk.at, self.sink) {
            return;
        }
        let backings = self.backings(disk, n);
        let controller = count_u32(disk, "controller");
        if owners.bare && disk.has("controller") {
            let problem = "a host's own disk has no virtual SCSI adapter";
            complain(disk, "controller", problem, self.sink);
        } else if controller.is_some_and(|c| c as usize >= owners.scsi.max(1)) {
            let message = format!("`scsi` lists {}, counted from 0", owners.scsi);
            complain(disk, "controller", message, self.sink);
        }
        if disk.has("initiator") && !(owners.guests && disk.has("lun")) {
            let problem = "only a guest (`machine = \"qemu\"`) reaches a `lun` by an initiator that can be chosen";
            complain(disk, "initiator", problem, self.sink);
        }
        let by_kernel = disk.word("initiator").is_some_and(|at| at.value == "kernel");
        let map = disk.word("map").map(|at| disk_map(at.value));
        let size = disk.size("size").map(|at| at.value);
        let queue = count_u32(disk, "queue");
        let leaving = self.leaving(disk, owners);
        let ways = self.ways(disk, &backings);
        let patience = patience(disk, self.sink);
        let each = all.iter_mut().zip(owners.names);
        for (((disks, owner), backing), (adapter, (ports, policy))) in
            each.zip(backings).zip(leaving.into_iter().zip(ways))
        {
            let Some(backing) = backing else { continue };
            let number = u32::try_from(disks.len()).unwrap_or(u32::MAX);
            self.directory.spots.insert(Spot::Disk(owner.clone(), number), disk.at);
            disks.push(VmDisk {
                backing,
                map,
                adapter,
                controller,
                size,
                ports,
                policy,
                by_kernel,
                patience,
                queue,
            });
        }
    }

    /// The backing of a disk in each of `n` VMs.
    fn backings(&mut self, disk: &Decoded, n: usize) -> Vec<Option<Backing>> {
        if disk.has("target") {
            let targets = self.dealt(disk, "target", &[NameKind::Target], n);
            return targets.into_iter().map(|t| t.map(Backing::Target)).collect();
        }
        let Some(text) = disk.text("lun") else { return vec![None; n] };
        let Some(luns) = self.luns(&text) else { return vec![None; n] };
        match deal(&luns, text.value.contains('*'), n) {
            Ok(luns) => luns.into_iter().map(Some).collect(),
            Err(problem) => {
                complain(disk, "lun", problem, self.sink);
                vec![None; n]
            }
        }
    }

    /// `ARRAY/VOLUME`, both with ranges and patterns; `auto` is the volume that the array provides.
    fn luns(&mut self, text: &At<String>) -> Option<Vec<Backing>> {
        let Some((array, volume)) = text.value.split_once('/') else {
            let (name, directory) = (clip(&text.value), &self.directory);
            // An array, or the volume of one without it.
            let mut known = directory.names_of(NameKind::Volume);
            let whole = known.find(|full| full.rsplit('/').next() == Some(text.value.as_str()));
            let help = match whole {
                Some(whole) if !directory.is(&text.value, NameKind::Array) => {
                    format!("did you mean `{whole}`?")
                }
                _ => format!("write `{name}/auto` to let the array provide one"),
            };
            self.sink.push(|| {
                let message = format!("lun: `{name}` does not name a volume");
                Mistake::new(text.at, message).help(help)
            });
            return None;
        };
        if volume != "auto" {
            let volumes = self.directory.find(text, &[NameKind::Volume], self.sink)?.names;
            let split = |full: String| {
                let (array, volume) = full.split_once('/')?;
                Some(Backing::Lun { array: array.to_owned(), volume: Some(volume.to_owned()) })
            };
            return Some(volumes.into_iter().filter_map(split).collect());
        }
        let arrays = At::new(text.at, array.to_owned());
        let arrays = self.directory.find(&arrays, &[NameKind::Array], self.sink)?.names;
        Some(arrays.into_iter().map(|array| Backing::Lun { array, volume: None }).collect())
    }

    /// The adapter of its host that each VM's disk uses.
    fn leaving(&mut self, disk: &Decoded, owners: &Owners<'_>) -> Vec<Option<String>> {
        let none = vec![None; owners.names.len()];
        let Some(text) = disk.text("adapter") else { return none };
        if !owners.hosted {
            complain(disk, "adapter", "the VM has no `host`, so there is no adapter", self.sink);
            return none;
        }
        let mut out = Vec::with_capacity(owners.hosts.len());
        for (i, host) in owners.hosts.iter().enumerate() {
            let Some(host) = host else { return none };
            let prefix = format!("{host}.");
            let full = match text.value.starts_with(&prefix) {
                true => text.value.clone(),
                false => format!("{prefix}{}", text.value),
            };
            let kinds: &[NameKind] = match self.directory.is(&full, NameKind::Team) {
                true => &[NameKind::Team],
                false => &[NameKind::Adapter],
            };
            let found = self.directory.find(&At::new(text.at, full), kinds, self.sink);
            let Some(found) = found else { return none };
            out.push(Some(found.names[i % found.names.len()].clone()));
        }
        out
    }
}

fn disk_map(word: &str) -> DiskMap {
    match word {
        "rdm" => DiskMap::Rdm,
        "vmfs" => DiskMap::Vmfs,
        "partition" => DiskMap::Partition,
        "passthrough" => DiskMap::Passthrough,
        _ => DiskMap::File,
    }
}

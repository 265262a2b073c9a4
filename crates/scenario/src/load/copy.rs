//! Copies from disk to disk.

use super::{Load, LoadFamily, LoadOf, Uses, listed, workers};
use crate::build::CopyDisks;
use crate::directory::NameKind;
use crate::live::SIMULATE;
use crate::model::{Plan, Scenario, Setting};
use std::time::Duration;
use units::Bytes;

/// `[workload.NAME]` of kind `copy`: what is read from one disk is written to another, both at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyWorkload {
    /// Its name.
    pub name: String,
    /// The volumes (`ARRAY/VOLUME`) or targets that are read; worker N takes the N-th, beginning again after the last.
    pub from: Vec<String>,
    /// Those that are written, dealt in the same way.
    pub to: Vec<String>,
    /// Bytes that are read and written in one go.
    pub block: u32,
    /// Buffers of each worker: blocks under way at once.
    pub depth: u32,
    /// Reads under way at once for each worker, where given.
    pub read_depth: Option<u32>,
    /// Blocks being written at once for each worker, where given.
    pub write_depth: Option<u32>,
    /// Workers for each VM or host that it runs on.
    pub workers: u32,
    /// Workers that run at a time, where not all do.
    pub streams: Option<u32>,
    /// It copies files, so that the host's file systems work at both ends.
    pub files: bool,
    /// Each block is read back after it is written, and compared.
    pub verify: bool,
    /// For how long a failed read or write is tried again.
    pub retry: Duration,
}

/// A copy on VMs and hosts, each of which has a disk on everything that is read and written.
pub type CopyLoad<'a> = LoadOf<'a, CopyWorkload>;

impl LoadFamily for CopyWorkload {
    fn name(&self) -> &str {
        &self.name
    }

    fn uses(&self) -> Uses {
        Uses::Disks
    }

    fn members(&self) -> &'static [NameKind] {
        &[NameKind::Vm, NameKind::Host]
    }

    fn has(&self, setting: &Setting) -> bool {
        matches!(setting, Setting::Block(_) | Setting::Depth(_) | Setting::Workers(_))
    }

    /// What no copy has is left out.
    fn apply(&mut self, setting: &Setting) -> Result<(), String> {
        match *setting {
            Setting::Block(size) => self.block = u32::try_from(size.0).unwrap_or(u32::MAX),
            Setting::Depth(depth) => self.depth = depth,
            Setting::Workers(workers) => self.workers = workers,
            _ => {}
        }
        Ok(())
    }

    fn problems(&self, _: &[(&str, &Setting)]) -> Vec<(String, String)> {
        Vec::new()
    }

    fn lacks(&self, on: &[String], disks: &CopyDisks<'_>) -> Option<(String, String)> {
        on.iter().find_map(|member| {
            let has = disks.get(member.as_str())?;
            let lacking = self.from.iter().chain(&self.to).find(|disk| !has.contains(*disk))?;
            let key = if lacking.contains('/') { "lun" } else { "target" };
            Some((
                format!("`{member}` has no disk on `{lacking}`, which `{}` copies", self.name),
                format!("give it a disk with `{key} = \"{lacking}\"`"),
            ))
        })
    }

    fn not_live(&self, load: &Load, plan: &Plan, scenario: &Scenario) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let waits =
            |name: &str| load.phase.iter().any(|phase| phase.after.iter().any(|of| of == name));
        let named = |of: &Load| of.phase.as_ref().and_then(|phase| phase.name.clone());
        let others = plan.loads.iter().filter(|of| of.workload.net().is_some());
        if let Some(name) = others.filter_map(named).find(|name| waits(name)) {
            let what = format!(
                "a live run cannot let the copy `{}` wait for `{name}`, a network load",
                self.name
            );
            all.push((what, SIMULATE.to_owned()));
        }
        let vms = || scenario.lab.vms.iter().filter(|vm| load.on.contains(&vm.name));
        if let Some(vm) = vms().find(|vm| vm.machine.is_some()) {
            let what = format!("a live run cannot copy within `{}`, a guest of QEMU", vm.name);
            all.push((what, "let a host or a VM that is no guest run the copy".to_owned()));
        }
        let absent = |disk: &&String| {
            let array = disk.split_once('/').map(|(array, _)| array);
            array.is_some_and(|array| scenario.lab.embedded(array).is_none())
        };
        if let Some(disk) = self.from.iter().chain(&self.to).find(absent) {
            let what = format!(
                "a live run cannot run the copy `{}`: `{disk}` is on an array that is not present",
                self.name
            );
            let help = format!(
                "{SIMULATE}; to measure, embed the array on this machine (`embedded = {{ ports = [{{ name = \"p1\" \
                 }}] }}`), or copy between targets"
            );
            all.push((what, help));
        }
        all
    }

    fn describe(&self) -> String {
        let mut text = format!(
            "{} each, copy {} to {}, {}, depth {}",
            workers(self.workers),
            listed(&self.from),
            listed(&self.to),
            Bytes(self.block.into()),
            self.depth
        );
        if self.read_depth.is_some() || self.write_depth.is_some() {
            text += &format!(" ({} reading, {} writing)", self.reads(), self.writes());
        }
        text += &self.streams.map_or(String::new(), |streams| format!(", {streams} at a time"));
        if self.verify {
            text += ", read back";
        }
        text
    }
}

impl CopyWorkload {
    /// Reads under way at once for each worker, at most. Half of the buffers read unless given: if all were read at the
    /// same time, all would be written at the same time, and the two directions would alternate.
    pub fn reads(&self) -> u32 {
        self.read_depth.unwrap_or(self.depth.div_ceil(2)).min(self.depth)
    }

    /// Blocks being written at once for each worker, at most.
    pub fn writes(&self) -> u32 {
        self.write_depth.unwrap_or(self.depth.div_ceil(2)).min(self.depth)
    }
}

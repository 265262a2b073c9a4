//! Copies from disk to disk, which only the simulator carries out.

use super::{Load, LoadFamily, LoadOf, Uses, listed, workers};
use crate::build::CopyDisks;
use crate::directory::NameKind;
use crate::live::SIMULATE;
use crate::model::{Plan, Scenario, Setting};
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
    /// Blocks under way at once for each worker.
    pub depth: u32,
    /// Workers for each VM or host that it runs on.
    pub workers: u32,
    /// It copies files, so that the host's file systems work at both ends.
    pub files: bool,
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

    fn not_live(&self, _: &Load, _: &Plan, _: &Scenario) -> Vec<(String, String)> {
        let what = format!("a live run cannot run the copy `{}`", self.name);
        vec![(what, SIMULATE.to_owned())]
    }

    fn describe(&self) -> String {
        format!(
            "{} each, copy {} to {}, {}, depth {}",
            workers(self.workers),
            listed(&self.from),
            listed(&self.to),
            Bytes(self.block.into()),
            self.depth
        )
    }
}

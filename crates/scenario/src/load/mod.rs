//! The families of workloads, and the loads of plans and steps.
//!
//! A family is a module beside this one: what its workloads hold, and what [`LoadFamily`] requires of them. A user that
//! needs no more iterates over `loads`; an engine of one family asks for its loads ([`Step::disk_loads`]). A further
//! family is a module, with the table of its keys, and here a variant of [`Workload`] with the arms that the compiler asks for
//! and a line in [`KINDS`] and [`WORKLOADS`].

mod copy;
mod disk;
mod net;

pub use copy::{CopyLoad, CopyWorkload};
pub(crate) use disk::LIMIT_DEFAULT;
pub use disk::{DiskLoad, DiskWorkload};
pub use net::{NetLoad, NetWorkload};

use crate::build;
use crate::datum::Decoded;
use crate::diagnostics::{At, Mistake, Sink, Span};
use crate::directory::{Directory, NameKind};
use crate::fields::{COPY, KeyWord, NET, TRACE, TableKind, WORKLOAD, word};
use crate::model::{Plan, Scenario, Setting, Step};
use crate::settle::concerns;
use std::fmt;
use std::time::Duration;
use units::Bytes;

/// The kinds of workloads.
pub(crate) const KINDS: &[KeyWord] = &[
    word("disk", "operations on disks and targets"),
    word("net", "streams, or requests, to receivers"),
    word("copy", "copies from disk to disk"),
    word("trace", "a recorded trace, replayed"),
];
pub(crate) const WORKLOADS: &[TableKind] = &[
    TableKind { word: "disk", plural: "disk workloads", def: &WORKLOAD },
    TableKind { word: "net", plural: "network workloads", def: &NET },
    TableKind { word: "copy", plural: "copies", def: &COPY },
    TableKind { word: "trace", plural: "traces", def: &TRACE },
];

/// `[workload.NAME]`: what a load issues, carries or copies.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Operations on disks and targets.
    Disk(DiskWorkload),
    /// Streams, or requests, to receivers.
    Net(NetWorkload),
    /// Copies from disk to disk.
    Copy(CopyWorkload),
}

/// A workload on a set of members. In a plan it is as its description says, in a step as the step's settings leave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// What it does.
    pub workload: Workload,
    /// VMs, hosts, targets or receivers by name, expanded.
    pub on: Vec<String>,
    /// Its place in a job, where it has one.
    pub phase: Option<Phase>,
}

/// A load whose family is known.
#[derive(Debug, PartialEq)]
pub struct LoadOf<'a, W> {
    /// What it does.
    pub workload: &'a W,
    /// VMs, hosts, targets or receivers by name, expanded.
    pub on: &'a [String],
    /// Its place in a job, where it has one.
    pub phase: Option<&'a Phase>,
}

/// The place of a load in a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name in the plan, where it has one.
    pub name: Option<String>,
    /// The loads that must have ended before it begins, by their names; each ends. They form no circle.
    pub after: Vec<String>,
    /// Bytes after which it ends, over all of its workers together: copied, or read, written, trimmed and zeroed.
    pub amount: Option<Bytes>,
    /// How often its workers together use each block of its working set before it ends. It is in the workload as well.
    pub passes: Option<u32>,
}

impl Phase {
    /// Whether the load ends.
    pub fn ends(&self) -> bool {
        self.amount.is_some() || self.passes.is_some()
    }
}

/// What the workloads of a family have in common.
pub(crate) trait LoadFamily {
    /// Its name in the scenario.
    fn name(&self) -> &str;

    /// What of its members it uses.
    fn uses(&self) -> Uses;

    /// What it can run on.
    fn members(&self) -> &'static [NameKind];

    /// Whether it has such a setting; where an axis names no workload, it is for all that do.
    fn has(&self, setting: &Setting) -> bool {
        Uses::of(setting) == Some(self.uses())
    }

    /// Applies one setting, or says why the workload cannot have it.
    fn apply(&mut self, setting: &Setting) -> Result<(), String>;

    /// What is wrong under the settings of a step that concern it, each by the axis that brought it. What is wrong
    /// before these has been reported at the workload.
    fn problems(&self, settings: &[(&str, &Setting)]) -> Vec<(String, String)>;

    /// Whether a search can vary it, and targets can be preconditioned for it.
    fn is_searched(&self) -> bool {
        false
    }

    /// Warm-up, measured time and cool-down where the plan does not say them, if the workload does.
    fn phases(&self) -> Option<[Duration; 3]> {
        None
    }

    /// Why it cannot be a phase of a job.
    fn no_phase(&self) -> Option<&'static str> {
        None
    }

    /// Something that it needs and a member lacks: what, and what would help. `disks` is what the disks of each are on.
    fn lacks(&self, _on: &[String], _disks: &build::CopyDisks<'_>) -> Option<(String, String)> {
        None
    }

    /// Why a live run cannot carry out a load of it: what, and what leads on.
    fn not_live(&self, load: &Load, plan: &Plan, scenario: &Scenario) -> Vec<(String, String)>;

    /// What it does, in a few words.
    fn describe(&self) -> String;
}

/// What of its members a workload uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uses {
    /// Their disks, or the targets that they are.
    Disks,
    /// Their nics, or the receivers that they are.
    Nics,
}

impl Uses {
    /// The workloads that have such a setting; none where no workload has it, or all have.
    pub fn of(setting: &Setting) -> Option<Uses> {
        match setting {
            Setting::Block(_)
            | Setting::Depth(_)
            | Setting::Workers(_)
            | Setting::Read(_)
            | Setting::Random(_)
            | Setting::Rate(_)
            | Setting::WorkingSet(_) => Some(Uses::Disks),
            Setting::Message(_)
            | Setting::Batch(_)
            | Setting::Streams(_)
            | Setting::Direction(_)
            | Setting::StreamRate(_) => Some(Uses::Nics),
            Setting::Members(_) | Setting::Port(_) | Setting::Mtu(_) | Setting::Offload(_) => None,
        }
    }

    /// As in `a disk workload`.
    pub fn word(self) -> &'static str {
        match self {
            Uses::Disks => "disk",
            Uses::Nics => "network",
        }
    }
}

impl Workload {
    /// The workload of a table; what is wrong with it is reported.
    pub(crate) fn build(
        name: &At<String>,
        record: &Decoded,
        directory: &mut Directory,
        sink: &mut Sink,
    ) -> Workload {
        match record.def.id {
            id if id == NET.id => Workload::Net(build::network(name, record, sink)),
            id if id == COPY.id => Workload::Copy(build::copy(name, record, directory, sink)),
            id if id == TRACE.id => Workload::Disk(build::trace(name, record, sink)),
            _ => Workload::Disk(build::disk_workload(name, record, sink)),
        }
    }

    pub(crate) fn family(&self) -> &dyn LoadFamily {
        match self {
            Workload::Disk(workload) => workload,
            Workload::Net(workload) => workload,
            Workload::Copy(workload) => workload,
        }
    }

    fn family_mut(&mut self) -> &mut dyn LoadFamily {
        match self {
            Workload::Disk(workload) => workload,
            Workload::Net(workload) => workload,
            Workload::Copy(workload) => workload,
        }
    }

    /// Where its family stands in lists: disks, copies, networks.
    pub(crate) fn order(&self) -> u8 {
        match self {
            Workload::Disk(_) => 0,
            Workload::Copy(_) => 1,
            Workload::Net(_) => 2,
        }
    }

    /// Its name in the scenario.
    pub fn name(&self) -> &str {
        self.family().name()
    }

    /// Whether a setting of an axis is for it: that of its own name, or one for all that have such a setting.
    pub(crate) fn concerned(&self, axis: &str, setting: &Setting) -> bool {
        match axis.rsplit_once('.') {
            Some((name, _)) => name == self.name(),
            None => self.family().has(setting),
        }
    }

    /// Applies the setting of an axis, where it is for this workload and the workload can have it.
    pub(crate) fn settle(&mut self, axis: &str, setting: &Setting) {
        if self.concerned(axis, setting) {
            let _refused_by_load = self.family_mut().apply(setting);
        }
    }

    /// What is wrong under the settings of a step, each by the axis that brought it.
    pub(crate) fn problems(&self, settings: &[(&str, &Setting)]) -> Vec<(String, String)> {
        let concerned = |(axis, setting): &&(&str, &Setting)| self.concerned(axis, setting);
        let mine: Vec<(&str, &Setting)> = settings.iter().filter(concerned).copied().collect();
        self.family().problems(&mine)
    }

    /// What it does to disks and targets, where it is of that family.
    pub fn disk(&self) -> Option<&DiskWorkload> {
        match self {
            Workload::Disk(workload) => Some(workload),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn disk_mut(&mut self) -> Option<&mut DiskWorkload> {
        match self {
            Workload::Disk(workload) => Some(workload),
            _ => None,
        }
    }

    /// What it carries over networks, where it is of that family.
    pub fn net(&self) -> Option<&NetWorkload> {
        match self {
            Workload::Net(workload) => Some(workload),
            _ => None,
        }
    }

    /// What it copies, where it is of that family.
    pub fn copy(&self) -> Option<&CopyWorkload> {
        match self {
            Workload::Copy(workload) => Some(workload),
            _ => None,
        }
    }
}

impl Load {
    /// With its family known, where it is of that one.
    fn of<W>(&self, known: impl Fn(&Workload) -> Option<&W>) -> Option<LoadOf<'_, W>> {
        let workload = known(&self.workload)?;
        Some(LoadOf { workload, on: &self.on, phase: self.phase.as_ref() })
    }

    /// Applies the setting of an axis: to the workload, or to who runs it.
    pub(crate) fn settle(&mut self, axis: &str, setting: &Setting) {
        self.workload.settle(axis, setting);
        self.cut(axis, setting);
    }

    /// As [`Load::settle`]; a search varies only workloads that can be searched, and how many run any of them.
    pub(crate) fn search(&mut self, axis: &str, setting: &Setting) {
        if self.workload.family().is_searched() {
            self.workload.settle(axis, setting);
        }
        self.cut(axis, setting);
    }

    /// The axis `members`: how many of those that it is on run it. The first so many do, so that each step holds those of
    /// every smaller one, and a curve over it is one of growth. That it has so many has been checked by `load`.
    fn cut(&mut self, axis: &str, setting: &Setting) {
        if let Setting::Members(n) = setting
            && concerns(axis, self.workload.name())
        {
            self.on.truncate(usize::try_from(*n).unwrap_or(usize::MAX));
        }
    }

    /// Whether it ends by itself.
    pub fn ends(&self) -> bool {
        self.phase.as_ref().is_some_and(Phase::ends)
    }

    /// Reports why a live run cannot carry it out.
    pub(crate) fn check_live(&self, at: Span, plan: &Plan, scenario: &Scenario, sink: &mut Sink) {
        for (message, help) in self.workload.family().not_live(self, plan, scenario) {
            sink.push(|| Mistake::new(at, message).help(help));
        }
    }
}

impl Plan {
    /// Its loads of disks.
    pub fn disk_loads(&self) -> impl Iterator<Item = DiskLoad<'_>> {
        self.loads.iter().filter_map(|load| load.of(Workload::disk))
    }

    /// Its network loads.
    pub fn net_loads(&self) -> impl Iterator<Item = NetLoad<'_>> {
        self.loads.iter().filter_map(|load| load.of(Workload::net))
    }
}

impl Step {
    /// Its loads of disks.
    pub fn disk_loads(&self) -> impl Iterator<Item = DiskLoad<'_>> {
        self.loads.iter().filter_map(|load| load.of(Workload::disk))
    }

    /// Its network loads.
    pub fn net_loads(&self) -> impl Iterator<Item = NetLoad<'_>> {
        self.loads.iter().filter_map(|load| load.of(Workload::net))
    }

    /// Whether it is over once its loads are done: all of them end. Its measured time is then the most that they may take.
    pub fn ends_with_loads(&self) -> bool {
        !self.loads.is_empty() && self.loads.iter().all(Load::ends)
    }

    /// Its copies from disk to disk.
    pub fn copies(&self) -> impl Iterator<Item = CopyLoad<'_>> {
        self.loads.iter().filter_map(|load| load.of(Workload::copy))
    }
}

impl<W> Clone for LoadOf<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for LoadOf<'_, W> {}

impl fmt::Display for Load {
    /// What a dry run says of it: `stream on vm1, vm2: 4 workers each, closed loop, depth 8, after copy`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, on) = (self.workload.name(), listed(&self.on));
        write!(f, "{name} on {on}: {}", self.workload.family().describe())?;
        let Some(phase) = &self.phase else { return Ok(()) };
        if !phase.after.is_empty() {
            write!(f, ", after {}", listed(&phase.after))?;
        }
        let done = match &self.workload {
            Workload::Copy(_) => "are copied",
            Workload::Disk(disk) => disk.done(),
            Workload::Net(_) => "are carried",
        };
        match (phase.amount, phase.passes) {
            (Some(amount), _) => write!(f, ", until {} {done}", units::size(amount)),
            (None, Some(1)) => write!(f, ", until each block {} once", disk_done(&self.workload)),
            (None, Some(passes)) => {
                write!(f, ", until each block {} {passes} times", disk_done(&self.workload))
            }
            (None, None) => Ok(()),
        }
    }
}

/// What happens to a block in a pass.
fn disk_done(workload: &Workload) -> &'static str {
    match workload.disk().map(DiskWorkload::done) {
        Some("are read") => "was read",
        Some("are written") => "was written",
        _ => "was used",
    }
}

/// A list of names, cut where it would fill the screen.
pub fn listed<S: AsRef<str>>(all: &[S]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<&str> = all.iter().take(SHOWN).map(AsRef::as_ref).collect();
    match all.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// `1 worker`, or `4 workers`.
fn workers(n: u32) -> String {
    if n == 1 { "1 worker".to_owned() } else { format!("{n} workers") }
}

//! Verification is sound only where it knows every write: what verifies a target, and what else may touch it.

use super::{complain, place};
use crate::datum::Decoded;
use crate::diagnostics::{Mistake, Sink};
use crate::load::{DiskLoad, DiskWorkload, Workload};
use crate::model::{Backing, Lab, Plan, Setting, VmDisk};
use crate::names;
use crate::settle::concerns;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use workload::IoDemand;

/// What loads do to each target, by its name, and to each volume, by `ARRAY/VOLUME`.
type All<'a> = BTreeMap<Cow<'a, str>, Touched<'a>>;

/// What the loads of all plans do to one target.
#[derive(Default)]
struct Touched<'a> {
    /// Workloads that verify it, and that write it.
    verify: BTreeSet<&'a str>,
    write: BTreeSet<&'a str>,
}

/// Reports every load that would make verification find false faults, or overlook real ones.
pub(super) fn check(
    root: &Decoded,
    lab: &Lab,
    workloads: &[Workload],
    plans: &[Plan],
    sink: &mut Sink,
) {
    if !workloads.iter().filter_map(Workload::disk).any(|w| w.verify) {
        return stray_states(root, lab, &BTreeMap::new(), sink);
    }
    let disks = disks(lab);
    let mut all: All<'_> = BTreeMap::new();
    for (plan, record) in plans.iter().zip(root.records("plan")) {
        let mut of_plan: All<'_> = BTreeMap::new();
        let mut loads: BTreeMap<Cow<'_, str>, u32> = BTreeMap::new();
        for load in plan.disk_loads() {
            let workload = load.workload;
            let writes = writes(plan, workload);
            for target in targets_of(load, &disks) {
                *loads.entry(target.clone()).or_default() += 1;
                let here = of_plan.entry(target.clone()).or_default();
                for touched in [here, all.entry(target).or_default()] {
                    if workload.verify {
                        touched.verify.insert(&workload.name);
                    }
                    if writes {
                        touched.write.insert(&workload.name);
                    }
                }
            }
        }
        let apart = |(target, touched): &(&Cow<'_, str>, &Touched)| {
            loads[*target] > 1 && !touched.verify.is_empty() && !touched.write.is_empty()
        };
        if let Some((target, touched)) = of_plan.iter().find(apart) {
            let names = joined(touched.verify.union(&touched.write));
            sink.push(|| {
                let message = format!(
                    "`{target}` is verified, but several loads use it at the same time ({names}), and at least one writes"
                );
                Mistake::new(place(record, if record.has("load") { "load" } else { "on" }), message)
                    .help("give each load its own target, or run them in sequence")
            });
        }
    }
    unverified_writes(root, &all, sink);
    on_null(root, lab, &all, sink);
    stray_states(root, lab, &all, sink);
}

/// A workload that writes unmarked blocks where another expects marked ones.
fn unverified_writes(root: &Decoded, all: &All<'_>, sink: &mut Sink) {
    let mut told = BTreeSet::new();
    for (target, touched) in all {
        let Some(verifier) = touched.verify.first() else { continue };
        for writer in touched.write.difference(&touched.verify).filter(|w| told.insert(**w)) {
            let at = root.map("workload").iter().find(|(name, _)| name.value == **writer);
            let at = at.map_or(root.at, |(name, _)| name.at);
            sink.push(|| {
                let message = format!(
                    "`{writer}` writes `{target}`, which `{verifier}` verifies, but does not verify itself"
                );
                Mistake::new(at, message).help("add `verify = true` to it, or use another target")
            });
        }
    }
}

fn on_null(root: &Decoded, lab: &Lab, all: &All<'_>, sink: &mut Sink) {
    let null = |name: &str| lab.targets.iter().any(|t| t.name == name && t.is_null());
    let verified = all.iter().find(|(target, touched)| null(target) && !touched.verify.is_empty());
    let Some((target, touched)) = verified else { return };
    let verifiers = root.map("workload");
    for (name, record) in
        verifiers.iter().filter(|(n, _)| touched.verify.contains(n.value.as_str()))
    {
        let problem =
            format!("`{}` runs on `{target}`, a `null:` target, which holds nothing", name.value);
        complain(record, "verify", problem, sink);
    }
}

/// Verification with a state that is not kept would give false confidence.
fn stray_states(root: &Decoded, lab: &Lab, all: &All<'_>, sink: &mut Sink) {
    let verified = |name: &str| all.get(name).is_some_and(|t| !t.verify.is_empty());
    for record in root.records("target").into_iter().filter(|r| r.has("verify_state")) {
        let names = record.text("name").and_then(|at| names::expand(&at.value).ok());
        let known = |name: &String| lab.targets.iter().any(|t| t.name == *name);
        let names = names.unwrap_or_default();
        if let Some(stray) = names.iter().find(|name| known(name) && !verified(name)) {
            let problem = format!("no workload with `verify = true` runs on `{stray}`");
            complain(record, "verify_state", problem, sink);
        }
    }
}

/// Whether a workload writes in any step of a plan.
fn writes(plan: &Plan, workload: &DiskWorkload) -> bool {
    let swept = plan.sweep.iter().filter(|axis| concerns(&axis.key, &workload.name));
    let swept_writes = swept
        .flat_map(|axis| &axis.values)
        .any(|value| matches!(value, Setting::Read(share) if share.0 < 100.0));
    swept_writes || IoDemand::of(&workload.spec).writes
}

/// The targets and the volumes of arrays behind each VM.
fn disks(lab: &Lab) -> BTreeMap<&str, Vec<Cow<'_, str>>> {
    lab.vms
        .iter()
        .map(|vm| (vm.name.as_str(), vm.disks.iter().filter_map(target).collect()))
        .collect()
}

/// What holds the blocks of a disk. A volume that an array provides for the disk belongs to it alone.
fn target(disk: &VmDisk) -> Option<Cow<'_, str>> {
    match &disk.backing {
        Backing::Target(name) => Some(Cow::Borrowed(name)),
        Backing::Lun { array, volume } => Some(Cow::Owned(format!("{array}/{}", volume.as_ref()?))),
    }
}

/// The targets of a load, each once: its own workers share them in regions of their own.
fn targets_of<'a>(
    load: DiskLoad<'a>,
    disks: &BTreeMap<&'a str, Vec<Cow<'a, str>>>,
) -> BTreeSet<Cow<'a, str>> {
    let alone = |name: &'a str| vec![Cow::Borrowed(name)];
    let of = |name: &'a String| disks.get(name.as_str()).cloned().unwrap_or_else(|| alone(name));
    load.on.iter().flat_map(of).collect()
}

fn joined<'a>(names: impl Iterator<Item = &'a &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

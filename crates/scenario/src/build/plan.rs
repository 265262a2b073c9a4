//! Plans: loads, sweeps, and the check that every step is sound. What is particular to network loads is in `net_plan`.

use super::embedded::too_slow;
use super::faults::faults;
use super::net_plan::{Reach, reach};
use super::net_work::Networks;
use super::search::search;
use super::steady::steady;
use super::work::{Found, find, setting_of};
use super::{complain, count_u32, place};
use crate::datum::{Datum, Record, Slot};
use crate::diagnostics::{At, Class, Mistake, Sink, Span};
use crate::directory::{Directory, Kind};
use crate::model::*;
use crate::nearest::suggestion;
use crate::network::NetWorkload;
use crate::settle::{Side, apply, concerns, speaks};
use crate::steady::Steady;
use crate::tree::clip;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Steps of a scenario, at most.
const STEPS_MAX: u64 = 10_000;
/// Steps times the VMs and targets that run in each, at most.
const STEP_MEMBERS_MAX: u64 = 1_000_000;
/// Steps times the faults of each, at most.
const STEP_FAULTS_MAX: u64 = 1_000_000;
/// Warm-up, measured time and cool-down, unless the plan says otherwise; it must say how long is measured.
pub(super) const PHASES: [Duration; 3] = [Duration::from_secs(2), Duration::ZERO, Duration::ZERO];

/// Every plan of the file, in its order.
pub(super) fn plans(
    root: &Record,
    lab: &Lab,
    workloads: &[Workload],
    networks: &Networks,
    directory: &mut Directory,
    sink: &mut Sink,
) -> Vec<Plan> {
    let records = root.records("plan");
    check_names(&records, sink);
    let mut planner = Planner {
        workloads: workloads.iter().map(|w| (w.name.as_str(), w)).collect(),
        networks: networks.all.iter().map(|net| (net.name.as_str(), net)).collect(),
        ntttcp: &networks.ntttcp,
        reach: reach(lab),
        directory,
        sink,
        steps: 0,
        members: 0,
        faults: 0,
    };
    records.into_iter().map(|record| planner.plan(record)).collect()
}

/// Several plans need names, and no two the same.
fn check_names(records: &[&Record], sink: &mut Sink) {
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    for record in records {
        let Some(name) = record.text("name") else {
            if records.len() > 1 && !record.has("name") {
                sink.push(|| {
                    Mistake::new(record.at, "where there are several plans, each needs a `name`")
                        .class(Class::Absence)
                        .help("add `name = \"…\"`")
                });
            }
            continue;
        };
        if let Some(first) = seen.insert(name.value.clone(), name.at) {
            sink.push(|| {
                Mistake::new(name.at, format!("the plan `{}` is given twice", clip(&name.value)))
                    .label("the second")
                    .related(first, "first given here")
            });
        }
    }
}

pub(super) struct Planner<'a> {
    workloads: BTreeMap<&'a str, &'a Workload>,
    pub networks: BTreeMap<&'a str, &'a NetWorkload>,
    /// Network workloads of the preset `ntttcp`.
    pub ntttcp: &'a BTreeSet<String>,
    pub reach: Reach<'a>,
    pub directory: &'a mut Directory,
    pub sink: &'a mut Sink,
    steps: u64,
    members: u64,
    faults: u64,
}

impl Planner<'_> {
    fn plan(&mut self, record: &Record) -> Plan {
        let mut all = Vec::new();
        if record.has("load") {
            if record.get("load").is_some() && record.records("load").is_empty() {
                complain(record, "load", "the list is empty", self.sink);
            }
            all.extend(record.records("load").into_iter().filter_map(|load| self.load(load)));
        } else if record.has("workload") {
            if !record.has("on") {
                self.sink.push(|| {
                    Mistake::new(record.at, "the plan does not say what the workload runs on")
                        .class(Class::Absence)
                        .help("add `on = \"…\"` with VMs or targets")
                });
            }
            all.extend(self.load(record));
        }
        let (loads, nets) = apart(all);
        let [warmup, measure, cooldown] = self.phases(record, &nets);
        let precondition = record.word("precondition").is_some_and(|at| at.value == "snia-pts");
        // The second half of PTS's preconditioning: the load itself, until it is steady.
        let preset =
            precondition.then(|| Steady { within: Steady::PTS.within.max(warmup), ..Steady::PTS });
        let sweep = record.record("sweep");
        let plan = Plan {
            name: record.text("name").map_or_else(|| Plan::UNNAMED.to_owned(), |at| at.value),
            warmup,
            steady: steady(record, warmup, self.sink).or(preset),
            measure,
            cooldown,
            sweep: sweep.map(|sweep| self.axes(sweep, &loads, &nets)).unwrap_or_default(),
            search: None,
            repeat: count_u32(record, "repeat").unwrap_or(1),
            precondition,
            faults: faults(record, measure, self.directory, self.sink),
            loads,
            nets,
            frames: self.frames(record),
        };
        // A search without a disk load is refused as a whole.
        let searchable = !plan.loads.is_empty() || plan.nets.is_empty();
        let found = searchable.then(|| search(record, &plan, &self.workloads, self.sink));
        let plan = Plan { search: found.flatten(), ..plan };
        if self.within_bounds(&plan, record) {
            if let Some(sweep) = sweep {
                self.check_steps(&plan, sweep);
            }
            self.check_nets(record, &plan);
        }
        plan
    }

    fn load(&mut self, record: &Record) -> Option<(Side, Load)> {
        let workload = record.text("workload");
        let workload =
            workload.and_then(|text| find(&text, &self.workloads, &self.networks, self.sink));
        let (side, name) = match workload {
            Some(Found::Disk(workload)) => (Side::Disk, &workload.name),
            Some(Found::Net(workload)) => (Side::Net, &workload.name),
            None => {
                // Its kind is not known; what it runs on is to exist all the same.
                let kinds = [Kind::Vm, Kind::Target, Kind::Receiver];
                self.directory.find_all(&record.texts("on"), &kinds, self.sink);
                return None;
            }
        };
        let on = self.members(record, name, side);
        Some((side, Load { workload: name.clone(), on }))
    }

    fn axes(&mut self, sweep: &Record, loads: &[Load], nets: &[Load]) -> Vec<Axis> {
        let all = || loads.iter().chain(nets);
        let mut axes: Vec<Axis> = Vec::new();
        for slot in &sweep.fields {
            let key = &slot.key.value;
            let (workload, setting) = match key.rsplit_once('.') {
                Some((workload, setting)) => (Some(workload), setting),
                None => (None, key.as_str()),
            };
            if let Some(workload) = workload.filter(|w| !all().any(|l| l.workload == *w)) {
                self.sink.push(|| {
                    let names: BTreeSet<&str> = all().map(|l| l.workload.as_str()).collect();
                    let message = format!("no load of this plan runs `{}`", clip(workload));
                    Mistake::new(slot.key.at, message).maybe_help(suggestion(workload, names))
                });
            }
            let twice = |axis: &&Axis| {
                let same =
                    axis.key.rsplit_once('.').map_or(axis.key.as_str(), |(_, s)| s) == setting;
                same && workload.is_none_or(|w| concerns(&axis.key, w))
            };
            if let Some(other) = axes.iter().find(twice) {
                let message = format!("`{}` and `{key}` set the same", other.key);
                self.sink.push(|| Mistake::new(slot.key.at, message));
            }
            if setting == "port" && self.directory.embedded.is_empty() {
                self.sink.push(|| {
                    let message = "port: the scenario has no embedded array whose ports could have these speeds";
                    Mistake::new(slot.key.at, message)
                        .class(Class::Absence)
                        .help("give an [[array]] `embedded = { ports = [{ name = \"p1\" }] }`")
                });
            }
            let values = self.values(slot, setting);
            if workload.is_none() && all().next().is_some() {
                let present = |side| match side {
                    Side::Disk => !loads.is_empty(),
                    Side::Net => !nets.is_empty(),
                };
                self.check_side(slot, &values, present);
            }
            axes.push(Axis { key: key.clone(), values });
        }
        axes
    }

    /// Reports an axis for loads of a kind that the plan has not.
    fn check_side(&mut self, slot: &Slot, values: &[Setting], present: impl Fn(Side) -> bool) {
        let idle = values.iter().find_map(|value| {
            let side = Side::of(value).filter(|side| !present(*side))?;
            Some((value, side))
        });
        let Some((value, side)) = idle else { return };
        let kind = if side == Side::Disk { "disk" } else { "network" };
        let key = &slot.key.value;
        let what = match value {
            // A rate may be of either kind.
            Setting::Rate(_) | Setting::StreamRate(_) => format!("{value}"),
            _ => "it".to_owned(),
        };
        let message =
            format!("{key}: {what} belongs to {kind} workloads, and the plan runs none of them");
        self.sink.push(|| Mistake::new(slot.key.at, message));
    }

    fn values(&mut self, slot: &Slot, setting: &str) -> Vec<Setting> {
        let items = match &slot.value {
            Some(At { value: Datum::List(items), .. }) => items.as_slice(),
            _ => &[],
        };
        let mut seen = BTreeSet::new();
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let Some(value) = setting_of(setting, &item.value) else { continue };
            if let Setting::Port(rate) = value
                && let Some(arrays) = too_slow(rate, &self.directory.embedded)
            {
                let message =
                    format!("port: {rate} is less than 1 KB/s when it is scaled at {arrays}");
                self.sink.push(|| Mistake::new(item.at, message));
            }
            if seen.insert(value.to_string()) {
                values.push(value);
            } else {
                self.sink.push(|| {
                    Mistake::new(item.at, format!("{setting}: the value {value} is given twice"))
                });
            }
        }
        values
    }

    fn within_bounds(&mut self, plan: &Plan, record: &Record) -> bool {
        let each = plan.search.as_ref().map_or(plan.repeat, |search| search.steps);
        let steps = plan.combinations().saturating_mul(u64::from(each));
        let loads = plan.loads.iter().chain(&plan.nets);
        let members: u64 = loads.map(|load| load.on.len() as u64).sum();
        self.steps = self.steps.saturating_add(steps);
        self.members = self.members.saturating_add(steps.saturating_mul(members));
        self.faults = self.faults.saturating_add(steps.saturating_mul(plan.faults.len() as u64));
        let key = ["sweep", "search"].into_iter().find(|key| record.has(key)).unwrap_or("repeat");
        if self.steps > STEPS_MAX {
            let message = format!("the plans make {} steps, more than {STEPS_MAX}", self.steps);
            self.sink.push(|| Mistake::new(place(record, key), message));
            return false;
        }
        if self.members > STEP_MEMBERS_MAX {
            let message = format!(
                "the plans make {} pairs of a step and a VM, target or receiver, more than {STEP_MEMBERS_MAX}",
                self.members
            );
            self.sink.push(|| Mistake::new(place(record, key), message));
            return false;
        }
        if self.faults > STEP_FAULTS_MAX {
            let message = format!(
                "the plans make {} pairs of a step and a fault, more than {STEP_FAULTS_MAX}",
                self.faults
            );
            self.sink.push(|| Mistake::new(place(record, "faults"), message));
            return false;
        }
        true
    }

    /// Settles every step and reports each problem once, at the axis that brought it.
    fn check_steps(&mut self, plan: &Plan, sweep: &Record) {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let names: BTreeSet<&str> = plan.loads.iter().map(|l| l.workload.as_str()).collect();
        let loaded = names.iter().filter_map(|name| self.workloads.get(name).copied());
        // What is wrong before the sweep has been reported at the workload.
        let loaded: Vec<&Workload> = loaded.filter(|w| w.spec.problems().is_empty()).collect();
        for n in 0..plan.combinations() {
            let settings = plan.combination(n);
            for workload in &loaded {
                let mut settled = (*workload).clone();
                let mine =
                    settings.iter().filter(|(key, s)| speaks(key, s, &workload.name, Side::Disk));
                for (key, setting) in mine {
                    let problem = apply(&mut settled, setting).err().or_else(|| {
                        settled.spec.problems().first().map(|p| format!("{setting}: {p}"))
                    });
                    let Some(problem) = problem else { continue };
                    let problem = format!("{problem} (workload `{}`)", workload.name);
                    if seen.insert(format!("{key}: {problem}")) {
                        let at = sweep.slot(key).map_or(sweep.at, |slot| slot.key.at);
                        self.sink.push(|| Mistake::new(at, format!("{key}: {problem}")));
                    }
                }
            }
        }
    }
}

/// The loads of disks, and those of networks.
fn apart(all: Vec<(Side, Load)>) -> (Vec<Load>, Vec<Load>) {
    let (disk, net): (Vec<_>, Vec<_>) = all.into_iter().partition(|(side, _)| *side == Side::Disk);
    let bare = |loads: Vec<(Side, Load)>| loads.into_iter().map(|(_, load)| load).collect();
    (bare(disk), bare(net))
}

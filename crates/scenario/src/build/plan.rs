//! Plans: loads, sweeps, and the check that every step is sound.

use super::embedded::too_slow;
use super::faults::faults;
use super::search::search;
use super::steady::steady;
use super::work::{find, setting_of};
use super::{complain, count_u32, place};
use crate::datum::{Datum, Record, Slot};
use crate::diagnostics::{At, Class, Mistake, Sink, Span};
use crate::directory::{Directory, Kind};
use crate::model::*;
use crate::nearest::suggestion;
use crate::settle::{apply, concerns};
use crate::steady::Steady;
use crate::tree::clip;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use workload::Frames;

/// Steps of a scenario, at most.
const STEPS_MAX: u64 = 10_000;
/// Steps times the VMs and targets that run in each, at most.
const STEP_MEMBERS_MAX: u64 = 1_000_000;
/// Steps times the faults of each, at most.
const STEP_FAULTS_MAX: u64 = 1_000_000;
/// Load before the measurement, unless the plan says otherwise.
const WARMUP_DEFAULT: Duration = Duration::from_secs(2);

/// Every plan of the file, in its order.
pub(super) fn plans(
    root: &Record,
    workloads: &[Workload],
    directory: &mut Directory,
    sink: &mut Sink,
) -> Vec<Plan> {
    let records = root.records("plan");
    check_names(&records, sink);
    let workloads = workloads.iter().map(|w| (w.name.as_str(), w)).collect();
    let mut planner = Planner { workloads, directory, sink, steps: 0, members: 0, faults: 0 };
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

struct Planner<'a> {
    workloads: BTreeMap<&'a str, &'a Workload>,
    directory: &'a mut Directory,
    sink: &'a mut Sink,
    steps: u64,
    members: u64,
    faults: u64,
}

impl Planner<'_> {
    fn plan(&mut self, record: &Record) -> Plan {
        let mut loads = Vec::new();
        if record.has("load") {
            if record.get("load").is_some() && record.records("load").is_empty() {
                complain(record, "load", "the list is empty", self.sink);
            }
            loads.extend(record.records("load").into_iter().filter_map(|load| self.load(load)));
        } else if record.has("workload") {
            if !record.has("on") {
                self.sink.push(|| {
                    Mistake::new(record.at, "the plan does not say what the workload runs on")
                        .class(Class::Absence)
                        .help("add `on = \"…\"` with VMs or targets")
                });
            }
            loads.extend(self.load(record));
        }
        let time = |key| record.time(key).map(|at| at.value);
        let warmup = time("warmup").unwrap_or(WARMUP_DEFAULT);
        let precondition = record.word("precondition").is_some_and(|at| at.value == "snia-pts");
        // The second half of PTS's preconditioning: the load itself, until it is steady.
        let preset =
            precondition.then(|| Steady { within: Steady::PTS.within.max(warmup), ..Steady::PTS });
        let sweep = record.record("sweep");
        let plan = Plan {
            name: record.text("name").map_or_else(|| Plan::UNNAMED.to_owned(), |at| at.value),
            warmup,
            steady: steady(record, warmup, self.sink).or(preset),
            measure: time("measure").unwrap_or_default(),
            cooldown: time("cooldown").unwrap_or_default(),
            sweep: sweep.map(|sweep| self.axes(sweep, &loads)).unwrap_or_default(),
            search: None,
            repeat: count_u32(record, "repeat").unwrap_or(1),
            precondition,
            faults: faults(record, time("measure").unwrap_or_default(), self.directory, self.sink),
            loads,
            nets: Vec::new(),
            frames: Frames::default(),
        };
        let plan = Plan { search: search(record, &plan, &self.workloads, self.sink), ..plan };
        if self.within_bounds(&plan, record)
            && let Some(sweep) = sweep
        {
            self.check_steps(&plan, sweep);
        }
        plan
    }

    fn load(&mut self, record: &Record) -> Option<Load> {
        let workload = record.text("workload");
        let workload = workload.and_then(|text| find(&text, &self.workloads, self.sink));
        let on = self.members(record, "on");
        Some(Load { workload: workload?.name.clone(), on })
    }

    /// VMs and targets; a VM without disks has nothing to issue I/O to.
    fn members(&mut self, record: &Record, key: &str) -> Vec<String> {
        let kinds = [Kind::Vm, Kind::Target];
        let on = self.directory.find_all(&record.texts(key), &kinds, self.sink);
        if let Some(vm) = on.iter().find(|name| self.directory.without_disks.contains(*name)) {
            complain(record, key, format!("the VM `{vm}` has no disks"), self.sink);
        }
        on
    }

    fn axes(&mut self, sweep: &Record, loads: &[Load]) -> Vec<Axis> {
        let mut axes: Vec<Axis> = Vec::new();
        for slot in &sweep.fields {
            let key = &slot.key.value;
            let (workload, setting) = match key.rsplit_once('.') {
                Some((workload, setting)) => (Some(workload), setting),
                None => (None, key.as_str()),
            };
            if let Some(workload) = workload.filter(|w| !loads.iter().any(|l| l.workload == *w)) {
                self.sink.push(|| {
                    let names: BTreeSet<&str> = loads.iter().map(|l| l.workload.as_str()).collect();
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
            axes.push(Axis { key: key.clone(), values: self.values(slot, setting) });
        }
        axes
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
        let members: u64 = plan.loads.iter().map(|load| load.on.len() as u64).sum();
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
                "the plans make {} pairs of a step and a VM or target, more than {STEP_MEMBERS_MAX}",
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
                let mine = settings.iter().filter(|(key, _)| concerns(key, &workload.name));
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

//! Plans: loads, sweeps, and the check that every step is sound. What is particular to network loads is in `net_plan`.

use super::copy::{self, Disks};
use super::embedded::too_slow;
use super::faults::faults;
use super::incidents::incidents;
use super::job::phases;
use super::members;
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
use crate::settle::{Side, apply, concerns, copies_too, speaks};
use crate::simulated::{CopyWorkload, Incident, Phase};
use crate::spots::Spot;
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

/// The workloads of a file, of every kind.
pub(super) struct Known<'a> {
    pub workloads: &'a [Workload],
    pub networks: &'a Networks,
    pub copies: &'a [CopyWorkload],
}

/// Every plan of the file, in its order.
pub(super) fn plans(
    root: &Record,
    lab: &Lab,
    known: &Known<'_>,
    directory: &mut Directory,
    sink: &mut Sink,
) -> Vec<Plan> {
    let records = root.records("plan");
    check_names(&records, sink);
    let mut planner = Planner {
        lab,
        workloads: known.workloads.iter().map(|w| (w.name.as_str(), w)).collect(),
        networks: known.networks.all.iter().map(|net| (net.name.as_str(), net)).collect(),
        copies: known.copies.iter().map(|copy| (copy.name.as_str(), copy)).collect(),
        disks: copy::disks(lab),
        ntttcp: &known.networks.ntttcp,
        reach: reach(lab),
        directory,
        sink,
        steps: 0,
        members: 0,
        faults: 0,
    };
    (0..).zip(records).map(|(number, record)| planner.plan(number, record)).collect()
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
    pub lab: &'a Lab,
    workloads: BTreeMap<&'a str, &'a Workload>,
    pub networks: BTreeMap<&'a str, &'a NetWorkload>,
    copies: BTreeMap<&'a str, &'a CopyWorkload>,
    disks: Disks<'a>,
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
    fn plan(&mut self, number: u32, record: &Record) -> Plan {
        let (loads, nets, copies) = self.loads(number, record);
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
            sweep: sweep
                .map(|sweep| self.axes(sweep, [&loads, &nets, &copies]))
                .unwrap_or_default(),
            search: None,
            repeat: count_u32(record, "repeat").unwrap_or(1),
            precondition,
            faults: faults(record, measure, self.directory, self.sink),
            incidents: self.incidents(number, record),
            loads,
            nets,
            copies,
            frames: self.frames(record),
        };
        // A search without a disk load is refused as a whole.
        let searchable = !plan.loads.is_empty() || (plan.nets.is_empty() && plan.copies.is_empty());
        let found = searchable.then(|| search(record, &plan, &self.workloads, self.sink));
        let plan = Plan { search: found.flatten(), ..plan };
        members::check(&plan, record, self.sink);
        if self.within_bounds(&plan, record) {
            if let Some(sweep) = sweep {
                self.check_steps(&plan, sweep);
            }
            self.check_nets(record, &plan);
        }
        plan
    }

    /// The loads of a plan: of disks, of networks, and copies.
    fn loads(&mut self, number: u32, record: &Record) -> (Vec<Load>, Vec<Load>, Vec<Load>) {
        let mut all: Vec<(Side, Load, Span)> = Vec::new();
        if record.has("load") {
            let records = record.records("load");
            if record.get("load").is_some() && records.is_empty() {
                complain(record, "load", "the list is empty", self.sink);
            }
            let phases = phases(&records, self.sink);
            for (load, phase) in records.into_iter().zip(phases) {
                all.extend(self.load(load, phase).map(|(side, built)| (side, built, load.at)));
            }
        } else if record.has("workload") {
            if !record.has("on") {
                self.sink.push(|| {
                    Mistake::new(record.at, "the plan does not say what the workload runs on")
                        .class(Class::Absence)
                        .help("add `on = \"…\"` with VMs or targets")
                });
            }
            let at = place(record, "on");
            all.extend(self.load(record, None).map(|(side, load)| (side, load, at)));
        }
        let (mut disk, mut net, mut copies) = (Vec::new(), Vec::new(), Vec::new());
        for (side, load, at) in all {
            let (list, kind) = match side {
                Side::Disk => (&mut disk, 0),
                Side::Net => (&mut net, 1),
                Side::Copy => (&mut copies, 2),
            };
            let place = u32::try_from(list.len()).unwrap_or(u32::MAX);
            self.directory.spots.insert(Spot::Load(number, kind, place), at);
            list.push(load);
        }
        (disk, net, copies)
    }

    /// What goes wrong in a lab that is simulated.
    fn incidents(&mut self, number: u32, record: &Record) -> Vec<Incident> {
        let all = incidents(record, self.lab, self.directory, self.sink);
        for (n, (_, at)) in (0..).zip(&all) {
            self.directory.spots.insert(Spot::Incident(number, n), *at);
        }
        all.into_iter().map(|(incident, _)| incident).collect()
    }

    fn load(&mut self, record: &Record, phase: Option<Phase>) -> Option<(Side, Load)> {
        let text = record.text("workload");
        let found = text
            .and_then(|text| find(&text, &self.workloads, &self.networks, &self.copies, self.sink));
        let (side, name) = match &found {
            Some(Found::Disk(workload)) => (Side::Disk, &workload.name),
            Some(Found::Net(workload)) => (Side::Net, &workload.name),
            Some(Found::Copy(workload)) => (Side::Copy, &workload.name),
            None => {
                // Its kind is not known; what it runs on is to exist all the same.
                let kinds = [Kind::Vm, Kind::Host, Kind::Target, Kind::Receiver];
                self.directory.find_all(&record.texts("on"), &kinds, self.sink);
                return None;
            }
        };
        if side == Side::Net && phase.is_some() {
            let key = ["after", "amount", "name"].into_iter().find(|key| record.has(key));
            let problem = "a network load is no phase of a job";
            complain(record, key.unwrap_or("workload"), problem, self.sink);
        }
        let on = self.members(record, name, side);
        let load = Load { workload: name.clone(), on, phase };
        if let Some(Found::Copy(workload)) = found {
            copy::check_load(record, &load, workload, &self.disks, self.sink);
        }
        Some((side, load))
    }

    fn axes(&mut self, sweep: &Record, sides: [&[Load]; 3]) -> Vec<Axis> {
        let [loads, nets, copies] = sides;
        let all = || sides.into_iter().flatten();
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
                let copied = |value: &Setting| !copies.is_empty() && copies_too(value);
                let present = |side, value: &Setting| match side {
                    Side::Net => !nets.is_empty(),
                    Side::Disk | Side::Copy => !loads.is_empty() || copied(value),
                };
                self.check_side(slot, &values, present);
            }
            axes.push(Axis { key: key.clone(), values });
        }
        axes
    }

    /// Reports an axis for loads of a kind that the plan has not.
    fn check_side(
        &mut self,
        slot: &Slot,
        values: &[Setting],
        present: impl Fn(Side, &Setting) -> bool,
    ) {
        let idle = values.iter().find_map(|value| {
            let side = Side::of(value).filter(|side| !present(*side, value))?;
            Some((value, side))
        });
        let Some((value, side)) = idle else { return };
        let kind = if side == Side::Net { "network" } else { "disk" };
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
        let loads = plan.loads.iter().chain(&plan.nets).chain(&plan.copies);
        let members: u64 = loads.map(|load| load.on.len() as u64).sum();
        self.steps = self.steps.saturating_add(steps);
        self.members = self.members.saturating_add(steps.saturating_mul(members));
        self.faults = self.faults.saturating_add(
            steps.saturating_mul((plan.faults.len() + plan.incidents.len()) as u64),
        );
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

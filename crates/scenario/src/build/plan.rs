//! Plans: loads, sweeps, and the check that every step is sound. What is particular to network loads is in `net_plan`.

use super::copy::{CopyDisks, disks};
use super::embedded::too_slow;
use super::faults::faults;
use super::incidents::incidents;
use super::job;
use super::members;
use super::net_plan::{ReceiverReach, reach};
use super::prove::prove;
use super::search::search;
use super::steady::steady;
use super::work::{find, setting_of};
use super::{complain, count_u32, place};
use crate::datum::{Datum, DatumKey, Decoded};
use crate::diagnostics::{At, Class, Mistake, Sink, Span};
use crate::directory::{Directory, NameKind};
use crate::load::{Load, Phase, Uses, Workload};
use crate::model::*;
use crate::nearest::suggestion;
use crate::settle::concerns;
use crate::simulated::Incident;
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
/// Warm-up, measured time and cool-down by default; a plan must give its measured time.
pub(super) const PHASES: [Duration; 3] = [Duration::from_secs(2), Duration::ZERO, Duration::ZERO];

/// Every plan of the file, in its order.
pub(super) fn plans(
    root: &Decoded,
    lab: &Lab,
    workloads: &[Workload],
    directory: &mut Directory,
    sink: &mut Sink,
) -> Vec<Plan> {
    let records = root.records("plan");
    check_names(&records, sink);
    let mut planner = Planner {
        lab,
        workloads: workloads.iter().map(|w| (w.name(), w)).collect(),
        disks: disks(lab),
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
fn check_names(records: &[&Decoded], sink: &mut Sink) {
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    for record in records {
        let Some(name) = record.text("name") else {
            if records.len() > 1 && !record.has("name") {
                sink.push(|| {
                    Mistake::new(record.at, "with several plans, each needs a `name`")
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
    disks: CopyDisks<'a>,
    pub reach: ReceiverReach<'a>,
    pub directory: &'a mut Directory,
    pub sink: &'a mut Sink,
    steps: u64,
    members: u64,
    faults: u64,
}

impl Planner<'_> {
    fn plan(&mut self, number: u32, record: &Decoded) -> Plan {
        let loads = self.loads(number, record);
        let [warmup, measure, cooldown] = self.phases(record, &loads);
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
            sweep: sweep.map(|sweep| self.axes(sweep, &loads)).unwrap_or_default(),
            search: None,
            repeat: count_u32(record, "repeat").unwrap_or(1),
            precondition,
            faults: faults(record, measure, self.directory, self.sink),
            incidents: self.incidents(number, record),
            prove: prove(record, &loads, self.sink),
            window: window(record, &loads, self.sink),
            loads,
            frames: self.frames(record),
        };
        // A search without a load that it could vary is refused as a whole.
        let found = is_searchable(&plan).then(|| search(record, &plan, self.sink));
        let plan = Plan { search: found.flatten(), ..plan };
        members::check(&plan, record, self.sink);
        self.check_ends(&plan, record);
        if self.within_bounds(&plan, record) {
            if let Some(sweep) = sweep {
                self.check_steps(&plan, sweep);
            }
            self.check_nets(record, &plan);
        }
        plan
    }

    /// Reports what needs loads that go on, in a plan with loads that end.
    fn check_ends(&mut self, plan: &Plan, record: &Decoded) {
        if record.has("search") && plan.loads.iter().any(Load::ends) {
            let problem = "a search measures loads that go on; remove `amount` and `passes`";
            complain(record, "search", problem, self.sink);
        }
        let all_end = !plan.loads.is_empty() && plan.loads.iter().all(Load::ends);
        let key = if record.has("steady") { "steady" } else { "precondition" };
        if all_end && plan.steady.is_some() {
            let problem = "it lets the load run until it is steady, and this one ends before; remove `amount` and `passes`";
            complain(record, key, problem, self.sink);
        }
    }

    /// The loads of a plan, family by family.
    fn loads(&mut self, number: u32, record: &Decoded) -> Vec<Load> {
        let mut all: Vec<(Load, Span)> = Vec::new();
        if record.has("load") {
            let records = record.records("load");
            if record.get("load").is_some() && records.is_empty() {
                complain(record, "load", "the list is empty", self.sink);
            }
            let phases = job::phases(&records, self.sink);
            for (load, phase) in records.into_iter().zip(phases) {
                all.extend(self.load(load, phase).map(|built| (built, load.at)));
            }
        } else if record.has("workload") {
            if !record.has("on") {
                self.sink.push(|| {
                    Mistake::new(
                        record.at,
                        "the plan needs `on`: the members that run the workload",
                    )
                    .class(Class::Absence)
                    .help("add `on = \"…\"` with VMs or targets")
                });
            }
            let at = place(record, "on");
            all.extend(self.load(record, job::of_plan(record)).map(|load| (load, at)));
        }
        all.sort_by_key(|(load, _)| load.workload.order());
        let spots = (0..).zip(&all).map(|(n, (_, at))| (Spot::Load(number, n), *at));
        self.directory.spots.extend(spots);
        all.into_iter().map(|(load, _)| load).collect()
    }

    /// Failures in a lab that is simulated.
    fn incidents(&mut self, number: u32, record: &Decoded) -> Vec<Incident> {
        let all = incidents(record, self.lab, self.directory, self.sink);
        for (n, (_, at)) in (0..).zip(&all) {
            self.directory.spots.insert(Spot::Incident(number, n), *at);
        }
        all.into_iter().map(|(incident, _)| incident).collect()
    }

    fn load(&mut self, record: &Decoded, phase: Option<Phase>) -> Option<Load> {
        let text = record.text("workload");
        let Some(workload) = text.and_then(|text| find(&text, &self.workloads, self.sink)) else {
            // Its kind is unknown; its members must exist all the same.
            let kinds = [NameKind::Vm, NameKind::Host, NameKind::Target, NameKind::Receiver];
            self.directory.find_all(&record.texts("on"), &kinds, self.sink);
            return None;
        };
        let family = workload.family();
        if let Some(problem) = family.no_phase().filter(|_| phase.is_some()) {
            let keys = ["after"].iter().chain(job::ENDS).chain(&["name"]);
            let key = keys.copied().find(|key| record.has(key));
            complain(record, key.unwrap_or("workload"), problem, self.sink);
        }
        if let Workload::Copy(copy) = workload
            && copy.streams.is_some()
            && phase.as_ref().is_none_or(|phase| phase.amount.is_none())
        {
            let name = clip(&copy.name);
            let message = format!("workload: `{name}` has `streams`, whose jobs must end");
            let help = "give the load an `amount`, such as `amount = \"100 GB\"`";
            self.sink.push(|| Mistake::new(place(record, "workload"), message).help(help));
        }
        let on = self.members(record, family);
        if let Some((problem, help)) = family.lacks(&on, &self.disks) {
            let message = format!("on: {problem}");
            self.sink.push(|| Mistake::new(place(record, "on"), message).help(help));
        }
        let mut workload = workload.clone();
        if let Some(phase) = phase.as_ref().filter(|phase| phase.ends()) {
            job::limit(&mut workload, phase, record, self.sink);
        }
        Some(Load { workload, on, phase })
    }

    fn axes(&mut self, sweep: &Decoded, loads: &[Load]) -> Vec<Axis> {
        let mut axes: Vec<Axis> = Vec::new();
        for slot in &sweep.fields {
            let key = &slot.key.value;
            let (workload, setting) = match key.rsplit_once('.') {
                Some((workload, setting)) => (Some(workload), setting),
                None => (None, key.as_str()),
            };
            if let Some(workload) =
                workload.filter(|w| !loads.iter().any(|l| l.workload.name() == *w))
            {
                self.sink.push(|| {
                    let names: BTreeSet<&str> = loads.iter().map(|l| l.workload.name()).collect();
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
                    let message = "port: it applies to embedded arrays, and the scenario has none";
                    Mistake::new(slot.key.at, message)
                        .class(Class::Absence)
                        .help("give an [[array]] `embedded = { ports = [{ name = \"p1\" }] }`")
                });
            }
            let values = self.values(slot, setting);
            if workload.is_none() && !loads.is_empty() {
                self.check_present(slot, &values, loads);
            }
            axes.push(Axis { key: key.clone(), values });
        }
        axes
    }

    /// Reports an axis that no load of the plan has.
    fn check_present(&mut self, slot: &DatumKey, values: &[Setting], loads: &[Load]) {
        let has = |value: &Setting| loads.iter().any(|load| load.workload.family().has(value));
        let idle =
            values.iter().find_map(|value| Some((value, Uses::of(value)?)).filter(|_| !has(value)));
        let Some((value, uses)) = idle else { return };
        let kind = uses.word();
        let key = &slot.key.value;
        let what = match value {
            // A rate may be of either kind.
            Setting::Rate(_) | Setting::StreamRate(_) => format!("{value}"),
            _ => "it".to_owned(),
        };
        let message = format!("{key}: {what} belongs to {kind} workloads, and the plan runs none");
        self.sink.push(|| Mistake::new(slot.key.at, message));
    }

    fn values(&mut self, slot: &DatumKey, setting: &str) -> Vec<Setting> {
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
                let message = format!("port: {rate} is below 1 KB/s after scaling at {arrays}");
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

    fn within_bounds(&mut self, plan: &Plan, record: &Decoded) -> bool {
        let each = plan.search.as_ref().map_or(plan.repeat, |search| search.steps);
        let steps = plan.combinations().saturating_mul(u64::from(each));
        let members: u64 = plan.loads.iter().map(|load| load.on.len() as u64).sum();
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
    fn check_steps(&mut self, plan: &Plan, sweep: &Decoded) {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let loaded: BTreeMap<&str, &Workload> =
            plan.loads.iter().map(|load| (load.workload.name(), &load.workload)).collect();
        for n in 0..plan.combinations() {
            let settings = plan.combination(n);
            for (name, workload) in &loaded {
                for (key, problem) in workload.problems(&settings) {
                    let problem = format!("{problem} (workload `{name}`)");
                    if seen.insert(format!("{key}: {problem}")) {
                        let at = sweep.slot(&key).map_or(sweep.at, |slot| slot.key.at);
                        self.sink.push(|| Mistake::new(at, format!("{key}: {problem}")));
                    }
                }
            }
        }
    }
}

/// The time that a job may take, which only a load with an end has.
fn window(record: &Decoded, loads: &[Load], sink: &mut Sink) -> Option<Duration> {
    let window = record.time("window")?.value;
    if !loads.iter().any(Load::ends) {
        let problem =
            "no load of the plan ends; give one an `amount`, such as `amount = \"100 GB\"`";
        complain(record, "window", problem, sink);
    }
    Some(window)
}

/// Whether a plan has a load that a search can vary, or none at all, which is reported elsewhere.
pub(super) fn is_searchable(plan: &Plan) -> bool {
    plan.loads.is_empty() || plan.loads.iter().any(|load| load.workload.family().is_searched())
}

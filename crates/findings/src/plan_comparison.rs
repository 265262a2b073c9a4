//! Plans of the same loads on different members, side by side: what the part in which their paths differ brings.
//!
//! Compared are plans that run the same workloads on as many members, step by step at the same settings, where the best of
//! them moved most. What they differ in is read off the lab: the parts that are on the paths of one plan and on no path of
//! the others. Plans that inject faults or are jobs are not compared.

use crate::figures::StepFigures;
use crate::quantity::{Quantity, Unit};
use scenario::topology::{HopId, HopKind, Topology, Way};
use scenario::{Load, PartKind, Plan, Scenario};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Mean I/O size below which operations are compared and not bytes.
const SMALL_IO: f64 = 16384.0;

/// Plans that differ in what carries their loads.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanComparison {
    /// What the loads do: the names of their workloads.
    pub workloads: Vec<String>,
    /// The settings at which they are compared; empty where the plans have no sweep.
    pub at: Vec<(String, String)>,
    /// Whether their paths differ in one part each; otherwise they load different members.
    pub by_part: bool,
    /// Settings that they have in common.
    pub comparable: usize,
    /// Two or more, the highest figure first.
    pub plans: Vec<ComparedPlan>,
}

/// One plan of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedPlan {
    /// The plan.
    pub plan: String,
    /// What it differs in from the others: the part as its maker calls it, the speed of its port, or how many of a part it
    /// uses; the plan's name where it is none of these.
    pub differs: String,
    /// Bytes or operations a second, as a mean over repetitions.
    pub figure: Quantity,
    /// Half its 95% interval of confidence as a share of it, where a simulation recorded one.
    pub uncertainty: Option<f64>,
    /// The highest figure as a multiple of this one.
    pub ratio: f64,
    /// The step that was compared; of repetitions the first.
    pub step: u32,
}

/// What two plans must have in common to be compared: workloads, each with the number of its members.
type LoadKey = Vec<(String, usize)>;

/// Parts of a lab by their kind.
type Parts<'a> = BTreeSet<(PartKindOrder, &'a str)>;

/// All comparisons: those of plans that differ in one part first, then by the number of common settings, then in the order
/// of the scenario.
pub(crate) fn comparisons(
    scenario: &Scenario,
    topology: Option<&Topology>,
    steps: &[StepFigures],
) -> Vec<PlanComparison> {
    let mut groups: Vec<(LoadKey, Vec<&Plan>)> = Vec::new();
    let plain = |plan: &&Plan| plan.faults.is_empty() && plan.incidents.is_empty();
    let endless = |plan: &&Plan| plan.loads.iter().all(|load| load.phase.is_none());
    for plan in scenario.plans.iter().filter(plain).filter(endless) {
        let of = |load: &Load| (load.workload.name().to_owned(), load.on.len());
        let key: LoadKey = plan.loads.iter().map(of).collect();
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, plans)) => plans.push(plan),
            None => groups.push((key, vec![plan])),
        }
    }
    let mut all: Vec<PlanComparison> = Vec::new();
    for (_, mut plans) in groups {
        for (alike, names) in by_part(scenario, topology, &plans) {
            plans.retain(|plan| !alike.iter().any(|other| other.name == plan.name));
            all.extend(compare(&alike, (names, true), steps));
        }
        if differ(&plans) {
            let names = by_count(scenario, topology, &plans);
            let own = || plans.iter().map(|plan| plan.name.clone()).collect();
            all.extend(compare(&plans, (names.unwrap_or_else(own), false), steps));
        }
    }
    // What jobs do is what the scenario is about; other plans of it try parts beforehand. Stable: of equals the first.
    let phases = scenario.plans.iter().flat_map(|plan| &plan.loads).filter(|l| l.phase.is_some());
    let jobs: BTreeSet<&str> = phases.map(|load| load.workload.name()).collect();
    let of_jobs = |one: &PlanComparison| one.workloads.iter().all(|w| jobs.contains(w.as_str()));
    all.sort_by_key(|one| (!one.by_part, !of_jobs(one), std::cmp::Reverse(one.comparable)));
    all
}

/// Plans by how many virtual adapters or ports they use, and of which part; `None` where that does not tell all apart.
fn by_count(
    scenario: &Scenario,
    topology: Option<&Topology>,
    plans: &[&Plan],
) -> Option<Vec<String>> {
    let topology = topology?;
    let used: Vec<BTreeSet<HopId>> =
        plans.iter().map(|plan| hops(topology, plan).collect()).collect();
    let counted = |kind: HopKind| -> Option<Vec<String>> {
        let one = |used: &BTreeSet<HopId>| {
            let of_kind = used.iter().map(|id| topology.hop(*id)).filter(|hop| hop.kind == kind);
            let parts: Vec<&str> = of_kind.map(|hop| hop.part.as_deref()).collect::<Option<_>>()?;
            let first = *parts.first()?;
            let part = scenario.lab.part(first).filter(|_| parts.iter().all(|p| *p == first))?;
            Some((parts.len(), model(part)))
        };
        let counts: Vec<(usize, String)> = used.iter().map(one).collect::<Option<_>>()?;
        let several = counts.iter().any(|(n, _)| *n > 1);
        let name = |(n, model): &(usize, String)| match several {
            true => format!("{n} × {model}"),
            false => model.clone(),
        };
        let names: Vec<String> = counts.iter().map(name).collect();
        let distinct: BTreeSet<&String> = names.iter().collect();
        (distinct.len() == names.len()).then_some(names)
    };
    [HopKind::VirtualAdapter, HopKind::Adapter, HopKind::InitiatorPort]
        .into_iter()
        .find_map(counted)
}

/// What plans have in common beside the part that is compared: other parts, and how disks are mapped.
type Alike<'a> = (Vec<&'a str>, Vec<String>);

/// Plans that are the same but for one part of one kind each, with what they differ in.
fn by_part<'a>(
    scenario: &'a Scenario,
    topology: Option<&'a Topology>,
    plans: &[&'a Plan],
) -> Vec<(Vec<&'a Plan>, Vec<String>)> {
    let used: Vec<Parts<'_>> = plans.iter().map(|plan| parts(scenario, topology, plan)).collect();
    let kinds: BTreeSet<PartKindOrder> = used.iter().flatten().map(|(kind, _)| *kind).collect();
    let mut found = Vec::new();
    for kind in kinds {
        // By what else is on the paths, and how the disks are mapped.
        let mut groups: BTreeMap<Alike<'_>, Vec<(&Plan, &str)>> = BTreeMap::new();
        for (plan, used) in plans.iter().zip(&used) {
            let mine: Vec<&str> = used.iter().filter(|p| p.0 == kind).map(|p| p.1).collect();
            let [mine] = mine[..] else { continue };
            let others = used.iter().filter(|part| part.0 != kind).map(|part| part.1).collect();
            let key = (others, maps(scenario, plan));
            groups.entry(key).or_default().push((plan, mine));
        }
        for group in groups.into_values() {
            let distinct: BTreeSet<&str> = group.iter().map(|(_, part)| *part).collect();
            if group.len() > 1 && distinct.len() == group.len() {
                let parts: Vec<&scenario::Part> =
                    group.iter().filter_map(|(_, part)| scenario.lab.part(part)).collect();
                found.push((group.iter().map(|(plan, _)| *plan).collect(), names(&parts)));
            }
        }
    }
    found
}

fn members(plan: &Plan) -> BTreeSet<&str> {
    plan.loads.iter().flat_map(|load| &load.on).map(String::as_str).collect()
}

/// Whether there are several plans, and no two of them load the same.
fn differ(plans: &[&Plan]) -> bool {
    let distinct: BTreeSet<_> = plans.iter().map(|plan| members(plan)).collect();
    plans.len() > 1 && distinct.len() == plans.len()
}

/// The complete steps of a plan by their settings.
fn by_settings<'a>(
    plan: &Plan,
    steps: &'a [StepFigures],
) -> BTreeMap<&'a [(String, String)], Vec<&'a StepFigures>> {
    let mut by: BTreeMap<&[(String, String)], Vec<&StepFigures>> = BTreeMap::new();
    let mine = |step: &&StepFigures| {
        step.plan == plan.name && step.complete() && step.has_storage() && step.total.both.ops > 0
    };
    for step in steps.iter().filter(mine) {
        by.entry(&step.settings).or_default().push(step);
    }
    by
}

fn mean(steps: &[&StepFigures], of: fn(&StepFigures) -> f64) -> f64 {
    steps.iter().map(|step| of(step)).sum::<f64>() / steps.len().max(1) as f64
}

fn bytes(step: &StepFigures) -> f64 {
    step.total.both.bytes_per_s
}

fn operations(step: &StepFigures) -> f64 {
    step.total.both.iops
}

/// Plans side by side, by the names of what they differ in.
fn compare(
    plans: &[&Plan],
    (names, by_part): (Vec<String>, bool),
    steps: &[StepFigures],
) -> Option<PlanComparison> {
    let all: Vec<_> = plans.iter().map(|plan| by_settings(plan, steps)).collect();
    let common: Vec<&[(String, String)]> =
        all[0].keys().copied().filter(|at| all.iter().all(|by| by.contains_key(at))).collect();
    let most =
        |at: &&&[(String, String)]| all.iter().map(|by| mean(&by[**at], bytes)).fold(0.0, f64::max);
    let at = *common.iter().max_by(|a, b| most(a).total_cmp(&most(b)))?;
    let size = mean(&all[0][at], bytes) / mean(&all[0][at], operations);
    let (unit, of): (Unit, fn(&StepFigures) -> f64) = match size < SMALL_IO {
        true => (Unit::Iops, operations),
        false => (Unit::BytesPerS, bytes),
    };
    let mut compared: Vec<ComparedPlan> = Vec::new();
    for ((plan, by), differs) in plans.iter().zip(&all).zip(names) {
        let value = mean(&by[at], of);
        compared.push(ComparedPlan {
            plan: plan.name.clone(),
            differs,
            figure: Quantity { value, unit },
            uncertainty: by[at].first().and_then(|step| step.uncertainty()),
            ratio: 1.0,
            step: by[at].first()?.index,
        });
    }
    compared.sort_by(|a, b| b.figure.value.total_cmp(&a.figure.value));
    let best = compared.first()?.figure.value;
    compared.iter_mut().for_each(|plan| plan.ratio = best / plan.figure.value);
    Some(PlanComparison {
        workloads: plans[0].loads.iter().map(|load| load.workload.name().to_owned()).collect(),
        at: at.to_vec(),
        by_part,
        comparable: common.len(),
        plans: compared,
    })
}

/// Parts by what tells them apart: the speed of their ports, else the model.
fn names(parts: &[&scenario::Part]) -> Vec<String> {
    let speeds: Option<Vec<&str>> = parts.iter().map(|part| speed(part)).collect();
    let distinct =
        |speeds: &Vec<&str>| speeds.iter().collect::<BTreeSet<_>>().len() == speeds.len();
    match speeds.filter(distinct) {
        Some(speeds) => speeds.into_iter().map(generation).collect(),
        None => parts.iter().map(|part| model(part)).collect(),
    }
}

/// The speed of a part's ports.
fn speed(part: &scenario::Part) -> Option<&str> {
    let adapter = matches!(part.kind, PartKind::Hba | PartKind::Nic);
    let figure = part.figures.iter().find(|figure| figure.name == "port_rate");
    figure.filter(|_| adapter).map(|figure| figure.value.as_str())
}

/// `8Gb` of `8gfc`: as an engineer calls the generation of a link.
pub fn generation(rate: &str) -> String {
    let number = rate.strip_suffix("gfc").or_else(|| rate.strip_suffix("gbe"));
    let plain = number.filter(|n| n.chars().all(|c| c.is_ascii_digit()) && !n.is_empty());
    plain.map_or_else(|| rate.to_owned(), |number| format!("{number}Gb"))
}

/// What its maker calls a part, without what is said of it after a comma.
fn model(part: &scenario::Part) -> String {
    let model = part.model.as_deref().and_then(|model| model.split(", ").next());
    model.unwrap_or(&part.name).to_owned()
}

/// A kind of part, to be ordered by.
type PartKindOrder = u8;

/// The parts on the paths of a plan's members.
fn parts<'a>(scenario: &Scenario, topology: Option<&'a Topology>, plan: &Plan) -> Parts<'a> {
    let Some(topology) = topology else { return Parts::new() };
    let names = hops(topology, plan).filter_map(|id| topology.hop(id).part.as_deref());
    names.filter_map(|name| Some((scenario.lab.part(name)?.kind as u8, name))).collect()
}

/// The hops on the paths of a plan's members, some of them often.
fn hops<'a>(topology: &'a Topology, plan: &Plan) -> impl Iterator<Item = HopId> + 'a {
    let members: BTreeSet<String> = members(plan).into_iter().map(str::to_owned).collect();
    let loaded = move |way: &&Way| {
        members.contains(way.member.as_str())
            || members.contains(format!("{}.disk{}", way.member, way.disk).as_str())
    };
    let paths = topology.ways.iter().filter(loaded).flat_map(|way| &way.paths);
    paths.flat_map(|path| &path.hops).copied()
}

/// How the disks of a plan's members are mapped.
fn maps(scenario: &Scenario, plan: &Plan) -> Vec<String> {
    let members = members(plan);
    let mine = scenario.lab.vms.iter().filter(|vm| members.contains(vm.name.as_str()));
    let kinds: BTreeSet<String> =
        mine.flat_map(|vm| &vm.disks).map(|disk| format!("{:?}", disk.map)).collect();
    kinds.into_iter().collect()
}

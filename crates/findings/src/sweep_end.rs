//! Where a sweep of load ends: which load reaches what a goal asks for, what the last step added, and the step that limits.
//!
//! The knee ([`crate::knee`]) says from where more load brings little; here is what the largest load still brought.

use crate::figures::StepFigures;
use crate::quantity::{Quantity, Unit};
use crate::sweep::{self, Sweep};
use scenario::{Bound, GoalTest, Metric, Scenario, Scope, Value};
use serde::Serialize;

/// Axes that count what is added: another VM, another I/O outstanding. Over a block size no step adds load.
const COUNTED: [&str; 4] = ["members", "depth", "workers", "rate"];

/// The end of one sweep of load.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepEnd {
    /// Its place among the sweeps of the analysis.
    pub sweep: usize,
    /// What `members` are: `VM`, `host`, `target`; the name of the axis otherwise.
    pub counts: String,
    /// The first load that carries what a goal on the same workload asks for, where the sweep crosses it.
    pub reached: Option<Reached>,
    /// The last load but one.
    pub before: SweepLoad,
    /// The last load.
    pub last: SweepLoad,
    /// What the last step added to the work of the one before, as a share of it.
    pub added: f64,
    /// What it added to the load, as a share of it.
    pub added_load: f64,
}

/// The figure of a goal and where a sweep reaches it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reached {
    /// What is asked for.
    pub figure: Quantity,
    /// The goal.
    pub goal: String,
    /// The first load that carries it.
    pub at: SweepLoad,
}

/// A load of a sweep and its work.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepLoad {
    /// The value of the axis, as the scenario shows it.
    pub value: String,
    /// Bytes or operations a second, as a mean over repetitions.
    pub work: Quantity,
    /// Its step; of repetitions the first.
    pub step: u32,
}

/// The ends of the sweeps over counted load, in the order of the sweeps.
pub(crate) fn ends(
    scenario: Option<&Scenario>,
    sweeps: &[Sweep],
    steps: &[StepFigures],
) -> Vec<SweepEnd> {
    let counted = |sweep: &Sweep| COUNTED.contains(&sweep::setting(&sweep.axis));
    let all = sweeps.iter().enumerate().filter(|(_, sweep)| counted(sweep));
    all.filter_map(|(place, sweep)| end(scenario, (place, sweep), steps)).collect()
}

fn end(
    scenario: Option<&Scenario>,
    (place, sweep): (usize, &Sweep),
    steps: &[StepFigures],
) -> Option<SweepEnd> {
    let load = |point: &crate::knee::Point| {
        let on = |step: &&StepFigures| {
            let value = (sweep.axis.clone(), point.value.clone());
            step.plan == sweep.plan
                && step.settings.contains(&value)
                && sweep.fixed.iter().all(|fixed| step.settings.contains(fixed))
        };
        let work = Quantity { value: point.mean(), unit: sweep.unit };
        let step = steps.iter().find(on)?.index;
        Some(SweepLoad { value: point.value.clone(), work, step })
    };
    let [.., before, last] = sweep.points.as_slice() else { return None };
    let reached = scenario.and_then(|scenario| {
        let (figure, goal) = asked(scenario, sweep)?;
        let at = sweep.points.iter().find(|point| point.mean() >= figure.value)?;
        // A figure that every load carries says nothing of the sweep.
        let crossed = at.load > sweep.points.first()?.load;
        crossed.then(|| Some(Reached { figure, goal, at: load(at)? }))?
    });
    Some(SweepEnd {
        sweep: place,
        counts: scenario.map_or_else(|| sweep.axis.clone(), |scenario| counts(scenario, sweep)),
        reached,
        before: load(before)?,
        last: load(last)?,
        added: last.mean() / before.mean() - 1.0,
        added_load: last.load / before.load - 1.0,
    })
}

/// The least work that a goal asks of the workload of a sweep.
fn asked(scenario: &Scenario, sweep: &Sweep) -> Option<(Quantity, String)> {
    let workloads = |plan: &str| -> Vec<&str> {
        let plans = scenario.plans.iter().filter(|known| known.name == plan);
        plans.flat_map(|plan| &plan.loads).map(|load| load.workload.name()).collect()
    };
    let mine = workloads(&sweep.plan);
    scenario.goals.iter().find_map(|goal| {
        let plan = goal.step.iter().find(|(key, _)| key == "plan").map(|(_, plan)| plan.as_str());
        let GoalTest::Metric { metric, bound: Bound::AtLeast, value } = &goal.test else {
            return None;
        };
        let figure = match (metric, value, sweep.unit) {
            (Metric::Iops, Value::Iops(iops), Unit::Iops) => *iops,
            (Metric::TotalRate, Value::Rate(rate), Unit::BytesPerS) => rate.0,
            _ => return None,
        };
        let same = goal.scope == Scope::Total && plan.is_none_or(|plan| workloads(plan) == mine);
        same.then(|| (Quantity { value: figure, unit: sweep.unit }, goal.name.clone()))
    })
}

/// What the axis counts.
fn counts(scenario: &Scenario, sweep: &Sweep) -> String {
    let plan = scenario.plans.iter().find(|plan| plan.name == sweep.plan);
    let on: Vec<&String> = plan.iter().flat_map(|p| &p.loads).flat_map(|load| &load.on).collect();
    let all = |names: &[&str]| !on.is_empty() && on.iter().all(|n| names.contains(&n.as_str()));
    let lab = &scenario.lab;
    let vms: Vec<&str> = lab.vms.iter().map(|vm| vm.name.as_str()).collect();
    let hosts: Vec<&str> = lab.hosts.iter().map(|host| host.name.as_str()).collect();
    let targets: Vec<&str> = lab.targets.iter().map(|target| target.name.as_str()).collect();
    match sweep::setting(&sweep.axis) {
        "members" if all(&vms) => "VM".to_owned(),
        "members" if all(&hosts) => "host".to_owned(),
        "members" if all(&targets) => "target".to_owned(),
        "members" => "member".to_owned(),
        "workers" => "worker".to_owned(),
        _ => sweep.axis.clone(),
    }
}

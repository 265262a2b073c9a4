//! The axis `members` of sweeps and searches: whether every load that it concerns has so many.

use super::place;
use crate::datum::Decoded;
use crate::diagnostics::{Mistake, Sink};
use crate::model::{Axis, Plan, Setting};
use crate::search::Over;
use crate::settle::concerns;

/// The load with the fewest members among those of an axis, and how many it has.
pub(super) fn most_members<'p>(key: &str, plan: &'p Plan) -> Option<(usize, &'p str)> {
    let concerned = plan.loads.iter().filter(|load| concerns(key, load.workload.name()));
    concerned.map(|load| (load.on.len(), load.workload.name())).min()
}

/// Why so many cannot run; `None` where they can.
pub(super) fn too_many(key: &str, wanted: f64, plan: &Plan) -> Option<String> {
    // The load's targets may have been refused already.
    let (most, workload) = most_members(key, plan).filter(|(most, _)| *most > 0)?;
    let runs = if most == 1 { "runs on 1".to_owned() } else { format!("runs on {most}") };
    (wanted > most as f64)
        .then(|| format!("the load `{workload}` {runs}, so {wanted} are too many"))
}

/// Reports numbers of members that a load does not have, and what the first step would not prepare for later ones.
pub(super) fn check(plan: &Plan, record: &Decoded, sink: &mut Sink) {
    let sweep = record.record("sweep");
    for axis in plan.sweep.iter().filter(|axis| is_members(&axis.key)) {
        let at = sweep.map_or(record.at, |sweep| place(sweep, &axis.key));
        let largest = numbers(axis).max().unwrap_or(0);
        if let Some(problem) = too_many(&axis.key, f64::from(largest), plan) {
            sink.push(|| Mistake::new(at, format!("{}: {problem}", axis.key)));
        } else if plan.precondition && numbers(axis).next().is_some_and(|first| first < largest) {
            sink.push(|| {
                let message =
                    format!("{}: only targets of the first step are preconditioned", axis.key);
                Mistake::new(at, message).help(format!("start with the largest: {largest}"))
            });
        }
    }
    let searched = plan.search.as_ref().is_some_and(|search| search.range.over == Over::Members);
    if plan.precondition && searched {
        let message = "search over members: only targets of the first step are preconditioned, and it is the smallest";
        sink.push(|| Mistake::new(place(record, "search"), message));
    }
}

fn is_members(key: &str) -> bool {
    key.rsplit('.').next() == Some("members")
}

fn numbers(axis: &Axis) -> impl Iterator<Item = u32> + '_ {
    axis.values.iter().filter_map(|value| match value {
        Setting::Members(n) => Some(*n),
        _ => None,
    })
}

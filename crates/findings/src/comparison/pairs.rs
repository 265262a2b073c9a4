//! Which steps of two runs are asked the same: equal plan, and equal settings compared as quantities, in whatever order.

use crate::figures::{Loops, StepFigures, label};
use crate::select::same_value;
use serde::Serialize;

/// One point of a plan with its repetitions, in all records of a side.
#[derive(Clone, Debug)]
pub(super) struct PlanPoint<'a> {
    /// Record by record, in the order of each.
    pub steps: Vec<PointStep<'a>>,
}

/// One repetition of a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointStep<'a> {
    /// Its record, among those of its side.
    pub record: usize,
    pub figures: &'a StepFigures,
}

/// A point that the other run does not have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnpairedPoint {
    /// The run that has it, by its place on the command line, from 0.
    pub run: usize,
    /// What it is called.
    pub label: String,
    /// Its steps, by number from 0.
    pub steps: Vec<u32>,
}

impl<'a> PlanPoint<'a> {
    /// The points of a side, in the order of its first record.
    pub fn all(records: &[&'a [StepFigures]]) -> Vec<PlanPoint<'a>> {
        let mut points: Vec<PlanPoint<'a>> = Vec::new();
        let each = |(record, steps): (usize, &&'a [StepFigures])| {
            steps.iter().map(move |figures| PointStep { record, figures }).collect::<Vec<_>>()
        };
        for step in records.iter().enumerate().flat_map(each) {
            match points.iter_mut().find(|p| same(p.first(), step.figures)) {
                Some(point) => point.steps.push(step),
                None => points.push(PlanPoint { steps: vec![step] }),
            }
        }
        points
    }

    /// Its first step; a point has at least one.
    pub fn first(&self) -> &'a StepFigures {
        self.steps[0].figures
    }

    /// What it is called, without its repetitions.
    pub fn label(&self) -> String {
        label(&self.first().plan, &self.first().settings, 0)
    }

    /// Its steps, by number.
    pub fn numbers(&self) -> Vec<u32> {
        self.steps.iter().map(|s| s.figures.index).collect()
    }

    fn unpaired(&self, run: usize) -> UnpairedPoint {
        UnpairedPoint { run, label: self.label(), steps: self.numbers() }
    }
}

/// The points of two runs side by side, and those of either that the other lacks. Runs are numbered `0` and `run`.
pub(super) fn pair<'a>(
    a: Vec<PlanPoint<'a>>,
    b: Vec<PlanPoint<'a>>,
    run: usize,
) -> (Vec<[PlanPoint<'a>; 2]>, Vec<UnpairedPoint>) {
    let mut rest: Vec<Option<PlanPoint<'a>>> = b.into_iter().map(Some).collect();
    let (mut pairs, mut unpaired) = (Vec::new(), Vec::new());
    for point in a {
        let partner = rest
            .iter_mut()
            .find_map(|slot| slot.take_if(|other| same(point.first(), other.first())));
        match partner {
            Some(partner) => pairs.push([point, partner]),
            None => unpaired.push(point.unpaired(0)),
        }
    }
    unpaired.extend(rest.iter().flatten().map(|point| point.unpaired(run)));
    (pairs, unpaired)
}

/// What monitoring calls the windows in which latency was far above the usual: the second of one week is not that of another.
const INCIDENT: &str = "incident ";

fn same(a: &StepFigures, b: &StepFigures) -> bool {
    let incident = |(_, name): &(String, String)| name.starts_with(INCIDENT);
    if a.loops == Loops::Observed && a.index != b.index && a.settings.iter().any(incident) {
        return false;
    }
    let has = |settings: &[(String, String)], (key, value): &(String, String)| {
        settings.iter().any(|(k, v)| k == key && same_value(v, value))
    };
    a.plan == b.plan
        && a.settings.len() == b.settings.len()
        && a.settings.iter().all(|s| has(&b.settings, s))
}

//! Goals: met, failed or undecided, in every step that they select.
//!
//! A goal is judged cell by cell, a cell being one step and, where the goal asks for each, one VM or target. One failed
//! cell fails it; else one undecided cell leaves it undecided. A cell is undecided when something that it depends on is
//! missing, unless what was seen already breaks the bound for good: errors and the largest latency only grow.

use crate::figures::label;
use crate::quantity::{Quantity, Unit};
use crate::ratio::{RatioGoal, RatioSteps};
use crate::scope::{self, MetricReading};
use crate::select::selects;
use crate::step::StepData;
use record::{CounterId, Fact};
use scenario::{Bound, Goal, GoalTest, LatencyPoint, Metric, Scope, Step};
use serde::Serialize;

/// How a goal came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It held in every step that it selects.
    Met,
    /// Not determined.
    Undecided,
    /// It did not hold in at least one step.
    Failed,
}

/// A goal with its outcome and the numbers that decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GoalOutcome {
    /// As the scenario shows it.
    pub name: String,
    /// Met, failed or undecided.
    pub status: Status,
    /// What was required, where it could be worked out.
    pub required: Option<Quantity>,
    /// What was observed in the deciding step.
    pub observed: Option<Quantity>,
    /// The deciding step: the worst of those that share the outcome.
    pub step: Option<String>,
    /// Its number.
    pub step_index: Option<u32>,
    /// The deciding VM or target, where the goal asks for each.
    pub member: Option<String>,
    /// Cells that were judged: steps times members.
    pub cells: usize,
    /// Cells that failed or are undecided.
    pub cells_not_met: usize,
    /// Why, in words.
    pub reason: String,
}

/// Judges a goal step by step.
pub(crate) struct GoalJudge<'a> {
    goal: &'a Goal,
    facts: &'a [Fact],
    cells: Vec<GoalCell>,
    /// Of a goal that asks for a ratio, the steps of both sides.
    sides: RatioSteps,
}

/// The judgement of one step, for one member.
pub(crate) struct GoalCell {
    pub status: Status,
    pub step: String,
    pub index: u32,
    pub member: Option<String>,
    /// The bound: a share of the wire is another figure where a step's port has another speed.
    pub required: Option<Quantity>,
    pub observed: Option<Quantity>,
    /// Distance from the bound, relative to it; negative where it is broken.
    pub margin: f64,
    pub reason: String,
}

impl<'a> GoalJudge<'a> {
    /// Begins with a goal and the record's facts.
    pub fn new(goal: &'a Goal, facts: &'a [Fact]) -> GoalJudge<'a> {
        GoalJudge { goal, facts, cells: Vec::new(), sides: RatioSteps::default() }
    }

    /// Judges a step, if the goal selects it. Where clocks of agents disagree by more than the run allows, nothing is decided:
    /// what they report as the same second is not.
    pub fn see(&mut self, step: &StepData) {
        let (before, skew) = (self.cells.len(), self.skew(step));
        if skew.is_some() && self.ratio().is_some() {
            return;
        }
        self.see_whole(step);
        for cell in self.cells.iter_mut().skip(before) {
            if let Some(why) = &skew {
                (cell.status, cell.margin, cell.reason) = (Status::Undecided, 0.0, why.clone());
            }
        }
    }

    /// Why the clocks of a step's agents agree too little, if they do.
    fn skew(&self, step: &StepData) -> Option<String> {
        let allowed =
            self.facts.iter().find(|f| f.subject == "run" && f.key == "skew-threshold-ns")?;
        let allowed: f64 = allowed.value.parse().ok()?;
        let bounds =
            step.counters.iter().filter(|(_, c)| c.kind.id() == Some(CounterId::ClockBound));
        let (name, most) = bounds
            .map(|(name, counter)| (name, counter.value))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, most)| *most > allowed)?;
        Some(format!(
            "the clock of {name} is known within {:.1} ms, and {:.1} ms are allowed",
            most / 1e6,
            allowed / 1e6
        ))
    }

    fn see_whole(&mut self, step: &StepData) {
        let head = &step.head;
        if let Some(asked) = self.ratio() {
            return self.sides.see(self.place(), &asked, step);
        }
        if !selects(&self.goal.step, &head.plan, &head.settings) {
            return;
        }
        match &self.goal.test {
            GoalTest::Balance { within } => self.see_balance(step, *within),
            GoalTest::Ratio { .. } => {}
            GoalTest::Metric { metric, bound, value } => {
                let wire = scope::wire(step, &self.goal.scope, metric, self.facts);
                let required = scope::target(value, metric, &self.goal.scope, &wire);
                for reading in scope::read(step, &self.goal.scope, metric) {
                    let (status, margin, reason) = match &required {
                        Ok(value) => judge(&reading, metric, *bound, *value),
                        Err(why) => (Status::Undecided, 0.0, why.clone()),
                    };
                    let unit = Unit::of(metric);
                    let observed = reading.value.map(|value| Quantity { value, unit });
                    self.cells.push(GoalCell {
                        status,
                        margin,
                        reason,
                        member: reading.member,
                        required: required.as_ref().ok().map(|v| Quantity { value: *v, unit }),
                        observed,
                        step: label(&head.plan, &head.settings, head.repetition),
                        index: head.index,
                    });
                }
            }
        }
    }

    /// Its figure and its steps.
    fn place(&self) -> (&'a Scope, &'a [(String, String)]) {
        (&self.goal.scope, &self.goal.step)
    }

    /// The ratio that the goal asks for, if it asks for one.
    fn ratio(&self) -> Option<RatioGoal<'a>> {
        match &self.goal.test {
            GoalTest::Ratio { metric, to, is, within } => {
                Some(RatioGoal { metric, to, elsewhere: None, is: *is, within: *within })
            }
            _ => None,
        }
    }

    fn see_balance(&mut self, step: &StepData, within: f64) {
        let (found, missing) = scope::imbalance(step, &self.goal.scope);
        let observed = found.as_ref().map(|(_, percent)| *percent);
        let (status, margin, reason) = match (missing, observed) {
            (Some(why), _) => (Status::Undecided, 0.0, why),
            (None, None) => (Status::Undecided, 0.0, "nothing was moved".to_owned()),
            // Binary fractions: 5% must hold for figures that are 5% apart in decimal.
            (None, Some(off)) if off <= within * (1.0 + 1e-9) => {
                (Status::Met, within - off, String::new())
            }
            (None, Some(off)) => (Status::Failed, within - off, "shares differ by more".to_owned()),
        };
        self.cells.push(GoalCell {
            status,
            margin,
            reason,
            member: found.map(|(name, _)| name),
            required: Some(Quantity { value: within, unit: Unit::Percent }),
            observed: observed.map(|value| Quantity { value, unit: Unit::Percent }),
            step: label(&step.head.plan, &step.head.settings, step.head.repetition),
            index: step.head.index,
        });
    }

    /// Notes a step of the plan that the record does not hold.
    pub fn missed(&mut self, step: &Step) {
        if let Some(asked) = self.ratio() {
            return self.sides.missed(self.place(), &asked, step);
        }
        if selects(&self.goal.step, &step.plan, &step.settings) {
            self.cells.push(GoalCell {
                status: Status::Undecided,
                step: label(&step.plan, &step.settings, step.repetition),
                index: step.index,
                member: None,
                required: None,
                observed: None,
                margin: 0.0,
                reason: "the step was not run".to_owned(),
            });
        }
    }

    /// The bound of any step, where the deciding one was not run.
    fn bound(&self) -> Option<Quantity> {
        self.cells.iter().find_map(|c| c.required)
    }

    /// The outcome over all steps seen.
    pub fn finish(mut self) -> GoalOutcome {
        if let Some(asked) = self.ratio() {
            self.cells = self.sides.cells(&asked);
        }
        let has = |s: Status| self.cells.iter().any(|c| c.status == s);
        let status = match () {
            () if has(Status::Failed) => Status::Failed,
            () if has(Status::Undecided) || self.cells.is_empty() => Status::Undecided,
            () => Status::Met,
        };
        let deciding = || self.cells.iter().filter(|c| c.status == status);
        let worst = deciding().min_by(|a, b| a.margin.total_cmp(&b.margin));
        let reason = match worst {
            Some(cell) => cell.reason.clone(),
            None => "it selects no step of this run".to_owned(),
        };
        GoalOutcome {
            name: self.goal.name.clone(),
            status,
            required: worst.and_then(|c| c.required).or_else(|| self.bound()),
            observed: worst.and_then(|c| c.observed),
            step: worst.map(|c| c.step.clone()),
            step_index: worst.map(|c| c.index),
            member: worst.and_then(|c| c.member.clone()),
            cells: self.cells.len(),
            cells_not_met: self.cells.iter().filter(|c| c.status != Status::Met).count(),
            reason,
        }
    }
}

/// Judges one reading against a bound: the outcome, the margin, and why where it is not plainly met.
fn judge(
    reading: &MetricReading,
    metric: &Metric,
    bound: Bound,
    required: f64,
) -> (Status, f64, String) {
    let undecided = |why: &str| (Status::Undecided, 0.0, why.to_owned());
    let Some(observed) = reading.value else {
        return undecided(&reading.lack());
    };
    let distance = match bound {
        Bound::AtLeast => observed - required,
        Bound::AtMost => required - observed,
    };
    let margin = if required == 0.0 { distance } else { distance / required };
    if let Some(why) = &reading.missing {
        return if bound == Bound::AtMost && only_grows(metric) && distance < 0.0 {
            (Status::Failed, margin, format!("already, although {why}"))
        } else {
            undecided(why)
        };
    }
    if reading.attempts == Some(0) && bound == Bound::AtMost {
        return undecided("no operation was completed, so nothing was shown");
    }
    match distance {
        d if d >= 0.0 => (Status::Met, margin, String::new()),
        _ if bound == Bound::AtLeast => (Status::Failed, margin, "less than required".to_owned()),
        _ => (Status::Failed, margin, "more than allowed".to_owned()),
    }
}

/// Metrics that missing data could only make larger.
fn only_grows(metric: &Metric) -> bool {
    matches!(metric, Metric::Errors | Metric::Latency { point: LatencyPoint::Max, .. })
}

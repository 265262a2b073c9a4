//! Ratios of goals and of published claims: what a step does over what the step does that differs from it
//! in some settings alone, in the plan, or in the hop that is looked at.
//!
//! Both are gathered step by step and compared at the end, repetition by repetition. Without a counterpart: undecided.

use crate::claims::span::FigureBounds;
use crate::figures::label;
use crate::goals::{GoalCell, Status};
use crate::quantity::{Quantity, Unit};
use crate::scope::{self, MetricReading};
use crate::select::{same_key, same_value, selects};
use crate::step::StepData;
use scenario::{Metric, Scope, Step};

type RatioSettings = Vec<(String, String)>;
/// The figure of a ratio, and the settings of its steps.
type RatioPart<'a> = (&'a Scope, &'a [(String, String)]);

/// What a goal asks for.
pub(crate) struct RatioGoal<'a> {
    pub metric: &'a Metric,
    /// What differs in the other step; nothing where it is the same one.
    pub to: &'a [(String, String)],
    /// What is looked at in the other step, where that is something else.
    pub elsewhere: Option<&'a Scope>,
    /// How many times as much.
    pub is: f64,
    /// How far from that, in percent of it.
    pub within: f64,
}

/// The steps of both sides.
#[derive(Default)]
pub(crate) struct RatioSteps {
    over: Vec<Operand>,
    under: Vec<Operand>,
}

/// One step, for one member of the scope.
struct Operand {
    /// What both sides have in common: the plan, unless it differs, the other settings and the repetition.
    plan: Option<String>,
    settings: RatioSettings,
    repetition: u32,
    label: String,
    /// The same without the repetition.
    name: String,
    index: u32,
    member: Option<String>,
    /// Why there is no value, where there is none.
    figure: Result<BoundedValue, String>,
}

/// A value with its interval of confidence.
pub(crate) type BoundedValue = (f64, Option<FigureBounds>);

/// One reading of a step, of the member that it is of.
type MemberReading = (Option<String>, Result<BoundedValue, String>);

/// A step with its ratio, or why there is none.
pub(crate) struct Ratio {
    /// The step's name without the repetition.
    pub step: String,
    pub member: Option<String>,
    pub figure: Result<BoundedValue, String>,
}

impl Operand {
    /// Whether this is what another step is held against: what it has of the other's settings is the same.
    fn is_beside(&self, over: &Operand) -> bool {
        let same = |(key, value): &(String, String)| {
            over.settings.iter().find(|(k, _)| k == key).is_none_or(|(_, v)| same_value(v, value))
        };
        self.plan == over.plan && self.member == over.member && self.settings.iter().all(same)
    }
}

impl RatioSteps {
    /// Takes in a step, on the sides that it is of.
    pub fn see(&mut self, of: RatioPart<'_>, asked: &RatioGoal<'_>, step: &StepData) {
        let head = &step.head;
        let read = |scope: &Scope| -> Vec<MemberReading> {
            scope::read(step, scope, asked.metric).into_iter().map(outcome).collect()
        };
        let place = (head.plan.as_str(), head.settings.as_slice(), head.repetition, head.index);
        self.add(of, asked, place, read);
    }

    /// Notes a step that was not run.
    pub fn missed(&mut self, of: RatioPart<'_>, asked: &RatioGoal<'_>, step: &Step) {
        let read = |_: &Scope| -> Vec<MemberReading> {
            vec![(None, Err("the step was not run".to_owned()))]
        };
        let place = (step.plan.as_str(), step.settings.as_slice(), step.repetition, step.index);
        self.add(of, asked, place, read);
    }

    fn add(
        &mut self,
        (scope, wanted): RatioPart<'_>,
        asked: &RatioGoal<'_>,
        (plan, settings, repetition, index): (&str, &[(String, String)], u32, u32),
        read: impl Fn(&Scope) -> Vec<MemberReading>,
    ) {
        let differs =
            |key: &str| asked.to.iter().any(|(k, _)| same_key(key, k) || same_key(k, key));
        let rest: RatioSettings =
            settings.iter().filter(|(key, _)| !differs(key)).cloned().collect();
        let side = |(member, figure)| Operand {
            plan: (!differs("plan")).then(|| plan.to_owned()),
            settings: rest.clone(),
            repetition,
            label: label(plan, settings, repetition),
            name: label(plan, settings, 0),
            index,
            member,
            figure,
        };
        // The other step is asked for all that this one is, but for what differs; of another plan, for what that settles.
        let settles = |key: &str| settings.iter().any(|(k, _)| same_key(k, key));
        let is_asked = |key: &str| !differs(key) && (!differs("plan") || settles(key));
        let kept = wanted.iter().filter(|(key, _)| is_asked(key));
        let other: RatioSettings = kept.chain(asked.to).cloned().collect();
        if selects(wanted, plan, settings) {
            self.over.extend(read(scope).into_iter().map(side));
        }
        if selects(&other, plan, settings) {
            self.under.extend(read(asked.elsewhere.unwrap_or(scope)).into_iter().map(side));
        }
    }

    /// A cell for each step that the goal selects. A step that it is held against is no cell of its own.
    pub fn cells(&self, asked: &RatioGoal<'_>) -> Vec<GoalCell> {
        let over = self.over.iter().filter(|over| !self.is_other(over, asked));
        over.map(|over| self.cell(over, asked)).collect()
    }

    /// Each step with its ratio.
    pub fn ratios(&self, asked: &RatioGoal<'_>) -> Vec<Ratio> {
        let over = self.over.iter().filter(|over| !self.is_other(over, asked));
        let ratio = |over: &Operand| {
            let (step, member) = (over.name.clone(), over.member.clone());
            Ratio { step, member, figure: self.ratio(over) }
        };
        over.map(ratio).collect()
    }

    fn ratio(&self, over: &Operand) -> Result<BoundedValue, String> {
        let beside: Vec<&Operand> =
            self.under.iter().filter(|under| under.is_beside(over)).collect();
        // What was run once only is held against every repetition.
        let again = beside.iter().any(|under| under.repetition == over.repetition);
        let repetition = if again { over.repetition } else { 0 };
        let mut under = beside.iter().filter(|under| under.repetition == repetition);
        match (&over.figure, under.next(), under.next()) {
            (Err(why), ..) => Err(why.clone()),
            (_, None, _) => Err("the step that it is held against was not run".to_owned()),
            (_, Some(one), Some(other)) => Err(format!(
                "it could be held against {} or {}; say in `to` which",
                one.name, other.name
            )),
            (_, Some(Operand { figure: Err(why), .. }), None) => Err(why.clone()),
            (Ok(more), Some(Operand { figure: Ok(less), .. }), None) => over_of(*more, *less),
        }
    }

    /// Whether a step is there to be held against: where a goal selects all steps, both sides are among them.
    fn is_other(&self, over: &Operand, asked: &RatioGoal<'_>) -> bool {
        !asked.to.is_empty() && self.under.iter().any(|under| under.index == over.index)
    }

    fn cell(&self, over: &Operand, asked: &RatioGoal<'_>) -> GoalCell {
        let mut cell = GoalCell {
            status: Status::Undecided,
            step: over.label.clone(),
            index: over.index,
            member: over.member.clone(),
            required: Some(Quantity { value: asked.is, unit: Unit::Times }),
            observed: None,
            margin: 0.0,
            reason: String::new(),
        };
        match self.ratio(over) {
            Ok((ratio, _)) => judge(&mut cell, ratio, asked),
            Err(why) => cell.reason = why,
        }
        cell
    }
}

fn judge(cell: &mut GoalCell, ratio: f64, asked: &RatioGoal<'_>) {
    let off = (ratio - asked.is).abs() / asked.is.max(f64::MIN_POSITIVE) * 100.0;
    cell.observed = Some(Quantity { value: ratio, unit: Unit::Times });
    cell.margin = asked.within - off;
    // Binary fractions: 5% must hold for figures that are 5% apart in decimal.
    if off <= asked.within * (1.0 + 1e-9) {
        cell.status = Status::Met;
    } else {
        cell.status = Status::Failed;
        cell.reason = format!("{} away from that", units::percent((off * 10.0).round() / 10.0));
    }
}

/// A ratio with its interval.
fn over_of(more: BoundedValue, less: BoundedValue) -> Result<BoundedValue, String> {
    if less.0 <= 0.0 {
        return Err("the step that it is held against did nothing".to_owned());
    }
    let span = if more.0 > 0.0 { FigureBounds::of_ratio(more, less) } else { None };
    Ok((more.0 / less.0, span))
}

/// A reading as far as it is the whole truth.
fn outcome(reading: MetricReading) -> MemberReading {
    let figure = match reading.value {
        Some(value) if reading.missing.is_none() => Ok((value, reading.interval)),
        _ => Err(reading.lack()),
    };
    (reading.member, figure)
}

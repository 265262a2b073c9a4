//! Ratios that a goal asks for, or that somebody published: what a step does over what the step does that differs from it in some settings alone.
//!
//! Both are gathered while the steps go by and held against each other at the end, repetition by repetition. What has
//! nothing to be held against is undecided.

use crate::figures::label;
use crate::goals::{Cell, Status};
use crate::quantity::{Quantity, Unit};
use crate::scope::{self, Reading};
use crate::select::{same_key, selects};
use crate::step::StepData;
use scenario::{Metric, Scope, Step};

type Settings = Vec<(String, String)>;
/// What a ratio speaks of, and the settings of the steps that it is about.
type Of<'a> = (&'a Scope, &'a [(String, String)]);

/// What a goal asks for.
pub(crate) struct Asked<'a> {
    pub metric: &'a Metric,
    /// What differs in the other step.
    pub to: &'a [(String, String)],
    /// How many times as much.
    pub is: f64,
    /// How far from that, in percent of it.
    pub within: f64,
}

/// The steps of both sides.
#[derive(Default)]
pub(crate) struct Sides {
    over: Vec<Side>,
    under: Vec<Side>,
}

/// One step, for one member of the scope.
struct Side {
    /// What both sides have in common: the plan, the other settings and the repetition.
    key: (String, Settings, u32),
    label: String,
    /// The same without the repetition.
    name: String,
    index: u32,
    /// Why there is no value, where there is none.
    reading: Result<(Option<String>, f64), (Option<String>, String)>,
}

impl Side {
    fn member(&self) -> Option<&String> {
        match &self.reading {
            Ok((member, _)) | Err((member, _)) => member.as_ref(),
        }
    }
}

impl Sides {
    /// Takes in a step, on the sides that it is of.
    pub fn see(&mut self, of: Of<'_>, asked: &Asked<'_>, step: &StepData) {
        let head = &step.head;
        let readings = || scope::read(step, of.0, asked.metric).into_iter().map(outcome);
        let place = (head.plan.as_str(), head.settings.as_slice(), head.repetition, head.index);
        self.add(of.1, asked, place, readings);
    }

    /// Notes a step that was not run.
    pub fn missed(&mut self, of: Of<'_>, asked: &Asked<'_>, step: &Step) {
        let reading = || [Err((None, "the step was not run".to_owned()))].into_iter();
        let place = (step.plan.as_str(), step.settings.as_slice(), step.repetition, step.index);
        self.add(of.1, asked, place, reading);
    }

    fn add<I>(
        &mut self,
        wanted: &[(String, String)],
        asked: &Asked<'_>,
        (plan, settings, repetition, index): (&str, &[(String, String)], u32, u32),
        readings: impl Fn() -> I,
    ) where
        I: Iterator<Item = Result<(Option<String>, f64), (Option<String>, String)>>,
    {
        let differs =
            |key: &str| asked.to.iter().any(|(k, _)| same_key(key, k) || same_key(k, key));
        let rest: Settings = settings.iter().filter(|(key, _)| !differs(key)).cloned().collect();
        let side = |reading| Side {
            key: (plan.to_owned(), rest.clone(), repetition),
            label: label(plan, settings, repetition),
            name: label(plan, settings, 0),
            index,
            reading,
        };
        // The other step is asked for all that this one is, but for what differs.
        let kept = wanted.iter().filter(|(key, _)| !differs(key));
        let other: Settings = kept.chain(asked.to).cloned().collect();
        if selects(wanted, plan, settings) {
            self.over.extend(readings().map(side));
        }
        if selects(&other, plan, settings) {
            self.under.extend(readings().map(side));
        }
    }

    /// A cell for each step that the goal selects. A step that it is held against is no cell of its own.
    pub fn cells(&self, asked: &Asked<'_>) -> Vec<Cell> {
        let over = self.over.iter().filter(|over| !self.is_other(over));
        over.map(|over| self.cell(over, asked)).collect()
    }

    /// Each step with its ratio, or why there is none: its name without the repetition, and the member.
    pub fn ratios(&self) -> Vec<(String, Option<String>, Result<f64, String>)> {
        let over = self.over.iter().filter(|over| !self.is_other(over));
        over.map(|over| (over.name.clone(), over.member().cloned(), self.ratio(over))).collect()
    }

    fn ratio(&self, over: &Side) -> Result<f64, String> {
        let same = |under: &&Side| under.key == over.key && under.member() == over.member();
        let under = self.under.iter().find(same).map(|under| &under.reading);
        match (&over.reading, under) {
            (Err((_, why)), _) | (_, Some(Err((_, why)))) => Err(why.clone()),
            (_, None) => Err("the step that it is held against was not run".to_owned()),
            (_, Some(Ok((_, less)))) if *less <= 0.0 => {
                Err("the step that it is held against did nothing".to_owned())
            }
            (Ok((_, more)), Some(Ok((_, less)))) => Ok(more / less),
        }
    }

    /// Whether a step is there to be held against: where a goal selects all steps, both sides are among them.
    fn is_other(&self, over: &Side) -> bool {
        self.under.iter().any(|under| under.index == over.index)
    }

    fn cell(&self, over: &Side, asked: &Asked<'_>) -> Cell {
        let mut cell = Cell {
            status: Status::Undecided,
            step: over.label.clone(),
            index: over.index,
            member: over.member().cloned(),
            required: Some(Quantity { value: asked.is, unit: Unit::Times }),
            observed: None,
            margin: 0.0,
            reason: String::new(),
        };
        match self.ratio(over) {
            Ok(ratio) => judge(&mut cell, ratio, asked),
            Err(why) => cell.reason = why,
        }
        cell
    }
}

fn judge(cell: &mut Cell, ratio: f64, asked: &Asked<'_>) {
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

/// A reading as far as it is the whole truth.
fn outcome(reading: Reading) -> Result<(Option<String>, f64), (Option<String>, String)> {
    match reading.value {
        Some(value) if reading.missing.is_none() => Ok((reading.member, value)),
        _ => {
            let why = reading.lack();
            Err((reading.member, why))
        }
    }
}

//! Claims: what somebody published beside what this record shows. For comparison only: a claim never changes the exit
//! code. Calibration and context prove nothing when they come back, so they are shown and not scored.
//!
//! A claim is scored under every reading that its source allows, and undecided where the readings differ.

use crate::figures::label;
use crate::pool::latency_point;
use crate::quantity::{Quantity, Unit};
use crate::ratio::{Asked, Sides};
use crate::rounding::allowance;
use crate::scope;
use crate::select::selects;
use crate::step::StepData;
use record::{Fact, Tally};
use scenario::{Claim, ClaimKind, Metric, Relation, Step, Value};
use schemars::JsonSchema;
use serde::Serialize;

/// How a claim came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// It came back under every reading.
    Met,
    /// It did not under any.
    Missed,
    /// Readings differ, or something is missing.
    Undecided,
    /// A figure that set a parameter: it proves nothing.
    Calibration,
    /// Said, but not testable.
    Context,
}

/// A claim with both figures.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ClaimOutcome {
    /// As the scenario shows it.
    pub name: String,
    /// How it came out.
    pub score: Score,
    /// How the source qualified the figure.
    pub relation: &'static str,
    /// What this record shows, in the step that is furthest from the claim.
    pub ours: Option<Quantity>,
    /// That step.
    pub step: Option<String>,
    /// The VM or target, where the claim is about each.
    pub member: Option<String>,
    /// The published figure under every reading.
    pub readings: Vec<ReadingOutcome>,
    /// Where it was published, when not the scenario's source.
    pub source: Option<String>,
    /// Why it is undecided; empty otherwise.
    pub reason: String,
}

/// A claim under one reading.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ReadingOutcome {
    /// The published figure.
    pub published: Quantity,
    /// (ours − published) / published, in percent; `None` where there is nothing to compare.
    pub error_percent: Option<f64>,
    /// The allowance for rounding, in percent.
    pub allowance_percent: f64,
    /// Whether ours agrees.
    pub agrees: Option<bool>,
}

/// A claim while the steps go by.
pub(crate) struct Compare<'a> {
    claim: &'a Claim,
    facts: &'a [Fact],
    /// Repetitions of equal settings are one cell.
    cells: Vec<Cell>,
    missing: Option<String>,
    /// Of a claim that is a ratio, the steps of both sides.
    sides: Sides,
}

struct Cell {
    step: String,
    member: Option<String>,
    /// What the wire carries in this step, where the claim speaks of a hop.
    wire: Result<f64, String>,
    values: Vec<f64>,
    tally: Option<Tally>,
}

impl<'a> Compare<'a> {
    /// Begins with a claim and the record's facts.
    pub fn new(claim: &'a Claim, facts: &'a [Fact]) -> Compare<'a> {
        Compare { claim, facts, cells: Vec::new(), missing: None, sides: Sides::default() }
    }

    /// The ratio that was published, if it is one.
    fn ratio(&self) -> Option<Asked<'a>> {
        let Claim { metric, to, .. } = self.claim;
        (!to.is_empty()).then_some(Asked { metric, to, is: 0.0, within: 0.0 })
    }

    /// What is shown of it is counted in this.
    fn unit(&self) -> Unit {
        if self.claim.to.is_empty() { Unit::of(&self.claim.metric) } else { Unit::Times }
    }

    /// Takes in a step, if the claim selects it.
    pub fn see(&mut self, step: &StepData) {
        let head = &step.head;
        if let Some(asked) = self.ratio() {
            let of = (&self.claim.scope, &self.claim.step[..]);
            return self.sides.see(of, &asked, step);
        }
        if !selects(&self.claim.step, &head.plan, &head.settings) {
            return;
        }
        // Without the repetition: repetitions are taken together.
        let name = label(&head.plan, &head.settings, 0);
        let wire = scope::wire(step, &self.claim.scope, &self.claim.metric, self.facts);
        for reading in scope::read(step, &self.claim.scope, &self.claim.metric) {
            let nothing = reading.value.is_none().then(|| reading.lack());
            let cell = match self
                .cells
                .iter_mut()
                .find(|c| c.step == name && c.member == reading.member)
            {
                Some(cell) => cell,
                None => {
                    let (values, tally) = (Vec::new(), None);
                    self.cells.push(Cell {
                        step: name.clone(),
                        member: reading.member,
                        wire: wire.clone(),
                        values,
                        tally,
                    });
                    self.cells.last_mut().expect("just pushed")
                }
            };
            cell.values.extend(reading.value);
            match (&mut cell.tally, reading.tally) {
                (Some(mine), Some(theirs)) => mine.merge(&theirs),
                (mine, theirs) => *mine = theirs,
            }
            self.missing = self.missing.take().or(reading.missing).or(nothing);
        }
    }

    /// Notes a step of the plan that the record does not hold.
    pub fn missed(&mut self, step: &Step) {
        if let Some(asked) = self.ratio() {
            let of = (&self.claim.scope, &self.claim.step[..]);
            return self.sides.missed(of, &asked, step);
        }
        if self.missing.is_none() && selects(&self.claim.step, &step.plan, &step.settings) {
            let name = label(&step.plan, &step.settings, step.repetition);
            self.missing = Some(format!("the step {name} was not run"));
        }
    }

    /// The outcome over all steps seen.
    pub fn finish(mut self) -> ClaimOutcome {
        self.take_ratios();
        let furthest = self
            .cells
            .iter()
            .filter_map(|c| Some((c, c.value(&self.claim.metric)?)))
            .max_by(|a, b| self.distance(a).total_cmp(&self.distance(b)));
        let mut reason = self.missing.clone().unwrap_or_default();
        let readings: Vec<ReadingOutcome> =
            self.claim.readings.iter().map(|r| self.compare(r, furthest, &mut reason)).collect();
        if self.cells.is_empty() && reason.is_empty() {
            reason = "it selects no step of this run".to_owned();
        }
        let score = score(self.claim.kind, &readings, &mut reason);
        ClaimOutcome {
            name: self.claim.name.clone(),
            score,
            relation: relation_word(self.claim.relation),
            ours: furthest.map(|(_, value)| Quantity { value, unit: self.unit() }),
            step: furthest.map(|(c, _)| c.step.clone()),
            member: furthest.and_then(|(c, _)| c.member.clone()),
            readings,
            source: self.claim.source.clone(),
            reason,
        }
    }

    /// How far a value is on the wrong side of the first reading.
    fn distance(&self, (cell, ours): &(&Cell, f64)) -> f64 {
        let first = self.claim.readings.first();
        let published = first.and_then(|r| self.target(r, &cell.wire).ok()).unwrap_or(0.0);
        match self.claim.relation {
            Relation::Equal | Relation::About => (ours - published).abs(),
            Relation::Over => published - ours,
            Relation::UpTo => ours - published,
        }
    }

    /// The ratios of both sides as cells, repetitions of equal settings taken together.
    fn take_ratios(&mut self) {
        for (step, member, ratio) in self.sides.ratios() {
            let same = |c: &&mut Cell| c.step == step && c.member == member;
            let cell = match self.cells.iter_mut().find(same) {
                Some(cell) => cell,
                None => {
                    let (wire, values, tally) = (Err(String::new()), Vec::new(), None);
                    self.cells.push(Cell { step, member, wire, values, tally });
                    self.cells.last_mut().expect("just pushed")
                }
            };
            match ratio {
                Ok(ratio) => cell.values.push(ratio),
                Err(why) => self.missing = self.missing.take().or(Some(why)),
            }
        }
    }

    fn target(&self, reading: &Value, wire: &Result<f64, String>) -> Result<f64, String> {
        let published = Quantity::from_value(reading);
        if published.unit == Unit::Times && self.unit() == Unit::Times {
            return Ok(published.value);
        }
        scope::target(reading, &self.claim.metric, &self.claim.scope, wire)
    }

    fn compare(
        &self,
        reading: &Value,
        furthest: Option<(&Cell, f64)>,
        reason: &mut String,
    ) -> ReadingOutcome {
        let allowance = allowance(reading, self.claim.relation);
        let mut outcome = ReadingOutcome {
            published: Quantity::from_value(reading),
            error_percent: None,
            allowance_percent: allowance * 100.0,
            agrees: None,
        };
        let none = Err("nothing was measured to hold it against".to_owned());
        let wire = furthest.map_or(&none, |(cell, _)| &cell.wire);
        let ours = furthest.map(|(_, value)| value);
        match (self.target(reading, wire), ours) {
            (Err(_), None) if !reason.is_empty() => {}
            (Err(why), _) => *reason = why,
            (Ok(_), None) => {}
            (Ok(published), Some(ours)) => {
                let error =
                    if published == 0.0 { None } else { Some((ours - published) / published) };
                outcome.error_percent = error.map(|e| e * 100.0);
                outcome.agrees = Some(agrees(self.claim.relation, error, ours, allowance));
            }
        }
        outcome
    }
}

impl Cell {
    /// The mean of the repetitions; a latency is read off their merged histogram instead.
    fn value(&self, metric: &Metric) -> Option<f64> {
        if let (Metric::Latency { point, response }, Some(tally)) = (metric, &self.tally) {
            return latency_point(tally, *point, *response);
        }
        let n = self.values.len();
        (n > 0).then(|| self.values.iter().sum::<f64>() / n as f64)
    }
}

/// Whether a relative error lies within what the relation allows. A published zero has no relative error: only zero
/// agrees with it, except that anything is over it.
fn agrees(relation: Relation, error: Option<f64>, ours: f64, allowance: f64) -> bool {
    // Binary fractions: figures that are at the edge in decimal agree.
    let edge = allowance + 1e-9;
    match (relation, error) {
        (Relation::Equal | Relation::About, Some(e)) => e.abs() <= edge,
        (Relation::Over, Some(e)) => e >= -1e-9,
        (Relation::UpTo, Some(e)) => e <= edge,
        (Relation::Over, None) => ours >= 0.0,
        (_, None) => ours == 0.0,
    }
}

fn score(kind: ClaimKind, readings: &[ReadingOutcome], reason: &mut String) -> Score {
    match kind {
        ClaimKind::Calibration => return Score::Calibration,
        ClaimKind::Context => return Score::Context,
        ClaimKind::HeldOut => {}
    }
    if !reason.is_empty() {
        return Score::Undecided;
    }
    let all = |wanted| readings.iter().all(|r| r.agrees == Some(wanted));
    match () {
        () if readings.is_empty() => Score::Undecided,
        () if all(true) => Score::Met,
        () if all(false) => Score::Missed,
        () => {
            *reason = "it agrees under one reading of its unit or meaning and not under another"
                .to_owned();
            Score::Undecided
        }
    }
}

fn relation_word(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "equal",
        Relation::About => "about",
        Relation::Over => "over",
        Relation::UpTo => "up to",
    }
}

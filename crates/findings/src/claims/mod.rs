//! Claims: published figures beside those of this record. For comparison only: a claim never changes the exit
//! code. Calibration and context prove nothing when they come back, so they are shown and not scored.
//!
//! A claim is scored under every reading that its source allows, and undecided where the readings differ. Where the record
//! has an interval of confidence of the figure, that interval is held against what the reading's rounding and its relation
//! allow: it agrees where they overlap. Without one the figure itself counts.

mod allowed;
mod outcome;
mod shape;
pub(crate) mod span;

pub use outcome::{
    ClaimOutcome, ClaimSummary, ClaimUse, Frames, PointOutcome, ReadingOutcome, Score, ShapeOutcome,
};

use crate::figures::label;
use crate::pool::latency_point;
use crate::quantity::{Quantity, Unit};
use crate::ratio::{BoundedValue, Ratio, RatioGoal, RatioSteps};
use crate::rounding::allowance;
use crate::scope::{self, MetricReading};
use crate::select::selects;
use crate::step::StepData;
use allowed::Allowed;
use record::{Completed, Fact};
use scenario::{Claim, ClaimKind, Metric, Relation, Scope, Step, Value};
use shape::{Curves, Shaped};
use span::FigureBounds;

/// How far a limit of a wire may be from the reading that the physics of frames supports, in percent.
const FRAMES_WITHIN: f64 = 2.0;

/// What makes a claim a calibration in this record: the fact `calibration` of the subject `claim/NAME`, which says why.
const FITTED: &str = "calibration";

/// Judges a claim step by step.
pub(crate) struct ClaimJudge<'a> {
    claim: &'a Claim,
    facts: &'a [Fact],
    /// Repetitions of equal settings are one cell.
    cells: Vec<ClaimCell>,
    missing: Option<String>,
    /// Of a claim that is a ratio, the steps of both sides, and what the other is looked at.
    sides: RatioSteps,
    elsewhere: Option<Scope>,
    /// Of a claim that is a shape.
    curves: Curves,
}

struct ClaimCell {
    step: String,
    member: Option<String>,
    /// The capacity of the wire in this step, where the claim is about a hop.
    wire: Result<f64, String>,
    values: Vec<BoundedValue>,
    tally: Option<Completed>,
}

impl<'a> ClaimJudge<'a> {
    /// Begins with a claim and the record's facts.
    pub fn new(claim: &'a Claim, facts: &'a [Fact]) -> ClaimJudge<'a> {
        let elsewhere = claim.to_hop.clone().map(Scope::Hop);
        let (sides, curves) = (RatioSteps::default(), Curves::default());
        ClaimJudge { claim, facts, cells: Vec::new(), missing: None, sides, elsewhere, curves }
    }

    /// Takes in a step, if the claim selects it.
    pub fn see(&mut self, step: &StepData) {
        let (head, claim) = (&step.head, self.claim);
        if let Some(shape) = &claim.shape {
            return self.curves.see(claim, shape, step);
        }
        if claim.is_ratio() {
            let asked = asked(claim, self.elsewhere.as_ref());
            return self.sides.see((&claim.scope, &claim.step), &asked, step);
        }
        if !selects(&claim.step, &head.plan, &head.settings) {
            return;
        }
        // Without the repetition: repetitions are taken together.
        let name = label(&head.plan, &head.settings, 0);
        let wire = scope::wire(step, &claim.scope, &claim.metric, self.facts);
        for reading in scope::read(step, &claim.scope, &claim.metric) {
            self.take(&name, &wire, reading);
        }
    }

    fn take(&mut self, step: &str, wire: &Result<f64, String>, reading: MetricReading) {
        let nothing = reading.value.is_none().then(|| reading.lack());
        let cell = self.cell(step, reading.member, wire);
        cell.values.extend(reading.value.map(|value| (value, reading.interval)));
        match (&mut cell.tally, reading.tally) {
            (Some(mine), Some(theirs)) => mine.merge(&theirs),
            (mine, theirs) => *mine = theirs,
        }
        self.missing = self.missing.take().or(reading.missing).or(nothing);
    }

    fn cell(
        &mut self,
        step: &str,
        member: Option<String>,
        wire: &Result<f64, String>,
    ) -> &mut ClaimCell {
        let found = self.cells.iter().position(|c| c.step == step && c.member == member);
        let at = found.unwrap_or_else(|| {
            let (values, tally) = (Vec::new(), None);
            self.cells.push(ClaimCell {
                step: step.to_owned(),
                member,
                wire: wire.clone(),
                values,
                tally,
            });
            self.cells.len() - 1
        });
        &mut self.cells[at]
    }

    /// Notes a step of the plan that the record does not hold.
    pub fn missed(&mut self, step: &Step) {
        let claim = self.claim;
        if let Some(shape) = &claim.shape {
            return self.curves.missed(claim, shape, step);
        }
        if claim.is_ratio() {
            let asked = asked(claim, self.elsewhere.as_ref());
            return self.sides.missed((&claim.scope, &claim.step), &asked, step);
        }
        if self.missing.is_none() && selects(&claim.step, &step.plan, &step.settings) {
            let name = label(&step.plan, &step.settings, step.repetition);
            self.missing = Some(format!("the step {name} was not run"));
        }
    }

    /// The outcome over all steps seen.
    pub fn finish(mut self) -> ClaimOutcome {
        if let Some(shape) = &self.claim.shape {
            let curves = std::mem::take(&mut self.curves);
            return self.shaped(curves.finish(shape, Unit::of(&self.claim.metric)));
        }
        self.take_ratios();
        let mut reason = self.missing.clone().unwrap_or_default();
        let figures: Vec<(&ClaimCell, BoundedValue)> = self
            .cells
            .iter()
            .filter_map(|cell| Some((cell, cell.figure(&self.claim.metric)?)))
            .collect();
        // What misses by most; of those that do not, the figure that is furthest.
        let furthest = figures.iter().max_by(|a, b| {
            let (a, b) = (self.distance(a), self.distance(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let readings: Vec<ReadingOutcome> = self
            .claim
            .readings
            .iter()
            .map(|reading| self.compare(reading, &figures, furthest, &mut reason))
            .collect();
        if self.cells.is_empty() && reason.is_empty() {
            reason = "it selects no step of this run".to_owned();
        }
        let quantity = |value| Quantity { value, unit: self.unit() };
        let outcome = ClaimOutcome {
            ours: furthest.map(|(_, (value, _))| quantity(*value)),
            interval: furthest
                .and_then(|(_, (_, span))| *span)
                .map(|span| (quantity(span.low), quantity(span.high))),
            step: furthest.map(|(cell, _)| cell.step.clone()),
            member: furthest.and_then(|(cell, _)| cell.member.clone()),
            frames: self.claim.frames.as_ref().map(|reading| self.frames(reading, &figures)),
            readings,
            reason,
            ..self.bare()
        };
        self.scored(outcome)
    }

    /// A shape's outcome.
    fn shaped(&self, shaped: Shaped) -> ClaimOutcome {
        let Shaped { outcome, agrees, step, member, reason } = shaped;
        let score = match agrees {
            Some(true) => Score::Met,
            Some(false) => Score::Missed,
            None => Score::Undecided,
        };
        let shape = Some(outcome);
        let (score, because) = self.kept(score);
        ClaimOutcome { score, because, step, member, shape, reason, ..self.bare() }
    }

    /// What is known of it without any step.
    fn bare(&self) -> ClaimOutcome {
        let claim = self.claim;
        ClaimOutcome {
            name: claim.name.clone(),
            score: Score::Undecided,
            kind: claim.kind.into(),
            relation: relation_word(claim.relation),
            metric: claim.metric.to_string(),
            ours: None,
            interval: None,
            step: None,
            member: None,
            readings: Vec::new(),
            frames: None,
            shape: None,
            twin_of: claim.twin_of.clone(),
            note: claim.note.clone(),
            because: None,
            source: claim.source.clone(),
            reason: String::new(),
        }
    }

    /// The same with what it comes to.
    fn scored(&self, mut outcome: ClaimOutcome) -> ClaimOutcome {
        let all = |wanted| outcome.readings.iter().all(|r| r.agrees == Some(wanted));
        let score = match () {
            () if !outcome.reason.is_empty() || outcome.readings.is_empty() => Score::Undecided,
            () if all(true) => Score::Met,
            () if all(false) => Score::Missed,
            () => Score::Undecided,
        };
        let (score, because) = self.kept(score);
        if score == Score::Undecided && outcome.reason.is_empty() {
            outcome.reason =
                "it agrees under one reading of its unit or meaning and not under another".into();
        }
        ClaimOutcome { score, because, ..outcome }
    }

    /// What a score is worth: calibration and context prove nothing, and neither does a claim that the record calls
    /// calibration, with the reason.
    fn kept(&self, score: Score) -> (Score, Option<String>) {
        match self.claim.kind {
            ClaimKind::Calibration => (Score::Calibration, None),
            ClaimKind::Context | ClaimKind::Inferred => (Score::Context, None),
            ClaimKind::HeldOut => {
                let name = &self.claim.name;
                let says = |fact: &&Fact| {
                    fact.key == FITTED && fact.subject.strip_prefix("claim/") == Some(name)
                };
                match self.facts.iter().find(says) {
                    Some(fact) => (Score::Calibration, Some(fact.value.clone())),
                    None => (score, None),
                }
            }
        }
    }

    /// What is shown of it is counted in this.
    fn unit(&self) -> Unit {
        if self.claim.is_ratio() { Unit::Times } else { Unit::of(&self.claim.metric) }
    }

    /// How far a cell is on the wrong side of the first reading: its interval from what is allowed, and its figure.
    fn distance(&self, (cell, (ours, span)): &(&ClaimCell, BoundedValue)) -> (f64, f64) {
        let Some(first) = self.claim.readings.first() else { return (0.0, 0.0) };
        let published = self.target(first, &cell.wire).unwrap_or(0.0);
        let relation = self.claim.relation;
        let allowed = Allowed::of(published, relation, allowance(first, relation));
        let gap = allowed.gap(FigureBounds::or_point(*span, *ours));
        let off = match relation {
            Relation::Equal | Relation::About | Relation::JustOver => (ours - published).abs(),
            Relation::Over => published - ours,
            Relation::UpTo => ours - published,
        };
        (gap, off)
    }

    /// The ratios of both sides as cells, repetitions of equal settings taken together.
    fn take_ratios(&mut self) {
        if !self.claim.is_ratio() {
            return;
        }
        let ratios = self.sides.ratios(&asked(self.claim, self.elsewhere.as_ref()));
        for Ratio { step, member, figure } in ratios {
            let cell = self.cell(&step, member, &Err(String::new()));
            match figure {
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

    /// All cells under one reading; the error is that of the one that is furthest.
    fn compare(
        &self,
        reading: &Value,
        cells: &[(&ClaimCell, BoundedValue)],
        furthest: Option<&(&ClaimCell, BoundedValue)>,
        reason: &mut String,
    ) -> ReadingOutcome {
        let relation = self.claim.relation;
        let allowance = allowance(reading, relation);
        let mut outcome = ReadingOutcome {
            published: Quantity::from_value(reading),
            error_percent: None,
            allowance_percent: allowance * 100.0,
            agrees: None,
        };
        let Some((shown, (ours, _))) = furthest else {
            if reason.is_empty() {
                *reason = "nothing was measured to hold it against".to_owned();
            }
            return outcome;
        };
        let agrees = |(cell, (ours, span)): &(&ClaimCell, BoundedValue)| {
            let published = self.target(reading, &cell.wire)?;
            let allowed = Allowed::of(published, relation, allowance);
            Ok::<bool, String>(allowed.gap(FigureBounds::or_point(*span, *ours)) <= 0.0)
        };
        let all: Result<Vec<bool>, String> = cells.iter().map(agrees).collect();
        match all {
            Ok(all) => outcome.agrees = Some(all.into_iter().all(|agrees| agrees)),
            Err(why) => *reason = why,
        }
        outcome.error_percent =
            self.target(reading, &shown.wire).ok().and_then(|published| error(*ours, published));
        outcome
    }

    /// All cells under the reading that frames support.
    fn frames(&self, reading: &Value, cells: &[(&ClaimCell, BoundedValue)]) -> Frames {
        let off = |(cell, (ours, _)): &(&ClaimCell, BoundedValue)| {
            error(*ours, self.target(reading, &cell.wire).ok()?)
        };
        let worst = cells.iter().filter_map(off).max_by(|a, b| a.abs().total_cmp(&b.abs()));
        // A step that is not determined leaves it open; one that is too far off does not.
        let whole = self.missing.is_none() && cells.iter().all(|cell| off(cell).is_some());
        let within = worst.map(|worst| worst.abs() <= FRAMES_WITHIN + 1e-9);
        let within = within.filter(|within| whole || !within);
        Frames { reading: Quantity::from_value(reading), error_percent: worst, within }
    }
}

/// Whether a figure without an interval is what a reading allows under a claim's relation; `ours` is in the base unit of
/// the reading (bytes, nanoseconds, percent). `None` where the reading is a share of a wire.
pub fn is_allowed(reading: &Value, relation: Relation, ours: f64) -> Option<bool> {
    if matches!(reading, Value::PercentOfWire(_)) {
        return None;
    }
    let published = Quantity::from_value(reading).value;
    let allowed = Allowed::of(published, relation, allowance(reading, relation));
    Some(allowed.gap(FigureBounds::or_point(None, ours)) <= 0.0)
}

/// The ratio that a claim states.
fn asked<'a>(claim: &'a Claim, elsewhere: Option<&'a Scope>) -> RatioGoal<'a> {
    RatioGoal { metric: &claim.metric, to: &claim.to, elsewhere, is: 0.0, within: 0.0 }
}

/// How far a figure is from a published one, in percent of that; a published zero has no relative error.
fn error(ours: f64, published: f64) -> Option<f64> {
    (published != 0.0).then(|| (ours - published) / published * 100.0)
}

impl ClaimCell {
    /// The mean of the repetitions with its interval; a latency is read off their merged histogram instead.
    fn figure(&self, metric: &Metric) -> Option<BoundedValue> {
        let n = self.values.len() as f64;
        let mean = match (metric, &self.tally) {
            (Metric::Latency { point, response }, Some(tally)) => {
                latency_point(tally, *point, *response)?
            }
            _ if self.values.is_empty() => return None,
            _ => self.values.iter().map(|(value, _)| value).sum::<f64>() / n,
        };
        Some((mean, FigureBounds::of_mean(&self.values, mean)))
    }
}

fn relation_word(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "equal",
        Relation::About => "about",
        Relation::Over => "over",
        Relation::JustOver => "just over",
        Relation::UpTo => "up to",
    }
}

//! Shapes: whether the curve of a record looks like one that was published.
//!
//! Lines go through the point with the smallest place: of `linear` the figure there for each unit of place, of `constant`
//! the figure itself. `rising` and `falling` hold each point against the one before. A point agrees where the interval of
//! its ratio to what is expected overlaps what `within` leaves. Where the sweep has other axes besides, each of their
//! combinations is a curve, and the one that is furthest from the shape is shown.

use super::outcome::{PointOutcome, ShapeOutcome, form};
use super::span::FigureBounds;
use crate::quantity::{Quantity, Unit};
use crate::scope;
use crate::select::{same_key, selects};
use crate::step::StepData;
use scenario::{Claim, Form, Scope, Shape, ShapePoint, Step};

/// Binary fractions: figures that are at the edge in decimal agree.
const EDGE: f64 = 1e-9;

type PlainSettings = Vec<(String, String)>;

/// The curves of a claim, gathered step by step.
#[derive(Default)]
pub(super) struct Curves {
    curves: Vec<ShapeCurve>,
}

/// One curve: the steps that have all but their place in common.
struct ShapeCurve {
    /// The plan, where no point names one, and the settings that the points do not name.
    key: (Option<String>, PlainSettings),
    /// The VM or target, where the claim is about each.
    member: Option<String>,
    /// Of each point, its repetitions.
    points: Vec<Vec<(f64, Option<FigureBounds>)>>,
    /// Why a point is not the whole truth.
    missing: Vec<Option<String>>,
}

/// How a shape came out: the curve that is furthest from it.
pub(super) struct Shaped {
    pub outcome: ShapeOutcome,
    /// Whether all curves have the shape; `None` where that is not known.
    pub agrees: Option<bool>,
    /// What the curve shown has in common, where there are several.
    pub step: Option<String>,
    pub member: Option<String>,
    /// Why it is not known; empty otherwise.
    pub reason: String,
}

impl Curves {
    /// Takes in a step, at the points that it is of.
    pub fn see(&mut self, claim: &Claim, shape: &Shape, step: &StepData) {
        let head = &step.head;
        for (number, point) in shape.points.iter().enumerate() {
            if !is_at(claim, point, &head.plan, &head.settings) {
                continue;
            }
            let scope = point.hop.as_ref().map(|hop| Scope::Hop(hop.clone()));
            let scope = scope.as_ref().unwrap_or(&claim.scope);
            for reading in scope::read(step, scope, &claim.metric) {
                let lack = reading.value.is_none().then(|| reading.lack());
                let key = key(point, &head.plan, &head.settings);
                let curve = self.curve(key, reading.member.clone(), shape.points.len());
                curve.points[number].extend(reading.value.map(|value| (value, reading.interval)));
                let missing = &mut curve.missing[number];
                *missing = missing.take().or(reading.missing).or(lack);
            }
        }
    }

    /// Notes a step that was not run.
    pub fn missed(&mut self, claim: &Claim, shape: &Shape, step: &Step) {
        for (number, point) in shape.points.iter().enumerate() {
            if is_at(claim, point, &step.plan, &step.settings) {
                let of = (number, shape.points.len());
                self.miss(key(point, &step.plan, &step.settings), of);
            }
        }
    }

    /// A step of some curves was not run; of none that is known, it is one of a curve of its own.
    fn miss(&mut self, key: (Option<String>, PlainSettings), (number, points): (usize, usize)) {
        let why = || Some("a step of it was not run".to_owned());
        if !self.curves.iter().any(|curve| curve.key == key) {
            self.curve(key.clone(), None, points);
        }
        for curve in self.curves.iter_mut().filter(|curve| curve.key == key) {
            curve.missing[number] = curve.missing[number].take().or_else(why);
        }
    }

    fn curve(
        &mut self,
        key: (Option<String>, PlainSettings),
        member: Option<String>,
        points: usize,
    ) -> &mut ShapeCurve {
        let found = self.curves.iter().position(|c| c.key == key && c.member == member);
        let at = found.unwrap_or_else(|| {
            let (figures, missing) = (vec![Vec::new(); points], vec![None; points]);
            self.curves.push(ShapeCurve { key, member, points: figures, missing });
            self.curves.len() - 1
        });
        &mut self.curves[at]
    }

    /// The outcome over all curves.
    pub fn finish(self, shape: &Shape, unit: Unit) -> Shaped {
        let several = self.curves.len() > 1;
        let all = self.curves.into_iter().map(|curve| curve.judge(shape, unit, several));
        let mut all: Vec<Shaped> = all.collect();
        // What missed is missed whatever else is not known.
        let agrees = match () {
            () if all.is_empty() => None,
            () if all.iter().any(|one| one.agrees == Some(false)) => Some(false),
            () if all.iter().all(|one| one.agrees == Some(true)) => Some(true),
            () => None,
        };
        let furthest = |one: &Shaped| one.outcome.furthest_percent.map_or(0.0, f64::abs);
        all.retain(|one| one.agrees == agrees);
        let shown = all.into_iter().max_by(|a, b| furthest(a).total_cmp(&furthest(b)));
        shown.unwrap_or_else(|| Shaped {
            outcome: outcome(shape, Vec::new()),
            agrees: None,
            step: None,
            member: None,
            reason: "it selects no step of this run".to_owned(),
        })
    }
}

/// Whether a step is at a point.
fn is_at(claim: &Claim, point: &ShapePoint, plan: &str, settings: &[(String, String)]) -> bool {
    selects(&claim.step, plan, settings) && selects(&point.step, plan, settings)
}

/// What a step has in common with the other points of its curve.
fn key(
    point: &ShapePoint,
    plan: &str,
    settings: &[(String, String)],
) -> (Option<String>, PlainSettings) {
    let named = |key: &str| point.step.iter().any(|(k, _)| same_key(key, k) || same_key(k, key));
    let plan = (!named("plan")).then(|| plan.to_owned());
    (plan, settings.iter().filter(|(key, _)| !named(key)).cloned().collect())
}

impl ShapeCurve {
    fn judge(self, shape: &Shape, unit: Unit, several: bool) -> Shaped {
        let known: Vec<Option<Bounded>> = self.points.iter().map(|all| mean(all)).collect();
        let points: Vec<PointOutcome> =
            (0..shape.points.len()).map(|number| point(shape, &known, number, unit)).collect();
        let missing = (0..).zip(&self.missing).find_map(|(number, why)| {
            let label = |number: usize| &shape.points[number].label;
            let no_step = known[number].is_none().then_some("no step of this run is there");
            let why = why.as_deref().or(no_step)?;
            Some(format!("at {}: {why}", label(number)))
        });
        let nothing = points.iter().skip(1).any(|point| point.agrees.is_none());
        let reason = missing.unwrap_or_else(|| match nothing {
            true => "nothing was done at a point that others are held against".to_owned(),
            false => String::new(),
        });
        let agrees = match () {
            () if !reason.is_empty() => None,
            () => Some(points.iter().all(|point| point.agrees != Some(false))),
        };
        let common: Vec<String> = self.key.1.iter().map(|(k, v)| format!("{k} {v}")).collect();
        let common = self.key.0.filter(|_| several).into_iter().chain(common);
        let common = common.collect::<Vec<_>>().join(", ");
        Shaped {
            outcome: outcome(shape, points),
            agrees,
            step: (several && !common.is_empty()).then_some(common),
            member: self.member,
            reason,
        }
    }
}

/// A figure with its interval.
type Bounded = (f64, Option<FigureBounds>);

/// The mean of the repetitions of a point.
fn mean(all: &[Bounded]) -> Option<Bounded> {
    let n = all.len() as f64;
    let mean = all.iter().map(|(value, _)| value).sum::<f64>() / n;
    (n > 0.0).then(|| (mean, FigureBounds::of_mean(all, mean)))
}

/// A point beside what the shape would have there.
fn point(shape: &Shape, known: &[Option<Bounded>], number: usize, unit: Unit) -> PointOutcome {
    let ShapePoint { at, label, .. } = &shape.points[number];
    let quantity = |value| Quantity { value, unit };
    let mut point = PointOutcome {
        at: *at,
        label: label.clone(),
        value: known[number].map(|(value, _)| quantity(value)),
        interval: known[number]
            .and_then(|(_, span)| span)
            .map(|span| (quantity(span.low), quantity(span.high))),
        expected: None,
        deviation_percent: None,
        agrees: None,
    };
    if number == 0 {
        return point;
    }
    let (against, factor) = match shape.is {
        Form::Linear => (0, at / shape.points[0].at),
        Form::Constant => (0, 1.0),
        Form::Rising | Form::Falling => (number - 1, 1.0),
    };
    let (Some(ours), Some(other)) = (known[number], known[against]) else { return point };
    point.expected = Some(quantity(other.0 * factor));
    if other.0 <= 0.0 {
        // Nothing was done there: whatever is more has risen, and nothing is in proportion to it.
        point.agrees = match shape.is {
            Form::Rising if ours.0 > 0.0 => Some(true),
            Form::Constant if ours.0 <= 0.0 => Some(true),
            _ => None,
        };
        return point;
    }
    let ratio = ours.0 / (other.0 * factor);
    let span = if ours.0 > 0.0 { FigureBounds::of_ratio(ours, other) } else { None };
    let span = FigureBounds::or_point(span.map(|span| span.times(1.0 / factor)), ratio);
    point.deviation_percent = Some((ratio - 1.0) * 100.0);
    point.agrees = Some(is_shaped(shape, span));
    point
}

/// Whether a ratio to what is expected is what a shape allows.
fn is_shaped(shape: &Shape, ratio: FigureBounds) -> bool {
    let within = shape.within / 100.0;
    match shape.is {
        Form::Linear | Form::Constant => {
            ratio.high >= 1.0 - within - EDGE && ratio.low <= 1.0 + within + EDGE
        }
        // Without an allowance the same is not more.
        Form::Rising if within == 0.0 => ratio.high > 1.0 + EDGE,
        Form::Falling if within == 0.0 => ratio.low < 1.0 - EDGE,
        Form::Rising => ratio.high >= 1.0 - within - EDGE,
        Form::Falling => ratio.low <= 1.0 + within + EDGE,
    }
}

fn outcome(shape: &Shape, points: Vec<PointOutcome>) -> ShapeOutcome {
    // How far on the wrong side: of what is to rise only falling is wrong.
    let wrong = |deviation: f64| match shape.is {
        Form::Linear | Form::Constant => deviation.abs(),
        Form::Rising => -deviation,
        Form::Falling => deviation,
    };
    let deviations = points.iter().filter_map(|point| point.deviation_percent);
    let furthest = deviations.max_by(|a, b| wrong(*a).total_cmp(&wrong(*b)));
    ShapeOutcome {
        along: shape.along.clone(),
        is: form(shape.is),
        within_percent: shape.within,
        furthest_percent: furthest,
        points,
    }
}

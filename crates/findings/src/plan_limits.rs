//! What limits each plan over its sweep: steps in a row with the same kind of limit are one range of the axis.
//!
//! The answers are those of the attribution; here they are only put together. Left out are steps in which a fault is
//! injected and jobs: what limits them changes while they are measured ([`crate::faults`], [`crate::jobs`]).

use crate::attribution::{Attribution, HopLimit, HopLoad, Limiter, PathTurns};
use crate::figures::StepFigures;
use crate::sweep;
use record::{HopKind, Source};
use serde::Serialize;
use std::collections::BTreeMap;

/// What limits one curve of a plan, or a plan without a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanLimits {
    /// The plan.
    pub plan: String,
    /// The axis that the ranges follow; `None` for a single step.
    pub axis: Option<String>,
    /// The values of the other axes.
    pub fixed: Vec<(String, String)>,
    /// The ranges, in ascending order where values are numbers, else in that of the run.
    pub ranges: Vec<LimitRange>,
}

/// Neighbouring steps with the same kind of limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitRange {
    /// The first value of the axis; empty without one.
    pub from: String,
    /// The last one.
    pub to: String,
    /// The limit of the most probable of these steps.
    pub limit: Limiter,
    /// The kind of the hop that it names first, as the record stores it.
    pub hop_kind: Option<String>,
    /// The kind of the second, where two are full at once.
    pub second_kind: Option<String>,
    /// Hops of this kind that are as full, that one among them.
    pub alike: usize,
    /// What that hop can carry in bytes a second, where its limit is a rate.
    pub rate_bytes_per_s: Option<f64>,
    /// How probable the answer is, 0 to 1.
    pub probability: f64,
    /// Where that hop has room and limits because paths take turns: which turns.
    pub turns: Option<PathTurns>,
    /// The step that `limit` is of.
    pub step: u32,
    /// All of its steps.
    pub steps: Vec<u32>,
    /// The counter that would decide, where the limit is not determined.
    pub missing: Option<MissingCounter>,
}

/// A counter that a record lacks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingCounter {
    /// What is missing, as the attribution names it (`utilization of store`).
    pub what: String,
    /// The kind of its hop, as the record stores it, where the record has the hop.
    pub hop_kind: Option<String>,
}

/// What makes two limits the same: the kind of answer, and the kinds of the hops that it names.
type LimitKey = (u8, Option<HopKind>, Option<HopKind>, Option<HopLimit>);

/// The limits of all plans, in the order of the run.
pub(crate) fn plan_limits(steps: &[StepFigures], sources: &[Source]) -> Vec<PlanLimits> {
    let kinds: Kinds<'_> =
        sources.iter().filter_map(|s| Some((s.name.as_str(), s.hop()?))).collect();
    let known = |step: &&StepFigures| {
        step.faults.is_empty() && !step.is_job() && answer(step, &kinds).is_some()
    };
    let plans = steps.chunk_by(|a, b| a.plan == b.plan);
    let curves = plans.flat_map(|plan| curves(plan.iter().filter(known).collect()));
    curves.map(|curve| curve.limits(&kinds)).collect()
}

/// Kinds of hops by their names.
type Kinds<'a> = BTreeMap<&'a str, HopKind>;

/// The attribution of a step in which a hop's utilization is known. Without one the load and the generator are all that
/// could be named, and other findings cover these. Processors with room show nothing of what is behind the queues.
fn answer<'a>(step: &'a StepFigures, kinds: &Kinds<'_>) -> Option<&'a Attribution> {
    let processors = |hop: &str| kinds.get(hop) == Some(&HopKind::HostCpu);
    let known = |found: &&Attribution| {
        let counted = |load: &HopLoad| load.queue.is_some() || !processors(&load.hop);
        let hops = found.hops.iter().filter(|load| load.utilization.is_some());
        hops.into_iter().any(counted) || named(&found.limit).is_some_and(processors)
    };
    step.attribution.as_ref().filter(known)
}

/// Steps of a plan along one axis.
struct LimitCurve<'a> {
    axis: Option<&'a str>,
    fixed: Vec<(String, String)>,
    steps: Vec<&'a StepFigures>,
}

/// The curves of a plan along the axis with the most values.
fn curves(steps: Vec<&StepFigures>) -> Vec<LimitCurve<'_>> {
    let mut values: Vec<(&str, Vec<&str>)> = Vec::new();
    for (key, value) in steps.iter().flat_map(|step| &step.settings) {
        match values.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) if known.contains(&value.as_str()) => {}
            Some((_, known)) => known.push(value),
            None => values.push((key, vec![value])),
        }
    }
    // Of equals the last: it varies fastest.
    let axis = values.iter().filter(|(_, v)| v.len() > 1).max_by_key(|(_, v)| v.len());
    let axis = axis.map(|(key, _)| *key);
    let mut curves: Vec<LimitCurve<'_>> = Vec::new();
    for step in steps {
        let others = step.settings.iter().filter(|(key, _)| Some(key.as_str()) != axis);
        let varies =
            |(key, _): &&(String, String)| values.iter().any(|(v, n)| v == key && n.len() > 1);
        let fixed: Vec<_> = others.filter(varies).cloned().collect();
        match curves.iter_mut().find(|curve| curve.fixed == fixed) {
            Some(curve) => curve.steps.push(step),
            None => curves.push(LimitCurve { axis, fixed, steps: vec![step] }),
        }
    }
    curves
}

impl LimitCurve<'_> {
    fn value<'s>(&self, step: &'s StepFigures) -> &'s str {
        let mine = |(key, _): &&(String, String)| Some(key.as_str()) == self.axis;
        step.settings.iter().find(mine).map_or("", |(_, value)| value)
    }

    fn limits(mut self, kinds: &Kinds<'_>) -> PlanLimits {
        let numbers: Option<Vec<f64>> =
            self.steps.iter().map(|step| sweep::number(self.value(step))).collect();
        if numbers.is_some() {
            let axis = self.axis;
            let of = |step: &StepFigures| {
                let value = step.settings.iter().find(|(key, _)| Some(key.as_str()) == axis);
                value.and_then(|(_, value)| sweep::number(value)).unwrap_or(0.0)
            };
            self.steps.sort_by(|a, b| of(a).total_cmp(&of(b)));
        }
        // Repetitions of a value are one point; its most probable answer stands for it.
        let mut points: Vec<(&str, Vec<&StepFigures>)> = Vec::new();
        for step in &self.steps {
            let value = self.value(step);
            match points.last_mut().filter(|(last, _)| *last == value) {
                Some((_, steps)) => steps.push(step),
                None => points.push((value, vec![step])),
            }
        }
        let judged: Vec<_> = points
            .into_iter()
            .filter_map(|(value, steps)| {
                let best = most_probable(&steps, kinds)?;
                Some((key(&answer(best, kinds)?.limit, kinds), value, steps))
            })
            .collect();
        let ranges = judged.chunk_by(|a, b| a.0 == b.0).filter_map(|points| {
            let steps: Vec<&StepFigures> =
                points.iter().flat_map(|(_, _, steps)| steps.iter().copied()).collect();
            range((points.first()?.1, points.last()?.1), &steps, kinds)
        });
        PlanLimits {
            plan: self.steps.first().map_or_else(String::new, |step| step.plan.clone()),
            axis: self.axis.map(str::to_owned),
            fixed: self.fixed.clone(),
            ranges: ranges.collect(),
        }
    }
}

fn most_probable<'a>(steps: &[&'a StepFigures], kinds: &Kinds<'_>) -> Option<&'a StepFigures> {
    let sure = |step: &StepFigures| answer(step, kinds).map_or(0.0, |found| found.probability);
    // Reversed, so that the first of equals is taken.
    steps.iter().rev().copied().max_by(|a, b| sure(a).total_cmp(&sure(b)))
}

fn range(
    (from, to): (&str, &str),
    steps: &[&StepFigures],
    kinds: &Kinds<'_>,
) -> Option<LimitRange> {
    let step = most_probable(steps, kinds)?;
    let found = answer(step, kinds)?;
    let hop = named(&found.limit);
    let kind = hop.and_then(|hop| kinds.get(hop).copied());
    let also = match &found.limit {
        Limiter::Hop { also, .. } => also.as_slice(),
        _ => &[],
    };
    let load = found.hops.iter().find(|load| Some(load.hop.as_str()) == hop);
    let is_rate = matches!(&found.limit, Limiter::Hop { why: HopLimit::Rate, .. });
    Some(LimitRange {
        from: from.to_owned(),
        to: to.to_owned(),
        hop_kind: kind.map(|kind| kind.word().to_owned()),
        second_kind: second(&found.limit, kinds).map(|kind| kind.word().to_owned()),
        alike: 1 + also.iter().filter(|hop| kinds.get(hop.as_str()).copied() == kind).count(),
        rate_bytes_per_s: load.filter(|_| is_rate).and_then(|load| load.capacity),
        probability: found.probability,
        turns: found.turns,
        step: step.index,
        steps: steps.iter().map(|step| step.index).collect(),
        missing: missing(&found.limit, kinds),
        limit: found.limit.clone(),
    })
}

/// The kind of the second hop that a limit names.
fn second(limit: &Limiter, kinds: &Kinds<'_>) -> Option<HopKind> {
    match limit {
        Limiter::Two { second, .. } => kinds.get(second.as_str()).copied(),
        _ => None,
    }
}

fn key(limit: &Limiter, kinds: &Kinds<'_>) -> LimitKey {
    let kind = |hop: &str| kinds.get(hop).copied();
    match limit {
        Limiter::Hop { hop, why, .. } => (0, kind(hop), None, Some(*why)),
        Limiter::Two { first, second } => (1, kind(first), kind(second), None),
        Limiter::Latency { hop } => (2, kind(hop), None, None),
        Limiter::PathImbalance { hop, .. } => (3, kind(hop), None, None),
        Limiter::SlowDrain { hop, .. } => (4, kind(hop), None, None),
        Limiter::Depth => (5, None, None, None),
        Limiter::Generator => (6, None, None, None),
        Limiter::Rate => (7, None, None, None),
        Limiter::Unknown { .. } => (8, None, None, None),
        Limiter::None => (9, None, None, None),
    }
}

/// The hop that an answer names first.
pub(crate) fn named(limit: &Limiter) -> Option<&str> {
    match limit {
        Limiter::Hop { hop, .. }
        | Limiter::Latency { hop }
        | Limiter::PathImbalance { hop, .. }
        | Limiter::SlowDrain { hop, .. }
        | Limiter::Two { first: hop, .. } => Some(hop),
        Limiter::Depth
        | Limiter::Generator
        | Limiter::Rate
        | Limiter::Unknown { .. }
        | Limiter::None => None,
    }
}

/// The first counter that would decide.
fn missing(limit: &Limiter, kinds: &Kinds<'_>) -> Option<MissingCounter> {
    let Limiter::Unknown { missing } = limit else { return None };
    let what = missing.first()?;
    let hop = what.rsplit_once(" of ").map(|(_, hop)| hop);
    let kind = hop.and_then(|hop| kinds.get(hop));
    Some(MissingCounter { what: what.clone(), hop_kind: kind.map(|k| k.word().to_owned()) })
}

//! An estimate as people and programs read it: `docs/estimate.schema.json` describes the latter.
//!
//! Its figures are plain data, which the estimator's caller fills in. What limits a step is what findings say of the
//! estimate's record, so that an estimate and its review agree.

mod text;

use crate::text::clean;
use crate::{goals, limits};
use findings::attribution::{HopLoad, Limiter};
use findings::{Analysis, GoalOutcome, Status, StepFigures, Verdict};
use serde::Serialize;
use std::slice;

/// The version of this form.
const VERSION: u32 = 1;

/// What a limit begins with where a queue is full.
const QUEUE: &str = "the queue limit of ";

/// What a scenario's lab will carry.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "An estimate of wirespeed"))]
pub struct Document {
    /// The version of this form.
    pub version: u32,
    /// The scenario's title.
    pub title: String,
    /// The verdict on its goals: `met`, `failed`, `undecided`, `no-goals`, `incomplete` or `wrong`; `not-judged`
    /// where steps were chosen.
    pub verdict: String,
    /// Every goal; none where steps were chosen.
    pub goals: Vec<Goal>,
    /// Every step, in the order of the plan; those of a search in the order in which it tried them.
    pub steps: Vec<Estimated>,
}

/// A goal, and whether the estimate meets it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Goal {
    /// Its name.
    pub name: String,
    /// `met`, `failed` or `undecided`.
    pub status: String,
    /// What was found, with its unit.
    pub observed: Option<String>,
    /// Where that was: the member and the step.
    pub place: String,
    /// Why it is not met; nothing where it is.
    pub reason: Option<String>,
}

/// A step.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimated {
    /// Its plan.
    pub plan: String,
    /// Its settings, or its plan's name where it has none.
    pub name: String,
    /// I/Os a second; of network loads jobs, which are messages sent at once or parts of them.
    pub iops: f64,
    /// Bytes a second, read.
    pub read_rate: f64,
    /// Bytes a second, written.
    pub write_rate: f64,
    /// Bytes a second that network loads deliver, all streams and both ways together; nothing where there are none.
    pub network_rate: Option<f64>,
    /// Mean service time in seconds, from submission to completion.
    pub latency: Option<f64>,
    /// Lower bound of I/Os a second, for any distributions.
    pub least_iops: f64,
    /// Upper bound of I/Os a second, for any distributions.
    pub most_iops: f64,
    /// The same by balanced jobs, where every time is exponential: at least and at most.
    pub balanced_iops: Option<[f64; 2]>,
    /// What limits, in the words of the review of its record; empty where the record does not show it.
    pub limited: Vec<String>,
    /// What limits, what would limit if that were doubled, and so on.
    pub limits: Vec<Limited>,
    /// Every hop.
    pub hops: Vec<Hop>,
    /// Every worker.
    pub workers: Vec<Worker>,
    /// Assumptions of the model.
    pub assumptions: Vec<Assumed>,
    /// By how much hops matter; of the first step alone.
    pub sensitivities: Vec<Matters>,
    /// Parts of the step that the estimate leaves out.
    pub left_out: Vec<String>,
    /// What else is to be known of the model of the lab.
    pub notes: Vec<String>,
}

/// What limits.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limited {
    /// What.
    pub limit: LimitKind,
    /// The hops that were doubled for it, those before stay so; none where it is the first, or where the load was doubled.
    pub doubled: Vec<String>,
    /// The hops that are full, those that are alike together; the fullest where none is.
    pub hops: Vec<String>,
    /// Utilization of the fullest of them, 0 to 1.
    pub utilization: f64,
    /// Relative increase of this load at which they are full: 0.25 is a quarter more. Nothing where it is unknown.
    pub headroom: Option<f64>,
    /// Where their paths take turns, so that they limit though they have room: the I/Os over one path before the next.
    pub turn_ios: Option<f64>,
    /// I/Os a second, with all before it in the list doubled.
    pub iops: f64,
    /// Bytes a second, with all before it in the list doubled.
    pub rate: f64,
}

/// What can limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// Hops that are full.
    Hop,
    /// The queue depth of the load: no hop is full.
    Depth,
    /// Nothing: the whole offered load is carried.
    Rate,
    /// Not determined from the record.
    Unknown,
}

/// A hop.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hop {
    /// Its name.
    pub name: String,
    /// Utilization of its busiest server or direction, 0 to 1.
    pub utilization: f64,
    /// I/Os a second, read.
    pub read_iops: f64,
    /// I/Os a second, written.
    pub write_iops: f64,
    /// Bytes a second, read.
    pub read_rate: f64,
    /// Bytes a second, written.
    pub write_rate: f64,
    /// Mean number of I/Os at the hop, waiting or in service.
    pub queue: f64,
    /// Mean seconds that an I/O stays, tokens waited for included; nothing where none comes.
    pub residence: Option<f64>,
    /// Mean number of tokens taken, where it has a queue limit.
    pub slots_used: Option<f64>,
    /// Its queue limit, in tokens.
    pub slots: Option<u32>,
}

/// A worker.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// The VM or target that it works for.
    pub group: String,
    /// I/Os a second.
    pub iops: f64,
    /// Bytes a second, read.
    pub read_rate: f64,
    /// Bytes a second, written.
    pub write_rate: f64,
    /// Mean seconds from submission to completion.
    pub service: f64,
    /// Mean seconds from when an I/O was due; nothing where the offered load exceeds what is carried.
    pub response: Option<f64>,
}

/// A figure that is assumed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Assumed {
    /// The hop or part.
    pub subject: String,
    /// Which figure.
    pub figure: String,
    /// Its value, unit included.
    pub value: String,
    /// Why this value.
    pub reason: String,
}

/// By how much hops matter.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matters {
    /// Hops that are alike.
    pub hops: Vec<String>,
    /// Share of a gain in their speed that comes through as I/Os a second.
    pub elasticity: f64,
}

impl Document {
    /// The document of steps in the order of the record that they were written to, and of what findings say of that record.
    /// `whole` is false where steps were chosen: goals apply to the whole plan.
    pub fn of(
        title: &str,
        mut steps: Vec<Estimated>,
        analysis: &Analysis,
        whole: bool,
    ) -> Document {
        for (step, figures) in steps.iter_mut().zip(&analysis.steps) {
            step.judge(figures);
        }
        let verdict = match analysis.verdict {
            _ if !whole => "not-judged",
            Verdict::Met { .. } => "met",
            Verdict::Failed { .. } => "failed",
            Verdict::Undecided { .. } => "undecided",
            Verdict::NoGoals => "no-goals",
            Verdict::Incomplete { .. } => "incomplete",
            Verdict::Wrong { .. } => "wrong",
        };
        let goals = if whole { analysis.goals.iter().map(Goal::of).collect() } else { Vec::new() };
        let (title, verdict) = (title.to_owned(), verdict.to_owned());
        Document { version: VERSION, title, verdict, goals, steps }
    }

    /// The same for people: a line a step, what limits it and what would be next, and what was assumed.
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// One document on a few lines.
    pub fn json(&self) -> String {
        // Numbers that are not finite become null; nothing else of this form can fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

impl Goal {
    fn of(outcome: &GoalOutcome) -> Goal {
        let status = match outcome.status {
            Status::Met => "met",
            Status::Failed => "failed",
            Status::Undecided => "undecided",
        };
        Goal {
            name: outcome.name.clone(),
            status: status.to_owned(),
            observed: outcome.observed.map(|observed| observed.to_string()),
            place: goals::place(outcome),
            reason: (outcome.status != Status::Met).then(|| outcome.reason.clone()),
        }
    }
}

impl Estimated {
    /// Has the record's findings say what limits the step, as a review of it does. Where they say nothing of it, what the
    /// estimate itself found stays.
    fn judge(&mut self, step: &StepFigures) {
        self.limited = limits::limits(step);
        let network: f64 = step.network.iter().map(|pair| pair.bytes_per_s()).sum();
        self.network_rate = Some(network).filter(|rate| *rate > 0.0);
        let (Some(first), Some(found)) = (self.limits.first_mut(), &step.attribution) else {
            return;
        };
        let (limit, hops) = match &found.limit {
            Limiter::Hop { hop, also, .. } => {
                (LimitKind::Hop, [slice::from_ref(hop), also.as_slice()].concat())
            }
            Limiter::Two { first, second } => (LimitKind::Hop, vec![first.clone(), second.clone()]),
            Limiter::PathImbalance { hop, .. } | Limiter::SlowDrain { hop, .. } => {
                (LimitKind::Hop, vec![hop.clone()])
            }
            Limiter::Latency { hop } => (LimitKind::Depth, vec![hop.clone()]),
            Limiter::Depth => (LimitKind::Depth, fullest(first)),
            Limiter::Rate => (LimitKind::Rate, fullest(first)),
            Limiter::Generator | Limiter::Unknown { .. } | Limiter::None => {
                (LimitKind::Unknown, fullest(first))
            }
        };
        let of = |hop: &&HopLoad| hops.contains(&hop.hop);
        let used = found.hops.iter().filter(of).filter_map(|hop| hop.utilization);
        if let Some(used) = used.max_by(f64::total_cmp) {
            first.utilization = used;
            first.headroom = (used > 0.0).then(|| 1.0 / used - 1.0);
        }
        // Several hops that are alike are one phrase.
        let words = found.limit.to_string();
        let bare = words.strip_prefix("limited by ").unwrap_or(&words);
        if let (Limiter::Hop { also, .. }, Some(line)) = (&found.limit, self.limited.first_mut())
            && !also.is_empty()
            && let Some(rest) = line.strip_prefix(&clean(bare))
        {
            let queue = if bare.starts_with(QUEUE) { QUEUE } else { "" };
            *line = format!("{queue}{}{rest}", clean(&text::named(&hops)));
        }
        (first.limit, first.hops) = (limit, hops);
    }
}

/// The fullest of the hops that the estimate named, where no hop is the limit.
fn fullest(limited: &Limited) -> Vec<String> {
    limited.hops.first().cloned().into_iter().collect()
}

#[cfg(all(test, feature = "schema"))]
mod tests {
    use super::Document;
    use std::path::Path;

    #[test]
    fn documents_the_schema_is_fresh() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/estimate.schema.json");
        let schema = serde_json::to_value(schemars::schema_for!(Document)).expect("a schema");
        let current = format!("{schema:#}\n");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, current).expect("a writable document");
            return;
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == current, "docs/estimate.schema.json is stale: make docs");
    }
}

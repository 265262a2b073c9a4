//! An estimate as programs read it: `docs/estimate.schema.json` describes it.

use findings::Analysis;
use scenario::Scenario;
use schemars::JsonSchema;
use serde::Serialize;
use sim::estimate::{DirectionRates, LimitedBy, Limiting, Sensitivity, Told};
use sim::plant::Plant;

/// The version of this form.
const VERSION: u32 = 1;

/// What a scenario's lab will carry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(title = "An estimate of wirespeed")]
pub struct Document {
    /// The version of this form.
    pub version: u32,
    /// The scenario's title.
    pub title: String,
    /// The verdict on its goals: `met`, `failed`, `undecided`, `no-goals`, `incomplete` or `wrong`; `not-judged`
    /// where steps were chosen.
    pub verdict: String,
    /// Every step, in the order of the plan; those of a search in the order in which it tried them.
    pub steps: Vec<Estimated>,
}

/// A step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Estimated {
    /// Its plan.
    pub plan: String,
    /// Its settings, or its plan's name where it has none.
    pub name: String,
    /// I/Os a second.
    pub iops: f64,
    /// Bytes a second, read.
    pub read_rate: f64,
    /// Bytes a second, written.
    pub write_rate: f64,
    /// Mean service time in seconds, from submission to completion.
    pub latency: Option<f64>,
    /// I/Os a second that it cannot miss, whatever the distributions.
    pub least_iops: f64,
    /// I/Os a second that it cannot exceed, whatever the distributions.
    pub most_iops: f64,
    /// The same by balanced jobs, where every time is exponential: at least and at most.
    pub balanced_iops: Option<[f64; 2]>,
    /// What limits, what would limit if that were doubled, and so on.
    pub limits: Vec<Limited>,
    /// Every hop.
    pub hops: Vec<Hop>,
    /// Every worker.
    pub workers: Vec<Worker>,
    /// What nobody gave.
    pub assumptions: Vec<Assumed>,
    /// By how much hops matter; of the first step alone.
    pub sensitivities: Vec<Matters>,
    /// What of the step the estimate leaves out.
    pub left_out: Vec<String>,
}

/// What limits.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Limited {
    /// `hop`, `depth` (the load is the limit: so many are outstanding, and no hop is full) or `rate` (all that falls due is
    /// carried).
    pub limit: &'static str,
    /// The hops that are full, those that are alike together; the fullest where none is.
    pub hops: Vec<String>,
    /// Utilization of the fullest of them, 0 to 1.
    pub utilization: f64,
    /// How much more of this load it takes until they are full: 0.25 is a quarter more. Nothing where it cannot be told.
    pub headroom: Option<f64>,
    /// I/Os a second, with all before it in the list doubled.
    pub iops: f64,
    /// Bytes a second, with all before it in the list doubled.
    pub rate: f64,
}

/// A hop.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
    /// Mean number of I/Os that are there, waiting or served.
    pub queue: f64,
    /// Mean seconds that an I/O stays, tokens waited for included; nothing where none comes.
    pub residence: Option<f64>,
    /// Mean number of tokens taken, where it has a queue limit.
    pub slots_used: Option<f64>,
    /// Tokens that it has.
    pub slots: Option<u32>,
}

/// A worker.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
    /// Mean seconds from when an I/O was due; nothing where more falls due than is carried.
    pub response: Option<f64>,
}

/// A figure that nobody gave.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Matters {
    /// Hops that are alike.
    pub hops: Vec<String>,
    /// Share of a gain in their speed that comes through as I/Os a second.
    pub elasticity: f64,
}

impl Document {
    pub fn of(scenario: &Scenario, steps: &[Estimated], analysis: &Analysis) -> Document {
        let verdict = match analysis.verdict {
            findings::Verdict::Met { .. } => "met",
            findings::Verdict::Failed { .. } => "failed",
            findings::Verdict::Undecided { .. } => "undecided",
            findings::Verdict::NoGoals => "no-goals",
            findings::Verdict::Incomplete { .. } => "incomplete",
            findings::Verdict::Wrong { .. } => "wrong",
        };
        Document {
            version: VERSION,
            title: scenario.head.title.clone(),
            verdict: verdict.to_owned(),
            steps: steps.to_vec(),
        }
    }

    /// One document on a few lines.
    pub fn json(&self) -> String {
        // Numbers that are not finite become null; nothing else of this form can fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

impl Estimated {
    pub fn of(told: &Told, matters: &[Sensitivity]) -> Estimated {
        let (plant, of) = (told.plant, told.estimate);
        let [read, write] = of.flows();
        let assumed = plant.assumptions.iter().map(|one| Assumed {
            subject: one.subject.clone(),
            figure: one.figure.clone(),
            value: one.value.clone(),
            reason: one.reason.clone(),
        });
        let matters = matters
            .iter()
            .map(|one| Matters { hops: names(plant, &one.hops), elasticity: one.elasticity });
        Estimated {
            plan: told.step.plan.clone(),
            name: told.step.name(),
            iops: of.iops,
            read_rate: read.bytes,
            write_rate: write.bytes,
            latency: of.latency(),
            least_iops: of.bounds.low,
            most_iops: of.bounds.high,
            balanced_iops: of.balanced.map(|bounds| [bounds.low, bounds.high]),
            limits: of.limits.iter().map(|limit| Limited::of(plant, limit)).collect(),
            hops: hops(told),
            workers: workers(told),
            assumptions: assumed.collect(),
            sensitivities: matters.collect(),
            left_out: of.left_out.clone(),
        }
    }
}

fn hops(told: &Told) -> Vec<Hop> {
    let hop = |(hop, of): (&sim::plant::PlantHop, &sim::estimate::HopEstimate)| {
        let [read, write]: [DirectionRates; 2] = of.flows;
        let ops = read.ops + write.ops;
        Hop {
            name: hop.name.clone(),
            utilization: of.utilization,
            read_iops: read.ops,
            write_iops: write.ops,
            read_rate: read.bytes,
            write_rate: write.bytes,
            queue: of.queue,
            residence: (ops > 0.0).then(|| (read.time + write.time) / ops),
            slots_used: of.slots_used,
            slots: hop.limits.slots,
        }
    };
    told.plant.hops.iter().zip(&told.estimate.hops).map(hop).collect()
}

fn workers(told: &Told) -> Vec<Worker> {
    let worker = |(issuer, of): (&sim::plant::Issuer, &sim::estimate::IssuerEstimate)| {
        let [read, write]: [DirectionRates; 2] = of.flows;
        Worker {
            name: issuer.source.clone(),
            group: issuer.group.clone(),
            iops: read.ops + write.ops,
            read_rate: read.bytes,
            write_rate: write.bytes,
            service: of.service,
            response: of.response,
        }
    };
    told.plant.issuers.iter().zip(&told.estimate.issuers).map(worker).collect()
}

impl Limited {
    fn of(plant: &Plant, limiting: &Limiting) -> Limited {
        let fullest: Vec<usize> = limiting.fullest.into_iter().collect();
        let (limit, hops) = match &limiting.limit {
            LimitedBy::Hops(hops) => ("hop", names(plant, hops)),
            LimitedBy::Depth => ("depth", names(plant, &fullest)),
            LimitedBy::Rate => ("rate", names(plant, &fullest)),
        };
        Limited {
            limit,
            hops,
            utilization: limiting.utilization,
            headroom: Some(limiting.headroom).filter(|headroom| headroom.is_finite()),
            iops: limiting.iops,
            rate: limiting.rate,
        }
    }
}

fn names(plant: &Plant, hops: &[usize]) -> Vec<String> {
    hops.iter().filter_map(|hop| plant.hops.get(*hop)).map(|hop| hop.name.clone()).collect()
}

#[cfg(test)]
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

//! Little's law as a check of the record itself.
//!
//! In a closed loop without think time the mean number in flight is L = X · S (J. D. C. Little, *A Proof for the
//! Queuing Formula L = λW*, 1961). L is the integral that the worker kept of its operations in flight; X and S come from
//! the operations that completed. The two are counted apart, so when they disagree, the record contradicts itself and
//! no figure of that step should be believed before the reason is known.

use crate::step::{StepData, WorkerData};
use record::Loop;
use serde::Serialize;

/// Disagreement that is tolerated, beside what the edges of the measured time allow.
pub const TOLERANCE: f64 = 0.05;
/// Above this share of failed operations the check does not apply: they were in flight but have no service time.
const ERROR_SHARE: f64 = 0.01;

/// Whether in-flight time and service time agree.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Little {
    /// They agree for every worker that could be checked.
    Agrees {
        /// Workers checked.
        workers: usize,
        /// The largest relative disagreement.
        worst: f64,
    },
    /// They do not.
    Contradicts {
        /// Workers that contradict themselves.
        workers: usize,
        /// The worst of them.
        worker: String,
        /// Its mean number in flight by its own integral.
        in_flight: f64,
        /// Its throughput times its mean service time.
        throughput_times_service: f64,
        /// Its disagreement relative to the latter.
        worst: f64,
    },
    /// A worker had more operations in flight than its depth allows.
    DepthExceeded {
        /// The worker.
        worker: String,
        /// Its depth.
        depth: u32,
        /// Operations in flight: the mean, or the number at the end of an interval.
        in_flight: f64,
    },
    /// No worker runs a closed loop without think time, completed enough and testifies.
    NotApplicable,
}

/// Checks every worker of a step.
pub(crate) fn check(step: &StepData) -> Little {
    if let Some(exceeded) = step.workers.iter().find_map(depth_exceeded) {
        return exceeded;
    }
    let checked: Vec<(&WorkerData, LittleSides)> =
        step.workers.iter().filter_map(|w| Some((w, sides(w)?))).collect();
    let by_disagreement = |a: &&(&WorkerData, LittleSides), b: &&(&WorkerData, LittleSides)| {
        a.1.disagreement().total_cmp(&b.1.disagreement())
    };
    let contradicting: Vec<_> =
        checked.iter().filter(|(_, s)| s.disagreement() > s.tolerance).collect();
    if let Some((worker, sides)) = contradicting.iter().copied().max_by(by_disagreement) {
        return Little::Contradicts {
            workers: contradicting.len(),
            worker: worker.source.name.clone(),
            in_flight: sides.in_flight,
            throughput_times_service: sides.product,
            worst: sides.disagreement(),
        };
    }
    match checked.iter().max_by(by_disagreement) {
        Some((_, worst)) => Little::Agrees { workers: checked.len(), worst: worst.disagreement() },
        None => Little::NotApplicable,
    }
}

/// Both sides of the law for one worker.
struct LittleSides {
    in_flight: f64,
    product: f64,
    tolerance: f64,
}

impl LittleSides {
    fn disagreement(&self) -> f64 {
        (self.in_flight - self.product).abs() / self.product
    }
}

fn sides(worker: &WorkerData) -> Option<LittleSides> {
    let Loop::Closed { think: false, .. } = worker.load.arrivals else { return None };
    let (ops, time) = (worker.ops() as f64, worker.covered.as_secs_f64());
    let errors = worker.errors() as f64;
    if ops == 0.0 || time <= 0.0 || errors > ERROR_SHARE * ops {
        return None;
    }
    let service_s = worker.service_sum().as_secs_f64();
    // I/Os in flight at an edge of the measured time count on one side only: a service time of each slot at either
    // edge.
    let edges = 2.0 * (service_s / ops) / time;
    (service_s > 0.0)
        .then(|| LittleSides {
            in_flight: worker.testimony.map_or(0.0, |t| t.in_flight.as_secs_f64()) / time,
            product: service_s / time,
            tolerance: TOLERANCE + edges,
        })
        .filter(|_| worker.testimony.is_some())
}

fn depth_exceeded(worker: &WorkerData) -> Option<Little> {
    let Loop::Closed { depth, .. } = worker.load.arrivals else { return None };
    let time = worker.covered.as_secs_f64();
    let mean =
        worker.testimony.filter(|_| time > 0.0).map_or(0.0, |t| t.in_flight.as_secs_f64() / time);
    let most = mean.max(f64::from(worker.open_max));
    // A thousandth absorbs the stamping of batches.
    (most > f64::from(depth) * 1.001).then(|| Little::DepthExceeded {
        worker: worker.source.name.clone(),
        depth,
        in_flight: most,
    })
}

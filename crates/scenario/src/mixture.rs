//! What the loads of a step are like together.

use crate::model::Step;
use workload::WorkloadKind;

impl Step {
    /// Random share of its operations, in percent: its loads weighed by their possible in-flight I/Os, if any.
    pub fn random_percent(&self) -> Option<f64> {
        let (mut weights, mut sum) = (0.0, 0.0);
        for load in self.disk_loads() {
            let workers = f64::from(load.workload.workers) * load.on.len() as f64;
            let weight = workers * f64::from(load.workload.spec.outstanding_max());
            weights += weight;
            sum += weight * random(&load.workload.spec.kind);
        }
        (weights > 0.0).then(|| sum / weights)
    }
}

fn random(kind: &WorkloadKind) -> f64 {
    match kind {
        WorkloadKind::Access(access) => {
            access.rows.iter().map(|row| row.share * row.random / 100.0).sum()
        }
        // A page of an index or a table is anywhere.
        WorkloadKind::Transaction(_) => 100.0,
    }
}

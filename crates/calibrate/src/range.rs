//! The range of loads that figures were fitted to. Predictions beyond it are extrapolations, and say so.

use crate::model::CalibrationRun;
use serde::Serialize;
use workload::{Arrivals, Process, WorkloadKind};

/// The ends of the loads in the steps that were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FittedRange {
    /// The greatest depth of a closed loop, per VM.
    pub depth_max: u32,
    /// The smallest block, in bytes.
    pub block_min: u32,
    /// The largest block, in bytes.
    pub block_max: u32,
    /// The most VMs at once.
    pub vms_max: u32,
    /// The highest rate of an open loop, per VM, in operations a second.
    pub rate_max: Option<f64>,
}

impl FittedRange {
    /// The range of these runs.
    pub(crate) fn of(runs: &[CalibrationRun]) -> FittedRange {
        let mut range = FittedRange { block_min: u32::MAX, ..FittedRange::default() };
        for seen in runs.iter().flat_map(|run| &run.seen) {
            range.vms_max = range.vms_max.max(seen.groups.len() as u32);
            for load in seen.step.disk_loads() {
                let spec = &load.workload.spec;
                match spec.arrivals {
                    Arrivals::Closed { depth, .. } => range.depth_max = range.depth_max.max(depth),
                    Arrivals::Open { process, .. } => {
                        let rate = match process {
                            Process::Fixed { rate } | Process::Poisson { rate } => rate,
                            Process::Ramp { to, .. } => to,
                            Process::Bursts { high, .. } => high,
                        };
                        range.rate_max = Some(range.rate_max.unwrap_or(0.0).max(rate));
                    }
                }
                let sizes: Vec<u32> = match &spec.kind {
                    WorkloadKind::Access(access) => match access.ladder {
                        Some(ladder) => ladder.sizes().collect(),
                        None => access.rows.iter().map(|row| row.size).collect(),
                    },
                    WorkloadKind::Transaction(transaction) => vec![transaction.page],
                };
                for size in sizes {
                    range.block_min = range.block_min.min(size);
                    range.block_max = range.block_max.max(size);
                }
            }
        }
        range
    }

    /// As figures of a machine whose threads serve their I/Os in passes: names and values.
    pub(crate) fn figures(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            ("fitted_depth_max", self.depth_max.max(1).to_string()),
            ("fitted_block_min", format!("{}B", self.block_min)),
            ("fitted_block_max", format!("{}B", self.block_max)),
            ("fitted_vms_max", self.vms_max.max(1).to_string()),
        ];
        if let Some(rate) = self.rate_max {
            all.push(("fitted_rate_max", format!("{rate:.0} IOPS")));
        }
        all
    }
}

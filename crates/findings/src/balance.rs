//! How evenly VMs or targets share what there is.
//!
//! Jain's index is (Σx)² / (n·Σx²): 1 when all are equal, 1/n when one has everything (R. Jain, D. Chiu, W. Hawe, *A
//! Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared Computer Systems*, DEC
//! TR-301, 1984). The spread, (max − min) / mean, is what the published labs print.

use serde::Serialize;

/// The balance of two or more groups that were asked to do the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Balance {
    /// The workloads that every one of them ran.
    pub workloads: Vec<String>,
    /// Mean of the groups' rates, in bytes a second.
    pub mean_bytes_per_s: f64,
    /// (max − min) / mean.
    pub spread: f64,
    /// The largest distance of a group from the mean, as a share of the mean.
    pub deviation: f64,
    /// Jain's index, 1/n to 1.
    pub jain: f64,
    /// The groups in the order of the record.
    pub shares: Vec<Share>,
}

/// One group's part.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// The VM or target.
    pub group: String,
    /// Its rate in bytes a second.
    pub bytes_per_s: f64,
    /// Its part of the sum, 0 to 1.
    pub share: f64,
}

/// Balance over rates in bytes a second; `None` for fewer than two groups, or when none of them moved anything.
pub fn balance(workloads: Vec<String>, rates: &[(String, f64)]) -> Option<Balance> {
    let sum: f64 = rates.iter().map(|(_, r)| r).sum();
    if rates.len() < 2 || sum <= 0.0 {
        return None;
    }
    let n = rates.len() as f64;
    let mean = sum / n;
    let squares: f64 = rates.iter().map(|(_, r)| r * r).sum();
    let largest = rates.iter().fold(f64::MIN, |m, (_, r)| m.max(*r));
    let smallest = rates.iter().fold(f64::MAX, |m, (_, r)| m.min(*r));
    Some(Balance {
        workloads,
        mean_bytes_per_s: mean,
        spread: (largest - smallest) / mean,
        deviation: (largest - mean).max(mean - smallest) / mean,
        jain: sum * sum / (n * squares),
        shares: rates
            .iter()
            .map(|(group, r)| Share { group: group.clone(), bytes_per_s: *r, share: r / sum })
            .collect(),
    })
}

//! What operations are like, and how far two such descriptions lie apart.

use super::Extrapolation;
use scenario::Profile;
use serde::Serialize;

/// Doublings of the block size beyond which a step says nothing about an application.
const BLOCK_DOUBLINGS: f64 = 2.0;
/// The same for the share of reads, in percentage points.
const READ_POINTS: f64 = 50.0;
/// The same for the share of random addresses: a disk that seeks is another disk.
const RANDOM_POINTS: f64 = 25.0;
/// Differences up to these are no extrapolation: what was drawn at random scatters.
const ALIKE_RATIO: f64 = 1.1;
const ALIKE_POINTS: f64 = 5.0;

/// What operations are like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Access {
    /// Mean size of an operation, in bytes.
    pub block_bytes: f64,
    /// Reads among the operations, in percent.
    pub read_percent: f64,
    /// Random addresses among the operations, in percent.
    pub random_percent: f64,
}

impl Access {
    /// What a profile asks for.
    pub(super) fn of(profile: &Profile) -> Access {
        Access {
            block_bytes: profile.block.0 as f64,
            read_percent: profile.read.0,
            random_percent: profile.random.0,
        }
    }

    /// How the measured access differs from the requested one.
    pub(super) fn beside(&self, asked: &Access) -> Extrapolation {
        Extrapolation {
            block_ratio: self.block_bytes / asked.block_bytes,
            read_points: self.read_percent - asked.read_percent,
            random_points: self.random_percent - asked.random_percent,
        }
    }
}

impl Extrapolation {
    /// Whether the difference is none.
    pub(super) fn is_none(&self) -> bool {
        let ratio = self.block_ratio.max(1.0 / self.block_ratio);
        let points = self.read_points.abs().max(self.random_points.abs());
        ratio <= ALIKE_RATIO && points <= ALIKE_POINTS
    }

    /// Whether it is small enough to say anything at all.
    pub(super) fn is_near(&self) -> bool {
        self.doublings() <= BLOCK_DOUBLINGS
            && self.read_points.abs() <= READ_POINTS
            && self.random_points.abs() <= RANDOM_POINTS
    }

    /// One number for it: each part by the most that it may be.
    pub(super) fn distance(&self) -> f64 {
        self.doublings() / BLOCK_DOUBLINGS
            + self.read_points.abs() / READ_POINTS
            + self.random_points.abs() / RANDOM_POINTS
    }

    fn doublings(&self) -> f64 {
        self.block_ratio.log2().abs()
    }
}

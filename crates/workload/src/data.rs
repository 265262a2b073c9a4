//! What the data that a workload writes is like, for storage that compresses and finds duplicates.

use serde::{Deserialize, Serialize};

/// How far data can be reduced. Both ratios are original over reduced, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// What a compressor makes of chunks of 4 KiB.
    pub compress: f64,
    /// What remains where every block of 4 KiB is kept once: blocks over different blocks.
    pub dedupe: f64,
}

impl Default for Data {
    /// Neither compressible nor repeating.
    fn default() -> Data {
        Data { compress: 1.0, dedupe: 1.0 }
    }
}

//! How compressible and how repetitive the written data is, for storage that compresses and deduplicates.

use serde::{Deserialize, Serialize};

/// Data reduction. Both ratios are original size over reduced size, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reduction {
    /// Compression ratio of chunks of 4 KiB.
    pub compress: f64,
    /// Deduplication ratio: blocks of 4 KiB over distinct blocks.
    pub dedupe: f64,
}

impl Default for Reduction {
    /// Incompressible, without duplicates.
    fn default() -> Reduction {
        Reduction { compress: 1.0, dedupe: 1.0 }
    }
}

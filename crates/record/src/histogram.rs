//! Latency histograms: 1 ns to 1 hour, mergeable, and the only place where a percentile is read.
//!
//! A thin room around HdrHistogram (Gil Tene): three significant digits live, two in the record's intervals, counts of
//! 32 bits. There is deliberately no way to average percentiles.

use clock::Ns;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The longest latency that is told apart: an hour. Longer ones are counted as an hour.
const HIGHEST: u64 = 3_600_000_000_000;

/// A distribution of latencies with three (or, in stored intervals, two) significant digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Vec<u8>", try_from = "Vec<u8>")]
pub struct Histogram(Hdr<u32>);

/// Bytes that are not a histogram.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("these bytes are not a latency histogram (deflated HdrHistogram V2): {0}")]
pub struct HistogramError(String);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram of three digits; all memory it will ever need is taken here.
    pub fn new() -> Histogram {
        Histogram::with_digits(3)
    }

    fn with_digits(digits: u8) -> Histogram {
        Histogram(Hdr::new_with_bounds(1, HIGHEST, digits).expect("constant bounds are valid"))
    }

    /// Counts one latency. Allocates nothing; 0 counts as 1 ns, more than an hour as an hour.
    pub fn record(&mut self, latency: Ns) {
        self.0.saturating_record(latency.0.max(1));
    }

    /// Adds another histogram's counts.
    pub fn merge(&mut self, other: &Histogram) {
        for v in other.0.iter_recorded() {
            let value = v.value_iterated_to().min(HIGHEST);
            // Bounded by HIGHEST on both sides, so recording cannot fail.
            let _ = self.0.record_n(value, v.count_at_value());
        }
    }

    /// Forgets all counts, keeps the memory.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// Number of latencies counted.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency at a percentile (0 to 100), or `None` when nothing was counted.
    pub fn percentile(&self, p: f64) -> Option<Ns> {
        (self.count() > 0).then(|| Ns(self.0.value_at_percentile(p)))
    }

    /// The smallest latency, to the histogram's precision.
    pub fn min(&self) -> Option<Ns> {
        (self.count() > 0).then(|| Ns(self.0.min()))
    }

    /// The largest latency, to the histogram's precision.
    pub fn max(&self) -> Option<Ns> {
        (self.count() > 0).then(|| Ns(self.0.max()))
    }

    /// The mean, to the histogram's precision; exact means come from sums, not from here.
    pub fn mean(&self) -> Option<Ns> {
        (self.count() > 0).then(|| Ns(self.0.mean() as u64))
    }

    /// Values and their counts, ascending, for charts and exports.
    pub fn counts(&self) -> impl Iterator<Item = (Ns, u64)> + '_ {
        self.0.iter_recorded().map(|v| (Ns(v.value_iterated_to()), v.count_at_value().into()))
    }

    /// The same distribution with two significant digits, as intervals store it.
    pub fn to_two_digits(&self) -> Histogram {
        let mut coarse = Histogram::with_digits(2);
        coarse.merge(self);
        coarse
    }

    /// As deflated HdrHistogram V2 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        V2DeflateSerializer::new().serialize(&self.0, &mut out).expect("a Vec takes every byte");
        out
    }

    /// From deflated HdrHistogram V2 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Histogram, HistogramError> {
        Deserializer::new()
            .deserialize(&mut &bytes[..])
            .map(Histogram)
            .map_err(|e| HistogramError(e.to_string()))
    }
}

impl From<Histogram> for Vec<u8> {
    fn from(h: Histogram) -> Vec<u8> {
        h.to_bytes()
    }
}

impl TryFrom<Vec<u8>> for Histogram {
    type Error = HistogramError;
    fn try_from(bytes: Vec<u8>) -> Result<Histogram, HistogramError> {
        Histogram::from_bytes(&bytes)
    }
}

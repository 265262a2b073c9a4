//! Latency histograms: 1 ns to 1 hour, mergeable, and the only place where a percentile is read.
//!
//! A thin room around HdrHistogram (Gil Tene): three significant digits live and per step, two in the record's
//! intervals, counts of 32 bits. There is deliberately no way to average percentiles. The bytes are HdrHistogram's V2
//! encoding, deflated, which its readers in other languages take; what is read back is trusted in nothing.

use clock::Ns;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use std::io::Read;
use thiserror::Error;

/// The longest latency that is told apart: an hour. Longer ones are counted as an hour.
const HIGHEST: u64 = 3_600_000_000_000;

/// Digits of a histogram that is being filled, and of a step's totals.
const FINE: u8 = 3;
/// Digits of a stored interval.
const COARSE: u8 = 2;

/// First bytes of the deflated form, and of the form inside it.
const DEFLATED_COOKIE: u32 = 0x1c84_9314;
const COOKIE: u32 = 0x1c84_9313;
/// Bytes of the deflated form before the zlib stream: cookie and length.
const DEFLATED_HEADER: usize = 8;
/// Bytes of the inner form before the counts.
const HEADER: usize = 40;
/// The most that a histogram of three digits can inflate to: its header, and five bytes for each of its 33,792 counts.
/// Whatever inflates to more is not ours, and is not inflated further.
const LARGEST: usize = HEADER + 5 * 33_792;

/// A distribution of latencies with three (or, in stored intervals, two) significant digits.
///
/// Takes 135 kB with three digits and 17 kB with two, however much is counted. A bin holds at most 2^32 - 1; one that is
/// full stays full.
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
        Histogram::with_digits(FINE)
    }

    /// An empty histogram of two digits, as intervals store it.
    pub(crate) fn coarse() -> Histogram {
        Histogram::with_digits(COARSE)
    }

    fn with_digits(digits: u8) -> Histogram {
        Histogram(Hdr::new_with_bounds(1, HIGHEST, digits).expect("constant bounds are valid"))
    }

    /// Significant digits: three, or two when it was read from a stored interval.
    pub fn digits(&self) -> u8 {
        self.0.sigfig()
    }

    /// Counts one latency. Allocates nothing; 0 counts as 1 ns, more than an hour as an hour.
    pub fn record(&mut self, latency: Ns) {
        self.0.saturating_record(latency.0.clamp(1, HIGHEST));
    }

    /// Adds another histogram's counts. Exact between equal digits and towards fewer; towards more digits a count lands
    /// at the upper end of its bin, so that percentiles are what they were.
    pub fn merge(&mut self, other: &Histogram) {
        if self.digits() <= other.digits() {
            // Fails only where values exceed the range, which is the same for all histograms here.
            let _ = self.0.add(&other.0);
            return;
        }
        for (value, count) in other.bins() {
            self.0.saturating_record_n(value.min(HIGHEST), count);
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
        if self.count() == 0 {
            return None;
        }
        // Below this many latencies no bin can be full, so that the counts add up to the total.
        if self.count() <= u64::from(u32::MAX) {
            return Some(Ns(self.0.value_at_percentile(p).min(HIGHEST)));
        }
        Some(Ns(self.percentile_of_kept(p).min(HIGHEST)))
    }

    /// The percentile over what the bins hold, which is less than what was counted once a bin is full.
    fn percentile_of_kept(&self, p: f64) -> u64 {
        let kept: u64 = self.bins().map(|(_, count)| u64::from(count)).sum();
        let rank = ((p / 100.0).min(1.0) * kept as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (value, count) in self.bins() {
            seen += u64::from(count);
            if seen >= rank {
                return value;
            }
        }
        self.0.max()
    }

    /// The smallest latency, to the histogram's precision.
    pub fn min(&self) -> Option<Ns> {
        (self.count() > 0).then(|| Ns(self.0.min()))
    }

    /// The largest latency, to the histogram's precision.
    pub fn max(&self) -> Option<Ns> {
        (self.count() > 0).then(|| Ns(self.0.max().min(HIGHEST)))
    }

    /// The mean, to the histogram's precision; exact means come from sums, not from here.
    pub fn mean(&self) -> Option<Ns> {
        (self.count() > 0).then(|| Ns(self.0.mean() as u64))
    }

    /// Values and their counts, ascending, for charts and exports. A value is the largest of its bin.
    pub fn counts(&self) -> impl Iterator<Item = (Ns, u64)> + '_ {
        self.bins().map(|(value, count)| (Ns(value.min(HIGHEST)), count.into()))
    }

    /// The bins in use: largest value, count.
    fn bins(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.0.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value()))
    }

    /// The same distribution with two significant digits, as intervals store it.
    pub fn to_two_digits(&self) -> Histogram {
        let mut coarse = Histogram::coarse();
        coarse.merge(self);
        coarse
    }

    /// As deflated HdrHistogram V2 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        Encoder::new().encode(self)
    }

    /// From deflated HdrHistogram V2 bytes. Takes at most half a megabyte of memory whatever the bytes claim.
    ///
    /// # Errors
    /// Where the bytes are not such a histogram, or one with other digits or another range than ours.
    pub fn from_bytes(bytes: &[u8]) -> Result<Histogram, HistogramError> {
        let plain = inflate(bytes)?;
        check_header(&plain)?;
        Deserializer::new()
            .deserialize(&mut &plain[..])
            .map(Histogram)
            .map_err(|e| HistogramError(e.to_string()))
    }
}

/// Turns histograms into bytes, keeping its buffers from one to the next.
pub(crate) struct Encoder(V2DeflateSerializer);

impl Encoder {
    pub(crate) fn new() -> Encoder {
        Encoder(V2DeflateSerializer::new())
    }

    pub(crate) fn encode(&mut self, histogram: &Histogram) -> Vec<u8> {
        let mut out = Vec::new();
        self.0
            .serialize(&histogram.0, &mut out)
            .expect("a Vec takes every byte, and counts of 32 bits can be encoded");
        out
    }
}

/// The inner form of deflated bytes, inflated no further than a histogram of ours can reach.
fn inflate(bytes: &[u8]) -> Result<Vec<u8>, HistogramError> {
    if word(bytes, 0) != Some(DEFLATED_COOKIE) {
        return Err(HistogramError("they do not begin with its cookie 0x1c849314".into()));
    }
    let stream = &bytes[DEFLATED_HEADER.min(bytes.len())..];
    if word(bytes, 4).map(|len| len as usize) != Some(stream.len()) {
        return Err(HistogramError("the length that they state is not theirs".into()));
    }
    let mut plain = Vec::new();
    ZlibDecoder::new(stream)
        .take(LARGEST as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|e| HistogramError(format!("they do not inflate: {e}")))?;
    if plain.len() > LARGEST {
        return Err(HistogramError(format!("they inflate to more than {LARGEST} bytes")));
    }
    Ok(plain)
}

/// Refuses what the library would take at its word: the payload's length, the bounds (both decide how much memory it
/// takes), and numbers too long for a 32-bit count (it overflows on the longest).
fn check_header(plain: &[u8]) -> Result<(), HistogramError> {
    if word(plain, 0) != Some(COOKIE) || plain.len() < HEADER {
        return Err(HistogramError("no histogram is inside".into()));
    }
    let (header, counts) = plain.split_at(HEADER);
    let refuse = |what: &str| Err(HistogramError(what.to_string()));
    if word(header, 4).map(|len| len as usize) != Some(counts.len()) {
        return refuse("the length of its counts is not what it states");
    }
    let digits = word(header, 12).unwrap_or(0);
    if digits != u32::from(COARSE) && digits != u32::from(FINE) {
        return refuse("it has neither two nor three significant digits");
    }
    if header[16..24] != 1u64.to_be_bytes() || header[24..32] != HIGHEST.to_be_bytes() {
        return refuse("its range is not 1 ns to 1 h");
    }
    // Zigzag varints of at most 33 bits: four bytes that continue, and one that ends.
    if counts.windows(5).any(|w| w.iter().all(|byte| byte & 0x80 != 0)) {
        return refuse("a count has more than 32 bits");
    }
    Ok(())
}

/// The big-endian word at an offset.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
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

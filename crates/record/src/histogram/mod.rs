//! Latency histograms: 1 ns to 1 hour, mergeable, and the only place where a percentile is read.
//!
//! The bins are those of HdrHistogram (Gil Tene): three significant digits live and per step, two in the record's
//! intervals, counts of 32 bits. Unlike its library, which keeps all 33,792 counts, this one allocates a doubling of
//! latency on first use, and a worker's histogram reserves the address space for all of them beforehand, so that
//! recording never allocates. There is deliberately no way to average percentiles. Bytes read back are fully checked.

mod hdr;
mod layout;
mod packed;

use clock::Ns;
use layout::{BinLayout, HIGHEST};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) use hdr::Encoder;

/// Bins per page: in a fine histogram, a doubling of latency (4 KiB).
const PAGE: usize = 1024;
/// Pages of the finest histogram.
const PAGES: usize = BinLayout::Fine.bins().div_ceil(PAGE);
/// Pages of a reserved histogram that are written beforehand, so that they cause no page faults while measuring. A
/// second's latencies rarely spread over more doublings; then the rare slow ones pay for the fault.
const TOUCHED: usize = 8;

/// A distribution of latencies with three (or, in stored intervals, two) significant digits.
///
/// With three digits it takes 4 KiB for every doubling of latency in use, and 135 kB at most. A bin holds at most
/// 2^32 - 1; one that is full stays full.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Vec<u8>", try_from = "Vec<u8>")]
pub struct Histogram {
    layout: BinLayout,
    /// Latencies counted, including those that a full bin dropped.
    total: u64,
    /// For each page, 1 + its index in `counts`, or 0 if unused.
    places: [u8; PAGES],
    /// The pages in use, in the order of their first use.
    counts: Vec<u32>,
}

/// Bytes that are not a histogram.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("these bytes are not a latency histogram: {0}")]
pub struct HistogramError(String);

impl HistogramError {
    fn new(why: impl Into<String>) -> HistogramError {
        HistogramError(why.into())
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

/// Equal if the same counts are in bins of the same width.
impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        self.layout == other.layout && self.total == other.total && self.bins().eq(other.bins())
    }
}

impl Histogram {
    /// An empty histogram with three digits, which allocates as it is used.
    pub fn new() -> Histogram {
        Histogram::with(BinLayout::Fine)
    }

    /// An empty histogram with three digits that never allocates: all memory is reserved here.
    pub fn reserved() -> Histogram {
        let mut histogram = Histogram::new();
        histogram.counts.reserve_exact(PAGES * PAGE);
        histogram.counts.resize(TOUCHED * PAGE, 0);
        histogram.counts.clear();
        histogram
    }

    /// An empty histogram of two digits, as intervals store it.
    pub(crate) fn coarse() -> Histogram {
        Histogram::with(BinLayout::Coarse)
    }

    fn with(layout: BinLayout) -> Histogram {
        Histogram { layout, total: 0, places: [0; PAGES], counts: Vec::new() }
    }

    /// Significant digits: three, or two when it was read from a stored interval.
    pub fn digits(&self) -> u8 {
        self.layout.digits()
    }

    /// Counts one latency; 0 as 1 ns, over an hour as an hour. Never allocates if [reserved](Histogram::reserved).
    #[inline]
    pub fn record(&mut self, latency: Ns) {
        self.add(self.layout.index(latency.0.clamp(1, HIGHEST)), 1);
    }

    /// Adds to a bin.
    #[inline]
    fn add(&mut self, index: usize, count: u32) {
        let start = match self.places[index / PAGE] {
            0 => self.open(index / PAGE),
            place => usize::from(place - 1) * PAGE,
        };
        let bin = &mut self.counts[start + index % PAGE];
        *bin = bin.saturating_add(count);
        self.total += u64::from(count);
    }

    /// Allocates a page and returns its start.
    #[cold]
    fn open(&mut self, page: usize) -> usize {
        let start = self.counts.len();
        self.counts.resize(start + PAGE, 0);
        self.places[page] = (start / PAGE + 1) as u8;
        start
    }

    /// Adds another histogram's counts. Exact for equal or fewer digits; with more digits a count goes to the value
    /// its bin represents, which keeps percentiles.
    pub fn merge(&mut self, other: &Histogram) {
        if self.layout != other.layout {
            for (index, count) in other.bins() {
                self.add(self.layout.index(other.layout.value(index)), count);
            }
            return;
        }
        for (page, counts) in other.pages() {
            let start = match self.places[page] {
                0 => self.open(page),
                place => usize::from(place - 1) * PAGE,
            };
            for (mine, theirs) in self.counts[start..start + PAGE].iter_mut().zip(counts) {
                *mine = mine.saturating_add(*theirs);
            }
        }
        self.total = self.total.saturating_add(other.total);
    }

    /// Clears all counts, keeps the memory.
    pub fn clear(&mut self) {
        self.total = 0;
        self.places = [0; PAGES];
        self.counts.clear();
    }

    /// Number of latencies counted.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The latency at a percentile (0 to 100), or `None` if nothing was counted.
    pub fn percentile(&self, p: f64) -> Option<Ns> {
        // Less than was counted once a bin is full.
        let kept = self.kept();
        let rank = ((kept as f64 * p.clamp(0.0, 100.0) / 100.0).ceil().max(1.0) as u64).min(kept);
        let mut seen = 0;
        self.bins().find_map(|(index, count)| {
            seen += u64::from(count);
            (seen >= rank).then(|| Ns(self.layout.value(index)))
        })
    }

    /// The smallest latency, to the histogram's precision.
    pub fn min(&self) -> Option<Ns> {
        self.bins().next().map(|(index, _)| Ns(self.layout.lowest(index)))
    }

    /// The largest latency, to the histogram's precision.
    pub fn max(&self) -> Option<Ns> {
        self.bins().last().map(|(index, _)| Ns(self.layout.value(index)))
    }

    /// The mean, to the histogram's precision; exact means come from sums, not from here.
    pub fn mean(&self) -> Option<Ns> {
        let of = |(index, count)| self.layout.middle(index) as f64 * f64::from(count);
        let sum: f64 = self.bins().map(of).sum();
        (self.total > 0).then(|| Ns((sum / self.kept() as f64) as u64))
    }

    /// Values and their counts, ascending, for charts and exports. A value is the largest of its bin with three digits,
    /// and the middle of its bin with two.
    pub fn counts(&self) -> impl Iterator<Item = (Ns, u64)> + '_ {
        self.bins().map(|(index, count)| (Ns(self.layout.value(index)), count.into()))
    }

    /// What the bins hold.
    fn kept(&self) -> u64 {
        self.bins().map(|(_, count)| u64::from(count)).sum()
    }

    /// The pages in use, ascending, each with its counts.
    fn pages(&self) -> impl Iterator<Item = (usize, &[u32])> {
        self.places.iter().enumerate().filter(|(_, place)| **place > 0).map(|(page, place)| {
            let start = usize::from(place - 1) * PAGE;
            (page, &self.counts[start..start + PAGE])
        })
    }

    /// The bins in use, ascending: index, count.
    fn bins(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.pages().flat_map(|(page, counts)| {
            let first = page * PAGE;
            counts.iter().enumerate().filter(|(_, n)| **n > 0).map(move |(i, n)| (first + i, *n))
        })
    }

    /// The same distribution with two significant digits, as intervals store it.
    pub fn to_two_digits(&self) -> Histogram {
        let mut coarse = Histogram::coarse();
        coarse.merge(self);
        coarse
    }

    /// As bytes: with three digits as deflated HdrHistogram V2, with two in the packed form of `docs/record.md`.
    pub fn to_bytes(&self) -> Vec<u8> {
        Encoder::new().encode(self)
    }

    /// From either form of bytes. Uses at most half a megabyte of memory for any input.
    /// # Errors
    /// If the bytes are not such a histogram, or have other digits or another range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Histogram, HistogramError> {
        match bytes.first() {
            Some(&packed::MARK) => packed::decode(bytes),
            _ => hdr::decode(bytes),
        }
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

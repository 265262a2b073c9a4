//! The two-digit form of an interval's histogram in the record.
//!
//! Counts of neighbouring bins differ mostly by chance, so a count is coded as its distance from the running mean of
//! those before it, in Golomb-Rice codes whose parameter follows the distances seen (as JPEG-LS and FLAC do with
//! pixels and samples). Where few bins are in use, the gaps are coded instead. The size is about 15% above the entropy
//! of the counts, and a third of deflate's. `docs/record.md` contains a reader.

use super::layout::BinLayout;
use super::{Histogram, HistogramError};

/// The first byte, which no deflated histogram begins with.
pub(super) const MARK: u8 = 2;

/// A quotient this large is not coded in ones.
const ONES_MAX: u32 = 20;
/// Bits that state the length of a plainly coded number, and the greatest length: of a folded 32-bit distance.
const LENGTH_BITS: u32 = 6;
const LENGTH_MAX: u64 = 34;

/// State that coder and decoder share, from the bins so far. Means are in 256ths.
struct CoderModel {
    count: i64,
    distance: i64,
    gap: i64,
}

impl CoderModel {
    fn new() -> CoderModel {
        CoderModel { count: 0, distance: 0, gap: 256 }
    }

    /// Fewer than half a latency is expected in the next bin.
    fn sparse(&self) -> bool {
        self.count < 128
    }

    fn expected(&self) -> i64 {
        (self.count + 128) >> 8
    }

    /// After `gap` empty bins and one that holds `count`.
    fn after_gap(&mut self, gap: i64, count: i64) {
        self.gap += ((gap << 8) - self.gap) >> 2;
        self.count = (count << 8) / (gap + 1);
        self.distance = self.distance.max(self.count);
    }

    /// After a bin that holds `count`, coded as `folded`.
    fn after_count(&mut self, folded: i64, count: i64) {
        self.distance += ((folded << 8) - self.distance) >> 3;
        self.count += ((count << 8) - self.count) >> 2;
    }
}

/// The parameter that suits numbers of a mean (in 256ths).
fn parameter(mean: i64) -> u32 {
    (0..34).find(|k| 420i64 << k >= mean).unwrap_or(34)
}

/// The distance of a count from what was expected, as a number from 0 on: 0, +1, -1, +2, …, and plainly where only
/// distances upwards are left.
fn fold(count: i64, expected: i64) -> i64 {
    let distance = count - expected;
    match distance {
        d if d > expected => count,
        d if d > 0 => 2 * d - 1,
        d => -2 * d,
    }
}

fn unfold(folded: i64, expected: i64) -> i64 {
    match folded {
        f if f > 2 * expected => f,
        f if f % 2 == 1 => expected + (f + 1) / 2,
        f => expected - f / 2,
    }
}

/// A histogram of two digits that holds something; an empty one is the mark and two zeros.
pub(super) fn encode(histogram: &Histogram) -> Vec<u8> {
    let mut out = vec![MARK];
    write_number(histogram.kept(), &mut out);
    let first = histogram.bins().next().map_or(0, |(index, _)| index);
    write_number(first as u64, &mut out);
    let mut bits = BitWriter { out, pending: 0, length: 0 };
    let mut model = CoderModel::new();
    let mut next = first;
    for (index, count) in histogram.bins() {
        let count = i64::from(count);
        while next < index && !model.sparse() {
            let folded = fold(0, model.expected());
            bits.rice(folded, parameter(model.distance));
            model.after_count(folded, 0);
            next += 1;
        }
        if model.sparse() {
            let gap = (index - next) as i64;
            bits.rice(gap, parameter(model.gap));
            bits.rice(count - 1, 0);
            model.after_gap(gap, count);
        } else {
            let folded = fold(count, model.expected());
            bits.rice(folded, parameter(model.distance));
            model.after_count(folded, count);
        }
        next = index + 1;
    }
    bits.finish()
}

/// Reads the packed form.
pub(super) fn decode(bytes: &[u8]) -> Result<Histogram, HistogramError> {
    let cut_off = || HistogramError::new("they are cut off");
    let mut rest = bytes.get(1..).unwrap_or_default();
    let total = read_number(&mut rest).ok_or_else(cut_off)?;
    let mut index = read_number(&mut rest).ok_or_else(cut_off)?;
    let mut bits = BitReader { bytes: rest, at: 0 };
    let mut model = CoderModel::new();
    let mut histogram = Histogram::coarse();
    while histogram.count() < total {
        let count = if model.sparse() {
            let gap = bits.rice(parameter(model.gap)).ok_or_else(cut_off)?;
            index = index.saturating_add(gap as u64);
            let count = bits.rice(0).ok_or_else(cut_off)? + 1;
            model.after_gap(gap, count);
            count
        } else {
            let folded = bits.rice(parameter(model.distance)).ok_or_else(cut_off)?;
            let count = unfold(folded, model.expected());
            model.after_count(folded, count);
            count
        };
        if index >= BinLayout::Coarse.bins() as u64 {
            return Err(HistogramError::new("its counts go beyond its range"));
        }
        match u32::try_from(count) {
            Ok(0) => {}
            Ok(count) => histogram.add(index as usize, count),
            Err(_) => return Err(HistogramError::new("a count has more than 32 bits")),
        }
        index += 1;
    }
    if histogram.count() > total {
        return Err(HistogramError::new("its counts do not add up to the number that it states"));
    }
    if !bits.at_end() {
        return Err(HistogramError::new("something follows its last count"));
    }
    Ok(histogram)
}

/// Seven bits a byte, the high bit set where another byte follows.
fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..56).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Bits, the most significant of a byte first.
struct BitWriter {
    out: Vec<u8>,
    pending: u64,
    length: u32,
}

impl BitWriter {
    /// The lowest `length` bits of a number, 34 at most.
    fn bits(&mut self, number: u64, length: u32) {
        self.pending = self.pending << length | number;
        self.length += length;
        while self.length >= 8 {
            self.length -= 8;
            self.out.push((self.pending >> self.length) as u8);
        }
    }

    /// A number from 0 on: its quotient by 2^`k` in ones and a zero, then the remainder; a large one plainly.
    fn rice(&mut self, number: i64, k: u32) {
        let number = number as u64;
        let quotient = number >> k;
        if quotient < u64::from(ONES_MAX) {
            let ones = quotient as u32;
            self.bits((1 << (ones + 1)) - 2, ones + 1);
            self.bits(number & ((1 << k) - 1), k);
            return;
        }
        let length = 64 - number.leading_zeros();
        self.bits((1 << ONES_MAX) - 1, ONES_MAX);
        self.bits(length.into(), LENGTH_BITS);
        self.bits(number, length);
    }

    /// The bytes, the last one filled up with zeros.
    fn finish(mut self) -> Vec<u8> {
        if self.length > 0 {
            self.bits(0, 8 - self.length);
        }
        self.out
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    /// The next bit.
    at: usize,
}

impl BitReader<'_> {
    fn bit(&mut self) -> Option<u64> {
        let byte = self.bytes.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit.into())
    }

    fn bits(&mut self, length: u64) -> Option<u64> {
        (0..length).try_fold(0, |number, _| Some(number << 1 | self.bit()?))
    }

    fn rice(&mut self, k: u32) -> Option<i64> {
        let mut quotient = 0;
        while quotient < ONES_MAX && self.bit()? == 1 {
            quotient += 1;
        }
        let number = if quotient < ONES_MAX {
            u64::from(quotient) << k | self.bits(k.into())?
        } else {
            let length = self.bits(LENGTH_BITS.into()).filter(|length| *length <= LENGTH_MAX)?;
            self.bits(length)?
        };
        i64::try_from(number).ok()
    }

    /// Nothing follows but the zeros that fill up a byte.
    fn at_end(&mut self) -> bool {
        let left = self.bytes.len() * 8 - self.at;
        left < 8 && self.bits(left as u64) == Some(0)
    }
}

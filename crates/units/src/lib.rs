//! Quantities as people write them: bytes, data rates, durations, IOPS, percentages, link speeds.
//!
//! Parsing requires an explicit unit (`"4"` is not a size), and printing shows the unit. Decimal units are the
//! default, as on data sheets (`MB/s` is 10^6 bytes a second); binary ones are marked (`MiB/s`); `Mb/s` is bits.

#![forbid(unsafe_code)]

mod link;
mod parse;
mod print;

pub use link::{LinkRate, LinkRateError, LinkStandard};
pub use parse::UnitError;
pub use print::{binary_bytes, count, duration, percent, rate, size};

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A number of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Bytes(pub u64);

/// A data rate in bytes a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct ByteRate(pub f64);

/// Operations a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Iops(pub f64);

/// A percentage, 0 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Percent(pub f64);

impl Bytes {
    /// Parses `"8KiB"`, `"4 MB"`, `"512B"`; a unit is required and the result is a whole number of bytes.
    /// # Errors
    /// No number, no known unit of size, or out of range.
    pub fn parse(text: &str) -> Result<Bytes, UnitError> {
        parse::bytes(text)
    }
}

impl ByteRate {
    /// Parses `"800 MB/s"`, `"788.2 MiB/s"`, `"13674 Mb/s"`, `"10Gb/s"`.
    /// # Errors
    /// No number, no known unit of rate, or not finite.
    pub fn parse(text: &str) -> Result<ByteRate, UnitError> {
        parse::byte_rate(text)
    }
}

impl Iops {
    /// Parses `"60000 IOPS"`, `"60k IOPS"`, `"1.2M IOPS"`; `"5000/s"` means the same.
    /// # Errors
    /// No number, no known unit of IOPS, or not finite.
    pub fn parse(text: &str) -> Result<Iops, UnitError> {
        parse::iops(text)
    }
}

impl Percent {
    /// Parses `"67%"` or `"0.3 %"`; values outside 0 to 100 are refused.
    /// # Errors
    /// No number, no `%`, or out of range.
    pub fn parse(text: &str) -> Result<Percent, UnitError> {
        parse::percent(text)
    }

    /// A number that was written without its `%`: 0, or more than 1 and at most 100. Between 0 and 1 it may be meant as a
    /// fraction, and 1 may be 1% or the whole, so these are none.
    pub fn without_sign(n: f64) -> Option<Percent> {
        (n == 0.0 || n > 1.0 && n <= 100.0).then_some(Percent(n + 0.0))
    }

    /// The share as a fraction, 0 to 1.
    pub fn fraction(self) -> f64 {
        self.0 / 100.0
    }
}

/// Parses `"5s"`, `"250 ms"`, `"1h30m"`, `"100us"`, `"7ns"` into a duration; a unit is required.
/// # Errors
/// No number, no known unit of time, or out of range.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    parse::duration(text)
}

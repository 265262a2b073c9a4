//! Parses quantities. Every function takes the whole text, allows blanks around the number and the unit, and reports
//! what it expected by an example of the same quantity.

use crate::{ByteRate, Bytes, Iops, Percent};
use std::time::Duration;
use thiserror::Error;

/// Why a quantity could not be parsed. The message quotes the text and gives a valid example.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UnitError {
    /// The text does not begin with a number.
    #[error("`{text}` is not a {kind}; expected a number and a unit, as in `{example}`")]
    NoNumber {
        /// The text that was parsed.
        text: String,
        /// The kind of quantity.
        kind: &'static str,
        /// A valid example.
        example: &'static str,
    },
    /// A number without a unit.
    #[error("`{text}` has no unit; a {kind} needs one, as in `{example}`")]
    NoUnit {
        /// The text that was parsed.
        text: String,
        /// The kind of quantity.
        kind: &'static str,
        /// A valid example.
        example: &'static str,
    },
    /// A unit that does not belong to this quantity.
    #[error("`{unit}` is not a unit of a {kind}; expected {expected}")]
    UnknownUnit {
        /// The unit in the text.
        unit: String,
        /// The kind of quantity.
        kind: &'static str,
        /// The valid units.
        expected: &'static str,
    },
    /// A value that cannot be represented or makes no sense.
    #[error("`{text}` is out of range for a {kind}: {limit}")]
    OutOfRange {
        /// The text that was parsed.
        text: String,
        /// The kind of quantity.
        kind: &'static str,
        /// The bound that it violates.
        limit: &'static str,
    },
}

/// One quantity: its name, a valid example, a list of its units, and the units with their factors.
struct QuantityKind {
    name: &'static str,
    example: &'static str,
    expected: &'static str,
    units: &'static [(&'static str, f64)],
}

const BYTES: QuantityKind = QuantityKind {
    name: "size",
    example: "8KiB",
    expected: "B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024)",
    units: &[
        ("B", 1.0),
        ("KB", 1e3),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("TB", 1e12),
        ("PB", 1e15),
        ("KiB", 1024.0),
        ("MiB", 1048576.0),
        ("GiB", 1073741824.0),
        ("TiB", 1099511627776.0),
        ("PiB", 1125899906842624.0),
    ],
};

const RATE: QuantityKind = QuantityKind {
    name: "data rate",
    example: "800 MB/s",
    expected: "B/s, KB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s, or in bits kb/s, Mb/s, Gb/s",
    units: &[
        ("B/s", 1.0),
        ("KB/s", 1e3),
        ("kB/s", 1e3),
        ("MB/s", 1e6),
        ("GB/s", 1e9),
        ("TB/s", 1e12),
        ("KiB/s", 1024.0),
        ("MiB/s", 1048576.0),
        ("GiB/s", 1073741824.0),
        ("b/s", 0.125),
        ("kb/s", 125.0),
        ("Mb/s", 125e3),
        ("Gb/s", 125e6),
    ],
};

const IOPS: QuantityKind = QuantityKind {
    name: "rate of operations",
    example: "60000 IOPS",
    expected: "IOPS, k IOPS, M IOPS or /s",
    units: &[
        ("IOPS", 1.0),
        ("kIOPS", 1e3),
        ("k IOPS", 1e3),
        ("MIOPS", 1e6),
        ("M IOPS", 1e6),
        ("/s", 1.0),
        ("k/s", 1e3),
    ],
};

const PERCENT: QuantityKind =
    QuantityKind { name: "share", example: "67%", expected: "%", units: &[("%", 1.0)] };

const DURATION: QuantityKind = QuantityKind {
    name: "duration",
    example: "10s",
    expected: "ns, us, ms, s, m (minutes), h or d",
    units: &[
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("m", 60e9),
        ("min", 60e9),
        ("h", 3600e9),
        ("d", 86400e9),
    ],
};

pub(crate) fn bytes(text: &str) -> Result<Bytes, UnitError> {
    let value = quantity(text, &BYTES)?;
    whole(value, text, &BYTES, "it must be a whole number of bytes below 2^63").map(Bytes)
}

pub(crate) fn byte_rate(text: &str) -> Result<ByteRate, UnitError> {
    quantity(text, &RATE).map(ByteRate)
}

pub(crate) fn iops(text: &str) -> Result<Iops, UnitError> {
    quantity(text, &IOPS).map(Iops)
}

pub(crate) fn percent(text: &str) -> Result<Percent, UnitError> {
    let value = quantity(text, &PERCENT)?;
    if value > 100.0 {
        return Err(out_of_range(text, &PERCENT, "a share is between 0% and 100%"));
    }
    Ok(Percent(value))
}

/// Durations may chain units: `1h30m`.
pub(crate) fn duration(text: &str) -> Result<Duration, UnitError> {
    let mut rest = text.trim();
    let mut total = 0.0;
    loop {
        let (value, after) = number(rest, text, &DURATION)?;
        let unit_end =
            after.find(|c: char| c.is_ascii_digit() || c.is_whitespace()).unwrap_or(after.len());
        total += value * factor(&after[..unit_end], text, &DURATION)?;
        rest = after[unit_end..].trim_start();
        if rest.is_empty() {
            break;
        }
    }
    whole(total.round(), text, &DURATION, "it must be below 292 years").map(Duration::from_nanos)
}

fn quantity(text: &str, kind: &QuantityKind) -> Result<f64, UnitError> {
    let (value, unit) = number(text.trim(), text, kind)?;
    let scaled = value * factor(unit, text, kind)?;
    // A finite number may overflow when it is scaled.
    if scaled.is_finite() { Ok(scaled) } else { Err(out_of_range(text, kind, "it must be finite")) }
}

/// Splits a leading number (digits, one point, `_` and `,` between digits) from what follows it.
fn number<'a>(rest: &'a str, text: &str, kind: &QuantityKind) -> Result<(f64, &'a str), UnitError> {
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | ',')))
        .unwrap_or(rest.len());
    let digits: String = rest[..end].chars().filter(|c| !matches!(c, '_' | ',')).collect();
    let value = digits.parse::<f64>().map_err(|_| UnitError::NoNumber {
        text: text.to_owned(),
        kind: kind.name,
        example: kind.example,
    })?;
    if !value.is_finite() {
        return Err(out_of_range(text, kind, "it must be finite"));
    }
    Ok((value, rest[end..].trim_start()))
}

fn factor(unit: &str, text: &str, kind: &QuantityKind) -> Result<f64, UnitError> {
    let unit = unit.trim();
    if unit.is_empty() {
        return Err(UnitError::NoUnit {
            text: text.to_owned(),
            kind: kind.name,
            example: kind.example,
        });
    }
    kind.units.iter().find(|(name, _)| *name == unit).map(|(_, f)| *f).ok_or_else(|| {
        UnitError::UnknownUnit { unit: unit.to_owned(), kind: kind.name, expected: kind.expected }
    })
}

fn whole(
    value: f64,
    text: &str,
    kind: &QuantityKind,
    limit: &'static str,
) -> Result<u64, UnitError> {
    if value.fract() != 0.0 || value >= 9.2e18 {
        return Err(out_of_range(text, kind, limit));
    }
    Ok(value as u64)
}

fn out_of_range(text: &str, kind: &QuantityKind, limit: &'static str) -> UnitError {
    UnitError::OutOfRange { text: text.to_owned(), kind: kind.name, limit }
}

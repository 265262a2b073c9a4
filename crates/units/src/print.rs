//! Formats quantities for people: three or four significant digits and the unit.

use crate::{ByteRate, Bytes, Iops, Percent};
use std::fmt;
use std::time::Duration;

impl fmt::Display for Bytes {
    /// Exact: in the unit that needs the smallest number, a binary one where two need the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 8] = [
            ("TiB", 1 << 40),
            ("GiB", 1 << 30),
            ("MiB", 1 << 20),
            ("KiB", 1 << 10),
            ("TB", 1_000_000_000_000),
            ("GB", 1_000_000_000),
            ("MB", 1_000_000),
            ("KB", 1_000),
        ];
        let whole =
            UNITS.iter().filter(|(_, unit)| self.0 >= *unit && self.0.is_multiple_of(*unit));
        match whole.min_by_key(|(_, unit)| self.0 / unit) {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rate(self.0))
    }
}

impl fmt::Display for Iops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} IOPS", count(self.0))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&percent(self.0))
    }
}

/// A data rate in decimal MB/s, the project's default: `"397 MB/s"`, `"3.97 MB/s"`.
pub fn rate(bytes_per_s: f64) -> String {
    format!("{} MB/s", digits(bytes_per_s / 1e6))
}

/// A size for people: exact where a unit makes that short (`"200 GB"`), else with three digits.
pub fn size(bytes: Bytes) -> String {
    let exact = bytes.to_string();
    let end = exact.find(|c: char| !c.is_ascii_digit()).unwrap_or(exact.len());
    match end {
        0..=4 => format!("{} {}", &exact[..end], &exact[end..]),
        _ => binary_bytes(bytes.0),
    }
}

/// An approximate size in binary units: `"24.0 GiB"`.
pub fn binary_bytes(bytes: u64) -> String {
    let value = bytes as f64;
    let (scaled, unit) = match bytes {
        0..=1023 => (value, "B"),
        1024..=0xF_FFFF => (value / 1024.0, "KiB"),
        0x10_0000..=0x3FFF_FFFF => (value / 1048576.0, "MiB"),
        0x4000_0000..=0xFF_FFFF_FFFF => (value / 1073741824.0, "GiB"),
        _ => (value / 1099511627776.0, "TiB"),
    };
    format!("{} {unit}", digits(scaled))
}

/// A number with thousands separators: `"61,234"`; below a hundred with up to two decimals.
pub fn count(value: f64) -> String {
    if value.abs() < 100.0 {
        return digits(value);
    }
    let whole = format!("{:.0}", value.abs());
    let mut out = String::with_capacity(whole.len() + whole.len() / 3);
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    if value < 0.0 { format!("-{out}") } else { out }
}

/// A duration with three significant digits: `"412 ns"`, `"26.0 ms"`, `"1.50 s"`, `"2 min 5 s"`.
pub fn duration(d: Duration) -> String {
    let ns = d.as_nanos() as f64;
    match ns {
        n if n < 1e3 => format!("{n} ns"),
        n if n < 999.5e3 => format!("{} us", digits(n / 1e3)),
        n if n < 999.5e6 => format!("{} ms", digits(n / 1e6)),
        n if n < 120e9 => format!("{} s", digits(n / 1e9)),
        _ => {
            let s = d.as_secs();
            match (s / 3600, s / 60 % 60, s % 60) {
                (0, m, 0) => format!("{m} min"),
                (0, m, s) => format!("{m} min {s} s"),
                (h, m, _) => format!("{h} h {m} min"),
            }
        }
    }
}

/// A percentage: `"0.31%"`, `"67%"`.
pub fn percent(value: f64) -> String {
    format!("{}%", digits(value))
}

/// Three significant digits if there are decimals, whole numbers above a hundred, no trailing zeros on whole values.
fn digits(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 || size >= 99.95 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

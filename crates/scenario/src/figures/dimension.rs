//! What figures are measured in: how each is written, and which values make no sense.

use crate::nearest::{join, nearest};
use crate::scalar::link_rate;
use crate::tree::clip;
use std::fmt;
use std::time::Duration;
use units::{ByteRate, Bytes, Iops, LinkRate, Percent};

/// What a figure is measured in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dimension {
    /// A whole number, from the first to the second.
    Count(u64, u64),
    /// Bytes; more than none.
    Size,
    /// A time, from a nanosecond to an hour.
    Time,
    /// A time for each byte: `0.5 ns/B`, `500 us/MB`.
    PerByte,
    /// Payload bytes a second, from 1 KB/s to 1 TB/s.
    Rate,
    /// The speed of a port: of a standard such as `8gfc`, or a data rate.
    Link,
    /// Operations a second; more than none.
    Iops,
    /// A share from 0% to 100%.
    Share,
    /// Turns of a clock: `2.4 GHz`.
    Frequency,
    /// The bus that an adapter sits on: `PCIe Gen2 x8`, or a data rate in each direction.
    Bus,
    /// `yes` or `no`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// A figure that has been read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ParsedFigure {
    Count(u64),
    Size(Bytes),
    Time(Duration),
    /// Seconds a byte.
    PerByte(f64),
    Rate(ByteRate),
    Link(LinkRate),
    Iops(Iops),
    Share(Percent),
    Hertz(f64),
    Flag(bool),
    Word(&'static str),
}

impl ParsedFigure {
    /// In its base unit; words and flags are no numbers.
    pub(super) fn number(self) -> Option<f64> {
        match self {
            ParsedFigure::Count(n) => Some(n as f64),
            ParsedFigure::Size(size) => Some(size.0 as f64),
            ParsedFigure::Time(time) => Some(time.as_secs_f64()),
            ParsedFigure::PerByte(number) | ParsedFigure::Hertz(number) => Some(number),
            ParsedFigure::Rate(rate) => Some(rate.0),
            ParsedFigure::Link(rate) => Some(rate.payload().0),
            ParsedFigure::Iops(rate) => Some(rate.0),
            ParsedFigure::Share(share) => Some(share.0 / 100.0),
            ParsedFigure::Flag(_) | ParsedFigure::Word(_) => None,
        }
    }
}

/// The longest time that a figure may state: nothing in a lab takes an hour for one I/O.
const TIME_MAX: Duration = Duration::from_secs(3600);
/// The most seconds that a byte may take: a millisecond, which is 1 KB/s.
const PER_BYTE_MAX: f64 = 1e-3;
/// The least: a byte in a femtosecond is 1 PB/s.
const PER_BYTE_MIN: f64 = 1e-15;
/// Operations a second that nothing exceeds.
const IOPS_MAX: f64 = 1e12;
/// Clocks of processors.
const HERTZ: (f64, f64) = (1e6, 1e11);

/// Bytes a second of one lane of PCI Express in each direction after line coding, by generation: 2.5, 5, 8, 16, 32 and
/// 64 GT/s with 8b/10b, then 128b/130b, then flits (PCI Express Base Specification).
const PCIE_LANE: [f64; 6] = [250e6, 500e6, 984.6e6, 1_969.2e6, 3_938.5e6, 7_563e6];

/// A problem, and what helps.
type DimensionProblem = (String, Option<String>);

impl Dimension {
    /// A value as it is written.
    pub(super) fn read(self, text: &str) -> Result<ParsedFigure, DimensionProblem> {
        let text = text.trim();
        match self {
            Dimension::Count(least, most) => match text.parse::<u64>() {
                Ok(n) if (least..=most).contains(&n) => Ok(ParsedFigure::Count(n)),
                _ => Err(self.mismatch(text)),
            },
            Dimension::Size => match Bytes::parse(text) {
                Ok(size) if size.0 > 0 => Ok(ParsedFigure::Size(size)),
                Ok(_) => Err(self.nothing(text)),
                Err(_) => Err(self.mismatch(text)),
            },
            Dimension::Time => match units::parse_duration(text) {
                Ok(time) if time.is_zero() => Err(self.nothing(text)),
                Ok(time) if time <= TIME_MAX => Ok(ParsedFigure::Time(time)),
                _ => Err(self.mismatch(text)),
            },
            Dimension::PerByte => self.per_byte(text),
            Dimension::Rate => self.rate(text).map(ParsedFigure::Rate),
            Dimension::Link => match zero_rate(text) {
                true => Err(self.nothing(text)),
                false => link_rate(text).map(ParsedFigure::Link),
            },
            Dimension::Iops => match Iops::parse(text) {
                Ok(rate) if rate.0 == 0.0 => Err(self.nothing(text)),
                Ok(rate) if rate.0 <= IOPS_MAX => Ok(ParsedFigure::Iops(rate)),
                _ => Err(self.mismatch(text)),
            },
            Dimension::Share => {
                Percent::parse(text).map(ParsedFigure::Share).map_err(|_| self.mismatch(text))
            }
            Dimension::Frequency => match hertz(text) {
                Some(hertz) if hertz >= HERTZ.0 && hertz <= HERTZ.1 => {
                    Ok(ParsedFigure::Hertz(hertz))
                }
                _ => Err(self.mismatch(text)),
            },
            Dimension::Bus => match pcie(text) {
                Some(rate) => Ok(ParsedFigure::Rate(rate)),
                None => self.rate(text).map(ParsedFigure::Rate),
            },
            Dimension::Flag => match text {
                "yes" => Ok(ParsedFigure::Flag(true)),
                "no" => Ok(ParsedFigure::Flag(false)),
                _ => Err(self.mismatch(text)),
            },
            Dimension::Word(words) => match words.iter().find(|word| **word == text) {
                Some(word) => Ok(ParsedFigure::Word(word)),
                None => {
                    let near = nearest(text, words.iter().copied());
                    let help = near.map(|near| format!("did you mean `{near}`?"));
                    Err((self.mismatch(text).0, help))
                }
            },
        }
    }

    /// A value in the base unit of its dimension; `None` where it cannot be read, or is no number.
    pub fn number(self, text: &str) -> Option<f64> {
        self.read(text).ok()?.number()
    }

    /// A number in the base unit as a figure of this dimension is written; a time to the nanosecond, counts and sizes to
    /// the whole. `None` for words and flags, which are no numbers.
    pub fn text(self, number: f64) -> Option<String> {
        Some(match self {
            Dimension::Count(..) => format!("{number:.0}"),
            Dimension::Size => format!("{number:.0} B"),
            Dimension::Time => format!("{:.0} ns", number * 1e9),
            Dimension::PerByte => format!("{:.6} ps/B", number * 1e12),
            Dimension::Rate | Dimension::Link | Dimension::Bus => {
                format!("{:.6} MB/s", number / 1e6)
            }
            Dimension::Iops => format!("{number:.3} IOPS"),
            Dimension::Share => format!("{:.6}%", number * 100.0),
            Dimension::Frequency => format!("{:.6} MHz", number / 1e6),
            Dimension::Flag | Dimension::Word(_) => return None,
        })
    }

    fn rate(self, text: &str) -> Result<ByteRate, DimensionProblem> {
        let bounds = LinkRate::MIN as f64..=LinkRate::MAX as f64;
        match ByteRate::parse(text) {
            Ok(rate) if rate.0 == 0.0 => Err(self.nothing(text)),
            Ok(rate) if bounds.contains(&rate.0) => Ok(rate),
            _ => Err(self.mismatch(text)),
        }
    }

    fn per_byte(self, text: &str) -> Result<ParsedFigure, DimensionProblem> {
        match per_byte(text) {
            Some(0.0) => Err(self.nothing(text)),
            Some(seconds) if (PER_BYTE_MIN..=PER_BYTE_MAX).contains(&seconds) => {
                Ok(ParsedFigure::PerByte(seconds))
            }
            _ => Err(self.mismatch(text)),
        }
    }

    fn mismatch(self, text: &str) -> DimensionProblem {
        if self.is_measure() && text.parse::<f64>().is_ok_and(|number| number == 0.0) {
            return self.nothing(text);
        }
        (format!("expected {self}, found `{}`", clip(text)), self.meant(text))
    }

    /// Whether nothing of it makes no sense.
    fn is_measure(self) -> bool {
        matches!(
            self,
            Dimension::Size
                | Dimension::Time
                | Dimension::PerByte
                | Dimension::Rate
                | Dimension::Link
                | Dimension::Iops
                | Dimension::Bus
        )
    }

    /// What was probably meant by a value that cannot be read: it lacks its unit, or a part of it.
    fn meant(self, text: &str) -> Option<String> {
        let plain = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
        let unit = |unit: &str| plain.map(|_| format!("did you mean `{}{unit}`?", clip(text)));
        let read = |more: &str| {
            let whole = format!("{text}{more}");
            self.read_plainly(&whole).then(|| format!("did you mean `{}{more}`?", clip(text)))
        };
        match self {
            Dimension::Iops => read(" IOPS"),
            Dimension::Rate | Dimension::Bus => read("/s").or_else(|| read(" MB/s")),
            Dimension::PerByte => read("/B").or_else(|| unit(" ns/B")),
            Dimension::Frequency => read(" GHz"),
            Dimension::Time => plain.map(|_| {
                let number = clip(text);
                format!("give it its unit: `{number} us` or `{number} ms`")
            }),
            Dimension::Size => plain.map(|_| {
                let number = clip(text);
                format!("give it its unit: `{number} MB` or `{number} GB`")
            }),
            Dimension::Share => match plain? {
                part if part <= 1.0 => {
                    let whole = (part * 1e11).round() / 1e9;
                    Some(format!("did you mean `{whole}%`?"))
                }
                _ => read("%"),
            },
            Dimension::Flag => match text.to_ascii_lowercase().as_str() {
                "true" | "on" | "1" => Some("did you mean `yes`?".to_owned()),
                "false" | "off" | "0" => Some("did you mean `no`?".to_owned()),
                _ => None,
            },
            Dimension::Count(..) | Dimension::Link | Dimension::Word(_) => None,
        }
    }

    /// Whether a value can be read, without help.
    fn read_plainly(self, text: &str) -> bool {
        match self {
            Dimension::Iops => Iops::parse(text).is_ok(),
            Dimension::Rate | Dimension::Bus => ByteRate::parse(text).is_ok(),
            Dimension::PerByte => per_byte(text).is_some(),
            Dimension::Frequency => hertz(text).is_some(),
            Dimension::Share => Percent::parse(text).is_ok(),
            _ => false,
        }
    }

    /// Nothing where something is needed: what takes no time, or carries nothing, cannot be simulated. A figure that is left
    /// out has a default, which may be more.
    fn nothing(self, text: &str) -> DimensionProblem {
        let default =
            "a figure that is left out takes the model's default, which `wirespeed estimate` lists";
        let help = match self {
            Dimension::Time => format!("for next to nothing write `1 ns`; {default}"),
            Dimension::PerByte => format!("for next to nothing write `0.01 ps/B`; {default}"),
            Dimension::Size => format!("leave it out instead; {default}"),
            _ => format!("for no limit leave it out; {default}"),
        };
        (format!("expected more than zero, found `{}`", clip(text)), Some(help))
    }
}

/// Seconds a byte, of `0.5 ns/B`.
fn per_byte(text: &str) -> Option<f64> {
    let (time, size) = text.split_once('/')?;
    let (number, unit) = split(time.trim());
    let number = number.parse::<f64>().ok()?;
    let scale = match unit {
        "ps" => 1e-12,
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    let size = Bytes::parse(&format!("1{}", size.trim())).ok()?;
    Some(number * scale / size.0 as f64)
}

/// The bytes a second that a speed of zero states, which units refuse as being out of range.
fn zero_rate(text: &str) -> bool {
    ByteRate::parse(text).is_ok_and(|rate| rate.0 == 0.0)
}

/// A number and its unit.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

fn hertz(text: &str) -> Option<f64> {
    let (number, unit) = split(text);
    let scale = match unit {
        "MHz" => 1e6,
        "GHz" => 1e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

/// `PCIe Gen2 x8`.
fn pcie(text: &str) -> Option<ByteRate> {
    let mut words = text.split_ascii_whitespace();
    let named = words.next()?.eq_ignore_ascii_case("pcie");
    let generation = words.next()?.strip_prefix("Gen")?.parse::<usize>().ok()?;
    let lanes = words.next()?.strip_prefix('x')?.parse::<u32>().ok()?;
    let lane = PCIE_LANE.get(generation.checked_sub(1)?)?;
    let real = named && words.next().is_none() && matches!(lanes, 1 | 2 | 4 | 8 | 12 | 16 | 32);
    real.then(|| ByteRate(lane * f64::from(lanes)))
}

impl fmt::Display for Dimension {
    /// What is expected, in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dimension::Count(least, most) => write!(f, "a whole number from {least} to {most}"),
            Dimension::Size => f.write_str("a size such as `8 GB`"),
            Dimension::Time => f.write_str("a time such as `5ms`, up to an hour"),
            Dimension::PerByte => f.write_str("a time per byte such as `0.5 ns/B`"),
            Dimension::Rate => f.write_str("a data rate from 1 KB/s to 1 TB/s such as `800 MB/s`"),
            Dimension::Link => f.write_str(
                "a standard such as `8gfc` or `10gbe`, or a data rate such as `800 MB/s`",
            ),
            Dimension::Iops => f.write_str("a rate of operations such as `400k IOPS`"),
            Dimension::Share => f.write_str("a share from 0% to 100% such as `90%`"),
            Dimension::Frequency => f.write_str("a clock such as `2.4 GHz`"),
            Dimension::Bus => {
                f.write_str("a bus such as `PCIe Gen2 x8`, or a data rate such as `2 GB/s`")
            }
            Dimension::Flag => f.write_str("`yes` or `no`"),
            Dimension::Word(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                f.write_str(&join(&words, "or"))
            }
        }
    }
}

//! The speed of a link or a port: by the name of its standard, or as a data rate.
//!
//! A name means the payload rate of its standard in each direction. Fibre Channel (FC-FS): 2,112 bytes of
//! payload in frames of 2,148 bytes, with a gap of 24 bytes. Ethernet (IEEE 802.3): the frame without the 38 bytes
//! around it (preamble, header, check sequence, gap) and without 40 bytes of TCP/IPv4. Headers of a storage protocol
//! are not subtracted: they are a few per mille at 8 KiB.

use crate::{ByteRate, Percent};
use std::fmt;
use thiserror::Error;

/// The speed of a link or a port in each direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkRate {
    /// The speed of a standard, by its name.
    Standard(LinkStandard),
    /// A payload rate, in whole bytes a second.
    Rate(ByteRate),
}

/// A standard that names a speed. Made by [`LinkRate::parse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkStandard {
    name: &'static str,
    /// Bytes a second after line coding.
    wire: u64,
    framing: WireFraming,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WireFraming {
    FibreChannel,
    Ethernet { mtu: u16 },
}

/// A text that is not a link speed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LinkRateError {
    /// Neither a known name nor a figure with its unit.
    #[error(
        "`{0}` is no speed of a link: expected a standard such as `8gfc`, `10gbe` or, with jumbo frames, `10gbe:9000`, or \
         a data rate such as `400 MB/s`"
    )]
    Unknown(String),
    /// An Ethernet MTU out of range.
    #[error("`{0}` is not an MTU, which is between 576 and 9216 bytes")]
    Mtu(String),
    /// A rate out of range.
    #[error("`{0}` is out of range: a link carries between 1 KB/s and 1 TB/s")]
    Range(String),
}

/// Fibre Channel: the name and the bytes a second on the wire after line coding (8b/10b; from 16GFC on 64b/66b, and for
/// 64GFC 256b/257b with its forward error correction).
const FIBRE_CHANNEL: [(&str, u64); 7] = [
    ("1gfc", 106_250_000),
    ("2gfc", 212_500_000),
    ("4gfc", 425_000_000),
    ("8gfc", 850_000_000),
    ("16gfc", 1_700_000_000),
    ("32gfc", 3_400_000_000),
    ("64gfc", 6_800_000_000),
];

/// Ethernet: the name and the bytes a second on the wire.
const ETHERNET: [(&str, u64); 7] = [
    ("1gbe", 125_000_000),
    ("10gbe", 1_250_000_000),
    ("25gbe", 3_125_000_000),
    ("40gbe", 5_000_000_000),
    ("50gbe", 6_250_000_000),
    ("100gbe", 12_500_000_000),
    ("200gbe", 25_000_000_000),
];

const MTU_USUAL: u16 = 1500;

impl LinkRate {
    /// The slowest link, in bytes a second.
    pub const MIN: u64 = 1_000;
    /// The fastest link, in bytes a second.
    pub const MAX: u64 = 1_000_000_000_000;

    /// Parses `"8gfc"`, `"10GbE"`, `"10gbe:9000"` (an MTU), or a data rate such as `"400 MB/s"`, rounded to whole
    /// bytes.
    /// # Errors
    /// The text names no known speed, or the MTU or the rate is out of range.
    pub fn parse(text: &str) -> Result<LinkRate, LinkRateError> {
        let lower = text.trim().to_ascii_lowercase();
        if let Some((name, wire)) = FIBRE_CHANNEL.into_iter().find(|(name, _)| *name == lower) {
            let framing = WireFraming::FibreChannel;
            return Ok(LinkRate::Standard(LinkStandard { name, wire, framing }));
        }
        let (bare, mtu) = match lower.split_once(':') {
            Some((bare, mtu)) => (bare, Some(mtu)),
            None => (lower.as_str(), None),
        };
        if let Some((name, wire)) = ETHERNET.into_iter().find(|(name, _)| *name == bare) {
            let mtu = mtu.map_or(Ok(MTU_USUAL), frame)?;
            let framing = WireFraming::Ethernet { mtu };
            return Ok(LinkRate::Standard(LinkStandard { name, wire, framing }));
        }
        let unknown = |_| LinkRateError::Unknown(text.to_owned());
        let figure = ByteRate::parse(text).map_err(unknown)?.0.round();
        if !(LinkRate::MIN as f64..=LinkRate::MAX as f64).contains(&figure) {
            return Err(LinkRateError::Range(text.to_owned()));
        }
        Ok(LinkRate::Rate(ByteRate(figure)))
    }

    /// All names, slowest first within each family.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        FIBRE_CHANNEL.into_iter().chain(ETHERNET).map(|(name, _)| name)
    }

    /// The payload rate, without framing, in each direction.
    pub fn payload(self) -> ByteRate {
        match self {
            LinkRate::Standard(standard) => ByteRate(standard.payload() as f64),
            LinkRate::Rate(rate) => rate,
        }
    }

    /// The line rate with all framing, in each direction, after line coding; `None` if only a payload rate is known.
    pub fn line(self) -> Option<ByteRate> {
        match self {
            LinkRate::Standard(standard) => Some(ByteRate(standard.wire as f64)),
            LinkRate::Rate(_) => None,
        }
    }

    /// The payload rate of a link that is slowed down to a percentage of its speed.
    pub fn scaled(self, scale: Percent) -> ByteRate {
        ByteRate(self.payload().0 * scale.fraction())
    }
}

impl LinkStandard {
    /// The name in lower case, without an MTU: `8gfc`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The MTU if it is not Ethernet's default of 1500 bytes.
    pub fn jumbo(self) -> Option<u16> {
        match self.framing {
            WireFraming::Ethernet { mtu } if mtu != MTU_USUAL => Some(mtu),
            _ => None,
        }
    }

    /// Payload rate in bytes a second, rounded down.
    fn payload(self) -> u64 {
        match self.framing {
            WireFraming::FibreChannel => self.wire * 2_112 / (2_148 + 24),
            WireFraming::Ethernet { mtu } => {
                self.wire * (u64::from(mtu) - 40) / (u64::from(mtu) + 38)
            }
        }
    }
}

/// The MTU after the name: `9000`, or `mtu=9000`.
fn frame(text: &str) -> Result<u16, LinkRateError> {
    let digits = text.strip_prefix("mtu=").unwrap_or(text);
    let mtu = digits.parse::<u16>().ok().filter(|mtu| (576..=9216).contains(mtu));
    mtu.ok_or_else(|| LinkRateError::Mtu(text.to_owned()))
}

impl fmt::Display for LinkRate {
    /// Exact, so that equal texts are equal speeds: `8gfc`, `10gbe:9000`, `400 MB/s`, `413.243802 MB/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkRate::Standard(standard) => match standard.jumbo() {
                Some(mtu) => write!(f, "{}:{mtu}", standard.name),
                None => f.write_str(standard.name),
            },
            LinkRate::Rate(rate) if rate.0 < 1e6 => write!(f, "{} KB/s", rate.0 / 1e3),
            LinkRate::Rate(rate) => write!(f, "{} MB/s", rate.0 / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shown: &str, payload: u64) {
        let rate = LinkRate::parse(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            (rate.to_string().as_str(), rate.payload().0),
            (shown, payload as f64),
            "{text}"
        );
        assert_eq!(LinkRate::parse(&rate.to_string()), Ok(rate), "{text} is read as it is shown");
    }

    #[test]
    fn names_stand_for_payload_rates() {
        check("1gfc", "1gfc", 103_314_917);
        check(" 8GFC ", "8gfc", 826_519_337);
        check("64gfc", "64gfc", 6_612_154_696);
        check("1GbE", "1gbe", 118_660_598);
        check("10gbe", "10gbe", 1_186_605_981);
        check("10gbe:9000", "10gbe:9000", 1_239_212_215);
        check("10gbe:mtu=9000", "10gbe:9000", 1_239_212_215);
        check("10gbe:1500", "10gbe", 1_186_605_981);
    }

    #[test]
    fn figures_are_whole_bytes_a_second() {
        check("400 MB/s", "400 MB/s", 400_000_000);
        check("1.25GB/s", "1250 MB/s", 1_250_000_000);
        check("394.1 MiB/s", "413.243802 MB/s", 413_243_802);
        check("8 Mb/s", "1 MB/s", 1_000_000);
        check("1 KB/s", "1 KB/s", 1_000);
        check("999.999 KB/s", "999.999 KB/s", 999_999);
        check("1 TB/s", "1000000 MB/s", 1_000_000_000_000);
        check("123456.789012 MB/s", "123456.789012 MB/s", 123_456_789_012);
    }

    #[test]
    fn invalid_speeds_are_refused() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let error = LinkRate::parse(text).expect_err("no speed").to_string();
            assert!(error.contains(expected), "{error}");
        }
        check("", "`` is no speed");
        check("5gfc", "`5gfc` is no speed");
        check("8gfc:9000", "is no speed");
        check("400", "is no speed");
        check("-3 MB/s", "is no speed");
        check("10gbe:", "`` is not an MTU");
        check("10gbe:12", "`12` is not an MTU");
        check("10gbe:70000", "is not an MTU");
        check("0 MB/s", "out of range");
        check("999 B/s", "out of range");
        check("2 TB/s", "out of range");
        check("9999999999999 GB/s", "out of range");
    }

    #[test]
    fn a_share_of_a_speed() {
        let rate = LinkRate::parse("400 MB/s").expect("a rate");
        assert_eq!(rate.scaled(Percent(50.0)), ByteRate(2e8));
        assert_eq!(rate.scaled(Percent(100.0)), rate.payload());
    }

    #[test]
    fn every_name_is_parsed() {
        for name in LinkRate::names() {
            check(name, name, LinkRate::parse(name).expect("a name").payload().0 as u64);
        }
    }
}

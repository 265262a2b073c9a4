//! How fast a port is, by the name of its standard or as a figure.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use units::ByteRate;

/// The speed of a port in each direction, in bytes of SCSI data a second.
///
/// Names give the payload rate of the standard: of a Fibre Channel link, frames of 2,112 bytes of payload in 2,148, with
/// a gap of 24 bytes (FC-FS); of Ethernet, what is left of a frame beside 38 bytes around it and 40 bytes of TCP/IPv4
/// within it. Headers of the storage protocol are not subtracted: they are a few per mille at 8 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRate(NonZeroU64);

/// A text that names no speed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// Neither a known name nor a figure with its unit.
    #[error(
        "`{0}` is no port speed: say 4gfc, 8gfc, 16gfc, 32gfc, 1gbe, 10gbe, 25gbe, 40gbe, 100gbe (with jumbo frames \
         10gbe:9000), or a figure with its unit such as `400 MB/s`"
    )]
    Unknown(String),
    /// An Ethernet frame size that does not exist.
    #[error("an MTU lies between 576 and 9216 bytes, and `{0}` does not")]
    Mtu(String),
    /// Zero, or more than the arithmetic carries.
    #[error("a port carries between 1 kB/s and 1 TB/s, and `{0}` does not")]
    Range(String),
}

/// Fibre Channel: the name and the bytes a second on the wire after line coding (8b/10b, then 64b/66b).
const FIBRE_CHANNEL: [(&str, u64); 4] = [
    ("4gfc", 425_000_000),
    ("8gfc", 850_000_000),
    ("16gfc", 1_700_000_000),
    ("32gfc", 3_400_000_000),
];

/// Ethernet: the name and the bytes a second on the wire.
const ETHERNET: [(&str, u64); 5] = [
    ("1gbe", 125_000_000),
    ("10gbe", 1_250_000_000),
    ("25gbe", 3_125_000_000),
    ("40gbe", 5_000_000_000),
    ("100gbe", 12_500_000_000),
];

impl PortRate {
    /// So many bytes a second, between 1 kB/s and 1 TB/s.
    pub fn new(bytes_per_s: u64) -> Option<PortRate> {
        let carried = (1_000..=1_000_000_000_000).contains(&bytes_per_s);
        NonZeroU64::new(bytes_per_s).filter(|_| carried).map(PortRate)
    }

    /// Bytes of SCSI data a second, in each direction.
    pub fn bytes_per_s(self) -> u64 {
        self.0.get()
    }
}

impl FromStr for PortRate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<PortRate, RateError> {
        let lower = text.trim().to_ascii_lowercase();
        if let Some((_, wire)) = FIBRE_CHANNEL.iter().find(|(name, _)| *name == lower) {
            return PortRate::new(wire * 2_112 / (2_148 + 24)).ok_or(RateError::Range(lower));
        }
        let (name, mtu) = lower.split_once(':').unwrap_or((&lower, "1500"));
        if let Some((_, wire)) = ETHERNET.iter().find(|(known, _)| *known == name) {
            let frame = mtu.strip_prefix("mtu=").unwrap_or(mtu).parse::<u64>().ok();
            let frame = frame.filter(|frame| (576..=9216).contains(frame));
            let frame = frame.ok_or_else(|| RateError::Mtu(mtu.to_owned()))?;
            return PortRate::new(wire * (frame - 40) / (frame + 38))
                .ok_or(RateError::Range(lower));
        }
        let figure = ByteRate::parse(text).map_err(|_| RateError::Unknown(text.to_owned()))?;
        PortRate::new(figure.0 as u64).ok_or_else(|| RateError::Range(text.to_owned()))
    }
}

impl fmt::Display for PortRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&units::rate(self.bytes_per_s() as f64))
    }
}

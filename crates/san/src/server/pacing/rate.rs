//! The speed of a port, by the name of its standard or as a figure.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use units::LinkRate;

/// A text that names no speed.
pub use units::LinkRateError as RateError;

/// The speed of a port in each direction, in bytes of SCSI data a second.
///
/// Names give the payload rate of the standard ([`LinkRate`]). Headers of the storage protocol are not subtracted: they
/// are a few per mille at 8 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRate(NonZeroU64);

impl PortRate {
    /// So many bytes a second, between 1 kB/s and 1 TB/s.
    pub fn new(bytes_per_s: u64) -> Option<PortRate> {
        let carried = (LinkRate::MIN..=LinkRate::MAX).contains(&bytes_per_s);
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
        let bytes_per_s = LinkRate::parse(text)?.payload().0 as u64;
        PortRate::new(bytes_per_s).ok_or_else(|| RateError::Range(text.to_owned()))
    }
}

impl fmt::Display for PortRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&units::rate(self.bytes_per_s() as f64))
    }
}

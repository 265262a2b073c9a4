//! The figures of a part in base units: seconds, bytes, bytes a second; or `None`.

use scenario::{Part, Scenario};
use units::LinkRate;

/// The figures of a part, or of no part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sheet<'a> {
    part: Option<&'a Part>,
}

impl<'a> Sheet<'a> {
    /// Of the part with this name: the scenario's own, or the catalog's.
    pub fn of(scenario: &'a Scenario, name: Option<&str>) -> Sheet<'a> {
        Sheet { part: name.and_then(|name| scenario.lab.part(name)) }
    }

    /// Whether the part has this figure.
    pub fn has(&self, name: &str) -> bool {
        self.part.is_some_and(|part| part.figure(name).is_some())
    }

    /// A figure as written.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        Some(self.part?.figure(name)?.value.trim())
    }

    /// The keyword of a figure that takes keywords.
    pub fn word(&self, name: &str) -> Option<&'static str> {
        self.part?.word(name)
    }

    /// In seconds.
    pub fn time(&self, name: &str) -> Option<f64> {
        Some(self.part?.time(name)?.as_secs_f64())
    }

    /// In seconds per byte.
    pub fn per_byte(&self, name: &str) -> Option<f64> {
        self.part?.per_byte(name)
    }

    /// Payload bytes a second, above 0, from a rate, a standard or a bus.
    pub fn rate(&self, name: &str) -> Option<f64> {
        let rate = self.part?.byte_rate(name)?.0;
        (rate.is_finite() && rate >= 1.0).then_some(rate)
    }

    /// The speed of a port.
    pub fn link_rate(&self, name: &str) -> Option<LinkRate> {
        self.part?.link_rate(name)
    }

    /// I/Os a second, above 0.
    pub fn iops(&self, name: &str) -> Option<f64> {
        let iops = self.part?.ops_rate(name)?.0;
        (iops.is_finite() && iops > 0.0).then_some(iops)
    }

    /// Bytes, above 0.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        self.part?.bytes(name).map(|bytes| bytes.0).filter(|bytes| *bytes > 0)
    }

    /// A count, above 0.
    pub fn count(&self, name: &str) -> Option<u32> {
        let count = self.part?.count(name)?;
        u32::try_from(count).ok().filter(|count| *count > 0)
    }

    /// A share, 0 to 1.
    pub fn share(&self, name: &str) -> Option<f64> {
        self.part?.share(name).map(|share| share.fraction().clamp(0.0, 1.0))
    }

    /// A boolean.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.part?.flag(name)
    }
}

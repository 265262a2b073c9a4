//! The figures of a part as a model wants them: numbers in seconds, bytes and bytes a second, or nothing.

use scenario::{Part, Scenario};
use units::LinkRate;

/// The figures of a part, or of nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sheet<'a> {
    part: Option<&'a Part>,
}

impl<'a> Sheet<'a> {
    /// Of the part with this name: the scenario's own, or else the catalog's.
    pub fn of(scenario: &'a Scenario, name: Option<&str>) -> Sheet<'a> {
        Sheet { part: name.and_then(|name| scenario.lab.part(name)) }
    }

    /// Whether there is a figure of this name.
    pub fn has(&self, name: &str) -> bool {
        self.part.is_some_and(|part| part.figure(name).is_some())
    }

    /// A figure as written.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        Some(self.part?.figure(name)?.value.trim())
    }

    /// One of the words that the figure takes.
    pub fn word(&self, name: &str) -> Option<&'static str> {
        self.part?.word(name)
    }

    /// Seconds.
    pub fn time(&self, name: &str) -> Option<f64> {
        Some(self.part?.time(name)?.as_secs_f64())
    }

    /// Seconds a byte.
    pub fn per_byte(&self, name: &str) -> Option<f64> {
        self.part?.per_byte(name)
    }

    /// Bytes a second of payload, from a rate, the name of a standard or a bus; more than 0.
    pub fn rate(&self, name: &str) -> Option<f64> {
        let rate = self.part?.byte_rate(name)?.0;
        (rate.is_finite() && rate >= 1.0).then_some(rate)
    }

    /// The speed of a port.
    pub fn link_rate(&self, name: &str) -> Option<LinkRate> {
        self.part?.link_rate(name)
    }

    /// I/Os a second; more than 0.
    pub fn iops(&self, name: &str) -> Option<f64> {
        let iops = self.part?.ops_rate(name)?.0;
        (iops.is_finite() && iops > 0.0).then_some(iops)
    }

    /// Bytes; more than 0.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        self.part?.bytes(name).map(|bytes| bytes.0).filter(|bytes| *bytes > 0)
    }

    /// How many; more than 0.
    pub fn count(&self, name: &str) -> Option<u32> {
        let count = self.part?.count(name)?;
        u32::try_from(count).ok().filter(|count| *count > 0)
    }

    /// A share of the whole, 0 to 1.
    pub fn share(&self, name: &str) -> Option<f64> {
        self.part?.share(name).map(|share| share.fraction().clamp(0.0, 1.0))
    }

    /// Yes or no.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.part?.flag(name)
    }
}

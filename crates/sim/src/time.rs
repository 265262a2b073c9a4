//! Simulated time, in picoseconds: nanoseconds would round the time of a byte on a fast link (80 ps at 100 Gb/s). A
//! `u64` of picoseconds spans 213 days.

use clock::Ns;

/// A point in simulated time or a span of it, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ps(pub u64);

impl Ps {
    /// The start of the simulation, and the empty span.
    pub const ZERO: Ps = Ps(0);
    /// Later than any event.
    pub const MAX: Ps = Ps(u64::MAX);

    /// `ns` whole nanoseconds.
    pub const fn nanos(ns: u64) -> Ps {
        Ps(ns.saturating_mul(1_000))
    }

    /// `us` whole microseconds.
    pub const fn micros(us: u64) -> Ps {
        Ps(us.saturating_mul(1_000_000))
    }

    /// `ms` whole milliseconds.
    pub const fn millis(ms: u64) -> Ps {
        Ps(ms.saturating_mul(1_000_000_000))
    }

    /// `s` whole seconds.
    pub const fn secs(s: u64) -> Ps {
        Ps(s.saturating_mul(1_000_000_000_000))
    }

    /// This point moved later by `span`; stops at [`Ps::MAX`].
    pub const fn plus(self, span: Ps) -> Ps {
        Ps(self.0.saturating_add(span.0))
    }

    /// The span from `earlier` to this point; zero when `earlier` is later.
    pub const fn since(self, earlier: Ps) -> Ps {
        Ps(self.0.saturating_sub(earlier.0))
    }

    /// As seconds, for rates.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// `seconds` rounded to picoseconds: 0 for negative values, [`Ps::MAX`] where it does not fit.
    pub fn from_secs_f64(seconds: f64) -> Ps {
        Ps((seconds * 1e12 + 0.5) as u64)
    }

    /// This point in whole nanoseconds, rounded down, as operation streams take it.
    pub const fn as_ns(self) -> Ns {
        Ns(self.0 / 1_000)
    }
}

impl From<Ns> for Ps {
    fn from(ns: Ns) -> Ps {
        Ps::nanos(ns.0)
    }
}

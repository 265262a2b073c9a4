//! A time or a duration in nanoseconds.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Nanoseconds: `CLOCK_MONOTONIC` when live, simulated time in the simulator. Used for times and durations.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Ns(pub u64);

impl Ns {
    /// The origin, and the empty duration.
    pub const ZERO: Ns = Ns(0);
    /// Later than any deadline.
    pub const MAX: Ns = Ns(u64::MAX);

    /// `s` whole seconds.
    #[inline]
    pub const fn secs(s: u64) -> Ns {
        Ns(s * 1_000_000_000)
    }

    /// `ms` whole milliseconds.
    #[inline]
    pub const fn millis(ms: u64) -> Ns {
        Ns(ms * 1_000_000)
    }

    /// This time plus `span`; saturates at [`Ns::MAX`].
    #[inline]
    pub const fn plus(self, span: Ns) -> Ns {
        Ns(self.0.saturating_add(span.0))
    }

    /// The duration from `earlier` to this time; zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Ns) -> Ns {
        Ns(self.0.saturating_sub(earlier.0))
    }

    /// As seconds, for rates.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl From<Duration> for Ns {
    fn from(d: Duration) -> Ns {
        Ns(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Ns> for Duration {
    fn from(ns: Ns) -> Duration {
        Duration::from_nanos(ns.0)
    }
}

//! Scheduled changes of a network: failures and repairs, link rates, stopping and resuming.

use super::{LoadId, SelectorId, StationId};

/// A scheduled change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An arm fails; all I/Os within it are pulled out.
    ArmDown {
        /// The arm's selector.
        selector: SelectorId,
        /// Its number.
        arm: u32,
    },
    /// An arm recovers.
    ArmUp {
        /// The arm's selector.
        selector: SelectorId,
        /// Its number.
        arm: u32,
    },
    /// The rate of a link changes.
    LinkRate {
        /// A [`super::Station::Links`].
        station: StationId,
        /// The link's number.
        link: u16,
        /// Bytes a second; 0 stops the link.
        rate: u64,
    },
    /// No new I/O is served. At a queue or a delay, services in progress are completed; transfers over links and shared
    /// service pause.
    Stop(StationId),
    /// The station serves again.
    Go(StationId),
    /// The load issues nothing more; outstanding I/Os complete.
    LoadStop(LoadId),
    /// The load issues again: customers that returned meanwhile continue now, the arrival clock restarts, and
    /// operations that fell due meanwhile are late.
    LoadStart(LoadId),
}

//! What changes while a network is at work: failures and repairs, rates, and what is stopped for a while.

use super::{LoadId, SelectorId, StationId};

/// Something that happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An arm dies, with all I/Os within it pulled out.
    ArmDown {
        /// Whose.
        selector: SelectorId,
        /// Its number.
        arm: u32,
    },
    /// An arm lives again.
    ArmUp {
        /// Whose.
        selector: SelectorId,
        /// Its number.
        arm: u32,
    },
    /// A link carries more or less from now on.
    LinkRate {
        /// A [`super::Station::Links`].
        station: StationId,
        /// The link's number.
        link: u16,
        /// Bytes a second; 0 = nothing moves on it.
        rate: u64,
    },
    /// Nobody new is served. Who is being served at a queue or a delay is served to the end; transfers over links and
    /// shared service stand still.
    Stop(StationId),
    /// It serves again.
    Go(StationId),
    /// Issues nothing more; what is outstanding ends as it would.
    LoadStop(LoadId),
    /// Issues again: customers who came meanwhile come now, the clock of arrivals begins anew, and operations that were
    /// due meanwhile are late.
    LoadStart(LoadId),
}

//! Why a simulation cannot continue, and which I/Os wait where in a deadlock.

use super::station::Discipline;
use super::{Observer, Simulation};
use crate::Ps;
use crate::model::{PoolId, SelectorId, StationId};
use std::fmt;
use thiserror::Error;

/// Places that a message lists; there may be thousands.
const NAMED: usize = 8;

/// Why a simulation cannot continue.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Halt {
    /// I/Os circulate without time passing.
    #[error(
        "at {} ns I/Os circulate endlessly without time passing; give one of their hops, or their think time, \
         a duration",
        .0.as_ns().0
    )]
    Livelock(Ps),
    /// I/Os are outstanding, and all wait for each other.
    #[error(
        "at {} ns deadlock, all I/Os wait for each other: {}",
        .at.as_ns().0,
        WaitingList(.waits)
    )]
    Deadlock {
        /// Since when.
        at: Ps,
        /// What they wait for, each place once.
        waits: Vec<Waiting>,
    },
    /// [`SharedProgress::stop`] was called.
    #[error("stopped at {} ns", .0.as_ns().0)]
    Stopped(Ps),
}

/// I/Os that wait at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What they wait for.
    pub at: WaitPoint,
    /// How many I/Os wait.
    pub ios: u32,
}

/// What an I/O in a deadlock waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPoint {
    /// PoolState of a pool.
    Pool(PoolId),
    /// Room at a full station.
    Door(StationId),
    /// Service at a station.
    Station(StationId),
    /// An arm that is up.
    Selector(SelectorId),
}

struct WaitingList<'a>(&'a [Waiting]);

impl fmt::Display for WaitingList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Waiting { at, ios }) in self.0.iter().take(NAMED).enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            let (what, of) = match at {
                WaitPoint::Pool(pool) => ("for tokens of pool", pool.0),
                WaitPoint::Door(station) => ("for room at station", station.0),
                WaitPoint::Station(station) => ("for service at station", station.0),
                WaitPoint::Selector(selector) => ("for an arm of selector", selector.0),
            };
            write!(f, "{comma}{ios} {what} {of}")?;
        }
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, ", and at {more} more stations"),
        }
    }
}

impl<O: Observer> Simulation<O> {
    /// The deadlock that has occurred.
    pub(super) fn deadlock(&self) -> Halt {
        let mut waits = Vec::new();
        let mut add = |at, ios| {
            if ios > 0 {
                waits.push(Waiting { at, ios });
            }
        };
        for (number, pool) in (0..).zip(&self.pools) {
            add(WaitPoint::Pool(PoolId(number)), pool.tally.level().present);
        }
        for (number, place) in (0..).zip(&self.stations) {
            if let Discipline::Queue(queue) = &place.kind {
                add(WaitPoint::Door(StationId(number)), queue.at_door);
            }
            // Nothing is served any more, so an I/O that is there and keeps no server waits.
            let level = place.tally.level();
            add(WaitPoint::Station(StationId(number)), level.present - level.blocked);
        }
        for (number, chooser) in (0..).zip(&self.choosers) {
            add(WaitPoint::Selector(SelectorId(number)), chooser.tally.level().present);
        }
        Halt::Deadlock { at: self.now, waits }
    }
}

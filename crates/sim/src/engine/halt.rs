//! Why a simulation cannot go on, and who waits where when all wait for each other.

use super::station::Kind;
use super::{Observer, Simulation};
use crate::Ps;
use crate::model::{PoolId, SelectorId, StationId};
use std::fmt;
use thiserror::Error;

/// Places that a message names; there may be thousands.
const NAMED: usize = 8;

/// Why a simulation cannot go on.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Halt {
    /// I/Os go around without time passing.
    #[error(
        "at {} ns I/Os go around without end and without time passing; give one of their hops, or their think time, \
         a duration",
        .0.as_ns().0
    )]
    Livelock(Ps),
    /// I/Os are outstanding, and all wait for each other.
    #[error(
        "at {} ns all I/Os wait for each other and nothing will happen any more: {}",
        .at.as_ns().0,
        List(.waits)
    )]
    Deadlock {
        /// Since when.
        at: Ps,
        /// Who waits where, each place once.
        waits: Vec<Waits>,
    },
    /// It was told to stop.
    #[error("stopped at {} ns", .0.as_ns().0)]
    Stopped(Ps),
}

/// I/Os that wait at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Where.
    pub at: At,
    /// How many.
    pub ios: u32,
}

/// A place where I/Os wait for something that does not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// For tokens.
    Pool(PoolId),
    /// For room at a station that is full.
    Door(StationId),
    /// For service.
    Station(StationId),
    /// For an arm that lives.
    Selector(SelectorId),
}

struct List<'a>(&'a [Waits]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Waits { at, ios }) in self.0.iter().take(NAMED).enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            let (what, of) = match at {
                At::Pool(pool) => ("for tokens of pool", pool.0),
                At::Door(station) => ("for room at station", station.0),
                At::Station(station) => ("for service at station", station.0),
                At::Selector(selector) => ("for an arm of selector", selector.0),
            };
            write!(f, "{comma}{ios} {what} {of}")?;
        }
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, ", and at {more} more places"),
        }
    }
}

impl<O: Observer> Simulation<O> {
    /// All wait for each other: who waits where.
    pub(super) fn deadlock(&self) -> Halt {
        let mut waits = Vec::new();
        let mut add = |at, ios| {
            if ios > 0 {
                waits.push(Waits { at, ios });
            }
        };
        for (number, pool) in (0..).zip(&self.pools) {
            add(At::Pool(PoolId(number)), pool.tally.level.present);
        }
        for (number, place) in (0..).zip(&self.places) {
            if let Kind::Queue(queue) = &place.kind {
                add(At::Door(StationId(number)), queue.at_door);
            }
            // Nobody is served any more, so whoever is there and keeps no server waits.
            let level = place.tally.level;
            add(At::Station(StationId(number)), level.present - level.blocked);
        }
        for (number, chooser) in (0..).zip(&self.choosers) {
            add(At::Selector(SelectorId(number)), chooser.tally.level.present);
        }
        Halt::Deadlock { at: self.now, waits }
    }
}

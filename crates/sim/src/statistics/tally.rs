//! Integer counts of what happened at a place, weighted by time where they are levels.
//!
//! Areas are exact (a level times picoseconds, in 128 bits), so that a span's figures are differences of two tallies and
//! do not depend on how the span is cut.

use crate::Ps;
use workload::Dir;

/// Counts of one place: a station, a pool, a class or a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// I/Os that came in.
    pub arrivals: u64,
    /// I/Os that went on.
    pub departures: u64,
    /// Those of them that wrote.
    pub writes: u64,
    /// I/Os that were turned away.
    pub lost: u64,
    /// I/Os that were pulled out because their way had failed.
    pub pulled: u64,
    /// Bytes that went on: read and written.
    pub bytes: [u64; 2],
    /// Sum of the times from coming in to going on or being pulled out, in picoseconds.
    pub stayed: u128,
    /// The part of it that is due to those that wrote.
    pub stayed_writing: u128,
    /// I/Os present, by time: I/Os × picoseconds.
    pub present: u128,
    /// Servers at work (tokens in use, bytes on links), by time.
    pub busy: u128,
    /// Servers that kept an I/O that could not go on, by time.
    pub blocked: u128,
    /// Levels now.
    pub level: Level,
    /// Until when areas are counted.
    at: Ps,
}

/// What is present at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// I/Os, waiting or served.
    pub present: u32,
    /// Servers at work, or tokens in use.
    pub busy: u32,
    /// Servers that keep an I/O that cannot go on.
    pub blocked: u32,
}

impl Tally {
    /// Counts the levels up to `now`; to be called before a level changes.
    #[inline]
    pub fn touch(&mut self, now: Ps) {
        let span = u128::from(now.since(self.at).0);
        self.present += span * u128::from(self.level.present);
        self.busy += span * u128::from(self.level.busy);
        if self.level.blocked > 0 {
            self.blocked += span * u128::from(self.level.blocked);
        }
        self.at = now;
    }

    /// An I/O comes in.
    #[inline]
    pub fn arrive(&mut self, now: Ps) {
        self.touch(now);
        self.arrivals += 1;
        self.level.present += 1;
    }

    /// An I/O goes on after it was here for `stayed`.
    #[inline]
    pub fn depart(&mut self, now: Ps, stayed: Ps, dir: Dir, bytes: u32) {
        self.touch(now);
        self.departures += 1;
        self.level.present -= 1;
        self.stayed += u128::from(stayed.0);
        let writes = dir == Dir::Write;
        self.bytes[usize::from(writes)] += u64::from(bytes);
        if writes {
            self.writes += 1;
            self.stayed_writing += u128::from(stayed.0);
        }
    }

    /// An I/O comes in and goes on at once.
    #[inline]
    pub fn pass_at_once(&mut self, now: Ps, dir: Dir, bytes: u32) {
        self.touch(now);
        let writes = dir == Dir::Write;
        self.arrivals += 1;
        self.departures += 1;
        self.writes += u64::from(writes);
        self.bytes[usize::from(writes)] += u64::from(bytes);
    }

    /// I/Os came in, each was served for `time`, and went on, all of it before now: so many that read and that wrote, and
    /// their bytes.
    pub fn passed(&mut self, time: Ps, ios: [u64; 2], bytes: [u64; 2]) {
        let [span, writing] = [ios[0] + ios[1], ios[1]].map(|n| u128::from(n) * u128::from(time.0));
        self.arrivals += ios[0] + ios[1];
        self.departures += ios[0] + ios[1];
        self.writes += ios[1];
        self.bytes[0] += bytes[0];
        self.bytes[1] += bytes[1];
        self.stayed += span;
        self.present += span;
        self.busy += span;
        self.stayed_writing += writing;
    }

    /// An I/O came in, was served for `time`, and went on, all of it before now.
    #[inline]
    pub fn pass(&mut self, time: Ps, dir: Dir, bytes: u32) {
        let span = u128::from(time.0);
        let writes = dir == Dir::Write;
        self.arrivals += 1;
        self.departures += 1;
        self.bytes[usize::from(writes)] += u64::from(bytes);
        self.stayed += span;
        self.present += span;
        self.busy += span;
        if writes {
            self.writes += 1;
            self.stayed_writing += span;
        }
    }

    /// An I/O came in `span` ago, and is served still.
    pub fn stay(&mut self, span: Ps) {
        self.arrivals += 1;
        self.present += u128::from(span.0);
        self.busy += u128::from(span.0);
        self.level.present += 1;
        self.level.busy += 1;
    }

    /// An I/O that was here for `stayed` is pulled out.
    pub fn pull(&mut self, now: Ps, stayed: Ps) {
        self.touch(now);
        self.pulled += 1;
        self.level.present -= 1;
        self.stayed += u128::from(stayed.0);
    }

    /// An I/O that came in is turned away further on.
    #[inline]
    pub fn lose(&mut self, now: Ps) {
        self.touch(now);
        self.lost += 1;
        self.level.present -= 1;
    }

    /// What happened since `earlier`, a tally of the same place; the levels are those of now.
    pub fn since(&self, earlier: &Tally) -> Tally {
        Tally {
            arrivals: self.arrivals - earlier.arrivals,
            departures: self.departures - earlier.departures,
            writes: self.writes - earlier.writes,
            lost: self.lost - earlier.lost,
            pulled: self.pulled - earlier.pulled,
            bytes: [self.bytes[0] - earlier.bytes[0], self.bytes[1] - earlier.bytes[1]],
            stayed: self.stayed - earlier.stayed,
            stayed_writing: self.stayed_writing - earlier.stayed_writing,
            present: self.present - earlier.present,
            busy: self.busy - earlier.busy,
            blocked: self.blocked - earlier.blocked,
            level: self.level,
            at: self.at,
        }
    }

    /// This and what happened elsewhere in the same span, as one.
    pub fn beside(&self, other: &Tally) -> Tally {
        let level = Level {
            present: self.level.present + other.level.present,
            busy: self.level.busy + other.level.busy,
            blocked: self.level.blocked + other.level.blocked,
        };
        Tally { level, at: self.at.max(other.at), ..self.joined(other) }
    }

    /// This span and the one that followed it, as one.
    pub fn joined(&self, later: &Tally) -> Tally {
        Tally {
            arrivals: self.arrivals + later.arrivals,
            departures: self.departures + later.departures,
            writes: self.writes + later.writes,
            lost: self.lost + later.lost,
            pulled: self.pulled + later.pulled,
            bytes: [self.bytes[0] + later.bytes[0], self.bytes[1] + later.bytes[1]],
            stayed: self.stayed + later.stayed,
            stayed_writing: self.stayed_writing + later.stayed_writing,
            present: self.present + later.present,
            busy: self.busy + later.busy,
            blocked: self.blocked + later.blocked,
            level: later.level,
            at: later.at,
        }
    }
}

//! Integer counts at one station, pool, class or load; levels are integrated over time.
//!
//! Integrals are exact (a level times picoseconds, in 128 bits), so a span's figures are differences of two tallies and
//! do not depend on how the span is cut.

use crate::Ps;
use workload::Dir;

/// Counts of a station, a pool, a class or a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// I/Os that arrived.
    pub arrivals: u64,
    /// I/Os that departed, served.
    pub departures: u64,
    /// The writes among the departures.
    pub writes: u64,
    /// I/Os that were rejected.
    pub lost: u64,
    /// I/Os that were pulled out because their path failed.
    pub pulled: u64,
    /// Bytes of the departures: read and written.
    pub bytes: [u64; 2],
    /// Sum of the residence times of the departed and pulled I/Os, in picoseconds.
    pub stayed: u128,
    /// The part of `stayed` due to writes.
    pub stayed_writing: u128,
    /// Integral of the I/Os present, in I/Os × picoseconds.
    pub present: u128,
    /// Integral of busy servers (tokens in use, bytes on links).
    pub busy: u128,
    /// Integral of the servers that kept a blocked I/O.
    pub blocked: u128,
    /// Current levels.
    pub level: TallyLevel,
    /// Up to when the integrals are counted.
    at: Ps,
}

/// Current levels of a tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TallyLevel {
    /// I/Os, waiting or in service.
    pub present: u32,
    /// Busy servers, or tokens in use.
    pub busy: u32,
    /// Servers that keep a blocked I/O.
    pub blocked: u32,
}

impl Tally {
    /// Integrates the levels up to `now`; to be called before a level changes.
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

    /// An I/O arrives.
    #[inline]
    pub fn arrive(&mut self, now: Ps) {
        self.touch(now);
        self.arrivals += 1;
        self.level.present += 1;
    }

    /// An I/O departs after a residence time of `stayed`.
    #[inline]
    pub fn depart(&mut self, now: Ps, stayed: Ps, dir: Dir, bytes: u32) {
        self.touch(now);
        self.departures += 1;
        self.level.present -= 1;
        self.stayed += u128::from(stayed.0);
        let writes = dir != Dir::Read;
        self.bytes[usize::from(writes)] += u64::from(bytes);
        if writes {
            self.writes += 1;
            self.stayed_writing += u128::from(stayed.0);
        }
    }

    /// An I/O arrives and departs at once.
    #[inline]
    pub fn pass_at_once(&mut self, now: Ps, dir: Dir, bytes: u32) {
        self.touch(now);
        let writes = dir != Dir::Read;
        self.arrivals += 1;
        self.departures += 1;
        self.writes += u64::from(writes);
        self.bytes[usize::from(writes)] += u64::from(bytes);
    }

    /// Adds past visits of `time` each, with the number and the bytes of reads and of writes.
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

    /// Adds one past visit of `time`.
    #[inline]
    pub fn pass(&mut self, time: Ps, dir: Dir, bytes: u32) {
        let span = u128::from(time.0);
        let writes = dir != Dir::Read;
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

    /// Adds an I/O that arrived `span` ago and is still in service.
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

    /// A present I/O is rejected further on.
    #[inline]
    pub fn lose(&mut self, now: Ps) {
        self.touch(now);
        self.lost += 1;
        self.level.present -= 1;
    }

    /// The difference from `earlier`, a tally of the same subject; levels are the current ones.
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

    /// Merges with a tally of another subject over the same span.
    pub fn beside(&self, other: &Tally) -> Tally {
        let level = TallyLevel {
            present: self.level.present + other.level.present,
            busy: self.level.busy + other.level.busy,
            blocked: self.level.blocked + other.level.blocked,
        };
        Tally { level, at: self.at.max(other.at), ..self.joined(other) }
    }

    /// Merges this span with the next one.
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

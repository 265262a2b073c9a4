//! Integer counts at one station, pool, class or load; levels are integrated over time.
//!
//! Integrals are exact (a level times picoseconds, in 128 bits), so a span's figures are differences of two tallies and
//! do not depend on how the span is cut. While the counts run, an integral is kept as what it would be if every level had
//! been the current one from time 0 on: a change of a level subtracts its moment, and nothing is multiplied.

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

/// Counts that run. What every I/O changes is on the first cache line, what a read changes on the second.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct RunningTally {
    /// The integrals, less the current levels × the current time, modulo 2^128.
    present: u128,
    busy: u128,
    /// Of reads, and of those that were pulled out.
    stayed_reading: u128,
    level: TallyLevel,
    /// Departures: reads, writes.
    ios: [u64; 2],
    bytes: [u64; 2],
    stayed_writing: u128,
    blocked: u128,
    /// Rejected before they arrived, and after.
    rejected: u64,
    lost: u64,
    pulled: u64,
}

impl RunningTally {
    /// The current levels.
    #[inline]
    pub fn level(&self) -> TallyLevel {
        self.level
    }

    /// I/Os that arrived: they are present or have gone one way or another.
    #[inline]
    pub fn arrivals(&self) -> u64 {
        u64::from(self.level.present) + self.ios[0] + self.ios[1] + self.lost + self.pulled
    }

    /// An I/O arrives.
    #[inline]
    pub fn arrive(&mut self, now: Ps) {
        self.level.present += 1;
        self.present = self.present.wrapping_sub(now.0.into());
    }

    #[inline]
    fn go(&mut self, now: Ps) {
        self.level.present -= 1;
        self.present = self.present.wrapping_add(now.0.into());
    }

    /// An I/O departs after a residence time of `stayed`.
    #[inline]
    pub fn depart(&mut self, now: Ps, stayed: Ps, dir: Dir, bytes: u32) {
        self.go(now);
        self.count(dir, bytes);
        let of_dir = match dir {
            Dir::Read => &mut self.stayed_reading,
            _ => &mut self.stayed_writing,
        };
        *of_dir += u128::from(stayed.0);
    }

    /// An I/O arrives and departs at once.
    #[inline]
    pub fn pass_at_once(&mut self, dir: Dir, bytes: u32) {
        self.count(dir, bytes);
    }

    #[inline]
    fn count(&mut self, dir: Dir, bytes: u32) {
        let writes = usize::from(dir != Dir::Read);
        self.ios[writes] += 1;
        self.bytes[writes] += u64::from(bytes);
    }

    /// An I/O that was here for `stayed` is pulled out.
    pub fn pull(&mut self, now: Ps, stayed: Ps) {
        self.go(now);
        self.pulled += 1;
        self.stayed_reading += u128::from(stayed.0);
    }

    /// A present I/O is rejected further on.
    #[inline]
    pub fn lose(&mut self, now: Ps) {
        self.go(now);
        self.lost += 1;
    }

    /// An I/O is rejected before it arrives.
    #[inline]
    pub fn reject(&mut self) {
        self.rejected += 1;
    }

    /// One more server is busy.
    #[inline]
    pub fn begin(&mut self, now: Ps) {
        self.level.busy += 1;
        self.busy = self.busy.wrapping_sub(now.0.into());
    }

    /// One less server is busy.
    #[inline]
    pub fn end(&mut self, now: Ps) {
        self.level.busy -= 1;
        self.busy = self.busy.wrapping_add(now.0.into());
    }

    /// `busy` servers are in use from now on.
    #[inline]
    pub fn set_busy(&mut self, now: Ps, busy: u32) {
        if busy == self.level.busy {
            return;
        }
        let until_now = |level: u32| u128::from(now.0) * u128::from(level);
        self.busy = self.busy.wrapping_add(until_now(self.level.busy));
        self.busy = self.busy.wrapping_sub(until_now(busy));
        self.level.busy = busy;
    }

    /// One more server keeps a blocked I/O.
    pub fn block(&mut self, now: Ps) {
        self.level.blocked += 1;
        self.blocked = self.blocked.wrapping_sub(now.0.into());
    }

    /// One less server keeps a blocked I/O.
    pub fn unblock(&mut self, now: Ps) {
        self.level.blocked -= 1;
        self.blocked = self.blocked.wrapping_add(now.0.into());
    }

    /// All counts up to `now`.
    pub fn until(&self, now: Ps) -> Tally {
        let whole = |sum: u128, level: u32| {
            sum.wrapping_add(u128::from(now.0).wrapping_mul(u128::from(level)))
        };
        Tally {
            arrivals: self.arrivals(),
            departures: self.ios[0] + self.ios[1],
            writes: self.ios[1],
            lost: self.rejected + self.lost,
            pulled: self.pulled,
            bytes: self.bytes,
            stayed: self.stayed_reading + self.stayed_writing,
            stayed_writing: self.stayed_writing,
            present: whole(self.present, self.level.present),
            busy: whole(self.busy, self.level.busy),
            blocked: whole(self.blocked, self.level.blocked),
            level: self.level,
            at: now,
        }
    }
}

impl Tally {
    /// Adds past visits: the number, the bytes and the residence times of reads and of writes, and the time in service.
    pub fn passed(&mut self, ios: [u64; 2], bytes: [u64; 2], stayed: [u128; 2], busy: u128) {
        self.arrivals += ios[0] + ios[1];
        self.departures += ios[0] + ios[1];
        self.writes += ios[1];
        self.bytes[0] += bytes[0];
        self.bytes[1] += bytes[1];
        self.stayed += stayed[0] + stayed[1];
        self.present += stayed[0] + stayed[1];
        self.busy += busy;
        self.stayed_writing += stayed[1];
    }

    /// Adds one past visit of `stayed`, of which `busy` was service.
    pub fn pass(&mut self, stayed: Ps, busy: Ps, dir: Dir, bytes: u32) {
        let span = u128::from(stayed.0);
        let writes = dir != Dir::Read;
        self.arrivals += 1;
        self.departures += 1;
        self.bytes[usize::from(writes)] += u64::from(bytes);
        self.stayed += span;
        self.present += span;
        self.busy += u128::from(busy.0);
        if writes {
            self.writes += 1;
            self.stayed_writing += span;
        }
    }

    /// Adds an I/O that arrived `span` ago and is still here, in service for `busy` where that has begun.
    pub fn stay(&mut self, span: Ps, busy: Option<Ps>) {
        self.arrivals += 1;
        self.present += u128::from(span.0);
        self.level.present += 1;
        if let Some(busy) = busy {
            self.busy += u128::from(busy.0);
            self.level.busy += 1;
        }
    }

    /// Adds visits that took no time, reads and writes, and busy servers: their number and its integral.
    pub fn with_at_once(self, ios: [u64; 2], bytes: [u64; 2], busy: (u32, u128)) -> Tally {
        let mut all = self;
        all.passed(ios, bytes, [0; 2], busy.1);
        all.level.busy += busy.0;
        all
    }

    /// Adds an I/O that took tokens `span` ago.
    pub fn hold(&mut self, tokens: u32, span: Ps, dir: Dir, bytes: u32) {
        self.pass(Ps::ZERO, Ps::ZERO, dir, bytes);
        self.busy += u128::from(span.0) * u128::from(tokens);
        self.level.busy += tokens;
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

//! What the generators of operations share: the drawn operation, the random streams, and decisions by percentage.

use crate::{Dir, Row, StreamKey};
use clock::{Ns, Rng};

/// An operation before it has a time.
#[derive(Clone, Copy)]
pub(crate) struct Draw {
    pub dir: Dir,
    pub target: u16,
    pub offset: u64,
    pub len: u32,
    /// A write that is acknowledged once it is on the medium.
    pub fua: bool,
    /// What a closed loop waits for after the completion, in addition to the think time.
    pub pause: Ns,
}

impl Draw {
    /// Nothing: never issued.
    pub const NONE: Draw =
        Draw { dir: Dir::Flush, target: 0, offset: 0, len: 0, fua: false, pause: Ns::ZERO };
}

/// What a random stream is drawn for: the last part of its key.
#[derive(Clone, Copy)]
enum Purpose {
    Mix,
    Address,
    Arrival,
    Popular,
    Durable,
    Pass,
}

/// The random streams of one slot. They are separate, so that a change of the read share moves no address.
pub(crate) struct Rngs {
    /// For rows, directions, and random or sequential.
    pub mix: Rng,
    /// For targets and addresses.
    pub address: Rng,
}

impl Rngs {
    /// The streams named by `key`.
    pub fn new(key: StreamKey) -> Rngs {
        Rngs { mix: stream(key, Purpose::Mix), address: stream(key, Purpose::Address) }
    }

    /// The stream for arrival times.
    pub fn arrival(key: StreamKey) -> Rng {
        stream(key, Purpose::Arrival)
    }

    /// The stream that decides which writes have FUA.
    pub fn durable(key: StreamKey) -> Rng {
        stream(key, Purpose::Durable)
    }

    /// The stream that orders the addresses of a pass. Workers that share the addresses of a pass have `key.worker` 0.
    pub fn pass(key: StreamKey, pass: u64) -> Rng {
        let parts = [key.step, key.worker, Purpose::Pass as u32].map(u64::from);
        Rng::keyed(key.seed, &[parts[0], parts[1], parts[2], pass])
    }

    /// The stream that scatters hot blocks. It depends on the run's seed only: all slots, workers and steps have the
    /// same hot blocks, like the users of one database.
    pub fn popular(key: StreamKey) -> Rng {
        stream(StreamKey { step: 0, worker: 0, slot: 0, ..key }, Purpose::Popular)
    }
}

fn stream(key: StreamKey, purpose: Purpose) -> Rng {
    let parts = [key.step, key.worker, key.slot, purpose as u32];
    Rng::keyed(key.seed, &parts.map(u64::from))
}

/// A percentage that is compared with 32 random bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReadShare(u64);

impl ReadShare {
    /// From a percentage between 0 (never) and 100 (always).
    pub fn percent(percent: f64) -> ReadShare {
        ReadShare((percent / 100.0 * (1u64 << 32) as f64).round() as u64)
    }

    /// Whether these random bits fall into the share.
    #[inline]
    pub fn has(self, bits: u32) -> bool {
        u64::from(bits) < self.0
    }

    /// Whether the share is 0% or 100%, so that the bits do not matter.
    pub fn is_sure(self) -> bool {
        self.0 == 0 || self.0 == 1 << 32
    }

    /// Whether the share is 100%.
    fn is_all(self) -> bool {
        self.0 == 1 << 32
    }

    /// A read if these random bits fall into the share, otherwise a write.
    #[inline]
    pub fn dir(self, bits: u32) -> Dir {
        if self.has(bits) { Dir::Read } else { Dir::Write }
    }
}

/// Shares of the kinds of operations, compared with the same 32 random bits.
#[derive(Clone, Copy)]
pub(crate) struct KindShares {
    read: ReadShare,
    /// Reads and writes; the comparison that almost all writes end with.
    data: ReadShare,
    /// Reads, writes and trims; the rest are zeroes.
    trim: ReadShare,
}

impl KindShares {
    /// Those of a row.
    pub fn of(row: &Row) -> KindShares {
        let read = ReadShare::percent(row.read);
        let upto = |rest: f64| ReadShare::percent(100.0 - rest);
        let data = if row.write() > 0.0 { upto(row.trim + row.zeroes) } else { read };
        // Where there are no zeroes every other draw is a trim, whatever was rounded. No share is below the one before it.
        let data = data.max(read);
        KindShares { read, data, trim: upto(row.zeroes).max(data) }
    }

    /// The kind that these random bits fall on: the number of shares that they lie beyond. A branch on random bits would
    /// be mispredicted too often.
    #[inline]
    pub fn dir(self, bits: u32) -> Dir {
        const KINDS: [Dir; 4] = [Dir::Read, Dir::Write, Dir::Trim, Dir::Zero];
        let beyond = |share: ReadShare| usize::from(!share.has(bits));
        KINDS[beyond(self.read) + beyond(self.data) + beyond(self.trim)]
    }

    /// Whether all operations are reads, or all are writes, so that the bits do not matter.
    pub fn is_sure(self) -> bool {
        self.read.is_sure() && self.data.is_all()
    }
}

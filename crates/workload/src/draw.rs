//! What the generators of operations share: the drawn operation, their random streams, and yes-or-no by percentage.

use crate::{Dir, Key};
use clock::{Ns, Rng};

/// An operation before it has a time.
#[derive(Clone, Copy)]
pub(crate) struct Draw {
    pub dir: Dir,
    pub target: u16,
    pub offset: u64,
    pub len: u32,
    /// What a closed loop waits for after its completion, besides the think time.
    pub pause: Ns,
}

/// What a random stream is drawn for: the last part of its name.
#[derive(Clone, Copy)]
enum Purpose {
    Mix,
    Address,
    Arrival,
    Popular,
}

/// The random streams of one slot. They are separate, so that changing a read share moves no address.
pub(crate) struct Rngs {
    /// For rows, directions, and random or sequential.
    pub mix: Rng,
    /// For targets and addresses.
    pub address: Rng,
}

impl Rngs {
    /// The streams named by `key`.
    pub fn new(key: Key) -> Rngs {
        Rngs { mix: stream(key, Purpose::Mix), address: stream(key, Purpose::Address) }
    }

    /// The stream for arrival times.
    pub fn arrival(key: Key) -> Rng {
        stream(key, Purpose::Arrival)
    }

    /// The stream that scatters popular blocks. It depends on the run's seed only: all slots, workers and steps have
    /// the same favourites, as the users of one database have.
    pub fn popular(key: Key) -> Rng {
        stream(Key { step: 0, worker: 0, slot: 0, ..key }, Purpose::Popular)
    }
}

fn stream(key: Key, purpose: Purpose) -> Rng {
    let parts = [key.step, key.worker, key.slot, purpose as u32];
    Rng::keyed(key.seed, &parts.map(u64::from))
}

/// A percentage to be compared with 32 random bits.
#[derive(Clone, Copy)]
pub(crate) struct Share(u64);

impl Share {
    /// From a percentage between 0 (never) and 100 (always).
    pub fn percent(percent: f64) -> Share {
        Share((percent / 100.0 * (1u64 << 32) as f64).round() as u64)
    }

    /// Whether these random bits fall into the share.
    #[inline]
    pub fn has(self, bits: u32) -> bool {
        u64::from(bits) < self.0
    }

    /// Whether it is all or nothing, so that no bits change anything.
    pub fn is_sure(self) -> bool {
        self.0 == 0 || self.0 == 1 << 32
    }

    /// A read if these random bits fall into the share.
    #[inline]
    pub fn dir(self, bits: u32) -> Dir {
        if self.has(bits) { Dir::Read } else { Dir::Write }
    }
}

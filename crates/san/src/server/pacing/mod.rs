//! Port speed: each direction by itself, in user space, counted in bytes of SCSI data.
//!
//! A [`Pacer`] is the generic cell rate algorithm (ITU-T I.371) over one atomic word: the moment at which everything
//! reserved so far will have passed. A connection reserves the next place in that queue and waits for its moment. It holds one
//! reservation at a time, usually of a [`quantum`](Pacer::quantum), so sessions that want more than the port carries take
//! turns, on whatever thread they are, and no thread waits for another.
//!
//! A thread that wakes late returns to the queue late and would get fewer turns. So the pacer also keeps a *fair share*: what
//! an always busy connection has received if all were served equally (virtual time, as in fair queueing). Connections that lag
//! behind it reserve more per turn, up to two quanta.
//!
//! It never sleeps and reads no clock: moments come in as arguments.

mod allowance;
mod rate;

pub use allowance::Allowance;
pub use rate::{PortRate, RateError};

use clock::Ns;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How much of the past may be caught up with: a port that was idle, or a thread that woke late, moves at most this
/// much time's worth of bytes at once.
pub const BURST: Ns = Ns(1_000_000);

/// What is lost beyond that because a thread woke late, although bytes waited, is made up for: at most so much of it, and
/// no faster than [`MAKE_UP`] of the rate on top. So a second keeps its rate on a machine whose threads are late now and then,
/// and no second exceeds it by more than a hundredth.
const OWED_MOST: Ns = Ns(10_000_000);
/// The share of a reservation's cost that is waived while something is owed: one in so many.
const MAKE_UP: u64 = 4;

/// One quantum lasts this long at the port's rate, within the bounds below.
const QUANTUM_NS: u64 = 125_000;
/// Below this a reservation costs more system calls than it evens out.
const QUANTUM_MIN: u64 = 8 << 10;
/// Above this one connection would hold a fast port for too long.
const QUANTUM_MAX: u64 = 128 << 10;

/// What a connection got less than its fair share, or more, is remembered up to so many quanta: a pause earns no more.
const LAG_QUANTA: u64 = 4;
/// The fair share is kept in parts of a byte, because each reservation adds its size divided among all that contend.
const SHARE_BITS: u32 = 8;

/// Moments are kept in sixteenths of a nanosecond, so that rounding the cost of a 512-byte block stays below 1e-4 at
/// any rate, and a word lasts for 36 years of uptime.
const TICKS_PER_NS: u64 = 16;

/// One direction of a port. Shared by all threads.
#[derive(Debug)]
pub struct Pacer {
    /// When everything reserved so far will have passed, in ticks.
    horizon: AtomicU64,
    /// What late threads lost, in ticks.
    owed: AtomicU64,
    /// Bytes a second; zero: as fast as it goes.
    rate: AtomicU64,
    /// How often the rate was changed: what was reserved at another speed is void.
    changes: AtomicU32,
    /// How many have bytes waiting.
    contenders: AtomicU32,
    /// The fair share, in parts of a byte.
    share: AtomicU64,
}

impl Pacer {
    /// A direction of so many bytes a second; zero: as fast as it goes.
    pub const fn new(bytes_per_s: u64) -> Pacer {
        let rate = AtomicU64::new(bytes_per_s);
        Pacer {
            horizon: AtomicU64::new(0),
            owed: AtomicU64::new(0),
            rate,
            changes: AtomicU32::new(0),
            contenders: AtomicU32::new(0),
            share: AtomicU64::new(0),
        }
    }

    /// Bytes a second; zero: as fast as it goes.
    pub fn rate(&self) -> u64 {
        self.rate.load(Ordering::Relaxed)
    }

    /// Changes the speed. Earlier reservations are void; their waiters have to be woken.
    pub fn set_rate(&self, bytes_per_s: u64) {
        self.rate.store(bytes_per_s, Ordering::Relaxed);
        self.horizon.store(0, Ordering::Relaxed);
        self.owed.store(0, Ordering::Relaxed);
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Changes the speed of what is reserved from now on; earlier reservations stand.
    pub(super) fn retune(&self, bytes_per_s: u64) {
        self.rate.store(bytes_per_s, Ordering::Relaxed);
    }

    fn changes(&self) -> u32 {
        self.changes.load(Ordering::Acquire)
    }

    /// Whether bytes have to wait at all.
    pub fn is_paced(&self) -> bool {
        self.rate() != 0
    }

    /// What one connection reserves at a time as a rule, in bytes.
    pub fn quantum(&self) -> u64 {
        let of_time = u128::from(self.rate()) * u128::from(QUANTUM_NS) / 1_000_000_000;
        (of_time as u64).clamp(QUANTUM_MIN, QUANTUM_MAX)
    }

    /// Reserves the next place for `bytes` and returns when they may move. `waited`: the caller has had bytes waiting
    /// since its last reservation, so time that passed unused meanwhile was lost by waking late.
    pub fn reserve(&self, bytes: u64, now: Ns, waited: bool) -> Ns {
        let rate = self.rate();
        if rate == 0 {
            return now;
        }
        let cost = cost_ticks(bytes, rate);
        let cost = cost - self.waive(cost / MAKE_UP);
        let earliest = now.0.saturating_sub(BURST.0).saturating_mul(TICKS_PER_NS);
        let mut horizon = self.horizon.load(Ordering::Relaxed);
        loop {
            let start = horizon.max(earliest);
            let next = start.saturating_add(cost);
            match self.horizon.compare_exchange_weak(
                horizon,
                next,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    if waited && horizon < earliest {
                        self.owe(earliest - horizon);
                    }
                    return Ns(start.div_ceil(TICKS_PER_NS));
                }
                Err(seen) => horizon = seen,
            }
        }
    }
}

impl Pacer {
    /// One more has bytes waiting.
    fn contend(&self) {
        self.contenders.fetch_add(1, Ordering::Relaxed);
    }

    /// One fewer has bytes waiting.
    fn retire(&self) {
        self.contenders.fetch_sub(1, Ordering::Relaxed);
    }

    /// How much is next for one that has got `got` bytes by this measure, which is brought near the fair share and forward.
    fn turn(&self, got: &mut u64) -> u64 {
        let quantum = self.quantum();
        let share = self.share.load(Ordering::Relaxed) >> SHARE_BITS;
        let most = LAG_QUANTA * quantum;
        *got = (*got).clamp(share.saturating_sub(most), share.saturating_add(most));
        let bytes = share.saturating_sub(*got).clamp(quantum, 2 * quantum);
        *got += bytes;
        let contenders = self.contenders.load(Ordering::Relaxed).max(1);
        self.share.fetch_add((bytes << SHARE_BITS) / u64::from(contenders), Ordering::Relaxed);
        bytes
    }

    /// Notes what was lost.
    fn owe(&self, ticks: u64) {
        let most = OWED_MOST.0 * TICKS_PER_NS;
        let owed = self.owed.load(Ordering::Relaxed).saturating_add(ticks).min(most);
        // Two threads that note at once lose one note: it is a courtesy, not an account.
        self.owed.store(owed, Ordering::Relaxed);
    }

    /// Takes at most so much from what is owed.
    fn waive(&self, most: u64) -> u64 {
        let owed = self.owed.load(Ordering::Relaxed);
        if owed == 0 {
            return 0;
        }
        let waived = owed.min(most);
        self.owed.store(owed - waived, Ordering::Relaxed);
        waived
    }
}

/// How long `bytes` take, rounded to the nearest tick.
fn cost_ticks(bytes: u64, rate: u64) -> u64 {
    let ticks = u128::from(bytes) * u128::from(TICKS_PER_NS) * 1_000_000_000;
    u64::try_from((ticks + u128::from(rate) / 2) / u128::from(rate)).unwrap_or(u64::MAX)
}

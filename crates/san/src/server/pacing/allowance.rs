//! What one connection may move in one direction at the moment.

use super::Pacer;
use clock::Ns;

/// One connection's reservation in one direction of its port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowance {
    /// Bytes that are reserved and have not moved yet.
    left: u64,
    /// From when on they may move.
    from: Ns,
    /// Bytes have been waiting since the last reservation.
    waited: bool,
    /// The speed at which they were reserved ([`Pacer`] counts its changes).
    changes: u32,
}

impl Allowance {
    /// How many of `wanted` bytes may move now; where it is none, from when on some may. A new reservation, always of one
    /// quantum, is made only once the last one is used up: what a connection does not use now it uses next, so that those
    /// that move small blocks get the same share.
    pub fn ask(&mut self, pacer: &Pacer, wanted: u64, now: Ns) -> Result<u64, Ns> {
        if !pacer.is_paced() {
            self.left = 0;
            return Ok(wanted);
        }
        let changes = pacer.changes();
        if self.changes != changes {
            *self = Allowance { changes, ..Allowance::default() };
        }
        if self.left == 0 {
            self.left = pacer.quantum();
            self.from = pacer.reserve(self.left, now, self.waited);
            self.waited = true;
        }
        if self.from > now { Err(self.from) } else { Ok(self.left.min(wanted)) }
    }

    /// Nothing waits any more.
    pub fn idle(&mut self) {
        self.waited = false;
    }

    /// So many bytes did move.
    pub fn spent(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }
}

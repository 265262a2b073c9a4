//! How much one connection may move in one direction at present.

use super::Pacer;
use clock::Ns;

/// One connection's reservation in one direction of its port.
#[derive(Debug, Default)]
pub struct Allowance {
    /// Bytes that are reserved and have not moved yet.
    left: u64,
    /// From when on they may move.
    from: Ns,
    /// Bytes have been waiting since the last reservation: it counts among those that contend.
    waited: bool,
    /// What it got, by the measure of the fair share.
    got: u64,
    /// The speed at which they were reserved ([`Pacer`] counts its changes).
    changes: u32,
}

impl Allowance {
    /// How many of `wanted` bytes may move now; where it is none, from when on some may. A new reservation is made only
    /// once the last one is used up: a connection keeps what it does not use, so that small blocks get the same share.
    /// # Errors
    /// The moment from which on bytes may move.
    pub fn ask(&mut self, pacer: &Pacer, wanted: u64, now: Ns) -> Result<u64, Ns> {
        if !pacer.is_paced() {
            self.left = 0;
            return Ok(wanted);
        }
        let changes = pacer.changes();
        let changed = self.changes != changes;
        if changed || self.left == 0 {
            self.changes = changes;
            let waited = std::mem::replace(&mut self.waited, true);
            if !waited {
                pacer.contend();
            }
            self.left = pacer.turn(&mut self.got);
            self.from = pacer.reserve(self.left, now, waited && !changed);
        }
        if self.from > now { Err(self.from) } else { Ok(self.left.min(wanted)) }
    }

    /// Nothing waits any more. Also called for a connection that ends.
    pub fn idle(&mut self, pacer: &Pacer) {
        if std::mem::take(&mut self.waited) {
            pacer.retire();
        }
    }

    /// So many bytes did move.
    pub fn spent(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }
}

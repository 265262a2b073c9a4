//! Waiting a moment before few answers are sent to a peer that has many to look at.
//!
//! Each request names the status that its initiator expects next, so it is known how many answers lie unread at the other
//! end. While there are enough of them the peer is the slower one, and nothing is gained by answering each of its requests
//! by itself: a short rest gathers several, which cost both ends one system call, one segment and one wake-up. (Interrupts
//! of network adapters are moderated alike.) A peer that waits for an answer gets it at once.

use super::Worker;
use clock::Ns;

/// So many unread answers keep a peer busy for longer than a rest; and so many requests are worth a send.
pub(super) const ENOUGH: u32 = 8;
/// How long a rest is: less than a peer needs for that many answers.
const REST: Ns = Ns(12_000);

impl Worker {
    /// Rests and reads again, if none of those that were read is in a hurry.
    pub(super) fn rest(&mut self) {
        if self.read_last.is_empty() || !self.active.is_empty() || self.mailbox.has_letters() {
            return;
        }
        let seats = &mut self.seats;
        let calm = self.read_last.iter().all(|key| {
            let line = seats.get_mut(key.seat).and_then(|seat| seat.line(*key));
            line.is_none_or(|line| line.is_in_no_hurry())
        });
        if !calm {
            return;
        }
        clock::sleep_until(self.bench.now.plus(REST));
        self.bench.now = clock::now();
        std::mem::swap(&mut self.active, &mut self.read_last);
        for key in &self.active {
            if let Some(line) = self.seats.get_mut(key.seat).and_then(|seat| seat.line(*key)) {
                line.readable = true;
            }
        }
        self.read();
        self.bench.io.submit();
    }
}

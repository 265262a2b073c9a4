//! Response coalescing: a short pause before few responses are sent to a peer that has many unread.
//!
//! Each request names the status that its initiator expects next, so the number of unread responses at the peer and the time
//! it needs for one are known. While enough are unread the peer is the slower end, and answering each of its requests
//! alone gains nothing: a short pause gathers several, which cost both ends one system call, one segment and one wake-up (like
//! interrupt moderation of network adapters). A peer that waits for an answer, or reads slowly, is answered at once.

use super::Worker;
use super::connection::TargetConnection;
use clock::Ns;

/// With so many unread answers a peer is busy for longer than a pause lasts. With fewer it was done before the pause was over, as
/// a processor takes tens of microseconds to wake: at 16 outstanding such pauses cost a third of the throughput and more.
const UNREAD: u32 = 24;
/// So many requests are worth a send.
const ENOUGH: u32 = 8;
/// The fraction of the peer's processing time to pause: one part in this many.
const PART: u64 = 2;
/// The longest rest.
const MOST: Ns = Ns(50_000);
/// A peer that takes longer for an answer is not busy with them.
const BUSY: u64 = 20_000;
/// Answers over which a peer's pace is taken.
const SAMPLE: u32 = 16;

/// How long a peer takes for an answer, from what it says that it has read.
#[derive(Debug)]
pub(super) struct ResponsePace {
    /// Nanoseconds an answer; a mean in which the last count most.
    mean: u64,
    since: Ns,
    read: u32,
}

impl ResponsePace {
    /// Nothing is known of a peer yet.
    pub(super) fn new(now: Ns) -> ResponsePace {
        ResponsePace { mean: u64::MAX, since: now, read: 0 }
    }

    /// It has read so many more.
    pub(super) fn note(&mut self, answers: u32, now: Ns) {
        self.read = self.read.saturating_add(answers);
        if self.read >= SAMPLE {
            // A pause counts like any slow peer, and does not outweigh what comes after it for long.
            let each = (now.since(self.since).0 / u64::from(self.read)).min(8 * BUSY);
            self.mean =
                if self.mean == u64::MAX { each } else { self.mean - self.mean / 4 + each / 4 };
            (self.since, self.read) = (now, 0);
        }
    }

    /// How long one with so many unread answers can be let wait for more of them.
    fn coalesce(&self, unread: u32) -> Ns {
        let busy = self.mean < BUSY;
        if busy { Ns(self.mean * u64::from(unread) / PART).min(MOST) } else { Ns::ZERO }
    }
}

impl TargetConnection {
    /// How long to hold back the few answers that there are, since the peer has enough others to work on.
    fn coalesce(&self) -> Ns {
        let unread = self.stat_sn.wrapping_sub(self.exp_stat_sn);
        let enough = is_enough(unread, self.fresh) && !self.closing;
        if enough { self.pace.coalesce(unread) } else { Ns::ZERO }
    }
}

/// Whether a peer has so much to read that so few answers may wait. One that names a status of the future gets what it asks for
/// at once.
fn is_enough(unread: u32, fresh: u32) -> bool {
    (UNREAD..1 << 16).contains(&unread) && fresh < ENOUGH
}

impl Worker {
    /// Rests and reads again, if none of those that were read is in a hurry.
    pub(super) fn coalesce(&mut self) {
        if self.read_last.is_empty() || !self.active.is_empty() || self.mailbox.has_messages() {
            return;
        }
        let sessions = &mut self.sessions;
        let rests = self.read_last.iter().filter_map(|key| {
            sessions
                .get_mut(key.session)
                .and_then(|session| session.connection(*key))
                .map(|connection| connection.coalesce())
        });
        let coalesce = rests.min().unwrap_or(Ns::ZERO);
        if coalesce == Ns::ZERO {
            return;
        }
        clock::sleep_until(self.ctx.now.plus(coalesce));
        self.ctx.now = clock::now();
        std::mem::swap(&mut self.active, &mut self.read_last);
        for key in &self.active {
            if let Some(connection) =
                self.sessions.get_mut(key.session).and_then(|session| session.connection(*key))
            {
                connection.readable = true;
            }
        }
        self.read();
        self.ctx.io.submit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest for a peer that reads `answers` at a time, every so many nanoseconds, with so many unread.
    #[track_caller]
    fn check(answers: u32, every: u64, unread: u32, expected: Ns) {
        let mut pace = ResponsePace::new(Ns::ZERO);
        (1..=200).for_each(|n| pace.note(answers, Ns(n * every)));
        assert_eq!(pace.coalesce(unread), expected, "{answers} every {every} ns, {unread} unread");
    }

    #[test]
    fn a_rest_is_a_part_of_what_the_peer_still_has_to_do() {
        check(1, 2_000, 10, Ns(10_000));
        check(4, 20_000, 8, Ns(20_000));
        check(1, 5_000, 200, MOST);
    }

    #[test]
    fn a_peer_with_little_to_read_is_answered_at_once() {
        // All that 8 or 16 outstanding commands can leave unread.
        assert!(!is_enough(8, 1) && !is_enough(16, 1));
        assert!(is_enough(31, 1) && !is_enough(31, 8));
        assert!(!is_enough(0u32.wrapping_sub(1), 1));
    }

    #[test]
    fn a_peer_that_is_not_busy_is_not_kept_waiting() {
        check(1, 1_000_000, 16, Ns::ZERO);
        check(32, 10_000_000, 16, Ns::ZERO);
        assert_eq!(ResponsePace::new(Ns::ZERO).coalesce(32), Ns::ZERO, "nothing is known of it");
    }

    #[test]
    fn a_pause_is_forgotten_soon() {
        let mut pace = ResponsePace::new(Ns::ZERO);
        pace.note(SAMPLE, Ns::secs(60));
        assert_eq!(pace.coalesce(16), Ns::ZERO);
        (1..=12).for_each(|n| pace.note(SAMPLE, Ns::secs(60).plus(Ns(n * 32_000))));
        assert!(pace.coalesce(16) > Ns::ZERO, "{pace:?}");
    }
}

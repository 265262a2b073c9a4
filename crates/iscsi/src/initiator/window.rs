//! The target's command window (RFC 7143, section 4.2.2.1).

use super::Error;
use crate::pdu::{Sequence, precedes};

/// The command numbers of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The number of the next command.
    next: u32,
    exp: u32,
    max: u32,
}

impl Window {
    /// The next command is `next`, and the last that the target accepts is `max`.
    pub fn new(next: u32, max: u32) -> Window {
        Window { next, exp: next, max }
    }

    /// The number of commands that the target accepts now.
    pub fn room(&self) -> u32 {
        let room = self.max.wrapping_add(1).wrapping_sub(self.next);
        // A window that has shrunk below what was already sent is empty.
        if room as i32 > 0 { room } else { 0 }
    }

    /// The number of the next command.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Consumes the next number.
    pub fn take(&mut self) -> u32 {
        let taken = self.next;
        self.next = taken.wrapping_add(1);
        taken
    }

    /// Updates the window from a PDU of the target. Older numbers are stale, and ignored.
    pub fn update(&mut self, sequence: Sequence) -> Result<(), Error> {
        let Sequence { exp_cmd_sn, max_cmd_sn, .. } = sequence;
        if precedes(max_cmd_sn, exp_cmd_sn.wrapping_sub(1)) {
            return Ok(());
        }
        if precedes(self.next, exp_cmd_sn) {
            return Err(Error::ExpCmdSn { next: self.next, got: exp_cmd_sn });
        }
        if precedes(self.exp, exp_cmd_sn) {
            self.exp = exp_cmd_sn;
        }
        if precedes(self.max, max_cmd_sn) {
            self.max = max_cmd_sn;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(exp_cmd_sn: u32, max_cmd_sn: u32) -> Sequence {
        Sequence { stat_sn: 0, exp_cmd_sn, max_cmd_sn }
    }

    /// The room after the target sent this to a session that sent commands 10 to 13 of a window up to 15.
    #[track_caller]
    fn check(exp: u32, max: u32, room: Result<u32, Error>) {
        let mut window = Window::new(10, 15);
        assert_eq!((0..4).map(|_| window.take()).max(), Some(13));
        assert_eq!(window.update(says(exp, max)).map(|()| window.room()), room);
    }

    #[test]
    fn the_window_moves_on_and_never_back() {
        check(10, 15, Ok(2));
        check(14, 20, Ok(7));
        check(12, 15, Ok(2));
        check(14, 13, Ok(2));
        check(9, 12, Ok(2));
        // A MaxCmdSN below ExpCmdSN - 1 is invalid and ignored.
        check(14, 12, Ok(2));
        check(15, 30, Err(Error::ExpCmdSn { next: 14, got: 15 }));
    }

    #[test]
    fn numbers_wrap_around() {
        let mut window = Window::new(u32::MAX, 2);
        assert_eq!(window.room(), 4);
        assert_eq!((window.take(), window.take(), window.take()), (u32::MAX, 0, 1));
        assert_eq!(window.update(says(1, 5)).map(|()| window.room()), Ok(4));
        let closed = Window::new(7, 6);
        assert_eq!(closed.room(), 0);
    }
}

//! Commands that wait for a moment, behind a pollable descriptor. After timerfd_create(2).

use clock::Ns;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;

pub(super) struct Timer {
    fd: OwnedFd,
    /// Moments, with the tasks that wait for them. Few: only commands wait that are not hurried.
    waiting: Vec<(Ns, u32)>,
}

impl Timer {
    pub fn new() -> io::Result<Timer> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Timer { fd: timerfd_create(TimerfdClockId::Monotonic, flags)?, waiting: Vec::new() })
    }

    /// Has a task called on at a moment.
    pub fn add(&mut self, at: Ns, task: u32) {
        self.waiting.push((at, task));
        self.set();
    }

    /// Tells whose moment has come.
    pub fn due(&mut self, tell: &mut impl Extend<u32>) {
        if self.waiting.is_empty() {
            return;
        }
        let now = clock::now();
        if self.waiting.iter().any(|(at, _)| *at <= now) {
            tell.extend(self.waiting.extract_if(.., |(at, _)| *at <= now).map(|(_, task)| task));
            self.set();
        }
    }

    /// Sets the descriptor to the next moment, or to none; either way it is not readable until then.
    fn set(&self) {
        let next = self.waiting.iter().map(|(at, _)| at.0).min().unwrap_or(0);
        let value = Timespec {
            tv_sec: (next / 1_000_000_000) as i64,
            tv_nsec: (next % 1_000_000_000) as i64,
        };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let to = Itimerspec { it_interval: never, it_value: value };
        // Fails for a time that is none only.
        let _ = timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &to);
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

//! How other threads reach a thread's executor: their results and wake-ups, behind one pollable descriptor.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
pub(crate) struct VolumeInbox {
    event: OwnedFd,
    /// Something is in it, and the descriptor says so.
    full: AtomicBool,
    messages: Mutex<Messages>,
}

/// What came in.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// Tasks that may go on.
    pub tasks: Vec<u32>,
    /// Operations that are over: their number, and bytes or minus the error's number.
    pub results: Vec<(u32, i32)>,
}

/// Whom to call on.
#[derive(Clone, Debug)]
pub(crate) struct Wake {
    pub mail: Arc<VolumeInbox>,
    pub task: u32,
}

impl Wake {
    pub fn wake(&self) {
        self.mail.post(|messages| messages.tasks.push(self.task));
    }
}

impl VolumeInbox {
    pub fn new() -> io::Result<VolumeInbox> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(VolumeInbox { event, full: AtomicBool::new(false), messages: Mutex::default() })
    }

    /// Puts something in. What is in it is bounded by the tasks and operations of its owner.
    pub fn post(&self, put: impl FnOnce(&mut Messages)) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        put(&mut messages);
        self.ring_under(&mut messages);
    }

    /// Makes the descriptor readable.
    pub fn ring(&self) {
        self.ring_under(&mut self.messages.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The flag and the descriptor change together, under the lock: apart, a late ring would stay unheard.
    fn ring_under(&self, _letters: &mut Messages) {
        if !self.full.swap(true, Ordering::AcqRel) {
            // Cannot fail but for a counter that is full, which is readable too.
            let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        }
    }

    /// Takes everything out; the vectors handed in are left inside for the next time.
    pub fn collect(&self, messages: &mut Messages) {
        messages.tasks.clear();
        messages.results.clear();
        if self.full.load(Ordering::Acquire) {
            let mut inside = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = rustix::io::read(&self.event, &mut [0; 8]);
            self.full.store(false, Ordering::Release);
            std::mem::swap(&mut *inside, messages);
        }
    }
}

impl AsFd for VolumeInbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

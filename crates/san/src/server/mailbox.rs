//! Letters between threads: the only way in which one thread of the target asks another to do something.
//!
//! A letter is put down under a lock that is held for a push, and the owner is woken if it may be asleep. Nobody waits
//! for an answer while holding anything: an answer is a letter too. How many letters can be under way is bounded by
//! those who write them: one a connection that moves, one a task that waits for others to abort theirs, one a command of
//! the library's user, times the number of threads.

use super::poll::Bell;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a thread gets its letters.
pub(super) struct Mailbox<T> {
    inner: Arc<Inner<T>>,
}

/// How others write to it.
pub(super) struct Address<T> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    letters: Mutex<VecDeque<T>>,
    /// There are letters that the owner has not taken: lets it look without the lock.
    waiting: AtomicBool,
    bell: Bell,
}

impl<T> Clone for Address<T> {
    fn clone(&self) -> Address<T> {
        Address { inner: Arc::clone(&self.inner) }
    }
}

impl<T> Mailbox<T> {
    /// An empty one.
    pub fn new() -> io::Result<Mailbox<T>> {
        let inner = Inner {
            letters: Mutex::new(VecDeque::new()),
            waiting: AtomicBool::new(false),
            bell: Bell::new()?,
        };
        Ok(Mailbox { inner: Arc::new(inner) })
    }

    /// For those who write.
    pub fn address(&self) -> Address<T> {
        Address { inner: Arc::clone(&self.inner) }
    }

    /// To be watched for input, so that letters wake the owner, who then quiets it before looking. Without that a ring
    /// that came after its letter had been taken would wake the owner for ever.
    pub fn bell(&self) -> &Bell {
        &self.inner.bell
    }

    /// Whether letters wait; costs one atomic load.
    pub fn has_letters(&self) -> bool {
        self.inner.waiting.load(Ordering::Acquire)
    }

    /// Everything that has come so far, in order.
    pub fn take(&self) -> VecDeque<T> {
        if !self.has_letters() {
            return VecDeque::new();
        }
        let mut letters = self.inner.letters.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock: a letter pushed later sets it again, and rings.
        self.inner.waiting.store(false, Ordering::Release);
        std::mem::take(&mut *letters)
    }
}

impl<T> Address<T> {
    /// Puts down a letter.
    pub fn send(&self, letter: T) {
        let mut letters = self.inner.letters.lock().unwrap_or_else(PoisonError::into_inner);
        letters.push_back(letter);
        let first = !self.inner.waiting.swap(true, Ordering::AcqRel);
        drop(letters);
        if first {
            self.inner.bell.ring();
        }
    }
}

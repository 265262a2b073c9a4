//! Messages between threads: the only way in which one thread of the target asks another to do something.
//!
//! A message is queued under a lock that is held for a push, and the owner is woken if it may be asleep. No thread waits for an
//! answer while it holds anything: an answer is a message too. The number of messages in flight is bounded by their
//! senders: one per moving connection, per task that waits for aborts, and per library call, times the threads.

use super::poll::Bell;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a thread gets its messages.
pub(super) struct Mailbox<T> {
    inner: Arc<MailboxInner<T>>,
}

/// How others write to it.
pub(super) struct Address<T> {
    inner: Arc<MailboxInner<T>>,
}

struct MailboxInner<T> {
    messages: Mutex<VecDeque<T>>,
    /// There are messages that the owner has not taken: lets it look without the lock.
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
        let inner = MailboxInner {
            messages: Mutex::new(VecDeque::new()),
            waiting: AtomicBool::new(false),
            bell: Bell::new()?,
        };
        Ok(Mailbox { inner: Arc::new(inner) })
    }

    /// For those who write.
    pub fn address(&self) -> Address<T> {
        Address { inner: Arc::clone(&self.inner) }
    }

    /// To be watched for input, so that messages wake the owner, who then quiets it before looking. Without that a ring
    /// that came after its message had been taken would wake the owner for ever.
    pub fn bell(&self) -> &Bell {
        &self.inner.bell
    }

    /// Whether messages wait; costs one atomic load.
    pub fn has_messages(&self) -> bool {
        self.inner.waiting.load(Ordering::Acquire)
    }

    /// Everything that has come so far, in order.
    pub fn take(&self) -> VecDeque<T> {
        if !self.has_messages() {
            return VecDeque::new();
        }
        let mut messages = self.inner.messages.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock: a message pushed later sets it again, and rings.
        self.inner.waiting.store(false, Ordering::Release);
        std::mem::take(&mut *messages)
    }
}

impl<T> Address<T> {
    /// Puts down a message.
    pub fn send(&self, message: T) {
        let mut messages = self.inner.messages.lock().unwrap_or_else(PoisonError::into_inner);
        messages.push_back(message);
        let first = !self.inner.waiting.swap(true, Ordering::AcqRel);
        drop(messages);
        if first {
            self.inner.bell.ring();
        }
    }
}

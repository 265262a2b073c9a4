//! Waiting for descriptors and timeouts: one epoll instance a thread, and an eventfd by which others wake it.
//!
//! Sockets are watched edge-triggered, once, for both directions: the owner remembers a socket's readiness, so that no system
//! call changes the interest set.

use clock::Ns;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::io;

/// What a descriptor can do now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readable {
    /// What it was watched as.
    pub key: u64,
    /// There is something to read, or the end of it, or an error.
    pub readable: bool,
    /// There is room to write, or an error.
    pub writable: bool,
    /// Nothing more will come: the peer has closed its end, or an error. Reported once, perhaps with the last bytes.
    pub ended: bool,
}

/// One thread's epoll instance.
pub(super) struct Poll {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

// SAFETY: what keeps it on its thread is the pointer that an event may carry; here events carry numbers only.
unsafe impl Send for Poll {}

impl Poll {
    /// An instance that reports at most `batch` descriptors at a time.
    pub fn new(batch: usize) -> io::Result<Poll> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Poll { epoll, events: Vec::with_capacity(batch) })
    }

    /// Reports each time a socket becomes able to do something.
    pub fn watch_edges(&self, fd: impl AsFd, key: u64) -> io::Result<()> {
        let edges = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(key), edges)?)
    }

    /// Reports as long as there is something to read.
    pub fn watch_input(&self, fd: impl AsFd, key: u64) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(key), EventFlags::IN)?)
    }

    /// No longer reports a descriptor.
    pub fn forget(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    /// Waits for any of them, but not past `until`, as seen at `now`.
    pub fn wait(&mut self, now: Ns, until: Option<Ns>, out: &mut Vec<Readable>) -> io::Result<()> {
        let timeout = until.map(|until| {
            let span = until.since(now).0;
            Timespec { tv_sec: (span / 1_000_000_000) as i64, tv_nsec: (span % 1_000_000_000) as _ }
        });
        self.events.clear();
        let buffer = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, buffer, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let broken = EventFlags::ERR | EventFlags::HUP;
        for event in &self.events {
            let flags = event.flags;
            out.push(Readable {
                key: event.data.u64(),
                readable: flags.intersects(EventFlags::IN | EventFlags::RDHUP | broken),
                writable: flags.intersects(EventFlags::OUT | broken),
                ended: flags.intersects(EventFlags::RDHUP | broken),
            });
        }
        Ok(())
    }
}

/// Wakes a thread out of [`Poll::wait`].
pub(super) struct Bell(OwnedFd);

impl Bell {
    /// A bell that has not been rung.
    pub fn new() -> io::Result<Bell> {
        Ok(Bell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// What to watch for input.
    pub fn fd(&self) -> &OwnedFd {
        &self.0
    }

    /// Wakes the thread, or keeps it from falling asleep.
    pub fn ring(&self) {
        // A full counter (EAGAIN) has been rung already; nothing else can fail on an eventfd that is open.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Takes note of all rings so far.
    pub fn quiet(&self) {
        let mut count = [0u8; 8];
        // Nothing to read (EAGAIN): no wake-up is pending.
        let _ = rustix::io::read(&self.0, &mut count);
    }
}

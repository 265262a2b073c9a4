//! One session of a worker at work, and what waits for it: commands that the target's window has no room for, and those
//! that are left alone for a while. It knows nothing of I/O and of other sessions: the queue does.

use super::dial::Call;
use super::link::{Buffers, Link, Lost};
use super::lun::{self, Lun};
use clock::Ns;
use disk::Arena;
use iscsi::initiator::Event;
use std::collections::VecDeque;
use std::sync::Arc;

/// How long a goodbye is waited for.
const GOODBYE: Ns = Ns::millis(500);

impl Buffers for Arena {
    fn slot(&self, slot: u32) -> Option<(*mut u8, usize)> {
        Some((Arena::slot(self, slot)?, self.slot_bytes()))
    }
}

/// One session, and what waits for it.
pub(super) struct Lane {
    pub link: Link,
    pub first: Arc<Lun>,
    /// After so long a silence with commands under way the session is lost; after half of it the target is pinged.
    pub silence: Ns,
    /// Slots whose command goes in when the window has room.
    pub waiting: VecDeque<u32>,
    /// Slots that are left alone until a moment.
    pub resting: VecDeque<(Ns, u32)>,
    pub in_flight: u32,
    /// When something came last, as far as was looked.
    pub heard: Ns,
    pub pinged: bool,
    pub lost: Option<i32>,
    /// LUNs at which this session is registered as a writer.
    pub registered: Vec<iscsi::pdu::Lun>,
}

impl Lane {
    pub fn open(lun: &Arc<Lun>, slots: u32) -> Result<Lane, super::DialError> {
        let call: Call = lun.call(slots);
        let link = call.dial()?;
        Ok(Lane {
            link,
            first: lun.clone(),
            silence: lun.silence(),
            waiting: VecDeque::with_capacity(slots as usize),
            resting: VecDeque::with_capacity(slots as usize),
            in_flight: 0,
            heard: clock::now(),
            pinged: false,
            lost: None,
            registered: Vec::new(),
        })
    }

    pub fn ping_after(&self) -> Ns {
        Ns(self.silence.0 / 2)
    }

    /// Registers this session with the key of the claim, so that the reservation lets it write.
    pub fn register(&mut self, lun: iscsi::pdu::Lun, arena: &Arena) -> Result<(), Lost> {
        if lun::register(&mut self.link, arena, lun, true)? {
            self.registered.push(lun);
        }
        Ok(())
    }
}

/// Logs out, and waits a moment for the answer. Data that still comes goes where it belongs: the buffers are still there.
pub(super) fn leave(link: &mut Link, buffers: &impl Buffers) {
    let deadline = clock::now().plus(GOODBYE);
    if link.session().logout().is_err() {
        return;
    }
    let mut over = false;
    while !over && clock::now() < deadline {
        let mut hear = |event: Event| {
            over |= matches!(event, Event::LoggedOut { .. });
            None
        };
        if super::client::pump(link, buffers, deadline, &mut hear).is_err() {
            return;
        }
    }
}

/// Waits until one of the sockets is ready, but not past `until`.
pub(super) fn wait(polls: &mut [libc::pollfd], until: Ns) {
    let left = if until == Ns::ZERO { Ns::ZERO } else { until.since(clock::now()) };
    let limit = libc::timespec {
        tv_sec: (left.0 / 1_000_000_000) as libc::time_t,
        tv_nsec: (left.0 % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the entries are a slice of so many, and the time limit outlives the call.
    unsafe {
        libc::ppoll(polls.as_mut_ptr(), polls.len() as _, &raw const limit, std::ptr::null());
    }
}

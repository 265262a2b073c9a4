//! Recovery of a lost path on a thread beside the worker: it fences the old session and makes a new one, however long that
//! takes. The worker goes on with its other paths and takes over the new session. The thread ends with the recovery.
//!
//! An old session is fenced once either of these has been answered:
//!
//! * a login with the old session's name (ISID, TSIH 0) to the same portal group, which reinstates it (RFC 7143, 6.3.5):
//!   through another portal of the group, or through the lost one when it is back;
//! * PREEMPT AND ABORT of the old session's registration, through a path of another group, where the unit is reserved for
//!   registrants.
//!
//! Until then, writes sent to the old session are held.

use super::super::lun::fresh_isid;
use super::attach::{Attached, LunUse, PathRefusal, PathSpec};
use crate::initiator::keys;
use clock::Ns;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

/// The pause between two attempts, at first and at most.
const PAUSE: Ns = Ns::millis(50);
const PAUSE_MAX: Ns = Ns::secs(1);

/// How often a pausing thread looks whether it is still wanted.
const LOOK: Ns = Ns::millis(20);

/// No portal group is known.
const NO_GROUP: u32 = u32::MAX;

/// Which paths of a URL are usable, and their portal groups.
#[derive(Debug)]
pub(in crate::initiator) struct PathTable(Box<[(AtomicBool, AtomicU32)]>);

impl PathTable {
    /// So many paths, none of which is known yet.
    pub fn new(paths: usize) -> PathTable {
        let path = |_| (AtomicBool::new(false), AtomicU32::new(NO_GROUP));
        PathTable((0..paths).map(path).collect())
    }

    /// A path can be used, by this portal group.
    pub fn open(&self, path: usize, group: Option<u16>) {
        self.0[path].1.store(group.map_or(NO_GROUP, u32::from), Ordering::Relaxed);
        self.0[path].0.store(true, Ordering::Release);
    }

    /// A path cannot be used.
    pub fn close(&self, path: usize) {
        self.0[path].0.store(false, Ordering::Release);
    }

    /// The paths beside `path` that can be used, with whether they lead to the port group `group`.
    fn others(&self, path: usize, group: Option<u16>) -> impl Iterator<Item = (usize, bool)> + '_ {
        let same = move |known: u32| group.is_some_and(|group| u32::from(group) == known);
        let all = self.0.iter().enumerate().filter(move |(n, _)| *n != path);
        all.filter(|(_, (open, _))| open.load(Ordering::Acquire))
            .map(move |(n, (_, known))| (n, same(known.load(Ordering::Relaxed))))
    }
}

/// What a rescuer has achieved.
pub(in crate::initiator) enum Message {
    /// The old session can carry nothing out any more.
    Fenced { session: usize },
    /// The path is back; the old session is over if it came in by the same portal group.
    Returned { session: usize, attached: Box<Attached> },
    /// Another unit is there now.
    Refused { session: usize },
}

/// Where messages arrive.
pub(in crate::initiator) struct RescueInbox {
    to: Sender<Message>,
    messages: Receiver<Message>,
    bell: Arc<OwnedFd>,
}

impl RescueInbox {
    /// An empty one.
    pub fn new() -> io::Result<RescueInbox> {
        let (to, messages) = channel();
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(RescueInbox { to, messages, bell: Arc::new(bell) })
    }

    /// Becomes readable when something arrives.
    pub fn fd(&self) -> RawFd {
        self.bell.as_fd().as_raw_fd()
    }

    /// Stops the bell. What arrives afterwards rings it again, so messages are looked for after this.
    pub fn quiet(&self) {
        // It has nothing to read where it did not ring.
        let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
    }

    /// The next message, if there is one.
    pub fn take(&self) -> Option<Message> {
        self.messages.try_recv().ok()
    }
}

/// What a rescuer works with.
pub(in crate::initiator) struct Rescuer {
    /// The session in its queue.
    pub session: usize,
    /// The path among those of its URL.
    pub spec: PathSpec,
    pub luns: Vec<LunUse>,
    pub table: Arc<PathTable>,
    /// The portal group of the session that was lost.
    pub group: Option<u16>,
    /// The old session has writes that must be fenced.
    pub fence: bool,
    /// Its writers were registered, all of them.
    pub registered: bool,
    /// How many sessions of this path were lost soon after they were made, one after the other.
    pub streak: u8,
}

/// A rescue under way. Dropping it calls it off.
#[derive(Debug)]
pub(in crate::initiator) struct Rescue(Arc<AtomicBool>);

impl Drop for Rescue {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Rescue {
    /// Sends a thread; its messages arrive at `inbox`.
    pub fn begin(rescuer: Rescuer, inbox: &RescueInbox) -> io::Result<Rescue> {
        let over = Arc::new(AtomicBool::new(false));
        let link =
            RescueLink { over: over.clone(), to: inbox.to.clone(), bell: inbox.bell.clone() };
        Builder::new().name("path-rescue".to_owned()).spawn(move || rescuer.run(&link))?;
        Ok(Rescue(over))
    }
}

/// A rescuer's way to its worker.
struct RescueLink {
    over: Arc<AtomicBool>,
    to: Sender<Message>,
    bell: Arc<OwnedFd>,
}

impl RescueLink {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    fn tell(&self, message: Message) {
        // A queue that is gone takes no session; a session that is not taken is closed.
        if self.to.send(message).is_ok() {
            let _ = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
        }
    }

    /// Waits; `false` where the rescue was called off.
    fn pause(&self, time: Ns) -> bool {
        let end = clock::now().plus(time);
        while !self.is_over() {
            let now = clock::now();
            if now >= end {
                return true;
            }
            clock::sleep_until(end.min(now.plus(LOOK)));
        }
        false
    }
}

impl Rescuer {
    fn run(mut self, link: &RescueLink) {
        let mut pause = PAUSE;
        let mut refused = false;
        let mut first = self.streak > 1;
        while !link.is_over() {
            if self.fence && self.fenced(link) {
                self.fence = false;
                link.tell(Message::Fenced { session: self.session });
            }
            if link.is_over() {
                return;
            }
            if std::mem::take(&mut first) {
                pause = Ns(PAUSE.0 << (self.streak - 1).min(4));
                if !link.pause(pause) {
                    return;
                }
            }
            match self.spec.attach(&self.luns) {
                Ok(attached) => {
                    let attached = Box::new(attached);
                    return link.tell(Message::Returned { session: self.session, attached });
                }
                Err(PathRefusal::Other { .. } | PathRefusal::Unclaimed(_)) if !refused => {
                    refused = true;
                    link.tell(Message::Refused { session: self.session });
                }
                Err(_) => {}
            }
            if !link.pause(pause) {
                return;
            }
            pause = Ns(pause.0 * 2).min(PAUSE_MAX);
        }
    }

    /// Makes sure by way of the other paths that the old session can carry nothing out any more.
    fn fenced(&self, link: &RescueLink) -> bool {
        let others: Vec<_> = self.table.others(self.spec.portal, self.group).collect();
        let (same, apart): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, same)| *same);
        let mut fencing = same.into_iter().map(|(portal, _)| self.reinstates(portal));
        fencing.any(|fenced| fenced)
            || self.registered
                && apart.into_iter().any(|(portal, _)| !link.is_over() && self.expels(portal))
    }

    /// Takes the old session's name by another portal of its group, and logs out again.
    fn reinstates(&self, portal: usize) -> bool {
        let call = self.luns[0].lun.control(portal, self.spec.isid);
        let Ok((session, group)) = call.enter() else { return false };
        drop(super::super::client::Client::of(session));
        group == self.group
    }

    fn expels(&self, portal: usize) -> bool {
        let reserved = self.luns.iter().all(|used| !used.writes || used.lun.is_reserved());
        let key = keys::path_key();
        let spec = PathSpec { portal, isid: fresh_isid(), key, slots: 1 };
        reserved && spec.expel(&self.spec, &self.luns).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_paths_are_listed_with_whether_they_share_the_group() {
        let table = PathTable::new(4);
        table.open(0, Some(1));
        table.open(1, Some(1));
        table.open(2, Some(2));
        table.open(3, None);
        let others = |path, group| table.others(path, group).collect::<Vec<_>>();
        assert_eq!(others(0, Some(1)), [(1, true), (2, false), (3, false)]);
        assert_eq!(others(3, None), [(0, false), (1, false), (2, false)]);
        table.close(1);
        assert_eq!(others(0, Some(1)), [(2, false), (3, false)]);
    }
}

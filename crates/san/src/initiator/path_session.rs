//! One session of a worker: commands in flight, and those that wait for room in the target's command window. It pings a
//! silent target and reports when the session is lost. The queue knows I/O and other sessions; this does not.

use super::link::{Buffers, Link, Lost};
use super::multipath::{Attached, GROUPS_LEN, PathSpec, Rescue};
use clock::Ns;
use disk::Arena;
use iscsi::initiator::{Command, Event, Settings};
use std::collections::VecDeque;

/// How long a goodbye is waited for.
const GOODBYE: Ns = Ns::millis(500);

/// Writes that failed while nothing made sure that an old session cannot carry them out any more: so many are kept, one by
/// one. Where there are more all writes count.
const UNFENCED_MAX: usize = 4096;

/// Where data of a session's commands goes: to the buffers of the worker's slots, and for the command behind the last of them
/// to a buffer of the session's own.
struct SlotBuffers<'a> {
    arena: &'a Arena,
    own: (*mut u8, usize),
}

impl Buffers for SlotBuffers<'_> {
    #[inline]
    fn slot(&self, slot: u32) -> Option<(*mut u8, usize)> {
        match self.arena.slot(slot) {
            Some(base) => Some((base, self.arena.slot_bytes())),
            None => (slot == self.arena.slots()).then_some(self.own),
        }
    }
}

/// One session, or the place of one that was lost.
pub(super) struct PathSession {
    /// Which path it is.
    pub spec: PathSpec,
    link: Option<Link>,
    /// The portal group of the session, if the target reported it.
    pub group: Option<u16>,
    /// After so long a silence the session is lost; after half of it the target is pinged.
    silence: Ns,
    /// It is pinged though nothing is under way: another path would not be missed otherwise.
    idles: bool,
    /// Slots whose command goes in when the window has room.
    pub waiting: VecDeque<u32>,
    pub in_flight: u32,
    /// When something came last, as far as was looked; zero where something came since.
    heard: Ns,
    pinged: Option<Ns>,
    /// Until then the target has no time; zero where it has.
    pub busy_until: Ns,
    /// The target whose access states are being asked for.
    pub probing: Option<u16>,
    /// The answer to that.
    own: Box<[u8]>,
    /// What is left of the last loss.
    pub loss: Loss,
}

/// A session that was lost, and what became of it.
#[derive(Default)]
pub(super) struct Loss {
    /// When; zero where there was none yet.
    pub at: Ns,
    /// The error number that says why.
    pub errno: i32,
    /// The old session may still execute its commands.
    pub unfenced: bool,
    /// When the session was made that was lost, and how many were lost soon after they were made, one after the other.
    pub returned: Ns,
    pub streak: u8,
    /// Who sees to it that the path comes back.
    pub rescue: Option<Rescue>,
    /// I/Os that were under way and have not ended yet, and how many there were.
    pub left: u32,
    pub total: u32,
    /// When they were taken back, and how long after that the first of them ended.
    pub stalled: Ns,
    pub first: Option<Ns>,
    /// Places of writes that failed and may still be carried out: target, first byte, length.
    unfenced_writes: Vec<(u16, u64, u32)>,
    all_unfenced: bool,
}

impl Loss {
    /// A write failed that the old session may still execute.
    pub fn add_unfenced(&mut self, target: u16, offset: u64, len: u32) {
        if self.unfenced_writes.len() < UNFENCED_MAX {
            self.unfenced_writes.push((target, offset, len));
        } else {
            self.all_unfenced = true;
        }
    }

    /// Whether a new write might be overtaken by an old one.
    pub fn overlaps_unfenced(&self, target: u16, offset: u64, len: u32) -> bool {
        let meets =
            |at: u64, long: u32| at < offset + u64::from(len) && offset < at + u64::from(long);
        self.all_unfenced
            || self.unfenced_writes.iter().any(|&(of, at, long)| of == target && meets(at, long))
    }

    /// Whether there are such places.
    pub fn has_unfenced(&self) -> bool {
        self.all_unfenced || !self.unfenced_writes.is_empty()
    }

    /// The old session can carry nothing out any more.
    pub fn fenced(&mut self) {
        self.unfenced = false;
        self.unfenced_writes.clear();
        self.all_unfenced = false;
    }
}

impl PathSession {
    /// A path without a session.
    pub fn new(spec: PathSpec, silence: Ns, idles: bool) -> PathSession {
        PathSession {
            spec,
            link: None,
            group: None,
            silence,
            idles,
            waiting: VecDeque::with_capacity(spec.slots as usize),
            in_flight: 0,
            heard: Ns::ZERO,
            pinged: None,
            busy_until: Ns::ZERO,
            probing: None,
            own: vec![0; GROUPS_LEN as usize].into(),
            loss: Loss::default(),
        }
    }

    /// Takes a session in at this moment.
    pub fn install(&mut self, attached: Attached, now: Ns) {
        self.loss.returned = now;
        self.link = Some(attached.link);
        self.group = attached.group;
        (self.heard, self.pinged, self.busy_until) = (Ns::ZERO, None, Ns::ZERO);
        self.loss.rescue = None;
    }

    /// The silence that it bears.
    pub fn silence(&self) -> Ns {
        self.silence
    }

    /// Whether it has a session.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// What was negotiated, where there is a session.
    pub fn settings(&mut self) -> Option<Settings> {
        self.link.as_mut().map(|link| *link.session().settings())
    }

    /// The session, if there is one.
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// Takes the session out, to end it.
    pub fn close(&mut self) -> Option<Link> {
        self.waiting.clear();
        (self.in_flight, self.probing) = (0, None);
        self.link.take()
    }

    /// Commands that it was given and that are not over.
    #[inline]
    pub fn load(&self) -> usize {
        self.in_flight as usize + self.waiting.len()
    }

    /// Gives a command to the session; `false` where it has to wait for room in the window.
    #[inline]
    pub fn issue(&mut self, slot: u32, command: &Command) -> bool {
        if let Some(link) = &mut self.link
            && link.session().command(slot, command).is_ok()
        {
            self.in_flight += 1;
            return true;
        }
        self.waiting.push_back(slot);
        false
    }

    /// Gives the session's own command to the session, behind those of all slots; `false` where there is no room.
    pub fn issue_own(&mut self, command: &Command) -> bool {
        let own = self.spec.slots - 1;
        self.link.as_mut().is_some_and(|link| link.session().command(own, command).is_ok())
    }

    /// What the session's own command has read.
    pub fn answer(&self, len: u32) -> &[u8] {
        &self.own[..self.own.len().min(len as usize)]
    }

    /// Whether the window has room.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        self.link.as_mut().is_some_and(|link| link.session().room() > 0)
    }

    /// Asks for the end of a slot's command; `false` where that cannot be asked for. What was handed to the kernel for one
    /// connection arrives in order, so that the target has seen the command before it is asked to abort it. Where there
    /// are several connections a command may wait at the target for one that comes by another of them, and a target may
    /// say that there is no such command, and carry it out later: there the session is given up in place of it.
    pub fn abort(&mut self, slot: u32, lun: iscsi::pdu::Lun) -> bool {
        let function = iscsi::pdu::TaskFunction::AbortTask;
        self.link.as_mut().is_some_and(|link| {
            link.is_single()
                && !link.has_output()
                && link.session().manage(function, lun, Some(slot)).is_ok()
        })
    }

    /// Sends what the socket takes.
    pub fn send(&mut self, arena: &Arena) -> Result<(), Lost> {
        let own = (self.own.as_mut_ptr(), self.own.len());
        self.link.as_mut().map_or(Ok(()), |link| link.send(&SlotBuffers { arena, own }))
    }

    /// Reads once; `false` where there was nothing.
    pub fn receive(&mut self, arena: &Arena, heard: &mut impl FnMut(Event)) -> Result<bool, Lost> {
        let own = (self.own.as_mut_ptr(), self.own.len());
        self.link
            .as_mut()
            .map_or(Ok(false), |link| link.receive(&SlotBuffers { arena, own }, heard))
    }

    /// All that came has been read: whether that was something.
    #[inline]
    pub fn listened(&mut self) {
        if self.link.as_mut().is_some_and(Link::heard) {
            (self.heard, self.pinged) = (Ns::ZERO, None);
        }
    }

    fn ping_after(&self) -> Ns {
        Ns(self.silence.0 / 2)
    }

    /// Whether something is to be heard from the target.
    fn expects(&self) -> bool {
        self.is_open() && (self.in_flight > 0 || self.idles)
    }

    /// Pings a session that has been silent for long, and gives up one that stays silent. Called after all input.
    pub fn watch(&mut self, now: Ns) -> Option<Lost> {
        if !self.expects() || self.heard == Ns::ZERO {
            // Heard since the last look, or nothing to be heard: the clock starts now.
            (self.heard, self.pinged) = (now, None);
            return None;
        }
        let patience = self.ping_after();
        match self.pinged {
            Some(at) if now.since(at) >= patience => {
                return Some(Lost::Silent(self.silence.0.div_ceil(1_000_000_000)));
            }
            None if now.since(self.heard) >= patience => {
                // One that cannot even be asked is as silent.
                let _ = self.link.as_mut().map(|link| link.session().ping());
                self.pinged = Some(now);
            }
            _ => {}
        }
        None
    }

    /// When [`PathSession::watch`] has something to do.
    pub fn wake(&self) -> Ns {
        match self.pinged {
            _ if !self.expects() || self.heard == Ns::ZERO => Ns::MAX,
            Some(at) => at.plus(self.ping_after()),
            None => self.heard.plus(self.ping_after()),
        }
    }

    /// Logs out with commands under way: data that still comes goes where it belongs.
    pub fn leave(&mut self, arena: &Arena) {
        let own = (self.own.as_mut_ptr(), self.own.len());
        if let Some(mut link) = self.link.take() {
            leave(&mut link, &SlotBuffers { arena, own });
        }
    }
}

/// Logs out, and waits a moment for the answer.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_failed_unfenced_haunts_its_place() {
        let mut loss = Loss { unfenced: true, ..Loss::default() };
        loss.add_unfenced(1, 4096, 4096);
        for (target, offset, len, unfenced_writes) in [
            (1, 4096, 512, true),
            (1, 0, 4096, false),
            (1, 0, 4097, true),
            (1, 8191, 1, true),
            (1, 8192, 512, false),
            (0, 4096, 4096, false),
        ] {
            assert_eq!(
                loss.overlaps_unfenced(target, offset, len),
                unfenced_writes,
                "{target} {offset} {len}"
            );
        }
        for n in 0..UNFENCED_MAX as u64 {
            loss.add_unfenced(0, n << 20, 1);
        }
        assert!(loss.overlaps_unfenced(7, 0, 1), "more than are kept: all of them");
        loss.fenced();
        assert!(!loss.has_unfenced() && !loss.overlaps_unfenced(1, 4096, 512) && !loss.unfenced);
    }
}

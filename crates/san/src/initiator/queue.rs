//! The queue of a worker over LUNs: sessions whose sockets are driven by the worker's own thread, inside `reap`.
//!
//! LUNs of one target share their sessions, one for each portal of the URL. A command goes at once to the session that the
//! policy chooses if the target's window has room; otherwise it waits. After a unit attention a command is retried at once,
//! after BUSY later, both a bounded number of times. `recover.rs` handles lost sessions.

use super::busy_poll::BusyPoll;
use super::client::Client;
use super::disposition::{Disposition, verdict};
use super::link::{Link, Lost};
use super::multipath::{AccessState, EventSender, Mask, PathEvent, RescueInbox};
use super::path_session::PathSession;
use super::unit::{Bundle, TargetUnit};
use clock::Ns;
use disk::{Arena, Completion, Completions, Io, Queue, RemoteAccess};
use engine::Reports;
use iscsi::initiator::{CommandEnd, Conn, Event};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How often one I/O is sent again because of a unit attention or an aborted command.
const AGAIN_MAX: u16 = 32;

/// How long a busy target is asked again.
const BUSY: Ns = Ns::secs(30);

/// How long it is left alone at first, doubled with every answer up to sixteen times as long; also how long I/O without
/// a path to wait for takes to fail, so that no caller spins.
pub(super) const BACK_OFF: Ns = Ns::millis(10);
const BACK_OFF_DOUBLED_MAX: u8 = 4;

/// Reservations preempted, reservations released, registrations preempted: nothing more is written by a session that
/// hears of it, before it was made again and the claim was found to stand.
pub(super) const TAKEN_AWAY: [u16; 3] = [0x2a03, 0x2a04, 0x2a05];

/// How often a command that takes too long is sent again after it was aborted.
const TIMEOUTS_MAX: u8 = 2;

/// No session.
pub(super) const NONE: u16 = u16::MAX;

/// Where an I/O is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IoState {
    /// It waits for room in its session's window.
    Waiting,
    /// Its session has its command.
    Sent,
    /// The same, and its abort was asked for at this moment.
    Aborting(Ns),
    /// It is left alone for a while.
    Resting,
    /// No path can carry it.
    Held,
    /// A write whose session was lost: the old session may still carry it out.
    Suspect,
}

/// An I/O under way.
#[derive(Clone, Copy)]
pub(super) struct PendingIo {
    pub io: Io,
    pub state: IoState,
    /// The session that has it, or had it.
    pub session: u16,
    /// The session that was lost with it, for as long as its stall is measured.
    pub moved: u16,
    again: u16,
    /// Sessions that were lost while they had it.
    pub losses: u8,
    timeouts: u8,
    pause: u8,
    /// When it was given to its session.
    pub issued: Ns,
    /// Since when nothing can carry it; zero where something can.
    pub held: Ns,
    /// Since when the target has no time for it; zero where it has.
    busy: Ns,
}

/// What a queue is made of.
pub(super) struct QueueParts {
    pub sessions: Vec<PathSession>,
    pub bundles: Vec<Bundle>,
    pub targets: Vec<TargetUnit>,
    /// Keeps the claims for as long as the queue lives.
    pub accesses: Vec<RemoteAccess>,
    pub inbox: RescueInbox,
    pub events: EventSender,
    pub reports: Box<dyn Reports>,
    pub busy_poll: BusyPoll,
    pub how: String,
}

/// What a worker drives.
pub(super) struct LunQueue {
    pub arena: Arena,
    pub sessions: Vec<PathSession>,
    pub bundles: Vec<Bundle>,
    pub targets: Vec<TargetUnit>,
    pub ios: Vec<Option<PendingIo>>,
    /// Completed, and not reaped yet.
    ready: VecDeque<Completion>,
    resting: BinaryHeap<Reverse<(Ns, u32)>>,
    polls: Vec<libc::pollfd>,
    busy_poll: BusyPoll,
    /// Commands that have ended, and have not been dealt with.
    endings: Vec<(u32, CommandEnd)>,
    /// The last look at the clock.
    pub now: Ns,
    /// When limits are checked next.
    pub audit: Ns,
    /// A session heard that its reservation may be gone.
    unclaimed: bool,
    /// A path is lost, or an I/O is held.
    pub trouble: bool,
    pub inbox: RescueInbox,
    pub events: EventSender,
    reports: Option<Box<dyn Reports>>,
    how: String,
    _accesses: Vec<RemoteAccess>,
}

impl LunQueue {
    /// A queue whose sessions stand ready.
    pub fn new(arena: &Arena, parts: QueueParts) -> LunQueue {
        let QueueParts {
            sessions,
            bundles,
            targets,
            accesses,
            inbox,
            events,
            reports,
            busy_poll,
            how,
        } = parts;
        let slots = arena.slots() as usize;
        let mut queue = LunQueue {
            arena: arena.clone(),
            ios: vec![None; slots],
            ready: VecDeque::with_capacity(slots),
            resting: BinaryHeap::with_capacity(slots),
            polls: Vec::with_capacity(sessions.len() * Conn::MOST + 1),
            busy_poll,
            endings: Vec::with_capacity(slots),
            unclaimed: false,
            trouble: sessions.iter().any(|session| !session.is_open()),
            sessions,
            bundles,
            targets,
            now: clock::now(),
            audit: Ns::ZERO,
            inbox,
            events,
            reports: Some(reports),
            how,
            _accesses: accesses,
        };
        (0..queue.bundles.len()).for_each(|bundle| queue.refresh(bundle));
        queue
    }

    /// The bundle of a session, and which of its paths it is.
    pub fn place(&self, session: usize) -> (usize, usize) {
        let bundle = self.bundles.iter().rposition(|bundle| bundle.first <= session).unwrap_or(0);
        (bundle, session - self.bundles[bundle].first)
    }

    /// Works out again which paths of a bundle can be used.
    pub fn refresh(&mut self, bundle: usize) {
        let Bundle { first, paths, ref targets, .. } = self.bundles[bundle];
        let sessions = &self.sessions[first..first + paths];
        let mask = |is: fn(&PathSession) -> bool| {
            let all = sessions.iter().enumerate().filter(|(_, session)| is(session));
            all.fold(0, |mask: Mask, (path, _)| mask | 1 << path)
        };
        let (open, busy) =
            (mask(PathSession::is_open), mask(|session| session.busy_until > Ns::ZERO));
        for target in targets {
            self.targets[*target].refresh(open, busy);
        }
    }

    /// Gives a slot's I/O to a session, or has it wait.
    pub fn issue(&mut self, slot: u32) {
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        let io = flight.io;
        let Some(target) = self.targets.get_mut(usize::from(io.target)) else {
            return self.over(slot, Err(libc::ENXIO));
        };
        let command = match target.command(&io, &self.arena) {
            Ok(command) => command,
            Err(errno) => return self.over(slot, Err(errno)),
        };
        let (first, sessions) = (target.first, &self.sessions);
        let chosen =
            target.chooser.choose(target.usable, io.len, |path| sessions[first + path].load());
        let Some(path) = chosen else { return self.hold(slot) };
        if self.trouble && self.has_unfenced(&io) {
            return self.hold(slot);
        }
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        let session = first + path;
        (flight.session, flight.issued, flight.held) = (session as u16, self.now, Ns::ZERO);
        flight.state = match self.sessions[session].issue(slot, &command) {
            true => IoState::Sent,
            false => IoState::Waiting,
        };
    }

    /// Gives an I/O that has waited for room to its session.
    fn enter(&mut self, session: usize, slot: u32) {
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        if flight.state != IoState::Waiting || usize::from(flight.session) != session {
            return;
        }
        let target = &self.targets[usize::from(flight.io.target)];
        // It has been one before.
        let Ok(command) = target.command(&flight.io, &self.arena) else { return };
        flight.issued = self.now;
        if self.sessions[session].issue(slot, &command) {
            flight.state = IoState::Sent;
        }
    }

    /// An I/O has ended.
    pub fn over(&mut self, slot: u32, result: Result<u32, i32>) {
        if let Some(place) = self.ios.get_mut(slot as usize)
            && let Some(flight) = place.take()
        {
            self.ready.push_back(Completion { slot, result });
            if flight.moved != NONE {
                self.stalled(usize::from(flight.moved));
            }
        }
    }

    /// A command has ended: so has its I/O, or it is sent again.
    fn ended(&mut self, session: usize, slot: u32, ending: CommandEnd) {
        if slot == self.arena.slots() {
            return self.probed(session, ending);
        }
        self.sessions[session].in_flight = self.sessions[session].in_flight.saturating_sub(1);
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        let verdict = verdict(ending, &flight.io);
        if let Disposition::Over(result) = verdict {
            return self.over(slot, result);
        }
        let (target, now) = (usize::from(flight.io.target), self.now);
        match verdict {
            Disposition::Attention(code) => {
                self.events.tell(now, session, PathEvent::Attention { code });
                if TAKEN_AWAY.contains(&code) && self.targets[target].writes {
                    self.unclaimed = true;
                    return;
                }
                // Asymmetric access state changed; a transition that the target began by itself failed.
                if matches!(code, 0x2a06 | 0x2a07) {
                    self.targets[target].stale = true;
                }
                self.again(slot);
            }
            Disposition::Later(status) => self.later(session, slot, status),
            Disposition::Passive(state) => {
                self.passive(session, target, state);
                self.again(slot);
            }
            Disposition::Aborted if matches!(flight.state, IoState::Aborting(_)) => {
                flight.timeouts += 1;
                match flight.timeouts > TIMEOUTS_MAX {
                    true => self.over(slot, Err(libc::ETIMEDOUT)),
                    false => self.issue(slot),
                }
            }
            Disposition::Aborted => self.over(slot, Err(libc::ECANCELED)),
            Disposition::Retry | Disposition::Over(_) => self.again(slot),
        }
    }

    /// Sends a command again that was not carried out, a bounded number of times.
    fn again(&mut self, slot: u32) {
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        flight.again += 1;
        match flight.again > AGAIN_MAX {
            true => self.over(slot, Err(libc::EIO)),
            false => self.issue(slot),
        }
    }

    /// The target has no time: the I/O rests, and so does its path, where the policy has others.
    fn later(&mut self, session: usize, slot: u32, status: u8) {
        let now = self.now;
        self.events.tell(now, session, PathEvent::Busy { status });
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        if flight.busy == Ns::ZERO {
            flight.busy = now;
        }
        if now.since(flight.busy) >= BUSY {
            return self.over(slot, Err(libc::EBUSY));
        }
        let pause = Ns(BACK_OFF.0 << flight.pause);
        flight.pause = (flight.pause + 1).min(BACK_OFF_DOUBLED_MAX);
        flight.state = IoState::Resting;
        self.resting.push(Reverse((now.plus(pause), slot)));
        let fresh = self.sessions[session].busy_until == Ns::ZERO;
        self.sessions[session].busy_until = now.plus(pause);
        if fresh {
            self.refresh(self.place(session).0);
        }
    }

    /// A path's port moves no blocks any more, at least for this target.
    fn passive(&mut self, session: usize, target: usize, state: AccessState) {
        let (bundle, path) = self.place(session);
        let Some(known) = self.targets[target].path_states.get_mut(path) else { return };
        if known.state != state {
            known.state = state;
            let kind = PathEvent::Access { target: target as u16, state };
            self.events.tell(self.now, session, kind);
        }
        self.targets[target].stale = true;
        self.refresh(bundle);
    }

    /// Sends, and takes in what has come.
    fn drive(&mut self, session: usize) {
        self.rouse(session);
        if !self.sessions[session].is_open() {
            return;
        }
        let sent = self.sessions[session].send(&self.arena);
        if let Err(lost) = sent.and_then(|()| self.listen(session)) {
            self.lose(session, &lost);
        }
    }

    /// Reads until there is nothing more.
    fn listen(&mut self, session: usize) -> Result<(), Lost> {
        loop {
            let mut lost = None;
            let mut endings = std::mem::take(&mut self.endings);
            let mut heard = |event: Event| match event {
                Event::Done { slot, ending } => endings.push((slot, ending)),
                other => lost = lost.take().or(super::ended(&other)),
            };
            let came = self.sessions[session].receive(&self.arena, &mut heard);
            for (slot, ending) in endings.drain(..) {
                self.ended(session, slot, ending);
            }
            self.endings = endings;
            self.sessions[session].listened();
            if std::mem::take(&mut self.unclaimed) {
                return Err(Lost::Ended("a reservation was cleared, released or taken by another"));
            }
            if let Some(lost) = lost {
                return Err(lost);
            }
            if !came? {
                return Ok(());
            }
            // What has ended makes room.
            self.rouse(session);
        }
    }

    /// Sends in what waits for room in the window.
    fn rouse(&mut self, session: usize) {
        let mut left = self.sessions[session].waiting.len();
        while left > 0 && self.sessions[session].has_room() {
            if let Some(slot) = self.sessions[session].waiting.pop_front() {
                self.enter(session, slot);
            }
            left -= 1;
        }
    }

    /// Sends in what has rested.
    fn wake_up(&mut self) {
        if self.resting.is_empty() {
            return;
        }
        for session in 0..self.sessions.len() {
            let until = self.sessions[session].busy_until;
            if until > Ns::ZERO && until <= self.now {
                self.sessions[session].busy_until = Ns::ZERO;
                self.refresh(self.place(session).0);
            }
        }
        while let Some(Reverse((at, slot))) = self.resting.peek().copied()
            && at <= self.now
        {
            self.resting.pop();
            self.issue(slot);
        }
    }

    /// Until when nothing but the sockets needs a look.
    fn wake(&self, until: Ns) -> Ns {
        let rest = self.resting.peek().map_or(Ns::MAX, |Reverse((at, _))| *at);
        let sessions = self.sessions.iter().map(PathSession::wake);
        sessions.fold(until.min(rest).min(self.audit), Ns::min)
    }

    fn wait(&mut self, until: Ns) {
        self.polls.clear();
        self.polls.extend(self.sessions.iter().filter_map(PathSession::link).flat_map(Link::polls));
        if self.trouble {
            let fd = self.inbox.fd();
            self.polls.push(libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        }
        self.busy_poll.wait(&mut self.polls, until);
    }
}

impl Queue for LunQueue {
    fn depth_max(&self) -> u32 {
        self.arena.slots()
    }

    fn how(&self) -> &str {
        &self.how
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        self.now = clock::now();
        for io in ios {
            match self.ios.get_mut(io.slot as usize) {
                Some(place @ None) => {
                    *place = Some(PendingIo {
                        io: *io,
                        state: IoState::Waiting,
                        session: NONE,
                        moved: NONE,
                        again: 0,
                        losses: 0,
                        timeouts: 0,
                        pause: 0,
                        issued: self.now,
                        held: Ns::ZERO,
                        busy: Ns::ZERO,
                    });
                    self.issue(io.slot);
                }
                _ => {
                    let result = Err(libc::EINVAL);
                    self.ready.push_back(Completion { slot: io.slot, result });
                }
            }
        }
        ios.len()
    }

    fn reap(&mut self, min: u32, until: Ns, out: &mut Completions) {
        self.wake_up();
        if self.now >= self.audit {
            // What came is read before it is said that nothing came.
            (0..self.sessions.len()).for_each(|session| self.drive(session));
            self.now = clock::now();
            self.watch();
        }
        for session in 0..self.sessions.len() {
            self.rouse(session);
            if let Err(lost) = self.sessions[session].send(&self.arena) {
                self.lose(session, &lost);
            }
        }
        let mut over = false;
        while self.ready.len() < min as usize && !over {
            let wake = self.wake(until);
            self.wait(wake);
            (0..self.sessions.len()).for_each(|session| self.drive(session));
            if self.ready.len() < min as usize {
                self.now = clock::now();
                self.watch();
                self.wake_up();
                over = self.now >= until;
            }
        }
        if min == 0 {
            (0..self.sessions.len()).for_each(|session| self.drive(session));
        }
        let room = (out.capacity() - out.len()).min(self.ready.len());
        out.extend(self.ready.drain(..room));
    }

    fn reports(&mut self) -> Option<Box<dyn Reports>> {
        self.reports.take()
    }
}

impl Drop for LunQueue {
    fn drop(&mut self) {
        for bundle in &self.bundles {
            for path in 0..bundle.paths {
                let session = &mut self.sessions[bundle.first + path];
                if session.in_flight > 0 {
                    session.leave(&self.arena);
                    continue;
                }
                let Some(link) = session.close() else { continue };
                // The client logs out when it is dropped.
                let mut client = Client::of(link);
                for (used, target) in bundle.luns.iter().zip(&bundle.targets) {
                    if self.targets[*target].path_states[path].registered {
                        session.spec.unregister(&mut client, &used.lun);
                    }
                }
            }
        }
    }
}

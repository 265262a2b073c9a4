//! What happens to I/O when a session is lost, when one comes back, and when no path is usable.
//!
//! Reads, and commands never sent, move to another path at once. A write that was sent waits until the old session is fenced:
//! only then can no old data overwrite newer data. All waits are bounded: an I/O without a path fails after the URL's time, an
//! unanswered command is aborted, and a session that does not answer the abort is dropped. A write that fails before its
//! old session is fenced blocks other writes to its range until then.

use super::link::Lost;
use super::multipath::{GROUPS_LEN, Message, PathEvent, PathLossCause, Rescue, Rescuer};
use super::queue::{BACK_OFF, IoState, LunQueue, NONE};
use clock::Ns;
use disk::Io;
use iscsi::initiator::{Cdb, Command, CommandEnd, Transfer};
use iscsi::pdu::TaskAttribute;

/// How long a write waits at least until its old session is over for certain.
const FENCE: Ns = Ns::secs(10);

/// A session that lives no longer than this is followed by a pause, which grows with every one of them.
const SOON: Ns = Ns::secs(2);

/// So many sessions may be lost under one I/O, which is perhaps what ends them, before it fails.
const LOSSES_MAX: u8 = 8;

/// How often limits are checked: normally, and during trouble.
const AUDIT: Ns = Ns::millis(100);
const AUDIT_TROUBLE: Ns = Ns::millis(5);

/// When the access states of a unit are read again that are about to change, or of which none lets anything through.
const RECHECK: Ns = Ns::millis(500);

impl LunQueue {
    /// A session is over.
    pub fn lose(&mut self, session: usize, why: &Lost) {
        self.now = clock::now();
        let (now, errno) = (self.now, why.errno());
        let (bundle, path) = self.place(session);
        if let Some(link) = self.sessions[session].close() {
            link.abandon();
        }
        let tried = self.bundles[bundle].tries();
        self.bundles[bundle].errno = errno;
        self.bundles[bundle].table.close(path);
        let loss = &mut self.sessions[session].loss;
        (loss.at, loss.errno) = (now, errno);
        let soon = now.since(loss.returned) < SOON;
        loss.streak = if soon { loss.streak.saturating_add(1) } else { 0 };
        (self.trouble, self.audit) = (true, now);
        self.refresh(bundle);
        let (moved, held) = self.take_back(session, tried);
        self.sessions[session].loss.unfenced |= held > 0;
        self.events.tell(
            now,
            session,
            PathEvent::Lost { why: PathLossCause::from(why), moved, held, tried },
        );
        if tried {
            self.rescue(session);
        }
    }

    /// Takes what a lost session had under way: how many I/Os went on at once, and how many writes have to wait.
    fn take_back(&mut self, session: usize, tried: bool) -> (u32, u32) {
        let (mut moved, mut held) = (0, 0);
        for slot in 0..self.ios.len() as u32 {
            let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { continue };
            let sent = matches!(flight.state, IoState::Sent | IoState::Aborting(_));
            if usize::from(flight.session) != session || !(sent || flight.state == IoState::Waiting)
            {
                continue;
            }
            flight.losses = flight.losses.saturating_add(1);
            let suspect = sent && flight.io.dir.changes();
            if !tried || (flight.losses > LOSSES_MAX && !suspect) {
                self.over(slot, Err(self.sessions[session].loss.errno));
                continue;
            }
            if flight.moved == NONE {
                flight.moved = session as u16;
                let loss = &mut self.sessions[session].loss;
                if loss.left == 0 {
                    (loss.stalled, loss.total, loss.first) = (self.now, 0, None);
                }
                loss.left += 1;
                loss.total += 1;
            }
            if suspect {
                (flight.state, flight.held) = (IoState::Suspect, self.now);
                held += 1;
            } else {
                moved += 1;
                self.issue(slot);
            }
        }
        (moved, held)
    }

    /// Starts the rescue of a lost path.
    fn rescue(&mut self, session: usize) {
        let (bundle, path) = self.place(session);
        let bundle = &self.bundles[bundle];
        let mut written = bundle.luns.iter().zip(&bundle.targets).filter(|(used, _)| used.writes);
        let registered = written.clone().next().is_some()
            && written.all(|(_, target)| self.targets[*target].path_states[path].registered);
        let this = &mut self.sessions[session];
        let rescuer = Rescuer {
            session,
            spec: this.spec,
            luns: bundle.luns.clone(),
            table: bundle.table.clone(),
            group: this.group,
            fence: this.loss.unfenced,
            streak: this.loss.streak,
            registered,
        };
        // Where the system has no thread for it now it is tried again at the next look.
        this.loss.rescue = Rescue::begin(rescuer, &self.inbox).ok();
    }

    /// An I/O that nothing can carry at present.
    pub fn hold(&mut self, slot: u32) {
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        flight.state = IoState::Held;
        if flight.held == Ns::ZERO {
            flight.held = self.now;
        }
        self.trouble = true;
        self.audit = self.audit.min(self.now.plus(BACK_OFF));
    }

    /// Whether a write that failed, and may still be carried out, could overtake this one.
    pub fn has_unfenced(&self, io: &Io) -> bool {
        let bundle = &self.bundles[self.targets[usize::from(io.target)].bundle];
        let mut sessions = self.sessions[bundle.first..bundle.first + bundle.paths].iter();
        io.dir.changes()
            && sessions.any(|session| session.loss.overlaps_unfenced(io.target, io.offset, io.len))
    }

    /// One of the I/Os that a lost session had under way has ended.
    pub fn stalled(&mut self, session: usize) {
        let now = clock::now();
        let loss = &mut self.sessions[session].loss;
        let since = now.since(loss.stalled);
        let first = *loss.first.get_or_insert(since);
        loss.left = loss.left.saturating_sub(1);
        if loss.left == 0 {
            let kind = PathEvent::Stall { ios: loss.total, first, last: since };
            self.events.tell(now, session, kind);
        }
    }

    /// Looks after all that may be late or wrong.
    pub fn watch(&mut self) {
        for session in 0..self.sessions.len() {
            if let Some(lost) = self.sessions[session].watch(self.now) {
                self.lose(session, &lost);
            }
        }
        if self.trouble {
            self.inbox.quiet();
            while let Some(message) = self.inbox.take() {
                self.hear(message);
            }
        }
        if self.now >= self.audit {
            self.examine();
        }
        self.probe();
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Fenced { session } => self.fenced(session),
            Message::Refused { session } => self.events.tell(self.now, session, PathEvent::Refused),
            Message::Returned { session, mut attached } => {
                let (bundle, path) = self.place(session);
                let this = &mut self.sessions[session];
                let over = attached.group == this.group;
                let path_states = std::mem::take(&mut attached.path_states);
                let away = self.now.since(this.loss.at);
                self.bundles[bundle].table.open(path, attached.group);
                this.install(*attached, self.now);
                for (n, look) in path_states.into_iter().enumerate() {
                    let target = self.bundles[bundle].targets[n];
                    self.targets[target].path_states[path] = look;
                }
                self.refresh(bundle);
                self.events.tell(self.now, session, PathEvent::Returned { away });
                if over {
                    self.fenced(session);
                }
                self.resume(bundle);
            }
        }
    }

    /// A lost session can carry nothing out any more: the writes that it was given go on.
    fn fenced(&mut self, session: usize) {
        let loss = &mut self.sessions[session].loss;
        if !loss.unfenced {
            return;
        }
        let took = self.now.since(loss.at);
        loss.fenced();
        let mut writes = 0;
        for slot in 0..self.ios.len() as u32 {
            let Some(Some(flight)) = &mut self.ios.get_mut(slot as usize) else { continue };
            if usize::from(flight.session) == session && flight.state == IoState::Suspect {
                // From here on it waits for any path.
                flight.held = Ns::ZERO;
                writes += 1;
                match flight.losses > LOSSES_MAX {
                    true => self.over(slot, Err(self.sessions[session].loss.errno)),
                    false => self.issue(slot),
                }
            }
        }
        self.events.tell(self.now, session, PathEvent::Fenced { writes, took });
        self.resume(self.place(session).0);
    }

    /// Tries again what nothing could carry.
    fn resume(&mut self, bundle: usize) {
        for slot in 0..self.ios.len() as u32 {
            let Some(Some(flight)) = self.ios.get(slot as usize) else { continue };
            let target = self.targets.get(usize::from(flight.io.target));
            if flight.state == IoState::Held && target.is_some_and(|target| target.bundle == bundle)
            {
                self.issue(slot);
            }
        }
    }

    /// Looks at every limit.
    fn examine(&mut self) {
        let now = self.now;
        self.events.tick(now);
        let mut troubled = false;
        for slot in 0..self.ios.len() as u32 {
            troubled |= self.examine_slot(slot);
        }
        for session in 0..self.sessions.len() {
            troubled |= self.examine_session(session);
        }
        for target in &mut self.targets {
            if target.recheck <= now {
                (target.stale, target.recheck) = (true, Ns::MAX);
            }
        }
        self.trouble = troubled;
        self.audit = now.plus(if troubled { AUDIT_TROUBLE } else { AUDIT });
    }

    /// Whether something is wrong with an I/O.
    fn examine_slot(&mut self, slot: u32) -> bool {
        let now = self.now;
        let Some(Some(flight)) = self.ios.get(slot as usize).copied() else { return false };
        let Some(target) = self.targets.get(usize::from(flight.io.target)) else { return false };
        let bundle = &self.bundles[target.bundle];
        let (limit, address) = (bundle.luns[0].lun.limit(), target.address());
        let (session, age) = (usize::from(flight.session), now.since(flight.issued));
        match flight.state {
            IoState::Held if now.since(flight.held) >= bundle.wait.max(BACK_OFF) => {
                self.give_up(slot, now.since(flight.held), bundle.errno);
            }
            IoState::Suspect if now.since(flight.held) >= bundle.wait.max(FENCE) => {
                self.sessions[session].loss.add_unfenced(
                    flight.io.target,
                    flight.io.offset,
                    flight.io.len,
                );
                self.give_up(slot, now.since(flight.held), self.sessions[session].loss.errno);
            }
            IoState::Held | IoState::Suspect => {}
            IoState::Sent if age >= limit => {
                let seconds = limit.0.div_ceil(1_000_000_000);
                if self.sessions[session].abort(slot, address) {
                    if let Some(Some(flight)) = self.ios.get_mut(slot as usize) {
                        flight.state = IoState::Aborting(now);
                    }
                    self.events.tell(now, session, PathEvent::Timeout { seconds });
                } else if age >= limit.plus(self.sessions[session].silence()) {
                    // Nothing can be asked, or no answer would tell enough.
                    self.lose(session, &Lost::Overdue(seconds));
                }
                return false;
            }
            IoState::Aborting(at) if now.since(at) >= self.sessions[session].silence() => {
                self.lose(session, &Lost::Overdue(limit.0.div_ceil(1_000_000_000)));
            }
            IoState::Waiting if age >= limit && self.sessions[session].in_flight == 0 => {
                self.lose(session, &Lost::Overdue(limit.0.div_ceil(1_000_000_000)));
            }
            IoState::Sent | IoState::Aborting(_) | IoState::Waiting | IoState::Resting => {
                return false;
            }
        }
        true
    }

    /// Whether something is wrong with a session.
    fn examine_session(&mut self, session: usize) -> bool {
        let bundle = self.place(session).0;
        let tried = self.bundles[bundle].tries();
        let this = &mut self.sessions[session];
        if this.is_open() {
            return this.loss.has_unfenced();
        }
        if tried && this.loss.rescue.is_none() {
            if this.loss.at == Ns::ZERO {
                this.loss.at = self.now;
                let (why, moved, held) = (PathLossCause::Unreached, 0, 0);
                self.events.tell(self.now, session, PathEvent::Lost { why, moved, held, tried });
            }
            self.rescue(session);
        }
        true
    }

    /// Nothing has carried an I/O for as long as it could wait.
    fn give_up(&mut self, slot: u32, after: Ns, errno: i32) {
        if let Some(Some(flight)) = self.ios.get(slot as usize) {
            let unfenced = flight.state == IoState::Suspect || self.has_unfenced(&flight.io);
            let target = &self.targets[usize::from(flight.io.target)];
            let session =
                if flight.session == NONE { target.first } else { usize::from(flight.session) };
            self.events.tell(self.now, session, PathEvent::GivenUp { after, unfenced });
        }
        self.over(slot, Err(errno));
    }

    /// Asks for the access states of units for which they are out of date.
    fn probe(&mut self) {
        for n in 0..self.targets.len() {
            let target = &mut self.targets[n];
            if !target.stale {
                continue;
            }
            if target.path_states.iter().all(|look| look.port.is_none()) {
                target.stale = false;
                continue;
            }
            let command = Command {
                lun: target.address(),
                cdb: Cdb::report_target_port_groups(GROUPS_LEN),
                transfer: Transfer::In(GROUPS_LEN),
                attribute: TaskAttribute::Simple,
            };
            let paths = self.bundles[target.bundle].paths;
            let mut sessions = self.sessions[target.first..target.first + paths].iter_mut();
            let asked = sessions.any(|session| {
                let asks = session.probing.is_none() && session.issue_own(&command);
                if asks {
                    session.probing = Some(n as u16);
                }
                asks
            });
            target.stale = !asked;
        }
    }

    /// A question for access states is over.
    pub fn probed(&mut self, session: usize, ending: CommandEnd) {
        let Some(at) = self.sessions[session].probing.take() else { return };
        let (now, at) = (self.now, usize::from(at));
        let target = &mut self.targets[at];
        let (bundle, first) = (target.bundle, target.first);
        match ending {
            CommandEnd::Status { status: 0, moved, .. } => {
                let events = &mut self.events;
                target.report(self.sessions[session].answer(moved), |path, state| {
                    events.tell(now, first + path, PathEvent::Access { target: at as u16, state });
                });
            }
            // A unit attention is reported once; other obstacles may be temporary.
            _ => target.recheck = now.plus(RECHECK),
        }
        self.refresh(bundle);
        let target = &mut self.targets[at];
        if target.is_unsettled() || target.usable == 0 {
            target.recheck = now.plus(RECHECK);
        }
        self.resume(bundle);
    }
}

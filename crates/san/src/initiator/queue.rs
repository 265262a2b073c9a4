//! LUNs behind a worker's queue: sessions whose sockets are driven by the worker's own thread, inside `reap`.
//!
//! Targets at one place share their sessions, one for each portal of their URL. A command is given at once to the session
//! that the policy chooses, as long as the target's window has room; what waits goes in as the window opens. Unit attentions
//! are heard and the command sent again, a busy target is asked again later, both for a bounded number of times. What
//! becomes of I/O when a session is lost stands in `recover.rs`.

use super::client::Client;
use super::lane::Lane;
use super::link::{Link, Lost};
use super::look::Look;
use super::multipath::{AccessState, Kind, Mask, Post, Teller};
use super::unit::{Bundle, Target};
use super::verdict::{Verdict, verdict};
use clock::Ns;
use disk::{Arena, Completion, Completions, Io, Queue, RemoteAccess};
use engine::Reports;
use iscsi::initiator::{Conn, Ending, Event};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How often one I/O is sent again because of a unit attention or an aborted command.
const AGAIN_MAX: u16 = 32;

/// How long a busy target is asked again.
const BUSY: Ns = Ns::secs(30);

/// How long it is left alone at first, doubled with every answer up to sixteen times as long; also how long I/O takes to fail
/// for which no path is waited for, so that nobody spins.
pub(super) const BREATH: Ns = Ns::millis(10);
const BREATH_DOUBLED_MAX: u8 = 4;

/// How often a command that takes too long is sent again after it was aborted.
const TIMEOUTS_MAX: u8 = 2;

/// No lane.
pub(super) const NONE: u16 = u16::MAX;

/// Where an I/O is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    /// It waits for room in its lane's window.
    Waiting,
    /// Its lane's session has its command.
    Sent,
    /// The same, and its abort was asked for at this moment.
    Aborting(Ns),
    /// It is left alone for a while.
    Resting,
    /// No path can carry it.
    Held,
    /// A write whose lane was lost: the old session may still carry it out.
    Suspect,
}

/// An I/O under way.
#[derive(Clone, Copy)]
pub(super) struct Flight {
    pub io: Io,
    pub stand: Stand,
    /// The lane that has it, or had it.
    pub lane: u16,
    /// The lane that was lost with it, for as long as its stall is measured.
    pub moved: u16,
    again: u16,
    /// Sessions that were lost while they had it.
    pub losses: u8,
    timeouts: u8,
    pause: u8,
    /// When it was given to its lane.
    pub issued: Ns,
    /// Since when nothing can carry it; zero where something can.
    pub held: Ns,
    /// Since when the target has no time for it; zero where it has.
    busy: Ns,
}

/// What a queue is made of.
pub(super) struct Parts {
    pub lanes: Vec<Lane>,
    pub bundles: Vec<Bundle>,
    pub targets: Vec<Target>,
    /// Keeps the claims for as long as the queue lives.
    pub accesses: Vec<RemoteAccess>,
    pub post: Post,
    pub teller: Teller,
    pub reports: Box<dyn Reports>,
    pub how: String,
}

/// What a worker drives.
pub(super) struct LunQueue {
    pub arena: Arena,
    pub lanes: Vec<Lane>,
    pub bundles: Vec<Bundle>,
    pub targets: Vec<Target>,
    pub ios: Vec<Option<Flight>>,
    /// Over, and not told yet.
    ready: VecDeque<Completion>,
    resting: BinaryHeap<Reverse<(Ns, u32)>>,
    polls: Vec<libc::pollfd>,
    look: Look,
    /// Commands that have ended, and have not been dealt with.
    endings: Vec<(u32, Ending)>,
    /// The last look at the clock.
    pub now: Ns,
    /// When limits are looked at next.
    pub audit: Ns,
    /// A path is lost, or an I/O is held.
    pub trouble: bool,
    pub post: Post,
    pub teller: Teller,
    reports: Option<Box<dyn Reports>>,
    how: String,
    _accesses: Vec<RemoteAccess>,
}

impl LunQueue {
    /// A queue whose sessions stand ready.
    pub fn new(arena: &Arena, parts: Parts) -> LunQueue {
        let Parts { lanes, bundles, targets, accesses, post, teller, reports, how } = parts;
        let slots = arena.slots() as usize;
        let mut queue = LunQueue {
            arena: arena.clone(),
            ios: vec![None; slots],
            ready: VecDeque::with_capacity(slots),
            resting: BinaryHeap::with_capacity(slots),
            polls: Vec::with_capacity(lanes.len() * Conn::MOST + 1),
            look: Look::new(),
            endings: Vec::with_capacity(slots),
            trouble: lanes.iter().any(|lane| !lane.is_open()),
            lanes,
            bundles,
            targets,
            now: clock::now(),
            audit: Ns::ZERO,
            post,
            teller,
            reports: Some(reports),
            how,
            _accesses: accesses,
        };
        (0..queue.bundles.len()).for_each(|bundle| queue.refresh(bundle));
        queue
    }

    /// The bundle of a lane, and which of its paths it is.
    pub fn place(&self, lane: usize) -> (usize, usize) {
        let bundle = self.bundles.iter().rposition(|bundle| bundle.first <= lane).unwrap_or(0);
        (bundle, lane - self.bundles[bundle].first)
    }

    /// Works out again which paths of a bundle can be used.
    pub fn refresh(&mut self, bundle: usize) {
        let Bundle { first, paths, ref targets, .. } = self.bundles[bundle];
        let lanes = &self.lanes[first..first + paths];
        let mask = |is: fn(&Lane) -> bool| {
            let all = lanes.iter().enumerate().filter(|(_, lane)| is(lane));
            all.fold(0, |mask: Mask, (path, _)| mask | 1 << path)
        };
        let (open, busy) = (mask(Lane::is_open), mask(|lane| lane.busy_until > Ns::ZERO));
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
        let command = match target.command(&io, self.arena.slot_bytes()) {
            Ok(command) => command,
            Err(errno) => return self.over(slot, Err(errno)),
        };
        let (first, lanes) = (target.first, &self.lanes);
        let chosen =
            target.chooser.choose(target.usable, io.len, |path| lanes[first + path].load());
        let Some(path) = chosen else { return self.hold(slot) };
        if self.trouble && self.is_haunted(&io) {
            return self.hold(slot);
        }
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        let lane = first + path;
        (flight.lane, flight.issued, flight.held) = (lane as u16, self.now, Ns::ZERO);
        flight.stand = match self.lanes[lane].give(slot, &command) {
            true => Stand::Sent,
            false => Stand::Waiting,
        };
    }

    /// Gives an I/O that has waited for room to its session.
    fn enter(&mut self, lane: usize, slot: u32) {
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        if flight.stand != Stand::Waiting || usize::from(flight.lane) != lane {
            return;
        }
        let target = &self.targets[usize::from(flight.io.target)];
        // It has been one before.
        let Ok(command) = target.command(&flight.io, self.arena.slot_bytes()) else { return };
        flight.issued = self.now;
        if self.lanes[lane].give(slot, &command) {
            flight.stand = Stand::Sent;
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
    fn ended(&mut self, lane: usize, slot: u32, ending: Ending) {
        if slot == self.arena.slots() {
            return self.probed(lane, ending);
        }
        self.lanes[lane].in_flight = self.lanes[lane].in_flight.saturating_sub(1);
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        let verdict = verdict(ending, flight.io.len);
        if let Verdict::Over(result) = verdict {
            return self.over(slot, result);
        }
        let (target, now) = (usize::from(flight.io.target), self.now);
        match verdict {
            Verdict::Attention(code) => {
                self.teller.tell(now, lane, Kind::Attention { code });
                // Asymmetric access state changed; a transition that the target began by itself failed.
                if matches!(code, 0x2a06 | 0x2a07) {
                    self.targets[target].stale = true;
                }
                self.again(slot);
            }
            Verdict::Later(status) => self.later(lane, slot, status),
            Verdict::Passive(state) => {
                self.passive(lane, target, state);
                self.again(slot);
            }
            Verdict::Aborted if matches!(flight.stand, Stand::Aborting(_)) => {
                flight.timeouts += 1;
                match flight.timeouts > TIMEOUTS_MAX {
                    true => self.over(slot, Err(libc::ETIMEDOUT)),
                    false => self.issue(slot),
                }
            }
            Verdict::Aborted => self.over(slot, Err(libc::ECANCELED)),
            Verdict::Again | Verdict::Over(_) => self.again(slot),
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
    fn later(&mut self, lane: usize, slot: u32, status: u8) {
        let now = self.now;
        self.teller.tell(now, lane, Kind::Busy { status });
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        if flight.busy == Ns::ZERO {
            flight.busy = now;
        }
        if now.since(flight.busy) >= BUSY {
            return self.over(slot, Err(libc::EBUSY));
        }
        let pause = Ns(BREATH.0 << flight.pause);
        flight.pause = (flight.pause + 1).min(BREATH_DOUBLED_MAX);
        flight.stand = Stand::Resting;
        self.resting.push(Reverse((now.plus(pause), slot)));
        let fresh = self.lanes[lane].busy_until == Ns::ZERO;
        self.lanes[lane].busy_until = now.plus(pause);
        if fresh {
            self.refresh(self.place(lane).0);
        }
    }

    /// A path's port moves no blocks any more, at least for this target.
    fn passive(&mut self, lane: usize, target: usize, state: AccessState) {
        let (bundle, path) = self.place(lane);
        let Some(look) = self.targets[target].looks.get_mut(path) else { return };
        if look.state != state {
            look.state = state;
            let kind = Kind::Access { target: target as u16, state };
            self.teller.tell(self.now, lane, kind);
        }
        self.targets[target].stale = true;
        self.refresh(bundle);
    }

    /// Sends, and takes in what has come.
    fn drive(&mut self, lane: usize) {
        self.rouse(lane);
        if !self.lanes[lane].is_open() {
            return;
        }
        let sent = self.lanes[lane].send(&self.arena);
        if let Err(lost) = sent.and_then(|()| self.listen(lane)) {
            self.lose(lane, &lost);
        }
    }

    /// Reads until there is nothing more.
    fn listen(&mut self, lane: usize) -> Result<(), Lost> {
        loop {
            let mut lost = None;
            let mut endings = std::mem::take(&mut self.endings);
            let mut heard = |event: Event| match event {
                Event::Done { slot, ending } => endings.push((slot, ending)),
                other => lost = lost.take().or(super::ended(&other)),
            };
            let came = self.lanes[lane].receive(&self.arena, &mut heard);
            for (slot, ending) in endings.drain(..) {
                self.ended(lane, slot, ending);
            }
            self.endings = endings;
            self.lanes[lane].listened();
            if let Some(lost) = lost {
                return Err(lost);
            }
            if !came? {
                return Ok(());
            }
            // What has ended makes room.
            self.rouse(lane);
        }
    }

    /// Sends in what waits for room in the window.
    fn rouse(&mut self, lane: usize) {
        let mut left = self.lanes[lane].waiting.len();
        while left > 0 && self.lanes[lane].has_room() {
            if let Some(slot) = self.lanes[lane].waiting.pop_front() {
                self.enter(lane, slot);
            }
            left -= 1;
        }
    }

    /// Sends in what has rested.
    fn wake_up(&mut self) {
        if self.resting.is_empty() {
            return;
        }
        for lane in 0..self.lanes.len() {
            let until = self.lanes[lane].busy_until;
            if until > Ns::ZERO && until <= self.now {
                self.lanes[lane].busy_until = Ns::ZERO;
                self.refresh(self.place(lane).0);
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
        let lanes = self.lanes.iter().map(Lane::wake);
        lanes.fold(until.min(rest).min(self.audit), Ns::min)
    }

    fn wait(&mut self, until: Ns) {
        self.polls.clear();
        self.polls.extend(self.lanes.iter().filter_map(Lane::link).flat_map(Link::polls));
        if self.trouble {
            let fd = self.post.fd();
            self.polls.push(libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        }
        self.look.wait(&mut self.polls, until);
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
                    *place = Some(Flight {
                        io: *io,
                        stand: Stand::Waiting,
                        lane: NONE,
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
            (0..self.lanes.len()).for_each(|lane| self.drive(lane));
            self.now = clock::now();
            self.watch();
        }
        for lane in 0..self.lanes.len() {
            self.rouse(lane);
            if let Err(lost) = self.lanes[lane].send(&self.arena) {
                self.lose(lane, &lost);
            }
        }
        let mut over = false;
        while self.ready.len() < min as usize && !over {
            let wake = self.wake(until);
            self.wait(wake);
            (0..self.lanes.len()).for_each(|lane| self.drive(lane));
            if self.ready.len() < min as usize {
                self.now = clock::now();
                self.watch();
                self.wake_up();
                over = self.now >= until;
            }
        }
        if min == 0 {
            (0..self.lanes.len()).for_each(|lane| self.drive(lane));
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
                let lane = &mut self.lanes[bundle.first + path];
                if lane.in_flight > 0 {
                    lane.leave(&self.arena);
                    continue;
                }
                let Some(link) = lane.close() else { continue };
                // The client logs out when it is dropped.
                let mut client = Client::of(link);
                for (used, target) in bundle.luns.iter().zip(&bundle.targets) {
                    if self.targets[*target].looks[path].registered {
                        lane.way.unregister(&mut client, &used.lun);
                    }
                }
            }
        }
    }
}

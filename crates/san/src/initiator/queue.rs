//! LUNs behind a worker's queue: sessions whose sockets are driven by the worker's own thread, inside `reap`.
//!
//! Targets at one place share a session. A command is given to its session at once, as long as the target's window has
//! room; what waits goes in as the window opens. Unit attentions are heard and the command sent again, a busy target is
//! asked again later, both for a bounded number of times. A session that is lost fails its I/O with an error number that
//! says why, and what is submitted to it later fails after a breath, so that nobody spins.

use super::lane::{self, Lane, leave};
use super::link::Lost;
use super::lun::{self, Lun};
use super::verdict::{Verdict, verdict};
use clock::Ns;
use disk::{
    Arena, Completion, Completions, Io, OpenError, Opener, Queue, Remote, RemoteAccess, Unreachable,
};
use iscsi::initiator::{Cdb, Command, Ending, Event, Transfer};
use iscsi::pdu::TaskAttribute;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use workload::Dir;

/// How often one I/O is sent again because of a unit attention or an aborted command.
const AGAIN_MAX: u16 = 32;

/// How often a busy target is asked again.
const BUSY_MAX: u16 = 1000;

/// How long it is left alone in between; also how long I/O on a lost session takes to fail.
const BREATH: Ns = Ns::millis(10);

/// Opens queues to LUNs.
pub(super) struct LunOpener(Vec<(RemoteAccess, Arc<Lun>)>);

impl LunOpener {
    /// A queue over these targets.
    pub fn new(targets: Vec<RemoteAccess>) -> Result<LunOpener, Unreachable> {
        let lun = |access: RemoteAccess| {
            let remote: Arc<dyn Remote> = access.remote().clone();
            let any: Arc<dyn Any + Send + Sync> = remote;
            match any.downcast::<Lun>() {
                Ok(lun) => Ok((access, lun)),
                Err(_) => Err(Unreachable::Url("it is no LUN".to_owned())),
            }
        };
        Ok(LunOpener(targets.into_iter().map(lun).collect::<Result<_, _>>()?))
    }
}

impl Opener for LunOpener {
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        let mut lanes: Vec<Lane> = Vec::new();
        let mut targets = Vec::new();
        for (access, lun) in self.0 {
            let problem = |e: &dyn std::fmt::Display| OpenError {
                target: lun.what(),
                problem: e.to_string(),
            };
            let known = lanes.iter().position(|lane| lane.first.shares_session(&lun));
            let lane = match known {
                Some(lane) => lane,
                None => {
                    lanes.push(Lane::open(&lun, arena.slots()).map_err(|e| problem(&e))?);
                    lanes.len() - 1
                }
            };
            let writes = matches!(access, RemoteAccess::Write(_));
            targets.push(Target {
                lane,
                lun: lun.address(),
                block: lun.block(),
                blocks: lun.blocks(),
                writes,
                _access: access,
            });
        }
        for (n, lane) in lanes.iter_mut().enumerate() {
            let mut mine = targets.iter().filter(|target| target.lane == n && target.writes);
            let registered = mine.try_for_each(|target| lane.register(target.lun, arena));
            registered.map_err(|e| OpenError {
                target: lane.first.what(),
                problem: format!("its writer cannot be registered ({e})"),
            })?;
        }
        let how = how(&mut lanes);
        Ok(Box::new(LunQueue {
            arena: arena.clone(),
            ios: vec![None; arena.slots() as usize],
            lanes,
            targets,
            ready: VecDeque::with_capacity(arena.slots() as usize),
            polls: Vec::new(),
            how,
        }))
    }
}

/// "iSCSI, 2 sessions, 4 connections, header digests, …", for the record.
fn how(lanes: &mut [Lane]) -> String {
    let sessions = lanes.len();
    let s = if sessions == 1 { "" } else { "s" };
    let Some(first) = lanes.first_mut() else { return "iSCSI".to_owned() };
    let connections = first.link.connections();
    let settings = *first.link.session().settings();
    let yes = |name: &str, on: bool| if on { format!(", {name}") } else { String::new() };
    let each = if sessions == 1 { "" } else { " each" };
    format!(
        "iSCSI, {sessions} session{s}{}{}{}{}{}",
        connections.map(|some| format!(", {some}{each}")).unwrap_or_default(),
        yes("header digests", settings.header_digest),
        yes("data digests", settings.data_digest),
        yes("immediate data", settings.immediate_data),
        yes("unsolicited data", !settings.initial_r2t),
    )
}

/// One target of the queue.
struct Target {
    lane: usize,
    lun: iscsi::pdu::Lun,
    block: u32,
    blocks: u64,
    writes: bool,
    /// Keeps the claim for as long as the queue lives.
    _access: RemoteAccess,
}

/// An I/O under way.
#[derive(Clone, Copy)]
struct Flight {
    io: Io,
    again: u16,
    busy: u16,
}

/// What a worker drives.
struct LunQueue {
    arena: Arena,
    lanes: Vec<Lane>,
    targets: Vec<Target>,
    ios: Vec<Option<Flight>>,
    /// Over, and not told yet.
    ready: VecDeque<Completion>,
    polls: Vec<libc::pollfd>,
    how: String,
}

impl LunQueue {
    /// The command of an I/O, or the error number of what cannot be.
    fn command(&self, io: &Io) -> Result<(usize, Command), i32> {
        let target = self.targets.get(usize::from(io.target)).ok_or(libc::ENXIO)?;
        let block = u64::from(target.block);
        let (lba, blocks) = (io.offset / block, u64::from(io.len) / block);
        let whole = io.offset.is_multiple_of(block)
            && u64::from(io.len).is_multiple_of(block)
            && io.len > 0;
        let end = lba.checked_add(blocks).ok_or(libc::EINVAL)?;
        if !whole || end > target.blocks || io.len as usize > self.arena.slot_bytes() {
            return Err(libc::EINVAL);
        }
        let (cdb, transfer) = match io.dir {
            Dir::Read => (Cdb::read(lba, blocks as u32), Transfer::In(io.len)),
            Dir::Write if !target.writes => return Err(libc::EBADF),
            Dir::Write => (Cdb::write(lba, blocks as u32), Transfer::Out(io.len)),
        };
        let attribute = TaskAttribute::Simple;
        Ok((target.lane, Command { lun: target.lun, cdb, transfer, attribute }))
    }

    /// Gives a slot's I/O to its session, or has it wait.
    fn issue(&mut self, slot: u32) {
        let Some(Some(flight)) = self.ios.get(slot as usize) else { return };
        let (lane, command) = match self.command(&flight.io) {
            Ok(found) => found,
            Err(errno) => return self.over(slot, Err(errno)),
        };
        let lane = &mut self.lanes[lane];
        if lane.lost.is_some() {
            lane.resting.push_back((clock::now().plus(BREATH), slot));
        } else if lane.link.session().room() == 0
            || lane.link.session().command(slot, &command).is_err()
        {
            lane.waiting.push_back(slot);
        } else {
            lane.in_flight += 1;
        }
    }

    fn over(&mut self, slot: u32, result: Result<u32, i32>) {
        if let Some(place) = self.ios.get_mut(slot as usize)
            && place.take().is_some()
        {
            self.ready.push_back(Completion { slot, result });
        }
    }

    /// A command has ended: so has its I/O, or it is sent again.
    fn ended(&mut self, lane: usize, slot: u32, ending: Ending) {
        self.lanes[lane].in_flight = self.lanes[lane].in_flight.saturating_sub(1);
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        match verdict(ending, flight.io.len) {
            Verdict::Over(result) => self.over(slot, result),
            Verdict::Again if flight.again < AGAIN_MAX => {
                flight.again += 1;
                self.issue(slot);
            }
            Verdict::Later if flight.busy < BUSY_MAX => {
                flight.busy += 1;
                self.lanes[lane].resting.push_back((clock::now().plus(BREATH), slot));
            }
            Verdict::Again => self.over(slot, Err(libc::EIO)),
            Verdict::Later => self.over(slot, Err(libc::EBUSY)),
        }
    }

    /// Sends, and takes in what has come.
    fn drive(&mut self, lane: usize) {
        self.rouse(lane);
        let mut gone = None;
        if self.lanes[lane].lost.is_none() {
            gone = self.lanes[lane].link.send(&self.arena).err();
        }
        if self.lanes[lane].lost.is_none() && gone.is_none() {
            gone = self.listen(lane).err();
        }
        if let Some(lost) = gone {
            self.lose(lane, &lost);
        }
    }

    /// Reads until there is nothing more.
    fn listen(&mut self, lane: usize) -> Result<(), Lost> {
        let mut endings: [Option<(u32, Ending)>; 64] = [None; 64];
        loop {
            let (mut count, mut lost) = (0, None);
            let mut late = Vec::new();
            let mut heard = |event: Event| match event {
                Event::Done { slot, ending } if count < endings.len() => {
                    endings[count] = Some((slot, ending));
                    count += 1;
                }
                Event::Done { slot, ending } => late.push((slot, ending)),
                other => lost = lost.take().or(super::ended(&other)),
            };
            let came = self.lanes[lane].link.receive(&self.arena, &mut heard);
            for (slot, ending) in endings[..count].iter_mut().filter_map(Option::take) {
                self.ended(lane, slot, ending);
            }
            for (slot, ending) in late {
                self.ended(lane, slot, ending);
            }
            if self.lanes[lane].link.heard() {
                self.lanes[lane].heard = Ns::ZERO;
                self.lanes[lane].pinged = false;
            }
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

    /// Sends in what waits for room in the window, and what has rested.
    fn rouse(&mut self, lane: usize) {
        let mut left = self.lanes[lane].waiting.len();
        while left > 0
            && (self.lanes[lane].lost.is_some() || self.lanes[lane].link.session().room() > 0)
        {
            if let Some(slot) = self.lanes[lane].waiting.pop_front() {
                self.issue(slot);
            }
            left -= 1;
        }
        if self.lanes[lane].resting.is_empty() {
            return;
        }
        let now = clock::now();
        while let Some((_, slot)) = self.lanes[lane].resting.pop_front_if(|(at, _)| *at <= now) {
            match self.lanes[lane].lost {
                Some(errno) => self.over(slot, Err(errno)),
                None => self.issue(slot),
            }
        }
    }

    /// The session is over: so is all that was under way.
    fn lose(&mut self, lane: usize, why: &Lost) {
        let errno = why.errno();
        self.lanes[lane].lost = Some(errno);
        self.lanes[lane].waiting.clear();
        self.lanes[lane].resting.clear();
        self.lanes[lane].in_flight = 0;
        for slot in 0..self.ios.len() {
            let Some(flight) = &self.ios[slot] else { continue };
            let target = self.targets.get(usize::from(flight.io.target));
            if target.is_some_and(|target| target.lane == lane) {
                self.over(slot as u32, Err(errno));
            }
        }
    }

    /// Pings a session that has been silent for long, and gives one up that stays silent.
    fn watch(&mut self, now: Ns) {
        for lane in 0..self.lanes.len() {
            let this = &mut self.lanes[lane];
            if this.lost.is_some() || this.in_flight == 0 || this.heard == Ns::ZERO {
                // Heard since the last look, or nothing to be heard: the clock starts now.
                this.heard = now;
                continue;
            }
            let silence = now.since(this.heard);
            if silence >= this.silence {
                let limit = this.silence;
                self.lose(lane, &Lost::Silent(limit.0.div_ceil(1_000_000_000)));
            } else if silence >= this.ping_after() && !this.pinged {
                this.pinged = this.link.session().ping().is_ok();
            }
        }
    }

    /// Until when nothing but the sockets needs a look.
    fn wake(&self, until: Ns) -> Ns {
        let rests = self.lanes.iter().filter_map(|lane| lane.resting.front().map(|(at, _)| *at));
        let silences = self
            .lanes
            .iter()
            .filter(|lane| lane.lost.is_none() && lane.in_flight > 0 && lane.heard != Ns::ZERO)
            .map(|lane| {
                lane.heard.plus(if lane.pinged { lane.silence } else { lane.ping_after() })
            });
        rests.chain(silences).fold(until, Ns::min)
    }

    fn wait(&mut self, until: Ns) {
        self.polls.clear();
        let live = self.lanes.iter().filter(|lane| lane.lost.is_none());
        self.polls.extend(live.flat_map(|lane| lane.link.polls()));
        lane::wait(&mut self.polls, until);
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
        for io in ios {
            match self.ios.get_mut(io.slot as usize) {
                Some(place @ None) => {
                    *place = Some(Flight { io: *io, again: 0, busy: 0 });
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
        for lane in 0..self.lanes.len() {
            self.rouse(lane);
            if self.lanes[lane].lost.is_none()
                && let Err(lost) = self.lanes[lane].link.send(&self.arena)
            {
                self.lose(lane, &lost);
            }
        }
        let mut now = Ns::ZERO;
        while self.ready.len() < min as usize && now < until {
            let wake = self.wake(until);
            self.wait(wake);
            (0..self.lanes.len()).for_each(|lane| self.drive(lane));
            if self.ready.len() < min as usize {
                now = clock::now();
                self.watch(now);
            }
        }
        if min == 0 {
            (0..self.lanes.len()).for_each(|lane| self.drive(lane));
        }
        let room = (out.capacity() - out.len()).min(self.ready.len());
        out.extend(self.ready.drain(..room));
    }
}

impl Drop for LunQueue {
    fn drop(&mut self) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.lost.is_none()) {
            if lane.in_flight == 0 {
                for lun in std::mem::take(&mut lane.registered) {
                    // The registration dies with the claim in any case.
                    let _ = lun::register(&mut lane.link, &self.arena, lun, false);
                }
            }
            leave(&mut lane.link, &self.arena);
        }
    }
}

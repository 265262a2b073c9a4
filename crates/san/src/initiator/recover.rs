//! What becomes of I/O when a session is lost, when one comes back, and when nothing can carry it.
//!
//! What a lost session was never given, and what it was to read, goes to another path at once. A write that it was given
//! waits until the old session cannot carry it out any more: only then no old data can land on newer data. Nobody is
//! waited for without end: an I/O that nothing carries fails after the time that the URL names, a command that is not
//! answered is aborted, and a session that does not answer that is given up. A write that fails while its old session may
//! still carry it out keeps its place closed for other writes until that is settled.

use super::link::Lost;
use super::multipath::{Cause, GROUPS_LEN, Kind, Message, Rescue, Rescuer};
use super::queue::{BREATH, LunQueue, NONE, Stand};
use clock::Ns;
use disk::Io;
use iscsi::initiator::{Cdb, Command, Ending, Transfer};
use iscsi::pdu::TaskAttribute;
use workload::Dir;

/// How long a write waits at least until its old session is over for certain.
const FENCE: Ns = Ns::secs(10);

/// A session that lives no longer than this is followed by a pause, which grows with every one of them.
const SOON: Ns = Ns::secs(2);

/// So many sessions may be lost under one I/O, which is perhaps what ends them, before it fails.
const LOSSES_MAX: u8 = 8;

/// How often limits are looked at: all the time, and while something is wrong.
const AUDIT: Ns = Ns::millis(100);
const AUDIT_TROUBLE: Ns = Ns::millis(5);

/// When the access states of a unit are read again that are about to change, or of which none lets anything through.
const RECHECK: Ns = Ns::millis(500);

impl LunQueue {
    /// A session is over.
    pub fn lose(&mut self, lane: usize, why: &Lost) {
        self.now = clock::now();
        let (now, errno) = (self.now, why.errno());
        let (bundle, path) = self.place(lane);
        if let Some(link) = self.lanes[lane].close() {
            link.abandon();
        }
        let tried = self.bundles[bundle].tries();
        self.bundles[bundle].errno = errno;
        self.bundles[bundle].roll.close(path);
        let loss = &mut self.lanes[lane].loss;
        (loss.at, loss.errno) = (now, errno);
        let soon = now.since(loss.returned) < SOON;
        loss.streak = if soon { loss.streak.saturating_add(1) } else { 0 };
        (self.trouble, self.audit) = (true, now);
        self.refresh(bundle);
        let (moved, held) = self.take_back(lane, tried);
        self.lanes[lane].loss.unfenced |= held > 0;
        self.teller.tell(now, lane, Kind::Lost { why: Cause::from(why), moved, held, tried });
        if tried {
            self.rescue(lane);
        }
    }

    /// Takes what a lost lane had under way: how many I/Os went on at once, and how many writes have to wait.
    fn take_back(&mut self, lane: usize, tried: bool) -> (u32, u32) {
        let (mut moved, mut held) = (0, 0);
        for slot in 0..self.ios.len() as u32 {
            let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { continue };
            let sent = matches!(flight.stand, Stand::Sent | Stand::Aborting(_));
            if usize::from(flight.lane) != lane || !(sent || flight.stand == Stand::Waiting) {
                continue;
            }
            flight.losses = flight.losses.saturating_add(1);
            let suspect = sent && flight.io.dir == Dir::Write;
            if !tried || (flight.losses > LOSSES_MAX && !suspect) {
                self.over(slot, Err(self.lanes[lane].loss.errno));
                continue;
            }
            if flight.moved == NONE {
                flight.moved = lane as u16;
                let loss = &mut self.lanes[lane].loss;
                if loss.left == 0 {
                    (loss.stalled, loss.total, loss.first) = (self.now, 0, None);
                }
                loss.left += 1;
                loss.total += 1;
            }
            if suspect {
                (flight.stand, flight.held) = (Stand::Suspect, self.now);
                held += 1;
            } else {
                moved += 1;
                self.issue(slot);
            }
        }
        (moved, held)
    }

    /// Sends somebody after a lost path.
    fn rescue(&mut self, lane: usize) {
        let (bundle, path) = self.place(lane);
        let bundle = &self.bundles[bundle];
        let mut written = bundle.luns.iter().zip(&bundle.targets).filter(|(used, _)| used.writes);
        let registered = written.clone().next().is_some()
            && written.all(|(_, target)| self.targets[*target].looks[path].registered);
        let this = &mut self.lanes[lane];
        let rescuer = Rescuer {
            lane,
            way: this.way,
            luns: bundle.luns.clone(),
            roll: bundle.roll.clone(),
            group: this.group,
            fence: this.loss.unfenced,
            streak: this.loss.streak,
            registered,
        };
        // Where the system has no thread for it now it is tried again at the next look.
        this.loss.rescue = Rescue::begin(rescuer, &self.post).ok();
    }

    /// An I/O that nothing can carry at present.
    pub fn hold(&mut self, slot: u32) {
        let Some(Some(flight)) = self.ios.get_mut(slot as usize) else { return };
        flight.stand = Stand::Held;
        if flight.held == Ns::ZERO {
            flight.held = self.now;
        }
        self.trouble = true;
        self.audit = self.audit.min(self.now.plus(BREATH));
    }

    /// Whether a write that failed, and may still be carried out, could overtake this one.
    pub fn is_haunted(&self, io: &Io) -> bool {
        let bundle = &self.bundles[self.targets[usize::from(io.target)].bundle];
        let mut lanes = self.lanes[bundle.first..bundle.first + bundle.paths].iter();
        io.dir == Dir::Write && lanes.any(|lane| lane.loss.haunts(io.target, io.offset, io.len))
    }

    /// One of the I/Os that a lost lane had under way has ended.
    pub fn stalled(&mut self, lane: usize) {
        let now = clock::now();
        let loss = &mut self.lanes[lane].loss;
        let since = now.since(loss.stalled);
        let first = *loss.first.get_or_insert(since);
        loss.left = loss.left.saturating_sub(1);
        if loss.left == 0 {
            let kind = Kind::Stall { ios: loss.total, first, last: since };
            self.teller.tell(now, lane, kind);
        }
    }

    /// Looks after all that may be late or wrong.
    pub fn watch(&mut self) {
        for lane in 0..self.lanes.len() {
            if let Some(lost) = self.lanes[lane].watch(self.now) {
                self.lose(lane, &lost);
            }
        }
        if self.trouble {
            self.post.quiet();
            while let Some(message) = self.post.take() {
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
            Message::Fenced { lane } => self.fenced(lane),
            Message::Refused { lane } => self.teller.tell(self.now, lane, Kind::Refused),
            Message::Returned { lane, mut attached } => {
                let (bundle, path) = self.place(lane);
                let this = &mut self.lanes[lane];
                let over = attached.group == this.group;
                let looks = std::mem::take(&mut attached.looks);
                let away = self.now.since(this.loss.at);
                self.bundles[bundle].roll.open(path, attached.group);
                this.install(*attached, self.now);
                for (n, look) in looks.into_iter().enumerate() {
                    let target = self.bundles[bundle].targets[n];
                    self.targets[target].looks[path] = look;
                }
                self.refresh(bundle);
                self.teller.tell(self.now, lane, Kind::Returned { away });
                if over {
                    self.fenced(lane);
                }
                self.resume(bundle);
            }
        }
    }

    /// A lost session can carry nothing out any more: the writes that it was given go on.
    fn fenced(&mut self, lane: usize) {
        let loss = &mut self.lanes[lane].loss;
        if !loss.unfenced {
            return;
        }
        let took = self.now.since(loss.at);
        loss.fenced();
        let mut writes = 0;
        for slot in 0..self.ios.len() as u32 {
            let Some(Some(flight)) = &mut self.ios.get_mut(slot as usize) else { continue };
            if usize::from(flight.lane) == lane && flight.stand == Stand::Suspect {
                // From here on it waits for any path.
                flight.held = Ns::ZERO;
                writes += 1;
                match flight.losses > LOSSES_MAX {
                    true => self.over(slot, Err(self.lanes[lane].loss.errno)),
                    false => self.issue(slot),
                }
            }
        }
        self.teller.tell(self.now, lane, Kind::Fenced { writes, took });
        self.resume(self.place(lane).0);
    }

    /// Tries again what nothing could carry.
    fn resume(&mut self, bundle: usize) {
        for slot in 0..self.ios.len() as u32 {
            let Some(Some(flight)) = self.ios.get(slot as usize) else { continue };
            let target = self.targets.get(usize::from(flight.io.target));
            if flight.stand == Stand::Held && target.is_some_and(|target| target.bundle == bundle) {
                self.issue(slot);
            }
        }
    }

    /// Looks at every limit.
    fn examine(&mut self) {
        let now = self.now;
        self.teller.tick(now);
        let mut troubled = false;
        for slot in 0..self.ios.len() as u32 {
            troubled |= self.examine_slot(slot);
        }
        for lane in 0..self.lanes.len() {
            troubled |= self.examine_lane(lane);
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
        let (lane, age) = (usize::from(flight.lane), now.since(flight.issued));
        match flight.stand {
            Stand::Held if now.since(flight.held) >= bundle.wait.max(BREATH) => {
                self.give_up(slot, now.since(flight.held), bundle.errno);
            }
            Stand::Suspect if now.since(flight.held) >= bundle.wait.max(FENCE) => {
                self.lanes[lane].loss.haunt(flight.io.target, flight.io.offset, flight.io.len);
                self.give_up(slot, now.since(flight.held), self.lanes[lane].loss.errno);
            }
            Stand::Held | Stand::Suspect => {}
            Stand::Sent if age >= limit => {
                let seconds = limit.0.div_ceil(1_000_000_000);
                if self.lanes[lane].abort(slot, address) {
                    if let Some(Some(flight)) = self.ios.get_mut(slot as usize) {
                        flight.stand = Stand::Aborting(now);
                    }
                    self.teller.tell(now, lane, Kind::Timeout { seconds });
                } else if age >= limit.plus(self.lanes[lane].silence()) {
                    // Nothing can be asked, or no answer would tell enough.
                    self.lose(lane, &Lost::Overdue(seconds));
                }
                return false;
            }
            Stand::Aborting(at) if now.since(at) >= self.lanes[lane].silence() => {
                self.lose(lane, &Lost::Overdue(limit.0.div_ceil(1_000_000_000)));
            }
            Stand::Waiting if age >= limit && self.lanes[lane].in_flight == 0 => {
                self.lose(lane, &Lost::Overdue(limit.0.div_ceil(1_000_000_000)));
            }
            Stand::Sent | Stand::Aborting(_) | Stand::Waiting | Stand::Resting => return false,
        }
        true
    }

    /// Whether something is wrong with a lane.
    fn examine_lane(&mut self, lane: usize) -> bool {
        let bundle = self.place(lane).0;
        let tried = self.bundles[bundle].tries();
        let this = &mut self.lanes[lane];
        if this.is_open() {
            return this.loss.is_haunted();
        }
        if tried && this.loss.rescue.is_none() {
            if this.loss.at == Ns::ZERO {
                this.loss.at = self.now;
                let (why, moved, held) = (Cause::Unreached, 0, 0);
                self.teller.tell(self.now, lane, Kind::Lost { why, moved, held, tried });
            }
            self.rescue(lane);
        }
        true
    }

    /// Nothing has carried an I/O for as long as it could wait.
    fn give_up(&mut self, slot: u32, after: Ns, errno: i32) {
        if let Some(Some(flight)) = self.ios.get(slot as usize) {
            let unfenced = flight.stand == Stand::Suspect || self.is_haunted(&flight.io);
            let target = &self.targets[usize::from(flight.io.target)];
            let lane = if flight.lane == NONE { target.first } else { usize::from(flight.lane) };
            self.teller.tell(self.now, lane, Kind::GivenUp { after, unfenced });
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
            if target.looks.iter().all(|look| look.port.is_none()) {
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
            let mut lanes = self.lanes[target.first..target.first + paths].iter_mut();
            let asked = lanes.any(|lane| {
                let asks = lane.probing.is_none() && lane.give_own(&command);
                if asks {
                    lane.probing = Some(n as u16);
                }
                asks
            });
            target.stale = !asked;
        }
    }

    /// A question for access states is over.
    pub fn probed(&mut self, lane: usize, ending: Ending) {
        let Some(at) = self.lanes[lane].probing.take() else { return };
        let (now, at) = (self.now, usize::from(at));
        let target = &mut self.targets[at];
        let (bundle, first) = (target.bundle, target.first);
        match ending {
            Ending::Status { status: 0, moved, .. } => {
                let teller = &mut self.teller;
                target.report(self.lanes[lane].answer(moved), |path, state| {
                    teller.tell(now, first + path, Kind::Access { target: at as u16, state });
                });
            }
            // A unit attention is told once; whatever else is in the way may be gone later.
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

//! A session with an owner like a server, and connections that are byte vectors: an initiator's bytes go in, and the
//! target's come out as PDUs. It checks invariants on the way.

use std::collections::{BTreeMap, VecDeque};

use iscsi::digest::{self, RunningDigest};
use iscsi::pdu::{self, BHS_LEN, Bhs, Lengths, Lun, Request, Response, TaskOutcome};
use iscsi::scsi::{Ending, Sense, SenseKey};
use iscsi::target::{
    CloseReason, ConnId, ConnectionParams, Event, Limits, MAX_HEADER, Out, Refused, Session,
    SessionParams, TaskId, Want,
};

pub const BLOCK: usize = 512;

/// The limit at which reading stops, the answers that may still follow (outstanding functions and logouts, one
/// deferred request, text, two pings), and some slack.
const MAX_ANSWERS: usize = 64 + 16 + 8;

/// Negotiated parameters: the RFC's defaults, except for what a test changes.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub session: SessionParams,
    pub limits: Limits,
    pub header_digest: bool,
    pub data_digest: bool,
    pub max_receive: u32,
    pub max_send: u32,
    pub connections: u16,
    /// The first command and status numbers: close to the wrap-around.
    pub numbers: (u32, u32),
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            session: SessionParams {
                initial_r2t: true,
                immediate_data: true,
                first_burst: 65536,
                max_burst: 262_144,
                max_outstanding_r2t: 1,
                max_connections: 1,
            },
            limits: Limits::default(),
            header_digest: false,
            data_digest: false,
            max_receive: 8192,
            max_send: 8192,
            connections: 1,
            numbers: (u32::MAX - 5, u32::MAX - 3),
        }
    }
}

/// A PDU of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub pdu: Response,
    pub data: Vec<u8>,
}

/// One connection, both directions.
pub struct Link {
    pub id: ConnId,
    to_target: VecDeque<u8>,
    from_target: Vec<u8>,
    /// The received part of the incoming data segment.
    segment: RunningDigest,
    /// PDUs of the target that the test has not read.
    pub replies: VecDeque<Reply>,
    pub closed: Option<CloseReason>,
    /// `Out::Close` was handed out.
    pub shut: bool,
    stat_sn: u32,
}

/// The owner's state of a task.
#[derive(Default)]
struct Place {
    id: Option<TaskId>,
    data: Vec<u8>,
    taken: bool,
    answered: bool,
    gone: bool,
    complete: bool,
}

/// Pending work of the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    Read(TaskId),
    Write(TaskId),
    End(TaskId, Ending),
}

impl Job {
    pub fn task(self) -> TaskId {
        match self {
            Job::Read(id) | Job::Write(id) | Job::End(id, _) => id,
        }
    }
}

pub struct Rig {
    pub setup: Setup,
    pub session: Session,
    pub links: Vec<Link>,
    pub memory: BTreeMap<Lun, Vec<u8>>,
    places: Vec<Place>,
    /// Jobs wait until the test does them.
    pub lazy: bool,
    pub jobs: Vec<Job>,
    /// Events in order, without commands and data.
    pub events: Vec<Event>,
    /// The test answers task management.
    pub manual: bool,
    /// Tasks whose end was handed out are not finished, as if nothing could be sent.
    pub stuck: bool,
    ended: Vec<TaskId>,
    /// Most bytes that are transferred at once.
    pub grain: usize,
    max_cmd_sn: u32,
    pub over: bool,
}

impl Rig {
    pub fn new(setup: Setup) -> Rig {
        let session = Session::new(setup.session, setup.limits, setup.numbers.0);
        let places = (0..session.slots()).map(|_| Place::default()).collect();
        let mut rig = Rig {
            setup,
            max_cmd_sn: session.max_cmd_sn(),
            session,
            links: Vec::new(),
            memory: BTreeMap::new(),
            places,
            lazy: false,
            jobs: Vec::new(),
            events: Vec::new(),
            manual: false,
            stuck: false,
            ended: Vec::new(),
            grain: usize::MAX,
            over: false,
        };
        for lun in 0..2 {
            rig.memory.insert(Lun::new(lun), vec![0; 512 * BLOCK]);
        }
        for cid in 0..setup.connections {
            rig.attach(cid).expect("there is room for a connection");
        }
        rig
    }

    /// Adds a connection; returns its link.
    pub fn attach(&mut self, cid: u16) -> Result<usize, Refused> {
        let params = ConnectionParams {
            cid,
            header_digest: self.setup.header_digest,
            data_digest: self.setup.data_digest,
            max_receive: self.setup.max_receive,
            max_send: self.setup.max_send,
            stat_sn: self.setup.numbers.1,
        };
        let id = self.session.attach(params)?;
        self.links.push(Link {
            id,
            to_target: VecDeque::new(),
            from_target: Vec::new(),
            segment: RunningDigest::default(),
            replies: VecDeque::new(),
            closed: None,
            shut: false,
            stat_sn: self.setup.numbers.1,
        });
        Ok(self.links.len() - 1)
    }

    /// Sends a valid PDU.
    pub fn send(&mut self, link: usize, request: impl Into<Request>, data: &[u8]) {
        let request = request.into();
        let mut ahs = Vec::new();
        if let Request::Command(command) = &request {
            command.put_ahs(&mut ahs);
        }
        self.send_raw(link, request.encode(), &ahs, data);
    }

    pub fn send_raw(&mut self, link: usize, bhs: Bhs, ahs: &[u8], data: &[u8]) {
        let mut bytes = [&bhs[..], ahs].concat();
        if self.setup.header_digest {
            bytes.extend(digest::of(&bytes));
        }
        if !data.is_empty() {
            bytes.extend(data);
            bytes.extend(&[0; 3][..usize::from(pdu::pad(data.len() as u32))]);
            if self.setup.data_digest {
                let padded = &bytes[bytes.len() - data.len().next_multiple_of(4)..];
                bytes.extend(digest::of(padded));
            }
        }
        self.send_bytes(link, &bytes);
    }

    pub fn send_bytes(&mut self, link: usize, bytes: &[u8]) {
        self.links[link].to_target.extend(bytes);
    }

    /// Damages the last byte in transit.
    pub fn damage_last(&mut self, link: usize) {
        *self.links[link].to_target.back_mut().expect("something is on its way") ^= 1;
    }

    pub fn unread(&self, link: usize) -> usize {
        self.links[link].to_target.len()
    }

    /// Runs until nothing changes.
    pub fn run(&mut self) {
        loop {
            let mut moved = false;
            for link in 0..self.links.len() {
                moved |= self.feed(link);
            }
            moved |= self.work();
            for link in 0..self.links.len() {
                moved |= self.drain(link, usize::MAX);
            }
            if !moved {
                return;
            }
        }
    }

    /// Does all jobs, unless the test does them.
    fn work(&mut self) -> bool {
        let any = !self.lazy && !self.jobs.is_empty();
        while !self.lazy && !self.jobs.is_empty() {
            self.work_on(0);
        }
        any
    }

    /// Feeds bytes of one connection, as far as the session wants them.
    pub fn feed(&mut self, link: usize) -> bool {
        let mut moved = false;
        while !self.links[link].shut && self.feed_once(link) {
            moved = true;
            self.look();
        }
        moved
    }

    /// One step of feeding. Returns whether there was one.
    pub fn feed_once(&mut self, link: usize) -> bool {
        let id = self.links[link].id;
        let want = self.session.want(id);
        let grain = self.grain;
        let ready = self.links[link].to_target.len();
        let part = |len: u32| (len as usize).min(ready).min(grain);
        match want {
            Want::Header => {
                let shown: Vec<u8> =
                    self.links[link].to_target.iter().take(MAX_HEADER).copied().collect();
                let taken = self.session.header(id, &shown);
                assert!(taken <= shown.len(), "more than was shown");
                assert!(
                    taken > 0 || shown.len() < MAX_HEADER,
                    "a header needs more than its bound"
                );
                self.take_off(link, taken);
                self.links[link].segment = RunningDigest::default();
                taken > 0
            }
            Want::Into { task, offset, len } => {
                assert!(len > 0, "nothing is wanted");
                let bytes = self.take_off(link, part(len));
                self.links[link].segment = self.links[link].segment.and(&bytes);
                self.put(task, offset as usize, &bytes);
                self.session.received(id, bytes.len() as u32);
                !bytes.is_empty()
            }
            Want::Discard { len } => {
                assert!(len > 0, "nothing is wanted");
                let bytes = self.take_off(link, part(len));
                self.links[link].segment = self.links[link].segment.and(&bytes);
                self.session.received(id, bytes.len() as u32);
                !bytes.is_empty()
            }
            Want::Bytes { len } => {
                assert!(
                    len > 0 && len <= self.setup.limits.text.max(self.setup.limits.ping).max(1)
                );
                if ready < len as usize {
                    return false;
                }
                let bytes = self.take_off(link, len as usize);
                self.links[link].segment = self.links[link].segment.and(&bytes);
                self.session.bytes(id, &bytes);
                true
            }
            Want::Trailer { pad, digest } => self.feed_trailer(link, usize::from(pad), digest),
            Want::Nothing => false,
        }
    }

    fn feed_trailer(&mut self, link: usize, pad: usize, digest: bool) -> bool {
        let len = pad + if digest { 4 } else { 0 };
        assert!((1..=7).contains(&len), "a trailer of {len} bytes");
        if self.links[link].to_target.len() < len {
            return false;
        }
        let bytes = self.take_off(link, len);
        let sum = self.links[link].segment.and(&bytes[..pad]);
        let good = !digest || sum.bytes() == bytes[pad..];
        self.session.trailer(self.links[link].id, good);
        true
    }

    fn take_off(&mut self, link: usize, len: usize) -> Vec<u8> {
        self.links[link].to_target.drain(..len).collect()
    }

    fn put(&mut self, task: TaskId, offset: usize, bytes: &[u8]) {
        let place = &mut self.places[task.slot()];
        assert_eq!(place.id, Some(task), "data for a task that the owner does not know");
        assert!(
            place.taken && !place.gone && !place.answered && !place.complete,
            "data at a wrong time"
        );
        place.data[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    /// Processes all events, and checks the invariants.
    pub fn look(&mut self) {
        while let Some(event) = self.session.poll() {
            self.happened(event);
        }
        let (first, last) = (self.session.exp_cmd_sn(), self.session.max_cmd_sn());
        let open = last.wrapping_sub(first).wrapping_add(1);
        assert!(open <= u32::from(self.setup.limits.window), "a window of {open}");
        assert!(last.wrapping_sub(self.max_cmd_sn) < 1 << 31, "MaxCmdSN went back");
        self.max_cmd_sn = last;
        assert!(self.session.tasks() <= self.session.slots(), "more tasks than places");
        for link in self.links.iter().filter(|link| !link.shut) {
            let queued = self.session.queued(link.id);
            assert!(queued <= MAX_ANSWERS + self.session.slots(), "{queued} answers wait");
        }
    }

    fn happened(&mut self, event: Event) {
        match event {
            Event::Command(id) => self.command(id),
            Event::Data(id) => {
                let place = &mut self.places[id.slot()];
                assert_eq!(place.id, Some(id), "data of an unknown task");
                assert!(place.taken && !place.gone && !place.complete, "data at a wrong time");
                place.complete = true;
                self.jobs.push(Job::Write(id));
            }
            Event::Gone(id) => {
                let place = &mut self.places[id.slot()];
                assert_eq!(place.id, Some(id), "an unknown task is gone");
                assert!(!place.gone, "gone twice");
                place.gone = true;
                if !self.jobs.iter().any(|job| job.task() == id) {
                    self.finish(id);
                }
                self.events.push(Event::Gone(id));
            }
            Event::Closed { conn, why } => {
                let link =
                    self.links.iter_mut().find(|link| link.id == conn && link.closed.is_none());
                link.expect("a connection that is there is closed, once").closed = Some(why);
                self.events.push(Event::Closed { conn, why });
            }
            Event::Manage(what) => {
                if !self.manual {
                    self.session.managed(what.handle, TaskOutcome::Complete);
                }
                self.events.push(Event::Manage(what));
            }
            Event::Text { conn, text } => {
                if !self.manual {
                    // The answer is the request, three times over: longer than a PDU, if a test wants that.
                    self.session.text(conn, [&text[..], &text, &text].concat());
                }
                self.events.push(Event::Text { conn, text });
            }
            Event::Over => {
                assert!(!self.over && self.session.is_over(), "over, and once");
                assert!(self.places.iter().all(|place| place.id.is_none()), "over, with tasks");
                self.over = true;
            }
            event @ (Event::Pong(_) | Event::Resume(_)) => self.events.push(event),
        }
    }

    /// A device with READ (10), WRITE (10), TEST UNIT READY, and REQUEST SENSE as a failing command.
    fn command(&mut self, id: TaskId) {
        let request = self.session.task(id).expect("a command's task is there").clone();
        let place = &mut self.places[id.slot()];
        assert_eq!(place.id, None, "a slot is given again before it was given back");
        *place = Place { id: Some(id), ..Place::default() };
        let cdb = request.cdb.bytes();
        let blocks = usize::from(u16::from_be_bytes([cdb[7], cdb[8]]));
        let failure = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2000));
        let job = match cdb[0] {
            0x00 => Job::End(id, Ending::GOOD),
            0x28 => Job::Read(id),
            0x2a => {
                let len = self.session.take(id, (blocks * BLOCK) as u32);
                let expected = request.writes.min((blocks * BLOCK) as u32);
                assert!(
                    len == expected || len == 0,
                    "nothing comes only if the task is gone already"
                );
                let place = &mut self.places[id.slot()];
                (place.taken, place.data) = (true, vec![0xee; len as usize]);
                return;
            }
            _ => Job::End(id, failure),
        };
        self.jobs.push(job);
    }

    /// Does a job of the owner.
    pub fn work_on(&mut self, at: usize) {
        let job = self.jobs.remove(at);
        let id = job.task();
        if self.places[id.slot()].gone {
            self.finish(id);
            return self.look();
        }
        let request = self.session.task(id).expect("the task of a job is there").clone();
        let cdb = request.cdb.bytes();
        let from = BLOCK * u32::from_be_bytes([cdb[2], cdb[3], cdb[4], cdb[5]]) as usize;
        let len = BLOCK * usize::from(u16::from_be_bytes([cdb[7], cdb[8]]));
        let memory =
            self.memory.get_mut(&request.lun).map_or(&mut [][..], |memory| &mut memory[..]);
        let place = &mut self.places[id.slot()];
        place.answered = true;
        let there = len.min(memory.len().saturating_sub(from));
        let range = memory.get_mut(from..from + len);
        match (job, range) {
            (Job::Read(_), Some(range)) => {
                place.data = range.to_vec();
                self.session.reply(id, len as u32, len as u32, Ending::GOOD, false);
            }
            (Job::Write(_), Some(range)) => {
                range[..place.data.len()].copy_from_slice(&place.data);
                self.session.end(id, Ending::GOOD, false);
            }
            // A medium that is unreadable beyond its end: the readable data is sent, and then the sense.
            (Job::Read(_), None) if there > 0 => {
                place.data = memory[from..].to_vec();
                let unread = Ending::check(Sense::new(SenseKey::MediumError, 0x1100));
                self.session.reply(id, there as u32, len as u32, unread, false);
            }
            (Job::End(_, ending), _) => self.session.end(id, ending, false),
            (_, None) => {
                let sense = Sense::new(SenseKey::IllegalRequest, 0x2100);
                self.session.end(id, Ending::check(sense), false);
            }
        }
        self.look();
    }

    fn finish(&mut self, id: TaskId) {
        let place = &mut self.places[id.slot()];
        assert_eq!(place.id.take(), Some(id), "finished twice");
        self.session.finished(id);
    }

    /// Fetches and parses the output of a connection. Returns whether there was any.
    pub fn drain(&mut self, link: usize, budget: usize) -> bool {
        let id = self.links[link].id;
        if self.links[link].shut {
            return false;
        }
        let mut outs = Vec::new();
        let bytes = self.session.pull(id, budget, &mut outs);
        let before = self.links[link].from_target.len();
        let moved = !outs.is_empty();
        let mut from = before;
        for out in outs {
            self.write(link, out, &mut from);
        }
        if !self.links[link].shut {
            assert_eq!(self.links[link].from_target.len() - before, bytes, "as much as was said");
        }
        self.understand(link);
        self.look();
        moved
    }

    /// Sends one piece; `from` is the start of the current data segment.
    fn write(&mut self, link: usize, out: Out, from: &mut usize) {
        let wire = &mut self.links[link].from_target;
        match out {
            Out::Header { bytes, len } => {
                assert_eq!(len == 52, self.setup.header_digest, "a digest where one is in use");
                wire.extend(&bytes[..usize::from(len)]);
                *from = wire.len();
            }
            Out::Bytes(bytes) => wire.extend(bytes),
            Out::Data { task, offset, len } => {
                let place = &self.places[task.slot()];
                assert_eq!(place.id, Some(task), "data of an unknown task");
                assert!(place.answered && !place.gone, "data at a wrong time");
                wire.extend(&place.data[offset as usize..][..len as usize]);
            }
            Out::Trailer { pad, digest } => {
                wire.extend(&[0; 3][..usize::from(pad)]);
                if digest {
                    let sum = digest::of(&wire[*from..]);
                    wire.extend(sum);
                }
            }
            Out::End(task) if self.stuck => self.ended.push(task),
            Out::End(task) => self.finish(task),
            Out::Close => {
                self.understand(link);
                self.cut(link);
            }
        }
    }

    /// The oldest task whose end was handed out has finally been sent.
    pub fn unstick(&mut self) {
        let task = self.ended.remove(0);
        self.finish(task);
        self.look();
    }

    /// Cuts the connection.
    pub fn cut(&mut self, link: usize) {
        if !std::mem::replace(&mut self.links[link].shut, true) {
            self.session.lost(self.links[link].id);
            self.look();
        }
    }

    /// Parses bytes into PDUs as an initiator would, and checks their common invariants.
    fn understand(&mut self, link: usize) {
        let (header_digest, data_digest) = (self.setup.header_digest, self.setup.data_digest);
        let link = &mut self.links[link];
        let mut at = 0;
        while at < link.from_target.len() {
            let bytes = &link.from_target[at..];
            let bhs = bytes.first_chunk::<BHS_LEN>().expect("a whole header");
            let lengths = Lengths::of(bhs);
            let total = lengths.total(header_digest, data_digest);
            let bytes = &bytes[..total];
            let head = if header_digest { 52 } else { 48 };
            assert!(!header_digest || digest::of(bhs) == bytes[48..52], "a wrong header digest");
            let data = &bytes[head..][..lengths.data as usize];
            if data_digest && lengths.data > 0 {
                let (padded, sum) = bytes[head..].split_at(total - head - 4);
                assert_eq!(digest::of(padded), *sum, "a wrong data digest");
            }
            assert!(lengths.data <= self.setup.max_send || bhs[0] == 0x3f || bhs[0] == 0x21);
            let pdu = Response::parse(bhs, &[]).expect("a PDU that an initiator understands");
            if let Some(stat_sn) = status_of(&pdu) {
                assert_eq!(stat_sn, link.stat_sn, "StatSN of {pdu:?}");
                link.stat_sn = stat_sn.wrapping_add(1);
            }
            link.replies.push_back(Reply { pdu, data: data.to_vec() });
            at += total;
        }
        link.from_target.clear();
    }

    /// The unread answers on a connection.
    pub fn replies(&mut self, link: usize) -> Vec<Reply> {
        self.links[link].replies.drain(..).collect()
    }
}

/// The StatSN of a PDU that consumes one.
fn status_of(pdu: &Response) -> Option<u32> {
    match pdu {
        Response::DataIn(data) => data.status.map(|_| data.sequence.stat_sn),
        Response::NopIn(nop) => (nop.task_tag != pdu::RESERVED_TAG).then_some(nop.sequence.stat_sn),
        Response::R2t(_) => None,
        Response::Command(end) => Some(end.sequence.stat_sn),
        Response::Task(end) => Some(end.sequence.stat_sn),
        Response::Login(end) => Some(end.sequence.stat_sn),
        Response::Text(end) => Some(end.sequence.stat_sn),
        Response::Logout(end) => Some(end.sequence.stat_sn),
        Response::Async(end) => Some(end.sequence.stat_sn),
        Response::Reject(end) => Some(end.sequence.stat_sn),
    }
}

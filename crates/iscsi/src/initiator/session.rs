//! The session: its numbers, its commands, and its connection.

use super::control::{Note, Request, Requests};
use super::task::{Burst, Command, Ending, Task, Transfer};
use super::window::Window;
use super::{Error, Event, MAX_SEGMENT, Out, Refused, SenseData, Want};
use crate::digest;
use crate::login::Login;
use crate::params::Params;
use crate::pdu::{
    BHS_LEN, Bhs, DataIn, Lengths, LogoutReason, LogoutRequest, LogoutResponse, Lun, NopIn, NopOut,
    Opcode, R2t, RESERVED_TAG, Reject, Residual, Response, ScsiCommand, ScsiResponse, Sequence,
    ServiceResponse, TaskFunction, TaskOutcome, TaskRequest, TaskResponse, TextRequest,
    TextResponse, opcode, pad, sense_segment, task_tag,
};
use std::collections::VecDeque;

/// What was negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The longest data segment that the target takes, in bytes.
    pub send_segment: u32,
    /// The longest data segment that this end has declared to take, in bytes.
    pub receive_segment: u32,
    /// FirstBurstLength in bytes.
    pub first_burst: u32,
    /// MaxBurstLength in bytes.
    pub max_burst: u32,
    /// Nothing but immediate data is sent unasked.
    pub initial_r2t: bool,
    /// Data goes with its command.
    pub immediate_data: bool,
    /// MaxOutstandingR2T.
    pub max_outstanding_r2t: u16,
    /// Headers carry digests.
    pub header_digest: bool,
    /// Data segments carry digests.
    pub data_digest: bool,
}

/// Where the login left the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The number of the next command.
    pub cmd_sn: u32,
    /// The last command that the target takes.
    pub max_cmd_sn: u32,
    /// The number of the next status.
    pub stat_sn: u32,
    /// The connection's number within the session.
    pub cid: u16,
}

impl From<&Params> for Settings {
    fn from(params: &Params) -> Settings {
        Settings {
            send_segment: params.max_send,
            receive_segment: params.max_recv,
            first_burst: params.first_burst,
            max_burst: params.max_burst,
            initial_r2t: params.initial_r2t,
            immediate_data: params.immediate_data,
            max_outstanding_r2t: params.max_outstanding_r2t,
            header_digest: params.header_digest,
            data_digest: params.data_digest,
        }
    }
}

impl From<&Login> for Start {
    fn from(login: &Login) -> Start {
        let Login { cmd_sn, max_cmd_sn, stat_sn, cid, .. } = *login;
        Start { cmd_sn, max_cmd_sn, stat_sn, cid }
    }
}

/// The most slots of a session: their number must fit into a tag.
const SLOTS_MAX: u32 = 1 << 16;

/// The longest answer to a text request that is kept.
const MAX_TEXT: usize = 256 << 10;

/// Events, beside those of commands, that can wait to be heard.
const UNHEARD_MAX: usize = 64;

/// A session of which the login is over.
#[derive(Debug)]
pub struct Session {
    settings: Settings,
    window: Window,
    tasks: Vec<Option<Task>>,
    /// Counts commands, so that a slot's commands do not share tags.
    generation: u32,
    requests: Requests,
    events: VecDeque<Event>,
    connection: Connection,
}

/// What belongs to the one connection.
#[derive(Debug)]
struct Connection {
    cid: u16,
    exp_stat_sn: u32,
    receiving: Receiving,
    /// The PDU of which the data segment is coming.
    pdu: Option<Response>,
    /// The data segment, where it does not belong to a slot.
    segment: Vec<u8>,
    /// Goes before all others.
    notes: VecDeque<Note>,
    /// In the order of their numbers.
    commands: VecDeque<(u32, ScsiCommand)>,
    bursts: VecDeque<Burst>,
    /// A logout was asked for: nothing else is taken.
    leaving: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receiving {
    Header,
    Into { slot: u32, offset: u32, left: u32, pad: u8 },
    Bytes { len: u32 },
    Trailer { pad: u8 },
    Over,
}

impl Session {
    /// A session with slots for so many commands.
    pub fn new(settings: Settings, start: Start, slots: u32) -> Session {
        let slots = slots.clamp(1, SLOTS_MAX);
        let room = slots as usize;
        Session {
            settings,
            window: Window::new(start.cmd_sn, start.max_cmd_sn),
            tasks: vec![None; room],
            generation: 0,
            requests: Requests::default(),
            events: VecDeque::with_capacity(room + 8),
            connection: Connection {
                cid: start.cid,
                exp_stat_sn: start.stat_sn,
                receiving: Receiving::Header,
                pdu: None,
                segment: Vec::new(),
                notes: VecDeque::new(),
                commands: VecDeque::with_capacity(room),
                bursts: VecDeque::with_capacity(room),
                leaving: false,
            },
        }
    }

    /// What was negotiated.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How many commands can be given at the moment.
    pub fn room(&self) -> u32 {
        if self.is_open() { self.window.room() } else { 0 }
    }

    /// Whether requests are still taken.
    fn is_open(&self) -> bool {
        !self.connection.leaving && self.connection.receiving != Receiving::Over
    }

    /// Gives a command to a free slot. Its data is read from, or put into, the slot's buffer.
    ///
    /// # Errors
    /// The window or the slot is full, or the session over.
    pub fn command(&mut self, slot: u32, command: &Command) -> Result<(), Refused> {
        if !self.is_open() {
            return Err(Refused::Over);
        }
        let Some(place @ None) = self.tasks.get_mut(slot as usize) else {
            return Err(Refused::Slot);
        };
        if self.window.room() == 0 {
            return Err(Refused::Window);
        }
        self.generation = (self.generation + 1) & 0x7fff;
        let tag = self.generation << 16 | slot;
        let Early { immediate, unsolicited } = self.settings.early(command.transfer);
        *place = Some(Task::new(tag, command, immediate + unsolicited));
        let (read, write, expected_len) = match command.transfer {
            Transfer::None => (false, false, 0),
            Transfer::In(len) => (true, false, len),
            Transfer::Out(len) => (false, true, len),
        };
        let pdu = ScsiCommand {
            immediate: false,
            is_final: unsolicited == 0,
            read,
            write,
            attribute: command.attribute,
            lun: command.lun,
            task_tag: tag,
            expected_len,
            read_len: None,
            cmd_sn: self.window.take(),
            exp_stat_sn: 0,
            cdb: command.cdb.0.into(),
            data_len: immediate,
        };
        self.connection.commands.push_back((slot, pdu));
        if unsolicited > 0 {
            self.connection.bursts.push_back(Burst::unsolicited(slot, tag, immediate, unsolicited));
        }
        Ok(())
    }

    /// Pings the target, which answers with [`Event::Pong`].
    ///
    /// # Errors
    /// Too many requests are under way, or the session is over.
    pub fn ping(&mut self) -> Result<(), Refused> {
        let task_tag = self.request(Request::Ping)?;
        let pdu = NopOut {
            immediate: true,
            lun: Lun(0),
            task_tag,
            transfer_tag: RESERVED_TAG,
            cmd_sn: self.window.next(),
            exp_stat_sn: 0,
            data_len: 0,
        };
        self.connection.note(pdu.encode(), None);
        Ok(())
    }

    /// Sends text, which is answered with [`Event::Text`].
    ///
    /// # Errors
    /// The text is too long for one PDU, too many requests are under way, or the session is over.
    pub fn text(&mut self, text: &[u8]) -> Result<(), Refused> {
        let data_len = u32::try_from(text.len()).map_err(|_| Refused::Text)?;
        if data_len > self.settings.send_segment {
            return Err(Refused::Text);
        }
        let task_tag = self.request(Request::Text(Vec::new()))?;
        self.say(task_tag, RESERVED_TAG, Lun(0), text);
        Ok(())
    }

    fn say(&mut self, task_tag: u32, transfer_tag: u32, lun: Lun, text: &[u8]) {
        let pdu = TextRequest {
            immediate: true,
            is_final: true,
            goes_on: false,
            lun,
            task_tag,
            transfer_tag,
            cmd_sn: self.window.next(),
            exp_stat_sn: 0,
            data_len: text.len() as u32,
        };
        self.connection.note(pdu.encode(), (!text.is_empty()).then(|| text.into()));
    }

    /// Asks for a task management function; `slot` names the command where it is about one. It is answered with
    /// [`Event::Managed`], which carries the tag that is returned.
    ///
    /// # Errors
    /// The slot has no command, too many requests are under way, or the session is over.
    pub fn manage(
        &mut self,
        function: TaskFunction,
        lun: Lun,
        slot: Option<u32>,
    ) -> Result<u32, Refused> {
        let task = match slot {
            None => None,
            Some(slot) => {
                Some(self.tasks.get(slot as usize).and_then(Option::as_ref).ok_or(Refused::Slot)?)
            }
        };
        let referenced_tag = task.map_or(RESERVED_TAG, |task| task.tag);
        let lun = task.map_or(lun, |task| task.lun);
        let tag = self.request(Request::Manage { function, lun, referenced: referenced_tag })?;
        let pdu = TaskRequest {
            immediate: true,
            function,
            lun,
            task_tag: tag,
            referenced_tag,
            cmd_sn: self.window.next(),
            exp_stat_sn: 0,
            // A command that has been sent is told from one that is on its way by its tag alone; the number matters for
            // reassignment, which error recovery level 0 does not have.
            ref_cmd_sn: self.window.next(),
            exp_data_sn: 0,
        };
        self.connection.note(pdu.encode(), None);
        Ok(tag)
    }

    /// Ends the session. It is answered with [`Event::LoggedOut`].
    ///
    /// # Errors
    /// Too many requests are under way, or the session is over.
    pub fn logout(&mut self) -> Result<(), Refused> {
        let task_tag = self.request(Request::Logout)?;
        let pdu = LogoutRequest {
            immediate: true,
            reason: LogoutReason::CloseSession,
            task_tag,
            cid: self.connection.cid,
            cmd_sn: self.window.next(),
            exp_stat_sn: 0,
        };
        self.connection.note(pdu.encode(), None);
        self.connection.leaving = true;
        Ok(())
    }

    fn request(&mut self, request: Request) -> Result<u32, Refused> {
        if !self.is_open() {
            return Err(Refused::Over);
        }
        self.requests.add(request)
    }

    /// What has happened, in order.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether [`Session::pull`] has something to send.
    pub fn has_output(&self) -> bool {
        let Connection { notes, commands, bursts, .. } = &self.connection;
        !(notes.is_empty() && commands.is_empty() && bursts.is_empty())
    }

    /// Appends what is to be sent, until `budget` bytes are reached; the PDU that reaches them is still whole.
    pub fn pull(&mut self, budget: u32, out: &mut Vec<Out>) {
        let mut left = i64::from(budget);
        let exp_stat_sn = self.connection.exp_stat_sn;
        while left > 0 {
            let sent = if let Some(note) = self.connection.notes.pop_front() {
                self.settings.put_note(note, exp_stat_sn, out)
            } else if let Some((slot, pdu)) = self.connection.commands.pop_front() {
                self.settings.put_command(slot, pdu, exp_stat_sn, out)
            } else if let Some(burst) = self.connection.bursts.pop_front() {
                self.put_data(burst, exp_stat_sn, out)
            } else {
                break;
            };
            left -= i64::from(sent);
        }
    }

    /// The next PDU of a burst. The burst goes on where it was: data is sent in the order in which it was asked for.
    fn put_data(&mut self, mut burst: Burst, exp_stat_sn: u32, out: &mut Vec<Out>) -> u32 {
        let task = self.tasks.get_mut(burst.slot as usize).and_then(Option::as_mut);
        // The command ended before its data was wanted.
        let Some(task) = task.filter(|task| task.tag == burst.tag) else { return 0 };
        let (pdu, last) = burst.next(task.lun, exp_stat_sn, self.settings.send_segment);
        self.settings.put_header(&pdu.encode(), out);
        let data = Out::Data { slot: burst.slot, offset: pdu.offset, len: pdu.data_len };
        self.settings.put_segment(data, pdu.data_len, out);
        if !last {
            self.connection.bursts.push_front(burst);
        } else if burst.is_solicited() {
            task.answered();
        }
        BHS_LEN as u32 + pdu.data_len
    }

    /// What the connection needs next.
    #[inline]
    pub fn want(&self) -> Want {
        match self.connection.receiving {
            Receiving::Header => Want::Header,
            Receiving::Into { slot, offset, left, .. } => Want::Into { slot, offset, len: left },
            Receiving::Bytes { len } => Want::Bytes { len },
            Receiving::Trailer { pad } => Want::Trailer { pad, digest: self.settings.data_digest },
            Receiving::Over => Want::Nothing,
        }
    }

    /// Bytes of a header, with what belongs to it, of which the first 48 are these.
    pub fn header_len(&self, bhs: &Bhs) -> usize {
        BHS_LEN + Lengths::of(bhs).ahs + if self.settings.header_digest { 4 } else { 0 }
    }

    /// Takes in a header of [`Session::header_len`] bytes.
    ///
    /// # Errors
    /// The target broke the protocol: the connection is over.
    pub fn header(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let taken = self.take_header(bytes);
        self.settle(taken)
    }

    /// `len` bytes were put where they belong.
    ///
    /// # Errors
    /// The target broke the protocol: the connection is over.
    #[inline]
    pub fn received(&mut self, len: u32) -> Result<(), Error> {
        let Receiving::Into { slot, offset, left, pad } = self.connection.receiving else {
            return Err(Error::Over);
        };
        let len = len.min(left);
        if len < left {
            let (offset, left) = (offset + len, left - len);
            self.connection.receiving = Receiving::Into { slot, offset, left, pad };
            return Ok(());
        }
        self.segment_ends(pad)
    }

    /// Takes in a data segment as a whole.
    ///
    /// # Errors
    /// The target broke the protocol: the connection is over.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Receiving::Bytes { len } = self.connection.receiving else { return Err(Error::Over) };
        self.connection.segment.clear();
        self.connection.segment.extend_from_slice(bytes);
        self.segment_ends(pad(len))
    }

    /// What followed a data segment has been read; `sound` tells whether its digest, if there was one, fits.
    ///
    /// # Errors
    /// The digest was wrong, or the target broke the protocol: the connection is over.
    pub fn trailer(&mut self, sound: bool) -> Result<(), Error> {
        if !matches!(self.connection.receiving, Receiving::Trailer { .. }) {
            return Err(Error::Over);
        }
        let taken = if sound { self.complete() } else { Err(Error::DataDigest) };
        self.settle(taken)
    }

    fn segment_ends(&mut self, pad: u8) -> Result<(), Error> {
        if pad > 0 || self.settings.data_digest {
            self.connection.receiving = Receiving::Trailer { pad };
            return Ok(());
        }
        let taken = self.complete();
        self.settle(taken)
    }

    /// After a breach of the protocol nothing more is read.
    #[inline]
    fn settle(&mut self, taken: Result<(), Error>) -> Result<(), Error> {
        if taken.is_err() {
            self.connection.receiving = Receiving::Over;
        }
        taken
    }

    fn take_header(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.connection.receiving != Receiving::Header {
            return Err(Error::Over);
        }
        let (bhs, rest) = bytes.split_first_chunk::<BHS_LEN>().ok_or(Error::HeaderDigest)?;
        let ahs = match self.settings.header_digest {
            false => rest,
            true => {
                let (ahs, sum) = rest.split_last_chunk::<4>().ok_or(Error::HeaderDigest)?;
                if digest::Running::default().and(bhs).and(ahs).bytes() != *sum {
                    return Err(Error::HeaderDigest);
                }
                ahs
            }
        };
        let len = Lengths::of(bhs).data;
        if len > self.settings.receive_segment {
            let max = self.settings.receive_segment;
            return Err(Error::Segment { opcode: opcode(bhs)?, len, max });
        }
        let pdu = Response::parse(bhs, ahs)?;
        let receiving = match &pdu {
            Response::DataIn(pdu) => {
                let (slot, task) = find(&mut self.tasks, Opcode::DataIn, pdu.task_tag)?;
                task.data_in(pdu)?;
                Receiving::Into { slot, offset: pdu.offset, left: len, pad: pad(len) }
            }
            _ if len > MAX_SEGMENT => {
                return Err(Error::Segment { opcode: opcode(bhs)?, len, max: MAX_SEGMENT });
            }
            // Told of before it was understood: the number of a task must exist before its text is taken.
            _ => Receiving::Bytes { len },
        };
        self.connection.pdu = Some(pdu);
        self.connection.segment.clear();
        if len == 0 {
            return self.complete();
        }
        self.connection.receiving = receiving;
        Ok(())
    }

    /// The PDU is there, its data segment too.
    fn complete(&mut self) -> Result<(), Error> {
        self.connection.receiving = Receiving::Header;
        let Some(pdu) = self.connection.pdu.take() else { return Ok(()) };
        match pdu {
            Response::DataIn(pdu) => self.data_in(&pdu),
            Response::Command(pdu) => self.response(&pdu),
            Response::R2t(pdu) => self.r2t(&pdu),
            Response::NopIn(pdu) => self.nop(&pdu),
            Response::Text(pdu) => self.answer(&pdu),
            Response::Task(pdu) => self.managed(&pdu),
            Response::Logout(pdu) => self.logged_out(&pdu),
            Response::Async(message) => {
                self.status(Opcode::AsyncMessage, message.sequence)?;
                let sense = sense_segment(&self.connection.segment).and_then(SenseData::parse);
                self.tell(Event::Async { message, sense })
            }
            Response::Reject(pdu) => self.rejected(&pdu),
            Response::Login(_) => {
                let what = "comes after the login was over";
                Err(Error::Unexpected { opcode: Opcode::LoginResponse, what })
            }
        }
    }

    /// Tells an event. An owner who listens after every header never has many before it.
    fn tell(&mut self, event: Event) -> Result<(), Error> {
        if self.events.len() >= self.tasks.len() + UNHEARD_MAX {
            return Err(Error::Events);
        }
        self.events.push_back(event);
        Ok(())
    }

    /// A PDU that carries a status, which must be the next.
    #[inline]
    fn status(&mut self, opcode: Opcode, sequence: Sequence) -> Result<(), Error> {
        let wanted = self.connection.exp_stat_sn;
        if sequence.stat_sn != wanted {
            return Err(Error::StatSn { opcode, wanted, got: sequence.stat_sn });
        }
        self.connection.exp_stat_sn = wanted.wrapping_add(1);
        self.window.heard(sequence)
    }

    fn data_in(&mut self, pdu: &DataIn) -> Result<(), Error> {
        let Some(end) = pdu.status else {
            return self.window.heard(pdu.sequence);
        };
        self.status(Opcode::DataIn, pdu.sequence)?;
        self.ended(Opcode::DataIn, pdu.task_tag, end.status, end.residual, None)
    }

    fn response(&mut self, pdu: &ScsiResponse) -> Result<(), Error> {
        self.status(Opcode::ScsiResponse, pdu.sequence)?;
        if pdu.response == ServiceResponse::TargetFailure {
            let (slot, _) = find(&mut self.tasks, Opcode::ScsiResponse, pdu.task_tag)?;
            return self.free(slot, Ending::TargetFailure);
        }
        let sense = sense_segment(&self.connection.segment).and_then(SenseData::parse);
        self.ended(Opcode::ScsiResponse, pdu.task_tag, pdu.status, pdu.residual, sense)
    }

    fn ended(
        &mut self,
        opcode: Opcode,
        tag: u32,
        status: u8,
        residual: Residual,
        sense: Option<SenseData>,
    ) -> Result<(), Error> {
        let (slot, task) = find(&mut self.tasks, opcode, tag)?;
        let ending = task.end(status, residual, sense)?;
        self.free(slot, ending)
    }

    fn free(&mut self, slot: u32, ending: Ending) -> Result<(), Error> {
        if let Some(place) = self.tasks.get_mut(slot as usize) {
            *place = None;
        }
        self.tell(Event::Done { slot, ending })
    }

    fn r2t(&mut self, pdu: &R2t) -> Result<(), Error> {
        self.window.heard(pdu.sequence)?;
        let (slot, task) = find(&mut self.tasks, Opcode::R2t, pdu.task_tag)?;
        let burst = task.r2t(slot, pdu, &self.settings)?;
        self.connection.bursts.push_back(burst);
        Ok(())
    }

    fn nop(&mut self, pdu: &NopIn) -> Result<(), Error> {
        if pdu.task_tag != RESERVED_TAG {
            self.status(Opcode::NopIn, pdu.sequence)?;
            return match self.requests.take(pdu.task_tag) {
                Some(Request::Ping) => self.tell(Event::Pong),
                _ => Err(Error::UnknownTask { opcode: Opcode::NopIn, tag: pdu.task_tag }),
            };
        }
        self.window.heard(pdu.sequence)?;
        if pdu.transfer_tag != RESERVED_TAG {
            let reply = NopOut {
                immediate: true,
                lun: pdu.lun,
                task_tag: RESERVED_TAG,
                transfer_tag: pdu.transfer_tag,
                cmd_sn: self.window.next(),
                exp_stat_sn: 0,
                data_len: 0,
            };
            // A target that pings without reading the answers is told once.
            let is_reply = |note: &Note| note.header[0] & 0x3f == Opcode::NopOut.code();
            if self.connection.notes.iter().filter(|note| is_reply(note)).count() < 8 {
                self.connection.note(reply.encode(), None);
            }
        }
        Ok(())
    }

    fn answer(&mut self, pdu: &TextResponse) -> Result<(), Error> {
        let opcode = Opcode::TextResponse;
        self.status(opcode, pdu.sequence)?;
        let unknown = Error::UnknownTask { opcode, tag: pdu.task_tag };
        let Some(Request::Text(text)) = self.requests.get(pdu.task_tag) else {
            return Err(unknown);
        };
        if text.len() + self.connection.segment.len() > MAX_TEXT {
            return Err(Error::Text(MAX_TEXT));
        }
        text.extend_from_slice(&self.connection.segment);
        if !pdu.is_final {
            if pdu.transfer_tag == RESERVED_TAG {
                return Err(Error::Unexpected { opcode, what: "goes on, but names no tag" });
            }
            self.say(pdu.task_tag, pdu.transfer_tag, pdu.lun, &[]);
            return Ok(());
        }
        match self.requests.take(pdu.task_tag) {
            Some(Request::Text(text)) => self.tell(Event::Text(text)),
            _ => Err(unknown),
        }
    }

    fn managed(&mut self, pdu: &TaskResponse) -> Result<(), Error> {
        let (opcode, tag) = (Opcode::TaskResponse, pdu.task_tag);
        self.status(opcode, pdu.sequence)?;
        let Some(Request::Manage { function, lun, referenced }) = self.requests.take(tag) else {
            return Err(Error::UnknownTask { opcode, tag });
        };
        // A task that does not exist any more has answered before; if it has not, the target never saw it.
        if matches!(pdu.outcome, TaskOutcome::Complete | TaskOutcome::NoTask) {
            for slot in 0..self.tasks.len() {
                let Some(task) = &self.tasks[slot] else { continue };
                let over = match function {
                    TaskFunction::AbortTask => task.tag == referenced,
                    TaskFunction::AbortTaskSet
                    | TaskFunction::ClearTaskSet
                    | TaskFunction::LogicalUnitReset => task.lun == lun,
                    TaskFunction::TargetWarmReset | TaskFunction::TargetColdReset => true,
                    _ => false,
                };
                if over {
                    self.free(slot as u32, Ending::Aborted)?;
                }
            }
        }
        self.tell(Event::Managed { tag, outcome: pdu.outcome })
    }

    fn logged_out(&mut self, pdu: &LogoutResponse) -> Result<(), Error> {
        let (opcode, tag) = (Opcode::LogoutResponse, pdu.task_tag);
        self.status(opcode, pdu.sequence)?;
        let Some(Request::Logout) = self.requests.take(tag) else {
            return Err(Error::UnknownTask { opcode, tag });
        };
        self.connection.receiving = Receiving::Over;
        let LogoutResponse { outcome, time2wait, time2retain, .. } = *pdu;
        self.tell(Event::LoggedOut { outcome, time2wait, time2retain })
    }

    /// A PDU of ours was refused. Where it belongs to a command, that is over.
    fn rejected(&mut self, pdu: &Reject) -> Result<(), Error> {
        self.status(Opcode::Reject, pdu.sequence)?;
        let header = self.connection.segment.first_chunk::<BHS_LEN>().copied();
        let tag = header.as_ref().map(task_tag);
        if let Some((slot, _)) = tag.and_then(|tag| find(&mut self.tasks, Opcode::Reject, tag).ok())
        {
            return self.free(slot, Ending::Rejected(pdu.reason));
        }
        tag.and_then(|tag| self.requests.take(tag));
        self.tell(Event::Rejected { reason: pdu.reason, header: header.map(Box::new) })
    }
}

impl Connection {
    fn note(&mut self, header: Bhs, data: Option<Box<[u8]>>) {
        self.notes.push_back(Note { header, data });
    }
}

/// The task with a tag, and its slot.
#[inline]
fn find(tasks: &mut [Option<Task>], opcode: Opcode, tag: u32) -> Result<(u32, &mut Task), Error> {
    let slot = tag & 0xffff;
    let task = tasks.get_mut(slot as usize).and_then(Option::as_mut);
    let task = task.filter(|task| task.tag == tag);
    Ok((slot, task.ok_or(Error::UnknownTask { opcode, tag })?))
}

/// Data of a command that goes unasked.
struct Early {
    /// With the command itself.
    immediate: u32,
    /// After it.
    unsolicited: u32,
}

impl Settings {
    fn early(&self, transfer: Transfer) -> Early {
        let Transfer::Out(len) = transfer else { return Early { immediate: 0, unsolicited: 0 } };
        let early = len.min(self.first_burst);
        let immediate = if self.immediate_data { early.min(self.send_segment) } else { 0 };
        let unsolicited = if self.initial_r2t { 0 } else { early - immediate };
        Early { immediate, unsolicited }
    }

    #[inline]
    fn put_header(&self, header: &Bhs, out: &mut Vec<Out>) {
        let mut bytes = [0; 52];
        bytes[..BHS_LEN].copy_from_slice(header);
        let len = if self.header_digest {
            bytes[BHS_LEN..].copy_from_slice(&digest::of(header));
            52
        } else {
            48
        };
        out.push(Out::Header { bytes, len });
    }

    fn put_segment(&self, data: Out, len: u32, out: &mut Vec<Out>) {
        out.push(data);
        let pad = pad(len);
        if pad > 0 || self.data_digest {
            out.push(Out::Trailer { pad, digest: self.data_digest });
        }
    }

    fn put_note(&self, note: Note, exp_stat_sn: u32, out: &mut Vec<Out>) -> u32 {
        let Note { mut header, data } = note;
        header[28..32].copy_from_slice(&exp_stat_sn.to_be_bytes());
        self.put_header(&header, out);
        let Some(data) = data else { return BHS_LEN as u32 };
        let len = data.len() as u32;
        self.put_segment(Out::Bytes(data), len, out);
        BHS_LEN as u32 + len
    }

    fn put_command(
        &self,
        slot: u32,
        pdu: ScsiCommand,
        exp_stat_sn: u32,
        out: &mut Vec<Out>,
    ) -> u32 {
        let len = pdu.data_len;
        self.put_header(&ScsiCommand { exp_stat_sn, ..pdu }.encode(), out);
        if len > 0 {
            self.put_segment(Out::Data { slot, offset: 0, len }, len, out);
        }
        BHS_LEN as u32 + len
    }
}

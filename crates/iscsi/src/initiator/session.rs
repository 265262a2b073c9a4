//! The session: its command numbers, its commands, and its connections.

use super::connection::Connection;
use super::control::{ControlRequest, ControlRequests};
use super::settings::{LoginNumbers, Settings, UnsolicitedData};
use super::task::{Burst, Command, Task, Transfer};
use super::window::Window;
use super::{Conn, Error, Event, ExpectedPdu, Out, Refused, Want};
use crate::pdu::{
    BHS_LEN, Bhs, Lengths, LogoutReason, LogoutRequest, Lun, NopOut, RESERVED_TAG, ScsiCommand,
    TaskFunction, TaskRequest, TextRequest,
};
use std::collections::VecDeque;

/// Most slots of a session: a slot number must fit into a tag.
const SLOTS_MAX: u32 = 1 << 16;

/// A session after its login.
#[derive(Debug)]
pub struct Session {
    pub(super) window: Window,
    pub(super) tasks: Vec<Option<Task>>,
    /// Counts commands, so that successive commands of a slot have different tags.
    generation: u32,
    pub(super) requests: ControlRequests,
    pub(super) events: VecDeque<Event>,
    /// At least one, and at most [`Conn::MOST`].
    pub(super) connections: Vec<Connection>,
    /// Where the search for a connection for the next command starts.
    turn: usize,
    /// A logout was requested: nothing else is accepted.
    leaving: bool,
    /// A connection was logged out or violated the protocol: nothing more is read.
    pub(super) over: bool,
}

impl Session {
    /// A session with this many command slots, and with its leading connection.
    pub fn new(settings: Settings, start: LoginNumbers, slots: u32) -> Session {
        let slots = slots.clamp(1, SLOTS_MAX);
        let room = slots as usize;
        Session {
            window: Window::new(start.cmd_sn, start.max_cmd_sn),
            tasks: vec![None; room],
            generation: 0,
            requests: ControlRequests::default(),
            events: VecDeque::with_capacity(room + 8),
            connections: vec![Connection::new(settings, start, room)],
            turn: 0,
            leaving: false,
            over: false,
        }
    }

    /// Adds a connection that has logged in to this session. It has its own digests and segment lengths; all other
    /// parameters are those of the leading login.
    /// # Errors
    /// There are too many connections, or the session has ended.
    pub fn join(&mut self, settings: Settings, start: LoginNumbers) -> Result<Conn, Refused> {
        if !self.is_open() {
            return Err(Refused::Over);
        }
        let at = self.connections.len();
        if at >= Conn::MOST {
            return Err(Refused::Connections);
        }
        let Settings { send_segment, receive_segment, header_digest, data_digest, .. } = settings;
        let settings = Settings {
            send_segment,
            receive_segment,
            header_digest,
            data_digest,
            ..*self.settings()
        };
        self.connections.push(Connection::new(settings, start, self.tasks.len()));
        Ok(Conn(at as u8))
    }

    /// The parameters of the leading connection.
    pub fn settings(&self) -> &Settings {
        &self.connections[0].settings
    }

    /// The parameters of a connection; the leading one's if it does not exist.
    pub fn settings_of(&self, conn: Conn) -> &Settings {
        self.connection(conn).map_or(self.settings(), |connection| &connection.settings)
    }

    /// The connections, the leading one first.
    pub fn connections(&self) -> impl Iterator<Item = Conn> + use<> {
        (0..self.connections.len() as u8).map(Conn)
    }

    /// CmdSN of the next command, for the login of another connection.
    pub fn next_cmd_sn(&self) -> u32 {
        self.window.next()
    }

    /// The number of commands that can be issued now.
    #[inline]
    pub fn room(&self) -> u32 {
        if self.is_open() { self.window.room() } else { 0 }
    }

    /// The number of outstanding commands on a connection.
    pub fn under_way(&self, conn: Conn) -> u32 {
        self.connection(conn).map_or(0, |connection| connection.open)
    }

    /// Whether requests are still accepted.
    fn is_open(&self) -> bool {
        !self.leaving && !self.over
    }

    #[inline]
    fn connection(&self, conn: Conn) -> Option<&Connection> {
        self.connections.get(usize::from(conn.0))
    }

    #[inline]
    pub(super) fn connection_mut(&mut self, conn: Conn) -> Result<&mut Connection, Error> {
        self.connections.get_mut(usize::from(conn.0)).ok_or(Error::Over)
    }

    /// The connection with the fewest outstanding commands; ties take turns.
    fn least_loaded(&mut self) -> u8 {
        let count = self.connections.len();
        if count == 1 {
            return 0;
        }
        let all = (0..count).map(|n| (self.turn + n) % count);
        let at = all.min_by_key(|at| self.connections[*at].open).unwrap_or(0);
        self.turn = (at + 1) % count;
        at as u8
    }

    /// Issues a command in a free slot. Its data is read from, or stored into, the slot's buffer. All its PDUs use
    /// the connection with the fewest outstanding commands.
    /// # Errors
    /// The window is full, the slot is in use, or the session has ended.
    pub fn command(&mut self, slot: u32, command: &Command) -> Result<(), Refused> {
        if !self.is_open() {
            return Err(Refused::Over);
        }
        let Some(None) = self.tasks.get(slot as usize) else {
            return Err(Refused::Slot);
        };
        if self.window.room() == 0 {
            return Err(Refused::Window);
        }
        self.generation = (self.generation + 1) & 0x7fff;
        let tag = self.generation << 16 | slot;
        let conn = self.least_loaded();
        let connection = &mut self.connections[usize::from(conn)];
        let UnsolicitedData { immediate, unsolicited } =
            connection.settings.early(command.transfer);
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
        connection.command(slot, pdu, &self.tasks);
        if unsolicited > 0 {
            connection.bursts.push_back(Burst::unsolicited(slot, tag, immediate, unsolicited));
        }
        let task = Task::new(tag, Conn(conn), command, immediate + unsolicited);
        self.tasks[slot as usize] = Some(task);
        Ok(())
    }

    /// Pings the target over every connection; each answer is an [`Event::Pong`].
    /// # Errors
    /// Too many requests are outstanding, or the session has ended.
    pub fn ping(&mut self) -> Result<(), Refused> {
        let cmd_sn = self.window.next();
        for conn in self.connections() {
            let task_tag = self.request(conn, ControlRequest::Ping)?;
            let pdu = NopOut {
                immediate: true,
                lun: Lun(0),
                task_tag,
                transfer_tag: RESERVED_TAG,
                cmd_sn,
                exp_stat_sn: 0,
                data_len: 0,
            };
            self.note(conn, pdu.encode(), None);
        }
        Ok(())
    }

    /// Sends a text request; the answer is [`Event::Text`].
    /// # Errors
    /// The text is too long for one PDU, too many requests are outstanding, or the session has ended.
    pub fn text(&mut self, text: &[u8]) -> Result<(), Refused> {
        let data_len = u32::try_from(text.len()).map_err(|_| Refused::Text)?;
        if data_len > self.settings().send_segment {
            return Err(Refused::Text);
        }
        let task_tag = self.request(Conn::LEAD, ControlRequest::Text(Vec::new()))?;
        self.say(Conn::LEAD, task_tag, RESERVED_TAG, Lun(0), text);
        Ok(())
    }

    pub(super) fn say(
        &mut self,
        conn: Conn,
        task_tag: u32,
        transfer_tag: u32,
        lun: Lun,
        text: &[u8],
    ) {
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
        self.note(conn, pdu.encode(), (!text.is_empty()).then(|| text.into()));
    }

    /// Requests a task management function; `slot` names the command if it concerns one. The answer is
    /// [`Event::Managed`] with the returned tag.
    /// # Errors
    /// The slot has no command, too many requests are outstanding, or the session has ended.
    pub fn manage(
        &mut self,
        function: TaskFunction,
        lun: Lun,
        slot: Option<u32>,
    ) -> Result<u32, Refused> {
        // A function about one task uses the task's connection (RFC 7143, section 11.5.1).
        let (conn, lun, referenced_tag) = match slot {
            None => (Conn::LEAD, lun, RESERVED_TAG),
            Some(slot) => {
                let task = self.tasks.get(slot as usize).and_then(Option::as_ref);
                let task = task.ok_or(Refused::Slot)?;
                (task.conn, task.lun, task.tag)
            }
        };
        let request = ControlRequest::Manage { function, lun, referenced: referenced_tag };
        let tag = self.request(conn, request)?;
        let pdu = TaskRequest {
            immediate: true,
            function,
            lun,
            task_tag: tag,
            referenced_tag,
            cmd_sn: self.window.next(),
            exp_stat_sn: 0,
            // The tag alone distinguishes a command that has been sent from one that is queued; the number matters
            // for reassignment, which error recovery level 0 does not have.
            ref_cmd_sn: self.window.next(),
            exp_data_sn: 0,
        };
        self.note(conn, pdu.encode(), None);
        Ok(tag)
    }

    /// Ends the session with all its connections. The answer is [`Event::LoggedOut`].
    /// # Errors
    /// Too many requests are outstanding, or the session has ended.
    pub fn logout(&mut self) -> Result<(), Refused> {
        let task_tag = self.request(Conn::LEAD, ControlRequest::Logout)?;
        let pdu = LogoutRequest {
            immediate: true,
            reason: LogoutReason::CloseSession,
            task_tag,
            cid: self.connections[0].cid,
            cmd_sn: self.window.next(),
            exp_stat_sn: 0,
        };
        self.note(Conn::LEAD, pdu.encode(), None);
        self.leaving = true;
        Ok(())
    }

    fn request(&mut self, conn: Conn, request: ControlRequest) -> Result<u32, Refused> {
        if !self.is_open() {
            return Err(Refused::Over);
        }
        self.requests.add(conn, request)
    }

    fn note(&mut self, conn: Conn, header: Bhs, data: Option<Box<[u8]>>) {
        if let Ok(connection) = self.connection_mut(conn) {
            connection.note(header, data);
        }
    }

    /// The next event, in order.
    #[inline]
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether [`Session::pull`] has output for a connection.
    pub fn has_output(&self, conn: Conn) -> bool {
        self.connection(conn).is_some_and(Connection::has_output)
    }

    /// Appends output of a connection up to `budget` bytes; the PDU that reaches the budget is still complete.
    pub fn pull(&mut self, conn: Conn, budget: u32, out: &mut Vec<Out>) {
        let Some(connection) = self.connections.get_mut(usize::from(conn.0)) else { return };
        let mut left = i64::from(budget);
        while left > 0 {
            let Some(sent) = connection.pull(&mut self.tasks, out) else { break };
            left -= i64::from(sent);
        }
    }

    /// What a connection needs next.
    #[inline]
    pub fn want(&self, conn: Conn) -> Want {
        match self.connection(conn) {
            Some(connection) if !self.over => connection.want(),
            _ => Want::Nothing,
        }
    }

    /// Bytes of padding and digest after the data segment that is arriving, while [`Want::Into`] is wanted.
    pub fn tail(&self, conn: Conn) -> usize {
        self.connection(conn).map_or(0, Connection::tail)
    }

    /// The PDUs that will probably follow the current one on a connection: a target usually answers in the order of
    /// the requests. Data can be received directly to its probable place; its header then decides.
    pub fn likely(&self, conn: Conn) -> impl Iterator<Item = ExpectedPdu> {
        let connection = self.connection(conn).filter(|_| !self.over);
        connection.into_iter().flat_map(|connection| connection.likely(&self.tasks))
    }

    /// Bytes of a header with its additional segments and digest, given its first 48.
    pub fn header_len(&self, conn: Conn, bhs: &Bhs) -> usize {
        BHS_LEN + Lengths::of(bhs).ahs + if self.settings_of(conn).header_digest { 4 } else { 0 }
    }

    /// Processes a header of [`Session::header_len`] bytes.
    /// # Errors
    /// The target violated the protocol: the session has ended.
    pub fn header(&mut self, conn: Conn, bytes: &[u8]) -> Result<(), Error> {
        let taken = self.take_header(conn, bytes);
        self.settle(taken)
    }

    /// `len` bytes were stored where they belong.
    /// # Errors
    /// The target violated the protocol: the session has ended.
    #[inline]
    pub fn received(&mut self, conn: Conn, len: u32) -> Result<(), Error> {
        match self.connection_mut(conn)?.received(len)? {
            false => Ok(()),
            true => self.segment_ended(conn),
        }
    }

    /// Processes a complete data segment.
    /// # Errors
    /// The target violated the protocol: the session has ended.
    pub fn bytes(&mut self, conn: Conn, bytes: &[u8]) -> Result<(), Error> {
        match self.connection_mut(conn)?.bytes(bytes)? {
            false => Ok(()),
            true => self.segment_ended(conn),
        }
    }

    /// The trailer of a data segment has been read; `sound` is whether its digest, if any, matches.
    /// # Errors
    /// The digest was wrong, or the target violated the protocol: the session has ended.
    pub fn trailer(&mut self, conn: Conn, sound: bool) -> Result<(), Error> {
        if !matches!(self.want(conn), Want::Trailer { .. }) {
            return Err(Error::Over);
        }
        let taken = if sound { self.complete(conn) } else { Err(Error::DataDigest) };
        self.settle(taken)
    }

    #[inline]
    fn segment_ended(&mut self, conn: Conn) -> Result<(), Error> {
        let taken = self.complete(conn);
        self.settle(taken)
    }

    /// After a protocol violation nothing more is read: at error recovery level 0 it ends the session.
    #[inline]
    fn settle(&mut self, taken: Result<(), Error>) -> Result<(), Error> {
        self.over |= taken.is_err();
        taken
    }
}

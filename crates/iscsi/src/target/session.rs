//! The session: the interface for its owner, and what all its parts share.

use std::collections::VecDeque;

use super::connection::{
    CloseState, Connection, ControlPdu, MAX_CONTROL, ReceiveState, SegmentSink,
};
use super::read_data::ReadData;
use super::slab::{MAX_SLOTS, TaskSlab};
use super::task::{Task, TaskPhase, residual};
use super::task_management::PendingRequests;
use super::types::{
    CloseReason, ConnId, ConnectionParams, Event, Limits, Refused, Request, SessionParams, TaskId,
    TaskScope, Violation, Want,
};
use super::window::{MAX_WINDOW, Window};
use crate::pdu::RESERVED_TAG;
use crate::scsi::Ending;

/// The full-feature phase of one session.
///
/// Its owner loops over each connection: it asks [`Session::want`] what the next bytes are for, passes them on, reads
/// events from [`Session::poll`], and fetches output with [`Session::pull`]. It answers every task of an
/// [`Event::Command`] by
///
/// - [`Session::reply`] or [`Session::end`], or first [`Session::take`], and one of the two after [`Event::Data`];
///   the end is [`Out::End`](super::Out::End);
/// - or not at all, if [`Event::Gone`] comes;
///
/// and then releases it by exactly one [`Session::finished`].
///
/// Bounds: tasks at most [`Session::slots`]; per connection at most 64 queued answers and a few more, after which
/// reading stops until some have been pulled; text and ping data as in [`Limits`]; sixteen pending task management
/// functions and logouts. Calls with the id of something that has ended do nothing.
pub struct Session {
    pub(super) params: SessionParams,
    pub(super) limits: Limits,
    pub(super) window: Window,
    pub(super) slab: TaskSlab,
    pub(super) conns: [Option<Box<Connection>>; ConnId::MOST],
    pub(super) pending: PendingRequests,
    pub(super) events: VecDeque<Event>,
    /// Outstanding immediate SCSI commands.
    pub(super) immediate: u16,
    /// Connections whose next request is early.
    pub(super) held: usize,
    /// MaxCmdSN as last sent to the initiator.
    pub(super) told_last: u32,
    ending: bool,
    over: bool,
}

impl Session {
    /// A session without connections. `exp_cmd_sn` is the number of the first command after the login.
    pub fn new(params: SessionParams, limits: Limits, exp_cmd_sn: u32) -> Session {
        let window = limits.window.clamp(1, MAX_WINDOW);
        let limits = Limits { window, immediate: limits.immediate.min(256), ..limits };
        // Tasks whose status has been handed out widen the window before their data has been sent, so there are more
        // slots than the window is wide. If all are in use, reading stops until one has been sent.
        let slots = usize::from(window) + usize::from(window) / 2 + usize::from(limits.immediate);
        let window = Window::new(exp_cmd_sn, window);
        Session {
            params,
            limits,
            told_last: window.last(),
            window,
            slab: TaskSlab::new(slots.min(MAX_SLOTS)),
            conns: Default::default(),
            pending: PendingRequests::default(),
            events: VecDeque::new(),
            immediate: 0,
            held: 0,
            ending: false,
            over: false,
        }
    }

    /// Most tasks: [`TaskId::slot`] is below this.
    pub fn slots(&self) -> usize {
        self.slab.slots()
    }

    /// Current number of tasks.
    pub fn tasks(&self) -> usize {
        self.slab.len()
    }

    /// ExpCmdSN, the number of the next command. A login that joins the session needs it.
    pub fn exp_cmd_sn(&self) -> u32 {
        self.window.expected()
    }

    /// MaxCmdSN, the last command that the initiator may send.
    pub fn max_cmd_sn(&self) -> u32 {
        self.window.last()
    }

    /// Adds a connection whose login is complete.
    /// # Errors
    /// The session is ending, is full, or has a connection with this CID.
    pub fn attach(&mut self, params: ConnectionParams) -> Result<ConnId, Refused> {
        if self.ending {
            return Err(Refused::Ending);
        }
        if self.connections().any(|(_, conn)| conn.params.cid == params.cid) {
            return Err(Refused::Cid(params.cid));
        }
        let most = self.params.max_connections.clamp(1, ConnId::MOST as u16);
        let free = self.conns.iter().take(usize::from(most)).position(Option::is_none);
        let free = free.ok_or(Refused::Connections(most))?;
        self.conns[free] = Some(Box::new(Connection::new(params, self.slab.slots())));
        Ok(ConnId(free as u8))
    }

    /// The connection with this CID.
    pub fn connection(&self, cid: u16) -> Option<ConnId> {
        self.connections().find(|(_, conn)| conn.params.cid == cid).map(|(id, _)| id)
    }

    /// What the next bytes of a connection are for.
    pub fn want(&mut self, conn: ConnId) -> Want {
        let want = self.wanted(conn);
        if let Some(conn) = self.conn_mut(conn) {
            conn.stalled = want == Want::Nothing;
        }
        want
    }

    fn wanted(&self, id: ConnId) -> Want {
        let Some(conn) = self.conn(id) else { return Want::Nothing };
        let segment = match conn.reading {
            ReceiveState::Header if conn.held.is_some() => return Want::Nothing,
            ReceiveState::Header if conn.control.len() >= MAX_CONTROL => return Want::Nothing,
            ReceiveState::Header => return Want::Header,
            ReceiveState::Trailer(segment) => return conn.trailer_of(segment),
            ReceiveState::Shut => return Want::Nothing,
            ReceiveState::Segment(segment) => segment,
        };
        let left = segment.len - segment.done;
        match segment.sink {
            SegmentSink::Task(task, offset) => self.place(task, offset + segment.done, left),
            SegmentSink::Ping(_) if segment.done == 0 => {
                Want::Bytes { len: left.min(self.limits.ping.max(1)) }
            }
            SegmentSink::Text(_) => Want::Bytes { len: left },
            SegmentSink::Ping(_) | SegmentSink::Discard => Want::Discard { len: left },
        }
    }

    /// Where a task's bytes go.
    fn place(&self, id: TaskId, offset: u32, left: u32) -> Want {
        let open = self.slab.get(id).filter(|task| task.phase == TaskPhase::Open);
        match open.map(|task| task.incoming.need()) {
            Some(None) => Want::Nothing,
            Some(Some(need)) if offset < need => {
                Want::Into { task: id, offset, len: left.min(need - offset) }
            }
            Some(Some(_)) | None => Want::Discard { len: left },
        }
    }

    /// The next event, oldest first.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The request of a task that has not ended.
    pub fn task(&self, id: TaskId) -> Option<&Request> {
        self.slab.get(id).map(|task| &task.request)
    }

    /// Accepts `len` bytes of a task's data, the amount that SCSI transfers; the initiator may announce fewer.
    /// Returns how many will be in place at [`Event::Data`]: `len`, or fewer if fewer are announced; 0 if the task
    /// has ended. Data beyond them is dropped.
    pub fn take(&mut self, id: TaskId, len: u32) -> u32 {
        let Some(task) = self.slab.get_mut(id) else { return 0 };
        if task.phase != TaskPhase::Open || task.incoming.need().is_some() {
            return task.taken();
        }
        task.wanted = len;
        let need = task.incoming.take(len);
        let conn = task.request.conn;
        self.resume(conn);
        self.check_data(id);
        need
    }

    /// Answers a task with `len` bytes from offset 0 of its data, where SCSI would transfer `wanted`, and then an
    /// ending. Data beyond the initiator's expected length is not sent. `descriptor` selects descriptor-format sense.
    pub fn reply(&mut self, id: TaskId, len: u32, wanted: u32, ending: Ending, descriptor: bool) {
        let Some(task) = self.slab.get_mut(id).filter(|task| task.phase == TaskPhase::Open) else {
            return;
        };
        let sent = len.min(task.request.reads);
        task.outgoing = ReadData::new(sent);
        task.residual = residual(task.request.reads, wanted, sent);
        self.answer(id, ending, descriptor);
    }

    /// Ends a task; accepted data counts as transferred. `descriptor` selects descriptor-format sense data.
    pub fn end(&mut self, id: TaskId, ending: Ending, descriptor: bool) {
        let Some(task) = self.slab.get_mut(id).filter(|task| task.phase == TaskPhase::Open) else {
            return;
        };
        let expected = task.request.reads.max(task.request.writes);
        task.residual = residual(expected, task.wanted, task.taken());
        self.answer(id, ending, descriptor);
    }

    fn answer(&mut self, id: TaskId, ending: Ending, descriptor: bool) {
        let Some(task) = self.slab.get_mut(id) else { return };
        task.phase = TaskPhase::Answered;
        (task.running, task.ends) = (false, true);
        (task.ending, task.descriptor) = (ending, descriptor);
        let conn = task.request.conn;
        self.resume(conn);
        self.queue_answer(id);
    }

    /// The owner no longer works on a task or uses its data.
    pub fn finished(&mut self, id: TaskId) {
        let Some(task) = self.slab.get_mut(id) else { return };
        if task.phase == TaskPhase::Open {
            // Without an answer the initiator would wait forever, so it gets a target failure.
            task.fail(super::task_management::GIVEN_UP);
        }
        (task.owned, task.running) = (false, false);
        let conn = task.request.conn;
        self.queue_answer(id);
        self.release(id);
        self.resume(conn);
    }

    /// Queues a task on its connection if it has an answer that may be sent.
    pub(super) fn queue_answer(&mut self, id: TaskId) {
        let Some(task) = self.slab.get(id) else { return };
        if matches!(task.phase, TaskPhase::Answered | TaskPhase::Failed) && !task.incoming.is_open()
        {
            self.enqueue(id);
        }
    }

    /// Notifies the owner if a task's data is complete, requests more if not, and ends the task if the data is wrong.
    pub(super) fn check_data(&mut self, id: TaskId) {
        let outstanding = self.params.max_outstanding_r2t;
        let Some(task) = self.slab.get_mut(id) else { return };
        if task.phase != TaskPhase::Open {
            return self.queue_answer(id);
        }
        if let Some(fault) = task.fault() {
            task.fail(fault.ending());
            task.running = false;
            if task.owned {
                self.events.push_back(Event::Gone(id));
            }
            self.queue_answer(id);
        } else if task.incoming.complete() {
            self.events.push_back(Event::Data(id));
        } else if task.incoming.wants_more(outstanding) {
            self.enqueue(id);
        }
    }

    pub(super) fn dequeue(&mut self, id: TaskId) {
        let Some(task) = self.slab.get_mut(id) else { return };
        let Some(conn) = &mut self.conns[task.request.conn.index()] else { return };
        if std::mem::take(&mut task.queued) {
            conn.ready.retain(|&queued| queued != id);
        }
    }

    pub(super) fn enqueue(&mut self, id: TaskId) {
        let Some(task) = self.slab.get_mut(id) else { return };
        let Some(conn) = &mut self.conns[task.request.conn.index()] else { return };
        if !std::mem::replace(&mut task.queued, true) {
            conn.ready.push_back(id);
        }
    }

    /// The initiator has its status, or gets none: the window opens, and its tag may be reused.
    pub(super) fn settle(&mut self, id: TaskId) {
        self.slab.forget_tag(id);
        let Some(task) = self.slab.get_mut(id) else { return };
        if std::mem::take(&mut task.counted) {
            self.window.widen();
        }
    }

    /// The owner or the initiator has released a task: requests that wait for it continue.
    pub(super) fn release(&mut self, id: TaskId) {
        self.free_slot(id);
        self.wake();
        self.reopen_window();
        self.check_over();
    }

    /// Frees a task's slot once both ends have released it, and notifies requests that wait for the owner.
    pub(super) fn free_slot(&mut self, id: TaskId) {
        let Some(task) = self.slab.get_mut(id).filter(|task| !task.owned) else { return };
        let waits = std::mem::take(&mut task.waits);
        if task.is_silent() {
            let immediate = task.request.immediate;
            self.settle(id);
            self.slab.remove(id);
            self.immediate -= u16::from(immediate);
        }
        self.release_waits(waits);
    }

    /// If the initiator last saw a closed window and has no outstanding command whose answer could reopen it, sends
    /// it the open window (RFC 7143, section 4.2.2.1).
    fn reopen_window(&mut self) {
        let closed = self.told_last.wrapping_add(1) == self.window.expected();
        if !closed || self.told_last == self.window.last() {
            return;
        }
        let answers = |task: &Task| !matches!(task.phase, TaskPhase::Done | TaskPhase::Dropped);
        if (0..self.slab.slots())
            .any(|slot| self.slab.at(slot).and_then(|id| self.slab.get(id)).is_some_and(answers))
        {
            return;
        }
        if let Some(conn) = self.conns.iter_mut().flatten().find(|conn| conn.is_open()) {
            conn.control.push_back(ControlPdu::Ping { transfer_tag: RESERVED_TAG });
            self.told_last = self.window.last();
        }
    }

    /// The socket of a connection is closed or lost, also after [`Out::Close`](super::Out::Close). Output that was
    /// handed out and not sent counts as sent, so [`Session::finished`] is due for it.
    pub fn lost(&mut self, conn: ConnId) {
        if self.conn(conn).is_none() {
            return;
        }
        self.shut(conn, CloseReason::Lost);
        self.discard_waits(conn);
        for slot in 0..self.slab.slots() {
            let Some(id) = self.slab.at(slot) else { continue };
            let task = self.slab.get_mut(id).filter(|task| task.request.conn == conn);
            // An end that was to be handed out becomes an event instead.
            if task.is_some_and(|task| std::mem::take(&mut task.ends)) {
                self.events.push_back(Event::Gone(id));
            }
        }
        self.conns[conn.index()] = None;
        // A session ends with its last connection, even if the owner has work to finish.
        self.ending |= self.conns.iter().all(Option::is_none);
        self.wake();
        self.reopen_window();
        self.check_over();
    }

    /// Ends a connection from the target's side: drops its tasks, sends its other output, then
    /// [`Out::Close`](super::Out::Close).
    pub fn close(&mut self, conn: ConnId) {
        self.shut(conn, CloseReason::Target);
    }

    /// Ends all connections from the target's side and accepts no new ones: for reinstatement, a cold reset, or the
    /// target's shutdown. [`Event::Over`] follows when the owner has also finished all tasks.
    pub fn close_all(&mut self) {
        self.ending = true;
        for conn in self.ids() {
            self.shut(conn, CloseReason::Target);
        }
        self.check_over();
    }

    /// Stops reading a connection and drops its tasks.
    pub(super) fn shut(&mut self, id: ConnId, why: CloseReason) {
        let Some(conn) = self.conn_mut(id) else { return };
        if !conn.is_open() {
            return;
        }
        conn.closing = CloseState::Flush;
        conn.reading = ReceiveState::Shut;
        conn.text = Default::default();
        if conn.held.take().is_some() {
            self.held -= 1;
        }
        self.events.push_back(Event::Closed { conn: id, why });
        self.drop_where(|_, task| task.request.conn == id, 0);
    }

    pub(super) fn violate(&mut self, conn: ConnId, violation: Violation) {
        self.shut(conn, CloseReason::Violation(violation));
    }

    /// Drops tasks of this session that another session's function affects (CLEAR TASK SET, LOGICAL UNIT RESET and
    /// the target resets). Each task that the owner works on becomes [`Event::Gone`]. With `ending` (TASK ABORTED,
    /// for TAS in the control mode page) the initiator gets that status for each. Returns how many tasks the owner
    /// must finish before the function is complete.
    pub fn abort(&mut self, scope: TaskScope, ending: Option<Ending>) -> usize {
        let within = |_, task: &Task| scope.holds(task);
        match ending {
            None => _ = self.drop_where(within, 0),
            Some(ending) => self.fail_where(within, ending),
        }
        self.running(scope)
    }

    /// Tasks within a scope that have ended for the initiator while the owner still works on them.
    pub fn running(&self, scope: TaskScope) -> usize {
        let over =
            |task: &&Task| task.phase != TaskPhase::Open && task.running && scope.holds(task);
        (0..self.slab.slots())
            .filter_map(|slot| self.slab.at(slot).and_then(|id| self.slab.get(id)))
            .filter(over)
            .count()
    }

    /// The ids of all connections.
    pub fn ids(&self) -> Vec<ConnId> {
        self.connections().map(|(id, _)| id).collect()
    }

    /// Whether no connections and no tasks are left.
    pub fn is_over(&self) -> bool {
        self.slab.is_empty() && self.conns.iter().all(Option::is_none)
    }

    fn check_over(&mut self) {
        if self.is_over() && !self.over {
            self.over = true;
            self.ending = true;
            self.events.push_back(Event::Over);
        }
    }

    pub(super) fn end_session(&mut self) {
        self.ending = true;
    }

    pub(super) fn connections(&self) -> impl Iterator<Item = (ConnId, &Connection)> {
        let all = self.conns.iter().enumerate();
        all.filter_map(|(at, conn)| conn.as_deref().map(|conn| (ConnId(at as u8), conn)))
    }

    pub(super) fn conn(&self, id: ConnId) -> Option<&Connection> {
        self.conns.get(id.index())?.as_deref()
    }

    pub(super) fn conn_mut(&mut self, id: ConnId) -> Option<&mut Connection> {
        self.conns.get_mut(id.index())?.as_deref_mut()
    }

    /// Notifies the owner that a stalled connection may continue.
    pub(super) fn resume(&mut self, id: ConnId) {
        if self.conn(id).is_some_and(|conn| conn.stalled) && self.wanted(id) != Want::Nothing {
            if let Some(conn) = self.conn_mut(id) {
                conn.stalled = false;
            }
            self.events.push_back(Event::Resume(id));
        }
    }
}

impl TaskScope {
    pub(super) fn holds(self, task: &Task) -> bool {
        match self {
            TaskScope::All => true,
            TaskScope::Lun(lun) => task.request.lun == lun,
        }
    }
}

//! Task management and logout (RFC 7143, sections 4.2.3, 11.5, 11.6, 11.14 and 11.15): drops tasks, and answers once
//! all work on them has ended.
//!
//! The RFC has the target of an abort wait until outstanding R2Ts have been answered, so that their tags can be
//! reused. Here a tag holds the generation of its task: late data matches no task and is dropped, so there is nothing
//! to wait for. (Some initiators never send such data.)

use super::connection::{CloseState, ControlPdu};
use super::session::Session;
use super::task::{Task, TaskPhase};
use super::types::{CloseReason, ConnId, Event, Management, RequestHandle, TaskId, TaskScope};
use crate::pdu::{
    LogoutOutcome, LogoutReason, LogoutRequest, TaskFunction, TaskOutcome, TaskRequest, precedes,
};
use crate::scsi::{Ending, Sense, SenseKey};

/// INTERNAL TARGET FAILURE: the owner discarded a task without an answer.
pub(super) const GIVEN_UP: Ending = Ending::check(Sense::new(SenseKey::HardwareError, 0x4400));

const PLACES: usize = 16;
/// Slots for task management; the others are for logouts.
const FUNCTIONS: usize = 8;

#[derive(Clone, Copy)]
enum PendingKind {
    /// A function, and its outcome once the owner has reported it.
    Function(Option<TaskOutcome>),
    /// A logout.
    Logout,
}

#[derive(Clone, Copy)]
struct PendingRequest {
    generation: u32,
    conn: ConnId,
    tag: u32,
    what: PendingKind,
    /// Tasks that the owner still works on.
    left: u16,
}

/// Requests that wait for the end of tasks.
#[derive(Default)]
pub(super) struct PendingRequests {
    places: [Option<PendingRequest>; PLACES],
    generation: u32,
}

impl PendingRequests {
    fn insert(&mut self, conn: ConnId, tag: u32, what: PendingKind) -> Option<usize> {
        let range = match what {
            PendingKind::Function(_) => 0..FUNCTIONS,
            PendingKind::Logout => FUNCTIONS..PLACES,
        };
        let place = range.into_iter().find(|&at| self.places[at].is_none())?;
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        self.places[place] = Some(PendingRequest { generation, conn, tag, what, left: 0 });
        Some(place)
    }

    fn handle(&self, place: usize) -> RequestHandle {
        let generation = self.places[place].map_or(0, |wait| wait.generation);
        RequestHandle { slot: place as u8, generation }
    }

    fn of(&mut self, handle: RequestHandle) -> Option<&mut PendingRequest> {
        let wait = self.places.get_mut(usize::from(handle.slot))?.as_mut()?;
        (wait.generation == handle.generation).then_some(wait)
    }

    fn set_left(&mut self, place: usize, left: u16) {
        if let Some(wait) = &mut self.places[place] {
            wait.left = left;
        }
    }
}

/// Whether a task was sent before a function with this number; only such tasks are affected (RFC 7143, section
/// 11.5.1). An immediate command carries the number of the next non-immediate one.
fn is_before(task: &Task, number: u32) -> bool {
    precedes(task.request.cmd_sn, number)
        || (task.request.immediate && task.request.cmd_sn == number)
}

impl Session {
    pub(super) fn manage(&mut self, id: ConnId, request: &TaskRequest) {
        let function = request.function;
        let scope = match function {
            TaskFunction::AbortTask => return self.abort_task(id, request),
            TaskFunction::AbortTaskSet
            | TaskFunction::ClearTaskSet
            | TaskFunction::LogicalUnitReset => TaskScope::Lun(request.lun),
            TaskFunction::TargetWarmReset | TaskFunction::TargetColdReset => {
                // Earlier commands that have not arrived are affected too: they count as received (4.2.3.3).
                self.window.plug(self.window.expected(), request.cmd_sn);
                TaskScope::All
            }
            TaskFunction::TaskReassign => {
                return self.answer_function(id, request.task_tag, TaskOutcome::NoReassignment);
            }
            _ => return self.answer_function(id, request.task_tag, TaskOutcome::NotSupported),
        };
        let (number, within) = (request.cmd_sn, |task: &Task| scope.holds(task));
        self.begin_function(id, request, None, |_, task| within(task) && is_before(task, number));
    }

    fn abort_task(&mut self, id: ConnId, request: &TaskRequest) {
        let found =
            self.slab.by_tag(request.referenced_tag).or_else(|| self.ended_but_in_use(request));
        let found = found.filter(|&id| self.task(id).is_some_and(|task| task.lun == request.lun));
        if let Some(found) = found {
            return self.begin_function(id, request, Some(found), |id, _| id == found);
        }
        // Section 11.6.1: a command that has not arrived counts as received, and is aborted by never being executed.
        let number = request.ref_cmd_sn;
        let to_come = self.window.contains(number) && precedes(number, request.cmd_sn);
        if to_come {
            self.window.plug(number, number.wrapping_add(1));
        }
        let outcome = if to_come { TaskOutcome::Complete } else { TaskOutcome::NoTask };
        self.answer_function(id, request.task_tag, outcome);
    }

    /// A task that another function has ended while the owner still works on it: this abort waits for it too.
    fn ended_but_in_use(&self, request: &TaskRequest) -> Option<TaskId> {
        let meant = |task: &Task| task.running && task.request.tag == request.referenced_tag;
        let mut all = (0..self.slab.slots()).filter_map(|slot| self.slab.at(slot));
        all.find(|&id| self.slab.get(id).is_some_and(meant))
    }

    fn begin_function(
        &mut self,
        id: ConnId,
        request: &TaskRequest,
        task: Option<TaskId>,
        within: impl Fn(TaskId, &Task) -> bool,
    ) {
        let Some(place) = self.pending.insert(id, request.task_tag, PendingKind::Function(None))
        else {
            return self.answer_function(id, request.task_tag, TaskOutcome::Rejected);
        };
        let left = self.drop_where(within, 1 << place);
        self.pending.set_left(place, left);
        let handle = self.pending.handle(place);
        let (function, lun) = (request.function, request.lun);
        self.events.push_back(Event::Manage(Management { handle, function, lun, task }));
    }

    fn answer_function(&mut self, id: ConnId, tag: u32, outcome: TaskOutcome) {
        if let Some(conn) = self.conn_mut(id) {
            conn.control.push_back(ControlPdu::Managed { tag, outcome });
        }
    }

    /// Answers a task management function, after the owner has finished all affected tasks of this session.
    pub fn managed(&mut self, handle: RequestHandle, outcome: TaskOutcome) {
        let Some(wait) = self.pending.of(handle) else { return };
        if let PendingKind::Function(answer @ None) = &mut wait.what {
            *answer = Some(outcome);
        }
        self.finish_wait(usize::from(handle.slot));
    }

    pub(super) fn logout(&mut self, id: ConnId, request: &LogoutRequest) {
        let tag = request.task_tag;
        let session = request.reason == LogoutReason::CloseSession;
        let which = if session { Some(id) } else { self.connection(request.cid) };
        let refusal = match (request.reason, which) {
            (LogoutReason::RemoveForRecovery, _) => Some(LogoutOutcome::NoRecovery),
            (_, None) => Some(LogoutOutcome::NoConnection),
            _ => None,
        };
        let place = match refusal {
            None => self.pending.insert(id, tag, PendingKind::Logout),
            Some(_) => None,
        };
        let (Some(place), Some(which)) = (place, which) else {
            let outcome = refusal.unwrap_or(LogoutOutcome::CleanupFailed);
            if let Some(conn) = self.conn_mut(id) {
                conn.control.push_back(ControlPdu::Logout { tag, outcome });
            }
            return;
        };
        if session {
            self.end_session();
        }
        for other in self.ids().into_iter().filter(|&other| session || other == which) {
            self.shut(other, CloseReason::Logout(request.reason));
            if let Some(conn) = self.conn_mut(other).filter(|_| other == id) {
                conn.closing = CloseState::Logout;
            }
        }
        let left = self.drop_where(|_, task| session || task.request.conn == which, 1 << place);
        self.pending.set_left(place, left);
        self.finish_wait(place);
    }

    /// The pending requests in `waits` (one bit each) wait for one task less.
    pub(super) fn release_waits(&mut self, waits: u16) {
        for place in (0..PLACES).filter(|place| waits & 1 << place != 0) {
            if let Some(wait) = &mut self.pending.places[place] {
                wait.left = wait.left.saturating_sub(1);
            }
            self.finish_wait(place);
        }
    }

    /// Answers a function or logout if it has nothing left to wait for.
    fn finish_wait(&mut self, place: usize) {
        let Some(wait) = self.pending.places[place].filter(|wait| wait.left == 0) else { return };
        let tag = wait.tag;
        let answer = match wait.what {
            PendingKind::Function(None) => return,
            PendingKind::Function(Some(outcome)) => ControlPdu::Managed { tag, outcome },
            PendingKind::Logout => ControlPdu::Logout { tag, outcome: LogoutOutcome::Closed },
        };
        self.pending.places[place] = None;
        let Some(conn) = self.conn_mut(wait.conn) else { return };
        conn.control.push_back(answer);
        if conn.closing == CloseState::Logout {
            conn.closing = CloseState::Flush;
        }
    }

    /// Discards requests on this connection: their answers can no longer be sent.
    pub(super) fn discard_waits(&mut self, id: ConnId) {
        let mut gone = 0;
        for (at, place) in self.pending.places.iter_mut().enumerate() {
            if place.is_some_and(|wait| wait.conn == id) {
                *place = None;
                gone |= 1 << at;
            }
        }
        for slot in 0..self.slab.slots() {
            let task = self.slab.at(slot).and_then(|id| self.slab.get_mut(id));
            if let Some(task) = task {
                task.waits &= !gone;
            }
        }
    }

    /// Drops tasks. Returns how many the owner still works on; those record `waits`, the requests that wait for them.
    pub(super) fn drop_where(&mut self, within: impl Fn(TaskId, &Task) -> bool, waits: u16) -> u16 {
        let mut left = 0;
        for slot in 0..self.slab.slots() {
            let Some(id) = self.slab.at(slot) else { continue };
            if self.slab.get(id).is_some_and(|task| within(id, task)) {
                self.drop_task(id);
                if let Some(task) = self.slab.get_mut(id).filter(|task| task.running) {
                    task.waits |= waits;
                    left += 1;
                }
                self.free_slot(id);
            }
        }
        left
    }

    fn drop_task(&mut self, id: TaskId) {
        let Some(task) = self.slab.get_mut(id) else { return };
        let conn = task.request.conn;
        match task.phase {
            TaskPhase::Done | TaskPhase::Dropped => return,
            TaskPhase::Open => {
                task.phase = TaskPhase::Dropped;
                self.dequeue(id);
                self.events.push_back(Event::Gone(id));
            }
            TaskPhase::Failed => {
                task.phase = TaskPhase::Dropped;
                self.dequeue(id);
            }
            // Data handed out for it may not have been sent: its end is queued behind that.
            TaskPhase::Answered => {
                task.phase = TaskPhase::Dropped;
                self.enqueue(id);
            }
        }
        self.slab.forget_tag(id);
        self.resume(conn);
    }

    /// Ends tasks that are with the owner with a status.
    pub(super) fn fail_where(&mut self, within: impl Fn(TaskId, &Task) -> bool, ending: Ending) {
        for slot in 0..self.slab.slots() {
            let Some(id) = self.slab.at(slot) else { continue };
            let task = self.slab.get_mut(id).filter(|task| task.phase == TaskPhase::Open);
            let Some(task) = task.filter(|task| within(id, task)) else { continue };
            task.fail(ending);
            let conn = task.request.conn;
            self.dequeue(id);
            self.events.push_back(Event::Gone(id));
            self.queue_answer(id);
            self.resume(conn);
        }
    }
}

//! What the sessions of a worker share: the volumes' ring, alarms, scratch memory, sweeps in progress.

use super::connection::ConnectionKey;
use super::sanitize::Sanitizing;
use super::session::WorkerSession;
use crate::server::event::{DropReason, Peer, ServerEvent};
use crate::server::latency::TimedWay;
use crate::server::messages::{SweepId, ToAcceptor, Waiter};
use crate::server::shared::ServerShared;
use crate::volume::{FinishedCommand, Handle, VolumeExecutor};
use clock::Ns;
use iscsi::scsi::ScsiStatus;
use iscsi::target::{Out, TaskId, TaskScope};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// What is common to the sessions of a thread.
pub(super) struct Context {
    pub thread: usize,
    pub shared: Arc<ServerShared>,
    pub io: VolumeExecutor,
    /// The volumes as this thread holds them.
    pub volumes: Vec<Handle>,
    /// When this turn of the loop began.
    pub now: Ns,
    /// The ring has completions.
    pub ring_ready: bool,
    /// Sessions that may have something to send.
    pub dirty: Vec<u32>,
    /// Jobs of volumes that belong to no task any more.
    pub background: usize,
    /// Units that are being sanitized.
    pub sanitizing: Vec<Sanitizing>,
    pub pieces: Vec<libc::iovec>,
    pub outs: Vec<Out>,
    /// Tasks whose pieces left a queue, and whether it was the mark behind the last of them.
    pub gone: Vec<(TaskId, bool)>,
    /// Commands that were answered in this turn of the loop.
    pub timed: Vec<TimedCommand>,
    /// Lines that wait for their turn at a paced port.
    alarms: BinaryHeap<Reverse<(Ns, ConnectionKey)>>,
    /// Tasks that a limit holds up, by session, in the order in which they came.
    delayed: BinaryHeap<Reverse<(Ns, u64, u32, TaskId)>>,
    delays: u64,
    /// What this thread asked all threads to abort, and how many have not answered.
    pub asked: BTreeMap<u64, (Waiter, usize)>,
    pub next_ticket: u64,
    /// What this thread aborts for others: tasks that are still in use.
    pub sweeping: Vec<Sweeping>,
    /// Sessions that finished tasks since sweeps were last checked.
    pub recheck: Vec<u32>,
    next_serial: u32,
}

/// A command whose answer is with its socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedCommand {
    /// When it arrived.
    pub began: Ns,
    pub way: TimedWay,
    pub port: usize,
    pub unit: usize,
}

/// A sweep for which this thread still has work to end.
pub(super) struct Sweeping {
    pub id: SweepId,
    pub scope: TaskScope,
    /// The sessions that still work on tasks within it.
    pub sessions: Vec<u32>,
}

/// What a volume's job is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobToken {
    /// The task in a slot of a session.
    Task { session: u32, slot: u16 },
    /// Work that goes on after its command has ended.
    Background { unit: u32, sanitize: bool },
}

const BACKGROUND: u64 = 1 << 63;
const SANITIZE: u64 = 1 << 62;

impl JobToken {
    pub fn pack(self) -> u64 {
        match self {
            JobToken::Task { session, slot } => u64::from(session) << 16 | u64::from(slot),
            JobToken::Background { unit, sanitize } => {
                BACKGROUND | if sanitize { SANITIZE } else { 0 } | u64::from(unit)
            }
        }
    }

    pub fn unpack(token: u64) -> JobToken {
        if token & BACKGROUND == 0 {
            JobToken::Task { session: (token >> 16) as u32, slot: token as u16 }
        } else {
            JobToken::Background { unit: token as u32, sanitize: token & SANITIZE != 0 }
        }
    }
}

impl Context {
    pub fn new(thread: usize, shared: Arc<ServerShared>, io: VolumeExecutor) -> Context {
        let volumes = shared.volumes.iter().cloned().map(Handle::new).collect();
        Context {
            thread,
            shared,
            volumes,
            io,
            now: clock::now(),
            ring_ready: false,
            dirty: Vec::new(),
            background: 0,
            sanitizing: Vec::new(),
            pieces: Vec::new(),
            outs: Vec::new(),
            gone: Vec::new(),
            timed: Vec::new(),
            alarms: BinaryHeap::new(),
            delayed: BinaryHeap::new(),
            delays: 0,
            asked: BTreeMap::new(),
            next_ticket: 0,
            sweeping: Vec::new(),
            recheck: Vec::new(),
            next_serial: 0,
        }
    }

    /// Counts how long the commands took that were answered in this turn: one look at the clock for all of them.
    pub fn count_latencies(&mut self) {
        if self.timed.is_empty() {
            return;
        }
        let now = clock::now();
        for command in self.timed.drain(..) {
            let took = now.since(command.began);
            self.shared.ports[command.port].latency[self.thread].record(command.way, took);
            self.shared.latency[command.unit][self.thread].record(command.way, took);
        }
    }

    /// A number that no line of this thread has.
    pub fn serial(&mut self) -> u32 {
        self.next_serial = self.next_serial.wrapping_add(1);
        self.next_serial
    }

    /// A session may have something to send.
    pub fn mark(&mut self, session: &mut WorkerSession) {
        if !std::mem::replace(&mut session.dirty, true) {
            self.dirty.push(session.key);
        }
    }

    /// Looks at a line again at a moment.
    pub fn wake_at(&mut self, at: Ns, key: ConnectionKey) {
        self.alarms.push(Reverse((at, key)));
    }

    /// Holds up a task until a moment.
    pub fn delay(&mut self, at: Ns, session: u32, task: TaskId) {
        self.delays += 1;
        self.delayed.push(Reverse((at, self.delays, session, task)));
    }

    /// When the next connection or task is due.
    pub fn next_alarm(&self) -> Ns {
        let line = self.alarms.peek().map_or(Ns::MAX, |Reverse((at, _))| *at);
        self.delayed.peek().map_or(line, |Reverse((at, ..))| line.min(*at))
    }

    /// A line whose moment has come.
    pub fn due(&mut self, now: Ns) -> Option<ConnectionKey> {
        self.alarms.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.alarms.pop().map(|Reverse((_, key))| key)
    }

    /// A task that has been held up long enough, with its session and its moment.
    pub fn due_task(&mut self) -> Option<(u32, TaskId, Ns)> {
        self.delayed.peek().filter(|Reverse((at, ..))| *at <= self.now)?;
        self.delayed.pop().map(|Reverse((at, _, session, task))| (session, task, at))
    }

    pub fn notify_acceptor(&self, message: ToAcceptor) {
        self.shared.acceptor.send(message);
    }

    /// A connection logged in to a session that had ended by then.
    pub fn lost_on_the_way(&self, peer: &Peer) {
        self.notify_acceptor(ToAcceptor::ConnectionEnded { tsih: peer.tsih, cid: peer.cid });
        self.shared.listener.notify(ServerEvent::Dropped(peer.clone(), DropReason::Reinstated));
    }

    /// Work that goes on after its command has ended is over.
    pub fn background_done(&mut self, unit: u32, sanitize: bool, done: &FinishedCommand) {
        self.background -= 1;
        if sanitize {
            self.sanitize_ended(unit, done.ending.status == ScsiStatus::Good);
        }
    }
}

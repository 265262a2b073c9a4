//! One session on its thread: the protocol state machine, its connections, its tasks, and its access to each unit.

use super::connection::{ConnectionKey, TargetConnection};
use super::context::Context;
use crate::server::event::{DropReason, ServerEvent};
use crate::server::latency::TimedWay;
use crate::server::messages::{NewConnection, NewSession, ToAcceptor};
use crate::server::poll::Poll;
use crate::volume::{Data, UnitOrder};
use clock::Ns;
use iscsi::scsi::{Medium, Nexus, NexusView};
use iscsi::target::{ConnId, Limits, Notice, Session, TaskId};
use rustix::fd::AsFd;
use std::collections::VecDeque;

/// A session at its thread.
pub(super) struct WorkerSession {
    /// Its place among those of its thread.
    pub key: u32,
    pub tsih: u16,
    /// It may only ask for targets.
    pub discovery: bool,
    /// The device server knows that the nexus is lost.
    pub parted: bool,
    /// When it began.
    pub began: Ns,
    pub protocol: Session,
    pub nexus: Nexus,
    pub connections: [Option<Box<TargetConnection>>; ConnId::MOST],
    /// By the slot of the task.
    pub tasks: Vec<TaskSlot>,
    /// By the number of the logical unit.
    pub views: Vec<NexusView>,
    /// Tasks that wait for those before them, because they, or some before them, are ordered.
    pub held: VecDeque<TaskId>,
    /// Ordered tasks under way.
    pub ordered: usize,
    /// Held tasks are being looked through.
    pub releasing: bool,
    /// It is on the list of those that may have something to send.
    pub dirty: bool,
    /// The protocol's machine is done with it.
    pub over: bool,
}

/// Where a task stands.
#[derive(Debug, Default)]
pub(super) enum TaskStage {
    /// It is being decided what to do, or it has been answered.
    #[default]
    Idle,
    /// Blocks come from the initiator, for this.
    Taking(Medium),
    /// Data comes from the initiator, of which nothing can be done.
    Refusing,
    /// Parameters come from the initiator.
    Parameters,
    /// All is there, but it is not its turn.
    Held(Medium),
    /// It is its turn, but a limit holds it up until then.
    Delayed(Medium, Ns),
    /// A volume is at it.
    Running,
    /// Others have something to do before it can end.
    Waiting,
    /// Its unit is being sanitized, which goes on without it.
    Sanitizing,
}

/// What is known of a task, by its slot.
#[derive(Default)]
pub(super) struct TaskSlot {
    /// The task that is there.
    pub id: Option<TaskId>,
    pub phase: TaskStage,
    pub data: Data,
    /// The index of the unit, if there is one.
    pub unit: Option<usize>,
    /// The index of the portal it arrived at.
    pub port: usize,
    /// Bytes that SCSI would move to the initiator; what a volume brings is an answer only where it is not zero.
    pub wanted: u32,
    /// The list identifier of an EXTENDED COPY, whose result is stored.
    pub copy: Option<u8>,
    /// Pieces of its data that wait to be sent.
    pub queued: u32,
    /// It is an ordered task that has not been answered.
    pub ordered: bool,
    /// When it arrived.
    pub began: Ns,
    /// What it is if its latency counts: set once a volume reads or writes for it.
    pub way: Option<TimedWay>,
    /// It has been answered, and not aborted.
    pub answered: bool,
    /// The session is done with it.
    pub over: bool,
}

impl TaskSlot {
    /// Whether it is unused.
    pub fn is_idle(&self) -> bool {
        self.over
            && self.queued == 0
            && !matches!(self.phase, TaskStage::Running | TaskStage::Waiting)
    }
}

impl WorkerSession {
    pub fn new(ctx: &Context, new: &NewSession) -> WorkerSession {
        let nexus = new.nexus.clone();
        let window = u16::try_from(ctx.shared.limits.commands).unwrap_or(u16::MAX);
        let protocol = Session::new(new.params, Limits { window, ..Limits::default() }, new.cmd_sn);
        let views = ctx
            .shared
            .device
            .units()
            .iter()
            .map(|unit| NexusView { generation: 0, ..unit.view(&nexus) });
        WorkerSession {
            key: 0,
            tsih: new.first.peer.tsih,
            discovery: new.discovery,
            parted: false,
            began: ctx.now,
            tasks: std::iter::repeat_with(TaskSlot::default).take(protocol.slots()).collect(),
            views: views.collect(),
            protocol,
            nexus,
            connections: Default::default(),
            held: VecDeque::new(),
            ordered: 0,
            releasing: false,
            dirty: false,
            over: false,
        }
    }

    /// A line, if it is still the one that was meant.
    pub fn connection(&mut self, key: ConnectionKey) -> Option<&mut TargetConnection> {
        let connection = self.connections.get_mut(usize::from(key.conn))?.as_deref_mut()?;
        (connection.serial == key.serial).then_some(connection)
    }

    /// The keys of all its lines.
    pub fn keys(&self) -> Vec<ConnectionKey> {
        self.connections.iter().flatten().map(|connection| connection.key(self.key)).collect()
    }

    /// Takes in a connection that has logged in; where to look at it from now on.
    pub fn add(
        &mut self,
        ctx: &mut Context,
        poll: &Poll,
        new: NewConnection,
    ) -> Result<ConnectionKey, String> {
        let conn = self.protocol.attach(new.params).map_err(|refused| refused.to_string())?;
        let connection = Box::new(TargetConnection::new(ctx.serial(), conn, new, ctx.now));
        let key = connection.key(self.key);
        if let Err(error) = poll.watch_edges(connection.socket.as_fd(), key.pack()) {
            self.protocol.lost(conn);
            return Err(error.to_string());
        }
        connection.port.cell(ctx.thread).opened.add(1);
        self.connections[conn.index()] = Some(connection);
        Ok(key)
    }

    /// Closes a connection: its socket, what waited to be sent, and its tasks.
    pub fn drop_connection(&mut self, ctx: &mut Context, at: usize, why: Option<DropReason>) {
        let Some(mut connection) = self.connections[at].take() else { return };
        connection.port.cell(ctx.thread).closed.add(1);
        connection.allowed_in.idle(&connection.port.pace_in);
        connection.allowed_out.idle(&connection.port.pace_out);
        ctx.notify_acceptor(ToAcceptor::ConnectionEnded {
            tsih: self.tsih,
            cid: connection.peer.cid,
        });
        let peer = connection.peer.clone();
        ctx.shared.listener.notify(match why {
            Some(why) => ServerEvent::Dropped(peer, why),
            None => ServerEvent::Logout(peer),
        });
        // What waited will never be sent.
        let unsent = connection.output.clear();
        for piece in unsent {
            self.unqueue(ctx, piece);
        }
        self.protocol.lost(connection.conn);
        self.events(ctx);
        ctx.mark(self);
    }

    /// Closes all connections; no others join.
    pub fn drop_all(&mut self, ctx: &mut Context, why: &DropReason) {
        self.protocol.close_all();
        for at in 0..self.connections.len() {
            self.drop_connection(ctx, at, Some(why.clone()));
        }
        self.events(ctx);
    }

    /// Closes the connection with this CID; whether there was one.
    pub fn drop_cid(&mut self, ctx: &mut Context, cid: u16, why: &DropReason) -> bool {
        let Some(conn) = self.protocol.connection(cid) else { return false };
        let there = self.connections[conn.index()].is_some();
        self.drop_connection(ctx, conn.index(), Some(why.clone()));
        there
    }

    /// Closes the connections that came by a portal.
    pub fn drop_port(&mut self, ctx: &mut Context, index: usize) {
        for at in 0..self.connections.len() {
            if self.connections[at]
                .as_ref()
                .is_some_and(|connection| connection.port.index == index)
            {
                self.drop_connection(ctx, at, Some(DropReason::PortalDown));
            }
        }
    }

    /// Asks the initiator to log out, since the target stops.
    pub fn ask_to_leave(&mut self, ctx: &mut Context) {
        let within = u16::try_from(ctx.shared.limits.stop_time.as_secs()).unwrap_or(u16::MAX);
        for conn in self.protocol.ids() {
            // A connection on which too much waits to be sent is closed without notice.
            let _ = self.protocol.notify(conn, Notice::RequestLogout { within: within.max(1) });
        }
        ctx.mark(self);
    }

    /// Tells the device server, once, that the nexus is lost.
    pub fn part(&mut self, ctx: &Context) {
        if !self.discovery && !std::mem::replace(&mut self.parted, true) {
            ctx.shared.device.leave(&self.nexus);
            for unit in ctx.shared.volumes.iter().filter_map(|volume| volume.tape()) {
                unit.order(UnitOrder::Leave(self.nexus.clone()));
            }
        }
    }

    /// Whether nothing of it is in use any more.
    pub fn may_go(&self) -> bool {
        self.over && self.connections.iter().all(Option::is_none)
    }
}

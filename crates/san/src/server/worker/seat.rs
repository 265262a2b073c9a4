//! One session on its thread: the protocol's machine, its connections, its tasks, and what it may do to each unit.

use super::bench::Bench;
use super::line::{Line, LineKey};
use crate::server::event::{Drop, Event};
use crate::server::letters::{NewConnection, NewSession, ToDoor};
use crate::server::poll::Poll;
use crate::volume::Data;
use clock::Ns;
use iscsi::scsi::{Medium, Nexus, NexusView};
use iscsi::target::{ConnId, Limits, Notice, Session, TaskId};
use rustix::fd::AsFd;
use std::collections::VecDeque;

/// A session at its thread.
pub(super) struct Seat {
    /// Its place among those of its thread.
    pub key: u32,
    pub tsih: u16,
    /// It may only ask for targets.
    pub discovery: bool,
    /// The device server knows that the nexus is lost.
    pub parted: bool,
    /// When it began.
    pub began: Ns,
    pub session: Session,
    pub nexus: Nexus,
    pub lines: [Option<Box<Line>>; ConnId::MOST],
    /// By the slot of the task.
    pub tasks: Vec<Place>,
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
pub(super) enum Phase {
    /// It is being decided what to do, or it has been answered.
    #[default]
    Idle,
    /// Blocks come from the initiator, for this.
    Taking(Medium),
    /// Parameters come from the initiator.
    Parameters,
    /// All is there, but it is not its turn.
    Held(Medium),
    /// A volume is at it.
    Running,
    /// Others have something to do before it can end.
    Waiting,
    /// Its unit is being sanitized, which goes on without it.
    Sanitizing,
}

/// What is known of a task, by its slot.
#[derive(Default)]
pub(super) struct Place {
    /// The task that is there.
    pub id: Option<TaskId>,
    pub phase: Phase,
    pub data: Data,
    /// The index of the unit, if there is one.
    pub unit: Option<usize>,
    /// The portal by which it came, as an index.
    pub port: usize,
    /// Bytes that SCSI would move to the initiator; what a volume brings is an answer only where it is not zero.
    pub wanted: u32,
    /// The list identifier of an EXTENDED COPY, to be told how it ended.
    pub copy: Option<u8>,
    /// Pieces of its data that wait to be sent.
    pub queued: u32,
    /// It is an ordered task that has not been answered.
    pub ordered: bool,
    /// The session is done with it.
    pub over: bool,
}

impl Place {
    /// Whether nobody touches it any more.
    pub fn is_idle(&self) -> bool {
        self.over && self.queued == 0 && !matches!(self.phase, Phase::Running | Phase::Waiting)
    }
}

impl Seat {
    pub fn new(bench: &Bench, new: &NewSession) -> Seat {
        let nexus = new.nexus.clone();
        let window = u16::try_from(bench.shared.limits.commands).unwrap_or(u16::MAX);
        let session = Session::new(new.params, Limits { window, ..Limits::default() }, new.cmd_sn);
        let views = bench
            .shared
            .device
            .units()
            .iter()
            .map(|unit| NexusView { generation: 0, ..unit.view(&nexus) });
        Seat {
            key: 0,
            tsih: new.first.peer.tsih,
            discovery: new.discovery,
            parted: false,
            began: bench.now,
            tasks: std::iter::repeat_with(Place::default).take(session.slots()).collect(),
            views: views.collect(),
            session,
            nexus,
            lines: Default::default(),
            held: VecDeque::new(),
            ordered: 0,
            releasing: false,
            dirty: false,
            over: false,
        }
    }

    /// A line, if it is still the one that was meant.
    pub fn line(&mut self, key: LineKey) -> Option<&mut Line> {
        let line = self.lines.get_mut(usize::from(key.conn))?.as_deref_mut()?;
        (line.serial == key.serial).then_some(line)
    }

    /// The keys of all its lines.
    pub fn keys(&self) -> Vec<LineKey> {
        self.lines.iter().flatten().map(|line| line.key(self.key)).collect()
    }

    /// Takes in a connection that has logged in; where to look at it from now on.
    pub fn add(
        &mut self,
        bench: &mut Bench,
        poll: &Poll,
        new: NewConnection,
    ) -> Result<LineKey, String> {
        let conn = self.session.attach(new.params).map_err(|refused| refused.to_string())?;
        let line = Box::new(Line::new(bench.serial(), conn, new, bench.now));
        let key = line.key(self.key);
        if let Err(error) = poll.watch_edges(line.socket.as_fd(), key.pack()) {
            self.session.lost(conn);
            return Err(error.to_string());
        }
        line.port.cell(bench.thread).opened.add(1);
        self.lines[conn.index()] = Some(line);
        Ok(key)
    }

    /// Closes a connection: its socket, what waited to be sent, and its tasks.
    pub fn drop_line(&mut self, bench: &mut Bench, at: usize, why: Option<Drop>) {
        let Some(mut line) = self.lines[at].take() else { return };
        line.port.cell(bench.thread).closed.add(1);
        line.allowed_in.idle(&line.port.pace_in);
        line.allowed_out.idle(&line.port.pace_out);
        bench.tell_door(ToDoor::ConnectionEnded { tsih: self.tsih, cid: line.peer.cid });
        let peer = line.peer.clone();
        bench.shared.listener.tell(match why {
            Some(why) => Event::Dropped(peer, why),
            None => Event::Logout(peer),
        });
        // What waited will never be sent.
        let unsent = line.output.clear();
        for piece in unsent {
            self.unqueue(bench, piece);
        }
        self.session.lost(line.conn);
        self.events(bench);
        bench.mark(self);
    }

    /// Closes all connections; no others join.
    pub fn drop_all(&mut self, bench: &mut Bench, why: &Drop) {
        self.session.close_all();
        for at in 0..self.lines.len() {
            self.drop_line(bench, at, Some(why.clone()));
        }
        self.events(bench);
    }

    /// Closes the connection with this CID; whether there was one.
    pub fn drop_cid(&mut self, bench: &mut Bench, cid: u16, why: &Drop) -> bool {
        let Some(conn) = self.session.connection(cid) else { return false };
        let there = self.lines[conn.index()].is_some();
        self.drop_line(bench, conn.index(), Some(why.clone()));
        there
    }

    /// Closes the connections that came by a portal.
    pub fn drop_port(&mut self, bench: &mut Bench, index: usize) {
        for at in 0..self.lines.len() {
            if self.lines[at].as_ref().is_some_and(|line| line.port.index == index) {
                self.drop_line(bench, at, Some(Drop::PortalDown));
            }
        }
    }

    /// Asks the initiator to log out, since the target stops.
    pub fn ask_to_leave(&mut self, bench: &mut Bench) {
        let within = u16::try_from(bench.shared.limits.stop_time.as_secs()).unwrap_or(u16::MAX);
        for conn in self.session.ids() {
            // A connection on which too much waits to be sent is closed without notice.
            let _ = self.session.notify(conn, Notice::RequestLogout { within: within.max(1) });
        }
        bench.mark(self);
    }

    /// Tells the device server, once, that the nexus is lost.
    pub fn part(&mut self, bench: &Bench) {
        if !self.discovery && !std::mem::replace(&mut self.parted, true) {
            bench.shared.device.leave(&self.nexus);
        }
    }

    /// Whether nothing of it is in use any more.
    pub fn may_go(&self) -> bool {
        self.over && self.lines.iter().all(Option::is_none)
    }
}

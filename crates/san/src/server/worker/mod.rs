//! A worker thread: the sessions that it owns, their sockets, and the commands that it carries out for them.
//!
//! Each turn of its loop takes everything that has come, decides and carries out all commands in it, hands the kernel all
//! I/O on files and devices in one call, and then sends all answers, one call a connection. It waits only in epoll.

mod coalesce;
mod connection;
mod context;
mod describe;
mod execute;
mod input;
mod ordering;
mod output;
mod receive;
mod reset;
mod sanitize;
mod send;
mod session;
mod spin;
mod text;
mod ticker;

use super::event::{DropReason, ServerEvent};
use super::hold::Quota;
use super::mailbox::Mailbox;
use super::messages::{NewConnection, NewSession, ToAcceptor, ToWorker};
use super::poll::{Poll, Readable};
use super::shared::ServerShared;
use super::table::SlotTable;
use crate::volume::{FinishedCommand, IoConfig, VolumeExecutor};
use clock::Ns;
use connection::ConnectionKey;
use context::Context;
use session::WorkerSession;
use spin::Spin;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;

/// What the bell is watched as; no line has this key.
const BELL: u64 = u64::MAX;
/// What the ring of the volumes is watched as.
const RING: u64 = u64::MAX - 1;
/// Descriptors that one wait reports.
const BATCH: usize = 256;

/// One thread's part of the target.
pub(super) struct Worker {
    poll: Poll,
    mailbox: Mailbox<ToWorker>,
    sessions: SlotTable<WorkerSession>,
    ctx: Context,
    /// Lines that have something to do at once.
    active: Vec<ConnectionKey>,
    /// Those that are being read, and sessions that are being served, in this turn.
    reading: Vec<ConnectionKey>,
    read_last: Vec<ConnectionKey>,
    flushing: Vec<u32>,
    ready: Vec<Readable>,
    done: Vec<FinishedCommand>,
    spin: Spin,
    quota: Quota,
    ticks_at: Ns,
    /// Set once the target stops: when to wait no longer.
    stops_at: Option<Ns>,
}

impl Worker {
    /// Resources of a thread, made before it starts so that a failure can be reported.
    pub fn new(
        thread: usize,
        mailbox: Mailbox<ToWorker>,
        shared: &Arc<ServerShared>,
    ) -> io::Result<Worker> {
        let poll = Poll::new(BATCH)?;
        let names = shared.device.units().iter().map(|unit| *unit.designator());
        let volumes = names.zip(shared.volumes.iter().cloned()).collect();
        let io = VolumeExecutor::new(IoConfig {
            memory: shared.limits.data_bytes,
            volumes,
            ..IoConfig::default()
        })?;
        poll.watch_input(mailbox.bell().fd(), BELL)?;
        poll.watch_input(io.fd(), RING)?;
        Ok(Worker {
            poll,
            mailbox,
            sessions: SlotTable::new(),
            ctx: Context::new(thread, Arc::clone(shared), io),
            active: Vec::new(),
            reading: Vec::new(),
            read_last: Vec::new(),
            flushing: Vec::new(),
            ready: Vec::new(),
            done: Vec::new(),
            spin: Spin::new(shared.spin),
            quota: Quota::default(),
            ticks_at: Ns::ZERO,
            stops_at: None,
        })
    }

    /// Serves until it is stopped, and all sessions have ended or their time is up.
    pub fn run(mut self) {
        // Paced ports count in tens of microseconds. Where it is not possible they are somewhat coarser.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        self.ticks_at = clock::now().plus(ticker::PERIOD);
        while !self.is_over() {
            self.wait();
            self.take_letters();
            self.reap();
            self.sanitized();
            self.release_delayed();
            self.read();
            // A ring that refuses entries reports each of them as failed; there is nothing to be done about it here.
            self.ctx.io.submit();
            self.coalesce();
            self.settle();
            self.ctx.count_latencies();
            self.recheck();
            if self.ctx.now >= self.ticks_at {
                self.tick();
            }
            self.quota.rest(&self.ctx.shared.holds);
        }
    }

    /// Carries out what limits have held up until now.
    fn release_delayed(&mut self) {
        while let Some((session, task, at)) = self.ctx.due_task() {
            if let Some(session) = self.sessions.get_mut(session) {
                session.release_delayed(&mut self.ctx, task, at);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.stops_at.is_some() && self.sessions.len() == 0 && self.ctx.background == 0
    }

    /// Waits for something to do, and notes which lines it is about.
    fn wait(&mut self) {
        // Without alarms nothing depends on a timeout that is long by one turn of the loop.
        let now = if self.ctx.next_alarm() == Ns::MAX { self.ctx.now } else { clock::now() };
        let busy =
            !self.active.is_empty() || !self.ctx.dirty.is_empty() || self.mailbox.has_messages();
        let until = if busy { now } else { self.ctx.next_alarm().min(self.ticks_at) };
        if busy {
            self.poll(now, now);
            self.ctx.now = clock::now();
        } else {
            self.sleep(now, until);
        }
        for ready in self.ready.drain(..) {
            match ready.key {
                BELL => self.mailbox.bell().quiet(),
                RING => self.ctx.ring_ready = true,
                key => {
                    let key = ConnectionKey::unpack(key);
                    let Some(connection) = self
                        .sessions
                        .get_mut(key.session)
                        .and_then(|session| session.connection(key))
                    else {
                        continue;
                    };
                    connection.readable |= ready.readable;
                    connection.writable |= ready.writable;
                    connection.ended |= ready.ended;
                    self.active.push(key);
                }
            }
        }
        let now = self.ctx.now;
        while let Some(key) = self.ctx.due(now) {
            let Some(connection) =
                self.sessions.get_mut(key.session).and_then(|session| session.connection(key))
            else {
                continue;
            };
            (connection.alarm_in, connection.alarm_out) = (false, false);
            self.active.push(key);
        }
    }

    /// Waits, first with open eyes where that pays.
    fn sleep(&mut self, now: Ns, until: Ns) {
        if let Some(moment) = self.spin.until(now).filter(|_| !self.quota.is_set()) {
            let from = clock::now();
            let mut at = from;
            while at < moment && self.ready.is_empty() {
                self.poll(at, at);
                at = clock::now();
            }
            self.spin.looked(from, at);
            self.ctx.now = at;
            if !self.ready.is_empty() || at >= until {
                return self.spin.waited(from, at);
            }
        }
        self.poll(self.ctx.now, until);
        self.ctx.now = clock::now();
        self.spin.waited(now, self.ctx.now);
    }

    fn poll(&mut self, now: Ns, until: Ns) {
        if self.poll.wait(now, Some(until), &mut self.ready).is_err() {
            // Only a lack of kernel memory: the next turn tries again.
            self.ready.clear();
        }
    }

    /// Takes what volumes have finished.
    fn reap(&mut self) {
        if !std::mem::take(&mut self.ctx.ring_ready) {
            return;
        }
        let mut done = std::mem::take(&mut self.done);
        self.ctx.io.reap(&mut done);
        for done in done.drain(..) {
            match context::JobToken::unpack(done.token) {
                context::JobToken::Background { unit, sanitize } => {
                    self.ctx.background_done(unit, sanitize, &done)
                }
                context::JobToken::Task { session, slot } => {
                    let Some(session) = self.sessions.get_mut(session) else { continue };
                    session.done(&mut self.ctx, slot, done.ending, done.data);
                }
            }
        }
        self.done = done;
    }

    /// Reads from every line that has something, and carries out what came.
    fn read(&mut self) {
        std::mem::swap(&mut self.active, &mut self.reading);
        self.read_last.clear();
        for key in self.reading.drain(..) {
            self.read_last.push(key);
            let Some(session) = self.sessions.get_mut(key.session) else { continue };
            if session.connection(key).is_some() && session.read(&mut self.ctx, key.conn) {
                self.active.push(key);
            }
            self.ctx.mark(session);
        }
    }

    /// Sends what there is to be sent, and carries out what becomes possible by it, until there is no more to do now.
    fn settle(&mut self) {
        // Each round sends at least a piece, answers a task or ends: the rest has its turn after other lines were read.
        for _ in 0..4 {
            if self.ctx.dirty.is_empty() {
                break;
            }
            std::mem::swap(&mut self.ctx.dirty, &mut self.flushing);
            for at in 0..self.flushing.len() {
                let key = self.flushing[at];
                let Some(session) = self.sessions.get_mut(key) else { continue };
                session.dirty = false;
                session.flush(&mut self.ctx, &mut self.active);
                if session.may_go() {
                    self.leave(key);
                }
            }
            self.flushing.clear();
            self.ctx.io.submit();
        }
    }

    /// A session is over: nothing of it is left but its name.
    fn leave(&mut self, key: u32) {
        let Some(mut session) = self.sessions.remove(key) else { return };
        session.part(&self.ctx);
        self.ctx.notify_acceptor(ToAcceptor::SessionEnded { tsih: session.tsih });
    }

    fn take_letters(&mut self) {
        for message in self.mailbox.take() {
            match message {
                ToWorker::Session(new) => self.begin(*new),
                ToWorker::Connection(new) => self.join(*new),
                ToWorker::EndSession { tsih, why } => self.each(|session, ctx| {
                    if session.tsih == tsih {
                        session.drop_all(ctx, &why);
                    }
                }),
                ToWorker::EndConnection { tsih, cid, why } => self.end_connection(tsih, cid, &why),
                ToWorker::Sweep(sweep) => self.sweep(&sweep),
                ToWorker::Swept(id) => self.swept(id),
                ToWorker::Kept { session, task, well } => {
                    if let Some(session) = self.sessions.get_mut(session) {
                        session.kept(&mut self.ctx, task, well);
                    }
                }
                ToWorker::PortDown(index) => {
                    self.each(|session, ctx| session.drop_port(ctx, index))
                }
                ToWorker::PortChanged => self.wake_all(),
                ToWorker::Describe { reservations, to } => {
                    // The one that asked may have given up.
                    let _ = to.send(self.describe(reservations));
                }
                ToWorker::Stop => self.stop(),
            }
        }
    }

    /// Does something with every session.
    fn each(&mut self, mut f: impl FnMut(&mut WorkerSession, &mut Context)) {
        for key in self.sessions.keys() {
            if let Some(session) = self.sessions.get_mut(key) {
                f(session, &mut self.ctx);
                self.ctx.mark(session);
            }
        }
    }

    fn wake_all(&mut self) {
        let connections = self.sessions.iter().flat_map(|(_, session)| session.keys());
        self.active.extend(connections);
    }

    fn begin(&mut self, new: NewSession) {
        let session = WorkerSession::new(&self.ctx, &new);
        if !session.discovery {
            self.ctx.shared.device.join(&session.nexus);
        }
        let key = self.sessions.insert(session);
        if let Some(session) = self.sessions.get_mut(key) {
            session.key = key;
        }
        self.add(key, new.first);
    }

    fn join(&mut self, new: NewConnection) {
        let found = self
            .sessions
            .iter()
            .find(|(_, session)| session.tsih == new.peer.tsih && !session.over);
        match found.map(|(key, _)| key) {
            Some(key) => self.add(key, new),
            // The session ended while its connection logged in: the socket is closed, as those of the session were.
            None => self.ctx.lost_on_the_way(&new.peer),
        }
    }

    fn add(&mut self, key: u32, new: NewConnection) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let peer = new.peer.clone();
        match session.add(&mut self.ctx, &self.poll, new) {
            Ok(connection) => {
                self.ctx.shared.listener.notify(ServerEvent::Login(peer));
                self.active.push(connection);
            }
            Err(why) => {
                let why = DropReason::Broken(why);
                self.ctx.notify_acceptor(ToAcceptor::ConnectionEnded {
                    tsih: peer.tsih,
                    cid: peer.cid,
                });
                self.ctx.shared.listener.notify(ServerEvent::Dropped(peer, why));
                self.ctx.mark(session);
            }
        }
    }

    fn end_connection(&mut self, tsih: u16, cid: u16, why: &DropReason) {
        let mut found = false;
        self.each(|session, ctx| found |= session.tsih == tsih && session.drop_cid(ctx, cid, why));
        if !found {
            self.ctx.notify_acceptor(ToAcceptor::ConnectionEnded { tsih, cid });
        }
    }

    /// Asks the initiators to log out; those that do not are dropped when the time is up.
    fn stop(&mut self) {
        let patience =
            Ns(u64::try_from(self.ctx.shared.limits.stop_time.as_nanos()).unwrap_or(u64::MAX));
        self.stops_at = Some(clock::now().plus(patience));
        self.ticks_at = self.ctx.now;
        self.each(|session, ctx| session.ask_to_leave(ctx));
    }
}

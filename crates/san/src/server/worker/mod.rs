//! A worker thread: the sessions that it owns, their sockets, and the commands that it carries out for them.
//!
//! Each turn of its loop takes everything that has come, decides and carries out all commands in it, hands the kernel all
//! I/O on files and devices in one call, and then sends all answers, one call a connection. It waits only in epoll.

mod bench;
mod execute;
mod input;
mod line;
mod ordering;
mod output;
mod receive;
mod reset;
mod rest;
mod sanitize;
mod seat;
mod send;
mod spin;
mod text;
mod ticker;

use super::event::{Drop, Event};
use super::letters::{NewConnection, NewSession, ToDoor, ToWorker};
use super::mailbox::Mailbox;
use super::poll::{Poll, Ready};
use super::shared::Shared;
use super::table::Table;
use crate::volume::{Done, Io, IoConfig};
use bench::Bench;
use clock::Ns;
use line::LineKey;
use seat::Seat;
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
    seats: Table<Seat>,
    bench: Bench,
    /// Lines that have something to do at once.
    active: Vec<LineKey>,
    /// Those that are being read, and sessions that are being served, in this turn.
    reading: Vec<LineKey>,
    /// Those that were read last.
    read_last: Vec<LineKey>,
    flushing: Vec<u32>,
    ready: Vec<Ready>,
    done: Vec<Done>,
    spin: Spin,
    ticks_at: Ns,
    /// Set once the target stops: when to wait no longer.
    stops_at: Option<Ns>,
}

impl Worker {
    /// What a thread needs, made before it starts so that failing is told.
    pub fn new(
        thread: usize,
        mailbox: Mailbox<ToWorker>,
        shared: &Arc<Shared>,
    ) -> io::Result<Worker> {
        let poll = Poll::new(BATCH)?;
        let names = shared.device.units().iter().map(|unit| *unit.designator());
        let volumes = names.zip(shared.volumes.iter().cloned()).collect();
        let io =
            Io::new(IoConfig { memory: shared.limits.data_bytes, volumes, ..IoConfig::default() })?;
        poll.watch_input(mailbox.bell().fd(), BELL)?;
        poll.watch_input(io.fd(), RING)?;
        Ok(Worker {
            poll,
            mailbox,
            seats: Table::new(),
            bench: Bench::new(thread, Arc::clone(shared), io),
            active: Vec::new(),
            reading: Vec::new(),
            read_last: Vec::new(),
            flushing: Vec::new(),
            ready: Vec::new(),
            done: Vec::new(),
            spin: Spin::new(shared.spin),
            ticks_at: Ns::ZERO,
            stops_at: None,
        })
    }

    /// Serves until it is told to stop, and all sessions have ended or their time is up.
    pub fn run(mut self) {
        // Paced ports count in tens of microseconds. Where it is not possible they are somewhat coarser.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        self.ticks_at = clock::now().plus(ticker::PERIOD);
        while !self.is_over() {
            self.wait();
            self.take_letters();
            self.reap();
            self.sanitized();
            self.read();
            // A ring that refuses entries reports each of them as failed; there is nothing to be done about it here.
            self.bench.io.submit();
            self.rest();
            self.settle();
            self.recheck();
            if self.bench.now >= self.ticks_at {
                self.tick();
            }
        }
    }

    fn is_over(&self) -> bool {
        self.stops_at.is_some() && self.seats.len() == 0 && self.bench.background == 0
    }

    /// Waits for something to do, and notes which lines it is about.
    fn wait(&mut self) {
        // Without alarms nothing depends on a timeout that is long by one turn of the loop.
        let now = if self.bench.next_alarm() == Ns::MAX { self.bench.now } else { clock::now() };
        let busy =
            !self.active.is_empty() || !self.bench.dirty.is_empty() || self.mailbox.has_letters();
        let until = if busy { now } else { self.bench.next_alarm().min(self.ticks_at) };
        if busy {
            self.poll(now, now);
            self.bench.now = clock::now();
        } else {
            self.sleep(now, until);
        }
        for ready in self.ready.drain(..) {
            match ready.key {
                BELL => self.mailbox.bell().quiet(),
                RING => self.bench.ring_ready = true,
                key => {
                    let key = LineKey::unpack(key);
                    let Some(line) = self.seats.get_mut(key.seat).and_then(|seat| seat.line(key))
                    else {
                        continue;
                    };
                    line.readable |= ready.readable;
                    line.writable |= ready.writable;
                    line.ended |= ready.ended;
                    self.active.push(key);
                }
            }
        }
        let now = self.bench.now;
        while let Some(key) = self.bench.due(now) {
            let Some(line) = self.seats.get_mut(key.seat).and_then(|seat| seat.line(key)) else {
                continue;
            };
            (line.alarm_in, line.alarm_out) = (false, false);
            self.active.push(key);
        }
    }

    /// Waits, first with open eyes where that pays.
    fn sleep(&mut self, now: Ns, until: Ns) {
        if let Some(moment) = self.spin.until(now) {
            let from = clock::now();
            let mut at = from;
            while at < moment && self.ready.is_empty() {
                self.poll(at, at);
                at = clock::now();
            }
            self.spin.looked(from, at);
            self.bench.now = at;
            if !self.ready.is_empty() || at >= until {
                return self.spin.waited(from, at);
            }
        }
        self.poll(self.bench.now, until);
        self.bench.now = clock::now();
        self.spin.waited(now, self.bench.now);
    }

    fn poll(&mut self, now: Ns, until: Ns) {
        if self.poll.wait(now, Some(until), &mut self.ready).is_err() {
            // Only a lack of kernel memory: the next turn tries again.
            self.ready.clear();
        }
    }

    /// Takes what volumes have finished.
    fn reap(&mut self) {
        if !std::mem::take(&mut self.bench.ring_ready) {
            return;
        }
        let mut done = std::mem::take(&mut self.done);
        self.bench.io.reap(&mut done);
        for done in done.drain(..) {
            match bench::Token::unpack(done.token) {
                bench::Token::Background { unit, sanitize } => {
                    self.bench.background_done(unit, sanitize, &done)
                }
                bench::Token::Task { seat, slot } => {
                    let Some(seat) = self.seats.get_mut(seat) else { continue };
                    seat.done(&mut self.bench, slot, done.ending, done.data);
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
            let Some(seat) = self.seats.get_mut(key.seat) else { continue };
            if seat.line(key).is_some() && seat.read(&mut self.bench, key.conn) {
                self.active.push(key);
            }
            self.bench.mark(seat);
        }
    }

    /// Sends what there is to be sent, and carries out what becomes possible by it, until there is no more to do now.
    fn settle(&mut self) {
        // Each round sends at least a piece, answers a task or ends: what is left after some rounds has its turn after
        // other lines have been read.
        for _ in 0..4 {
            if self.bench.dirty.is_empty() {
                break;
            }
            std::mem::swap(&mut self.bench.dirty, &mut self.flushing);
            for at in 0..self.flushing.len() {
                let key = self.flushing[at];
                let Some(seat) = self.seats.get_mut(key) else { continue };
                seat.dirty = false;
                seat.flush(&mut self.bench, &mut self.active);
                if seat.may_go() {
                    self.leave(key);
                }
            }
            self.flushing.clear();
            self.bench.io.submit();
        }
    }

    /// A session is over: nothing of it is left but its name.
    fn leave(&mut self, key: u32) {
        let Some(mut seat) = self.seats.remove(key) else { return };
        seat.part(&self.bench);
        self.bench.tell_door(ToDoor::SessionEnded { tsih: seat.tsih });
    }

    fn take_letters(&mut self) {
        for letter in self.mailbox.take() {
            match letter {
                ToWorker::Session(new) => self.begin(*new),
                ToWorker::Connection(new) => self.join(*new),
                ToWorker::EndSession { tsih, why } => self.each(|seat, bench| {
                    if seat.tsih == tsih {
                        seat.drop_all(bench, &why);
                    }
                }),
                ToWorker::EndConnection { tsih, cid, why } => self.end_connection(tsih, cid, &why),
                ToWorker::Sweep(sweep) => self.sweep(&sweep),
                ToWorker::Swept(ticket) => self.swept(ticket),
                ToWorker::Kept { session, task, well } => {
                    if let Some(seat) = self.seats.get_mut(session) {
                        seat.kept(&mut self.bench, task, well);
                    }
                }
                ToWorker::PortDown(index) => self.each(|seat, bench| seat.drop_port(bench, index)),
                ToWorker::PortChanged => self.wake_all(),
                ToWorker::Stop => self.stop(),
            }
        }
    }

    /// Does something with every session.
    fn each(&mut self, mut f: impl FnMut(&mut Seat, &mut Bench)) {
        for key in self.seats.keys() {
            if let Some(seat) = self.seats.get_mut(key) {
                f(seat, &mut self.bench);
                self.bench.mark(seat);
            }
        }
    }

    fn wake_all(&mut self) {
        let lines = self.seats.iter().flat_map(|(_, seat)| seat.keys());
        self.active.extend(lines);
    }

    fn begin(&mut self, new: NewSession) {
        let seat = Seat::new(&self.bench, &new);
        if !seat.discovery {
            self.bench.shared.device.join(&seat.nexus);
        }
        let key = self.seats.insert(seat);
        if let Some(seat) = self.seats.get_mut(key) {
            seat.key = key;
        }
        self.add(key, new.first);
    }

    fn join(&mut self, new: NewConnection) {
        let found = self.seats.iter().find(|(_, seat)| seat.tsih == new.peer.tsih && !seat.over);
        match found.map(|(key, _)| key) {
            Some(key) => self.add(key, new),
            // The session ended while its connection logged in: the socket is closed, as those of the session were.
            None => self.bench.lost_on_the_way(&new.peer),
        }
    }

    fn add(&mut self, key: u32, new: NewConnection) {
        let Some(seat) = self.seats.get_mut(key) else { return };
        let peer = new.peer.clone();
        match seat.add(&mut self.bench, &self.poll, new) {
            Ok(line) => {
                self.bench.shared.listener.tell(Event::Login(peer));
                self.active.push(line);
            }
            Err(why) => {
                let why = Drop::Broken(why);
                self.bench.tell_door(ToDoor::ConnectionEnded { tsih: peer.tsih, cid: peer.cid });
                self.bench.shared.listener.tell(Event::Dropped(peer, why));
                self.bench.mark(seat);
            }
        }
    }

    fn end_connection(&mut self, tsih: u16, cid: u16, why: &Drop) {
        let mut found = false;
        self.each(|seat, bench| found |= seat.tsih == tsih && seat.drop_cid(bench, cid, why));
        if !found {
            self.bench.tell_door(ToDoor::ConnectionEnded { tsih, cid });
        }
    }

    /// Asks the initiators to log out; those that do not are dropped when the time is up.
    fn stop(&mut self) {
        let patience =
            Ns(u64::try_from(self.bench.shared.limits.stop_time.as_nanos()).unwrap_or(u64::MAX));
        self.stops_at = Some(clock::now().plus(patience));
        self.ticks_at = self.bench.now;
        self.each(|seat, bench| seat.ask_to_leave(bench));
    }
}

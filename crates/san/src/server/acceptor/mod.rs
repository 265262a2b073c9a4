//! The acceptor: it listens, carries connections through login, and hands them to the worker that owns their session.
//!
//! One thread serves all connections that have not logged in; none can block it, and their number, duration and input are
//! bounded by [`super::TargetLimits`]. It also owns the register of sessions.

pub(super) mod listening;
mod login;
pub(super) mod policy;
mod registry;

use super::event::ServerEvent;
use super::mailbox::Mailbox;
use super::messages::{ToAcceptor, ToWorker};
use super::poll::{Poll, Readable};
use super::shared::ServerShared;
use super::table::SlotTable;
use clock::Ns;
use engine::one_host;
use iscsi::chap::Challenge;
use iscsi::login::TargetConfig as LoginConfig;
use iscsi::params::DesiredParams;
use login::{LoginConnection, LoginNext};
use policy::{PortalPolicy, Rules};
use registry::{LoginAdmission, Most, Registry};
use rustix::fd::{AsFd, OwnedFd};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// What the bell is watched as.
const BELL: u64 = u64::MAX;
/// Listeners are watched as this and their index.
const LISTENER: u64 = 1 << 63;
/// Connections taken from one listener before others have their turn.
const ARRIVALS: usize = 32;
/// How long nothing is taken after the system had no descriptor or no memory for it.
const BREATH: Duration = Duration::from_millis(100);

/// The acceptor's thread.
pub(super) struct Acceptor {
    poll: Poll,
    mailbox: Mailbox<ToAcceptor>,
    shared: Arc<ServerShared>,
    rules: Rules,
    login: LoginConfig,
    listeners: Vec<Option<OwnedFd>>,
    logins: SlotTable<LoginConnection>,
    registry: Registry,
    next_serial: u32,
    /// No connection is accepted before this moment; the listeners are not watched meanwhile.
    closed_until: Option<Ns>,
    /// It is closed because there are too many.
    crowded: bool,
    now: Ns,
    stopped: bool,
}

impl Acceptor {
    /// What its thread needs.
    pub fn new(
        rules: Rules,
        wishes: DesiredParams,
        mailbox: Mailbox<ToAcceptor>,
        shared: &Arc<ServerShared>,
        listeners: Vec<OwnedFd>,
    ) -> io::Result<Acceptor> {
        let poll = Poll::new(64)?;
        poll.watch_input(mailbox.bell().fd(), BELL)?;
        for (key, listener) in (LISTENER..).zip(&listeners) {
            poll.watch_input(listener, key)?;
        }
        let limits = &shared.limits;
        let most = Most {
            sessions: limits.sessions,
            sessions_per_address: limits.sessions_per_address,
            sessions_per_initiator: limits.sessions_per_initiator,
            connections: limits.connections,
            connections_per_session: usize::from(limits.connections_per_session),
        };
        Ok(Acceptor {
            poll,
            mailbox,
            shared: Arc::clone(shared),
            registry: Registry::new(shared.workers.len(), most),
            listeners: listeners.into_iter().map(Some).collect(),
            logins: SlotTable::new(),
            rules,
            login: LoginConfig {
                wishes: DesiredParams { max_connections: limits.connections_per_session, ..wishes },
                window: limits.commands,
            },
            next_serial: 0,
            closed_until: None,
            crowded: false,
            now: clock::now(),
            stopped: false,
        })
    }

    /// Runs until it is stopped.
    pub fn run(mut self) {
        let mut ready: Vec<Readable> = Vec::new();
        while !self.stopped {
            let until = self.next_moment();
            if self.poll.wait(clock::now(), until, &mut ready).is_err() {
                // Only a lack of kernel memory: the next turn tries again.
                ready.clear();
            }
            self.now = clock::now();
            for ready in ready.drain(..) {
                match ready.key {
                    BELL => self.mailbox.bell().quiet(),
                    key if key >= LISTENER => self.let_in((key - LISTENER) as usize),
                    key => self.attend(key as u32, (key >> 32) as u32),
                }
            }
            for message in self.mailbox.take() {
                self.read(message);
            }
            self.keep_time();
        }
    }

    fn read(&mut self, message: ToAcceptor) {
        match message {
            ToAcceptor::ConnectionEnded { tsih, cid } => {
                self.registry.connection_ended(tsih, cid);
                self.ask_again(tsih);
            }
            ToAcceptor::SessionEnded { tsih } => {
                self.registry.session_ended(tsih);
                self.ask_again(tsih);
            }
            ToAcceptor::PortDown(index, stat_sn) => {
                self.listeners[index] = None;
                for key in self.logins.keys() {
                    if self.logins.get_mut(key).is_some_and(|login| login.port.index == index) {
                        self.logins.remove(key);
                    }
                }
                // The receiver is gone if the library's user has given up.
                let _ = stat_sn.send(());
            }
            ToAcceptor::PortUp(index, listener) => {
                if self.closed_until.is_none()
                    && self.poll.watch_input(&listener, LISTENER + index as u64).is_err()
                {
                    self.close_for(BREATH);
                }
                self.listeners[index] = Some(listener);
            }
            ToAcceptor::Stop => self.stopped = true,
        }
    }

    /// Takes connections from a listener.
    fn let_in(&mut self, index: usize) {
        for _ in 0..ARRIVALS {
            if !self.make_room() {
                return;
            }
            let Some(listener) = self.listeners.get(index).and_then(Option::as_ref) else { return };
            match listening::take(listener) {
                Ok(Some(arrival)) => self.receive(index, arrival),
                Ok(None) => return,
                // No descriptor or no memory is left: what has come stays with the kernel for a while.
                Err(_) => return self.close_for(BREATH),
            }
        }
    }

    fn receive(&mut self, index: usize, arrival: listening::IncomingConnection) {
        self.next_serial = self.next_serial.wrapping_add(1);
        let serial = self.next_serial;
        let port = Arc::clone(&self.shared.ports[index]);
        if let Some(why) = self.one_too_many(arrival.from) {
            let event = ServerEvent::Refused { address: arrival.from, initiator: None, why };
            return self.shared.listener.notify(event);
        }
        let Ok(challenge) = challenge() else { return self.close_for(BREATH) };
        let login =
            LoginConnection::new(serial, arrival, port, self.login.clone(), challenge, self.now);
        let key = self.logins.insert(login);
        let Some(login) = self.logins.get_mut(key) else { return };
        if self
            .poll
            .watch_edges(
                login.socket.as_fd(),
                u64::from(serial & 0x7fff_ffff) << 32 | u64::from(key),
            )
            .is_err()
        {
            self.logins.remove(key);
            return self.close_for(BREATH);
        }
        self.carry_on(key);
    }

    /// Whether another connection may be let in. If there are too many, the oldest gives way, unless it is young.
    fn make_room(&mut self) -> bool {
        if self.logins.len() < self.shared.limits.logins.max(1) {
            return true;
        }
        let oldest =
            self.logins.iter().min_by_key(|(_, login)| login.since).map(|(key, c)| (key, c.since));
        let Some((key, since)) = oldest else { return true };
        let grace = since.plus(span(self.shared.limits.login_grace));
        if self.now < grace {
            self.close_until(grace);
            self.crowded = true;
            return false;
        }
        self.refuse(key, "dropped to make room for another login".to_owned());
        true
    }

    /// Why another login of this host is not begun, if it is not. Where it has as many as it may, its oldest gives way,
    /// unless it is young.
    fn one_too_many(&mut self, from: SocketAddr) -> Option<String> {
        let host = one_host(from.ip());
        let theirs = self.logins.iter().filter(|(_, login)| one_host(login.from.ip()) == host);
        let (count, oldest) =
            theirs.fold((0, None::<(Ns, u32)>), |(count, oldest), (key, login)| {
                let this = (login.since, key);
                (count + 1, Some(oldest.map_or(this, |oldest| oldest.min(this))))
            });
        let (since, key) = oldest.filter(|_| count >= self.shared.limits.logins_per_address)?;
        if self.now < since.plus(span(self.shared.limits.login_grace)) {
            return Some(format!("{count} logins of its host are not complete"));
        }
        self.refuse(key, "dropped to make room for another login".to_owned());
        None
    }

    fn attend(&mut self, key: u32, serial: u32) {
        if self.logins.get_mut(key).is_some_and(|login| login.serial & 0x7fff_ffff == serial) {
            self.carry_on(key);
        }
    }

    /// Goes on with a login as far as it gets now.
    fn carry_on(&mut self, key: u32) {
        loop {
            let Some(login) = self.logins.get_mut(key) else { return };
            let mut entrance =
                PortalPolicy { rules: &self.rules, group: login.port.group, seen: None };
            let next = login.advance(&mut entrance);
            login.initiator = entrance.seen.or(login.initiator.take());
            match next {
                LoginNext::Wait => return,
                LoginNext::Admit => self.admit(key),
                LoginNext::Over(why) => return self.refuse(key, why),
                LoginNext::Hand => return self.hand_over(key),
            }
            let waits = self.logins.get_mut(key).is_none_or(|login| login.waits_for.is_some());
            if waits {
                return;
            }
        }
    }

    /// Decides whether a login may become a session or join one.
    fn admit(&mut self, key: u32) {
        let Some(login) = self.logins.get_mut(key) else { return };
        let Some((name, tsih, cid)) = login.claim() else { return };
        let host = one_host(login.from.ip());
        let admission = self.registry.admit(name.as_ref(), host, tsih, cid);
        let Some(login) = self.logins.get_mut(key) else { return };
        let why = super::event::DropReason::Reinstated;
        match admission {
            LoginAdmission::New { tsih, worker } | LoginAdmission::Join { tsih, worker } => {
                login.admitted(tsih, worker)
            }
            LoginAdmission::EndSession { tsih, worker } => {
                login.waits_for = Some(tsih);
                self.shared.workers[worker].send(ToWorker::EndSession { tsih, why });
            }
            LoginAdmission::EndConnection { tsih, cid, worker } => {
                login.waits_for = Some(tsih);
                self.shared.workers[worker].send(ToWorker::EndConnection { tsih, cid, why });
            }
            LoginAdmission::Refused(status, why) => login.turn_away(status, why),
        }
    }

    /// Those who waited for the end of something ask again.
    fn ask_again(&mut self, tsih: u16) {
        for key in self.logins.keys() {
            let Some(login) = self.logins.get_mut(key) else { continue };
            if login.waits_for == Some(tsih) {
                login.waits_for = None;
                self.admit(key);
                self.carry_on(key);
            }
        }
    }

    /// Gives a connection that has logged in to the worker of its session.
    fn hand_over(&mut self, key: u32) {
        let Some(login) = self.logins.remove(key) else { return };
        // The worker watches it with an epoll instance of its own.
        let _ = self.poll.forget(login.socket.as_fd());
        if let Some((worker, message)) = login.into_letter() {
            self.shared.workers[worker].send(message);
        }
    }

    fn refuse(&mut self, key: u32, why: String) {
        let Some(login) = self.logins.remove(key) else { return };
        let (address, initiator) = (login.from, login.initiator);
        self.shared.listener.notify(ServerEvent::Refused { address, initiator, why });
    }

    /// Sends away whose time is up, and opens again when that time has come.
    fn keep_time(&mut self) {
        let time = span(self.shared.limits.login_time);
        for key in self.logins.keys() {
            if self.logins.get_mut(key).is_some_and(|login| self.now >= login.since.plus(time)) {
                self.refuse(key, "the login took too long".to_owned());
            }
        }
        let room = self.crowded && self.logins.len() < self.shared.limits.logins;
        if self.closed_until.is_some_and(|until| room || self.now >= until) {
            (self.closed_until, self.crowded) = (None, false);
            for (key, listener) in (LISTENER..).zip(&self.listeners) {
                if let Some(listener) = listener
                    && self.poll.watch_input(listener, key).is_err()
                {
                    return self.close_for(BREATH);
                }
            }
        }
    }

    fn close_for(&mut self, time: Duration) {
        self.close_until(self.now.plus(span(time)));
    }

    /// Accepts no connection for a while. New ones wait in the kernel.
    fn close_until(&mut self, until: Ns) {
        self.closed_until = Some(until);
        for listener in self.listeners.iter().flatten() {
            // One that is not watched is not let in from either.
            let _ = self.poll.forget(listener);
        }
    }

    fn next_moment(&self) -> Option<Ns> {
        let time = span(self.shared.limits.login_time);
        let first = self.logins.iter().map(|(_, login)| login.since.plus(time)).min();
        [first, self.closed_until].into_iter().flatten().min()
    }
}

/// A fresh CHAP challenge.
fn challenge() -> io::Result<Challenge> {
    let mut random = [0; 33];
    clock::unpredictable(&mut random)?;
    let [id, bytes @ ..] = random;
    Ok(Challenge { id, bytes })
}

fn span(time: Duration) -> Ns {
    Ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

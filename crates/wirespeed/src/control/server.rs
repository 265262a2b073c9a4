//! The target's end of its socket: a thread of its own, which looks at the counters each second and answers.
//!
//! A client has a deadline for its request and its reply, its request is bounded, and so is the number of clients: one
//! that is slow or hostile holds up neither the target, which never waits for this thread, nor other clients.

use super::sampler::{PERIOD, Sampler};
use super::{
    ArrayNames, Identity, PortChange, PortState, Reply, Request, SizeChange, VERSION, place,
};
use crate::out;
use clock::Ns;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use san::server::{ServedPortal, TargetControl, TargetSnapshot};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Clients at a time; others are sent away at once.
const CLIENTS_MAX: usize = 8;
/// The longest request in bytes.
const REQUEST_MAX: usize = 4096;
/// How long a client may take, for its request and its reply together.
const PATIENCE: Ns = Ns::secs(2);
/// How long a thread of the target may take to describe its sessions.
const DESCRIBING: Duration = Duration::from_millis(500);
/// Descriptions of sessions are not asked for more often than this.
const FRESH: Ns = Ns::millis(200);
/// How long is waited for the connections of a port that was stopped.
const DROPPING: Ns = Ns::secs(1);

/// Takes orders that were carried out.
type ControlLog = Box<dyn Fn(CarriedOut) + Send>;

/// An order that was carried out.
#[derive(Clone, Debug)]
pub enum CarriedOut {
    Port {
        /// The number of the port.
        port: usize,
        /// As which it is named.
        name: String,
        /// What it is now.
        state: PortState,
    },
    Size(SizeChange),
}

/// What is asked and told, with its names.
pub struct Controlled {
    pub target: TargetControl,
    /// The volumes by name, LUN 0 first.
    pub volumes: Vec<String>,
    /// Which array of a run it is, where it is one.
    pub array: Option<ArrayNames>,
}

impl CarriedOut {
    /// What is said of it.
    pub fn said(&self) -> String {
        match self {
            CarriedOut::Port { name, state: PortState::Stopped, .. } => {
                format!("port {name} is stopped, as it was told")
            }
            CarriedOut::Port { name, state: PortState::Up, .. } => {
                format!("port {name} is started again, as it was told")
            }
            CarriedOut::Size(SizeChange { lun, bytes, .. }) => {
                format!("LUN {lun} has {} now, as it was told", units::Bytes(*bytes))
            }
        }
    }
}

/// What those that answer share.
struct Shared {
    target: TargetControl,
    /// The volumes by name, LUN 0 first.
    volumes: Vec<String>,
    array: Option<ArrayNames>,
    sampler: Mutex<Sampler>,
    snapshot: Mutex<Option<(Ns, TargetSnapshot)>>,
    /// Where it is said what was done; `None` once the target is about to stop, and nothing is done any more.
    log: Mutex<Option<ControlLog>>,
    clients: AtomicUsize,
}

/// The socket of a running target. It is gone when this is dropped, and no order is carried out after that.
pub struct ControlSocket {
    shared: Arc<Shared>,
    path: PathBuf,
    /// Closed to wake the thread.
    wake: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Listens in `directory`; `log` takes what is done on orders that come.
    ///
    /// # Errors
    /// The directory is not this user's alone, or the system gives no socket or no thread.
    pub fn open(
        directory: &Path,
        Controlled { target, volumes, array }: Controlled,
        log: impl Fn(CarriedOut) + Send + 'static,
    ) -> io::Result<ControlSocket> {
        let bound = place::bind(directory)?;
        let (wake, woken) = UnixStream::pair()?;
        let shared = Arc::new(Shared {
            sampler: Mutex::new(Sampler::new(&target)),
            target,
            volumes,
            array,
            snapshot: Mutex::new(None),
            log: Mutex::new(Some(Box::new(log))),
            clients: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("target-control".to_owned())
            .spawn(move || serve(&serving, &bound.listener, &woken))?;
        Ok(ControlSocket { shared, path: bound.path, wake: Some(wake), thread: Some(thread) })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        *locked(&self.shared.log) = None;
        self.wake = None;
        let _ = std::fs::remove_file(&self.path);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Looks at the counters each second, and takes clients in, until it is woken.
fn serve(shared: &Arc<Shared>, listener: &std::os::unix::net::UnixListener, woken: &UnixStream) {
    let mut next = clock::now().plus(PERIOD);
    loop {
        let left = next.since(clock::now().min(next));
        let timeout = rustix::event::Timespec {
            tv_sec: (left.0 / 1_000_000_000) as i64,
            tv_nsec: (left.0 % 1_000_000_000) as _,
        };
        let mut ready = [PollFd::new(woken, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        if poll(&mut ready, Some(&timeout)).is_err() {
            // A signal, or a lack of kernel memory: the next turn tries again.
            continue;
        }
        let [ended, arrived] = ready.map(|fd| !fd.revents().is_empty());
        if ended {
            return;
        }
        let now = clock::now();
        if now >= next {
            locked(&shared.sampler).look(&shared.target);
            next = now.plus(PERIOD);
        }
        if arrived && !let_in(shared, listener) {
            // No descriptor is left: what has come stays with the kernel for a while.
            clock::sleep_until(clock::now().plus(Ns::millis(100)));
        }
    }
}

/// Takes in all that have come; whether the system let it.
fn let_in(shared: &Arc<Shared>, listener: &std::os::unix::net::UnixListener) -> bool {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(e) => return matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        if shared.clients.fetch_add(1, Ordering::AcqRel) >= CLIENTS_MAX {
            shared.clients.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let own = Arc::clone(shared);
        let attend = move || {
            // A client that went away, or took too long, has no answer.
            let _ = attend(&own, stream);
            own.clients.fetch_sub(1, Ordering::AcqRel);
        };
        if std::thread::Builder::new().name("target-client".to_owned()).spawn(attend).is_err() {
            shared.clients.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Answers one client.
fn attend(shared: &Shared, mut stream: UnixStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    if socket_peercred(&stream)?.uid != geteuid() {
        return Ok(());
    }
    let deadline = clock::now().plus(PATIENCE);
    let request = read_line(&mut stream, deadline, REQUEST_MAX)?;
    let reply = match serde_json::from_slice(&request) {
        Ok(request) => answer(shared, request),
        Err(e) => Reply::Refused(format!(
            "this target does not know that request ({e}); it is of wirespeed {}",
            env!("CARGO_PKG_VERSION")
        )),
    };
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    // Orders take time of their own.
    write_all(&mut stream, &line, clock::now().plus(PATIENCE))
}

/// Reads a line of at most so many bytes.
///
/// # Errors
/// It did not come in time, or is too long.
pub(super) fn read_line(stream: &mut UnixStream, deadline: Ns, most: usize) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut chunk = [0; 16 << 10];
    loop {
        stream.set_read_timeout(Some(left(deadline)?))?;
        let got = match stream.read(&mut chunk) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(got) => &chunk[..got],
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let end = got.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&got[..end.unwrap_or(got.len())]);
        if line.len() > most {
            return Err(ErrorKind::InvalidData.into());
        }
        if end.is_some() {
            return Ok(line);
        }
    }
}

/// Writes all of it.
///
/// # Errors
/// The other end did not take it in time.
pub(super) fn write_all(stream: &mut UnixStream, mut bytes: &[u8], deadline: Ns) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        match stream.write(bytes) {
            Ok(taken) => bytes = &bytes[taken..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The time until a deadline.
fn left(deadline: Ns) -> io::Result<Duration> {
    let now = clock::now();
    match now < deadline {
        true => Ok(Duration::from_nanos(deadline.since(now).0)),
        false => Err(ErrorKind::TimedOut.into()),
    }
}

fn answer(shared: &Shared, request: Request) -> Reply {
    let target = &shared.target;
    match request {
        Request::Who => Reply::Who(Identity {
            version: VERSION,
            iqn: target.name().to_owned(),
            pid: std::process::id(),
            portals: target.portals().map(|port| port.address().to_string()).collect(),
            array: shared.array.clone(),
        }),
        Request::Status { window_s } => {
            let snapshot = shared.snapshot();
            let sampler = locked(&shared.sampler);
            let mut status = sampler.status(target, &shared.volumes, &snapshot, window_s);
            if let Some(array) = &shared.array {
                status.array = Some(array.name.clone());
                for (port, name) in status.ports.iter_mut().zip(&array.ports) {
                    port.name = Some(name.clone());
                }
            }
            Reply::Status(Box::new(status))
        }
        Request::StopPort { port } => shared.change(&port, PortState::Stopped),
        Request::StartPort { port } => shared.change(&port, PortState::Up),
        Request::Resize { lun, bytes } => shared.resize(lun, bytes),
    }
}

impl Shared {
    /// The sessions and reservations, not older than a moment.
    fn snapshot(&self) -> TargetSnapshot {
        let mut known = locked(&self.snapshot);
        let now = clock::now();
        if let Some((_, snapshot)) = known.as_ref().filter(|(at, _)| now.since(*at) < FRESH) {
            return snapshot.clone();
        }
        let snapshot = self.target.snapshot(DESCRIBING);
        *known = Some((now, snapshot.clone()));
        snapshot
    }

    /// Takes a port down, or brings it back.
    fn change(&self, name: &str, to: PortState) -> Reply {
        // Held while it is done: the target does not stop meanwhile, and orders follow each other.
        let log = locked(&self.log);
        let Some(log) = log.as_ref() else {
            return Reply::Failed("the target is stopping".to_owned());
        };
        let (number, port) = match self.find(name) {
            Ok(port) => port,
            Err(why) => return Reply::Refused(why),
        };
        let changed = port.is_down() == (to == PortState::Up);
        let before = port.counts().connections;
        match to {
            PortState::Stopped => {
                port.kill();
                let until = clock::now().plus(DROPPING);
                while port.counts().connections > 0 && clock::now() < until {
                    clock::sleep_until(clock::now().plus(Ns::millis(5)));
                }
            }
            PortState::Up => {
                if let Err(e) = port.revive() {
                    return Reply::Failed(e.to_string());
                }
            }
        }
        let dropped = before.saturating_sub(port.counts().connections);
        let known = self.array.as_ref().and_then(|array| array.ports.get(number).cloned());
        let name = known.unwrap_or_else(|| port.address().to_string());
        if changed {
            log(CarriedOut::Port { port: number, name: name.clone(), state: to });
        }
        *locked(&self.snapshot) = None;
        Reply::Port(PortChange {
            version: VERSION,
            iqn: self.target.name().to_owned(),
            port: name,
            state: to,
            changed,
            dropped: if to == PortState::Stopped { dropped } else { 0 },
        })
    }

    /// Makes a LUN larger.
    fn resize(&self, lun: usize, bytes: u64) -> Reply {
        // Held while it is done: the target does not stop meanwhile.
        let log = locked(&self.log);
        let Some(log) = log.as_ref() else {
            return Reply::Failed("the target is stopping".to_owned());
        };
        if let Some(array) = &self.array {
            let name = &array.name;
            return Reply::Refused(format!(
                "array {name} belongs to a run: its LUNs have the sizes of the scenario"
            ));
        }
        let volume = self.volumes.get(lun).cloned().unwrap_or_default();
        let changed = match self.target.resize(lun, bytes) {
            Ok(changed) => changed,
            Err(why) => return Reply::Refused(format!("LUN {lun}: {why}")),
        };
        let iqn = self.target.name().to_owned();
        let change = SizeChange { version: VERSION, iqn, lun, volume, bytes, changed };
        if changed {
            log(CarriedOut::Size(change.clone()));
        }
        Reply::Resized(change)
    }

    /// A port with its number: by its address, by its name in a scenario, or by its TCP port where only one has that.
    fn find(&self, name: &str) -> Result<(usize, ServedPortal<'_>), String> {
        let name = name.trim();
        let all: Vec<ServedPortal<'_>> = self.target.portals().collect();
        let address = |port: &ServedPortal<'_>| port.address().to_string();
        let hops = self.array.as_ref().map_or(&[][..], |array| &array.ports);
        // Of one array the name of the port alone is enough.
        let is_hop =
            |hop: &String| hop == name || hop.split_once('.').is_some_and(|(_, port)| port == name);
        let addressed = all.iter().position(|port| address(port) == name);
        let exact = addressed.or_else(|| hops.iter().position(is_hop));
        if let Some((number, port)) = exact.and_then(|at| Some((at, all.get(at)?))) {
            return Ok((number, *port));
        }
        let number: Option<u16> = name.trim_start_matches(':').parse().ok();
        let numbered: Vec<usize> =
            (0..all.len()).filter(|at| Some(all[*at].address().port()) == number).collect();
        match &numbered[..] {
            [one] => Ok((*one, all[*one])),
            [] => {
                let names: Vec<String> =
                    hops.iter().cloned().chain(all.iter().map(address)).collect();
                let hint = scenario::suggestion(name, names.iter().map(String::as_str));
                let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                Err(format!("this target has no port `{}`{hint}", review::printable(name)))
            }
            several => {
                let named: Vec<String> = several.iter().map(|at| address(&all[*at])).collect();
                Err(format!("`{name}` is the number of several ports: say {}", named.join(" or ")))
            }
        }
    }
}

/// A lock whose holder cannot have left it in the middle of anything.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the socket of a target; one that cannot be asked serves nevertheless.
pub fn open_or_say(
    target: Controlled,
    quiet: bool,
    log: impl Fn(CarriedOut) + Send + 'static,
) -> Option<ControlSocket> {
    match ControlSocket::open(&place::directory(), target, log) {
        Ok(socket) => Some(socket),
        Err(e) => {
            if !quiet {
                out::note(format_args!("`wirespeed target status` cannot ask this target: {e}"));
            }
            None
        }
    }
}

//! The receiver: listens, admits senders, and serves each on its own thread. A sender's failure ends only its own test.
//! Only senders that have proven themselves count among those that are served.

mod adjust;
mod gather;
mod newcomers;
mod session;

use crate::control::{ControlLink, Secret};
use crate::interface::Adjusted;
use crate::report::SideReport;
use crate::sys::socket;
use crate::{NetError, Sockets, TestSpec};
use adjust::AdjustableInterface;
use clock::Ns;
use newcomers::{Newcomer, Newcomers};
use rustix::event::{PollFd, PollFlags};
use std::fmt;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

pub use adjust::Adjust;

/// Most senders served at once.
pub(crate) const SENDERS_MAX: usize = 64;
/// How often the listener polls for a stop.
const LOOK: Ns = Ns::millis(100);

/// How a receiver is set up.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// Where it listens. Port 0 takes a free one.
    pub listen: Vec<SocketAddr>,
    /// The secret of the senders; required off loopback.
    pub token: Option<Secret>,
    /// Processors that the threads of a test are pinned to, in turn; none: left to the scheduler.
    pub cpus: Vec<usize>,
    /// The interface that senders may have set while they are connected.
    pub adjust: Option<Adjust>,
    /// Takes events.
    pub listener: ReceiverListener,
}

/// Takes events, on the receiver's threads.
#[derive(Clone)]
pub struct ReceiverListener(Arc<dyn Fn(ReceiverEvent) + Send + Sync>);

impl fmt::Debug for ReceiverListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener(…)")
    }
}

impl ReceiverListener {
    /// Calls `hear` for every event; it should not block.
    pub fn new(hear: impl Fn(ReceiverEvent) + Send + Sync + 'static) -> ReceiverListener {
        ReceiverListener(Arc::new(hear))
    }

    fn tell(&self, event: ReceiverEvent) {
        (self.0)(event);
    }
}

/// What happens at a receiver.
#[derive(Clone, Debug)]
pub enum ReceiverEvent {
    /// A sender's test begins.
    Began {
        /// The sender's address.
        peer: String,
        /// What it asked for.
        spec: Box<TestSpec>,
    },
    /// A test has ended.
    Ended {
        /// The sender's address.
        peer: String,
        /// The name.
        spec: Box<TestSpec>,
        /// What this end counted.
        side: Box<SideReport>,
    },
    /// A sender had the interface set, or it was put back after it.
    Adjusted {
        /// The sender's address.
        peer: String,
        /// What was done.
        adjusted: Box<Adjusted>,
    },
    /// A sender was turned away, or a test did not come to its end; the receiver is ready for the next.
    Failed {
        /// The sender's address.
        peer: String,
        /// Why.
        why: String,
    },
}

/// A receiver that listens. Dropping it stops it.
#[derive(Debug)]
pub struct Receiver {
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    door: Option<JoinHandle<()>>,
}

/// What the threads of a receiver share; none of it is touched by the data plane.
#[derive(Debug)]
struct Shared {
    config: ReceiverConfig,
    /// The interface that may be changed.
    post: Option<AdjustableInterface>,
    stop: AtomicBool,
    senders: AtomicUsize,
    newcomers: Arc<Newcomers>,
}

impl Receiver {
    /// Listens.
    /// # Errors
    /// [`NetError::Listen`] where an address is taken or not this host's; [`NetError::Spec`] where other hosts could reach it
    /// and there is no token; [`NetError::Interface`] where the interface to adjust is not there or must not be changed.
    pub fn start(config: ReceiverConfig) -> Result<Receiver, NetError> {
        let open = config.listen.iter().find(|address| !address.ip().is_loopback());
        if let Some(address) = open.filter(|_| config.token.is_none()) {
            return Err(NetError::Spec(format!(
                "{address} can be reached from other hosts: senders must know a token there"
            )));
        }
        let post = config.adjust.as_ref().map(AdjustableInterface::new).transpose()?;
        let plain = Sockets { no_delay: true, ..Sockets::default() };
        let mut listeners = Vec::new();
        for address in &config.listen {
            let listener = socket::listen(*address, &plain)?;
            listener.set_nonblocking(true).map_err(NetError::socket("the listening socket"))?;
            listeners.push(listener);
        }
        let local = |listener: &TcpListener| listener.local_addr();
        let addresses: Result<_, _> = listeners.iter().map(local).collect();
        let addresses = addresses.map_err(NetError::socket("the listening socket"))?;
        let (stop, senders) = (AtomicBool::new(false), AtomicUsize::new(0));
        let newcomers = Arc::default();
        let shared = Arc::new(Shared { config, post, stop, senders, newcomers });
        let inside = Arc::clone(&shared);
        let door =
            Builder::new().name("net-door".to_owned()).spawn(move || door(&listeners, &inside));
        let door = door.map_err(NetError::socket("a thread that accepts senders"))?;
        Ok(Receiver { addresses, shared, door: Some(door) })
    }

    /// Where it listens, with the ports that it took.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Senders that are being served.
    pub fn senders(&self) -> usize {
        self.shared.senders.load(Ordering::Relaxed)
    }

    /// Ends all tests and closes.
    pub fn stop(mut self) {
        self.close();
    }

    fn close(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.newcomers.close();
        if let Some(door) = self.door.take() {
            // Its panic is on stderr already.
            let _ = door.join();
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.close();
    }
}

/// Lets senders in until the receiver stops, then waits for those inside.
fn door(listeners: &[TcpListener], shared: &Arc<Shared>) {
    let mut inside: Vec<JoinHandle<()>> = Vec::new();
    while !shared.stopped() {
        let mut fds: Vec<PollFd<'_>> =
            listeners.iter().map(|listener| PollFd::new(listener, PollFlags::IN)).collect();
        // What cannot be polled now is tried again.
        if !matches!(socket::readable(&mut fds, LOOK), Ok(ready) if ready > 0) {
            continue;
        }
        inside.retain(|thread| !thread.is_finished());
        for listener in listeners {
            match listener.accept() {
                Ok((stream, peer)) => inside.extend(admit(stream, peer, shared)),
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                // Out of descriptors, most likely: those inside will give theirs back.
                Err(_) => clock::sleep_until(clock::now().plus(LOOK)),
            }
        }
    }
    for thread in inside {
        // Its panic is on stderr already.
        let _ = thread.join();
    }
}

/// Gives a connection a thread, on which its sender proves itself and is served.
fn admit(stream: TcpStream, peer: SocketAddr, shared: &Arc<Shared>) -> Option<JoinHandle<()>> {
    let name = peer.to_string();
    let inside = Arc::clone(shared);
    let newcomer = stream.try_clone().map(|handle| shared.newcomers.enter(handle, peer));
    let body = move |newcomer: Newcomer| {
        let link = ControlLink::new(stream, name.clone());
        let served = link.and_then(|link| session::serve(link, &inside, newcomer));
        if let Err(e) = served {
            inside.config.listener.tell(ReceiverEvent::Failed { peer: name, why: e.to_string() });
        }
    };
    let thread = newcomer.and_then(|newcomer| {
        Builder::new().name("net-control".to_owned()).spawn(move || body(newcomer))
    });
    // Out of descriptors or threads, most likely.
    let failed =
        |e: std::io::Error| ReceiverEvent::Failed { peer: peer.to_string(), why: e.to_string() };
    thread.map_err(|e| shared.config.listener.tell(failed(e))).ok()
}

impl Shared {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A sender that has proven itself and is served; counted until it is dropped.
struct SenderSlot<'a>(&'a AtomicUsize);

impl SenderSlot<'_> {
    /// `None` where there are too many.
    fn enter(shared: &Shared) -> Option<SenderSlot<'_>> {
        let before = shared.senders.fetch_add(1, Ordering::Relaxed);
        let slot = SenderSlot(&shared.senders);
        (before < SENDERS_MAX).then_some(slot)
    }
}

impl Drop for SenderSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

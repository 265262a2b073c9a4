//! Accepts the streams of a test: ports of the test's own take connections and datagrams that begin with the test's preamble
//! and drop others; unidentified connections are bounded in number and time.

use super::Shared;
use crate::control::{ControlLink, Cookie, FromReceiver, FromSender, fresh};
use crate::host;
use crate::report::StreamDirection;
use crate::spec::PREAMBLE;
use crate::sys::socket;
use crate::test_stream::{Socket, TestStream, preamble, stream_of};
use crate::{Carriage, NetError, TestSpec};
use clock::Ns;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;

/// How long the streams may take to arrive.
const ARRIVE: Ns = Ns::secs(15);
/// The same once the sender has announced all of them: a connection may be delayed by lost first packets.
const OVERTAKEN: Ns = Ns::secs(5);
/// Connections whose preamble has not come yet, at most; the oldest make room for others.
const UNPROVEN_MAX: usize = 64;
/// How long a connection may take over its preamble.
const UNPROVEN_WAIT: Ns = Ns::secs(2);
/// How long to wait on the control connection between two polls of the others.
const LOOK: Ns = Ns::millis(2);

/// The ports of a test, and the streams that have arrived.
pub(super) struct Gathering {
    cookie: Cookie,
    listener: Option<Arc<TcpListener>>,
    /// Where the probe comes in.
    probe: Option<TcpListener>,
    datagrams: Vec<UdpSocket>,
    unproven: Vec<PendingConnection>,
    arrived: Vec<Option<Socket>>,
}

/// A connection whose preamble is incomplete.
struct PendingConnection {
    stream: TcpStream,
    bytes: [u8; PREAMBLE],
    got: usize,
    since: Ns,
}

impl Gathering {
    /// Opens ports on the address at which the sender found the receiver.
    pub(super) fn open(link: &ControlLink, spec: &TestSpec) -> Result<Gathering, NetError> {
        // With its scope, which addresses of one link need.
        let mut at =
            link.stream().local_addr().map_err(NetError::socket("the control connection"))?;
        at.set_port(0);
        let streams = usize::from(spec.streams());
        let probes = usize::from(spec.network.probe);
        let mut gathering = Gathering {
            cookie: fresh()?,
            listener: None,
            probe: None,
            datagrams: Vec::new(),
            unproven: Vec::new(),
            arrived: vec![None; streams + probes],
        };
        let set = |result: io::Result<()>| result.map_err(NetError::socket("a socket for data"));
        if spec.network.probe {
            let listener = socket::listen(at, &spec.probe_sockets())?;
            set(listener.set_nonblocking(true))?;
            gathering.probe = Some(listener);
        }
        if spec.is_udp() {
            for _ in 0..streams {
                let socket = socket::datagrams(at, &spec.network.sockets)?;
                set(socket.set_nonblocking(true))?;
                gathering.datagrams.push(socket);
            }
            return Ok(gathering);
        }
        let listener = socket::listen(at, &spec.network.sockets)?;
        set(listener.set_nonblocking(true))?;
        let listener = Arc::new(listener);
        if matches!(spec.network.carriage, Carriage::Connects { .. }) {
            gathering.arrived[..streams].fill(Some(Socket::Door(Arc::clone(&listener))));
        }
        gathering.listener = Some(listener);
        Ok(gathering)
    }

    /// Where the streams are to go.
    pub(super) fn invitation(&self) -> FromReceiver {
        let port = |address: io::Result<SocketAddr>| address.map_or(0, |address| address.port());
        FromReceiver::Prepared {
            cookie: self.cookie,
            port: self.listener.as_ref().map_or(0, |listener| port(listener.local_addr())),
            datagrams: self.datagrams.iter().map(|socket| port(socket.local_addr())).collect(),
            probe: self.probe.as_ref().map_or(0, |listener| port(listener.local_addr())),
            host: host::names(),
        }
    }

    /// Waits until the sender has announced all its streams and they have arrived.
    pub(super) fn gather(
        mut self,
        link: &mut ControlLink,
        spec: &TestSpec,
        shared: &Shared,
    ) -> Result<Vec<TestStream>, NetError> {
        const WHEN: &str = "while its streams were awaited";
        let mut limit = clock::now().plus(ARRIVE);
        let mut joined = false;
        loop {
            self.look();
            if joined && self.arrived.iter().all(Option::is_some) {
                return self.lines(spec);
            }
            match link.hear(clock::now().plus(LOOK), WHEN)? {
                None => {}
                Some(FromSender::Joined) if !joined => {
                    joined = true;
                    limit = limit.min(clock::now().plus(OVERTAKEN));
                }
                Some(_) => return Err(link.garbled("a message out of turn")),
            }
            if clock::now() >= limit || shared.stopped() {
                if joined {
                    // Says which one is missing.
                    return self.lines(spec);
                }
                return Err(NetError::Spec("the streams did not all arrive in time".to_owned()));
            }
        }
    }

    /// Takes what has arrived.
    fn look(&mut self) {
        self.accept();
        for mut pending in std::mem::take(&mut self.unproven) {
            match pending.listen() {
                GatheredMessage::Nothing => self.unproven.push(pending),
                GatheredMessage::All => self.seat(pending),
                GatheredMessage::Wrong => {}
            }
        }
        let greeted: Vec<(usize, SocketAddr)> = (0..self.datagrams.len())
            .filter_map(|index| Some((index, self.greeting(index)?)))
            .collect();
        for (index, peer) in greeted {
            self.answer(index, peer);
        }
    }

    /// Lets connections in, as many as may wait, in place of those that have waited; a test that connects for each transaction has none yet.
    fn accept(&mut self) {
        let calls = self.arrived.iter().any(|socket| matches!(socket, Some(Socket::Door(_))));
        let streams = self.listener.as_deref().filter(|_| !calls);
        for listener in streams.into_iter().chain(&self.probe) {
            for _ in 0..UNPROVEN_MAX / 2 {
                let Ok((stream, _)) = listener.accept() else { break };
                if stream.set_nonblocking(true).is_ok() {
                    if self.unproven.len() == UNPROVEN_MAX {
                        self.unproven.remove(0);
                    }
                    let since = clock::now();
                    self.unproven.push(PendingConnection {
                        stream,
                        bytes: [0; PREAMBLE],
                        got: 0,
                        since,
                    });
                }
            }
        }
    }

    fn seat(&mut self, pending: PendingConnection) {
        let index = stream_of(&pending.bytes, &self.cookie).map(usize::from);
        let seat = index.and_then(|index| self.arrived.get_mut(index));
        if let Some(seat @ None) = seat
            && pending.stream.set_nonblocking(false).is_ok()
        {
            *seat = Some(Socket::Tcp(Arc::new(pending.stream)));
        }
    }

    /// Who greets a socket for datagrams with the preamble of its stream.
    fn greeting(&self, index: usize) -> Option<SocketAddr> {
        let mut bytes = [0; PREAMBLE];
        // A few at a time: whatever else comes is dropped, and looked at again soon.
        for _ in 0..16 {
            let (got, peer) = self.datagrams[index].recv_from(&mut bytes).ok()?;
            let named = stream_of(&bytes, &self.cookie).map(usize::from);
            if got == PREAMBLE && named == Some(index) {
                return Some(peer);
            }
        }
        None
    }

    fn answer(&mut self, index: usize, peer: SocketAddr) {
        let socket = &self.datagrams[index];
        let greeting = preamble(&self.cookie, index as u16);
        // What fails is asked for again by the sender.
        if socket.connect(peer).and_then(|()| socket.send(&greeting)).is_ok() {
            let Ok(socket) = socket.try_clone() else { return };
            self.arrived[index] = Some(Socket::Udp(Arc::new(socket)));
        }
    }

    /// The streams at this end.
    fn lines(self, spec: &TestSpec) -> Result<Vec<TestStream>, NetError> {
        let mut lines = Vec::with_capacity(self.arrived.len());
        for (index, socket) in (0u16..).zip(self.arrived) {
            let socket =
                socket.ok_or_else(|| NetError::Spec(format!("stream {index} did not arrive")))?;
            let flow = spec.flow(index);
            let line = match index < spec.streams() {
                true => TestStream::new(
                    index,
                    flow,
                    flow == StreamDirection::Down,
                    socket,
                    &self.cookie,
                ),
                false => TestStream::probe(index, false, socket, &self.cookie),
            };
            line.prepare(spec)?;
            lines.push(line);
        }
        Ok(lines)
    }
}

enum GatheredMessage {
    Nothing,
    All,
    Wrong,
}

impl PendingConnection {
    /// Reads what has come of the preamble.
    fn listen(&mut self) -> GatheredMessage {
        match self.stream.read(&mut self.bytes[self.got..]) {
            Ok(0) => return GatheredMessage::Wrong,
            Ok(got) => self.got += got,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return GatheredMessage::Wrong,
        }
        match self.got {
            PREAMBLE => GatheredMessage::All,
            _ if clock::now().since(self.since) > UNPROVEN_WAIT => GatheredMessage::Wrong,
            _ => GatheredMessage::Nothing,
        }
    }
}

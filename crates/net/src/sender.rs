//! The sender: connects to a receiver, authenticates, compares the clocks and connects the streams of a test.

use crate::control::{ControlLink, Cookie, FLAP, FromReceiver, FromSender, Secret, fresh, prove};
use crate::interface::Adjusted;
use crate::report::{ClockComparison, StreamDirection, clean};
use crate::sys::socket;
use crate::test_stream::{Socket, TestStream, preamble};
use crate::{Carriage, NetError, Sockets, TestSpec, VERSIONS};
use clock::Ns;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use workload::NetFrames;

/// The longest time to connect.
const CONNECT: Ns = Ns::secs(5);
/// How long the receiver may take over an answer.
pub(crate) const PATIENCE: Ns = Ns::secs(20);
/// How long the receiver may take to set its interface, whose link may come up slowly.
const ADJUST: Ns = Ns::secs(60);
/// Exchanges that compare the clocks; the fastest counts.
const EXCHANGES: usize = 16;
/// Greetings of a stream of datagrams, and how long each waits for its answer.
const GREETINGS: usize = 20;
const GREETING: Ns = Ns::millis(250);

/// Where a test goes, and from where.
#[derive(Clone, Debug, Default)]
pub struct SendConfig {
    /// The receiver's name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Only addresses of this family: `true` for IPv6.
    pub ipv6: Option<bool>,
    /// The address that everything leaves from.
    pub source: Option<IpAddr>,
    /// The port of the first stream; the others follow it.
    pub source_port: Option<u16>,
    /// What the receiver may ask for.
    pub token: Option<Secret>,
}

/// Connects to the first address that answers.
pub(crate) fn reach(config: &SendConfig) -> Result<ControlLink, NetError> {
    let unknown = |source| NetError::Name { name: config.host.clone(), source };
    let found = (config.host.as_str(), config.port).to_socket_addrs().map_err(unknown)?;
    let fits = |address: &SocketAddr| {
        config.ipv6.is_none_or(|ipv6| ipv6 == address.is_ipv6())
            && config.source.is_none_or(|source| source.is_ipv6() == address.is_ipv6())
    };
    let addresses: Vec<SocketAddr> = found.filter(fits).collect();
    let none = io::Error::new(io::ErrorKind::NotFound, "it has no address of the family asked for");
    let mut last = unknown(none);
    let plain = Sockets { no_delay: true, ..Sockets::default() };
    for address in addresses {
        let source = config.source.map(|ip| SocketAddr::new(ip, 0));
        match socket::connect(address, source, &plain, CONNECT) {
            Ok(stream) => return ControlLink::new(stream, address.to_string()),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// A control connection to a receiver that has let this sender in.
pub(crate) fn knock(config: &SendConfig) -> Result<ControlLink, NetError> {
    let mut link = reach(config)?;
    greet(&mut link, config)?;
    link.trust();
    Ok(link)
}

/// Has the receiver set its interface, or describe it.
pub(crate) fn adjust(link: &mut ControlLink, frames: NetFrames) -> Result<Adjusted, NetError> {
    const WHEN: &str = "while its interface was set";
    link.outlast(FLAP)?;
    link.say(&FromSender::Adjust(frames), WHEN)?;
    match answer(link, ADJUST, WHEN)? {
        FromReceiver::Adjusted(adjusted) => Ok(adjusted.cleaned()),
        other => Err(out_of_turn(link, &other)),
    }
}

pub(crate) fn greet(link: &mut ControlLink, config: &SendConfig) -> Result<(), NetError> {
    const WHEN: &str = "while it was greeted";
    let mine = fresh()?;
    link.say(&FromSender::Hello { versions: VERSIONS, nonce: mine }, WHEN)?;
    let (version, theirs, token) = match answer(link, PATIENCE, WHEN)? {
        FromReceiver::Hello { version, nonce, token } => (version, nonce, token),
        other => return Err(out_of_turn(link, &other)),
    };
    if version < VERSIONS.0 || version > VERSIONS.1 {
        return Err(link.garbled(format!("it chose version {version}")));
    }
    if token {
        let token = config.token.as_ref().ok_or_else(|| NetError::Refused {
            peer: link.peer().to_owned(),
            why: "it requires a token; give the one it was started with".to_owned(),
        })?;
        link.say(&FromSender::Proof(prove(token, &theirs, &mine)), WHEN)?;
    }
    match answer(link, PATIENCE, WHEN)? {
        FromReceiver::Welcome => Ok(()),
        other => Err(out_of_turn(link, &other)),
    }
}

/// The receiver's next message; its refusals and failures are errors.
pub(crate) fn answer(
    link: &mut ControlLink,
    limit: Ns,
    when: &'static str,
) -> Result<FromReceiver, NetError> {
    match link.expect(limit, when)? {
        FromReceiver::Refused(why) => {
            Err(NetError::Refused { peer: link.peer().to_owned(), why: clean(&why) })
        }
        FromReceiver::Failed(why) => {
            Err(NetError::Lost { peer: link.peer().to_owned(), when, why: clean(&why) })
        }
        other => Ok(other),
    }
}

pub(crate) fn out_of_turn(link: &ControlLink, message: &FromReceiver) -> NetError {
    let text = format!("{message:?}");
    let name: String = text.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    link.garbled(format!("`{name}` out of turn"))
}

/// The exchange of NTP (RFC 5905, section 8): of several, the one with the shortest round trip bounds the error best.
pub(crate) fn compare_clocks(link: &mut ControlLink) -> Result<ClockComparison, NetError> {
    const WHEN: &str = "while clocks were compared";
    let mut best: Option<ClockComparison> = None;
    for _ in 0..EXCHANGES {
        let sent = clock::now();
        link.say(&FromSender::Clock { sent }, WHEN)?;
        let (came, left) = match answer(link, PATIENCE, WHEN)? {
            FromReceiver::Clock { sent: echo, came, left } if echo == sent => (came, left),
            other => return Err(out_of_turn(link, &other)),
        };
        let offset = offset(sent, came, left, clock::now());
        if best.is_none_or(|best| offset.bound < best.bound) {
            best = Some(offset);
        }
    }
    Ok(best.unwrap_or_default())
}

/// From the four moments of an exchange: sent and back on our clock, came and left on theirs.
fn offset(sent: Ns, came: Ns, left: Ns, back: Ns) -> ClockComparison {
    let (there, here) = (came.0 as i128 - sent.0 as i128, left.0 as i128 - back.0 as i128);
    let trip = back.since(sent).0.saturating_sub(left.since(came).0);
    let offset = i64::try_from((there + here) / 2).unwrap_or(0);
    ClockComparison { offset, bound: Ns(trip.div_ceil(2)) }
}

/// Asks for the test, and brings its streams to the ports that the receiver opened for it. Answers also the name of the
/// receiver's host and its kernel.
pub(crate) fn join(
    link: &mut ControlLink,
    config: &SendConfig,
    spec: &TestSpec,
) -> Result<(Vec<TestStream>, (String, String)), NetError> {
    const WHEN: &str = "while a test was prepared";
    link.say(&FromSender::Prepare(Box::new(spec.clone())), WHEN)?;
    let (cookie, port, datagrams, probe, host) = match answer(link, PATIENCE, WHEN)? {
        FromReceiver::Prepared { cookie, port, datagrams, probe, host } => {
            (cookie, port, datagrams, probe, host)
        }
        other => return Err(out_of_turn(link, &other)),
    };
    let peer = link.stream().peer_addr().map_err(NetError::socket("the control connection"))?;
    let streams = spec.streams();
    if spec.is_udp() && datagrams.len() != usize::from(streams) {
        return Err(link.garbled("not a port for each stream of datagrams"));
    }
    let mut lines = Vec::with_capacity(streams.into());
    for index in 0..streams {
        let port = if spec.is_udp() { datagrams[usize::from(index)] } else { port };
        // With its scope, which addresses of one link need.
        let mut to = peer;
        to.set_port(port);
        let socket = one(to, index, &cookie, config, spec)?;
        let flow = if index < spec.up() { StreamDirection::Up } else { StreamDirection::Down };
        let line = TestStream::new(index, flow, flow == StreamDirection::Up, socket, &cookie);
        line.prepare(spec)?;
        lines.push(line);
    }
    if spec.network.probe {
        let mut to = peer;
        to.set_port(probe);
        let source = source(config, streams, to.is_ipv6())?;
        let socket = connected(to, source, &spec.probe_sockets(), &preamble(&cookie, streams))?;
        let line = TestStream::probe(streams, true, socket, &cookie);
        line.prepare(spec)?;
        lines.push(line);
    }
    link.say(&FromSender::Joined, WHEN)?;
    Ok((lines, (clean(&host.0), clean(&host.1))))
}

/// One stream's socket, connected and introduced.
fn one(
    to: SocketAddr,
    index: u16,
    cookie: &Cookie,
    config: &SendConfig,
    spec: &TestSpec,
) -> Result<Socket, NetError> {
    let source = source(config, index, to.is_ipv6())?;
    match spec.network.carriage {
        Carriage::Connects { .. } => Ok(Socket::Calls { to, source }),
        Carriage::Udp { .. } | Carriage::DatagramExchange { .. } => {
            let any: IpAddr = if to.is_ipv6() {
                Ipv6Addr::UNSPECIFIED.into()
            } else {
                Ipv4Addr::UNSPECIFIED.into()
            };
            let at = source.unwrap_or(SocketAddr::new(any, 0));
            let socket = socket::datagrams(at, &spec.network.sockets)?;
            greet_by_datagram(&socket, to, &preamble(cookie, index))?;
            Ok(Socket::Udp(Arc::new(socket)))
        }
        Carriage::Tcp | Carriage::Exchange { .. } => {
            connected(to, source, &spec.network.sockets, &preamble(cookie, index))
        }
    }
}

/// A connection that has sent its preamble.
fn connected(
    to: SocketAddr,
    source: Option<SocketAddr>,
    sockets: &Sockets,
    preamble: &[u8],
) -> Result<Socket, NetError> {
    let mut stream = socket::connect(to, source, sockets, CONNECT)?;
    let sent = stream.write_all(preamble);
    sent.map_err(|source| NetError::Connect { to: to.to_string(), source })?;
    Ok(Socket::Tcp(Arc::new(stream)))
}

/// Where a stream leaves from, where that was asked for.
fn source(config: &SendConfig, index: u16, ipv6: bool) -> Result<Option<SocketAddr>, NetError> {
    let any: IpAddr =
        if ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let port = match config.source_port {
        None => 0,
        Some(first) => first.checked_add(index).ok_or_else(|| {
            NetError::Spec(format!("source ports from {first} on: there are not enough of them"))
        })?,
    };
    let asked = config.source.is_some() || config.source_port.is_some();
    Ok(asked.then(|| SocketAddr::new(config.source.unwrap_or(any), port)))
}

/// Says the preamble until the receiver says it back: either may be lost.
fn greet_by_datagram(socket: &UdpSocket, to: SocketAddr, greeting: &[u8]) -> Result<(), NetError> {
    let failed = |source| NetError::Connect { to: format!("{to}/udp"), source };
    socket.connect(to).map_err(failed)?;
    socket.set_read_timeout(Some(GREETING.into())).map_err(failed)?;
    let mut bytes = [0; 64];
    for _ in 0..GREETINGS {
        socket.send(greeting).map_err(failed)?;
        match socket.recv(&mut bytes) {
            Ok(got) if bytes[..got] == *greeting => return Ok(()),
            Ok(_) => {}
            Err(e)
                if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(e) => return Err(failed(e)),
        }
    }
    Err(failed(io::ErrorKind::TimedOut.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(moments: [u64; 4], expected: (i64, u64)) {
        let [sent, came, left, back] = moments.map(Ns);
        let found = offset(sent, came, left, back);
        assert_eq!((found.offset, found.bound), (expected.0, Ns(expected.1)), "{moments:?}");
    }

    #[test]
    fn four_moments_tell_the_offset_and_its_bound() {
        check([100, 150, 150, 200], (0, 50));
        check([100, 1_150, 1_160, 210], (1_000, 50));
        check([5_000, 150, 160, 5_110], (-4_900, 50));
        // All of the way there: the error is at its bound.
        check([100, 200, 200, 200], (50, 50));
        // Times that cannot be do no harm.
        check([0, u64::MAX, 0, 0], (i64::MAX, 0));
    }
}

//! Sockets made, set and connected before a test starts. Options that decide about a connection's window or its options
//! (buffers, congestion control) are set before it is connected or listened for.

use super::{enable_zero_copy, maximum_pace};
use crate::NetError;
use clock::Ns;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use workload::Sockets;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;
/// How long a call in the data plane may block before it checks for its end.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

fn family(of: &SocketAddr) -> AddressFamily {
    if of.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

fn tcp_socket(of: &SocketAddr, multipath: bool) -> Result<OwnedFd, NetError> {
    let protocol = if multipath { ipproto::MPTCP } else { ipproto::TCP };
    socket_with(family(of), SocketType::STREAM, SocketFlags::CLOEXEC, Some(protocol)).map_err(|e| {
        let what = match multipath {
            true => "a socket of Multipath TCP (`sysctl net.mptcp.enabled` tells whether this kernel has it switched on)",
            false => "a socket of TCP",
        };
        NetError::Socket { what: what.to_owned(), source: e.into() }
    })
}

/// Sets what `sockets` asks for; `tcp` says whether TCP's own options are there.
pub(crate) fn set(
    fd: BorrowedFd<'_>,
    of: &SocketAddr,
    sockets: &Sockets,
    tcp: bool,
) -> Result<(), NetError> {
    // Connections are made in the data plane too: a text is only made of what failed.
    type What<'a> = &'a dyn Fn() -> String;
    let done = |what: What<'_>, result: rustix::io::Result<()>| {
        result.map_err(|e| NetError::Socket { what: what(), source: e.into() })
    };
    if let Some(size) = sockets.send_buffer {
        let result = sockopt::set_socket_send_buffer_size(fd, size as usize);
        done(&|| format!("a send buffer of {size} B"), result)?;
    }
    if let Some(size) = sockets.receive_buffer {
        let result = sockopt::set_socket_recv_buffer_size(fd, size as usize);
        done(&|| format!("a receive buffer of {size} B"), result)?;
    }
    if let Some(dscp) = sockets.dscp {
        let byte = dscp << 2;
        let result = match of {
            SocketAddr::V4(_) => sockopt::set_ip_tos(fd, byte),
            SocketAddr::V6(_) => sockopt::set_ipv6_tclass(fd, byte.into()),
        };
        done(&|| format!("DSCP {dscp}"), result)?;
    }
    if !tcp {
        return Ok(());
    }
    if let Some(name) = &sockets.congestion {
        let known = "`sysctl net.ipv4.tcp_available_congestion_control` lists what there is";
        let result = sockopt::set_tcp_congestion(fd, name);
        done(&|| format!("congestion control `{name}` ({known})"), result)?;
    }
    done(&|| "no-delay".to_owned(), sockopt::set_tcp_nodelay(fd, sockets.no_delay))
}

/// Connects from `source`, where one is given, and gives up after `limit`.
pub(crate) fn connect(
    to: SocketAddr,
    source: Option<SocketAddr>,
    sockets: &Sockets,
    limit: Ns,
) -> Result<TcpStream, NetError> {
    let failed = |source: io::Error| NetError::Connect { to: to.to_string(), source };
    let fd = tcp_socket(&to, sockets.multipath)?;
    set(fd.as_fd(), &to, sockets, true)?;
    if let Some(source) = source {
        bind(&fd, source).map_err(failed)?;
    }
    // A limit of sending is one of connecting too (socket(7)).
    let timeout = Some(Duration::from(limit));
    sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, timeout)
        .map_err(|e| failed(e.into()))?;
    match rustix::net::connect(&fd, &to) {
        // The kernel reports what the limit cut off as "in progress".
        Err(rustix::io::Errno::INPROGRESS) => Err(failed(io::ErrorKind::TimedOut.into())),
        Err(e) => Err(failed(e.into())),
        Ok(()) => {
            sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, None)
                .map_err(|e| failed(e.into()))?;
            Ok(TcpStream::from(fd))
        }
    }
}

/// Binds to an address of this host; with a port, one that was used a moment ago will do.
fn bind(fd: &OwnedFd, source: SocketAddr) -> io::Result<()> {
    if source.port() != 0 {
        sockopt::set_socket_reuseaddr(fd, true)?;
    }
    Ok(rustix::net::bind(fd, &source)?)
}

/// Listens with the sockets configured as the accepted ones must be.
pub(crate) fn listen(at: SocketAddr, sockets: &Sockets) -> Result<TcpListener, NetError> {
    let failed = |source: io::Error| NetError::Listen { at: at.to_string(), source };
    let fd = tcp_socket(&at, sockets.multipath)?;
    set(fd.as_fd(), &at, sockets, true)?;
    sockopt::set_socket_reuseaddr(&fd, true).map_err(|e| failed(e.into()))?;
    rustix::net::bind(&fd, &at).map_err(|e| failed(e.into()))?;
    rustix::net::listen(&fd, BACKLOG).map_err(|e| failed(e.into()))?;
    Ok(TcpListener::from(fd))
}

/// A socket for datagrams, bound.
pub(crate) fn datagrams(at: SocketAddr, sockets: &Sockets) -> Result<UdpSocket, NetError> {
    let failed = |source: io::Error| NetError::Listen { at: at.to_string(), source };
    let kind = SocketType::DGRAM;
    let fd =
        socket_with(family(&at), kind, SocketFlags::CLOEXEC, None).map_err(|e| failed(e.into()))?;
    set(fd.as_fd(), &at, sockets, false)?;
    rustix::net::bind(&fd, &at).map_err(|e| failed(e.into()))?;
    Ok(UdpSocket::from(fd))
}

/// Prepares a connection to be written by the data plane.
pub(crate) fn ready_to_send(
    stream: &TcpStream,
    sockets: &Sockets,
    rate: Option<u64>,
) -> Result<(), NetError> {
    let lacks = |what: &str| match sockets.multipath {
        true => {
            NetError::socket(format!("{what}, which this kernel may not have for Multipath TCP"))
        }
        false => NetError::socket(what.to_owned()),
    };
    if rate.is_some() {
        maximum_pace(stream, rate).map_err(lacks("pacing in the kernel"))?;
    }
    if sockets.zero_copy {
        enable_zero_copy(stream).map_err(lacks("zero-copy sends"))?;
    }
    Ok(())
}

/// Waits until one of the sockets can be read, or for `limit`.
pub(crate) fn readable(fds: &mut [PollFd<'_>], limit: Ns) -> io::Result<usize> {
    let limit = Timespec {
        tv_sec: (limit.0 / 1_000_000_000) as i64,
        tv_nsec: (limit.0 % 1_000_000_000) as _,
    };
    match poll(fds, Some(&limit)) {
        Err(rustix::io::Errno::INTR) => Ok(0),
        other => Ok(other?),
    }
}

/// Waits until the socket can be read, or for `limit`; answers whether it can.
pub(crate) fn can_read(socket: impl AsFd, limit: Ns) -> io::Result<bool> {
    Ok(readable(&mut [PollFd::new(&socket, PollFlags::IN)], limit)? > 0)
}

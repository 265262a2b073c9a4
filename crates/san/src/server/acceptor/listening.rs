//! Listening sockets.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, acceptfrom_with, bind, getsockname, listen, socket_with,
};
use std::io;
use std::net::SocketAddr;

/// Connections that the kernel keeps for the acceptor.
const BACKLOG: i32 = 1024;

/// Listens at an address; port 0 becomes one that is free.
pub(in crate::server) fn open(address: SocketAddr) -> io::Result<(OwnedFd, SocketAddr)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        // So that 0.0.0.0 and :: may both be portals with one port number.
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    let found = SocketAddr::try_from(getsockname(&socket)?).map_err(io::Error::from)?;
    Ok((socket, found))
}

/// A connection that has come in.
pub(super) struct IncomingConnection {
    pub socket: OwnedFd,
    pub from: SocketAddr,
    /// The local address of the connection.
    pub local: SocketAddr,
}

/// Takes a connection that waits, if there is one.
pub(super) fn take(listener: &OwnedFd) -> io::Result<Option<IncomingConnection>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (socket, from) = match acceptfrom_with(listener, flags) {
        Ok(accepted) => accepted,
        // Gone before it was taken: the next one may be well.
        Err(Errno::WOULDBLOCK | Errno::INTR | Errno::CONNABORTED) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let from = from.and_then(|from| SocketAddr::try_from(from).ok());
    let Some(from) = from else { return Ok(None) };
    let local = SocketAddr::try_from(getsockname(&socket)?).map_err(io::Error::from)?;
    // Answers are whole when they are sent: nothing is gained by waiting for more.
    sockopt::set_tcp_nodelay(&socket, true)?;
    Ok(Some(IncomingConnection { socket, from, local }))
}

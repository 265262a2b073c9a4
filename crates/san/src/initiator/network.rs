//! The network that sessions are made from: that of this process, or one that a link leads to.
//!
//! The process of a VM in an emulated lab follows such a link, to the network namespace of the VM's host. When the VM moves, the
//! link leads to another host, and sessions that are made from then on leave from there.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// Set once, before the first session.
static LINK: OnceLock<PathBuf> = OnceLock::new();

/// Has this process make its sessions from the network namespace that a link leads to at that moment. What was said first holds.
pub fn connect_from(link: PathBuf) {
    let _ = LINK.set(link);
}

/// Connects.
pub(super) fn connect(address: &SocketAddr, within: Duration) -> io::Result<TcpStream> {
    match LINK.get() {
        None => TcpStream::connect_timeout(address, within),
        Some(link) => elsewhere(link, address, within),
    }
}

/// A thread of its own enters the namespace, so that this one stays where it is.
fn elsewhere(link: &Path, address: &SocketAddr, within: Duration) -> io::Result<TcpStream> {
    let there = || {
        let namespace = File::open(link)?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        TcpStream::connect_timeout(address, within)
    };
    thread::scope(|scope| {
        let thread =
            thread::Builder::new().name("connect".to_owned()).spawn_scoped(scope, there)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("it broke off")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_link_that_leads_nowhere_is_an_error_and_one_to_here_connects() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let connect = |link: &str| elsewhere(Path::new(link), &address, Duration::from_secs(5));
        assert_eq!(connect("/nonexistent").unwrap_err().kind(), io::ErrorKind::NotFound);
        // Entering a namespace takes root, even one's own.
        match connect("/proc/self/ns/net") {
            Ok(socket) => assert_eq!(socket.peer_addr().expect("a peer"), address),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
    }
}

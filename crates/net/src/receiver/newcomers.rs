//! Connections whose sender has not proven itself yet. They are bounded in number, and the oldest of the address with the
//! most makes room for the next: however many connections stay silent, a sender that greets at once is heard.

use engine::one_host;
use std::collections::BTreeMap;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Most of them at once.
pub(super) const NEWCOMERS_MAX: usize = 128;
/// Most of them from one host.
pub(super) const NEWCOMERS_BY_ADDRESS: usize = 32;

/// Those that wait, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Newcomers(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    of: BTreeMap<u64, (IpAddr, TcpStream)>,
}

/// One of them; it no longer counts once this is dropped.
#[derive(Debug)]
pub(super) struct Newcomer {
    all: Arc<Newcomers>,
    number: u64,
}

impl Newcomers {
    /// Counts a connection, and closes another where there would be too many.
    pub(super) fn enter(self: &Arc<Newcomers>, stream: TcpStream, peer: SocketAddr) -> Newcomer {
        let address = one_host(peer.ip());
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = waiting.one_too_many(address)
            && let Some((_, stream)) = waiting.of.remove(&number)
        {
            // Its thread sees the end of the connection. Where it has gone already, that is as well.
            let _ = stream.shutdown(Shutdown::Both);
        }
        let number = waiting.next;
        waiting.next += 1;
        waiting.of.insert(number, (address, stream));
        Newcomer { all: Arc::clone(self), number }
    }

    /// Closes all of them.
    pub(super) fn close(&self) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, stream) in waiting.of.values() {
            // Where it has gone already, its thread knows.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Waiting {
    /// Which one must go before another of `address` may come.
    fn one_too_many(&self, address: IpAddr) -> Option<u64> {
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for (of, _) in self.of.values() {
            *counts.entry(*of).or_default() += 1;
        }
        let own = counts.get(&address).copied().unwrap_or(0);
        let from = match own >= NEWCOMERS_BY_ADDRESS {
            true => address,
            false if self.of.len() < NEWCOMERS_MAX => return None,
            false => *counts.iter().max_by_key(|(_, count)| **count)?.0,
        };
        self.of.iter().find(|(_, (of, _))| *of == from).map(|(number, _)| *number)
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        let mut waiting = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.of.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    /// Both ends of a connection.
    fn connection(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        far.set_nonblocking(true).unwrap();
        (far, listener.accept().unwrap().0)
    }

    fn is_closed(far: &TcpStream) -> bool {
        matches!((&*far).read(&mut [0]), Ok(0))
    }

    #[test]
    fn the_oldest_of_the_address_with_the_most_makes_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let all = Arc::new(Newcomers::default());
        let peer = |last: u8| SocketAddr::from(([10, 0, 0, last], 7));
        let enter = |last: u8| {
            let (far, near) = connection(&listener);
            (far, all.enter(near, peer(last)))
        };
        let (first, _honest) = enter(9);
        let crowd: Vec<_> = (0..NEWCOMERS_BY_ADDRESS + 5).map(|_| enter(1)).collect();
        let closed: Vec<bool> = crowd.iter().map(|(far, _)| is_closed(far)).collect();
        assert_eq!(closed.iter().filter(|closed| **closed).count(), 5);
        assert!(closed[..5].iter().all(|closed| *closed), "the oldest");
        // Others fill what is left; then the crowd makes room, and no one else.
        let left = NEWCOMERS_MAX - NEWCOMERS_BY_ADDRESS - 1;
        let others: Vec<_> = (0..left).map(|number| enter(20 + number as u8 / 8)).collect();
        let (_, late) = enter(200);
        assert!(is_closed(&crowd[5].0) && !is_closed(&first));
        assert!(others.iter().all(|(far, _)| !is_closed(far)));
        drop(late);
        drop(crowd);
        assert_eq!(all.0.lock().unwrap().of.len(), left + 1);
    }
}

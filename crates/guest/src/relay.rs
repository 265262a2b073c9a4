//! A port of a guest as its host has it: one end of a pair of sockets, whatever QEMU is at the other.
//!
//! A guest that moves from one QEMU to another takes along what is in its memory. What a QEMU has been sent and has not put there
//! yet would be lost with it: [`Relay::hold`] keeps what is sent to the guest back, and waits until the QEMU has taken all that
//! was sent before. What the guest sends is read to its end before anything of the next QEMU.

use clock::Ns;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// How long a QEMU may take to put into its guest's memory what it was sent.
const TAKES: Ns = Ns::secs(10);
const POLL: Ns = Ns::millis(2);

/// What stands between the host's end and the QEMU of the moment.
pub(crate) struct Relay {
    shared: Arc<Shared>,
    /// The host's end, until it is taken.
    host: Option<UnixStream>,
}

struct Shared {
    /// The end of the pair that is not the host's.
    inner: UnixStream,
    /// Held by who writes to the guest.
    gate: Mutex<UnixStream>,
    next: Mutex<Next>,
    told: Condvar,
}

/// What follows when the QEMU of the moment closes its socket.
enum Next {
    /// The guest has ended.
    End,
    /// It moves: another QEMU may follow.
    Moving,
    /// It goes on here.
    Here(UnixStream),
}

/// What is sent to the guest is held back while this lives.
pub(crate) struct Held<'a> {
    shared: &'a Shared,
    gate: MutexGuard<'a, UnixStream>,
}

impl Relay {
    /// Stands before the socket of a QEMU.
    pub fn new(socket: UnixStream) -> io::Result<Relay> {
        let (host, inner) = UnixStream::pair()?;
        let shared = Arc::new(Shared {
            inner,
            gate: Mutex::new(socket.try_clone()?),
            next: Mutex::new(Next::End),
            told: Condvar::new(),
        });
        let (up, down) = (Arc::clone(&shared), Arc::clone(&shared));
        Builder::new().name("guest-to-host".to_owned()).spawn(move || up.to_host(socket))?;
        Builder::new().name("host-to-guest".to_owned()).spawn(move || down.to_guest())?;
        Ok(Relay { shared, host: Some(host) })
    }

    /// The host's end, once.
    pub fn host(&mut self) -> Option<UnixStream> {
        self.host.take()
    }

    /// Holds back what is sent to the guest, once it has got all that was sent before.
    /// # Errors
    /// It does not take what it was sent.
    pub fn hold(&self) -> io::Result<Held<'_>> {
        let gate = locked(&self.shared.gate);
        let deadline = clock::now().plus(TAKES);
        while unread(&gate)? > 0 {
            if clock::now() >= deadline {
                return Err(io::Error::other("the guest does not read what it is sent"));
            }
            clock::sleep_until(clock::now().plus(POLL));
        }
        *locked(&self.shared.next) = Next::Moving;
        Ok(Held { shared: &self.shared, gate })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.tell(Next::End);
        // It may be closed already.
        let _ = self.shared.inner.shutdown(Shutdown::Both);
    }
}

impl Held<'_> {
    /// The guest is at another QEMU now.
    pub fn moved(mut self, socket: UnixStream) -> io::Result<()> {
        *self.gate = socket.try_clone()?;
        self.shared.tell(Next::Here(socket));
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut next = locked(&self.shared.next);
        // It stays where it was.
        if matches!(*next, Next::Moving) {
            *next = Next::End;
        }
        drop(next);
        self.shared.told.notify_all();
    }
}

impl Shared {
    fn tell(&self, next: Next) {
        *locked(&self.next) = next;
        self.told.notify_all();
    }

    /// Passes on what the guest sends, until it has ended.
    fn to_host(&self, mut socket: UnixStream) {
        loop {
            // A failure to read or to write is the end of either side.
            let _ = io::copy(&mut socket, &mut &self.inner);
            let mut next = locked(&self.next);
            while matches!(*next, Next::Moving) {
                next = self.told.wait(next).unwrap_or_else(PoisonError::into_inner);
            }
            match std::mem::replace(&mut *next, Next::End) {
                Next::Here(successor) => socket = successor,
                Next::End | Next::Moving => break,
            }
        }
        let _ = self.inner.shutdown(Shutdown::Both);
    }

    /// Passes on what the host sends, until it closes its end.
    fn to_guest(&self) {
        let mut chunk = [0; 16 << 10];
        while let Ok(count @ 1..) = (&self.inner).read(&mut chunk) {
            if locked(&self.gate).write_all(&chunk[..count]).is_err() {
                break;
            }
        }
        let _ = locked(&self.gate).shutdown(Shutdown::Both);
    }
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory that holds what was sent over a socket and its peer has not read: nothing where it has read all.
fn unread(socket: &UnixStream) -> io::Result<libc::c_int> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open, and the kernel writes one `int` into a place for one.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) };
    if done == 0 { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(mut from: &UnixStream, wanted: &str) {
        let mut got = vec![0; wanted.len()];
        from.read_exact(&mut got).expect("as much");
        assert_eq!(String::from_utf8_lossy(&got), wanted);
    }

    #[test]
    fn what_either_side_sends_goes_on_at_the_next_machine_in_its_order() {
        let (first, at_first) = UnixStream::pair().expect("a pair");
        let mut relay = Relay::new(at_first).expect("a relay");
        let mut host = relay.host().expect("an end");
        assert!(relay.host().is_none());
        host.write_all(b"one").expect("sent");
        exactly(&first, "one");
        let held = relay.hold().expect("all is read");
        host.write_all(b"two").expect("sent");
        (&first).write_all(b"last of the first, ").expect("sent");
        let (second, at_second) = UnixStream::pair().expect("a pair");
        (&second).write_all(b"first of the second").expect("sent");
        held.moved(at_second).expect("moved");
        first.set_nonblocking(true).expect("set");
        let nothing = (&first).read(&mut [0; 1]).expect_err("nothing is sent to the first");
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        drop(first);
        exactly(&second, "two");
        exactly(&host, "last of the first, first of the second");
        drop(second);
        assert_eq!(host.read(&mut [0; 1]).expect("the end"), 0);
    }

    #[test]
    fn a_move_that_fails_changes_nothing() {
        let (machine, at_machine) = UnixStream::pair().expect("a pair");
        let mut relay = Relay::new(at_machine).expect("a relay");
        let mut host = relay.host().expect("an end");
        drop(relay.hold().expect("nothing is under way"));
        host.write_all(b"still here").expect("sent");
        exactly(&machine, "still here");
        drop(relay);
        assert_eq!((&machine).read(&mut [0; 1]).expect("the end"), 0);
    }

    #[test]
    fn what_the_machine_has_not_read_is_known() {
        let (machine, at_machine) = UnixStream::pair().expect("a pair");
        assert_eq!(unread(&at_machine).expect("asked"), 0);
        (&at_machine).write_all(b"x").expect("sent");
        assert!(unread(&at_machine).expect("asked") > 0);
        exactly(&machine, "x");
        assert_eq!(unread(&at_machine).expect("asked"), 0);
    }
}

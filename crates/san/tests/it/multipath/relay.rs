//! Somebody between an initiator and a portal, who can hold back what the initiator sends and deliver it later.

use crate::prelude::*;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What goes on between the two.
#[derive(Debug, Default)]
struct State {
    /// Nothing goes from the initiator to the target.
    held: bool,
    /// New connections are closed at once.
    closed: bool,
    /// A connection ends where an answer is longer than this.
    longest: Option<usize>,
    /// The next connections end after so many answers each, in this order.
    lives: VecDeque<usize>,
    /// Bytes that are held back now.
    waiting: usize,
    /// Bytes that were delivered after they had been held back, and attempts that failed.
    late: usize,
    failed: usize,
    ends: Vec<TcpStream>,
    /// Where new connections lead.
    target: Option<SocketAddr>,
}

/// A relay before a portal. It serves until the test's process ends.
#[derive(Clone)]
pub struct Relay {
    pub address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Relay {
    pub fn before(target: SocketAddr) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let relay = Relay { address, state: Arc::default() };
        let this = relay.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if this.with(|state| state.closed) {
                    continue;
                }
                let to = this.with(|state| state.target).unwrap_or(target);
                let Ok(far) = TcpStream::connect(to) else { continue };
                this.join(near, far);
            }
        });
        relay
    }

    fn join(&self, mut near: TcpStream, mut far: TcpStream) {
        let (mut up, mut down) = (near.try_clone().expect("one"), far.try_clone().expect("one"));
        let end = near.try_clone().expect("one");
        let life = self.with(|state| {
            state.ends.push(end);
            state.lives.pop_front().unwrap_or(usize::MAX)
        });
        let this = self.clone();
        thread::spawn(move || {
            let _ = this.upwards(&mut up, &mut down);
            let _ = down.shutdown(Shutdown::Both);
        });
        let this = self.clone();
        thread::spawn(move || {
            let _ = this.downwards(&mut far, &mut near, life);
            let _ = near.shutdown(Shutdown::Both);
            let _ = far.shutdown(Shutdown::Both);
        });
    }

    /// What the target sends, unless it is too long, and no more than so many answers.
    fn downwards(
        &self,
        far: &mut TcpStream,
        near: &mut TcpStream,
        answers: usize,
    ) -> io::Result<()> {
        let mut bytes = vec![0; 256 << 10];
        for _ in 0..answers {
            let got = far.read(&mut bytes)?;
            let longest = self.with(|state| state.longest);
            if got == 0 || longest.is_some_and(|longest| got > longest) {
                return Ok(());
            }
            near.write_all(&bytes[..got])?;
        }
        Ok(())
    }

    /// The next connections end after so many answers each, in this order.
    pub fn short_lived(&self, lives: impl IntoIterator<Item = usize>) {
        self.with(|state| state.lives = lives.into_iter().collect());
    }

    /// Connections that are still to end so.
    pub fn lives_left(&self) -> usize {
        self.with(|state| state.lives.len())
    }

    /// Ends every connection whose target has more to say at once than so many bytes.
    pub fn bear(&self, longest: usize) {
        self.with(|state| state.longest = Some(longest));
    }

    /// What the initiator sends, whole and in order, though it may come late, and after the initiator has gone.
    fn upwards(&self, up: &mut TcpStream, down: &mut TcpStream) -> io::Result<()> {
        let mut bytes = vec![0; 256 << 10];
        loop {
            let got = up.read(&mut bytes)?;
            if got == 0 {
                return Ok(());
            }
            let late = self.wait(got);
            let sent = down.write_all(&bytes[..got]);
            if late {
                self.with(|state| match sent {
                    Ok(()) => state.late += got,
                    Err(_) => state.failed += got,
                });
                self.state.1.notify_all();
            }
            sent?;
        }
    }

    /// Whether it had to wait.
    fn wait(&self, bytes: usize) -> bool {
        let (state, changed) = &*self.state;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let late = state.held;
        state.waiting += bytes;
        changed.notify_all();
        while state.held {
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= bytes;
        late
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Holds back what comes from now on, or lets it go.
    pub fn hold(&self, held: bool) {
        self.with(|state| state.held = held);
        self.state.1.notify_all();
    }

    /// Takes no new connections, or takes them again.
    pub fn close(&self, closed: bool) {
        self.with(|state| state.closed = closed);
    }

    /// Leads new connections somewhere else.
    pub fn lead_to(&self, target: SocketAddr) {
        self.with(|state| state.target = Some(target));
    }

    /// Ends the connections of the initiator's side, without a word to the target's.
    pub fn cut(&self) {
        for end in self.with(|state| std::mem::take(&mut state.ends)) {
            let _ = end.shutdown(Shutdown::Write);
        }
    }

    /// Waits until so many bytes are held back.
    pub fn until_waiting(&self, bytes: usize) {
        self.until(|state| state.waiting >= bytes);
    }

    /// Waits until something that was held back has been delivered, or could not be any more.
    pub fn until_delivered(&self) {
        self.until(|state| state.late + state.failed > 0 && state.waiting == 0);
    }

    fn until(&self, is: impl Fn(&State) -> bool) {
        let (state, changed) = &*self.state;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        while !is(&state) {
            let (next, timeout) = changed
                .wait_timeout(state, crate::initiator::peer::HANG)
                .unwrap_or_else(PoisonError::into_inner);
            assert!(!timeout.timed_out(), "nothing comes: {next:?}");
            state = next;
        }
    }
}

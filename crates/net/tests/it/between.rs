//! What stands between a sender and a receiver: it passes the frames of the control connection on, each through a hand that
//! may look at it, change it, or say something after it.

use crate::prelude::*;
use crate::support::place;
use serde_json::Value;

/// Is given each message of one direction; answers bytes that follow it.
pub type Hand = Box<dyn FnMut(&mut Value) -> Vec<u8> + Send>;

/// A hand that changes nothing.
pub fn idle() -> Hand {
    Box::new(|_| Vec::new())
}

/// For the time of one test: of its control connection, and of those that come before it.
pub struct Between {
    address: SocketAddr,
    thread: JoinHandle<()>,
}

impl Between {
    pub fn new(receiver: SocketAddr, mut from_sender: Hand, mut from_receiver: Hand) -> Between {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let address = listener.local_addr().expect("it has an address");
        let thread = std::thread::spawn(move || {
            let mut tested = false;
            while !tested {
                let (sender, _) = listener.accept().expect("a sender comes");
                let receiver = TcpStream::connect(receiver).expect("the receiver is there");
                let there = (sender.try_clone().unwrap(), receiver.try_clone().unwrap());
                let mut from_sender = |message: &mut Value| {
                    tested |= message.get("prepare").is_some();
                    from_sender(message)
                };
                std::thread::scope(|scope| {
                    scope.spawn(|| pass(there.0, there.1, &mut from_sender));
                    pass(receiver, sender, &mut from_receiver);
                });
            }
        });
        Between { address, thread }
    }

    /// Where a sender finds it.
    pub fn place(&self) -> ReceiverAddress {
        place(self.address)
    }

    /// Waits until both ends have gone.
    pub fn end(self) {
        self.thread.join().expect("it passes on");
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, hand: &mut dyn FnMut(&mut Value) -> Vec<u8>) {
    while let Some(body) = frame(&mut from) {
        let mut message: Value = serde_json::from_slice(&body).expect("it is JSON");
        let after = hand(&mut message);
        let body = serde_json::to_vec(&message).expect("it is data");
        let bytes = [&(body.len() as u32).to_le_bytes()[..], &body, &after].concat();
        // An end that has gone is found out by the other.
        let _ = to.write_all(&bytes);
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn frame(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length).ok()?;
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    from.read_exact(&mut body).ok()?;
    Some(body)
}

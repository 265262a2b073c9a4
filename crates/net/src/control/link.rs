//! Messages over a connection. A message that is too long, invalid or stays incomplete ends the connection.

use super::frame::{FrameBuffer, frame};
use crate::NetError;
use crate::sys::{socket, user_timeout};
use clock::Ns;
use rustix::net::sockopt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A peer that acknowledges nothing, or takes nothing, for so long is gone.
const GONE: Duration = Duration::from_secs(10);
/// While an interface is being set, its link may be down, and a switch may block its port for 30 s (IEEE 802.1D).
pub(crate) const FLAP: Duration = Duration::from_secs(60);
/// Bytes of one read.
const READ: usize = 16 << 10;

/// One end of a control connection.
#[derive(Debug)]
pub(crate) struct ControlLink {
    stream: TcpStream,
    peer: String,
    inbox: FrameBuffer,
    /// When something last arrived, and for how long nothing may.
    heard: Ns,
    silence: Ns,
}

impl ControlLink {
    pub(crate) fn new(stream: TcpStream, peer: String) -> Result<ControlLink, NetError> {
        let set =
            |result: io::Result<()>| result.map_err(NetError::socket("the control connection"));
        set(stream.set_nonblocking(false))?;
        set(stream.set_nodelay(true))?;
        set(stream.set_write_timeout(Some(GONE)))?;
        set(user_timeout(&stream, GONE.as_millis() as u32))?;
        let keep_alive = || -> rustix::io::Result<()> {
            sockopt::set_socket_keepalive(&stream, true)?;
            sockopt::set_tcp_keepidle(&stream, Duration::from_secs(5))?;
            sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(2))
        };
        set(keep_alive().map_err(io::Error::from))?;
        Ok(ControlLink {
            stream,
            peer,
            inbox: FrameBuffer::new(),
            heard: clock::now(),
            silence: Ns::MAX,
        })
    }

    /// The peer is authenticated: its messages may be longer.
    pub(crate) fn trust(&mut self) {
        self.inbox.trust();
    }

    /// Sets how long a peer may acknowledge nothing, as while an interface on the path is set.
    pub(crate) fn outlast(&mut self, limit: Duration) -> Result<(), NetError> {
        let ms = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
        user_timeout(&self.stream, ms).map_err(NetError::socket("the control connection"))
    }

    /// From now on a peer that sends nothing for so long is lost, even if its host still answers.
    pub(crate) fn expect_signs(&mut self, silence: Ns) {
        (self.heard, self.silence) = (clock::now(), silence);
    }

    /// The peer's address.
    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// The connection, for its addresses.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Says something.
    pub(crate) fn say(
        &mut self,
        message: &impl Serialize,
        when: &'static str,
    ) -> Result<(), NetError> {
        let frame = frame(message).map_err(|e| self.lost(when, e))?;
        self.stream.write_all(&frame).map_err(|e| self.lost(when, e))
    }

    /// Hears the next message, or `None` where none has come by `until`.
    pub(crate) fn hear<M: DeserializeOwned>(
        &mut self,
        until: Ns,
        when: &'static str,
    ) -> Result<Option<M>, NetError> {
        loop {
            if let Some(message) = self.inbox.next().map_err(|why| self.garbled(why))? {
                return Ok(Some(message));
            }
            let left = until.since(clock::now());
            let ready = socket::can_read(&self.stream, left).map_err(|e| self.lost(when, e))?;
            if ready {
                self.fill(when)?;
            } else if clock::now().since(self.heard) > self.silence {
                return Err(self.lost(
                    when,
                    format!(
                        "no message for {:.0} s although its host answers; was it stopped?",
                        self.silence.as_secs_f64()
                    ),
                ));
            } else if clock::now() >= until {
                return Ok(None);
            }
        }
    }

    /// Hears a message that must come within `limit`.
    pub(crate) fn expect<M: DeserializeOwned>(
        &mut self,
        limit: Ns,
        when: &'static str,
    ) -> Result<M, NetError> {
        let heard = self.hear(clock::now().plus(limit), when)?;
        heard.ok_or_else(|| self.lost(when, format!("no answer for {} s", limit.as_secs_f64())))
    }

    fn fill(&mut self, when: &'static str) -> Result<(), NetError> {
        let mut bytes = [0; READ];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(self.lost(when, "it closed the connection")),
            Ok(got) => {
                self.inbox.arrived(&bytes[..got]);
                self.heard = clock::now();
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(self.lost(when, e)),
        }
    }

    /// What came is not what the protocol has at this point.
    pub(crate) fn garbled(&self, why: impl ToString) -> NetError {
        NetError::Garbled { peer: self.peer.clone(), why: why.to_string() }
    }

    pub(crate) fn lost(&self, when: &'static str, why: impl ToString) -> NetError {
        NetError::Lost { peer: self.peer.clone(), when, why: why.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::LARGE;
    use super::super::{FromReceiver, FromSender};
    use super::*;
    use crate::{Carriage, TestSpec};
    use proptest::prelude::*;
    use std::net::{Shutdown, TcpListener};

    fn pair() -> (TcpStream, ControlLink) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (b, _) = listener.accept().unwrap();
        (a, ControlLink::new(b, "them".to_owned()).unwrap())
    }

    /// What a link decodes from these bytes, after which the peer closes.
    fn heard(bytes: &[u8]) -> Result<Option<FromSender>, NetError> {
        let (mut peer, mut link) = pair();
        peer.write_all(bytes).unwrap();
        peer.shutdown(Shutdown::Write).unwrap();
        link.hear(clock::now().plus(Ns::secs(10)), "then")
    }

    fn frame(body: &str) -> Vec<u8> {
        [&(body.len() as u32).to_le_bytes()[..], body.as_bytes()].concat()
    }

    #[track_caller]
    fn refused(bytes: &[u8], hint: &str) {
        let error = heard(bytes).expect_err("it is no message").to_string();
        assert!(error.contains(hint), "{hint:?} is not in {error:?}");
    }

    #[test]
    fn messages_arrive_whole_and_in_order() {
        let (stream, mut link) = pair();
        let mut peer = ControlLink::new(stream, "us".to_owned()).unwrap();
        let long = FromSender::Prepare(Box::new(TestSpec::new(Carriage::Tcp)));
        for message in [FromSender::Clock { sent: Ns(7) }, long.clone(), FromSender::Done] {
            peer.say(&message, "now").unwrap();
        }
        let mut hear = || link.expect::<FromSender>(Ns::secs(10), "now").unwrap();
        assert_eq!(
            [hear(), hear(), hear()],
            [FromSender::Clock { sent: Ns(7) }, long, FromSender::Done]
        );
        assert_eq!(link.hear::<FromSender>(clock::now(), "now").unwrap(), None);
        link.say(&FromReceiver::Ready, "now").unwrap();
        assert_eq!(peer.expect::<FromReceiver>(Ns::secs(10), "now").unwrap(), FromReceiver::Ready);
    }

    #[test]
    fn invalid_messages_are_refused() {
        refused(b"", "closed the connection");
        refused(&[1, 2], "closed the connection");
        refused(&frame("\"done\"")[..6], "closed the connection");
        refused(b"GET / HTTP/1.1\r\n\r\n", "bytes, with 1024 allowed");
        refused(&u32::MAX.to_le_bytes(), "4294967295 bytes");
        refused(&frame(""), "does not speak this protocol");
        refused(&frame("\"finished\""), "unknown variant");
        refused(&frame("{\"clock\":{\"sent\":-1}}"), "does not speak");
        refused(&frame(&"[".repeat(1000)), "does not speak");
        assert_eq!(heard(&frame("\"done\"")).unwrap(), Some(FromSender::Done));
    }

    #[test]
    fn only_authenticated_peers_may_send_long_messages() {
        let (mut peer, mut link) = pair();
        link.trust();
        let spec = serde_json::to_string(&FromSender::Done).unwrap();
        peer.write_all(&frame(&format!("{}{spec}", " ".repeat(100_000)))).unwrap();
        assert_eq!(link.expect::<FromSender>(Ns::secs(10), "now").unwrap(), FromSender::Done);
        peer.write_all(&(LARGE as u32 + 1).to_le_bytes()).unwrap();
        assert!(matches!(
            link.expect::<FromSender>(Ns::secs(10), "now"),
            Err(NetError::Garbled { .. })
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let _ = heard(&bytes);
            let _ = heard(&[&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat());
        }
    }
}

//! What an agent says on its way to the server: pushed by the agent's thread, sent on that of the connection.

use crate::runtime::pause;
use crate::spool::Spool;
use crate::watch::Watch;
use crate::wire::parts;
use async_nats::jetstream::Context;
use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use fleet::carrier::{CarrierError, Outbox};
use fleet::frame;
use fleet::message::FromAgent;
use fleet::sequence::Numbered;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// How long until what the server did not take is sent again.
const RETRY: Duration = Duration::from_millis(200);

/// Both ends of the way.
pub(crate) struct Outgoing {
    state: Mutex<State>,
    news: Notify,
}

struct State {
    spool: Spool,
    /// The number after the last message that was said and kept.
    said: u64,
    /// From which message on it is to be sent again.
    again: Option<u64>,
    /// Nothing more is said.
    closed: bool,
}

impl Outgoing {
    pub fn new(spool: Spool) -> Arc<Outgoing> {
        let state = State { spool, said: 0, again: None, closed: false };
        Arc::new(Outgoing { state: Mutex::new(state), news: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The coordinator has all before `next`, and wants one again.
    pub fn kept(&self, next: u64, again: Option<u64>) {
        let mut state = self.state();
        state.spool.kept(next);
        if again.is_some() {
            state.again = again;
            self.news.notify_one();
        }
    }

    /// Messages that the server does not have, and the number after the last one.
    pub fn waiting(&self) -> (u64, u64) {
        let state = self.state();
        (state.spool.waiting() as u64, state.said)
    }

    /// Nothing more is said.
    pub fn close(&self) {
        self.state().closed = true;
        self.news.notify_one();
    }

    /// Sends all that is said, in order, each part until the server keeps it.
    pub async fn publish(self: Arc<Self>, stream: Context, subject: String, instance: u64) {
        let (mut next, mut round) = (0, 0);
        loop {
            let due = {
                let mut state = self.state();
                if let Some(again) = state.again.take() {
                    (next, round) = (again.min(next), round + 1);
                }
                (state.spool.from(next), state.closed)
            };
            match due {
                (Ok(Some((number, message))), _) => {
                    for (index, part) in parts(number, &message).into_iter().enumerate() {
                        let id = format!("{instance:x}-{number}-{index}-{round}");
                        send(&stream, &subject, part, &id).await;
                    }
                    self.state().spool.stored(number);
                    next = number + 1;
                }
                // What cannot be read is not sent: the coordinator misses its number.
                (Err(_), _) => next += 1,
                (Ok(None), _) => self.news.notified().await,
            }
        }
    }
}

/// Sends one part until the server keeps it. The server knows it by its name and keeps it once.
async fn send(stream: &Context, subject: &str, part: Bytes, id: &str) {
    loop {
        let message = PublishMessage::build().payload(part.clone()).message_id(id);
        if let Ok(kept) = stream.send_publish(subject.to_owned(), message).await
            && kept.await.is_ok()
        {
            return;
        }
        pause(RETRY).await;
    }
}

/// The agent's end.
pub(crate) struct SpoolOutbox {
    pub to: Arc<Outgoing>,
    pub watch: Arc<Watch>,
}

impl Outbox<Numbered<FromAgent>> for SpoolOutbox {
    fn send(&mut self, message: Numbered<FromAgent>) -> Result<(), CarrierError> {
        self.watch.told(&message.message);
        let bytes = frame::encode(&message)?;
        let mut state = self.to.state();
        // What cannot be kept has not been said: the coordinator does not wait for it, and hears why nothing more comes.
        state.spool.push(message.number, Bytes::from(bytes)).map_err(|error| {
            CarrierError::Failed(format!("what it says cannot be kept until it is sent: {error}"))
        })?;
        state.said = message.number + 1;
        drop(state);
        self.to.news.notify_one();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::Room;
    use fleet::message::FromAgent;

    #[test]
    fn what_found_no_room_was_not_said() {
        let dir = tempfile::tempdir().expect("a directory");
        let room = Room { memory: 100, disk: 0, dir: dir.path().to_owned() };
        let outgoing = Outgoing::new(Spool::new(room, "a"));
        let mut outbox = SpoolOutbox { to: Arc::clone(&outgoing), watch: Arc::default() };
        let message = |number| Numbered { number, message: FromAgent::Finished { step: 0 } };
        let kept =
            (0..100).find(|number| outbox.send(message(*number)).is_err()).expect("it is full");
        assert!(kept > 0);
        // A coordinator that waited for one more would never hear why nothing comes.
        assert_eq!(outgoing.waiting(), (kept, kept));
    }
}

//! An agent's part of one run: the thread that serves it, and both ways of its messages.

use crate::outgoing::{Outgoing, SpoolOutbox};
use crate::spool::Spool;
use crate::watch::Watch;
use crate::wire::{Assembler, Reply, Taken, part};
use async_nats::jetstream::Context;
use bytes::Bytes;
use clock::Ns;
use fleet::carrier::{CarrierEnd, CarrierError, MessageInbox, QUEUE_MAX};
use fleet::frame;
use fleet::message::ToAgent;
use fleet::sequence::Numbered;
use fleet::{AgentIdentity, EngineRegistry};
use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinHandle;

/// What the thread that serves a run gets from the connection's.
type Delivery = Result<Numbered<ToAgent>, CarrierError>;

pub(crate) struct Engagement {
    pub run: String,
    pub title: String,
    /// When its coordinator was heard the last time.
    pub heard: Ns,
    assembler: Assembler,
    /// A message that found no place.
    pending: Option<Delivery>,
    deliver: Option<SyncSender<Delivery>>,
    outgoing: Arc<Outgoing>,
    publisher: JoinHandle<()>,
    /// Why its part is over, once it is.
    over: Arc<Mutex<Option<String>>>,
}

struct Inbox(Receiver<Delivery>);

impl MessageInbox<Numbered<ToAgent>> for Inbox {
    fn recv(&mut self) -> Result<Numbered<ToAgent>, CarrierError> {
        self.0.recv().unwrap_or(Err(CarrierError::Closed))
    }
}

/// What an engagement needs of its agent.
pub(crate) struct Post {
    pub stream: Context,
    pub subject: String,
    pub instance: u64,
    pub spool: Spool,
    pub engines: EngineRegistry,
    pub watch: Arc<Watch>,
    pub identity: AgentIdentity,
}

impl Engagement {
    /// Begins to serve a run, on a thread of its own.
    pub fn begin(run: String, title: String, post: Post) -> io::Result<Engagement> {
        let Post { stream, subject, instance, spool, engines, watch, identity } = post;
        let outgoing = Outgoing::new(spool);
        let (deliver, inbox) = mpsc::sync_channel(QUEUE_MAX);
        let carrier = CarrierEnd {
            outbox: Box::new(SpoolOutbox { to: Arc::clone(&outgoing), watch }),
            inbox: Box::new(Inbox(inbox)),
        };
        let over: Arc<Mutex<Option<String>>> = Arc::default();
        let (ended, last) = (Arc::clone(&over), Arc::clone(&outgoing));
        let serve = move || {
            let reason = match fleet::serve(carrier, engines, identity) {
                Ok(()) => "it was dismissed".to_owned(),
                Err(error) => error.to_string(),
            };
            *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
            last.close();
        };
        std::thread::Builder::new().name("agent".to_owned()).spawn(serve)?;
        let publish = Arc::clone(&outgoing).publish(stream, subject, instance);
        Ok(Engagement {
            run,
            title,
            heard: clock::now(),
            assembler: Assembler::default(),
            pending: None,
            deliver: Some(deliver),
            outgoing,
            publisher: tokio::spawn(publish),
            over,
        })
    }

    /// The number of the message that it waits for.
    pub fn next(&self) -> u64 {
        self.assembler.next() - u64::from(self.pending.is_some())
    }

    /// Why its part is over, if it is.
    pub fn over(&self) -> Option<String> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes in a part of a message of the coordinator.
    pub fn take(&mut self, bytes: &Bytes) -> Reply {
        self.heard = clock::now();
        if !self.flush() {
            return Reply::Again;
        }
        let Some(part) = part(bytes) else { return Reply::Again };
        if self.assembler.take(part) == Taken::NoRoom {
            return Reply::Again;
        }
        while let Some((_, message)) = self.assembler.pop() {
            self.pending = Some(frame::decode(&message).map_err(CarrierError::from));
            if !self.flush() {
                // It is taken, and waits for its place; what follows is asked for again.
                break;
            }
        }
        Reply::Received
    }

    /// Hands over what waits; false where there is no place for it.
    fn flush(&mut self) -> bool {
        let Some(pending) = self.pending.take() else { return true };
        match self.deliver.as_ref().map(|deliver| deliver.try_send(pending)) {
            Some(Err(TrySendError::Full(back))) => {
                self.pending = Some(back);
                false
            }
            _ => true,
        }
    }

    /// The coordinator is there.
    pub fn pinged(&mut self, next: u64, again: Option<u64>, instance: u64) -> Reply {
        self.heard = clock::now();
        self.flush();
        self.outgoing.kept(next, again);
        let (waiting, last) = self.outgoing.waiting();
        match self.over() {
            Some(reason) => Reply::Over { reason, last },
            None => Reply::Pong { instance, waiting },
        }
    }

    /// Its coordinator is gone for good: the load stops.
    pub fn abandon(&mut self) {
        self.deliver = None;
    }

    /// Messages that the server does not have yet.
    pub fn waiting(&self) -> u64 {
        self.outgoing.waiting().0
    }

    /// Whether it is over and all that it said is at the server.
    pub fn is_done(&self) -> bool {
        self.over().is_some() && self.waiting() == 0
    }
}

impl Drop for Engagement {
    fn drop(&mut self) {
        self.publisher.abort();
    }
}

//! An agent as the coordinator's connection sees it: what came from it and is not kept yet, and what goes to it.

use crate::runtime::pause;
use crate::wire::{self, Assembler, Call, Reply, Subjects, Taken, parts};
use async_nats::jetstream::message::Acker;
use async_nats::{Client, RequestErrorKind};
use bytes::Bytes;
use fleet::carrier::{CarrierError, MessageInbox, Outbox};
use fleet::frame;
use fleet::message::{FromAgent, ToAgent};
use fleet::sequence::Numbered;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedSender};
use tokio::time::timeout;

/// Messages that wait for an agent, and of it: small, so that what waits does so where it is bounded in bytes.
pub(crate) const QUEUE: usize = 256;

/// How long until a part that was not taken is sent again.
const RETRY: Duration = Duration::from_millis(100);

/// What arrives of an agent.
pub(crate) type Delivery = Result<Numbered<FromAgent>, CarrierError>;

/// An agent of a run.
pub(crate) struct Peer {
    pub name: String,
    pub instance: u64,
    state: Mutex<State>,
    deliver: mpsc::Sender<Delivery>,
}

struct State {
    assembler: Assembler,
    /// Parts that the stream keeps until their messages are kept here, by these.
    unkept: BTreeMap<u64, Vec<Acker>>,
    /// All messages before this one are kept.
    kept: u64,
    /// A message of it came damaged.
    damaged: bool,
    /// Nothing more is expected, and why.
    closed: bool,
}

impl Peer {
    /// One whose messages from this number on are awaited; and where they arrive.
    pub fn new(name: &str, instance: u64, next: u64) -> (Arc<Peer>, PeerInbox) {
        let (deliver, inbox) = mpsc::channel(QUEUE);
        let state = State {
            assembler: Assembler::starting_at(next),
            unkept: BTreeMap::new(),
            kept: next,
            damaged: false,
            closed: false,
        };
        let (name, state) = (name.to_owned(), Mutex::new(state));
        (Arc::new(Peer { name, instance, state, deliver }), PeerInbox(inbox))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a part of a message, with what tells the stream that it is kept.
    pub async fn take(&self, bytes: &Bytes, acker: Acker) {
        let mut whole = Vec::new();
        let unneeded = {
            let mut state = self.state();
            match wire::part(bytes) {
                // What is damaged is worth nothing: the agent still has it.
                None => {
                    state.damaged = true;
                    Some(acker)
                }
                Some(part) => {
                    let number = part.number;
                    match state.assembler.take(part) {
                        _ if number < state.kept => Some(acker),
                        // It comes again when there is room.
                        Taken::NoRoom => None,
                        Taken::New | Taken::Repeated => {
                            state.unkept.entry(number).or_default().push(acker);
                            while let Some(message) = state.assembler.pop() {
                                whole.push(message.1);
                            }
                            None
                        }
                    }
                }
            }
        };
        if let Some(acker) = unneeded {
            // Where this is lost it comes again.
            let _ = acker.ack().await;
        }
        for message in whole {
            let message = frame::decode(&message).map_err(CarrierError::from);
            // An error: the run has given the agent up.
            let _ = self.deliver.send(message).await;
        }
    }

    /// A message is kept for good: what the stream may forget.
    fn kept(&self, number: u64) -> Vec<Acker> {
        let mut state = self.state();
        state.kept = state.kept.max(number + 1);
        let later = state.unkept.split_off(&(number + 1));
        std::mem::replace(&mut state.unkept, later).into_values().flatten().collect()
    }

    /// What to ask of it: all before this is kept, and this is wanted again.
    fn wants(&self) -> (u64, Option<u64>) {
        let mut state = self.state();
        let again = std::mem::take(&mut state.damaged).then(|| state.assembler.next());
        (state.kept, again)
    }

    /// Nothing more comes of it.
    pub async fn close(&self, problem: String) {
        if !std::mem::replace(&mut self.state().closed, true) {
            let _ = self.deliver.send(Err(CarrierError::Failed(problem))).await;
        }
    }

    fn has_all(&self, last: u64) -> bool {
        self.state().assembler.next() >= last
    }

    /// Tells the agent again and again that its coordinator is there, and hears how it is.
    pub async fn ping(
        self: Arc<Self>,
        client: Client,
        subjects: Subjects,
        run: String,
        every: Duration,
    ) {
        loop {
            pause(every).await;
            if self.state().closed {
                return;
            }
            let (next, again) = self.wants();
            let Ok(ping) = wire::encode(&Call::Ping { run: run.clone(), next, again }) else {
                return;
            };
            let answer = client.request(subjects.agent(&self.name), ping).await;
            let problem = match answer.map(|message| wire::decode(&message.payload)) {
                Ok(Ok(Reply::Pong { instance, .. })) if instance == self.instance => continue,
                Ok(Ok(Reply::Pong { .. } | Reply::Unknown)) => {
                    "it was started again and knows nothing of this run".to_owned()
                }
                Ok(Ok(Reply::Over { reason, last })) if self.has_all(last) => reason,
                Ok(Ok(Reply::Over { .. })) => continue,
                Ok(Ok(other)) => format!("it answers {other:?} to a ping"),
                Ok(Err(error)) => format!("its answer to a ping is none: {error}"),
                // It, or we, may be cut off for a while.
                Err(_) => {
                    self.state().damaged |= again.is_some();
                    continue;
                }
            };
            return self.close(problem).await;
        }
    }

    /// Hands over what waits, part by part, each until the agent has it. Ends when nothing more comes, with a release.
    pub async fn send(
        self: Arc<Self>,
        client: Client,
        subjects: Subjects,
        run: String,
        mut outbox: Receiver<(u64, Bytes)>,
        from: u64,
    ) {
        let down = subjects.down(&self.name, &run);
        while let Some((number, message)) = outbox.recv().await {
            // The rest of a run that is gone through again has been heard.
            if number < from || self.state().closed {
                continue;
            }
            for part in parts(number, &message) {
                if !self.hand_over(&client, &down, &part, &outbox).await {
                    break;
                }
            }
        }
        let release = Call::Release { run: Some(run) };
        let Ok(release) = wire::encode(&release) else { return };
        for _ in 0..3 {
            match client.request(subjects.agent(&self.name), release.clone()).await {
                Ok(_) => return,
                Err(error) if error.kind() == RequestErrorKind::NoResponders => return,
                Err(_) => {}
            }
        }
    }

    /// Sends one part until the agent has it; false where it never will.
    async fn hand_over(
        &self,
        client: &Client,
        subject: &str,
        part: &Bytes,
        outbox: &Receiver<(u64, Bytes)>,
    ) -> bool {
        loop {
            let answer = client.request(subject.to_owned(), part.clone()).await;
            match answer.map(|message| wire::decode(&message.payload)) {
                Ok(Ok(Reply::Received)) => return true,
                Ok(Ok(Reply::Unknown)) => {
                    let problem = "it was started again and knows nothing of this run";
                    self.close(problem.to_owned()).await;
                    return false;
                }
                _ => pause(RETRY).await,
            }
            // One that is given up or dismissed is not waited for.
            if outbox.is_closed() && outbox.is_empty() || self.state().closed {
                return false;
            }
        }
    }
}

/// The coordinator's end of what an agent says.
pub(crate) struct PeerInbox(Receiver<Delivery>);

impl MessageInbox<Numbered<FromAgent>> for PeerInbox {
    fn recv(&mut self) -> Result<Numbered<FromAgent>, CarrierError> {
        self.0.blocking_recv().unwrap_or(Err(CarrierError::Closed))
    }
}

/// The coordinator's end of what an agent is told.
pub(crate) struct PeerOutbox {
    pub peer: Arc<Peer>,
    pub queue: Sender<(u64, Bytes)>,
    /// Where the stream hears what it may forget.
    pub acks: UnboundedSender<Acker>,
}

impl Outbox<Numbered<ToAgent>> for PeerOutbox {
    fn send(&mut self, message: Numbered<ToAgent>) -> Result<(), CarrierError> {
        let bytes = Bytes::from(frame::encode(&message)?);
        self.queue.try_send((message.number, bytes)).map_err(|error| match error {
            TrySendError::Full(_) => {
                CarrierError::Failed(format!("it has taken none of the last {QUEUE} messages"))
            }
            TrySendError::Closed(_) => CarrierError::Closed,
        })
    }

    fn kept(&mut self, number: u64) {
        for acker in self.peer.kept(number) {
            // An error: the connection is being closed.
            let _ = self.acks.send(acker);
        }
    }
}

/// Waits for a task, but not for ever.
pub(crate) async fn ended(task: tokio::task::JoinHandle<()>, at_most: Duration) {
    let abort = task.abort_handle();
    if timeout(at_most, task).await.is_err() {
        abort.abort();
    }
}

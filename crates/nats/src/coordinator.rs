//! The coordinator's side: who is there, engaging agents for a run, and the stream that keeps what they say.

use crate::peer::{self, Peer, PeerInbox, PeerOutbox, QUEUE};
use crate::runtime::{Runtime, pause};
use crate::server::{NatsError, REQUEST, Server};
use crate::wire::{self, Announcement, CARRIER, Call, Reply, Subjects};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::message::Acker;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, RequestErrorKind};
use clock::Ns;
use fleet::AgentLink;
use fleet::carrier::CarrierEnd;
use fleet::message::PROTOCOL;
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// What all agents of a run together may leave at the server until the coordinator has it; then they wait.
const STREAM_MAX: i64 = 1 << 30;

/// How long what a coordinator never fetched stays at the server.
const STREAM_AGE: Duration = Duration::from_secs(24 * 3600);

/// How long a message may be on its way from the server into the journal before it comes again.
const ACK_WAIT: Duration = Duration::from_secs(5);

/// Parts on their way from the server into the journal: what bounds the coordinator's memory.
const IN_FLIGHT: i64 = 1024;

/// How often agents are asked who is there while some are awaited.
const ASK: Duration = Duration::from_secs(1);

/// How often an agent is pinged where there are few; many are pinged less often, so that their number costs nothing.
const PING: Duration = Duration::from_millis(500);

/// How long to wait until an agent that leaves has been told so.
const LEAVE: Duration = Duration::from_secs(5);

/// The name of the stream's one reader.
const READER: &str = "coordinator";

/// The agents of a group at a server.
pub struct Fleet {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) client: Client,
    stream: Context,
    pub(crate) subjects: Subjects,
    group: String,
}

/// Agents that are engaged for a run.
pub struct Engaged {
    /// For the coordinator, in the order in which they were asked for.
    pub links: Vec<AgentLink>,
    /// What carries them; it is ended after the run.
    pub session: Session,
}

/// The connection of a run.
pub struct Session {
    runtime: Arc<Runtime>,
    stream: Context,
    name: String,
    senders: Vec<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
}

/// A run whose coordinator did not end it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its stream.
    pub stream: String,
    /// Its run's title.
    pub title: String,
    /// Messages that were not fetched.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The run that agents are engaged for.
#[derive(Clone, Copy, Debug)]
pub struct ForRun<'a> {
    /// Which.
    pub run: &'a str,
    /// Its title, and where it is coordinated.
    pub title: &'a str,
    /// How many messages of each agent the journal holds, where the coordinator comes back.
    pub heard: Option<&'a BTreeMap<usize, u64>>,
}

impl Fleet {
    /// Connects to a server.
    /// # Errors
    /// Where it cannot be reached or refuses us.
    pub fn connect(server: &Server, group: &str) -> Result<Fleet, NatsError> {
        let runtime = Arc::new(Runtime::start()?);
        let server = server.clone();
        let client =
            runtime.wait(async move { server.connect("wirespeed coordinator").await })??;
        // It begins a task.
        let within = runtime.handle().enter();
        let mut stream = jetstream::new(client.clone());
        drop(within);
        stream.set_timeout(REQUEST);
        let (subjects, group) = (Subjects::new(group), group.to_owned());
        Ok(Fleet { runtime, client, stream, subjects, group })
    }

    /// The version of the server.
    pub fn server_version(&self) -> String {
        self.client.try_server_info().map(|info| info.version).unwrap_or_default()
    }

    /// How long a question to the server and back takes.
    /// # Errors
    /// Where it does not answer.
    pub fn round_trip(&self) -> Result<Ns, NatsError> {
        let client = self.client.clone();
        self.runtime.wait(async move {
            let asked = clock::now();
            client.flush().await.map_err(|error| NatsError::Server(error.to_string()))?;
            let subject = client.new_inbox();
            match client.request(subject, "".into()).await {
                Err(error) if error.kind() == RequestErrorKind::NoResponders => {
                    Ok(clock::now().since(asked))
                }
                other => Err(NatsError::Server(format!("an odd answer of the server: {other:?}"))),
            }
        })?
    }

    /// Who is there: all that answer within `wait`, or until there are enough.
    /// # Errors
    /// Where the server cannot be asked.
    pub fn who(
        &self,
        wait: Duration,
        enough: impl Fn(&[Announcement]) -> bool + Send + 'static,
    ) -> Result<Vec<Announcement>, NatsError> {
        let (client, subject) = (self.client.clone(), self.subjects.who());
        let until = clock::now().plus(wait.into());
        self.runtime.wait(async move {
            let failed = |error: String| NatsError::Server(error);
            let inbox = client.new_inbox();
            let mut answers =
                client.subscribe(inbox.clone()).await.map_err(|e| failed(e.to_string()))?;
            let mut found: BTreeMap<(String, u64), Announcement> = BTreeMap::new();
            let mut asked = Ns::ZERO;
            loop {
                let now = clock::now();
                let list: Vec<Announcement> = found.values().cloned().collect();
                if now >= until || enough(&list) {
                    return Ok(list);
                }
                if asked == Ns::ZERO || now >= asked.plus(ASK.into()) {
                    asked = now;
                    let ask = client.publish_with_reply(subject.clone(), inbox.clone(), "".into());
                    ask.await.map_err(|e| failed(e.to_string()))?;
                }
                let left = Duration::from(until.since(now)).min(Duration::from_millis(100));
                if let Ok(Some(answer)) = timeout(left, answers.next()).await
                    && let Ok(one) = wire::decode::<Announcement>(&answer.payload)
                {
                    found.insert((one.name.clone(), one.instance), one);
                }
            }
        })?
    }

    /// Engages agents for a run; where one refuses, those that did not are released.
    /// # Errors
    /// All that refuse, each by name; or a server without JetStream.
    pub fn engage(&self, run: ForRun<'_>, agents: &[(String, u64)]) -> Result<Engaged, NatsError> {
        let resumes = run.heard.is_some();
        self.runtime.wait(open(
            self.stream.clone(),
            self.subjects.clone(),
            run.run.to_owned(),
            run.title.to_owned(),
            resumes,
        ))??;
        let calls: Vec<_> = agents
            .iter()
            .map(|(name, instance)| {
                self.call(name, &self.engage_call(run, resumes.then_some(*instance)))
            })
            .collect();
        let answers = self.runtime.wait(futures_util::future::join_all(calls))?;
        let mut problems = Vec::new();
        let mut next = Vec::new();
        for ((name, instance), answer) in agents.iter().zip(answers) {
            let problem = match answer {
                Ok(Reply::Engaged { instance: found, next: due }) if found == *instance => {
                    next.push(Ok(due));
                    continue;
                }
                Ok(Reply::Engaged { .. }) => "it was started again meanwhile".to_owned(),
                Ok(Reply::Refused(why)) => why,
                Ok(other) => format!("it answers {other:?}"),
                Err(why) => why,
            };
            problems.push(format!("agent `{name}` cannot be engaged: {problem}"));
            next.push(Err(problem));
        }
        if !problems.is_empty() && !resumes {
            let release = Call::Release { run: Some(run.run.to_owned()) };
            let calls: Vec<_> = agents.iter().map(|(name, _)| self.call(name, &release)).collect();
            self.runtime.wait(futures_util::future::join_all(calls))?;
            let (stream, name) = (self.stream.clone(), self.subjects.stream(run.run));
            let _ = self.runtime.wait(async move { stream.delete_stream(name).await })?;
            return Err(NatsError::Agents(problems));
        }
        Ok(self.carried(run, agents, next))
    }

    fn engage_call(&self, run: ForRun<'_>, instance: Option<u64>) -> Call {
        Call::Engage {
            carrier: CARRIER,
            protocol: PROTOCOL,
            group: self.group.clone(),
            run: run.run.to_owned(),
            title: run.title.to_owned(),
            instance,
        }
    }

    /// Asks one agent, and again where no answer comes.
    pub(crate) fn call(
        &self,
        name: &str,
        call: &Call,
    ) -> impl Future<Output = Result<Reply, String>> + use<> {
        let (client, subject, call) =
            (self.client.clone(), self.subjects.agent(name), wire::encode(call));
        async move {
            let call = call.map_err(|error| error.to_string())?;
            let mut problem = String::new();
            for _ in 0..3 {
                match client.request(subject.clone(), call.clone()).await {
                    Ok(answer) => return wire::decode(&answer.payload).map_err(|e| e.to_string()),
                    Err(error) if error.kind() == RequestErrorKind::NoResponders => {
                        problem = "it is not there".to_owned();
                        pause(Duration::from_millis(200)).await;
                    }
                    Err(error) => problem = error.to_string(),
                }
            }
            Err(problem)
        }
    }

    /// Releases an agent from whatever it does.
    /// # Errors
    /// Where it does not answer.
    pub fn release(&self, name: &str) -> Result<(), NatsError> {
        let answer = self.runtime.wait(self.call(name, &Call::Release { run: None }))?;
        answer.map(drop).map_err(|why| NatsError::Agents(vec![format!("agent `{name}`: {why}")]))
    }

    /// Releases an agent from a run, where it is engaged in that still and answers.
    pub fn release_from(&self, name: &str, run: &str) {
        // Its lease frees one that does not answer.
        let _ = self.runtime.wait(self.call(name, &Call::Release { run: Some(run.to_owned()) }));
    }

    /// Sets up what carries the messages of engaged agents.
    fn carried(
        &self,
        run: ForRun<'_>,
        agents: &[(String, u64)],
        next: Vec<Result<u64, String>>,
    ) -> Engaged {
        let handle = self.runtime.handle();
        let (acks, mut due) = mpsc::unbounded_channel::<Acker>();
        let mut session = Session {
            runtime: Arc::clone(&self.runtime),
            stream: self.stream.clone(),
            name: self.subjects.stream(run.run),
            senders: Vec::new(),
            others: Vec::new(),
        };
        session.others.push(handle.spawn(async move {
            while let Some(acker) = due.recv().await {
                // Where this is lost the message comes again, and is known.
                let _ = acker.ack().await;
            }
        }));
        let every = PING.max(Duration::from_millis(5) * agents.len() as u32);
        let (mut links, mut peers) = (Vec::new(), BTreeMap::new());
        for (number, ((name, instance), from)) in agents.iter().zip(next).enumerate() {
            let heard = run.heard.and_then(|heard| heard.get(&number)).copied().unwrap_or(0);
            let (peer, inbox) = Peer::new(name, *instance, heard);
            let (queue, outbox) = mpsc::channel(QUEUE);
            let (client, subjects) = (self.client.clone(), self.subjects.clone());
            match from {
                Ok(from) => {
                    let ping = Arc::clone(&peer).ping(
                        client.clone(),
                        subjects.clone(),
                        run.run.to_owned(),
                        every,
                    );
                    session.others.push(handle.spawn(ping));
                    let send =
                        Arc::clone(&peer).send(client, subjects, run.run.to_owned(), outbox, from);
                    session.senders.push(handle.spawn(send));
                }
                Err(problem) => {
                    let gone = Arc::clone(&peer);
                    session.others.push(handle.spawn(async move {
                        // What it said before is fetched first.
                        pause(LEAVE).await;
                        gone.close(problem).await;
                        drop(outbox);
                    }));
                }
            }
            links.push(AgentLink::remote(name, ends(&peer, queue, acks.clone(), inbox)));
            peers.insert(wire::token(name), peer);
        }
        session.others.push(handle.spawn(receive(
            self.stream.clone(),
            session.name.clone(),
            peers,
        )));
        Engaged { links, session }
    }

    /// Runs whose coordinators did not end them.
    /// # Errors
    /// Where the server cannot be asked.
    pub fn leftovers(&self) -> Result<Vec<Leftover>, NatsError> {
        let (stream, ours) = (self.stream.clone(), self.subjects.stream(""));
        self.runtime.wait(async move {
            let mut found = Vec::new();
            let mut streams = stream.streams();
            while let Some(info) = streams.next().await {
                let info =
                    info.map_err(|error| NatsError::Server(without_jetstream(&error.to_string())))?;
                if let Some(title) =
                    info.config.description.filter(|_| info.config.name.starts_with(&ours))
                {
                    let (messages, bytes) = (info.state.messages, info.state.bytes);
                    found.push(Leftover { stream: info.config.name, title, messages, bytes });
                }
            }
            Ok(found)
        })?
    }
}

fn ends(
    peer: &Arc<Peer>,
    queue: mpsc::Sender<(u64, bytes::Bytes)>,
    acks: mpsc::UnboundedSender<Acker>,
    inbox: PeerInbox,
) -> fleet::carrier::CoordinatorEnd {
    let outbox = PeerOutbox { peer: Arc::clone(peer), queue, acks };
    CarrierEnd { outbox: Box::new(outbox), inbox: Box::new(inbox) }
}

fn without_jetstream(error: &str) -> String {
    format!(
        "the server keeps no messages ({error}): JetStream must be enabled (`nats-server -js`, or `jetstream {{}}` in its configuration), and open to these credentials"
    )
}

/// Makes the stream of a run and its reader. One that comes back reads again what it has not kept.
async fn open(
    stream: Context,
    subjects: Subjects,
    run: String,
    title: String,
    resumes: bool,
) -> Result<(), NatsError> {
    let config = Config {
        name: subjects.stream(&run),
        subjects: vec![subjects.ups(&run)],
        description: Some(title),
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New,
        max_bytes: STREAM_MAX,
        max_age: STREAM_AGE,
        num_replicas: 1,
        ..Config::default()
    };
    let failed =
        |error: &dyn std::fmt::Display| NatsError::Server(without_jetstream(&error.to_string()));
    let made = stream.get_or_create_stream(config).await.map_err(|e| failed(&e))?;
    if resumes {
        // A reader that died holds what was on its way to it; a new one gets all in its order.
        let _ = made.delete_consumer(READER).await;
    }
    made.get_or_create_consumer(READER, reader()).await.map(drop).map_err(|e| failed(&e))
}

fn reader() -> pull::Config {
    pull::Config {
        durable_name: Some(READER.to_owned()),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACK_WAIT,
        max_ack_pending: IN_FLIGHT,
        ..pull::Config::default()
    }
}

/// Fetches what agents say, for as long as the run lasts.
async fn receive(stream: Context, name: String, peers: BTreeMap<String, Arc<Peer>>) {
    loop {
        if let Ok(stream) = stream.get_stream_no_info(&name).await
            && let Ok(consumer) = stream.get_or_create_consumer(READER, reader()).await
            && let Ok(mut messages) = consumer
                .stream()
                .max_messages_per_batch(256)
                .expires(Duration::from_secs(10))
                .heartbeat(Duration::from_secs(2))
                .messages()
                .await
        {
            // An error: the server was away, or is.
            while let Some(Ok(message)) = messages.next().await {
                let (message, acker) = message.split();
                let agent = message.subject.rsplit('.').next().unwrap_or_default();
                if let Some(peer) = peers.get(agent) {
                    peer.take(&message.payload, acker).await;
                }
            }
        }
        pause(Duration::from_millis(200)).await;
    }
}

impl Session {
    /// Ends the run at the server: agents that have not heard of its end do now, and the stream goes.
    pub fn finish(mut self) {
        let (senders, stream, name) =
            (std::mem::take(&mut self.senders), self.stream.clone(), self.name.clone());
        let leave = async move {
            for sender in senders {
                peer::ended(sender, LEAVE).await;
            }
            // A server that is away forgets it by itself.
            let _ = stream.delete_stream(name).await;
        };
        let _ = self.runtime.wait(leave);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.senders.iter().chain(&self.others).for_each(JoinHandle::abort);
    }
}

//! An agent that waits for coordinators: it says who it is, is engaged for one run at a time, and obeys no other meanwhile.

use crate::engagement::{Engagement, Post};
use crate::runtime::{Runtime, pause};
use crate::server::{NatsError, Server};
use crate::spool::{Room, Spool};
use crate::update::{Incoming, Updates};
use crate::watch::Watch;
use crate::wire::{self, Announcement, CARRIER, Call, Reply, Subjects};
use async_nats::{Client, Message, Subscriber, jetstream};
use bytes::Bytes;
use clock::Ns;
use fleet::message::{PROTOCOL, check_version};
use fleet::{AgentIdentity, EngineRegistry};
use futures_util::StreamExt;
use record::Fact;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How often an agent looks whether its coordinator is still there, and whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// How long an engagement lasts whose coordinator has never said a word: it speaks and pings within a second.
const FIRST_WORD: Ns = Ns::secs(15);

/// Ended runs that are remembered.
const ENDED: usize = 1000;

/// What a user calls an agent by: keys and values.
pub type Labels = Vec<(String, String)>;

/// What makes the engines of a run.
pub type Engines = Box<dyn Fn() -> EngineRegistry + Send + Sync>;

/// What tells the facts of a machine, now.
pub type Facts = Box<dyn Fn() -> Vec<Fact> + Send + Sync>;

/// An agent that waits.
pub struct AgentConfig {
    /// Where.
    pub server: Server,
    /// Only coordinators of this group are obeyed.
    pub group: String,
    /// Its name, unique in the group.
    pub name: String,
    /// What it can be chosen by.
    pub labels: Labels,
    /// What may wait to be sent.
    pub room: Room,
    /// How long a load goes on without a coordinator.
    pub lease: Ns,
    /// The program's release.
    pub release: String,
    /// Makes the engines of a run.
    pub engines: Engines,
    /// Tells the facts of the machine.
    pub facts: Facts,
    /// What it needs to run other programs that coordinators offer, where it accepts them.
    pub updates: Option<Updates>,
    /// Where what it does can be watched.
    pub watch: Arc<Watch>,
}

/// Why an agent does not wait any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was told to stop.
    Stopped,
    /// Another program is in the place of its own, and is to be run.
    Replaced,
}

/// What an agent reports to the program that started it.
pub type Note = Arc<dyn Fn(&str) + Send + Sync>;

struct Agent {
    config: Arc<AgentConfig>,
    client: Client,
    subjects: Subjects,
    instance: u64,
    engagement: Option<Engagement>,
    /// Runs whose part here is over, the last ones: what their coordinators said does not begin them again.
    ended: VecDeque<String>,
    /// A program that is on its way.
    incoming: Option<Incoming>,
    /// The digest of the one that has taken the place of its own.
    replaced: Option<String>,
    note: Note,
}

/// Announces an agent and serves coordinators until `stopped`.
/// # Errors
/// Where the server cannot be reached or refuses us, or the name is taken.
pub fn serve(
    config: AgentConfig,
    note: Note,
    stopped: Arc<dyn Fn() -> bool + Send + Sync>,
) -> Result<Ending, NatsError> {
    let runtime = Runtime::start()?;
    let config = Arc::new(config);
    runtime.wait(async move {
        let mut drawn = [0; 8];
        clock::unpredictable(&mut drawn)?;
        let client = config.server.connect(&format!("wirespeed agent {}", config.name)).await?;
        let subjects = Subjects::new(&config.group);
        let instance = u64::from_be_bytes(drawn);
        let agent = Agent {
            config,
            client,
            subjects,
            instance,
            engagement: None,
            ended: VecDeque::new(),
            incoming: None,
            replaced: None,
            note,
        };
        agent.run(stopped).await
    })?
}

impl Agent {
    async fn run(
        mut self,
        stopped: Arc<dyn Fn() -> bool + Send + Sync>,
    ) -> Result<Ending, NatsError> {
        self.alone().await?;
        let name = self.config.name.clone();
        let mut who = self.hear(self.subjects.who()).await?;
        let mut calls = self.hear(self.subjects.agent(&name)).await?;
        let mut parts = self.hear(self.subjects.downs(&name)).await?;
        let mut pieces = self.hear(self.subjects.update(&name)).await?;
        self.client.flush().await.map_err(|error| NatsError::Server(error.to_string()))?;
        let Server { url, .. } = &self.config.server;
        (self.note)(&format!("agent `{name}` of group `{}` waits at {url}", self.config.group));
        while !stopped() {
            let (kind, message) = tokio::select! {
                message = who.next() => (0, message),
                message = calls.next() => (1, message),
                message = parts.next() => (2, message),
                message = pieces.next() => (3, message),
                () = pause(LOOK) => {
                    self.look();
                    continue;
                }
            };
            let Some(message) = message else {
                return Err(NatsError::Server("the connection was closed".to_owned()));
            };
            self.answer(kind, message).await;
            self.look();
            if self.replaced.is_some() {
                // Its answer is heard before it goes.
                let _ = self.client.flush().await;
                return Ok(Ending::Replaced);
            }
        }
        Ok(Ending::Stopped)
    }

    async fn hear(&self, subject: String) -> Result<Subscriber, NatsError> {
        let subscribed = self.client.subscribe(subject).await;
        subscribed.map_err(|error| NatsError::Server(error.to_string()))
    }

    /// Two agents of one name would both answer.
    async fn alone(&self) -> Result<(), NatsError> {
        let (name, group) = (&self.config.name, &self.config.group);
        let ping = Call::Ping { run: String::new(), next: 0, again: None };
        let Ok(ping) = wire::encode(&ping) else { return Ok(()) };
        match self.client.request(self.subjects.agent(name), ping).await {
            Ok(_) => Err(NatsError::Usage(format!(
                "an agent `{name}` is already in group `{group}`; give this one another --name"
            ))),
            Err(_) => Ok(()),
        }
    }

    /// What has to be noticed without a message.
    fn look(&mut self) {
        let watch = Arc::clone(&self.config.watch);
        let Some(engagement) = &mut self.engagement else { return watch.stands(false, 0) };
        watch.stands(!engagement.is_done(), engagement.waiting());
        let alone = clock::now().since(engagement.heard);
        let lease = match engagement.next() {
            0 => self.config.lease.min(FIRST_WORD),
            _ => self.config.lease,
        };
        if alone > lease && engagement.over().is_none() {
            (self.note)(&format!(
                "the coordinator of `{}` has not been heard for {:.0} s: its load stops",
                engagement.title,
                alone.as_secs_f64()
            ));
            engagement.abandon();
        }
        if alone > lease && engagement.over().is_some() {
            self.end();
        }
    }

    /// Ends the engagement; a run of which nothing was heard may engage this agent once more.
    fn end(&mut self) {
        let Some(mut engagement) = self.engagement.take() else { return };
        engagement.abandon();
        if engagement.next() > 0 {
            self.ended.truncate(ENDED - 1);
            self.ended.push_front(engagement.run.clone());
        }
    }

    async fn answer(&mut self, kind: u8, message: Message) {
        let Some(reply) = message.reply else { return };
        let answer = match kind {
            0 => wire::encode(&self.announcement()),
            1 => wire::encode(&self.call(&message.payload)),
            3 => wire::encode(&match &mut self.incoming {
                Some(incoming) => incoming.take(&message.payload),
                None => Reply::Unknown,
            }),
            _ => wire::encode(&self.part(&message.subject, &message.payload)),
        };
        if let Ok(answer) = answer {
            // Without a connection the question comes again.
            let _ = self.client.publish(reply, answer).await;
        }
    }

    fn announcement(&self) -> Announcement {
        let AgentConfig { name, group, labels, release, facts, .. } = &*self.config;
        let busy = self.engagement.as_ref().filter(|e| !e.is_done());
        Announcement {
            carrier: CARRIER,
            protocol: PROTOCOL,
            release: release.clone(),
            name: name.clone(),
            group: group.clone(),
            instance: self.instance,
            labels: labels.clone(),
            facts: facts(),
            busy: busy.map(|engagement| engagement.title.clone()),
            now: clock::now(),
        }
    }

    fn call(&mut self, bytes: &Bytes) -> Reply {
        match wire::decode(bytes) {
            Err(error) => {
                Reply::Refused(format!("a call that this release does not know: {error}"))
            }
            Ok(Call::Engage { carrier, protocol, group, run, title, instance }) => {
                let asked = (carrier, protocol, instance);
                self.engage(asked, &group, run, title).unwrap_or_else(Reply::Refused)
            }
            Ok(Call::Ping { run, next, again }) => {
                let instance = self.instance;
                match self.engagement.as_mut().filter(|engagement| engagement.run == run) {
                    Some(engagement) => engagement.pinged(next, again, instance),
                    None => Reply::Unknown,
                }
            }
            Ok(Call::Release { run }) => {
                let own = |e: &Engagement| run.as_ref().is_none_or(|run| *run == e.run);
                if self.engagement.as_ref().is_some_and(own) {
                    self.end();
                }
                Reply::Received
            }
            Ok(Call::Offer { digest, size }) => {
                self.offered(digest, size).map_or_else(Reply::Refused, |()| Reply::Received)
            }
            Ok(Call::Replace { digest }) => {
                self.replace(digest).map_or_else(Reply::Refused, |()| Reply::Received)
            }
        }
    }

    /// A program is offered: whether it is wanted.
    fn offered(&mut self, digest: String, size: u64) -> Result<(), String> {
        let updates = self.config.updates.as_ref().ok_or_else(|| {
            "it was not started with --accept-updates, and keeps its program".to_owned()
        })?;
        if let Some(engagement) = self.engagement.as_ref().filter(|e| !e.is_done()) {
            return Err(format!("it is engaged in `{}`", engagement.title));
        }
        self.incoming = None;
        self.incoming = Some(Incoming::begin(updates, digest, size)?);
        Ok(())
    }

    /// All pieces have come.
    fn replace(&mut self, digest: String) -> Result<(), String> {
        let config = Arc::clone(&self.config);
        let incoming = self.incoming.take().filter(|incoming| incoming.digest() == digest);
        let (Some(updates), Some(incoming)) = (&config.updates, incoming) else {
            return Err("nothing was offered".to_owned());
        };
        if let Some(engagement) = self.engagement.as_ref().filter(|e| !e.is_done()) {
            return Err(format!("it is engaged in `{}`", engagement.title));
        }
        let release = incoming.install(updates)?;
        (self.note)(&format!("release {release} takes over (SHA-256 {digest})"));
        self.replaced = Some(digest);
        Ok(())
    }

    fn engage(
        &mut self,
        (carrier, protocol, instance): (u32, u32, Option<u64>),
        group: &str,
        run: String,
        title: String,
    ) -> Result<Reply, String> {
        let config = Arc::clone(&self.config);
        if group != config.group {
            return Err(format!("it obeys group `{}`, not `{group}`", config.group));
        }
        if carrier != CARRIER {
            return Err(format!(
                "it speaks version {CARRIER} of the carrier, the coordinator version {carrier}"
            ));
        }
        check_version(protocol, "the coordinator").map_err(|error| error.to_string())?;
        match &self.engagement {
            Some(same) if same.run == run => {
                return Ok(Reply::Engaged { instance: self.instance, next: same.next() });
            }
            Some(other) if !other.is_done() => {
                return Err(format!("it is engaged in `{}`", other.title));
            }
            _ => {}
        }
        self.end();
        if instance.is_some() || self.ended.contains(&run) {
            return Err("it knows nothing of this run any more".to_owned());
        }
        (self.note)(&format!("engaged in `{title}`"));
        config.watch.engaged(&title);
        let name = &config.name;
        let mut stream = jetstream::new(self.client.clone());
        stream.set_timeout(crate::server::REQUEST);
        let post = Post {
            stream,
            subject: self.subjects.up(name, &run),
            instance: self.instance,
            spool: Spool::new(config.room.clone(), &wire::token(name)),
            engines: (config.engines)(),
            watch: Arc::clone(&config.watch),
            identity: AgentIdentity {
                name: name.clone(),
                facts: own_facts(name, (config.facts)()),
            },
        };
        let begun = Engagement::begin(run, title, post).map_err(|error| error.to_string())?;
        self.engagement = Some(begun);
        Ok(Reply::Engaged { instance: self.instance, next: 0 })
    }

    fn part(&mut self, subject: &str, bytes: &Bytes) -> Reply {
        let run = subject.rsplit('.').next().unwrap_or_default();
        match self.engagement.as_mut().filter(|engagement| wire::token(&engagement.run) == run) {
            Some(engagement) => engagement.take(bytes),
            None => Reply::Unknown,
        }
    }
}

/// Facts of a machine under the name of its agent, as a record has them.
fn own_facts(name: &str, facts: Vec<Fact>) -> Vec<Fact> {
    facts.into_iter().map(|fact| Fact { subject: name.to_owned(), ..fact }).collect()
}

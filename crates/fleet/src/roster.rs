//! The agents of a run as the coordinator sees them: who is doing what, since when, and who is gone.
//!
//! Bookkeeping only. What a loss or a message means for the run is decided in [`crate::coordinator`].

use crate::carrier::{self, CarrierError, Outbox};
use crate::child::Child;
use crate::link::AgentLink;
use crate::message::{FromAgent, ToAgent};
use clock::Ns;
use record::SourceId;
use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// What an agent has been told and has not answered in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// To introduce itself.
    Greet,
    /// To serve arrays.
    Serve,
    /// Nothing.
    Idle,
    /// To get ready.
    Prepare,
    /// It is ready, and to wait.
    Wait,
    /// To run the load.
    Run,
    /// To end early.
    Stop,
    /// Nothing more in this step.
    Done,
    /// It is gone.
    Lost,
}

/// How long an agent may take over a duty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Without a word.
    pub quiet: Ns,
    /// At the latest, on the monotonic clock.
    pub until: Ns,
}

impl Patience {
    pub const ENDLESS: Patience = Patience { quiet: Ns::MAX, until: Ns::MAX };
}

pub(crate) struct Member {
    pub name: String,
    /// The workers that it may speak for.
    pub sources: BTreeSet<SourceId>,
    /// The arrays that it serves; it has no workers then.
    pub arrays: Vec<String>,
    duty: Duty,
    patience: Patience,
    heard: Ns,
    outbox: Option<Box<dyn Outbox<ToAgent>>>,
    child: Option<Child>,
}

/// A message or the end of an agent, by its number.
pub(crate) type News = (usize, Result<FromAgent, CarrierError>);

pub(crate) struct Roster {
    pub members: Vec<Member>,
    news: Receiver<News>,
}

impl Roster {
    pub fn new(links: Vec<AgentLink>) -> io::Result<Roster> {
        let (tx, news) = mpsc::sync_channel(carrier::QUEUE_MAX);
        let mut members = Vec::with_capacity(links.len());
        for (number, link) in links.into_iter().enumerate() {
            let tx = tx.clone();
            let deliver = move |message| tx.send((number, message)).is_ok();
            carrier::pump(link.carrier.inbox, &format!("from-{}", link.name), deliver)?;
            members.push(Member {
                name: link.name,
                sources: BTreeSet::new(),
                arrays: link.arrays,
                duty: Duty::Idle,
                patience: Patience::ENDLESS,
                heard: clock::now(),
                outbox: Some(link.carrier.outbox),
                child: link.child,
            });
        }
        Ok(Roster { members, news })
    }

    /// The next news, within `wait`.
    pub fn next(&mut self, wait: Duration) -> Option<News> {
        let news = self.news.recv_timeout(wait).ok()?;
        self.members[news.0].heard = clock::now();
        Some(news)
    }

    pub fn duty(&self, agent: usize) -> Duty {
        self.members[agent].duty
    }

    pub fn any(&self, duty: Duty) -> bool {
        self.members.iter().any(|m| m.duty == duty)
    }

    /// Whether an agent with workers has a duty.
    pub fn any_worker(&self, duty: Duty) -> bool {
        self.members.iter().any(|m| m.duty == duty && m.arrays.is_empty())
    }

    /// The agents with a duty.
    pub fn with(&self, duty: Duty) -> Vec<usize> {
        (0..self.members.len()).filter(|&agent| self.members[agent].duty == duty).collect()
    }

    /// Gives an agent a duty; one that is lost stays lost.
    pub fn assign(&mut self, agent: usize, duty: Duty, patience: Patience) {
        let member = &mut self.members[agent];
        if member.duty != Duty::Lost {
            member.duty = duty;
            member.patience = patience;
            member.heard = clock::now();
        }
    }

    /// Sends a message; a lost agent hears nothing.
    pub fn tell(&mut self, agent: usize, message: ToAgent) -> Result<(), CarrierError> {
        match &mut self.members[agent].outbox {
            Some(outbox) => outbox.send(message),
            None => Ok(()),
        }
    }

    /// An agent whose patience has run out, and how.
    pub fn overdue(&self, now: Ns) -> Option<(usize, String)> {
        let late = |member: &Member| {
            let Patience { quiet, until } = member.patience;
            if now.since(member.heard) > quiet {
                return Some(format!("it has said nothing for {} s", quiet.0 / 1_000_000_000));
            }
            (now > until).then(|| "it did not end when it should have".to_owned())
        };
        self.members.iter().enumerate().find_map(|(n, member)| Some((n, late(member)?)))
    }

    /// Gives an agent up: it hears nothing more, and a child is made an end of. Returns how a child ended.
    pub fn give_up(&mut self, agent: usize) -> Option<String> {
        self.assign(agent, Duty::Lost, Patience::ENDLESS);
        let member = &mut self.members[agent];
        member.outbox = None;
        member.child.take().map(|mut child| child.epitaph())
    }
}

impl Drop for Roster {
    fn drop(&mut self) {
        // Workers leave before the arrays that they may still take their leave of.
        for serves in [false, true] {
            let mut leaving: Vec<&mut Member> =
                self.members.iter_mut().filter(|m| m.arrays.is_empty() != serves).collect();
            for member in &mut leaving {
                if let Some(mut outbox) = member.outbox.take() {
                    // An agent that cannot hear it sees the end of the connection, which means the same.
                    let _ = outbox.send(ToAgent::Bye);
                }
            }
            // Children are waited for as they are dropped, after all of them have been told.
            leaving.into_iter().for_each(|member| drop(member.child.take()));
        }
    }
}

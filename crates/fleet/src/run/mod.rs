//! Drives a run: performs the actions of the [`Conversation`] with real carriers, the clock, the record and the observer.
//!
//! Nothing is decided here. Where the run has a journal, what is handled is kept there first.

pub(crate) mod journal;

use crate::arrays::{ArraySpec, Portals};
use crate::assign::AssignedStep;
use crate::carrier::{self, CarrierError, CoordinatorEnd, Outbox};
use crate::conversation::{AgentSpec, Conversation, Effect, Input, WorkEnd};
use crate::coordinator::{Coordinator, RunError, RunOutcome};
use crate::kernel_wait::KernelWait;
use crate::link::{AgentLink, Body, GuestDisk, Joined, Joining, PowerChange, Reach};
use crate::message::{FromAgent, ToAgent};
use crate::sequence::Numbered;
use crate::sink::{RecordEntry, RecordSink};
use campaign::{Control, Gauge, Progress, StepEnd};
use clock::Ns;
use journal::Journal;
use record::{Event, Level, Source, Status};
use scenario::Step;
use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};

/// How often to poll for a stop by the user while nothing comes in.
const POLL: Ns = Ns::millis(50);

pub(crate) struct Run<'a, S> {
    fleet: Fleet,
    sink: S,
    observer: &'a mut dyn FnMut(Progress),
    control: &'a Control,
    /// Zero of the record's time base.
    epoch: Ns,
    journal: Journal,
    /// Agents that were given up in the past that is gone through, until that says how they left.
    leaving: BTreeSet<usize>,
}

/// The conversation, and what reaches the agents.
struct Fleet {
    conversation: Conversation,
    agents: Vec<RunAgent>,
    inbox: Receiver<FromCarrier>,
    to_inbox: SyncSender<FromCarrier>,
    /// Results of actions, handled before other inputs.
    news: VecDeque<Input>,
    /// When to look again at what agents run in.
    next_look: Ns,
}

/// What the carrier of an agent delivers.
type FromCarrier = (usize, Result<Numbered<FromAgent>, CarrierError>);

struct RunAgent {
    name: String,
    outbox: Option<Box<dyn Outbox<Numbered<ToAgent>>>>,
    /// How it is started, until it is.
    joining: Option<Joining>,
    body: Option<Box<dyn Body>>,
    /// Where what it runs in may lose its power.
    power: Power,
    /// Hears the end of its thread, where it is one of this process.
    thread: Option<Receiver<Infallible>>,
    /// Looks whether its thread waits in the kernel, once that is waited for.
    kernel: Option<KernelWait>,
    /// Released after all agents have been waited for.
    _held: Option<Box<dyn Send>>,
}

/// The power of what an agent runs in.
#[derive(Default)]
enum Power {
    #[default]
    On,
    /// It is being lost; what was said before still comes. It may be back already.
    Going(Option<CoordinatorEnd>),
    /// It is lost, and all that was said before has been heard.
    Off(Option<CoordinatorEnd>),
}

impl RunAgent {
    /// Hears what became of its power; why it cannot come back, where it cannot.
    fn look_at_power(&mut self) -> Option<String> {
        let changes = self.body.as_mut().map(|body| body.power()).unwrap_or_default();
        let mut dead = None;
        for change in changes {
            match (change, &mut self.power) {
                // Lost again before its new agent was reached: nothing of that closes.
                (PowerChange::Lost, Power::Off(back)) => *back = None,
                (PowerChange::Lost, power) => *power = Power::Going(None),
                (PowerChange::Back(end), Power::Going(back) | Power::Off(back)) => {
                    *back = Some(end)
                }
                (PowerChange::Back(_), Power::On) => {}
                (PowerChange::Dead(why), _) => dead = Some(why),
            }
        }
        dead
    }

    /// A thread of it that waits in the kernel, so that it cannot end.
    fn stuck(&mut self, now: Ns) -> Option<String> {
        if let Some(body) = &mut self.body {
            return body.stuck(now);
        }
        self.thread.as_ref()?;
        let own = || KernelWait::new(Path::new("/proc"), std::process::id());
        self.kernel.get_or_insert_with(own).look(now)
    }

    /// Waits until it has released what it held; it has been dismissed.
    fn wait(&mut self) {
        // Its process is waited for as it is dropped.
        drop(self.body.take());
        let begun = clock::now();
        while self.thread.as_ref().is_some_and(|thread| !ended(thread)) {
            let now = clock::now();
            if self.stuck(now).is_some() && now.since(begun) >= RELEASE {
                eprintln!(
                    "wirespeed: warning: a thread waits in the kernel: this process ends when that answers; with `--agent child` \
                     it would not wait for it"
                );
                return;
            }
            if now.since(begun) >= LEAVING {
                eprintln!(
                    "wirespeed: warning: an agent does not end; reservations that it holds are left behind \
                     (`wirespeed target release URL`)"
                );
                return;
            }
        }
    }
}

/// Whether a thread ends within a moment.
fn ended(thread: &Receiver<Infallible>) -> bool {
    thread.recv_timeout(POLL.into()) != Err(RecvTimeoutError::Timeout)
}

/// How long a dismissed agent may take to release what it holds.
const LEAVING: Ns = Ns::secs(15);

/// The same of one with a thread that waits in the kernel.
const RELEASE: Ns = Ns::secs(1);

impl<'a, S: RecordSink> Run<'a, S> {
    pub fn new(
        coordinator: &Coordinator<'a>,
        links: Vec<AgentLink>,
        sources: &[Source],
        sink: S,
        observer: &'a mut dyn FnMut(Progress),
        mut journal: Journal,
    ) -> Result<Run<'a, S>, RunError> {
        let (head, limits) = (coordinator.head, coordinator.limits);
        let now = journal.moment().map_err(RunError::Journal)?;
        let fleet =
            Fleet::new(links, |specs| Conversation::new(now, head, limits, specs, sources))?;
        let (control, epoch, leaving) = (coordinator.control, head.epoch, BTreeSet::new());
        Ok(Run { fleet, sink, observer, control, epoch, journal, leaving })
    }

    /// Greets all agents; each must answer with the same version.
    pub fn greet(&mut self) -> Result<(), RunError> {
        let now = self.moment()?;
        self.fleet.conversation.greet(now);
        self.converse().map(drop)
    }

    /// Has all arrays served, each by the agent that it was given to; returns where.
    pub fn serve(&mut self, arrays: &[ArraySpec]) -> Result<Vec<Portals>, RunError> {
        let now = self.moment()?;
        self.fleet.conversation.serve(now, arrays);
        match self.converse()? {
            WorkEnd::Serving(standing) => Ok(standing),
            _ => Ok(Vec::new()),
        }
    }

    /// Has the agents join that wait for the arrays, each with its disks; all of them boot at the same time.
    pub fn join(&mut self, disks: impl Fn(&str) -> Vec<GuestDisk>) -> Result<(), RunError> {
        if !self.fleet.start_absent(disks)? {
            return Ok(());
        }
        let bodies = self.fleet.agents.iter().filter_map(|agent| agent.body.as_ref());
        let facts = bodies.flat_map(|body| body.facts()).collect();
        RecordEntry::Facts(facts).write(&mut self.sink)?;
        let now = self.moment()?;
        self.fleet.conversation.join(now);
        self.converse().map(drop)
    }

    /// The processes that carry agents, by the agents' names.
    pub fn processes(&self) -> Vec<(String, u32)> {
        let of = |agent: &RunAgent| Some((agent.name.clone(), agent.body.as_ref()?.process()?));
        self.fleet.agents.iter().filter_map(of).collect()
    }

    /// Takes all agents through one step.
    pub fn step(&mut self, step: &Step, assigned: &AssignedStep) -> Result<StepEnd, RunError> {
        let (step, assigned) = (step.clone(), assigned.clone());
        let now = self.moment()?;
        self.fleet.conversation.begin_step(now, step, assigned);
        match self.converse()? {
            WorkEnd::Step(end) => Ok(end),
            _ => Ok(StepEnd::Failed),
        }
    }

    /// Dismisses the agents and closes the record.
    pub fn finish(self, status: Status) -> Result<RunOutcome, RunError> {
        let Run { mut fleet, sink, .. } = self;
        let (failure, lost) = fleet.conversation.outcome();
        drop(fleet);
        sink.finish(status)?;
        Ok(RunOutcome { status, failure, lost })
    }

    /// Records that something happened between two steps.
    pub fn note(&mut self, level: Level, code: &str, text: &str) -> Result<Event, RunError> {
        let at = self.moment()?.since(self.epoch);
        let (code, text) = (code.to_owned(), text.to_owned());
        let event = Event { at, step: None, source: None, level, code, text };
        RecordEntry::Event(event.clone()).write(&mut self.sink)?;
        Ok(event)
    }

    /// Passes progress on to the observer.
    pub fn show(&mut self, progress: Progress) {
        (self.observer)(progress);
    }

    /// Whether the user has asked for an early end.
    pub fn stopped(&mut self) -> bool {
        self.journal.stopped(self.control.stopped())
    }

    /// Gathers what the next step measures.
    pub fn gauge(&mut self) {
        self.fleet.conversation.gauge();
    }

    /// What the last step measured, if it was gathered.
    pub fn take_gauge(&mut self) -> Option<Gauge> {
        self.fleet.conversation.take_gauge()
    }

    /// Feeds the conversation and does what it decides, until what was begun is over.
    fn converse(&mut self) -> Result<WorkEnd, RunError> {
        let mut stopped = false;
        loop {
            while let Some(effect) = self.fleet.conversation.effect() {
                match effect {
                    Effect::Record(entry) => entry.write(&mut self.sink)?,
                    Effect::Show(progress) => (self.observer)(progress),
                    Effect::Ended(WorkEnd::Unusable { agent, problem }) => {
                        return Err(RunError::Agent { agent, problem });
                    }
                    Effect::Ended(end) => return Ok(end),
                    other => self.fleet.carry_out(other),
                }
            }
            let (now, news) = match self.past()? {
                Some(past) => past,
                None => self.present(stopped)?,
            };
            stopped |= matches!(news, Input::Stop);
            self.fleet.conversation.handle(now, news);
        }
    }

    /// What time it is, by the journal.
    fn moment(&mut self) -> Result<Ns, RunError> {
        self.journal.moment().map_err(RunError::Journal)
    }

    /// The next input of a run that is gone through again.
    fn past(&mut self) -> Result<Option<(Ns, Input)>, RunError> {
        if !self.journal.replays() {
            return Ok(None);
        }
        let past = self.journal.past().map_err(RunError::Journal)?;
        // What was done again is not answered again: the answers are in the journal.
        for answer in self.fleet.news.drain(..) {
            if let Input::Left { agent, .. } = answer {
                self.leaving.insert(agent);
            }
        }
        if let Some((_, Input::Left { agent, .. })) = &past {
            self.leaving.remove(agent);
        }
        Ok(past)
    }

    /// The next input, kept before it is handled.
    fn present(&mut self, stopped: bool) -> Result<(Ns, Input), RunError> {
        let gone = std::mem::take(&mut self.leaving).into_iter();
        self.fleet.news.extend(gone.map(|agent| Input::Left { agent, last_output: None }));
        let news = match (self.journal.take_turn(), !stopped && self.control.stopped()) {
            (true, _) => Input::Resumed,
            (false, true) => Input::Stop,
            (false, false) => self.fleet.next(stopped),
        };
        let now = clock::now();
        self.journal.keep(now, &news).map_err(RunError::Journal)?;
        if let Input::Message { agent, message } = &news {
            let outbox = self.fleet.agents[*agent].outbox.as_mut();
            outbox.into_iter().for_each(|outbox| outbox.kept(message.number));
        }
        Ok((now, news))
    }
}

impl Fleet {
    /// Starts a thread for each carrier that passes on what comes in.
    fn new(
        links: Vec<AgentLink>,
        begin: impl FnOnce(&[AgentSpec]) -> Conversation,
    ) -> Result<Fleet, RunError> {
        let (to_inbox, inbox) = mpsc::sync_channel(carrier::QUEUE_MAX);
        let (mut agents, mut specs, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for link in links {
            let AgentLink { name, reach, body, thread, arrays, clock, held, .. } = link;
            let (end, joining) = match reach {
                Reach::Now(end) => (Some(end), None),
                Reach::Later(joining) => (None, Some(joining)),
            };
            let joins = joining.is_some();
            specs.push(AgentSpec { name: name.clone(), arrays, clock, joins });
            let (outbox, kernel) = (None, None);
            let power = Power::On;
            agents.push(RunAgent {
                name,
                outbox,
                joining,
                body,
                power,
                thread,
                kernel,
                _held: held,
            });
            ends.push(end);
        }
        let conversation = begin(&specs);
        let (news, next_look) = (VecDeque::new(), Ns::ZERO);
        let mut fleet = Fleet { conversation, agents, inbox, to_inbox, news, next_look };
        for (number, end) in ends.into_iter().enumerate() {
            end.map_or(Ok(()), |end| fleet.connect(number, end))?;
        }
        Ok(fleet)
    }

    /// Passes on what an agent says from here on.
    fn connect(&mut self, number: usize, end: CoordinatorEnd) -> Result<(), RunError> {
        let (agent, tx) = (&mut self.agents[number], self.to_inbox.clone());
        let deliver = move |message| tx.send((number, message)).is_ok();
        carrier::pump(end.inbox, &format!("from-{}", agent.name), deliver)?;
        agent.outbox = Some(end.outbox);
        Ok(())
    }

    /// Starts the agents that wait for the arrays, all at once; whether there are any.
    fn start_absent(&mut self, disks: impl Fn(&str) -> Vec<GuestDisk>) -> Result<bool, RunError> {
        let mut waiting = Vec::new();
        for (number, agent) in self.agents.iter_mut().enumerate() {
            let Some(joining) = agent.joining.take() else { continue };
            waiting.push((number, agent.name.clone(), joining, disks(&agent.name)));
        }
        let any = !waiting.is_empty();
        for (number, name, joining, disks) in waiting {
            let unusable = |problem| RunError::Agent { agent: name.clone(), problem };
            let Joined { carrier, body } = joining(&disks).map_err(unusable)?;
            self.agents[number].body = Some(body);
            self.connect(number, carrier)?;
        }
        Ok(any)
    }

    /// Waits for the next news until something is due, or the user's wishes are to be looked at. An agent that keeps a run
    /// that is `stopped` waiting may itself wait in the kernel.
    fn next(&mut self, stopped: bool) -> Input {
        if let Some(news) = self.news.pop_front() {
            return news;
        }
        let now = clock::now();
        for (agent, one) in self.agents.iter_mut().enumerate().filter(|_| stopped) {
            if self.conversation.is_stopping(agent)
                && let Some(thread) = one.stuck(now)
            {
                let problem = format!(
                    "its thread `{thread}` waits in the kernel (a frozen file system, a device that hangs; see dmesg)"
                );
                return Input::Lost { agent, problem };
            }
        }
        if now >= self.next_look {
            self.next_look = now.plus(POLL);
            self.look_at_power();
            for (agent, one) in self.agents.iter_mut().enumerate() {
                let Some(body) = &mut one.body else { continue };
                self.news.extend(body.news().into_iter().map(|news| Input::Noted { agent, news }));
            }
            if let Some(news) = self.news.pop_front() {
                return news;
            }
        }
        // When something is due is asked of every agent: not while messages wait, of which many agents send many.
        let come = self.inbox.try_recv().or_else(|_| {
            let wait = self.conversation.wake().since(clock::now()).min(POLL);
            self.inbox.recv_timeout(wait.into())
        });
        match come {
            Ok((agent, Ok(message))) => Input::Message { agent, message },
            Ok((agent, Err(error))) => self.closed(agent, &error),
            // Without agents every channel is closed, and nothing is waited for.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Input::Timer,
        }
    }

    /// Hears which agents lost their power or are back.
    fn look_at_power(&mut self) {
        for agent in 0..self.agents.len() {
            let one = &mut self.agents[agent];
            if let Some(problem) = one.look_at_power() {
                self.news.push_back(Input::Lost { agent, problem });
            }
            let Power::Off(back) = &mut one.power else { continue };
            let Some(end) = back.take() else { continue };
            one.power = Power::On;
            let news = match self.connect(agent, end) {
                Ok(()) => Input::Back { agent },
                Err(why) => Input::Lost { agent, problem: why.to_string() },
            };
            self.news.push_back(news);
        }
    }

    /// A carrier has closed: its agent is lost, or away for a while.
    fn closed(&mut self, agent: usize, error: &CarrierError) -> Input {
        let one = &mut self.agents[agent];
        let dead = one.look_at_power();
        match (&mut one.power, dead) {
            (_, Some(problem)) => Input::Lost { agent, problem },
            (Power::Going(back), None) => {
                one.outbox = None;
                one.power = Power::Off(back.take());
                Input::Away { agent }
            }
            (Power::On | Power::Off(_), None) => Input::Lost { agent, problem: error.to_string() },
        }
    }

    /// Does what concerns the agents.
    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Tell { agent, message } => {
                let one = &mut self.agents[agent];
                let Some(Err(error)) = one.outbox.as_mut().map(|outbox| outbox.send(message))
                else {
                    return;
                };
                let dead = one.look_at_power();
                if dead.is_none() && matches!(one.power, Power::Going(_)) {
                    return;
                }
                let problem = dead.unwrap_or_else(|| error.to_string());
                self.news.push_back(Input::Undelivered { agent, problem });
            }
            Effect::GiveUp { agent } => {
                let one = &mut self.agents[agent];
                one.outbox = None;
                let last_output = one.body.take().map(|mut body| body.await_end());
                self.news.push_back(Input::Left { agent, last_output });
            }
            Effect::Release { agents } => {
                agents.iter().for_each(|&agent| self.agents[agent].outbox = None);
                // They are waited for after the carriers of all have been closed.
                agents.iter().for_each(|&agent| self.agents[agent].wait());
            }
            Effect::Record(_) | Effect::Show(_) | Effect::Ended(_) => {}
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // An agent that cannot hear its dismissal sees the end of the connection, which means the same.
        self.conversation.dismiss();
        while let Some(effect) = self.conversation.effect() {
            self.carry_out(effect);
        }
    }
}

//! One sender at a receiver: the greeting, and its tests one after the other.

use super::adjust::SenderLease;
use super::gather::Gathering;
use super::newcomers::Newcomer;
use super::{ReceiverEvent, SENDERS_MAX, SenderSlot, Shared};
use crate::control::{ControlLink, FLAP, FromReceiver, FromSender, agree, fresh, is_proven};
use crate::figures::EndFigures;
use crate::grid::{Grid, TestStart};
use crate::report::SideReport;
use crate::team::StreamTeam;
use crate::test_run::{Decision, IntervalSink, StopWatch, TestRun};
use crate::{NetError, TestSpec, VERSIONS};
use clock::Ns;
use workload::NetFrames;

/// How long a sender may take over the greeting.
const GREETING: Ns = Ns::secs(3);
/// How long it may take between the steps of a test.
const PATIENCE: Ns = Ns::secs(10);
/// How long it may take between two tests.
const IDLE: Ns = Ns::secs(60);
/// A start lies no further ahead than this.
const LEAD_MAX: Ns = Ns::secs(10);
/// The sender's threads end within their grace, and its message needs its time.
const DONE: Ns = Ns::secs(20);
/// How often a waiting thread checks whether the receiver is stopping.
const LOOK: Ns = Ns::millis(100);

/// Serves a sender until it leaves.
pub(super) fn serve(
    mut link: ControlLink,
    shared: &Shared,
    newcomer: Newcomer,
) -> Result<(), NetError> {
    let slot = greet(&mut link, shared);
    drop(newcomer);
    let _slot = match slot {
        Ok(slot) => slot,
        Err(e) => {
            if !matches!(e, NetError::Lost { .. }) {
                turn_away(&mut link, e.to_string());
            }
            return Err(e);
        }
    };
    link.trust();
    let mut lease = SenderLease::new(shared, &link);
    loop {
        // A sender that has the interface set may be silent for as long as a test takes; a dead connection ends on its own.
        let limit = if lease.holds() { Ns::MAX } else { IDLE };
        let Some(message) = next(&mut link, shared, limit)? else { return Ok(()) };
        match message {
            FromSender::Adjust(frames) => adjust(&mut link, &mut lease, frames)?,
            FromSender::Clock { sent } => tell_time(&mut link, sent)?,
            FromSender::Prepare(spec) => test(&mut link, shared, *spec)?,
            other => return Err(out_of_turn(&link, &other)),
        }
    }
}

/// Says why not, and lets the sender read it.
fn turn_away(link: &mut ControlLink, why: String) {
    // Who has gone needs no reason.
    let _ = link.say(&FromReceiver::Refused(why), "while turning it away");
}

/// Lets a sender prove itself.
fn greet<'a>(link: &mut ControlLink, shared: &'a Shared) -> Result<SenderSlot<'a>, NetError> {
    const WHEN: &str = "while it was greeted";
    let until = clock::now().plus(GREETING);
    let next = |link: &mut ControlLink| link.expect(until.since(clock::now()), WHEN);
    let (versions, theirs) = match next(link)? {
        FromSender::Hello { versions, nonce } => (versions, nonce),
        other => return Err(out_of_turn(link, &other)),
    };
    let version = agree(versions).ok_or_else(|| {
        let (low, high) = VERSIONS;
        NetError::Spec(format!(
            "this receiver speaks versions {low} to {high} of the protocol, the sender {} to {}; update the older one",
            versions.0, versions.1
        ))
    })?;
    let nonce = fresh()?;
    let token = shared.config.token.as_ref();
    link.say(&FromReceiver::Hello { version, nonce, token: token.is_some() }, WHEN)?;
    if let Some(token) = token {
        match next(link)? {
            FromSender::Proof(proof) if is_proven(&proof, token, &nonce, &theirs) => {}
            FromSender::Proof(_) => {
                return Err(NetError::Spec("the token is not the receiver's".to_owned()));
            }
            other => return Err(out_of_turn(link, &other)),
        }
    }
    let slot = SenderSlot::enter(shared).ok_or_else(|| {
        NetError::Spec(format!("it serves {SENDERS_MAX} senders already; try again later"))
    })?;
    link.say(&FromReceiver::Welcome, WHEN)?;
    Ok(slot)
}

/// The next message, or `None` where the sender leaves; both between tests only.
fn next(
    link: &mut ControlLink,
    shared: &Shared,
    limit: Ns,
) -> Result<Option<FromSender>, NetError> {
    let until = clock::now().plus(limit);
    while !shared.stopped() && clock::now() < until {
        match link.hear(clock::now().plus(LOOK), "between tests") {
            Ok(None) => {}
            Err(NetError::Lost { .. }) => return Ok(None),
            other => return other,
        }
    }
    Ok(None)
}

/// Sets the interface, or says why not; the sender may go on without.
fn adjust(
    link: &mut ControlLink,
    lease: &mut SenderLease<'_>,
    frames: NetFrames,
) -> Result<(), NetError> {
    link.outlast(FLAP)?;
    let answer = match lease.adjust(link, frames) {
        Ok(adjusted) => FromReceiver::Adjusted(Box::new(adjusted)),
        Err(e) => FromReceiver::Refused(e.to_string()),
    };
    link.say(&answer, "while its interface was set")
}

fn tell_time(link: &mut ControlLink, sent: Ns) -> Result<(), NetError> {
    // The answer is made after the message was read; the time in between is reported as the receiver's own.
    let came = clock::now();
    link.say(&FromReceiver::Clock { sent, came, left: clock::now() }, "while clocks were compared")
}

fn out_of_turn(link: &ControlLink, message: &FromSender) -> NetError {
    let text = format!("{message:?}");
    let name: String = text.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    link.garbled(format!("`{name}` out of turn"))
}

/// One test. A problem of the test is reported to the sender, which may ask for another; one of the connection ends it.
fn test(link: &mut ControlLink, shared: &Shared, spec: TestSpec) -> Result<(), NetError> {
    match run(link, shared, &spec) {
        Ok(side) => {
            link.say(&FromReceiver::Finished(Box::new(side.clone())), "at the end of a test")?;
            let peer = link.peer().to_owned();
            let event = ReceiverEvent::Ended { peer, spec: Box::new(spec), side: Box::new(side) };
            shared.config.listener.tell(event);
            Ok(())
        }
        Err(e @ (NetError::Lost { .. } | NetError::Garbled { .. })) => Err(e),
        Err(e) => {
            link.say(&FromReceiver::Failed(e.to_string()), "while telling what failed")?;
            shared
                .config
                .listener
                .tell(ReceiverEvent::Failed { peer: link.peer().to_owned(), why: e.to_string() });
            Ok(())
        }
    }
}

fn run(link: &mut ControlLink, shared: &Shared, spec: &TestSpec) -> Result<SideReport, NetError> {
    spec.check()?;
    let gathering = Gathering::open(link, spec)?;
    link.say(&gathering.invitation(), "while a test was prepared")?;
    let lines = gathering.gather(link, spec, shared)?;
    let mut team = StreamTeam::assemble(spec, lines, &shared.config.cpus)?;
    link.say(&FromReceiver::Ready, "while a test was prepared")?;
    let peer = link.peer().to_owned();
    shared.config.listener.tell(ReceiverEvent::Began { peer, spec: Box::new(spec.clone()) });
    let start = await_start(link, shared)?;
    let watch = StopWatch::begin();
    let mut control = ReceiverControl { link, shared, done: false, stopped: false, watch };
    let run = TestRun::conduct(&mut team, Grid::new(start, spec), &mut control)?;
    let mut ends = team.join(true);
    control.await_done()?;
    team.signals.drain();
    ends.extend(team.join(false));
    run.finish(&team, ends, &mut control)
}

/// A sender that has others to wait for asks for the time meanwhile.
fn await_start(link: &mut ControlLink, shared: &Shared) -> Result<TestStart, NetError> {
    while !shared.stopped() {
        match link.expect(PATIENCE, "before the start")? {
            FromSender::Clock { sent } => tell_time(link, sent)?,
            FromSender::Start(start) if start.at <= clock::now().plus(LEAD_MAX) => {
                return Ok(start);
            }
            FromSender::Start(_) => {
                return Err(NetError::Spec("a start that lies too far ahead".to_owned()));
            }
            other => return Err(out_of_turn(link, &other)),
        }
    }
    Err(NetError::Spec("the receiver was stopped".to_owned()))
}

/// Holds the control connection while a test runs.
struct ReceiverControl<'a> {
    link: &'a mut ControlLink,
    shared: &'a Shared,
    /// The sender's workers have ended, on a clock that may be a little ahead.
    done: bool,
    /// The sender wants no more of it.
    stopped: bool,
    watch: StopWatch,
}

impl ReceiverControl<'_> {
    fn attend(&mut self, until: Ns) -> Result<(), NetError> {
        if self.shared.stopped() {
            return Err(NetError::Spec("the receiver was stopped".to_owned()));
        }
        match self.link.hear(until, "during a test")? {
            None => Ok(()),
            Some(FromSender::Done) => {
                self.done = true;
                Ok(())
            }
            Some(FromSender::Stop) => {
                self.stopped = true;
                Ok(())
            }
            Some(FromSender::Clock { sent }) => tell_time(self.link, sent),
            Some(other) => Err(out_of_turn(self.link, &other)),
        }
    }

    fn await_done(&mut self) -> Result<(), NetError> {
        let limit = clock::now().plus(DONE);
        while !self.done {
            if clock::now() >= limit {
                return Err(self
                    .link
                    .lost("at the end of a test", "it did not say that it was done"));
            }
            self.attend(clock::now().plus(LOOK))?;
        }
        Ok(())
    }
}

impl IntervalSink for ReceiverControl<'_> {
    fn until(&mut self, at: Ns) -> Result<Decision, NetError> {
        while clock::now() < at && !self.stopped {
            self.attend(at.min(clock::now().plus(LOOK)))?;
            self.watch.woke();
        }
        Ok(if self.stopped { Decision::Stop } else { Decision::On })
    }

    fn cut(&mut self, figures: EndFigures) -> Result<(), NetError> {
        self.link.say(&FromReceiver::Interval(Box::new(figures)), "during a test")
    }

    fn watch(&mut self) -> &mut StopWatch {
        &mut self.watch
    }
}

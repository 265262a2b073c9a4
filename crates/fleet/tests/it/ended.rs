//! A step is over once the loads of all agents are done.

use crate::common::*;
use crate::prelude::*;
use fleet::{RunOutcome, WaitLimits};
use record::{Interval, SourceId};
use scenario::Phase;
use std::sync::mpsc;
use units::Bytes;

/// A step of two workers, one an agent, that may last an hour and is over when both have moved their bytes.
fn trial() -> Trial {
    let mut trial = Trial::new();
    trial.steps.truncate(1);
    let step = &mut trial.steps[0];
    (step.warmup, step.measure, step.cooldown) =
        (Duration::ZERO, Duration::from_secs(3600), Duration::ZERO);
    let amount = Some(Bytes(1 << 20));
    let phase = Phase { name: None, after: Vec::new(), amount, passes: None };
    step.loads.iter_mut().for_each(|load| load.phase = Some(phase.clone()));
    trial.limits = WaitLimits { lead_measure: Ns::millis(200), ..trial.limits };
    trial
}

/// What an agent does once its step has begun.
#[derive(Clone, Copy, PartialEq)]
enum Plays {
    /// It is done after so many milliseconds of load.
    Done(u64),
    /// It leaves without a word.
    Leaves,
    /// It is done, and hears too late when the step is over.
    Late(u64),
}

/// An agent that plays so, and says when it was told that the step is over.
fn agent(name: &'static str, plays: Plays, told: mpsc::Sender<Ns>) -> AgentLink {
    by_hand(name, move |mut end| {
        introduce(&mut end, name);
        let Ok(ToAgent::Prepare(step)) = end.inbox.recv() else { panic!("to prepare") };
        let mut answer = ready(0);
        if let FromAgent::Ready { planned, .. } = &mut answer {
            planned.push((step.workers[0].source, 1 << 19));
        }
        end.outbox.send(answer).unwrap();
        let Ok(ToAgent::Start { epoch, at, .. }) = end.inbox.recv() else { panic!("to start") };
        let began = at.since(epoch);
        let worker = &step.workers[0];
        assert!(worker.limit.is_some_and(|limit| limit == 1 << 19), "its part: {:?}", worker.limit);
        let after = match plays {
            Plays::Done(ms) | Plays::Late(ms) => Ns::millis(ms),
            Plays::Leaves => return,
        };
        let ended = FromAgent::Ended { step: 0, source: worker.source, at: began.plus(after) };
        end.outbox.send(ended).unwrap();
        let Ok(ToAgent::Finish { step: 0, at }) = end.inbox.recv() else { panic!("to finish") };
        let over = at.since(epoch);
        told.send(over).unwrap();
        let rested = Ns::secs(2 * u64::from(matches!(plays, Plays::Late(_))));
        end.outbox
            .send(FromAgent::Intervals(rest(worker.source, began, over.plus(rested))))
            .unwrap();
        end.outbox.send(FromAgent::Finished { step: 0 }).unwrap();
        assert!(matches!(end.inbox.recv(), Ok(ToAgent::Bye)));
    })
}

/// Intervals of a source until then, cut at whole seconds, in which nothing happens.
fn rest(source: SourceId, began: Ns, over: Ns) -> Vec<Interval> {
    let mut cuts = vec![began];
    while cuts[cuts.len() - 1] < over {
        let next = (cuts[cuts.len() - 1].0 / 1_000_000_000 + 1) * 1_000_000_000;
        cuts.push(Ns(next).min(over));
    }
    let interval = |pair: &[Ns]| Interval {
        source,
        step: 0,
        phase: record::Phase::Measure,
        from: pair[0],
        to: pair[1],
        read: None,
        write: None,
        others: Default::default(),
        testimony: None,
    };
    cuts.windows(2).map(interval).collect()
}

/// Runs two agents; the outcome, the record, and what each was told.
fn ran(one: Plays, other: Plays) -> (RunOutcome, Log, Vec<Ns>) {
    let (tell, told) = mpsc::channel();
    let agents = vec![agent("a", one, tell.clone()), agent("b", other, tell)];
    let (outcome, log) = trial().run(agents);
    (outcome.expect("a record"), log, told.iter().collect())
}

#[test]
fn the_last_that_is_done_ends_the_step_at_one_moment_for_all() {
    let (outcome, log, told) = ran(Plays::Done(300), Plays::Done(1700));
    assert_eq!(outcome.status, Status::Complete, "{:?}", log.events);
    let times = log.steps[0].times;
    assert_eq!(
        times.cooldown.since(times.start),
        Ns::millis(1700),
        "measured until the last was done"
    );
    assert_eq!(told, [times.end; 2], "both are told the same moment");
    assert!(times.end.0.is_multiple_of(Ns::secs(1).0), "a cut of every worker: {times:?}");
    assert!(
        times.end >= times.cooldown && times.end.since(times.start) < Ns::secs(60),
        "{times:?}"
    );
    assert_eq!((log.done, log.events.len()), (vec![0], 0));
}

#[test]
fn one_that_is_told_too_late_loses_nothing() {
    let (outcome, log, _) = ran(Plays::Done(300), Plays::Late(500));
    assert_eq!(outcome.status, Status::Complete, "{:?}", log.events);
    let end = log.steps[0].times.end;
    assert!(
        log.intervals.iter().all(|interval| interval.to <= end),
        "what was idle after it is left out"
    );
    assert!(log.events.is_empty(), "{:?}", log.events);
}

#[test]
fn a_lost_agent_does_not_keep_the_others_waiting() {
    let (_, log, told) = ran(Plays::Leaves, Plays::Done(400));
    assert_eq!(told.len(), 1);
    assert!(log.codes().contains(&"agent-lost"), "{:?}", log.codes());
    assert!(log.steps[0].times.measured() < Ns::secs(60));
}

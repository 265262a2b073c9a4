//! A warm-up that lasts until the load is steady.

use crate::common::*;
use crate::prelude::*;
use fleet::{AgentLink, RunError, RunOutcome, WaitLimits};
use record::{Level, Phase, Status};
use scenario::Steady;

/// A run of one step on two workers that follow a script: until it is steady, within so long by the clock. The script's
/// intervals keep to no clock.
fn run(agent: AgentLink, within: Duration) -> (Result<RunOutcome, RunError>, Log) {
    let mut trial = Trial::new();
    trial.steps.truncate(1);
    trial.steps[0].warmup = Duration::ZERO;
    trial.steps[0].steady = Some(Steady { within, ..Steady::SNIA });
    trial.limits = WaitLimits { lead_measure: Ns::millis(200), ..trial.limits };
    trial.run(vec![agent])
}

const LONG: Duration = Duration::from_secs(600);

#[test]
fn the_measurement_begins_when_the_load_is_steady() {
    let (outcome, log) = run(threaded("local", "steady"), LONG);
    assert_eq!(outcome.unwrap().status, Status::Complete);
    assert_eq!(log.codes(), ["steady"]);
    let steady = &log.events[0];
    assert_eq!((steady.level, steady.step), (Level::Info, Some(0)));
    assert!(steady.text.contains("the spread of IOPS was 0% of its mean"), "{}", steady.text);
    let times = log.steps[0].times;
    assert!(times.measure.0.is_multiple_of(Ns::secs(1).0), "a cut of every worker: {times:?}");
    assert!(times.measure.since(times.start) < Ns::secs(60), "not after the longest warm-up");
    assert_eq!(times.measured(), Ns::secs(2));
    assert_eq!(times.end, times.cooldown);
    let measured = log.intervals.iter().filter(|i| i.phase == Phase::Measure);
    let first = measured.filter(|i| i.from < times.end).map(|i| i.from).min();
    assert_eq!(first, Some(times.measure), "intervals and step agree");
}

#[test]
fn a_load_that_is_never_steady_is_measured_all_the_same() {
    let (outcome, log) = run(threaded("local", "unsteady"), Duration::from_millis(400));
    assert_eq!(outcome.unwrap().status, Status::Complete, "{:?}", log.events);
    assert_eq!(log.codes(), ["never-steady"]);
    let never = &log.events[0];
    assert_eq!(never.level, Level::Warning);
    assert!(never.text.starts_with("not steady after 0 s of load"), "{}", never.text);
    let times = log.steps[0].times;
    assert_eq!(times.measure.since(times.start), Ns::millis(400), "as planned");
}

#[test]
fn an_order_that_comes_too_late_fails_the_step() {
    let (outcome, log) = run(threaded("local", "too late"), LONG);
    let failure = outcome.unwrap().failure.expect("a failure");
    assert!(failure.error.to_string().contains("came too late"), "{}", failure.error);
    assert!(log.codes().contains(&"step-failed"), "{:?}", log.codes());
}

#[test]
fn without_the_rule_nobody_is_told_when_to_measure() {
    let mut trial = Trial::new();
    trial.steps.truncate(1);
    trial.steps[0].warmup = Duration::from_secs(3600);
    let agent = by_hand("local", |mut end| {
        introduce(&mut end, "local");
        let Ok(ToAgent::Prepare(step)) = end.inbox.recv() else { panic!("to prepare") };
        end.outbox.send(ready(0)).unwrap();
        let Ok(ToAgent::Start { epoch, at, .. }) = end.inbox.recv() else { panic!("to start") };
        let mut list = intervals(&step, at.since(epoch));
        list.truncate(200);
        end.outbox.send(FromAgent::Intervals(list)).unwrap();
        end.outbox.send(FromAgent::Finished { step: 0 }).unwrap();
        assert!(matches!(end.inbox.recv(), Ok(ToAgent::Bye)));
    });
    let (outcome, log) = trial.run(vec![agent]);
    assert_eq!(outcome.unwrap().status, Status::Complete);
    assert!(log.events.is_empty(), "{:?}", log.events);
}

#[test]
fn an_order_to_measure_that_crosses_with_the_end_is_harmless() {
    let (ours, theirs) = fleet::carrier::in_process();
    let thread = std::thread::spawn(move || fleet::serve(theirs, engines("run"), identity("a")));
    let mut end = plain(ours);
    let version = fleet::message::PROTOCOL;
    end.outbox.send(ToAgent::Hello { version, run: String::new() }).unwrap();
    assert!(matches!(end.inbox.recv(), Ok(FromAgent::Hello(_))));
    end.outbox.send(ToAgent::Measure { step: 0, at: Ns::ZERO }).unwrap();
    end.outbox.send(ToAgent::Bye).unwrap();
    assert!(thread.join().unwrap().is_ok());
}

#[test]
fn an_order_to_measure_before_the_start_is_out_of_order() {
    let (ours, theirs) = fleet::carrier::in_process();
    let thread = std::thread::spawn(move || fleet::serve(theirs, engines("run"), identity("a")));
    let mut end = plain(ours);
    end.outbox.send(ToAgent::Measure { step: 0, at: Ns::ZERO }).unwrap();
    let Ok(FromAgent::Failed { step: None, error: AgentFailure::Protocol(text) }) =
        end.inbox.recv()
    else {
        panic!("a refusal")
    };
    assert_eq!(text, "Measure while waiting for Hello");
    assert!(thread.join().unwrap().is_err());
}

//! Whole runs: agents on threads and in child processes, in order and in every kind of disorder.

use crate::common::*;
use crate::prelude::*;
use fleet::{AgentLink, Progress, RunError};
use record::{Event, Loop, Record, Status, Writer};

/// The environment variable that makes this test binary an agent, with the script to follow.
const SCRIPT: &str = "FLEET_TEST_SCRIPT";

/// Not a test: what [`child`] starts.
#[test]
#[ignore = "the agent of other tests"]
fn child_agent() {
    let Ok(script) = std::env::var(SCRIPT) else { return };
    let end = carrier::agent_stdin().expect("a socket in the place of the standard input");
    let served = fleet::serve(end, engines(&script), identity("local"));
    std::process::exit(served.is_err().into());
}

/// An agent in a child process, with an engine that follows a script.
fn child(script: &str) -> AgentLink {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "run::child_agent", "--nocapture"]).env(SCRIPT, script);
    AgentLink::child("local", command).unwrap()
}

fn both(script: &str) -> [AgentLink; 2] {
    [threaded("local", script), child(script)]
}

#[test]
fn both_carriers_give_the_same_record() {
    let [in_process, in_child] = both("run").map(|agent| {
        let (outcome, log) = Trial::new().run(vec![agent]);
        assert_eq!(outcome.unwrap().status, Status::Complete);
        log.timeless()
    });
    assert_eq!(in_process, in_child);
    assert_eq!(in_process.done, [0, 1]);
    assert_eq!(in_process.intervals.len(), 2 * 2 * 3);
    assert_eq!(in_process.status, Some(Status::Complete));
    assert!(in_process.events.is_empty(), "{:?}", in_process.events);
    let facts: Vec<_> = in_process.facts.iter().map(|f| f.subject.as_str()).collect();
    assert_eq!(facts, ["local", "t0", "t1"], "once, however many steps repeat them");
}

#[test]
fn a_record_on_disk_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.wsr");
    let (trial, head) = (Trial::new(), head());
    let stages: Vec<scenario::Stage> = trial.steps.iter().cloned().map(Into::into).collect();
    let coordinator = fleet::Coordinator {
        scenario: &trial.scenario,
        stages: &stages,
        head: &head,
        limits: trial.limits,
        control: &trial.control,
    };
    let writer = Writer::create(&path, &head).unwrap();
    let mut silent = |_| ();
    coordinator.run(vec![threaded("local", "run")], writer, &mut silent).unwrap();
    let record = Record::open(&path).unwrap();
    assert_eq!(record.status(), Status::Complete);
    assert_eq!(record.steps().len(), 2);
    assert_eq!(record.intervals(1).unwrap().len(), 6);
    let carried = Loop::Closed { depth: 1, think: false };
    assert!(record.steps()[1].workers.iter().all(|w| w.arrivals == carried), "as the queue can");
}

#[test]
fn who_watches_is_told() {
    let mut seen = Vec::new();
    let (_, _) = Trial::new().run_watched(vec![threaded("local", "note")], &mut |p| {
        seen.push(match p {
            Progress::StepStarting { index, of, name, .. } => format!("{index} of {of}: {name}"),
            Progress::Preparing => "preparing".into(),
            Progress::Second { .. } | Progress::SimulatedSecond { .. } | Progress::Advanced(_) => {
                return;
            }
            Progress::StepDone { index } => format!("{index} done"),
            Progress::Searched { text, .. } => text,
            Progress::Event(event) => event.code,
        });
    });
    let step = |i: u32| {
        [
            format!("{i} of 2: depth={i}"),
            "preparing".into(),
            "depth-clamped".into(),
            format!("{i} done"),
        ]
    };
    assert_eq!(seen, [step(0), step(1)].concat());
}

#[test]
fn the_figures_of_a_second_are_sums_over_the_workers_of_the_step() {
    let mut trial = Trial::new();
    trial.scenario = scenario(3, &[]);
    trial.steps[0] = step(0, vec![load("read", 1, &["t2"])]);
    let control = trial.control.clone();
    let (mut under_way, mut shown) = (0, None);
    let agent = threaded("local", "wait in second");
    let (_, _) = trial.run_watched(vec![agent], &mut |p| match p {
        Progress::StepStarting { index, .. } => under_way = index,
        Progress::Second { rates, .. } if under_way == 1 => {
            shown.get_or_insert(rates);
            control.stop();
        }
        _ => {}
    });
    // Two seconds of two reads each by the second worker, one second of three by the third.
    let rates = shown.expect("a second");
    assert_eq!(rates.net, None);
    let disk = rates.disk.expect("workers reported");
    assert_eq!((disk.iops, disk.bytes_per_s, disk.errors), (5.0, 5.0 * 8192.0, 0));
    assert_eq!(disk.p99, Some(clock::Ns(1000)));
}

#[test]
fn an_event_before_the_start_gets_its_time_and_step_from_the_coordinator() {
    let (_, log) = Trial::new().run(vec![threaded("local", "note")]);
    let event = &log.events[1];
    assert_eq!(event.step, Some(1));
    assert!(event.at > log.steps[0].times.start);
}

#[test]
fn a_step_without_intervals_is_a_step() {
    let (outcome, log) = Trial::new().run(vec![threaded("local", "empty")]);
    assert_eq!(outcome.unwrap().status, Status::Complete);
    assert_eq!((log.done, log.intervals.len()), (vec![0, 1], 0));
}

/// Runs two steps on an agent that cannot go on and checks how the run ends and what is kept.
#[track_caller]
fn check_failed(script: &str, step: u32, error: &str, intervals: usize) {
    for agent in both(script) {
        let (outcome, log) = Trial::new().run(vec![agent]);
        let outcome = outcome.unwrap();
        assert_eq!(outcome.status, Status::Failed);
        let failure = outcome.failure.expect("a failure");
        assert_eq!((failure.step, failure.error.to_string().as_str()), (step, error));
        assert_eq!(log.event("step-failed").step, Some(step));
        assert!(log.event("step-failed").text.contains(error));
        assert_eq!(log.intervals.len(), intervals);
        assert_eq!(log.status, Some(Status::Failed));
        assert_eq!(log.done.len(), step as usize, "a failed step is not done");
    }
}

#[test]
fn an_engine_that_fails_ends_the_run_and_keeps_what_there_is() {
    check_failed("refuse", 0, "refused: t0 is mounted", 0);
    check_failed("refuse second", 1, "refused: t0 is mounted", 6);
    check_failed("fail", 0, "t0: it broke", 3);
    let silent = "an engine ended in step 0 without a word; this is a defect of the engine";
    check_failed("vanish", 0, silent, 0);
}

#[test]
fn a_refusal_can_be_told_from_other_failures() {
    let (outcome, _) = Trial::new().run(vec![threaded("local", "refuse")]);
    let failure = outcome.unwrap().failure.unwrap();
    assert!(matches!(failure.error, AgentFailure::Engine(engine::EngineError::Refused(_))));
}

/// Runs an agent that is lost on the way, and checks that its event says why.
#[track_caller]
fn check_lost(trial: &Trial, agent: AgentLink, why: &[&str]) {
    let (outcome, log) = trial.run(vec![agent]);
    let outcome = outcome.unwrap();
    assert_eq!((outcome.status, outcome.lost), (Status::Failed, vec!["local".to_owned()]));
    let event = log.event("agent-lost");
    for word in why {
        assert!(event.text.contains(word), "{:?} lacks {word:?}", event.text);
    }
    assert_eq!((event.step, log.status), (Some(0), Some(Status::Failed)));
}

#[test]
fn a_killed_child_is_noticed_and_quoted() {
    let (outcome, log) = Trial::new().run_watched(vec![child("tell pid")], &mut |p| {
        if let Progress::Event(Event { code, text: pid, .. }) = p
            && code == "pid"
        {
            assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        }
    });
    assert_eq!(outcome.unwrap().status, Status::Failed);
    let text = &log.event("agent-lost").text;
    assert!(text.contains("signal: 9") && text.contains("the last words"), "{text}");
    assert_eq!(log.intervals.len(), 3, "what it sent is kept");
}

#[test]
fn a_silent_agent_is_given_up() {
    let mut trial = Trial::new();
    trial.limits.silence = clock::Ns::millis(200);
    for agent in both("silent") {
        check_lost(&trial, agent, &["no message for"]);
    }
}

#[test]
fn an_agent_that_prepares_for_ever_is_given_up() {
    let mut trial = Trial::new();
    trial.limits.prepare = clock::Ns::millis(200);
    for agent in both("hang in prepare") {
        check_lost(&trial, agent, &["no message for"]);
    }
}

#[test]
fn an_engine_that_panics_takes_its_agent_along() {
    for agent in both("panic in prepare") {
        check_lost(&Trial::new(), agent, &["an engine broke down preparing step 0"]);
    }
}

/// Runs an agent that says `says` once it has been told to start, or to prepare when `early`.
#[track_caller]
fn check_disorder(early: bool, says: impl Fn() -> FromAgent + Send + 'static, why: &str) {
    let agent = by_hand("local", move |mut end| {
        introduce(&mut end, "local");
        assert!(matches!(end.inbox.recv(), Ok(ToAgent::Prepare(_))));
        if !early {
            end.outbox.send(ready(0)).unwrap();
            assert!(matches!(end.inbox.recv(), Ok(ToAgent::Start { .. })));
        }
        end.outbox.send(says()).unwrap();
        // Stays until it is given up.
        while end.inbox.recv().is_ok() {}
    });
    check_lost(&Trial::new(), agent, &[why]);
}

#[test]
fn messages_out_of_order_lose_an_agent() {
    let foreign = || {
        let (_, log) = Trial::new().run(vec![threaded("local", "run")]);
        let mut interval = log.intervals[0].clone();
        interval.source = record::SourceId(99);
        FromAgent::Intervals(vec![interval])
    };
    let protocol = || AgentFailure::Protocol("a message it did not know".into());
    check_disorder(true, || ready(1), "with Ready");
    check_disorder(true, || FromAgent::Finished { step: 0 }, "with Finished");
    check_disorder(true, || FromAgent::Intervals(Vec::new()), "with Intervals");
    check_disorder(true, || FromAgent::Counters(Vec::new()), "with Counters");
    check_disorder(false, || ready(0), "with Ready");
    check_disorder(false, || FromAgent::Finished { step: 9 }, "with Finished");
    check_disorder(false, foreign, "with Intervals");
    check_disorder(
        false,
        move || FromAgent::Failed { step: None, error: protocol() },
        "a message it did not know",
    );
}

#[test]
fn stopping_leaves_a_valid_record() {
    for agent in both("wait") {
        let trial = Trial::new();
        let control = trial.control.clone();
        // The first step never ends by itself: the first thing that comes of it ends the run.
        let log = std::sync::Arc::clone(&trial.sink.log);
        std::thread::spawn(move || {
            while log.lock().unwrap().intervals.is_empty() {
                std::thread::yield_now();
            }
            control.stop();
        });
        let (outcome, log) = trial.run(vec![agent]);
        let outcome = outcome.unwrap();
        assert_eq!((outcome.status, outcome.lost.len()), (Status::Stopped, 0));
        assert_eq!(log.status, Some(Status::Stopped));
        assert_eq!((log.intervals.len(), log.done.len()), (3, 0));
    }
}

#[test]
fn stopping_does_not_wait_for_preparation() {
    for agent in both("hang in prepare") {
        let trial = Trial::new();
        let control = trial.control.clone();
        let (outcome, log) = trial.run_watched(vec![agent], &mut |_| control.stop());
        let outcome = outcome.unwrap();
        assert_eq!((outcome.status, outcome.lost.len()), (Status::Stopped, 0));
        assert!(log.steps.is_empty());
    }
}

#[test]
fn an_agent_that_does_not_stop_is_given_up() {
    let mut trial = Trial::new();
    trial.limits.stop = clock::Ns::millis(200);
    let control = trial.control.clone();
    let watch = &mut |p| {
        if matches!(p, Progress::Preparing) {
            control.stop();
        }
    };
    let agent = by_hand("local", |mut end| {
        introduce(&mut end, "local");
        while end.inbox.recv().is_ok() {}
    });
    let (outcome, log) = trial.run_watched(vec![agent], watch);
    assert_eq!(outcome.unwrap().status, Status::Stopped);
    assert!(log.event("agent-lost").text.contains("it did not finish in time"));
}

#[test]
fn of_two_agents_one_may_be_lost() {
    let trial = Trial::new();
    let dies = by_hand("b", |mut end| {
        introduce(&mut end, "b");
        assert!(matches!(end.inbox.recv(), Ok(ToAgent::Prepare(_))));
    });
    let (outcome, log) = trial.run(vec![threaded("a", "run"), dies]);
    let outcome = outcome.unwrap();
    assert_eq!((outcome.status, outcome.lost), (Status::Complete, vec!["b".to_owned()]));
    assert_eq!(log.codes(), ["agent-lost", "workers-missing"]);
    assert_eq!(log.event("workers-missing").step, Some(1));
    assert!(log.event("workers-missing").text.contains("agent `b`: t1"));
    assert!(log.intervals.iter().all(|i| i.source == record::SourceId(0)));
    assert_eq!(log.steps[1].workers.len(), 2, "who was asked is announced, who is missing shows");
    assert_eq!(log.done, [0, 1]);
}

#[test]
fn when_one_of_two_fails_the_other_is_stopped() {
    let (outcome, log) = Trial::new().run(vec![threaded("a", "fail"), threaded("b", "wait")]);
    let outcome = outcome.unwrap();
    assert_eq!((outcome.status, outcome.lost.len()), (Status::Failed, 0));
    assert_eq!(outcome.failure.unwrap().agent, "a");
    assert_eq!(log.codes(), ["step-failed"]);
}

#[test]
fn a_record_that_takes_no_more_ends_the_run() {
    for call in ["facts", "source", "step", "interval", "event", "step_done", "commit", "finish"] {
        let mut trial = Trial::new();
        trial.sink.fail_at = Some(call);
        let (outcome, _) = trial.run(vec![threaded("local", "note")]);
        let error = outcome.expect_err(call);
        assert!(matches!(error, RunError::Record(_)), "{call}: {error}");
        assert!(error.to_string().contains("run.wsr"), "{error}");
    }
}

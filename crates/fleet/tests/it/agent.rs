//! An agent by itself: the test is its coordinator.

use crate::common::*;
use crate::prelude::*;
use engine::{StepSpec, TargetSpec, WorkerSpec};
use fleet::carrier::{self, CarrierError};
use fleet::{EngineRegistry, ServeError, scheme};
use std::thread::{self, JoinHandle};

/// An agent on a thread, and the coordinator's end of its carrier.
fn agent(engines: EngineRegistry) -> (CoordinatorEnd, JoinHandle<Result<(), ServeError>>) {
    let (ours, theirs) = carrier::in_process();
    (plain(ours), thread::spawn(move || fleet::serve(theirs, engines, identity("a"))))
}

/// The same over a socket.
fn agent_over_socket(
    engines: EngineRegistry,
) -> (CoordinatorEnd, JoinHandle<Result<(), ServeError>>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let end = carrier::over_socket(theirs).unwrap();
    let thread = thread::spawn(move || fleet::serve(end, engines, identity("a")));
    (plain(carrier::coordinator_socket(ours).unwrap()), thread)
}

pub fn hello() -> ToAgent {
    ToAgent::Hello { version: PROTOCOL, run: "a test".into() }
}

pub fn prepare() -> ToAgent {
    prepare_workers(&["fake:0"], &[&[0]])
}

/// A step with workers on targets of these URLs: for each worker, its targets.
fn prepare_workers(urls: &[&str], workers: &[&[u16]]) -> ToAgent {
    let target = |url: &&str| TargetSpec::new(format!("<{url}>"), *url);
    let worker = |(i, targets): (usize, &&[u16])| {
        WorkerSpec::new(i as u32, format!("w{i}"), targets.to_vec(), spec(1))
    };
    ToAgent::Prepare(Box::new(StepSpec {
        index: 5,
        seed: 1,
        warmup: Ns::ZERO,
        measure: Ns::secs(1),
        cooldown: Ns::ZERO,
        slice: Ns::ZERO,
        targets: urls.iter().map(target).collect(),
        workers: workers.iter().enumerate().map(worker).collect(),
        loads: Vec::new(),
        attended: Vec::new(),
        counted: None,
        lab: None,
    }))
}

fn start() -> ToAgent {
    ToAgent::Start { epoch: Ns::ZERO, at: clock::now(), hops: Vec::new() }
}

/// What an agent says, in words, until it has said `last`.
fn listen(end: &mut CoordinatorEnd, last: &str) -> Vec<String> {
    let mut heard: Vec<String> = Vec::new();
    while heard.last().is_none_or(|w| w != last) {
        heard.push(match end.inbox.recv() {
            Ok(FromAgent::Hello(_)) => "hello".into(),
            Ok(FromAgent::Serving(_)) => "serving".into(),
            Ok(FromAgent::Ready { .. }) => "ready".into(),
            Ok(FromAgent::Intervals(list)) => format!("{} intervals", list.len()),
            Ok(FromAgent::Counters(_)) => "counters".into(),
            Ok(FromAgent::Event(event)) => event.code,
            Ok(FromAgent::Ended { step, source, .. }) => format!("ended {step} {}", source.0),
            Ok(FromAgent::Finished { step }) => format!("finished {step}"),
            Ok(FromAgent::Failed { step: Some(_), .. }) => "failed".into(),
            Ok(FromAgent::Failed { step: None, error }) => error.to_string(),
            Ok(FromAgent::Clock { number, .. }) => format!("clock {number}"),
            Err(_) => "gone".into(),
        });
    }
    heard
}

#[test]
fn a_step_goes_its_way() {
    let (mut end, thread) = agent(engines("run"));
    for (say, until) in [(hello(), "hello"), (prepare(), "ready"), (start(), "finished 5")] {
        end.outbox.send(say).unwrap();
        listen(&mut end, until);
        // Its clock is told at any time.
        end.outbox.send(ToAgent::Clock { number: 7 }).unwrap();
        listen(&mut end, "clock 7");
    }
    end.outbox.send(ToAgent::Bye).unwrap();
    assert!(thread.join().unwrap().is_ok());
}

/// Says these things one after the other, each when the last one's answer is there, and checks the last answer.
#[track_caller]
fn check_disorder(script: &str, says: Vec<(ToAgent, &str)>, last: ToAgent, complaint: &str) {
    let (mut end, thread) = agent(engines(script));
    for (say, until) in says {
        end.outbox.send(say).unwrap();
        if !until.is_empty() {
            listen(&mut end, until);
        }
    }
    end.outbox.send(last).unwrap();
    listen(&mut end, complaint);
    let refused = thread.join().unwrap();
    assert!(matches!(refused, Err(ServeError::Refused(AgentFailure::Protocol(_)))), "{refused:?}");
}

#[test]
fn orders_out_of_order_are_refused() {
    let greeted = || vec![(hello(), "hello")];
    let then = |more: Vec<(ToAgent, &'static str)>| [greeted(), more].concat();
    check_disorder("run", vec![], prepare(), "Prepare while waiting for Hello");
    check_disorder("run", vec![], start(), "Start while waiting for Hello");
    let clock = ToAgent::Clock { number: 0 };
    check_disorder("run", vec![], clock, "Clock while waiting for Hello");
    check_disorder("run", greeted(), hello(), "Hello while waiting for a step");
    check_disorder("run", greeted(), start(), "Start while waiting for a step");
    let preparing = || then(vec![(prepare(), "")]);
    check_disorder("hang in prepare", preparing(), prepare(), "Prepare while preparing a step");
    check_disorder("hang in prepare", preparing(), start(), "Start while preparing a step");
    let ready = || then(vec![(prepare(), "ready")]);
    check_disorder("run", ready(), prepare(), "Prepare while ready to start a step");
    let running = || then(vec![(prepare(), "ready"), (start(), "")]);
    check_disorder("wait", running(), start(), "Start while running a step");
    check_disorder("wait", running(), prepare(), "Prepare while running a step");
}

#[test]
fn another_version_is_refused_with_a_greeting() {
    let (mut end, thread) = agent(engines("run"));
    end.outbox.send(ToAgent::Hello { version: 99, run: String::new() }).unwrap();
    assert!(matches!(end.inbox.recv(), Ok(FromAgent::Hello(g)) if g.version == PROTOCOL));
    let error = thread.join().unwrap().unwrap_err().to_string();
    let ours = format!("version {PROTOCOL}");
    assert!(error.contains("version 99") && error.contains(&ours), "{error}");
}

#[test]
fn stop_is_answered_in_every_state() {
    for (script, says) in [
        ("hang in prepare", vec![(prepare(), "")]),
        ("fill", vec![(prepare(), "")]),
        ("run", vec![(prepare(), "ready")]),
        ("wait", vec![(prepare(), "ready"), (start(), "")]),
    ] {
        let (mut end, _thread) = agent(engines(script));
        for (say, until) in [vec![(hello(), "hello")], says].concat() {
            end.outbox.send(say).unwrap();
            if !until.is_empty() {
                listen(&mut end, until);
            }
        }
        end.outbox.send(ToAgent::Stop).unwrap();
        listen(&mut end, "finished 5");
    }
}

#[test]
fn an_engine_that_is_filling_hears_of_a_stop_and_its_last_word_arrives() {
    let (mut end, _thread) = agent(engines("fill"));
    end.outbox.send(hello()).unwrap();
    for _ in 0..2 {
        end.outbox.send(prepare()).unwrap();
        end.outbox.send(ToAgent::Stop).unwrap();
        let heard = listen(&mut end, "finished 5");
        assert_eq!(heard.iter().rev().take(2).collect::<Vec<_>>(), ["finished 5", "fill-stopped"]);
    }
}

#[test]
fn a_stop_that_crosses_with_the_end_is_harmless() {
    let (mut end, _thread) = agent(engines("run"));
    end.outbox.send(hello()).unwrap();
    end.outbox.send(ToAgent::Stop).unwrap();
    end.outbox.send(prepare()).unwrap();
    assert_eq!(listen(&mut end, "ready"), ["hello", "ready"]);
    end.outbox.send(ToAgent::Stop).unwrap();
    end.outbox.send(ToAgent::Stop).unwrap();
    end.outbox.send(prepare()).unwrap();
    assert_eq!(listen(&mut end, "ready"), ["finished 5", "ready"]);
}

#[test]
fn an_agent_goes_on_after_a_step_that_failed() {
    let (mut end, _thread) = agent(engines("refuse"));
    end.outbox.send(hello()).unwrap();
    for _ in 0..2 {
        end.outbox.send(prepare()).unwrap();
        listen(&mut end, "failed");
    }
}

#[test]
fn an_agent_leaves_when_its_coordinator_is_gone() {
    let states =
        || [("wait", ""), ("hang in prepare", "prepare"), ("wait", "ready"), ("wait", "start")];
    for ((script, state), connect) in
        states().into_iter().flat_map(|s| [(s, agent as fn(_) -> _), (s, agent_over_socket)])
    {
        let (mut end, thread) = connect(engines(script));
        end.outbox.send(hello()).unwrap();
        listen(&mut end, "hello");
        if !state.is_empty() {
            end.outbox.send(prepare()).unwrap();
        }
        if matches!(state, "ready" | "start") {
            listen(&mut end, "ready");
        }
        if state == "start" {
            end.outbox.send(start()).unwrap();
        }
        drop(end);
        let lost = thread.join().unwrap();
        assert!(matches!(lost, Err(ServeError::Lost(CarrierError::Closed))), "{state}: {lost:?}");
    }
}

#[test]
fn events_and_intervals_keep_their_order() {
    let (mut end, _thread) = agent(engines("note"));
    for (say, until) in [(hello(), "hello"), (prepare(), "ready"), (start(), "finished 5")] {
        end.outbox.send(say).unwrap();
        let heard = listen(&mut end, until);
        match until {
            "ready" => assert_eq!(heard, ["depth-clamped", "ready"]),
            "finished 5" => assert_eq!(heard, ["1 intervals", "finished 5"]),
            _ => {}
        }
    }
}

/// What a step of these workers is answered with by an agent that has an engine for `fake:` and `null:` and another one
/// for paths: the facts of its targets by engine, or the error.
#[track_caller]
fn check_division(urls: &[&str], workers: &[&[u16]], expected: &str) {
    let registry = EngineRegistry::new()
        .register(&["fake", "null"], Box::new(Fake("run".into())))
        .register(&[""], Box::new(Fake("run".into())));
    let (mut end, _thread) = agent(registry);
    end.outbox.send(hello()).unwrap();
    listen(&mut end, "hello");
    end.outbox.send(prepare_workers(urls, workers)).unwrap();
    let answer = match end.inbox.recv().unwrap() {
        FromAgent::Ready { facts, .. } => {
            facts.into_iter().map(|f| f.subject).collect::<Vec<_>>().join(" ")
        }
        FromAgent::Failed { error, .. } => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(answer, expected);
}

#[test]
fn every_engine_gets_its_workers() {
    check_division(&["fake:1"], &[&[0]], "<fake:1>");
    check_division(&["/a", "fake:1"], &[&[0], &[1]], "<fake:1> </a>");
    check_division(&["/a", "fake:1", "/b"], &[&[0], &[1], &[2, 0]], "<fake:1> </a> </b>");
    check_division(&["fake:1", "null:"], &[&[0, 1]], "<fake:1> <null:>");
    check_division(&["/a", "/unused"], &[&[0]], "</a>");
    let mixed = "worker w0: its targets need different engines; \
                 give each kind of target a worker of its own";
    check_division(&["/a", "fake:1"], &[&[0, 1]], mixed);
    let unknown = "<iscsi://h/i/0>: no engine serves `iscsi://h/i/0`; \
                   this program knows `fake:`, `null:`, a path";
    check_division(&["iscsi://h/i/0"], &[&[0]], unknown);
    check_division(&["/a"], &[&[]], "worker w0: it has no target");
    let dangling = "worker w0: it refers to a target that the step does not have";
    check_division(&["/a"], &[&[1]], dangling);
}

#[test]
fn engines_that_share_a_step_finish_together() {
    let registry = EngineRegistry::new()
        .register(&["fake"], Box::new(Fake("run".into())))
        .register(&[""], Box::new(Fake("wait".into())));
    let (mut end, _thread) = agent(registry);
    end.outbox.send(hello()).unwrap();
    end.outbox.send(prepare_workers(&["/a", "fake:1"], &[&[0], &[1]])).unwrap();
    listen(&mut end, "ready");
    end.outbox.send(start()).unwrap();
    assert_eq!(listen(&mut end, "1 intervals"), ["1 intervals"]);
    end.outbox.send(ToAgent::Stop).unwrap();
    assert_eq!(listen(&mut end, "finished 5"), ["finished 5"]);
}

#[test]
fn schemes_are_told_from_paths() {
    for (url, expected) in [
        ("null:", "null"),
        ("iscsi://host/iqn/0", "iscsi"),
        ("/dev/sda", ""),
        ("data.bin", ""),
        ("./a:b", ""),
        ("/dev/disk/by-path/pci-0000:00:1f.2", ""),
        ("C:file", ""),
        (":", ""),
        ("", ""),
    ] {
        assert_eq!(scheme(url), expected, "{url}");
    }
}

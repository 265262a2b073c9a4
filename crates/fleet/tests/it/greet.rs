//! The first words: who may not take part in a run, and what the user is told.

use crate::common::*;
use crate::prelude::*;
use std::io::Write;

/// Runs an agent that cannot be used and checks what is said of it.
#[track_caller]
fn check_unusable(agent: AgentLink, expected: &[&str]) {
    let mut trial = Trial::new();
    trial.limits.greet = clock::Ns::millis(500);
    let (outcome, log) = trial.run(vec![agent]);
    let error = outcome.expect_err("an agent that cannot be used");
    assert!(matches!(error, RunError::Agent { .. }), "{error}");
    for word in expected {
        assert!(error.to_string().contains(word), "{error} lacks {word:?}");
    }
    assert_eq!(log.status, Some(Status::Failed));
}

fn greeting() -> Greeting {
    Greeting { version: PROTOCOL, name: "local".into(), facts: Vec::new(), now: clock::now() }
}

/// An agent that answers `Hello` with this.
fn answers(answer: impl FnOnce() -> FromAgent + Send + 'static) -> AgentLink {
    by_hand("local", move |mut end| {
        let _ = end.inbox.recv();
        let _ = end.outbox.send(answer());
        while end.inbox.recv().is_ok() {}
    })
}

/// An agent on a socket that answers whatever it is told with these bytes, and then closes or does not.
fn writes(bytes: &'static [u8], close: bool) -> AgentLink {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(bytes).unwrap();
    if !close {
        std::mem::forget(theirs);
    }
    AgentLink::over("local", carrier::coordinator_socket(ours).unwrap())
}

#[test]
fn another_version_is_refused_by_both_names() {
    let other = || FromAgent::Hello(Greeting { version: PROTOCOL + 1, ..greeting() });
    let (ours, theirs) = (format!("version {PROTOCOL}"), format!("version {}", PROTOCOL + 1));
    check_unusable(answers(other), &["agent `local`", &ours, &theirs, "same release"]);
}

#[test]
fn another_name_is_refused() {
    let other = || FromAgent::Hello(Greeting { name: "remote".into(), ..greeting() });
    check_unusable(answers(other), &["it identifies itself as `remote`"]);
}

#[test]
fn another_clock_is_refused() {
    for now in [clock::Ns(5), clock::Ns::MAX] {
        let other = move || FromAgent::Hello(Greeting { now, ..greeting() });
        check_unusable(answers(other), &["its clock is not the coordinator's"]);
    }
}

#[test]
fn other_answers_are_refused() {
    check_unusable(answers(|| FromAgent::Finished { step: 0 }), &["Finished before Hello"]);
    let failed = || FromAgent::Failed { step: None, error: AgentFailure::Protocol("no".into()) };
    check_unusable(answers(failed), &["agent `local` cannot be used: no"]);
}

#[test]
fn no_answer_is_no_agent() {
    check_unusable(by_hand("local", drop), &["closed the connection"]);
    check_unusable(writes(b"", true), &["closed the connection"]);
    check_unusable(writes(b"", false), &["no message for"]);
}

#[test]
fn bytes_that_are_no_message_are_refused() {
    check_unusable(writes(b"\x00\x00\x00\x03abc", false), &["not a message of this protocol"]);
    check_unusable(writes(b"HTTP/1.1 200 OK\r\n", false), &["exceeds the limit"]);
    check_unusable(writes(b"\x00\x00\x10\x00abc", true), &["closed the connection"]);
}

#[test]
fn a_child_that_is_no_agent_is_refused_with_its_last_output() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo no such agent >&2; exit 3"]);
    let agent = AgentLink::child("local", command).unwrap();
    check_unusable(agent, &["exit status: 3", "no such agent"]);
}

#[test]
fn a_command_that_cannot_be_started_is_an_error() {
    assert!(AgentLink::child("local", Command::new("/no/such/program")).is_err());
}

#[test]
fn without_an_agent_there_is_no_run() {
    let (outcome, log) = Trial::new().run(Vec::new());
    assert!(matches!(outcome, Err(RunError::Assign(fleet::AssignError::NoAgents))));
    assert_eq!(log, Log::default());
}

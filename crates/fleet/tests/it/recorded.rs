//! A conversation and one message of every kind, kept as this version of the messages writes them: what is changed without a
//! new version is noticed here, before an older peer misreads it.
//!
//! `UPDATE_EXPECTED=1 cargo test -p fleet recorded` writes the files of a new version; those of older ones stay.

use crate::agent::{hello, prepare};
use crate::common::*;
use crate::message::{from_agent, to_agent};
use crate::prelude::*;
use fleet::frame;
use fleet::message::FromAgent;
use fleet::sequence::{Numbered, Numberer};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;

/// Messages drawn of each direction: enough for all of their kinds.
const DRAWN: usize = 80;
/// Before a message of the coordinator, and before one of the agent.
const SIDES: [u8; 2] = [b'C', b'A'];

fn file(what: &str) -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.join(format!("tests/recorded/{what}-{PROTOCOL}.bin"))
}

/// The bytes of a file, made anew where that is asked for.
#[track_caller]
fn kept(what: &str, make: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    let file = file(what);
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::create_dir_all(file.parent().expect("a directory")).expect("room");
        fs::write(&file, make()).expect("room");
    }
    fs::read(&file).unwrap_or_else(|e| {
        panic!("{}: {e}; a new version of the messages needs files of its own", file.display())
    })
}

fn framed<M: Serialize>(side: u8, message: &M, out: &mut Vec<u8>) {
    out.push(side);
    frame::write(out, message, &mut Vec::new()).expect("a frame");
}

/// The word that a message begins with.
fn kind(message: &impl Debug) -> String {
    format!("{message:?}").chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// Every message of a file, read and written again.
#[track_caller]
fn check<M: Serialize + DeserializeOwned + Debug>(bytes: &mut &[u8]) -> String {
    let before = *bytes;
    let message: M = frame::read(bytes).expect("a message of this version").expect("a message");
    let own = &before[..before.len() - bytes.len()];
    let mut again = Vec::new();
    frame::write(&mut again, &message, &mut Vec::new()).expect("a frame");
    assert!(
        again == own,
        "{message:?} is written in another way than before: if an older peer misreads it, raise PROTOCOL; then let the \
         files be written"
    );
    kind(&message)
}

#[test]
fn every_kind_of_message_is_written_as_it_was() {
    let bytes = kept("messages", || {
        let mut runner = TestRunner::deterministic();
        let mut out = Vec::new();
        for _ in 0..DRAWN {
            let message = to_agent().new_tree(&mut runner).expect("a message").current();
            framed(SIDES[0], &message, &mut out);
            let message = from_agent().new_tree(&mut runner).expect("a message").current();
            framed(SIDES[1], &message, &mut out);
        }
        out
    });
    let mut left = &bytes[..];
    let mut kinds = std::collections::BTreeSet::new();
    while let Some((side, rest)) = left.split_first() {
        left = rest;
        kinds.insert(match *side == SIDES[0] {
            true => format!("to {}", check::<ToAgent>(&mut left)),
            false => format!("from {}", check::<FromAgent>(&mut left)),
        });
    }
    let to = [
        "Hello", "Prepare", "Serve", "Arrange", "Start", "Measure", "Finish", "Stop", "Clock",
        "Bye",
    ];
    let from = [
        "Hello",
        "Serving",
        "Ready",
        "Intervals",
        "Counters",
        "Event",
        "Ended",
        "Finished",
        "Failed",
        "Clock",
    ];
    let all = to.map(|k| format!("to {k}")).into_iter().chain(from.map(|k| format!("from {k}")));
    let missing: Vec<String> = all.filter(|kind| !kinds.contains(kind)).collect();
    assert_eq!(missing, Vec::<String>::new(), "of {kinds:?}");
}

/// What a coordinator says to an agent through a step, and the kind of the answer that it waits for.
fn said() -> Vec<(ToAgent, &'static str)> {
    vec![
        (hello(), "Hello"),
        (ToAgent::Clock { number: 7 }, "Clock"),
        (prepare(), "Ready"),
        (ToAgent::Start { epoch: Ns::ZERO, at: Ns::ZERO, hops: Vec::new() }, "Finished"),
        (ToAgent::Bye, ""),
    ]
}

/// An agent of this release, over a socket.
fn agent() -> (UnixStream, std::thread::JoinHandle<bool>) {
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    let end = carrier::over_socket(theirs).expect("a carrier");
    let serve = move || fleet::serve(end, engines("run"), identity("a")).is_ok();
    (ours, std::thread::spawn(serve))
}

/// Reads what the agent says until a message of one kind, or its end; the kinds, without repetitions.
fn answers(socket: &mut UnixStream, last: &str, out: &mut Vec<u8>) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    while kinds.last().is_none_or(|kind| kind != last) {
        let Some(heard) = frame::read::<Numbered<FromAgent>>(socket).expect("a message") else {
            break;
        };
        framed(SIDES[1], &heard, out);
        let kind = kind(&heard.message);
        if kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

#[test]
fn an_agent_understands_the_conversation_that_was_kept() {
    let bytes = kept("conversation", || {
        let (mut socket, thread) = agent();
        let (mut out, mut numbers) = (Vec::new(), Numberer::default());
        for (message, last) in said() {
            let mut words = Vec::new();
            framed(SIDES[0], &numbers.number(message), &mut words);
            socket.write_all(&words[1..]).expect("it listens");
            out.extend(words);
            answers(&mut socket, last, &mut out);
        }
        assert!(thread.join().expect("no panic"));
        out
    });
    let (mut socket, thread) = agent();
    let mut left = &bytes[..];
    let mut again = Vec::new();
    while let Some((side, rest)) = left.split_first() {
        assert_eq!(*side, SIDES[0]);
        left = rest;
        let from = left;
        frame::read::<Numbered<ToAgent>>(&mut left).expect("a message").expect("a message");
        socket.write_all(&from[..from.len() - left.len()]).expect("it listens");
        // What was answered then, up to what the coordinator says next.
        let mut then: Vec<String> = Vec::new();
        while let Some(rest) = left.strip_prefix(&SIDES[1..]) {
            left = rest;
            let heard = frame::read::<Numbered<FromAgent>>(&mut left);
            let kind = kind(&heard.expect("a message").expect("a message").message);
            if then.last() != Some(&kind) {
                then.push(kind);
            }
        }
        let last = then.last().cloned().unwrap_or_default();
        assert_eq!(answers(&mut socket, &last, &mut again), then);
    }
    assert!(thread.join().expect("no panic"), "it ends well");
    assert_eq!(socket.read(&mut [0]).unwrap_or(0), 0, "and says no more");
}

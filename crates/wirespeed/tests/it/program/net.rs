//! `wirespeed net` as a program: two processes over loopback, and what they say where something is wrong.

use crate::prelude::*;
use crate::program::support::{Bench, ended};
use std::process::{Child, ChildStdout, Stdio};

const TOKEN: &str = "correct horse battery";
const BRIEF: [&str; 6] = ["--warmup", "50ms", "--time", "200ms", "--cooldown", "20ms"];

fn bench() -> Bench {
    Bench::new("")
}

/// A receiver that is running, and its address.
struct Receiving {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Receiving {
    fn start(bench: &Bench, args: &[&str], token: Option<&str>) -> Receiving {
        let receive = ["net", "receive", "--listen", "127.0.0.1:0", "--format", "json"];
        let mut command = bench.command(&[&receive[..], args].concat());
        command.env_remove("WIRESPEED_NET_TOKEN").envs(token.map(|t| ("WIRESPEED_NET_TOKEN", t)));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut receiving = Receiving { child, stdout, address: String::new() };
        let told = receiving.next();
        receiving.address = told["listening"][0].as_str().expect("an address").to_owned();
        receiving
    }

    /// The next line of its output.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it writes");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
    }

    /// Ends it by SIGTERM; what it had still to say.
    fn stop(mut self) -> (Option<i32>, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
        let status = self.child.wait().expect("it ends");
        let mut stderr = String::new();
        let pipe = self.child.stderr.as_mut().expect("it is a pipe");
        pipe.read_to_string(&mut stderr).expect("it writes text");
        (status.code(), stderr)
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn both_ends_tell_of_a_test() {
    let bench = bench();
    let mut receiving = Receiving::start(&bench, &[], None);
    let target = receiving.address.clone();
    let sent = bench
        .expect(0, &[&["net", "send", &target, "--format", "json", "--both"], &BRIEF[..]].concat());
    let told: Value = serde_json::from_str(&sent.stdout).expect("one document");
    let pair = &told["steps"][0]["network"][0];
    assert_eq!(pair["directions"].as_array().map(Vec::len), Some(2), "{pair}");
    let received = receiving.next();
    let streams = received["receiver"]["streams"].as_array().map(Vec::len);
    assert_eq!(streams, Some(2), "the receiver tells of its end: {received}");
    assert!(sent.stderr.contains("record: net-1.wsr"), "{}", sent.stderr);
    let (code, stderr) = receiving.stop();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("TCP, messages of 128KiB"), "{stderr}");
}

#[test]
fn each_load_is_told_to_people() {
    let bench = bench();
    let receiving = Receiving::start(&bench, &[], None);
    let check = |args: &[&str], lines: &[&str]| {
        let all = [&["net", "send", &receiving.address, "-q"], args, &BRIEF[..]].concat();
        let sent = bench.expect(0, &all);
        assert_eq!(sent.stderr, "", "it is quiet");
        for line in lines {
            assert!(sent.stdout.contains(line), "{line:?} is not in {}", sent.stdout);
        }
    };
    check(
        &[],
        &["\n  received ", "\n  retransmitted ", "\n  CPU, sender ", "\n  receiver's clock "],
    );
    check(&["--zero-copy"], &["copied by the kernel after all"]);
    check(
        &["--streams", "2", "--both"],
        &["\n to the receiver\n", "\n to the sender\n", "2, each "],
    );
    check(
        &["--udp", "--rate", "1MB/s"],
        &["\n  datagrams ", "\n  pace ", " reordered, ", "; jitter "],
    );
    check(&["--udp", "--segmented", "--batch", "8", "--rate", "1MB/s"], &["cut by the kernel"]);
    check(&["--requests"], &["\n  transactions ", "\n  time ", "p99.9 ", " a transaction"]);
    check(&["--connects", "--response", "1KiB"], &["\n  transactions ", "responses of 1KiB"]);
}

#[test]
fn a_ladder_of_messages_is_a_test_each() {
    let bench = bench();
    let receiving = Receiving::start(&bench, &["-q"], None);
    let args =
        ["net", "send", &receiving.address, "-q", "--message", "4KiB,64KiB", "--ntttcp", "x"];
    let sent = bench.expect(0, &[&args[..], &BRIEF[..]].concat());
    let [small, large] =
        ["messages of 4KiB", "messages of 64KiB"].map(|text| sent.stdout.find(text));
    assert!(small.is_some() && small < large, "{}", sent.stdout);
    for (file, root) in [("ntttcps-4KiB", "ntttcps"), ("ntttcpr-64KiB", "ntttcpr")] {
        let xml =
            std::fs::read_to_string(bench.path(&format!("x/{file}.xml"))).expect("it is written");
        assert!(xml.contains(&format!("<{root} ")), "{xml}");
    }
}

#[track_caller]
fn refused(code: i32, args: &[&str], hint: &str) {
    let ended = bench().expect(code, &[&["net"], args].concat());
    assert!(ended.stderr.contains(hint), "{hint:?} is not in {}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

#[test]
fn mistakes_are_told_with_what_would_be_right() {
    refused(2, &["send"], "<HOST[:PORT]>");
    refused(2, &["send", "a:b"], "expected HOST, HOST:PORT or [ADDR]:PORT");
    refused(2, &["send", "a", "--message", "4"], "has no unit");
    refused(2, &["send", "a", "--message", "17MiB"], "at most 16MiB");
    refused(2, &["send", "a", "--message", "5GiB"], "at most 16MiB");
    refused(2, &["send", "a", "--udp", "--message", "8B"], "24 to 65,507");
    refused(2, &["send", "a", "--requests", "--reverse"], "requests go one way");
    refused(2, &["send", "a", "--embedded"], "cannot be used with");
    refused(2, &["send", "a", "--mtu", "9000"], "--adjust");
    refused(2, &["send", "a", "--plan", "--format", "html"], "text or json");
    refused(2, &["send", "a", "--segmented"], "--udp");
    refused(2, &["send", "a", "--udp", "--zero-copy"], "TCP streams only");
    refused(2, &["send", "a", "--rate", "1 B/s"], "1 KB/s");
    refused(2, &["send", "a", "--cpus", "x"], "`0-3`");
    refused(3, &["send", "127.0.0.1:1", "--token-file", "missing"], "missing: ");
    refused(3, &["send", "a.invalid"], "WIRESPEED_NET_TOKEN");
    refused(2, &["receive", "--listen", "here"], "invalid socket address");
    refused(2, &["receive", "--listen", "0.0.0.0:0"], "senders must know a token");
    let no_host = bench();
    no_host.secret("token", TOKEN);
    let told = no_host.expect(3, &["net", "send", "no.such.host.invalid", "--token-file", "token"]);
    assert!(told.stderr.contains("unknown host"), "{}", told.stderr);
    refused(3, &["send", "127.0.0.1:1"], "connection refused");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = taken.local_addr().expect("it has an address").to_string();
    refused(3, &["receive", "--listen", &address], "the port is in use");
}

#[test]
fn a_token_lets_in_and_is_never_shown() {
    let bench = bench();
    bench.secret("token", &format!("{TOKEN}\n"));
    let receiving = Receiving::start(&bench, &[], Some(TOKEN));
    let send = ["net", "send", &receiving.address, "-q"];
    let without = bench.expect(3, &[&send[..], &BRIEF[..]].concat());
    assert!(without.stderr.contains("requires a token"), "{}", without.stderr);
    let with = bench.expect(0, &[&send[..], &["--token-file", "token"], &BRIEF[..]].concat());
    assert!(!format!("{}{}", with.stdout, with.stderr).contains(TOKEN));
    let (_, stderr) = receiving.stop();
    assert!(!stderr.contains(TOKEN), "{stderr}");
}

/// SIGKILL at either end: no goodbye is said.
#[test]
fn a_killed_end_is_told_by_the_other() {
    let bench = bench();
    let long = ["--time", "60s", "--warmup", "0s"];
    for load in [&[][..], &["--udp"], &["--requests"], &["--connects"]] {
        let receiving = Receiving::start(&bench, &[], None);
        let mut command =
            bench.command(&[&["net", "send", &receiving.address], load, &long[..]].concat());
        let mut sender =
            command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
        let mut stderr = BufReader::new(sender.stderr.take().expect("it is a pipe"));
        let mut line = String::new();
        while !line.contains(" s  ") {
            line.clear();
            assert!(stderr.read_line(&mut line).expect("it writes") > 0, "the test runs");
        }
        sender.kill().expect("it is there");
        sender.wait().expect("it ends");
        // The receiver serves the next, and is then killed itself.
        let target = receiving.address.clone();
        bench.expect(0, &[&["net", "send", &target, "-q"], &BRIEF[..]].concat());
        let mut command =
            bench.command(&[&["net", "send", &target, "-q"], load, &long[..]].concat());
        let sender =
            command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut receiving = receiving;
        let mut notes = BufReader::new(receiving.child.stderr.take().expect("it is a pipe"));
        // The first test began, and was lost; two more began.
        for _ in 0..4 {
            assert!(notes.read_line(&mut line).expect("it writes") > 0, "its notes go on");
        }
        receiving.child.kill().expect("it is there");
        receiving.child.wait().expect("it ends");
        let told = ended(sender.wait_with_output().expect("it ends"));
        assert_eq!(told.code, 3, "{}", told.stderr);
        assert!(told.stderr.contains("was lost during the test"), "{load:?}: {}", told.stderr);
    }
}

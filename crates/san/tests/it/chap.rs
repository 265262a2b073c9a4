//! CHAP over sockets, in both directions: who knows the secret gets in, nobody else does, and a target that does not know
//! its own is not believed, whatever it says.
//!
//! The initiator reads secrets from the environment, so each login is a process of its own: this program, called again.

use crate::prelude::*;
use iscsi::pdu::{
    BHS_LEN, Bhs, Lengths, LoginRequest, LoginResponse, LoginStatus, Request, Response, Sequence,
    Stage,
};
use std::io::{Read, Write};

const NAME: &str = "iqn.2026-11.example.wirespeed:chap";
/// Where the program that is called again logs in.
const URL: &str = "WIRESPEED_TEST_URL";
const OWN: &str = "the initiator's secret";
const THEIRS: &str = "the target's secret";

/// Not a test by itself: the initiator of the others.
#[test]
fn initiator() {
    let Ok(url) = std::env::var(URL) else { return };
    match discover(&url) {
        Ok(found) => println!("logged in: {} targets", found.len()),
        Err(e) => println!("refused: {e}"),
    }
}

/// Begins a login with these secrets.
fn login(url: &str, own: &str, mutual: Option<&str>) -> Child {
    let program = std::env::current_exe().expect("a path");
    let mut command = Command::new(program);
    command.args(["--exact", "chap::initiator", "--nocapture"]);
    command.env(URL, url).env("WIRESPEED_CHAP_SECRET", own);
    command.env_remove("WIRESPEED_CHAP_MUTUAL_SECRET");
    command.envs(mutual.map(|secret| ("WIRESPEED_CHAP_MUTUAL_SECRET", secret)));
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs")
}

/// What became of it, which holds no secret.
fn outcome(login: Child) -> String {
    let output = login.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!told.contains(OWN) && !told.contains(THEIRS), "{told}");
    let line = told.lines().find(|line| line.contains("logged in") || line.contains("refused"));
    line.unwrap_or_else(|| panic!("{told}")).to_owned()
}

fn credentials(name: &str, secret: &str) -> Credentials {
    let secret = Secret::new(secret.as_bytes()).expect("a secret");
    Credentials { name: name.to_owned(), secret }
}

/// A target for which `me` has a secret; with `mutual` it proves itself in return.
fn target(mutual: bool) -> TargetServer {
    let volume = Volume::open(&"ram:1MiB".parse().expect("a volume"), "serial").expect("room");
    let portal = PortalConfig::new("127.0.0.1:0".parse().expect("an address"));
    let target = mutual.then(|| credentials("array", THEIRS));
    let auth = Auth::Chap { users: vec![credentials("me", OWN)], target };
    let config = TargetSettings::new(NAME, vec![portal], vec![volume]);
    TargetServer::start(TargetSettings { auth, ..config }).expect("it starts")
}

#[track_caller]
fn check(target: &TargetServer, user: &str, own: &str, mutual: Option<&str>, wanted: &str) {
    let url = format!("iscsi://{user}{}", target.addresses()[0]);
    let told = outcome(login(&url, own, mutual));
    assert!(told.contains(wanted), "{user} {mutual:?}: {told}");
}

#[test]
fn only_the_right_secret_logs_in() {
    let target = target(false);
    check(&target, "me@", OWN, None, "logged in: 1 targets");
    check(&target, "me@", "another secret", None, "refused: ");
    check(&target, "somebody@", OWN, None, "refused: ");
    check(&target, "", OWN, None, "refused: ");
    check(&target, "me@", OWN, Some(THEIRS), "refused: ");
    target.stop().expect("it stops");
}

#[test]
fn a_target_proves_itself_where_it_has_to() {
    let target = target(true);
    check(&target, "me@", OWN, Some(THEIRS), "logged in: 1 targets");
    check(&target, "me@", OWN, None, "logged in: 1 targets");
    check(&target, "me@", OWN, Some("of another target"), "the name or the secret is wrong");
    check(&target, "me@", OWN, Some(OWN), "each needs its own");
    check(&target, "me@", "another secret", Some(THEIRS), "refused: ");
    target.stop().expect("it stops");
}

/// The target's end of a login, PDU by PDU.
struct Scripted {
    peer: TcpStream,
    request: LoginRequest,
    stat_sn: u32,
}

impl Scripted {
    fn accept(listener: &TcpListener) -> (Scripted, String) {
        let (mut peer, _) = listener.accept().expect("a connection");
        let (request, text) = receive(&mut peer);
        (Scripted { peer, request, stat_sn: 1 }, text)
    }

    /// Answers in the security stage, and hears what follows.
    fn say(&mut self, pairs: &[&str]) -> String {
        let text: String = pairs.iter().map(|pair| format!("{pair}\0")).collect();
        let numbers = Sequence { stat_sn: self.stat_sn, exp_cmd_sn: 1, max_cmd_sn: 9 };
        self.stat_sn += 1;
        let header = LoginResponse {
            goes_on: false,
            stage: Stage::Security,
            next: None,
            version_max: 0,
            version_active: 0,
            isid: self.request.isid,
            tsih: 0,
            task_tag: self.request.task_tag,
            sequence: numbers,
            status: LoginStatus::SUCCESS,
            data_len: text.len() as u32,
        };
        let mut bytes = Response::from(header).encode().to_vec();
        bytes.extend(text.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        self.peer.write_all(&bytes).expect("it listens");
        let (request, text) = receive(&mut self.peer);
        self.request = request;
        text
    }
}

/// A login request with its text; an empty one where the initiator has gone.
fn receive(peer: &mut TcpStream) -> (LoginRequest, String) {
    let mut bhs: Bhs = [0; BHS_LEN];
    if peer.read_exact(&mut bhs).is_err() {
        bhs[0] = 0x43;
        let Ok(Request::Login(none)) = Request::parse(&bhs, &[]) else { panic!("a request") };
        return (none, String::new());
    }
    let mut rest = vec![0; Lengths::of(&bhs).total(false, false) - BHS_LEN];
    peer.read_exact(&mut rest).expect("the text");
    let Ok(Request::Login(request)) = Request::parse(&bhs, &[]) else { panic!("{bhs:?}") };
    (request, String::from_utf8(rest).expect("text"))
}

#[track_caller]
fn value(text: &str, key: &str) -> String {
    let pair = text.split('\0').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
    pair.unwrap_or_else(|| panic!("there is no {key} in {text:?}")).to_owned()
}

const CHALLENGE: &str = "CHAP_C=0x000102030405060708090a0b0c0d0e0f";

/// A login up to where the initiator has proved itself and asks for the target's proof.
fn until_asked(listener: &TcpListener, challenge: &[&str]) -> (Scripted, String) {
    let (mut target, text) = Scripted::accept(listener);
    assert_eq!(
        value(&text, "AuthMethod"),
        "CHAP",
        "a target that has to prove itself may not pass"
    );
    let text = target.say(&["AuthMethod=CHAP", "TargetPortalGroupTag=1"]);
    let algorithm = value(&text, "CHAP_A");
    let algorithm = algorithm.split(',').next().expect("one");
    let text = target.say(&[&[&format!("CHAP_A={algorithm}")[..]], challenge].concat());
    (target, text)
}

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("iscsi://me@{}", listener.local_addr().expect("bound"));
    (listener, url)
}

#[test]
fn a_target_that_repeats_what_it_is_told_is_not_believed() {
    let (listener, url) = listener();
    let initiator = login(&url, OWN, Some(THEIRS));
    let (mut target, text) = until_asked(&listener, &["CHAP_I=7", CHALLENGE]);
    let response = format!("CHAP_R={}", value(&text, "CHAP_R"));
    target.say(&["CHAP_N=array", &response]);
    assert!(outcome(initiator).contains("the name or the secret is wrong"));
}

#[test]
fn a_target_that_has_another_login_answer_its_challenge_is_not_believed() {
    let (listener, url) = listener();
    let first = login(&url, OWN, Some(THEIRS));
    let (mut target, text) = until_asked(&listener, &["CHAP_I=7", CHALLENGE]);
    // Another login of the same initiator is asked what this one has asked.
    let second = login(&url, OWN, Some(THEIRS));
    let asked = [
        format!("CHAP_I={}", value(&text, "CHAP_I")),
        format!("CHAP_C={}", value(&text, "CHAP_C")),
    ];
    let (other, answer) = until_asked(&listener, &[&asked[0], &asked[1]]);
    target.say(&["CHAP_N=array", &format!("CHAP_R={}", value(&answer, "CHAP_R"))]);
    assert!(outcome(first).contains("the name or the secret is wrong"));
    drop(other);
    assert!(outcome(second).starts_with("refused"));
}

#[test]
fn a_target_that_does_not_prove_itself_is_left() {
    let (listener, url) = listener();
    let initiator = login(&url, OWN, Some(THEIRS));
    let (mut target, _) = Scripted::accept(&listener);
    target.say(&["AuthMethod=None", "TargetPortalGroupTag=1"]);
    assert!(outcome(initiator).contains("does not authenticate"));
}

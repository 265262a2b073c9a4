//! What an initiator sends and accepts, against a scripted target.

use crate::login::support::{
    INITIATOR, INITIATORS_CHALLENGE, TSIH, config, pairs, pdu, read_request, response, secret, user,
};
use iscsi::chap::{Algorithm, ChapError, encode, respond};
use iscsi::discovery::DiscoveredPortal;
use iscsi::login::{
    Initiator, InitiatorAuth, InitiatorConfig, InitiatorStep, LoginError, MAX_EXCHANGES,
};
use iscsi::params::{NegotiationError, SessionType};
use iscsi::pdu::{LoginResponse, LoginStatus, Stage};

const S: Stage = Stage::Security;
const O: Stage = Stage::Operational;
const F: Stage = Stage::FullFeature;
/// What every initiator of [`config`] offers and answers.
const AGREED: &str = "HeaderDigest=None DataDigest=None InitialR2T=No MaxBurstLength=262144 \
                      FirstBurstLength=65536 DefaultTime2Retain=0 MaxOutstandingR2T=1";

struct Play {
    initiator: Initiator,
    /// The stages, and the text, of the last request.
    said: (Stage, Option<Stage>, String),
}

impl Play {
    fn new(config: InitiatorConfig) -> Play {
        let mut initiator = Initiator::new(config, INITIATORS_CHALLENGE);
        let first = initiator.start();
        let mut play = Play { initiator, said: (S, None, String::new()) };
        play.heard(&first);
        play
    }

    fn auth(auth: InitiatorAuth) -> Play {
        Play::new(config(auth))
    }

    fn heard(&mut self, bytes: &[u8]) {
        let (request, words) = read_request(bytes);
        self.said = (request.stage, request.next, words);
    }

    fn raw(&mut self, response: LoginResponse, text: &[u8]) -> Result<InitiatorStep, LoginError> {
        let bytes = pdu(response.encode(), text);
        let (consumed, step) = self.initiator.receive(&bytes)?.expect("a whole PDU");
        assert_eq!(consumed, bytes.len());
        if let InitiatorStep::Send(bytes) = &step {
            self.heard(bytes);
        }
        Ok(step)
    }

    fn answer(
        &mut self,
        stage: Stage,
        next: Option<Stage>,
        text: &str,
    ) -> Result<InitiatorStep, LoginError> {
        let text = pairs(text);
        self.raw(response(stage, next, &text), &text)
    }

    /// An answer, followed by this request of the initiator.
    #[track_caller]
    fn then(
        &mut self,
        stages: (Stage, Option<Stage>),
        text: &str,
        said: (Stage, Option<Stage>, &str),
    ) {
        let step = self.answer(stages.0, stages.1, text);
        assert!(matches!(step, Ok(InitiatorStep::Send(_))), "{step:?}");
        assert_eq!((self.said.0, self.said.1, self.said.2.as_str()), said);
    }

    /// An answer that fails the login.
    #[track_caller]
    fn fails(&mut self, stages: (Stage, Option<Stage>), text: &str) -> LoginError {
        self.answer(stages.0, stages.1, text).expect_err("it cannot go on")
    }
}

fn bob() -> InitiatorAuth {
    InitiatorAuth::Chap { user: user("bob", "the secret of bob"), target: None }
}

fn mutual() -> InitiatorAuth {
    let target = Some(user("disk", "the secret of the disk"));
    InitiatorAuth::Chap { user: user("bob", "the secret of bob"), target }
}

/// The first request: names and authentication methods.
#[test]
fn the_first_request() {
    let names = format!("InitiatorName={INITIATOR}");
    let target = format!("TargetName={}", crate::login::support::TARGET);
    for (auth, method, next) in [
        (InitiatorAuth::None, "None", Some(O)),
        (bob(), "CHAP,None", None),
        (mutual(), "CHAP", None),
    ] {
        let play = Play::auth(auth);
        let words = format!("{names} {target} SessionType=Normal AuthMethod={method}");
        assert_eq!(play.said, (S, next, words));
    }
    let play = Play::new(InitiatorConfig {
        target: None,
        alias: Some("me".to_owned()),
        ..config(InitiatorAuth::None)
    });
    let words = format!("{names} InitiatorAlias=me SessionType=Discovery AuthMethod=None");
    assert_eq!(play.said, (S, Some(O), words));
}

/// A complete login, with a target that answers in several steps.
#[test]
fn a_plain_login() {
    let mut play = Play::auth(InitiatorAuth::None);
    let offers = "HeaderDigest=None,CRC32C DataDigest=None,CRC32C InitialR2T=No \
                  MaxRecvDataSegmentLength=262144 MaxBurstLength=1048576 FirstBurstLength=262144 \
                  DefaultTime2Retain=0 MaxOutstandingR2T=16";
    // A slow target that omits optional answers.
    play.then((S, None), "TargetPortalGroupTag=7 TargetAlias=disk", (S, Some(O), ""));
    play.then((S, Some(O)), "", (O, Some(F), offers));
    play.then((O, None), AGREED, (O, Some(F), ""));
    // The target offers, too.
    let (asks, answer) = ("MaxConnections=8 X-vendor=1", "MaxConnections=1 X-vendor=NotUnderstood");
    play.then((O, None), asks, (O, Some(F), answer));
    let done = play.answer(O, Some(F), "MaxRecvDataSegmentLength=4096").expect("agreed");
    let InitiatorStep::Done(login) = done else { panic!("{done:?}") };
    assert_eq!((login.tsih, login.portal_group, login.user), (TSIH, Some(7), None));
    assert_eq!(login.target_alias.as_deref(), Some("disk"));
    assert_eq!((login.params.max_send, login.params.max_recv), (4096, 262_144));
    assert_eq!((login.params.max_burst, login.params.initial_r2t), (262_144, false));
}

#[test]
fn targets_that_want_no_chap() {
    for auth in [InitiatorAuth::None, bob()] {
        let mut play = Play::auth(auth.clone());
        let next = matches!(auth, InitiatorAuth::None).then_some(O);
        play.answer(S, next, "AuthMethod=None").expect("agreed");
        if next.is_none() {
            assert_eq!(play.said, (S, Some(O), String::new()));
            play.answer(S, Some(O), "").expect("agreed");
        }
        let done = play.answer(O, Some(F), AGREED).expect("agreed");
        assert!(matches!(done, InitiatorStep::Done(login) if login.user.is_none()));
    }
}

fn challenge(algorithm: &str) -> String {
    format!("CHAP_A={algorithm} CHAP_I=7 CHAP_C=0x0102")
}

#[test]
fn chap_in_both_directions() {
    let mut play = Play::auth(mutual());
    play.then((S, None), "AuthMethod=CHAP", (S, None, "CHAP_A=8,5,7,6"));
    let response = respond(Algorithm::Sha1, 7, &secret("the secret of bob"), &[1, 2]);
    let said =
        format!("CHAP_N=bob CHAP_R={} CHAP_I=240 CHAP_C=0x{}", encode(&response), "5a".repeat(32));
    play.then((S, None), &challenge("6"), (S, Some(O), &said));
    let own = respond(Algorithm::Sha1, 240, &secret("the secret of the disk"), &[0x5a; 32]);
    let proof = format!("CHAP_N=disk CHAP_R={}", encode(&own));
    play.answer(S, Some(O), &proof).expect("proved");
    let done = play.answer(O, Some(F), AGREED).expect("agreed");
    assert!(matches!(done, InitiatorStep::Done(login) if login.user.as_deref() == Some("bob")));
}

/// An initiator that has sent its CHAP response.
fn responded(auth: InitiatorAuth) -> Play {
    let mut play = Play::auth(auth);
    play.answer(S, None, "AuthMethod=CHAP").expect("chosen");
    play.answer(S, None, &challenge("5")).expect("challenged");
    play
}

#[test]
fn targets_that_fail_mutual_chap() {
    let own = respond(Algorithm::Md5, 240, &secret("the secret of the disk"), &[0x5a; 32]);
    let wrong = respond(Algorithm::Md5, 240, &secret("another secret"), &[0x5a; 32]);
    for (proof, expected) in [
        (format!("CHAP_N=disk CHAP_R={}", encode(&wrong)), LoginError::Chap(ChapError::Proof)),
        (format!("CHAP_N=desk CHAP_R={}", encode(&own)), LoginError::Chap(ChapError::Proof)),
        ("CHAP_N=disk CHAP_R=0x00".to_owned(), LoginError::Chap(ChapError::Proof)),
        ("CHAP_N=disk CHAP_R=no".to_owned(), LoginError::Chap(ChapError::Encoding)),
        ("CHAP_N=disk".to_owned(), LoginError::Missing("CHAP_R")),
        (format!("CHAP_R={}", encode(&own)), LoginError::Missing("CHAP_N")),
        (String::new(), LoginError::Missing("CHAP_N")),
    ] {
        for next in [Some(O), None] {
            assert_eq!(responded(mutual()).fails((S, next), &proof), expected, "{proof}");
        }
    }
    // An unrequested response.
    let proof = format!("CHAP_N=disk CHAP_R={}", encode(&own));
    assert_eq!(
        responded(bob()).fails((S, Some(O)), &proof),
        LoginError::Misplaced("CHAP_N".to_owned())
    );
}

#[test]
fn invalid_challenges() {
    for (said, expected) in [
        ("CHAP_I=7 CHAP_C=0x01", LoginError::Missing("CHAP_A")),
        ("CHAP_A=5 CHAP_C=0x01", LoginError::Missing("CHAP_I")),
        ("CHAP_A=5 CHAP_I=7", LoginError::Missing("CHAP_C")),
        ("CHAP_A=4 CHAP_I=7 CHAP_C=0x01", LoginError::Chap(ChapError::Algorithm)),
        ("CHAP_A=8,7 CHAP_I=7 CHAP_C=0x01", LoginError::Chap(ChapError::Algorithm)),
        ("CHAP_A=5 CHAP_I=256 CHAP_C=0x01", LoginError::Chap(ChapError::Identifier)),
        ("CHAP_A=5 CHAP_I=7 CHAP_C=01", LoginError::Chap(ChapError::Encoding)),
        ("CHAP_A=5 CHAP_A=5 CHAP_I=7 CHAP_C=0x01", LoginError::Repeated("CHAP_A")),
    ] {
        let mut play = Play::auth(bob());
        play.answer(S, None, "AuthMethod=CHAP").expect("chosen");
        assert_eq!(play.fails((S, None), said), expected, "{said}");
    }
    // Its own challenge, reflected before it was sent: it may be known from an earlier login.
    let mut play = Play::auth(mutual());
    play.answer(S, None, "AuthMethod=CHAP").expect("chosen");
    let reflected = format!("CHAP_A=5 CHAP_I=1 CHAP_C=0x{}", "5A".repeat(32));
    assert_eq!(play.fails((S, None), &reflected), LoginError::Chap(ChapError::Reflected));
    // With one secret for both directions a target could reuse the initiator's response.
    let mut play = Play::auth(InitiatorAuth::Chap {
        user: user("bob", "the secret of bob"),
        target: Some(user("disk", "the secret of bob")),
    });
    play.answer(S, None, "AuthMethod=CHAP").expect("chosen");
    assert_eq!(play.fails((S, None), &challenge("5")), LoginError::Chap(ChapError::SameSecret));
}

#[test]
fn methods_that_were_not_offered() {
    for (auth, method) in [
        (InitiatorAuth::None, "AuthMethod=CHAP"),
        (InitiatorAuth::None, "AuthMethod=KRB5"),
        (bob(), "AuthMethod=KRB5"),
        (bob(), "AuthMethod=Reject"),
        (mutual(), "AuthMethod=None"),
    ] {
        let error = Play::auth(auth).fails((S, None), method);
        assert!(matches!(error, LoginError::AuthMethod(_)), "{method}: {error:?}");
    }
    assert_eq!(Play::auth(bob()).fails((S, None), ""), LoginError::Missing("AuthMethod"));
    // Skipping authentication.
    let error = Play::auth(mutual()).fails((S, Some(O)), "AuthMethod=CHAP");
    assert_eq!(error, LoginError::Transit(O));
}

#[test]
fn targets_that_violate_the_stages() {
    let plain = || Play::auth(InitiatorAuth::None);
    assert_eq!(plain().fails((S, Some(F)), ""), LoginError::Transit(F));
    assert_eq!(plain().fails((O, None), ""), LoginError::Stage { expected: S, found: O });
    for (change, expected) in [
        ((|r| r.task_tag = 1) as fn(&mut LoginResponse), LoginError::Stray),
        (|r| r.isid.0[5] = 9, LoginError::Changed("ISID")),
        (|r| r.version_active = 1, LoginError::Version(1)),
    ] {
        let mut answer = response(S, Some(O), &[]);
        change(&mut answer);
        assert_eq!(plain().raw(answer, &[]), Err(expected));
    }
    for (text, key) in [
        ("InitiatorName=iqn.you", "InitiatorName"),
        ("TargetName=iqn.you", "TargetName"),
        ("SendTargets=All", "SendTargets"),
    ] {
        let error = plain().fails((S, Some(O)), text);
        assert_eq!(error, LoginError::Misplaced(key.to_owned()));
    }
    let error = plain().fails((S, Some(O)), "TargetPortalGroupTag=65536");
    assert_eq!(error, LoginError::Value("TargetPortalGroupTag"));
    let mut nop = [0; 48];
    nop[0] = 0x20;
    let error = plain().initiator.receive(&nop).expect_err("not a login");
    assert!(matches!(error, LoginError::NotLogin(_)), "{error:?}");
    // Nothing has been requested yet.
    let mut fresh = Initiator::new(config(InitiatorAuth::None), INITIATORS_CHALLENGE);
    let answer = response(S, Some(O), &[]).encode();
    assert_eq!(fresh.receive(&answer), Err(LoginError::Stray));
}

#[test]
fn invalid_final_responses() {
    let operational = || {
        let mut play = Play::auth(InitiatorAuth::None);
        play.answer(S, Some(O), "AuthMethod=None").expect("agreed");
        play
    };
    assert_eq!(
        operational().fails((O, Some(F)), "HeaderDigest=None"),
        LoginError::Negotiation(NegotiationError::Unanswered("DataDigest"))
    );
    // An offer in the last response cannot be answered.
    assert_eq!(
        operational().fails((O, Some(F)), &format!("{AGREED} MaxConnections=1")),
        LoginError::Transit(F)
    );
    for tsih in [0, 9] {
        let mut play = match tsih {
            0 => Play::auth(InitiatorAuth::None),
            _ => Play::new(InitiatorConfig { tsih: 8, ..config(InitiatorAuth::None) }),
        };
        play.answer(S, Some(O), "").expect("agreed");
        let text = pairs("HeaderDigest=None DataDigest=None");
        let text = if tsih == 0 { pairs(AGREED) } else { text };
        let answer = LoginResponse { tsih, ..response(O, Some(F), &text) };
        assert_eq!(play.raw(answer, &text), Err(LoginError::Tsih(tsih)));
    }
}

#[test]
fn statuses_and_redirections() {
    let turned_away = |status: LoginStatus, text: &str| {
        let text = pairs(text);
        let answer = LoginResponse { status, ..response(S, None, &text) };
        Play::auth(InitiatorAuth::None).raw(answer, &text)
    };
    for status in [
        LoginStatus::AUTHENTICATION_FAILURE,
        LoginStatus::NOT_FOUND,
        LoginStatus::OUT_OF_RESOURCES,
        LoginStatus::new(2, 0x99),
        LoginStatus::new(9, 9),
    ] {
        assert_eq!(turned_away(status, ""), Err(LoginError::Refused(status)));
    }
    for (status, permanently) in
        [(LoginStatus::MOVED_TEMPORARILY, false), (LoginStatus::MOVED_PERMANENTLY, true)]
    {
        let to = DiscoveredPortal { host: "2001:db8::7".to_owned(), port: 860, group: Some(2) };
        assert_eq!(
            turned_away(status, "TargetAddress=[2001:db8::7]:860,2"),
            Ok(InitiatorStep::Redirected { to, permanently })
        );
        assert_eq!(turned_away(status, ""), Err(LoginError::Lost));
        let nowhere = turned_away(status, "TargetAddress=[x");
        assert_eq!(nowhere, Err(LoginError::Value("TargetAddress")));
    }
}

/// Text that the target sends in parts: an empty request asks for each.
#[test]
fn text_in_several_pdus() {
    let mut play = Play::auth(InitiatorAuth::None);
    play.answer(S, Some(O), "AuthMethod=None").expect("agreed");
    let text = pairs(AGREED);
    for piece in text.chunks(30) {
        let answer = LoginResponse { goes_on: true, ..response(O, None, piece) };
        play.raw(answer, piece).expect("goes on");
        assert_eq!(play.said, (O, None, String::new()));
    }
    play.then((O, None), "", (O, Some(F), ""));
    let done = play.answer(O, Some(F), "").expect("agreed");
    assert!(matches!(done, InitiatorStep::Done(_)), "{done:?}");
}

#[test]
fn an_endless_login_is_ended() {
    let mut play = Play::auth(InitiatorAuth::None);
    for _ in 1..MAX_EXCHANGES {
        play.answer(S, None, "").expect("patience");
    }
    assert_eq!(play.fails((S, None), ""), LoginError::TooMany);
    let mut play = Play::auth(InitiatorAuth::None);
    let answer = LoginResponse { goes_on: true, ..response(S, None, &[7; 8192]) };
    play.raw(answer, &[7; 8192]).expect("goes on");
    play.raw(answer, &[7; 8192]).expect("goes on");
    assert!(matches!(play.raw(answer, &[7; 8192]), Err(LoginError::Text(_))));
    let mut long = response(S, None, &[]).encode();
    long[5..8].copy_from_slice(&[0, 0x20, 1]);
    assert_eq!(play.initiator.receive(&long), Err(LoginError::TooLong(8193)));
}

#[test]
fn discovery_sessions_have_no_target() {
    let mut play = Play::new(InitiatorConfig { target: None, ..config(InitiatorAuth::None) });
    let offers = "HeaderDigest=None,CRC32C DataDigest=None,CRC32C MaxRecvDataSegmentLength=262144 \
                  DefaultTime2Retain=0";
    play.then((S, Some(O)), "AuthMethod=None", (O, Some(F), offers));
    let answers = "HeaderDigest=None DataDigest=None DefaultTime2Retain=0";
    let done = play.answer(O, Some(F), answers).expect("agreed");
    let InitiatorStep::Done(login) = done else { panic!("{done:?}") };
    assert_eq!((login.target, login.params.session), (None, SessionType::Discovery));
}

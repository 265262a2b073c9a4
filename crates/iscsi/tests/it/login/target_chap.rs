//! CHAP at the target, step by step: accepted and refused logins.

use crate::login::support::{INITIATOR, Script, TARGET, TARGETS_CHALLENGE, chap, secret, user};
use iscsi::chap::{Algorithm, ChapError, encode, encode_base64, respond};
use iscsi::login::{Auth, LoginError};
use iscsi::pdu::{LoginStatus, Stage};

const S: Stage = Stage::Security;
const O: Stage = Stage::Operational;
const F: Stage = Stage::FullFeature;
const DENIED: LoginStatus = LoginStatus::AUTHENTICATION_FAILURE;

fn names() -> String {
    format!("InitiatorName={INITIATOR} TargetName={TARGET}")
}

/// A target that has sent its challenge for this algorithm.
fn challenged(algorithms: &str, chosen: &str) -> Script {
    let mut script = Script::new(chap());
    let text = format!("{} AuthMethod=KRB5,CHAP,None", names());
    script.expect((S, None), &text, None, "TargetPortalGroupTag=3 AuthMethod=CHAP");
    let challenge = format!("CHAP_A={chosen} CHAP_I=39 CHAP_C=0x{}", "a5".repeat(32));
    script.expect((S, None), &format!("CHAP_A={algorithms}"), None, &challenge);
    script
}

fn proof(algorithm: Algorithm, word: &str) -> Vec<u8> {
    let challenge = TARGETS_CHALLENGE;
    respond(algorithm, challenge.id, &secret(word), &challenge.bytes)
}

#[test]
fn users_authenticate_with_every_algorithm() {
    for (algorithms, algorithm) in [
        ("5", Algorithm::Md5),
        ("6,5", Algorithm::Sha1),
        ("7,6,5", Algorithm::Sha256),
        ("8,7,6,5", Algorithm::Sha3),
        ("99,7", Algorithm::Sha256),
    ] {
        for (name, word) in [("bob", "the secret of bob"), ("eve", "the secret of eve")] {
            let bytes = proof(algorithm, word);
            for written in [encode(&bytes), encode(&bytes).to_uppercase(), encode_base64(&bytes)] {
                let mut script = challenged(algorithms, &algorithm.number().to_string());
                let text = format!("CHAP_N={name} CHAP_R={written}");
                script.expect((S, Some(O)), &text, Some(O), "");
                let (response, _) = script.say(O, Some(F), "");
                assert_eq!(response.next, Some(F));
                assert_eq!(script.login.expect("logged in").user.as_deref(), Some(name));
                let admission = script.admission.expect("asked");
                assert_eq!(admission.user.as_deref(), Some(name));
            }
        }
    }
}

#[test]
fn wrong_responses_are_refused() {
    let right = encode(&proof(Algorithm::Md5, "the secret of bob"));
    let wrong = encode(&proof(Algorithm::Md5, "the secret of Bob"));
    let other = encode(&proof(Algorithm::Sha1, "the secret of bob"));
    for text in [
        format!("CHAP_N=bob CHAP_R={wrong}"),
        format!("CHAP_N=bob CHAP_R={other}"),
        format!("CHAP_N=eve CHAP_R={right}"),
        format!("CHAP_N=nobody CHAP_R={right}"),
        format!("CHAP_N=Bob CHAP_R={right}"),
        format!("CHAP_N= CHAP_R={right}"),
        format!("CHAP_N=bob CHAP_R={}", &right[..32]),
        format!("CHAP_N=bob CHAP_R={right}00"),
        "CHAP_N=bob CHAP_R=0x00".to_owned(),
    ] {
        let why = challenged("5", "5").refused((S, Some(O)), &text, DENIED);
        assert_eq!(why, LoginError::Chap(ChapError::Proof), "{text}");
    }
}

#[test]
fn invalid_values() {
    let right = encode(&proof(Algorithm::Md5, "the secret of bob"));
    let missing = LoginStatus::MISSING_PARAMETER;
    let own = "0b".to_owned() + &"A".repeat(2000);
    for (text, status) in [
        ("CHAP_N=bob".to_owned(), missing),
        (format!("CHAP_R={right}"), missing),
        (String::new(), missing),
        ("CHAP_N=bob CHAP_R=x".to_owned(), DENIED),
        ("CHAP_N=bob CHAP_R=0x".to_owned(), DENIED),
        (format!("CHAP_N=bob CHAP_R={own}"), DENIED),
        (format!("CHAP_N=bob CHAP_R=0x{}", "0".repeat(2048)), DENIED),
        (format!("CHAP_N=bob CHAP_R=0x{}", "0".repeat(2049)), LoginStatus::INITIATOR_ERROR),
        (format!("CHAP_N={} CHAP_R={right}", "b".repeat(256)), LoginStatus::INITIATOR_ERROR),
        (format!("CHAP_N=bob CHAP_N=bob CHAP_R={right}"), LoginStatus::INITIATOR_ERROR),
        (format!("CHAP_N=bob CHAP_R={right} CHAP_A=5"), LoginStatus::INITIATOR_ERROR),
        (format!("CHAP_N=bob CHAP_R={right} CHAP_I=1"), missing),
        (format!("CHAP_N=bob CHAP_R={right} CHAP_C=0x01"), missing),
        (format!("CHAP_N=bob CHAP_R={right} CHAP_I=256 CHAP_C=0x01"), DENIED),
        (format!("CHAP_N=bob CHAP_R={right} CHAP_I=1 CHAP_C=0x"), DENIED),
        (format!("CHAP_N=bob CHAP_R={right} HeaderDigest=None"), LoginStatus::INITIATOR_ERROR),
    ] {
        challenged("5", "5").refused((S, Some(O)), &text, status);
    }
}

#[test]
fn unsupported_algorithms_and_methods() {
    for algorithms in ["", "4", "MD5", "9,10", "5;6"] {
        let mut script = Script::new(chap());
        script.say(S, None, &format!("{} AuthMethod=CHAP", names()));
        let why = script.refused((S, None), &format!("CHAP_A={algorithms}"), DENIED);
        assert_eq!(why, LoginError::Chap(ChapError::Algorithm), "{algorithms:?}");
    }
    for (auth, methods) in [
        (chap(), "None"),
        (chap(), "KRB5"),
        (chap(), "chap"),
        (chap(), ""),
        (Auth::None, "CHAP"),
        (Auth::None, "KRB5"),
    ] {
        let mut script = Script::new(auth);
        let text = format!("{} AuthMethod={methods}", names());
        let why = script.refused((S, None), &text, DENIED);
        assert!(matches!(why, LoginError::AuthMethod(_)), "{why:?}");
    }
}

#[test]
fn authentication_cannot_be_bypassed() {
    // By skipping the stage.
    let mut script = Script::new(chap());
    let why = script.refused((O, Some(F)), &names(), DENIED);
    assert!(matches!(why, LoginError::AuthMethod(_)), "{why:?}");
    // By requesting the next stage too early: it is not granted.
    let mut script = Script::new(chap());
    for (text, next) in [
        (names(), O),
        (String::new(), F),
        ("AuthMethod=CHAP".to_owned(), O),
        ("CHAP_A=5".to_owned(), F),
    ] {
        let (response, _) = script.say(S, Some(next), &text);
        assert_eq!((response.status, response.next), (LoginStatus::SUCCESS, None));
    }
    script.refused((S, Some(F)), "", LoginStatus::MISSING_PARAMETER);
    // By moving to it anyway.
    let mut script = challenged("5", "5");
    let why = script.refused((O, Some(F)), "", LoginStatus::INITIATOR_ERROR);
    assert_eq!(why, LoginError::Stage { expected: S, found: O });
    // By choosing a method again.
    let mut script = challenged("5", "5");
    script.refused((S, None), "AuthMethod=None", LoginStatus::INITIATOR_ERROR);
    // By CHAP keys too early.
    let mut script = Script::new(chap());
    let text = format!("{} AuthMethod=CHAP CHAP_A=5", names());
    script.refused((S, None), &text, LoginStatus::INITIATOR_ERROR);
    // Or too late.
    let mut script = challenged("5", "5");
    let right = encode(&proof(Algorithm::Md5, "the secret of bob"));
    let text = format!("CHAP_N=bob CHAP_R={right}");
    script.expect((S, None), &text, None, "");
    script.refused((S, Some(O)), &text, LoginStatus::INITIATOR_ERROR);
}

#[test]
fn the_target_answers_a_challenge() {
    let right = encode(&proof(Algorithm::Sha256, "the secret of bob"));
    for (id, challenge) in [(0, vec![1]), (255, vec![0x77; 1024])] {
        let mut script = challenged("7", "7");
        let text =
            format!("CHAP_N=bob CHAP_R={right} CHAP_I={id} CHAP_C={}", encode_base64(&challenge));
        let own = respond(Algorithm::Sha256, id, &secret("the secret of the disk"), &challenge);
        let answer = format!("CHAP_N=disk CHAP_R={}", encode(&own));
        script.expect((S, Some(O)), &text, Some(O), &answer);
    }
}

#[test]
fn a_reflected_challenge_is_refused() {
    let right = encode(&proof(Algorithm::Md5, "the secret of bob"));
    for written in
        [encode(&[0xa5; 32]), encode(&[0xa5; 32]).to_uppercase(), encode_base64(&[0xa5; 32])]
    {
        let text = format!("CHAP_N=bob CHAP_R={right} CHAP_I=1 CHAP_C={written}");
        let why = challenged("5", "5").refused((S, Some(O)), &text, DENIED);
        assert_eq!(why, LoginError::Chap(ChapError::Reflected));
    }
}

#[test]
fn a_target_without_a_usable_secret_refuses() {
    let users = vec![user("bob", "the secret of bob")];
    for (target, shared) in [(None, false), (Some(user("disk", "the secret of bob")), true)] {
        let mut script = Script::new(Auth::Chap { users: users.clone(), target });
        script.say(S, None, &format!("{} AuthMethod=CHAP", names()));
        script.say(S, None, "CHAP_A=5");
        let right = encode(&proof(Algorithm::Md5, "the secret of bob"));
        let text = format!("CHAP_N=bob CHAP_R={right} CHAP_I=1 CHAP_C=0x01");
        let why = script.refused((S, Some(O)), &text, DENIED);
        assert_eq!(why == LoginError::Chap(ChapError::SameSecret), shared, "{why:?}");
    }
}

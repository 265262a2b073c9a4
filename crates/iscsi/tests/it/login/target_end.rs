//! What a target refuses, with which status, and its limits.

use crate::login::support::{
    Door, INITIATOR, Script, TARGET, pairs, pdu, read_response, request, target,
};
use iscsi::login::{Auth, LoginError, MAX_EXCHANGES, MAX_LOGIN_PDU, MAX_LOGIN_TEXT, TargetStep};
use iscsi::params::DesiredParams;
use iscsi::pdu::{LoginRequest, LoginStatus, Opcode, Stage};
use iscsi::text::TextError;

const S: Stage = Stage::Security;
const O: Stage = Stage::Operational;
const F: Stage = Stage::FullFeature;
const INITIATOR_ERROR: LoginStatus = LoginStatus::INITIATOR_ERROR;

fn names() -> String {
    format!("InitiatorName={INITIATOR} TargetName={TARGET}")
}

#[test]
fn invalid_first_texts() {
    let missing = LoginStatus::MISSING_PARAMETER;
    for (text, status) in [
        ("", missing),
        ("TargetName=iqn.disk", missing),
        ("InitiatorName=iqn.me", missing),
        ("InitiatorName=iqn.me SessionType=Normal", missing),
        ("InitiatorName=me TargetName=iqn.disk", INITIATOR_ERROR),
        ("InitiatorName=iqn.me TargetName=disk", INITIATOR_ERROR),
        ("InitiatorName= TargetName=iqn.disk", INITIATOR_ERROR),
        ("InitiatorName=iqn.me,i,0x1 TargetName=iqn.disk", INITIATOR_ERROR),
        ("InitiatorName=iqn.me InitiatorName=iqn.you TargetName=iqn.disk", INITIATOR_ERROR),
        (
            "InitiatorName=iqn.me TargetName=iqn.disk SessionType=Copy",
            LoginStatus::SESSION_TYPE_NOT_SUPPORTED,
        ),
        ("InitiatorName=iqn.me TargetName=iqn.disk SendTargets=All", INITIATOR_ERROR),
        ("InitiatorName=iqn.me TargetName=iqn.disk TargetAlias=x", INITIATOR_ERROR),
        ("InitiatorName=iqn.me TargetName=iqn.disk TargetAddress=x", INITIATOR_ERROR),
        ("InitiatorName=iqn.me TargetName=iqn.disk TargetPortalGroupTag=1", INITIATOR_ERROR),
        ("InitiatorName=iqn.me TargetName=iqn.disk nonsense", INITIATOR_ERROR),
    ] {
        for stages in [(S, Some(O)), (O, Some(F)), (S, None)] {
            Script::new(Auth::None).refused(stages, text, status);
        }
    }
}

#[test]
fn keys_in_the_wrong_stage() {
    for key in ["HeaderDigest=None", "MaxBurstLength=512", "InitialR2T=No", "IFMarker=No"] {
        let mut script = Script::new(Auth::None);
        let text = format!("{} {key}", names());
        let why = script.refused((S, Some(O)), &text, INITIATOR_ERROR);
        assert!(matches!(why, LoginError::Misplaced(_)), "{why:?}");
    }
    for key in ["AuthMethod=None", "CHAP_A=5", "CHAP_R=0x00"] {
        let mut script = Script::new(Auth::None);
        let text = format!("{} {key}", names());
        let why = script.refused((O, Some(F)), &text, INITIATOR_ERROR);
        assert!(matches!(why, LoginError::Misplaced(_)), "{why:?}");
    }
    // An unknown key is allowed anywhere.
    let mut script = Script::new(Auth::None);
    let answer = "TargetPortalGroupTag=3 X-com.example=NotUnderstood";
    script.expect((S, Some(O)), &format!("{} X-com.example=1", names()), Some(O), answer);
    // A completed stage does not return.
    let why = script.refused((S, None), "", INITIATOR_ERROR);
    assert_eq!(why, LoginError::Stage { expected: O, found: S });
}

#[test]
fn initiators_refused_by_the_policy() {
    for status in [
        LoginStatus::NOT_FOUND,
        LoginStatus::AUTHORIZATION_FAILURE,
        LoginStatus::TARGET_REMOVED,
        LoginStatus::SERVICE_UNAVAILABLE,
    ] {
        let mut script = Script::new(Auth::None);
        script.door.access = Err(status);
        let why = script.refused((S, None), &names(), status);
        assert_eq!(why, LoginError::Refused(status));
    }
}

/// Changes in constant fields, and unsupported versions.
#[test]
fn inconsistent_headers() {
    type Change = fn(&mut LoginRequest);
    let changes: [(Change, LoginError); 5] = [
        (|request| request.isid.0[0] = 0, LoginError::Changed("ISID")),
        (|request| request.tsih = 1, LoginError::Changed("TSIH")),
        (|request| request.cid = 2, LoginError::Changed("CID")),
        (|request| request.cmd_sn = 101, LoginError::Changed("CmdSN")),
        (|request| request.stage = O, LoginError::Stage { expected: S, found: O }),
    ];
    for (change, expected) in changes {
        let mut script = Script::new(Auth::None);
        script.say(S, None, &names());
        let mut header = request(S, None, &[]);
        change(&mut header);
        let (response, _) = script.send(&header.encode());
        assert_eq!(response.status, INITIATOR_ERROR);
        assert_eq!(script.why, Some(expected));
    }
    for (min, max, status) in [
        (0, 0, LoginStatus::SUCCESS),
        (0, 9, LoginStatus::SUCCESS),
        (1, 9, LoginStatus::UNSUPPORTED_VERSION),
    ] {
        let mut script = Script::new(Auth::None);
        let text = pairs(&names());
        let header = LoginRequest { version_min: min, version_max: max, ..request(S, None, &text) };
        let (response, _) = script.send(&pdu(header.encode(), &text));
        assert_eq!(response.status, status);
        assert_eq!((response.version_max, response.version_active), (0, 0));
    }
}

/// Bytes that are no login PDU are answered at once, with their tag, regardless of what follows.
#[test]
fn non_login_pdus_are_refused() {
    let refused = |bytes: &[u8]| {
        let (mut target, mut door) = (target(DesiredParams::default()), Door::new(Auth::None));
        let (consumed, step) = target.receive(bytes, &mut door).expect("known by its header");
        assert_eq!(consumed, bytes.len());
        let TargetStep::Failed { reply, why } = step else { panic!("{step:?}") };
        assert!(target.receive(bytes, &mut door).is_none(), "it is over");
        let (response, _) = read_response(&reply);
        assert_eq!(response.task_tag, 0x0102_0304);
        (why, response.status)
    };
    let header = |opcode: u8, flags: u8, lengths: [u8; 4]| {
        let mut bhs = [0; 48];
        (bhs[0], bhs[1]) = (opcode, flags);
        bhs[4..8].copy_from_slice(&lengths);
        bhs[16..20].copy_from_slice(&[1, 2, 3, 4]);
        bhs
    };
    let (why, status) = refused(&header(0x01, 0x80, [0, 0xff, 0xff, 0xff]));
    assert_eq!(why, LoginError::NotLogin(Opcode::ScsiCommand));
    assert_eq!(status, LoginStatus::INVALID_DURING_LOGIN);
    for bytes in [
        header(0x3e, 0x80, [0; 4]),
        // More text than fits into one login PDU.
        header(0x43, 0x00, [0, 0, 0x20, 0x01]),
        header(0x43, 0x00, [0, 0xff, 0xff, 0xff]),
        // Both flags, and undefined stages.
        header(0x43, 0xc1, [0; 4]),
        header(0x43, 0x08, [0; 4]),
        header(0x43, 0x80, [0; 4]),
    ] {
        assert_eq!(refused(&bytes).1, INITIATOR_ERROR);
    }
    let with_ahs = [&header(0x43, 0, [1, 0, 0, 0])[..], &[0; 4]].concat();
    assert_eq!(refused(&with_ahs).1, INITIATOR_ERROR);
}

/// A buffer of MAX_LOGIN_PDU bytes always suffices.
#[test]
fn the_longest_pdu() {
    let mut header = request(S, None, &[0; 8192]).encode();
    header[4] = 255;
    let mut bytes = header.to_vec();
    bytes.resize(MAX_LOGIN_PDU, 0);
    let (mut target, mut door) = (target(DesiredParams::default()), Door::new(Auth::None));
    assert!(target.receive(&bytes[..MAX_LOGIN_PDU - 1], &mut door).is_none());
    assert!(target.receive(&bytes, &mut door).is_some());
}

#[test]
fn endless_text_is_refused() {
    let mut script = Script::new(Auth::None);
    let piece = [b'a'; 8192];
    let header = LoginRequest { goes_on: true, ..request(S, None, &piece) };
    for _ in 0..MAX_LOGIN_TEXT / piece.len() {
        assert_eq!(script.send(&pdu(header.encode(), &piece)).0.status, LoginStatus::SUCCESS);
    }
    assert_eq!(script.send(&pdu(header.encode(), &piece)).0.status, INITIATOR_ERROR);
    assert_eq!(script.why, Some(LoginError::Text(TextError::TooLong(MAX_LOGIN_TEXT))));
}

#[test]
fn an_endless_login_is_ended() {
    let mut script = Script::new(Auth::None);
    script.say(S, None, &names());
    for _ in 1..MAX_EXCHANGES {
        assert_eq!(script.say(S, None, "").0.status, LoginStatus::SUCCESS);
    }
    assert_eq!(script.refused((S, None), "", INITIATOR_ERROR), LoginError::TooMany);
}

/// The answers to the maximum number of keys fit into one PDU.
#[test]
fn many_keys() {
    let keys = |count: usize| {
        let keys = (0..count).map(|at| format!("{at:0>63}=x"));
        format!("{} {}", names(), keys.collect::<Vec<_>>().join(" "))
    };
    let mut script = Script::new(Auth::None);
    let (response, words) = script.say(O, Some(F), &keys(62));
    assert_eq!((response.status, response.next), (LoginStatus::SUCCESS, Some(F)));
    assert_eq!(words.matches("NotUnderstood").count(), 62);
    assert!(response.data_len <= 8192);
    let why = Script::new(Auth::None).refused((O, Some(F)), &keys(63), INITIATOR_ERROR);
    assert_eq!(why, LoginError::Text(TextError::TooMany(64)));
}

/// Several requests in one read, and a part of the next.
#[test]
fn only_one_pdu_is_consumed_at_a_time() {
    let (mut target, mut door) = (target(DesiredParams::default()), Door::new(Auth::None));
    let text = pairs(&names());
    let first = pdu(request(S, Some(O), &text).encode(), &text);
    let second = request(O, None, &[]).encode();
    let stream = [&first[..], &second, &[0x43; 3]].concat();
    let (consumed, step) = target.receive(&stream, &mut door).expect("whole");
    assert_eq!(consumed, first.len());
    assert!(matches!(step, TargetStep::Reply(_)), "{step:?}");
    let (consumed, _) = target.receive(&stream[consumed..], &mut door).expect("whole");
    assert_eq!(consumed, 48);
    assert!(target.receive(&stream[stream.len() - 3..], &mut door).is_none());
}

/// Reasons are logged: line ends and escapes from a peer must be escaped.
#[test]
fn reasons_cannot_forge_log_lines() {
    let nasty = "x\n\u{1b}[31mroot logged in";
    for (first, text) in [
        (names(), format!("SessionType={nasty}\0")),
        (names(), format!("MaxRecvDataSegmentLength={nasty}\0")),
        (names(), "key\n=x\0".to_owned()),
        (format!("InitiatorName={INITIATOR}"), format!("TargetName={nasty}\0")),
        (format!("TargetName={TARGET}"), format!("InitiatorName={nasty}\0")),
    ] {
        let text = [pairs(&first), text.into_bytes()].concat();
        let mut script = Script::new(Auth::None);
        let (response, _) = script.send(&pdu(request(O, Some(F), &text).encode(), &text));
        assert!(!response.status.is_success());
        let why = script.why.expect("a reason").to_string();
        assert!(!why.contains(['\n', '\u{1b}']), "{why:?}");
    }
    let wishes =
        DesiredParams { data_digest: iscsi::params::Digest::Required, ..DesiredParams::default() };
    let mut script = Script::with(Auth::None, wishes);
    script.say(O, Some(F), &names());
    let text = format!("DataDigest={nasty}\0");
    script.send(&pdu(request(O, Some(F), text.as_bytes()).encode(), text.as_bytes()));
    let why = script.why.expect("a reason").to_string();
    assert!(!why.contains(['\n', '\u{1b}']), "{why:?}");
}

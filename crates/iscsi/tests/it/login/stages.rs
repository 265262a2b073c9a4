//! The stages of a login as in RFC 7143, appendix B, step by step at the target.

use crate::login::support::{Door, INITIATOR, Script, TARGET, TSIH, chap, pairs, pdu, request};
use iscsi::login::{Admitted, Auth, LoginError, TargetStep};
use iscsi::params::{DesiredParams, Digest, SessionType};
use iscsi::pdu::{LoginStatus, Stage};

const S: Stage = Stage::Security;
const O: Stage = Stage::Operational;
const F: Stage = Stage::FullFeature;

fn names() -> String {
    format!("InitiatorName={INITIATOR} TargetName={TARGET}")
}

/// Names, then parameters in two steps, then full feature.
#[test]
fn without_security_through_both_stages() {
    let mut script = Script::new(Auth::None);
    script.expect(
        (S, Some(O)),
        &format!("{} AuthMethod=CHAP,None", names()),
        Some(O),
        "TargetPortalGroupTag=3 AuthMethod=None",
    );
    script.expect(
        (O, None),
        "HeaderDigest=CRC32C,None InitialR2T=No",
        None,
        "HeaderDigest=CRC32C InitialR2T=No MaxRecvDataSegmentLength=262144",
    );
    script.expect((O, None), "", None, "");
    script.expect((O, Some(F)), "MaxBurstLength=65536", Some(F), "MaxBurstLength=65536");
    let login = script.login.expect("logged in");
    assert_eq!((login.initiator.as_str(), login.tsih, login.cid), (INITIATOR, TSIH, 1));
    assert_eq!(login.target.as_ref().map(|target| target.as_str()), Some(TARGET));
    assert_eq!((login.portal_group, login.user), (Some(3), None));
    assert_eq!((login.params.max_burst, login.params.header_digest), (65536, true));
    // Four responses from StatSN 50 on, a window of 128 commands from 100 on.
    assert_eq!((login.stat_sn, login.cmd_sn, login.max_cmd_sn), (54, 100, 227));
    assert_eq!(script.door.asked, [(INITIATOR.to_owned(), Some(TARGET.to_owned()))]);
}

/// An initiator may skip the security stage, or the operational one.
#[test]
fn one_stage_or_one_request_is_enough() {
    let mut script = Script::new(Auth::None);
    let answer = "TargetPortalGroupTag=3 ErrorRecoveryLevel=0 MaxRecvDataSegmentLength=262144";
    script.expect((O, Some(F)), &format!("{} ErrorRecoveryLevel=2", names()), Some(F), answer);
    assert!(script.login.is_some());

    let mut script = Script::new(Auth::None);
    script.expect(
        (O, None),
        &names(),
        None,
        "TargetPortalGroupTag=3 MaxRecvDataSegmentLength=262144",
    );
    script.expect((O, Some(F)), "", Some(F), "");
    assert!(script.login.is_some());

    let mut script = Script::new(Auth::None);
    let text = format!("{} AuthMethod=None", names());
    script.expect((S, Some(F)), &text, Some(F), "TargetPortalGroupTag=3 AuthMethod=None");
    let params = script.login.expect("logged in").params;
    // Without declarations the defaults hold in both directions.
    assert_eq!((params.max_recv, params.max_send), (8192, 8192));

    let mut script = Script::new(Auth::None);
    script.expect((S, Some(F)), &names(), Some(F), "TargetPortalGroupTag=3");
    assert!(script.login.is_some());

    let mut script = Script::new(Auth::None);
    script.expect((S, None), &names(), None, "TargetPortalGroupTag=3");
    script.expect((S, None), "AuthMethod=None", None, "AuthMethod=None");
    script.expect((S, Some(O)), "", Some(O), "");
    script.expect((O, Some(F)), "", Some(F), "MaxRecvDataSegmentLength=262144");
    assert!(script.login.is_some());
}

/// A target that requires a key continues until it has an answer.
#[test]
fn a_target_that_offers_waits_for_the_answer() {
    let wishes = DesiredParams { data_digest: Digest::Required, ..DesiredParams::default() };
    let mut script = Script::with(Auth::None, wishes.clone());
    let said = "TargetPortalGroupTag=3 DataDigest=CRC32C MaxRecvDataSegmentLength=262144";
    script.expect((O, Some(F)), &names(), None, said);
    script.expect((O, Some(F)), "DataDigest=CRC32C", Some(F), "");
    assert!(script.login.expect("logged in").params.data_digest);

    for (answer, error) in [
        (
            "DataDigest=Reject",
            "DataDigest=CRC32C is required, and the other end does not support it",
        ),
        ("DataDigest=None", "\"None\" does not answer DataDigest=CRC32C"),
    ] {
        let mut script = Script::with(Auth::None, wishes.clone());
        script.expect((O, Some(F)), &names(), None, said);
        let why = script.refused((O, Some(F)), answer, LoginStatus::INITIATOR_ERROR);
        assert_eq!(why.to_string(), error);
    }
    // Skipping to full feature is no agreement either.
    let mut script = Script::with(Auth::None, wishes);
    script.refused((S, Some(F)), &names(), LoginStatus::INITIATOR_ERROR);
}

#[test]
fn discovery() {
    let mut script = Script::new(Auth::None);
    let text = format!("InitiatorName={INITIATOR} SessionType=Discovery AuthMethod=None");
    script.expect((S, Some(O)), &text, Some(O), "AuthMethod=None");
    script.expect(
        (O, Some(F)),
        "MaxConnections=4 DataDigest=None MaxRecvDataSegmentLength=32768",
        Some(F),
        "MaxConnections=Irrelevant DataDigest=None MaxRecvDataSegmentLength=262144",
    );
    let login = script.login.expect("logged in");
    assert_eq!((login.target, login.params.session), (None, SessionType::Discovery));
    assert_eq!(script.door.asked, [(INITIATOR.to_owned(), None)]);
    // A discovery session ignores the target's name.
    let mut script = Script::new(Auth::None);
    let text = format!("{} SessionType=Discovery", names());
    script.expect((O, Some(F)), &text, Some(F), "MaxRecvDataSegmentLength=262144");
    assert_eq!(script.login.expect("logged in").target, None);
}

/// Some initiators repeat their name in each stage, which is allowed if it stays the same.
#[test]
fn names_may_be_repeated() {
    let mut script = Script::new(Auth::None);
    let text = format!("{} SessionType=Normal AuthMethod=None", names());
    script.expect((S, Some(O)), &text, Some(O), "TargetPortalGroupTag=3 AuthMethod=None");
    let text = format!("{} SessionType=Normal InitiatorAlias=me", names());
    script.expect((O, Some(F)), &text, Some(F), "MaxRecvDataSegmentLength=262144");
    assert_eq!(script.login.expect("logged in").initiator_alias.as_deref(), Some("me"));
    for (again, key) in [
        ("InitiatorName=iqn.other", "InitiatorName"),
        ("TargetName=iqn.other", "TargetName"),
        ("SessionType=Discovery", "SessionType"),
    ] {
        let mut script = Script::new(Auth::None);
        script.expect((S, Some(O)), &names(), Some(O), "TargetPortalGroupTag=3");
        let why = script.refused((O, Some(F)), again, LoginStatus::INITIATOR_ERROR);
        assert_eq!(why, LoginError::Repeated(key));
    }
}

/// Text over several requests is parsed once it is complete.
#[test]
fn text_in_several_pdus() {
    let mut script = Script::new(Auth::None);
    let text = pairs(&format!("{} AuthMethod=None", names()));
    let pieces: Vec<&[u8]> = text.chunks(7).collect();
    let (last, firsts) = pieces.split_last().expect("several");
    for piece in firsts {
        let mut header = request(S, None, piece);
        header.goes_on = true;
        let (response, words) = script.send(&pdu(header.encode(), piece));
        assert_eq!(
            (response.status, response.next, words.as_str()),
            (LoginStatus::SUCCESS, None, "")
        );
        assert!(script.door.asked.is_empty(), "nothing is parsed yet");
    }
    let (response, words) = script.send(&pdu(request(S, Some(O), last).encode(), last));
    assert_eq!(response.next, Some(O));
    assert_eq!(words, "TargetPortalGroupTag=3 AuthMethod=None");
}

#[test]
fn an_alias_is_sent() {
    let mut script = Script::new(Auth::None);
    script.door.access.as_mut().expect("open").alias = Some("The disk".to_owned());
    let (_, words) = script.say(O, Some(F), &names());
    let expected = "TargetPortalGroupTag=3 TargetAlias=The disk MaxRecvDataSegmentLength=262144";
    assert_eq!(words, expected);
    assert_eq!(script.login.expect("logged in").target_alias.as_deref(), Some("The disk"));
}

/// The owner decides before the last response, and may refuse.
#[test]
fn the_owner_decides() {
    let ask = || {
        let (mut target, mut door) =
            (crate::login::support::target(DesiredParams::default()), Door::new(Auth::None));
        let text = pairs(&names());
        let bytes = pdu(request(O, Some(F), &text).encode(), &text);
        let (_, step) = target.receive(&bytes, &mut door).expect("a whole PDU");
        let TargetStep::Admit(admission) = step else { panic!("{step:?}") };
        assert_eq!((admission.tsih, admission.cid, admission.cmd_sn), (0, 1, 100));
        assert_eq!(admission.initiator.as_str(), INITIATOR);
        assert!(target.receive(&bytes, &mut door).is_none(), "it waits for the answer");
        target
    };
    for (status, told) in [
        (LoginStatus::OUT_OF_RESOURCES, LoginStatus::OUT_OF_RESOURCES),
        (LoginStatus::NO_SESSION, LoginStatus::NO_SESSION),
        (LoginStatus::SUCCESS, LoginStatus::TARGET_ERROR),
    ] {
        let TargetStep::Failed { reply, why } = ask().refuse(status) else { panic!("refused") };
        assert_eq!(why, LoginError::Refused(told));
        assert_eq!(crate::login::support::read_response(&reply).0.status, told);
    }
    // A session identifier of 0 is invalid.
    let failed = ask().admit(Admitted { tsih: 0, window: None });
    assert!(matches!(failed, TargetStep::Failed { why: LoginError::Tsih(0), .. }));
    // So is an admission without a request.
    let mut target = crate::login::support::target(DesiredParams::default());
    let failed = target.admit(Admitted { tsih: 1, window: None });
    assert!(matches!(failed, TargetStep::Failed { why: LoginError::Stray, .. }));
}

/// A connection that joins a session: the numbers of its commands are the session's.
#[test]
fn another_connection() {
    let mut script = Script::new(chap());
    let text = pairs(&names());
    let mut header = request(S, None, &text);
    header.tsih = 77;
    let (response, _) = script.send(&pdu(header.encode(), &text));
    let (exp, max) = (response.sequence.exp_cmd_sn, response.sequence.max_cmd_sn);
    assert!(
        max.wrapping_add(1).wrapping_sub(exp) as i32 == -1,
        "the initiator ignores {exp}, {max}"
    );

    let mut script = Script::new(Auth::None);
    let mut header = request(O, Some(F), &text);
    header.tsih = 77;
    let (mut target, mut door) = (script.target, script.door);
    let (_, step) = target.receive(&pdu(header.encode(), &text), &mut door).expect("whole");
    let TargetStep::Admit(admission) = step else { panic!("{step:?}") };
    assert_eq!(admission.tsih, 77);
    let done = target.admit(Admitted { tsih: 77, window: Some((500, 627)) });
    let TargetStep::Done { reply, login } = done else { panic!("{done:?}") };
    let (response, _) = crate::login::support::read_response(&reply);
    assert_eq!((response.sequence.exp_cmd_sn, response.sequence.max_cmd_sn), (500, 627));
    assert_eq!((response.tsih, login.tsih, login.max_cmd_sn), (77, 77, 627));
    // Session-wide keys are not negotiated again.
    script = Script::new(Auth::None);
    let text = pairs(&format!("{} MaxBurstLength=512", names()));
    let mut header = request(O, Some(F), &text);
    header.tsih = 77;
    let (response, _) = script.send(&pdu(header.encode(), &text));
    assert_eq!(response.status, LoginStatus::INITIATOR_ERROR);
}

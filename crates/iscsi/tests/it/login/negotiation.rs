//! Offers and answers, key by key.

use crate::login::support::{pairs, words};
use iscsi::params::{
    DesiredParams, Digest, Negotiation, NegotiationError, Negotiator, Params, SessionType,
};

/// Settings that differ from every default.
fn wishes() -> DesiredParams {
    DesiredParams {
        header_digest: Digest::Preferred,
        data_digest: Digest::Allowed,
        max_connections: 4,
        initial_r2t: false,
        immediate_data: true,
        max_recv: 65536,
        max_burst: 131_072,
        first_burst: 32768,
        time2wait: 3,
        time2retain: 10,
        max_outstanding_r2t: 8,
    }
}

fn negotiation(role: Negotiator, session: SessionType, leading: bool) -> Negotiation {
    Negotiation::new(role, session, leading, wishes())
}

/// A target's answers, with the settings of [`wishes`], to offers in one text.
fn answers(
    offers: &str,
    session: SessionType,
    leading: bool,
) -> Result<(String, Params), NegotiationError> {
    let mut target = negotiation(Negotiator::Target, session, leading);
    let mut out = Vec::new();
    for (key, value) in iscsi::text::parse(&pairs(offers), 100).expect("a text") {
        target.receive(key, value, &mut out)?;
    }
    Ok((words(&out), target.finish()?))
}

#[track_caller]
fn answer(offer: &str, expected: &str) -> Params {
    let (answer, params) = answers(offer, SessionType::Normal, true).expect("an answer");
    assert_eq!(answer, expected, "to {offer}");
    params
}

#[track_caller]
fn refused(offers: &str, expected: NegotiationError) {
    assert_eq!(answers(offers, SessionType::Normal, true).err(), Some(expected), "to {offers}");
}

#[test]
fn numbers() {
    for (key, low, mine, high) in [
        ("MaxConnections", 1, 4, 65535),
        ("MaxBurstLength", 512, 131_072, 16_777_215),
        ("FirstBurstLength", 512, 32768, 16_777_215),
        ("DefaultTime2Retain", 0, 10, 3600),
        ("MaxOutstandingR2T", 1, 8, 65535),
        ("ErrorRecoveryLevel", 0, 0, 2),
        ("iSCSIProtocolLevel", 0, 1, 31),
    ] {
        answer(&format!("{key}={low}"), &format!("{key}={low}"));
        answer(&format!("{key}={mine}"), &format!("{key}={mine}"));
        answer(&format!("{key}={high}"), &format!("{key}={mine}"));
        answer(&format!("{key}=0x{low:x}"), &format!("{key}={low}"));
        for wrong in [high + 1, low - 1] {
            answer(&format!("{key}={wrong}"), &format!("{key}=Reject"));
        }
        for wrong in ["", "Yes", "1,2", "99999999999"] {
            answer(&format!("{key}={wrong}"), &format!("{key}=Reject"));
        }
    }
    // Keys for which the larger value counts.
    answer("DefaultTime2Wait=1", "DefaultTime2Wait=3");
    answer("DefaultTime2Wait=3600", "DefaultTime2Wait=3600");
    answer("DefaultTime2Wait=3601", "DefaultTime2Wait=Reject");
}

#[test]
fn booleans() {
    assert!(!answer("InitialR2T=No", "InitialR2T=No").initial_r2t);
    assert!(answer("InitialR2T=Yes", "InitialR2T=Yes").initial_r2t);
    assert!(answer("ImmediateData=Yes", "ImmediateData=Yes").immediate_data);
    assert!(!answer("ImmediateData=No", "ImmediateData=No").immediate_data);
    answer("DataPDUInOrder=No", "DataPDUInOrder=Yes");
    answer("DataSequenceInOrder=No", "DataSequenceInOrder=Yes");
    answer("InitialR2T=no", "InitialR2T=Reject");
    answer("ImmediateData=1", "ImmediateData=Reject");
}

#[test]
fn lists() {
    for (offer, chosen) in [
        ("None", "None"),
        ("CRC32C", "CRC32C"),
        ("CRC32C,None", "CRC32C"),
        ("None,CRC32C", "None"),
        ("X-md5,CRC32C", "CRC32C"),
        ("X-md5", "Reject"),
        ("", "Reject"),
        ("crc32c", "Reject"),
    ] {
        let params = answer(&format!("HeaderDigest={offer}"), &format!("HeaderDigest={chosen}"));
        assert_eq!(params.header_digest, chosen == "CRC32C");
        answer(&format!("DataDigest={offer}"), &format!("DataDigest={chosen}"));
    }
    answer("TaskReporting=FastAbort,ResponseFence,RFC3720", "TaskReporting=RFC3720");
    answer("TaskReporting=FastAbort", "TaskReporting=Reject");
}

/// The digest settings of both ends, and the result.
#[test]
fn digests_of_both_ends() {
    use Digest::{Allowed, Never, Preferred, Required};
    let required = || Err(NegotiationError::DigestRequired("HeaderDigest"));
    for (initiator, target, expected) in [
        (Never, Never, Ok(false)),
        (Never, Allowed, Ok(false)),
        (Never, Preferred, Ok(false)),
        (Never, Required, required()),
        (Allowed, Never, Ok(false)),
        (Allowed, Allowed, Ok(false)),
        (Allowed, Preferred, Ok(false)),
        (Allowed, Required, Ok(true)),
        (Preferred, Never, Ok(false)),
        (Preferred, Allowed, Ok(true)),
        (Preferred, Preferred, Ok(true)),
        (Preferred, Required, Ok(true)),
        (Required, Never, required()),
        (Required, Allowed, Ok(true)),
        (Required, Preferred, Ok(true)),
        (Required, Required, Ok(true)),
    ] {
        let (at_initiator, at_target) = agree(
            DesiredParams { header_digest: initiator, ..wishes() },
            DesiredParams { header_digest: target, ..wishes() },
        );
        let result = at_initiator.and_then(|initiator| {
            let target = at_target?;
            assert_eq!(initiator.header_digest, target.header_digest);
            Ok(initiator.header_digest)
        });
        assert_eq!(result, expected, "{initiator:?} and {target:?}");
    }
}

type Outcome = Result<Params, NegotiationError>;

/// Both ends negotiate: the initiator offers, the target answers and offers, the initiator answers.
fn agree(initiator: DesiredParams, target: DesiredParams) -> (Outcome, Outcome) {
    let mut ends = [
        Negotiation::new(Negotiator::Initiator, SessionType::Normal, true, initiator),
        Negotiation::new(Negotiator::Target, SessionType::Normal, true, target),
    ];
    let mut said = Vec::new();
    ends[0].offer(&mut said);
    for round in 0..4 {
        let hearer = &mut ends[1 - round % 2];
        let mut out = Vec::new();
        for (key, value) in iscsi::text::parse(&said, 100).expect("a text") {
            if let Err(error) = hearer.receive(key, value, &mut out) {
                return (Err(error.clone()), Err(error));
            }
        }
        hearer.offer(&mut out);
        said = out;
    }
    assert!(said.is_empty(), "{}", words(&said));
    (ends[0].finish(), ends[1].finish())
}

#[test]
fn all_keys_together() {
    let initiator = DesiredParams { max_recv: 512, ..DesiredParams::default() };
    let (at_initiator, at_target) = agree(initiator, wishes());
    let (at_initiator, at_target) = (at_initiator.expect("agreed"), at_target.expect("agreed"));
    assert_eq!((at_initiator.max_recv, at_initiator.max_send), (512, 65536));
    assert_eq!((at_target.max_recv, at_target.max_send), (65536, 512));
    let Params { max_recv, max_send, .. } = at_target;
    assert_eq!(Params { max_recv, max_send, ..at_initiator }, at_target);
    assert_eq!(at_target.max_burst, 131_072);
    assert_eq!(at_target.first_burst, 32768);
    assert_eq!(at_target.max_outstanding_r2t, 8);
    assert_eq!(at_target.max_connections, 1);
    // Without error recovery a time that only the target changes is irrelevant.
    assert_eq!((at_target.time2wait, at_target.error_recovery_level), (2, 0));
    assert!(!at_target.initial_r2t && at_target.immediate_data);
    assert!(at_target.data_pdu_in_order && at_target.data_sequence_in_order);
}

#[test]
fn defaults_hold_without_negotiation() {
    let target = negotiation(Negotiator::Target, SessionType::Normal, true);
    assert_eq!(target.finish(), Ok(Params::defaults(SessionType::Normal)));
    let defaults = Params::defaults(SessionType::Normal);
    assert_eq!((defaults.max_recv, defaults.max_send), (8192, 8192));
    assert_eq!((defaults.max_burst, defaults.first_burst), (262_144, 65_536));
    assert!(defaults.initial_r2t && defaults.immediate_data);
    assert!(!defaults.header_digest && !defaults.data_digest);
    assert_eq!((defaults.time2wait, defaults.time2retain), (2, 20));
    assert_eq!((defaults.max_connections, defaults.max_outstanding_r2t), (1, 1));
}

#[test]
fn a_first_burst_is_never_longer_than_a_burst() {
    let params = answer(
        "MaxBurstLength=1024 FirstBurstLength=4096",
        "MaxBurstLength=1024 FirstBurstLength=1024",
    );
    assert_eq!((params.first_burst, params.max_burst), (1024, 1024));
    // In the other order it is found out later.
    let params = answer(
        "FirstBurstLength=4096 MaxBurstLength=1024",
        "FirstBurstLength=4096 MaxBurstLength=1024",
    );
    assert_eq!((params.first_burst, params.max_burst), (1024, 1024));
}

#[test]
fn unknown_and_obsolete_keys() {
    answer("X-com.example=1", "X-com.example=NotUnderstood");
    answer("RDMAExtensions=Yes", "RDMAExtensions=NotUnderstood");
    // NotUnderstood in answer to NotUnderstood is ignored.
    answer("X-com.example=NotUnderstood", "");
    answer("IFMarker=Yes OFMarker=No", "IFMarker=No OFMarker=No");
    answer("IFMarkInt=1~65535 OFMarkInt=2048", "IFMarkInt=Reject OFMarkInt=Reject");
    refused("OFMarker=No OFMarker=No", NegotiationError::Repeated("OFMarker"));
}

#[test]
fn repeated_keys_are_refused() {
    for (key, value) in [
        ("HeaderDigest", "None"),
        ("MaxBurstLength", "512"),
        ("InitialR2T", "Yes"),
        ("MaxRecvDataSegmentLength", "512"),
        ("ErrorRecoveryLevel", "0"),
    ] {
        refused(&format!("{key}={value} {key}={value}"), NegotiationError::Repeated(key));
        // A rejected offer counts too.
        if key != "MaxRecvDataSegmentLength" {
            refused(&format!("{key}=? {key}={value}"), NegotiationError::Repeated(key));
        }
    }
}

#[test]
fn invalid_declarations() {
    for value in ["511", "16777216", "", "Yes", "Reject"] {
        refused(
            &format!("MaxRecvDataSegmentLength={value}"),
            NegotiationError::Value { key: "MaxRecvDataSegmentLength", value: value.to_owned() },
        );
    }
    assert_eq!(answer("MaxRecvDataSegmentLength=16777215", "").max_send, 16_777_215);
}

#[test]
fn keys_of_the_session_and_of_the_connection() {
    for (key, value) in [
        ("MaxConnections", "1"),
        ("InitialR2T", "Yes"),
        ("ImmediateData", "Yes"),
        ("MaxBurstLength", "512"),
        ("FirstBurstLength", "512"),
        ("DefaultTime2Wait", "0"),
        ("DefaultTime2Retain", "0"),
        ("MaxOutstandingR2T", "1"),
        ("DataPDUInOrder", "Yes"),
        ("DataSequenceInOrder", "Yes"),
        ("ErrorRecoveryLevel", "0"),
        ("TaskReporting", "RFC3720"),
        ("iSCSIProtocolLevel", "1"),
    ] {
        let error = answers(&format!("{key}={value}"), SessionType::Normal, false).err();
        assert_eq!(error, Some(NegotiationError::LeadingOnly(key)));
    }
    let each = "HeaderDigest=CRC32C MaxRecvDataSegmentLength=1024";
    let (answer, params) = answers(each, SessionType::Normal, false).expect("of each connection");
    assert_eq!(answer, "HeaderDigest=CRC32C");
    assert_eq!((params.header_digest, params.max_send), (true, 1024));
    // Neither end offers session-wide keys.
    let mut offers = Vec::new();
    negotiation(Negotiator::Initiator, SessionType::Normal, false).offer(&mut offers);
    let expected = "HeaderDigest=CRC32C,None DataDigest=None,CRC32C MaxRecvDataSegmentLength=65536";
    assert_eq!(words(&offers), expected);
}

#[test]
fn discovery_sessions_negotiate_few_keys() {
    for (key, value) in [
        ("MaxConnections", "1"),
        ("InitialR2T", "No"),
        ("ImmediateData", "No"),
        ("MaxBurstLength", "512"),
        ("FirstBurstLength", "512"),
        ("MaxOutstandingR2T", "1"),
        ("DataPDUInOrder", "Yes"),
        ("DataSequenceInOrder", "Yes"),
        ("TaskReporting", "RFC3720"),
        ("iSCSIProtocolLevel", "1"),
    ] {
        let offer = format!("{key}={value}");
        let (answer, params) = answers(&offer, SessionType::Discovery, true).expect("an answer");
        assert_eq!(answer, format!("{key}=Irrelevant"));
        assert_eq!(params, Params::defaults(SessionType::Discovery));
    }
    let mut offers = Vec::new();
    negotiation(Negotiator::Initiator, SessionType::Discovery, true).offer(&mut offers);
    assert_eq!(
        words(&offers),
        "HeaderDigest=CRC32C,None DataDigest=None,CRC32C MaxRecvDataSegmentLength=65536 \
         DefaultTime2Wait=3 DefaultTime2Retain=10"
    );
}

/// The result of an answer for an initiator with the settings of [`wishes`].
fn heard(answer: &str) -> Result<Params, NegotiationError> {
    let mut initiator = negotiation(Negotiator::Initiator, SessionType::Normal, true);
    let mut offers = Vec::new();
    initiator.offer(&mut offers);
    let named = answer.split('=').next().unwrap_or_default();
    let mut out = Vec::new();
    for (key, value) in iscsi::text::parse(&pairs(answer), 100).expect("a text") {
        initiator.receive(key, value, &mut out)?;
    }
    for (key, value) in iscsi::text::parse(&offers, 100).expect("a text") {
        let value = value.split(',').next().unwrap_or_default();
        if key != named && key != "MaxRecvDataSegmentLength" {
            initiator.receive(key, value, &mut out)?;
        }
    }
    assert!(!initiator.is_waiting());
    assert_eq!(out, [], "answers are not answered");
    initiator.finish()
}

#[test]
fn valid_and_invalid_answers() {
    for (answer, offer) in [
        ("MaxBurstLength=131073", "131072"),
        ("MaxConnections=5", "4"),
        ("MaxConnections=0", "4"),
        ("DefaultTime2Wait=2", "3"),
        ("DefaultTime2Retain=11", "10"),
        ("HeaderDigest=CRC32C,None", "CRC32C,None"),
        ("HeaderDigest=X-md5", "CRC32C,None"),
        ("InitialR2T=Maybe", "No"),
    ] {
        let (key, value) = answer.split_once('=').expect("a pair");
        match heard(answer) {
            Err(NegotiationError::Answer { key: about, offer: offered, answer }) => {
                assert_eq!((about, offered.as_str(), answer.as_str()), (key, offer, value));
            }
            other => panic!("{answer}: {other:?}"),
        }
    }
    assert_eq!(heard("MaxBurstLength=512").expect("follows").max_burst, 512);
    assert_eq!(heard("DefaultTime2Wait=9").expect("follows").time2wait, 9);
    assert!(heard("InitialR2T=Yes").expect("follows").initial_r2t);
    assert!(!heard("HeaderDigest=None").expect("follows").header_digest);
    for word in ["Reject", "Irrelevant", "NotUnderstood"] {
        let params = heard(&format!("MaxBurstLength={word}")).expect("the default holds");
        assert_eq!(params.max_burst, 262_144);
    }
    assert_eq!(
        heard("MaxBurstLength=512 MaxBurstLength=512").err(),
        Some(NegotiationError::Repeated("MaxBurstLength"))
    );
}

#[test]
fn offers_without_an_answer() {
    let mut initiator = negotiation(Negotiator::Initiator, SessionType::Normal, true);
    initiator.offer(&mut Vec::new());
    assert!(initiator.is_waiting());
    assert_eq!(initiator.finish(), Err(NegotiationError::Unanswered("HeaderDigest")));
}

/// A target offers only keys whose default contradicts its settings.
#[test]
fn what_a_target_offers() {
    let offers = |wishes: DesiredParams| {
        let mut target = Negotiation::new(Negotiator::Target, SessionType::Normal, true, wishes);
        let mut out = Vec::new();
        target.offer(&mut out);
        let first = words(&out);
        out.clear();
        target.offer(&mut out);
        assert_eq!(words(&out), "", "nothing is repeated");
        (first, target.is_waiting(), target.finish())
    };
    let plain = DesiredParams { max_recv: 4096, ..DesiredParams::default() };
    let (said, waits, _) = offers(plain.clone());
    assert_eq!((said.as_str(), waits), ("MaxRecvDataSegmentLength=4096", false));
    let (said, waits, result) = offers(DesiredParams { immediate_data: false, ..plain.clone() });
    assert_eq!(said, "ImmediateData=No MaxRecvDataSegmentLength=4096");
    // The offer decides, so the answer is optional.
    assert!(!waits && !result.expect("decided").immediate_data);
    let (said, waits, _) = offers(DesiredParams { data_digest: Digest::Required, ..plain.clone() });
    assert_eq!((said.as_str(), waits), ("DataDigest=CRC32C MaxRecvDataSegmentLength=4096", true));
    let (said, waits, _) = offers(DesiredParams { max_burst: 1024, ..plain });
    let expected = "MaxRecvDataSegmentLength=4096 MaxBurstLength=1024 FirstBurstLength=1024";
    assert_eq!((said.as_str(), waits), (expected, true));
}

/// Settings out of range are clamped, so that only valid values are sent.
#[test]
fn settings_are_clamped() {
    let wishes = DesiredParams {
        max_connections: 0,
        max_recv: 1,
        max_burst: u32::MAX,
        first_burst: 0,
        time2wait: u16::MAX,
        max_outstanding_r2t: 0,
        ..wishes()
    };
    let mut out = Vec::new();
    Negotiation::new(Negotiator::Initiator, SessionType::Normal, true, wishes).offer(&mut out);
    assert_eq!(
        words(&out),
        "HeaderDigest=CRC32C,None DataDigest=None,CRC32C InitialR2T=No \
         MaxRecvDataSegmentLength=512 MaxBurstLength=16777215 FirstBurstLength=512 \
         DefaultTime2Wait=3600 DefaultTime2Retain=10"
    );
}

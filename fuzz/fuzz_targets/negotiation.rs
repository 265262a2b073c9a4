//! Any pairs to either end of a negotiation with any wishes: every answer is a text, and every result keeps within the
//! ranges of RFC 7143.

#![no_main]

use iscsi::params::{DesiredParams, Digest, Negotiation, Negotiator, Params, SessionType};
use iscsi::text::parse;
use libfuzzer_sys::fuzz_target;

/// Role, kind of session and digests in bits; then the wishes, then text.
type Input<'a> = (u8, u8, [u32; 3], [u16; 4], &'a [u8]);

fuzz_target!(|input: Input| {
    let (bits, digests, lengths, counts, text) = input;
    let digest = |bits: u8| match bits & 3 {
        0 => Digest::Never,
        1 => Digest::Allowed,
        2 => Digest::Preferred,
        _ => Digest::Required,
    };
    let wishes = DesiredParams {
        header_digest: digest(digests),
        data_digest: digest(digests >> 2),
        initial_r2t: bits & 8 != 0,
        immediate_data: bits & 16 != 0,
        max_recv: lengths[0],
        max_burst: lengths[1],
        first_burst: lengths[2],
        max_connections: counts[0],
        time2wait: counts[1],
        time2retain: counts[2],
        max_outstanding_r2t: counts[3],
    };
    let role = if bits & 1 == 0 { Negotiator::Target } else { Negotiator::Initiator };
    let session = if bits & 2 == 0 { SessionType::Normal } else { SessionType::Discovery };
    let mut negotiation = Negotiation::new(role, session, bits & 4 == 0, wishes);
    let mut said = Vec::new();
    if bits & 32 != 0 {
        negotiation.offer(&mut said);
    }
    let Ok(pairs) = parse(text, 64) else { return };
    for (key, value) in pairs {
        let before = said.len();
        if negotiation.receive(key, value, &mut said).is_err() {
            return;
        }
        assert!(parse(&said[before..], 1).is_ok(), "an answer is at most one pair");
    }
    negotiation.offer(&mut said);
    parse(&said, 200).expect("what is said is a text");
    if let Ok(params) = negotiation.finish() {
        check(params);
    }
});

fn check(params: Params) {
    let lengths = 512..=0x00ff_ffff;
    assert!(lengths.contains(&params.max_recv) && lengths.contains(&params.max_send));
    assert!(lengths.contains(&params.max_burst) && lengths.contains(&params.first_burst));
    assert!(params.first_burst <= params.max_burst);
    assert!(params.max_connections >= 1 && params.max_outstanding_r2t >= 1);
    assert!(params.time2wait <= 3600 && params.time2retain <= 3600);
    assert!(params.data_pdu_in_order && params.data_sequence_in_order);
    assert_eq!(params.error_recovery_level, 0);
}

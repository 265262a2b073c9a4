//! Arbitrary bytes and values: nothing panics, and written values are read back unchanged.

use crate::login::support::{
    Door, INITIATORS_CHALLENGE, chap, config, converse, pdu, request, target,
};
use iscsi::chap::{decode, encode, encode_base64};
use iscsi::discovery::{DiscoveredPortal, DiscoveredTarget, read, write};
use iscsi::login::{Auth, Initiator, InitiatorAuth, TargetStep};
use iscsi::params::{DesiredParams, Digest};
use iscsi::pdu::Stage;
use iscsi::text::{parse, push};
use proptest::prelude::*;

fn digest() -> impl Strategy<Value = Digest> {
    use Digest::{Allowed, Never, Preferred, Required};
    proptest::sample::select(vec![Never, Allowed, Preferred, Required])
}

prop_compose! {
    fn wishes()(
        header_digest in digest(),
        data_digest in digest(),
        booleans: (bool, bool),
        lengths: [u32; 3],
        counts: [u16; 4],
    ) -> DesiredParams {
        DesiredParams {
            header_digest,
            data_digest,
            initial_r2t: booleans.0,
            immediate_data: booleans.1,
            max_recv: lengths[0],
            max_burst: lengths[1] >> 8,
            first_burst: lengths[2] >> 8,
            max_connections: counts[0],
            time2wait: counts[1],
            time2retain: counts[2],
            max_outstanding_r2t: counts[3],
        }
    }
}

proptest! {
    #[test]
    fn pairs_round_trip(pairs in proptest::collection::vec(("[A-Za-z0-9.@_+-]{1,63}", "[^\0]{0,100}"), 0..20)) {
        let mut text = Vec::new();
        for (key, value) in &pairs {
            push(&mut text, key, value);
        }
        let expected: Vec<_> = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        prop_assert_eq!(parse(&text, 20), Ok(expected));
    }

    #[test]
    fn binary_values_round_trip(bytes in proptest::collection::vec(any::<u8>(), 1..=1024)) {
        prop_assert_eq!(decode(&encode(&bytes)), Ok(bytes.clone()));
        prop_assert_eq!(decode(&encode(&bytes).to_uppercase()), Ok(bytes.clone()));
        prop_assert_eq!(decode(&encode_base64(&bytes)), Ok(bytes));
    }

    #[test]
    fn lists_round_trip(names in proptest::collection::vec("iqn[.][a-z0-9:.-]{1,40}", 0..5),
                       address: std::net::SocketAddr, group: Option<u16>) {
        let portals = vec![DiscoveredPortal { group, ..DiscoveredPortal::from(address) }];
        let portals: Vec<_> = portals.into_iter().filter(|portal| portal.port != 0).collect();
        let list: Vec<_> = names.iter()
            .map(|name| DiscoveredTarget { name: name.parse().expect("a name"), portals: portals.clone() })
            .collect();
        prop_assert_eq!(read(&write(&list), 10), Ok(list));
    }

    /// Both ends with any settings: they agree on one result, or both detect that they do not.
    #[test]
    fn any_wishes(mine in wishes(), theirs in wishes(), with_chap: bool) {
        // Only digests can be incompatible.
        let apart = |one, other| {
            matches!((one, other), (Digest::Required, Digest::Never) | (Digest::Never, Digest::Required))
        };
        let parted = apart(mine.header_digest, theirs.header_digest)
            || apart(mine.data_digest, theirs.data_digest);
        let auth = match with_chap {
            true => InitiatorAuth::Chap { user: crate::login::support::user("bob", "the secret of bob"), target: None },
            false => InitiatorAuth::None,
        };
        let mut config = config(auth);
        config.wishes = mine;
        let mut initiator = Initiator::new(config, INITIATORS_CHALLENGE);
        let auth = if with_chap { chap() } else { Auth::None };
        let ended = converse(&mut initiator, &mut target(theirs), &mut Door::new(auth));
        prop_assert_eq!(ended.initiator.is_err(), parted, "{:?}", ended.initiator);
        if let (Ok(mine), Ok(theirs)) = (&ended.initiator, &ended.target) {
            let swapped = iscsi::params::Params {
                max_recv: mine.params.max_send,
                max_send: mine.params.max_recv,
                ..mine.params
            };
            prop_assert_eq!(swapped, theirs.params);
            prop_assert!(mine.params.first_burst <= mine.params.max_burst);
        }
    }

    #[test]
    fn any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), text in "[ -~\0]{0,300}",
                              stage: bool) {
        let (mut target, mut door) = (target(DesiredParams::default()), Door::new(chap()));
        target.receive(&bytes, &mut door);
        let stage = if stage { Stage::Security } else { Stage::Operational };
        let header = request(stage, None, text.as_bytes()).encode();
        target.receive(&pdu(header, text.as_bytes()), &mut door);
        let mut initiator = Initiator::new(config(InitiatorAuth::None), INITIATORS_CHALLENGE);
        initiator.start();
        let mut bytes = bytes;
        let _ = initiator.receive(&bytes);
        if let Some(opcode) = bytes.first_mut() {
            *opcode = 0x23;
        }
        let _ = initiator.receive(&bytes);
    }

    /// Every reply is one valid PDU.
    #[test]
    fn replies_can_be_read(texts in proptest::collection::vec("(InitiatorName=iqn.a\0|TargetName=iqn.b\0|AuthMethod=CHAP\0|CHAP_A=5\0|[A-Z]=[a-z]{0,9}\0|HeaderDigest=[A-Z0-9,]{0,9}\0|MaxBurstLength=[0-9]{1,9}\0){0,6}", 1..5)) {
        let (mut target, mut door) = (target(DesiredParams::default()), Door::new(chap()));
        for text in texts {
            let header = request(Stage::Security, Some(Stage::Operational), text.as_bytes()).encode();
            match target.receive(&pdu(header, text.as_bytes()), &mut door) {
                Some((_, TargetStep::Reply(reply) | TargetStep::Failed { reply, .. })) => {
                    crate::login::support::read_response(&reply);
                    prop_assert_eq!(reply.len() % 4, 0);
                }
                Some((_, other)) => prop_assert!(false, "{other:?}"),
                None => {}
            }
        }
    }
}

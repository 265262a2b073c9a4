//! Arbitrary headers: nothing panics, and parsed headers round-trip.

use iscsi::pdu::{
    AsyncEvent, Cdb, Lengths, LoginStatus, LogoutOutcome, LogoutReason, MAX_CDB, Opcode,
    RejectReason, Request, Response, SnackType, Stage, TaskAttribute, TaskFunction, TaskOutcome,
    sense_segment,
};
use proptest::prelude::*;

/// A header with a defined opcode; narrow fields are drawn so that most headers are valid.
fn header() -> impl Strategy<Value = [u8; 48]> {
    let opcode = proptest::sample::select(Opcode::ALL);
    let narrow = prop_oneof![Just(0), Just(1), Just(2), Just(0x80), Just(0x87), any::<u8>()];
    (opcode, any::<bool>(), narrow, any::<[u8; 32]>(), any::<[u8; 16]>(), 0_u8..8).prop_map(
        |(opcode, immediate, flags, a, b, small)| {
            let mut bhs = [0; 48];
            bhs[..32].copy_from_slice(&a);
            bhs[32..].copy_from_slice(&b);
            bhs[0] = opcode.code() | if immediate { 0x40 } else { 0 };
            (bhs[1], bhs[2], bhs[4], bhs[36]) = (flags, small, 0, small);
            if small < 4 {
                (bhs[5], bhs[6], bhs[7], bhs[40]) = (0, 0, 0, 0);
            }
            bhs
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn parsed_headers_round_trip(bhs in header()) {
        if let Ok(pdu) = Request::parse(&bhs, &[]) {
            prop_assert_eq!(Request::parse(&pdu.encode(), &[]), Ok(pdu.clone()));
            prop_assert_eq!(Lengths::of(&pdu.encode()), Lengths::of(&bhs));
        }
        if let Ok(pdu) = Response::parse(&bhs, &[]) {
            prop_assert_eq!(Response::parse(&pdu.encode(), &[]), Ok(pdu.clone()));
            prop_assert_eq!(Lengths::of(&pdu.encode()), Lengths::of(&bhs));
        }
    }

    #[test]
    fn long_commands_round_trip(cdb in proptest::collection::vec(any::<u8>(), 0..=MAX_CDB), read: Option<u32>) {
        let mut bhs = [0; 48];
        (bhs[0], bhs[1]) = (0x01, 0xe0);
        let Ok(Request::Command(mut command)) = Request::parse(&bhs, &[]) else { panic!("a command") };
        (command.cdb, command.read_len) = (Cdb::new(&cdb).expect("within the limit"), read);
        let mut ahs = Vec::new();
        command.put_ahs(&mut ahs);
        prop_assert_eq!(ahs.len(), command.ahs_len());
        prop_assert_eq!(Lengths::of(&command.encode()).ahs, ahs.len());
        prop_assert_eq!(Request::parse(&command.encode(), &ahs), Ok(Request::Command(command)));
    }

    #[test]
    fn any_segments_do_not_panic(words in 0_u8..=255, bytes in proptest::collection::vec(any::<u8>(), 1020)) {
        let mut bhs = [0; 48];
        (bhs[0], bhs[1], bhs[4]) = (0x01, 0xe0, words);
        let _ = Request::parse(&bhs, &bytes[..usize::from(words) * 4]);
    }
}

#[test]
fn codes_round_trip() {
    macro_rules! check {
        ($($name:ident),+) => { $( for code in 0..=u8::MAX {
            let meant = $name::from_code(code);
            assert_eq!(meant.is_some(), $name::ALL.iter().any(|value| value.code() == code));
            assert!(meant.is_none_or(|value| value.code() == code));
        } )+ };
    }
    check!(
        Opcode,
        TaskAttribute,
        TaskOutcome,
        LogoutReason,
        LogoutOutcome,
        SnackType,
        AsyncEvent,
        RejectReason,
        Stage
    );
    for code in 0..=u8::MAX {
        assert_eq!(TaskFunction::from_code(code).code(), code & 0x7f);
        for class in 0..=4 {
            let text = LoginStatus::new(class, code).to_string();
            assert!(text.ends_with(&format!("(status {class:02x}{code:02x})")), "{text}");
        }
    }
}

#[test]
fn a_cdb_has_a_limit() {
    assert!(Cdb::new(&[0; MAX_CDB]).is_some());
    assert!(Cdb::new(&[0; MAX_CDB + 1]).is_none());
    assert_eq!(Cdb::new(&[1, 2]).expect("short").bytes()[..4], [1, 2, 0, 0]);
}

#[test]
fn sense_data_of_a_segment() {
    for (segment, sense) in [
        (&[0, 2, 0x70, 0, 9][..], Some(&[0x70, 0][..])),
        (&[0, 0], Some(&[])),
        (&[0, 3, 1, 2], None),
        (&[0], None),
        (&[], None),
    ] {
        assert_eq!(sense_segment(segment), sense, "{segment:?}");
    }
}

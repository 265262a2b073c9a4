//! Every protocol violation that a target must detect, and its reaction. None of them may change a byte of the
//! volume, and a connection that stays open continues normally.

use iscsi::pdu::{
    Bhs, DataOut, Lun, NopOut, Opcode, R2t, RESERVED_TAG, RejectReason, Request, Response,
    ScsiCommand, Snack, SnackType, TextRequest, sense_segment,
};
use iscsi::target::{CloseReason, Limits, SessionParams, Violation};

use super::initiator::{cdb, command, pattern};
use super::rig::{BLOCK, Rig, Setup};

/// The expected reaction.
enum Outcome {
    /// CHECK CONDITION with ABORTED COMMAND and this code, and nothing else.
    Sense(u16),
    /// The same after a Reject with a digest error.
    RejectAndSense(u16),
    Reject(RejectReason),
    Closed(Violation),
    Silence,
}
use Outcome::{Closed, Reject, RejectAndSense, Sense, Silence};

/// Violates the protocol with commands from the first number on; returns how many numbers it consumed.
type Break = fn(&mut Rig) -> u32;

#[track_caller]
fn check(setup: Setup, break_it: Break, outcome: &Outcome) {
    let mut rig = Rig::new(setup);
    let used = break_it(&mut rig);
    rig.run();
    let replies: Vec<_> =
        rig.replies(0).into_iter().filter(|reply| !matches!(reply.pdu, Response::R2t(_))).collect();
    assert!(rig.memory.values().flatten().all(|&byte| byte == 0), "the volume has changed");
    let senses: Vec<_> =
        replies.iter().filter_map(|reply| sense(&reply.pdu, &reply.data)).collect();
    let rejects = replies.iter().filter_map(|reply| match &reply.pdu {
        Response::Reject(reject) => {
            assert_eq!(reply.data.len(), 48, "a Reject holds the header");
            Some(reject.reason)
        }
        _ => None,
    });
    let rejects: Vec<_> = rejects.collect();
    assert_eq!(replies.len(), senses.len() + rejects.len(), "nothing else: {replies:?}");
    let expected: (Vec<u16>, Vec<RejectReason>) = match *outcome {
        Sense(code) => (vec![code], vec![]),
        RejectAndSense(code) => (vec![code], vec![RejectReason::DataDigestError]),
        Reject(reason) => (vec![], vec![reason]),
        Closed(_) | Silence => (vec![], vec![]),
    };
    assert_eq!((senses, rejects), expected);
    if let Closed(violation) = *outcome {
        assert_eq!(rig.links[0].closed, Some(CloseReason::Violation(violation)));
        return assert!(rig.links[0].shut && rig.over, "closed, and the session is over");
    }
    assert_eq!(rig.links[0].closed, None);
    assert_eq!(rig.session.tasks(), rig.jobs.len(), "no task is left over");
    goes_on(rig, used);
}

/// A write with the next number succeeds.
#[track_caller]
fn goes_on(mut rig: Rig, used: u32) {
    rig.lazy = false;
    rig.run();
    rig.replies(0);
    let data = pattern(BLOCK, 1);
    let mut write = write(used, 1, BLOCK as u32);
    if rig.setup.session.immediate_data {
        write.data_len = BLOCK as u32;
        rig.send(0, write, &data);
        rig.run();
    } else {
        let r2t = asked(&mut rig, write);
        rig.send(0, data_out(&r2t, 0, r2t.offset, BLOCK, true), &data);
        rig.run();
    }
    let replies = rig.replies(0);
    let ends =
        |reply: &super::rig::Reply| matches!(&reply.pdu, Response::Command(end) if end.status == 0);
    assert!(replies.iter().any(ends), "the connection goes on: {replies:?}");
    assert!(rig.memory[&Lun::default()].starts_with(&data));
}

fn sense(pdu: &Response, data: &[u8]) -> Option<u16> {
    let Response::Command(end) = pdu else { return None };
    assert_eq!(end.status, 2, "CHECK CONDITION");
    let sense = sense_segment(data).expect("sense data");
    assert_eq!((sense[0], sense[2]), (0x70, 0x0b), "ABORTED COMMAND in fixed format");
    Some(u16::from_be_bytes([sense[12], sense[13]]))
}

/// The numbers of the n-th command.
fn numbers(nth: u32) -> (u32, u32) {
    (100 + nth, Setup::default().numbers.0.wrapping_add(nth))
}

fn write(nth: u32, blocks: u16, expected: u32) -> ScsiCommand {
    ScsiCommand { write: true, ..command(numbers(nth), cdb(0x2a, 0, blocks), expected) }
}

fn test_unit_ready(nth: u32) -> ScsiCommand {
    command(numbers(nth), cdb(0, 0, 0), 0)
}

/// Sends a write without data, and returns the R2T.
#[track_caller]
fn asked(rig: &mut Rig, write: ScsiCommand) -> R2t {
    rig.send(0, write, &[]);
    rig.run();
    let asked = rig.replies(0).into_iter().find_map(|reply| match reply.pdu {
        Response::R2t(r2t) => Some(r2t),
        _ => None,
    });
    asked.expect("an R2T")
}

fn data_out(r2t: &R2t, data_sn: u32, offset: u32, len: usize, is_final: bool) -> DataOut {
    DataOut {
        is_final,
        lun: r2t.lun,
        task_tag: r2t.task_tag,
        transfer_tag: r2t.transfer_tag,
        exp_stat_sn: 0,
        data_sn,
        offset,
        data_len: len as u32,
    }
}

fn unsolicited(nth: u32, data_sn: u32, offset: u32, len: usize, is_final: bool) -> DataOut {
    DataOut {
        is_final,
        lun: Lun::default(),
        task_tag: numbers(nth).0,
        transfer_tag: RESERVED_TAG,
        exp_stat_sn: 0,
        data_sn,
        offset,
        data_len: len as u32,
    }
}

/// A write of two blocks, solicited in one burst; its data in PDUs of (DataSN, offset, length, F).
fn solicit(rig: &mut Rig, pdus: &[(u32, u32, usize, bool)]) -> u32 {
    let r2t = asked(rig, write(0, 2, 1024));
    assert_eq!((r2t.offset, r2t.desired_len), (0, 1024));
    for &(data_sn, offset, len, is_final) in pdus {
        rig.send(0, data_out(&r2t, data_sn, offset, len, is_final), &pattern(len, 7));
    }
    1
}

/// A write of two blocks whose first block is unsolicited in such PDUs.
fn volunteer(rig: &mut Rig, pdus: &[(u32, u32, usize, bool)]) -> u32 {
    rig.send(0, ScsiCommand { is_final: false, ..write(0, 2, 1024) }, &[]);
    for &(data_sn, offset, len, is_final) in pdus {
        rig.send(0, unsolicited(0, data_sn, offset, len, is_final), &pattern(len, 7));
    }
    1
}

fn plain() -> Setup {
    Setup::default()
}

fn session(change: impl Fn(&mut SessionParams)) -> Setup {
    let mut setup = Setup::default();
    change(&mut setup.session);
    setup
}

/// Unsolicited data is allowed, one block of it.
fn eager() -> Setup {
    session(|params| (params.initial_r2t, params.first_burst) = (false, 512))
}

fn digests() -> Setup {
    Setup { header_digest: true, data_digest: true, ..Setup::default() }
}

#[test]
fn numbers_and_offsets_of_data_are_checked() {
    let cases: [(Break, u16); 10] = [
        (|rig| solicit(rig, &[(0, 0, 512, false), (0, 512, 512, true)]), 0x4705),
        (|rig| solicit(rig, &[(27, 0, 1024, true)]), 0x4705),
        (|rig| solicit(rig, &[(u32::MAX, 0, 1024, true)]), 0x4705),
        (|rig| solicit(rig, &[(1, 0, 512, false), (0, 512, 512, true)]), 0x4705),
        (|rig| solicit(rig, &[(1, 512, 512, false), (0, 0, 512, true)]), 0x4705),
        (|rig| solicit(rig, &[(0, 512, 512, true)]), 0x4705),
        (|rig| solicit(rig, &[(0, 0, 512, false), (1, 0, 512, true)]), 0x4705),
        (|rig| solicit(rig, &[(0, 0, 512, false), (1, 512, 516, true)]), 0x0c0d),
        (|rig| solicit(rig, &[(0, 0, 512, true)]), 0x0c0d),
        (|rig| solicit(rig, &[(0, 0, 512, false), (1, 512, 512, false)]), 0x0c0d),
    ];
    for (break_it, code) in cases {
        check(plain(), break_it, &Sense(code));
    }
}

#[test]
fn a_failed_task_waits_for_the_end_of_its_data() {
    let mut rig = Rig::new(plain());
    let r2t = asked(&mut rig, write(0, 2, 1024));
    rig.send(0, data_out(&r2t, 5, 0, 512, false), &pattern(512, 7));
    rig.run();
    assert_eq!(rig.replies(0), [], "more of the burst is on its way");
    assert_eq!(rig.session.tasks(), 1);
    rig.send(0, data_out(&r2t, 6, 512, 512, true), &pattern(512, 7));
    rig.run();
    let replies = rig.replies(0);
    assert_eq!(
        replies.iter().filter_map(|reply| sense(&reply.pdu, &reply.data)).collect::<Vec<_>>(),
        [0x4705]
    );
}

#[test]
fn a_failed_task_with_a_pending_r2t_waits_too() {
    let mut rig =
        Rig::new(session(|params| (params.max_burst, params.max_outstanding_r2t) = (512, 2)));
    rig.send(0, write(0, 3, 1536), &[]);
    rig.run();
    let r2ts: Vec<_> = rig.replies(0).into_iter().map(|reply| reply.pdu).collect();
    let [Response::R2t(first), Response::R2t(second)] = &r2ts[..] else { panic!("{r2ts:?}") };
    rig.send(0, data_out(first, 0, 0, 512, true), &pattern(512, 3));
    rig.send(0, data_out(second, 9, 512, 256, false), &pattern(256, 3));
    rig.run();
    assert_eq!(rig.replies(0), [], "more of the second burst is on its way");
    rig.send(0, data_out(second, 10, 768, 256, true), &pattern(256, 3));
    rig.run();
    let replies = rig.replies(0);
    assert_eq!(
        replies.iter().filter_map(|reply| sense(&reply.pdu, &reply.data)).collect::<Vec<_>>(),
        [0x4705]
    );
    assert_eq!(rig.session.tasks(), 0);
}

#[test]
fn unsolicited_data_is_checked() {
    let cases: [(Break, u16); 7] = [
        (|rig| volunteer(rig, &[(1, 0, 512, true)]), 0x4705),
        (|rig| volunteer(rig, &[(0, 4, 508, true)]), 0x4705),
        (|rig| volunteer(rig, &[(0, 0, 256, false), (0, 256, 256, true)]), 0x4705),
        // Exactly a first burst is required if more data is expected.
        (|rig| volunteer(rig, &[(0, 0, 256, true)]), 0x0c0d),
        (|rig| volunteer(rig, &[(0, 0, 516, true)]), 0x0c0d),
        (|rig| volunteer(rig, &[(0, 0, 512, false)]), 0x0c0d),
        // Another PDU follows the last one, while an R2T waits for its data.
        (
            |rig| {
                volunteer(rig, &[(0, 0, 512, true)]);
                rig.run();
                let Some(Response::R2t(r2t)) = rig.replies(0).pop().map(|reply| reply.pdu) else {
                    panic!("an R2T for the rest");
                };
                rig.send(0, unsolicited(0, 1, 512, 512, true), &pattern(512, 7));
                rig.send(0, data_out(&r2t, 0, 512, 512, true), &pattern(512, 7));
                1
            },
            0x0c0c,
        ),
    ];
    for (break_it, code) in cases {
        check(eager(), break_it, &Sense(code));
    }
}

#[test]
fn data_that_was_not_negotiated_is_refused() {
    let no_immediate = session(|params| params.immediate_data = false);
    let immediate: Break = |rig| {
        rig.send(0, ScsiCommand { data_len: 512, ..write(0, 1, 512) }, &pattern(512, 3));
        1
    };
    check(no_immediate, immediate, &Sense(0x0c0c));
    check(plain(), |rig| volunteer(rig, &[(0, 0, 512, true)]), &Sense(0x0c0c));
    let small = session(|params| params.first_burst = 512);
    let too_much: Break = |rig| {
        rig.send(0, ScsiCommand { data_len: 1024, ..write(0, 2, 1024) }, &pattern(1024, 3));
        1
    };
    check(small, too_much, &Sense(0x0c0d));
}

#[test]
fn bursts_arrive_in_the_order_of_their_r2ts() {
    let setup = session(|params| (params.max_burst, params.max_outstanding_r2t) = (512, 2));
    let break_it: Break = |rig| {
        rig.send(0, write(0, 2, 1024), &[]);
        rig.run();
        let r2ts: Vec<_> = rig.replies(0).into_iter().map(|reply| reply.pdu).collect();
        let [Response::R2t(first), Response::R2t(second)] = &r2ts[..] else { panic!("{r2ts:?}") };
        rig.send(0, data_out(second, 0, 512, 512, true), &pattern(512, 3));
        rig.send(0, data_out(first, 0, 0, 512, true), &pattern(512, 3));
        1
    };
    check(setup, break_it, &Sense(0x4705));
}

#[test]
fn the_data_of_one_r2t_does_not_serve_another() {
    let setup = session(|params| (params.max_burst, params.max_outstanding_r2t) = (512, 2));
    let break_it: Break = |rig| {
        rig.send(0, write(0, 2, 1024), &[]);
        rig.run();
        let r2ts: Vec<_> = rig.replies(0).into_iter().map(|reply| reply.pdu).collect();
        let [Response::R2t(first), Response::R2t(second)] = &r2ts[..] else { panic!("{r2ts:?}") };
        rig.send(0, data_out(second, 0, 0, 512, true), &pattern(512, 3));
        rig.send(0, data_out(first, 0, 512, 512, true), &pattern(512, 3));
        1
    };
    check(setup, break_it, &Sense(0x4705));
}

#[test]
fn no_more_data_than_expected_is_accepted() {
    let setup = session(|params| params.initial_r2t = false);
    let break_it: Break = |rig| {
        rig.send(0, ScsiCommand { is_final: false, ..write(0, 1, 512) }, &[]);
        rig.send(0, unsolicited(0, 0, 0, 516, true), &pattern(516, 3));
        1
    };
    check(setup, break_it, &Sense(0x0c0d));
}

#[test]
fn damaged_data_is_rejected_and_not_applied() {
    let immediate: Break = |rig| {
        rig.send(0, ScsiCommand { data_len: 512, ..write(0, 1, 512) }, &pattern(512, 3));
        rig.damage_last(0);
        1
    };
    check(digests(), immediate, &RejectAndSense(0x4705));
    let solicited: Break = |rig| {
        let used = solicit(rig, &[(0, 0, 1024, true)]);
        rig.damage_last(0);
        used
    };
    check(digests(), solicited, &RejectAndSense(0x4705));
    let ping: Break = |rig| {
        rig.send(0, nop(Some(5), 3), b"abc");
        rig.damage_last(0);
        0
    };
    check(digests(), ping, &Reject(RejectReason::DataDigestError));
    let text: Break = |rig| {
        rig.send(0, text(0, RESERVED_TAG, 8), b"abcdefg\0");
        rig.damage_last(0);
        1
    };
    check(digests(), text, &Reject(RejectReason::DataDigestError));
}

fn nop(tag: Option<u32>, data_len: u32) -> NopOut {
    NopOut {
        immediate: true,
        lun: Lun::default(),
        task_tag: tag.unwrap_or(RESERVED_TAG),
        transfer_tag: RESERVED_TAG,
        cmd_sn: numbers(0).1,
        exp_stat_sn: 0,
        data_len,
    }
}

fn text(nth: u32, transfer_tag: u32, data_len: u32) -> TextRequest {
    TextRequest {
        immediate: false,
        is_final: true,
        goes_on: false,
        lun: Lun::default(),
        task_tag: numbers(nth).0,
        transfer_tag,
        cmd_sn: numbers(nth).1,
        exp_stat_sn: 0,
        data_len,
    }
}

/// A header with some bytes changed.
fn altered(mut bhs: Bhs, change: fn(&mut Bhs)) -> Bhs {
    change(&mut bhs);
    bhs
}

/// Each violation is answered by a Reject with its reason.
#[track_caller]
fn rejected(cases: &[(Break, RejectReason)]) {
    let limits = Limits { text: 8190, ..Limits::default() };
    for &(break_it, reason) in cases {
        check(Setup { limits, ..plain() }, break_it, &Reject(reason));
    }
}

#[test]
fn unparsable_pdus_are_rejected() {
    use RejectReason::{CommandNotSupported, InvalidPduField, SnackReject};
    rejected(&[
        (
            |rig| {
                let (kind, lun) = (SnackType::Status, Lun::default());
                let (task_tag, transfer_tag) = (RESERVED_TAG, RESERVED_TAG);
                let snack =
                    Snack { kind, lun, task_tag, transfer_tag, exp_stat_sn: 0, begin: 0, run: 0 };
                rig.send(0, snack, &[]);
                0
            },
            SnackReject,
        ),
        // An undefined opcode with data, and one that only a target may use.
        (
            |rig| {
                let bhs = altered(nop(None, 5).encode(), |bhs| bhs[0] = 0x1c);
                rig.send_raw(0, bhs, &[], b"hello");
                0
            },
            CommandNotSupported,
        ),
        (
            |rig| {
                rig.send_raw(0, altered(nop(None, 0).encode(), |bhs| bhs[0] = 0x20), &[], &[]);
                0
            },
            CommandNotSupported,
        ),
        // A ping that consumes a number and wants no answer.
        (
            |rig| {
                rig.send_raw(0, altered(nop(None, 0).encode(), |bhs| bhs[0] = 0), &[], &[]);
                1
            },
            InvalidPduField,
        ),
    ]);
}

#[test]
fn inconsistent_pdus_are_rejected() {
    use RejectReason::{InvalidPduField, LongOperationReject, ProtocolError, TaskInProgress};
    rejected(&[
        (
            |rig| {
                rig.lazy = true;
                rig.send(0, test_unit_ready(0), &[]);
                rig.send(0, ScsiCommand { task_tag: numbers(0).0, ..test_unit_ready(1) }, &[]);
                2
            },
            TaskInProgress,
        ),
        (
            |rig| {
                rig.send(0, ScsiCommand { task_tag: RESERVED_TAG, ..test_unit_ready(0) }, &[]);
                1
            },
            InvalidPduField,
        ),
        // Announced unsolicited data, data, or a length, in a command that does not write.
        (
            |rig| {
                rig.send(0, ScsiCommand { is_final: false, ..test_unit_ready(0) }, &[]);
                1
            },
            InvalidPduField,
        ),
        (
            |rig| {
                let read =
                    ScsiCommand { read: true, data_len: 4, expected_len: 4, ..test_unit_ready(0) };
                rig.send(0, read, b"data");
                1
            },
            InvalidPduField,
        ),
        (
            |rig| {
                rig.send_raw(0, altered(nop(None, 0).encode(), |bhs| bhs[4] = 1), &[0; 4], &[]);
                0
            },
            ProtocolError,
        ),
        (
            |rig| {
                rig.send(0, text(0, RESERVED_TAG, 8191), &[b'x'; 8191]);
                1
            },
            LongOperationReject,
        ),
        (
            |rig| {
                rig.send(0, text(0, 99, 4), b"a=b\0");
                1
            },
            InvalidPduField,
        ),
        (
            |rig| {
                let bhs = altered(test_unit_ready(0).encode(), |bhs| bhs[1] |= 7);
                rig.send_raw(0, bhs, &[], &[]);
                1
            },
            InvalidPduField,
        ),
    ]);
}

#[test]
fn immediate_commands_are_bounded() {
    let limits = Limits { immediate: 2, ..Limits::default() };
    let break_it: Break = |rig| {
        rig.lazy = true;
        for nth in 0..3 {
            let (task_tag, _) = numbers(nth);
            rig.send(0, ScsiCommand { immediate: true, task_tag, ..test_unit_ready(0) }, &[]);
        }
        0
    };
    check(Setup { limits, ..plain() }, break_it, &Reject(RejectReason::ImmediateCommandReject));
}

#[test]
fn lost_framing_closes_the_connection() {
    let damaged: Break = |rig| {
        rig.send(0, test_unit_ready(0), &[]);
        rig.damage_last(0);
        1
    };
    check(digests(), damaged, &Closed(Violation::HeaderDigest));
    let long: Break = |rig| {
        rig.send(0, nop(Some(1), 8193), &[0; 8193]);
        0
    };
    check(plain(), long, &Closed(Violation::SegmentTooLong { len: 8193, most: 8192 }));
    let gap: Break = |rig| {
        rig.send(0, test_unit_ready(1), &[]);
        1
    };
    let (got, expected) = (numbers(1).1, numbers(0).1);
    check(plain(), gap, &Closed(Violation::Gap { got, expected }));
    let login: Break = |rig| {
        let bhs = altered(nop(None, 0).encode(), |bhs| (bhs[0], bhs[1]) = (0x43, 0x87));
        let understood = Request::parse(&bhs, &[]);
        assert!(matches!(understood, Ok(Request::Login(_))), "{understood:?}");
        rig.send_raw(0, bhs, &[], &[]);
        0
    };
    check(plain(), login, &Closed(Violation::Unexpected(Opcode::LoginRequest)));
}

#[test]
fn data_beyond_the_largest_offset_closes_the_connection() {
    let mut rig = Rig::new(plain());
    let r2t = asked(&mut rig, write(0, 2, 1024));
    rig.send(0, data_out(&r2t, 0, u32::MAX - 3, 8, true), &[1; 8]);
    rig.run();
    assert!(matches!(rig.links[0].closed, Some(CloseReason::Violation(Violation::Malformed(_)))));
    assert!(rig.over && rig.memory.values().flatten().all(|&byte| byte == 0));
}

#[test]
fn late_and_out_of_window_pdus_are_ignored() {
    let cases: [Break; 6] = [
        |rig| {
            let (tag, number) = numbers(0);
            let before = (tag, number.wrapping_sub(1));
            rig.send(
                0,
                ScsiCommand { cmd_sn: before.1, data_len: 512, ..write(0, 1, 512) },
                &[9; 512],
            );
            0
        },
        |rig| {
            let cmd_sn = rig.session.max_cmd_sn().wrapping_add(1);
            rig.send(0, ScsiCommand { cmd_sn, data_len: 512, ..write(0, 1, 512) }, &[9; 512]);
            0
        },
        |rig| {
            let cmd_sn = numbers(0).1.wrapping_add(1 << 31);
            rig.send(0, ScsiCommand { cmd_sn, data_len: 512, ..write(0, 1, 512) }, &[9; 512]);
            0
        },
        |rig| {
            rig.send(0, unsolicited(0, 0, 0, 512, true), &[9; 512]);
            0
        },
        |rig| {
            rig.send(
                0,
                DataOut { transfer_tag: 0x00f0_0000, ..unsolicited(0, 0, 0, 512, true) },
                &[9; 512],
            );
            0
        },
        // An answer to a ping that was not sent.
        |rig| {
            rig.send(0, NopOut { transfer_tag: 1, ..nop(None, 3) }, b"abc");
            0
        },
    ];
    for break_it in cases {
        check(plain(), break_it, &Silence);
    }
}

//! Pings in both directions, text, and asynchronous messages.

use iscsi::pdu::{AsyncEvent, Lun, NopOut, RESERVED_TAG, Response, TextRequest, sense_segment};
use iscsi::scsi::{Sense, SenseKey};
use iscsi::target::{Event, Limits, Notice, Refused};

use super::rig::{Reply, Rig, Setup};

fn nop(rig: &Rig, task_tag: u32, transfer_tag: u32, data_len: u32) -> NopOut {
    let (lun, cmd_sn) = (Lun::default(), rig.setup.numbers.0);
    NopOut { immediate: true, lun, task_tag, transfer_tag, cmd_sn, exp_stat_sn: 0, data_len }
}

#[track_caller]
fn one(rig: &mut Rig) -> Reply {
    rig.run();
    let mut replies = rig.replies(0);
    assert_eq!(replies.len(), 1, "{replies:?}");
    replies.remove(0)
}

#[track_caller]
fn check_ping(setup: Setup, data: usize, echoed: usize) {
    let mut rig = Rig::new(setup);
    let data = vec![0x5a; data];
    rig.send(0, nop(&rig, 9, RESERVED_TAG, data.len() as u32), &data);
    let reply = one(&mut rig);
    let Response::NopIn(pong) = reply.pdu else { panic!("{reply:?}") };
    assert_eq!((pong.task_tag, pong.transfer_tag), (9, RESERVED_TAG));
    assert_eq!(reply.data, data[..echoed]);
    assert_eq!(pong.sequence.exp_cmd_sn, setup.numbers.0, "an immediate one uses no number up");
}

#[test]
fn pings_are_answered_with_their_data() {
    let digests = Setup { header_digest: true, data_digest: true, ..Setup::default() };
    for setup in [Setup::default(), digests] {
        check_ping(setup, 0, 0);
        check_ping(setup, 1, 1);
        check_ping(setup, 4096, 4096);
        check_ping(setup, 8191, 4096);
        check_ping(Setup { max_send: 512, ..setup }, 1000, 512);
        check_ping(Setup { limits: Limits { ping: 10, ..Limits::default() }, ..setup }, 11, 10);
    }
}

#[test]
fn a_non_immediate_ping_consumes_a_number() {
    let mut rig = Rig::new(Setup::default());
    rig.send(0, NopOut { immediate: false, ..nop(&rig, 9, RESERVED_TAG, 0) }, &[]);
    let reply = one(&mut rig);
    let Response::NopIn(pong) = reply.pdu else { panic!("{reply:?}") };
    assert_eq!(pong.sequence.exp_cmd_sn, rig.setup.numbers.0.wrapping_add(1));
}

#[test]
fn the_target_pings_and_receives_the_answer() {
    let mut rig = Rig::new(Setup::default());
    let id = rig.links[0].id;
    rig.session.ping(id).expect("a ping can be sent");
    assert_eq!(rig.session.ping(id), Err(Refused::Full), "one at a time");
    let reply = one(&mut rig);
    let Response::NopIn(ping) = reply.pdu else { panic!("{reply:?}") };
    assert_eq!(ping.task_tag, RESERVED_TAG);
    rig.send(0, nop(&rig, RESERVED_TAG, ping.transfer_tag ^ 1, 0), &[]);
    rig.run();
    assert_eq!(rig.events, [], "that was another ping");
    rig.send(0, nop(&rig, RESERVED_TAG, ping.transfer_tag, 4), b"abcd");
    rig.run();
    assert_eq!(rig.events, [Event::Pong(id)]);
    assert_eq!(rig.replies(0), []);
    rig.session.ping(id).expect("the next one can be sent");
}

fn text(rig: &Rig, nth: u32, transfer_tag: u32, goes_on: bool, data_len: u32) -> TextRequest {
    TextRequest {
        immediate: false,
        is_final: !goes_on,
        goes_on,
        lun: Lun::default(),
        task_tag: 5,
        transfer_tag,
        cmd_sn: rig.setup.numbers.0.wrapping_add(nth),
        exp_stat_sn: 0,
        data_len,
    }
}

/// A request in `parts`; the answer, three times the request, comes in PDUs that the initiator requests.
#[track_caller]
fn check_text(setup: Setup, parts: &[&[u8]]) {
    let mut rig = Rig::new(setup);
    let (mut transfer_tag, mut nth, mut answer) = (RESERVED_TAG, 0, Vec::<u8>::new());
    for (at, part) in parts.iter().enumerate() {
        let goes_on = at + 1 < parts.len();
        rig.send(0, text(&rig, nth, transfer_tag, goes_on, part.len() as u32), part);
        nth += 1;
        let mut reply = one(&mut rig);
        loop {
            let Response::Text(end) = &reply.pdu else { panic!("{reply:?}") };
            assert_eq!(end.is_final, end.transfer_tag == RESERVED_TAG);
            assert!(!end.goes_on || reply.data.len() == setup.max_send as usize, "as much as fits");
            answer.extend(&reply.data);
            transfer_tag = end.transfer_tag;
            if goes_on || end.is_final {
                break;
            }
            rig.send(0, text(&rig, nth, transfer_tag, false, 0), &[]);
            nth += 1;
            reply = one(&mut rig);
        }
    }
    let question = parts.concat();
    assert_eq!(answer, [&question[..], &question, &question].concat());
    let texts = rig.events.iter().filter(|event| matches!(event, Event::Text { .. })).count();
    assert_eq!(texts, 1, "the owner is asked once");
}

#[test]
fn text_and_answer_use_several_pdus() {
    let digests = Setup { header_digest: true, data_digest: true, ..Setup::default() };
    for setup in [Setup::default(), digests, Setup { max_send: 7, ..Setup::default() }] {
        check_text(setup, &[b"SendTargets=All\0"]);
        check_text(setup, &[b"SendTar", b"gets=", b"", b"\0"]);
        check_text(setup, &[b""]);
    }
}

#[test]
fn the_total_of_a_text_is_bounded() {
    let limits = Limits { text: 1000, ..Limits::default() };
    let mut rig = Rig::new(Setup { limits, ..Setup::default() });
    rig.send(0, text(&rig, 0, RESERVED_TAG, true, 600), &[b'x'; 600]);
    let reply = one(&mut rig);
    let Response::Text(part) = reply.pdu else { panic!("{reply:?}") };
    rig.send(0, text(&rig, 1, part.transfer_tag, true, 401), &[b'x'; 401]);
    assert!(matches!(one(&mut rig).pdu, Response::Reject(_)));
    rig.send(0, text(&rig, 2, RESERVED_TAG, false, 4), b"a=b\0");
    assert_eq!(one(&mut rig).data, b"a=b\0a=b\0a=b\0", "and a new question is answered");
}

#[test]
fn text_with_a_damaged_part_starts_again() {
    let mut rig = Rig::new(Setup { data_digest: true, ..Setup::default() });
    rig.send(0, text(&rig, 0, RESERVED_TAG, true, 4), b"Send");
    let reply = one(&mut rig);
    let Response::Text(part) = reply.pdu else { panic!("{reply:?}") };
    rig.send(0, text(&rig, 1, part.transfer_tag, true, 4), b"Targ");
    rig.damage_last(0);
    assert!(matches!(one(&mut rig).pdu, Response::Reject(_)));
    rig.send(0, text(&rig, 2, part.transfer_tag, false, 4), b"Targ");
    assert!(matches!(one(&mut rig).pdu, Response::Reject(_)), "the exchange is over");
    rig.send(0, text(&rig, 3, RESERVED_TAG, false, 4), b"a=b\0");
    assert_eq!(one(&mut rig).data, b"a=b\0a=b\0a=b\0");
}

#[test]
fn an_exchange_ends_with_the_last_request() {
    let mut rig = Rig::new(Setup::default());
    rig.send(0, TextRequest { is_final: false, ..text(&rig, 0, RESERVED_TAG, false, 4) }, b"a=b\0");
    let reply = one(&mut rig);
    let Response::Text(first) = reply.pdu else { panic!("{reply:?}") };
    assert!(!first.is_final && !first.goes_on && first.transfer_tag != RESERVED_TAG, "{first:?}");
    rig.send(0, text(&rig, 1, first.transfer_tag, false, 4), b"c=d\0");
    let reply = one(&mut rig);
    let Response::Text(second) = reply.pdu else { panic!("{reply:?}") };
    assert!(second.is_final && second.transfer_tag == RESERVED_TAG, "{second:?}");
    assert_eq!(reply.data, b"c=d\0c=d\0c=d\0");
}

#[test]
fn one_text_exchange_at_a_time() {
    let mut rig = Rig::new(Setup::default());
    rig.manual = true;
    rig.send(0, text(&rig, 0, RESERVED_TAG, false, 4), b"a=b\0");
    rig.run();
    assert_eq!(rig.replies(0), []);
    rig.send(0, text(&rig, 1, RESERVED_TAG, false, 4), b"c=d\0");
    assert!(matches!(one(&mut rig).pdu, Response::Reject(_)));
    rig.session.text(rig.links[0].id, b"answer\0".to_vec());
    rig.session.text(rig.links[0].id, b"again\0".to_vec());
    assert_eq!(one(&mut rig).data, b"answer\0", "once");
}

#[test]
fn asynchronous_messages() {
    let sense = Sense::new(SenseKey::UnitAttention, 0x2900);
    let lun = Lun::new(1);
    let cases = [
        (Notice::Scsi { lun, sense, descriptor: false }, AsyncEvent::Scsi, lun, [0, 0, 0]),
        (Notice::RequestLogout { within: 3 }, AsyncEvent::RequestLogout, Lun::default(), [0, 0, 3]),
        (
            Notice::DropConnection { wait: 2, retain: 1 },
            AsyncEvent::DropConnection,
            Lun::default(),
            [0, 2, 1],
        ),
        (
            Notice::DropSession { wait: 2, retain: 1 },
            AsyncEvent::DropSession,
            Lun::default(),
            [0, 2, 1],
        ),
        (Notice::TasksTerminated { lun }, AsyncEvent::TasksTerminated, lun, [0, 0, 0]),
    ];
    for (notice, event, lun, parameters) in cases {
        let mut rig = Rig::new(Setup { data_digest: true, ..Setup::default() });
        rig.session.notify(rig.links[0].id, notice).expect("there is room");
        let reply = one(&mut rig);
        let Response::Async(message) = reply.pdu else { panic!("{reply:?}") };
        assert_eq!((message.event, message.lun, message.parameters), (event, lun, parameters));
        let told = sense_segment(&reply.data).map(|sense| (sense[2], sense[12]));
        assert_eq!(told, (event == AsyncEvent::Scsi).then_some((6, 0x29)));
    }
}

#[test]
fn queued_asynchronous_messages_are_bounded() {
    let mut rig = Rig::new(Setup::default());
    let (id, notice) = (rig.links[0].id, Notice::RequestLogout { within: 3 });
    for _ in 0..64 {
        rig.session.notify(id, notice).expect("there is room");
    }
    assert_eq!(rig.session.notify(id, notice), Err(Refused::Full));
    rig.cut(0);
    assert_eq!(rig.session.notify(id, notice), Err(Refused::Closed));
    assert_eq!(rig.session.ping(id), Err(Refused::Closed));
}

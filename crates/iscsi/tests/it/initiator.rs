//! The initiator's session against a scripted target: output, events, and every detected protocol violation.

use iscsi::digest;
use iscsi::initiator::{
    Cdb, Command, CommandEnd, Conn, Error, Event, LoginNumbers, Out, Refused, SenseData, Session,
    Settings, Transfer, Want,
};
use iscsi::pdu::*;

const SETTINGS: Settings = Settings {
    send_segment: 8192,
    receive_segment: 8192,
    first_burst: 8192,
    max_burst: 16384,
    initial_r2t: false,
    immediate_data: true,
    max_outstanding_r2t: 2,
    header_digest: false,
    data_digest: false,
};

const LUN: Lun = Lun::new(3);

/// A session and its target's sequence numbers.
struct Play {
    session: Session,
    stat_sn: u32,
}

/// A PDU that was sent, with the slot, offset and length of its data.
type Sent = (Request, Option<(u32, u32, u32)>);

impl Play {
    fn new(settings: Settings) -> Play {
        let start = LoginNumbers { cmd_sn: 7, max_cmd_sn: 10, stat_sn: 100, cid: 0 };
        Play { session: Session::new(settings, start, 8), stat_sn: 100 }
    }

    /// The numbers of a PDU with a status, which consumes a StatSN.
    fn status(&mut self) -> Sequence {
        self.stat_sn += 1;
        Sequence { stat_sn: self.stat_sn - 1, exp_cmd_sn: 7, max_cmd_sn: 10 }
    }

    /// The numbers of a PDU without one.
    fn running(&self) -> Sequence {
        Sequence { stat_sn: self.stat_sn, exp_cmd_sn: 7, max_cmd_sn: 10 }
    }

    fn command(&mut self, slot: u32, transfer: Transfer) {
        let attribute = TaskAttribute::Simple;
        let command = Command { lun: LUN, cdb: Cdb::read(1, 2), transfer, attribute };
        self.session.command(slot, &command).expect("there is room");
    }

    /// All pending output.
    fn sent(&mut self) -> Vec<Sent> {
        let mut out = Vec::new();
        while self.session.has_output(Conn::LEAD) {
            self.session.pull(Conn::LEAD, 1, &mut out);
        }
        let mut sent: Vec<Sent> = Vec::new();
        for part in out {
            match part {
                Out::Header { bytes, len } => {
                    let bhs = bytes[..48].try_into().expect("48 bytes");
                    if len == 52 {
                        assert_eq!(bytes[48..], digest::of(&bytes[..48]));
                    }
                    sent.push((Request::parse(&bhs, &[]).expect("a request"), None));
                }
                Out::Data { slot, offset, len } => {
                    sent.last_mut().expect("a header").1 = Some((slot, offset, len));
                }
                Out::Bytes(_) | Out::Trailer { .. } => {}
            }
        }
        sent
    }

    /// The tag of the only command in the output.
    fn tag(&mut self) -> u32 {
        match self.sent().first() {
            Some((Request::Command(pdu), _)) => pdu.task_tag,
            other => panic!("{other:?}"),
        }
    }

    /// Feeds a PDU with its data; returns where the data was wanted.
    fn hear(&mut self, pdu: impl Into<Response>, data: &[u8]) -> Result<Option<(u32, u32)>, Error> {
        let header = pdu.into().encode();
        let mut bytes = header.to_vec();
        if self.session.settings().header_digest {
            bytes.extend(digest::of(&header));
        }
        self.session.header(Conn::LEAD, &bytes)?;
        let mut place = None;
        loop {
            match self.session.want(Conn::LEAD) {
                Want::Header | Want::Nothing => return Ok(place),
                Want::Into { slot, offset, len } => {
                    place.get_or_insert((slot, offset));
                    // In two parts, as sockets do.
                    self.session.received(Conn::LEAD, len.div_ceil(2))?;
                }
                Want::Bytes { .. } => self.session.bytes(Conn::LEAD, data)?,
                Want::Trailer { .. } => self.session.trailer(Conn::LEAD, true)?,
            }
        }
    }

    fn data_in(&mut self, tag: u32, data_sn: u32, offset: u32, len: u32) -> DataIn {
        DataIn {
            is_final: true,
            acknowledge: false,
            status: None,
            lun: LUN,
            task_tag: tag,
            transfer_tag: RESERVED_TAG,
            sequence: self.running(),
            data_sn,
            offset,
            data_len: len,
        }
    }

    fn r2t(&self, tag: u32, r2t_sn: u32, offset: u32, desired_len: u32) -> R2t {
        let sequence = self.running();
        R2t {
            lun: LUN,
            task_tag: tag,
            transfer_tag: 40 + r2t_sn,
            sequence,
            r2t_sn,
            offset,
            desired_len,
        }
    }

    fn response(
        &mut self,
        tag: u32,
        status: u8,
        residual: Residual,
        data_len: u32,
    ) -> ScsiResponse {
        ScsiResponse {
            response: ServiceResponse::Completed,
            status,
            task_tag: tag,
            snack_tag: 0,
            sequence: self.status(),
            exp_data_sn: 0,
            read_residual: Residual::None,
            residual,
            data_len,
        }
    }

    #[track_caller]
    fn heard(&mut self, wanted: Event) {
        assert_eq!(self.session.event(), Some(wanted));
        assert_eq!(self.session.event(), None);
    }
}

fn good(moved: u32) -> CommandEnd {
    CommandEnd::Status { status: 0, moved, residual: Residual::None, sense: None }
}

#[test]
fn a_read_ends_with_its_last_data_or_with_a_response() {
    let mut play = Play::new(SETTINGS);
    play.command(2, Transfer::In(6000));
    let tag = play.tag();
    let first = play.data_in(tag, 0, 0, 4001);
    assert_eq!(play.hear(first, &[]), Ok(Some((2, 0))));
    assert_eq!(play.session.event(), None);
    let sequence = play.status();
    let end = DataInStatus { status: 0, residual: Residual::None };
    let last = DataIn { status: Some(end), sequence, ..play.data_in(tag, 1, 4001, 1999) };
    assert_eq!(play.hear(last, &[]), Ok(Some((2, 4001))));
    play.heard(Event::Done { slot: 2, ending: good(6000) });

    play.command(2, Transfer::In(512));
    let again = play.tag();
    assert_ne!(again, tag, "a late PDU must not be taken for the new command's");
    let data = play.data_in(again, 0, 0, 512);
    assert_eq!(play.hear(data, &[]), Ok(Some((2, 0))));
    let response = play.response(again, 0, Residual::None, 0);
    assert_eq!(play.hear(response, &[]), Ok(None));
    play.heard(Event::Done { slot: 2, ending: good(512) });
}

#[test]
fn sense_and_residuals_are_reported() {
    let mut play = Play::new(SETTINGS);
    play.command(0, Transfer::In(96));
    let tag = play.tag();
    let data = play.data_in(tag, 0, 0, 36);
    assert!(play.hear(data, &[]).is_ok());
    let residual = Residual::Underflow(60);
    let response = play.response(tag, 0, residual, 0);
    assert!(play.hear(response, &[]).is_ok());
    let ending = CommandEnd::Status { status: 0, moved: 36, residual, sense: None };
    play.heard(Event::Done { slot: 0, ending });

    play.command(0, Transfer::In(512));
    let tag = play.tag();
    let segment = [0, 18, 0x70, 0, 6, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x29, 0, 0, 0, 0, 0];
    let residual = Residual::Underflow(512);
    let response = play.response(tag, 2, residual, segment.len() as u32);
    assert!(play.hear(response, &segment).is_ok());
    let sense =
        Some(SenseData { key: 6, code: 0x2900, information: None, deferred: false, stream: 0 });
    let ending = CommandEnd::Status { status: 2, moved: 0, residual, sense };
    play.heard(Event::Done { slot: 0, ending });
}

/// The unsolicited data of a 32 KiB write: immediate, and after the command.
#[track_caller]
fn early(settings: Settings, immediate: u32, unsolicited: &[(u32, u32)]) {
    let mut play = Play::new(settings);
    play.command(1, Transfer::Out(32 << 10));
    let sent = play.sent();
    let Some((Request::Command(command), _)) = sent.first() else { panic!("{sent:?}") };
    assert_eq!((command.data_len, command.is_final), (immediate, unsolicited.is_empty()));
    let data: Vec<(u32, u32)> = sent[1..]
        .iter()
        .map(|(_, at)| at.map(|(_, offset, len)| (offset, len)).expect("data"))
        .collect();
    assert_eq!(data, unsolicited);
    for (n, (pdu, _)) in sent[1..].iter().enumerate() {
        let Request::DataOut(pdu) = pdu else { panic!("{pdu:?}") };
        assert_eq!((pdu.data_sn, pdu.transfer_tag), (n as u32, RESERVED_TAG));
        assert_eq!(pdu.is_final, n + 1 == unsolicited.len());
    }
}

#[test]
fn unsolicited_data_follows_the_negotiation() {
    early(SETTINGS, 8192, &[]);
    let longer = Settings { first_burst: 20_000, ..SETTINGS };
    early(longer, 8192, &[(8192, 8192), (16384, 3616)]);
    early(Settings { initial_r2t: true, ..longer }, 8192, &[]);
    early(
        Settings { immediate_data: false, ..longer },
        0,
        &[(0, 8192), (8192, 8192), (16384, 3616)],
    );
    early(Settings { immediate_data: false, initial_r2t: true, ..longer }, 0, &[]);
    early(Settings { header_digest: true, data_digest: true, ..SETTINGS }, 8192, &[]);
}

#[test]
fn solicited_data_is_sent_in_order_and_in_segments() {
    let mut play = Play::new(SETTINGS);
    play.command(1, Transfer::Out(32 << 10));
    let tag = play.tag();
    for (n, offset, len) in [(0, 8192, 12_000), (1, 20_192, 12_576)] {
        let r2t = play.r2t(tag, n, offset, len);
        assert_eq!(play.hear(r2t, &[]), Ok(None));
    }
    let told = play.sent().into_iter().map(|(pdu, at)| match pdu {
        Request::DataOut(pdu) => (pdu.transfer_tag, pdu.data_sn, pdu.is_final, at),
        other => panic!("{other:?}"),
    });
    let wanted = [
        (40, 0, false, Some((1, 8192, 8192))),
        (40, 1, true, Some((1, 16384, 3808))),
        (41, 0, false, Some((1, 20_192, 8192))),
        (41, 1, true, Some((1, 28_384, 4384))),
    ];
    assert_eq!(told.collect::<Vec<_>>(), wanted);
    let response = play.response(tag, 0, Residual::None, 0);
    assert!(play.hear(response, &[]).is_ok());
    play.heard(Event::Done { slot: 1, ending: good(32 << 10) });
}

#[test]
fn the_window_bounds_commands_and_opens_with_any_pdu() {
    let mut play = Play::new(SETTINGS);
    (0..4).for_each(|slot| play.command(slot, Transfer::None));
    assert_eq!(play.session.room(), 0);
    let command = Command {
        lun: LUN,
        cdb: Cdb::TEST_UNIT_READY,
        transfer: Transfer::None,
        attribute: TaskAttribute::Simple,
    };
    assert_eq!(play.session.command(5, &command), Err(Refused::Window));
    assert_eq!(play.session.command(3, &command), Err(Refused::Slot));
    assert_eq!(play.session.command(99, &command), Err(Refused::Slot));
    let sequence = Sequence { exp_cmd_sn: 11, max_cmd_sn: 12, ..play.running() };
    let nop = NopIn {
        lun: LUN,
        task_tag: RESERVED_TAG,
        transfer_tag: RESERVED_TAG,
        sequence,
        data_len: 0,
    };
    assert!(play.hear(nop, &[]).is_ok());
    assert_eq!(play.session.room(), 2);
    let numbers: Vec<u32> = play
        .sent()
        .iter()
        .filter_map(|(pdu, _)| match pdu {
            Request::Command(pdu) => Some(pdu.cmd_sn),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, [7, 8, 9, 10]);
}

#[test]
fn pings_are_answered_and_asked() {
    let mut play = Play::new(SETTINGS);
    let nop = NopIn {
        lun: LUN,
        task_tag: RESERVED_TAG,
        transfer_tag: 77,
        sequence: play.running(),
        data_len: 0,
    };
    assert!(play.hear(nop, &[]).is_ok());
    match play.sent().as_slice() {
        [(Request::NopOut(pdu), None)] => {
            assert_eq!((pdu.transfer_tag, pdu.task_tag, pdu.lun), (77, RESERVED_TAG, LUN));
        }
        other => panic!("{other:?}"),
    }
    play.session.ping().expect("there is room");
    let Some((Request::NopOut(ping), _)) = play.sent().pop() else { panic!("no ping") };
    let sequence = play.status();
    let nop = NopIn {
        lun: LUN,
        task_tag: ping.task_tag,
        transfer_tag: RESERVED_TAG,
        sequence,
        data_len: 0,
    };
    assert!(play.hear(nop, &[]).is_ok());
    play.heard(Event::Pong);
    let many = (0..99).filter(|_| play.session.ping().is_ok()).count();
    assert_eq!(many, 64, "requests are bounded");
}

#[test]
fn text_continues_until_it_is_complete() {
    let mut play = Play::new(SETTINGS);
    play.session.text(b"SendTargets=All\0").expect("there is room");
    let Some((Request::Text(first), _)) = play.sent().pop() else { panic!("no text") };
    let part = |play: &mut Play, is_final, transfer_tag| TextResponse {
        is_final,
        goes_on: !is_final,
        lun: Lun(0),
        task_tag: first.task_tag,
        transfer_tag,
        sequence: play.status(),
        data_len: 4,
    };
    let pdu = part(&mut play, false, 9);
    assert!(play.hear(pdu, b"abcd").is_ok());
    let Some((Request::Text(next), _)) = play.sent().pop() else { panic!("no text") };
    assert_eq!((next.task_tag, next.transfer_tag, next.data_len), (first.task_tag, 9, 0));
    let pdu = part(&mut play, true, RESERVED_TAG);
    assert!(play.hear(pdu, b"efgh").is_ok());
    play.heard(Event::Text(b"abcdefgh".to_vec()));
    assert_eq!(play.session.text(&[0; 9000]), Err(Refused::Text));
}

#[test]
fn task_management_ends_the_affected_tasks() {
    let mut play = Play::new(SETTINGS);
    (0..3).for_each(|slot| play.command(slot, Transfer::In(512)));
    play.sent();
    let tag = play.session.manage(TaskFunction::AbortTask, LUN, Some(1)).expect("a task");
    assert_eq!(play.session.manage(TaskFunction::AbortTask, LUN, Some(7)), Err(Refused::Slot));
    let sequence = play.status();
    let outcome = TaskOutcome::Complete;
    assert!(play.hear(TaskResponse { outcome, task_tag: tag, sequence }, &[]).is_ok());
    assert_eq!(play.session.event(), Some(Event::Done { slot: 1, ending: CommandEnd::Aborted }));
    play.heard(Event::Managed { tag, outcome });
    let tag = play.session.manage(TaskFunction::LogicalUnitReset, LUN, None).expect("room");
    let (sequence, outcome) = (play.status(), TaskOutcome::NotSupported);
    assert!(play.hear(TaskResponse { outcome, task_tag: tag, sequence }, &[]).is_ok());
    play.heard(Event::Managed { tag, outcome });
    let tag = play.session.manage(TaskFunction::LogicalUnitReset, LUN, None).expect("room");
    let (sequence, outcome) = (play.status(), TaskOutcome::Complete);
    assert!(play.hear(TaskResponse { outcome, task_tag: tag, sequence }, &[]).is_ok());
    let ended = [play.session.event(), play.session.event()];
    let aborted = |slot| Some(Event::Done { slot, ending: CommandEnd::Aborted });
    assert_eq!(ended, [aborted(0), aborted(2)]);
    play.heard(Event::Managed { tag, outcome });
}

#[test]
fn a_logout_ends_the_session() {
    let mut play = Play::new(SETTINGS);
    play.session.logout().expect("open");
    assert_eq!((play.session.room(), play.session.ping()), (0, Err(Refused::Over)));
    let Some((Request::Logout(pdu), _)) = play.sent().pop() else { panic!("no logout") };
    let response = LogoutResponse {
        outcome: LogoutOutcome::Closed,
        task_tag: pdu.task_tag,
        sequence: play.status(),
        time2wait: 1,
        time2retain: 2,
    };
    assert!(play.hear(response, &[]).is_ok());
    play.heard(Event::LoggedOut { outcome: LogoutOutcome::Closed, time2wait: 1, time2retain: 2 });
    assert_eq!(play.session.want(Conn::LEAD), Want::Nothing);
}

#[test]
fn a_rejected_command_ends_and_other_rejects_are_reported() {
    let mut play = Play::new(SETTINGS);
    play.command(4, Transfer::In(512));
    let tag = play.tag();
    let reason = RejectReason::InvalidPduField;
    for tag in [tag, RESERVED_TAG] {
        let mut header = [0; 48];
        header[16..20].copy_from_slice(&tag.to_be_bytes());
        let reject = Reject { reason, sequence: play.status(), data_sn: 0, data_len: 48 };
        assert!(play.hear(reject, &header).is_ok());
        match play.session.event() {
            Some(Event::Done { slot: 4, ending }) => {
                assert_eq!(ending, CommandEnd::Rejected(reason))
            }
            Some(Event::Rejected { reason: told, header: Some(_) }) => assert_eq!(told, reason),
            other => panic!("{other:?}"),
        }
    }
}

/// The target violates the protocol while a read of 1,000 bytes is in slot 0 and a write of 32 KiB in slot 1: the
/// session reports the violation, and has ended.
#[track_caller]
fn breach(name: &str, act: impl FnOnce(&mut Play, u32, u32) -> Result<Option<(u32, u32)>, Error>) {
    let mut play = Play::new(SETTINGS);
    play.command(0, Transfer::In(1000));
    let read = play.tag();
    play.command(1, Transfer::Out(32 << 10));
    let write = play.tag();
    let told = act(&mut play, read, write).expect_err(name);
    let text = format!("{told:?}");
    assert!(text.starts_with(name), "{text}");
    assert_eq!(play.session.want(Conn::LEAD), Want::Nothing);
    assert_eq!((play.session.room(), play.session.ping()), (0, Err(Refused::Over)));
    let nop = NopIn {
        lun: LUN,
        task_tag: RESERVED_TAG,
        transfer_tag: 1,
        sequence: play.running(),
        data_len: 0,
    };
    assert_eq!(play.hear(nop, &[]), Err(Error::Over));
}

#[test]
fn wrong_data_is_a_violation() {
    let data = |change: fn(&mut DataIn)| {
        move |play: &mut Play, read, _| {
            let mut pdu = play.data_in(read, 0, 0, 500);
            change(&mut pdu);
            play.hear(pdu, &[])
        }
    };
    breach("DataSn", data(|pdu| pdu.data_sn = 1));
    breach("Offset", data(|pdu| pdu.offset = 4));
    breach("TooMuch", data(|pdu| pdu.data_len = 1001));
    breach("Segment", data(|pdu| pdu.data_len = 8193));
    breach("UnknownTask", data(|pdu| pdu.task_tag ^= 0x1_0000));
    breach("UnknownTask", data(|pdu| pdu.task_tag = 0x7fff_ffff));
    breach("UnknownTask", data(|pdu| pdu.task_tag = RESERVED_TAG));
    breach(
        "ExpCmdSn",
        data(|pdu| pdu.sequence = Sequence { exp_cmd_sn: 11, max_cmd_sn: 20, ..pdu.sequence }),
    );
    breach("Direction", |play, _, write| {
        let pdu = play.data_in(write, 0, 0, 500);
        play.hear(pdu, &[])
    });
}

#[test]
fn wrong_r2ts_are_violations() {
    let r2t = |change: fn(&mut R2t)| {
        move |play: &mut Play, _, write| {
            let mut pdu = play.r2t(write, 0, 8192, 4096);
            change(&mut pdu);
            play.hear(pdu, &[])
        }
    };
    breach("DataSn", r2t(|pdu| pdu.r2t_sn = 3));
    breach("Offset", r2t(|pdu| pdu.offset = 0));
    breach("Burst", r2t(|pdu| pdu.desired_len = 16385));
    breach("TooMuch", r2t(|pdu| pdu.desired_len = 1 << 30));
    breach("Malformed", r2t(|pdu| pdu.desired_len = 0));
    breach("Direction", |play, read, _| {
        let pdu = play.r2t(read, 0, 0, 512);
        play.hear(pdu, &[])
    });
    breach("Burst", |play, _, write| {
        for n in 0..2 {
            let pdu = play.r2t(write, n, 8192 + n * 512, 512);
            play.hear(pdu, &[])?;
        }
        let pdu = play.r2t(write, 2, 8192 + 1024, 512);
        play.hear(pdu, &[])
    });
}

#[test]
fn wrong_responses_are_violations() {
    breach("StatSn", |play, read, _| {
        play.status();
        let pdu = play.response(read, 2, Residual::None, 0);
        play.hear(pdu, &[])
    });
    breach("Missing", |play, read, _| {
        let pdu = play.response(read, 0, Residual::None, 0);
        play.hear(pdu, &[])
    });
    breach("Missing", |play, read, _| {
        let pdu = play.response(read, 0, Residual::Underflow(400), 0);
        play.hear(pdu, &[])
    });
    breach("UnknownTask", |play, read, _| {
        let pdu = play.response(read ^ 0x1_0000, 0, Residual::None, 0);
        play.hear(pdu, &[])
    });
    breach("UnknownTask", |play, _, _| {
        let (outcome, sequence) = (TaskOutcome::Complete, play.status());
        play.hear(TaskResponse { outcome, task_tag: 5, sequence }, &[])
    });
    breach("DataDigest", |play, read, _| {
        let pdu = Response::from(play.data_in(read, 0, 0, 5)).encode();
        play.session.header(Conn::LEAD, &pdu)?;
        play.session.received(Conn::LEAD, 5)?;
        play.session.trailer(Conn::LEAD, false).map(|()| None)
    });
    breach("Malformed", |play, _, _| play.session.header(Conn::LEAD, &[0x3e; 48]).map(|()| None));
    breach("HeaderDigest", |play, _, _| play.session.header(Conn::LEAD, &[0; 20]).map(|()| None));
}

#[test]
fn a_wrong_header_digest_is_a_violation() {
    let mut play = Play::new(Settings { header_digest: true, ..SETTINGS });
    let nop = NopIn {
        lun: LUN,
        task_tag: RESERVED_TAG,
        transfer_tag: 1,
        sequence: play.running(),
        data_len: 0,
    };
    assert!(play.hear(nop, &[]).is_ok());
    let mut bytes = Response::from(nop).encode().to_vec();
    assert_eq!(play.session.header_len(Conn::LEAD, bytes[..].first_chunk().expect("48 bytes")), 52);
    bytes.extend(digest::of(&bytes.clone()));
    bytes[51] ^= 1;
    assert_eq!(play.session.header(Conn::LEAD, &bytes), Err(Error::HeaderDigest));
}

proptest::proptest! {
    /// Arbitrary input: no panic, and never more bytes wanted than negotiated.
    #[test]
    fn no_bytes_make_it_panic(
        pdus in proptest::collection::vec((proptest::collection::vec(0_u8..255, 48..=48), 0_u8..12, 0_u32..4), 1..20),
    ) {
        let mut play = Play::new(SETTINGS);
        play.command(0, Transfer::In(1000));
        let read = play.tag();
        play.command(1, Transfer::Out(32 << 10));
        let write = play.tag();
        let opcodes = [0x20, 0x21, 0x22, 0x24, 0x25, 0x26, 0x31, 0x32, 0x3f, 0x25, 0x31, 0x21];
        for (mut bytes, kind, tag) in pdus {
            bytes[0] = opcodes[usize::from(kind)];
            (bytes[4], bytes[5], bytes[6]) = (0, 0, bytes[6] & 3);
            let tag = [read, write, RESERVED_TAG, 9][tag as usize];
            bytes[16..20].copy_from_slice(&tag.to_be_bytes());
            bytes[24..36].copy_from_slice(&[0, 0, 0, 100, 0, 0, 0, 7, 0, 0, 0, 10]);
            if play.session.header(Conn::LEAD, &bytes).is_err() {
                break;
            }
            while let Want::Into { slot, offset, len } = play.session.want(Conn::LEAD) {
                proptest::prop_assert!(slot == 0 && offset + len <= 1000);
                let _ = play.session.received(Conn::LEAD, len);
            }
            if let Want::Bytes { len } = play.session.want(Conn::LEAD) {
                let _ = play.session.bytes(Conn::LEAD, &vec![7; len as usize]);
            }
            if matches!(play.session.want(Conn::LEAD), Want::Trailer { .. }) {
                let _ = play.session.trailer(Conn::LEAD, true);
            }
            play.sent();
            while play.session.event().is_some() {}
        }
    }
}

/// The expected PDUs after these commands and PDUs.
#[track_caller]
fn likely(play: &Play, wanted: &[(u32, u32, u32)]) {
    let all = play.session.likely(Conn::LEAD).map(|next| (next.slot, next.offset, next.len));
    assert_eq!(all.collect::<Vec<_>>(), wanted);
}

#[test]
fn expected_pdus_follow_the_received_ones() {
    let mut play = Play::new(SETTINGS);
    play.command(0, Transfer::In(4096));
    play.command(1, Transfer::Out(512));
    play.command(2, Transfer::In(20_000));
    let tags: Vec<u32> = play
        .sent()
        .iter()
        .filter_map(|(pdu, _)| match pdu {
            Request::Command(pdu) => Some(pdu.task_tag),
            _ => None,
        })
        .collect();
    let long = [(2, 0, 8192), (2, 8192, 8192), (2, 16384, 3616)];
    likely(&play, &[&[(0, 0, 4096), (1, 0, 0)], &long[..]].concat());
    // Another order than that of the commands, segments of another length, and a status by itself.
    let data = play.data_in(tags[2], 0, 0, 6000);
    assert!(play.hear(data, &[]).is_ok());
    likely(
        &play,
        &[(0, 0, 4096), (1, 0, 0), (2, 6000, 6000), (2, 12_000, 6000), (2, 18_000, 2000)],
    );
    let data = play.data_in(tags[0], 0, 0, 4096);
    assert!(play.hear(data, &[]).is_ok());
    let apart = [(2, 6000, 6000), (2, 12_000, 6000), (2, 18_000, 2000), (2, 20_000, 0)];
    likely(&play, &[&[(0, 4096, 0), (1, 0, 0)], &apart[..]].concat());
    let response = play.response(tags[0], 0, Residual::None, 0);
    assert!(play.hear(response, &[]).is_ok());
    likely(&play, &[&[(1, 0, 0)], &apart[..]].concat());
}

#[test]
fn a_command_that_was_aborted_before_it_was_sent_is_never_sent() {
    let mut play = Play::new(SETTINGS);
    play.command(1, Transfer::Out(512));
    play.command(2, Transfer::In(512));
    let tag = play.session.manage(TaskFunction::AbortTask, LUN, Some(1)).expect("there is room");
    // The function is sent first, and answered before the socket accepts more.
    let mut out = Vec::new();
    play.session.pull(Conn::LEAD, 1, &mut out);
    assert_eq!(out.len(), 1, "{out:?}");
    let sequence = play.status();
    let done = TaskResponse { outcome: TaskOutcome::NoTask, task_tag: tag, sequence };
    assert_eq!(play.hear(done, &[]), Ok(None));
    assert_eq!(play.session.event(), Some(Event::Done { slot: 1, ending: CommandEnd::Aborted }));
    play.heard(Event::Managed { tag, outcome: TaskOutcome::NoTask });
    // Its slot already has another command. A ping consumes the number of the first, and the rest is sent unchanged.
    play.command(1, Transfer::In(4096));
    let sent = play.sent();
    let [
        (Request::NopOut(ping), None),
        (Request::Command(second), _),
        (Request::Command(third), _),
    ] = sent.as_slice()
    else {
        panic!("{sent:?}");
    };
    assert!(!ping.immediate && ping.transfer_tag == RESERVED_TAG);
    assert_eq!((ping.cmd_sn, second.cmd_sn, third.cmd_sn), (7, 8, 9));
    let answer = |sequence| NopIn {
        lun: LUN,
        task_tag: ping.task_tag,
        transfer_tag: RESERVED_TAG,
        sequence,
        data_len: 0,
    };
    let sequence = play.status();
    assert_eq!(play.hear(answer(sequence), &[]), Ok(None));
    assert_eq!(play.session.event(), None, "not requested");
    let sequence = play.status();
    let again = play.hear(answer(sequence), &[]);
    assert!(matches!(again, Err(Error::UnknownTask { .. })), "{again:?}");
}

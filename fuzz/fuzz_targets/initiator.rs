//! An initiator's session against a target that is a list of any bytes: PDUs that are nearly right, PDUs with a byte
//! changed, and bytes that are no PDU, on up to three connections, with an owner that gives commands, asks for all else,
//! and sends when it likes. The owner checks that data is put only where a command reads and taken only from where one
//! writes, that every guess about what comes keeps to that, that each command ends once, that commands are numbered without
//! a gap and within the window, and that nothing goes on after a breach.

#![no_main]

use iscsi::digest;
use iscsi::initiator::{
    Cdb, Command, Conn, Event, LoginNumbers, Out, Session, Settings, Transfer, Want,
};
use iscsi::pdu::{
    AsyncEvent, AsyncMessage, DataIn, DataInStatus, LogoutOutcome, LogoutResponse, Lun, NopIn, R2t,
    RESERVED_TAG, Reject, RejectReason, Request, Residual, Response, ScsiResponse, Sequence,
    ServiceResponse, TaskAttribute, TaskFunction, TaskOutcome, TaskResponse, TextResponse, pad,
};
use libfuzzer_sys::fuzz_target;

const SLOTS: u32 = 6;
/// PDUs of one input.
const PDUS: usize = 300;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Bytes(bytes);
    let mut world = World::new(&mut bytes);
    for _ in 0..PDUS {
        if bytes.0.is_empty() {
            break;
        }
        world.step(&mut bytes);
    }
});

/// The input; zeros behind its end.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn some(&mut self, len: usize) -> &'a [u8] {
        let (some, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        some
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::from(self.byte()) % values.len()]
    }

    /// Mostly what is right, and sometimes something near it.
    fn near(&mut self, right: u32) -> u32 {
        match self.byte() {
            0..=223 => right,
            224..=239 => right.wrapping_add(1),
            240..=247 => right.wrapping_sub(1),
            _ => u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()]),
        }
    }
}

/// A command under way, as the target knows it.
#[derive(Clone, Copy)]
struct Known {
    conn: Conn,
    tag: u32,
    transfer: Transfer,
    sn: u32,
    at: u32,
}

struct World {
    session: Session,
    conns: Vec<Conn>,
    /// The next StatSN of each connection.
    stat_sn: Vec<u32>,
    /// What each slot moves.
    slots: [Option<Transfer>; SLOTS as usize],
    known: Vec<Known>,
    /// Tags of requests, with their connections.
    asked: Vec<(Conn, u32)>,
    cmd_sn: u32,
    max_cmd_sn: u32,
    /// The target may have said something else of its window.
    wild: bool,
    broken: bool,
}

impl World {
    fn new(bytes: &mut Bytes) -> World {
        let flags = bytes.byte();
        let settings = Settings {
            send_segment: bytes.one_of(&[512, 700, 8192]),
            receive_segment: bytes.one_of(&[512, 4096, 1 << 20]),
            first_burst: bytes.one_of(&[512, 600, 4096]),
            max_burst: bytes.one_of(&[4096, 262_144]),
            initial_r2t: flags & 1 != 0,
            immediate_data: flags & 2 != 0,
            max_outstanding_r2t: bytes.one_of(&[1, 2, 65535]),
            header_digest: flags & 4 != 0,
            data_digest: flags & 8 != 0,
        };
        let cmd_sn = bytes.one_of(&[1, u32::MAX - 2]);
        let start = LoginNumbers { cmd_sn, max_cmd_sn: cmd_sn.wrapping_add(3), stat_sn: 9, cid: 0 };
        let mut session = Session::new(settings, start, SLOTS);
        for cid in 1..=u16::from(flags >> 6) % 3 {
            let settings = Settings { header_digest: flags & 16 != 0, ..settings };
            session.join(settings, LoginNumbers { cid, ..start }).expect("there is room");
        }
        let conns: Vec<Conn> = session.connections().collect();
        World {
            stat_sn: vec![9; conns.len()],
            session,
            conns,
            slots: [None; SLOTS as usize],
            known: Vec::new(),
            asked: Vec::new(),
            cmd_sn,
            max_cmd_sn: start.max_cmd_sn,
            wild: false,
            broken: false,
        }
    }

    fn step(&mut self, bytes: &mut Bytes) {
        let choice = bytes.byte();
        let at = usize::from(choice >> 5) % self.conns.len();
        match choice & 31 {
            0..=6 => self.command(bytes),
            7..=9 => self.pull(at, u32::from(bytes.byte()) * 64),
            10 => self.ask(bytes),
            11 => {
                let len = usize::from(bytes.byte());
                self.wild = true;
                self.feed(at, bytes.some(len), bytes);
            }
            _ => self.answer(at, bytes),
        }
        self.look();
    }

    fn command(&mut self, bytes: &mut Bytes) {
        let slot = u32::from(bytes.byte()) % (SLOTS + 1);
        let len = bytes.one_of(&[512, 513, 4096, 20_000]);
        let transfer = match bytes.byte() % 4 {
            0 => Transfer::None,
            1 => Transfer::Out(len),
            _ => Transfer::In(len),
        };
        let (cdb, attribute) = (Cdb::read(0, 1), TaskAttribute::Simple);
        let room = self.session.room();
        let command = Command { lun: Lun::new(1), cdb, transfer, attribute };
        let taken = self.session.command(slot, &command).is_ok();
        let free = matches!(self.slots.get(slot as usize), Some(None));
        assert_eq!(taken, free && room > 0, "a command is taken if there is room");
        if taken {
            self.slots[slot as usize] = Some(transfer);
        }
    }

    fn ask(&mut self, bytes: &mut Bytes) {
        match bytes.byte() {
            0..=63 => _ = self.session.ping(),
            64..=127 => _ = self.session.text(b"SendTargets=All\0"),
            128..=239 => {
                let function = bytes.one_of(&[
                    TaskFunction::AbortTask,
                    TaskFunction::AbortTaskSet,
                    TaskFunction::LogicalUnitReset,
                    TaskFunction::TargetWarmReset,
                ]);
                let slot = (function == TaskFunction::AbortTask)
                    .then(|| u32::from(bytes.byte()) % (SLOTS + 1));
                _ = self.session.manage(function, Lun::new(1), slot);
            }
            _ => _ = self.session.logout(),
        }
    }

    /// Sends, and learns what the target learns by it.
    fn pull(&mut self, at: usize, budget: u32) {
        let conn = self.conns[at];
        let mut outs = Vec::new();
        self.session.pull(conn, budget, &mut outs);
        let mut expected = 0;
        for out in outs {
            match out {
                Out::Header { bytes, len } => {
                    assert_eq!(expected, 0, "a data segment is whole");
                    let digested = self.session.settings_of(conn).header_digest;
                    assert_eq!(len, if digested { 52 } else { 48 });
                    let bhs = bytes[..48].try_into().expect("48 bytes");
                    let request = Request::parse(bhs, &[]).expect("a request that can be read");
                    expected = self.sent(conn, &request);
                }
                Out::Data { slot, offset, len } => {
                    let Some(Transfer::Out(most)) = self.slots[slot as usize] else {
                        panic!("data of slot {slot}, which writes nothing");
                    };
                    assert!(offset + len <= most, "data within its buffer");
                    assert_eq!(expected, len);
                    expected = 0;
                }
                Out::Bytes(data) => {
                    assert_eq!(expected as usize, data.len());
                    expected = 0;
                }
                Out::Trailer { pad, .. } => assert!(pad < 4),
            }
        }
    }

    /// Bytes of the data segment that follows.
    fn sent(&mut self, conn: Conn, request: &Request) -> u32 {
        match request {
            Request::Command(pdu) => {
                // Those of one connection are in order; of all connections none is beyond the window.
                let ahead = self.max_cmd_sn.wrapping_sub(pdu.cmd_sn) as i32;
                assert!(self.wild || ahead >= 0, "a command outside of the window");
                let transfer = self.slots[(pdu.task_tag & 0xffff) as usize];
                if let Some(transfer) = transfer {
                    let at = if pdu.write { 0 } else { pdu.data_len };
                    self.known.push(Known { conn, tag: pdu.task_tag, transfer, sn: 0, at });
                }
                pdu.data_len
            }
            Request::DataOut(pdu) => pdu.data_len,
            Request::NopOut(pdu) => {
                self.asked.push((conn, pdu.task_tag));
                pdu.data_len
            }
            Request::Text(pdu) => {
                self.asked.push((conn, pdu.task_tag));
                pdu.data_len
            }
            Request::Task(pdu) => {
                self.asked.push((conn, pdu.task_tag));
                0
            }
            Request::Logout(pdu) => {
                self.asked.push((conn, pdu.task_tag));
                0
            }
            other => panic!("{other:?} is not sent by a session"),
        }
    }

    /// The numbers of a PDU; with `status` it uses up a StatSN.
    fn sequence(&mut self, at: usize, status: bool, bytes: &mut Bytes) -> Sequence {
        let stat_sn = bytes.near(self.stat_sn[at]);
        self.stat_sn[at] = self.stat_sn[at].wrapping_add(status.into());
        let exp_cmd_sn = bytes.near(self.cmd_sn);
        let more = u32::from(bytes.byte());
        self.max_cmd_sn = self.max_cmd_sn.wrapping_add(more.saturating_sub(200));
        let max_cmd_sn = bytes.near(self.max_cmd_sn);
        self.wild |= max_cmd_sn != self.max_cmd_sn;
        Sequence { stat_sn, exp_cmd_sn, max_cmd_sn }
    }

    /// Something that a target could say.
    fn answer(&mut self, at: usize, bytes: &mut Bytes) {
        let which = usize::from(bytes.byte());
        let known = (!self.known.is_empty()).then(|| which % self.known.len());
        let nth = known.unwrap_or(0);
        let at = match self.known.get(nth) {
            Some(known) if bytes.byte() < 250 => {
                self.conns.iter().position(|conn| *conn == known.conn).unwrap_or(at)
            }
            _ => at,
        };
        let kind = bytes.byte();
        let pdu = match self.known.get(nth).copied() {
            Some(known) if kind < 190 => self.about(known, nth, at, kind, bytes),
            _ => self.other(at, kind, bytes),
        };
        let mut raw = pdu.encode().to_vec();
        if bytes.byte() > 240 {
            let place = usize::from(bytes.byte()) % raw.len();
            raw[place] ^= bytes.byte();
            self.wild = true;
        }
        if self.session.settings_of(self.conns[at]).header_digest {
            let sum = digest::of(&raw);
            raw.extend(sum);
        }
        self.feed(at, &raw, bytes);
    }

    /// A PDU about a command.
    fn about(
        &mut self,
        known: Known,
        nth: usize,
        at: usize,
        kind: u8,
        bytes: &mut Bytes,
    ) -> Response {
        let tag = bytes.near(known.tag);
        let lun = Lun::new(1);
        match (kind % 4, known.transfer) {
            (0..=2, Transfer::In(most)) => {
                let len = bytes.one_of(&[512, 4096, 20_000]).min(most.saturating_sub(known.at));
                let last = known.at + len == most && bytes.byte() < 128;
                let sequence = self.sequence(at, last, bytes);
                let status = DataInStatus { status: 0, residual: Residual::None };
                self.known[nth].at += len;
                self.known[nth].sn += 1;
                DataIn {
                    is_final: last,
                    acknowledge: false,
                    status: last.then_some(status),
                    lun,
                    task_tag: tag,
                    transfer_tag: RESERVED_TAG,
                    sequence,
                    data_sn: bytes.near(known.sn),
                    offset: bytes.near(known.at),
                    data_len: len,
                }
                .into()
            }
            (0..=2, Transfer::Out(most)) => {
                let desired_len = bytes.one_of(&[512, 4096, 20_000]).min(most - known.at.min(most));
                let sequence = self.sequence(at, false, bytes);
                self.known[nth].at += desired_len;
                self.known[nth].sn += 1;
                R2t {
                    lun,
                    task_tag: tag,
                    transfer_tag: bytes.near(77),
                    sequence,
                    r2t_sn: bytes.near(known.sn),
                    offset: bytes.near(known.at),
                    desired_len: desired_len.max(1),
                }
                .into()
            }
            _ => self.status(known, nth, at, tag, bytes),
        }
    }

    /// The end of a command, in a PDU of its own.
    fn status(
        &mut self,
        known: Known,
        nth: usize,
        at: usize,
        tag: u32,
        bytes: &mut Bytes,
    ) -> Response {
        let sequence = self.sequence(at, true, bytes);
        let missing = match known.transfer {
            Transfer::In(most) if most > known.at => Residual::Underflow(most - known.at),
            _ => Residual::None,
        };
        self.known.swap_remove(nth);
        ScsiResponse {
            response: bytes.one_of(&[ServiceResponse::Completed, ServiceResponse::TargetFailure]),
            status: bytes.one_of(&[0, 0, 2, 8, 0x28]),
            task_tag: tag,
            snack_tag: 0,
            sequence,
            exp_data_sn: 0,
            read_residual: Residual::None,
            residual: missing,
            data_len: bytes.one_of(&[0, 0, 20]),
        }
        .into()
    }

    /// A PDU about something else.
    fn other(&mut self, at: usize, kind: u8, bytes: &mut Bytes) -> Response {
        let asked = usize::from(bytes.byte());
        let tag = match self.asked.len() {
            0 => RESERVED_TAG,
            count => self.asked[asked % count].1,
        };
        let (lun, data_len) = (Lun::new(1), bytes.one_of(&[0, 0, 3, 48]));
        let status = kind % 8 != 0;
        let sequence = self.sequence(at, status, bytes);
        match kind % 8 {
            0 => {
                let transfer_tag = bytes.one_of(&[5, RESERVED_TAG]);
                NopIn { lun, task_tag: RESERVED_TAG, transfer_tag, sequence, data_len }.into()
            }
            1 => {
                NopIn { lun, task_tag: tag, transfer_tag: RESERVED_TAG, sequence, data_len }.into()
            }
            2 | 3 => TextResponse {
                is_final: bytes.byte() < 128,
                goes_on: false,
                lun,
                task_tag: tag,
                transfer_tag: bytes.one_of(&[5, RESERVED_TAG]),
                sequence,
                data_len,
            }
            .into(),
            4 => {
                let outcome = bytes.one_of(&[TaskOutcome::Complete, TaskOutcome::NoTask]);
                TaskResponse { outcome, task_tag: tag, sequence }.into()
            }
            5 => LogoutResponse {
                outcome: LogoutOutcome::Closed,
                task_tag: tag,
                sequence,
                time2wait: 0,
                time2retain: 0,
            }
            .into(),
            6 => AsyncMessage {
                event: bytes.one_of(&[
                    AsyncEvent::Scsi,
                    AsyncEvent::RequestLogout,
                    AsyncEvent::DropConnection,
                    AsyncEvent::DropSession,
                    AsyncEvent::Vendor,
                ]),
                lun,
                sequence,
                vendor_code: 0,
                parameters: [0; 3],
                data_len,
            }
            .into(),
            _ => Reject { reason: RejectReason::ProtocolError, sequence, data_sn: 0, data_len: 48 }
                .into(),
        }
    }

    /// Bytes come; the data segments that they announce follow.
    fn feed(&mut self, at: usize, raw: &[u8], bytes: &mut Bytes) {
        let conn = self.conns[at];
        if self.session.want(conn) != Want::Header {
            return;
        }
        let Some(bhs) = raw.first_chunk::<48>() else { return };
        let len = self.session.header_len(conn, bhs);
        let mut header = raw.to_vec();
        header.resize(len, 0);
        let mut taken = self.session.header(conn, &header);
        while taken.is_ok() {
            taken = match self.session.want(conn) {
                Want::Header | Want::Nothing => break,
                Want::Into { slot, offset, len } => {
                    self.within(slot, offset, len);
                    let part = len.min(u32::from(bytes.byte()) * 128 + 1);
                    self.session.received(conn, part)
                }
                Want::Bytes { len } => {
                    let mut segment = bytes.some(len as usize).to_vec();
                    segment.resize(len as usize, 0);
                    self.session.bytes(conn, &segment)
                }
                Want::Trailer { pad: zeros, .. } => {
                    assert!(zeros <= 3 && pad(u32::from(zeros)) < 4);
                    self.session.trailer(conn, bytes.byte() < 250)
                }
            };
        }
        self.broken |= taken.is_err();
    }

    #[track_caller]
    fn within(&self, slot: u32, offset: u32, len: u32) {
        let Some(Transfer::In(most)) = self.slots[slot as usize] else {
            panic!("data for slot {slot}, which reads nothing");
        };
        assert!(u64::from(offset) + u64::from(len) <= most.into(), "data within its buffer");
    }

    /// Hears what happened, and looks whether all is as it must be.
    fn look(&mut self) {
        let mut count = 0;
        while let Some(event) = self.session.event() {
            count += 1;
            assert!(count < 1000, "events are bounded");
            if let Event::Done { slot, .. } = event {
                assert!(self.slots[slot as usize].take().is_some(), "a command ends once");
                self.known.retain(|known| known.tag & 0xffff != slot);
            }
        }
        for &conn in &self.conns {
            for guess in self.session.likely(conn) {
                if guess.len > 0 {
                    self.within(guess.slot, guess.offset, guess.len);
                }
            }
            if self.broken {
                assert_eq!(
                    self.session.want(conn),
                    Want::Nothing,
                    "nothing goes on after a breach"
                );
                assert_eq!(self.session.room(), 0);
            }
        }
    }
}

//! In steady state a session allocates nothing, at either end: reads, writes of every kind, and the target's pings.

use allocation_counter::{AllocationInfo, measure};
use iscsi::initiator::{self, Command, Conn, LoginNumbers, Settings, Transfer};
use iscsi::pdu::{
    BHS_LEN, Bhs, Cdb, DataIn, DataInStatus, DataOut, Lun, NopOut, R2t, RESERVED_TAG, Residual,
    Response, ScsiCommand, ScsiResponse, Sequence, ServiceResponse, TaskAttribute,
};
use iscsi::scsi::Ending;
use iscsi::target::{
    ConnId, ConnectionParams, Event, Limits, Out, Session, SessionParams, TaskId, Want,
};

const LEN: u32 = 8192;
/// Commands under way at once.
const DEPTH: u32 = 32;

struct Rig {
    session: Session,
    conn: ConnId,
    number: u32,
    tasks: Vec<TaskId>,
    outs: Vec<Out>,
}

impl Rig {
    fn new() -> Rig {
        let params = SessionParams {
            initial_r2t: false,
            immediate_data: true,
            first_burst: LEN / 2,
            max_burst: LEN / 4,
            max_outstanding_r2t: 2,
            max_connections: 1,
        };
        let mut session = Session::new(params, Limits::default(), 1);
        let conn = ConnectionParams {
            cid: 0,
            header_digest: false,
            data_digest: false,
            max_receive: LEN,
            max_send: LEN / 2,
            stat_sn: 1,
        };
        let conn = session.attach(conn).expect("there is room");
        Rig {
            session,
            conn,
            number: 1,
            tasks: Vec::with_capacity(64),
            outs: Vec::with_capacity(1024),
        }
    }

    fn header(&mut self, bhs: &Bhs) {
        assert_eq!(self.session.header(self.conn, bhs), BHS_LEN);
    }

    /// Data comes, to wherever it belongs.
    fn data(&mut self) {
        while let Want::Into { len, .. } = self.session.want(self.conn) {
            self.session.received(self.conn, len);
        }
    }

    fn command(&mut self, read: bool, immediate: u32, is_final: bool) -> u32 {
        let number = self.number;
        self.number += 1;
        let command = ScsiCommand {
            immediate: false,
            is_final,
            read,
            write: !read,
            attribute: TaskAttribute::Simple,
            lun: Lun::default(),
            task_tag: number,
            expected_len: LEN,
            read_len: None,
            cmd_sn: number,
            exp_stat_sn: 0,
            cdb: Cdb::new(&[0x28, 0, 0, 0, 0, 0, 0, 0, 16, 0]).expect("ten bytes"),
            data_len: immediate,
        };
        self.header(&command.encode());
        let Some(Event::Command(task)) = self.session.poll() else { panic!("a command") };
        self.tasks.push(task);
        number
    }

    fn data_out(&mut self, tag: u32, transfer_tag: u32, offset: u32, len: u32) {
        let data = DataOut {
            is_final: true,
            lun: Lun::default(),
            task_tag: tag,
            transfer_tag,
            exp_stat_sn: 0,
            data_sn: 0,
            offset,
            data_len: len,
        };
        self.header(&data.encode());
        self.data();
    }

    fn reads(&mut self) {
        for _ in 0..DEPTH {
            self.command(true, 0, true);
        }
        while let Some(task) = self.tasks.pop() {
            self.session.reply(task, LEN, LEN, Ending::GOOD, false);
        }
        self.pull();
    }

    /// A quarter of the data is immediate, a quarter comes unsolicited, and half is asked for.
    fn writes(&mut self) {
        for _ in 0..DEPTH {
            let tag = self.command(false, LEN / 4, false);
            let task = self.tasks[self.tasks.len() - 1];
            self.session.take(task, LEN);
            self.data();
            self.data_out(tag, RESERVED_TAG, LEN / 4, LEN / 4);
        }
        self.session.pull(self.conn, usize::MAX, &mut self.outs);
        for at in 0..self.outs.len() {
            let Out::Header { bytes, .. } = &self.outs[at] else { panic!("an R2T") };
            let word =
                |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
            let (tag, transfer_tag, offset, len) = (word(16), word(20), word(40), word(44));
            self.data_out(tag, transfer_tag, offset, len);
        }
        self.outs.clear();
        while let Some(event) = self.session.poll() {
            let Event::Data(task) = event else { panic!("data, not {event:?}") };
            self.session.end(task, Ending::GOOD, false);
        }
        self.tasks.clear();
        self.pull();
    }

    fn pings(&mut self) {
        let nop = NopOut {
            immediate: true,
            lun: Lun::default(),
            task_tag: 7,
            transfer_tag: RESERVED_TAG,
            cmd_sn: self.number,
            exp_stat_sn: 0,
            data_len: 0,
        };
        self.header(&nop.encode());
        self.pull();
    }

    fn pull(&mut self) {
        self.session.pull(self.conn, usize::MAX, &mut self.outs);
        for out in self.outs.drain(..) {
            if let Out::End(task) = out {
                self.session.finished(task);
            }
        }
        assert_eq!(self.session.tasks(), 0, "all have ended");
    }
}

/// The other end: a session of the initiator with two connections, and a target that does as it is told.
struct Asking {
    session: initiator::Session,
    number: u32,
    stat_sn: [u32; 2],
    outs: Vec<initiator::Out>,
    /// Connections and tags of commands.
    told: Vec<(Conn, u32)>,
}

impl Asking {
    fn new() -> Asking {
        let settings = Settings {
            send_segment: LEN / 2,
            receive_segment: LEN,
            first_burst: LEN / 2,
            max_burst: LEN,
            initial_r2t: false,
            immediate_data: true,
            max_outstanding_r2t: 1,
            header_digest: false,
            data_digest: false,
        };
        let start = LoginNumbers { cmd_sn: 1, max_cmd_sn: DEPTH, stat_sn: 1, cid: 0 };
        let mut session = initiator::Session::new(settings, start, DEPTH);
        session.join(settings, LoginNumbers { cid: 1, ..start }).expect("there is room");
        let (outs, told) = (Vec::with_capacity(1024), Vec::with_capacity(64));
        Asking { session, number: 1, stat_sn: [1, 1], outs, told }
    }

    fn ask(&mut self, transfer: Transfer) {
        for slot in 0..DEPTH {
            let (cdb, attribute) = (initiator::Cdb::read(0, 16), TaskAttribute::Simple);
            let command = Command { lun: Lun::default(), cdb, transfer, attribute };
            self.session.command(slot, &command).expect("the window is open");
            self.number += 1;
        }
        self.pull();
    }

    /// Sends everything, and notes the commands in it.
    fn pull(&mut self) {
        for conn in self.session.connections() {
            self.session.pull(conn, u32::MAX, &mut self.outs);
            for out in self.outs.drain(..) {
                let initiator::Out::Header { bytes, .. } = out else { continue };
                if bytes[0] & 0x3f == 1 {
                    let tag = bytes[16..20].try_into().expect("four bytes");
                    self.told.push((conn, u32::from_be_bytes(tag)));
                }
            }
        }
    }

    fn hear(&mut self, conn: Conn, pdu: Response) {
        self.session.header(conn, &pdu.encode()).expect("a sound PDU");
        while let initiator::Want::Into { len, .. } = self.session.want(conn) {
            self.session.received(conn, len).expect("sound data");
        }
        while self.session.event().is_some() {}
        assert!(self.session.likely(conn).count() <= 64);
    }

    fn sequence(&mut self, conn: Conn) -> Sequence {
        let stat_sn = &mut self.stat_sn[usize::from(conn != Conn::LEAD)];
        *stat_sn += 1;
        let (exp_cmd_sn, max_cmd_sn) = (self.number, self.number + DEPTH - 1);
        Sequence { stat_sn: *stat_sn - 1, exp_cmd_sn, max_cmd_sn }
    }

    fn reads(&mut self) {
        self.ask(Transfer::In(LEN));
        // In another order than they were asked for.
        while let Some((conn, tag)) = self.told.pop() {
            let sequence = self.sequence(conn);
            let data = DataIn {
                is_final: true,
                acknowledge: false,
                status: Some(DataInStatus { status: 0, residual: Residual::None }),
                lun: Lun::default(),
                task_tag: tag,
                transfer_tag: RESERVED_TAG,
                sequence,
                data_sn: 0,
                offset: 0,
                data_len: LEN,
            };
            self.hear(conn, data.into());
        }
    }

    /// Half of the data is immediate, and half is asked for.
    fn writes(&mut self) {
        self.ask(Transfer::Out(LEN));
        for at in 0..self.told.len() {
            let (conn, tag) = self.told[at];
            let lun = Lun::default();
            let sequence = Sequence { stat_sn: 0, exp_cmd_sn: 0, max_cmd_sn: 0 };
            let (offset, desired_len) = (LEN / 2, LEN / 2);
            let r2t = R2t {
                lun,
                task_tag: tag,
                transfer_tag: 5,
                sequence,
                r2t_sn: 0,
                offset,
                desired_len,
            };
            self.hear(conn, r2t.into());
        }
        self.pull();
        for at in 0..self.told.len() {
            let (conn, tag) = self.told[at];
            let sequence = self.sequence(conn);
            let response = ScsiResponse {
                response: ServiceResponse::Completed,
                status: 0,
                task_tag: tag,
                snack_tag: 0,
                sequence,
                exp_data_sn: 0,
                read_residual: Residual::None,
                residual: Residual::None,
                data_len: 0,
            };
            self.hear(conn, response.into());
        }
        self.told.clear();
        let open = self.session.connections().map(|conn| self.session.under_way(conn));
        assert_eq!(open.sum::<u32>(), 0, "all have ended");
    }
}

#[track_caller]
fn check<T>(mut rig: T, work: fn(&mut T)) {
    work(&mut rig);
    let calls = measure(|| (0..100).for_each(|_| work(&mut rig)));
    assert_eq!(calls, AllocationInfo::default(), "calls of the allocator");
}

#[test]
fn nothing_is_allocated_in_steady_state() {
    check(Rig::new(), Rig::reads);
    check(Rig::new(), Rig::writes);
    check(Rig::new(), Rig::pings);
    check(Asking::new(), Asking::reads);
    check(Asking::new(), Asking::writes);
}

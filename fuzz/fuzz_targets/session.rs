//! A whole target session against an initiator that is a list of any bytes: PDUs that are nearly right, PDUs with a byte
//! changed, and bytes that are no PDU, on several connections that come and go, with an owner that works when it likes. The
//! owner (the one of the tests) checks that every event is about a task that exists, that data belongs where it is put, that
//! all queues keep their bounds, and that what is sent can be understood. At the end nothing may be left.

#![no_main]

#[path = "../../crates/iscsi/tests/it/session/rig.rs"]
#[allow(dead_code, reason = "the tests of a session use more of the rig than the fuzzer does")]
mod rig;

use iscsi::pdu::{
    Cdb, DataOut, Lengths, LogoutReason, LogoutRequest, Lun, NopOut, R2t, RESERVED_TAG, Request,
    Response, ScsiCommand, TaskAttribute, TaskFunction, TaskRequest, TextRequest,
};
use iscsi::target::{Limits, Notice, SessionParams, TaskScope};
use libfuzzer_sys::fuzz_target;
use rig::{Rig, Setup};

/// So many links in all: a session of at most three connections, which are lost and replaced.
const LINKS: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Bytes(bytes);
    let mut world = World::new(setup(&mut bytes));
    while !bytes.0.is_empty() && !world.rig.over {
        world.step(&mut bytes);
    }
    world.finish();
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

    fn word(&mut self) -> u32 {
        u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::from(self.byte()) % values.len()]
    }
}

fn setup(bytes: &mut Bytes) -> Setup {
    let flags = bytes.byte();
    let connections = u16::from(flags >> 4) % 3 + 1;
    let first_burst = bytes.one_of(&[512, 600, 4096]);
    Setup {
        session: SessionParams {
            initial_r2t: flags & 1 != 0,
            immediate_data: flags & 2 != 0,
            first_burst,
            max_burst: first_burst.max(bytes.one_of(&[512, 1700, 262_144])),
            max_outstanding_r2t: bytes.one_of(&[1, 2, 65535]),
            max_connections: connections,
        },
        limits: Limits { window: bytes.one_of(&[1, 4, 128]), immediate: 2, text: 600, ping: 300 },
        header_digest: flags & 4 != 0,
        data_digest: flags & 8 != 0,
        max_receive: 1024,
        max_send: 512,
        connections,
        ..Setup::default()
    }
}

struct World {
    rig: Rig,
    cmd_sn: u32,
    /// What the target has asked for.
    r2ts: Vec<R2t>,
    /// Tags that the target gave for its pings and texts.
    tags: Vec<u32>,
}

impl World {
    fn new(setup: Setup) -> World {
        let mut rig = Rig::new(setup);
        rig.lazy = true;
        World { rig, cmd_sn: setup.numbers.0, r2ts: Vec::new(), tags: Vec::new() }
    }

    fn step(&mut self, bytes: &mut Bytes) {
        let choice = bytes.byte();
        let link = usize::from(choice >> 5) % self.rig.links.len();
        match choice & 31 {
            0..=13 => self.send(link, bytes),
            14 => {
                let len = usize::from(bytes.byte());
                self.rig.send_bytes(link, bytes.some(len));
            }
            15..=17 => self.feed(link, bytes.byte()),
            18..=21 => self.work(usize::from(bytes.byte())),
            22..=24 => _ = self.rig.drain(link, usize::from(bytes.byte()) * 16 + 1),
            25 => self.rig.cut(link),
            26 => self.connect(bytes.byte()),
            _ => self.control(link, bytes.byte()),
        }
        self.rig.look();
        self.hear();
    }

    fn feed(&mut self, link: usize, how: u8) {
        if how < 128 {
            self.rig.grain = usize::from(how) + 1;
            if !self.rig.links[link].shut {
                self.rig.feed_once(link);
            }
            return;
        }
        self.rig.grain = usize::MAX;
        self.rig.feed(link);
    }

    fn work(&mut self, at: usize) {
        if !self.rig.jobs.is_empty() {
            self.rig.work_on(at % self.rig.jobs.len());
        }
    }

    fn connect(&mut self, cid: u8) {
        if self.rig.links.len() < LINKS {
            let _ = self.rig.attach(u16::from(cid % 4));
        }
    }

    /// What an owner does of its own accord.
    fn control(&mut self, link: usize, what: u8) {
        let id = self.rig.links[link].id;
        let session = &mut self.rig.session;
        let lun = Lun::new(u16::from(what >> 4) % 3);
        match what & 15 {
            0..=3 => _ = session.ping(id),
            4..=6 => _ = session.notify(id, Notice::TasksTerminated { lun }),
            7..=9 => _ = session.abort(TaskScope::Lun(lun), None),
            10 | 11 => {
                _ = session.abort(
                    TaskScope::Lun(lun),
                    Some(iscsi::scsi::Ending::bare(iscsi::scsi::ScsiStatus::TaskAborted)),
                )
            }
            12 => _ = session.abort(TaskScope::All, None),
            13 => session.close(id),
            14 => session.close_all(),
            _ => self.rig.manual = !self.rig.manual,
        }
    }

    /// Remembers what the target has given names to.
    fn hear(&mut self) {
        for link in 0..self.rig.links.len() {
            for reply in self.rig.replies(link) {
                match reply.pdu {
                    Response::R2t(r2t) => self.r2ts.push(r2t),
                    Response::NopIn(nop) => self.tags.push(nop.transfer_tag),
                    Response::Text(text) => self.tags.push(text.transfer_tag),
                    _ => {}
                }
            }
        }
    }

    fn send(&mut self, link: usize, bytes: &mut Bytes) {
        let request = self.request(bytes);
        let mut bhs = request.encode();
        let mut ahs = Vec::new();
        if let Request::Command(command) = &request {
            command.put_ahs(&mut ahs);
        }
        let data = vec![bytes.byte(); Lengths::of(&bhs).data as usize];
        let change = bytes.byte();
        // A byte of the header is changed now and then, or the digest behind the PDU.
        if change > 200 {
            bhs[usize::from(change) % 48] ^= bytes.byte();
        }
        self.rig.send_raw(link, bhs, &ahs, &data);
        if change == 200 {
            self.rig.damage_last(link);
        }
    }

    /// The next number, or one nearby.
    fn number(&mut self, bytes: &mut Bytes, immediate: bool) -> u32 {
        let off = bytes.byte();
        if off > 240 {
            return self.cmd_sn.wrapping_add(u32::from(off)).wrapping_sub(248);
        }
        let number = self.cmd_sn;
        self.cmd_sn = number.wrapping_add(u32::from(!immediate));
        number
    }

    fn request(&mut self, bytes: &mut Bytes) -> Request {
        let kind = bytes.byte();
        let immediate = kind & 0x80 != 0;
        let tag = |bytes: &mut Bytes| bytes.one_of(&[1, 2, 3, 4, 5, 6, 7, RESERVED_TAG]);
        let len = |bytes: &mut Bytes| bytes.one_of(&[0, 4, 512, 3, 1024, 300]);
        let lun = Lun::new(u16::from(kind >> 5 & 1));
        match kind % 9 {
            0..=2 => self.command(bytes, immediate, lun),
            3 | 4 => self.data_out(bytes),
            5 => {
                let (task_tag, data_len) = (tag(bytes), len(bytes));
                let transfer_tag = bytes.one_of(&[&self.tags[..], &[RESERVED_TAG]].concat());
                let cmd_sn = self.number(bytes, immediate);
                NopOut { immediate, lun, task_tag, transfer_tag, cmd_sn, exp_stat_sn: 0, data_len }
                    .into()
            }
            6 => {
                let goes_on = bytes.byte() & 1 != 0;
                let transfer_tag = bytes.one_of(&[&self.tags[..], &[RESERVED_TAG]].concat());
                let (task_tag, data_len) = (tag(bytes), len(bytes));
                let (cmd_sn, is_final) = (self.number(bytes, immediate), !goes_on);
                let exp_stat_sn = 0;
                TextRequest {
                    immediate,
                    is_final,
                    goes_on,
                    lun,
                    task_tag,
                    transfer_tag,
                    cmd_sn,
                    exp_stat_sn,
                    data_len,
                }
                .into()
            }
            7 => {
                let function = TaskFunction::from_code(bytes.byte() % 10);
                let (task_tag, referenced_tag) = (tag(bytes), tag(bytes));
                let ref_cmd_sn = self.cmd_sn.wrapping_sub(u32::from(bytes.byte() % 8));
                let cmd_sn = self.number(bytes, immediate);
                let (exp_stat_sn, exp_data_sn) = (0, 0);
                TaskRequest {
                    immediate,
                    function,
                    lun,
                    task_tag,
                    referenced_tag,
                    cmd_sn,
                    exp_stat_sn,
                    ref_cmd_sn,
                    exp_data_sn,
                }
                .into()
            }
            _ => {
                let reason = bytes.one_of(LogoutReason::ALL);
                let (task_tag, cid) = (tag(bytes), u16::from(bytes.byte() % 4));
                let cmd_sn = self.number(bytes, immediate);
                LogoutRequest { immediate, reason, task_tag, cid, cmd_sn, exp_stat_sn: 0 }.into()
            }
        }
    }

    fn command(&mut self, bytes: &mut Bytes, immediate: bool, lun: Lun) -> Request {
        let what = bytes.byte();
        let opcode = bytes.one_of(&[0x00, 0x28, 0x2a, 0x2a, 0x03]);
        let count = bytes.byte() % 8;
        let cdb = [opcode, 0, 0, 0, 0, bytes.byte(), 0, 0, count, 0];
        let (read, write) = (opcode == 0x28 || what > 250, opcode == 0x2a);
        let expected_len =
            if read || write { u32::from(count) * 512 + u32::from(what & 3) } else { 0 };
        let most = if write { expected_len.min(1024) } else { 0 };
        ScsiCommand {
            immediate,
            is_final: !write || what & 4 == 0,
            read,
            write,
            attribute: TaskAttribute::Simple,
            lun,
            task_tag: bytes.one_of(&[1, 2, 3, 4, 5, 6, 7]),
            expected_len,
            read_len: (what == 255 && read && write).then_some(512),
            cmd_sn: self.number(bytes, immediate),
            exp_stat_sn: 0,
            cdb: Cdb::new(&cdb).expect("ten bytes"),
            data_len: bytes.one_of(&[0, 512, 4, 1024]).min(most),
        }
        .into()
    }

    /// Data that was asked for, or that nobody has asked for.
    fn data_out(&mut self, bytes: &mut Bytes) -> Request {
        let which = usize::from(bytes.byte());
        let asked =
            if self.r2ts.is_empty() { None } else { self.r2ts.get(which % (self.r2ts.len() + 1)) };
        let how = bytes.byte();
        let (task_tag, transfer_tag, lun, offset) = match asked {
            Some(r2t) => (r2t.task_tag, r2t.transfer_tag, r2t.lun, r2t.offset),
            None => (u32::from(how % 7) + 1, RESERVED_TAG, Lun::default(), 0),
        };
        let data_len = bytes.one_of(&[512, 4, 0, 1024]);
        let data_sn = u32::from(how >> 6);
        let offset = if how & 0x20 == 0 { offset + data_sn * data_len } else { bytes.word() >> 8 };
        let is_final = how & 0x10 == 0;
        DataOut { is_final, lun, task_tag, transfer_tag, exp_stat_sn: 0, data_sn, offset, data_len }
            .into()
    }

    fn finish(mut self) {
        self.rig.grain = usize::MAX;
        self.rig.run();
        self.rig.lazy = false;
        self.rig.run();
        for link in 0..self.rig.links.len() {
            self.rig.cut(link);
        }
        self.rig.run();
        assert!(self.rig.over && self.rig.session.tasks() == 0, "something is left");
    }
}

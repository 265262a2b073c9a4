//! A conforming initiator: it sends data as negotiated, answers R2Ts, and compares every byte.

use std::collections::{BTreeMap, BTreeSet};

use iscsi::pdu::{
    Cdb, DataOut, Lun, R2t, RESERVED_TAG, Residual, Response, ScsiCommand, TaskAttribute,
    TaskFunction, TaskOutcome, TaskRequest,
};

use super::rig::{BLOCK, Rig};

struct OutstandingCommand {
    link: usize,
    write: Option<Vec<u8>>,
    read: Vec<u8>,
    data_sn: u32,
    burst: u32,
    r2t_sn: u32,
    sent: u32,
}

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    pub status: u8,
    pub residual: Residual,
    pub data: Vec<u8>,
    pub sense: Vec<u8>,
}

pub struct Initiator {
    pub cmd_sn: u32,
    next_tag: u32,
    running: BTreeMap<u32, OutstandingCommand>,
    pub ended: BTreeMap<u32, Ended>,
    /// Outstanding functions, and the tasks that they may affect.
    functions: BTreeMap<u32, Vec<u32>>,
    /// Tasks that a function has ended.
    pub dropped: Vec<u32>,
    /// The same over all time: their responses on another connection may have been sent before the function's answer.
    late: BTreeSet<u32>,
}

impl Initiator {
    pub fn new(rig: &Rig) -> Initiator {
        let cmd_sn = rig.setup.numbers.0;
        Initiator {
            cmd_sn,
            next_tag: 1,
            running: BTreeMap::new(),
            ended: BTreeMap::new(),
            functions: BTreeMap::new(),
            dropped: Vec::new(),
            late: BTreeSet::new(),
        }
    }

    /// The numbers of a fresh command.
    pub fn number(&mut self) -> (u32, u32) {
        let (tag, number) = (self.next_tag, self.cmd_sn);
        self.next_tag += 1;
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        (tag, number)
    }

    /// Aborts a task of the same connection; or, without one, resets the logical unit.
    pub fn abort(&mut self, rig: &mut Rig, link: usize, victim: Option<u32>) {
        let task_tag = self.next_tag;
        self.next_tag += 1;
        let cmd_sn = self.cmd_sn;
        let request = TaskRequest {
            immediate: true,
            function: if victim.is_some() {
                TaskFunction::AbortTask
            } else {
                TaskFunction::LogicalUnitReset
            },
            lun: Lun::default(),
            task_tag,
            referenced_tag: victim.unwrap_or(RESERVED_TAG),
            cmd_sn,
            exp_stat_sn: 0,
            // Its command has arrived on the same connection, so the tag identifies it.
            ref_cmd_sn: cmd_sn,
            exp_data_sn: 0,
        };
        let victims =
            victim.map_or_else(|| self.running.keys().copied().collect(), |tag| vec![tag]);
        self.functions.insert(task_tag, victims);
        rig.send(link, request, &[]);
    }

    /// An outstanding task of a connection.
    pub fn running_on(&self, link: usize, nth: usize) -> Option<u32> {
        let on = self.running.iter().filter(|(_, running)| running.link == link);
        on.map(|(&tag, _)| tag).nth(nth)
    }

    pub fn read(
        &mut self,
        rig: &mut Rig,
        link: usize,
        lba: u32,
        blocks: u16,
        expected: u32,
    ) -> u32 {
        let command = command(self.number(), cdb(0x28, lba, blocks), expected);
        let command = ScsiCommand { read: true, ..command };
        self.start(rig, link, command, None)
    }

    /// Writes the number of blocks in the CDB, from data that may be shorter or longer.
    pub fn write(&mut self, rig: &mut Rig, link: usize, lba: u32, blocks: u16, data: &[u8]) -> u32 {
        let params = rig.setup.session;
        let expected = data.len() as u32;
        let first = params.first_burst.min(expected);
        let immediate = if params.immediate_data { first.min(rig.setup.max_receive) } else { 0 };
        let unsolicited = !params.initial_r2t && immediate < first;
        let command = ScsiCommand {
            write: true,
            is_final: !unsolicited,
            data_len: immediate,
            ..command(self.number(), cdb(0x2a, lba, blocks), expected)
        };
        let tag = self.start(rig, link, command, Some(data.to_vec()));
        if unsolicited {
            self.send_data(rig, tag, RESERVED_TAG, Lun::default(), immediate, first);
        }
        tag
    }

    fn start(
        &mut self,
        rig: &mut Rig,
        link: usize,
        command: ScsiCommand,
        write: Option<Vec<u8>>,
    ) -> u32 {
        let tag = command.task_tag;
        let immediate = write.as_deref().unwrap_or(&[])[..command.data_len as usize].to_vec();
        rig.send(link, command, &immediate);
        let (read, data_sn, burst, r2t_sn, sent) = (Vec::new(), 0, 0, 0, 0);
        self.running
            .insert(tag, OutstandingCommand { link, write, read, data_sn, burst, r2t_sn, sent });
        tag
    }

    /// Sends data from `from` to `to`, in the longest PDUs that the target accepts.
    fn send_data(&self, rig: &mut Rig, tag: u32, transfer_tag: u32, lun: Lun, from: u32, to: u32) {
        let running = &self.running[&tag];
        let data = running.write.as_deref().expect("a write");
        let mut offset = from;
        for data_sn in 0.. {
            let len = rig.setup.max_receive.min(to - offset);
            let pdu = DataOut {
                is_final: offset + len == to,
                lun,
                task_tag: tag,
                transfer_tag,
                exp_stat_sn: 0,
                data_sn,
                offset,
                data_len: len,
            };
            rig.send(running.link, pdu, &data[offset as usize..][..len as usize]);
            offset += len;
            if offset == to {
                return;
            }
        }
    }

    /// Processes received PDUs; answers R2Ts. Returns whether there were any.
    pub fn listen(&mut self, rig: &mut Rig) -> bool {
        let mut any = false;
        for link in 0..rig.links.len() {
            for reply in rig.replies(link) {
                any = true;
                self.heard(rig, reply.pdu, reply.data);
            }
        }
        any
    }

    fn heard(&mut self, rig: &mut Rig, pdu: Response, data: Vec<u8>) {
        let about = match &pdu {
            Response::R2t(r2t) => r2t.task_tag,
            Response::DataIn(part) => part.task_tag,
            Response::Command(end) => end.task_tag,
            _ => RESERVED_TAG,
        };
        if self.late.contains(&about) {
            return;
        }
        match pdu {
            Response::R2t(r2t) => self.asked(rig, &r2t),
            Response::DataIn(part) => {
                let max_burst = rig.setup.session.max_burst;
                let running = self.running.get_mut(&part.task_tag).expect("a task of ours");
                assert_eq!(part.data_sn, running.data_sn, "DataSN");
                assert_eq!(part.offset as usize, running.read.len(), "data in order");
                running.data_sn += 1;
                running.read.extend(&data);
                running.burst += part.data_len;
                assert!(running.burst <= max_burst, "a burst of {}", running.burst);
                assert!(part.is_final || running.burst < max_burst, "the end of a burst is marked");
                if part.is_final {
                    running.burst = 0;
                }
                if let Some(end) = part.status {
                    self.end(part.task_tag, end.status, end.residual, Vec::new());
                }
            }
            Response::Command(end) => {
                let running = &self.running[&end.task_tag];
                assert_eq!(end.exp_data_sn, running.data_sn + running.r2t_sn, "ExpDataSN");
                assert_eq!(running.burst, 0, "the last burst has ended");
                self.end(end.task_tag, end.status, end.residual, data);
            }
            Response::Task(end) => {
                let victims = self.functions.remove(&end.task_tag).expect("a function of ours");
                assert!(!matches!(end.outcome, TaskOutcome::NoLun | TaskOutcome::NotSupported));
                // A dropped task without work left does not exist; the answer of the function that dropped it ends it.
                let hit = victims.into_iter().filter(|_| end.outcome == TaskOutcome::Complete);
                for tag in hit {
                    if self.running.remove(&tag).is_some() {
                        self.dropped.push(tag);
                        self.late.insert(tag);
                    }
                }
            }
            Response::NopIn(_) => {}
            other => panic!("unexpected: {other:?}"),
        }
    }

    fn asked(&mut self, rig: &mut Rig, r2t: &R2t) {
        let max_burst = rig.setup.session.max_burst;
        let running = self.running.get_mut(&r2t.task_tag).expect("a task of ours");
        assert_eq!(r2t.r2t_sn, running.r2t_sn, "R2TSN");
        assert!(r2t.desired_len <= max_burst && r2t.offset >= running.sent, "R2Ts in order");
        running.r2t_sn += 1;
        running.sent = r2t.offset + r2t.desired_len;
        let (from, to) = (r2t.offset, r2t.offset + r2t.desired_len);
        self.send_data(rig, r2t.task_tag, r2t.transfer_tag, r2t.lun, from, to);
    }

    fn end(&mut self, tag: u32, status: u8, residual: Residual, sense: Vec<u8>) {
        let running = self.running.remove(&tag).expect("a task of ours");
        self.ended.insert(tag, Ended { status, residual, data: running.read, sense });
    }

    /// Runs until nothing changes.
    pub fn run(&mut self, rig: &mut Rig) {
        rig.run();
        while self.listen(rig) {
            rig.run();
        }
    }

    /// The result of a command, which must have ended.
    #[track_caller]
    pub fn outcome(&mut self, tag: u32) -> Ended {
        self.ended.remove(&tag).expect("the command has ended")
    }

    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.functions.is_empty()
    }
}

/// READ (10) or WRITE (10).
pub fn cdb(opcode: u8, lba: u32, blocks: u16) -> Cdb {
    let (lba, blocks) = (lba.to_be_bytes(), blocks.to_be_bytes());
    let bytes = [opcode, 0, lba[0], lba[1], lba[2], lba[3], 0, blocks[0], blocks[1], 0];
    Cdb::new(&bytes).expect("ten bytes")
}

/// A command without data, with the numbers (tag, CmdSN).
pub fn command((task_tag, cmd_sn): (u32, u32), cdb: Cdb, expected_len: u32) -> ScsiCommand {
    ScsiCommand {
        immediate: false,
        is_final: true,
        read: false,
        write: false,
        attribute: TaskAttribute::Simple,
        lun: Lun::default(),
        task_tag,
        expected_len,
        read_len: None,
        cmd_sn,
        exp_stat_sn: 0,
        cdb,
        data_len: 0,
    }
}

/// Bytes that depend on position and seed.
pub fn pattern(len: usize, seed: u32) -> Vec<u8> {
    (0..len as u32)
        .map(|at| (at.wrapping_mul(31).wrapping_add(at >> 8) ^ seed.wrapping_mul(97)) as u8)
        .collect()
}

pub fn blocks(count: u16) -> usize {
    usize::from(count) * BLOCK
}

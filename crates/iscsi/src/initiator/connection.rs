//! One connection of a session: its numbers, what it is receiving, and its send queues.

use super::control::QueuedPdu;
use super::settings::{LoginNumbers, Settings};
use super::task::{Burst, Task, Transfer};
use super::{Error, ExpectedPdu, Out, Want};
use crate::pdu::{
    BHS_LEN, Bhs, DataIn, Lun, NopOut, Opcode, RESERVED_TAG, Response, ScsiCommand, Sequence, pad,
};
use std::collections::VecDeque;

/// Queued answers to the target's pings. A target that pings without reading the answers gets no more.
const REPLIES: usize = 8;

#[derive(Debug)]
pub(super) struct Connection {
    pub cid: u16,
    pub settings: Settings,
    pub exp_stat_sn: u32,
    pub receiving: ReceiveStage,
    /// The PDU whose data segment is arriving.
    pub pdu: Option<Response>,
    /// The data segment, if it does not belong to a slot.
    pub segment: Vec<u8>,
    /// Sent before everything else.
    notes: VecDeque<QueuedPdu>,
    /// In order of their numbers.
    commands: VecDeque<(u32, ScsiCommand)>,
    pub bursts: VecDeque<Burst>,
    /// Tags of commands that ended before they were sent: a ping has consumed the number of each.
    voided: Vec<u32>,
    /// Tags in the order of their commands, including some that have ended.
    order: VecDeque<u32>,
    /// Outstanding commands.
    pub open: u32,
    /// The amount of data that the target usually sends in one PDU.
    usual: u32,
    /// The target usually sends the status in a PDU of its own.
    apart: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiveStage {
    Header,
    Into { slot: u32, offset: u32, left: u32, pad: u8 },
    Bytes { len: u32 },
    Trailer { pad: u8 },
}

impl Connection {
    /// A connection after its login, for this many commands.
    pub fn new(settings: Settings, start: LoginNumbers, room: usize) -> Connection {
        Connection {
            cid: start.cid,
            settings,
            exp_stat_sn: start.stat_sn,
            receiving: ReceiveStage::Header,
            pdu: None,
            segment: Vec::new(),
            notes: VecDeque::new(),
            commands: VecDeque::with_capacity(room),
            bursts: VecDeque::with_capacity(room),
            voided: Vec::new(),
            order: VecDeque::with_capacity(2 * room + 1),
            open: 0,
            usual: settings.receive_segment,
            apart: false,
        }
    }

    /// Queues a command.
    pub fn command(&mut self, slot: u32, pdu: ScsiCommand, tasks: &[Option<Task>]) {
        if self.order.len() > 2 * tasks.len() {
            // Removes those that ended before older ones: at most one of two is alive.
            self.order.retain(|tag| live(tasks, *tag).is_some());
        }
        self.order.push_back(pdu.task_tag);
        self.open += 1;
        self.commands.push_back((slot, pdu));
    }

    /// A command of this connection has ended.
    pub fn ended(&mut self, tasks: &[Option<Task>]) {
        self.open = self.open.saturating_sub(1);
        while self.order.pop_front_if(|tag| live(tasks, *tag).is_none()).is_some() {}
    }

    /// Learns from received data: the next PDU will probably be similar.
    pub fn learn(&mut self, pdu: &DataIn, task: &Task) {
        let whole = task.missing() == 0;
        if whole {
            self.apart = pdu.status.is_none();
        }
        if pdu.data_len > self.usual {
            self.usual = self.settings.receive_segment;
        } else if !whole && pdu.status.is_none() && pdu.data_len > 0 {
            self.usual = pdu.data_len;
        }
    }

    /// PDUs that will probably follow the current one.
    pub fn likely<'a>(
        &'a self,
        tasks: &'a [Option<Task>],
    ) -> impl Iterator<Item = ExpectedPdu> + 'a {
        let (usual, apart) = (self.usual.max(1), self.apart);
        let live = self.order.iter().filter_map(move |tag| live(tasks, *tag));
        live.flat_map(move |task| {
            let slot = task.tag & 0xffff;
            let (from, to) = match task.transfer {
                Transfer::In(len) => (len - task.missing(), len),
                Transfer::None | Transfer::Out(_) => (0, 0),
            };
            let data = (from..to).step_by(usual as usize).map(move |offset| ExpectedPdu {
                slot,
                offset,
                len: usual.min(to - offset),
            });
            let status = ExpectedPdu { slot, offset: to, len: 0 };
            data.chain((from == to || apart).then_some(status))
        })
    }

    pub fn note(&mut self, header: Bhs, data: Option<Box<[u8]>>) {
        self.notes.push_back(QueuedPdu { header, data });
    }

    /// Queues an answer to a ping of the target.
    pub fn reply(&mut self, header: Bhs) {
        let is_reply = |note: &&QueuedPdu| {
            note.header[0] & 0x3f == Opcode::NopOut.code()
                && note.header[16..20] == RESERVED_TAG.to_be_bytes()
        };
        if self.notes.iter().filter(is_reply).count() < REPLIES {
            self.note(header, None);
        }
    }

    pub fn has_output(&self) -> bool {
        !(self.notes.is_empty() && self.commands.is_empty() && self.bursts.is_empty())
    }

    /// The next PDU to send, and its length in bytes.
    pub fn pull(&mut self, tasks: &mut [Option<Task>], out: &mut Vec<Out>) -> Option<u32> {
        let exp_stat_sn = self.exp_stat_sn;
        if let Some(note) = self.notes.pop_front() {
            Some(self.settings.put_note(note, exp_stat_sn, out))
        } else if let Some((slot, pdu)) = self.commands.pop_front() {
            if live(tasks, pdu.task_tag).is_none() {
                return Some(self.void(&pdu, out));
            }
            Some(self.settings.put_command(slot, pdu, exp_stat_sn, out))
        } else {
            let burst = self.bursts.pop_front()?;
            Some(self.put_data(burst, tasks, out))
        }
    }

    /// A command ended before it was sent, by a task management function that overtook it. Its slot may be in use
    /// again, so it must not be sent; but the target waits for its number, which a ping consumes.
    fn void(&mut self, pdu: &ScsiCommand, out: &mut Vec<Out>) -> u32 {
        self.voided.push(pdu.task_tag);
        let ping = NopOut {
            immediate: false,
            lun: Lun(0),
            task_tag: pdu.task_tag,
            transfer_tag: RESERVED_TAG,
            cmd_sn: pdu.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            data_len: 0,
        };
        self.settings.put_header(&ping.encode(), out);
        BHS_LEN as u32
    }

    /// Whether a tag is that of a ping that replaced a command; removes it.
    pub fn was_voided(&mut self, tag: u32) -> bool {
        let at = self.voided.iter().position(|voided| *voided == tag);
        at.map(|at| self.voided.swap_remove(at)).is_some()
    }

    /// The next PDU of a burst. The burst keeps its place: data is sent in the order of the requests.
    fn put_data(
        &mut self,
        mut burst: Burst,
        tasks: &mut [Option<Task>],
        out: &mut Vec<Out>,
    ) -> u32 {
        let task = tasks.get_mut(burst.slot as usize).and_then(Option::as_mut);
        // The command ended before its data was sent.
        let Some(task) = task.filter(|task| task.tag == burst.tag) else { return 0 };
        let (pdu, last) = burst.next(task.lun, self.exp_stat_sn, self.settings.send_segment);
        self.settings.put_header(&pdu.encode(), out);
        let data = Out::Data { slot: burst.slot, offset: pdu.offset, len: pdu.data_len };
        self.settings.put_segment(data, pdu.data_len, out);
        if !last {
            self.bursts.push_front(burst);
        } else if burst.is_solicited() {
            task.answered();
        }
        BHS_LEN as u32 + pdu.data_len
    }

    #[inline]
    pub fn want(&self) -> Want {
        match self.receiving {
            ReceiveStage::Header => Want::Header,
            ReceiveStage::Into { slot, offset, left, .. } => Want::Into { slot, offset, len: left },
            ReceiveStage::Bytes { len } => Want::Bytes { len },
            ReceiveStage::Trailer { pad } => {
                Want::Trailer { pad, digest: self.settings.data_digest }
            }
        }
    }

    /// Bytes that follow the data that is arriving.
    pub fn tail(&self) -> usize {
        let pad = match self.receiving {
            ReceiveStage::Into { pad, .. } => usize::from(pad),
            _ => 0,
        };
        pad + if self.settings.data_digest { 4 } else { 0 }
    }

    /// Counts stored bytes; returns whether they were the last, and nothing follows them.
    #[inline]
    pub fn received(&mut self, len: u32) -> Result<bool, Error> {
        let ReceiveStage::Into { slot, offset, left, pad } = self.receiving else {
            return Err(Error::Over);
        };
        let len = len.min(left);
        if len < left {
            let (offset, left) = (offset + len, left - len);
            self.receiving = ReceiveStage::Into { slot, offset, left, pad };
            return Ok(false);
        }
        Ok(self.segment_ends(pad))
    }

    /// A data segment has arrived; returns whether nothing follows it.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        let ReceiveStage::Bytes { len } = self.receiving else { return Err(Error::Over) };
        self.segment.clear();
        self.segment.extend_from_slice(bytes);
        Ok(self.segment_ends(pad(len)))
    }

    fn segment_ends(&mut self, pad: u8) -> bool {
        let follows = pad > 0 || self.settings.data_digest;
        if follows {
            self.receiving = ReceiveStage::Trailer { pad };
        }
        !follows
    }

    /// Checks the StatSN of a PDU, which must be the next.
    #[inline]
    pub fn status(&mut self, opcode: Opcode, sequence: Sequence) -> Result<(), Error> {
        let wanted = self.exp_stat_sn;
        if sequence.stat_sn != wanted {
            return Err(Error::StatSn { opcode, wanted, got: sequence.stat_sn });
        }
        self.exp_stat_sn = wanted.wrapping_add(1);
        Ok(())
    }
}

/// The outstanding task with a tag.
#[inline]
fn live(tasks: &[Option<Task>], tag: u32) -> Option<&Task> {
    let task = tasks.get((tag & 0xffff) as usize).and_then(Option::as_ref);
    task.filter(|task| task.tag == tag)
}

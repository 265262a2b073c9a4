//! Incoming SCSI commands and their data (RFC 7143, sections 11.3 and 11.7).

use super::connection::SegmentSink;
use super::session::Session;
use super::task::{Task, TaskPhase};
use super::types::{ConnId, Event, Request, TaskId};
use super::write_data::WriteData;
use crate::pdu::{Bhs, DataOut, RESERVED_TAG, RejectReason, ScsiCommand};
use crate::scsi::{Ending, Sense, SenseKey};

/// INVALID FIELD IN COMMAND INFORMATION UNIT: bidirectional data, which no command of this block device has.
const BIDIRECTIONAL: Ending = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x0e03));

/// Bits of a transfer tag that hold the generation of a slot.
const GENERATION: u32 = 0xfff;

/// The transfer tag of an R2T: 12 bits of slot, 12 of its generation, 8 of the R2T's number. No slot has all bits
/// set, so the tag never equals the reserved tag.
pub(super) fn transfer_tag(id: TaskId, number: u32) -> u32 {
    u32::from(id.slot) << 20 | (id.generation & GENERATION) << 8 | number & 0xff
}

impl Session {
    pub(super) fn command(&mut self, id: ConnId, command: ScsiCommand, bhs: &Bhs) {
        let crowded = self.immediate >= self.limits.immediate || !self.slab.has_room();
        let refusal = if command.immediate && crowded {
            Some(RejectReason::ImmediateCommandReject)
        } else if command.task_tag == RESERVED_TAG {
            Some(RejectReason::InvalidPduField)
        } else if self.slab.by_tag(command.task_tag).is_some() {
            Some(RejectReason::TaskInProgress)
        } else {
            None
        };
        if let Some(reason) = refusal {
            return self.refuse(id, reason, bhs);
        }
        self.admit(id, command);
    }

    fn admit(&mut self, id: ConnId, command: ScsiCommand) {
        let (immediate, data_len) = (command.immediate, command.data_len);
        let bidirectional = command.read && command.write;
        let incoming = if command.write {
            WriteData::begin(command.expected_len, data_len, command.is_final, &self.params)
        } else {
            WriteData::default()
        };
        let request = request(id, command);
        let Some(task) = self.slab.insert(Task::new(request, incoming, !immediate)) else { return };
        if immediate {
            self.immediate += 1;
        } else {
            self.window.occupy();
        }
        if let Some(conn) = self.conn_mut(id) {
            conn.expect(SegmentSink::Task(task, 0), data_len);
        }
        let Some(admitted) = self.slab.get_mut(task) else { return };
        if bidirectional {
            admitted.fail(BIDIRECTIONAL);
        } else if admitted.incoming.fault().is_none() {
            (admitted.owned, admitted.running) = (true, true);
            self.events.push_back(Event::Command(task));
        }
        self.check_data(task);
    }

    pub(super) fn data_out(&mut self, id: ConnId, pdu: &DataOut) {
        let sink = self
            .place_data(id, pdu)
            .map_or(SegmentSink::Discard, |task| SegmentSink::Task(task, pdu.offset));
        if let Some(conn) = self.conn_mut(id) {
            conn.expect(sink, pdu.data_len);
        }
    }

    /// The task of the data, if that is valid. Data of a task that has ended is late, not wrong: dropped silently.
    fn place_data(&mut self, id: ConnId, pdu: &DataOut) -> Option<TaskId> {
        let params = self.params;
        let solicited = pdu.transfer_tag != RESERVED_TAG;
        let name = if solicited {
            let (slot, generation) = ((pdu.transfer_tag >> 20) as u16, pdu.transfer_tag >> 8);
            self.slab.by_slot(slot, generation, GENERATION)?
        } else {
            self.slab.by_tag(pdu.task_tag)?
        };
        let task = self.slab.get_mut(name)?;
        let over = matches!(task.phase, TaskPhase::Dropped | TaskPhase::Done);
        if over || task.request.conn != id || task.request.tag != pdu.task_tag {
            return None;
        }
        let good = if solicited {
            task.incoming.solicited(pdu, pdu.transfer_tag as u8, params.max_burst)
        } else {
            task.incoming.unsolicited(pdu, &params)
        };
        if !good {
            task.incoming.segment_over(true);
        }
        self.check_data(name);
        good.then_some(name)
    }
}

fn request(conn: ConnId, command: ScsiCommand) -> Request {
    let len = command.expected_len;
    Request {
        conn,
        lun: command.lun,
        tag: command.task_tag,
        cmd_sn: command.cmd_sn,
        attribute: command.attribute,
        immediate: command.immediate,
        reads: if command.read { command.read_len.unwrap_or(len) } else { 0 },
        writes: if command.write { len } else { 0 },
        cdb: command.cdb,
    }
}

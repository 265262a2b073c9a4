//! From answers to bytes: the next output, made when there is room to send it (RFC 7143, sections 11.4, 11.7, 11.8).

use super::connection::{CloseState, Connection, ControlPdu};
use super::read_data::DataInPart;
use super::session::Session;
use super::task::TaskPhase;
use super::types::{ConnId, Out, TaskId};
use super::window::Window;
use crate::digest;
use crate::pdu::{
    AsyncMessage, BHS_LEN, Bhs, DataIn, DataInStatus, LogoutResponse, Lun, NopIn, R2t,
    RESERVED_TAG, Reject, Residual, ScsiResponse, Sequence, ServiceResponse, TaskResponse,
    TextResponse, pad,
};
use crate::scsi::Sense;

/// A data segment with sense data, preceded by its length in two bytes (section 11.4.7.2).
pub(super) fn sense_segment(sense: &Sense, descriptor: bool) -> Vec<u8> {
    let sense = sense.encode(descriptor);
    let len = (sense.len() as u16).to_be_bytes();
    [&len[..], &sense].concat()
}

impl Session {
    /// Appends output of a connection up to `budget` bytes (one PDU may exceed it). Returns the number of bytes on
    /// the wire; 0 if there is nothing to send.
    ///
    /// PDUs that belong to no command go first; then tasks take turns, one PDU each.
    pub fn pull(&mut self, id: ConnId, budget: usize, out: &mut Vec<Out>) -> usize {
        let mut bytes = 0;
        while bytes < budget {
            let Some(conn) = self.conn_mut(id) else { break };
            if let Some(control) = conn.control.pop_front() {
                bytes += self.send_control(id, control, out);
            } else if let Some(task) = conn.ready.pop_front() {
                bytes += self.send_task(id, task, out);
            } else {
                if conn.closing == CloseState::Flush {
                    conn.closing = CloseState::Said;
                    out.push(Out::Close);
                }
                break;
            }
        }
        if bytes > 0 {
            self.resume(id);
        }
        bytes
    }

    /// Whether [`Session::pull`] would return output.
    pub fn has_output(&self, id: ConnId) -> bool {
        self.conn(id).is_some_and(|conn| {
            !conn.control.is_empty() || !conn.ready.is_empty() || conn.closing == CloseState::Flush
        })
    }

    /// Number of queued answers and tasks of a connection.
    pub fn queued(&self, id: ConnId) -> usize {
        self.conn(id).map_or(0, |conn| conn.control.len() + conn.ready.len())
    }

    fn send_control(&mut self, id: ConnId, control: ControlPdu, out: &mut Vec<Out>) -> usize {
        // A ping of the target carries the next StatSN without consuming it (section 11.19.2).
        let status = !matches!(control, ControlPdu::Ping { .. });
        let Some((conn, sequence)) = self.next_numbers(id, status) else { return 0 };
        let (bhs, data) = encode(control, sequence);
        emit_bytes(conn, &bhs, data, out)
    }

    /// The connection, and the sequence numbers of its next PDU.
    fn next_numbers(&mut self, id: ConnId, status: bool) -> Option<(&mut Connection, Sequence)> {
        self.told_last = self.window.last();
        let conn = self.conns.get_mut(id.index())?.as_deref_mut()?;
        let sequence = numbers(conn, &self.window, status);
        Some((conn, sequence))
    }

    /// One turn of a task.
    fn send_task(&mut self, id: ConnId, name: TaskId, out: &mut Vec<Out>) -> usize {
        let Some(task) = self.slab.get_mut(name) else { return 0 };
        task.queued = false;
        match task.phase {
            TaskPhase::Open => self.send_r2t(id, name, out),
            // It was queued to request more data, and has ended since: its answer waits for data requested before.
            TaskPhase::Answered | TaskPhase::Failed if task.incoming.is_open() => 0,
            TaskPhase::Answered if !task.outgoing.is_over() => self.send_data(id, name, out),
            TaskPhase::Answered | TaskPhase::Failed => self.send_response(id, name, out),
            TaskPhase::Dropped => {
                self.end_of(name, out);
                0
            }
            TaskPhase::Done => 0,
        }
    }

    fn send_r2t(&mut self, id: ConnId, name: TaskId, out: &mut Vec<Out>) -> usize {
        let (outstanding, max_burst) = (self.params.max_outstanding_r2t, self.params.max_burst);
        let Some(task) = self.slab.get_mut(name) else { return 0 };
        let Some(ask) = task.incoming.ask(outstanding, max_burst) else { return 0 };
        let more = task.incoming.wants_more(outstanding);
        let (lun, task_tag) = (task.request.lun, task.request.tag);
        let Some((conn, sequence)) = self.next_numbers(id, false) else { return 0 };
        let r2t = R2t {
            lun,
            task_tag,
            transfer_tag: super::commands::transfer_tag(name, ask.number),
            sequence,
            r2t_sn: ask.number,
            offset: ask.offset,
            desired_len: ask.len,
        };
        let bytes = emit_header(conn, &r2t.encode(), out);
        if more {
            self.enqueue(name);
        }
        bytes
    }

    fn send_data(&mut self, id: ConnId, name: TaskId, out: &mut Vec<Out>) -> usize {
        let max_burst = self.params.max_burst;
        let Some(max_send) = self.conn(id).map(|conn| conn.params.max_send) else { return 0 };
        let Some(task) = self.slab.get_mut(name) else { return 0 };
        let Some(cut) = task.outgoing.cut(max_send, max_burst) else { return 0 };
        let over = task.outgoing.is_over();
        // A status may be sent with the last data only if there is no sense data (section 11.7.3).
        let status = DataInStatus { status: task.ending.status as u8, residual: task.residual };
        let status = (over && task.ending.sense.is_none()).then_some(status);
        let tag = task.request.tag;
        if status.is_some() {
            self.settle(name);
        }
        let Some((conn, sequence)) = self.next_numbers(id, status.is_some()) else { return 0 };
        let bytes = emit_header(conn, &data_in(tag, cut, status, sequence), out);
        out.push(Out::Data { task: name, offset: cut.offset, len: cut.len });
        let bytes = bytes + cut.len as usize + emit_trailer(conn, cut.len, out);
        if status.is_some() {
            self.end_of(name, out);
        } else {
            self.enqueue(name);
        }
        bytes
    }

    fn send_response(&mut self, id: ConnId, name: TaskId, out: &mut Vec<Out>) -> usize {
        self.settle(name);
        let Some(task) = self.slab.get(name) else { return 0 };
        let data =
            task.ending.sense.map_or(Vec::new(), |sense| sense_segment(&sense, task.descriptor));
        let (status, task_tag, residual) =
            (task.ending.status as u8, task.request.tag, task.residual);
        let exp_data_sn = task.outgoing.pdus().wrapping_add(task.incoming.asks());
        let Some((conn, sequence)) = self.next_numbers(id, true) else { return 0 };
        let response = ScsiResponse {
            response: ServiceResponse::Completed,
            status,
            task_tag,
            snack_tag: 0,
            sequence,
            exp_data_sn,
            read_residual: Residual::None,
            residual,
            data_len: data.len() as u32,
        };
        let bytes = emit_bytes(conn, &response.encode(), data, out);
        self.end_of(name, out);
        bytes
    }

    /// No more output of a task follows.
    fn end_of(&mut self, name: TaskId, out: &mut Vec<Out>) {
        let Some(task) = self.slab.get_mut(name) else { return };
        task.phase = TaskPhase::Done;
        if std::mem::take(&mut task.ends) {
            out.push(Out::End(name));
        }
        self.release(name);
    }
}

fn numbers(conn: &mut Connection, window: &Window, status: bool) -> Sequence {
    let stat_sn = conn.stat_sn;
    if status {
        conn.stat_sn = stat_sn.wrapping_add(1);
    }
    Sequence { stat_sn, exp_cmd_sn: window.expected(), max_cmd_sn: window.last() }
}

fn data_in(
    task_tag: u32,
    cut: DataInPart,
    status: Option<DataInStatus>,
    sequence: Sequence,
) -> Bhs {
    let data = DataIn {
        is_final: cut.last,
        acknowledge: false,
        status,
        lun: Lun::default(),
        task_tag,
        transfer_tag: RESERVED_TAG,
        sequence,
        data_sn: cut.number,
        offset: cut.offset,
        data_len: cut.len,
    };
    data.encode()
}

fn encode(control: ControlPdu, sequence: Sequence) -> (Bhs, Vec<u8>) {
    let len = |data: &[u8]| data.len() as u32;
    match control {
        ControlPdu::Pong { tag: task_tag, lun, data } => {
            let (transfer_tag, data_len) = (RESERVED_TAG, len(&data));
            (NopIn { lun, task_tag, transfer_tag, sequence, data_len }.encode(), data)
        }
        ControlPdu::Ping { transfer_tag } => {
            let (lun, task_tag) = (Lun::default(), RESERVED_TAG);
            let nop = NopIn { lun, task_tag, transfer_tag, sequence, data_len: 0 };
            (nop.encode(), Vec::new())
        }
        ControlPdu::Text { tag: task_tag, transfer_tag, goes_on, last: is_final, text } => {
            let (lun, data_len) = (Lun::default(), len(&text));
            let response =
                TextResponse { is_final, goes_on, lun, task_tag, transfer_tag, sequence, data_len };
            (response.encode(), text)
        }
        ControlPdu::Managed { tag: task_tag, outcome } => {
            (TaskResponse { outcome, task_tag, sequence }.encode(), Vec::new())
        }
        ControlPdu::Logout { tag: task_tag, outcome } => {
            let (time2wait, time2retain) = (0, 0);
            let response = LogoutResponse { outcome, task_tag, sequence, time2wait, time2retain };
            (response.encode(), Vec::new())
        }
        ControlPdu::Reject { reason, bhs } => {
            let reject = Reject { reason, sequence, data_sn: 0, data_len: BHS_LEN as u32 };
            (reject.encode(), bhs.to_vec())
        }
        ControlPdu::Notice { event, lun, parameters, data } => {
            let (vendor_code, data_len) = (0, len(&data));
            let message = AsyncMessage { event, lun, sequence, vendor_code, parameters, data_len };
            (message.encode(), data)
        }
    }
}

fn emit_bytes(conn: &Connection, bhs: &Bhs, data: Vec<u8>, out: &mut Vec<Out>) -> usize {
    let bytes = emit_header(conn, bhs, out);
    if data.is_empty() {
        return bytes;
    }
    let len = data.len() as u32;
    out.push(Out::Bytes(data.into()));
    bytes + len as usize + emit_trailer(conn, len, out)
}

fn emit_header(conn: &Connection, bhs: &Bhs, out: &mut Vec<Out>) -> usize {
    let (bytes, len) = if conn.params.header_digest {
        (digest::seal(bhs), 52)
    } else {
        let mut bytes = [0; 52];
        bytes[..BHS_LEN].copy_from_slice(bhs);
        (bytes, BHS_LEN as u8)
    };
    out.push(Out::Header { bytes, len });
    usize::from(len)
}

fn emit_trailer(conn: &Connection, len: u32, out: &mut Vec<Out>) -> usize {
    let (pad, digest) = (pad(len), conn.params.data_digest);
    if pad > 0 || digest {
        out.push(Out::Trailer { pad, digest });
    }
    usize::from(pad) + if digest { 4 } else { 0 }
}

//! NOPs, text and asynchronous messages: PDUs of the connection (RFC 7143, sections 11.9 to 11.11, 11.18, 11.19).

use super::connection::{ControlPdu, MAX_CONTROL, SegmentSink, TextExchange};
use super::session::Session;
use super::types::{ConnId, Event, Notice, Refused};
use crate::pdu::{AsyncEvent, Bhs, Lun, NopOut, RESERVED_TAG, RejectReason, TextRequest};

impl Session {
    pub(super) fn nop(&mut self, id: ConnId, nop: NopOut) {
        let Some(conn) = self.conn_mut(id) else { return };
        if nop.transfer_tag != RESERVED_TAG && conn.pinged == Some(nop.transfer_tag) {
            conn.pinged = None;
            self.events.push_back(Event::Pong(id));
        }
        let asks = nop.task_tag != RESERVED_TAG;
        let sink = if asks { SegmentSink::Ping(nop) } else { SegmentSink::Discard };
        let Some(conn) = self.conn_mut(id) else { return };
        if !conn.expect(sink, nop.data_len) && asks {
            self.pong(id, nop);
        }
    }

    /// Answers a ping with its own data, up to the length that the initiator accepts.
    pub(super) fn pong(&mut self, id: ConnId, nop: NopOut) {
        let Some(conn) = self.conn_mut(id) else { return };
        let mut data = std::mem::take(&mut conn.ping);
        data.truncate(conn.params.max_send as usize);
        conn.control.push_back(ControlPdu::Pong { tag: nop.task_tag, lun: nop.lun, data });
    }

    /// Pings the initiator; the answer is [`Event::Pong`].
    /// # Errors
    /// The connection is closed, or the previous ping has not been answered.
    pub fn ping(&mut self, id: ConnId) -> Result<(), Refused> {
        let conn = self.conn_mut(id).filter(|conn| conn.is_open()).ok_or(Refused::Closed)?;
        if conn.pinged.is_some() {
            return Err(Refused::Full);
        }
        let transfer_tag = conn.fresh_tag();
        conn.pinged = Some(transfer_tag);
        conn.control.push_back(ControlPdu::Ping { transfer_tag });
        Ok(())
    }

    /// Sends an asynchronous message.
    /// # Errors
    /// The connection is closed, or its send queue is full.
    pub fn notify(&mut self, id: ConnId, notice: Notice) -> Result<(), Refused> {
        let conn = self.conn_mut(id).filter(|conn| conn.is_open()).ok_or(Refused::Closed)?;
        if conn.control.len() >= MAX_CONTROL {
            return Err(Refused::Full);
        }
        let cid = conn.params.cid;
        conn.control.push_back(notice_of(notice, cid));
        Ok(())
    }

    pub(super) fn text_request(&mut self, id: ConnId, text: TextRequest, bhs: &Bhs) {
        let most = self.limits.text;
        let Some(conn) = self.conn_mut(id) else { return };
        let exchange = &mut conn.text;
        let goes_on = text.transfer_tag != RESERVED_TAG;
        if exchange.asked.is_some() {
            return self.refuse(id, RejectReason::LongOperationReject, bhs);
        }
        if goes_on && exchange.transfer_tag != Some(text.transfer_tag) {
            return self.refuse(id, RejectReason::InvalidPduField, bhs);
        }
        if !goes_on {
            *exchange = TextExchange::default();
        }
        if text.data_len as usize + exchange.request.len() > most as usize {
            *exchange = TextExchange::default();
            return self.refuse(id, RejectReason::LongOperationReject, bhs);
        }
        if !conn.expect(SegmentSink::Text(text), text.data_len) {
            self.text_arrived(id, text);
        }
    }

    /// A text PDU and its data have arrived: requests the next one, sends more of the answer, or passes the text on.
    pub(super) fn text_arrived(&mut self, id: ConnId, text: TextRequest) {
        let Some(conn) = self.conn_mut(id) else { return };
        if text.goes_on {
            let transfer_tag = conn.fresh_tag();
            conn.text.transfer_tag = Some(transfer_tag);
            let (tag, text) = (text.task_tag, Vec::new());
            conn.control.push_back(ControlPdu::Text {
                tag,
                transfer_tag,
                goes_on: false,
                last: false,
                text,
            });
            return;
        }
        conn.text.last = text.is_final;
        conn.text.asked = Some(text);
        if !conn.text.rest.is_empty() {
            let rest = std::mem::take(&mut conn.text.rest);
            return self.text(id, rest);
        }
        let text = std::mem::take(&mut conn.text.request);
        self.events.push_back(Event::Text { conn: id, text });
    }

    /// Answers a text request in as many PDUs as it needs; the initiator requests each of them.
    pub fn text(&mut self, id: ConnId, mut answer: Vec<u8>) {
        let Some(conn) = self.conn_mut(id) else { return };
        let Some(TextRequest { task_tag: tag, .. }) = conn.text.asked.take() else { return };
        let most = (conn.params.max_send as usize).max(1);
        let goes_on = answer.len() > most;
        if goes_on {
            conn.text.rest = answer.split_off(most);
        }
        let last = !goes_on && conn.text.last;
        let transfer_tag = if last { RESERVED_TAG } else { conn.fresh_tag() };
        conn.text.transfer_tag = (!last).then_some(transfer_tag);
        conn.control.push_back(ControlPdu::Text { tag, transfer_tag, goes_on, last, text: answer });
    }
}

impl Session {
    /// Rejects a text request that is not well-formed.
    pub fn reject_text(&mut self, id: ConnId) {
        let Some(conn) = self.conn_mut(id) else { return };
        let Some(asked) = conn.text.asked.take() else { return };
        conn.text = TextExchange::default();
        conn.reject(RejectReason::ProtocolError, &asked.encode());
    }

    /// The initiator of a connection takes data segments of up to `len` bytes from now on.
    pub fn limit_data_segments(&mut self, id: ConnId, len: u32) {
        if let Some(conn) = self.conn_mut(id) {
            conn.params.max_send = len;
        }
    }
}

fn notice_of(notice: Notice, cid: u16) -> ControlPdu {
    let (event, lun, parameters) = match notice {
        Notice::Scsi { lun, .. } => (AsyncEvent::Scsi, lun, [0; 3]),
        Notice::RequestLogout { within } => {
            (AsyncEvent::RequestLogout, Lun::default(), [0, 0, within])
        }
        Notice::DropConnection { wait, retain } => {
            (AsyncEvent::DropConnection, Lun::default(), [cid, wait, retain])
        }
        Notice::DropSession { wait, retain } => {
            (AsyncEvent::DropSession, Lun::default(), [0, wait, retain])
        }
        Notice::TasksTerminated { lun } => (AsyncEvent::TasksTerminated, lun, [0; 3]),
    };
    let data = match notice {
        Notice::Scsi { sense, descriptor, .. } => super::send::sense_segment(&sense, descriptor),
        _ => Vec::new(),
    };
    ControlPdu::Notice { event, lun, parameters, data }
}

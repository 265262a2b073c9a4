//! From bytes to requests: headers, data segments, and command order (RFC 7143, sections 4.2.2 and 11.2).

use super::connection::{DeferredRequest, ReceiveState, Segment, SegmentSink};
use super::session::Session;
use super::types::{ConnId, Violation};
use super::window::CmdSnPosition;
use crate::digest;
use crate::pdu::{
    BHS_LEN, Bhs, Lengths, Malformed, Opcode, RejectReason, Request, TaskFunction, opcode,
};

/// The position of a request in the command order.
enum RequestOrder {
    /// Execute now.
    Go,
    /// Execute after earlier requests, or once there is room.
    Hold,
    /// Ignore.
    Ignore,
    /// Earlier requests are missing and can no longer arrive.
    Gap,
}

impl Session {
    /// Parses a header with its additional segments and digest: [`MAX_HEADER`](super::MAX_HEADER) bytes at most.
    /// Returns the number of bytes consumed; 0 if the header is incomplete, or none is wanted.
    pub fn header(&mut self, id: ConnId, bytes: &[u8]) -> usize {
        let Some(conn) = self.conn_mut(id) else { return 0 };
        if conn.reading != ReceiveState::Header || conn.held.is_some() {
            return 0;
        }
        let Some(bhs) = bytes.first_chunk::<BHS_LEN>() else { return 0 };
        let lengths = Lengths::of(bhs);
        let len = BHS_LEN + lengths.ahs;
        let total = len + if conn.params.header_digest { 4 } else { 0 };
        let Some(whole) = bytes.get(..total) else { return 0 };
        let most = conn.params.max_receive;
        if conn.params.header_digest && digest::of(&whole[..len]) != whole[len..] {
            self.violate(id, Violation::HeaderDigest);
        } else if lengths.data > most {
            self.violate(id, Violation::SegmentTooLong { len: lengths.data, most });
        } else {
            self.arrived(id, Request::parse(bhs, &whole[BHS_LEN..len]), *bhs);
            self.wake();
        }
        total
    }

    fn arrived(&mut self, id: ConnId, request: Result<Request, Malformed>, bhs: Bhs) {
        match self.order(&bhs) {
            RequestOrder::Go => self.carry_out(id, request, bhs),
            RequestOrder::Ignore => self.discard(id, &bhs),
            RequestOrder::Hold => {
                let Some(conn) = self.conn_mut(id) else { return };
                conn.held = Some(Box::new(DeferredRequest { request, bhs }));
                self.held += 1;
            }
            RequestOrder::Gap => {
                let (got, expected) = (cmd_sn(&bhs), self.window.expected());
                self.violate(id, Violation::Gap { got, expected });
            }
        }
    }

    fn order(&self, bhs: &Bhs) -> RequestOrder {
        let Ok(opcode) = opcode(bhs) else { return RequestOrder::Go };
        if !is_numbered(opcode) {
            return RequestOrder::Go;
        }
        let alone = self.params.max_connections <= 1;
        if is_immediate(bhs) {
            // A function that affects many tasks covers all that were sent before it, on any connection (4.2.3.3).
            let early = self.window.place(cmd_sn(bhs)) == CmdSnPosition::Early;
            let hold = opcode == Opcode::TaskRequest && is_about_unit(bhs) && early && !alone;
            return if hold { RequestOrder::Hold } else { RequestOrder::Go };
        }
        match self.window.place(cmd_sn(bhs)) {
            CmdSnPosition::Ignored => RequestOrder::Ignore,
            CmdSnPosition::Early if alone => RequestOrder::Gap,
            CmdSnPosition::Early => RequestOrder::Hold,
            CmdSnPosition::Due if opcode == Opcode::ScsiCommand && !self.slab.has_room() => {
                RequestOrder::Hold
            }
            CmdSnPosition::Due => RequestOrder::Go,
        }
    }

    /// Executes deferred requests that are now due. Each connection defers one request at most, so this ends.
    pub(super) fn wake(&mut self) {
        while self.held > 0 {
            let due = self.connections().find_map(|(id, conn)| {
                let held = conn.held.as_ref()?;
                (!matches!(self.order(&held.bhs), RequestOrder::Hold)).then_some(id)
            });
            let Some(id) = due else { return };
            let Some(held) = self.conn_mut(id).and_then(|conn| conn.held.take()) else { return };
            self.held -= 1;
            self.arrived(id, held.request, held.bhs);
            self.resume(id);
        }
    }

    fn carry_out(&mut self, id: ConnId, request: Result<Request, Malformed>, bhs: Bhs) {
        if opcode(&bhs).is_ok_and(is_numbered) && !is_immediate(&bhs) {
            self.window.advance();
        }
        let Some(conn) = self.conn_mut(id) else { return };
        conn.bhs = bhs;
        match request {
            Ok(Request::Command(command)) => self.command(id, command, &bhs),
            Ok(Request::DataOut(data)) => self.data_out(id, &data),
            Ok(Request::NopOut(nop)) => self.nop(id, nop),
            Ok(Request::Text(text)) => self.text_request(id, text, &bhs),
            Ok(Request::Task(task)) => self.manage(id, &task),
            Ok(Request::Logout(logout)) => self.logout(id, &logout),
            Ok(Request::Login(_)) => {
                self.violate(id, Violation::Unexpected(Opcode::LoginRequest));
            }
            Ok(Request::Snack(_)) => self.refuse(id, RejectReason::SnackReject, &bhs),
            Err(malformed) if opcode(&bhs) == Ok(Opcode::DataOut) => {
                self.violate(id, Violation::Malformed(malformed));
            }
            Err(malformed) => self.refuse(id, malformed.reject_reason(), &bhs),
        }
    }

    /// Answers a PDU with a Reject, and drops its data.
    pub(super) fn refuse(&mut self, id: ConnId, reason: RejectReason, bhs: &Bhs) {
        if let Some(conn) = self.conn_mut(id) {
            conn.reject(reason, bhs);
        }
        self.discard(id, bhs);
    }

    fn discard(&mut self, id: ConnId, bhs: &Bhs) {
        if let Some(conn) = self.conn_mut(id) {
            conn.expect(SegmentSink::Discard, Lengths::of(bhs).data);
        }
    }

    /// `len` bytes have arrived at the place that [`Session::want`] named, or were dropped.
    pub fn received(&mut self, id: ConnId, len: u32) {
        if let Some(segment) = self.conn_mut(id).and_then(|conn| conn.advance(len)) {
            self.segment_over(id, segment, true);
        }
    }

    /// All the bytes that [`Want::Bytes`] requested.
    pub fn bytes(&mut self, id: ConnId, bytes: &[u8]) {
        let most = self.limits.ping.max(1);
        let Some(conn) = self.conn_mut(id) else { return };
        let ReceiveState::Segment(segment) = conn.reading else { return };
        let left = segment.len - segment.done;
        let wanted = match segment.sink {
            SegmentSink::Ping(_) if segment.done == 0 => left.min(most),
            SegmentSink::Text(_) => left,
            _ => return,
        };
        let bytes = &bytes[..bytes.len().min(wanted as usize)];
        match segment.sink {
            SegmentSink::Text(_) => conn.text.request.extend_from_slice(bytes),
            _ => conn.ping = bytes.to_vec(),
        }
        self.received(id, bytes.len() as u32);
    }

    /// Padding and digest have arrived; `good` if the digest matches, or there is none.
    pub fn trailer(&mut self, id: ConnId, good: bool) {
        let Some(conn) = self.conn_mut(id) else { return };
        let ReceiveState::Trailer(segment) = conn.reading else { return };
        conn.reading = ReceiveState::Header;
        self.segment_over(id, segment, good);
    }

    fn segment_over(&mut self, id: ConnId, segment: Segment, good: bool) {
        let Some(conn) = self.conn_mut(id) else { return };
        if !good && segment.sink != SegmentSink::Discard {
            let bhs = conn.bhs;
            conn.reject(RejectReason::DataDigestError, &bhs);
        }
        match segment.sink {
            SegmentSink::Task(task, _) => {
                if let Some(task) = self.slab.get_mut(task) {
                    task.incoming.segment_over(good);
                }
                self.check_data(task);
            }
            SegmentSink::Ping(nop) if good => self.pong(id, nop),
            SegmentSink::Text(text) if good => self.text_arrived(id, text),
            SegmentSink::Text(_) => conn.text = Default::default(),
            SegmentSink::Ping(_) | SegmentSink::Discard => {}
        }
    }
}

fn is_numbered(opcode: Opcode) -> bool {
    use Opcode::{LogoutRequest, NopOut, ScsiCommand, TaskRequest, TextRequest};
    matches!(opcode, NopOut | ScsiCommand | TaskRequest | TextRequest | LogoutRequest)
}

fn is_immediate(bhs: &Bhs) -> bool {
    bhs[0] & 0x40 != 0
}

fn is_about_unit(bhs: &Bhs) -> bool {
    use TaskFunction::{AbortTaskSet, ClearTaskSet, LogicalUnitReset};
    matches!(TaskFunction::from_code(bhs[1]), AbortTaskSet | ClearTaskSet | LogicalUnitReset)
}

fn cmd_sn(bhs: &Bhs) -> u32 {
    u32::from_be_bytes([bhs[24], bhs[25], bhs[26], bhs[27]])
}

//! One connection of a session: its position in the incoming PDU, its status numbers, and its send queue.

use std::collections::VecDeque;

use super::types::{ConnectionParams, TaskId, Want};
use crate::pdu::{
    AsyncEvent, Bhs, LogoutOutcome, Lun, Malformed, NopOut, RejectReason, Request, TaskOutcome,
    TextRequest, pad,
};

/// Answers that may be queued before reading stops: it bounds an initiator that does not read answers.
pub(super) const MAX_CONTROL: usize = 64;

/// A request that has arrived early.
pub(super) struct DeferredRequest {
    pub(super) request: Result<Request, Malformed>,
    pub(super) bhs: Bhs,
}

/// The destination of a data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentSink {
    /// The data of a task, from this offset on.
    Task(TaskId, u32),
    /// Ping data.
    Ping(NopOut),
    /// Text.
    Text(TextRequest),
    /// Dropped. The task, if any, need not be notified.
    Discard,
}

/// The current data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) sink: SegmentSink,
    pub(super) len: u32,
    pub(super) done: u32,
}

/// The position in the incoming PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiveState {
    Header,
    Segment(Segment),
    Trailer(Segment),
    /// Reading has stopped.
    Shut,
}

/// What must be sent before the connection closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseState {
    /// The connection is not closing.
    No,
    /// The answer to the logout.
    Logout,
    /// The send queue.
    Flush,
    /// [`Out::Close`](super::Out::Close) has been handed out.
    Said,
}

/// A PDU of the target that belongs to no SCSI command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ControlPdu {
    /// The answer to a ping.
    Pong { tag: u32, lun: Lun, data: Vec<u8> },
    /// A ping; with the reserved tag, only the sequence numbers.
    Ping { transfer_tag: u32 },
    /// A part of the answer to text.
    Text { tag: u32, transfer_tag: u32, goes_on: bool, last: bool, text: Vec<u8> },
    /// The end of a task management function.
    Managed { tag: u32, outcome: TaskOutcome },
    /// The answer to a logout.
    Logout { tag: u32, outcome: LogoutOutcome },
    /// A rejected PDU.
    Reject { reason: RejectReason, bhs: Box<Bhs> },
    /// An asynchronous message.
    Notice { event: AsyncEvent, lun: Lun, parameters: [u16; 3], data: Vec<u8> },
}

/// A text exchange: one at a time on a connection.
#[derive(Default)]
pub(super) struct TextExchange {
    /// The part of the request that has arrived so far.
    pub(super) request: Vec<u8>,
    /// The request that is with the owner.
    pub(super) asked: Option<TextRequest>,
    /// The rest of the answer, sent when the initiator requests it.
    pub(super) rest: Vec<u8>,
    /// The initiator's text is complete.
    pub(super) last: bool,
    /// The transfer tag that the next request must carry.
    pub(super) transfer_tag: Option<u32>,
}

pub(super) struct Connection {
    pub(super) params: ConnectionParams,
    pub(super) stat_sn: u32,
    pub(super) reading: ReceiveState,
    pub(super) held: Option<Box<DeferredRequest>>,
    /// The header of the current PDU, for a Reject.
    pub(super) bhs: Bhs,
    pub(super) control: VecDeque<ControlPdu>,
    /// Tasks that have something to send, each at most once.
    pub(super) ready: VecDeque<TaskId>,
    /// The last result of `want` was `Want::Nothing`.
    pub(super) stalled: bool,
    pub(super) text: TextExchange,
    /// Ping data to be returned.
    pub(super) ping: Vec<u8>,
    /// The tag of the ping that awaits its answer.
    pub(super) pinged: Option<u32>,
    pub(super) next_tag: u32,
    pub(super) closing: CloseState,
}

impl Connection {
    pub(super) fn new(params: ConnectionParams, slots: usize) -> Connection {
        Connection {
            stat_sn: params.stat_sn,
            params,
            reading: ReceiveState::Header,
            held: None,
            bhs: [0; 48],
            control: VecDeque::new(),
            ready: VecDeque::with_capacity(slots),
            stalled: false,
            text: TextExchange::default(),
            ping: Vec::new(),
            pinged: None,
            next_tag: 0,
            closing: CloseState::No,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.closing == CloseState::No
    }

    /// A target transfer tag for pings and text; never the reserved one.
    pub(super) fn fresh_tag(&mut self) -> u32 {
        self.next_tag = (self.next_tag + 1) & 0x7fff_ffff;
        self.next_tag
    }

    pub(super) fn reject(&mut self, reason: RejectReason, bhs: &Bhs) {
        self.control.push_back(ControlPdu::Reject { reason, bhs: Box::new(*bhs) });
    }

    /// Starts a data segment of this length; `false` if it is empty.
    pub(super) fn expect(&mut self, sink: SegmentSink, len: u32) -> bool {
        if len > 0 && self.reading != ReceiveState::Shut {
            self.reading = ReceiveState::Segment(Segment { sink, len, done: 0 });
        }
        len > 0
    }

    /// Counts bytes of the segment; returns it once it is complete and no trailer follows.
    pub(super) fn advance(&mut self, bytes: u32) -> Option<Segment> {
        let ReceiveState::Segment(mut segment) = self.reading else { return None };
        segment.done += bytes.min(segment.len - segment.done);
        if segment.done < segment.len {
            self.reading = ReceiveState::Segment(segment);
            return None;
        }
        if pad(segment.len) > 0 || self.params.data_digest {
            self.reading = ReceiveState::Trailer(segment);
            return None;
        }
        self.reading = ReceiveState::Header;
        Some(segment)
    }

    pub(super) fn trailer_of(&self, segment: Segment) -> Want {
        Want::Trailer { pad: pad(segment.len), digest: self.params.data_digest }
    }
}

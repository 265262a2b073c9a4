//! One connection of a session: where it stands within the incoming PDU, its status numbers, and what waits to be sent.

use std::collections::VecDeque;

use super::types::{ConnectionParams, TaskId, Want};
use crate::pdu::{
    AsyncEvent, Bhs, LogoutOutcome, Lun, Malformed, NopOut, RejectReason, Request, TaskOutcome,
    TextRequest, pad,
};

/// So many answers may wait to be sent before nothing more is read: an initiator that asks without reading gets no
/// further.
pub(super) const MAX_CONTROL: usize = 64;

/// A request that has come but is not due.
pub(super) struct Held {
    pub(super) request: Result<Request, Malformed>,
    pub(super) bhs: Bhs,
}

/// What a data segment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sink {
    /// The data of a task, from this offset on.
    Task(TaskId, u32),
    /// Ping data.
    Ping(NopOut),
    /// Text.
    Text(TextRequest),
    /// Nobody, and its task, if it has one, need not know.
    Nobody,
}

/// A data segment under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) sink: Sink,
    pub(super) len: u32,
    pub(super) done: u32,
}

/// Where a connection stands within the incoming PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Header,
    Segment(Segment),
    Trailer(Segment),
    /// Nothing more is read.
    Shut,
}

/// What a connection's end waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// It does not end.
    No,
    /// For the answer to the logout.
    Logout,
    /// For what is queued.
    Flush,
    /// Its end has been handed out.
    Said,
}

/// An answer, or something untold, that belongs to no SCSI command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// The answer to a ping.
    Pong { tag: u32, lun: Lun, data: Vec<u8> },
    /// A ping; or, with the reserved tag, only the usual numbers.
    Ping { transfer_tag: u32 },
    /// A part of the answer to text.
    Text { tag: u32, transfer_tag: u32, goes_on: bool, last: bool, text: Vec<u8> },
    /// The end of a task management function.
    Managed { tag: u32, outcome: TaskOutcome },
    /// The answer to a logout.
    Logout { tag: u32, outcome: LogoutOutcome },
    /// A PDU is refused.
    Reject { reason: RejectReason, bhs: Box<Bhs> },
    /// An event.
    Notice { event: AsyncEvent, lun: Lun, parameters: [u16; 3], data: Vec<u8> },
}

/// A text exchange: one at a time on a connection.
#[derive(Default)]
pub(super) struct Exchange {
    /// What has come of the request, whose end is still to come.
    pub(super) request: Vec<u8>,
    /// The tag of the request that is with the owner.
    pub(super) asked: Option<u32>,
    /// What is still to be sent of the answer, once the initiator asks for it.
    pub(super) rest: Vec<u8>,
    /// The initiator has nothing more to say.
    pub(super) last: bool,
    /// What the next request has to name.
    pub(super) transfer_tag: Option<u32>,
}

pub(super) struct Connection {
    pub(super) params: ConnectionParams,
    pub(super) stat_sn: u32,
    pub(super) reading: Reading,
    pub(super) held: Option<Box<Held>>,
    /// The header of the PDU under way, for a refusal.
    pub(super) bhs: Bhs,
    pub(super) control: VecDeque<Control>,
    /// Tasks that have something to send, each at most once.
    pub(super) ready: VecDeque<TaskId>,
    /// `Want::Nothing` was the last answer.
    pub(super) stalled: bool,
    pub(super) text: Exchange,
    /// Ping data that is to be sent back.
    pub(super) ping: Vec<u8>,
    /// The tag of the ping that waits for its answer.
    pub(super) pinged: Option<u32>,
    pub(super) next_tag: u32,
    pub(super) closing: Closing,
}

impl Connection {
    pub(super) fn new(params: ConnectionParams, slots: usize) -> Connection {
        Connection {
            stat_sn: params.stat_sn,
            params,
            reading: Reading::Header,
            held: None,
            bhs: [0; 48],
            control: VecDeque::new(),
            ready: VecDeque::with_capacity(slots),
            stalled: false,
            text: Exchange::default(),
            ping: Vec::new(),
            pinged: None,
            next_tag: 0,
            closing: Closing::No,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.closing == Closing::No
    }

    /// A tag of the target's for pings and text; never the reserved one.
    pub(super) fn fresh_tag(&mut self) -> u32 {
        self.next_tag = (self.next_tag + 1) & 0x7fff_ffff;
        self.next_tag
    }

    pub(super) fn reject(&mut self, reason: RejectReason, bhs: &Bhs) {
        self.control.push_back(Control::Reject { reason, bhs: Box::new(*bhs) });
    }

    /// Goes on with a data segment of this length; false if there is none.
    pub(super) fn expect(&mut self, sink: Sink, len: u32) -> bool {
        if len > 0 && self.reading != Reading::Shut {
            self.reading = Reading::Segment(Segment { sink, len, done: 0 });
        }
        len > 0
    }

    /// Counts bytes of the segment; tells it once it is over and no trailer follows.
    pub(super) fn advance(&mut self, bytes: u32) -> Option<Segment> {
        let Reading::Segment(mut segment) = self.reading else { return None };
        segment.done += bytes.min(segment.len - segment.done);
        if segment.done < segment.len {
            self.reading = Reading::Segment(segment);
            return None;
        }
        if pad(segment.len) > 0 || self.params.data_digest {
            self.reading = Reading::Trailer(segment);
            return None;
        }
        self.reading = Reading::Header;
        Some(segment)
    }

    pub(super) fn trailer_of(&self, segment: Segment) -> Want {
        Want::Trailer { pad: pad(segment.len), digest: self.params.data_digest }
    }
}

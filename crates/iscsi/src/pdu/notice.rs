//! NOP-Out, NOP-In, Asynchronous Message and Reject (RFC 7143, sections 11.9 and 11.17 to 11.19).

use super::header::{FINAL, IMMEDIATE, be16, be32, begin, lun, put_lun, put16, put32};
use super::{
    AsyncEvent, Bhs, Lengths, Lun, Malformed, Opcode, RESERVED_TAG, RejectReason, Sequence,
};

/// A ping of the initiator, or its answer to the target's ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NopOut {
    /// Immediate delivery.
    pub immediate: bool,
    /// The logical unit, in the answer to a ping.
    pub lun: Lun,
    /// The initiator task tag; [`RESERVED_TAG`] if no answer is wanted.
    pub task_tag: u32,
    /// The target transfer tag of the answered ping; [`RESERVED_TAG`] in a ping.
    pub transfer_tag: u32,
    /// CmdSN.
    pub cmd_sn: u32,
    /// ExpStatSN on this connection.
    pub exp_stat_sn: u32,
    /// Bytes of ping data.
    pub data_len: u32,
}

impl NopOut {
    pub(super) const OPCODE: Opcode = Opcode::NopOut;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<NopOut, Malformed> {
        let (immediate, task_tag) = (bhs[0] & IMMEDIATE != 0, be32(bhs, 16));
        // Section 11.18: without a tag there is no acknowledgement, so it must not consume a command number.
        if task_tag == RESERVED_TAG && !immediate {
            return Err(Malformed::field(Self::OPCODE, "InitiatorTaskTag without I", task_tag));
        }
        Ok(NopOut {
            immediate,
            lun: lun(bhs),
            task_tag,
            transfer_tag: be32(bhs, 20),
            cmd_sn: be32(bhs, 24),
            exp_stat_sn: be32(bhs, 28),
            data_len: Lengths::of(bhs).data,
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let mut bhs = begin(Self::OPCODE, self.immediate, FINAL, self.data_len);
        put_lun(&mut bhs, self.lun);
        put32(&mut bhs, 16, self.task_tag);
        put32(&mut bhs, 20, self.transfer_tag);
        put32(&mut bhs, 24, self.cmd_sn);
        put32(&mut bhs, 28, self.exp_stat_sn);
        bhs
    }
}

/// A ping of the target, or its answer to the initiator's ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NopIn {
    /// The logical unit, in a ping.
    pub lun: Lun,
    /// The initiator task tag of the answered ping; [`RESERVED_TAG`] in a ping.
    pub task_tag: u32,
    /// The target transfer tag; [`RESERVED_TAG`] if no answer is wanted.
    pub transfer_tag: u32,
    /// Sequence numbers; only an answer consumes the StatSN.
    pub sequence: Sequence,
    /// Bytes of ping data.
    pub data_len: u32,
}

impl NopIn {
    pub(super) const OPCODE: Opcode = Opcode::NopIn;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<NopIn, Malformed> {
        Ok(NopIn {
            lun: lun(bhs),
            task_tag: be32(bhs, 16),
            transfer_tag: be32(bhs, 20),
            sequence: Sequence::parse(bhs),
            data_len: Lengths::of(bhs).data,
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let mut bhs = begin(Self::OPCODE, false, FINAL, self.data_len);
        put_lun(&mut bhs, self.lun);
        put32(&mut bhs, 16, self.task_tag);
        put32(&mut bhs, 20, self.transfer_tag);
        self.sequence.put(&mut bhs);
        bhs
    }
}

/// An asynchronous message of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncMessage {
    /// The event.
    pub event: AsyncEvent,
    /// The logical unit, if the event concerns one.
    pub lun: Lun,
    /// The usual numbers.
    pub sequence: Sequence,
    /// The vendor's code, for a vendor-specific event.
    pub vendor_code: u8,
    /// Parameters of the event: a connection and two times, or a time (section 11.9.1).
    pub parameters: [u16; 3],
    /// Bytes of the data segment: sense data and more.
    pub data_len: u32,
}

impl AsyncMessage {
    pub(super) const OPCODE: Opcode = Opcode::AsyncMessage;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<AsyncMessage, Malformed> {
        Ok(AsyncMessage {
            event: AsyncEvent::from_code(bhs[36]).ok_or(Malformed::field(
                Self::OPCODE,
                "AsyncEvent",
                u32::from(bhs[36]),
            ))?,
            lun: lun(bhs),
            sequence: Sequence::parse(bhs),
            vendor_code: bhs[37],
            parameters: [be16(bhs, 38), be16(bhs, 40), be16(bhs, 42)],
            data_len: Lengths::of(bhs).data,
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let mut bhs = begin(Self::OPCODE, false, FINAL, self.data_len);
        put_lun(&mut bhs, self.lun);
        put32(&mut bhs, 16, RESERVED_TAG);
        self.sequence.put(&mut bhs);
        bhs[36] = self.event.code();
        bhs[37] = self.vendor_code;
        for (at, parameter) in [38, 40, 42].into_iter().zip(self.parameters) {
            put16(&mut bhs, at, parameter);
        }
        bhs
    }
}

/// A rejected PDU; the data segment holds its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The reason.
    pub reason: RejectReason,
    /// The usual numbers.
    pub sequence: Sequence,
    /// The DataSN or R2TSN that the reason refers to, if any.
    pub data_sn: u32,
    /// Bytes of the data segment: 48 and the additional header segments.
    pub data_len: u32,
}

impl Reject {
    pub(super) const OPCODE: Opcode = Opcode::Reject;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<Reject, Malformed> {
        Ok(Reject {
            reason: RejectReason::from_code(bhs[2]).ok_or(Malformed::field(
                Self::OPCODE,
                "Reason",
                u32::from(bhs[2]),
            ))?,
            sequence: Sequence::parse(bhs),
            data_sn: be32(bhs, 36),
            data_len: Lengths::of(bhs).data,
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let mut bhs = begin(Self::OPCODE, false, FINAL, self.data_len);
        bhs[2] = self.reason.code();
        put32(&mut bhs, 16, RESERVED_TAG);
        self.sequence.put(&mut bhs);
        put32(&mut bhs, 36, self.data_sn);
        bhs
    }
}

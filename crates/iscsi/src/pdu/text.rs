//! Text in the full-feature phase (RFC 7143, sections 11.10 and 11.11): SendTargets, and negotiation after the login.

use super::header::{CONTINUE, FINAL, IMMEDIATE, be32, begin, bit, lun, put_lun, put32};
use super::{Bhs, Lengths, Lun, Malformed, Opcode, Sequence};

/// The F and C flags, which must not both be set.
fn flags(opcode: Opcode, byte: u8) -> Result<(bool, bool), Malformed> {
    match (byte & FINAL != 0, byte & CONTINUE != 0) {
        (true, true) => Err(Malformed::field(opcode, "F and C", u32::from(byte))),
        flags => Ok(flags),
    }
}

/// Text of the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRequest {
    /// Immediate delivery.
    pub immediate: bool,
    /// The initiator's text is complete (F).
    pub is_final: bool,
    /// The text continues in the next request (C); then `is_final` is not set.
    pub goes_on: bool,
    /// The logical unit that the target sent with its transfer tag.
    pub lun: Lun,
    /// The initiator task tag.
    pub task_tag: u32,
    /// The target transfer tag of a continued exchange; [`super::RESERVED_TAG`] at its start.
    pub transfer_tag: u32,
    /// CmdSN.
    pub cmd_sn: u32,
    /// ExpStatSN on this connection.
    pub exp_stat_sn: u32,
    /// Bytes of text.
    pub data_len: u32,
}

impl TextRequest {
    pub(super) const OPCODE: Opcode = Opcode::TextRequest;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<TextRequest, Malformed> {
        let (is_final, goes_on) = flags(Self::OPCODE, bhs[1])?;
        Ok(TextRequest {
            immediate: bhs[0] & IMMEDIATE != 0,
            is_final,
            goes_on,
            lun: lun(bhs),
            task_tag: be32(bhs, 16),
            transfer_tag: be32(bhs, 20),
            cmd_sn: be32(bhs, 24),
            exp_stat_sn: be32(bhs, 28),
            data_len: Lengths::of(bhs).data,
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let flags = bit(FINAL, self.is_final) | bit(CONTINUE, self.goes_on);
        let mut bhs = begin(Self::OPCODE, self.immediate, flags, self.data_len);
        put_lun(&mut bhs, self.lun);
        put32(&mut bhs, 16, self.task_tag);
        put32(&mut bhs, 20, self.transfer_tag);
        put32(&mut bhs, 24, self.cmd_sn);
        put32(&mut bhs, 28, self.exp_stat_sn);
        bhs
    }
}

/// Text of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextResponse {
    /// The exchange is complete (F).
    pub is_final: bool,
    /// The text continues in the next response (C); then `is_final` is not set.
    pub goes_on: bool,
    /// The logical unit that the next request must carry.
    pub lun: Lun,
    /// The initiator task tag.
    pub task_tag: u32,
    /// The transfer tag that the next request must carry; [`super::RESERVED_TAG`] if the exchange is complete.
    pub transfer_tag: u32,
    /// The usual numbers.
    pub sequence: Sequence,
    /// Bytes of text.
    pub data_len: u32,
}

impl TextResponse {
    pub(super) const OPCODE: Opcode = Opcode::TextResponse;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<TextResponse, Malformed> {
        let (is_final, goes_on) = flags(Self::OPCODE, bhs[1])?;
        Ok(TextResponse {
            is_final,
            goes_on,
            lun: lun(bhs),
            task_tag: be32(bhs, 16),
            transfer_tag: be32(bhs, 20),
            sequence: Sequence::parse(bhs),
            data_len: Lengths::of(bhs).data,
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let flags = bit(FINAL, self.is_final) | bit(CONTINUE, self.goes_on);
        let mut bhs = begin(Self::OPCODE, false, flags, self.data_len);
        put_lun(&mut bhs, self.lun);
        put32(&mut bhs, 16, self.task_tag);
        put32(&mut bhs, 20, self.transfer_tag);
        self.sequence.put(&mut bhs);
        bhs
    }
}

//! Data PDUs, R2T and SNACK (RFC 7143, sections 11.7, 11.8 and 11.16).

use super::header::{FINAL, be32, begin, bit, lun, put_lun, put32};
use super::{
    Bhs, Lengths, Lun, Malformed, Opcode, RESERVED_TAG, Residual, Sequence, SnackType, no_data,
};

const ACKNOWLEDGE: u8 = 0x40;
const OVER: u8 = 0x04;
const UNDER: u8 = 0x02;
const STATUS: u8 = 0x01;

/// Data of a write, solicited or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataOut {
    /// The last of its sequence: of the unsolicited data, or of the burst of one R2T.
    pub is_final: bool,
    /// The logical unit; only meaningful for solicited data.
    pub lun: Lun,
    /// The initiator task tag.
    pub task_tag: u32,
    /// The transfer tag of the R2T; [`RESERVED_TAG`] for unsolicited data.
    pub transfer_tag: u32,
    /// ExpStatSN on this connection.
    pub exp_stat_sn: u32,
    /// DataSN: its number within its sequence, from 0.
    pub data_sn: u32,
    /// Offset within the command's data, in bytes.
    pub offset: u32,
    /// Bytes of data.
    pub data_len: u32,
}

impl DataOut {
    pub(super) const OPCODE: Opcode = Opcode::DataOut;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<DataOut, Malformed> {
        let (offset, data_len) = (be32(bhs, 40), Lengths::of(bhs).data);
        if offset.checked_add(data_len).is_none() {
            return Err(Malformed::field(Self::OPCODE, "BufferOffset", offset));
        }
        Ok(DataOut {
            is_final: bhs[1] & FINAL != 0,
            lun: lun(bhs),
            task_tag: be32(bhs, 16),
            transfer_tag: be32(bhs, 20),
            exp_stat_sn: be32(bhs, 28),
            data_sn: be32(bhs, 36),
            offset,
            data_len,
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let mut bhs = begin(Self::OPCODE, false, bit(FINAL, self.is_final), self.data_len);
        put_lun(&mut bhs, self.lun);
        put32(&mut bhs, 16, self.task_tag);
        put32(&mut bhs, 20, self.transfer_tag);
        put32(&mut bhs, 28, self.exp_stat_sn);
        put32(&mut bhs, 36, self.data_sn);
        put32(&mut bhs, 40, self.offset);
        bhs
    }
}

/// The status of a command in its last Data-In (allowed only without sense data).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataInStatus {
    /// The SCSI status.
    pub status: u8,
    /// The residual.
    pub residual: Residual,
}

/// Data of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataIn {
    /// The last of its burst.
    pub is_final: bool,
    /// A request for acknowledgement (error recovery level 1 and above).
    pub acknowledge: bool,
    /// Only in the last Data-In of a command, if it carries the status; then `is_final` is set.
    pub status: Option<DataInStatus>,
    /// The logical unit; only meaningful with a transfer tag.
    pub lun: Lun,
    /// The initiator task tag.
    pub task_tag: u32,
    /// The tag for an acknowledgement; [`RESERVED_TAG`] if none is requested.
    pub transfer_tag: u32,
    /// Sequence numbers; the StatSN is only meaningful with a status.
    pub sequence: Sequence,
    /// DataSN: its number within the command, from 0, shared with R2Ts.
    pub data_sn: u32,
    /// Offset within the command's data, in bytes.
    pub offset: u32,
    /// Bytes of data.
    pub data_len: u32,
}

impl DataIn {
    pub(super) const OPCODE: Opcode = Opcode::DataIn;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<DataIn, Malformed> {
        let has = |mask| bhs[1] & mask != 0;
        let (offset, data_len) = (be32(bhs, 40), Lengths::of(bhs).data);
        if offset.checked_add(data_len).is_none() {
            return Err(Malformed::field(Self::OPCODE, "BufferOffset", offset));
        }
        if has(STATUS) && !has(FINAL) {
            return Err(Malformed::field(Self::OPCODE, "S without F", u32::from(bhs[1])));
        }
        let residual = Residual::parse(has(OVER), has(UNDER), be32(bhs, 44), Self::OPCODE)?;
        Ok(DataIn {
            is_final: has(FINAL),
            acknowledge: has(ACKNOWLEDGE),
            status: has(STATUS).then_some(DataInStatus { status: bhs[3], residual }),
            lun: lun(bhs),
            task_tag: be32(bhs, 16),
            transfer_tag: be32(bhs, 20),
            sequence: Sequence::parse(bhs),
            data_sn: be32(bhs, 36),
            offset,
            data_len,
        })
    }

    /// The header. With a status it is final, regardless of `is_final`.
    pub fn encode(&self) -> Bhs {
        let (end, count) = match self.status {
            None => (0, 0),
            Some(end) => {
                let (flags, count) = end.residual.parts(OVER, UNDER);
                (STATUS | FINAL | flags, count)
            }
        };
        let flags = end | bit(FINAL, self.is_final) | bit(ACKNOWLEDGE, self.acknowledge);
        let mut bhs = begin(Self::OPCODE, false, flags, self.data_len);
        bhs[3] = self.status.map_or(0, |end| end.status);
        put_lun(&mut bhs, self.lun);
        put32(&mut bhs, 16, self.task_tag);
        put32(&mut bhs, 20, self.transfer_tag);
        self.sequence.put(&mut bhs);
        put32(&mut bhs, 36, self.data_sn);
        put32(&mut bhs, 40, self.offset);
        put32(&mut bhs, 44, count);
        bhs
    }
}

/// Ready to transfer: requests a part of a write's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct R2t {
    /// The logical unit.
    pub lun: Lun,
    /// The initiator task tag.
    pub task_tag: u32,
    /// The transfer tag that the data must carry.
    pub transfer_tag: u32,
    /// Sequence numbers; the StatSN is the next one and is not consumed.
    pub sequence: Sequence,
    /// R2TSN: its number within the command, from 0.
    pub r2t_sn: u32,
    /// Offset of the part within the command's data, in bytes.
    pub offset: u32,
    /// Length of the part in bytes; not 0.
    pub desired_len: u32,
}

impl R2t {
    pub(super) const OPCODE: Opcode = Opcode::R2t;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<R2t, Malformed> {
        no_data(Self::OPCODE, bhs)?;
        let (transfer_tag, offset, desired_len) = (be32(bhs, 20), be32(bhs, 40), be32(bhs, 44));
        if desired_len == 0 || offset.checked_add(desired_len).is_none() {
            return Err(Malformed::field(Self::OPCODE, "DesiredDataTransferLength", desired_len));
        }
        if transfer_tag == RESERVED_TAG {
            return Err(Malformed::field(Self::OPCODE, "TargetTransferTag", transfer_tag));
        }
        Ok(R2t {
            lun: lun(bhs),
            task_tag: be32(bhs, 16),
            transfer_tag,
            sequence: Sequence::parse(bhs),
            r2t_sn: be32(bhs, 36),
            offset,
            desired_len,
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let mut bhs = begin(Self::OPCODE, false, FINAL, 0);
        put_lun(&mut bhs, self.lun);
        put32(&mut bhs, 16, self.task_tag);
        put32(&mut bhs, 20, self.transfer_tag);
        self.sequence.put(&mut bhs);
        put32(&mut bhs, 36, self.r2t_sn);
        put32(&mut bhs, 40, self.offset);
        put32(&mut bhs, 44, self.desired_len);
        bhs
    }
}

/// A retransmission request, or an acknowledgement of data (error recovery level 1 and above).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snack {
    /// The type of request.
    pub kind: SnackType,
    /// The logical unit; only meaningful for an acknowledgement.
    pub lun: Lun,
    /// The initiator task tag; [`RESERVED_TAG`] for status retransmission.
    pub task_tag: u32,
    /// The transfer tag of an acknowledged Data-In, or a new SNACK tag.
    pub transfer_tag: u32,
    /// ExpStatSN on this connection.
    pub exp_stat_sn: u32,
    /// BegRun: the first number requested.
    pub begin: u32,
    /// RunLength: how many; 0 for all.
    pub run: u32,
}

impl Snack {
    pub(super) const OPCODE: Opcode = Opcode::Snack;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<Snack, Malformed> {
        no_data(Self::OPCODE, bhs)?;
        let kind = bhs[1] & 0x0f;
        Ok(Snack {
            kind: SnackType::from_code(kind).ok_or(Malformed::field(
                Self::OPCODE,
                "Type",
                u32::from(kind),
            ))?,
            lun: lun(bhs),
            task_tag: be32(bhs, 16),
            transfer_tag: be32(bhs, 20),
            exp_stat_sn: be32(bhs, 28),
            begin: be32(bhs, 40),
            run: be32(bhs, 44),
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let mut bhs = begin(Self::OPCODE, false, FINAL | self.kind.code(), 0);
        put_lun(&mut bhs, self.lun);
        put32(&mut bhs, 16, self.task_tag);
        put32(&mut bhs, 20, self.transfer_tag);
        put32(&mut bhs, 28, self.exp_stat_sn);
        put32(&mut bhs, 40, self.begin);
        put32(&mut bhs, 44, self.run);
        bhs
    }
}

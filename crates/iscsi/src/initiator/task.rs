//! The commands of a session, one a slot: data received, requested, and still to be sent.

use super::{Cdb, Conn, Error, SenseData, Settings};
use crate::pdu::{
    DataIn, DataOut, Lun, Opcode, R2t, RESERVED_TAG, RejectReason, Residual, TaskAttribute,
};

/// The direction and length of a command's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// No data.
    None,
    /// To the initiator, at most this many bytes.
    In(u32),
    /// From the initiator, this many bytes.
    Out(u32),
}

/// A SCSI command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// The logical unit.
    pub lun: Lun,
    /// The CDB.
    pub cdb: Cdb,
    /// Direction and length of the data.
    pub transfer: Transfer,
    /// The task attribute.
    pub attribute: TaskAttribute,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// The device server answered.
    Status {
        /// The SCSI status.
        status: u8,
        /// Bytes of data that were transferred.
        moved: u32,
        /// Underflow or overflow against the announced length.
        residual: Residual,
        /// The reason, if the target sent sense data.
        sense: Option<SenseData>,
    },
    /// Target failure: the command did not complete.
    TargetFailure,
    /// The target rejected its PDU, or its data.
    Rejected(RejectReason),
    /// A task management function ended it.
    Aborted,
}

/// Most open R2Ts of one command, whatever was negotiated.
const BURSTS_MAX: u8 = 16;

/// An outstanding command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub tag: u32,
    /// All its PDUs use this connection.
    pub conn: Conn,
    pub lun: Lun,
    pub transfer: Transfer,
    /// End offset of the received data, which is contiguous.
    received: u32,
    /// The number of the next Data-In or R2T.
    data_sn: u32,
    /// End offset of data that was sent or may be: the next R2T starts here.
    promised: u32,
    /// R2Ts whose data has not been sent completely.
    open: u8,
}

/// Data to be sent: unsolicited, or requested by one R2T.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    pub slot: u32,
    pub tag: u32,
    transfer_tag: u32,
    offset: u32,
    left: u32,
    data_sn: u32,
}

impl Task {
    /// A new command, with `early` bytes of unsolicited data.
    pub fn new(tag: u32, conn: Conn, command: &Command, early: u32) -> Task {
        let Command { lun, transfer, .. } = *command;
        Task { tag, conn, lun, transfer, received: 0, data_sn: 0, promised: early, open: 0 }
    }

    /// Checks a Data-In: its data must continue the slot's buffer.
    #[inline]
    pub fn data_in(&mut self, pdu: &DataIn) -> Result<(), Error> {
        let (opcode, tag) = (Opcode::DataIn, self.tag);
        let Transfer::In(max) = self.transfer else {
            return Err(Error::Direction { opcode, tag });
        };
        self.count(opcode, pdu.data_sn)?;
        if pdu.offset != self.received {
            return Err(Error::Offset { opcode, tag, wanted: self.received, got: pdu.offset });
        }
        let end = u64::from(pdu.offset) + u64::from(pdu.data_len);
        if end > max.into() {
            return Err(Error::TooMuch { opcode, tag, max, got: end });
        }
        self.received += pdu.data_len;
        Ok(())
    }

    /// Bytes of a read that have not been announced yet.
    pub fn missing(&self) -> u32 {
        match self.transfer {
            Transfer::In(len) => len.saturating_sub(self.received),
            Transfer::None | Transfer::Out(_) => 0,
        }
    }

    /// Processes an R2T.
    pub fn r2t(&mut self, slot: u32, pdu: &R2t, settings: &Settings) -> Result<Burst, Error> {
        let (opcode, tag) = (Opcode::R2t, self.tag);
        let Transfer::Out(max) = self.transfer else {
            return Err(Error::Direction { opcode, tag });
        };
        self.count(opcode, pdu.r2t_sn)?;
        if pdu.offset != self.promised {
            return Err(Error::Offset { opcode, tag, wanted: self.promised, got: pdu.offset });
        }
        let end = u64::from(pdu.offset) + u64::from(pdu.desired_len);
        if end > max.into() {
            return Err(Error::TooMuch { opcode, tag, max, got: end });
        }
        if pdu.desired_len > settings.max_burst {
            return Err(Error::Burst { tag, what: "MaxBurstLength" });
        }
        if u16::from(self.open) >= settings.max_outstanding_r2t.min(BURSTS_MAX.into()) {
            return Err(Error::Burst { tag, what: "MaxOutstandingR2T" });
        }
        self.open += 1;
        self.promised += pdu.desired_len;
        Ok(Burst {
            slot,
            tag,
            transfer_tag: pdu.transfer_tag,
            offset: pdu.offset,
            left: pdu.desired_len,
            data_sn: 0,
        })
    }

    /// All data of an R2T has been sent.
    pub fn answered(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    fn count(&mut self, opcode: Opcode, got: u32) -> Result<(), Error> {
        let wanted = self.data_sn;
        if got != wanted {
            return Err(Error::DataSn { opcode, tag: self.tag, wanted, got });
        }
        self.data_sn = wanted.wrapping_add(1);
        Ok(())
    }

    /// Processes the device server's answer. The received data must agree with it.
    pub fn end(
        &self,
        status: u8,
        residual: Residual,
        sense: Option<SenseData>,
    ) -> Result<CommandEnd, Error> {
        let expected = match self.transfer {
            Transfer::None => 0,
            Transfer::In(len) | Transfer::Out(len) => len,
        };
        let wanted = match residual {
            Residual::Underflow(less) => expected.saturating_sub(less),
            Residual::None | Residual::Overflow(_) => expected,
        };
        let moved = match self.transfer {
            Transfer::In(_) => self.received,
            // A target may ignore data that it does not need; the residual reports what it used.
            Transfer::None | Transfer::Out(_) => wanted,
        };
        if status == GOOD && moved != wanted {
            return Err(Error::Missing { tag: self.tag, wanted, got: moved });
        }
        Ok(CommandEnd::Status { status, moved, residual, sense })
    }
}

/// The SCSI status GOOD.
const GOOD: u8 = 0;

impl Burst {
    /// Unsolicited data.
    pub fn unsolicited(slot: u32, tag: u32, offset: u32, left: u32) -> Burst {
        Burst { slot, tag, transfer_tag: RESERVED_TAG, offset, left, data_sn: 0 }
    }

    /// The next PDU, and whether it is the last.
    pub fn next(&mut self, lun: Lun, exp_stat_sn: u32, segment: u32) -> (DataOut, bool) {
        let len = self.left.min(segment);
        let pdu = DataOut {
            is_final: len == self.left,
            lun,
            task_tag: self.tag,
            transfer_tag: self.transfer_tag,
            exp_stat_sn,
            data_sn: self.data_sn,
            offset: self.offset,
            data_len: len,
        };
        self.offset += len;
        self.left -= len;
        self.data_sn += 1;
        (pdu, self.left == 0)
    }

    /// Whether an R2T requested it.
    pub fn is_solicited(&self) -> bool {
        self.transfer_tag != RESERVED_TAG
    }
}

//! The commands of a session, one a slot: what has come, what was asked for, what is still to be sent.

use super::{Cdb, Conn, Error, SenseData, Settings};
use crate::pdu::{
    DataIn, DataOut, Lun, Opcode, R2t, RESERVED_TAG, RejectReason, Residual, TaskAttribute,
};

/// Which way the data of a command goes, and how much of it there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// None.
    None,
    /// To the initiator, at most so many bytes.
    In(u32),
    /// From the initiator.
    Out(u32),
}

/// A SCSI command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// For which unit.
    pub lun: Lun,
    /// What to do.
    pub cdb: Cdb,
    /// Data.
    pub transfer: Transfer,
    /// In which order.
    pub attribute: TaskAttribute,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The device server has answered.
    Status {
        /// The SCSI status.
        status: u8,
        /// Bytes of data that were moved.
        moved: u32,
        /// By how much the command wanted less, or more, than was announced.
        residual: Residual,
        /// Why, where the target told.
        sense: Option<SenseData>,
    },
    /// The target could not carry it to its end.
    TargetFailure,
    /// The target refused the PDU that carried it, or data of it.
    Rejected(RejectReason),
    /// A task management function ended it.
    Aborted,
}

/// Most requests for data that one command can have open at once, whatever was negotiated.
const BURSTS_MAX: u8 = 16;

/// A command under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub tag: u32,
    /// Everything about it goes over this connection.
    pub conn: Conn,
    pub lun: Lun,
    pub transfer: Transfer,
    /// Data that has come, in order and without gaps.
    received: u32,
    /// The number of the next Data-In, or of the next R2T.
    data_sn: u32,
    /// Data that was sent, or is allowed to be: where the next R2T begins.
    promised: u32,
    /// R2Ts of which not all has been sent.
    open: u8,
}

/// Data that is to be sent: unsolicited, or what one R2T asks for.
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
    /// A new command. `early` bytes of its data go without being asked for.
    pub fn new(tag: u32, conn: Conn, command: &Command, early: u32) -> Task {
        let Command { lun, transfer, .. } = *command;
        Task { tag, conn, lun, transfer, received: 0, data_sn: 0, promised: early, open: 0 }
    }

    /// Data comes: the place in the slot's buffer is its own.
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

    /// Data that it reads and that has not been announced yet, in bytes.
    pub fn missing(&self) -> u32 {
        match self.transfer {
            Transfer::In(len) => len.saturating_sub(self.received),
            Transfer::None | Transfer::Out(_) => 0,
        }
    }

    /// Data is asked for.
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

    /// The device server's answer. What came must be what it says that was sent.
    pub fn end(
        &self,
        status: u8,
        residual: Residual,
        sense: Option<SenseData>,
    ) -> Result<Ending, Error> {
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
            // A target may leave data alone that it does not need; what it took is told by the residual.
            Transfer::None | Transfer::Out(_) => wanted,
        };
        if status == GOOD && moved != wanted {
            return Err(Error::Missing { tag: self.tag, wanted, got: moved });
        }
        Ok(Ending::Status { status, moved, residual, sense })
    }
}

/// The SCSI status of a command that did what it says.
const GOOD: u8 = 0;

impl Burst {
    /// Data that goes without being asked for.
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

    /// Whether the target has asked for it.
    pub fn is_solicited(&self) -> bool {
        self.transfer_tag != RESERVED_TAG
    }
}

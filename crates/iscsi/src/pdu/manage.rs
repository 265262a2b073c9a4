//! Task management and logout (RFC 7143, sections 11.5, 11.6, 11.14 and 11.15).

use super::header::{FINAL, IMMEDIATE, be16, be32, begin, lun, put_lun, put16, put32};
use super::{
    Bhs, LogoutOutcome, LogoutReason, Lun, Malformed, Opcode, Sequence, TaskFunction, TaskOutcome,
    no_data,
};

/// A task management function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRequest {
    /// Immediate delivery.
    pub immediate: bool,
    /// The function.
    pub function: TaskFunction,
    /// The logical unit, if the function concerns one.
    pub lun: Lun,
    /// The initiator task tag of this request.
    pub task_tag: u32,
    /// The referenced task tag; [`super::RESERVED_TAG`] if there is none.
    pub referenced_tag: u32,
    /// CmdSN.
    pub cmd_sn: u32,
    /// ExpStatSN on this connection.
    pub exp_stat_sn: u32,
    /// The CmdSN of the referenced task.
    pub ref_cmd_sn: u32,
    /// ExpDataSN, for a reassignment.
    pub exp_data_sn: u32,
}

impl TaskRequest {
    pub(super) const OPCODE: Opcode = Opcode::TaskRequest;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<TaskRequest, Malformed> {
        no_data(Self::OPCODE, bhs)?;
        Ok(TaskRequest {
            immediate: bhs[0] & IMMEDIATE != 0,
            function: TaskFunction::from_code(bhs[1]),
            lun: lun(bhs),
            task_tag: be32(bhs, 16),
            referenced_tag: be32(bhs, 20),
            cmd_sn: be32(bhs, 24),
            exp_stat_sn: be32(bhs, 28),
            ref_cmd_sn: be32(bhs, 32),
            exp_data_sn: be32(bhs, 36),
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let mut bhs = begin(Self::OPCODE, self.immediate, FINAL | self.function.code(), 0);
        put_lun(&mut bhs, self.lun);
        put32(&mut bhs, 16, self.task_tag);
        put32(&mut bhs, 20, self.referenced_tag);
        put32(&mut bhs, 24, self.cmd_sn);
        put32(&mut bhs, 28, self.exp_stat_sn);
        put32(&mut bhs, 32, self.ref_cmd_sn);
        put32(&mut bhs, 36, self.exp_data_sn);
        bhs
    }
}

/// The response to a task management function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskResponse {
    /// The result.
    pub outcome: TaskOutcome,
    /// The initiator task tag of the request.
    pub task_tag: u32,
    /// The usual numbers.
    pub sequence: Sequence,
}

impl TaskResponse {
    pub(super) const OPCODE: Opcode = Opcode::TaskResponse;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<TaskResponse, Malformed> {
        no_data(Self::OPCODE, bhs)?;
        let wrong = Malformed::field(Self::OPCODE, "Response", u32::from(bhs[2]));
        Ok(TaskResponse {
            outcome: TaskOutcome::from_code(bhs[2]).ok_or(wrong)?,
            task_tag: be32(bhs, 16),
            sequence: Sequence::parse(bhs),
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let mut bhs = begin(Self::OPCODE, false, FINAL, 0);
        bhs[2] = self.outcome.code();
        put32(&mut bhs, 16, self.task_tag);
        self.sequence.put(&mut bhs);
        bhs
    }
}

/// A request to end a connection or the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogoutRequest {
    /// Immediate delivery.
    pub immediate: bool,
    /// What to end.
    pub reason: LogoutReason,
    /// The initiator task tag of this request.
    pub task_tag: u32,
    /// The CID of the connection, if one is to be ended.
    pub cid: u16,
    /// CmdSN.
    pub cmd_sn: u32,
    /// ExpStatSN on this connection.
    pub exp_stat_sn: u32,
}

impl LogoutRequest {
    pub(super) const OPCODE: Opcode = Opcode::LogoutRequest;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<LogoutRequest, Malformed> {
        no_data(Self::OPCODE, bhs)?;
        let reason = bhs[1] & 0x7f;
        Ok(LogoutRequest {
            immediate: bhs[0] & IMMEDIATE != 0,
            reason: LogoutReason::from_code(reason).ok_or(Malformed::field(
                Self::OPCODE,
                "ReasonCode",
                u32::from(reason),
            ))?,
            task_tag: be32(bhs, 16),
            cid: be16(bhs, 20),
            cmd_sn: be32(bhs, 24),
            exp_stat_sn: be32(bhs, 28),
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let mut bhs = begin(Self::OPCODE, self.immediate, FINAL | self.reason.code(), 0);
        put32(&mut bhs, 16, self.task_tag);
        put16(&mut bhs, 20, self.cid);
        put32(&mut bhs, 24, self.cmd_sn);
        put32(&mut bhs, 28, self.exp_stat_sn);
        bhs
    }
}

/// The response to a logout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogoutResponse {
    /// The result.
    pub outcome: LogoutOutcome,
    /// The initiator task tag of the request.
    pub task_tag: u32,
    /// The usual numbers.
    pub sequence: Sequence,
    /// Seconds to wait before a reconnection.
    pub time2wait: u16,
    /// Seconds after those for which the target keeps tasks.
    pub time2retain: u16,
}

impl LogoutResponse {
    pub(super) const OPCODE: Opcode = Opcode::LogoutResponse;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<LogoutResponse, Malformed> {
        no_data(Self::OPCODE, bhs)?;
        let wrong = Malformed::field(Self::OPCODE, "Response", u32::from(bhs[2]));
        Ok(LogoutResponse {
            outcome: LogoutOutcome::from_code(bhs[2]).ok_or(wrong)?,
            task_tag: be32(bhs, 16),
            sequence: Sequence::parse(bhs),
            time2wait: be16(bhs, 40),
            time2retain: be16(bhs, 42),
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let mut bhs = begin(Self::OPCODE, false, FINAL, 0);
        bhs[2] = self.outcome.code();
        put32(&mut bhs, 16, self.task_tag);
        self.sequence.put(&mut bhs);
        put16(&mut bhs, 40, self.time2wait);
        put16(&mut bhs, 42, self.time2retain);
        bhs
    }
}

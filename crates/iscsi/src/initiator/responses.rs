//! Incoming PDUs of the target: each is checked against the outstanding commands and requests, and becomes events.

use super::connection::ReceiveStage;
use super::control::ControlRequest;
use super::session::Session;
use super::task::{CommandEnd, Task};
use super::{Conn, Error, Event, MAX_SEGMENT, SenseData};
use crate::digest;
use crate::pdu::{
    BHS_LEN, DataIn, Lengths, LogoutResponse, NopIn, NopOut, Opcode, R2t, RESERVED_TAG, Reject,
    Residual, Response, ScsiResponse, Sequence, ServiceResponse, TaskFunction, TaskOutcome,
    TaskResponse, TextResponse, opcode, pad, sense_segment, task_tag,
};

/// The longest answer to a text request that is kept, in bytes.
const MAX_TEXT: usize = 256 << 10;

/// Events, beside those of commands, that can be queued.
const UNHEARD_MAX: usize = 64;

impl Session {
    pub(super) fn take_header(&mut self, conn: Conn, bytes: &[u8]) -> Result<(), Error> {
        let over = self.over;
        let connection = self.connections.get_mut(usize::from(conn.0)).ok_or(Error::Over)?;
        if over || connection.receiving != ReceiveStage::Header {
            return Err(Error::Over);
        }
        let settings = &connection.settings;
        let (bhs, rest) = bytes.split_first_chunk::<BHS_LEN>().ok_or(Error::HeaderDigest)?;
        let ahs = match settings.header_digest {
            false => rest,
            true => {
                let (ahs, sum) = rest.split_last_chunk::<4>().ok_or(Error::HeaderDigest)?;
                if digest::RunningDigest::default().and(bhs).and(ahs).bytes() != *sum {
                    return Err(Error::HeaderDigest);
                }
                ahs
            }
        };
        let len = Lengths::of(bhs).data;
        if len > settings.receive_segment {
            let max = settings.receive_segment;
            return Err(Error::Segment { opcode: opcode(bhs)?, len, max });
        }
        let pdu = Response::parse(bhs, ahs)?;
        let receiving = match &pdu {
            Response::DataIn(pdu) => {
                let (slot, task) = find(&mut self.tasks, conn, Opcode::DataIn, pdu.task_tag)?;
                task.data_in(pdu)?;
                connection.learn(pdu, task);
                ReceiveStage::Into { slot, offset: pdu.offset, left: len, pad: pad(len) }
            }
            _ if len > MAX_SEGMENT => {
                return Err(Error::Segment { opcode: opcode(bhs)?, len, max: MAX_SEGMENT });
            }
            // Reported before it is parsed: the number of a task must exist before its text is taken.
            _ => ReceiveStage::Bytes { len },
        };
        connection.pdu = Some(pdu);
        connection.segment.clear();
        if len == 0 {
            return self.complete(conn);
        }
        connection.receiving = receiving;
        Ok(())
    }

    /// The PDU and its data segment are complete.
    pub(super) fn complete(&mut self, conn: Conn) -> Result<(), Error> {
        let connection = self.connection_mut(conn)?;
        connection.receiving = ReceiveStage::Header;
        let Some(pdu) = connection.pdu.take() else { return Ok(()) };
        match pdu {
            Response::DataIn(pdu) => self.data_in(conn, &pdu),
            Response::Command(pdu) => self.response(conn, &pdu),
            Response::R2t(pdu) => self.r2t(conn, &pdu),
            Response::NopIn(pdu) => self.nop(conn, &pdu),
            Response::Text(pdu) => self.answer(conn, &pdu),
            Response::Task(pdu) => self.managed(conn, &pdu),
            Response::Logout(pdu) => self.logged_out(conn, &pdu),
            Response::Async(message) => {
                self.status(conn, Opcode::AsyncMessage, message.sequence)?;
                let sense = self.sense(conn);
                self.queue_event(Event::Async { message, sense })
            }
            Response::Reject(pdu) => self.rejected(conn, &pdu),
            Response::Login(_) => {
                let what = "after the login";
                Err(Error::Unexpected { opcode: Opcode::LoginResponse, what })
            }
        }
    }

    /// Queues an event. An owner that reads events after every header never leaves many.
    fn queue_event(&mut self, event: Event) -> Result<(), Error> {
        if self.events.len() >= self.tasks.len() + UNHEARD_MAX {
            return Err(Error::Events);
        }
        self.events.push_back(event);
        Ok(())
    }

    #[inline]
    fn status(&mut self, conn: Conn, opcode: Opcode, sequence: Sequence) -> Result<(), Error> {
        self.connection_mut(conn)?.status(opcode, sequence)?;
        self.window.update(sequence)
    }

    fn segment(&self, conn: Conn) -> &[u8] {
        self.connections.get(usize::from(conn.0)).map_or(&[], |connection| &connection.segment)
    }

    fn sense(&self, conn: Conn) -> Option<SenseData> {
        sense_segment(self.segment(conn)).and_then(SenseData::parse)
    }

    fn data_in(&mut self, conn: Conn, pdu: &DataIn) -> Result<(), Error> {
        let Some(end) = pdu.status else {
            return self.window.update(pdu.sequence);
        };
        self.status(conn, Opcode::DataIn, pdu.sequence)?;
        self.ended(conn, Opcode::DataIn, pdu.task_tag, end.status, end.residual, None)
    }

    fn response(&mut self, conn: Conn, pdu: &ScsiResponse) -> Result<(), Error> {
        self.status(conn, Opcode::ScsiResponse, pdu.sequence)?;
        if pdu.response == ServiceResponse::TargetFailure {
            let (slot, _) = find(&mut self.tasks, conn, Opcode::ScsiResponse, pdu.task_tag)?;
            return self.free(slot, CommandEnd::TargetFailure);
        }
        let sense = self.sense(conn);
        self.ended(conn, Opcode::ScsiResponse, pdu.task_tag, pdu.status, pdu.residual, sense)
    }

    fn ended(
        &mut self,
        conn: Conn,
        opcode: Opcode,
        tag: u32,
        status: u8,
        residual: Residual,
        sense: Option<SenseData>,
    ) -> Result<(), Error> {
        let (slot, task) = find(&mut self.tasks, conn, opcode, tag)?;
        let ending = task.end(status, residual, sense)?;
        self.free(slot, ending)
    }

    fn free(&mut self, slot: u32, ending: CommandEnd) -> Result<(), Error> {
        let task = self.tasks.get_mut(slot as usize).and_then(Option::take);
        if let Some(task) = task
            && let Some(connection) = self.connections.get_mut(usize::from(task.conn.0))
        {
            connection.ended(&self.tasks);
        }
        self.queue_event(Event::Done { slot, ending })
    }

    fn r2t(&mut self, conn: Conn, pdu: &R2t) -> Result<(), Error> {
        self.window.update(pdu.sequence)?;
        let (slot, task) = find(&mut self.tasks, conn, Opcode::R2t, pdu.task_tag)?;
        let connection = self.connections.get_mut(usize::from(conn.0)).ok_or(Error::Over)?;
        let burst = task.r2t(slot, pdu, &connection.settings)?;
        connection.bursts.push_back(burst);
        Ok(())
    }

    fn nop(&mut self, conn: Conn, pdu: &NopIn) -> Result<(), Error> {
        if pdu.task_tag != RESERVED_TAG {
            self.status(conn, Opcode::NopIn, pdu.sequence)?;
            return match self.requests.take(conn, pdu.task_tag) {
                Some(ControlRequest::Ping) => self.queue_event(Event::Pong),
                None if self.connection_mut(conn)?.was_voided(pdu.task_tag) => Ok(()),
                _ => Err(Error::UnknownTask { opcode: Opcode::NopIn, tag: pdu.task_tag }),
            };
        }
        self.window.update(pdu.sequence)?;
        if pdu.transfer_tag != RESERVED_TAG {
            let reply = NopOut {
                immediate: true,
                lun: pdu.lun,
                task_tag: RESERVED_TAG,
                transfer_tag: pdu.transfer_tag,
                cmd_sn: self.window.next(),
                exp_stat_sn: 0,
                data_len: 0,
            };
            self.connection_mut(conn)?.reply(reply.encode());
        }
        Ok(())
    }

    fn answer(&mut self, conn: Conn, pdu: &TextResponse) -> Result<(), Error> {
        let opcode = Opcode::TextResponse;
        self.status(conn, opcode, pdu.sequence)?;
        let unknown = Error::UnknownTask { opcode, tag: pdu.task_tag };
        let segment = self
            .connections
            .get(usize::from(conn.0))
            .map_or(&[][..], |connection| &connection.segment);
        let Some(ControlRequest::Text(text)) = self.requests.get(conn, pdu.task_tag) else {
            return Err(unknown);
        };
        if text.len() + segment.len() > MAX_TEXT {
            return Err(Error::Text(MAX_TEXT));
        }
        text.extend_from_slice(segment);
        if !pdu.is_final {
            if pdu.transfer_tag == RESERVED_TAG {
                return Err(Error::Unexpected { opcode, what: "continues without a transfer tag" });
            }
            self.say(conn, pdu.task_tag, pdu.transfer_tag, pdu.lun, &[]);
            return Ok(());
        }
        match self.requests.take(conn, pdu.task_tag) {
            Some(ControlRequest::Text(text)) => self.queue_event(Event::Text(text)),
            _ => Err(unknown),
        }
    }

    fn managed(&mut self, conn: Conn, pdu: &TaskResponse) -> Result<(), Error> {
        let (opcode, tag) = (Opcode::TaskResponse, pdu.task_tag);
        self.status(conn, opcode, pdu.sequence)?;
        let Some(ControlRequest::Manage { function, lun, referenced }) =
            self.requests.take(conn, tag)
        else {
            return Err(Error::UnknownTask { opcode, tag });
        };
        // If the task no longer exists, it has been answered before; otherwise the target never saw it.
        if matches!(pdu.outcome, TaskOutcome::Complete | TaskOutcome::NoTask) {
            for slot in 0..self.tasks.len() {
                let Some(task) = &self.tasks[slot] else { continue };
                let over = match function {
                    TaskFunction::AbortTask => task.tag == referenced,
                    TaskFunction::AbortTaskSet
                    | TaskFunction::ClearTaskSet
                    | TaskFunction::LogicalUnitReset => task.lun == lun,
                    TaskFunction::TargetWarmReset | TaskFunction::TargetColdReset => true,
                    _ => false,
                };
                if over {
                    self.free(slot as u32, CommandEnd::Aborted)?;
                }
            }
        }
        self.queue_event(Event::Managed { tag, outcome: pdu.outcome })
    }

    fn logged_out(&mut self, conn: Conn, pdu: &LogoutResponse) -> Result<(), Error> {
        let (opcode, tag) = (Opcode::LogoutResponse, pdu.task_tag);
        self.status(conn, opcode, pdu.sequence)?;
        let Some(ControlRequest::Logout) = self.requests.take(conn, tag) else {
            return Err(Error::UnknownTask { opcode, tag });
        };
        self.over = true;
        let LogoutResponse { outcome, time2wait, time2retain, .. } = *pdu;
        self.queue_event(Event::LoggedOut { outcome, time2wait, time2retain })
    }

    /// Our PDU was rejected. If it belongs to a command, that command has ended.
    fn rejected(&mut self, conn: Conn, pdu: &Reject) -> Result<(), Error> {
        self.status(conn, Opcode::Reject, pdu.sequence)?;
        let header = self.segment(conn).first_chunk::<BHS_LEN>().copied();
        let tag = header.as_ref().map(task_tag);
        if let Some((slot, _)) =
            tag.and_then(|tag| find(&mut self.tasks, conn, Opcode::Reject, tag).ok())
        {
            return self.free(slot, CommandEnd::Rejected(pdu.reason));
        }
        tag.and_then(|tag| self.requests.take(conn, tag));
        self.queue_event(Event::Rejected { reason: pdu.reason, header: header.map(Box::new) })
    }
}

/// The task of a connection with this tag, and its slot.
#[inline]
fn find(
    tasks: &mut [Option<Task>],
    conn: Conn,
    opcode: Opcode,
    tag: u32,
) -> Result<(u32, &mut Task), Error> {
    let slot = tag & 0xffff;
    let task = tasks.get_mut(slot as usize).and_then(Option::as_mut);
    let task = task.filter(|task| task.tag == tag && task.conn == conn);
    Ok((slot, task.ok_or(Error::UnknownTask { opcode, tag })?))
}

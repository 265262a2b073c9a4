//! A connection during login: its socket and the login's progress.

use super::listening::IncomingConnection;
use super::registry::SessionName;
use crate::server::event::Peer;
use crate::server::messages::{NewConnection, NewSession, ToWorker};
use crate::server::port::Port;
use clock::Ns;
use iscsi::chap::Challenge;
use iscsi::login::{
    Admission, Admitted, Login, LoginPolicy, MAX_LOGIN_PDU, TargetConfig, TargetLogin, TargetStep,
};
use iscsi::params::{Params, SessionType};
use iscsi::pdu::LoginStatus;
use iscsi::scsi::Nexus;
use iscsi::target::{ConnectionParams, SessionParams};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::net::SocketAddr;
use std::sync::Arc;

/// Bytes that are held of what came: a whole PDU of a login, and as much again of what may follow the last one.
const ROOM: usize = 2 * MAX_LOGIN_PDU;

/// What is to be done with a caller.
pub(super) enum LoginNext {
    /// It waits for its peer.
    Wait,
    /// It is to be decided whether it may become or join a session.
    Admit,
    /// It is in: hand it over.
    Hand,
    /// It is out, and this is why.
    Over(String),
}

/// A connection that has not logged in yet.
pub(super) struct LoginConnection {
    /// Distinguishes it from others in the same slot.
    pub serial: u32,
    pub socket: OwnedFd,
    pub from: SocketAddr,
    pub port: Arc<Port>,
    /// When it came.
    pub since: Ns,
    /// The session that has to end, wholly or in part, before it is decided about.
    pub waits_for: Option<u16>,
    /// Who it says it is, once it has said so.
    pub initiator: Option<String>,
    local: SocketAddr,
    login: TargetLogin,
    input: Vec<u8>,
    output: Vec<u8>,
    stage: LoginStage,
}

enum LoginStage {
    Talking,
    Deciding(Box<Admission>),
    In {
        login: Box<Login>,
        /// It is the first connection of its session.
        leading: bool,
        /// Who owns the session.
        worker: usize,
    },
    /// Its last words are being said.
    Out(String),
}

impl LoginConnection {
    pub fn new(
        serial: u32,
        arrival: IncomingConnection,
        port: Arc<Port>,
        config: TargetConfig,
        challenge: Challenge,
        now: Ns,
    ) -> LoginConnection {
        LoginConnection {
            serial,
            socket: arrival.socket,
            from: arrival.from,
            port,
            since: now,
            waits_for: None,
            initiator: None,
            local: arrival.local,
            login: TargetLogin::new(config, challenge),
            input: Vec::new(),
            output: Vec::new(),
            stage: LoginStage::Talking,
        }
    }

    /// Goes on as far as it can without waiting. The number of its steps is bounded by that of a login's PDUs.
    pub fn advance(&mut self, policy: &mut dyn LoginPolicy) -> LoginNext {
        loop {
            if let Err(why) = self.flush() {
                return LoginNext::Over(why);
            }
            match &self.stage {
                LoginStage::In { .. } => return LoginNext::Hand,
                LoginStage::Deciding(_) => return LoginNext::Admit,
                LoginStage::Out(why) if self.output.is_empty() => {
                    return LoginNext::Over(why.clone());
                }
                LoginStage::Talking if self.output.is_empty() => {}
                LoginStage::Out(_) | LoginStage::Talking => return LoginNext::Wait,
            }
            if let Some((used, step)) = self.login.receive(&self.input, policy) {
                self.input.drain(..used);
                self.take(step);
                continue;
            }
            match self.receive() {
                Ok(true) => {}
                Ok(false) => return LoginNext::Wait,
                Err(why) => return LoginNext::Over(why),
            }
        }
    }

    /// Does what the login says.
    fn take(&mut self, step: TargetStep) {
        match step {
            TargetStep::Reply(reply) => self.output = reply,
            TargetStep::Admit(admission) => self.stage = LoginStage::Deciding(admission),
            TargetStep::Done { reply, login } => {
                let leading =
                    matches!(&self.stage, LoginStage::Deciding(admission) if admission.tsih == 0);
                self.output = reply;
                self.stage = LoginStage::In { login, leading, worker: 0 };
            }
            TargetStep::Failed { reply, why } => {
                self.output = reply;
                self.stage = LoginStage::Out(why.to_string());
            }
        }
    }

    /// The session's name, the handle that it asks for (0: a new session), and the connection's number.
    pub fn claim(&self) -> Option<(Option<SessionName>, u16, u16)> {
        let LoginStage::Deciding(admission) = &self.stage else { return None };
        let normal = admission.params.session == SessionType::Normal;
        let name = normal.then(|| SessionName {
            initiator: admission.initiator.to_string(),
            isid: admission.isid,
            group: self.port.group,
        });
        Some((name, admission.tsih, admission.cid))
    }

    /// It may enter.
    pub fn admitted(&mut self, tsih: u16, worker: usize) {
        let step = self.login.admit(Admitted { tsih, window: None });
        self.take(step);
        if let LoginStage::In { worker: place, .. } = &mut self.stage {
            *place = worker;
        }
    }

    /// It may not.
    pub fn turn_away(&mut self, status: LoginStatus, why: &str) {
        let step = self.login.refuse(status);
        self.take(step);
        if let LoginStage::Out(stat_sn) = &mut self.stage {
            *stat_sn = why.to_owned();
        }
    }

    /// The message that hands it to its worker.
    pub fn into_letter(self) -> Option<(usize, ToWorker)> {
        let LoginStage::In { login, leading, worker } = self.stage else { return None };
        let Params { session, max_recv, max_send, header_digest, data_digest, .. } = login.params;
        let discovery = session == SessionType::Discovery;
        let initiator = login.initiator.as_str();
        let first = NewConnection {
            socket: self.socket,
            unsent: self.output,
            already: self.input,
            params: ConnectionParams {
                cid: login.cid,
                header_digest,
                data_digest,
                max_receive: max_recv,
                max_send,
                stat_sn: login.stat_sn,
            },
            peer: Peer {
                initiator: initiator.into(),
                address: self.from,
                portal: self.port.index,
                tsih: login.tsih,
                cid: login.cid,
                discovery,
            },
            local: self.local,
            port: Arc::clone(&self.port),
        };
        if !leading {
            return Some((worker, ToWorker::Connection(Box::new(first))));
        }
        let session = NewSession {
            nexus: Nexus::new(initiator, login.isid.0, self.port.group),
            discovery,
            params: SessionParams {
                initial_r2t: login.params.initial_r2t,
                immediate_data: login.params.immediate_data,
                first_burst: login.params.first_burst,
                max_burst: login.params.max_burst,
                max_outstanding_r2t: login.params.max_outstanding_r2t,
                max_connections: login.params.max_connections,
            },
            cmd_sn: login.cmd_sn,
            first,
        };
        Some((worker, ToWorker::Session(Box::new(session))))
    }

    /// Sends what there is to be sent, as far as the socket takes it.
    fn flush(&mut self) -> Result<(), String> {
        while !self.output.is_empty() {
            match send(&self.socket, &self.output, SendFlags::NOSIGNAL) {
                Ok(sent) => drop(self.output.drain(..sent)),
                Err(Errno::WOULDBLOCK) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    /// Receives what has come; whether there was any.
    fn receive(&mut self) -> Result<bool, String> {
        let from = self.input.len();
        if from >= ROOM {
            return Err("it sent more than one login PDU at once".to_owned());
        }
        self.input.resize(ROOM, 0);
        let got = recv(&self.socket, &mut self.input[from..], RecvFlags::empty());
        let (len, result) = match got {
            Ok((_, 0)) => (0, Err("it closed the connection".to_owned())),
            Ok((_, len)) => (len, Ok(true)),
            Err(Errno::WOULDBLOCK) => (0, Ok(false)),
            Err(Errno::INTR) => (0, Ok(true)),
            Err(error) => (0, Err(error.to_string())),
        };
        self.input.truncate(from + len);
        result
    }
}

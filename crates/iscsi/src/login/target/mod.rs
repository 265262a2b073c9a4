//! The target's end of a login.
//!
//! ```text
//! receive ─► Reply … ─► Admit ─► admit(tsih) ─► Done
//!                │         └───► refuse(status) ─► Failed
//!                └─► Failed
//! ```
//!
//! Before [`TargetStep::Admit`] nothing outside the login has changed: the owner then makes or joins sessions.

mod security;
mod text;

use super::frame::{self, LoginPdu};
use super::{IscsiName, Login, LoginError, MAX_EXCHANGES, MAX_LOGIN_TEXT};
use crate::chap::{Challenge, Credentials};
use crate::params::{DesiredParams, Negotiation, Params, SessionType};
use crate::pdu::{
    Bhs, Isid, LoginRequest, LoginResponse, LoginStatus, Request, Sequence, Stage, opcode, task_tag,
};
use crate::text::Assembly;
use security::TargetSecurity;
use text::LoginParties;

/// The configuration of a target.
#[derive(Clone, Debug)]
pub struct TargetConfig {
    /// Its negotiation settings.
    pub wishes: DesiredParams,
    /// Most commands that a new session may have outstanding, for MaxCmdSN. At least 1.
    pub window: u32,
}

/// The authentication that a target requires.
#[derive(Clone, Debug)]
pub enum Auth {
    /// None.
    None,
    /// CHAP by one of these users.
    Chap {
        /// The permitted users.
        users: Vec<Credentials>,
        /// The target's own credentials, for initiators that require mutual CHAP.
        target: Option<Credentials>,
    },
}

/// The properties of a target for one initiator.
#[derive(Clone, Debug)]
pub struct LoginAccess {
    /// The tag of the portal group of the connection.
    pub portal_group: u16,
    /// TargetAlias, a name for people.
    pub alias: Option<String>,
    /// Required authentication.
    pub auth: Auth,
}

/// Access control, queried once a login, before authentication.
pub trait LoginPolicy {
    /// The access of an initiator to a target or, if none is named, to a discovery session.
    /// # Errors
    /// The final status: [`LoginStatus::NOT_FOUND`], [`LoginStatus::AUTHORIZATION_FAILURE`], or another one.
    fn access(
        &mut self,
        initiator: &IscsiName,
        target: Option<&IscsiName>,
    ) -> Result<LoginAccess, LoginStatus>;
}

/// An authenticated and negotiated login that awaits the owner's decision:
///
/// * `tsih` 0 and no session with this initiator, ISID and target: a new session.
/// * `tsih` 0, and there is one: session reinstatement; the old session ends first.
/// * another `tsih`: a connection of that session, if it belongs to this initiator, ISID and target, and has room. A
///   connection with the same `cid` is reinstated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The initiator's name.
    pub initiator: IscsiName,
    /// The target's name; `None` for a discovery session.
    pub target: Option<IscsiName>,
    /// The authenticated user name.
    pub user: Option<String>,
    /// The ISID.
    pub isid: Isid,
    /// The TSIH; 0 for a new session.
    pub tsih: u16,
    /// The CID of the connection.
    pub cid: u16,
    /// The CmdSN of the first command in a new session.
    pub cmd_sn: u32,
    /// Negotiated parameters.
    pub params: Params,
}

/// The owner's permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The TSIH of the session; not 0.
    pub tsih: u16,
    /// ExpCmdSN and MaxCmdSN of the session that a connection joins; `None` for a new one.
    pub window: Option<(u32, u32)>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetStep {
    /// Send this, and continue to receive.
    Reply(Vec<u8>),
    /// Decide, and call [`TargetLogin::admit`] or [`TargetLogin::refuse`].
    Admit(Box<Admission>),
    /// Send this; the login is over.
    Done {
        /// The last response.
        reply: Vec<u8>,
        /// The result of the login.
        login: Box<Login>,
    },
    /// Send this, if it is not empty, and close the connection.
    Failed {
        /// The last response.
        reply: Vec<u8>,
        /// The reason.
        why: LoginError,
    },
}

/// What must not change during a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fixed {
    isid: Isid,
    tsih: u16,
    cid: u16,
    cmd_sn: u32,
}

/// The login of one connection, at the target.
#[derive(Debug)]
pub struct TargetLogin {
    config: TargetConfig,
    requests: u32,
    fixed: Option<Fixed>,
    /// The next StatSN.
    stat_sn: u32,
    stage: Stage,
    assembly: Assembly,
    who: Option<LoginParties>,
    security: TargetSecurity,
    negotiation: Option<Negotiation>,
    /// The answer to this request offers keys, so it cannot be the last one (RFC 7143, section 6.3).
    offered: bool,
    /// The last request, the text of its answer and the parameters, while the owner decides.
    last: Option<(LoginRequest, Vec<u8>, Params)>,
    over: bool,
}

impl TargetLogin {
    /// Waits for the first request. The challenge must be random and unique to this login.
    pub fn new(config: TargetConfig, challenge: Challenge) -> TargetLogin {
        TargetLogin {
            config,
            requests: 0,
            fixed: None,
            stat_sn: 0,
            stage: Stage::Security,
            assembly: Assembly::new(MAX_LOGIN_TEXT),
            who: None,
            security: TargetSecurity::new(challenge),
            negotiation: None,
            offered: false,
            last: None,
            over: false,
        }
    }

    /// Processes received and unconsumed bytes. Returns `None` if they are not a complete PDU yet
    /// ([`MAX_LOGIN_PDU`](super::MAX_LOGIN_PDU) bytes always contain one), while the owner decides, and after the
    /// end; otherwise the number of bytes consumed, and what to do.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        policy: &mut dyn LoginPolicy,
    ) -> Option<(usize, TargetStep)> {
        if self.over || self.last.is_some() {
            return None;
        }
        let bhs = frame::header(bytes)?;
        // The header alone shows that a PDU is not part of a login, whatever follows it.
        let known = opcode(&bhs).map_err(LoginError::from).and_then(|code| match code {
            crate::pdu::Opcode::LoginRequest => Ok(()),
            other => Err(LoginError::NotLogin(other)),
        });
        match known.and_then(|()| frame::frame(bytes)) {
            Ok(None) => None,
            Ok(Some(frame)) => {
                let len = frame.len;
                let step = self.step(&frame, policy).unwrap_or_else(|why| self.fail(&bhs, why));
                Some((len, step))
            }
            Err(why) => Some((bytes.len(), self.fail(&bhs, why))),
        }
    }

    /// Permits the login of [`TargetStep::Admit`]. Without a pending login the login fails: an error of the owner.
    pub fn admit(&mut self, admitted: Admitted) -> TargetStep {
        let Some((request, text, params)) = self.last.take() else {
            return self.failed(None, LoginError::Stray);
        };
        let Some(who) = self.who.take().filter(|_| admitted.tsih != 0) else {
            return self.failed(Some(request), LoginError::Tsih(admitted.tsih));
        };
        let sequence = self.sequence(&request, admitted.window);
        let mut response = self.response(&request, sequence, text.len());
        (response.next, response.tsih) = (Some(Stage::FullFeature), admitted.tsih);
        self.over = true;
        let login = Login {
            initiator: who.initiator,
            initiator_alias: who.initiator_alias,
            target: who.target,
            target_alias: who.target_alias,
            portal_group: Some(who.portal_group),
            user: self.security.user().map(str::to_owned),
            isid: request.isid,
            tsih: admitted.tsih,
            cid: request.cid,
            params,
            cmd_sn: request.cmd_sn,
            max_cmd_sn: sequence.max_cmd_sn,
            stat_sn: self.stat_sn,
        };
        let reply = frame::write(response.encode(), &text);
        TargetStep::Done { reply, login: Box::new(login) }
    }

    /// Refuses the login of [`TargetStep::Admit`] with a status other than success.
    pub fn refuse(&mut self, status: LoginStatus) -> TargetStep {
        let status = if status.is_success() { LoginStatus::TARGET_ERROR } else { status };
        let request = self.last.take().map(|(request, ..)| request);
        self.failed(request, LoginError::Refused(status))
    }

    /// Processes one request.
    fn step(
        &mut self,
        frame: &LoginPdu<'_>,
        policy: &mut dyn LoginPolicy,
    ) -> Result<TargetStep, LoginError> {
        let request = match Request::parse(&frame.bhs, frame.ahs)? {
            Request::Login(request) => request,
            _ => return Err(LoginError::Stray),
        };
        self.check(&request)?;
        self.assembly.add(frame.data)?;
        if request.goes_on {
            return Ok(self.reply(&request, &[], None));
        }
        let bytes = self.assembly.take();
        let mut out = Vec::new();
        self.take_text(&request, &bytes, &mut out, policy)?;
        let Some(next) = request.next.filter(|next| self.grants(*next)) else {
            return Ok(self.reply(&request, &out, None));
        };
        if next != Stage::FullFeature {
            self.stage = next;
            return Ok(self.reply(&request, &out, Some(next)));
        }
        let params = self.negotiation.as_ref().ok_or(LoginError::Stray)?.finish()?;
        let admission = self.admission(&request, params)?;
        self.last = Some((request, out, params));
        Ok(TargetStep::Admit(Box::new(admission)))
    }

    /// Checks of a request that do not depend on its text.
    fn check(&mut self, request: &LoginRequest) -> Result<(), LoginError> {
        self.requests += 1;
        if self.requests > MAX_EXCHANGES {
            return Err(LoginError::TooMany);
        }
        let &LoginRequest { isid, tsih, cid, cmd_sn, .. } = request;
        let Some(fixed) = self.fixed else {
            if request.version_min > 0 {
                return Err(LoginError::Version(request.version_min));
            }
            self.fixed = Some(Fixed { isid, tsih, cid, cmd_sn });
            self.stat_sn = request.exp_stat_sn;
            self.stage = request.stage;
            return Ok(());
        };
        let same = [
            ("ISID", fixed.isid == isid),
            ("TSIH", fixed.tsih == tsih),
            ("CID", fixed.cid == cid),
            ("CmdSN", fixed.cmd_sn == cmd_sn),
        ];
        if let Some((changed, _)) = same.iter().find(|(_, same)| !same) {
            return Err(LoginError::Changed(changed));
        }
        match request.stage {
            stage if stage == self.stage => Ok(()),
            found => Err(LoginError::Stage { expected: self.stage, found }),
        }
    }

    /// Whether the login may move to the next stage.
    fn grants(&self, next: Stage) -> bool {
        let proved = self.security.is_settled();
        let waits = self.negotiation.as_ref().is_none_or(Negotiation::is_waiting);
        proved && (next != Stage::FullFeature || !(waits || self.offered))
    }

    fn admission(&self, request: &LoginRequest, params: Params) -> Result<Admission, LoginError> {
        let who = self.who.as_ref().ok_or(LoginError::Missing("InitiatorName"))?;
        Ok(Admission {
            initiator: who.initiator.clone(),
            target: who.target.clone(),
            user: self.security.user().map(str::to_owned),
            isid: request.isid,
            tsih: request.tsih,
            cid: request.cid,
            cmd_sn: request.cmd_sn,
            params,
        })
    }

    /// The sequence numbers of a response. The command window of a joined session is unknown here: without it the
    /// numbers are a pair that the initiator must ignore (RFC 7143, section 4.2.2.1).
    fn sequence(&self, request: &LoginRequest, window: Option<(u32, u32)>) -> Sequence {
        let first = request.cmd_sn;
        let (exp_cmd_sn, max_cmd_sn) = match window {
            Some(window) => window,
            None if request.tsih != 0 => (first, first.wrapping_sub(2)),
            None => (first, first.wrapping_add(self.config.window.max(1) - 1)),
        };
        Sequence { stat_sn: self.stat_sn, exp_cmd_sn, max_cmd_sn }
    }

    /// A response to a request, with the fields that follow from the request; consumes a StatSN.
    fn response(
        &mut self,
        request: &LoginRequest,
        sequence: Sequence,
        len: usize,
    ) -> LoginResponse {
        self.stat_sn = self.stat_sn.wrapping_add(1);
        LoginResponse {
            goes_on: false,
            stage: request.stage,
            next: None,
            version_max: 0,
            version_active: 0,
            isid: request.isid,
            tsih: request.tsih,
            task_tag: request.task_tag,
            sequence,
            status: LoginStatus::SUCCESS,
            data_len: len as u32,
        }
    }

    fn reply(&mut self, request: &LoginRequest, text: &[u8], next: Option<Stage>) -> TargetStep {
        let sequence = self.sequence(request, None);
        let response = LoginResponse { next, ..self.response(request, sequence, text.len()) };
        TargetStep::Reply(frame::write(response.encode(), text))
    }

    /// Ends the login, with as much of the request in the answer as is valid.
    fn fail(&mut self, bhs: &Bhs, why: LoginError) -> TargetStep {
        // The header alone: its data no longer matters.
        let mut bhs = *bhs;
        bhs[4] = 0;
        let request = match Request::parse(&bhs, &[]) {
            Ok(Request::Login(request)) => Some(request),
            _ => None,
        };
        match request {
            Some(request) => self.failed(Some(request), why),
            None => self.failed_without_request(task_tag(&bhs), why),
        }
    }

    fn failed(&mut self, request: Option<LoginRequest>, why: LoginError) -> TargetStep {
        let Some(request) = request else {
            self.over = true;
            return TargetStep::Failed { reply: Vec::new(), why };
        };
        let sequence = self.sequence(&request, None);
        let mut response = self.response(&request, sequence, 0);
        response.status = why.status();
        self.over = true;
        TargetStep::Failed { reply: frame::write(response.encode(), &[]), why }
    }

    /// As [`TargetLogin::failed`], if only the tag of the request is known.
    fn failed_without_request(&mut self, task_tag: u32, why: LoginError) -> TargetStep {
        let fixed =
            self.fixed.unwrap_or(Fixed { isid: Isid::default(), tsih: 0, cid: 0, cmd_sn: 0 });
        let request = LoginRequest {
            goes_on: false,
            stage: self.stage,
            next: None,
            version_max: 0,
            version_min: 0,
            isid: fixed.isid,
            tsih: fixed.tsih,
            task_tag,
            cid: fixed.cid,
            cmd_sn: fixed.cmd_sn,
            exp_stat_sn: 0,
            data_len: 0,
        };
        self.failed(Some(request), why)
    }

    /// Starts the negotiation once the session type is known.
    fn negotiate(&mut self, session: SessionType, leading: bool) {
        let wishes = self.config.wishes.clone();
        let role = crate::params::Negotiator::Target;
        self.negotiation = Some(Negotiation::new(role, session, leading, wishes));
    }
}

//! The initiator's end of a login. It starts in the security stage, where names are declared, and always continues
//! with the operational stage: every target supports this order.

mod security;

use super::frame::{self, LoginPdu};
use super::keys::{SecurityKeys, declare};
use super::{IscsiName, Login, LoginError, MAX_EXCHANGES, MAX_LOGIN_TEXT};
use crate::chap::{Challenge, Credentials};
use crate::discovery::DiscoveredPortal;
use crate::params::{DesiredParams, Negotiation, Negotiator, SessionType};
use crate::pdu::{Isid, LoginRequest, LoginResponse, Response, Stage, opcode};
use crate::text::{self, Assembly, MAX_LOGIN_PAIRS};
use security::InitiatorSecurity;

/// The authentication of an initiator.
#[derive(Clone, Debug)]
pub enum InitiatorAuth {
    /// None.
    None,
    /// CHAP, if the target requires it.
    Chap {
        /// The initiator's credentials.
        user: Credentials,
        /// The target's credentials for mutual CHAP, which makes CHAP mandatory. An empty name matches any name.
        target: Option<Credentials>,
    },
}

/// The configuration of a login.
#[derive(Clone, Debug)]
pub struct InitiatorConfig {
    /// The initiator's name.
    pub name: IscsiName,
    /// InitiatorAlias, a name for people; at most 255 bytes.
    pub alias: Option<String>,
    /// The target; `None` for a discovery session.
    pub target: Option<IscsiName>,
    /// Authentication.
    pub auth: InitiatorAuth,
    /// Negotiation settings.
    pub wishes: DesiredParams,
    /// The ISID.
    pub isid: Isid,
    /// The TSIH of the session to join; 0 for a new one.
    pub tsih: u16,
    /// The CID of the connection.
    pub cid: u16,
    /// The CmdSN of the first command, or of the next one if a session is joined.
    pub cmd_sn: u32,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitiatorStep {
    /// Send this, and continue to receive.
    Send(Vec<u8>),
    /// The login is complete.
    Done(Box<Login>),
    /// Close the connection, and log in to this portal.
    Redirected {
        /// The new address.
        to: DiscoveredPortal,
        /// Permanently.
        permanently: bool,
    },
}

/// The login of one connection, at the initiator.
#[derive(Debug)]
pub struct Initiator {
    config: InitiatorConfig,
    sent: u32,
    exp_stat_sn: u32,
    stage: Stage,
    /// The stage that the last request asked for.
    asked: Option<Stage>,
    assembly: Assembly,
    security: InitiatorSecurity,
    negotiation: Negotiation,
    alias: Option<String>,
    address: Option<String>,
    portal_group: Option<u16>,
}

/// There is one exchange at a time, so one tag suffices.
const TASK_TAG: u32 = 0;

impl Initiator {
    /// A login that has not started. The target answers the challenge if it must authenticate; the challenge must be
    /// random and unique to this login.
    pub fn new(config: InitiatorConfig, challenge: Challenge) -> Initiator {
        let session = match config.target {
            Some(_) => SessionType::Normal,
            None => SessionType::Discovery,
        };
        let wishes = config.wishes.clone();
        Initiator {
            sent: 0,
            exp_stat_sn: 0,
            stage: Stage::Security,
            asked: None,
            assembly: Assembly::new(MAX_LOGIN_TEXT),
            security: InitiatorSecurity::new(config.auth.clone(), challenge),
            negotiation: Negotiation::new(Negotiator::Initiator, session, config.tsih == 0, wishes),
            alias: None,
            address: None,
            portal_group: None,
            config,
        }
    }

    /// The first request. Must be called once.
    pub fn start(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        text::push(&mut text, "InitiatorName", self.config.name.as_str());
        if let Some(alias) = &self.config.alias {
            text::push(&mut text, "InitiatorAlias", alias);
        }
        match &self.config.target {
            Some(target) => {
                text::push(&mut text, "TargetName", target.as_str());
                text::push(&mut text, "SessionType", "Normal");
            }
            None => text::push(&mut text, "SessionType", "Discovery"),
        }
        self.security.begin(&mut text);
        self.request(&text)
    }

    /// Processes received and unconsumed bytes. Returns `None` if they are not a complete PDU yet
    /// ([`MAX_LOGIN_PDU`](super::MAX_LOGIN_PDU) bytes always contain one); otherwise the bytes consumed, and what to
    /// do.
    /// # Errors
    /// The login has failed; close the connection.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Option<(usize, InitiatorStep)>, LoginError> {
        if let Some(bhs) = frame::header(bytes) {
            match opcode(&bhs)? {
                crate::pdu::Opcode::LoginResponse => {}
                other => return Err(LoginError::NotLogin(other)),
            }
        }
        let Some(frame) = frame::frame(bytes)? else { return Ok(None) };
        let step = self.step(&frame)?;
        Ok(Some((frame.len, step)))
    }

    fn step(&mut self, frame: &LoginPdu<'_>) -> Result<InitiatorStep, LoginError> {
        let response = match Response::parse(&frame.bhs, frame.ahs)? {
            Response::Login(response) => response,
            _ => return Err(LoginError::Stray),
        };
        if response.task_tag != TASK_TAG || self.sent == 0 {
            return Err(LoginError::Stray);
        }
        if !response.status.is_success() {
            return self.check_status(&response, frame.data);
        }
        self.check(&response)?;
        self.assembly.add(frame.data)?;
        if response.goes_on {
            return self.request_more_text();
        }
        let bytes = self.assembly.take();
        let mut answers = Vec::new();
        let keys = self.take_text(&bytes, &mut answers)?;
        match self.stage {
            Stage::Security => {
                self.security.step(keys, &mut answers)?;
                self.after_security(&response, answers)
            }
            _ => {
                keys.only(&[])?;
                self.after_operational(&response, &answers)
            }
        }
    }

    /// Checks of a response that do not depend on its text.
    fn check(&mut self, response: &LoginResponse) -> Result<(), LoginError> {
        if response.version_active != 0 {
            return Err(LoginError::Version(response.version_active));
        }
        if response.isid != self.config.isid {
            return Err(LoginError::Changed("ISID"));
        }
        if response.stage != self.stage {
            return Err(LoginError::Stage { expected: self.stage, found: response.stage });
        }
        self.exp_stat_sn = response.sequence.stat_sn.wrapping_add(1);
        match (response.next, self.asked) {
            (None, _) => Ok(()),
            (Some(next), Some(asked)) if next == asked => Ok(()),
            (Some(next), _) => Err(LoginError::Transit(next)),
        }
    }

    /// Sorts the pairs of a text, and appends the answers.
    fn take_text<'a>(
        &mut self,
        bytes: &'a [u8],
        answers: &mut Vec<u8>,
    ) -> Result<SecurityKeys<'a>, LoginError> {
        let mut keys = SecurityKeys::default();
        for (key, value) in text::parse(bytes, MAX_LOGIN_PAIRS)? {
            if keys.take(key, value)? {
                continue;
            }
            text::plain(key, value)?;
            match key {
                "TargetAlias" => declare(&mut self.alias, "TargetAlias", value)?,
                "TargetAddress" => self.address = Some(value.to_owned()),
                "TargetPortalGroupTag" => {
                    let group = text::number(value).and_then(|group| u16::try_from(group).ok());
                    self.portal_group =
                        Some(group.ok_or(LoginError::Value("TargetPortalGroupTag"))?);
                }
                "InitiatorName" | "InitiatorAlias" | "TargetName" | "SessionType"
                | "SendTargets" => return Err(LoginError::Misplaced(key.to_owned())),
                _ => self.negotiation.receive(key, value, answers)?,
            }
        }
        Ok(keys)
    }

    fn after_security(
        &mut self,
        response: &LoginResponse,
        mut answers: Vec<u8>,
    ) -> Result<InitiatorStep, LoginError> {
        if response.next.is_some() {
            if !self.security.is_settled() {
                return Err(LoginError::AuthMethod(
                    "the target left the security stage before authentication",
                ));
            }
            self.stage = Stage::Operational;
            self.negotiation.offer(&mut answers);
        }
        self.send(&answers)
    }

    fn after_operational(
        &mut self,
        response: &LoginResponse,
        answers: &[u8],
    ) -> Result<InitiatorStep, LoginError> {
        if response.next.is_none() {
            return self.send(answers);
        }
        // The end that finishes the login may not offer keys (RFC 7143, section 6.3).
        if !answers.is_empty() {
            return Err(LoginError::Transit(Stage::FullFeature));
        }
        let params = self.negotiation.finish()?;
        let joined = self.config.tsih;
        if response.tsih == 0 || (joined != 0 && response.tsih != joined) {
            return Err(LoginError::Tsih(response.tsih));
        }
        Ok(InitiatorStep::Done(Box::new(Login {
            initiator: self.config.name.clone(),
            initiator_alias: self.config.alias.clone(),
            target: self.config.target.clone(),
            target_alias: self.alias.take(),
            portal_group: self.portal_group,
            user: self.security.user(),
            isid: self.config.isid,
            tsih: response.tsih,
            cid: self.config.cid,
            params,
            cmd_sn: self.config.cmd_sn,
            max_cmd_sn: response.sequence.max_cmd_sn,
            stat_sn: self.exp_stat_sn,
        })))
    }

    /// A status that ends the login here.
    fn check_status(
        &mut self,
        response: &LoginResponse,
        data: &[u8],
    ) -> Result<InitiatorStep, LoginError> {
        if !response.status.is_redirection() {
            return Err(LoginError::Refused(response.status));
        }
        for (key, value) in text::parse(data, MAX_LOGIN_PAIRS)? {
            if key == "TargetAddress" {
                self.address = Some(value.to_owned());
            }
        }
        let address = self.address.take().ok_or(LoginError::Lost)?;
        let to = address.parse().map_err(|_| LoginError::Value("TargetAddress"))?;
        let permanently = response.status == crate::pdu::LoginStatus::MOVED_PERMANENTLY;
        Ok(InitiatorStep::Redirected { to, permanently })
    }

    /// The next request: it asks for the next stage as soon as nothing prevents it.
    fn send(&mut self, text: &[u8]) -> Result<InitiatorStep, LoginError> {
        match self.sent {
            MAX_EXCHANGES.. => Err(LoginError::TooMany),
            _ => Ok(InitiatorStep::Send(self.request(text))),
        }
    }

    /// An empty request, after which the target continues its text (the C bit).
    fn request_more_text(&mut self) -> Result<InitiatorStep, LoginError> {
        match self.sent {
            MAX_EXCHANGES.. => Err(LoginError::TooMany),
            _ => Ok(InitiatorStep::Send(self.write(&[], None))),
        }
    }

    fn request(&mut self, text: &[u8]) -> Vec<u8> {
        let next = match self.stage {
            Stage::Security if !self.security.is_ready() => None,
            Stage::Security => Some(Stage::Operational),
            _ => Some(Stage::FullFeature),
        };
        self.write(text, next)
    }

    fn write(&mut self, text: &[u8], next: Option<Stage>) -> Vec<u8> {
        self.sent += 1;
        self.asked = next;
        let request = LoginRequest {
            goes_on: false,
            stage: self.stage,
            next,
            version_max: 0,
            version_min: 0,
            isid: self.config.isid,
            tsih: self.config.tsih,
            task_tag: TASK_TAG,
            cid: self.config.cid,
            cmd_sn: self.config.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            data_len: text.len() as u32,
        };
        frame::write(request.encode(), text)
    }
}

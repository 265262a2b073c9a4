//! The initiator's end of a login. It begins in the security stage, where names are told, and goes on to the operational
//! one, even where there is little to say: every target knows this way.

mod security;

use super::frame::{self, Frame};
use super::keys::{SecurityKeys, declare};
use super::{IscsiName, Login, LoginError, MAX_EXCHANGES, MAX_LOGIN_TEXT};
use crate::chap::{Challenge, Credentials};
use crate::discovery::Portal;
use crate::params::{Negotiation, Role, SessionType, Wishes};
use crate::pdu::{Isid, LoginRequest, LoginResponse, Response, Stage, opcode};
use crate::text::{self, Assembly, MAX_LOGIN_PAIRS};
use security::Security;

/// How an initiator proves who it is.
#[derive(Clone, Debug)]
pub enum InitiatorAuth {
    /// Not at all.
    None,
    /// By CHAP, if the target wants it.
    Chap {
        /// Who it is.
        user: Credentials,
        /// Who the target has to prove to be; then CHAP is a must. Where the name is empty, any name will do.
        target: Option<Credentials>,
    },
}

/// What is to be logged in to, and how.
#[derive(Clone, Debug)]
pub struct InitiatorConfig {
    /// The initiator's name.
    pub name: IscsiName,
    /// What it is called by people; at most 255 bytes.
    pub alias: Option<String>,
    /// The target; nothing for a discovery session.
    pub target: Option<IscsiName>,
    /// How it proves who it is.
    pub auth: InitiatorAuth,
    /// What it wants of the negotiation.
    pub wishes: Wishes,
    /// The initiator's part of the session's name.
    pub isid: Isid,
    /// The session to join; 0 for a new one.
    pub tsih: u16,
    /// The connection's number within its session.
    pub cid: u16,
    /// The number of the first command, or of the next one where a session is joined.
    pub cmd_sn: u32,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitiatorStep {
    /// Send this, and go on receiving.
    Send(Vec<u8>),
    /// The login is over.
    Done(Box<Login>),
    /// Close the connection, and log in there.
    Redirected {
        /// Where to.
        to: Portal,
        /// For good.
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
    security: Security,
    negotiation: Negotiation,
    alias: Option<String>,
    address: Option<String>,
    portal_group: Option<u16>,
}

/// There is one exchange at a time, so one tag does for all.
const TASK_TAG: u32 = 0;

impl Initiator {
    /// A login that has not begun. The challenge is for the target to answer, where it has to prove itself; it is this
    /// login's alone, and random.
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
            security: Security::new(config.auth.clone(), challenge),
            negotiation: Negotiation::new(Role::Initiator, session, config.tsih == 0, wishes),
            alias: None,
            address: None,
            portal_group: None,
            config,
        }
    }

    /// The first request. To be called once.
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

    /// Looks at what has come in and was not consumed before. Nothing if it is not a whole PDU yet, which it is at the latest
    /// with [`MAX_LOGIN_PDU`](super::MAX_LOGIN_PDU) bytes. Otherwise: how many bytes were consumed, and what to do.
    ///
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

    fn step(&mut self, frame: &Frame<'_>) -> Result<InitiatorStep, LoginError> {
        let response = match Response::parse(&frame.bhs, frame.ahs)? {
            Response::Login(response) => response,
            _ => return Err(LoginError::Stray),
        };
        if response.task_tag != TASK_TAG || self.sent == 0 {
            return Err(LoginError::Stray);
        }
        if !response.status.is_success() {
            return self.turned_away(&response, frame.data);
        }
        self.check(&response)?;
        self.assembly.add(frame.data)?;
        if response.goes_on {
            return self.ask_for_the_rest();
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

    /// What must hold of a response whatever its text says.
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

    /// Sorts the pairs of a text, and appends what is to be answered.
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
                return Err(LoginError::AuthMethod("the target left the stage before the proof"));
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
        // Whoever ends the login cannot ask any more (RFC 7143, section 6.3).
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
    fn turned_away(
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

    /// The next request: it asks for the next stage as soon as nothing stands against it.
    fn send(&mut self, text: &[u8]) -> Result<InitiatorStep, LoginError> {
        match self.sent {
            MAX_EXCHANGES.. => Err(LoginError::TooMany),
            _ => Ok(InitiatorStep::Send(self.request(text))),
        }
    }

    /// An empty request, after which the target goes on with its text (the C bit).
    fn ask_for_the_rest(&mut self) -> Result<InitiatorStep, LoginError> {
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

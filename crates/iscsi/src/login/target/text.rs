//! The text of a request at the target: declarations of names, and dispatch of the other keys.

use super::super::keys::{SecurityKeys, declare, needed};
use super::super::{IscsiName, LoginError};
use super::{LoginPolicy, TargetLogin};
use crate::params::{SessionType, is_operational};
use crate::pdu::{LoginRequest, Stage};
use crate::text::{self, KeyValue, MAX_LOGIN_PAIRS};

/// The two ends of the login. Known after the first text.
#[derive(Debug)]
pub(super) struct LoginParties {
    pub initiator: IscsiName,
    pub initiator_alias: Option<String>,
    pub target: Option<IscsiName>,
    pub target_alias: Option<String>,
    pub portal_group: u16,
    said: Declarations,
}

/// The initiator's declarations, verbatim.
#[derive(Debug, Default)]
struct Declarations {
    initiator: Option<String>,
    alias: Option<String>,
    target: Option<String>,
    session: Option<String>,
}

impl Declarations {
    /// Stores a pair if it is a declaration.
    fn take(&mut self, (key, value): KeyValue<'_>) -> Result<bool, LoginError> {
        match key {
            "InitiatorName" => declare(&mut self.initiator, "InitiatorName", value)?,
            "InitiatorAlias" => declare(&mut self.alias, "InitiatorAlias", value)?,
            "TargetName" => declare(&mut self.target, "TargetName", value)?,
            "SessionType" => declare(&mut self.session, "SessionType", value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn session(&self) -> Result<SessionType, LoginError> {
        match self.session.as_deref() {
            None | Some("Normal") => Ok(SessionType::Normal),
            Some("Discovery") => Ok(SessionType::Discovery),
            Some(other) => Err(LoginError::SessionType(other.to_owned())),
        }
    }
}

impl TargetLogin {
    /// Processes a complete text and appends the answers.
    pub(super) fn take_text(
        &mut self,
        request: &LoginRequest,
        bytes: &[u8],
        out: &mut Vec<u8>,
        policy: &mut dyn LoginPolicy,
    ) -> Result<(), LoginError> {
        let pairs = text::parse(bytes, MAX_LOGIN_PAIRS)?;
        let pairs = self.identify(request, pairs, out, policy)?;
        match request.stage {
            Stage::Security => self.take_security(&pairs, out),
            _ => self.take_operational(&pairs, out),
        }
    }

    /// Processes declarations, and returns the other pairs. The first text identifies both ends; later ones repeat it.
    fn identify<'a>(
        &mut self,
        request: &LoginRequest,
        pairs: Vec<KeyValue<'a>>,
        out: &mut Vec<u8>,
        policy: &mut dyn LoginPolicy,
    ) -> Result<Vec<KeyValue<'a>>, LoginError> {
        let mut first = Declarations::default();
        let said = self.who.as_mut().map_or(&mut first, |who| &mut who.said);
        let mut rest = Vec::with_capacity(pairs.len());
        for pair in pairs {
            if !said.take(pair)? {
                rest.push(pair);
            }
        }
        match &mut self.who {
            Some(who) => who.initiator_alias.clone_from(&who.said.alias),
            None => self.enter(request, first, out, policy)?,
        }
        Ok(rest)
    }

    /// Asks the policy about the identified initiator.
    fn enter(
        &mut self,
        request: &LoginRequest,
        said: Declarations,
        out: &mut Vec<u8>,
        policy: &mut dyn LoginPolicy,
    ) -> Result<(), LoginError> {
        let initiator: IscsiName = needed(said.initiator.as_deref(), "InitiatorName")?.parse()?;
        let session = said.session()?;
        let target: Option<IscsiName> = match (session, said.target.as_deref()) {
            (SessionType::Normal, name) => Some(needed(name, "TargetName")?.parse()?),
            (SessionType::Discovery, None) => None,
            (SessionType::Discovery, Some(name)) => Some(name.parse()?),
        };
        // A discovery session belongs to the portal, even if it names a target (RFC 7143, section 13.4).
        let target = target.filter(|_| session == SessionType::Normal);
        let access = policy.access(&initiator, target.as_ref()).map_err(LoginError::Refused)?;
        self.security.require(access.auth);
        if request.stage != Stage::Security && !self.security.is_settled() {
            return Err(LoginError::AuthMethod(
                "CHAP is required, and the security stage was skipped",
            ));
        }
        if target.is_some() {
            text::push(out, "TargetPortalGroupTag", &access.portal_group.to_string());
        }
        if let Some(alias) = &access.alias {
            text::push(out, "TargetAlias", alias);
        }
        self.negotiate(session, request.tsih == 0);
        self.who = Some(LoginParties {
            initiator,
            initiator_alias: said.alias.clone(),
            target,
            target_alias: access.alias,
            portal_group: access.portal_group,
            said: Declarations { session: Some(name_of(session).to_owned()), ..said },
        });
        Ok(())
    }

    fn take_security(
        &mut self,
        pairs: &[KeyValue<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), LoginError> {
        let mut keys = SecurityKeys::default();
        for &(key, value) in pairs {
            if keys.take(key, value)? {
                continue;
            }
            if is_operational(key) || is_not_for_logins(key) {
                return Err(LoginError::Misplaced(key.to_owned()));
            }
            self.answer(key, value, out)?;
        }
        self.security.step(keys, out)
    }

    fn take_operational(
        &mut self,
        pairs: &[KeyValue<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), LoginError> {
        let mut keys = SecurityKeys::default();
        for &(key, value) in pairs {
            if keys.take(key, value)? || is_not_for_logins(key) {
                return Err(LoginError::Misplaced(key.to_owned()));
            }
            self.answer(key, value, out)?;
        }
        self.offered = self.negotiation.as_mut().is_some_and(|negotiation| negotiation.offer(out));
        Ok(())
    }

    /// Passes a pair to the negotiation, which answers it or reports an unknown key.
    fn answer(&mut self, key: &str, value: &str, out: &mut Vec<u8>) -> Result<(), LoginError> {
        text::plain(key, value)?;
        let negotiation = self.negotiation.as_mut().ok_or(LoginError::Stray)?;
        Ok(negotiation.receive(key, value, out)?)
    }
}

/// Keys that only a target sends, or that belong to the full-feature phase.
fn is_not_for_logins(key: &str) -> bool {
    ["TargetAlias", "TargetAddress", "TargetPortalGroupTag", "SendTargets"].contains(&key)
}

/// The name of a session type. A repeated declaration must be the same; the default is `Normal`.
fn name_of(session: SessionType) -> &'static str {
    match session {
        SessionType::Normal => "Normal",
        SessionType::Discovery => "Discovery",
    }
}

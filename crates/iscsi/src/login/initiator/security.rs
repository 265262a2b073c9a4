//! Authentication at the initiator: its own, and optionally the target's (RFC 7143, sections 6.3.2 and 12.1.3).

use super::super::LoginError;
use super::super::keys::{SecurityKeys, needed};
use super::InitiatorAuth;
use crate::chap::{self, Algorithm, Challenge, ChapError, Credentials};
use crate::text;

/// The progress of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AuthStep {
    /// Methods were offered.
    Offered,
    /// Algorithms were offered.
    Algorithms,
    /// The response has been sent, and the challenge too if the target must authenticate.
    Responded(Algorithm),
    /// Complete. `true`: by CHAP.
    Settled(bool),
}

/// The authentication of one login.
#[derive(Debug)]
pub(super) struct InitiatorSecurity {
    auth: InitiatorAuth,
    challenge: Challenge,
    state: AuthStep,
}

impl InitiatorSecurity {
    pub fn new(auth: InitiatorAuth, challenge: Challenge) -> InitiatorSecurity {
        InitiatorSecurity { auth, challenge, state: AuthStep::Offered }
    }

    /// Offers the methods.
    pub fn begin(&self, out: &mut Vec<u8>) {
        let methods = match &self.auth {
            InitiatorAuth::None => "None",
            InitiatorAuth::Chap { target: None, .. } => "CHAP,None",
            InitiatorAuth::Chap { target: Some(_), .. } => "CHAP",
        };
        text::push(out, "AuthMethod", methods);
    }

    /// Whether this end has nothing more to send in this stage.
    pub fn is_ready(&self) -> bool {
        match self.state {
            AuthStep::Offered => matches!(self.auth, InitiatorAuth::None),
            AuthStep::Algorithms => false,
            AuthStep::Responded(_) | AuthStep::Settled(_) => true,
        }
    }

    /// Whether the login may leave this stage.
    pub fn is_settled(&self) -> bool {
        matches!(self.state, AuthStep::Settled(_))
    }

    /// The authenticated user name.
    pub fn user(&self) -> Option<String> {
        match (&self.auth, self.state) {
            (InitiatorAuth::Chap { user, .. }, AuthStep::Settled(true)) => Some(user.name.clone()),
            _ => None,
        }
    }

    /// Processes the keys of one response and appends the next request's.
    pub fn step(&mut self, keys: SecurityKeys<'_>, out: &mut Vec<u8>) -> Result<(), LoginError> {
        self.state = match self.state {
            AuthStep::Offered => {
                keys.only(&["AuthMethod"])?;
                self.chosen(keys.auth_method, out)?
            }
            AuthStep::Algorithms => {
                keys.only(&["CHAP_A", "CHAP_I", "CHAP_C"])?;
                self.respond(&keys, out)?
            }
            AuthStep::Responded(algorithm) => {
                keys.only(&["CHAP_N", "CHAP_R"])?;
                self.verify(algorithm, &keys)?
            }
            AuthStep::Settled(by_chap) => {
                keys.only(&[])?;
                AuthStep::Settled(by_chap)
            }
        };
        Ok(())
    }

    fn chosen(&self, method: Option<&str>, out: &mut Vec<u8>) -> Result<AuthStep, LoginError> {
        match (&self.auth, method) {
            (InitiatorAuth::None, None | Some("None"))
            | (InitiatorAuth::Chap { target: None, .. }, Some("None")) => {
                Ok(AuthStep::Settled(false))
            }
            (InitiatorAuth::Chap { .. }, Some("CHAP")) => {
                let numbers = Algorithm::OFFERED.map(|algorithm| algorithm.number().to_string());
                text::push(out, "CHAP_A", &numbers.join(","));
                Ok(AuthStep::Algorithms)
            }
            (InitiatorAuth::Chap { target: Some(_), .. }, Some("None")) => {
                Err(LoginError::AuthMethod(
                    "mutual CHAP is required, and the target does not authenticate",
                ))
            }
            (_, None) => Err(LoginError::Missing("AuthMethod")),
            (_, Some(_)) => {
                Err(LoginError::AuthMethod("the target chose a method that was not offered"))
            }
        }
    }

    fn respond(&self, keys: &SecurityKeys<'_>, out: &mut Vec<u8>) -> Result<AuthStep, LoginError> {
        let InitiatorAuth::Chap { user, target } = &self.auth else {
            return Err(LoginError::Stray);
        };
        let algorithm = needed(keys.chap_a, "CHAP_A")?;
        let algorithm = Algorithm::parse(algorithm).ok_or(ChapError::Algorithm)?;
        let id = chap::identifier(needed(keys.chap_i, "CHAP_I")?)?;
        let challenge = chap::decode(needed(keys.chap_c, "CHAP_C")?)?;
        let response = chap::respond(algorithm, id, &user.secret, &challenge);
        text::push(out, "CHAP_N", &user.name);
        text::push(out, "CHAP_R", &chap::encode(&response));
        if let Some(target) = target {
            if challenge == self.challenge.bytes {
                return Err(ChapError::Reflected.into());
            }
            if target.secret.matches(&user.secret) {
                return Err(ChapError::SameSecret.into());
            }
            text::push(out, "CHAP_I", &self.challenge.id.to_string());
            text::push(out, "CHAP_C", &chap::encode(&self.challenge.bytes));
        }
        Ok(AuthStep::Responded(algorithm))
    }

    /// Checks the target's response, if it must authenticate.
    fn verify(
        &self,
        algorithm: Algorithm,
        keys: &SecurityKeys<'_>,
    ) -> Result<AuthStep, LoginError> {
        let InitiatorAuth::Chap { target: Some(target), .. } = &self.auth else {
            keys.only(&[])?;
            return Ok(AuthStep::Settled(true));
        };
        let Credentials { name, secret } = target;
        let claimed = needed(keys.chap_n, "CHAP_N")?;
        let response = chap::decode(needed(keys.chap_r, "CHAP_R")?)?;
        // The secret authenticates the target; its name matters only if it is configured.
        let named = name.is_empty() | (claimed == name);
        match self.challenge.is_met(algorithm, secret, &response) & named {
            true => Ok(AuthStep::Settled(true)),
            false => Err(ChapError::Proof.into()),
        }
    }
}

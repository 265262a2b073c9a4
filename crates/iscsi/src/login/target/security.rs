//! Authentication at the target: of the initiator, and optionally of the target (RFC 7143, 6.3.2 and 12.1.3).
//!
//! ```text
//! I: AuthMethod=CHAP,None    T: AuthMethod=CHAP
//! I: CHAP_A=7,5              T: CHAP_A=7 CHAP_I=… CHAP_C=…
//! I: CHAP_N=… CHAP_R=… [CHAP_I=… CHAP_C=…]    T: [CHAP_N=… CHAP_R=…]
//! ```

use super::super::LoginError;
use super::super::keys::{SecurityKeys, needed};
use super::Auth;
use crate::chap::{self, Algorithm, Challenge, ChapError, Credentials};
use crate::text;

/// The progress of authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TargetAuthState {
    /// No method is agreed yet.
    Begin,
    /// CHAP is agreed; the initiator names its algorithms next.
    Chosen,
    /// The challenge has been sent.
    Challenged(Algorithm),
    /// Complete, with the authenticated name, if any.
    Settled(Option<String>),
}

/// The authentication of one login.
#[derive(Debug)]
pub(super) struct TargetSecurity {
    auth: Auth,
    challenge: Challenge,
    state: TargetAuthState,
}

impl TargetSecurity {
    pub fn new(challenge: Challenge) -> TargetSecurity {
        TargetSecurity { auth: Auth::None, challenge, state: TargetAuthState::Begin }
    }

    /// Sets what the initiator must prove, once its name is known.
    pub fn require(&mut self, auth: Auth) {
        self.auth = auth;
    }

    /// Whether the login may leave this stage.
    pub fn is_settled(&self) -> bool {
        match self.state {
            TargetAuthState::Settled(_) => true,
            TargetAuthState::Begin => matches!(self.auth, Auth::None),
            TargetAuthState::Chosen | TargetAuthState::Challenged(_) => false,
        }
    }

    /// The authenticated user name.
    pub fn user(&self) -> Option<&str> {
        match &self.state {
            TargetAuthState::Settled(user) => user.as_deref(),
            _ => None,
        }
    }

    /// Processes the keys of one request and appends the answers.
    pub fn step(&mut self, keys: SecurityKeys<'_>, out: &mut Vec<u8>) -> Result<(), LoginError> {
        self.state = match &self.state {
            TargetAuthState::Begin => {
                keys.only(&["AuthMethod"])?;
                match keys.auth_method {
                    Some(methods) => self.choose(methods, out)?,
                    None => TargetAuthState::Begin,
                }
            }
            TargetAuthState::Chosen => {
                keys.only(&["CHAP_A"])?;
                self.ask(needed(keys.chap_a, "CHAP_A")?, out)?
            }
            &TargetAuthState::Challenged(algorithm) => {
                keys.only(&["CHAP_N", "CHAP_R", "CHAP_I", "CHAP_C"])?;
                let user = self.verify(algorithm, &keys)?;
                self.prove(algorithm, &keys, &user, out)?;
                TargetAuthState::Settled(Some(user.name))
            }
            TargetAuthState::Settled(user) => {
                keys.only(&[])?;
                TargetAuthState::Settled(user.clone())
            }
        };
        Ok(())
    }

    fn choose(&self, methods: &str, out: &mut Vec<u8>) -> Result<TargetAuthState, LoginError> {
        let (method, state, refusal) = match self.auth {
            Auth::None => (
                "None",
                TargetAuthState::Settled(None),
                "the target has no CHAP user for this initiator",
            ),
            Auth::Chap { .. } => ("CHAP", TargetAuthState::Chosen, "the target requires CHAP"),
        };
        if !text::list(methods).any(|offered| offered == method) {
            return Err(LoginError::AuthMethod(refusal));
        }
        text::push(out, "AuthMethod", method);
        Ok(state)
    }

    fn ask(&self, algorithms: &str, out: &mut Vec<u8>) -> Result<TargetAuthState, LoginError> {
        let algorithm =
            text::list(algorithms).find_map(Algorithm::parse).ok_or(ChapError::Algorithm)?;
        text::push(out, "CHAP_A", &algorithm.number().to_string());
        text::push(out, "CHAP_I", &self.challenge.id.to_string());
        text::push(out, "CHAP_C", &chap::encode(&self.challenge.bytes));
        Ok(TargetAuthState::Challenged(algorithm))
    }

    /// The user whose secret the response proves. An unknown name takes as long as a wrong secret.
    fn verify(
        &self,
        algorithm: Algorithm,
        keys: &SecurityKeys<'_>,
    ) -> Result<Credentials, LoginError> {
        let name = needed(keys.chap_n, "CHAP_N")?;
        let response = chap::decode(needed(keys.chap_r, "CHAP_R")?)?;
        let Auth::Chap { users, .. } = &self.auth else {
            return Err(LoginError::AuthMethod("the target has no CHAP user for this initiator"));
        };
        let met = |user: &Credentials| self.challenge.is_met(algorithm, &user.secret, &response);
        let mut proved = users.iter().map(|user| (met(user) & (user.name == name), user));
        let found = proved.find(|(proved, _)| *proved).map(|(_, user)| user.clone());
        Ok(found.ok_or(ChapError::Proof)?)
    }

    /// The target's own response, if the initiator sent a challenge.
    fn prove(
        &self,
        algorithm: Algorithm,
        keys: &SecurityKeys<'_>,
        user: &Credentials,
        out: &mut Vec<u8>,
    ) -> Result<(), LoginError> {
        let (id, challenge) = match (keys.chap_i, keys.chap_c) {
            (None, None) => return Ok(()),
            (id, challenge) => (needed(id, "CHAP_I")?, needed(challenge, "CHAP_C")?),
        };
        let (id, challenge) = (chap::identifier(id)?, chap::decode(challenge)?);
        if challenge == self.challenge.bytes {
            return Err(ChapError::Reflected.into());
        }
        let Auth::Chap { target: Some(own), .. } = &self.auth else {
            return Err(LoginError::AuthMethod(
                "the initiator requires mutual CHAP, and the target has no secret for it",
            ));
        };
        if own.secret.matches(&user.secret) {
            return Err(ChapError::SameSecret.into());
        }
        let response = chap::respond(algorithm, id, &own.secret, &challenge);
        text::push(out, "CHAP_N", &own.name);
        text::push(out, "CHAP_R", &chap::encode(&response));
        Ok(())
    }
}

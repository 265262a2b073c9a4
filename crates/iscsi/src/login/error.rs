//! Why a login fails, and with which status a target says so (RFC 7143, section 11.13.5).

use super::{MAX_EXCHANGES, MAX_LOGIN_DATA, NameError};
use crate::chap::ChapError;
use crate::params::NegotiationError;
use crate::pdu::{LoginStatus, Malformed, Opcode, Stage};
use crate::text::TextError;

/// Why a login fails, at either end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// A header is wrong.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Something else than a step of the login.
    #[error("{0:?} came during the login")]
    NotLogin(Opcode),
    /// A PDU that is longer than a login's may be.
    #[error("a login PDU with {0} bytes of text; {MAX_LOGIN_DATA} are allowed")]
    TooLong(u32),
    /// It does not come to an end.
    #[error("no agreement after {MAX_EXCHANGES} PDUs")]
    TooMany,
    /// A text is wrong.
    #[error(transparent)]
    Text(#[from] TextError),
    /// There is no agreement.
    #[error(transparent)]
    Negotiation(#[from] NegotiationError),
    /// Somebody could not prove who they are.
    #[error(transparent)]
    Chap(#[from] ChapError),
    /// A name is wrong.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A field that has to stay the same did not.
    #[error("{0} changed during the login")]
    Changed(&'static str),
    /// No version of the protocol suits both.
    #[error("version {0} of the protocol is needed by the other end; this one speaks version 0")]
    Version(u8),
    /// A PDU of a stage that the login is not in.
    #[error("the login is in stage {expected:?}, and a PDU belongs to stage {found:?}")]
    Stage {
        /// Where the login is.
        expected: Stage,
        /// What the PDU says.
        found: Stage,
    },
    /// The other end went to a stage that it was not asked to go to.
    #[error("the target went to stage {0:?} unasked")]
    Transit(Stage),
    /// A key that must be there.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A key that came again, with another value or where it may come only once.
    #[error("{0} came twice")]
    Repeated(&'static str),
    /// A key that may not stand where it stands.
    #[error("{0} may not stand here")]
    Misplaced(String),
    /// A value that its key cannot have.
    #[error("{0} has a value that it cannot have")]
    Value(&'static str),
    /// A type of session that there is not.
    #[error("there is no session of type {0:?}")]
    SessionType(String),
    /// No method of authentication suits both.
    #[error("the ends do not agree on how to prove who they are: {0}")]
    AuthMethod(&'static str),
    /// The owner of the target said no; or, at the initiator, the target did.
    #[error("the login was refused: {0}")]
    Refused(LoginStatus),
    /// The last response named no session, or another one than was to be joined.
    #[error("the target named session {0}, which cannot be")]
    Tsih(u16),
    /// A response to something that was not asked.
    #[error("a response to a login that was not asked for")]
    Stray,
    /// The target moved and did not say where to.
    #[error("the target has moved, and did not say where to")]
    Lost,
}

impl LoginError {
    /// What a target answers.
    pub fn status(&self) -> LoginStatus {
        match self {
            LoginError::NotLogin(_) => LoginStatus::INVALID_DURING_LOGIN,
            LoginError::Chap(_) | LoginError::AuthMethod(_) => LoginStatus::AUTHENTICATION_FAILURE,
            LoginError::Version(_) => LoginStatus::UNSUPPORTED_VERSION,
            LoginError::Missing(_) => LoginStatus::MISSING_PARAMETER,
            LoginError::SessionType(_) => LoginStatus::SESSION_TYPE_NOT_SUPPORTED,
            LoginError::Refused(status) => *status,
            _ => LoginStatus::INITIATOR_ERROR,
        }
    }
}

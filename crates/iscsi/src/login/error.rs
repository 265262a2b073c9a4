//! Why a login fails, and the status that a target returns (RFC 7143, section 11.13.5).

use super::{MAX_EXCHANGES, MAX_LOGIN_DATA, NameError};
use crate::chap::ChapError;
use crate::params::NegotiationError;
use crate::pdu::{LoginStatus, Malformed, Opcode, Stage};
use crate::text::TextError;

/// Why a login fails, at either end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// Invalid header.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A PDU that is not part of a login.
    #[error("unexpected {0:?} during the login")]
    NotLogin(Opcode),
    /// A PDU that is too long for a login.
    #[error("a login PDU has {0} bytes of text, more than {MAX_LOGIN_DATA}")]
    TooLong(u32),
    /// Too many PDUs.
    #[error("no agreement after {MAX_EXCHANGES} PDUs")]
    TooMany,
    /// Invalid text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// Negotiation failed.
    #[error(transparent)]
    Negotiation(#[from] NegotiationError),
    /// Authentication failed.
    #[error(transparent)]
    Chap(#[from] ChapError),
    /// Invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A field changed that must stay the same.
    #[error("{0} changed during the login")]
    Changed(&'static str),
    /// The ends have no protocol version in common.
    #[error("the other end requires protocol version {0}; this end supports version 0")]
    Version(u8),
    /// A PDU of another stage.
    #[error("the login is in stage {expected:?}, and the PDU is of stage {found:?}")]
    Stage {
        /// The current stage.
        expected: Stage,
        /// The stage in the PDU.
        found: Stage,
    },
    /// The other end moved to a stage without a request.
    #[error("the target moved to stage {0:?} without a request")]
    Transit(Stage),
    /// A mandatory key is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A key was repeated, with another value or where it may occur only once.
    #[error("{0} is repeated")]
    Repeated(&'static str),
    /// A key that is not allowed in this place.
    #[error("{0} is not allowed here")]
    Misplaced(String),
    /// An invalid value of a key.
    #[error("{0} has an invalid value")]
    Value(&'static str),
    /// Unknown session type.
    #[error("unknown session type {0:?}")]
    SessionType(String),
    /// The ends have no authentication method in common.
    #[error("no common authentication method: {0}")]
    AuthMethod(&'static str),
    /// The target (or, at the target, its owner) refused the login.
    #[error("the login was refused: {0}")]
    Refused(LoginStatus),
    /// The last response has an invalid TSIH.
    #[error("the target returned an invalid session identifier (TSIH {0})")]
    Tsih(u16),
    /// A response without a matching request.
    #[error("a login response without a request")]
    Stray,
    /// A redirection without an address.
    #[error("the target has moved, and sent no address")]
    Lost,
}

impl LoginError {
    /// The status that a target returns.
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

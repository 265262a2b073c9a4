//! The login phase of one connection (RFC 7143, sections 6.3 and 11.12), for both ends and without sockets.
//!
//! [`TargetLogin`] answers requests and [`Initiator`] makes them. Each takes received bytes and returns bytes to send.
//! They ask their owner for external facts: a target asks its [`LoginPolicy`] for access rules and secrets, and returns an
//! [`Admission`] before it completes a login. Everything is bounded: the number of PDUs in a login, their length, the
//! total text, and the pairs in it.

mod error;
mod frame;
mod initiator;
mod keys;
mod name;
mod target;

pub use error::LoginError;
pub use frame::{MAX_LOGIN_DATA, MAX_LOGIN_PDU};
pub use initiator::{Initiator, InitiatorAuth, InitiatorConfig, InitiatorStep};
pub use name::{IscsiName, MAX_NAME, NameError};
pub use target::{
    Admission, Admitted, Auth, LoginAccess, LoginPolicy, TargetConfig, TargetLogin, TargetStep,
};

use crate::params::Params;
use crate::pdu::Isid;

/// Most PDUs of one end in a login. A login with mutual CHAP takes five.
pub const MAX_EXCHANGES: u32 = 32;

/// Most bytes of one text over all its PDUs.
pub const MAX_LOGIN_TEXT: usize = 16 << 10;

/// A completed login: the connection is in the full-feature phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The initiator's name.
    pub initiator: IscsiName,
    /// InitiatorAlias, a name for people, if declared.
    pub initiator_alias: Option<String>,
    /// The target's name; `None` in a discovery session.
    pub target: Option<IscsiName>,
    /// TargetAlias, a name for people, if declared.
    pub target_alias: Option<String>,
    /// The tag of the portal group, if the target declared it.
    pub portal_group: Option<u16>,
    /// The user name authenticated by CHAP.
    pub user: Option<String>,
    /// The ISID.
    pub isid: Isid,
    /// The TSIH.
    pub tsih: u16,
    /// The CID of the connection.
    pub cid: u16,
    /// Negotiated parameters.
    pub params: Params,
    /// The CmdSN of the first command in a new session.
    pub cmd_sn: u32,
    /// MaxCmdSN of the target's last response.
    pub max_cmd_sn: u32,
    /// The next StatSN on this connection: the one that a target sends, and that an initiator expects.
    pub stat_sn: u32,
}

//! The login phase of one connection (RFC 7143, sections 6.3 and 11.12), for both ends and without sockets.
//!
//! [`Target`] answers requests and [`Initiator`] makes them. Each takes bytes as they come in and gives the bytes to send
//! back. What they cannot know they ask of their owner: a target asks its [`Policy`] who may enter and with which secret,
//! and hands out an [`Admission`] before it lets somebody in. Everything is bounded: the PDUs of a login, their length, the
//! text over all of them, the pairs in it.

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
pub use target::{Access, Admission, Admitted, Auth, Policy, Target, TargetConfig, TargetStep};

use crate::params::Params;
use crate::pdu::Isid;

/// The most PDUs of one end in a login. A login with mutual CHAP takes five.
pub const MAX_EXCHANGES: u32 = 32;

/// The most bytes of one text, over all the PDUs that carry it.
pub const MAX_LOGIN_TEXT: usize = 16 << 10;

/// A login that is over: the connection is in the full-feature phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The initiator's name.
    pub initiator: IscsiName,
    /// What the initiator is called by people, if it says so.
    pub initiator_alias: Option<String>,
    /// The target's name; nothing in a discovery session.
    pub target: Option<IscsiName>,
    /// What the target is called by people, if it says so.
    pub target_alias: Option<String>,
    /// The portal group that the connection came in by, if the target said so.
    pub portal_group: Option<u16>,
    /// The name that the initiator proved by CHAP.
    pub user: Option<String>,
    /// The initiator's part of the session's name.
    pub isid: Isid,
    /// The target's part.
    pub tsih: u16,
    /// The connection's number within its session.
    pub cid: u16,
    /// What was negotiated.
    pub params: Params,
    /// The number of the first command of a new session.
    pub cmd_sn: u32,
    /// The last command that the target takes, as it said in its last response.
    pub max_cmd_sn: u32,
    /// The next status on this connection: the one that a target gives, and that an initiator expects.
    pub stat_sn: u32,
}

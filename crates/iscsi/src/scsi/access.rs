//! Access rules: one description for each class of commands, which decides about reservations, port states, write
//! protection and unit attentions (SPC-4, 5.13.1 and 5.16; SBC-3, 4.17).
//!
//! The view of a nexus ([`super::View`]) is derived by the same rules as every single command.

/// The checks before a class of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// A pending unit attention is reported instead of executing the command.
    pub attention: bool,
    /// What other nexuses' persistent reservations forbid.
    pub persistent: Persistent,
    /// A RESERVE reservation of another nexus forbids it.
    pub classic: bool,
    /// The port states that allow it.
    pub port: Ports,
    /// The medium must be accessible.
    pub ready: bool,
    /// The command changes the medium.
    pub writes: bool,
}

/// What a persistent reservation forbids to nexuses that do not hold it (SPC-4, tables 66 and 67).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistent {
    /// Nothing.
    Free,
    /// Reads, with the exclusive access types.
    Reads,
    /// Changes, with every type.
    Changes,
}

/// The target port group states that allow a command (SPC-4, 5.16.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ports {
    /// Active only.
    Active,
    /// Active and standby.
    Standby,
    /// All of them.
    Any,
}

impl Access {
    /// INQUIRY, REPORT LUNS, REQUEST SENSE: always allowed.
    pub const IDENTIFY: Access = Access {
        attention: false,
        persistent: Persistent::Free,
        classic: false,
        port: Ports::Any,
        ready: false,
        writes: false,
    };
    /// TEST UNIT READY.
    pub const READY: Access = Access {
        attention: true,
        persistent: Persistent::Free,
        classic: true,
        port: Ports::Active,
        ready: true,
        writes: false,
    };
    /// READ CAPACITY: known without the medium.
    pub const CAPACITY: Access = Access { ready: false, ..Access::READY };
    /// Reads of blocks.
    pub const READ: Access = Access { persistent: Persistent::Reads, ..Access::READY };
    /// Changes of blocks.
    pub const WRITE: Access =
        Access { persistent: Persistent::Changes, writes: true, ..Access::READY };
    /// SANITIZE; the command itself checks whether the medium is accessible.
    pub const SANITIZE: Access = Access { ready: false, ..Access::WRITE };
    /// EXTENDED COPY: source and destination are checked separately.
    pub const COPY: Access = Access { persistent: Persistent::Changes, ..Access::READY };
    /// Results of copies.
    pub const COPY_RESULTS: Access = Access { ready: false, ..Access::COPY };
    /// SYNCHRONIZE CACHE changes no block.
    pub const SYNC: Access = Access { persistent: Persistent::Changes, ..Access::READY };
    /// Reads or changes of settings.
    pub const SETTINGS: Access = Access {
        persistent: Persistent::Changes,
        port: Ports::Standby,
        ready: false,
        ..Access::READY
    };
    /// Reports of supported functions.
    pub const ABILITIES: Access = Access { port: Ports::Active, ..Access::SETTINGS };
    /// LOG SENSE: allowed with any reservation.
    pub const LOG: Access =
        Access { persistent: Persistent::Free, classic: false, ..Access::SETTINGS };
    /// START STOP UNIT and PREVENT ALLOW MEDIUM REMOVAL without effect on others.
    pub const CARE: Access = Access { port: Ports::Active, ..Access::LOG };
    /// The same with effect on others.
    pub const TAKE: Access =
        Access { persistent: Persistent::Changes, classic: true, ..Access::CARE };
    /// PERSISTENT RESERVE: its own rules check persistent reservations.
    pub const PERSISTENT: Access = Access { persistent: Persistent::Free, ..Access::SETTINGS };
    /// RESERVE and RELEASE: checked by their own rules.
    pub const CLASSIC: Access =
        Access { port: Ports::Active, classic: false, ..Access::PERSISTENT };
    /// REPORT TARGET PORT GROUPS: allowed in every state, with any persistent reservation.
    pub const PORTS: Access =
        Access { persistent: Persistent::Free, port: Ports::Any, ..Access::SETTINGS };
    /// SET TARGET PORT GROUPS.
    pub const SET_PORTS: Access = Access { port: Ports::Any, ..Access::SETTINGS };
}

//! Who may do what, when: one description for each class of commands, from which reservations, port states, write
//! protection and unit attentions are judged (SPC-4, 5.13.1 and 5.16; SBC-3, 4.17).
//!
//! The view of a nexus ([`super::View`]) is derived by the same judgement as every single command is.

/// What stands in the way of a class of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// A pending unit attention is reported instead of doing the command.
    pub attention: bool,
    /// What a persistent reservation of others forbids.
    pub persistent: Persistent,
    /// A reservation of others by RESERVE forbids it.
    pub classic: bool,
    /// The states of the target port in which it is done.
    pub port: Ports,
    /// The logical unit must be able to reach its medium.
    pub ready: bool,
    /// The medium changes.
    pub writes: bool,
}

/// What a persistent reservation forbids to those that do not hold it (SPC-4, tables 66 and 67).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistent {
    /// Nothing.
    Free,
    /// Reading, under the exclusive access types.
    Reads,
    /// Whatever changes something, under every type.
    Changes,
}

/// In which states of the target port group a command is done (SPC-4, 5.16.2).
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
    /// INQUIRY, REPORT LUNS, REQUEST SENSE: always done.
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
    /// Blocks are read.
    pub const READ: Access = Access { persistent: Persistent::Reads, ..Access::READY };
    /// Blocks are changed.
    pub const WRITE: Access =
        Access { persistent: Persistent::Changes, writes: true, ..Access::READY };
    /// Everything is made unreadable; whether the medium is within reach is decided by the command.
    pub const SANITIZE: Access = Access { ready: false, ..Access::WRITE };
    /// What is read of a copy's source and written to its destination is judged for each of them.
    pub const COPY: Access = Access { persistent: Persistent::Changes, ..Access::READY };
    /// What became of copies.
    pub const COPY_RESULTS: Access = Access { ready: false, ..Access::COPY };
    /// The cache is written out, which changes no block.
    pub const SYNC: Access = Access { persistent: Persistent::Changes, ..Access::READY };
    /// Settings are read or changed.
    pub const SETTINGS: Access = Access {
        persistent: Persistent::Changes,
        port: Ports::Standby,
        ready: false,
        ..Access::READY
    };
    /// What the device server can do.
    pub const ABILITIES: Access = Access { port: Ports::Active, ..Access::SETTINGS };
    /// LOG SENSE: allowed whatever is reserved.
    pub const LOG: Access =
        Access { persistent: Persistent::Free, classic: false, ..Access::SETTINGS };
    /// START STOP UNIT and PREVENT ALLOW MEDIUM REMOVAL, as far as they take nothing away from others.
    pub const CARE: Access = Access { port: Ports::Active, ..Access::LOG };
    /// The same where they do.
    pub const TAKE: Access =
        Access { persistent: Persistent::Changes, classic: true, ..Access::CARE };
    /// PERSISTENT RESERVE: its own rules decide about persistent reservations.
    pub const PERSISTENT: Access = Access { persistent: Persistent::Free, ..Access::SETTINGS };
    /// RESERVE and RELEASE: their own rules decide.
    pub const CLASSIC: Access =
        Access { port: Ports::Active, classic: false, ..Access::PERSISTENT };
    /// REPORT TARGET PORT GROUPS: done in every state, whatever is reserved persistently.
    pub const PORTS: Access =
        Access { persistent: Persistent::Free, port: Ports::Any, ..Access::SETTINGS };
    /// SET TARGET PORT GROUPS.
    pub const SET_PORTS: Access = Access { port: Ports::Any, ..Access::SETTINGS };
}

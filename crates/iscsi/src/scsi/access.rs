//! Access rules: one description for each class of commands, which decides about reservations, port states, write
//! protection and unit attentions (SPC-4, 5.13.1 and 5.16; SBC-3, 4.17).
//!
//! The view of a nexus ([`super::NexusView`]) is derived by the rules of each single command.

/// The checks before a class of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checks {
    /// A pending unit attention is reported instead of executing the command.
    pub attention: bool,
    /// What other nexuses' persistent reservations forbid.
    pub persistent: ReservationCheck,
    /// A RESERVE reservation of another nexus forbids it.
    pub classic: bool,
    /// The port states that allow it.
    pub port: AllowedPortStates,
    /// The medium must be accessible.
    pub ready: bool,
    /// The command changes the medium.
    pub writes: bool,
}

/// What a persistent reservation forbids to nexuses that do not hold it (SPC-4, tables 66 and 67).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReservationCheck {
    /// Nothing.
    Free,
    /// Reads, with the exclusive access types.
    Reads,
    /// Changes, with every type.
    Changes,
}

/// The target port group states that allow a command (SPC-4, 5.16.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllowedPortStates {
    /// Active only.
    Active,
    /// Active and standby.
    Standby,
    /// All of them.
    Any,
}

impl Checks {
    /// INQUIRY, REPORT LUNS, REQUEST SENSE: always allowed.
    pub const IDENTIFY: Checks = Checks {
        attention: false,
        persistent: ReservationCheck::Free,
        classic: false,
        port: AllowedPortStates::Any,
        ready: false,
        writes: false,
    };
    /// TEST UNIT READY.
    pub const READY: Checks = Checks {
        attention: true,
        persistent: ReservationCheck::Free,
        classic: true,
        port: AllowedPortStates::Active,
        ready: true,
        writes: false,
    };
    /// READ CAPACITY: known without the medium.
    pub const CAPACITY: Checks = Checks { ready: false, ..Checks::READY };
    /// Reads of blocks.
    pub const READ: Checks = Checks { persistent: ReservationCheck::Reads, ..Checks::READY };
    /// Changes of blocks.
    pub const WRITE: Checks =
        Checks { persistent: ReservationCheck::Changes, writes: true, ..Checks::READY };
    /// SANITIZE; the command itself checks whether the medium is accessible.
    pub const SANITIZE: Checks = Checks { ready: false, ..Checks::WRITE };
    /// EXTENDED COPY: source and destination are checked separately.
    pub const COPY: Checks = Checks { persistent: ReservationCheck::Changes, ..Checks::READY };
    /// Results of copies.
    pub const COPY_RESULTS: Checks = Checks { ready: false, ..Checks::COPY };
    /// SYNCHRONIZE CACHE changes no block.
    pub const SYNC: Checks = Checks { persistent: ReservationCheck::Changes, ..Checks::READY };
    /// Reads or changes of settings.
    pub const SETTINGS: Checks = Checks {
        persistent: ReservationCheck::Changes,
        port: AllowedPortStates::Standby,
        ready: false,
        ..Checks::READY
    };
    /// Reports of supported functions.
    pub const REPORT_SUPPORTED: Checks =
        Checks { port: AllowedPortStates::Active, ..Checks::SETTINGS };
    /// LOG SENSE: allowed with any reservation.
    pub const LOG: Checks =
        Checks { persistent: ReservationCheck::Free, classic: false, ..Checks::SETTINGS };
    /// START STOP UNIT and PREVENT ALLOW MEDIUM REMOVAL without effect on others.
    pub const MAINTENANCE: Checks = Checks { port: AllowedPortStates::Active, ..Checks::LOG };
    /// The same with effect on others.
    pub const TAKE: Checks =
        Checks { persistent: ReservationCheck::Changes, classic: true, ..Checks::MAINTENANCE };
    /// PERSISTENT RESERVE: its own rules check persistent reservations.
    pub const PERSISTENT: Checks =
        Checks { persistent: ReservationCheck::Free, ..Checks::SETTINGS };
    /// RESERVE and RELEASE: checked by their own rules.
    pub const RESERVE_RELEASE: Checks =
        Checks { port: AllowedPortStates::Active, classic: false, ..Checks::PERSISTENT };
    /// REPORT TARGET PORT GROUPS: allowed in every state, with any persistent reservation.
    pub const PORTS: Checks = Checks {
        persistent: ReservationCheck::Free,
        port: AllowedPortStates::Any,
        ..Checks::SETTINGS
    };
    /// SET TARGET PORT GROUPS.
    pub const SET_PORTS: Checks = Checks { port: AllowedPortStates::Any, ..Checks::SETTINGS };
}

//! Units that are no disks: their own device server executes what only their type knows. Here the commands of such a unit
//! are found, their reserved bits, unit attentions and reservations checked; PERSISTENT RESERVE, RESERVE, RELEASE and
//! REPORT LUNS are executed here, as for every unit.

use super::access::{AllowedPortStates, Checks, ReservationCheck};
use super::cdb::CdbBytes;
use super::command_table::invalid_field;
use super::description::LARGEST_TRANSFER;
use super::{Ending, Nexus, Sense, SenseKey};

/// Which checks come before a command of a unit that is no disk (SSC-3, 4.2.19; SMC-3, 4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassAccess {
    /// Executed as for every type of unit.
    Common,
    /// Always allowed; no unit attention is reported: INQUIRY.
    Identify,
    /// REQUEST SENSE: a pending unit attention is its answer.
    Sense,
    /// Allowed whatever persistent reservation there is.
    Free,
    /// Conflicts with the exclusive access reservations of others.
    Read,
    /// Conflicts with every reservation of others.
    Change,
    /// Allowed whatever reservation there is, persistent or not.
    Always,
}

impl PassAccess {
    /// The checks; `None` where the command is executed here. `pending`: the nexus has a unit attention.
    pub(super) fn checks(self, pending: bool) -> Option<Checks> {
        let persistent = match self {
            PassAccess::Common => return None,
            PassAccess::Sense if pending => return None,
            PassAccess::Identify | PassAccess::Sense => return Some(Checks::IDENTIFY),
            PassAccess::Free | PassAccess::Always => ReservationCheck::Free,
            PassAccess::Read => ReservationCheck::Reads,
            PassAccess::Change => ReservationCheck::Changes,
        };
        Some(Checks {
            attention: true,
            persistent,
            classic: self != PassAccess::Always,
            port: AllowedPortStates::Active,
            ready: false,
            writes: false,
        })
    }
}

/// One command, or one service action, of a unit that is no disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// The operation code.
    pub opcode: u8,
    /// The service action, if the operation code has any.
    pub action: Option<u8>,
    /// Length of the CDB in bytes.
    pub length: u8,
    /// The evaluated bits (SPC-4, 6.35.3); the first byte is the operation code. All others must be zero.
    pub usage: [u8; 16],
    /// The checks before it.
    pub access: PassAccess,
    /// Its data comes from the initiator.
    pub sends: bool,
    /// Its name, as the standards write it.
    pub name: &'static str,
}

impl CommandSpec {
    /// The command of a CDB.
    /// # Errors
    /// The operation code or the service action is unknown.
    pub fn find(
        commands: &'static [CommandSpec],
        cdb: &CdbBytes,
    ) -> Result<&'static CommandSpec, Ending> {
        let mut known = false;
        for command in commands.iter().filter(|command| command.opcode == cdb[0]) {
            known = true;
            if command.action.is_none_or(|action| action == cdb[1] & 0x1f) {
                return Ok(command);
            }
        }
        let unknown = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2000).at_cdb(0, None));
        Err(if known { invalid_field(1, Some(4)) } else { unknown })
    }

    /// Refuses bits that the command does not evaluate.
    /// # Errors
    /// INVALID FIELD IN CDB with a pointer to the first such bit.
    pub fn fits(&self, cdb: &CdbBytes) -> Result<(), Ending> {
        let action = if self.action.is_some() { 0x1f << 112 } else { 0 };
        let allowed = u128::from_be_bytes(self.usage) | (0xff << 120) | action;
        let surplus = u128::from_be_bytes(*cdb) & !allowed;
        if surplus == 0 {
            return Ok(());
        }
        let place = surplus.leading_zeros() as u16;
        Err(invalid_field(place / 8, Some(7 - (place % 8) as u8)))
    }
}

/// A command that the unit's own device server is to execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedCommand {
    /// The CDB.
    pub cdb: CdbBytes,
    /// The nexus that sent it.
    pub nexus: Nexus,
    /// Room for data at the initiator, in bytes.
    pub data_in: u32,
    /// Bytes that the initiator sends.
    pub data_out: u32,
}

impl PassedCommand {
    pub(super) fn new(
        command: &CommandSpec,
        nexus: &Nexus,
        cdb: &CdbBytes,
        expected: u32,
    ) -> Result<PassedCommand, Ending> {
        if expected > LARGEST_TRANSFER {
            return Err(invalid_field(2, None));
        }
        let (data_in, data_out) = if command.sends { (0, expected) } else { (expected, 0) };
        Ok(PassedCommand { cdb: *cdb, nexus: nexus.clone(), data_in, data_out })
    }
}

//! REPORT SUPPORTED OPERATION CODES and TASK MANAGEMENT FUNCTIONS (SPC-4, 6.35, 6.36), from the command table.

use super::UnitDescription;
use super::cdb::{field16, field32};
use super::command_table::{COMMANDS, CommandRow, invalid_field, rows};
use super::readiness::reply;
use super::unit::{CommandCall, CommandResult};

/// A command timeouts descriptor without times.
const NO_TIMES: [u8; 12] = [0, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// REPORT SUPPORTED OPERATION CODES.
pub(super) fn report(call: &mut CommandCall<'_>) -> CommandResult {
    let timeouts = call.cdb[2] & 0x80 != 0;
    let opcode = call.cdb[3];
    let action = field16::<4>(call.cdb);
    let description = call.description();
    let thin = description.thin;
    let bytes = match call.cdb[2] & 0x07 {
        0 => all(description, timeouts),
        1 if has_actions(opcode) => return Err(invalid_field(2, Some(2))),
        1 => one(find(description, opcode, None), thin, timeouts),
        2 if !has_actions(opcode) => return Err(invalid_field(2, Some(2))),
        2 => one(find(description, opcode, Some(action)), thin, timeouts),
        // Any use of the operation code; the service action matters only if it has some.
        3 if has_actions(opcode) => one(find(description, opcode, Some(action)), thin, timeouts),
        3 if action == 0 => one(find(description, opcode, None), thin, timeouts),
        3 => one(None, thin, timeouts),
        _ => return Err(invalid_field(2, Some(2))),
    };
    reply(bytes, field32::<6>(call.cdb))
}

fn has_actions(opcode: u8) -> bool {
    rows(opcode).iter().any(|row| row.action.is_some())
}

fn find(
    description: &UnitDescription,
    opcode: u8,
    action: Option<u16>,
) -> Option<&'static CommandRow> {
    let same = |row: &&CommandRow| row.action.map(u16::from) == action;
    rows(opcode).iter().find(same).filter(|row| row.on(description))
}

/// Every command of a unit.
fn all(description: &UnitDescription, timeouts: bool) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    for row in COMMANDS.iter().filter(|row| row.on(description)) {
        let flags = u8::from(row.action.is_some()) | if timeouts { 0x02 } else { 0 };
        bytes.extend([row.opcode, 0, 0, row.action.unwrap_or(0), 0, flags, 0, row.length]);
        if timeouts {
            bytes.extend(NO_TIMES);
        }
    }
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// One command with its usage map, or "not supported".
fn one(row: Option<&CommandRow>, thin: bool, timeouts: bool) -> Vec<u8> {
    let Some(row) = row else { return vec![0, 0x01, 0, 0] };
    let flags = 0x03 | if timeouts { 0x80 } else { 0 };
    let mut bytes = vec![0, flags, 0, row.length];
    bytes.extend(&row.usage(thin)[..usize::from(row.length)]);
    if timeouts {
        bytes.extend(NO_TIMES);
    }
    bytes
}

/// REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS: those of iSCSI except ACA.
pub(super) fn task_management(call: &mut CommandCall<'_>) -> CommandResult {
    let extended = call.cdb[2] & 0x80 != 0;
    // ABORT TASK, ABORT TASK SET, CLEAR TASK SET, LOGICAL UNIT RESET, TARGET RESET (warm)
    let mut bytes = vec![0x80 | 0x40 | 0x10 | 0x08 | 0x02, 0, 0, 0];
    if extended {
        bytes[3] = 0x0c;
        bytes.resize(16, 0);
    }
    reply(bytes, field32::<6>(call.cdb))
}

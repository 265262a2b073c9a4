//! The command table: for every command its CDB, its access rules, and its function.
//!
//! Dispatch, the check of reserved bits, reservations, port states, write protection and REPORT SUPPORTED OPERATION
//! CODES with its usage maps all use this table, so they cannot disagree.

use super::access::Checks;
use super::cdb::CdbBytes;
use super::unit::{CommandCall, CommandResult};
use super::{Ending, Sense, SenseKey, UnitDescription};
use super::{
    block, copy, inquiry, luns, maintenance, mode, persistent_reserve as pr, port_groups,
    readiness, reserve_release, sanitize, supported_commands,
};

/// One command, or one service action of a command.
pub(super) struct CommandRow {
    /// The operation code.
    pub opcode: u8,
    /// The service action, if the operation code has any.
    pub action: Option<u8>,
    /// Length of the CDB in bytes.
    pub length: u8,
    /// The evaluated bits (SPC-4, 6.35.3, CDB USAGE DATA); the first byte is the operation code, and the second
    /// contains the service action. All other bits must be zero.
    usage: [u8; 16],
    /// Access rules.
    pub access: Checks,
    /// Supported by thin units only.
    pub thin: bool,
    /// It has an UNMAP bit, which only thin units support.
    pub unmap: bool,
    /// The function that executes it.
    pub run: fn(&mut CommandCall<'_>) -> CommandResult,
}

impl CommandRow {
    /// Whether a unit supports it.
    pub fn on(&self, description: &UnitDescription) -> bool {
        description.thin || !self.thin
    }

    /// The bits that a unit evaluates, as in CDB USAGE DATA.
    pub fn usage(&self, thin: bool) -> [u8; 16] {
        let mut usage = self.usage;
        if self.unmap && !thin {
            usage[1] &= !0x08;
        }
        usage
    }

    /// The bits that may be set, including the whole operation code and service action.
    fn allowed(&self, thin: bool) -> u128 {
        let action = if self.action.is_some() { 0x1f << 112 } else { 0 };
        u128::from_be_bytes(self.usage(thin)) | (0xff << 120) | action
    }

    /// Refuses unsupported bits instead of ignoring them: protection information, NACA, and bits of future standards.
    pub fn fits(&self, cdb: &CdbBytes, thin: bool) -> Result<(), Ending> {
        let surplus = u128::from_be_bytes(*cdb) & !self.allowed(thin);
        if surplus == 0 {
            return Ok(());
        }
        let place = surplus.leading_zeros() as u16;
        Err(invalid_field(place / 8, Some(7 - (place % 8) as u8)))
    }
}

/// INVALID FIELD IN CDB with a field pointer.
pub(super) const fn invalid_field(byte: u16, bit: Option<u8>) -> Ending {
    Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2400).at_cdb(byte, bit))
}

/// INVALID FIELD IN PARAMETER LIST with a field pointer.
pub(super) const fn invalid_parameter(byte: u16) -> Ending {
    Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2600).at_parameter(byte))
}

/// PARAMETER LIST LENGTH ERROR.
pub(super) const SHORT_LIST: Ending = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x1a00));

/// The row of a command. Unknown operation codes and unknown service actions yield different errors.
pub(super) fn find(cdb: &CdbBytes) -> Result<&'static CommandRow, Ending> {
    let rows = rows(cdb[0]);
    let Some(first) = rows.first() else {
        return Err(Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2000).at_cdb(0, None)));
    };
    if first.action.is_none() {
        return Ok(first);
    }
    rows.iter().find(|row| row.action == Some(cdb[1] & 0x1f)).ok_or(invalid_field(1, Some(4)))
}

/// The rows of an operation code, which are adjacent.
pub(super) fn rows(opcode: u8) -> &'static [CommandRow] {
    let (from, to) = const { index() }[usize::from(opcode)];
    &COMMANDS[usize::from(from)..usize::from(to)]
}

/// The first and last row of each operation code.
const fn index() -> [(u8, u8); 256] {
    let mut index = [(0, 0); 256];
    let mut row = 0;
    while row < COMMANDS.len() {
        let opcode = COMMANDS[row].opcode as usize;
        if index[opcode].1 == 0 {
            index[opcode].0 = row as u8;
        } else {
            assert!(index[opcode].1 as usize == row, "rows of one operation code are adjacent");
        }
        index[opcode].1 = row as u8 + 1;
        row += 1;
    }
    index
}

/// A command without service actions; `tail` holds the evaluated bits from the second byte on.
const fn plain(
    opcode: u8,
    tail: &[u8],
    access: Checks,
    run: fn(&mut CommandCall<'_>) -> CommandResult,
) -> CommandRow {
    let mut usage = [0; 16];
    usage[0] = opcode;
    let mut at = 0;
    while at < tail.len() {
        usage[at + 1] = tail[at];
        at += 1;
    }
    CommandRow {
        opcode,
        action: None,
        length: tail.len() as u8 + 1,
        usage,
        access,
        thin: false,
        unmap: false,
        run,
    }
}

/// A service action; the second byte of `tail` holds the other evaluated bits of that byte.
const fn action(
    opcode: u8,
    action: u8,
    tail: &[u8],
    access: Checks,
    run: fn(&mut CommandCall<'_>) -> CommandResult,
) -> CommandRow {
    let mut command = plain(opcode, tail, access, run);
    command.usage[1] |= action;
    command.action = Some(action);
    command
}

const fn thin(mut command: CommandRow) -> CommandRow {
    command.thin = true;
    command
}

const fn unmap(mut command: CommandRow) -> CommandRow {
    command.unmap = true;
    command
}

const F: u8 = 0xff;
/// The group number: accepted and ignored.
const G: u8 = 0x3f;

/// DPO, FUA and the obsolete FUA_NV.
const CACHE: u8 = 0x1a;
/// DPO and BYTCHK.
const CHECK: u8 = 0x16;
/// The bits of a CDB after its second byte: four bytes of address, group, two bytes of length.
const fn ten(flags: u8) -> [u8; 9] {
    [flags, F, F, F, F, G, F, F, 0]
}
/// Four bytes of address, four bytes of length, group.
const fn twelve(flags: u8) -> [u8; 11] {
    [flags, F, F, F, F, F, F, F, F, G, 0]
}
/// Eight bytes of address, four bytes of length, group.
const fn sixteen(flags: u8) -> [u8; 15] {
    [flags, F, F, F, F, F, F, F, F, F, F, F, F, G, 0]
}
/// A service action with a parameter list length or allocation length of four bytes, preceded by a byte of its own.
const fn list(flags: u8, own: u8) -> [u8; 11] {
    [flags, own, 0, 0, 0, F, F, F, F, 0, 0]
}
const PERSIST_IN: [u8; 9] = [0, 0, 0, 0, 0, 0, F, F, 0];
const PERSIST_OUT: [u8; 9] = [0, F, 0, 0, F, F, F, F, 0];
const COPY_RESULTS: [u8; 15] = [0, F, 0, 0, 0, 0, 0, 0, 0, F, F, F, F, 0, 0];

pub(super) static COMMANDS: &[CommandRow] = &[
    plain(0x00, &[0, 0, 0, 0, 0], Checks::READY, readiness::test_unit_ready),
    plain(0x03, &[0x01, 0, 0, F, 0], Checks::IDENTIFY, readiness::request_sense),
    plain(0x08, &[0x1f, F, F, F, 0], Checks::READ, block::move_blocks),
    plain(0x0a, &[0x1f, F, F, F, 0], Checks::WRITE, block::move_blocks),
    plain(0x12, &[0x01, F, F, F, 0], Checks::IDENTIFY, inquiry::inquiry),
    plain(0x15, &[0x11, 0, 0, F, 0], Checks::SETTINGS, mode::select_6),
    plain(0x16, &[0, 0, 0, 0, 0], Checks::RESERVE_RELEASE, reserve_release::reserve),
    plain(0x17, &[0, 0, 0, 0, 0], Checks::RESERVE_RELEASE, reserve_release::release),
    plain(0x1a, &[0x08, F, F, F, 0], Checks::SETTINGS, mode::sense_6),
    plain(0x1b, &[0x01, 0, 0, 0xf7, 0], Checks::MAINTENANCE, maintenance::start_stop),
    plain(0x1e, &[0, 0, 0, 0x03, 0], Checks::MAINTENANCE, maintenance::prevent_allow),
    plain(0x25, &[0x01, F, F, F, F, 0, 0, 0x01, 0], Checks::CAPACITY, readiness::read_capacity_10),
    plain(0x28, &ten(CACHE), Checks::READ, block::move_blocks),
    plain(0x2a, &ten(CACHE), Checks::WRITE, block::move_blocks),
    plain(0x2e, &ten(CHECK), Checks::WRITE, block::write_verify),
    plain(0x2f, &ten(CHECK), Checks::READ, block::verify),
    plain(0x34, &ten(0x02), Checks::READ, block::prefetch),
    plain(0x35, &ten(0x06), Checks::SYNC, block::synchronize),
    plain(0x37, &[0, 0x1f, 0, 0, 0, 0, F, F, 0], Checks::READ, maintenance::defects_10),
    unmap(plain(0x41, &ten(0x08), Checks::WRITE, block::write_same)),
    thin(plain(0x42, &[0, 0, 0, 0, 0, G, F, F, 0], Checks::WRITE, block::unmap)),
    action(0x48, 0x01, &[0xa0, 0, 0, 0, 0, 0, F, F, 0], Checks::SANITIZE, sanitize::overwrite),
    thin(action(
        0x48,
        0x02,
        &[0xa0, 0, 0, 0, 0, 0, F, F, 0],
        Checks::SANITIZE,
        sanitize::block_erase,
    )),
    action(
        0x48,
        0x1f,
        &[0xa0, 0, 0, 0, 0, 0, F, F, 0],
        Checks::SANITIZE,
        sanitize::exit_failure_mode,
    ),
    plain(0x4d, &[0x01, F, F, 0, F, F, F, F, 0], Checks::LOG, maintenance::log_sense),
    plain(0x55, &[0x11, 0, 0, 0, 0, 0, F, F, 0], Checks::SETTINGS, mode::select_10),
    plain(0x56, &[0, 0, 0, 0, 0, 0, 0, 0, 0], Checks::RESERVE_RELEASE, reserve_release::reserve),
    plain(0x57, &[0, 0, 0, 0, 0, 0, 0, 0, 0], Checks::RESERVE_RELEASE, reserve_release::release),
    plain(0x5a, &[0x18, F, F, 0, 0, 0, F, F, 0], Checks::SETTINGS, mode::sense_10),
    action(0x5e, 0x00, &PERSIST_IN, Checks::PERSISTENT, pr::reserve_in),
    action(0x5e, 0x01, &PERSIST_IN, Checks::PERSISTENT, pr::reserve_in),
    action(0x5e, 0x02, &PERSIST_IN, Checks::PERSISTENT, pr::reserve_in),
    action(0x5e, 0x03, &PERSIST_IN, Checks::PERSISTENT, pr::reserve_in),
    action(0x5f, 0x00, &PERSIST_OUT, Checks::PERSISTENT, pr::reserve_out),
    action(0x5f, 0x01, &PERSIST_OUT, Checks::PERSISTENT, pr::reserve_out),
    action(0x5f, 0x02, &PERSIST_OUT, Checks::PERSISTENT, pr::reserve_out),
    action(0x5f, 0x03, &PERSIST_OUT, Checks::PERSISTENT, pr::reserve_out),
    action(0x5f, 0x04, &PERSIST_OUT, Checks::PERSISTENT, pr::reserve_out),
    action(0x5f, 0x05, &PERSIST_OUT, Checks::PERSISTENT, pr::reserve_out),
    action(0x5f, 0x06, &PERSIST_OUT, Checks::PERSISTENT, pr::reserve_out),
    action(0x5f, 0x07, &PERSIST_OUT, Checks::PERSISTENT, pr::reserve_out),
    action(
        0x83,
        0x00,
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, F, F, F, F, 0, 0],
        Checks::COPY,
        copy::extended_copy,
    ),
    action(0x84, 0x00, &COPY_RESULTS, Checks::COPY_RESULTS, copy::copy_status),
    action(0x84, 0x03, &COPY_RESULTS, Checks::COPY_RESULTS, copy::operating_parameters),
    action(0x84, 0x04, &COPY_RESULTS, Checks::COPY_RESULTS, copy::failure_details),
    plain(0x88, &sixteen(CACHE), Checks::READ, block::move_blocks),
    plain(
        0x89,
        &[CACHE, F, F, F, F, F, F, F, F, 0, 0, 0, F, G, 0],
        Checks::WRITE,
        block::compare_and_write,
    ),
    plain(0x8a, &sixteen(CACHE), Checks::WRITE, block::move_blocks),
    plain(0x8b, &sixteen(CACHE), Checks::WRITE, block::or_write),
    plain(0x8e, &sixteen(CHECK), Checks::WRITE, block::write_verify),
    plain(0x8f, &sixteen(CHECK), Checks::READ, block::verify),
    plain(0x90, &sixteen(0x02), Checks::READ, block::prefetch),
    plain(0x91, &sixteen(0x06), Checks::SYNC, block::synchronize),
    unmap(plain(0x93, &sixteen(0x09), Checks::WRITE, block::write_same)),
    action(
        0x9e,
        0x10,
        &[0, F, F, F, F, F, F, F, F, F, F, F, F, 0x01, 0],
        Checks::CAPACITY,
        readiness::read_capacity_16,
    ),
    action(
        0x9e,
        0x12,
        &[0, F, F, F, F, F, F, F, F, F, F, F, F, 0, 0],
        Checks::READ,
        block::lba_status,
    ),
    plain(0xa0, &[0, F, 0, 0, 0, F, F, F, F, 0, 0], Checks::IDENTIFY, luns::report_luns),
    action(0xa3, 0x0a, &list(0x20, 0), Checks::PORTS, port_groups::report),
    action(
        0xa3,
        0x0c,
        &[0, 0x87, F, F, F, F, F, F, F, 0, 0],
        Checks::REPORT_SUPPORTED,
        supported_commands::report,
    ),
    action(
        0xa3,
        0x0d,
        &list(0, 0x80),
        Checks::REPORT_SUPPORTED,
        supported_commands::task_management,
    ),
    action(0xa4, 0x0a, &list(0, 0), Checks::SET_PORTS, port_groups::set),
    plain(0xa8, &twelve(CACHE), Checks::READ, block::move_blocks),
    plain(0xaa, &twelve(CACHE), Checks::WRITE, block::move_blocks),
    plain(0xae, &twelve(CHECK), Checks::WRITE, block::write_verify),
    plain(0xaf, &twelve(CHECK), Checks::READ, block::verify),
    plain(0xb7, &[0x1f, 0, 0, 0, 0, F, F, F, F, 0, 0], Checks::READ, maintenance::defects_12),
];

/// INVALID COMMAND OPERATION CODE, or INVALID FIELD IN CDB for an unknown service action.
pub(super) fn unsupported(command: &CommandRow) -> Ending {
    match command.action {
        Some(_) => invalid_field(1, Some(4)),
        None => Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2000).at_cdb(0, None)),
    }
}

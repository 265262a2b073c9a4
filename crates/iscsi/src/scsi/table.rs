//! Every command of the device server, once: its CDB, who may do it, and what does it.
//!
//! Dispatch, the check of reserved bits, reservations, port states, write protection and REPORT SUPPORTED OPERATION CODES
//! with its usage maps all read this table, so they cannot disagree.

use super::access::Access;
use super::cdb::Cdb;
use super::unit::{Call, Outcome};
use super::{Ending, Sense, SenseKey};
use super::{block, describe, inquiry, report};

/// One command, or one service action of one.
pub(super) struct Command {
    /// The operation code.
    pub opcode: u8,
    /// The service action, where the operation code has some.
    pub action: Option<u8>,
    /// Bytes of the CDB.
    pub length: u8,
    /// The bits that are looked at (SPC-4, 6.35.3, CDB USAGE DATA); the first byte is the operation code, and the service
    /// action stands in the second. All other bits must be zero.
    pub usage: [u8; 16],
    /// Who may do it, and when.
    pub access: Access,
    /// Only thin units have it.
    pub thin: bool,
    /// What does it.
    pub run: fn(&mut Call<'_>) -> Outcome,
}

impl Command {
    /// The bits that may be set, with the whole operation code and the whole service action among them.
    fn allowed(&self) -> u128 {
        let action = if self.action.is_some() { 0x1f << 112 } else { 0 };
        u128::from_be_bytes(self.usage) | (0xff << 120) | action
    }

    /// A bit that this device server does not look at is refused rather than ignored: protection information that is not
    /// there, NACA, and what standards to come may mean by it.
    pub fn fits(&self, cdb: &Cdb) -> Result<(), Ending> {
        let surplus = u128::from_be_bytes(*cdb) & !self.allowed();
        if surplus == 0 {
            return Ok(());
        }
        let place = surplus.leading_zeros() as u16;
        Err(invalid_field(place / 8, Some(7 - (place % 8) as u8)))
    }
}

/// INVALID FIELD IN CDB, with its place.
pub(super) const fn invalid_field(byte: u16, bit: Option<u8>) -> Ending {
    Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2400).at_cdb(byte, bit))
}

/// INVALID FIELD IN PARAMETER LIST, with its place.
pub(super) const fn invalid_parameter(byte: u16) -> Ending {
    Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2600).at_parameter(byte))
}

/// PARAMETER LIST LENGTH ERROR.
pub(super) const SHORT_LIST: Ending = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x1a00));

/// The row of a command. An unknown operation code and an unknown service action are told apart.
pub(super) fn find(cdb: &Cdb) -> Result<&'static Command, Ending> {
    let rows = rows(cdb[0]);
    let Some(first) = rows.first() else {
        return Err(Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2000).at_cdb(0, None)));
    };
    if first.action.is_none() {
        return Ok(first);
    }
    rows.iter().find(|row| row.action == Some(cdb[1] & 0x1f)).ok_or(invalid_field(1, Some(4)))
}

/// The rows of an operation code; they stand together.
pub(super) fn rows(opcode: u8) -> &'static [Command] {
    let (from, to) = const { index() }[usize::from(opcode)];
    &COMMANDS[usize::from(from)..usize::from(to)]
}

/// From where to where the rows of each operation code stand.
const fn index() -> [(u8, u8); 256] {
    let mut index = [(0, 0); 256];
    let mut row = 0;
    while row < COMMANDS.len() {
        let opcode = COMMANDS[row].opcode as usize;
        if index[opcode].1 == 0 {
            index[opcode].0 = row as u8;
        } else {
            assert!(index[opcode].1 as usize == row, "rows of one operation code stand together");
        }
        index[opcode].1 = row as u8 + 1;
        row += 1;
    }
    index
}

/// A command without service actions; `tail` is what is looked at from the second byte on.
const fn plain(
    opcode: u8,
    tail: &[u8],
    access: Access,
    run: fn(&mut Call<'_>) -> Outcome,
) -> Command {
    let mut usage = [0; 16];
    usage[0] = opcode;
    let mut at = 0;
    while at < tail.len() {
        usage[at + 1] = tail[at];
        at += 1;
    }
    Command { opcode, action: None, length: tail.len() as u8 + 1, usage, access, thin: false, run }
}

/// A service action; the second byte of `tail` holds what is looked at beside it.
const fn action(
    opcode: u8,
    action: u8,
    tail: &[u8],
    access: Access,
    run: fn(&mut Call<'_>) -> Outcome,
) -> Command {
    let mut command = plain(opcode, tail, access, run);
    command.usage[1] |= action;
    command.action = Some(action);
    command
}

const fn thin(mut command: Command) -> Command {
    command.thin = true;
    command
}

const F: u8 = 0xff;
/// A group number: looked at by nobody, but harmless.
const G: u8 = 0x3f;

/// DPO, FUA and the obsolete FUA_NV.
const CACHE: u8 = 0x1a;

pub(super) static COMMANDS: &[Command] = &[
    plain(0x00, &[0, 0, 0, 0, 0], Access::READY, describe::test_unit_ready),
    plain(0x03, &[0x01, 0, 0, F, 0], Access::IDENTIFY, describe::request_sense),
    plain(0x08, &[0x1f, F, F, F, 0], Access::READ, block::move_blocks),
    plain(0x0a, &[0x1f, F, F, F, 0], Access::WRITE, block::move_blocks),
    plain(0x12, &[0x01, F, F, F, 0], Access::IDENTIFY, inquiry::inquiry),
    plain(0x25, &[0x01, F, F, F, F, 0, 0, 0x01, 0], Access::CAPACITY, describe::read_capacity_10),
    plain(0x28, &[CACHE, F, F, F, F, G, F, F, 0], Access::READ, block::move_blocks),
    plain(0x2a, &[CACHE, F, F, F, F, G, F, F, 0], Access::WRITE, block::move_blocks),
    plain(
        0x88,
        &[CACHE, F, F, F, F, F, F, F, F, F, F, F, F, G, 0],
        Access::READ,
        block::move_blocks,
    ),
    plain(
        0x8a,
        &[CACHE, F, F, F, F, F, F, F, F, F, F, F, F, G, 0],
        Access::WRITE,
        block::move_blocks,
    ),
    action(
        0x9e,
        0x10,
        &[0, F, F, F, F, F, F, F, F, F, F, F, F, 0x01, 0],
        Access::CAPACITY,
        describe::read_capacity_16,
    ),
    thin(action(
        0x9e,
        0x12,
        &[0, F, F, F, F, F, F, F, F, F, F, F, F, 0, 0],
        Access::READ,
        block::lba_status,
    )),
    plain(0xa0, &[0, F, 0, 0, 0, F, F, F, F, 0, 0], Access::IDENTIFY, report::report_luns),
    plain(0xa8, &[CACHE, F, F, F, F, F, F, F, F, G, 0], Access::READ, block::move_blocks),
    plain(0xaa, &[CACHE, F, F, F, F, F, F, F, F, G, 0], Access::WRITE, block::move_blocks),
];

/// INVALID COMMAND OPERATION CODE, or the service action is what is unknown.
pub(super) fn unsupported(command: &Command) -> Ending {
    match command.action {
        Some(_) => invalid_field(1, Some(4)),
        None => Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2000).at_cdb(0, None)),
    }
}

//! Rows of the command tables, and what both device servers answer from them.

use crate::answer::{Outcome, be16, be32, illegal, invalid_field, reply};
use iscsi::scsi::{CdbBytes, CommandSpec, PassAccess};

/// A command; `tail` holds the evaluated bits from the second byte on.
pub(crate) const fn row(
    name: &'static str,
    opcode: u8,
    tail: &[u8],
    access: PassAccess,
) -> CommandSpec {
    let mut usage = [0; 16];
    usage[0] = opcode;
    let mut at = 0;
    while at < tail.len() {
        usage[at + 1] = tail[at];
        at += 1;
    }
    let length = tail.len() as u8 + 1;
    CommandSpec { opcode, action: None, length, usage, access, sends: false, name }
}

/// A service action of a command.
pub(crate) const fn action(
    name: &'static str,
    opcode: u8,
    action: u8,
    tail: &[u8],
    access: PassAccess,
) -> CommandSpec {
    let mut spec = row(name, opcode, tail, access);
    spec.usage[1] |= action;
    spec.action = Some(action);
    spec
}

/// The same with data from the initiator.
pub(crate) const fn sends(mut spec: CommandSpec) -> CommandSpec {
    spec.sends = true;
    spec
}

pub(crate) const F: u8 = 0xff;

const IN_10: [u8; 9] = [0, 0, 0, 0, 0, 0, F, F, 0];
const OUT_10: [u8; 9] = [0, F, 0, 0, F, F, F, F, 0];

/// The commands that every device type has: those that are executed for all units alike, and those that both device
/// servers execute.
pub(crate) const COMMON: [CommandSpec; 24] = [
    row("TEST UNIT READY", 0x00, &[0, 0, 0, 0, 0], PassAccess::Free),
    row("REQUEST SENSE", 0x03, &[0x01, 0, 0, F, 0], PassAccess::Sense),
    row("INQUIRY", 0x12, &[0x01, F, F, F, 0], PassAccess::Identify),
    sends(row("MODE SELECT(6)", 0x15, &[0x11, 0, 0, F, 0], PassAccess::Change)),
    row("RESERVE(6)", 0x16, &[0, 0, 0, 0, 0], PassAccess::Common),
    row("RELEASE(6)", 0x17, &[0, 0, 0, 0, 0], PassAccess::Common),
    row("MODE SENSE(6)", 0x1a, &[0x08, F, F, F, 0], PassAccess::Read),
    sends(row("SEND DIAGNOSTIC", 0x1d, &[0x04, 0, 0, 0, 0], PassAccess::Change)),
    row("PREVENT ALLOW MEDIUM REMOVAL", 0x1e, &[0, 0, 0, 0x03, 0], PassAccess::Free),
    row("LOG SENSE", 0x4d, &[0x01, F, F, 0, F, F, F, F, 0], PassAccess::Always),
    sends(row("MODE SELECT(10)", 0x55, &[0x11, 0, 0, 0, 0, 0, F, F, 0], PassAccess::Change)),
    row("RESERVE(10)", 0x56, &[0, 0, 0, 0, 0, 0, 0, 0, 0], PassAccess::Common),
    row("RELEASE(10)", 0x57, &[0, 0, 0, 0, 0, 0, 0, 0, 0], PassAccess::Common),
    row("MODE SENSE(10)", 0x5a, &[0x18, F, F, 0, 0, 0, F, F, 0], PassAccess::Read),
    action("PERSISTENT RESERVE IN, READ KEYS", 0x5e, 0, &IN_10, PassAccess::Common),
    action("PERSISTENT RESERVE IN, READ RESERVATION", 0x5e, 1, &IN_10, PassAccess::Common),
    action("PERSISTENT RESERVE IN, REPORT CAPABILITIES", 0x5e, 2, &IN_10, PassAccess::Common),
    action("PERSISTENT RESERVE IN, READ FULL STATUS", 0x5e, 3, &IN_10, PassAccess::Common),
    out("PERSISTENT RESERVE OUT, REGISTER", 0),
    out("PERSISTENT RESERVE OUT, RESERVE", 1),
    out("PERSISTENT RESERVE OUT, RELEASE", 2),
    out("PERSISTENT RESERVE OUT, CLEAR", 3),
    out("PERSISTENT RESERVE OUT, PREEMPT", 4),
    out("PERSISTENT RESERVE OUT, PREEMPT AND ABORT", 5),
];

const fn out(name: &'static str, service: u8) -> CommandSpec {
    action(name, 0x5f, service, &OUT_10, PassAccess::Common)
}

/// The rest of them.
pub(crate) const COMMON_LATER: [CommandSpec; 5] = [
    out("PERSISTENT RESERVE OUT, REGISTER AND IGNORE EXISTING KEY", 6),
    out("PERSISTENT RESERVE OUT, REGISTER AND MOVE", 7),
    row("REPORT LUNS", 0xa0, &[0, F, 0, 0, 0, F, F, F, F, 0, 0], PassAccess::Common),
    action(
        "REPORT SUPPORTED OPERATION CODES",
        0xa3,
        0x0c,
        &[0, 0x87, F, F, F, F, F, F, F, 0, 0],
        PassAccess::Free,
    ),
    action(
        "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS",
        0xa3,
        0x0d,
        &[0, 0x80, 0, 0, 0, F, F, F, F, 0, 0],
        PassAccess::Free,
    ),
];

/// The common commands and those of a type, in one table.
pub(crate) const fn joined<const OWN: usize, const ALL: usize>(
    own: &[CommandSpec; OWN],
) -> [CommandSpec; ALL] {
    let mut all = [COMMON[0]; ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = if at < COMMON.len() {
            COMMON[at]
        } else if at < COMMON.len() + COMMON_LATER.len() {
            COMMON_LATER[at - COMMON.len()]
        } else {
            own[at - COMMON.len() - COMMON_LATER.len()]
        };
        at += 1;
    }
    all
}

/// How many common commands there are.
pub(crate) const COMMONS: usize = COMMON.len() + COMMON_LATER.len();

/// A command timeouts descriptor without times.
const NO_TIMES: [u8; 12] = [0, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// REPORT SUPPORTED OPERATION CODES (SPC-4, 6.35).
pub(crate) fn supported(commands: &[CommandSpec], cdb: &CdbBytes, room: &mut [u8]) -> Outcome {
    let timeouts = cdb[2] & 0x80 != 0;
    let (opcode, service) = (cdb[3], be16(cdb, 4));
    let has_actions = commands.iter().any(|one| one.opcode == opcode && one.action.is_some());
    let find = |service: Option<u16>| {
        commands.iter().find(|one| one.opcode == opcode && one.action.map(u16::from) == service)
    };
    let bytes = match cdb[2] & 0x07 {
        0 => all(commands, timeouts),
        1 if has_actions => return Err(invalid_field(2).into()),
        1 => one(find(None), timeouts),
        2 if !has_actions => return Err(invalid_field(2).into()),
        2 => one(find(Some(service)), timeouts),
        3 if has_actions => one(find(Some(service)), timeouts),
        3 => one(find(None).filter(|_| service == 0), timeouts),
        _ => return Err(invalid_field(2).into()),
    };
    reply(&bytes, be32(cdb, 6) as usize, room)
}

fn all(commands: &[CommandSpec], timeouts: bool) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    for one in commands {
        let flags = u8::from(one.action.is_some()) | if timeouts { 0x02 } else { 0 };
        bytes.extend([one.opcode, 0, 0, one.action.unwrap_or(0), 0, flags, 0, one.length]);
        if timeouts {
            bytes.extend(NO_TIMES);
        }
    }
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

fn one(spec: Option<&CommandSpec>, timeouts: bool) -> Vec<u8> {
    let Some(spec) = spec else { return vec![0, 0x01, 0, 0] };
    let flags = 0x03 | if timeouts { 0x80 } else { 0 };
    let mut bytes = vec![0, flags, 0, spec.length];
    bytes.extend(&spec.usage[..usize::from(spec.length)]);
    if timeouts {
        bytes.extend(NO_TIMES);
    }
    bytes
}

/// REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS: those of iSCSI except ACA.
pub(crate) fn task_management(cdb: &CdbBytes, room: &mut [u8]) -> Outcome {
    let mut bytes = vec![0x80 | 0x40 | 0x10 | 0x08 | 0x02, 0, 0, 0];
    if cdb[2] & 0x80 != 0 {
        bytes[3] = 0x0c;
        bytes.resize(16, 0);
    }
    reply(&bytes, be32(cdb, 6) as usize, room)
}

/// SEND DIAGNOSTIC: the default self-test passes, pages are not supported.
pub(crate) fn self_test(cdb: &CdbBytes) -> Outcome {
    if cdb[1] & 0x04 == 0 { Err(illegal(0x2400).at_cdb(1, Some(2)).into()) } else { Ok(0) }
}

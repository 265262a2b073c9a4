//! Every command of SSC-3 and SMC-3, with those of SPC-4 that they name, and what becomes of it here: done, or refused with which
//! sense data. A test walks the table, and the documentation is made of it.

use crate::{CHANGER_COMMANDS, DRIVE_COMMANDS};
use iscsi::scsi::CommandSpec;

/// What becomes of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does what the standard says.
    Done,
    /// ILLEGAL REQUEST, INVALID COMMAND OPERATION CODE.
    NoOpcode(&'static str),
    /// ILLEGAL REQUEST, INVALID FIELD IN CDB: other service actions of the operation code are done.
    NoAction(&'static str),
}

/// A command of a standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conformance {
    /// Its name.
    pub name: &'static str,
    /// The operation code.
    pub opcode: u8,
    /// The service action.
    pub action: Option<u8>,
    /// What becomes of it.
    pub verdict: Verdict,
}

const fn done(name: &'static str, opcode: u8, action: Option<u8>) -> Conformance {
    Conformance { name, opcode, action, verdict: Verdict::Done }
}

const fn none(
    name: &'static str,
    opcode: u8,
    action: Option<u8>,
    why: &'static str,
) -> Conformance {
    Conformance { name, opcode, action, verdict: Verdict::NoOpcode(why) }
}

const fn part(name: &'static str, opcode: u8, action: u8, why: &'static str) -> Conformance {
    Conformance { name, opcode, action: Some(action), verdict: Verdict::NoAction(why) }
}

const OPTIONAL: &str = "optional";
const EXPLICIT: &str = "explicit address mode, which no LTO drive has";
const REVERSE: &str = "LTO drives do not read backwards";
const NO_KEYS: &str = "no encryption, and none is pretended";

/// The commands of a sequential-access device (SSC-3, tables 13 and 14).
pub const SSC_3: &[Conformance] = &[
    done("TEST UNIT READY", 0x00, None),
    done("REWIND", 0x01, None),
    done("REQUEST SENSE", 0x03, None),
    done("FORMAT MEDIUM", 0x04, None),
    done("READ BLOCK LIMITS", 0x05, None),
    done("READ(6)", 0x08, None),
    done("WRITE(6)", 0x0a, None),
    none("SET CAPACITY", 0x0b, None, OPTIONAL),
    none("READ REVERSE(6)", 0x0f, None, REVERSE),
    done("WRITE FILEMARKS(6)", 0x10, None),
    done("SPACE(6)", 0x11, None),
    done("INQUIRY", 0x12, None),
    done("VERIFY(6)", 0x13, None),
    none("RECOVER BUFFERED DATA", 0x14, None, "what is buffered is in the file already"),
    done("MODE SELECT(6)", 0x15, None),
    done("RESERVE(6)", 0x16, None),
    done("RELEASE(6)", 0x17, None),
    done("ERASE(6)", 0x19, None),
    done("MODE SENSE(6)", 0x1a, None),
    done("LOAD UNLOAD", 0x1b, None),
    none("RECEIVE DIAGNOSTIC RESULTS", 0x1c, None, OPTIONAL),
    done("SEND DIAGNOSTIC", 0x1d, None),
    done("PREVENT ALLOW MEDIUM REMOVAL", 0x1e, None),
    done("LOCATE(10)", 0x2b, None),
    done("READ POSITION, short form", 0x34, Some(0x00)),
    done("READ POSITION, short form with vendor-specific address", 0x34, Some(0x01)),
    done("READ POSITION, long form", 0x34, Some(0x06)),
    done("READ POSITION, extended form", 0x34, Some(0x08)),
    none("WRITE BUFFER", 0x3b, None, "there is no firmware to load"),
    none("READ BUFFER", 0x3c, None, OPTIONAL),
    done("REPORT DENSITY SUPPORT", 0x44, None),
    none("LOG SELECT", 0x4c, None, "counters cannot be reset"),
    done("LOG SENSE", 0x4d, None),
    done("MODE SELECT(10)", 0x55, None),
    done("RESERVE(10)", 0x56, None),
    done("RELEASE(10)", 0x57, None),
    done("MODE SENSE(10)", 0x5a, None),
    done("PERSISTENT RESERVE IN", 0x5e, Some(0x00)),
    done("PERSISTENT RESERVE OUT", 0x5f, Some(0x00)),
    none("WRITE FILEMARKS(16)", 0x80, None, EXPLICIT),
    none("READ REVERSE(16)", 0x81, None, REVERSE),
    none("ALLOW OVERWRITE", 0x82, None, OPTIONAL),
    none("EXTENDED COPY", 0x83, Some(0x00), OPTIONAL),
    none("RECEIVE COPY RESULTS", 0x84, Some(0x00), OPTIONAL),
    none("READ(16)", 0x88, None, EXPLICIT),
    none("WRITE(16)", 0x8a, None, EXPLICIT),
    done("READ ATTRIBUTE, attribute values", 0x8c, Some(0x00)),
    done("READ ATTRIBUTE, attribute list", 0x8c, Some(0x01)),
    part("READ ATTRIBUTE, volume list", 0x8c, 0x02, "one volume, one partition"),
    done("READ ATTRIBUTE, partition list", 0x8c, Some(0x03)),
    done("WRITE ATTRIBUTE", 0x8d, None),
    none("VERIFY(16)", 0x8f, None, EXPLICIT),
    done("SPACE(16)", 0x91, None),
    done("LOCATE(16)", 0x92, None),
    none("ERASE(16)", 0x93, None, EXPLICIT),
    done("REPORT LUNS", 0xa0, None),
    none("SECURITY PROTOCOL IN", 0xa2, None, NO_KEYS),
    part("REPORT IDENTIFYING INFORMATION", 0xa3, 0x05, OPTIONAL),
    part("REPORT TARGET PORT GROUPS", 0xa3, 0x0a, "TPGS is zero"),
    part("REPORT ALIASES", 0xa3, 0x0b, OPTIONAL),
    done("REPORT SUPPORTED OPERATION CODES", 0xa3, Some(0x0c)),
    done("REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS", 0xa3, Some(0x0d)),
    part("REPORT PRIORITY", 0xa3, 0x0e, OPTIONAL),
    part("REPORT TIMESTAMP", 0xa3, 0x0f, OPTIONAL),
    part("MANAGEMENT PROTOCOL IN", 0xa3, 0x10, OPTIONAL),
    none("SET IDENTIFYING INFORMATION", 0xa4, Some(0x06), OPTIONAL),
    none("SET TARGET PORT GROUPS", 0xa4, Some(0x0a), "TPGS is zero"),
    none("CHANGE ALIASES", 0xa4, Some(0x0b), OPTIONAL),
    none("SET PRIORITY", 0xa4, Some(0x0e), OPTIONAL),
    none("SET TIMESTAMP", 0xa4, Some(0x0f), OPTIONAL),
    none("MANAGEMENT PROTOCOL OUT", 0xa4, Some(0x10), OPTIONAL),
    none("MOVE MEDIUM ATTACHED", 0xa7, None, "the changer is a unit of its own (MCHNGR is zero)"),
    done("READ MEDIA SERIAL NUMBER", 0xab, Some(0x01)),
    none("READ ELEMENT STATUS ATTACHED", 0xb4, None, "the changer is a unit of its own"),
    none("SECURITY PROTOCOL OUT", 0xb5, None, NO_KEYS),
];

/// The commands of a medium changer (SMC-3, table 6).
pub const SMC_3: &[Conformance] = &[
    done("TEST UNIT READY", 0x00, None),
    done("REQUEST SENSE", 0x03, None),
    done("INITIALIZE ELEMENT STATUS", 0x07, None),
    done("INQUIRY", 0x12, None),
    done("MODE SELECT(6)", 0x15, None),
    done("RESERVE(6)", 0x16, None),
    done("RELEASE(6)", 0x17, None),
    done("MODE SENSE(6)", 0x1a, None),
    none("OPEN/CLOSE IMPORT/EXPORT ELEMENT", 0x1b, None, "import and export elements have no door"),
    none("RECEIVE DIAGNOSTIC RESULTS", 0x1c, None, OPTIONAL),
    done("SEND DIAGNOSTIC", 0x1d, None),
    done("PREVENT ALLOW MEDIUM REMOVAL", 0x1e, None),
    done("POSITION TO ELEMENT", 0x2b, None),
    done("INITIALIZE ELEMENT STATUS WITH RANGE", 0x37, None),
    none("WRITE BUFFER", 0x3b, None, "there is no firmware to load"),
    none("READ BUFFER", 0x3c, None, OPTIONAL),
    none("REPORT VOLUME TYPES SUPPORTED", 0x44, None, OPTIONAL),
    none("LOG SELECT", 0x4c, None, "counters cannot be reset"),
    done("LOG SENSE", 0x4d, None),
    done("MODE SELECT(10)", 0x55, None),
    done("RESERVE(10)", 0x56, None),
    done("RELEASE(10)", 0x57, None),
    done("MODE SENSE(10)", 0x5a, None),
    done("PERSISTENT RESERVE IN", 0x5e, Some(0x00)),
    done("PERSISTENT RESERVE OUT", 0x5f, Some(0x00)),
    none("READ ATTRIBUTE", 0x8c, Some(0x00), "the drives read the memory of cartridges"),
    none("WRITE ATTRIBUTE", 0x8d, None, "the drives write it"),
    none("REPORT ELEMENT INFORMATION", 0x9e, Some(0x10), OPTIONAL),
    done("REPORT LUNS", 0xa0, None),
    none("SECURITY PROTOCOL IN", 0xa2, None, NO_KEYS),
    part("REPORT IDENTIFYING INFORMATION", 0xa3, 0x05, OPTIONAL),
    part("REPORT TARGET PORT GROUPS", 0xa3, 0x0a, "TPGS is zero"),
    part("REPORT ALIASES", 0xa3, 0x0b, OPTIONAL),
    done("REPORT SUPPORTED OPERATION CODES", 0xa3, Some(0x0c)),
    done("REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS", 0xa3, Some(0x0d)),
    part("REPORT PRIORITY", 0xa3, 0x0e, OPTIONAL),
    part("REPORT TIMESTAMP", 0xa3, 0x0f, OPTIONAL),
    part("MANAGEMENT PROTOCOL IN", 0xa3, 0x10, OPTIONAL),
    none("SET IDENTIFYING INFORMATION", 0xa4, Some(0x06), OPTIONAL),
    none("SET TARGET PORT GROUPS", 0xa4, Some(0x0a), "TPGS is zero"),
    none("CHANGE ALIASES", 0xa4, Some(0x0b), OPTIONAL),
    none("SET PRIORITY", 0xa4, Some(0x0e), OPTIONAL),
    none("SET TIMESTAMP", 0xa4, Some(0x0f), OPTIONAL),
    none("MANAGEMENT PROTOCOL OUT", 0xa4, Some(0x10), OPTIONAL),
    done("MOVE MEDIUM", 0xa5, None),
    done("EXCHANGE MEDIUM", 0xa6, None),
    none("REQUEST VOLUME ELEMENT ADDRESS", 0xb5, None, "READ ELEMENT STATUS has the volume tags"),
    none("SEND VOLUME TAG", 0xb6, None, "labels are not printed"),
    done("READ ELEMENT STATUS", 0xb8, None),
];

/// A list as a Markdown table.
pub fn table(commands: &[Conformance]) -> String {
    let mut text = String::from("| command | code | |\n|---|---|---|\n");
    for one in commands {
        let code = match one.action {
            Some(action) => format!("{:02X}h/{action:02X}h", one.opcode),
            None => format!("{:02X}h", one.opcode),
        };
        let verdict = match one.verdict {
            Verdict::Done => "done".to_owned(),
            Verdict::NoOpcode(why) => format!("refused, 20h/00h: {why}"),
            Verdict::NoAction(why) => format!("refused, 24h/00h: {why}"),
        };
        text.push_str(&format!("| {} | {code} | {verdict} |\n", one.name));
    }
    text
}

impl Conformance {
    /// The row of a command that is done.
    pub fn spec(&self, drive: bool) -> Option<&'static CommandSpec> {
        let commands = if drive { DRIVE_COMMANDS } else { CHANGER_COMMANDS };
        commands.iter().find(|one| one.opcode == self.opcode && one.action == self.action)
    }
}

//! INQUIRY: standard data and vital product data pages (SPC-4, 6.6 and 7.8; SBC-3, 6.6).
//!
//! The designators of the logical unit are the same on every path; those of the port differ.

use super::cdb::field16;
use super::command_table::invalid_field;
use super::copy::third_party;
use super::description::{
    LARGEST_TRANSFER, LONGEST_SAME, MOST_COMPARED, MOST_UNMAP_DESCRIPTORS, MOST_UNMAPPED,
    UnitDescription, VENDOR,
};
use super::readiness::reply;
use super::unit::{CommandCall, CommandResult};

/// SAM-5, SPC-4, SBC-3 and iSCSI, without claiming a version.
const VERSIONS: [u16; 4] = [0x00a0, 0x0460, 0x04c0, 0x0960];

/// A direct access block device.
const BLOCK_DEVICE: u8 = 0x00;
/// A well-known logical unit.
const WELL_KNOWN: u8 = 0x1e;
/// Peripheral qualifier 3: no logical unit is possible here.
const NO_UNIT: u8 = 0x7f;

/// INQUIRY of a logical unit.
pub(super) fn inquiry(call: &mut CommandCall<'_>) -> CommandResult {
    let allocation = u32::from(field16::<3>(call.cdb));
    let page = call.cdb[2];
    if call.cdb[1] & 1 == 0 {
        if page != 0 {
            return Err(invalid_field(2, None));
        }
        let description = call.description();
        return reply(
            standard(BLOCK_DEVICE, &description.product, &description.revision),
            allocation,
        );
    }
    let Some((_, make)) = PAGES.iter().find(|(code, _)| *code == page) else {
        return Err(invalid_field(2, None));
    };
    reply(framed(page, make(call)), allocation)
}

/// INQUIRY of the well-known logical unit, or of a LUN that does not exist.
pub(super) fn elsewhere(cdb: &super::CdbBytes, well_known: bool) -> CommandResult {
    let allocation = u32::from(field16::<3>(cdb));
    if cdb[1] & 1 != 0 && well_known && cdb[2] == 0 {
        let mut page = framed(0, vec![0]);
        page[0] = WELL_KNOWN;
        return reply(page, allocation);
    }
    if cdb[1] & 1 != 0 || cdb[2] != 0 {
        return Err(invalid_field(if cdb[1] & 1 != 0 { 1 } else { 2 }, None));
    }
    reply(standard(if well_known { WELL_KNOWN } else { NO_UNIT }, "", ""), allocation)
}

/// Standard INQUIRY data.
fn standard(kind: u8, product: &str, revision: &str) -> Vec<u8> {
    let mut bytes = vec![0; 74];
    bytes[0] = kind;
    bytes[2] = 0x06; // SPC-4
    bytes[3] = 0x12; // HISUP, response data format 2
    bytes[4] = 69;
    if kind == BLOCK_DEVICE {
        bytes[5] = 0x38; // TPGS: implicit and explicit; 3PC
    }
    bytes[7] = 0x02; // CMDQUE
    bytes[8..16].copy_from_slice(&padded::<8>(VENDOR));
    bytes[16..32].copy_from_slice(&padded::<16>(product));
    bytes[32..36].copy_from_slice(&padded::<4>(revision));
    for (at, version) in VERSIONS.iter().enumerate() {
        bytes[58 + 2 * at..60 + 2 * at].copy_from_slice(&version.to_be_bytes());
    }
    bytes
}

/// Printable ASCII, padded with blanks.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (byte, letter) in field.iter_mut().zip(printable(text)) {
        *byte = letter;
    }
    field
}

/// The printable ASCII characters of a text.
fn printable(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().filter(|letter| (0x20..0x7f).contains(letter))
}

type VpdPage = fn(&CommandCall<'_>) -> Vec<u8>;

/// The vital product data pages, in order of their codes.
const PAGES: &[(u8, VpdPage)] = &[
    (0x00, |_| CODES.to_vec()),
    (0x80, |call| serial(call.description()).into_bytes()),
    (0x83, designators),
    (0x86, |_| extended()),
    (0x8f, |_| third_party()),
    (0xb0, |call| limits(call.description())),
    (0xb1, |call| characteristics(call.description())),
    (0xb2, |call| provisioning(call.description())),
];

/// The page codes, which page 0x00 lists.
const CODES: [u8; 8] = [0x00, 0x80, 0x83, 0x86, 0x8f, 0xb0, 0xb1, 0xb2];

/// A page with its header.
fn framed(code: u8, body: Vec<u8>) -> Vec<u8> {
    let [high, low] = (body.len() as u16).to_be_bytes();
    let mut page = vec![BLOCK_DEVICE, code, high, low];
    page.extend(body);
    page
}

/// The serial number as shown by pages 0x80 and 0x83.
fn serial(description: &UnitDescription) -> String {
    printable(&description.serial).take(64).map(char::from).collect()
}

const T10: u8 = 0x1;
const NAA: u8 = 0x3;
const RELATIVE_PORT: u8 = 0x4;
const PORT_GROUP: u8 = 0x5;
const NAME: u8 = 0x8;
const UNIT: u8 = 0;
const PORT: u8 = 1;
const DEVICE: u8 = 2;

/// Page 0x83: designators of the unit and of the port that received the command.
fn designators(call: &CommandCall<'_>) -> Vec<u8> {
    let port = call.nexus.port;
    let name = call.device.name();
    let mut bytes = Vec::new();
    let mut add = |kind: u8, association: u8, designator: &[u8]| {
        let code = match kind {
            T10 => 0x02,
            NAME => 0x03,
            _ => 0x01,
        };
        // Designators of ports and of the device name their protocol, iSCSI.
        let (protocol, valid) = if association == UNIT { (0, 0) } else { (0x50, 0x80) };
        bytes.extend([protocol | code, valid | association << 4 | kind, 0, designator.len() as u8]);
        bytes.extend(designator);
    };
    let tag = [0, 0, port.to_be_bytes()[0], port.to_be_bytes()[1]];
    let mut vendor = padded::<8>(VENDOR).to_vec();
    vendor.extend(serial(call.description()).bytes());
    add(NAA, UNIT, call.unit.designator());
    add(T10, UNIT, &vendor);
    add(RELATIVE_PORT, PORT, &tag);
    add(PORT_GROUP, PORT, &tag);
    add(NAME, PORT, &name_string(&format!("{name},t,0x{port:04x}")));
    add(NAME, DEVICE, &name_string(name));
    bytes
}

/// A SCSI name string: zero-terminated and padded to a multiple of four, within the 255 bytes of a designator.
fn name_string(name: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = name.bytes().take(251).collect();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    bytes
}

/// Page 0x86: extended INQUIRY data.
fn extended() -> Vec<u8> {
    let mut body = vec![0; 60];
    body[1] = 0x07; // HEADSUP, ORDSUP, SIMPSUP
    body[2] = 0x01; // V_SUP: there is a volatile cache
    body
}

/// Page 0xB0: block limits.
fn limits(description: &UnitDescription) -> Vec<u8> {
    let geometry = description.geometry;
    let page = geometry.blocks_in(4096);
    let mut body = vec![0; 60];
    body[1] = MOST_COMPARED;
    body[2..4].copy_from_slice(&(page as u16).to_be_bytes());
    body[4..8].copy_from_slice(&geometry.blocks_in(LARGEST_TRANSFER).to_be_bytes());
    body[8..12].copy_from_slice(&geometry.blocks_in(1 << 20).to_be_bytes());
    if description.thin {
        body[16..20].copy_from_slice(&MOST_UNMAPPED.to_be_bytes());
        body[20..24].copy_from_slice(&MOST_UNMAP_DESCRIPTORS.to_be_bytes());
        body[24..28].copy_from_slice(&page.to_be_bytes());
        body[28] = 0x80; // UGAVALID: the alignment is zero
    }
    body[32..40].copy_from_slice(&u64::from(geometry.blocks_in(LONGEST_SAME)).to_be_bytes());
    body
}

/// Page 0xB1: non-rotating medium. After a block erase, of thin units only, all blocks are readable (WABEREQ).
fn characteristics(description: &UnitDescription) -> Vec<u8> {
    let mut body = vec![0; 60];
    body[1] = 0x01;
    body[3] = if description.thin { 0x40 } else { 0 };
    body
}

/// Page 0xB2: logical block provisioning.
fn provisioning(description: &UnitDescription) -> Vec<u8> {
    if !description.thin {
        return vec![0; 4];
    }
    // UNMAP, and WRITE SAME (16) and (10) with UNMAP; deallocated blocks read as zeros; thin.
    vec![0, 0x80 | 0x40 | 0x20 | 0x04, 0x02, 0]
}

//! REPORT LUNS, and the answers of LUNs without a block device: the well-known logical unit and LUNs that do not
//! exist (SPC-4, 6.33; SAM-5, 4.7).

use super::cdb::{CdbBytes, field32};
use super::command_table::{self, CommandRow, invalid_field};
use super::device::{Device, LunAddress};
use super::readiness::reply;
use super::unit::{CommandCall, CommandResult};
use super::{Action, Ending, Sense, SenseKey, UnitAttention, inquiry};

/// The LUN field of the well-known logical unit REPORT LUNS.
const REPORTER: [u8; 8] = [0xc1, 0x01, 0, 0, 0, 0, 0, 0];

/// LOGICAL UNIT NOT SUPPORTED.
const NO_UNIT: Sense = Sense::new(SenseKey::IllegalRequest, 0x2500);

/// REPORT LUNS; it clears the unit attention about changed logical units.
pub(super) fn report_luns(call: &mut CommandCall<'_>) -> CommandResult {
    let nexus = call.nexus;
    if call.state().is_pending(nexus, UnitAttention::LunsChanged) {
        call.change().clear(nexus, UnitAttention::LunsChanged);
    }
    luns(call.device, call.cdb)
}

/// The list of LUNs. SELECT REPORT chooses ordinary or well-known ones.
fn luns(device: &Device, cdb: &CdbBytes) -> CommandResult {
    let allocation = field32::<6>(cdb);
    let (ordinary, well_known) = match cdb[2] {
        0x00 => (true, false),
        0x01 => (false, true),
        0x02 => (true, true),
        // Administrative and subsidiary logical units: none.
        0x10..=0x12 => (false, false),
        _ => return Err(invalid_field(2, None)),
    };
    if allocation < 16 {
        return Err(invalid_field(6, None));
    }
    let ordinary = if ordinary { device.units().len() } else { 0 };
    let count = ordinary + usize::from(well_known);
    let mut bytes = Vec::with_capacity(8 + 8 * count);
    bytes.extend((8 * count as u32).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend((0..ordinary).flat_map(LunAddress::field));
    if well_known {
        bytes.extend(REPORTER);
    }
    reply(bytes, allocation)
}

/// The well-known logical unit REPORT LUNS.
pub(super) fn well_known(device: &Device, cdb: &CdbBytes) -> CommandResult {
    match cdb[0] {
        0x00 => checked(cdb).map(|_| Action::End(Ending::GOOD)),
        0x03 => checked(cdb).and_then(|_| no_sense(cdb, Sense::new(SenseKey::NoSense, 0))),
        0x12 => checked(cdb).and_then(|_| inquiry::elsewhere(cdb, true)),
        0xa0 => checked(cdb).and_then(|_| luns(device, cdb)),
        _ => Err(Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2000).at_cdb(0, None))),
    }
}

/// A LUN that does not exist: INQUIRY says so, and everything else is refused. REPORT LUNS is answered, because an
/// initiator may query LUN 0 of a device without any.
pub(super) fn absent(device: &Device, cdb: &CdbBytes) -> CommandResult {
    match cdb[0] {
        0x03 => checked(cdb).and_then(|_| no_sense(cdb, NO_UNIT)),
        0x12 => checked(cdb).and_then(|_| inquiry::elsewhere(cdb, false)),
        0xa0 if device.units().is_empty() => checked(cdb).and_then(|_| luns(device, cdb)),
        _ => Err(Ending::check(NO_UNIT)),
    }
}

/// Sense data as the parameter data of REQUEST SENSE.
fn no_sense(cdb: &CdbBytes, sense: Sense) -> CommandResult {
    reply(sense.encode(cdb[1] & 1 != 0), u32::from(cdb[4]))
}

/// The row of a command, once its bits have been checked.
fn checked(cdb: &CdbBytes) -> Result<&'static CommandRow, Ending> {
    let command = command_table::find(cdb)?;
    command.fits(cdb, false)?;
    Ok(command)
}

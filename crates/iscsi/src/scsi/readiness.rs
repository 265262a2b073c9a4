//! TEST UNIT READY, REQUEST SENSE and READ CAPACITY: readiness and size of a unit.

use super::cdb::{field32, field64};
use super::command_table::invalid_field;
use super::state::SanitizeState;
use super::unit::{CommandCall, CommandResult};
use super::{Action, Ending, Sense, SenseKey, UnitAttention};

/// The answer, truncated to the allocation length.
pub(super) fn reply(mut bytes: Vec<u8>, allocation: u32) -> CommandResult {
    bytes.truncate(allocation as usize);
    Ok(Action::Reply(bytes))
}

/// TEST UNIT READY: all checks precede this, so the medium is accessible.
pub(super) fn test_unit_ready(_: &mut CommandCall<'_>) -> CommandResult {
    Ok(Action::End(Ending::GOOD))
}

/// REQUEST SENSE: a pending unit attention is returned as data and cleared (SPC-4, 6.39).
pub(super) fn request_sense(call: &mut CommandCall<'_>) -> CommandResult {
    let nexus = call.nexus;
    let pending = call.state().pending(nexus).is_some();
    let attention =
        if pending { call.change().report(nexus).map(UnitAttention::sense) } else { None };
    let sense = attention.unwrap_or(match call.state().sanitizing {
        SanitizeState::Running => Sense::new(SenseKey::NotReady, 0x041b),
        SanitizeState::Failed => Sense::new(SenseKey::MediumError, 0x3103),
        SanitizeState::No => Sense::new(SenseKey::NoSense, 0),
    });
    reply(sense.encode(call.cdb[1] & 1 != 0), u32::from(call.cdb[4]))
}

/// READ CAPACITY (10): larger volumes return all ones.
pub(super) fn read_capacity_10(call: &mut CommandCall<'_>) -> CommandResult {
    if call.cdb[8] & 1 == 0 && field32::<2>(call.cdb) != 0 {
        return Err(invalid_field(2, None));
    }
    let geometry = call.geometry();
    let last = u32::try_from(geometry.blocks.saturating_sub(1)).unwrap_or(u32::MAX);
    let mut bytes = last.to_be_bytes().to_vec();
    bytes.extend(geometry.block.to_be_bytes());
    Ok(Action::Reply(bytes))
}

/// READ CAPACITY (16), with LBPME and LBPRZ of thin volumes. A physical block is a logical one: no write causes a
/// read of a neighbour. The Block Limits page reports the allocation unit.
pub(super) fn read_capacity_16(call: &mut CommandCall<'_>) -> CommandResult {
    if call.cdb[14] & 1 == 0 && field64::<2>(call.cdb) != 0 {
        return Err(invalid_field(2, None));
    }
    let (description, geometry) = (call.description(), call.geometry());
    let mut bytes = vec![0; 32];
    bytes[0..8].copy_from_slice(&geometry.blocks.saturating_sub(1).to_be_bytes());
    bytes[8..12].copy_from_slice(&geometry.block.to_be_bytes());
    if description.thin {
        bytes[14] = 0xc0;
    }
    reply(bytes, field32::<10>(call.cdb))
}

//! START STOP UNIT, PREVENT ALLOW MEDIUM REMOVAL, READ DEFECT DATA and LOG SENSE, for a fixed, flawless medium.

use super::access::Checks;
use super::cdb::{field16, field32};
use super::command_table::invalid_field;
use super::readiness::reply;
use super::state::SanitizeState;
use super::unit::{CommandCall, CommandResult};
use super::{Action, BlockRange, Ending, Medium};

/// START STOP UNIT: stopping writes the cache out first (SBC-3, 5.25). The medium cannot be loaded or ejected, and
/// ACTIVE is the only supported power condition.
pub(super) fn start_stop(call: &mut CommandCall<'_>) -> CommandResult {
    let flags = call.cdb[4];
    let (start, load, condition) = (flags & 0x01 != 0, flags & 0x02 != 0, flags >> 4);
    if !start || condition != 0 {
        call.require(&Checks::TAKE)?;
    }
    if call.state().sanitizing == SanitizeState::Running {
        call.state().admit_ready()?;
    }
    if load {
        return Err(invalid_field(4, Some(1)));
    }
    match (condition, start) {
        (0 | 1, _) if condition == 1 || start => call.change().stopped = false,
        (0, _) => {
            let flush = flags & 0x04 == 0 && call.state().modes.write_cache();
            call.change().stopped = true;
            if flush {
                return Ok(Action::Medium(Medium::Sync(BlockRange::default())));
            }
        }
        _ => return Err(invalid_field(4, Some(7))),
    }
    Ok(Action::End(Ending::GOOD))
}

/// PREVENT ALLOW MEDIUM REMOVAL: the medium is not removable, so there is no state.
pub(super) fn prevent_allow(call: &mut CommandCall<'_>) -> CommandResult {
    if call.cdb[4] & 0x01 != 0 {
        call.require(&Checks::TAKE)?;
    }
    Ok(Action::End(Ending::GOOD))
}

/// READ DEFECT DATA (10): both lists are empty, in the requested format.
pub(super) fn defects_10(call: &mut CommandCall<'_>) -> CommandResult {
    reply(vec![0, call.cdb[2] & 0x1f, 0, 0], u32::from(field16::<7>(call.cdb)))
}

/// READ DEFECT DATA (12).
pub(super) fn defects_12(call: &mut CommandCall<'_>) -> CommandResult {
    reply(vec![0, call.cdb[1] & 0x1f, 0, 0, 0, 0, 0, 0], field32::<6>(call.cdb))
}

/// LOG SENSE: the list of pages, which has itself and the informational exceptions, of which there are none.
pub(super) fn log_sense(call: &mut CommandCall<'_>) -> CommandResult {
    if call.cdb[3] != 0 {
        return Err(invalid_field(3, None));
    }
    let parameters: &[u8] = match call.cdb[2] & 0x3f {
        0x00 => &[0x00, 0x2f],
        0x2f => &[0, 0, 0x03, 0x04, 0, 0, 0, 0],
        _ => return Err(invalid_field(2, Some(5))),
    };
    let mut bytes = vec![call.cdb[2] & 0x3f, 0, 0, parameters.len() as u8];
    bytes.extend(parameters);
    reply(bytes, u32::from(field16::<7>(call.cdb)))
}

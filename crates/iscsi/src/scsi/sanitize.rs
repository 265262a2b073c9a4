//! SANITIZE: makes all data unreadable (SBC-3, 4.11 and 5.27).

use super::cdb::{be16, field16};
use super::command_table::{SHORT_LIST, invalid_field, invalid_parameter};
use super::state::SanitizeState;
use super::unit::{CommandCall, CommandResult};
use super::{Action, Ending, Medium};

/// Refuses while one is running; after a failed one another may follow.
fn may_start(call: &CommandCall<'_>) -> Result<(), Ending> {
    if call.state().sanitizing == SanitizeState::Failed {
        Ok(())
    } else {
        call.state().admit_ready()
    }
}

/// Starts it: in the background with IMMED.
fn start(call: &mut CommandCall<'_>, pattern: Vec<u8>) -> CommandResult {
    let immediate = call.cdb[1] & 0x80 != 0;
    let freely = call.cdb[1] & 0x20 != 0;
    let state = call.change();
    state.sanitizing = SanitizeState::Running;
    state.leave_freely = freely;
    let medium = Medium::Sanitize { pattern };
    Ok(if immediate { Action::Background(medium) } else { Action::Medium(medium) })
}

/// OVERWRITE: repeats a pattern of at most one block.
pub(super) fn overwrite(call: &mut CommandCall<'_>) -> CommandResult {
    may_start(call)?;
    let block = call.geometry().block;
    let length = u32::from(field16::<7>(call.cdb));
    if length < 5 || length > block + 4 {
        return Err(invalid_field(7, None));
    }
    let Some(list) = call.parameters else { return Ok(Action::Parameters(length)) };
    let list = list.get(..length as usize).ok_or(SHORT_LIST)?;
    let count = list[0] & 0x1f;
    // INVERT is refused: passes that are indistinguishable afterwards are not made. TEST likewise.
    if list[0] & 0xe0 != 0 || count == 0 || list[1] != 0 {
        return Err(invalid_parameter(0));
    }
    let pattern = usize::from(be16(list, 2).ok_or(SHORT_LIST)?);
    if pattern == 0 || pattern > block as usize || pattern != list.len() - 4 {
        return Err(invalid_parameter(2));
    }
    start(call, list[4..].to_vec())
}

/// BLOCK ERASE: writes zeros, or deallocates the blocks.
pub(super) fn block_erase(call: &mut CommandCall<'_>) -> CommandResult {
    may_start(call)?;
    no_list(call)?;
    start(call, Vec::new())
}

/// EXIT FAILURE MODE, if the failed SANITIZE allowed it (AUSE).
pub(super) fn exit_failure_mode(call: &mut CommandCall<'_>) -> CommandResult {
    no_list(call)?;
    match call.state().sanitizing {
        SanitizeState::Running => call.state().admit_ready()?,
        SanitizeState::Failed if !call.state().leave_freely => {
            return Err(invalid_field(1, Some(4)));
        }
        SanitizeState::Failed => call.change().sanitizing = SanitizeState::No,
        SanitizeState::No => {}
    }
    Ok(Action::End(Ending::GOOD))
}

/// Checks that there is no parameter list.
fn no_list(call: &CommandCall<'_>) -> Result<(), Ending> {
    if field16::<7>(call.cdb) == 0 { Ok(()) } else { Err(invalid_field(7, None)) }
}

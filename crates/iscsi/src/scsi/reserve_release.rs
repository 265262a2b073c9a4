//! RESERVE and RELEASE (SPC-2), compatible with persistent reservations as of SPC-4, 5.13.3 (CRH).

use super::reservation::CONFLICT;
use super::unit::{CommandCall, CommandResult};
use super::{Action, Ending};

const DONE: CommandResult = Ok(Action::End(Ending::GOOD));

/// The result of the command if persistent reservations decide it.
///
/// For a holder, and for a registrant of a type for registrants, it succeeds without effect. For all others it is a
/// conflict as soon as there is a registration.
fn decided(call: &CommandCall<'_>) -> Option<CommandResult> {
    let reservations = &call.state().reservations;
    if reservations.registrations.is_empty() {
        return None;
    }
    let registered = reservations.key_of(call.nexus).is_some();
    let for_registrants =
        reservations.held.as_ref().is_some_and(|held| held.kind.for_registrants());
    if reservations.holds(call.nexus) || (registered && for_registrants) {
        Some(DONE)
    } else {
        Some(Err(CONFLICT))
    }
}

/// RESERVE (6) and (10), of the whole unit.
pub(super) fn reserve(call: &mut CommandCall<'_>) -> CommandResult {
    if let Some(outcome) = decided(call) {
        return outcome;
    }
    let nexus = call.nexus;
    match &call.state().classic {
        Some(holder) if holder == nexus => {}
        Some(_) => return Err(CONFLICT),
        None => call.change().classic = Some(nexus.clone()),
    }
    DONE
}

/// RELEASE (6) and (10). Without a reservation it succeeds without effect.
pub(super) fn release(call: &mut CommandCall<'_>) -> CommandResult {
    if let Some(outcome) = decided(call) {
        return outcome;
    }
    if call.state().classic.as_ref() == Some(call.nexus) {
        call.change().classic = None;
    }
    DONE
}

//! Target port groups (ALUA): REPORT and SET TARGET PORT GROUPS (SPC-4, 5.16, 6.37 and 6.45). Each portal group is
//! one target port group with one target port; its tag identifies both.

use std::collections::BTreeMap;

use super::cdb::{be16, field32};
use super::command_table::{SHORT_LIST, invalid_field, invalid_parameter};
use super::readiness::reply;
use super::unit::{CommandCall, CommandResult};
use super::{Action, Ending, UnitAttention};

/// An asymmetric access state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PortState {
    /// Active/optimized.
    ActiveOptimized = 0x0,
    /// Active/non-optimized.
    ActiveNonOptimized = 0x1,
    /// Standby: answers queries, but transfers no blocks.
    Standby = 0x2,
    /// Unavailable: answers few commands.
    Unavailable = 0x3,
}

impl PortState {
    fn parse(code: u8) -> Option<PortState> {
        let all = [
            PortState::ActiveOptimized,
            PortState::ActiveNonOptimized,
            PortState::Standby,
            PortState::Unavailable,
        ];
        all.into_iter().find(|state| *state as u8 == code)
    }
}

/// Why a group is in its state (the STATUS CODE field).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum GroupStateCause {
    /// Unchanged since the start.
    Initial = 0x0,
    /// SET TARGET PORT GROUPS.
    Command = 0x1,
    /// The administrator.
    Administrator = 0x2,
}

/// The state of each group, by its identifier.
pub(super) type Groups = BTreeMap<u16, (PortState, GroupStateCause)>;

/// Supported states: T_SUP and O_SUP are off; U_SUP, S_SUP, AN_SUP and AO_SUP are on.
const SUPPORTED: u8 = 0x0f;

/// REPORT TARGET PORT GROUPS, in both formats.
pub(super) fn report(call: &mut CommandCall<'_>) -> CommandResult {
    let extended = match call.cdb[1] >> 5 {
        0 => false,
        1 => true,
        _ => return Err(invalid_field(1, Some(7))),
    };
    let mut bytes = vec![0; if extended { 8 } else { 4 }];
    if extended {
        bytes[4] = 0x10;
    }
    for (group, (state, cause)) in &call.state().ports {
        let [high, low] = group.to_be_bytes();
        bytes.extend([*state as u8, SUPPORTED, high, low, 0, *cause as u8, 0, 1]);
        bytes.extend([0, 0, high, low]);
    }
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    reply(bytes, field32::<6>(call.cdb))
}

/// SET TARGET PORT GROUPS: all groups of the list, or none.
pub(super) fn set(call: &mut CommandCall<'_>) -> CommandResult {
    let length = field32::<6>(call.cdb);
    if length == 0 {
        return Ok(Action::End(Ending::GOOD));
    }
    // A header and one descriptor for each possible group.
    let most = 4 + 4 * call.state().ports.len() as u32;
    if length < 4 || length > most || !length.is_multiple_of(4) {
        return Err(SHORT_LIST);
    }
    let Some(list) = call.parameters else { return Ok(Action::Parameters(length)) };
    let list = list.get(..length as usize).ok_or(SHORT_LIST)?;
    let mut groups = call.state().ports.clone();
    for (index, descriptor) in list[4..].chunks_exact(4).enumerate() {
        let at = 4 + 4 * index as u16;
        let state = PortState::parse(descriptor[0] & 0x0f).ok_or(invalid_parameter(at))?;
        let group = be16(descriptor, 2).ok_or(SHORT_LIST)?;
        let known = groups.get_mut(&group).ok_or(invalid_parameter(at + 2))?;
        if known.0 != state {
            *known = (state, GroupStateCause::Command);
        }
    }
    if groups != call.state().ports {
        let nexus = call.nexus;
        let state = call.change();
        state.ports = groups;
        state.raise(UnitAttention::AccessStateChanged, Some(nexus));
    }
    Ok(Action::End(Ending::GOOD))
}

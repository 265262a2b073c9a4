//! Checks a LUN through every portal of its URL before use: all that answer must lead to the same unit.

use super::client::{Client, CommandError};
use super::inquiry::LunFacts;
use super::lun::{OpenLun, fresh_isid};
use super::multipath::{AccessState, GROUPS_LEN, PortFacts, tells_states};
use iscsi::initiator::{Cdb, SenseData};
use std::fmt;
use thiserror::Error;

/// Page of the designators, and how much of it is read.
const DESIGNATORS: u8 = 0x83;
const PAGE: u16 = 1024;

/// What one portal showed.
#[derive(Debug)]
pub(super) enum PortalState {
    /// The unit, by this portal group, in this state.
    Open { group: Option<u16>, state: AccessState },
    /// Nothing: why.
    Closed(String),
}

/// Why a LUN is not used.
#[derive(Debug, Error)]
pub(super) enum PortalsError {
    /// A portal does not lead to it, and no other one does.
    #[error("{error}")]
    Portal {
        /// Which.
        portal: usize,
        error: CommandError,
    },
    /// The portals lead to different units.
    #[error(
        "the portals of the URL lead to different units: {first} by {by_first}, but {other} by {by_other}; name portals \
         that lead to the same LUN"
    )]
    Different { first: String, by_first: String, other: String, by_other: String },
    /// The units have no name to compare.
    #[error(
        "it reports neither a designator (VPD page 0x83) nor a serial number, so the portals of the URL may lead to different units; name one portal"
    )]
    Nameless,
    /// No path moves blocks.
    #[error("none of its paths is active: each is standby or unavailable")]
    Passive,
}

impl fmt::Display for PortalState {
    /// "(group 1, active/optimized)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortalState::Open { group: Some(group), state } => {
                write!(f, "(group {group}, {state})")
            }
            PortalState::Open { group: None, state } => write!(f, "({state})"),
            PortalState::Closed(why) => write!(f, "(not reached: {why})"),
        }
    }
}

/// What a portal showed of a unit.
struct PortalAnswer {
    /// Nothing where its state forbids to ask for all of them.
    facts: Option<LunFacts>,
    name: Option<String>,
    portal_state: PortalState,
}

/// Looks at the LUN through every portal.
pub(super) fn inspect(lun: &OpenLun) -> Result<(LunFacts, Vec<PortalState>), PortalsError> {
    let portals = &lun.url().portals;
    let (mut known, mut trouble): (Option<(usize, LunFacts)>, _) = (None, None);
    let mut first: Option<(usize, String)> = None;
    let mut portal_states = Vec::with_capacity(portals.len());
    for portal in 0..portals.len() {
        let PortalAnswer { facts, name, portal_state } = match through(lun, portal) {
            Ok(view) => view,
            Err(error) => {
                portal_states.push(PortalState::Closed(error.to_string()));
                trouble = trouble.or(Some(PortalsError::Portal { portal, error }));
                continue;
            }
        };
        portal_states.push(portal_state);
        let name = match (name, portals.len()) {
            (Some(name), _) => name,
            (None, 1) => String::new(),
            (None, _) => return Err(PortalsError::Nameless),
        };
        match &first {
            Some((at, known)) if *known != name => {
                return Err(PortalsError::Different {
                    first: known.clone(),
                    by_first: portals[*at].to_string(),
                    other: name,
                    by_other: portals[portal].to_string(),
                });
            }
            Some(_) => {}
            None => first = Some((portal, name)),
        }
        match (&known, facts) {
            (Some((at, known)), Some(facts)) if size(known) != size(&facts) => {
                return Err(PortalsError::Different {
                    first: size(known),
                    by_first: portals[*at].to_string(),
                    other: size(&facts),
                    by_other: portals[portal].to_string(),
                });
            }
            (None, Some(facts)) => known = Some((portal, facts)),
            (Some(_), Some(_)) | (_, None) => {}
        }
    }
    match (known, trouble) {
        (Some((_, facts)), _) => Ok((facts, portal_states)),
        (None, Some(trouble)) => Err(trouble),
        (None, None) => Err(PortalsError::Passive),
    }
}

/// Name and size of a unit: two of one name may differ in size.
fn size(facts: &LunFacts) -> String {
    let name = facts.designator.as_deref().or(facts.serial.as_deref()).unwrap_or_default();
    format!("{name} of {} bytes in blocks of {}", facts.size(), facts.block)
}

fn through(lun: &OpenLun, portal: usize) -> Result<PortalAnswer, CommandError> {
    // A name of its own: a session with the control plane's would end that one.
    let (link, group) = lun.control(portal, fresh_isid()).enter()?;
    let mut client = Client::of(link);
    let (facts, (serial, designator)) = match LunFacts::ask(&mut client, lun.address()) {
        Ok(facts) => {
            let names = (facts.serial.clone(), facts.designator.clone());
            (Some(facts), names)
        }
        Err(CommandError::Sense(sense)) if is_passive(&sense) => {
            (None, LunFacts::names(&mut client, lun.address())?)
        }
        Err(e) => return Err(e),
    };
    let state = state(&mut client, lun)?;
    Ok(PortalAnswer {
        facts,
        name: designator.or(serial),
        portal_state: PortalState::Open { group, state },
    })
}

/// NOT READY because of the port's access state: transition, standby, unavailable.
pub(super) fn is_passive(sense: &SenseData) -> bool {
    sense.key == SenseData::NOT_READY && matches!(sense.code, 0x040a..=0x040c)
}

/// The access state of the client's port.
fn state(client: &mut Client, lun: &OpenLun) -> Result<AccessState, CommandError> {
    let address = lun.address();
    if !tells_states(&client.ask(address, Cdb::inquiry(96), 96)?) {
        return Ok(AccessState::default());
    }
    let page = client.ask(address, Cdb::vital(DESIGNATORS, PAGE), PAGE.into())?;
    let cdb = Cdb::report_target_port_groups(GROUPS_LEN);
    let report = client.ask(address, cdb, GROUPS_LEN as usize)?;
    Ok(PortFacts::parse(&page).state(&report).unwrap_or_default())
}

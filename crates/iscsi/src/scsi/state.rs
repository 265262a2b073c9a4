//! The changeable state of a logical unit: logged-in nexuses, reservations and settings.

use std::collections::BTreeMap;

use super::access::{AllowedPortStates, Checks};
use super::copy::CopyResults;
use super::description::UnitDescription;
use super::mode::Modes;
use super::port_groups::{GroupStateCause, Groups, PortState};
use super::reservation::{CONFLICT, Reservations};
use super::unit_attention::{Attentions, UnitAttention};
use super::{Ending, Nexus, Sense, SenseKey};

/// The state of SANITIZE (SBC-3, 4.11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SanitizeState {
    /// Not running.
    #[default]
    No,
    /// The medium is being overwritten.
    Running,
    /// The last one failed: the medium is inaccessible until failure mode ends or another one succeeds.
    Failed,
}

#[derive(Clone, Debug)]
struct LoggedInNexus {
    /// Number of its sessions: two while one replaces another, whose end is reported by another thread.
    sessions: u32,
    /// Pending unit attentions.
    attentions: Attentions,
}

/// The control state of a logical unit, bounded by the sessions (attentions) and by the limit on registrations.
#[derive(Clone, Debug)]
pub(super) struct UnitState {
    /// Logged-in nexuses and their pending unit attentions.
    nexuses: BTreeMap<Nexus, LoggedInNexus>,
    /// Stopped by START STOP UNIT.
    pub stopped: bool,
    /// SANITIZE.
    pub sanitizing: SanitizeState,
    /// The holder of a RESERVE reservation.
    pub classic: Option<Nexus>,
    /// Persistent reservations.
    pub reservations: Reservations,
    /// The state of each target port group.
    pub ports: Groups,
    /// The current mode pages.
    pub modes: Modes,
    /// Results of copies.
    pub copies: CopyResults,
    /// The last SANITIZE may leave failure mode without another one (AUSE).
    pub leave_freely: bool,
}

impl UnitState {
    /// The state after power on.
    pub fn new(description: &UnitDescription, ports: &[u16]) -> UnitState {
        UnitState {
            nexuses: BTreeMap::new(),
            stopped: false,
            sanitizing: SanitizeState::No,
            classic: None,
            reservations: Reservations::default(),
            ports: ports
                .iter()
                .map(|port| (*port, (PortState::ActiveOptimized, GroupStateCause::Initial)))
                .collect(),
            modes: Modes::new(description),
            copies: CopyResults::default(),
            leave_freely: false,
        }
    }

    /// Raises a unit attention for every nexus but one.
    pub fn raise(&mut self, attention: UnitAttention, except: Option<&Nexus>) {
        for (nexus, presence) in &mut self.nexuses {
            if Some(nexus) != except {
                presence.attentions.raise(attention);
            }
        }
    }

    /// Raises a unit attention for one nexus, if it is logged in.
    pub fn raise_for(&mut self, nexus: &Nexus, attention: UnitAttention) {
        if let Some(presence) = self.nexuses.get_mut(nexus) {
            presence.attentions.raise(attention);
        }
    }

    /// The next unit attention of a nexus.
    pub fn pending(&self, nexus: &Nexus) -> Option<UnitAttention> {
        self.nexuses.get(nexus)?.attentions.first()
    }

    /// The same, and removes it.
    pub fn report(&mut self, nexus: &Nexus) -> Option<UnitAttention> {
        self.nexuses.get_mut(nexus)?.attentions.report()
    }

    /// Whether a condition is pending for a nexus.
    pub fn is_pending(&self, nexus: &Nexus, attention: UnitAttention) -> bool {
        self.nexuses.get(nexus).is_some_and(|presence| presence.attentions.contains(attention))
    }

    /// Removes a condition that was reported otherwise.
    pub fn clear(&mut self, nexus: &Nexus, attention: UnitAttention) {
        if let Some(presence) = self.nexuses.get_mut(nexus) {
            presence.attentions.clear(attention);
        }
    }

    /// A session of a nexus logged in. One that replaces another starts afresh.
    pub fn join(&mut self, nexus: &Nexus) {
        self.forget(nexus);
        let fresh = LoggedInNexus { sessions: 0, attentions: Attentions::default() };
        let presence = self.nexuses.entry(nexus.clone()).or_insert(fresh);
        presence.sessions += 1;
        presence.attentions.raise(UnitAttention::PowerOn);
    }

    /// A session of a nexus ended; the last one ends the nexus.
    pub fn leave(&mut self, nexus: &Nexus) {
        let Some(presence) = self.nexuses.get_mut(nexus) else { return };
        presence.sessions -= 1;
        if presence.sessions == 0 {
            self.nexuses.remove(nexus);
            self.forget(nexus);
        }
    }

    /// Discards what ends with a session: a RESERVE reservation, and copy results.
    fn forget(&mut self, nexus: &Nexus) {
        self.copies.discard(nexus);
        if self.classic.as_ref() == Some(nexus) {
            self.classic = None;
        }
    }

    /// Whether a nexus may execute a class of commands now; if not, how the command ends.
    pub fn admit(
        &self,
        access: &Checks,
        nexus: &Nexus,
        description: &UnitDescription,
    ) -> Result<(), Ending> {
        if access.attention
            && let Some(attention) = self.pending(nexus)
        {
            return Err(Ending::check(attention.sense()));
        }
        self.admit_reserved(access, nexus)?;
        self.admit_port(access.port, nexus)?;
        if access.ready {
            self.admit_ready()?;
        }
        if access.writes { self.admit_writing(description) } else { Ok(()) }
    }

    fn admit_reserved(&self, access: &Checks, nexus: &Nexus) -> Result<(), Ending> {
        let taken = access.classic && self.classic.as_ref().is_some_and(|holder| holder != nexus);
        if taken || !self.reservations.admits(access.persistent, nexus) {
            Err(CONFLICT)
        } else {
            Ok(())
        }
    }

    fn admit_port(&self, needs: AllowedPortStates, nexus: &Nexus) -> Result<(), Ending> {
        let state =
            self.ports.get(&nexus.port).map_or(PortState::ActiveOptimized, |(state, _)| *state);
        let refused = match (state, needs) {
            (PortState::ActiveOptimized | PortState::ActiveNonOptimized, _)
            | (_, AllowedPortStates::Any) => {
                return Ok(());
            }
            (PortState::Standby, AllowedPortStates::Standby) => return Ok(()),
            (PortState::Standby, AllowedPortStates::Active) => 0x040b,
            (PortState::Unavailable, _) => 0x040c,
        };
        Err(Ending::check(Sense::new(SenseKey::NotReady, refused)))
    }

    fn admit_writing(&self, description: &UnitDescription) -> Result<(), Ending> {
        let protected = match (description.read_only, self.modes.write_protected()) {
            (true, _) => 0x2700,
            (false, true) => 0x2702,
            (false, false) => return Ok(()),
        };
        Err(Ending::check(Sense::new(SenseKey::DataProtect, protected)))
    }

    /// Whether the medium is accessible.
    pub fn admit_ready(&self) -> Result<(), Ending> {
        let sense = match self.sanitizing {
            SanitizeState::Running => Sense::new(SenseKey::NotReady, 0x041b),
            SanitizeState::Failed => Sense::new(SenseKey::MediumError, 0x3103),
            SanitizeState::No if self.stopped => Sense::new(SenseKey::NotReady, 0x0402),
            SanitizeState::No => return Ok(()),
        };
        Err(Ending::check(sense))
    }
}

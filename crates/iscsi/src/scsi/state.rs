//! What changes about a logical unit while it serves: who is there, what is reserved, what is set.

use std::collections::BTreeMap;

use super::access::{Access, Persistent, Ports};
use super::attention::{Attention, Attentions};
use super::description::Description;
use super::ports::PortState;
use super::{Ending, Nexus, Sense, SenseKey, Status};

/// Where a SANITIZE stands (SBC-3, 4.11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sanitizing {
    /// None is going on.
    #[default]
    No,
    /// The medium is being overwritten.
    Running,
    /// The last one failed: the medium is out of reach until the failure mode is left or another one succeeds.
    Failed,
}

/// The control state of a logical unit. Bounded by the number of sessions (attentions) and by the registrations'
/// own bound.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Who is logged in, and what is pending for each.
    pub nexuses: BTreeMap<Nexus, Attentions>,
    /// Stopped by START STOP UNIT.
    pub stopped: bool,
    /// SANITIZE.
    pub sanitizing: Sanitizing,
    /// The state of each target port group, by its identifier.
    pub ports: BTreeMap<u16, PortState>,
}

impl State {
    /// As it is after power on.
    pub fn new(_description: &Description, ports: &[u16]) -> State {
        State {
            nexuses: BTreeMap::new(),
            stopped: false,
            sanitizing: Sanitizing::No,
            ports: ports.iter().map(|port| (*port, PortState::ActiveOptimized)).collect(),
        }
    }

    /// Raises a unit attention for every nexus but one.
    pub fn raise(&mut self, attention: Attention, except: Option<&Nexus>) {
        for (nexus, attentions) in &mut self.nexuses {
            if Some(nexus) != except {
                attentions.raise(attention);
            }
        }
    }

    /// Whether a nexus may do a class of commands now; if not, how the command ends.
    pub fn admit(
        &self,
        access: &Access,
        nexus: &Nexus,
        description: &Description,
    ) -> Result<(), Ending> {
        if access.attention
            && let Some(attention) = self.nexuses.get(nexus).and_then(Attentions::first)
        {
            return Err(Ending::check(attention.sense()));
        }
        self.admit_reserved(access, nexus)?;
        self.admit_port(access.port, nexus)?;
        if access.ready {
            self.admit_ready()?;
        }
        if access.writes && description.read_only {
            return Err(Ending::check(Sense::new(SenseKey::DataProtect, 0x2700)));
        }
        Ok(())
    }

    fn admit_reserved(&self, access: &Access, _nexus: &Nexus) -> Result<(), Ending> {
        match access.persistent {
            Persistent::Free | Persistent::Reads | Persistent::Changes => {}
        }
        let _ = Status::ReservationConflict;
        Ok(())
    }

    fn admit_port(&self, needs: Ports, nexus: &Nexus) -> Result<(), Ending> {
        let state = self.ports.get(&nexus.port).copied().unwrap_or(PortState::ActiveOptimized);
        let refused = match (state, needs) {
            (PortState::ActiveOptimized | PortState::ActiveNonOptimized, _) | (_, Ports::Any) => {
                return Ok(());
            }
            (PortState::Standby, Ports::Standby) => return Ok(()),
            (PortState::Standby, Ports::Active) => 0x040b,
            (PortState::Unavailable, _) => 0x040c,
        };
        Err(Ending::check(Sense::new(SenseKey::NotReady, refused)))
    }

    /// Whether the medium is within reach.
    pub fn admit_ready(&self) -> Result<(), Ending> {
        let sense = match self.sanitizing {
            Sanitizing::Running => Sense::new(SenseKey::NotReady, 0x041b),
            Sanitizing::Failed => Sense::new(SenseKey::MediumError, 0x3103),
            Sanitizing::No if self.stopped => Sense::new(SenseKey::NotReady, 0x0402),
            Sanitizing::No => return Ok(()),
        };
        Err(Ending::check(sense))
    }
}

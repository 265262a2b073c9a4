//! Persistent reservations as a state machine (SPC-4, 5.13): registrations with their keys, and the reservation.
//!
//! It knows no CDB and no parameter list; `persistent_reserve` decodes those. Resets and lost sessions change nothing. The
//! number of registrations is bounded.

use super::access::ReservationCheck;
use super::command_table::invalid_parameter;
use super::{Ending, Nexus, ScsiStatus, Sense, SenseKey, UnitAttention};

/// Most registrations of a logical unit.
pub(super) const MOST_REGISTRATIONS: usize = 1024;

pub(super) const CONFLICT: Ending = Ending::bare(ScsiStatus::ReservationConflict);
/// INSUFFICIENT REGISTRATION RESOURCES.
const TOO_MANY: Ending = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x5504));
/// INVALID RELEASE OF PERSISTENT RESERVATION.
const INVALID_RELEASE: Ending = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2604));

/// The type of a persistent reservation (SPC-4, table 50).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ReservationType {
    WriteExclusive = 1,
    ExclusiveAccess = 3,
    WriteExclusiveRegistrants = 5,
    ExclusiveAccessRegistrants = 6,
    WriteExclusiveAll = 7,
    ExclusiveAccessAll = 8,
}

impl ReservationType {
    /// All of them.
    pub const ALL: [ReservationType; 6] = [
        ReservationType::WriteExclusive,
        ReservationType::ExclusiveAccess,
        ReservationType::WriteExclusiveRegistrants,
        ReservationType::ExclusiveAccessRegistrants,
        ReservationType::WriteExclusiveAll,
        ReservationType::ExclusiveAccessAll,
    ];

    /// Looks up a type by its code.
    pub fn parse(code: u8) -> Option<ReservationType> {
        ReservationType::ALL.into_iter().find(|kind| *kind as u8 == code)
    }

    /// All registrants hold the reservation.
    pub fn shared(self) -> bool {
        matches!(self, ReservationType::WriteExclusiveAll | ReservationType::ExclusiveAccessAll)
    }

    /// Registrants have full access (registrants only, and all registrants).
    pub fn for_registrants(self) -> bool {
        !matches!(self, ReservationType::WriteExclusive | ReservationType::ExclusiveAccess)
    }

    /// Others may read.
    fn readable(self) -> bool {
        matches!(
            self,
            ReservationType::WriteExclusive
                | ReservationType::WriteExclusiveRegistrants
                | ReservationType::WriteExclusiveAll
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Registration {
    /// The registered nexus.
    pub nexus: Nexus,
    /// Its key; never zero.
    pub key: u64,
    /// It was made for all target ports.
    pub all_ports: bool,
}

/// The reservation; with the types for all registrants the nexus is the one that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeldReservation {
    /// The nexus that made it.
    pub by: Nexus,
    /// Its type.
    pub kind: ReservationType,
}

/// Registrations and the reservation of a logical unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reservations {
    pub(super) registrations: Vec<Registration>,
    pub(super) held: Option<HeldReservation>,
    pub(super) generation: u32,
    pub(super) kept: bool,
}

/// The effects of a service action on others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effects {
    /// Unit attentions.
    pub attentions: Vec<(Nexus, UnitAttention)>,
    /// The nexuses whose registrations were preempted.
    pub preempted: Vec<Nexus>,
}

/// The parameters of REGISTER and REGISTER AND IGNORE EXISTING KEY.
#[derive(Clone, Debug, Default)]
pub(super) struct Registering {
    /// The existing key to be matched; `None`: any.
    pub key: Option<u64>,
    /// The new key; zero removes the registration.
    pub to: u64,
    /// Activate persist through power loss.
    pub keep: bool,
    /// All ports of the target for a registration for all ports; otherwise empty.
    pub ports: Vec<u16>,
    /// Additional initiator ports to be registered (SPEC_I_PT).
    pub others: Vec<Nexus>,
}

/// The parameters of REGISTER AND MOVE.
#[derive(Clone, Debug)]
pub(super) struct Moving {
    /// The key of the holder.
    pub key: u64,
    /// The key of the new holder.
    pub to: u64,
    /// The new holder.
    pub target: Nexus,
    /// The old holder's registration is removed.
    pub unregister: bool,
    /// Activate persist through power loss.
    pub keep: bool,
}

impl Reservations {
    /// The registered key of a nexus.
    pub fn key_of(&self, nexus: &Nexus) -> Option<u64> {
        self.registrations.iter().find(|one| one.nexus == *nexus).map(|one| one.key)
    }

    /// Whether a nexus holds the reservation.
    pub fn holds(&self, nexus: &Nexus) -> bool {
        self.held.as_ref().is_some_and(|held| match held.kind.shared() {
            true => self.key_of(nexus).is_some(),
            false => held.by == *nexus,
        })
    }

    /// Whether a nexus may do this.
    pub fn admits(&self, needs: ReservationCheck, nexus: &Nexus) -> bool {
        let Some(held) = &self.held else { return true };
        match needs {
            ReservationCheck::Free => return true,
            ReservationCheck::Reads if held.kind.readable() => return true,
            ReservationCheck::Reads | ReservationCheck::Changes => {}
        }
        self.holds(nexus) || (held.kind.for_registrants() && self.key_of(nexus).is_some())
    }

    /// REGISTER, and REGISTER AND IGNORE EXISTING KEY.
    pub fn register(&mut self, nexus: &Nexus, asked: &Registering) -> Result<Effects, Ending> {
        let registered = self.key_of(nexus);
        if asked.key.is_some_and(|key| key != registered.unwrap_or(0)) {
            return Err(CONFLICT);
        }
        if registered.is_some() && !asked.others.is_empty() {
            return Err(invalid_parameter(20));
        }
        if registered.is_none() && asked.to == 0 {
            return Ok(Effects::default());
        }
        let mut effects = Effects::default();
        let whom = Self::covered_nexuses(nexus, asked);
        if asked.to == 0 {
            for one in &whom {
                self.unregister(one, nexus, &mut effects);
            }
        } else {
            self.set_registrations(&whom, asked)?;
        }
        self.kept = asked.keep;
        self.generation = self.generation.wrapping_add(1);
        Ok(effects)
    }

    /// The nexuses that a registration covers: the initiator ports combined with the requested target ports.
    fn covered_nexuses(nexus: &Nexus, asked: &Registering) -> Vec<Nexus> {
        let mut whom = vec![nexus.clone()];
        whom.extend(asked.others.iter().cloned());
        let ports = asked.ports.iter();
        let more: Vec<Nexus> = ports
            .flat_map(|port| {
                whom.iter().map(|one| Nexus { initiator: one.initiator.clone(), port: *port })
            })
            .filter(|one| !whom.contains(one))
            .collect();
        whom.extend(more);
        whom
    }

    /// Registers nexuses or changes their keys: all or none.
    fn set_registrations(&mut self, whom: &[Nexus], asked: &Registering) -> Result<(), Ending> {
        let fresh = whom.iter().filter(|one| self.key_of(one).is_none()).count();
        if self.registrations.len() + fresh > MOST_REGISTRATIONS {
            return Err(TOO_MANY);
        }
        for nexus in whom {
            self.set_key(nexus, asked.to, !asked.ports.is_empty());
        }
        Ok(())
    }

    fn set_key(&mut self, nexus: &Nexus, key: u64, all_ports: bool) {
        match self.registrations.iter_mut().find(|one| one.nexus == *nexus) {
            Some(registration) => {
                registration.key = key;
                registration.all_ports = all_ports;
            }
            None => self.registrations.push(Registration { nexus: nexus.clone(), key, all_ports }),
        }
    }

    /// Removes a registration and releases what it held (SPC-4, 5.13.11.1.3).
    fn unregister(&mut self, nexus: &Nexus, by: &Nexus, effects: &mut Effects) {
        let held = self.holds(nexus);
        self.registrations.retain(|one| one.nexus != *nexus);
        let Some(kind) = self.held.as_ref().map(|held| held.kind).filter(|_| held) else { return };
        if kind.shared() && !self.registrations.is_empty() {
            return;
        }
        self.held = None;
        if kind.for_registrants() {
            self.raise_for_registrants(UnitAttention::ReservationsReleased, by, effects);
        }
    }

    /// Adds a unit attention for every registrant but one.
    fn raise_for_registrants(
        &self,
        attention: UnitAttention,
        except: &Nexus,
        effects: &mut Effects,
    ) {
        let others = self.registrations.iter().map(|one| &one.nexus).filter(|one| *one != except);
        effects.attentions.extend(others.map(|one| (one.clone(), attention)));
    }

    /// Checks that a nexus is registered with this key; otherwise a conflict.
    fn registrant(&self, nexus: &Nexus, key: u64) -> Result<(), Ending> {
        if self.key_of(nexus) == Some(key) { Ok(()) } else { Err(CONFLICT) }
    }

    /// RESERVE.
    pub fn reserve(
        &mut self,
        nexus: &Nexus,
        key: u64,
        kind: ReservationType,
    ) -> Result<Effects, Ending> {
        self.registrant(nexus, key)?;
        match &self.held {
            Some(held) if !self.holds(nexus) || held.kind != kind => return Err(CONFLICT),
            Some(_) => {}
            None => self.held = Some(HeldReservation { by: nexus.clone(), kind }),
        }
        Ok(Effects::default())
    }

    /// RELEASE. Without a reservation it succeeds.
    pub fn release(
        &mut self,
        nexus: &Nexus,
        key: u64,
        kind: Option<ReservationType>,
    ) -> Result<Effects, Ending> {
        self.registrant(nexus, key)?;
        let mut effects = Effects::default();
        if !self.holds(nexus) {
            return Ok(effects);
        }
        let held = self.held.as_ref().map(|held| held.kind);
        if held != kind {
            return Err(INVALID_RELEASE);
        }
        self.held = None;
        if held.is_some_and(ReservationType::for_registrants) {
            self.raise_for_registrants(UnitAttention::ReservationsReleased, nexus, &mut effects);
        }
        Ok(effects)
    }

    /// CLEAR.
    pub fn clear(&mut self, nexus: &Nexus, key: u64) -> Result<Effects, Ending> {
        self.registrant(nexus, key)?;
        let mut effects = Effects::default();
        self.raise_for_registrants(UnitAttention::ReservationsPreempted, nexus, &mut effects);
        self.registrations.clear();
        self.held = None;
        self.generation = self.generation.wrapping_add(1);
        Ok(effects)
    }

    /// PREEMPT, and PREEMPT AND ABORT without the aborting. `kind` matters only if the reservation is taken over.
    pub fn preempt(
        &mut self,
        nexus: &Nexus,
        key: u64,
        victim: u64,
        kind: Result<ReservationType, Ending>,
    ) -> Result<Effects, Ending> {
        self.registrant(nexus, key)?;
        let effects = match self.held.clone() {
            Some(held) if held.kind.shared() && victim == 0 => {
                self.take_over(nexus, None, kind?, held.kind)
            }
            Some(held) if !held.kind.shared() && self.key_of(&held.by) == Some(victim) => {
                self.take_over(nexus, Some(victim), kind?, held.kind)
            }
            _ if victim == 0 => return Err(invalid_parameter(8)),
            _ => self.remove_registrations(nexus, victim)?,
        };
        self.generation = self.generation.wrapping_add(1);
        Ok(effects)
    }

    /// Removes the registrations with a key (`None`: all), except the preempting one, and takes the reservation.
    fn take_over(
        &mut self,
        nexus: &Nexus,
        victim: Option<u64>,
        kind: ReservationType,
        before: ReservationType,
    ) -> Effects {
        let mut effects = Effects::default();
        self.remove(
            |one| one.nexus != *nexus && victim.is_none_or(|key| one.key == key),
            nexus,
            &mut effects,
        );
        self.held = Some(HeldReservation { by: nexus.clone(), kind });
        if kind != before {
            self.raise_for_registrants(UnitAttention::ReservationsReleased, nexus, &mut effects);
        }
        effects
    }

    /// Removes the registrations with a key, and leaves the reservation to its holder.
    fn remove_registrations(&mut self, nexus: &Nexus, victim: u64) -> Result<Effects, Ending> {
        if !self.registrations.iter().any(|one| one.key == victim) {
            return Err(CONFLICT);
        }
        let mut effects = Effects::default();
        self.remove(|one| one.key == victim, nexus, &mut effects);
        if self.registrations.is_empty() {
            self.held = None;
        }
        Ok(effects)
    }

    /// Removes registrations, with unit attentions for their owners other than `by`.
    fn remove(&mut self, which: impl Fn(&Registration) -> bool, by: &Nexus, effects: &mut Effects) {
        let others = self.registrations.iter().filter(|one| which(one) && one.nexus != *by);
        effects.preempted.extend(others.map(|one| one.nexus.clone()));
        self.registrations.retain(|one| !which(one));
        let told = effects
            .preempted
            .iter()
            .map(|one| (one.clone(), UnitAttention::RegistrationsPreempted));
        effects.attentions.extend(told.collect::<Vec<_>>());
    }

    /// REGISTER AND MOVE.
    pub fn register_and_move(&mut self, nexus: &Nexus, asked: &Moving) -> Result<Effects, Ending> {
        self.registrant(nexus, asked.key)?;
        let kind = match &self.held {
            Some(held) if !held.kind.shared() && held.by == *nexus => held.kind,
            _ => return Err(CONFLICT),
        };
        if asked.to == 0 {
            return Err(invalid_parameter(8));
        }
        if asked.target == *nexus {
            return Err(invalid_parameter(24));
        }
        if self.key_of(&asked.target).is_none() && self.registrations.len() >= MOST_REGISTRATIONS {
            return Err(TOO_MANY);
        }
        self.set_key(&asked.target, asked.to, false);
        self.held = Some(HeldReservation { by: asked.target.clone(), kind });
        if asked.unregister {
            self.registrations.retain(|one| one.nexus != *nexus);
        }
        self.kept = asked.keep;
        self.generation = self.generation.wrapping_add(1);
        Ok(Effects::default())
    }
}

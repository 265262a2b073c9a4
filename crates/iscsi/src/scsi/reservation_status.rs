//! Reservations and registrations of a logical unit, as the target's operator is shown them.

use super::reservation::{HeldReservation, ReservationType, Reservations};
use super::state::UnitState;
use super::{LogicalUnit, Nexus};

/// The reservation of a logical unit, and the keys that are registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReservationStatus {
    /// The holder of a RESERVE(6) or RESERVE(10) reservation.
    pub classic: Option<Nexus>,
    /// The persistent reservation: who made it, and its type in words.
    pub held: Option<(Nexus, &'static str)>,
    /// Registered nexuses with their keys.
    pub registrations: Vec<(Nexus, u64)>,
    /// PRGENERATION: it changes with every registration.
    pub generation: u32,
}

impl ReservationStatus {
    /// Nothing is reserved and no key is registered.
    pub fn is_empty(&self) -> bool {
        self.classic.is_none() && self.held.is_none() && self.registrations.is_empty()
    }

    fn of(state: &UnitState) -> ReservationStatus {
        let Reservations { registrations, held, generation, .. } = &state.reservations;
        let named = |held: &HeldReservation| (held.by.clone(), words(held.kind));
        ReservationStatus {
            classic: state.classic.clone(),
            held: held.as_ref().map(named),
            registrations: registrations.iter().map(|one| (one.nexus.clone(), one.key)).collect(),
            generation: *generation,
        }
    }
}

impl LogicalUnit {
    /// Who has reserved it, and which keys are registered.
    pub fn reservation_status(&self) -> ReservationStatus {
        ReservationStatus::of(&self.lock())
    }
}

/// The name of a type (SPC-4, table 50).
fn words(kind: ReservationType) -> &'static str {
    match kind {
        ReservationType::WriteExclusive => "write exclusive",
        ReservationType::ExclusiveAccess => "exclusive access",
        ReservationType::WriteExclusiveRegistrants => "write exclusive, registrants only",
        ReservationType::ExclusiveAccessRegistrants => "exclusive access, registrants only",
        ReservationType::WriteExclusiveAll => "write exclusive, all registrants",
        ReservationType::ExclusiveAccessAll => "exclusive access, all registrants",
    }
}

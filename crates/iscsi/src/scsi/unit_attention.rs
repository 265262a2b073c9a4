//! Unit attentions of one nexus (SAM-5, 5.14; the order of SPC-4, table 27): events since its last command.
//!
//! A condition is pending at most once, so the queue is bounded by the number of conditions. A reset or power on
//! replaces all pending conditions.

use super::{Sense, SenseKey};

/// A unit attention condition: its additional sense code and qualifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitAttention {
    /// The target started, or this nexus has just logged in.
    PowerOn,
    /// The target was reset.
    BusReset,
    /// The logical unit was reset.
    DeviceReset,
    /// The nexus was lost and has returned.
    NexusLoss,
    /// Another nexus changed mode parameters.
    ModeParametersChanged,
    /// Another nexus released or preempted the reservation that this one shared.
    ReservationsPreempted,
    /// A reservation that affected this nexus was released.
    ReservationsReleased,
    /// The registration of this nexus was removed.
    RegistrationsPreempted,
    /// The state of a target port group changed.
    AccessStateChanged,
    /// The capacity changed.
    CapacityChanged,
    /// INQUIRY data changed.
    InquiryChanged,
    /// The list of logical units changed.
    LunsChanged,
    /// Another nexus cleared the task set.
    CommandsCleared,
    /// A medium came into the device, or was taken out of it.
    MediumChanged,
    /// The import and export elements of a library were accessed.
    ImportExportAccessed,
}

impl UnitAttention {
    /// Additional sense code and qualifier.
    pub const fn code(self) -> u16 {
        match self {
            UnitAttention::PowerOn => 0x2900,
            UnitAttention::BusReset => 0x2902,
            UnitAttention::DeviceReset => 0x2903,
            UnitAttention::NexusLoss => 0x2907,
            UnitAttention::ModeParametersChanged => 0x2a01,
            UnitAttention::ReservationsPreempted => 0x2a03,
            UnitAttention::ReservationsReleased => 0x2a04,
            UnitAttention::RegistrationsPreempted => 0x2a05,
            UnitAttention::AccessStateChanged => 0x2a06,
            UnitAttention::CapacityChanged => 0x2a09,
            UnitAttention::InquiryChanged => 0x3f03,
            UnitAttention::CommandsCleared => 0x2f00,
            UnitAttention::LunsChanged => 0x3f0e,
            UnitAttention::MediumChanged => 0x2800,
            UnitAttention::ImportExportAccessed => 0x2801,
        }
    }

    /// The sense data that reports it.
    pub const fn sense(self) -> Sense {
        Sense::new(SenseKey::UnitAttention, self.code())
    }

    const fn resets(self) -> bool {
        self.code() >> 8 == 0x29
    }
}

/// The pending conditions of one nexus, in reporting order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attentions(Vec<UnitAttention>);

impl Attentions {
    /// Adds a condition, unless it is pending already.
    pub fn raise(&mut self, attention: UnitAttention) {
        if attention.resets() {
            let pending = self.0.iter().copied().filter(|old| old.resets());
            let weightiest = pending.min().map_or(attention, |old| old.min(attention));
            self.0.clear();
            self.0.push(weightiest);
        } else if !self.0.contains(&attention) {
            self.0.push(attention);
        }
    }

    /// The condition that is reported next.
    pub fn first(&self) -> Option<UnitAttention> {
        self.0.first().copied()
    }

    /// Whether a condition is pending.
    pub fn contains(&self, attention: UnitAttention) -> bool {
        self.0.contains(&attention)
    }

    /// Removes and returns the condition to report.
    pub fn report(&mut self) -> Option<UnitAttention> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
    }

    /// Removes a condition that was reported otherwise.
    pub fn clear(&mut self, attention: UnitAttention) {
        self.0.retain(|old| *old != attention);
    }
}

//! An interface that a test may change for a limited time: its original settings, and the guardian from the first change on.

use super::change::{self, OriginalSettings};
use super::guardian::{Guardian, GuardianHandle};
use super::{Adjusted, Interface, InterfaceError};
use workload::NetFrames;

/// A changeable interface. Dropping it restores the original settings.
#[derive(Debug)]
pub struct InterfaceLease {
    interface: String,
    guardian: Guardian,
    /// From the first change on: what was found, and who puts it back.
    guarded: Option<(OriginalSettings, GuardianHandle)>,
}

impl InterfaceLease {
    /// Takes an interface. Changes nothing yet.
    /// # Errors
    /// [`InterfaceError::Missing`] without one of that name, [`InterfaceError::Forbidden`] without the permission to
    /// change it.
    pub fn new(interface: &str, guardian: Guardian) -> Result<InterfaceLease, InterfaceError> {
        change::check_permission(&Interface::named(interface)?)?;
        Ok(InterfaceLease { interface: interface.to_owned(), guardian, guarded: None })
    }

    /// Sets the original settings overlaid with `frames`; empty `frames` restore everything.
    /// # Errors
    /// Where the MTU is out of range, the kernel or the driver does not take it, or no guardian could be started. What was
    /// changed on the way to an error stays in the guardian's hands.
    pub fn apply(&mut self, frames: NetFrames) -> Result<Adjusted, InterfaceError> {
        if frames == NetFrames::default() {
            return self.put_back();
        }
        let now = Interface::named(&self.interface)?;
        let found = self
            .guarded
            .as_ref()
            .map_or_else(|| OriginalSettings::of(&now), |(found, _)| found.clone());
        if found.index != now.index {
            return Err(InterfaceError::Another { interface: now.name });
        }
        let plan = change::prepare(&found, &now, frames)?;
        if self.guarded.is_none() && !plan.is_empty() {
            let guard = GuardianHandle::post(&self.guardian, &found)?;
            self.guarded = Some((found.clone(), guard));
        }
        change::carry_out(&plan, &found, &now, frames)
    }

    /// Puts back what was found, and waits for it. Where the guardian did not do it, it is done here.
    /// # Errors
    /// Where the interface is gone, or does not take it.
    pub fn put_back(&mut self) -> Result<Adjusted, InterfaceError> {
        let Some((found, guard)) = self.guarded.take() else {
            return Ok(Adjusted::untouched(Interface::named(&self.interface)?));
        };
        match guard.finish() {
            Ok(adjusted) => Ok(adjusted),
            Err(_) => change::put_back(&found),
        }
    }
}

impl Drop for InterfaceLease {
    fn drop(&mut self) {
        if self.guarded.is_some()
            && let Err(e) = self.put_back()
        {
            // No caller takes the error, and it must be visible.
            eprintln!("{e}");
        }
    }
}

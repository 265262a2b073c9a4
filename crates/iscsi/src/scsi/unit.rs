//! One logical unit: its description, its control state behind a lock, and the generation of that state.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::access::Checks;
use super::cdb::CdbBytes;
use super::mode::Modes;
use super::port_groups::{GroupStateCause, PortState};
use super::reservation::Reservations;
use super::state::{SanitizeState, UnitState};
use super::{
    Action, CommandSpec, Device, Ending, Geometry, Medium, Nexus, NexusView, PassedCommand,
    StoredReservationsError, UnitAttention, UnitDescription, command_table,
};

pub(super) type CommandResult = Result<Action, Ending>;

/// A logical unit, shared by all threads: control commands take its lock, the data path only reads its generation.
#[derive(Debug)]
pub struct LogicalUnit {
    description: UnitDescription,
    /// Logical blocks: those of the description, and what has been added since.
    blocks: AtomicU64,
    designator: [u8; 16],
    generation: AtomicU64,
    state: Mutex<UnitState>,
    /// The commands of a unit that is no disk.
    passing: Option<&'static [CommandSpec]>,
}

/// A command during its execution.
pub(super) struct CommandCall<'a> {
    /// The device.
    pub device: &'a Device,
    /// The addressed unit.
    pub unit: &'a LogicalUnit,
    /// The nexus that sent it.
    pub nexus: &'a Nexus,
    /// The CDB.
    pub cdb: &'a CdbBytes,
    /// Bytes that the initiator expects to transfer, in its direction.
    pub expected: u32,
    /// The parameters, once they have arrived.
    pub parameters: Option<&'a [u8]>,
    state: &'a mut UnitState,
    changed: bool,
}

impl CommandCall<'_> {
    /// The control state, read-only.
    pub fn state(&self) -> &UnitState {
        self.state
    }

    /// The control state, for changes: all views become invalid.
    pub fn change(&mut self) -> &mut UnitState {
        self.changed = true;
        self.state
    }

    /// The description of the unit.
    pub fn description(&self) -> &UnitDescription {
        &self.unit.description
    }

    /// Its size as it is now.
    pub fn geometry(&self) -> Geometry {
        self.unit.geometry()
    }

    /// Whether the nexus may do something that its command's table row does not include.
    pub fn require(&self, access: &Checks) -> Result<(), Ending> {
        let access = Checks { attention: false, ..*access };
        self.state.admit(&access, self.nexus, &self.unit.description)
    }
}

impl LogicalUnit {
    pub(super) fn new(description: UnitDescription, ports: &[u16]) -> LogicalUnit {
        let state = Mutex::new(UnitState::new(&description, ports));
        LogicalUnit {
            designator: description.designator(),
            blocks: AtomicU64::new(description.geometry.blocks),
            description,
            generation: AtomicU64::new(1),
            state,
            passing: None,
        }
    }

    /// A unit whose commands its own device server executes.
    pub(super) fn passing(self, commands: Option<&'static [CommandSpec]>) -> LogicalUnit {
        LogicalUnit { passing: commands, ..self }
    }

    /// Whether its own device server executes its commands: in the order in which they came.
    pub fn is_passing(&self) -> bool {
        self.passing.is_some()
    }

    /// Its size as it is now. One atomic load.
    pub fn geometry(&self) -> Geometry {
        let blocks = self.blocks.load(Ordering::Acquire);
        Geometry { blocks, ..self.description.geometry }
    }

    /// There are more blocks now, which the medium has already: every nexus hears of it.
    pub fn grow(&self, blocks: u64) {
        if self.blocks.fetch_max(blocks, Ordering::AcqRel) < blocks {
            self.raise(UnitAttention::CapacityChanged);
        }
    }

    /// Description of the unit, as it began: [`LogicalUnit::geometry`] has its size.
    pub fn description(&self) -> &UnitDescription {
        &self.description
    }

    /// The NAA designator of VPD page 0x83, used in [`super::CopySegment`]s.
    pub fn designator(&self) -> &[u8; 16] {
        &self.designator
    }

    /// The generation of the control state: it changes whenever a view could. One atomic load.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// What a nexus may do now. Takes the lock; needed again only if [`LogicalUnit::generation`] differs from the view's.
    pub fn view(&self, nexus: &Nexus) -> NexusView {
        let generation = self.generation();
        let state = self.lock();
        NexusView {
            generation,
            reads: self.passing.is_none()
                && state.admit(&Checks::READ, nexus, &self.description).is_ok(),
            writes: self.passing.is_none()
                && state.admit(&Checks::WRITE, nexus, &self.description).is_ok(),
            write_through: !state.modes.write_cache(),
            descriptor_sense: state.modes.descriptor_sense(),
            task_aborted: state.modes.task_aborted(),
        }
    }

    /// A session logged in: POWER ON becomes pending for its nexus.
    pub fn join(&self, nexus: &Nexus) {
        self.change_state(|state| state.join(nexus));
    }

    /// A session ended and its nexus is lost. Its RESERVE reservation is released.
    pub fn leave(&self, nexus: &Nexus) {
        self.change_state(|state| state.leave(nexus));
    }

    /// Resets this unit (a target reset does this to every unit): raises `attention` for every nexus.
    pub fn reset(&self, attention: UnitAttention) {
        self.change_state(|state| {
            state.stopped = false;
            state.classic = None;
            state.modes = Modes::new(&self.description);
            state.raise(attention, None);
        });
    }

    /// Raises a unit attention for every nexus.
    pub fn raise(&self, attention: UnitAttention) {
        self.change_state(|state| state.raise(attention, None));
    }

    /// Raises a unit attention for every nexus but the one that caused it.
    pub fn raise_for_others(&self, attention: UnitAttention, by: &Nexus) {
        self.change_state(|state| state.raise(attention, Some(by)));
    }

    /// A nexus cleared the task set (CLEAR TASK SET): all others get a unit attention.
    pub fn cleared(&self, by: &Nexus) {
        self.change_state(|state| state.raise(UnitAttention::CommandsCleared, Some(by)));
    }

    /// The state to be stored across restarts (APTPL); empty if there is nothing to store. The caller must hold a
    /// lock of its own while it fetches and stores this, so that an older state never replaces a newer one.
    pub fn stored_reservations(&self) -> Vec<u8> {
        self.lock().reservations.to_bytes()
    }

    /// Restores what [`LogicalUnit::stored_reservations`] returned before the restart.
    /// # Errors
    /// The bytes are damaged, or of another version.
    pub fn restore(&self, bytes: &[u8]) -> Result<(), StoredReservationsError> {
        let reservations = Reservations::from_bytes(bytes)?;
        self.change_state(|state| state.reservations = reservations);
        Ok(())
    }

    /// Sets the state of a target port group administratively; `false` if there is no such group.
    pub fn set_port(&self, group: u16, to: PortState) -> bool {
        self.change_state(|state| match state.ports.get_mut(&group) {
            None => false,
            Some((now, _)) if *now == to => true,
            Some(known) => {
                *known = (to, GroupStateCause::Administrator);
                state.raise(UnitAttention::AccessStateChanged, None);
                true
            }
        })
    }

    /// An EXTENDED COPY has ended.
    pub fn copied(&self, nexus: &Nexus, list: u8, ending: &Ending) {
        self.change_state(|state| state.copies.end(nexus, list, ending));
    }

    /// Whether a nexus may do something, apart from its unit attentions.
    pub(super) fn admits(&self, access: &Checks, nexus: &Nexus) -> Result<(), Ending> {
        let access = Checks { attention: false, ..*access };
        self.lock().admit(&access, nexus, &self.description)
    }

    /// A SANITIZE has ended.
    pub fn sanitized(&self, well: bool) {
        self.change_state(|state| {
            state.sanitizing = if well { SanitizeState::No } else { SanitizeState::Failed }
        });
    }

    /// Executes a command, or continues it with its parameters.
    pub(super) fn call(
        &self,
        device: &Device,
        nexus: &Nexus,
        cdb: &CdbBytes,
        expected: u32,
        parameters: Option<&[u8]>,
    ) -> CommandResult {
        if let Some(passed) = self.passed(nexus, cdb, expected)? {
            return Ok(Action::Medium(Medium::Pass(passed)));
        }
        let command = command_table::find(cdb)?;
        if !command.on(&self.description) {
            return Err(command_table::unsupported(command));
        }
        let mut state = self.lock();
        let mut access = command.access;
        access.attention &= parameters.is_none();
        if let Err(refused) = state.admit(&access, nexus, &self.description) {
            if access.attention && state.report(nexus).is_some() {
                self.invalidate_views();
            }
            return Err(refused);
        }
        command.fits(cdb, self.description.thin)?;
        let mut call = CommandCall {
            device,
            unit: self,
            nexus,
            cdb,
            expected,
            parameters,
            state: &mut state,
            changed: false,
        };
        let outcome = (command.run)(&mut call);
        if call.changed {
            self.invalidate_views();
        }
        outcome
    }

    /// The command for the unit's own device server; `None` for one that all device types have in common.
    fn passed(
        &self,
        nexus: &Nexus,
        cdb: &CdbBytes,
        expected: u32,
    ) -> Result<Option<PassedCommand>, Ending> {
        let Some(commands) = self.passing else { return Ok(None) };
        let command = CommandSpec::find(commands, cdb)?;
        let mut state = self.lock();
        let pending = state.pending(nexus).is_some();
        let Some(access) = command.access.checks(pending) else { return Ok(None) };
        if let Err(refused) = state.admit(&access, nexus, &self.description) {
            if access.attention && state.report(nexus).is_some() {
                self.invalidate_views();
            }
            return Err(refused);
        }
        command.fits(cdb)?;
        Ok(Some(PassedCommand::new(command, nexus, cdb, expected)?))
    }

    /// Changes the control state. All views become invalid.
    pub(super) fn change_state<T>(&self, change: impl FnOnce(&mut UnitState) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        self.invalidate_views();
        result
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, UnitState> {
        // After a panic with the lock held every part of the state is still consistent; refusing service is worse.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Must be called with the lock held, after the change.
    fn invalidate_views(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }
}

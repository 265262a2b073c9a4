//! One logical unit: what it is, its control state behind a lock, and the number of that state.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::access::Access;
use super::cdb::Cdb;
use super::mode::Modes;
use super::ports::{Cause, PortState};
use super::reservation::Reservations;
use super::state::{Sanitizing, State};
use super::{Action, Attention, Description, Device, Ending, KeptError, Nexus, View, table};

/// What a command comes to.
pub(super) type Outcome = Result<Action, Ending>;

/// A logical unit. Shared by all threads: control commands take its lock, the data path only reads its generation.
#[derive(Debug)]
pub struct Unit {
    description: Description,
    designator: [u8; 16],
    generation: AtomicU64,
    state: Mutex<State>,
}

/// One command while it is carried out.
pub(super) struct Call<'a> {
    /// All there is.
    pub device: &'a Device,
    /// The unit that it is for.
    pub unit: &'a Unit,
    /// Who sent it.
    pub nexus: &'a Nexus,
    /// The command.
    pub cdb: &'a Cdb,
    /// Bytes that the initiator expects to move, in the direction that it says.
    pub expected: u32,
    /// The parameters, once they are here.
    pub parameters: Option<&'a [u8]>,
    state: &'a mut State,
    changed: bool,
}

impl Call<'_> {
    /// The control state, to look at.
    pub fn state(&self) -> &State {
        self.state
    }

    /// The control state, to change: every view of it is taken anew.
    pub fn change(&mut self) -> &mut State {
        self.changed = true;
        self.state
    }

    /// What the unit is.
    pub fn description(&self) -> &Description {
        &self.unit.description
    }

    /// Whether the nexus may do something more than its command says of itself.
    pub fn require(&self, access: &Access) -> Result<(), Ending> {
        let access = Access { attention: false, ..*access };
        self.state.admit(&access, self.nexus, &self.unit.description)
    }
}

impl Unit {
    pub(super) fn new(description: Description, ports: &[u16]) -> Unit {
        let state = Mutex::new(State::new(&description, ports));
        Unit {
            designator: description.designator(),
            description,
            generation: AtomicU64::new(1),
            state,
        }
    }

    /// What it is.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The NAA designator of VPD page 0x83, which names it in [`super::CopySegment`]s.
    pub fn designator(&self) -> &[u8; 16] {
        &self.designator
    }

    /// The number of the control state: it changes whenever a view of it could. One atomic load.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// What a nexus may do now. Takes the lock; wanted again only when [`Unit::generation`] differs from the view's.
    pub fn view(&self, nexus: &Nexus) -> View {
        let generation = self.generation();
        let state = self.lock();
        View {
            generation,
            reads: state.admit(&Access::READ, nexus, &self.description).is_ok(),
            writes: state.admit(&Access::WRITE, nexus, &self.description).is_ok(),
            write_through: !state.modes.write_cache(),
            descriptor_sense: state.modes.descriptor_sense(),
            task_aborted: state.modes.task_aborted(),
        }
    }

    /// A session's nexus is there: POWER ON is pending for it.
    pub fn join(&self, nexus: &Nexus) {
        self.alter(|state| state.join(nexus));
    }

    /// A nexus is lost: its session ended. What it had reserved by RESERVE is free.
    pub fn leave(&self, nexus: &Nexus) {
        self.alter(|state| state.leave(nexus));
    }

    /// A reset of this unit (or of the target, which resets every unit): raises `attention` on every path.
    pub fn reset(&self, attention: Attention) {
        self.alter(|state| {
            state.stopped = false;
            state.classic = None;
            state.modes = Modes::new(&self.description);
            state.raise(attention, None);
        });
    }

    /// Something happened that every nexus has to hear of.
    pub fn raise(&self, attention: Attention) {
        self.alter(|state| state.raise(attention, None));
    }

    /// A nexus cleared the task set (CLEAR TASK SET): all others are told.
    pub fn cleared(&self, by: &Nexus) {
        self.alter(|state| state.raise(Attention::CommandsCleared, Some(by)));
    }

    /// What has to be kept over a restart (APTPL): empty if there is nothing to keep. Whoever stores it asks for it while
    /// holding a lock of its own, so that an older state never replaces a newer one.
    pub fn kept(&self) -> Vec<u8> {
        self.lock().reservations.to_bytes()
    }

    /// Takes what [`Unit::kept`] yielded before the restart.
    pub fn restore(&self, bytes: &[u8]) -> Result<(), KeptError> {
        let reservations = Reservations::from_bytes(bytes)?;
        self.alter(|state| state.reservations = reservations);
        Ok(())
    }

    /// Whoever runs the target changes the state of a target port group; `false` if there is no such group.
    pub fn set_port(&self, group: u16, to: PortState) -> bool {
        self.alter(|state| match state.ports.get_mut(&group) {
            None => false,
            Some((now, _)) if *now == to => true,
            Some(known) => {
                *known = (to, Cause::Owner);
                state.raise(Attention::AccessStateChanged, None);
                true
            }
        })
    }

    /// An EXTENDED COPY has ended.
    pub fn copied(&self, nexus: &Nexus, list: u8, ending: &Ending) {
        self.alter(|state| state.copies.end(nexus, list, ending));
    }

    /// Whether a nexus may do something, its unit attentions aside.
    pub(super) fn admits(&self, access: &Access, nexus: &Nexus) -> Result<(), Ending> {
        let access = Access { attention: false, ..*access };
        self.lock().admit(&access, nexus, &self.description)
    }

    /// A SANITIZE has ended.
    pub fn sanitized(&self, well: bool) {
        self.alter(|state| {
            state.sanitizing = if well { Sanitizing::No } else { Sanitizing::Failed }
        });
    }

    /// Does a command, or carries on with its parameters.
    pub(super) fn call(
        &self,
        device: &Device,
        nexus: &Nexus,
        cdb: &Cdb,
        expected: u32,
        parameters: Option<&[u8]>,
    ) -> Outcome {
        let command = table::find(cdb)?;
        if !command.on(&self.description) {
            return Err(table::unsupported(command));
        }
        let mut state = self.lock();
        let mut access = command.access;
        access.attention &= parameters.is_none();
        if let Err(refused) = state.admit(&access, nexus, &self.description) {
            if access.attention && state.report(nexus).is_some() {
                self.renew();
            }
            return Err(refused);
        }
        command.fits(cdb, self.description.thin)?;
        let mut call = Call {
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
            self.renew();
        }
        outcome
    }

    /// Changes the control state. Views are taken anew afterwards.
    pub(super) fn alter<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        self.renew();
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held leaves a state whose parts are each whole; refusing service would be worse.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be called with the lock held, after the change.
    fn renew(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }
}

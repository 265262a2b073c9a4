//! Several paths to one LUN, as one target of the disk engine.
//!
//! Each path is a session of its own, through a portal of its own. Which of them carries an I/O is the policy's choice
//! ([`Policy`], `choose.rs`) among those in the best access state (`access.rs`). The queue over the sessions moves I/O from
//! a path that is lost to another one; a write only once the old session cannot carry it out any more. What that takes,
//! and the way back into a path that was lost, is done by a thread beside the worker (`rescue.rs`), for as long as it
//! lasts. What happened is told in numbers (`tell.rs`).

mod access;
mod attach;
mod chooser;
mod events;
mod options;
mod rescue;

pub(super) use access::{AccessState, GROUPS_LEN, PortFacts, tells_states};
pub(super) use attach::{Attached, LunUse, PathSpec, PathState, Refusal};
pub(super) use chooser::{Chooser, Mask};
pub(super) use events::{Cause, EventSender, PathEvent, PathNames};
pub use options::{PathOptions, Policy, SwitchAfter};
pub(super) use rescue::{Message, PathTable, Rescue, RescueInbox, Rescuer};

//! Several paths to one LUN, as one target of the disk engine.
//!
//! Each path is a session of its own through a portal of its own. The policy ([`PathPolicy`], `chooser.rs`) selects among the
//! paths in the best access state (`access.rs`). The queue moves I/O from a lost path to another one; a write only once
//! the old session is fenced. A thread beside the worker fences and reconnects (`rescue.rs`); `events.rs` reports.

mod access;
mod attach;
mod chooser;
mod events;
mod options;
mod rescue;

pub(super) use access::{AccessState, GROUPS_LEN, PortFacts, tells_states};
pub(super) use attach::{Attached, LunUse, PathRefusal, PathSpec, UnitPathState};
pub(super) use chooser::{Chooser, Mask};
pub(super) use events::{EventSender, PathEvent, PathLossCause, PathNames};
pub use options::{PathOptions, PathPolicy, PathSwitchAfter};
pub(super) use rescue::{Message, PathTable, Rescue, RescueInbox, Rescuer};

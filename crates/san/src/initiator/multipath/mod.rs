//! Several paths to one LUN, as one target of the disk engine.
//!
//! Each path is a session of its own, through a portal of its own. Which of them carries an I/O is the policy's choice
//! ([`Policy`]).

mod options;

pub use options::{PathOptions, Policy, SwitchAfter};

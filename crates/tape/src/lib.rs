//! Tape: cartridges as files (`media`), drives (SSC-3) and a medium changer (SMC-3) as state machines over CDBs, and the
//! [`Library`] that holds them. Nothing here knows a socket or a thread; a command is executed where it is called, and
//! its [`Answer`] says when a real drive would have ended it.
#![forbid(unsafe_code)]

mod answer;
mod changer;
mod command;
mod conformance;
mod drive;
mod generation;
mod identify;
mod library;
pub mod media;
mod shelf;
mod transport;

pub use answer::{Answer, Notice, NoticeTo};
pub use changer::{CHANGER_COMMANDS, Changer, DRIVES_FROM, MAILSLOTS_FROM, ROBOT, SLOTS_FROM};
pub use conformance::{Conformance, SMC_3, SSC_3, Verdict, table};
pub use drive::{DRIVE_COMMANDS, Drive, DriveSettings};
pub use generation::{GENERATIONS, Generation};
pub use library::{Library, LibraryError, LibrarySettings, MemoryDrive};
pub use transport::{Pace, Transport};

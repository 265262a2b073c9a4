//! The live block engine: queues to files, devices and nothing at all, the workers that keep them full, and the guard
//! that decides what may be written. It knows no iSCSI, no coordinator and no reports.

mod queue;

pub use queue::{Arena, Completion, Completions, Io, OpenError, Opener, Queue};

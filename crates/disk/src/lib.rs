//! The live block engine: queues to files, devices and nothing at all, and the workers that keep them full. What
//! may be written is decided by the write guard (`guard`). It knows no iSCSI, no coordinator and no reports.

mod aio;
mod arena;
mod backing;
mod capability;
mod conditioning;
mod content;
mod create;
mod device;
mod engine;
mod feed;
mod file;
mod fill;
mod flight;
mod fresh;
mod null;
mod payload;
mod pread;
mod queue;
mod remote;
mod sample;
mod surface;
mod target;
mod uring;
mod verify;
mod watched;
mod worker;

pub use arena::Arena;
pub use backing::{BackingError, BackingSpec, OpenedBacking};
pub use capability::{Unsupported, direct_io, free_space, marks};
pub use conditioning::Filling;
pub use content::{BLOCK, ContentMaker, SECTOR};
pub use create::room_in;
pub use device::disk_under;
pub use engine::DiskEngine;
pub use feed::IoBatch;
pub use file::{FileAccess, FileOpener};
pub use fresh::Fresh;
pub use null::NullOpener;
pub use payload::{Payload, PayloadOpener};
pub use queue::{Completion, Completions, Io, OpenError, Opener, Queue};
pub use remote::{RemoteAccess, Resolver, Schemes, Unreachable};
pub use target::{TargetReport, Use, inspect, inspect_served};
pub use uring::io_uring;
pub use verify::VerifierSpec;
pub use worker::DiskWorker;

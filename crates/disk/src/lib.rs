//! The live block engine: queues to files, devices and nothing at all, the workers that keep them full, and the guard
//! that decides what may be written. It knows no iSCSI, no coordinator and no reports.

mod aio;
mod arena;
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
mod found;
mod fresh;
mod guard;
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
mod worker;

pub use arena::Arena;
pub use capability::{Incapable, direct_io, free_space, marks};
pub use conditioning::Filling;
pub use content::{BLOCK, Content, SECTOR};
pub use device::disk_under;
pub use engine::DiskEngine;
pub use feed::Batch;
pub use file::{Access, FileOpener};
pub use fresh::Fresh;
pub use guard::{Examined, Medium, RemoteGrant, Warrant, WriteGrant};
pub use null::NullOpener;
pub use payload::{Payload, PayloadOpener};
pub use queue::{Completion, Completions, Io, OpenError, Opener, Queue};
pub use remote::{Claim, Remote, RemoteAccess, Resolver, Schemes, Unreachable};
pub use target::{TargetReport, Use, inspect};
pub use uring::io_uring;
pub use verify::Verification;
pub use worker::Worker;

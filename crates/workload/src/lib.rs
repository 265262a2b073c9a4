//! Access specifications, and the seeded, pure streams of operations drawn from them.
//!
//! A [`Spec`] describes a workload (Iometer's access specification, address patterns, skew, arrivals, or the
//! transaction model). A [`Stream`] turns a spec into the operations of one issuing slot. Live engines and the
//! simulator call exactly the same streams. This crate knows no device and no clock: time comes in as an argument.
//!
//! `docs/workloads.md` describes the semantics for authors of scenarios.

#![deny(clippy::disallowed_types)]
#![forbid(unsafe_code)]

mod access;
mod address;
mod arrival;
mod check;
mod data;
mod demand;
mod draw;
mod network;
mod network_check;
mod pass;
mod presets;
mod replay;
mod sequential;
mod skew;
mod spec;
mod stream;
mod transaction;

pub use data::Reduction;
pub use demand::{Footprint, IoDemand};
pub use network::{Carriage, Heading, NetFrames, Network, Sockets};
pub use network_check::*;
pub use pass::pass_bytes;
pub use presets::{PRESETS, Preset, preset};
pub use replay::{Remap, Replay, ReplayMode, TraceOp, TraceOps, TraceSpec};
pub use spec::*;
pub use stream::{Extent, Next, Op, Placement, Stream, StreamKey};

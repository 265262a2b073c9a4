//! The full-feature phase of a target, driven by an initiator in memory.

mod data;
mod initiator;
mod rig;

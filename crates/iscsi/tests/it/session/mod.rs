//! The full-feature phase of a target, driven by an initiator in memory.

mod control;
mod data;
mod initiator;
mod manage;
mod order;
mod random;
mod residuals;
mod rig;
mod violations;

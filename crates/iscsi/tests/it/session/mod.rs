//! The full-feature phase of a target, driven by an initiator in memory.

mod control;
mod data;
mod initiator;
mod order;
mod random;
mod residuals;
mod rig;
mod task_management;
mod violations;

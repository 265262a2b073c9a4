//! Several paths to one LUN: what policies do, and what becomes of a verified load while paths go and come, against our own
//! target and against `tgtd`. Waits are hang guards; nothing is asserted about time.

mod failover;
mod fence;
mod policy;
pub mod relay;
pub mod rig;
mod trouble;

//! The initiator against targets of others, against our own, and against targets that misbehave: what the disk engine
//! makes of LUNs.

mod bad;
mod guard;
mod load;
pub mod peer;

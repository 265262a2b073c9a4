//! The initiator against other targets, our own, and misbehaving ones: the disk engine on LUNs.

mod bad;
mod claims;
mod guard;
mod load;
mod operations;
pub mod peer;

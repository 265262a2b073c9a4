//! What `san` promises, tested from outside.

mod chap;
mod initiator;
mod multipath;
mod pacing;
mod steady;
mod target;
mod volumes;

//! Hop counters of this machine: cumulative counts with the time of the sample.
//!
//! Block devices ([`block`]), processors ([`cpu`]) and processes ([`process`]); network interfaces and adapters are of the same kind. A probe only reads
//! what the kernel publishes. It knows no engine, no record and no step: callers take differences.

#![forbid(unsafe_code)]

pub mod block;
pub mod cpu;
pub mod process;

//! Hop counters of this machine: what its parts have counted since they came to be, with the moment of the look.
//!
//! Block devices so far ([`block`]); processors, network interfaces and adapters are of the same kind. A probe only reads
//! what the kernel publishes. It knows no engine, no record and no step: whoever samples takes differences.

#![forbid(unsafe_code)]

pub mod block;

//! Tests of the crate, one module each.

mod bad;
mod block;
mod peers;
mod snmpd;
mod support;

//! Hop counters: of this machine, and of others that are asked.
//!
//! Block devices ([`block`]), processors ([`cpu`]) and processes ([`process`]) are read where they are used. Everything else is
//! a [`source::Source`]: it finds its places with their identities and says what they have counted. A source may be slow, may
//! wrap, begin anew, lie or die: each has a thread of its own ([`watch`]), and what it says passes [`accrual`]. A probe only
//! reads. It knows no engine, no record file and no lab: which place is which hop is for its callers.

#![forbid(unsafe_code)]

pub mod accrual;
pub mod block;
pub mod cpu;
pub mod credentials;
pub mod fc;
pub mod host;
pub mod http;
pub mod interface;
mod netlink;
pub mod process;
pub mod scrape;
pub mod scsi;
pub mod snmp;
pub mod source;
mod sysfs;
pub mod tcp;
#[cfg(feature = "tls")]
mod trust;
mod twins;
pub mod watch;

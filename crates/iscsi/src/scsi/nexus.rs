//! The I_T nexus: initiator port and target port (SAM-5, 4.6.4), the key of reservations and unit attentions.

use std::sync::Arc;

/// An I_T nexus. Two sessions of one initiator through one portal group are two nexuses, since their ISIDs differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nexus {
    /// The initiator port's name: the iSCSI name, `,i,0x` and the ISID as twelve hexadecimal digits (RFC 7143, 4.2.7).
    pub initiator: Arc<str>,
    /// The relative target port identifier, equal to the tag of its portal group.
    pub port: u16,
}

impl Nexus {
    /// The nexus of a session: the initiator's iSCSI name, its ISID and the tag of its portal group.
    pub fn new(initiator_name: &str, isid: [u8; 6], port: u16) -> Nexus {
        let [a, b, c, d, e, f] = isid;
        let initiator = format!("{initiator_name},i,0x{a:02x}{b:02x}{c:02x}{d:02x}{e:02x}{f:02x}");
        Nexus { initiator: initiator.into(), port }
    }

    /// The iSCSI name of the initiator node, without its port.
    pub fn initiator_name(&self) -> &str {
        self.initiator.split_once(",i,0x").map_or(&self.initiator, |(name, _)| name)
    }
}

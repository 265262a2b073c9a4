//! Objects of MIBs that count at ports: IF-MIB, FCMGMT-MIB (`experimental 94`) and FIBRE-CHANNEL-FE-MIB, and those by which
//! ports are known: LLDP-MIB, and the links and names of FCMGMT-MIB.

use crate::measure::{Flow, Measure};

/// Objects by the end of their number, with the names that tools print.
pub const OBJECTS: &[(&str, &str)] = &[
    ("1.3.6.1.2.1.1.2", "sysObjectID"),
    ("1.3.6.1.2.1.1.3", "sysUpTime"),
    ("1.3.6.1.2.1.1.5", "sysName"),
    ("1.3.6.1.2.1.1.7", "sysServices"),
    ("1.3.6.1.2.1.31.1.1.1.1", "ifName"),
    ("1.3.6.1.2.1.31.1.1.1.6", "ifHCInOctets"),
    ("1.3.6.1.2.1.31.1.1.1.10", "ifHCOutOctets"),
    ("1.3.6.1.2.1.31.1.1.1.15", "ifHighSpeed"),
    ("1.3.6.1.2.1.31.1.1.1.18", "ifAlias"),
    ("1.3.6.1.2.1.2.2.1.2", "ifDescr"),
    ("1.3.6.1.2.1.2.2.1.3", "ifType"),
    ("1.3.6.1.2.1.2.2.1.5", "ifSpeed"),
    ("1.3.6.1.2.1.2.2.1.6", "ifPhysAddress"),
    ("1.3.6.1.2.1.2.2.1.8", "ifOperStatus"),
    ("1.3.6.1.2.1.2.2.1.10", "ifInOctets"),
    ("1.3.6.1.2.1.2.2.1.13", "ifInDiscards"),
    ("1.3.6.1.2.1.2.2.1.14", "ifInErrors"),
    ("1.3.6.1.2.1.2.2.1.16", "ifOutOctets"),
    ("1.3.6.1.2.1.2.2.1.19", "ifOutDiscards"),
    ("1.3.6.1.2.1.2.2.1.20", "ifOutErrors"),
    ("1.3.6.1.2.1.4.20.1.1", "ipAdEntAddr"),
    ("1.3.6.1.2.1.17.1.2", "dot1dBaseNumPorts"),
    ("1.3.6.1.2.1.25.1.1", "hrSystemUptime"),
    ("1.3.6.1.2.1.25.1.6", "hrSystemProcesses"),
    ("1.3.6.1.2.1.25.2.2", "hrMemorySize"),
    ("1.3.6.1.4.1.2021.4.5", "memTotalReal"),
    ("1.3.6.1.4.1.2021.11.53", "ssCpuRawIdle"),
    ("1.3.6.1.3.94.1.10.1.10", "connUnitPortWwn"),
    ("1.3.6.1.3.94.1.10.1.15", "connUnitPortSpeed"),
    ("1.3.6.1.3.94.1.10.1.17", "connUnitPortName"),
    ("1.3.6.1.3.94.1.12.1.4", "connUnitLinkPortNumberX"),
    ("1.3.6.1.3.94.1.12.1.5", "connUnitLinkPortWwnX"),
    ("1.3.6.1.3.94.1.12.1.8", "connUnitLinkPortWwnY"),
    ("1.3.6.1.3.94.4.5.1.3", "connUnitPortStatCountError"),
    ("1.3.6.1.3.94.4.5.1.6", "connUnitPortStatCountTxElements"),
    ("1.3.6.1.3.94.4.5.1.7", "connUnitPortStatCountRxElements"),
    ("1.3.6.1.3.94.4.5.1.8", "connUnitPortStatCountBBCreditZero"),
    ("1.3.6.1.3.94.5.2.1.1.4", "connUnitSnsPortName"),
    ("1.3.6.1.2.1.75.1.1.5.1.2", "fcFxPortName"),
    ("1.3.6.1.2.1.75.1.4.3.1.3", "fcFxPortC3InOctets"),
    ("1.3.6.1.2.1.75.1.4.3.1.4", "fcFxPortC3OutOctets"),
    ("1.3.6.1.2.1.75.1.4.3.1.5", "fcFxPortC3Discards"),
    ("1.0.8802.1.1.2.1.3.7.1.3", "lldpLocPortId"),
    ("1.0.8802.1.1.2.1.4.1.1.5", "lldpRemChassisId"),
    ("1.0.8802.1.1.2.1.4.1.1.7", "lldpRemPortId"),
];

/// Objects of HOST-RESOURCES-MIB and UCD-SNMP-MIB, which say that an agent is a computer's; switches may have them as well.
pub const OF_COMPUTERS: &[&str] =
    &["hrSystemUptime", "hrSystemProcesses", "hrMemorySize", "memTotalReal", "ssCpuRawIdle"];

/// Whether a `sysObjectID` is that of an operating system for hosts: Net-SNMP's and UCD's own, Windows, ESX. Who makes a switch of one of
/// them gives it another.
pub fn is_host_system(object_id: &str) -> bool {
    let of = object_id.trim().trim_start_matches('.');
    let numbers = of.rsplit("enterprises").next().unwrap_or(of).trim_start_matches('.');
    let numbers = ["1.3.6.1.4.1.", "iso.3.6.1.4.1."]
        .iter()
        .find_map(|p| numbers.strip_prefix(p))
        .unwrap_or(numbers);
    let known = ["8072.3.2.", "2021.250.", "311.1.1.3.1.", "6876.4."];
    known.iter().any(|known| numbers.starts_with(known))
        || of.starts_with("NET-SNMP-") && of.contains("netSnmpAgentOIDs")
}

/// The object of a number or of a name, and its index.
pub fn object(oid: &str) -> Option<(&'static str, &str)> {
    // `IF-MIB::ifName.1`, `ifName.1`, or all names on the way to it.
    let mut rest = oid.rsplit("::").next()?.trim_start_matches('.');
    while let Some((name, index)) = rest.split_once('.') {
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            break;
        }
        if let Some(known) = OBJECTS.iter().find(|of| of.1 == name) {
            return Some((known.1, index));
        }
        rest = index;
    }
    // As Net-SNMP names it by DISMAN-EVENT-MIB.
    if rest == "sysUpTimeInstance" {
        return Some(("sysUpTime", "0"));
    }
    let number = oid.trim_start_matches('.');
    OBJECTS.iter().find_map(|(known, name)| {
        let behind = match (number.strip_prefix("iso."), known.strip_prefix("1.")) {
            (Some(rest), Some(known)) => rest.strip_prefix(known)?,
            _ => number.strip_prefix(known)?,
        };
        Some((*name, behind.strip_prefix('.')?))
    })
}

/// The number of an object.
pub fn number(object: &str) -> Option<&'static str> {
    OBJECTS.iter().find(|of| of.1 == object).map(|of| of.0)
}

/// What an object counts at a port, and the bits of a counter that wraps within minutes. A switch's port receives what goes
/// towards it: its output is what a host reads.
pub fn measure(object: &str) -> Option<(Measure, Option<i32>)> {
    Some(match object {
        "ifHCInOctets" | "connUnitPortStatCountRxElements" => (Measure::Bytes(Flow::Write), None),
        "ifHCOutOctets" | "connUnitPortStatCountTxElements" => (Measure::Bytes(Flow::Read), None),
        "ifInOctets" | "fcFxPortC3InOctets" => (Measure::Bytes(Flow::Write), Some(32)),
        "ifOutOctets" | "fcFxPortC3OutOctets" => (Measure::Bytes(Flow::Read), Some(32)),
        "ifInErrors" | "ifOutErrors" | "connUnitPortStatCountError" => (Measure::Errors, None),
        "ifInDiscards" | "ifOutDiscards" | "fcFxPortC3Discards" => (Measure::Discards, None),
        _ => return None,
    })
}

/// The wide counter that says the same as a narrow one.
pub fn wide(object: &str) -> Option<&'static str> {
    match object {
        "ifInOctets" => Some("ifHCInOctets"),
        "ifOutOctets" => Some("ifHCOutOctets"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operating_system_for_hosts_is_known_in_each_form() {
        for text in [
            "1.3.6.1.4.1.8072.3.2.10",
            ".1.3.6.1.4.1.311.1.1.3.1.2",
            "iso.3.6.1.4.1.6876.4.1",
            "SNMPv2-SMI::enterprises.311.1.1.3.1.1",
            "NET-SNMP-MIB::netSnmpAgentOIDs.10",
            "NET-SNMP-TC::linux.netSnmpAgentOIDs",
        ] {
            assert!(is_host_system(text), "{text}");
        }
        // Brocade, Cisco, Cumulus, Arista.
        for text in [
            "1.3.6.1.4.1.1588.2.1.1.1",
            "SNMPv2-SMI::enterprises.9.12.3.1.3.1008",
            ".1.3.6.1.4.1.40310.1",
            "1.3.6.1.4.1.30065.1.3011",
            "1.3.6.1.4.1.80720.3.2.1",
            "",
        ] {
            assert!(!is_host_system(text), "{text}");
        }
    }

    #[test]
    fn an_object_is_found_by_its_number_and_by_its_name() {
        for oid in [
            ".1.3.6.1.2.1.31.1.1.1.6.7",
            "IF-MIB::ifHCInOctets.7",
            "iso.3.6.1.2.1.31.1.1.1.6.7",
            ".iso.org.dod.internet.mgmt.mib-2.ifMIB.ifMIBObjects.ifXTable.ifXEntry.ifHCInOctets.7",
        ] {
            assert_eq!(object(oid), Some(("ifHCInOctets", "7")), "{oid}");
        }
        assert_eq!(object("DISMAN-EVENT-MIB::sysUpTimeInstance"), Some(("sysUpTime", "0")));
        assert_eq!(object("1.0.8802.1.1.2.1.4.1.1.7.0.3.1"), Some(("lldpRemPortId", "0.3.1")));
        for oid in ["", "1.3.6.1.2.1.31.1.1.1.66.7", "1.3.6.1.2.1.31.1.1.1.6", "ifHCInOctetsX.1"] {
            assert_eq!(object(oid), None, "{oid}");
        }
    }
}

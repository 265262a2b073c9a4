//! SendTargets (RFC 7143, appendix C): the target's name and the addresses of its portals.

use super::port::Port;
use iscsi::discovery::SendTargetsScope;
use std::net::SocketAddr;
use std::sync::Arc;

/// The answer to `SendTargets` on a connection by `local`: keys and values; empty if it names another target.
pub(super) fn targets(
    name: &str,
    ports: &[Arc<Port>],
    scope: &SendTargetsScope,
    local: SocketAddr,
) -> Vec<(String, String)> {
    if matches!(scope, SendTargetsScope::One(other) if other.as_str() != name) {
        return Vec::new();
    }
    let mut keys = vec![("TargetName".to_owned(), name.to_owned())];
    for port in ports.iter().filter(|port| !port.is_down()) {
        if let Some(address) = reachable(port.address, local) {
            keys.push(("TargetAddress".to_owned(), format!("{address},{}", port.group)));
        }
    }
    keys
}

/// The address of a portal for an initiator that reached `local`: that one, if the portal is on all addresses.
fn reachable(portal: SocketAddr, local: SocketAddr) -> Option<SocketAddr> {
    if !portal.ip().is_unspecified() {
        return Some(portal);
    }
    (portal.is_ipv4() == local.is_ipv4()).then(|| SocketAddr::new(local.ip(), portal.port()))
}

#[cfg(test)]
mod tests {
    use super::super::port::PortalConfig;
    use super::*;

    #[track_caller]
    fn check(value: &str, local: &str, expected: &[&str]) {
        let portals =
            ["10.0.0.1:3260", "0.0.0.0:3261", "[::]:3262"].map(|a| a.parse().expect("an address"));
        let port = |(i, address)| Arc::new(Port::new(i, &PortalConfig::new(address), address, 1));
        let ports: Vec<Arc<Port>> = portals.into_iter().enumerate().map(port).collect();
        let scope = SendTargetsScope::parse(value).expect("a name");
        let local = local.parse().expect("an address");
        let got = targets("iqn.2024-01.t:t", &ports, &scope, local);
        let got: Vec<String> =
            got.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn portals_are_listed_by_the_initiators_address() {
        let four = [
            "TargetName=iqn.2024-01.t:t",
            "TargetAddress=10.0.0.1:3260,1",
            "TargetAddress=10.0.0.7:3261,1",
        ];
        check("All", "10.0.0.7:3261", &four);
        check("iqn.2024-01.t:t", "10.0.0.7:3261", &four);
        check("", "10.0.0.7:3261", &four);
        let six = [
            "TargetName=iqn.2024-01.t:t",
            "TargetAddress=10.0.0.1:3260,1",
            "TargetAddress=[fe80::1]:3262,1",
        ];
        check("All", "[fe80::1]:3262", &six);
        check("iqn.2024-01.t:other", "10.0.0.7:3261", &[]);
    }
}

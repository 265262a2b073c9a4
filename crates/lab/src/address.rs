//! Addresses of an emulated lab: a subnet for each port of an array, or of a receiver.
//!
//! One subnet a port makes the way both ways unique without rules: a host leaves for a port through the one interface that
//! has an address in its subnet, and the answer goes back the same way. A team has an address of its own there, at none of its
//! ports, and those have one each.

use std::net::Ipv4Addr;

/// Ports that can be addressed.
pub const SUBNETS: u32 = 64 * 256;
/// Hosts that can reach one port.
pub const HOSTS: u32 = 250;
/// Bits of a subnet's prefix.
pub const PREFIX: u8 = 24;

/// The address of the port itself.
pub fn of_port(subnet: u32) -> Ipv4Addr {
    address(subnet, 1)
}

/// The address of the `n`-th host that reaches it.
pub fn of_host(subnet: u32, n: u32) -> Ipv4Addr {
    address(subnet, 2 + n)
}

/// Within 10.64.0.0/10; it is not visible outside the namespaces.
fn address(subnet: u32, host: u32) -> Ipv4Addr {
    let [_, _, high, low] = subnet.to_be_bytes();
    let [.., host] = host.to_be_bytes();
    Ipv4Addr::new(10, 64 + (high & 63), low, host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn addresses_differ_and_stay_in_their_block() {
        let all = (0..SUBNETS).step_by(97).chain([SUBNETS - 1]);
        let all: Vec<Ipv4Addr> =
            all.flat_map(|n| [of_port(n), of_host(n, 0), of_host(n, HOSTS - 1)]).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|ip| ip.octets()[0] == 10 && (64..128).contains(&ip.octets()[1])));
    }
}

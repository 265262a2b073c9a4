//! The unit serial number of a volume that the user gave none: initiators know a volume by it, on every path and after every
//! restart, so it follows from what the volume is and where, and from nothing that changes.

use san::volume::{VolumeKind, VolumeSpec};
use std::net::SocketAddr;

/// The same volume of the same machine has the same number; others have another. `portals` as they were given.
pub fn serial(iqn: &str, portals: &[SocketAddr], lun: usize, spec: &VolumeSpec) -> String {
    // Without a machine's identity volumes of two machines may be taken for one.
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let lun = lun.to_string();
    let place = match &spec.kind {
        // Memory is nowhere: what names it is where it is served.
        VolumeKind::Ram { .. } => [format!("{iqn} {}", served(portals)), lun],
        VolumeKind::File { path, .. } | VolumeKind::Block { path } => [
            "path".to_owned(),
            std::path::absolute(path).map_or_else(|_| path.clone(), |p| p.display().to_string()),
        ],
    };
    let parts = [machine.trim(), &place[0], &place[1]];
    // A separator that stands in none of them.
    format!("WS{:016X}", fnv1a(parts.join("\0").as_bytes()))
}

/// The number of what lies at a path of this machine.
pub fn of_path(path: &str) -> String {
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    format!("WS{:016X}", fnv1a([machine.trim(), "path", path].join("\0").as_bytes()))
}

/// A target's exclusive address. Of a port that is chosen freely only the process that will have it is known.
fn served(portals: &[SocketAddr]) -> String {
    let place = |portal: &SocketAddr| match portal.port() {
        0 => format!("{portal} of {}", std::process::id()),
        _ => portal.to_string(),
    };
    portals.iter().map(place).collect::<Vec<_>>().join(" ")
}

/// FNV-1a of 64 bits: a name, not a protection.
fn fnv1a(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_what_it_names() {
        let at = |portal: &str, iqn: &str, lun: usize, spec: &str| {
            serial(iqn, &[portal.parse().unwrap()], lun, &spec.parse().unwrap())
        };
        let of = |iqn: &str, lun: usize, spec: &str| at("127.0.0.1:3260", iqn, lun, spec);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c, "the algorithm's published example");
        assert_eq!(of("a", 0, "ram:1MiB"), of("a", 0, "ram:2MiB,thin"));
        assert_ne!(of("a", 0, "ram:1MiB"), of("a", 1, "ram:1MiB"));
        assert_ne!(of("a", 0, "ram:1MiB"), of("b", 0, "ram:1MiB"));
        assert_ne!(of("a", 0, "ram:1MiB"), at("127.0.0.1:3261", "a", 0, "ram:1MiB"));
        assert_eq!(of("a", 0, "file:/x"), of("b", 7, "file:/x,ro"));
        assert_eq!(of("a", 0, "file:/x"), at("127.0.0.1:3261", "a", 0, "file:/x"));
        assert_ne!(of("a", 0, "file:/x"), of("a", 0, "file:/y"));
        let here = std::env::current_dir().unwrap().join("x").display().to_string();
        assert_eq!(of("a", 0, "file:x"), of("a", 0, &format!("file:{here}")));
        assert_eq!(of("a", 0, "ram:1MiB").len(), 18);
    }
}

//! Whose process is at the other end of a connection on loopback. Every user of a machine can connect to loopback; without a
//! token, the page answers its own user alone (and root, who may do everything anyway).
//!
//! The kernel lists each socket with its owner in `/proc/net/tcp` and `/proc/net/tcp6`. The client's socket is the one whose
//! local end is the other end of ours.

use std::net::{IpAddr, SocketAddr};

/// The user whose process connected from `client` to `server`, both on this machine; `None` where no such socket is listed.
pub(crate) fn owner(client: SocketAddr, server: SocketAddr) -> Option<u32> {
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|path| {
        let table = std::fs::read_to_string(path).ok()?;
        owner_in(&table, client, server)
    })
}

fn owner_in(table: &str, client: SocketAddr, server: SocketAddr) -> Option<u32> {
    let (local, remote) = (spellings(client), spellings(server));
    table.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (here, there) = (words.next()?, words.next()?);
        let same = |word: &str, all: &[String; 2]| all.iter().any(|one| one == word);
        if !same(here, &local) || !same(there, &remote) {
            return None;
        }
        // State, queues, timer, retransmissions; then the owner.
        words.nth(4)?.parse().ok()
    })
}

/// An end as the tables spell it: words of the address in the order of the machine's bytes, as IPv4 and within IPv6.
fn spellings(end: SocketAddr) -> [String; 2] {
    let hex = |bytes: &[u8]| -> String {
        let words = bytes.chunks_exact(4);
        words.map(|w| format!("{:08X}", u32::from_ne_bytes([w[0], w[1], w[2], w[3]]))).collect()
    };
    let port = end.port();
    match end.ip() {
        IpAddr::V4(v4) => [
            format!("{}:{port:04X}", hex(&v4.octets())),
            format!("{}:{port:04X}", hex(&v4.to_ipv6_mapped().octets())),
        ],
        IpAddr::V6(v6) => {
            let plain = format!("{}:{port:04X}", hex(&v6.octets()));
            let mapped = v6.to_ipv4_mapped().map(|v4| format!("{}:{port:04X}", hex(&v4.octets())));
            [plain.clone(), mapped.unwrap_or(plain)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
   2: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 12345        0 3 1 0 20 4 30 10 -1
";

    #[test]
    fn the_owner_is_that_of_the_other_end() {
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(owner_in(TABLE, at(0xD431), at(0x1F90)), Some(12_345));
        assert_eq!(owner_in(TABLE, at(0x1F90), at(0xD431)), Some(0));
        assert_eq!(owner_in(TABLE, at(1), at(0x1F90)), None);
        assert_eq!(owner_in("", at(1), at(2)), None);
    }

    #[test]
    fn a_connection_of_this_process_is_this_users() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = TcpStream::connect(listener.local_addr().expect("it is bound"))
                .expect("it listens");
            let (server, from) = listener.accept().expect("one came");
            let to = server.local_addr().expect("it is connected");
            let own = rustix::process::geteuid().as_raw();
            assert_eq!(owner(from, to), Some(own), "{address}");
            drop(client);
        }
    }
}

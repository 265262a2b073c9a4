//! What Multipath TCP says of a connection (`MPTCP_INFO`, `linux/mptcp.h`): whether it is one, and over how many subflows.
//! RFC 8684, section 3.7: where the path or the peer does not carry the options, a connection goes on as plain TCP.

use super::option::get;
use std::os::fd::AsFd;

/// `linux/mptcp.h`, `linux/socket.h`.
const SOL_MPTCP: libc::c_int = 284;
const MPTCP_INFO: libc::c_int = 1;
const FALLBACK: u32 = 1;

/// Where `struct mptcp_info` has them; the last one came with Linux 6.6.
const FURTHER: usize = 0;
const FLAGS: usize = 8;
const TOTAL: usize = 80;

/// The subflows of a connection; 0 where it is plain TCP.
pub(crate) fn subflows(socket: impl AsFd) -> u16 {
    let mut raw = [0u8; 128];
    // A connection that fell back has nothing to say here, and neither has a kernel without Multipath TCP.
    let told = get(socket, SOL_MPTCP, MPTCP_INFO, &mut raw);
    told.map_or(0, |len| parse(&raw[..len]))
}

fn parse(raw: &[u8]) -> u16 {
    let Some(flags) = raw.get(FLAGS..).and_then(|rest| rest.first_chunk()) else { return 0 };
    if u32::from_ne_bytes(*flags) & FALLBACK != 0 {
        return 0;
    }
    match raw.get(TOTAL) {
        Some(total) => (*total).into(),
        // An older kernel counts those beyond the first.
        None => u16::from(raw[FURTHER]) + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sockets;
    use crate::sys::socket;
    use clock::Ns;

    #[test]
    fn what_the_kernel_tells_is_read() {
        let info = |further: u8, flags: u32, total: u8, len: usize| {
            let mut raw = [0; 92];
            raw[FURTHER] = further;
            raw[FLAGS..FLAGS + 4].copy_from_slice(&flags.to_ne_bytes());
            raw[TOTAL] = total;
            parse(&raw[..len])
        };
        assert_eq!(info(2, 2, 3, 92), 3);
        assert_eq!(info(2, 2, 0, 80), 3, "an older kernel");
        assert_eq!(info(2, 3, 3, 92), 0, "it fell back");
        assert_eq!(info(0, 2, 1, 4), 0);
    }

    /// The subflows at both ends of a connection on loopback, by whether each end asks for Multipath TCP.
    fn both(test: bool, listening: bool) -> (u16, u16) {
        let ends = |multipath| Sockets { multipath, ..Sockets::default() };
        let door = socket::listen("127.0.0.1:0".parse().unwrap(), &ends(listening)).unwrap();
        let to = door.local_addr().unwrap();
        let out = socket::connect(to, None, &ends(test), Ns::secs(60)).unwrap();
        let (back, _) = door.accept().unwrap();
        (subflows(&out), subflows(&back))
    }

    #[test]
    fn a_connection_of_two_multipath_ends_is_told_from_others() {
        assert_eq!(both(false, false), (0, 0));
        let multipath = Sockets { multipath: true, ..Sockets::default() };
        if let Err(e) = socket::listen("127.0.0.1:0".parse().unwrap(), &multipath) {
            println!("skipped: {e}");
            assert!(e.to_string().contains("net.mptcp.enabled"), "{e}");
            return;
        }
        assert_eq!(both(true, true), (1, 1));
        assert_eq!((both(true, false), both(false, true)), ((0, 0), (0, 0)), "plain TCP after all");
    }
}

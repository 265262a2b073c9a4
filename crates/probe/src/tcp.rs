//! TCP connections of storage sessions, by `inet_diag`: bytes, retransmissions, round-trip time, and what held them up.
//!
//! The kernel is asked for all of them at once, and not each socket by its owner: so the kernel's own initiators are seen, and
//! no data path is touched. Connections are chosen by the address and port of their other end.

use crate::interface::socket_end;
use crate::netlink::{Family, attribute, dump, messages, u32_at, u64_at};
use crate::source::{Amount, Look, Place, Source, Trouble};
use hop::HopKind;
use record::CounterId;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
const TCP: u8 = 6;
/// `INET_DIAG_INFO`: the number of the attribute, and its bit in a request.
const INFO: u16 = 2;
const ESTABLISHED: u32 = 1 << 1;

/// What a connection has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpSession {
    /// The kernel's own number of the socket: two connections never share one.
    pub cookie: u64,
    /// Segments sent again.
    pub retransmits: u32,
    /// Bytes that the other end acknowledged.
    pub acked: u64,
    /// Bytes received.
    pub received: u64,
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u32,
    /// Microseconds with data under way, limited by the receive window, and by the send buffer.
    pub busy_us: [u64; 3],
}

/// Reads the answer to a request for connections, by the other end.
pub fn sessions(bytes: &[u8]) -> Vec<(SocketAddr, TcpSession)> {
    let of = |body: &[u8]| {
        let family = *body.first()?;
        let (address, port) = socket_end(body, family, 6, 24)?;
        let info = attribute(body.get(72..)?, INFO)?;
        let session = TcpSession {
            cookie: u64_at(body, 44)?,
            retransmits: u32_at(info, 100)?,
            rtt_us: u32_at(info, 68)?,
            acked: u64_at(info, 120)?,
            received: u64_at(info, 128)?,
            busy_us: [u64_at(info, 168)?, u64_at(info, 176)?, u64_at(info, 184)?],
        };
        let address = match address {
            IpAddr::V6(v6) => v6.to_canonical(),
            v4 => v4,
        };
        Some((SocketAddr::new(address, port), session))
    };
    messages(bytes)
        .filter(|(kind, _)| *kind == BY_FAMILY)
        .filter_map(|(_, body)| of(body))
        .collect()
}

/// All established connections of this thread's network namespace.
/// # Errors
/// Where netlink does not answer, as in a sandbox.
pub fn established() -> std::io::Result<Vec<(SocketAddr, TcpSession)>> {
    let mut all = Vec::new();
    for family in [2_u8, 10] {
        let mut request = vec![family, TCP, 1 << (INFO - 1), 0];
        request.extend(ESTABLISHED.to_ne_bytes());
        request.extend([0; 48]);
        all.extend(sessions(&dump(Family::Sockets, BY_FAMILY, &request)?));
    }
    Ok(all)
}

/// The connections to some portals, summed. What a connection counted stays counted after its end.
pub struct TcpSessions {
    portals: Vec<SocketAddr>,
    /// What ended connections had counted when they were last seen, and those that are open.
    gone: Sum,
    open: BTreeMap<u64, TcpSession>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    retransmits: u64,
    acked: u64,
    received: u64,
    busy_us: [u64; 3],
}

impl Sum {
    fn add(&mut self, of: &TcpSession) {
        self.retransmits += u64::from(of.retransmits);
        self.acked += of.acked;
        self.received += of.received;
        (0..3).for_each(|n| self.busy_us[n] += of.busy_us[n]);
    }
}

impl TcpSessions {
    /// Those whose other end is one of these.
    pub fn to(portals: Vec<SocketAddr>) -> TcpSessions {
        TcpSessions { portals, gone: Sum::default(), open: BTreeMap::new() }
    }
}

impl Source for TcpSessions {
    fn discover(&mut self) -> Result<Vec<Place>, Trouble> {
        established().map_err(|e| Trouble::Silent(format!("inet_diag: {e}")))?;
        let portals: Vec<String> = self.portals.iter().map(ToString::to_string).collect();
        Ok(vec![Place::new(HopKind::Other, "tcp").fact("portals", portals.join(" "))])
    }

    fn look(&mut self) -> Result<Option<Look>, Trouble> {
        let all = established().map_err(|e| Trouble::Silent(format!("inet_diag: {e}")))?;
        let at = clock::now();
        let ours = all.iter().filter(|(end, _)| self.portals.contains(end));
        let open: BTreeMap<u64, TcpSession> = ours.map(|(_, of)| (of.cookie, *of)).collect();
        let ended = self.open.iter().filter(|(cookie, _)| !open.contains_key(cookie));
        ended.for_each(|(_, of)| self.gone.add(of));
        self.open = open;
        let mut sum = self.gone;
        self.open.values().for_each(|of| sum.add(of));
        let count = self.open.len() as f64;
        let rtt: f64 = self.open.values().map(|of| f64::from(of.rtt_us)).sum();
        let micros = |raw: u64| Amount::Grows { raw, bits: 64, unit: 1_000.0 };
        let mut out = vec![
            (CounterId::Sessions, Amount::Level(count)),
            (CounterId::SessionBytesIn, Amount::wide(sum.received)),
            (CounterId::SessionBytesOut, Amount::wide(sum.acked)),
            (CounterId::SessionRetransmits, Amount::wide(sum.retransmits)),
            (CounterId::SessionBusy, micros(sum.busy_us[0])),
            (CounterId::SessionReceiverLimited, micros(sum.busy_us[1])),
            (CounterId::SessionBufferLimited, micros(sum.busy_us[2])),
        ];
        let level = if count > 0.0 { rtt / count * 1e3 } else { f64::NAN };
        out.push((CounterId::SessionRtt, Amount::Level(level)));
        Ok(Some(Look { at, life: 0, places: vec![out] }))
    }
}

//! What an interface has carried, from `/proc/PID/net/dev` of a process in its namespace.

use std::collections::BTreeMap;
use std::fs;

/// Bytes of headers before the payload of a packet: Ethernet, IPv4, TCP with timestamps.
const HEADERS: u64 = 14 + 20 + 32;

/// What an interface has carried since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounts {
    /// Bytes that came in.
    pub in_bytes: u64,
    /// Packets that came in.
    pub in_packets: u64,
    /// Of those that came in, how many were dropped or broken.
    pub in_lost: u64,
    /// Bytes that went out.
    pub out_bytes: u64,
    /// Packets that went out.
    pub out_packets: u64,
    /// How many were not sent.
    pub out_lost: u64,
}

/// The payload of TCP that an interface has carried, look after look: its bytes less the headers of its packets. Several
/// segments that the kernel kept together have one header here. It never falls while the interface lives: ARP and the like,
/// which are shorter than these headers, carry nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Payload {
    seen: InterfaceCounts,
    /// Of what came in.
    pub into: u64,
    /// Of what went out.
    pub out: u64,
}

impl Payload {
    /// Takes in a look. Counters that went back are those of a new interface, and the sums begin with it.
    pub fn take(&mut self, now: &InterfaceCounts) {
        let before = self.seen;
        if now.in_bytes < before.in_bytes || now.out_bytes < before.out_bytes {
            *self = Payload::default();
        }
        let carried = |bytes: u64, packets: u64| bytes.saturating_sub(HEADERS * packets);
        let before = std::mem::replace(&mut self.seen, *now);
        self.into += carried(
            now.in_bytes - before.in_bytes,
            now.in_packets.saturating_sub(before.in_packets),
        );
        self.out += carried(
            now.out_bytes - before.out_bytes,
            now.out_packets.saturating_sub(before.out_packets),
        );
    }
}

/// The interfaces of a process's namespace, by name; `None` where the process is gone.
pub fn of_process(process: u32) -> Option<BTreeMap<String, InterfaceCounts>> {
    let text = fs::read_to_string(format!("/proc/{process}/net/dev")).ok()?;
    Some(parse(&text))
}

/// The table as the kernel prints it; lines that are no interface are left out.
pub fn parse(text: &str) -> BTreeMap<String, InterfaceCounts> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<(String, InterfaceCounts)> {
    let (name, rest) = line.split_once(':')?;
    let fields: Vec<u64> = rest.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let field = |n: usize| fields.get(n).copied();
    let counts = InterfaceCounts {
        in_bytes: field(0)?,
        in_packets: field(1)?,
        in_lost: field(2)?.saturating_add(field(3)?),
        out_bytes: field(8)?,
        out_packets: field(9)?,
        out_lost: field(10)?.saturating_add(field(11)?),
    };
    Some((name.trim().to_owned(), counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
    p0: 1000066       2    1    2    0     0          0         0     6600     100    3    4    0     0       0          0
";

    #[test]
    fn the_kernels_table_is_read_and_headers_are_no_payload() {
        let all = parse(TABLE);
        assert_eq!(all.keys().collect::<Vec<_>>(), ["lo", "p0"]);
        let p0 = all["p0"];
        assert_eq!((p0.in_lost, p0.out_lost), (3, 7));
        let mut payload = Payload::default();
        payload.take(&p0);
        assert_eq!((payload.into, payload.out), (1_000_066 - 132, 0));
    }

    #[test]
    fn packets_without_payload_take_nothing_away() {
        let mut payload = Payload::default();
        let mut now = InterfaceCounts { in_bytes: 1566, in_packets: 1, ..Default::default() };
        payload.take(&now);
        // An ARP request of 42 bytes.
        now =
            InterfaceCounts { in_bytes: 1608, in_packets: 2, out_bytes: 42, out_packets: 1, ..now };
        payload.take(&now);
        assert_eq!((payload.into, payload.out), (1500, 0));
        now = InterfaceCounts { in_bytes: 3174, in_packets: 3, ..now };
        payload.take(&now);
        assert_eq!((payload.into, payload.out), (3000, 0));
    }

    #[test]
    fn a_new_interface_begins_anew() {
        let mut payload = Payload::default();
        payload.take(&InterfaceCounts { out_bytes: 9066, out_packets: 1, ..Default::default() });
        payload.take(&InterfaceCounts { out_bytes: 166, out_packets: 1, ..Default::default() });
        assert_eq!((payload.into, payload.out), (0, 100));
    }

    #[test]
    fn a_line_that_is_cut_short_is_no_interface() {
        assert!(parse("p0: 1 2 3").is_empty());
        assert!(parse("").is_empty());
    }
}

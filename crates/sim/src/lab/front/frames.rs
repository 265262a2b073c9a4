//! What an I/O puts on the wires besides its payload, in both directions: pure arithmetic, no lab.
//!
//! The unit is the payload byte in full frames, as [`units::LinkRate::payload`] counts: a wire of 8GFC carries 826.5 million
//! of them a second. A whole frame is thus as many units as its payload has bytes, and what an I/O needs beyond that (its
//! command, its response, the rest of its last frame) is converted at the share of a full frame that is payload.
//!
//! Fibre Channel: FC-FS frames of at most 2,112 bytes of payload between SOF 4, header 24, CRC 4 and EOF 4, then 24 bytes of
//! gap, in which R_RDY of the other direction has room. Commands are those of FCP-4: FCP_CMND 32 bytes, FCP_XFER_RDY 12,
//! FCP_RSP 24. Ethernet: IEEE 802.3 with 38 bytes around a frame and at least 84 on the wire, IPv4 and TCP without options
//! 40, an acknowledgment for every second segment (RFC 9293, RFC 5681), iSCSI headers of 48 (RFC 7143).

use workload::Dir;

/// Payload of a full frame of Fibre Channel, and the bytes around any frame with its gap.
const FC_PAYLOAD: f64 = 2112.0;
const FC_AROUND: f64 = 60.0;
/// The gap in it: six words.
const FC_GAP: f64 = 24.0;
const FCP_CMND: f64 = 32.0;
const FCP_XFER_RDY: f64 = 12.0;
const FCP_RSP: f64 = 24.0;

/// Around a frame of Ethernet: preamble and delimiter 8, header 14, check sequence 4, gap 12.
const ETHERNET_AROUND: f64 = 38.0;
const ETHERNET_LEAST: f64 = 84.0;
const TCP_IP: f64 = 40.0;
const ISCSI_HEADER: f64 = 48.0;
/// Payload of one PDU and of one solicited burst: what common initiators offer and targets grant.
pub const ISCSI_BURST: f64 = 262_144.0;
/// Unsolicited data of a write (`FirstBurstLength`, the default of RFC 7143).
pub const ISCSI_FIRST_BURST: f64 = 65_536.0;

/// Seconds per metre of light in a fibre: a refractive index of 1.5.
pub const SECONDS_A_METRE: f64 = 5e-9;

/// The protocol of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathProtocol {
    /// Fibre Channel.
    Fibre,
    /// Ethernet with iSCSI over TCP/IPv4, and the smallest MTU on the way.
    Ethernet {
        /// In bytes.
        mtu: u32,
    },
    /// Only the payload rate is known: no overhead is added.
    Plain,
}

/// The overhead of an I/O, in payload bytes of full frames: means over its sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WireOverhead {
    /// In the direction of the payload.
    pub along: f64,
    /// In the other direction, per byte of payload.
    pub against_per_byte: f64,
    /// In the other direction, per I/O.
    pub against: f64,
    /// How often an I/O waits for the other end.
    pub round_trips: f64,
    /// Frames with payload.
    pub frames: f64,
}

impl PathProtocol {
    /// The payload share of full frames on the wire.
    pub fn efficiency(self) -> f64 {
        match self {
            PathProtocol::Fibre => FC_PAYLOAD / (FC_PAYLOAD + FC_AROUND),
            PathProtocol::Ethernet { mtu } => {
                (f64::from(mtu) - TCP_IP) / (f64::from(mtu) + ETHERNET_AROUND)
            }
            PathProtocol::Plain => 1.0,
        }
    }

    /// The frames of a transfer of so many bytes.
    pub fn frames(self, bytes: f64) -> f64 {
        match self {
            PathProtocol::Fibre => (bytes / FC_PAYLOAD).ceil(),
            PathProtocol::Ethernet { mtu } => (bytes / (f64::from(mtu) - TCP_IP)).ceil(),
            PathProtocol::Plain => 0.0,
        }
    }

    /// The overhead of an I/O in direction `dir`: the mean over `sizes`, each with its weight.
    pub fn burden(self, dir: Dir, sizes: &[(u32, f64)]) -> WireOverhead {
        let all: f64 = sizes.iter().map(|(_, weight)| weight).sum();
        let mut mean = WireOverhead::default();
        for (bytes, weight) in sizes.iter().filter(|(_, weight)| *weight > 0.0) {
            let one = self.burden_of(dir, f64::from(*bytes));
            let share = weight / all;
            mean.along += share * one.along;
            mean.against += share * one.against;
            mean.against_per_byte = one.against_per_byte;
            mean.round_trips += share * one.round_trips;
            mean.frames += share * one.frames;
        }
        mean
    }

    fn burden_of(self, dir: Dir, bytes: f64) -> WireOverhead {
        match self {
            PathProtocol::Fibre => fibre(dir, bytes),
            PathProtocol::Ethernet { .. } => self.iscsi(dir, bytes),
            PathProtocol::Plain => WireOverhead { round_trips: 1.0, ..WireOverhead::default() },
        }
    }

    fn iscsi(self, dir: Dir, bytes: f64) -> WireOverhead {
        let efficiency = self.efficiency();
        let alone = |segments: f64| {
            segments * (ISCSI_HEADER + TCP_IP + ETHERNET_AROUND).max(ETHERNET_LEAST)
        };
        let stream = bytes + ISCSI_HEADER * (bytes / ISCSI_BURST).ceil().max(1.0);
        let frames = self.frames(stream);
        let data = stream + frames * (TCP_IP + ETHERNET_AROUND);
        // A read has one request, and its status comes with its last data; a large write has a request for each further
        // burst.
        let asked = ((bytes - ISCSI_FIRST_BURST) / ISCSI_BURST).ceil().max(0.0);
        let (control, round_trips) = match dir {
            Dir::Read => (alone(1.0), 1.0),
            _ => (alone(1.0 + asked), 1.0 + asked.min(1.0)),
        };
        let a_segment = match self {
            PathProtocol::Ethernet { mtu } => f64::from(mtu) - TCP_IP,
            PathProtocol::Fibre | PathProtocol::Plain => FC_PAYLOAD,
        };
        WireOverhead {
            along: data * efficiency - bytes,
            against_per_byte: ETHERNET_LEAST / (2.0 * a_segment) * efficiency,
            against: control * efficiency,
            round_trips,
            frames,
        }
    }
}

fn fibre(dir: Dir, bytes: f64) -> WireOverhead {
    let efficiency = PathProtocol::Fibre.efficiency();
    let frames = PathProtocol::Fibre.frames(bytes);
    let data = bytes + frames * FC_AROUND;
    let frame = |information: f64| information + FC_AROUND;
    let (with, against, round_trips) = match dir {
        Dir::Read => (frame(FCP_RSP), frame(FCP_CMND), 1.0),
        Dir::Write => (frame(FCP_CMND), frame(FCP_XFER_RDY) + frame(FCP_RSP), 2.0),
        // A command and its response.
        _ => (frame(FCP_CMND), frame(FCP_RSP), 1.0),
    };
    WireOverhead {
        along: (data + with) * efficiency - bytes,
        against_per_byte: 0.0,
        against: against * efficiency,
        round_trips,
        frames,
    }
}

/// The rate of a Fibre Channel port that leaves so many words of 4 bytes between full frames, over that of one that
/// leaves six, as the smallest gap of an N_Port is (FC-FS).
pub fn share_by_gap(words: u32) -> f64 {
    let gap = 4.0 * f64::from(words);
    (FC_PAYLOAD + FC_AROUND) / (FC_PAYLOAD + FC_AROUND - FC_GAP + gap)
}

/// The share of its rate that a Fibre Channel link can use when its ends have `credits` buffers for each other, over
/// `metres`: a buffer is free again when its frame has been sent, has arrived, and its R_RDY has come back. `line` is
/// in bytes a second after line coding.
pub fn share_by_credits(line: f64, credits: u32, metres: f64) -> f64 {
    let frame = (FC_PAYLOAD + FC_AROUND) / line;
    let turn = frame + 2.0 * metres * SECONDS_A_METRE;
    (f64::from(credits) * frame / turn).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::LinkRate;

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 0.01 * expected.abs().max(1e-6),
            "{found}, not {expected}"
        );
    }

    /// Expected values are counted by hand, on the wire.
    #[track_caller]
    fn check(medium: PathProtocol, dir: Dir, bytes: u32, along: f64, against: f64, trips: f64) {
        let burden = medium.burden(dir, &[(bytes, 1.0)]);
        let on_the_wire = |payload: f64| payload / medium.efficiency();
        near(on_the_wire(burden.along + f64::from(bytes)), along);
        near(on_the_wire(burden.against + burden.against_per_byte * f64::from(bytes)), against);
        assert_eq!(burden.round_trips, trips, "{medium:?} {dir:?} {bytes}");
    }

    #[test]
    fn fibre_channel_by_hand() {
        // 8,192 bytes in 4 frames with 60 bytes of overhead each, and a response of 84; a command of 92.
        check(PathProtocol::Fibre, Dir::Read, 8192, 8192.0 + 240.0 + 84.0, 92.0, 1.0);
        check(PathProtocol::Fibre, Dir::Write, 8192, 8192.0 + 240.0 + 92.0, 72.0 + 84.0, 2.0);
        check(PathProtocol::Fibre, Dir::Read, 512, 512.0 + 60.0 + 84.0, 92.0, 1.0);
        check(PathProtocol::Fibre, Dir::Read, 2112, 2172.0 + 84.0, 92.0, 1.0);
        check(PathProtocol::Fibre, Dir::Read, 2113, 2113.0 + 120.0 + 84.0, 92.0, 1.0);
    }

    #[test]
    fn iscsi_by_hand() {
        let standard = PathProtocol::Ethernet { mtu: 1500 };
        let jumbo = PathProtocol::Ethernet { mtu: 9000 };
        // 8,240 bytes of the stream in 6 segments of at most 1,460, or in one of 8,960.
        check(standard, Dir::Read, 8192, 8240.0 + 6.0 * 78.0, 126.0 + 8192.0 * 42.0 / 1460.0, 1.0);
        check(jumbo, Dir::Read, 8192, 8240.0 + 78.0, 126.0 + 8192.0 * 42.0 / 8960.0, 1.0);
        check(
            jumbo,
            Dir::Write,
            65_536,
            65_584.0 + 8.0 * 78.0,
            126.0 + 65_536.0 * 42.0 / 8960.0,
            1.0,
        );
        // 1 MiB: four PDUs, with four requests beyond the first burst.
        let megabyte = 1_048_576.0_f64;
        let segments = ((megabyte + 192.0) / 8960.0).ceil();
        let against = 5.0 * 126.0 + megabyte * 42.0 / 8960.0;
        check(jumbo, Dir::Write, 1 << 20, megabyte + 192.0 + segments * 78.0, against, 2.0);
    }

    #[test]
    fn sizes_are_weighed() {
        let mixed = PathProtocol::Fibre.burden(Dir::Read, &[(512, 1.0), (8192, 3.0), (4096, 0.0)]);
        let one = |bytes| PathProtocol::Fibre.burden(Dir::Read, &[(bytes, 1.0)]).along;
        near(mixed.along, (one(512) + 3.0 * one(8192)) / 4.0);
        assert_eq!(PathProtocol::Fibre.burden(Dir::Read, &[]), WireOverhead::default());
        assert_eq!(PathProtocol::Plain.burden(Dir::Write, &[(4096, 1.0)]).along, 0.0);
    }

    /// The efficiencies agree with the payload rates of the named standards.
    #[test]
    fn payload_rates_agree_with_the_standards() {
        for name in LinkRate::names() {
            let medium = match name.ends_with("gfc") {
                true => PathProtocol::Fibre,
                false => PathProtocol::Ethernet { mtu: 1500 },
            };
            let rate = LinkRate::parse(name).expect("a name");
            let line = rate.line().expect("a standard").0;
            assert!((line * medium.efficiency() - rate.payload().0).abs() < 1.0, "{name}");
        }
        near(12.5e8 * PathProtocol::Ethernet { mtu: 9000 }.efficiency(), 1_239_212_215.0);
    }

    #[test]
    fn a_smaller_gap_carries_more() {
        assert_eq!(share_by_gap(6), 1.0);
        // 4GFC with two words between frames: 425 MB/s × 2,112 / 2,156, which are 397.0 MiB/s.
        let rate = LinkRate::parse("4gfc").expect("a name").payload().0 * share_by_gap(2);
        near(rate, 425e6 * 2112.0 / 2156.0);
        assert!((rate / 1_048_576.0 - 397.04).abs() < 0.01, "{rate}");
    }

    #[test]
    fn credits_limit_over_distance() {
        // 8GFC: a frame takes 2.555 us; 10 km there and back take 100 us.
        near(share_by_credits(850e6, 8, 10_000.0), 8.0 * 2.5553 / 102.555);
        near(share_by_credits(850e6, 41, 10_000.0), 1.0);
        assert!(share_by_credits(850e6, 40, 10_000.0) < 1.0);
        assert_eq!(share_by_credits(850e6, 1, 0.0), 1.0);
        near(share_by_credits(425e6, 8, 10_000.0), 8.0 * 5.1106 / 105.11);
    }
}

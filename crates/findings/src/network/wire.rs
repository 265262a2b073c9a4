//! What a wire can carry of payload, with the arithmetic shown: the MTU, the version of IP and the TCP options are those
//! that were observed, because one byte of header more or less is what separates 99% from a full wire.
//!
//! Ethernet: IEEE 802.3, clauses 3 and 4: preamble and delimiter 8 bytes, header 14, check sequence 4, gap 12, and at least 46
//! bytes of payload. IPv4: RFC 791, with its fragments; IPv6: RFC 8200. TCP: RFC 9293, timestamps RFC 7323 (10
//! bytes, sent in 12). UDP: RFC 768.

use serde::Serialize;
use units::count;

/// The overhead of an Ethernet frame on the wire.
pub const ETHERNET: f64 = 38.0;
/// The least payload of a frame of Ethernet; what is shorter is filled up.
pub const ETHERNET_LEAST: f64 = 46.0;
/// The header of IPv4 without options.
pub const IPV4: f64 = 20.0;
/// The header of IPv6.
pub const IPV6: f64 = 40.0;
/// The header that each fragment has in IPv6 besides.
pub const IPV6_FRAGMENT: f64 = 8.0;
/// The header of TCP without options.
pub const TCP: f64 = 20.0;
/// TCP's timestamps, filled up to a multiple of four.
pub const TIMESTAMPS: f64 = 12.0;
/// The header of UDP.
pub const UDP: f64 = 8.0;

/// Where the speed of a wire is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SpeedFrom {
    /// The scenario names the wire (`rate` of the receiver).
    Scenario,
    /// The interface says it: the slower one of both ends.
    Interface,
    /// The fullest cable of the lab that the data crosses, as it was counted.
    Cable,
}

/// The speed of a wire in one direction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WireSpeed {
    /// With everything that is on the wire, in bytes a second.
    Line(f64, SpeedFrom),
    /// What it carries of payload, in bytes a second, as the scenario says without naming a standard.
    Payload(f64),
    /// The fullest cable on the way, as it was counted.
    Cable(CountedCable),
}

/// A cable of the lab as it was counted in one direction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CountedCable {
    /// The hop.
    pub name: String,
    /// What it carries of payload, in bytes a second.
    pub rate: f64,
    /// How full it was with all that crossed it, 0 to 1.
    pub fill: f64,
}

/// How payload is framed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Framing {
    /// The MTU that was observed, in bytes.
    pub mtu: f64,
    /// The version of IP, 4 or 6.
    pub ip: u8,
    /// Payload of one segment or datagram, in bytes.
    pub payload: f64,
    /// Headers within the frames of it, in bytes: IP, TCP or UDP, options.
    pub headers: f64,
    /// Frames that carry it: more than one where a datagram is cut into fragments.
    pub frames: f64,
    /// Bytes on the wire for it, with Ethernet's own 38 a frame.
    pub on_wire: f64,
    /// Payload by bytes on the wire, 0 to 1.
    pub share: f64,
    /// The same as a calculation.
    pub text: String,
}

/// A direction against what its wire can carry.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wire {
    /// How payload lies in frames; `None` where that is not known.
    pub framing: Option<Framing>,
    /// The wire's speed with everything that is on it, in bytes a second.
    pub line_bytes_per_s: Option<f64>,
    /// Where the speed is known from.
    pub speed_from: Option<SpeedFrom>,
    /// What the wire can carry of payload, in bytes a second.
    pub payload_bytes_per_s: Option<f64>,
    /// What was received as a share of that, 0 to 1.
    pub share: Option<f64>,
    /// How full the wire was with all that the pair sent this way, 0 to 1; more than `share` where several loads share it.
    pub fill: Option<f64>,
    /// The cable of the lab that it is, where the lab's own cables are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cable: Option<String>,
    /// The arithmetic as a sentence.
    pub text: String,
    /// Why there is no share, where there is none.
    pub unknown: Option<String>,
}

/// Segments of TCP that are as large as they may be.
pub(super) fn tcp(mtu: f64, ip: u8, timestamps: bool, mss: Option<f64>) -> Framing {
    let (header, name) = ip_header(ip);
    let options = if timestamps { TIMESTAMPS } else { 0.0 };
    let headers = header + TCP + options;
    let most = (mtu - headers).max(1.0);
    // Where the peer allows less than the MTU does, segments are as small as that.
    let payload = mss.filter(|mss| *mss >= 1.0 && *mss < most).unwrap_or(most);
    let stamps = if timestamps { " − 12 (timestamps)" } else { "" };
    let fits = format!("MTU {mtu:.0} − {header:.0} ({name}) − 20 (TCP){stamps} = {most:.0} B");
    let says = match payload < most {
        true => format!("{fits}, of which segments use {payload:.0} B (MSS),"),
        false => fits,
    };
    framing((mtu, ip), payload, headers, 1.0, &says)
}

/// Datagrams of a size, cut into fragments where they do not fit into a frame.
pub(super) fn udp(mtu: f64, ip: u8, payload: f64) -> Framing {
    let (header, name) = ip_header(ip);
    let whole = payload + UDP;
    let says = |frames: f64| match frames > 1.0 {
        true => format!("{payload:.0} B of a datagram in {frames:.0} fragments of MTU {mtu:.0}"),
        false => format!("{payload:.0} B of a datagram + 8 (UDP) + {header:.0} ({name})"),
    };
    if whole + header <= mtu {
        return framing((mtu, ip), payload, UDP + header, 1.0, &says(1.0));
    }
    let each = header + if ip == 6 { IPV6_FRAGMENT } else { 0.0 };
    // All fragments but the last carry a multiple of eight bytes.
    let room = (((mtu - each) / 8.0).floor() * 8.0).max(8.0);
    let frames = (whole / room).ceil().max(1.0);
    framing((mtu, ip), payload, UDP + each * frames, frames, &says(frames))
}

fn ip_header(version: u8) -> (f64, &'static str) {
    if version == 6 { (IPV6, "IPv6") } else { (IPV4, "IPv4") }
}

fn framing((mtu, ip): (f64, u8), payload: f64, headers: f64, frames: f64, says: &str) -> Framing {
    let filled = (payload + headers).max(ETHERNET_LEAST * frames);
    let on_wire = filled + ETHERNET * frames;
    let each = if frames > 1.0 { " a frame" } else { "" };
    let filler = if filled > payload + headers { ", filled up to 46 B" } else { "" };
    let text = format!(
        "{says}{filler} of {on_wire:.0} B on the wire (38 B of Ethernet{each}: preamble 8, header 14, FCS 4, gap 12)"
    );
    Framing { mtu, ip, payload, headers, frames, on_wire, share: payload / on_wire, text }
}

impl Wire {
    /// Holds what was received against a wire. `beside` is what other loads of the pair put on the wire this way, in
    /// bytes a second with their headers.
    pub(super) fn of(
        framing: Result<Framing, String>,
        speed: Result<WireSpeed, String>,
        carried: f64,
        beside: f64,
    ) -> Wire {
        let line = match &speed {
            Ok(WireSpeed::Line(line, from)) => Some((*line, *from)),
            _ => None,
        };
        let (framing, no_framing) = match framing {
            Ok(framing) => (Some(framing), None),
            Err(why) => (None, Some(why)),
        };
        let payload = match (&speed, &framing) {
            (Ok(WireSpeed::Payload(rate)), _) => Some(*rate),
            (Ok(WireSpeed::Cable(cable)), _) => Some(cable.rate),
            (Ok(WireSpeed::Line(line, _)), Some(framing)) => Some(line * framing.share),
            _ => None,
        }
        .filter(|rate| *rate > 0.0);
        let share = payload.map(|rate| carried / rate);
        let cable = match &speed {
            Ok(WireSpeed::Cable(cable)) => Some(cable),
            _ => None,
        };
        let fill = match (line, &framing) {
            _ if cable.is_some() => cable.map(|cable| cable.fill),
            (Some((line, _)), Some(framing)) => {
                Some((carried / framing.share + beside) / line).filter(|fill| fill.is_finite())
            }
            _ => share,
        };
        let unknown = match &speed {
            Err(why) => Some(why.clone()),
            Ok(WireSpeed::Line(..)) => no_framing,
            Ok(WireSpeed::Payload(_) | WireSpeed::Cable(_)) => None,
        };
        let mut wire = Wire {
            framing,
            line_bytes_per_s: line.map(|(rate, _)| rate),
            speed_from: line.map(|(_, from)| from),
            payload_bytes_per_s: payload,
            share,
            fill,
            text: String::new(),
            unknown,
            cable: cable.map(|cable| cable.name.clone()),
        };
        if wire.cable.is_some() {
            wire.speed_from = Some(SpeedFrom::Cable);
        }
        if matches!(speed, Ok(WireSpeed::Payload(_))) {
            wire.speed_from = Some(SpeedFrom::Scenario);
        }
        wire.text = wire.describe(carried);
        wire
    }

    fn describe(&self, carried: f64) -> String {
        let framing = self.framing.as_ref().map(|framing| framing.text.as_str());
        let end = match self.share {
            Some(share) => format!("carried {}, {} of that", rate(carried), percent(share)),
            None => format!("carried {}", rate(carried)),
        };
        if let (Some(cable), Some(payload)) = (&self.cable, self.payload_bytes_per_s) {
            return format!("{cable} carries {} of payload each way; {end}", rate(payload));
        }
        match (framing, self.line_bytes_per_s, self.payload_bytes_per_s) {
            (Some(framing), Some(line), Some(payload)) => {
                let share = self.framing.as_ref().map_or(0.0, |framing| framing.share);
                let (share, line, payload) = (percent(share), rate(line), rate(payload));
                format!("{framing}: {share} of {line} = {payload}; {end}")
            }
            (_, None, Some(payload)) => {
                format!("the scenario's wire carries {} of payload; {end}", rate(payload))
            }
            (framing, ..) => {
                let why = self.unknown.as_deref().unwrap_or("the wire is not known");
                let framing = framing.map_or(String::new(), |framing| format!("; {framing}"));
                format!("no share of a wire: {why}; {end}{framing}")
            }
        }
    }

    /// Bytes a second on the wire, with all headers; what was carried where the headers are not known.
    pub(super) fn on_wire(framing: &Result<Framing, String>, carried: f64) -> f64 {
        framing.as_ref().map_or(carried, |framing| carried / framing.share)
    }
}

/// Bytes a second in MB/s, with thousands apart.
pub(super) fn rate(bytes_per_s: f64) -> String {
    format!("{} MB/s", count(bytes_per_s / 1e6))
}

/// A share with one decimal.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

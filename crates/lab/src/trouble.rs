//! What hampers a cable that is up, and what ends that, in the words of `ip` and `tc`.
//!
//! Packets are lost by a classifier in Berkeley's language (`cls_bpf`) that draws a number for each packet that comes in at an end:
//! no program but `tc` is needed. The kernel hands over up to 64 KiB at once; where packets are lost or too large, each end sends
//! frame by frame instead, so that frames are what is lost. An interface refuses what is larger than its MTU only where it comes
//! in; what would leave by it is dropped by another such classifier.

use crate::plan::{Cable, LabPlan, Node, NodeKind, Shaping, in_payload, shaping};
use crate::script::{Batch, bucket_at};
use units::{LinkRate, Percent};

/// What a stalled cable still carries: a bucket cannot be without any rate.
const TRICKLE: LinkRate = LinkRate::Rate(units::ByteRate(8e3));
/// Packets that the kernel hands over at once, where it may.
const SEGMENTS: u32 = 65_535;
/// Bytes of a frame's header.
const HEADER: u32 = 14;
/// What a number that is drawn is below.
const DRAWN: f64 = 4_294_967_296.0;

/// What is wrong with a cable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// It has this speed, before scaling.
    Slow(LinkRate),
    /// It loses this share of its packets, 0 to 1, in each direction.
    Lose(f64),
    /// One of its ends takes packets up to so many bytes: that at a switch, or else its first.
    Mismatch(u32),
    /// What is sent waits.
    Stall,
}

/// The orders that bring a trouble, and those that end it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// What brings it.
    pub bring: Vec<Batch>,
    /// What ends it.
    pub end: Vec<Batch>,
}

impl LabPlan {
    /// The end at which a cable is cut: at a switch where there is one, since a host and an array have routes.
    pub fn cut(&self, cable: &Cable) -> (usize, usize) {
        let end = &cable.ends[self.switch_end(cable)];
        (end.node, end.port)
    }

    fn switch_end(&self, cable: &Cable) -> usize {
        let switch = |end: &crate::CableEnd| self.nodes[end.node].kind == NodeKind::Switch;
        cable.ends.iter().position(switch).unwrap_or(0)
    }

    /// What brings a trouble to a cable, and what ends it. `netem` says whether the kernel delays its packets.
    pub fn trouble(&self, cable: &Cable, trouble: Trouble, netem: bool) -> Orders {
        match trouble {
            Trouble::Slow(rate) => self.buckets(cable, self.slower(cable, rate), netem),
            Trouble::Stall => {
                let frame = u64::from(cable.mtu + HEADER);
                let slow = self.slower(cable, TRICKLE);
                let bits_per_s = (TRICKLE.payload().0 * 8.0) as u64;
                self.buckets(cable, Shaping { bits_per_s, burst: 2 * frame, ..slow }, netem)
            }
            Trouble::Lose(share) => lossy(cable, share),
            Trouble::Mismatch(mtu) => {
                let end = &cable.ends[self.switch_end(cable)];
                let name = Node::interface(end.port);
                let line = |mtu| format!("link set dev {name} mtu {mtu}");
                let ip = |line| Batch { node: end.node, program: "ip", lines: vec![line] };
                let tc = |lines| Batch { node: end.node, program: "tc", lines };
                let mut orders = Orders { bring: frame_by_frame(cable, 1), end: Vec::new() };
                orders.bring.push(ip(line(mtu)));
                orders.bring.push(tc(refusing(&name, mtu)));
                orders.end.push(tc(vec![format!("qdisc del dev {name} clsact")]));
                orders.end.push(ip(line(cable.mtu)));
                orders.end.extend(frame_by_frame(cable, SEGMENTS));
                orders
            }
        }
    }

    /// A cable's bucket at another rate.
    fn slower(&self, cable: &Cable, rate: LinkRate) -> Shaping {
        let scaled = in_payload(rate, cable.mtu) * self.scale / 100.0;
        let usual = shaping(scaled, cable.mtu, None);
        match cable.shaping {
            // What may wait is a property of the ports.
            Some(of) => Shaping { bits_per_s: usual.bits_per_s, ..of },
            None => usual,
        }
    }

    /// Another bucket at both ends.
    fn buckets(&self, cable: &Cable, bucket: Shaping, netem: bool) -> Orders {
        let mut orders = Orders::default();
        for end in &cable.ends {
            let (name, place) = (Node::interface(end.port), bucket_at(cable, netem));
            let tc = |line| Batch { node: end.node, program: "tc", lines: vec![line] };
            let set = |of: Shaping| format!("qdisc replace dev {name} {place} {}", of.words());
            orders.bring.push(tc(set(bucket)));
            orders.end.push(tc(match cable.shaping {
                Some(of) => set(of),
                None => format!("qdisc del dev {name} {place}"),
            }));
        }
        orders
    }
}

/// Loses packets at both ends.
fn lossy(cable: &Cable, share: f64) -> Orders {
    let mut orders = Orders { bring: frame_by_frame(cable, 1), end: Vec::new() };
    for end in &cable.ends {
        let name = Node::interface(end.port);
        let tc = |lines| Batch { node: end.node, program: "tc", lines };
        orders.bring.push(tc(losing(&name, share)));
        orders.end.push(tc(vec![format!("qdisc del dev {name} clsact")]));
    }
    orders.end.extend(frame_by_frame(cable, SEGMENTS));
    orders
}

/// The lines that have an interface lose a share of what comes in.
pub(crate) fn losing(name: &str, share: f64) -> Vec<String> {
    let least = (Percent(100.0 * share).fraction() * DRAWN).min(DRAWN - 1.0) as u32;
    // Load a random word (extension 56 of the ancillary data), drop what is below, pass the rest on (-1).
    let program = format!("4,32 0 0 4294963256,53 0 1 {least},6 0 0 4294967295,6 0 0 2");
    classified(name, "ingress", &program)
}

/// The lines that have an interface drop what is larger than its MTU and would leave by it.
fn refusing(name: &str, mtu: u32) -> Vec<String> {
    // Load the length, with the header of a frame, and drop what is longer.
    let program = format!("4,128 0 0 0,37 1 0 {},6 0 0 4294967295,6 0 0 2", mtu + HEADER);
    classified(name, "egress", &program)
}

fn classified(name: &str, way: &str, program: &str) -> Vec<String> {
    let filter = format!("filter add dev {name} {way} pref 1 protocol all bpf");
    vec![
        format!("qdisc add dev {name} clsact"),
        format!("{filter} direct-action bytecode \"{program}\""),
    ]
}

/// How many frames each end of a cable sends at once.
fn frame_by_frame(cable: &Cable, segments: u32) -> Vec<Batch> {
    let of = |end: &crate::CableEnd| {
        let line = format!("link set dev {} gso_max_segs {segments}", Node::interface(end.port));
        Batch { node: end.node, program: "ip", lines: vec![line] }
    };
    cable.ends.iter().map(of).collect()
}

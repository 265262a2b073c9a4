//! Connections in a lab: cables, teams, zones and paths.

use super::lab::POLICIES;
use super::{KeyWord, PLAIN, TableDef, Type, count, default, optional, required, word};

pub(super) static LINK: TableDef = TableDef {
    title: "[[link]]",
    id: "link",
    doc: "A cable between two ports.",
    fields: &[
        optional("name", Type::Name, "Name; default: `FROM-TO`."),
        required(
            "from",
            Type::Ref("an adapter, a switch or an array, with an optional `:PORT`"),
            "One end.",
        ),
        required(
            "to",
            Type::Ref("an adapter, a switch or an array, with an optional `:PORT`"),
            "The other end.",
        ),
        optional("rate", Type::LinkRate, "Speed: a standard, or a payload rate."),
        optional("length_m", Type::Number { min: 0.0, max: 1e7 }, "Length in metres."),
        optional("mtu", count(576, 65_535), "MTU in bytes (Ethernet)."),
        optional(
            "credits",
            count(1, 65_535),
            "Frames that each end may have in flight (Fibre Channel buffer-to-buffer credits).",
        ),
        optional(
            "vlan",
            Type::OneOrMany(&count(1, 4094)),
            "The VLAN that the switch's port is in (an access port); default: 1. Between switches, the VLANs that the \
             cable carries (a trunk); default: all.",
        ),
    ],
    ..PLAIN
};

pub(super) static ZONE: TableDef = TableDef {
    title: "[[zone]]",
    id: "zone",
    doc: "Ports that may communicate. Without zones, all may.",
    fields: &[
        required("name", Type::Name, "Its name."),
        required(
            "members",
            Type::Refs("an adapter or an array, with an optional `:PORT`, or a VM"),
            "The members; a VM is a member by its virtual WWPN (`npiv`).",
        ),
    ],
    ..PLAIN
};

pub(super) static PATH: TableDef = TableDef {
    title: "[[path]]",
    id: "path",
    doc: "An explicit path to a volume, where the links allow several. Without `via` it means every possible path.",
    fields: &[
        required("name", Type::Name, "Its name."),
        required("from", Type::Ref("a VM or a host"), "The initiator."),
        required("to", Type::Ref("an array, or `ARRAY/VOLUME`"), "The array or volume."),
        optional(
            "via",
            Type::Refs("an adapter, a switch, a link or an array, with an optional `:PORT`"),
            "Hops in between, in order.",
        ),
        optional(
            "policy",
            Type::Word(POLICIES),
            "Multipath policy for paths to the same volume; default: `fixed`.",
        ),
        optional(
            "switch_after",
            Type::CountOrSize,
            "I/Os or bytes sent over one path before `round-robin` switches to the next; default: the hypervisor \
             part's value, else 1.",
        ),
    ],
    ..PLAIN
};

const TEAM_MODES: &[KeyWord] = &[
    word("static", "each flow stays on one member, chosen by a hash of both endpoints"),
    word("dynamic", "the same, negotiated with LACP (802.3ad)"),
    word(
        "adaptive",
        "without the switch's help: flows are spread out by their peers, and back by ARP (balance-alb)",
    ),
    word("failover", "one member carries everything until it fails"),
];

pub(super) static TEAM: TableDef = TableDef {
    title: "[[team]]",
    id: "team",
    doc: "Network adapter ports of a host that act as one. The full name is `HOST.NAME`. For simulated and emulated \
          labs.",
    fields: &[
        required("name", Type::Name, "Name within the host."),
        required("host", Type::Ref("a host"), "The host."),
        required(
            "members",
            Type::Refs("an adapter of the host, with an optional `:PORT`"),
            "Members, in order.",
        ),
        default(
            "mode",
            Type::Word(TEAM_MODES),
            "static",
            "How traffic is spread over the members.",
        ),
    ],
    ..PLAIN
};

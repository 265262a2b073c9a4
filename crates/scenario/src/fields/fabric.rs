//! What joins the parts of a lab: cables, teams, zones and paths.

use super::lab::POLICIES;
use super::{PLAIN, TableDef, Type, Word, count, default, optional, required, word};

pub(super) static LINK: TableDef = TableDef {
    title: "[[link]]",
    id: "link",
    doc: "A cable between two ports.",
    fields: &[
        optional("name", Type::Name, "Its name; `FROM-TO` when not given."),
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
        optional("rate", Type::LinkRate, "Its speed: of a standard, or as a payload rate."),
        optional("length_m", Type::Number { min: 0.0, max: 1e7 }, "Its length in metres."),
        optional("mtu", count(576, 65_535), "Its MTU in bytes (Ethernet)."),
        optional(
            "credits",
            count(1, 65_535),
            "Frames that each end may have under way to the other (buffer-to-buffer credits of Fibre Channel).",
        ),
    ],
    ..PLAIN
};

pub(super) static ZONE: TableDef = TableDef {
    title: "[[zone]]",
    id: "zone",
    doc: "Who may talk to whom. Without any zone, everybody may.",
    fields: &[
        required("name", Type::Name, "Its name."),
        required(
            "members",
            Type::Refs("an adapter or an array, with an optional `:PORT`, or a VM"),
            "Its members; a VM by its virtual WWPN (`npiv`).",
        ),
    ],
    ..PLAIN
};

pub(super) static PATH: TableDef = TableDef {
    title: "[[path]]",
    id: "path",
    doc: "An explicit way to a volume, where the links leave a choice. Without `via` it stands for every way that there \
          is.",
    fields: &[
        required("name", Type::Name, "Its name."),
        required("from", Type::Ref("a VM or a host"), "Where it begins."),
        required("to", Type::Ref("an array, or `ARRAY/VOLUME`"), "Where it ends."),
        optional(
            "via",
            Type::Refs("an adapter, a switch, a link or an array, with an optional `:PORT`"),
            "The hops between, in order.",
        ),
        optional(
            "policy",
            Type::Word(POLICIES),
            "How paths to the same volume are used; `fixed` unless given.",
        ),
        optional(
            "switch_after",
            Type::CountOrSize,
            "I/Os or bytes over one path before it is the next one's turn (`round-robin`); what the hypervisor's model says \
             when not given, or else 1.",
        ),
    ],
    ..PLAIN
};

const TEAM_MODES: &[Word] = &[
    word("static", "a conversation stays on one member, chosen by a hash of its two ends"),
    word("dynamic", "the same, by the protocol of 802.3ad"),
    word("failover", "one member carries everything until it fails"),
];

pub(super) static TEAM: TableDef = TableDef {
    title: "[[team]]",
    id: "team",
    doc: "Ports of network adapters of a host that act as one. Its full name is `HOST.NAME`. Only the simulator uses it.",
    fields: &[
        required("name", Type::Name, "Its name within the host."),
        required("host", Type::Ref("a host"), "The host."),
        required(
            "members",
            Type::Refs("an adapter of the host, with an optional `:PORT`"),
            "Its members, in order.",
        ),
        default("mode", Type::Word(TEAM_MODES), "static", "How they are used."),
    ],
    ..PLAIN
};

//! Arrays that run on this machine for the duration of a run, and injected faults.

use super::{
    Conflict, ExclusiveKeys, Need, PLAIN, TIME, TableDef, Type, count, default, optional, required,
};
use crate::fields::KeyField;

pub(super) static EMBEDDED: TableDef = TableDef {
    title: "`embedded`",
    id: "embedded",
    doc: "The array runs on the machine that runs the scenario, as an iSCSI target on loopback, for the duration of \
          the run; its volumes are in memory. A VM's disk on such a volume is loaded like a target and can be written \
          without a token. Its hops are the ports (`ARRAY.PORT`) and the volumes (`ARRAY/VOLUME`). With a part of kind \
          `tape` it is a tape library: each volume is a drive with one blank cartridge of its `size`, for copies alone, at \
          the part's `drive_rate` [as fast as memory], without stops and compression; its hop is `ARRAY.VOLUME`.",
    fields: &[
        required("ports", Type::Tables(&PORT), "The ports; each is a portal of the target."),
        default(
            "scale",
            Type::Percent,
            "100%",
            "Factor for all port speeds, for machines that cannot carry the full speeds.",
        ),
        optional("threads", count(1, 256), "Threads that serve I/O; default: one per core."),
        default(
            "cpu",
            Type::Percent,
            "100%",
            "Quota of processor time of each of these threads; at least 1%.",
        ),
    ],
    ..PLAIN
};

static PORT: TableDef = TableDef {
    title: "a port",
    id: "port",
    doc: "A port of an embedded array. Its full name is `ARRAY.NAME`.",
    fields: &[
        required("name", Type::Name, "The port's name within the array."),
        optional(
            "rate",
            Type::LinkRate,
            "Speed in each direction, before scaling; default: unlimited. A standard means its payload rate: `8gfc` \
             is 826.5 MB/s.",
        ),
        default("latency", TIME, "0s", "A delay of each I/O through the port, up to 10 s."),
    ],
    ..PLAIN
};

/// A port, as a fault names it.
const AT_PORT: Type = Type::Refs("a port of an embedded array, as `ARRAY.PORT`");

/// Components that can fail in a simulated lab.
const IN_LAB: Type = Type::Refs(
    "a VM, host, adapter, switch, array or link, with an optional `:PORT` where it has ports",
);

/// A key that names the ports a fault acts on.
const fn action(key: &'static str, doc: &'static str) -> KeyField {
    KeyField { key, ty: AT_PORT, need: Need::Optional, doc }
}

pub(super) static FAULT: TableDef = TableDef {
    title: "a fault",
    id: "fault",
    doc: "An injected fault or a recovery: at a port of an embedded array (`kill`, `revive`, `slow`, `busy`, \
          `ready`), in a simulated or an emulated lab, at guests and at their hosts (`fail`, `restore`, `move`), or in an emulated lab alone (`slow` of a \
          cable, `lose`, `mismatch`, `stall`, `kill` of a host). Every step starts without faults: all ports at \
          full speed, every VM on its configured host.",
    fields: &[
        required(
            "at",
            TIME,
            "Time since the start of the step's measured time, and before its end.",
        ),
        action(
            "kill",
            "The port fails: connections break and requests get no answer. Of an emulated host: its processes die, and stay \
             dead. Of a host of guests: their machines lose their power.",
        ),
        action("revive", "A killed port works again."),
        action(
            "slow",
            "The port's speed becomes `to`. Of a part of an emulated lab: that of its cables.",
        ),
        action("busy", "The port answers every command with BUSY."),
        action("ready", "A busy port executes commands again."),
        optional(
            "fail",
            IN_LAB,
            "The component fails and carries no traffic; a guest is paused, and those of a host that fails lose their power. Simulator, an \
             emulated lab, a guest, or a host of guests.",
        ),
        optional(
            "restore",
            IN_LAB,
            "A failed or hampered component works again; guests of a host boot again. Simulator, an emulated lab, a guest, or a \
             host of guests.",
        ),
        optional(
            "lose",
            IN_LAB,
            "The cables of the component lose a `share` of their packets in each direction. Emulated lab.",
        ),
        optional("share", Type::Percent, "For `lose`, the share of the packets."),
        optional(
            "mismatch",
            IN_LAB,
            "One end of each cable of the component takes packets up to `mtu` bytes alone. Emulated lab.",
        ),
        optional("mtu", count(576, 65_535), "For `mismatch`, in bytes."),
        optional(
            "stall",
            IN_LAB,
            "The cables of the component stay up, and next to nothing is taken off them: what is sent waits. Emulated lab.",
        ),
        optional(
            "move",
            Type::Refs("a VM"),
            "The VM moves to the host `to`; a guest does so while it runs. Simulator, a guest, or emulated hosts.",
        ),
        optional(
            "to",
            Type::LinkRateOrRef("a host"),
            "For `slow`, the port's new speed, before scaling; the configured speed ends the fault. For `move`, the \
             VM's new host.",
        ),
    ],
    choices: &[ExclusiveKeys {
        keys: &[
            "kill", "revive", "slow", "busy", "ready", "fail", "restore", "move", "lose",
            "mismatch", "stall",
        ],
        required: true,
    }],
    conflicts: &[Conflict {
        key: "to",
        others: &[
            "kill", "revive", "busy", "ready", "fail", "restore", "lose", "mismatch", "stall",
        ],
        why: "`to` belongs to `slow` (a speed) or `move` (a host)",
    }],
    ..PLAIN
};

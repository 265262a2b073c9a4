//! What stands on this machine for the time of a run, and what goes wrong at it: embedded arrays, and faults.

use super::{
    Choice, Conflict, Need, PLAIN, TIME, TableDef, Type, count, default, optional, required,
};
use crate::fields::Field;

pub(super) static EMBEDDED: TableDef = TableDef {
    title: "`embedded`",
    id: "embedded",
    doc: "The array stands on the machine that runs the scenario, as an iSCSI target on loopback, for the time of the run; \
          its volumes are memory. A VM's disk on one of them is loaded like a target, and may be written without a token. \
          Hops are named after the ports (`ARRAY.PORT`) and the volumes (`ARRAY/VOLUME`).",
    fields: &[
        required("ports", Type::Tables(&PORT), "Its ports; each is a portal of the target."),
        default(
            "scale",
            Type::Percent,
            "100%",
            "All speeds of its ports are multiplied by this, where the machine cannot carry them.",
        ),
        optional(
            "threads",
            count(1, 256),
            "Threads that serve; as many as there are cores when not given.",
        ),
    ],
    ..PLAIN
};

static PORT: TableDef = TableDef {
    title: "a port",
    id: "port",
    doc: "A port of an embedded array. Its full name is `ARRAY.NAME`.",
    fields: &[
        required("name", Type::Name, "Its name within the array."),
        optional(
            "rate",
            Type::LinkRate,
            "Its speed in each direction, before it is scaled; as fast as it goes when not given. A standard stands for \
             its payload rate: `8gfc` for 826.5 MB/s.",
        ),
    ],
    ..PLAIN
};

/// A port, as a fault names it.
const AT_PORT: Type = Type::Refs("a port of an embedded array, as `ARRAY.PORT`");

/// What can fail in a simulated lab.
const IN_LAB: Type = Type::Refs(
    "a VM, host, adapter, switch, array or link, with an optional `:PORT` where it has ports",
);

/// A key that names the ports of a fault.
const fn action(key: &'static str, doc: &'static str) -> Field {
    Field { key, ty: AT_PORT, need: Need::Optional, doc }
}

pub(super) static FAULT: TableDef = TableDef {
    title: "a fault",
    id: "fault",
    doc: "Something that goes wrong, or right again: at a port of an embedded array (`kill`, `revive`, `slow`, `busy`, \
          `ready`), or in a simulated lab (`fail`, `restore`, `move`). Every step begins with everything whole, all ports \
          at their speed and every VM where the lab has it.",
    fields: &[
        required(
            "at",
            TIME,
            "When: since the beginning of the step's measured time, and before its end.",
        ),
        action("kill", "The port is gone: connections break, and nobody answers."),
        action("revive", "A port that was killed is there again."),
        action("slow", "The port has the speed `to` from now on."),
        action("busy", "The port answers every command with BUSY."),
        action("ready", "A port that was busy carries out commands again."),
        optional("fail", IN_LAB, "It carries nothing any more. Only the simulator does this."),
        optional("restore", IN_LAB, "What had failed works again. Only the simulator does this."),
        optional(
            "move",
            Type::Refs("a VM"),
            "The VM runs on the host `to` from now on. Only the simulator does this.",
        ),
        optional(
            "to",
            Type::LinkRateOrRef("a host"),
            "The speed of a port that is slowed, before it is scaled; its first speed ends the fault. Or the host that a VM \
             moves to.",
        ),
    ],
    choices: &[Choice {
        keys: &["kill", "revive", "slow", "busy", "ready", "fail", "restore", "move"],
        required: true,
    }],
    conflicts: &[Conflict {
        key: "to",
        others: &["kill", "revive", "busy", "ready", "fail", "restore"],
        why: "that is the speed of a port that is slowed, or the host that a VM moves to",
    }],
    ..PLAIN
};

//! Recorded traces that are replayed.

use super::work::DEPTH;
use super::{KINDS, KeyWord, PLAIN, TIME, TableDef, Type, default, optional, required, word};

const MODES: &[KeyWord] = &[
    word("open", "at the recorded times, whatever the targets do"),
    word(
        "closed",
        "after those that had completed before it was issued, with the recorded pause between",
    ),
    word("fast", "in their order, as fast as they complete"),
];

const REMAPS: &[KeyWord] = &[
    word("compact", "the touched parts are laid closer together, in their order"),
    word("fold", "as `compact`; what still does not fit begins again at the target's start"),
    word("refuse", "a trace that is larger than its targets is refused"),
];

pub(crate) static TRACE: TableDef = TableDef {
    title: "[workload.NAME] of kind trace",
    id: "trace",
    doc: "Replays a trace in Wirespeed's own form, which `wirespeed import` makes of other programs' traces. Each VM or target that \
          runs it replays the whole of it, with one worker; the devices of the trace are dealt to its disks.",
    fields: &[
        required("kind", Type::Word(KINDS), "`trace`."),
        required("file", Type::Text, "The trace."),
        default("mode", Type::Word(MODES), "open", "When I/Os are issued."),
        default(
            "speed",
            Type::Number { min: 1e-6, max: 1e6 },
            "1",
            "Recorded times are divided by it: 2 is twice as fast. No meaning for `fast`.",
        ),
        default(
            "writes",
            Type::Flag,
            "false",
            "Whether writes, trims, zeroes and flushes are replayed as well; they need the target's permission.",
        ),
        default(
            "remap",
            Type::Word(REMAPS),
            "compact",
            "What becomes of a trace larger than its targets.",
        ),
        default(
            "round",
            Type::Flag,
            "false",
            "Whether I/Os that do not fit the targets' logical blocks are extended outward; otherwise they are refused.",
        ),
        default("from", TIME, "0s", "Where in the trace the replay begins."),
        optional("length", TIME, "How much of the trace is replayed; default: all that follows."),
        optional(
            "depth",
            DEPTH,
            "Operations outstanding at most; default: 256 for `open`, 32 for `fast`, the trace's own for `closed`.",
        ),
    ],
    ..PLAIN
};

//! Copies from disk to disk, which only the simulator carries out.

use super::work::{DEPTH, WORKERS};
use super::{BLOCK, KINDS, PLAIN, TableDef, Type, default, required};

/// What is read or written by a copy.
const DISKS: Type = Type::Refs("`ARRAY/VOLUME` or a target");

pub(crate) static COPY: TableDef = TableDef {
    title: "[workload.NAME] of kind copy",
    id: "copy",
    doc: "What is read from one disk is written to another, both at once: a backup, or a clone. Every VM and host that runs \
          it has a disk on each of them. Only the simulator carries it out.",
    fields: &[
        required("kind", Type::Word(KINDS), "`copy`."),
        required(
            "from",
            DISKS,
            "What is read; worker N takes the N-th, beginning again after the last.",
        ),
        required("to", DISKS, "What is written, dealt in the same way."),
        default("block", BLOCK, "256KiB", "Bytes that are read and written in one go."),
        default("depth", DEPTH, "1", "Blocks under way at once for each worker."),
        default("workers", WORKERS, "1", "Workers for each VM or host."),
    ],
    ..PLAIN
};

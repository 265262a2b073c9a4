//! Copies from disk to disk (simulator only).

use super::work::{DEPTH, WORKERS};
use super::{BLOCK, KINDS, PLAIN, TableDef, Type, default, required};

/// The disks that a copy reads or writes.
const DISKS: Type = Type::Refs("`ARRAY/VOLUME` or a target");

pub(crate) static COPY: TableDef = TableDef {
    title: "[workload.NAME] of kind copy",
    id: "copy",
    doc: "Reads one disk and writes the data to another at the same time: a backup or a clone. Every VM and host that \
          runs it has a disk on both. Simulator only.",
    fields: &[
        required("kind", Type::Word(KINDS), "`copy`."),
        required(
            "from",
            DISKS,
            "The source disks; worker N reads the N-th, starting over after the last.",
        ),
        required("to", DISKS, "The destination disks, assigned in the same way."),
        default("block", BLOCK, "256KiB", "Bytes per read and write."),
        default(
            "depth",
            DEPTH,
            "1",
            "Blocks in flight per worker. With 1 a block is read, then written, then the next is read.",
        ),
        default("workers", WORKERS, "1", "Workers per VM or host."),
        default(
            "files",
            Type::Flag,
            "false",
            "Whether it copies files: the host's file system takes `file_cpu_per_io` and `file_cpu_per_byte` for each \
             block at either end.",
        ),
    ],
    ..PLAIN
};

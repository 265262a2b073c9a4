//! Copies from disk to disk.

use super::work::{DEPTH, WORKERS};
use super::{BLOCK, KINDS, PLAIN, TIME, TableDef, Type, default, optional, required};

/// The disks that a copy reads or writes.
const DISKS: Type = Type::Refs("`ARRAY/VOLUME` or a target");

pub(crate) static COPY: TableDef = TableDef {
    title: "[workload.NAME] of kind copy",
    id: "copy",
    doc: "Reads one disk and writes the data to another at the same time: a backup or a clone. Every VM and host that \
          runs it has a disk on both. With `amount`, each of its workers is a job that copies its part, and ends.",
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
            "Buffers per worker: blocks in flight. With 1 a block is read, then written, then the next is read.",
        ),
        optional(
            "read_depth",
            DEPTH,
            "Reads in flight per worker, at most; default: half of `depth`, rounded up. What is read ahead waits in buffers.",
        ),
        optional(
            "write_depth",
            DEPTH,
            "Blocks being written per worker, at most; default: half of `depth`, rounded up.",
        ),
        default("workers", WORKERS, "1", "Workers per VM or host: the jobs."),
        optional(
            "streams",
            WORKERS,
            "Workers that run at a time; the next begins when the one that is as many before it has ended. Needs \
             `amount`. Default: all.",
        ),
        default(
            "verify",
            Type::Flag,
            "false",
            "Whether each block is read back after it is written, and compared with what was read by a checksum.",
        ),
        default(
            "retry",
            TIME,
            "0s",
            "For how long a live copy tries a failed read or write again before it gives up; 0: it fails at once. A full \
             destination is not waited for.",
        ),
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

//! What stands there: targets and the parts of a lab.

use super::network::NIC;
use super::{
    Choice, Conflict, EMBEDDED, PLAIN, SIZE, TIME, TableDef, Type, Word, count, default, optional,
    required, word,
};

const PORTS: Type = count(1, 4096);

const DISK_MAPS: &[Word] = &[
    word("rdm", "raw device mapping"),
    word("vmfs", "a file in a VMFS datastore"),
    word("file", "a file in another file system"),
    word("partition", "a partition"),
    word("passthrough", "the device itself"),
];

pub(super) const POLICIES: &[Word] = &[
    word("fixed", "the first path that can be used"),
    word("round-robin", "paths take turns"),
    word("least-queue", "the path with the fewest I/Os outstanding"),
    word("active-passive", "one path until it fails, then another"),
];

const QUEUES: &[Word] = &[
    word(
        "auto",
        "io_uring; Linux AIO for devices that io_uring would serve by kernel threads; otherwise pread",
    ),
    word("io_uring", "io_uring or nothing"),
    word("aio", "Linux AIO or nothing: block devices with direct I/O"),
    word("pread", "`pread` and `pwrite`: one operation a worker at a time"),
];

const FILLS: &[Word] = &[
    word("auto", "where samples show unwritten, zero or repeated blocks, or data of other ratios"),
    word("always", "whatever it holds"),
    word("never", "it stays as it is"),
];

const RAIDS: &[Word] = &[
    word("none", "one disk, or several one after the other"),
    word("raid-0", "striped, without redundancy"),
    word("raid-1", "pairs of disks that hold the same"),
    word("raid-10", "striped over such pairs"),
    word("raid-5", "striped with one parity"),
    word("raid-6", "striped with two parities"),
];

const CACHES: &[Word] = &[
    word("none", "I/O goes past it"),
    word("write-through", "it answers reads; a write is acknowledged when it is on the disks"),
    word("write-back", "a write is acknowledged when it is in the cache"),
];

const MEDIA: Type = Type::Ref("a part of kind `disk`, or `ram`, `ssd`, `disk` or `file`");

pub(super) static TARGET: TableDef = TableDef {
    title: "[[target]]",
    id: "target",
    doc: "Something that I/O can be issued to on the machine that runs the scenario.",
    fields: &[
        required("name", Type::Name, "Its name."),
        optional(
            "file",
            Type::Text,
            "Path of a file, relative to where the command runs. A range in it is paired with the range in `name`.",
        ),
        optional("device", Type::Text, "Path of a block device."),
        optional(
            "url",
            Type::Text,
            "`null:`, which completes at once and costs only the generator; or `iscsi://…`.",
        ),
        optional(
            "create",
            SIZE,
            "Size of the file that is created when there is none, and used again when Wirespeed made it.",
        ),
        optional("size", SIZE, "Size of a `null:` target, which has none by itself."),
        default("buffered", Type::Flag, "false", "Through the page cache instead of O_DIRECT."),
        optional(
            "verify_state",
            Type::Text,
            "Path of the file in which verification keeps what each block must hold, for later runs. A range in it is \
             paired with the range in `name`.",
        ),
        default(
            "verify_flushed",
            Type::Flag,
            "false",
            "Blocks need to hold only what `verify_state` says had been flushed, or something newer: after the target \
             lost its power and this machine did not.",
        ),
        optional("data", Type::Table(&DATA), "What data that is written to it is like."),
        default(
            "fill",
            Type::Word(FILLS),
            "auto",
            "Whether it is filled before its first load, over all that the run touches of it, if it may be written.",
        ),
        optional(
            "write_token",
            Type::Text,
            "The token that `plan` prints for this target. With it a target may be written that Wirespeed did not make.",
        ),
        default(
            "overwrite",
            Type::Flag,
            "false",
            "Beside the token: what the target carries (file systems, partitions, data) may be lost.",
        ),
        default("queue", Type::Word(QUEUES), "auto", "What carries its I/O."),
        default(
            "polled",
            Type::Flag,
            "false",
            "Completions are looked for instead of waited for (io_uring, on a device with polled queues).",
        ),
        optional(
            "part",
            Type::Ref("a part of kind `disk` or `array`"),
            "Its model, by which it is simulated.",
        ),
    ],
    choices: &[Choice { keys: &["file", "device", "url"], required: true }],
    ..PLAIN
};

static DATA: TableDef = TableDef {
    title: "`data`",
    id: "data",
    doc: "How far data can be reduced by storage that compresses it or finds duplicates. By default it cannot: it is \
          random, and no 512 bytes of it are like others.",
    fields: &[
        default(
            "compress",
            Type::Number { min: 1.0, max: 16.0 },
            "1",
            "Original over compressed size, as LZ4 reaches it on chunks of 4 KiB.",
        ),
        default(
            "dedupe",
            Type::Number { min: 1.0, max: 50.0 },
            "1",
            "Blocks of 4 KiB over different blocks among them.",
        ),
    ],
    ..PLAIN
};

pub(super) static HOST: TableDef = TableDef {
    title: "[[host]]",
    id: "host",
    doc: "A physical host.",
    fields: &[
        required("name", Type::Name, "Its name."),
        optional("part", Type::Ref("a part of kind `host`"), "Its model."),
        optional(
            "hypervisor",
            Type::Ref("a part of kind `hypervisor`"),
            "What it runs its VMs on.",
        ),
        optional("adapters", Type::Tables(&ADAPTER), "Its adapters."),
        optional(
            "disks",
            Type::Tables(&DISK),
            "Disks that it uses itself, with no VM between. Only the simulator loads them.",
        ),
    ],
    ..PLAIN
};

static ADAPTER: TableDef = TableDef {
    title: "an adapter",
    id: "adapter",
    doc: "An HBA or a NIC of a host. Its full name is `HOST.NAME`; NAME alone will do where it is unique.",
    fields: &[
        required("name", Type::Name, "Its name within the host."),
        optional("part", Type::Ref("a part of kind `hba` or `nic`"), "Its model."),
        optional("ports", PORTS, "Ports in use, where the scenario differs from the part."),
        default("npiv", Type::Flag, "false", "It carries virtual ports of VMs (NPIV)."),
    ],
    ..PLAIN
};

pub(super) static VM: TableDef = TableDef {
    title: "[[vm]]",
    id: "vm",
    doc: "A virtual machine.",
    fields: &[
        required("name", Type::Name, "Its name."),
        optional("host", Type::Ref("a host"), "The host it runs on."),
        optional("vcpus", count(1, 4096), "Virtual processors."),
        optional("memory", SIZE, "Memory."),
        optional(
            "scsi",
            Type::Refs("a part of kind `virtual-scsi`"),
            "Its virtual SCSI adapters, in order.",
        ),
        default(
            "npiv",
            Type::Flag,
            "false",
            "It has a virtual port with a WWPN of its own, which zones and masks may name, at adapters with `npiv`.",
        ),
        optional("disks", Type::Tables(&DISK), "Its disks."),
        optional("nics", Type::Tables(&NIC), "Its nics, by which network loads on it go."),
    ],
    ..PLAIN
};

/// Keys of a disk that have a meaning on embedded arrays only.
pub(crate) const WAYS: &[&str] =
    &["ports", "policy", "switch_after", "no_path_retry", "path_timeout", "command_timeout"];

static DISK: TableDef = TableDef {
    title: "a disk",
    id: "disk",
    doc: "A disk of a VM, or of a host.",
    fields: &[
        optional("target", Type::Ref("a target"), "The target that backs it: I/O can be issued."),
        optional(
            "lun",
            Type::Ref("`ARRAY/VOLUME`"),
            "The volume that backs it; `ARRAY/auto` for one that the array provides for this disk.",
        ),
        optional("map", Type::Word(DISK_MAPS), "How the hypervisor presents it."),
        optional(
            "adapter",
            Type::Ref("an adapter or a team of the host"),
            "The adapter or team its I/O leaves through; the only one that reaches the array when not given.",
        ),
        optional("controller", count(0, 255), "Which entry of the VM's `scsi`, from 0."),
        optional("size", SIZE, "Its size, when smaller than what backs it."),
        optional(
            "queue",
            count(1, 65_535),
            "I/Os that its queue holds, where the scenario differs from the virtual adapter's model.",
        ),
        optional(
            "ports",
            Type::Refs("a port of the volume's embedded array"),
            "The ports that it is reached through, in order; all of the array's when not given.",
        ),
        optional(
            "policy",
            Type::Word(POLICIES),
            "How these ports are used; `round-robin` where there are several unless given.",
        ),
        optional(
            "switch_after",
            Type::CountOrSize,
            "I/Os or bytes over one path before it is the next one's turn (`round-robin`); 1 unless given.",
        ),
        optional(
            "no_path_retry",
            TIME,
            "How long an I/O waits while no port can carry it, before it fails; 30 s unless given, and not at all where \
             there is one port.",
        ),
        optional(
            "path_timeout",
            TIME,
            "A port is given up that has been silent for so long with commands under way, at least `200ms`; 10 s unless given.",
        ),
        optional(
            "command_timeout",
            TIME,
            "A command is aborted that has taken so long, at least `200ms`; 30 s unless given.",
        ),
    ],
    choices: &[Choice { keys: &["target", "lun"], required: true }],
    conflicts: &[Conflict {
        key: "target",
        others: WAYS,
        why: "only a `lun` on an embedded array is reached through ports",
    }],
    ..PLAIN
};

pub(super) static SWITCH: TableDef = TableDef {
    title: "[[switch]]",
    id: "switch",
    doc: "A switch.",
    fields: &[
        required("name", Type::Name, "Its name."),
        optional("part", Type::Ref("a part of kind `switch`"), "Its model."),
    ],
    ..PLAIN
};

pub(super) static ARRAY: TableDef = TableDef {
    title: "[[array]]",
    id: "array",
    doc: "An array, a server that exports volumes, or a tape library.",
    fields: &[
        required("name", Type::Name, "Its name."),
        optional("part", Type::Ref("a part of kind `array` or `tape`"), "Its model."),
        optional(
            "controllers",
            count(1, 4096),
            "Controllers, where the scenario differs from the part.",
        ),
        optional(
            "ports",
            PORTS,
            "Front-end ports in use, where the scenario differs from the part.",
        ),
        optional(
            "embedded",
            Type::Table(&EMBEDDED),
            "What stands for it on this machine for the time of a run. Without it the array is not at hand, and disks on \
             it cannot be loaded.",
        ),
        optional("cache", SIZE, "Its cache, where the scenario differs from the part."),
        optional(
            "hit_share",
            Type::Percent,
            "Reads that its cache answers, where the scenario differs from the part.",
        ),
        optional("media", MEDIA, "What its volumes lie on, unless they say otherwise."),
    ],
    conflicts: &[Conflict {
        key: "embedded",
        others: &["ports"],
        why: "its ports are listed there",
    }],
    ..PLAIN
};

pub(super) static VOLUME: TableDef = TableDef {
    title: "[[volume]]",
    id: "volume",
    doc: "A volume on an array, known as `ARRAY/NAME`.",
    fields: &[
        required("name", Type::Name, "Its name, unique on its array."),
        required("array", Type::Ref("an array"), "The array it lies on."),
        optional("size", SIZE, "Its size; required on an embedded array."),
        default(
            "block",
            Type::Sector,
            "512",
            "Bytes of a logical block of a volume on an embedded array.",
        ),
        default(
            "thin",
            Type::Flag,
            "false",
            "On an embedded array: memory is taken as it is written, and given back by UNMAP.",
        ),
        optional("raid", Type::Word(RAIDS), "Its RAID level."),
        optional("disks", count(1, 100_000), "Disks behind it, those of all its LUNs together."),
        default(
            "luns",
            count(1, 4096),
            "1",
            "LUNs that it is striped over, each a RAID group of its own (a meta-LUN).",
        ),
        optional("media", MEDIA, "What it lies on; what the array says when not given."),
        optional("cache", Type::Word(CACHES), "What the array's cache does for it."),
        optional(
            "hit_share",
            Type::Percent,
            "Reads that the array's cache answers, where the volume differs from the array.",
        ),
        optional(
            "mask",
            Type::Refs("an adapter, a VM or a host"),
            "Initiators that may see it; everybody when not given.",
        ),
        optional(
            "port",
            Type::Ref("a port of its array, as `ARRAY:PORT`"),
            "The one front-end port that it is mapped to; all of the array's when not given.",
        ),
    ],
    ..PLAIN
};

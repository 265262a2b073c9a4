//! What stands there: targets and the parts of a lab.

use super::network::NIC;
use super::{
    Choice, Conflict, EMBEDDED, Field, Need, PLAIN, SIZE, TIME, TableDef, Type, Word, count,
    default, optional, required, word,
};

const PORTS: Type = count(1, 4096);

/// Kinds of parts, as written.
pub(crate) const PART_KINDS: &[Word] = &[
    word("host", "a server"),
    word("hypervisor", "a hypervisor"),
    word("virtual-scsi", "a virtual SCSI adapter"),
    word("hba", "a Fibre Channel host bus adapter"),
    word("nic", "a network adapter"),
    word("switch", "a switch"),
    word("array", "an array or a storage server"),
    word("disk", "a disk or an SSD"),
    word("tape", "a tape drive or library"),
];

const FIGURE_KINDS: &[Word] = &[
    word("data-sheet", "from a data sheet or a published description"),
    word("published", "measured, or recommended, by somebody who is not its maker"),
    word("standard", "derived from a standard"),
    word("assumed", "assumed; `source` says why"),
    word("calibrated", "calibrated on a claim; `source` names it"),
];

const DISK_MAPS: &[Word] = &[
    word("rdm", "raw device mapping"),
    word("vmfs", "a file in a VMFS datastore"),
    word("file", "a file in another file system"),
    word("partition", "a partition"),
    word("passthrough", "the device itself"),
];

const POLICIES: &[Word] = &[
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
    doc: "A disk of a VM.",
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
            Type::Ref("an adapter of the VM's host"),
            "The adapter its I/O leaves through.",
        ),
        optional("controller", count(0, 255), "Which entry of the VM's `scsi`, from 0."),
        optional("size", SIZE, "Its size, when smaller than what backs it."),
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
        optional("raid", Type::Text, "RAID level, such as `raid-1`."),
        optional("disks", count(1, 100_000), "Disks behind it."),
        optional(
            "mask",
            Type::Refs("an adapter, a VM or a host"),
            "Initiators that may see it; everybody when not given.",
        ),
    ],
    ..PLAIN
};

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
            Type::Refs("an adapter, an array or a VM"),
            "Its members; a VM by its virtual WWPN.",
        ),
    ],
    ..PLAIN
};

pub(super) static PATH: TableDef = TableDef {
    title: "[[path]]",
    id: "path",
    doc: "An explicit way to a volume, where the links leave a choice.",
    fields: &[
        required("name", Type::Name, "Its name."),
        required("from", Type::Ref("a VM or a host"), "Where it begins."),
        required("to", Type::Ref("an array, or `ARRAY/VOLUME`"), "Where it ends."),
        optional(
            "via",
            Type::Refs("an adapter, a switch, a link or an array, with an optional `:PORT`"),
            "The hops between, in order.",
        ),
        optional("policy", Type::Word(POLICIES), "How paths to the same volume are used."),
    ],
    ..PLAIN
};

pub(crate) static PART: TableDef = TableDef {
    title: "[[part]]",
    id: "part",
    doc: "A model of hardware. One with the name of a catalog part takes its place.",
    fields: &[
        required("name", Type::Text, "The name that `part` refers to."),
        required("kind", Type::Word(PART_KINDS), "What it is."),
        optional("model", Type::Text, "The maker's full name for it."),
        optional("figures", Type::Tables(&FIGURE), "Its figures."),
    ],
    ..PLAIN
};

pub(super) static FIGURE: TableDef = TableDef {
    title: "a figure",
    id: "figure",
    doc: "A figure of a part, or of a profile of an application.",
    fields: &[
        required(
            "name",
            Type::Text,
            "What it measures, such as `ports`, `port_rate` or `iops_max`.",
        ),
        required("value", Type::Text, "The value, with its unit."),
        required("source", Type::Text, "Where it comes from."),
        required("kind", Type::Word(FIGURE_KINDS), "How far it can be trusted."),
    ],
    ..PLAIN
};

/// Catalog files hold parts and nothing else.
pub(crate) static CATALOG: TableDef = TableDef {
    title: "the catalog",
    id: "catalog",
    doc: "A file of the catalog.",
    fields: &[Field { key: "part", ty: Type::Tables(&PART), need: Need::Required, doc: "Models." }],
    ..PLAIN
};

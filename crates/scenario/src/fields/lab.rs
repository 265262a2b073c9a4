//! Targets and the components of a lab.

use super::counted::{COUNTERS, CREDENTIALS, IDENTITIES};
use super::network::NIC;
use super::{
    Conflict, EMBEDDED, ExclusiveKeys, KeyWord, PLAIN, SIZE, TIME, TableDef, Type, count, default,
    optional, required, word,
};

const PORTS: Type = count(1, 4096);

const DISK_MAPS: &[KeyWord] = &[
    word("rdm", "raw device mapping"),
    word("vmfs", "a file in a VMFS datastore"),
    word("file", "a file in another file system"),
    word("partition", "a partition"),
    word("passthrough", "the device itself"),
];

const INITIATORS: &[KeyWord] = &[
    word("qemu", "QEMU's own, behind a virtual adapter"),
    word("kernel", "that of the guest's kernel, over a virtual network"),
];

const MACHINES: &[KeyWord] = &[word(
    "qemu",
    "a guest of QEMU with its own kernel; its `scsi` are `pvscsi`, `lsi53c895a`, `mptsas1068`, `megasas`, `virtio-scsi`, \
     `nvme` or `ahci`",
)];

pub(super) const POLICIES: &[KeyWord] = &[
    word("fixed", "the first path that can be used"),
    word("round-robin", "each path in turn"),
    word("least-queue", "the path with the fewest I/Os outstanding"),
    word("active-passive", "one path until it fails, then another"),
];

const QUEUES: &[KeyWord] = &[
    word(
        "auto",
        "io_uring; Linux AIO for devices that io_uring would serve by kernel threads; otherwise pread",
    ),
    word("io_uring", "io_uring only"),
    word("aio", "Linux AIO only: block devices with direct I/O"),
    word("pread", "`pread` and `pwrite`: one operation per worker at a time"),
];

const FILLS: &[KeyWord] = &[
    word("auto", "if samples show unwritten, zero or repeated blocks, or data with other ratios"),
    word("always", "regardless of its contents"),
    word("never", "never fill it"),
];

const RAIDS: &[KeyWord] = &[
    word("none", "one disk, or several one after the other"),
    word("raid-0", "striped, without redundancy"),
    word("raid-1", "mirrored pairs of disks"),
    word("raid-10", "striped over mirrored pairs"),
    word("raid-5", "striped with one parity"),
    word("raid-6", "striped with two parities"),
];

const CACHES: &[KeyWord] = &[
    word("none", "I/O bypasses the cache"),
    word("write-through", "serves reads; a write is acknowledged when it is on the disks"),
    word("write-back", "a write is acknowledged when it is in the cache"),
];

const MEDIA: Type = Type::Ref("a part of kind `disk`, or `ram`, `ssd`, `disk` or `file`");

pub(super) static TARGET: TableDef = TableDef {
    title: "[[target]]",
    id: "target",
    doc: "A device, file or LUN that the machine running the scenario can issue I/O to.",
    fields: &[
        required("name", Type::Name, "Its name."),
        optional(
            "file",
            Type::Text,
            "Path of a file, relative to the working directory. A range in it is paired with the range in `name`.",
        ),
        optional("device", Type::Text, "Path of a block device."),
        optional(
            "url",
            Type::Text,
            "`null:`, which completes at once and measures only generator overhead; `iscsi://…`; or `tape://…`, a \
             tape drive, as the source or the destination of copies.",
        ),
        optional(
            "create",
            SIZE,
            "Creates a file of this size if there is none; a file that Wirespeed created is reused.",
        ),
        optional("size", SIZE, "Size of a `null:` target."),
        default("buffered", Type::Flag, "false", "Use the page cache instead of O_DIRECT."),
        optional(
            "verify_state",
            Type::Text,
            "Path of the file that keeps the expected contents of each block for later runs. A range in it is paired \
             with the range in `name`.",
        ),
        default(
            "verify_flushed",
            Type::Flag,
            "false",
            "Accept any block that is at least as new as the last flush recorded in `verify_state`: for checks after \
             the target, but not this machine, lost power.",
        ),
        optional("data", Type::Table(&DATA), "Properties of the data written to it."),
        default(
            "fill",
            Type::Word(FILLS),
            "auto",
            "Whether the part of it that the run uses is filled before the first load; only if it may be written.",
        ),
        optional(
            "write_token",
            Type::Text,
            "The token that `plan` prints for this target. It permits writing to a target that Wirespeed did not \
             create.",
        ),
        default(
            "overwrite",
            Type::Flag,
            "false",
            "With the token: existing contents (file systems, partitions, data) may be destroyed.",
        ),
        default("queue", Type::Word(QUEUES), "auto", "I/O interface."),
        default(
            "polled",
            Type::Flag,
            "false",
            "Poll for completions (io_uring, on a device with polled queues).",
        ),
        optional(
            "part",
            Type::Ref("a part of kind `disk` or `array`"),
            "Model used to simulate it.",
        ),
    ],
    choices: &[ExclusiveKeys { keys: &["file", "device", "url"], required: true }],
    ..PLAIN
};

static DATA: TableDef = TableDef {
    title: "`data`",
    id: "data",
    doc: "How far storage can reduce the written data by compression and deduplication. By default not at all: the \
          data is random, and no two 512-byte pieces are equal.",
    fields: &[
        default(
            "compress",
            Type::Number { min: 1.0, max: 16.0 },
            "1",
            "Compression ratio, as LZ4 reaches it on 4 KiB chunks.",
        ),
        default(
            "dedupe",
            Type::Number { min: 1.0, max: 50.0 },
            "1",
            "Deduplication ratio: 4 KiB blocks over distinct 4 KiB blocks.",
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
        optional("hypervisor", Type::Ref("a part of kind `hypervisor`"), "Hypervisor model."),
        optional("adapters", Type::Tables(&ADAPTER), "Its adapters."),
        default(
            "emulate",
            Type::Flag,
            "false",
            "In a live run, a network namespace of this machine: its VMs' workers run there, and its adapters are \
             virtual interfaces. The simulator takes no notice.",
        ),
        optional(
            "cpus",
            CPUS,
            "On an emulated host: processors whose time its VMs may use together.",
        ),
        optional(
            "agents",
            Type::Text,
            "The agents that carry its VMs in a run on several machines (`run --fleet`), all on one, or in turns on so many: `site=a && cores>=8`, `esx*`, `4 of site=a`.",
        ),
        optional(
            "disks",
            Type::Tables(&DISK),
            "Disks that the host itself uses, without a VM. Simulator only.",
        ),
        COUNTERS,
        CREDENTIALS,
        IDENTITIES,
    ],
    ..PLAIN
};

static ADAPTER: TableDef = TableDef {
    title: "an adapter",
    id: "adapter",
    doc: "An HBA or a NIC of a host. The full name is `HOST.NAME`; NAME is enough where it is unique.",
    fields: &[
        required("name", Type::Name, "Name within the host."),
        optional("part", Type::Ref("a part of kind `hba` or `nic`"), "Its model."),
        optional("ports", PORTS, "Ports in use; overrides the part."),
        default("npiv", Type::Flag, "false", "Carries virtual ports of VMs (NPIV)."),
    ],
    ..PLAIN
};

/// Processors' worth of time: a quota of the kernel, whose least is a hundredth.
const CPUS: Type = Type::Number { min: 0.01, max: 4096.0 };

pub(super) static VM: TableDef = TableDef {
    title: "[[vm]]",
    id: "vm",
    doc: "A virtual machine.",
    fields: &[
        required("name", Type::Name, "Its name."),
        optional("host", Type::Ref("a host"), "Host it runs on."),
        optional(
            "agents",
            Type::Text,
            "The agent that carries it in a run on several machines (`run --fleet`), one for each VM, or in turns so many: `site=a && cores>=8`, `esx*`, `4 of site=a`. Any when not given.",
        ),
        optional(
            "machine",
            Type::Word(MACHINES),
            "What it is in a live run; workers of this machine when not given. The simulator takes no notice.",
        ),
        optional("vcpus", count(1, 4096), "Virtual processors; a guest has 1 when not given."),
        optional("memory", SIZE, "Memory; a guest has 144 MiB when not given."),
        optional(
            "scsi",
            Type::Refs("a part of kind `virtual-scsi`"),
            "Its virtual SCSI adapters, in order.",
        ),
        default(
            "npiv",
            Type::Flag,
            "false",
            "Has a virtual port with its own WWPN, for use in zones and masks, at adapters with `npiv`.",
        ),
        optional(
            "wwpn",
            Type::Text,
            "WWPN of its virtual port, such as `c0:50:76:00:a1:b2:00:01`: the host's counters of that port are the hop `VM.vport`. A \
             range in it is paired with the range in `name`.",
        ),
        optional("disks", Type::Tables(&DISK), "Its disks."),
        optional("nics", Type::Tables(&NIC), "Its NICs, which carry its network loads."),
        optional("cpus", CPUS, "On an emulated host: processors whose time this VM may use."),
    ],
    ..PLAIN
};

/// Keys of a disk that apply to embedded arrays only.
pub(crate) const WAYS: &[&str] =
    &["ports", "policy", "switch_after", "no_path_retry", "path_timeout", "command_timeout"];

static DISK: TableDef = TableDef {
    title: "a disk",
    id: "disk",
    doc: "A disk of a VM, or of a host.",
    fields: &[
        optional("target", Type::Ref("a target"), "The target that backs it, for live I/O."),
        optional(
            "lun",
            Type::Ref("`ARRAY/VOLUME`"),
            "The volume that backs it; `ARRAY/auto` lets the array provide one.",
        ),
        optional("map", Type::Word(DISK_MAPS), "How the hypervisor presents it."),
        optional(
            "adapter",
            Type::Ref("an adapter or a team of the host"),
            "The adapter or team that carries its I/O; default: the only one that reaches the array.",
        ),
        optional("controller", count(0, 255), "Index into the VM's `scsi`, from 0."),
        optional(
            "initiator",
            Type::Word(INITIATORS),
            "Whose iSCSI initiator a guest of QEMU reaches its LUN by; default: `qemu`.",
        ),
        optional("size", SIZE, "Size, if smaller than what backs it."),
        optional("queue", count(1, 65_535), "Queue depth; overrides the virtual adapter's part."),
        optional(
            "ports",
            Type::Refs("a port of the volume's embedded array"),
            "Array ports to use, in order; default: all of them.",
        ),
        optional(
            "policy",
            Type::Word(POLICIES),
            "Multipath policy over these ports; default with several ports: `round-robin`.",
        ),
        optional(
            "switch_after",
            Type::CountOrSize,
            "I/Os or bytes sent over one path before `round-robin` switches to the next; default: 1.",
        ),
        optional(
            "no_path_retry",
            TIME,
            "How long an I/O waits while no port can carry it, before it fails; default: 30 s, or 0 with one port.",
        ),
        optional(
            "path_timeout",
            TIME,
            "A port fails after this long without a response while commands are outstanding, at least `200ms`; \
             default: 10 s.",
        ),
        optional(
            "command_timeout",
            TIME,
            "A command is aborted after this long, at least `200ms`; default: 30 s.",
        ),
    ],
    choices: &[ExclusiveKeys { keys: &["target", "lun"], required: true }],
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
        COUNTERS,
        CREDENTIALS,
        IDENTITIES,
        default(
            "emulate",
            Type::Flag,
            "false",
            "In a live run, a bridge in a network namespace of its own.",
        ),
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
        optional("controllers", count(1, 4096), "Controllers; overrides the part."),
        optional("ports", PORTS, "Front-end ports in use; overrides the part."),
        optional(
            "embedded",
            Type::Table(&EMBEDDED),
            "Runs the array on this machine for the duration of a run. Without this key a live run cannot load its \
             disks.",
        ),
        default(
            "emulate",
            Type::Flag,
            "false",
            "With `embedded`: it is served in a network namespace of its own, and its ports are reached over the lab's \
             links instead of loopback.",
        ),
        optional("cache", SIZE, "Cache size; overrides the part."),
        optional("hit_share", Type::Percent, "Read hits of its cache; overrides the part."),
        optional("media", MEDIA, "Media of its volumes, unless a volume names its own."),
        COUNTERS,
        CREDENTIALS,
        IDENTITIES,
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
        required("name", Type::Name, "Name, unique on its array."),
        required("array", Type::Ref("an array"), "The array that holds it."),
        optional("size", SIZE, "Size; required on an embedded array."),
        default("block", Type::Sector, "512", "Logical block size in bytes, on an embedded array."),
        default(
            "thin",
            Type::Flag,
            "false",
            "On an embedded array: allocates memory as it is written, and frees it on UNMAP.",
        ),
        optional(
            "rate",
            Type::Rate,
            "On an embedded array: the most that it carries, both directions together.",
        ),
        optional("iops", Type::Iops, "On an embedded array: the most I/Os a second."),
        default("latency", TIME, "0s", "On an embedded array: a delay of each I/O, up to 10 s."),
        optional("raid", Type::Word(RAIDS), "RAID level."),
        optional("disks", count(1, 100_000), "Disks behind it, over all of its LUNs."),
        default(
            "luns",
            count(1, 4096),
            "1",
            "LUNs that it is striped over, each with its own RAID group (a meta-LUN).",
        ),
        optional("media", MEDIA, "Media; default: that of the array."),
        optional("cache", Type::Word(CACHES), "How it uses the array's cache."),
        optional(
            "hit_share",
            Type::Percent,
            "Read hits of the array's cache; overrides the array.",
        ),
        optional(
            "mask",
            Type::Refs("an adapter, a VM or a host"),
            "Initiators that may see it; default: all.",
        ),
        optional(
            "port",
            Type::Ref("a port of its array, as `ARRAY:PORT`"),
            "The only front-end port it is mapped to; default: all ports of the array.",
        ),
    ],
    ..PLAIN
};

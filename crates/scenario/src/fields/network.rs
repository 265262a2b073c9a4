//! Network loads: receivers, NICs of VMs, and the keys of workloads of kind `net`.

use super::{
    Conflict, ExclusiveKeys, KINDS, KeyWord, PLAIN, TableDef, Type, count, default, optional,
    required, word,
};

const FAMILIES: &[KeyWord] = &[word("ipv4", "IPv4"), word("ipv6", "IPv6")];

const LOADS: &[KeyWord] = &[
    word("tcp", "TCP streams of messages"),
    word("udp", "UDP datagrams, each a message"),
    word(
        "requests",
        "requests and responses on persistent TCP connections, one at a time on each; the message is the request",
    ),
    word("udp-requests", "the same in datagrams; a lost datagram is a failed transaction"),
    word("connects", "connect, request, response, close, repeated"),
];

pub(super) const DIRECTIONS: &[KeyWord] = &[
    word("send", "to the receiver"),
    word("receive", "from the receiver"),
    word("both", "both at once, the same number of streams each way"),
];

pub(super) const OFFLOADS: &[KeyWord] = &[word("on", "all of them"), word("off", "none of them")];

const PRESETS: &[KeyWord] = &[word(
    "ntttcp",
    "NTttcp's defaults: one 64 KiB message per submission; 30 s warm-up, 60 s measured and 30 s cool-down unless the \
     plan sets them",
)];

/// Bytes of a message. The limit of each kind of load is checked when the load is resolved.
pub(super) const MESSAGE: Type = Type::Size { min: 1, max: workload::SUBMISSION_MAX };
pub(super) const BATCH: Type = count(1, workload::BATCH_MAX as u64);
pub(super) const STREAMS: Type = count(1, workload::STREAMS_MAX as u64);
/// An MTU, as for links.
pub(super) const MTU: Type = count(576, 65_535);
const SOCKET_BUFFER: Type =
    Type::Size { min: workload::SOCKET_BUFFERS.0 as u64, max: workload::SOCKET_BUFFERS.1 as u64 };

pub(super) static RECEIVER: TableDef = TableDef {
    title: "[[receiver]]",
    id: "receiver",
    doc: "The remote end of network loads: a machine that runs `wirespeed net receive`, this machine, or a host of a \
          simulated lab. A scenario may give both: a live run uses `address`, a simulation `host`.",
    fields: &[
        required("name", Type::Name, "Its name."),
        optional(
            "address",
            Type::Text,
            "Where it listens: a name or an address, with the port unless it is 5301 (`192.0.2.2`, \
             `far.example:6000`, `[2001:db8::2]:6000`). A range in it is paired with the range in `name`.",
        ),
        optional(
            "embedded",
            Type::Flag,
            "Instead of an address: runs on this machine's loopback for the duration of the run; with an emulated `host`, there.",
        ),
        optional(
            "host",
            Type::Ref("a host"),
            "The lab host it runs on, simulated or emulated. A range in it is paired with the range in \
             `name`.",
        ),
        optional(
            "adapter",
            Type::Ref("an adapter or a team"),
            "The adapter or team of `host` that receives; required if the host has several for networks.",
        ),
        optional(
            "from",
            Type::Ref("a host"),
            "The lab host that sends, if a load runs on the receiver itself (`on = \"far\"`).",
        ),
        optional(
            "from_adapter",
            Type::Ref("an adapter or a team"),
            "The adapter or team of `from`; required if the host has several for networks.",
        ),
        optional("family", Type::Word(FAMILIES), "Use only addresses of this family."),
        optional(
            "source",
            Type::Text,
            "Local source address. A range in it is paired with the range in `name`.",
        ),
        optional(
            "source_port",
            count(1, 65_535),
            "Source port of the first stream; the others use the following ports.",
        ),
        optional(
            "token_file",
            Type::Text,
            "File with the receiver's token. A token is required unless the address is loopback.",
        ),
        optional("token_env", Type::Text, "Environment variable with the receiver's token."),
        optional(
            "adjust",
            Type::Text,
            "This machine's interface to it. Naming it permits steps to change its MTU and offloads; the run restores \
             them at its end. The receiver changes its own interface if it was started with `--adjust`. A range in it \
             is paired with the range in `name`.",
        ),
        optional(
            "rate",
            Type::LinkRate,
            "Wire speed in each direction, if the interface does not report it (loopback, veth). A standard means its \
             wire rate, which includes the frame overhead; a data rate is a payload rate.",
        ),
    ],
    choices: &[
        ExclusiveKeys { keys: &["address", "embedded"], required: false },
        ExclusiveKeys { keys: &["token_file", "token_env"], required: false },
    ],
    conflicts: &[
        Conflict {
            key: "embedded",
            others: &["token_file", "token_env"],
            why: "an embedded receiver needs no token",
        },
        Conflict {
            key: "embedded",
            others: &["adjust"],
            why: "an embedded receiver uses loopback, which must not be changed",
        },
    ],
    ..PLAIN
};

pub(super) static NIC: TableDef = TableDef {
    title: "a nic",
    id: "nic",
    doc: "A NIC of a VM. A network load on the VM uses each of its NICs; the hop is named `VM.RECEIVER`.",
    fields: &[
        required("receiver", Type::Ref("a receiver"), "The receiver it connects to."),
        optional(
            "adapter",
            Type::Ref("an adapter or a team"),
            "The adapter or team of the VM's host that carries it, for `simulate` and `estimate`; required if the \
             host has several for networks.",
        ),
    ],
    ..PLAIN
};

pub(crate) static NET: TableDef = TableDef {
    title: "[workload.NAME] of kind net",
    id: "net-workload",
    doc: "Traffic between two machines: streams of messages, or requests and responses. Each receiver and each VM NIC \
          that it runs on gets all of its streams.",
    fields: &[
        required("kind", Type::Word(KINDS), "Kind of workload."),
        optional(
            "preset",
            Type::Word(PRESETS),
            "Start from the defaults of another tool; the other keys override them.",
        ),
        default("load", Type::Word(LOADS), "tcp", "What the streams carry."),
        optional(
            "message",
            MESSAGE,
            "Message size; default: 128KiB, 1400B for `udp`, 64B for requests.",
        ),
        default(
            "batch",
            BATCH,
            "1",
            "Messages per submission to the kernel: at most 16 MiB on TCP, at most 64 datagrams.",
        ),
        optional(
            "segmented",
            Type::Flag,
            "Segmentation offload: the kernel or adapter splits a batch into datagrams and joins them at the other \
             end (`udp`).",
        ),
        default("streams", STREAMS, "1", "Streams per direction in use."),
        default("direction", Type::Word(DIRECTIONS), "send", "Which way the streams go."),
        optional(
            "threads",
            count(1, workload::STREAMS_MAX as u64),
            "Threads per direction at each end; default: one per stream.",
        ),
        optional(
            "rate",
            Type::Rate,
            "Send rate per stream (TCP is paced by the kernel); default: unlimited.",
        ),
        optional(
            "response",
            Type::Size { min: 1, max: workload::EXCHANGE_MAX as u64 },
            "Response size for requests; default: 64B.",
        ),
        optional("no_delay", Type::Flag, "TCP_NODELAY for streams; requests always use it."),
        optional("send_buffer", SOCKET_BUFFER, "Socket send buffer; default: tuned by the kernel."),
        optional(
            "receive_buffer",
            SOCKET_BUFFER,
            "Socket receive buffer; default: tuned by the kernel.",
        ),
        optional(
            "congestion",
            Type::Text,
            "TCP congestion control, such as `cubic`; default: the kernel's.",
        ),
        optional("dscp", count(0, workload::DSCP_MAX as u64), "DSCP of sent packets."),
        default(
            "zero_copy",
            Type::Flag,
            "false",
            "Zero-copy send for TCP streams; data that the kernel copied anyway is counted.",
        ),
        default(
            "sendfile",
            Type::Flag,
            "false",
            "Sends TCP streams from an in-memory file, without a copy in the kernel.",
        ),
        default(
            "discard",
            Type::Flag,
            "false",
            "The receiving end of TCP streams lets the kernel discard the data without a copy.",
        ),
        default("multipath", Type::Flag, "false", "Use Multipath TCP if both kernels support it."),
        default(
            "probe",
            Type::Flag,
            "false",
            "Sends a small request alongside the streams to measure latency under load, reported as the hop \
             `RECEIVER/probe`.",
        ),
        optional(
            "cpus",
            Type::OneOrMany(&count(0, workload::PROCESSORS_MAX as u64 - 1)),
            "Processors to which this machine's threads are pinned, in turn; default: left to the scheduler.",
        ),
    ],
    ..PLAIN
};

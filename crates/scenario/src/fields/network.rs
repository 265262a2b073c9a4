//! Network loads: the receivers that they go to, the nics of VMs, and the keys of workloads of kind `net`.

use super::{
    Choice, Conflict, KINDS, PLAIN, TableDef, Type, Word, count, default, optional, required, word,
};

const FAMILIES: &[Word] = &[word("ipv4", "IPv4"), word("ipv6", "IPv6")];

const LOADS: &[Word] = &[
    word("tcp", "TCP streams of messages"),
    word("udp", "UDP datagrams, each a message"),
    word(
        "requests",
        "requests and responses on standing TCP connections, one at a time on each; the message is the request",
    ),
    word("udp-requests", "the same in datagrams; one that is lost is a transaction that failed"),
    word("connects", "connect, request, response, close, over and over"),
];

pub(super) const DIRECTIONS: &[Word] = &[
    word("send", "to the receiver"),
    word("receive", "from the receiver"),
    word("both", "as many each way, at once"),
];

pub(super) const OFFLOADS: &[Word] = &[word("on", "all of them"), word("off", "none of them")];

const PRESETS: &[Word] = &[word(
    "ntttcp",
    "NTttcp's habits: a message of 64 KiB is one submission; where a plan does not say how long, 30 s warm-up, 60 s measured, \
     30 s cool-down",
)];

/// Bytes of a message. What each kind of load takes of it is known when the load is settled.
pub(super) const MESSAGE: Type = Type::Size { min: 1, max: workload::SUBMISSION_MAX };
pub(super) const BATCH: Type = count(1, workload::BATCH_MAX as u64);
pub(super) const STREAMS: Type = count(1, workload::STREAMS_MAX as u64);
/// An MTU, as links have it.
pub(super) const MTU: Type = count(576, 65_535);
const SOCKET_BUFFER: Type =
    Type::Size { min: workload::SOCKET_BUFFERS.0 as u64, max: workload::SOCKET_BUFFERS.1 as u64 };

pub(super) static RECEIVER: TableDef = TableDef {
    title: "[[receiver]]",
    id: "receiver",
    doc: "The far end of network loads: a machine where `wirespeed net receive` waits, this one, or a host of a lab that is \
          simulated. One scenario may say both: a live run takes `address`, a simulation `host`.",
    fields: &[
        required("name", Type::Name, "Its name."),
        optional(
            "address",
            Type::Text,
            "Where it waits: a name or an address, with its port where that is not 5301 (`192.0.2.2`, `far.example:6000`, \
             `[2001:db8::2]:6000`). A range in it is paired with the range in `name`.",
        ),
        optional(
            "embedded",
            Type::Flag,
            "Instead of an address: it stands on this machine's loopback for the time of the run.",
        ),
        optional(
            "host",
            Type::Ref("a host"),
            "The host of the lab that it stands on, for `simulate` and `estimate`. A range in it is paired with the range in \
             `name`.",
        ),
        optional(
            "adapter",
            Type::Ref("an adapter or a team"),
            "The adapter, or the team, of `host` by which it is reached; needed where that host has several for networks.",
        ),
        optional(
            "from",
            Type::Ref("a host"),
            "The host of the lab that sends, where a load runs on the receiver itself (`on = \"far\"`).",
        ),
        optional(
            "from_adapter",
            Type::Ref("an adapter or a team"),
            "The adapter, or the team, of `from`; needed where that host has several for networks.",
        ),
        optional("family", Type::Word(FAMILIES), "Only addresses of this family."),
        optional(
            "source",
            Type::Text,
            "The address that everything leaves from. A range in it is paired with the range in `name`.",
        ),
        optional(
            "source_port",
            count(1, 65_535),
            "The port that the first stream leaves from; the others follow it.",
        ),
        optional(
            "token_file",
            Type::Text,
            "The file with the receiver's token. A token is needed where the address is not a loopback one.",
        ),
        optional(
            "token_env",
            Type::Text,
            "The variable of the environment with the receiver's token.",
        ),
        optional(
            "adjust",
            Type::Text,
            "This machine's interface to it, whose MTU and offloads steps may change: naming it here is the permission. What \
             was found is restored after the run. The receiver changes its own interface where it was started with `--adjust`. \
             A range in it is paired with the range in `name`.",
        ),
        optional(
            "rate",
            Type::LinkRate,
            "The wire between the two, in each direction, where the interface does not tell (loopback, veth). A standard stands \
             for its wire rate, of which the frames of a step leave a share to the payload; a data rate is a payload rate.",
        ),
    ],
    choices: &[
        Choice { keys: &["address", "embedded"], required: false },
        Choice { keys: &["token_file", "token_env"], required: false },
    ],
    conflicts: &[
        Conflict {
            key: "embedded",
            others: &["token_file", "token_env"],
            why: "a run and what it starts itself need no token",
        },
        Conflict {
            key: "embedded",
            others: &["adjust"],
            why: "it is reached by loopback, which is not to be changed",
        },
    ],
    ..PLAIN
};

pub(super) static NIC: TableDef = TableDef {
    title: "a nic",
    id: "nic",
    doc: "A nic of a VM. A network load on the VM goes by each of its nics; the hop is named `VM.RECEIVER`.",
    fields: &[
        required("receiver", Type::Ref("a receiver"), "The receiver that it reaches."),
        optional(
            "adapter",
            Type::Ref("an adapter or a team"),
            "The adapter, or the team, of the VM's host by which it goes, for `simulate` and `estimate`; needed where the host \
             has several for networks.",
        ),
    ],
    ..PLAIN
};

pub(crate) static NET: TableDef = TableDef {
    title: "[workload.NAME] of kind net",
    id: "net-workload",
    doc: "What is carried between two machines: streams of messages, or requests and their responses. Each receiver, and each \
          nic of a VM, that it runs on has all of its streams.",
    fields: &[
        required("kind", Type::Word(KINDS), "What kind of workload it is."),
        optional(
            "preset",
            Type::Word(PRESETS),
            "Start from the habits of another tool; the other keys then change them.",
        ),
        default("load", Type::Word(LOADS), "tcp", "What the streams carry."),
        optional(
            "message",
            MESSAGE,
            "Size of a message: 128KiB unless given, 1400B for `udp`, 64B for requests.",
        ),
        default(
            "batch",
            BATCH,
            "1",
            "Messages of one submission to the kernel: at most 16 MiB on TCP, at most 64 datagrams.",
        ),
        optional(
            "segmented",
            Type::Flag,
            "The kernel, or the adapter, cuts a batch into datagrams, and joins them at the other end (`udp`).",
        ),
        default("streams", STREAMS, "1", "Streams of each direction in use."),
        default("direction", Type::Word(DIRECTIONS), "send", "Which way the streams go."),
        optional(
            "threads",
            count(1, workload::STREAMS_MAX as u64),
            "Threads of each direction at each end; one a stream unless given.",
        ),
        optional(
            "rate",
            Type::Rate,
            "Each stream sends at this rate, TCP paced by the kernel; as fast as it goes unless given.",
        ),
        optional(
            "response",
            Type::Size { min: 1, max: workload::EXCHANGE_MAX as u64 },
            "Size of a response, where there are requests; 64B unless given.",
        ),
        optional(
            "no_delay",
            Type::Flag,
            "Small messages of TCP leave at once; so it is for requests, and for streams if given.",
        ),
        optional(
            "send_buffer",
            SOCKET_BUFFER,
            "Send buffer of a socket; the kernel tunes it unless given.",
        ),
        optional(
            "receive_buffer",
            SOCKET_BUFFER,
            "Receive buffer of a socket; the kernel tunes it unless given.",
        ),
        optional(
            "congestion",
            Type::Text,
            "TCP's congestion control, such as `cubic`; the kernel's unless given.",
        ),
        optional("dscp", count(0, workload::DSCP_MAX as u64), "DSCP of what is sent."),
        default(
            "zero_copy",
            Type::Flag,
            "false",
            "TCP streams are sent from the message's own pages; what the kernel copied after all is counted.",
        ),
        default(
            "sendfile",
            Type::Flag,
            "false",
            "TCP streams are sent from the pages of a file in memory, which the kernel copies nowhere.",
        ),
        default(
            "discard",
            Type::Flag,
            "false",
            "The reading end of TCP streams has the kernel drop the data uncopied.",
        ),
        default(
            "multipath",
            Type::Flag,
            "false",
            "Connections are Multipath TCP where both kernels have it.",
        ),
        default(
            "probe",
            Type::Flag,
            "false",
            "A small request and its response go beside the streams, for latency under load; the hop `RECEIVER/probe` has it.",
        ),
        optional(
            "cpus",
            Type::OneOrMany(&count(0, workload::PROCESSORS_MAX as u64 - 1)),
            "Processors that this machine's threads are pinned to, in turn; left to the scheduler unless given.",
        ),
    ],
    ..PLAIN
};

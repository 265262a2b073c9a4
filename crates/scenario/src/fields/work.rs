//! Workloads and plans.

use super::network::{BATCH, DIRECTIONS, MESSAGE, MTU, OFFLOADS, STREAMS};
use super::{
    BLOCK, Conflict, ExclusiveKeys, FAULT, KINDS, KeyField, KeyWord, PLAIN, SIZE, TIME, TableDef,
    Type, count, default, optional, required, word,
};

pub(super) const WORKERS: Type = count(1, 4096);
pub(super) const DEPTH: Type = count(1, 4096);
const MEMBERS: Type = count(1, 10_000);

const ARRIVALS: &[KeyWord] = &[
    word("fixed", "equal gaps"),
    word("poisson", "exponential gaps, as of many independent users"),
];

const REGIONS: &[KeyWord] = &[
    word("own", "each worker has an equal part of the target"),
    word("shared", "every worker ranges over the whole target"),
];

const SHARES: &[KeyWord] = &[
    word("all", "each worker issues to all of them"),
    word("each", "each disk has `workers` of its own, so `depth` applies per disk"),
];

const SKEWS: &[KeyWord] = &[word("uniform", "every block equally often")];

pub(crate) static WORKLOAD: TableDef = TableDef {
    title: "[workload.NAME]",
    id: "workload",
    doc: "The operations that each worker issues. Without `rate`, `ramp` or `bursts` the loop is closed: each of `depth` slots \
          issues its next operation when the last has completed. With one of them it is open: operations are due at fixed \
          times.",
    fields: &[
        default("kind", Type::Word(KINDS), "disk", "Kind of workload."),
        optional(
            "preset",
            Type::Text,
            "A known workload to start from; the other keys override it.",
        ),
        optional("block", BLOCK, "Size of every operation."),
        default("read", Type::Percent, "100", "Share of reads, in percent."),
        default(
            "random",
            Type::Percent,
            "0",
            "Operations at random addresses, in percent; the rest is sequential.",
        ),
        default("trim", Type::Percent, "0", TRIM),
        default("zeroes", Type::Percent, "0", ZEROES),
        optional(
            "flush_every",
            count(1, 1_000_000_000),
            "A slot flushes its target (fdatasync, SYNCHRONIZE CACHE) after so many writes of its own; default: never.",
        ),
        default(
            "fua",
            Type::Percent,
            "0",
            "Share of writes that wait for the medium (force unit access).",
        ),
        default("depth", DEPTH, "1", "Operations outstanding per worker (closed loop)."),
        optional(
            "think",
            TIME,
            "Pause between a completion and the next operation of the slot (closed loop).",
        ),
        optional("rate", Type::Iops, "IOPS per worker (open loop)."),
        optional(
            "arrivals",
            Type::Word(ARRIVALS),
            "Distribution of the gaps between operations of a `rate`; default: `fixed`.",
        ),
        optional("ramp", Type::Table(&RAMP), "A rate that rises or falls (open loop)."),
        optional(
            "bursts",
            Type::Table(&BURSTS),
            "Two rates, between which it changes by chance (open loop): a two-state Markov-modulated Poisson process.",
        ),
        default("limit", DEPTH, "256", "Maximum operations outstanding per worker (open loop)."),
        default("workers", WORKERS, "1", "Workers per VM or target it runs on."),
        default(
            "disks",
            Type::Word(SHARES),
            "all",
            "How the workers of a VM or host share its disks.",
        ),
        optional(
            "working_set",
            Type::SizeOrPercent,
            "The part of each target that is accessed, from its start: a size, or a share such as `20%`.",
        ),
        default("regions", Type::Word(REGIONS), "shared", "How workers share a target."),
        default(
            "verify",
            Type::Flag,
            "false",
            "Each written block carries its address, a generation and a checksum, and each read block is checked. \
             Workers then use regions of their own.",
        ),
        default(
            "skew",
            Type::WordOrTable(SKEWS, &SKEW),
            "uniform",
            "How random addresses are distributed.",
        ),
        optional(
            "stride",
            SIZE,
            "Distance between the starts of sequential operations; default: the block size.",
        ),
        optional("align", BLOCK, "Alignment of addresses; default: the block size."),
        default("burst", count(1, 1_000_000), "1", "Operations in a burst."),
        optional("delay", TIME, "Pause after each burst."),
        optional("reply", BLOCK, "Size of the reply to a network request; no meaning for disks."),
        optional(
            "ladder",
            Type::Table(&LADDER),
            "A block size that grows in steps and starts over.",
        ),
        optional(
            "rows",
            Type::Tables(&ROW),
            "An access specification of 1 to 100 rows, chosen by their shares.",
        ),
        optional(
            "transaction",
            Type::Table(&TRANSACTION),
            "Database transactions instead of single operations.",
        ),
    ],
    choices: &[
        ExclusiveKeys { keys: &["rate", "ramp", "bursts"], required: false },
        ExclusiveKeys { keys: &["rows", "transaction", "ladder"], required: false },
    ],
    conflicts: &[
        Conflict { key: "rows", others: ROW_KEYS, why: "every row has its own" },
        Conflict {
            key: "transaction",
            others: TRANSACTION_CONFLICTS,
            why: "the transaction says what it touches",
        },
        Conflict { key: "ladder", others: &["block"], why: "the ladder sets the block size" },
        Conflict {
            key: "rate",
            others: &["think", "depth"],
            why: "an open loop issues by time; `limit` bounds the operations outstanding",
        },
        Conflict {
            key: "ramp",
            others: &["think", "depth", "arrivals"],
            why: "an open loop issues by time; `limit` bounds the operations outstanding",
        },
        Conflict {
            key: "bursts",
            others: &["think", "depth", "arrivals"],
            why: "an open loop issues by time; `limit` bounds the operations outstanding",
        },
    ],
    ..PLAIN
};

/// Keys of a workload that each row sets for itself.
const ROW_KEYS: &[&str] =
    &["block", "read", "trim", "zeroes", "random", "align", "burst", "delay", "reply"];
const TRANSACTION_CONFLICTS: &[&str] = &[
    "block", "read", "trim", "zeroes", "random", "align", "burst", "delay", "reply", "stride",
    "skew",
];

const TRIM: &str =
    "Share of trims (TRIM, UNMAP, punched holes); what reads, trims and zeroes leave are writes.";
const ZEROES: &str =
    "Share of operations that write zeroes without their data (WRITE SAME, BLKZEROOUT).";

static RAMP: TableDef = TableDef {
    title: "`ramp`",
    id: "ramp",
    doc: "A rate that changes linearly and then stays constant.",
    fields: &[
        required("from", Type::Iops, "IOPS per worker at the start."),
        required("to", Type::Iops, "IOPS per worker at the end."),
        required("over", Type::Time { zero: false }, "Duration of the change."),
    ],
    ..PLAIN
};

static BURSTS: TableDef = TableDef {
    title: "`bursts`",
    id: "bursts",
    doc: "Gaps are exponential, and so are the lengths of bursts and of the time between them.",
    fields: &[
        required("high", Type::Iops, "Mean IOPS per worker in a burst."),
        default("low", Type::Iops, "0 IOPS", "Mean IOPS per worker between bursts."),
        required("burst", Type::Time { zero: false }, "Mean length of a burst."),
        required("pause", Type::Time { zero: false }, "Mean time between bursts."),
    ],
    ..PLAIN
};

static SKEW: TableDef = TableDef {
    title: "`skew`",
    id: "skew",
    doc: "How random addresses are distributed over the working set.",
    fields: &[
        optional("zipf", Type::Number { min: 0.0, max: 10.0 }, "Zipf, with this exponent."),
        optional(
            "pareto",
            Type::Number { min: 0.0, max: 1.0 },
            "Pareto, with this shape h: a share 1-h of the accesses goes to a share h of the blocks, recursively.",
        ),
        optional(
            "hot",
            Type::Percent,
            "A hot spot of this size, which receives `accesses` of the load.",
        ),
        optional("accesses", Type::Percent, "Accesses that hit the hot spot."),
    ],
    choices: &[ExclusiveKeys { keys: &["zipf", "pareto", "hot"], required: true }],
    conflicts: &[Conflict {
        key: "accesses",
        others: &["zipf", "pareto"],
        why: "it belongs to `hot`",
    }],
    ..PLAIN
};

static LADDER: TableDef = TableDef {
    title: "`ladder`",
    id: "ladder",
    doc: "A block size that is multiplied after every so many operations up to a maximum, then starts over.",
    fields: &[
        required("from", BLOCK, "First size."),
        required("to", BLOCK, "Last size."),
        default("factor", count(2, 1024), "2", "Factor between sizes."),
        required("every", count(1, 1_000_000_000), "Operations per slot at each size."),
    ],
    ..PLAIN
};

static ROW: TableDef = TableDef {
    title: "a row",
    id: "row",
    doc: "One row of an access specification, as in Iometer's dialogue.",
    fields: &[
        required("size", BLOCK, "Transfer size."),
        default(
            "share",
            Type::Percent,
            "100",
            "Share of the operations. The shares of all rows sum to 100.",
        ),
        default("read", Type::Percent, "100", "Share of reads among them."),
        default("trim", Type::Percent, "0", TRIM),
        default("zeroes", Type::Percent, "0", ZEROES),
        default("random", Type::Percent, "0", "Share of random addresses among them."),
        optional("delay", TIME, "Pause after each burst."),
        default("burst", count(1, 1_000_000), "1", "Operations in a burst."),
        optional("align", BLOCK, "Alignment of addresses; default: the transfer size."),
        optional("reply", BLOCK, "Size of the reply to a network request; no meaning for disks."),
    ],
    ..PLAIN
};

static TRANSACTION: TableDef = TableDef {
    title: "`transaction`",
    id: "transaction",
    doc: "A transaction reads pages of a small, hot index and then accesses pages of a cold, skewed table. Each \
          operation waits for the one before it.",
    fields: &[
        default("page", BLOCK, "8KiB", "Page size."),
        default("index", Type::Percent, "5", "Share of the working set that the index occupies."),
        default("index_pages", count(1, 1_000_000), "3", "Index pages read per transaction."),
        default("table_pages", count(1, 1_000_000), "2", "Table pages accessed per transaction."),
        default(
            "index_skew",
            Type::WordOrTable(SKEWS, &SKEW),
            "{ zipf = 0.99 }",
            "Skew of the index accesses.",
        ),
        default(
            "table_skew",
            Type::WordOrTable(SKEWS, &SKEW),
            "{ pareto = 0.2 }",
            "Skew of the table accesses.",
        ),
        default(
            "read",
            Type::Percent,
            "100",
            "Share of reads among the table accesses; the index is only read.",
        ),
    ],
    ..PLAIN
};

const PRECONDITIONS: &[KeyWord] = &[
    word("none", "nothing beyond the target's `fill`"),
    word(
        "snia-pts",
        "as in SNIA PTS for SSDs: the whole capacity is written twice sequentially, and each step warms up until it \
         is steady (rounds of a minute, 25 min at most) unless `steady` says otherwise",
    ),
];

pub(super) static PLAN: TableDef = TableDef {
    title: "[plan]",
    id: "plan",
    doc: "What runs, in which order, and for how long. Several plans are written `[[plan]]`, each with a `name`, and \
          run in sequence.",
    fields: &[
        optional("name", Type::Text, "Name; required if there are several plans."),
        optional("workload", Type::Text, "The workload, if there is one load."),
        optional(
            "on",
            Type::Refs("a VM, a host, a target or a receiver"),
            "The VMs, hosts and targets that run it; for a network workload, the VMs and receivers. A host uses all \
             of its own disks, `HOST.disk0` only that one.",
        ),
        optional("load", Type::Tables(&LOAD), "Several loads at the same time."),
        AMOUNT,
        PASSES,
        default(
            "warmup",
            TIME,
            "2s",
            "Warm-up before the measurement; with `steady`, its minimum. Where all loads end, the default is none.",
        ),
        optional(
            "steady",
            Type::WordOrTable(STEADY_RULES, &STEADY),
            "Start measuring when the load is steady. Without this key the measurement starts after `warmup`.",
        ),
        optional(
            "measure",
            Type::Time { zero: false },
            "Measured time; required unless the preset of a network workload sets it. Where all loads end (`amount`, \
             `passes`), the most time that they may take: the step is over when they are done.",
        ),
        default(
            "cooldown",
            TIME,
            "0s",
            "Load after the measurement, so that no worker is measured after others have stopped.",
        ),
        optional(
            "sweep",
            Type::Table(&SWEEP),
            "Settings to vary: every combination is one step, and the first axis varies slowest.",
        ),
        optional(
            "mtu",
            MTU,
            "MTU of the interfaces in `adjust` of receivers, set at both ends for each step, or of a simulated lab; \
             default: unchanged.",
        ),
        optional(
            "offload",
            Type::Word(OFFLOADS),
            "Segmentation, receive and checksum offloads of these interfaces, set in the same way.",
        ),
        default(
            "precondition",
            Type::Word(PRECONDITIONS),
            "none",
            "Preparation of its targets before the first step; they must be writable.",
        ),
        optional(
            "search",
            Type::WordOrTable(SEARCHES, &SEARCH),
            "Search for a load; each step depends on the results so far. With a `sweep`, one search runs per \
             combination.",
        ),
        default("repeat", count(1, 10_000), "1", "How often each step runs."),
        optional(
            "window",
            Type::Time { zero: false },
            "Time that a job of copies may take, such as `4h`: the review says how much fits into it at the rate that was \
             reached.",
        ),
        optional("faults", Type::Tables(&FAULT), "Faults to inject in every step of the plan."),
        default(
            "prove",
            Type::FlagOrTable(&PROVE),
            "false",
            "Proof by perturbation in live runs: after the measured time of each step the load goes on in short rounds, \
             in which one hop at a time is a tenth slower. What throughput and p99 lose tells what limits. Simulated and \
             estimated runs have experiments instead, and no rounds.",
        ),
    ],
    choices: &[ExclusiveKeys { keys: &["workload", "load"], required: true }],
    conflicts: &[
        Conflict { key: "load", others: &["on", "amount", "passes"], why: "each load has its own" },
        Conflict {
            key: "search",
            others: &["repeat"],
            why: "a search repeats the deciding loads itself; set its `repeats`",
        },
    ],
    ..PLAIN
};

const SEARCHES: &[KeyWord] = &[word(
    "knee",
    "the load beyond which latency rises but throughput does not, over the usual range of loads",
)];

const WORK: &[KeyWord] = &[
    word("iops", "operations per second"),
    word("read", "data read per second"),
    word("write", "data written per second"),
    word("total", "data read and written per second"),
];

static SEARCH: TableDef = TableDef {
    title: "`search`",
    id: "search",
    doc: "The search's goal and range. With `most` and `while` it finds the most work within a limit, otherwise the \
          knee.",
    fields: &[
        optional("most", Type::Word(WORK), "The metric to maximize."),
        optional(
            "while",
            Type::OneOrMany(&Type::Text),
            "The limit, such as `\"p99 <= 5 ms\"`, or a list of limits: `mean`, `max` or a percentile of response \
             time (`service p99` of service time), `iops`, `read`, `write`, `total` or `errors`, then `<=` or `>=`.",
        ),
        optional(
            "over",
            Type::Text,
            "The setting that is searched: `depth`, `workers`, `members`, `rate` or `block`, or `WORKLOAD.depth` if \
             loads differ. `members` is how many of its VMs and targets run it, from the first. Default: `depth` in \
             closed loops, `rate` in open ones.",
        ),
        optional(
            "from",
            Type::Amount,
            "The smallest load, where the search starts; default: 1 for `depth`, `workers` and `members`, 100 IOPS \
             for `rate`, 4KiB for `block`.",
        ),
        optional(
            "to",
            Type::Amount,
            "The largest load; default: 256 for `depth`, 64 for `workers`, all for `members`, 1,000,000 IOPS for \
             `rate`, 1MiB for `block`.",
        ),
        default(
            "repeats",
            count(1, 99),
            "3",
            "Maximum runs of a deciding load; the majority decides.",
        ),
        optional(
            "within",
            Type::Percent,
            "Resolution of the search; default: 5% for a limit, 10% for the knee.",
        ),
        default("steps", count(3, 1_000), "30", "Maximum number of steps."),
    ],
    ..PLAIN
};

const STEADY_RULES: &[KeyWord] = &[word(
    "snia",
    "as SNIA PTS defines it: of the last five rounds, the largest and the smallest differ by at most 20% of their \
     mean, and the line fitted to them rises or falls by at most 10% of the mean",
)];

const METRICS: &[KeyWord] = &[
    word("iops", "operations per second"),
    word("throughput", "bytes per second"),
    word("latency", "mean service time"),
];

static PROVE: TableDef = TableDef {
    title: "`prove`",
    id: "prove",
    doc: "The rounds of a proof. They follow the measured time, in random order; the step's figures do not contain them.",
    fields: &[
        default(
            "rounds",
            count(6, 1_000),
            "8",
            "How often each hop is slowed, and how often none is.",
        ),
        default(
            "round",
            Type::Time { zero: false },
            "600ms",
            "Length of a round, at least 120 ms; its first third does not count.",
        ),
    ],
    ..PLAIN
};

static STEADY: TableDef = TableDef {
    title: "`steady`",
    id: "steady",
    doc: "The steadiness rule; the defaults are SNIA's values. The window is the last `rounds` rounds, checked every \
          second.",
    fields: &[
        default(
            "within",
            Type::Time { zero: false },
            "60s",
            "The longest warm-up. After it the measurement starts anyway, and the review reports that the load was \
             not steady.",
        ),
        default("rounds", count(3, 1_000), "5", "Rounds in the window."),
        default("round", Type::Time { zero: false }, "1s", "Length of a round, at least 1 s."),
        default(
            "spread",
            Type::Percent,
            "20%",
            "Maximum difference between the largest and smallest round of the window, in percent of their mean.",
        ),
        default(
            "slope",
            Type::Percent,
            "10%",
            "Maximum rise or fall of the line fitted to the window, in percent of the mean.",
        ),
        default(
            "metric",
            Type::Word(METRICS),
            "iops",
            "The metric that must be steady, over all workers.",
        ),
    ],
    ..PLAIN
};

const AMOUNT: KeyField = optional(
    "amount",
    SIZE,
    "Bytes after which it ends, over all of its workers: copied, or read, written, trimmed and zeroed. In whole blocks, \
     rounded up. Default: it does not end.",
);

const PASSES: KeyField = optional(
    "passes",
    count(1, 1_000_000),
    "How often its workers together use each block of the working set of a disk workload before it ends. A sequential \
     pass takes the blocks in order, a random one in a new random order, each exactly once.",
);

static LOAD: TableDef = TableDef {
    title: "a load",
    id: "load",
    doc: "A workload on some VMs, hosts or targets; a network workload on some VMs or receivers. With `amount`, `passes` \
          and `after`, loads are the phases of a job.",
    fields: &[
        optional("name", Type::Text, "Name, for `after` of other loads."),
        required("workload", Type::Text, "The workload."),
        required(
            "on",
            Type::Refs("a VM, a host, a target or a receiver"),
            "The VMs, hosts and targets that run it; for a network workload, the VMs and receivers. A host uses all \
             of its own disks, `HOST.disk0` only that one.",
        ),
        optional(
            "after",
            Type::OneOrMany(&Type::Text),
            "Loads of this plan, by name, that must end before it starts. In a live run no load waits for network loads, and \
             no guest or emulated host waits.",
        ),
        AMOUNT,
        PASSES,
    ],
    ..PLAIN
};

static SWEEP: TableDef = TableDef {
    title: "`sweep`",
    id: "sweep",
    doc: "Each axis is a list of values, or a ladder that doubles: `\"4KiB..1MiB\"`, `\"1..64\"`. In a plan with \
          several loads, `WORKLOAD.key` sets only that workload; a plain key applies to all loads of a kind that has \
          it.",
    fields: &[
        optional("block", Type::Axis(&BLOCK), "Block sizes."),
        optional("depth", Type::Axis(&DEPTH), "Depths."),
        optional("workers", Type::Axis(&WORKERS), "Workers per VM or target."),
        optional(
            "members",
            Type::Axis(&MEMBERS),
            "How many of the VMs, hosts, targets or receivers in `on` run the load, from the first.",
        ),
        optional("read", Type::Axis(&Type::Percent), "Shares of reads."),
        optional("random", Type::Axis(&Type::Percent), "Shares of random addresses."),
        optional(
            "rate",
            Type::Axis(&Type::IopsOrRate),
            "Rates: of operations for disk workloads, whose loop becomes open; of data per stream for network \
             workloads.",
        ),
        optional("working_set", Type::Axis(&Type::SizeOrPercent), "Working sets."),
        optional(
            "port",
            Type::Axis(&Type::LinkRate),
            "Speeds of all ports of all embedded arrays, before scaling.",
        ),
        optional("message", Type::Axis(&MESSAGE), "Message sizes of network workloads."),
        optional("batch", Type::Axis(&BATCH), "Messages per submission."),
        optional("streams", Type::Axis(&STREAMS), "Streams per direction in use."),
        optional("direction", Type::Axis(&Type::Word(DIRECTIONS)), "Directions of the streams."),
        optional("mtu", Type::Axis(&MTU), "MTUs of the interfaces in `adjust` of receivers."),
        optional("offload", Type::Axis(&Type::Word(OFFLOADS)), "Their offloads."),
    ],
    prefixed: true,
    ..PLAIN
};

/// `step = { … }` of goals and claims: the selected steps.
pub(super) static STEP: TableDef = TableDef {
    title: "`step`",
    id: "step",
    doc: "Selects the steps that have all of these settings.",
    fields: &[
        optional("plan", Type::Text, "Steps of this plan."),
        optional("block", BLOCK, "Steps with this block size."),
        optional("depth", DEPTH, "Steps with this depth."),
        optional("workers", WORKERS, "Steps with this number of workers."),
        optional("members", MEMBERS, "Steps in which this many members run the load."),
        optional("read", Type::Percent, "Steps with this share of reads."),
        optional("random", Type::Percent, "Steps with this share of random addresses."),
        optional("rate", Type::IopsOrRate, "Steps with this rate."),
        optional("working_set", Type::SizeOrPercent, "Steps with this working set."),
        optional("port", Type::LinkRate, "Steps with ports of this speed."),
        optional("message", MESSAGE, "Steps with this message size."),
        optional("batch", BATCH, "Steps with this many messages per submission."),
        optional("streams", STREAMS, "Steps with this many streams."),
        optional("direction", Type::Word(DIRECTIONS), "Steps with streams in this direction."),
        optional("mtu", MTU, "Steps with this MTU."),
        optional("offload", Type::Word(OFFLOADS), "Steps with this offload setting."),
    ],
    prefixed: true,
    ..PLAIN
};

//! What the virtual machines do, and in which order: workloads and plans.

use super::network::{BATCH, DIRECTIONS, MESSAGE, MTU, OFFLOADS, STREAMS};
use super::{
    BLOCK, Choice, Conflict, FAULT, KINDS, PLAIN, SIZE, TIME, TableDef, Type, Word, count, default,
    optional, required, word,
};

pub(super) const WORKERS: Type = count(1, 4096);
pub(super) const DEPTH: Type = count(1, 4096);
const MEMBERS: Type = count(1, 10_000);

const ARRIVALS: &[Word] = &[
    word("fixed", "equal gaps"),
    word("poisson", "exponential gaps, as of many independent users"),
];

const REGIONS: &[Word] = &[
    word("own", "each worker has an equal part of the target"),
    word("shared", "every worker ranges over the whole target"),
];

const SHARES: &[Word] = &[
    word("all", "each worker issues to all of them"),
    word(
        "each",
        "each disk has `workers` of its own, so that `depth` is what is outstanding at a disk",
    ),
];

const SKEWS: &[Word] = &[word("uniform", "every block equally often")];

pub(super) static WORKLOAD: TableDef = TableDef {
    title: "[workload.NAME]",
    id: "workload",
    doc: "What one worker issues, over and over. Without `rate` or `ramp` the loop is closed: each of `depth` slots \
          issues its next operation when the last has completed. With one of them it is open: operations fall due by \
          the clock.",
    fields: &[
        default("kind", Type::Word(KINDS), "disk", "What kind of workload it is."),
        optional(
            "preset",
            Type::Text,
            "A known workload to start from; the other keys then change it.",
        ),
        optional("block", BLOCK, "Size of every operation."),
        default("read", Type::Percent, "100", "Reads among the operations, in percent."),
        default(
            "random",
            Type::Percent,
            "0",
            "Operations at random addresses, in percent; the rest is sequential.",
        ),
        default("depth", DEPTH, "1", "Operations outstanding per worker (closed loop)."),
        optional(
            "think",
            TIME,
            "Pause between a completion and the next operation of the slot (closed loop).",
        ),
        optional("rate", Type::Iops, "Operations a second per worker (open loop)."),
        optional(
            "arrivals",
            Type::Word(ARRIVALS),
            "How the operations of a `rate` follow each other; `fixed` unless given.",
        ),
        optional("ramp", Type::Table(&RAMP), "A rate that climbs or falls (open loop)."),
        default("limit", DEPTH, "256", "Operations outstanding per worker at most (open loop)."),
        default("workers", WORKERS, "1", "Workers for each VM or target it runs on."),
        default(
            "disks",
            Type::Word(SHARES),
            "all",
            "How the workers of a VM or a host share its disks.",
        ),
        optional(
            "working_set",
            Type::SizeOrPercent,
            "Only this much of each target is touched, from its start: a size, or a share such as `20%`.",
        ),
        default("regions", Type::Word(REGIONS), "shared", "How workers share a target."),
        default(
            "verify",
            Type::Flag,
            "false",
            "Every block that is written carries its address, a generation and a checksum, and every block that is read \
             is checked. Workers then have regions of their own.",
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
            "Distance between the starts of sequential operations; the block itself when not given.",
        ),
        optional("align", BLOCK, "Alignment of addresses; the block itself when not given."),
        default("burst", count(1, 1_000_000), "1", "Operations in a burst."),
        optional("delay", TIME, "Pause after each burst."),
        optional("reply", BLOCK, "Size of the reply to a network request; no meaning for disks."),
        optional("ladder", Type::Table(&LADDER), "A block size that climbs and begins again."),
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
        Choice { keys: &["rate", "ramp"], required: false },
        Choice { keys: &["rows", "transaction", "ladder"], required: false },
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
            why: "an open loop issues by the clock; `limit` bounds what is outstanding",
        },
        Conflict {
            key: "ramp",
            others: &["think", "depth", "arrivals"],
            why: "an open loop issues by the clock; `limit` bounds what is outstanding",
        },
    ],
    ..PLAIN
};

/// Keys of a workload that a row has for itself.
const ROW_KEYS: &[&str] = &["block", "read", "random", "align", "burst", "delay", "reply"];
const TRANSACTION_CONFLICTS: &[&str] =
    &["block", "read", "random", "align", "burst", "delay", "reply", "stride", "skew"];

static RAMP: TableDef = TableDef {
    title: "`ramp`",
    id: "ramp",
    doc: "A rate that changes linearly and then stays.",
    fields: &[
        required("from", Type::Iops, "Operations a second per worker at the start."),
        required("to", Type::Iops, "Operations a second per worker at the end."),
        required("over", Type::Time { zero: false }, "How long the change takes."),
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
            "A hot spot of this size; `accesses` says how much of the load it takes.",
        ),
        optional("accesses", Type::Percent, "Accesses that hit the hot spot."),
    ],
    choices: &[Choice { keys: &["zipf", "pareto", "hot"], required: true }],
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
    doc: "A block size that is multiplied after a number of operations, up to a largest, and begins again.",
    fields: &[
        required("from", BLOCK, "First size."),
        required("to", BLOCK, "Last size."),
        default("factor", count(2, 1024), "2", "What the size is multiplied by."),
        required("every", count(1, 1_000_000_000), "Operations of a slot at each size."),
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
            "Operations that this row describes. The shares of all rows sum to 100.",
        ),
        default("read", Type::Percent, "100", "Reads among them."),
        default("random", Type::Percent, "0", "Random among them."),
        optional("delay", TIME, "Pause after each burst."),
        default("burst", count(1, 1_000_000), "1", "Operations in a burst."),
        optional("align", BLOCK, "Alignment of addresses; the size itself when not given."),
        optional("reply", BLOCK, "Size of the reply to a network request; no meaning for disks."),
    ],
    ..PLAIN
};

static TRANSACTION: TableDef = TableDef {
    title: "`transaction`",
    id: "transaction",
    doc: "A transaction reads pages of an index, which is hot and small, and then touches pages of a table, which is \
          cold and skewed. Each operation waits for the one before it.",
    fields: &[
        default("page", BLOCK, "8KiB", "Page size."),
        default("index", Type::Percent, "5", "Share of the working set that the index occupies."),
        default("index_pages", count(1, 1_000_000), "3", "Index pages that a transaction reads."),
        default("table_pages", count(1, 1_000_000), "2", "Table pages that a transaction touches."),
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
            "Reads among the table accesses; the index is only read.",
        ),
    ],
    ..PLAIN
};

const PRECONDITIONS: &[Word] = &[
    word("none", "nothing beyond what `fill` of the target says"),
    word(
        "snia-pts",
        "as SNIA PTS does with an SSD: their whole capacity is written twice from front to back, and each step warms up \
         until it is steady (rounds of a minute, 25 min at most) unless `steady` says otherwise",
    ),
];

pub(super) static PLAN: TableDef = TableDef {
    title: "[plan]",
    id: "plan",
    doc: "What runs, in which order, for how long. Several plans are written `[[plan]]`, each with a `name`, and run \
          one after the other.",
    fields: &[
        optional("name", Type::Text, "Its name; required where there are several."),
        optional("workload", Type::Text, "The workload, where there is one load."),
        optional(
            "on",
            Type::Refs("a VM, a host, a target or a receiver"),
            "The VMs, hosts and targets that run it; the VMs and receivers, where it is a network workload. A host runs it over \
             all of its own disks, `HOST.disk0` over that one.",
        ),
        optional("load", Type::Tables(&LOAD), "Several loads at the same time."),
        default(
            "warmup",
            TIME,
            "2s",
            "Load before the measurement; with `steady`, the least of it.",
        ),
        optional(
            "steady",
            Type::WordOrTable(STEADY_RULES, &STEADY),
            "The measurement begins when the load has become steady. Without this key it begins after `warmup`.",
        ),
        optional(
            "measure",
            Type::Time { zero: false },
            "Load that is measured; required unless the preset of a network workload says how long.",
        ),
        default(
            "cooldown",
            TIME,
            "0s",
            "Load after the measurement, so that workers do not measure each other's absence.",
        ),
        optional(
            "sweep",
            Type::Table(&SWEEP),
            "Settings to go through: every combination is one step, and the first axis varies slowest.",
        ),
        optional(
            "mtu",
            MTU,
            "MTU of the interfaces that receivers name under `adjust`, set for each step, at both ends, or of a simulated lab; as it is found unless \
             given.",
        ),
        optional(
            "offload",
            Type::Word(OFFLOADS),
            "Segmentation, receive and checksum offloads of these interfaces, in the same way.",
        ),
        default(
            "precondition",
            Type::Word(PRECONDITIONS),
            "none",
            "What is done to its targets before its first step; they must be ones that may be written.",
        ),
        optional(
            "search",
            Type::WordOrTable(SEARCHES, &SEARCH),
            "A load to be found, by steps that are decided on the way. Beside a `sweep` there is one search for each of \
             its combinations.",
        ),
        default("repeat", count(1, 10_000), "1", "How often every step is run."),
        optional(
            "faults",
            Type::Tables(&FAULT),
            "What goes wrong, and when; in every step of the plan.",
        ),
    ],
    choices: &[Choice { keys: &["workload", "load"], required: true }],
    conflicts: &[
        Conflict { key: "load", others: &["on"], why: "every load has its own" },
        Conflict {
            key: "search",
            others: &["repeat"],
            why: "a search repeats the loads that decide; its `repeats` says how often",
        },
    ],
    ..PLAIN
};

const SEARCHES: &[Word] =
    &[word("knee", "where more load buys latency and no more work, over the load that is usual")];

const WORK: &[Word] = &[
    word("iops", "operations a second"),
    word("read", "data read a second"),
    word("write", "data written a second"),
    word("total", "data read and written a second"),
];

static SEARCH: TableDef = TableDef {
    title: "`search`",
    id: "search",
    doc: "What is looked for, and where. With `most` and `while` it is the most work within a limit, without them the \
          knee.",
    fields: &[
        optional("most", Type::Word(WORK), "The work that is to be as much as possible."),
        optional(
            "while",
            Type::OneOrMany(&Type::Text),
            "What must hold meanwhile, such as `\"p99 <= 5 ms\"`, or a list of it: `mean`, `max` or a percentile of \
             response time (`service p99` of service time), `iops`, `read`, `write`, `total` or `errors`, then `<=` or \
             `>=`.",
        ),
        optional(
            "over",
            Type::Text,
            "The load that is searched: `depth`, `workers`, `members`, `rate` or `block`, or `WORKLOAD.depth` where loads \
             differ. `members`: how many of the VMs and targets that it is on run it, the first so many. Unless given, `depth` in closed loops and `rate` in open ones.",
        ),
        optional(
            "from",
            Type::Amount,
            "The least load, where the search begins: 1 for `depth`, `workers` and `members`, 100 IOPS for `rate`, 4KiB for `block` \
             unless given.",
        ),
        optional(
            "to",
            Type::Amount,
            "The largest load: 256 for `depth`, 64 for `workers`, all of them for `members`, 1,000,000 IOPS for `rate`, 1MiB \
             for `block` unless given.",
        ),
        default(
            "repeats",
            count(1, 99),
            "3",
            "Runs of a load that decides, at most; a majority of them settles it.",
        ),
        optional(
            "within",
            Type::Percent,
            "Loads this close are neighbours: 5% for a limit and 10% for the knee unless given.",
        ),
        default("steps", count(3, 1_000), "30", "Steps at most."),
    ],
    ..PLAIN
};

const STEADY_RULES: &[Word] = &[word(
    "snia",
    "as SNIA PTS defines it: of the last five rounds, the largest and the smallest differ by at most 20% of their mean, \
     and the line fitted to them rises or falls by at most 10% of it",
)];

const METRICS: &[Word] = &[
    word("iops", "operations a second"),
    word("throughput", "bytes a second"),
    word("latency", "mean service time"),
];

static STEADY: TableDef = TableDef {
    title: "`steady`",
    id: "steady",
    doc: "The rule by which a load is steady; each key has SNIA's value unless given. The window is the last `rounds` \
          rounds; it is looked at each second.",
    fields: &[
        default(
            "within",
            Type::Time { zero: false },
            "60s",
            "The longest warm-up: then the measurement begins all the same, and the review says that the load was not \
             steady.",
        ),
        default("rounds", count(3, 1_000), "5", "Rounds of the window."),
        default("round", Type::Time { zero: false }, "1s", "Length of a round, at least a second."),
        default(
            "spread",
            Type::Percent,
            "20%",
            "The most that the largest and the smallest round of a window may differ, of their mean.",
        ),
        default(
            "slope",
            Type::Percent,
            "10%",
            "The most that the line fitted to a window may rise or fall over it, of the mean.",
        ),
        default(
            "metric",
            Type::Word(METRICS),
            "iops",
            "What must be steady, over all workers together.",
        ),
    ],
    ..PLAIN
};

static LOAD: TableDef = TableDef {
    title: "a load",
    id: "load",
    doc: "A workload on some VMs, hosts or targets; a network workload on some VMs or receivers. With `after` and `amount`, \
          loads are the phases of a job, which only the simulator carries out.",
    fields: &[
        optional("name", Type::Text, "Its name, for `after` of others."),
        required("workload", Type::Text, "The workload."),
        required(
            "on",
            Type::Refs("a VM, a host, a target or a receiver"),
            "The VMs, hosts and targets that run it; the VMs and receivers, where it is a network workload. A host runs it over \
             all of its own disks, `HOST.disk0` over that one.",
        ),
        optional(
            "after",
            Type::OneOrMany(&Type::Text),
            "Loads of this plan, by name, that must have ended before it begins.",
        ),
        optional(
            "amount",
            SIZE,
            "Bytes after which it ends, over all of its workers together; it never ends when not given.",
        ),
    ],
    ..PLAIN
};

static SWEEP: TableDef = TableDef {
    title: "`sweep`",
    id: "sweep",
    doc: "Each axis is a list of values, or a ladder that doubles: `\"4KiB..1MiB\"`, `\"1..64\"`. Where a plan has \
          several loads, `WORKLOAD.key` sets only that workload; without a workload, a key is for all loads of the kind that \
          has it.",
    fields: &[
        optional("block", Type::Axis(&BLOCK), "Block sizes."),
        optional("depth", Type::Axis(&DEPTH), "Depths."),
        optional("workers", Type::Axis(&WORKERS), "Workers for each VM or target."),
        optional(
            "members",
            Type::Axis(&MEMBERS),
            "How many of the VMs, hosts, targets or receivers that a load is `on` run it: the first so many.",
        ),
        optional("read", Type::Axis(&Type::Percent), "Shares of reads."),
        optional("random", Type::Axis(&Type::Percent), "Shares of random addresses."),
        optional(
            "rate",
            Type::Axis(&Type::IopsOrRate),
            "Rates: of operations, of disk workloads, whose loop becomes open; or of data, of each stream of network workloads.",
        ),
        optional("working_set", Type::Axis(&Type::SizeOrPercent), "Working sets."),
        optional(
            "port",
            Type::Axis(&Type::LinkRate),
            "Speeds of all ports of all embedded arrays, before they are scaled.",
        ),
        optional("message", Type::Axis(&MESSAGE), "Message sizes of network workloads."),
        optional("batch", Type::Axis(&BATCH), "Messages of one submission."),
        optional("streams", Type::Axis(&STREAMS), "Streams of each direction in use."),
        optional("direction", Type::Axis(&Type::Word(DIRECTIONS)), "Directions of the streams."),
        optional(
            "mtu",
            Type::Axis(&MTU),
            "MTUs of the interfaces that receivers name under `adjust`.",
        ),
        optional("offload", Type::Axis(&Type::Word(OFFLOADS)), "Their offloads."),
    ],
    prefixed: true,
    ..PLAIN
};

/// `step = { … }` of goals and claims: which steps are meant.
pub(super) static STEP: TableDef = TableDef {
    title: "`step`",
    id: "step",
    doc: "Which steps are meant: those with all of these settings.",
    fields: &[
        optional("plan", Type::Text, "Steps of this plan."),
        optional("block", BLOCK, "Steps with this block size."),
        optional("depth", DEPTH, "Steps with this depth."),
        optional("workers", WORKERS, "Steps with so many workers."),
        optional("members", MEMBERS, "Steps in which so many run the load."),
        optional("read", Type::Percent, "Steps with this share of reads."),
        optional("random", Type::Percent, "Steps with this share of random addresses."),
        optional("rate", Type::IopsOrRate, "Steps with this rate."),
        optional("working_set", Type::SizeOrPercent, "Steps with this working set."),
        optional("port", Type::LinkRate, "Steps with ports of this speed."),
        optional("message", MESSAGE, "Steps with this message size."),
        optional("batch", BATCH, "Steps with so many messages in a submission."),
        optional("streams", STREAMS, "Steps with so many streams."),
        optional("direction", Type::Word(DIRECTIONS), "Steps with streams in this direction."),
        optional("mtu", MTU, "Steps with this MTU."),
        optional("offload", Type::Word(OFFLOADS), "Steps with offloads like this."),
    ],
    prefixed: true,
    ..PLAIN
};

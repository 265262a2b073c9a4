//! What must hold, and what was published: goals and claims.

use super::work::STEP;
use super::{
    Choice, Conflict, Field, PLAIN, TIME, TableDef, Type, Word, default, optional, required, word,
};

const LATENCIES: &[Word] = &[
    word("service", "from the moment of submission"),
    word("response", "from the moment an operation was due"),
];

const RELATIONS: &[Word] = &[
    word("equal", "exactly, within its rounding"),
    word("about", "about: within 5% at one significant figure"),
    word("over", "over"),
    word("up to", "up to"),
];

const CLAIM_KINDS: &[Word] = &[
    word("calibration", "used to set a parameter: proves nothing when it comes back"),
    word("held-out", "not given to the model: the test"),
    word("context", "said, but not testable"),
];

const RATIO_OF: &[Word] = &[
    word("total", "data read and written a second"),
    word("read", "data read a second"),
    word("write", "data written a second"),
    word("iops", "operations a second"),
    word("cpu", "share of a machine's processors"),
    word("latency", "mean service time of an operation"),
];

const SHAPES: &[Word] = &[
    word(
        "linear",
        "in proportion: the figure over the place is what it is at the first point, within `within`",
    ),
    word("constant", "what it is at the first point, within `within`"),
    word("rising", "more from point to point, but for `within`"),
    word("falling", "less from point to point, but for `within`"),
];

const SCOPES: Choice = Choice { keys: &["over", "each", "hop"], required: false };
const HOP: Type = Type::Ref(
    "an adapter, a switch, a link, an array, a port or a volume of one, a target, a host or a VM, with an optional `:PORT`, or \
     of a network load: `far`, `vm1.far`, `far/sender`, `far/receiver` or `far/probe`",
);
const METRICS: &[&str] =
    &["read", "write", "total", "iops", "latency", "cpu", "balance", "ratio", "shape"];

pub(super) static GOAL: TableDef = TableDef {
    title: "[[goal]]",
    id: "goal",
    doc: "What must hold in every step that it selects. Without `over`, `each` or `hop` it speaks of the sum over all \
          workers of disk workloads. Of a hop of a network load, `write` is what went to the receiver and `read` what came \
          from it, both as they were received, and `iops` counts messages, datagrams or transactions; latency is that of \
          transactions, or of the probe beside streams (`far/probe`).",
    fields: &[
        optional(
            "name",
            Type::Text,
            "As it is shown; made from the goal's own words when not given.",
        ),
        optional("step", Type::Table(&STEP), "Which steps; all of them when not given."),
        optional("over", Type::Refs("a VM or a target"), "The sum over these."),
        optional("each", Type::Refs("a VM or a target"), "Each of these by itself."),
        optional("hop", HOP, "A hop of the lab, by its counters."),
        optional("read", Type::Table(&RATE_BOUND), "Data read a second."),
        optional("write", Type::Table(&RATE_BOUND), "Data written a second."),
        optional("total", Type::Table(&RATE_BOUND), "Data read and written a second."),
        optional("iops", Type::Table(&IOPS_BOUND), "Operations a second."),
        optional("latency", Type::Table(&LATENCY_BOUND), "A point of the latency distribution."),
        optional("errors", Type::Table(&ERRORS_BOUND), "Failed operations."),
        optional(
            "cpu",
            Type::Table(&CPU_BOUND),
            "Share of the processors of a machine of a network load that were busy: `hop = \"far/sender\"`.",
        ),
        optional("balance", Type::Table(&BALANCE), "Everybody gets the same."),
        optional("ratio", Type::Table(&RATIO), "So many times as much as in another step."),
    ],
    choices: &[
        SCOPES,
        Choice {
            keys: &[
                "read", "write", "total", "iops", "latency", "errors", "cpu", "balance", "ratio",
            ],
            required: true,
        },
    ],
    conflicts: &[BALANCE_HAS_ITS_OWN],
    ..PLAIN
};

/// A shape is no figure that somebody qualified.
const SHAPE_HAS_ITS_OWN: Conflict =
    Conflict { key: "shape", others: &["relation"], why: "`is` and `within` say it" };

/// Only data goes by frames.
const FRAMES_ARE_OF_WIRES: Conflict = Conflict {
    key: "frames",
    others: &["iops", "latency", "cpu", "balance", "ratio", "shape"],
    why: "frames limit the data that a wire carries: `read`, `write` or `total`",
};

/// What a balance speaks of is said within it.
const BALANCE_HAS_ITS_OWN: Conflict = Conflict {
    key: "balance",
    others: &["over", "each", "hop"],
    why: "it says itself what it is over",
};

const ONE_BOUND: &[Choice] = &[Choice { keys: &["at_least", "at_most"], required: true }];

static RATE_BOUND: TableDef = TableDef {
    title: "a bound on a data rate",
    id: "rate-bound",
    doc: "A bound on a data rate. `90% of wire` speaks of the payload rate of a hop, and needs `hop`.",
    fields: &[
        optional("at_least", Type::RateOrWire, "No less than this."),
        optional("at_most", Type::RateOrWire, "No more than this."),
    ],
    choices: ONE_BOUND,
    ..PLAIN
};

static IOPS_BOUND: TableDef = TableDef {
    title: "a bound on IOPS",
    id: "iops-bound",
    doc: "A bound on operations a second.",
    fields: &[
        optional("at_least", Type::Iops, "No less than this."),
        optional("at_most", Type::Iops, "No more than this."),
    ],
    choices: ONE_BOUND,
    ..PLAIN
};

static LATENCY_BOUND: TableDef = TableDef {
    title: "a bound on latency",
    id: "latency-bound",
    doc: "A bound on a point of the latency distribution.",
    fields: &[
        required(
            "point",
            Type::Point,
            "`mean`, `max`, or a percentile such as `p50`, `p99` or `p99.9`.",
        ),
        optional("at_least", TIME, "No less than this."),
        optional("at_most", TIME, "No more than this."),
        default("of", Type::Word(LATENCIES), "service", "Which latency."),
    ],
    choices: ONE_BOUND,
    ..PLAIN
};

static ERRORS_BOUND: TableDef = TableDef {
    title: "a bound on errors",
    id: "errors-bound",
    doc: "A bound on failed operations.",
    fields: &[required("at_most", super::count(0, i64::MAX as u64), "No more than this.")],
    ..PLAIN
};

static CPU_BOUND: TableDef = TableDef {
    title: "a bound on CPU",
    id: "cpu-bound",
    doc: "A bound on the share of a machine's processors, all of them together being 100%, that were busy over the measured \
          time: user, system and interrupts, whoever caused them.",
    fields: &[
        optional("at_least", Type::Percent, "No less than this."),
        optional("at_most", Type::Percent, "No more than this."),
    ],
    choices: ONE_BOUND,
    ..PLAIN
};

const BALANCE_OVER: Field = optional(
    "over",
    Type::Refs("a VM or a target"),
    "The members; all that run disk workloads when neither this nor `streams` is given.",
);
const BALANCE_STREAMS: Field = optional(
    "streams",
    Type::Ref("a hop of a network load"),
    "The streams of this hop instead, each by the rate at which it was received, against the mean of those that go its way.",
);
const BALANCE_CHOICE: Choice = Choice { keys: &["over", "streams"], required: false };

static BALANCE: TableDef = TableDef {
    title: "`balance`",
    id: "balance",
    doc: "Every member's share of the data rate lies near the mean.",
    fields: &[
        BALANCE_OVER,
        BALANCE_STREAMS,
        required("within", Type::Percent, "How far from the mean, in percent of it."),
    ],
    choices: &[BALANCE_CHOICE],
    ..PLAIN
};

static BALANCE_CLAIM: TableDef = TableDef {
    title: "a published balance",
    id: "balance-claim",
    doc: "How near the mean every member's share of the data rate was.",
    fields: &[
        BALANCE_OVER,
        BALANCE_STREAMS,
        required(
            "within",
            Type::OneOrMany(&Type::Percent),
            "How far from the mean, in percent of it; or a list of its readings.",
        ),
    ],
    choices: &[BALANCE_CHOICE],
    ..PLAIN
};

static RATIO: TableDef = TableDef {
    title: "`ratio`",
    id: "ratio",
    doc: "What a step does is so many times what the step does that differs from it in the settings of `to` alone.",
    fields: &[
        required("to", Type::Table(&STEP), "What differs in the step that it is held against."),
        default("of", Type::Word(RATIO_OF), "total", "What is held against what."),
        required("is", Type::Number { min: 0.0, max: 1e6 }, "How many times as much."),
        required("within", Type::Percent, "How far from that, in percent of it."),
    ],
    ..PLAIN
};

static RATIO_CLAIM: TableDef = TableDef {
    title: "a published ratio",
    id: "ratio-claim",
    doc: "What a step did was so many times what the step did that differs from it in what `to` says alone, settings or the \
          plan: `is = 1.9` for a gain of 90%. With `relation = \"over\"` or `\"up to\"` and `is = 1` it states an order.",
    fields: &[
        optional(
            "to",
            Type::Table(&STEP),
            "What differs in the step that it is held against. A plan that lacks an axis is the same at each of its values.",
        ),
        optional(
            "to_hop",
            HOP,
            "The hop of the other step, where that is not the claim's own; without `to`, another hop of the same step.",
        ),
        default("of", Type::Word(RATIO_OF), "total", "What is held against what."),
        required(
            "is",
            Type::OneOrMany(&Type::Number { min: 0.0, max: 1e6 }),
            "How many times as much, or a list of its readings.",
        ),
    ],
    ..PLAIN
};

static SHAPE: TableDef = TableDef {
    title: "a published shape",
    id: "shape-claim",
    doc: "What a curve looked like whose figures were not all published: over the values of an axis of a sweep, or over steps \
          that are named one by one. Where the sweep has other axes besides, each of their combinations is a curve of its own, \
          and all must have the shape.",
    fields: &[
        default("of", Type::Word(RATIO_OF), "total", "What is looked at."),
        optional(
            "along",
            Type::Text,
            "An axis of the sweep whose values are sizes, speeds or numbers; at least two of them.",
        ),
        optional("points", Type::Tables(&SHAPE_POINT), "Steps, two at least, each with its place."),
        required("is", Type::Word(SHAPES), "The shape."),
        optional(
            "within",
            Type::Percent,
            "How far a point may be from it, in percent: `5%` unless given of `linear` and `constant`, and nothing of `rising` \
             and `falling`.",
        ),
    ],
    choices: &[Choice { keys: &["along", "points"], required: true }],
    ..PLAIN
};

static SHAPE_POINT: TableDef = TableDef {
    title: "a point of a shape",
    id: "shape-point",
    doc: "A step and its place on the axis.",
    fields: &[
        required("at", Type::Number { min: 0.0, max: 1e15 }, "Its place: ports, controllers, VMs."),
        optional("plan", Type::Text, "The plan of the step."),
        optional("step", Type::Table(&STEP), "What else was settled there."),
        optional("hop", HOP, "Its hop, where that is not the claim's own."),
    ],
    ..PLAIN
};

pub(super) static CLAIM: TableDef = TableDef {
    title: "[[claim]]",
    id: "claim",
    doc: "A figure that somebody published, to be compared with. A list of figures states every reading of an \
          ambiguous source.",
    fields: &[
        optional(
            "name",
            Type::Text,
            "As it is shown, unique among claims; made from the claim's own words when not given.",
        ),
        optional("step", Type::Table(&STEP), "Which steps; all of them when not given."),
        optional("over", Type::Refs("a VM or a target"), "The sum over these."),
        optional("each", Type::Refs("a VM or a target"), "Each of these by itself."),
        optional("hop", HOP, "A hop of the lab, by its counters."),
        optional("read", Type::OneOrMany(&Type::RateOrWire), "Data read a second."),
        optional("write", Type::OneOrMany(&Type::RateOrWire), "Data written a second."),
        optional("total", Type::OneOrMany(&Type::RateOrWire), "Data read and written a second."),
        optional("iops", Type::OneOrMany(&Type::Iops), "Operations a second."),
        optional("latency", Type::Table(&LATENCY_CLAIM), "A point of the latency distribution."),
        optional(
            "cpu",
            Type::OneOrMany(&Type::Percent),
            "Share of the processors of a machine of a network load that were busy.",
        ),
        optional("balance", Type::Table(&BALANCE_CLAIM), "How near each other members were."),
        optional("ratio", Type::Table(&RATIO_CLAIM), "So many times as much as in another step."),
        optional("shape", Type::Table(&SHAPE), "What a curve looked like."),
        optional(
            "frames",
            Type::RateOrWire,
            "Of a limit of a wire, the one of its readings that the physics of frames supports: what frames, their overhead \
             and their gaps leave. It is to come out within 2%.",
        ),
        optional(
            "relation",
            Type::Word(RELATIONS),
            "How the source qualified the figure: `equal` unless given, `up to` of a balance.",
        ),
        required("kind", Type::Word(CLAIM_KINDS), "What it proves."),
        optional(
            "twin_of",
            Type::Text,
            "The name of the claim that says the same in other words: one follows from the other by arithmetic.",
        ),
        optional(
            "note",
            Type::Text,
            "What the source leaves open, or why honest parameters may miss it: shown beside the verdict.",
        ),
        optional("source", Type::Text, "Where it was published, when not the scenario's source."),
    ],
    choices: &[SCOPES, Choice { keys: METRICS, required: true }],
    conflicts: &[BALANCE_HAS_ITS_OWN, SHAPE_HAS_ITS_OWN, FRAMES_ARE_OF_WIRES],
    ..PLAIN
};

static LATENCY_CLAIM: TableDef = TableDef {
    title: "a published latency",
    id: "latency-claim",
    doc: "A published latency.",
    fields: &[
        default(
            "point",
            Type::Point,
            "mean",
            "`mean`, `max`, or a percentile such as `p50`, `p99` or `p99.9`.",
        ),
        required("value", Type::OneOrMany(&TIME), "The figure, or a list of its readings."),
        default("of", Type::Word(LATENCIES), "service", "Which latency."),
    ],
    ..PLAIN
};

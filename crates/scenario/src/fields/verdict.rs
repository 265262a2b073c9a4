//! Goals and published claims.

use super::work::STEP;
use super::{
    Conflict, ExclusiveKeys, KeyField, KeyWord, PLAIN, TIME, TableDef, Type, default, optional,
    required, word,
};

const LATENCIES: &[KeyWord] = &[
    word("service", "from the moment of submission"),
    word("response", "from the moment an operation was due"),
];

const RELATIONS: &[KeyWord] = &[
    word("equal", "equal, within the rounding of the figure"),
    word("about", "approximately: within 5%, at one significant figure"),
    word("over", "over"),
    word("just over", "over, by at most 5%"),
    word("up to", "up to"),
];

const CLAIM_KINDS: &[KeyWord] = &[
    word("calibration", "used to set a parameter: a match proves nothing"),
    word("held-out", "not used by the model: a match is evidence"),
    word("context", "stated, but not testable"),
    word("inferred", "a number that the source does not state: shown, and not counted"),
];

const RATIO_OF: &[KeyWord] = &[
    word("total", "data read and written per second"),
    word("read", "data read per second"),
    word("write", "data written per second"),
    word("iops", "operations per second"),
    word("cpu", "CPU utilization of a machine"),
    word("latency", "mean service time of an operation"),
];

const SHAPES: &[KeyWord] = &[
    word(
        "linear",
        "proportional to the position `at`, relative to the first point, within `within`",
    ),
    word("constant", "equal to the first point, within `within`"),
    word("rising", "increases from point to point; decreases up to `within` are ignored"),
    word("falling", "decreases from point to point; increases up to `within` are ignored"),
];

const SCOPES: ExclusiveKeys = ExclusiveKeys { keys: &["over", "each", "hop"], required: false };
const HOP: Type = Type::Ref(
    "an adapter, a switch, a link, an array, a port or a volume of one, a target, a host or a VM, with an optional `:PORT`, or \
     of a network load: `far`, `vm1.far`, `far/sender`, `far/receiver` or `far/probe`",
);
const METRICS: &[&str] =
    &["read", "write", "total", "iops", "latency", "cpu", "balance", "ratio", "shape"];

pub(super) static GOAL: TableDef = TableDef {
    title: "[[goal]]",
    id: "goal",
    doc: "A condition on every step that it selects. Without `over`, `each` or `hop` it applies to the sum over all \
          workers of disk workloads. On a hop of a network load, `write` is data sent to the receiver and `read` data \
          from it, both as received, and `iops` counts messages, datagrams or transactions; latency is that of \
          transactions, or of the probe alongside streams (`far/probe`).",
    fields: &[
        optional("name", Type::Text, "Display name; default: made from the goal."),
        optional("step", Type::Table(&STEP), "Steps it applies to; default: all."),
        optional("over", Type::Refs("a VM or a target"), "The sum over these members."),
        optional("each", Type::Refs("a VM or a target"), "Each of these members separately."),
        optional("hop", HOP, "A hop, measured by its counters."),
        optional("read", Type::Table(&RATE_BOUND), "Data read per second."),
        optional("write", Type::Table(&RATE_BOUND), "Data written per second."),
        optional("total", Type::Table(&RATE_BOUND), "Data read and written per second."),
        optional("iops", Type::Table(&IOPS_BOUND), "Operations a second."),
        optional("latency", Type::Table(&LATENCY_BOUND), "A point of the latency distribution."),
        optional("errors", Type::Table(&ERRORS_BOUND), "Failed operations."),
        optional(
            "cpu",
            Type::Table(&CPU_BOUND),
            "CPU utilization of a machine of a network load: `hop = \"far/sender\"`.",
        ),
        optional("balance", Type::Table(&BALANCE), "Equal shares for all members."),
        optional("ratio", Type::Table(&RATIO), "The ratio to another step."),
    ],
    choices: &[
        SCOPES,
        ExclusiveKeys {
            keys: &[
                "read", "write", "total", "iops", "latency", "errors", "cpu", "balance", "ratio",
            ],
            required: true,
        },
    ],
    conflicts: &[BALANCE_HAS_ITS_OWN],
    ..PLAIN
};

/// A shape has no published relation.
const SHAPE_HAS_ITS_OWN: Conflict = Conflict {
    key: "shape",
    others: &["relation"],
    why: "the shape's `is` and `within` define it",
};

/// Frames concern data rates only.
const FRAMES_ARE_OF_WIRES: Conflict = Conflict {
    key: "frames",
    others: &["iops", "latency", "cpu", "balance", "ratio", "shape"],
    why: "frames limit the data that a wire carries: `read`, `write` or `total`",
};

/// A balance names its own members.
const BALANCE_HAS_ITS_OWN: Conflict = Conflict {
    key: "balance",
    others: &["over", "each", "hop"],
    why: "a balance names its members itself",
};

const ONE_BOUND: &[ExclusiveKeys] =
    &[ExclusiveKeys { keys: &["at_least", "at_most"], required: true }];

static RATE_BOUND: TableDef = TableDef {
    title: "a bound on a data rate",
    id: "rate-bound",
    doc: "A bound on a data rate. `90% of wire` refers to a hop's payload rate and needs `hop`.",
    fields: &[
        optional("at_least", Type::RateOrWire, "Minimum."),
        optional("at_most", Type::RateOrWire, "Maximum."),
    ],
    choices: ONE_BOUND,
    ..PLAIN
};

static IOPS_BOUND: TableDef = TableDef {
    title: "a bound on IOPS",
    id: "iops-bound",
    doc: "A bound on operations per second.",
    fields: &[
        optional("at_least", Type::Iops, "Minimum."),
        optional("at_most", Type::Iops, "Maximum."),
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
        optional("at_least", TIME, "Minimum."),
        optional("at_most", TIME, "Maximum."),
        default("of", Type::Word(LATENCIES), "service", "Which latency."),
    ],
    choices: ONE_BOUND,
    ..PLAIN
};

static ERRORS_BOUND: TableDef = TableDef {
    title: "a bound on errors",
    id: "errors-bound",
    doc: "A bound on failed operations.",
    fields: &[required("at_most", super::count(0, i64::MAX as u64), "Maximum.")],
    ..PLAIN
};

static CPU_BOUND: TableDef = TableDef {
    title: "a bound on CPU",
    id: "cpu-bound",
    doc: "A bound on a machine's CPU utilization over the measured time (100% = all processors busy), counting user, \
          system and interrupt time of all processes.",
    fields: &[
        optional("at_least", Type::Percent, "Minimum."),
        optional("at_most", Type::Percent, "Maximum."),
    ],
    choices: ONE_BOUND,
    ..PLAIN
};

const BALANCE_OVER: KeyField = optional(
    "over",
    Type::Refs("a VM or a target"),
    "The members; default without `streams`: all that run disk workloads.",
);
const BALANCE_STREAMS: KeyField = optional(
    "streams",
    Type::Ref("a hop of a network load"),
    "Instead, the streams of this hop: each stream's received rate against the mean of its direction.",
);
const BALANCE_CHOICE: ExclusiveKeys = ExclusiveKeys { keys: &["over", "streams"], required: false };

static BALANCE: TableDef = TableDef {
    title: "`balance`",
    id: "balance",
    doc: "Every member's data rate is close to the mean.",
    fields: &[
        BALANCE_OVER,
        BALANCE_STREAMS,
        required("within", Type::Percent, "Allowed distance from the mean, in percent."),
    ],
    choices: &[BALANCE_CHOICE],
    ..PLAIN
};

static BALANCE_CLAIM: TableDef = TableDef {
    title: "a published balance",
    id: "balance-claim",
    doc: "The published distance of the members' data rates from their mean.",
    fields: &[
        BALANCE_OVER,
        BALANCE_STREAMS,
        required(
            "within",
            Type::OneOrMany(&Type::Percent),
            "Distance from the mean, in percent; or a list of readings.",
        ),
    ],
    choices: &[BALANCE_CHOICE],
    ..PLAIN
};

static RATIO: TableDef = TableDef {
    title: "`ratio`",
    id: "ratio",
    doc: "The ratio of a step to the step that differs from it only in the settings of `to`.",
    fields: &[
        required("to", Type::Table(&STEP), "The settings that differ in the reference step."),
        default("of", Type::Word(RATIO_OF), "total", "The metric compared."),
        required("is", Type::Number { min: 0.0, max: 1e6 }, "The ratio."),
        required("within", Type::Percent, "Allowed deviation, in percent."),
    ],
    ..PLAIN
};

static RATIO_CLAIM: TableDef = TableDef {
    title: "a published ratio",
    id: "ratio-claim",
    doc: "A published ratio of a step to the step that differs from it only in `to` (settings or plan): `is = 1.9` \
          for a gain of 90%. With `relation = \"over\"` or `\"up to\"` and `is = 1` it states an order.",
    fields: &[
        optional(
            "to",
            Type::Table(&STEP),
            "The settings that differ in the reference step. A plan without an axis counts as equal at each of its \
             values.",
        ),
        optional(
            "to_hop",
            HOP,
            "The hop in the reference step, if it differs from the claim's; without `to`, another hop of the same \
             step.",
        ),
        default("of", Type::Word(RATIO_OF), "total", "The metric compared."),
        required(
            "is",
            Type::OneOrMany(&Type::Number { min: 0.0, max: 1e6 }),
            "The ratio, or a list of readings.",
        ),
    ],
    ..PLAIN
};

static SHAPE: TableDef = TableDef {
    title: "a published shape",
    id: "shape-claim",
    doc: "The published shape of a curve whose figures were not all published: over an axis of a sweep, or over \
          listed steps. If the sweep has other axes, each of their combinations is a separate curve, and all must \
          have the shape.",
    fields: &[
        default("of", Type::Word(RATIO_OF), "total", "The metric of the curve."),
        optional(
            "along",
            Type::Text,
            "An axis of the sweep with at least two values that are sizes, speeds or numbers.",
        ),
        optional(
            "points",
            Type::Tables(&SHAPE_POINT),
            "At least two steps, each with its position.",
        ),
        required("is", Type::Word(SHAPES), "The shape."),
        optional(
            "within",
            Type::Percent,
            "Tolerance per point, in percent; default: `5%` for `linear` and `constant`, 0 for `rising` and \
             `falling`.",
        ),
    ],
    choices: &[ExclusiveKeys { keys: &["along", "points"], required: true }],
    ..PLAIN
};

static SHAPE_POINT: TableDef = TableDef {
    title: "a point of a shape",
    id: "shape-point",
    doc: "A step and its position on the axis.",
    fields: &[
        required(
            "at",
            Type::Number { min: 0.0, max: 1e15 },
            "Position: number of ports, controllers or VMs.",
        ),
        optional("plan", Type::Text, "The plan of the step."),
        optional("step", Type::Table(&STEP), "Further settings of the step."),
        optional("hop", HOP, "Its hop, if it differs from the claim's."),
    ],
    ..PLAIN
};

pub(super) static CLAIM: TableDef = TableDef {
    title: "[[claim]]",
    id: "claim",
    doc: "A published figure to compare with. A list of figures gives every reading of an ambiguous source.",
    fields: &[
        optional(
            "name",
            Type::Text,
            "Display name, unique among claims; default: made from the claim.",
        ),
        optional("step", Type::Table(&STEP), "Steps it applies to; default: all."),
        optional("over", Type::Refs("a VM or a target"), "The sum over these members."),
        optional("each", Type::Refs("a VM or a target"), "Each of these members separately."),
        optional("hop", HOP, "A hop, measured by its counters."),
        optional("read", Type::OneOrMany(&Type::RateOrWire), "Data read per second."),
        optional("write", Type::OneOrMany(&Type::RateOrWire), "Data written per second."),
        optional("total", Type::OneOrMany(&Type::RateOrWire), "Data read and written per second."),
        optional("iops", Type::OneOrMany(&Type::Iops), "Operations a second."),
        optional("latency", Type::Table(&LATENCY_CLAIM), "A point of the latency distribution."),
        optional(
            "cpu",
            Type::OneOrMany(&Type::Percent),
            "CPU utilization of a machine of a network load.",
        ),
        optional(
            "balance",
            Type::Table(&BALANCE_CLAIM),
            "Distance of the members from their mean.",
        ),
        optional("ratio", Type::Table(&RATIO_CLAIM), "The ratio to another step."),
        optional("shape", Type::Table(&SHAPE), "The shape of a curve."),
        optional(
            "frames",
            Type::RateOrWire,
            "For a wire limit, the reading that follows from frame sizes, overhead and gaps. The result must match it \
             within 2%.",
        ),
        optional(
            "relation",
            Type::Word(RELATIONS),
            "How the source qualified the figure; default: `equal`, for a balance `up to`.",
        ),
        required("kind", Type::Word(CLAIM_KINDS), "How it counts as evidence."),
        optional(
            "twin_of",
            Type::Text,
            "The name of an equivalent claim: each follows from the other by arithmetic.",
        ),
        optional(
            "note",
            Type::Text,
            "What the source leaves open, or why sound parameters may miss the figure; shown with the verdict.",
        ),
        optional("source", Type::Text, "Where it was published; default: the scenario's source."),
    ],
    choices: &[SCOPES, ExclusiveKeys { keys: METRICS, required: true }],
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
        required("value", Type::OneOrMany(&TIME), "The figure, or a list of readings."),
        default("of", Type::Word(LATENCIES), "service", "Which latency."),
    ],
    ..PLAIN
};

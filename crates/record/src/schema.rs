//! The record file's tables and views, in SQL, and the words that its enumerations are stored as. `docs/record.md`
//! explains all of them; a test compares the two.

use crate::{Flow, Level, Lever, Meaning, Phase, ProducerKind, Scope, Status, StreamEnd};
use workload::Dir;

/// `PRAGMA application_id`: the letters `WSPD`.
pub(crate) const APPLICATION_ID: u32 = 0x5753_5044;

/// `PRAGMA user_version`: the version of this format. It increases with any change that readers could misread.
pub(crate) const VERSION: u32 = 7;

/// The oldest version that this program reads: version 2 has no network streams, version 3 no confidence intervals,
/// version 4 only those over all workers; version 5 has only names, which `legacy` interprets; version 6 has
/// reads and writes only, and no proofs.
pub(crate) const OLDEST: u32 = 2;

/// Tables that a record must have, with the version that introduced them.
pub(crate) const TABLES: [(&str, u32); 19] = [
    ("run", 2),
    ("scenario_override", 2),
    ("fact", 2),
    ("source", 2),
    ("step", 2),
    ("step_setting", 2),
    ("worker_load", 2),
    ("stream_load", STREAMS_SINCE),
    ("interval", 2),
    ("total", 2),
    ("interval_other", OTHERS_SINCE),
    ("total_other", OTHERS_SINCE),
    ("counter_kind", TYPED_SINCE),
    ("counter", 2),
    ("event", 2),
    ("confidence", CONFIDENCE_SINCE),
    ("proof", PROOFS_SINCE),
    ("perturbation", PROOFS_SINCE),
    ("proof_round", PROOFS_SINCE),
];

/// The version that introduced network streams.
pub(crate) const STREAMS_SINCE: u32 = 3;

/// The version that introduced intervals of confidence.
pub(crate) const CONFIDENCE_SINCE: u32 = 4;

/// The version that introduced intervals of parts of a step.
pub(crate) const CONFIDENCE_OF_SINCE: u32 = 5;

/// The version that introduced kinds of hops, counters and producers.
pub(crate) const TYPED_SINCE: u32 = 6;

/// The version that introduced operations that move no data.
pub(crate) const OTHERS_SINCE: u32 = 7;

/// The columns of the figures of operations without data, in the order in which `columns` writes and reads them.
pub(crate) const OTHER_FIGURES: &str =
    "operation, ops, bytes, errors, service_sum_ns, service, response";

/// The version that introduced proofs by perturbation.
pub(crate) const PROOFS_SINCE: u32 = 7;

/// The columns that `interval` and `total` share, in the order in which `columns` writes and reads them. Histograms
/// are last, so that SQLite reads the figures without passing over them.
pub(crate) const FIGURES: &str = "\
    read_ops, read_bytes, read_errors, read_service_sum_ns, \
    write_ops, write_bytes, write_errors, write_service_sum_ns, \
    cpu_user_ns, cpu_system_ns, own_ns, in_flight_ns, late_ops, late_max_ns, overruns, open_ops, open_age_max_ns, \
    read_service, read_response, write_service, write_response";

/// The columns of the figures of intervals and totals.
macro_rules! figure_columns {
    () => {
        "    read_ops INTEGER,
    read_bytes INTEGER,
    read_errors INTEGER,
    read_service_sum_ns INTEGER,
    write_ops INTEGER,
    write_bytes INTEGER,
    write_errors INTEGER,
    write_service_sum_ns INTEGER,
    cpu_user_ns INTEGER,
    cpu_system_ns INTEGER,
    own_ns INTEGER,
    in_flight_ns INTEGER,
    late_ops INTEGER,
    late_max_ns INTEGER,
    overruns INTEGER,
    open_ops INTEGER,
    open_age_max_ns INTEGER,
    read_service BLOB,
    read_response BLOB,
    write_service BLOB,
    write_response BLOB"
    };
}

/// The columns of the figures of operations without data.
macro_rules! other_columns {
    () => {
        "    operation TEXT NOT NULL,
    ops INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    service_sum_ns INTEGER NOT NULL,
    service BLOB,
    response BLOB"
    };
}

/// The schema of a new record.
pub(crate) const CREATE: &str = concat!(
    "
CREATE TABLE run (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    title TEXT NOT NULL,
    producer TEXT NOT NULL,
    producer_kind TEXT NOT NULL,
    scenario_name TEXT NOT NULL,
    scenario_text TEXT NOT NULL,
    epoch_ns INTEGER NOT NULL,
    wall_ns INTEGER NOT NULL,
    seed TEXT NOT NULL,
    status TEXT NOT NULL
) STRICT;

CREATE TABLE scenario_override (
    seq INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE fact (
    seq INTEGER PRIMARY KEY,
    subject TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE source (
    source INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    hop_kind TEXT,
    name TEXT NOT NULL UNIQUE,
    group_name TEXT NOT NULL,
    agent TEXT NOT NULL
) STRICT;

CREATE TABLE step (
    step INTEGER PRIMARY KEY,
    plan TEXT NOT NULL,
    repetition INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    measure_ns INTEGER NOT NULL,
    cooldown_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    done INTEGER NOT NULL
) STRICT;

CREATE TABLE step_setting (
    step INTEGER NOT NULL REFERENCES step (step),
    seq INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (step, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE worker_load (
    step INTEGER NOT NULL REFERENCES step (step),
    seq INTEGER NOT NULL,
    source INTEGER NOT NULL REFERENCES source (source),
    workload TEXT NOT NULL,
    arrivals TEXT NOT NULL,
    depth INTEGER,
    think INTEGER,
    rate_per_s REAL,
    ops_per_transaction INTEGER NOT NULL,
    PRIMARY KEY (step, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE stream_load (
    step INTEGER NOT NULL REFERENCES step (step),
    seq INTEGER NOT NULL,
    source INTEGER NOT NULL REFERENCES source (source),
    workload TEXT NOT NULL,
    hop INTEGER NOT NULL REFERENCES source (source),
    flow TEXT NOT NULL,
    side TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (step, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE interval (
    step INTEGER NOT NULL REFERENCES step (step),
    source INTEGER NOT NULL REFERENCES source (source),
    phase TEXT NOT NULL,
    from_ns INTEGER NOT NULL,
    to_ns INTEGER NOT NULL,
",
    figure_columns!(),
    "
) STRICT;
CREATE UNIQUE INDEX interval_by_time ON interval (step, from_ns, source);

CREATE TABLE total (
    step INTEGER NOT NULL REFERENCES step (step),
    source INTEGER NOT NULL REFERENCES source (source),
    measured_ns INTEGER NOT NULL,
",
    figure_columns!(),
    ",
    PRIMARY KEY (step, source)
) STRICT;

CREATE TABLE interval_other (
    step INTEGER NOT NULL,
    source INTEGER NOT NULL,
    from_ns INTEGER NOT NULL,
",
    other_columns!(),
    ",
    PRIMARY KEY (step, from_ns, source, operation)
) STRICT, WITHOUT ROWID;

CREATE TABLE total_other (
    step INTEGER NOT NULL,
    source INTEGER NOT NULL,
",
    other_columns!(),
    ",
    PRIMARY KEY (step, source, operation)
) STRICT, WITHOUT ROWID;

CREATE TABLE counter_kind (
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    meaning TEXT,
    scope TEXT,
    about TEXT,
    PRIMARY KEY (name, unit)
) STRICT, WITHOUT ROWID;

CREATE TABLE counter (
    seq INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source (source),
    step INTEGER REFERENCES step (step),
    from_ns INTEGER NOT NULL,
    to_ns INTEGER NOT NULL,
    name TEXT NOT NULL,
    part TEXT,
    value REAL,
    unit TEXT NOT NULL
) STRICT;
CREATE INDEX counter_by_step ON counter (step);

CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    at_ns INTEGER NOT NULL,
    step INTEGER,
    source INTEGER,
    level TEXT NOT NULL,
    code TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE confidence (
    step INTEGER NOT NULL REFERENCES step (step),
    source TEXT,
    figure TEXT NOT NULL,
    low REAL,
    high REAL,
    unit TEXT NOT NULL,
    level REAL,
    batches INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX confidence_by_figure ON confidence (step, ifnull(source, ''), figure);

CREATE TABLE proof (
    step INTEGER PRIMARY KEY REFERENCES step (step),
    round_ns INTEGER NOT NULL,
    settle_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE perturbation (
    step INTEGER NOT NULL REFERENCES proof (step),
    seq INTEGER NOT NULL,
    subject TEXT NOT NULL,
    lever TEXT,
    factor REAL,
    why TEXT,
    PRIMARY KEY (step, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE proof_round (
    step INTEGER NOT NULL REFERENCES proof (step),
    seq INTEGER NOT NULL,
    perturbation INTEGER,
    PRIMARY KEY (step, seq)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_interval AS
SELECT
    i.step AS step,
    s.name AS source,
    i.phase AS phase,
    i.from_ns / 1e9 AS from_s,
    i.to_ns / 1e9 AS to_s,
    i.read_ops * 1e9 / (i.to_ns - i.from_ns) AS read_iops,
    i.read_bytes * 1e3 / (i.to_ns - i.from_ns) AS read_mb_per_s,
    i.read_service_sum_ns / 1e3 / i.read_ops AS read_service_mean_us,
    i.write_ops * 1e9 / (i.to_ns - i.from_ns) AS write_iops,
    i.write_bytes * 1e3 / (i.to_ns - i.from_ns) AS write_mb_per_s,
    i.write_service_sum_ns / 1e3 / i.write_ops AS write_service_mean_us,
    coalesce(i.read_errors, 0) + coalesce(i.write_errors, 0) AS errors,
    i.in_flight_ns * 1.0 / (i.to_ns - i.from_ns) AS in_flight_mean
FROM interval i JOIN source s ON s.source = i.source;

CREATE VIEW v_step AS
WITH measured AS (
    SELECT
        i.step AS step,
        (max(i.to_ns) - min(i.from_ns)) / 1e9 AS s,
        coalesce(sum(i.read_ops), 0) AS read_ops,
        coalesce(sum(i.write_ops), 0) AS write_ops,
        coalesce(sum(i.read_bytes), 0) AS read_bytes,
        coalesce(sum(i.write_bytes), 0) AS write_bytes,
        coalesce(sum(i.read_service_sum_ns), 0) + coalesce(sum(i.write_service_sum_ns), 0) AS service_ns,
        coalesce(sum(i.read_errors), 0) + coalesce(sum(i.write_errors), 0) AS errors
    FROM interval i JOIN source w ON w.source = i.source
    WHERE i.phase = 'measure' AND w.kind = 'worker'
    GROUP BY i.step
)
SELECT
    t.step AS step,
    t.plan AS plan,
    (SELECT group_concat(key || '=' || value, ' ') FROM step_setting WHERE step = t.step) AS settings,
    t.repetition AS repetition,
    t.done AS done,
    m.s AS measured_s,
    (m.read_ops + m.write_ops) / m.s AS iops,
    (m.read_bytes + m.write_bytes) / 1e6 / m.s AS mb_per_s,
    m.read_ops / m.s AS read_iops,
    m.read_bytes / 1e6 / m.s AS read_mb_per_s,
    m.write_ops / m.s AS write_iops,
    m.write_bytes / 1e6 / m.s AS write_mb_per_s,
    m.service_ns / 1e3 / (m.read_ops + m.write_ops) AS service_mean_us,
    m.errors AS errors
FROM step t LEFT JOIN measured m ON m.step = t.step;
"
);

/// A value that is stored as a word.
pub(crate) trait StoredWord: Copy + PartialEq + Sized + 'static {
    /// Every value with its word.
    const WORDS: &'static [(Self, &'static str)];

    /// The word of this value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(value, _)| *value == self).map_or("", |(_, word)| word)
    }

    /// The value of a word.
    fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, w)| *w == word).map(|(value, _)| *value)
    }
}

impl StoredWord for Dir {
    const WORDS: &'static [(Dir, &'static str)] =
        &[(Dir::Trim, "trim"), (Dir::Zero, "zeroes"), (Dir::Flush, "flush")];
}

impl StoredWord for Status {
    const WORDS: &'static [(Status, &'static str)] = &[
        (Status::Running, "running"),
        (Status::Complete, "complete"),
        (Status::Stopped, "stopped"),
        (Status::Failed, "failed"),
    ];
}

impl StoredWord for Phase {
    const WORDS: &'static [(Phase, &'static str)] =
        &[(Phase::Warmup, "warmup"), (Phase::Measure, "measure"), (Phase::Cooldown, "cooldown")];
}

impl StoredWord for ProducerKind {
    const WORDS: &'static [(ProducerKind, &'static str)] = &[
        (ProducerKind::Live, "live"),
        (ProducerKind::Simulated, "simulated"),
        (ProducerKind::Estimated, "estimated"),
        (ProducerKind::Imported, "imported"),
    ];
}

impl StoredWord for Meaning {
    const WORDS: &'static [(Meaning, &'static str)] = &[
        (Meaning::Count, "count"),
        (Meaning::Time, "time"),
        (Meaning::Mean, "mean"),
        (Meaning::End, "end"),
        (Meaning::Setting, "setting"),
    ];
}

impl StoredWord for Scope {
    const WORDS: &'static [(Scope, &'static str)] = &[
        (Scope::Hop, "hop"),
        (Scope::Worker, "worker"),
        (Scope::StreamEnd, "stream-end"),
        (Scope::NetworkHost, "network-host"),
    ];
}

impl StoredWord for Flow {
    const WORDS: &'static [(Flow, &'static str)] = &[(Flow::Up, "up"), (Flow::Down, "down")];
}

impl StoredWord for StreamEnd {
    const WORDS: &'static [(StreamEnd, &'static str)] =
        &[(StreamEnd::Sent, "sent"), (StreamEnd::Received, "received")];
}

impl StoredWord for Level {
    const WORDS: &'static [(Level, &'static str)] =
        &[(Level::Info, "info"), (Level::Warning, "warning"), (Level::Error, "error")];
}

impl StoredWord for Lever {
    const WORDS: &'static [(Lever, &'static str)] = &[
        (Lever::Rate, "rate"),
        (Lever::Ops, "ops"),
        (Lever::Latency, "latency"),
        (Lever::Cpu, "cpu"),
        (Lever::Depth, "depth"),
        (Lever::Think, "think"),
        (Lever::Arrivals, "arrivals"),
    ];
}

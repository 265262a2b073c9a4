//! The shape of an answer: what limits a step, how sure that is, and the load of every hop.

use serde::Serialize;

/// What limits a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attribution {
    /// The most probable answer.
    pub limit: Limiter,
    /// How probable it is, 0 to 1.
    pub probability: f64,
    /// The next one.
    pub runner_up: Option<RunnerUp>,
    /// The evidence for the answer, the strongest first.
    pub clues: Vec<Clue>,
    /// Where the hop has room and limits because paths take turns: which turns.
    pub turns: Option<PathTurns>,
    /// Every hop that counted, in the order of the record.
    pub hops: Vec<HopLoad>,
}

/// Paths of which a load uses one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathTurns {
    /// I/Os that go over one path before the next.
    pub ios: f64,
    /// Paths that are at work on average.
    pub paths: f64,
}

/// The second most probable answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunnerUp {
    /// The answer.
    pub limit: Limiter,
    /// How probable it is, 0 to 1.
    pub probability: f64,
}

/// What can limit a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Limiter {
    /// A hop.
    Hop {
        /// Its name.
        hop: String,
        /// Which of its limits.
        why: HopLimit,
        /// Other hops of its kind that are as full, and those of the same wire: they would have to grow with it.
        also: Vec<String>,
    },
    /// The load itself: no hop is full, and the workers keep all that they may outstanding. More depth brings more.
    Depth,
    /// The generator could not issue more.
    Generator,
    /// Nothing: the requested rate was carried.
    Rate,
    /// Two hops that are full at once, within 5%: neither alone would bring more.
    Two {
        /// The fuller.
        first: String,
        /// The other.
        second: String,
    },
    /// The load against a delay without a queue: most of an I/O's time passes at one hop that is not full.
    Latency {
        /// The hop.
        hop: String,
    },
    /// One of several paths is full while others have room.
    PathImbalance {
        /// The hop that is full.
        hop: String,
        /// Its siblings that are not.
        idle: Vec<String>,
    },
    /// Slow drain: a port waits for a full target behind it and holds up traffic to other targets.
    SlowDrain {
        /// The port that waits.
        hop: String,
        /// The slow target, where it has counters.
        drain: Option<String>,
    },
    /// Not determined: counters are missing.
    Unknown {
        /// The counters that would decide, as `COUNTERS of HOP`.
        missing: Vec<String>,
    },
    /// Nothing known: neither the load nor any hop, and every hop has counters.
    None,
}

/// Which of a hop's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HopLimit {
    /// Bytes a second.
    Rate,
    /// I/Os a second, or the time of what serves them.
    Ops,
    /// I/Os at once.
    Slots,
    /// Processor time.
    Cpu,
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clue {
    /// Where it was seen; `None` for the load as a whole.
    pub hop: Option<String>,
    /// What was seen, in words (`transmit 99.2% of 826 MB/s`).
    pub text: String,
}

/// One hop in one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopLoad {
    /// Its name.
    pub hop: String,
    /// The VM, host, switch, array or link that it belongs to.
    pub device: String,
    /// Bytes a second towards the guest.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes a second towards the device.
    pub write_bytes_per_s: Option<f64>,
    /// What it can carry towards the guest, in bytes a second, where that is known.
    pub read_rate_bytes_per_s: Option<f64>,
    /// What it can carry towards the device.
    pub write_rate_bytes_per_s: Option<f64>,
    /// I/Os a second.
    pub iops: Option<f64>,
    /// How full the fullest of its limits was, 0 to 1 (a little more where rates are measured).
    pub utilization: Option<f64>,
    /// Which limit that is.
    pub of: Option<Gauge>,
    /// That limit in its unit: bytes a second, I/Os a second, I/Os at once or processors; `None` for a share of time.
    pub capacity: Option<f64>,
    /// Mean number of I/Os present, waiting or served.
    pub queue: Option<f64>,
    /// Mean number that wait to be served.
    pub waiting: Option<f64>,
    /// Mean number that wait for its queue limit.
    pub slots_waiting: Option<f64>,
    /// Mean time of an I/O at the hop, waiting included.
    pub mean_ns: Option<f64>,
    /// The share of an I/O's time that passes there, 0 to 1.
    pub latency_share: Option<f64>,
    /// How many times its present load it would carry; 1 = full.
    pub headroom: Option<f64>,
}

/// Which limit a utilization is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Gauge {
    /// Bytes a second towards the guest: what a target sends and an initiator receives.
    Receive,
    /// Bytes a second towards the device: what an initiator sends.
    Transmit,
    /// Bytes a second of both directions together.
    Both,
    /// I/Os a second.
    Ops,
    /// The time of its servers.
    Busy,
    /// A quota of processor time, by how often it was used up.
    Quota,
    /// I/Os at once.
    Slots,
}

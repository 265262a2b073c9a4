//! Projection: how many mailboxes, desktops, transactions a second or terabytes in a window the measured steps carry,
//! within the latency that the application needs.
//!
//! The figure is taken from the measured step whose access specification is nearest to the application's, and says how
//! far it is extrapolated; it is rounded down, and it is a range where more is not known. Nothing is fitted: the truth
//! is between two steps. A step that a cache, the generator or a missing worker flatters is not used, or marked.

mod access;
mod footprint;
mod judge;

pub use access::Access;
pub use footprint::Footprint;
pub(crate) use footprint::of as footprint;
pub(crate) use judge::Projector;

use crate::quantity::Quantity;
use serde::Serialize;

/// An application, and how much of it the measured steps carry.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Projection {
    /// The profile, by its name in the catalog.
    pub profile: String,
    /// What it is, in words.
    pub title: String,
    /// What is counted, in the plural: `mailboxes`, `TB in the window`.
    pub units: String,
    /// What one of them asks for: operations a second, or bytes a second over the window.
    pub each: Quantity,
    /// The access specification of the application.
    pub access: Access,
    /// The bounded point of the latency distribution, of reads and of writes each: `mean`, `p99`; `None` for amounts.
    pub point: Option<String>,
    /// The bound, in nanoseconds.
    pub limit_ns: Option<u64>,
    /// The time that there is for a backup, in nanoseconds.
    pub window_ns: Option<u64>,
    /// How many are needed, if that was said.
    pub wanted: Option<f64>,
    /// Whether that many are carried; `None` where none were asked for, or it is not known.
    pub enough: Option<bool>,
    /// The answer.
    pub answer: Carried,
    /// The figures of the profile with their sources.
    pub figures: Vec<ProfileFigure>,
}

/// A figure of a profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileFigure {
    /// What it says: `iops_each`, `block`, `read`, `random`, `limit`, `point`, `size_each`, `window`.
    pub name: String,
    /// Its value with its unit.
    pub value: String,
    /// Where it comes from.
    pub source: String,
    /// Whether it is assumed, and neither published nor derived.
    pub assumed: bool,
}

/// How many are carried.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Carried {
    /// This many.
    Known {
        /// At least so many, rounded down to two digits.
        least: f64,
        /// At most so many, rounded down to two digits; `None` where the steps show no end.
        most: Option<f64>,
        /// The step that carries them.
        step: Measured,
        /// What keeps it from being more.
        limit: CarryLimit,
        /// How the step differs from the application; `None` where it does not.
        extrapolated: Option<Extrapolation>,
        /// What else is to be known of the step, a clause each.
        caveats: Vec<String>,
    },
    /// The steps do not show it.
    Undecided {
        /// Why not.
        reason: String,
        /// The step to add.
        next: String,
    },
}

/// A step as a projection looks at it. Repetitions of equal settings are one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// Its number in the run; of repetitions the first.
    pub index: u32,
    /// As it is called in sentences.
    pub label: String,
    /// Operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// The bounded point of the latency, in nanoseconds, of the slower direction; `None` where none is bounded.
    pub latency_ns: Option<f64>,
    /// What its operations were like.
    pub access: Access,
    /// What its figures rest on.
    pub footprint: Footprint,
}

/// What keeps a figure from being larger.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CarryLimit {
    /// The latency: this step, with more load, is beyond the limit.
    Latency {
        /// The step.
        step: Box<Measured>,
    },
    /// The storage: this step, with more load, did no more work, though its latency was within the limit.
    Work {
        /// The step.
        step: Box<Measured>,
    },
    /// The generator: it may have held the load back, so that there may be more.
    Generator,
    /// The steps: the one with the most load was within the limit, so that there may be more.
    Steps,
}

/// How a measured step differs from the application.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extrapolation {
    /// The measured size of an operation by the application's.
    pub block_ratio: f64,
    /// Measured share of reads less the application's, in percentage points.
    pub read_points: f64,
    /// Measured share of random addresses less the application's, in percentage points.
    pub random_points: f64,
}

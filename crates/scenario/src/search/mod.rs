//! Searches: plans whose steps are decided on the way, for the knee or for the most load within a limit.
//!
//! The rule is a pure function of what the steps so far have shown: [`Search::next`] answers which load to try next, or
//! that the search is over and what it found. Nothing is remembered between two calls, so that a campaign, which asks
//! after every step, findings, which ask again over the steps of a record, and a simulator cannot come to different
//! answers. It brackets: the load grows by a factor until the limit is violated (or work stops growing), then the bracket
//! is halved on a logarithmic scale until its ends are neighbours, and its ends are run again until a majority of their
//! runs agree, so that noise does not decide. (Bracketing and bisection as in R. P. Brent, *Algorithms for Minimization
//! without Derivatives*, 1973; the majority is what keeps them sound where an answer can be wrong, as in R. M. Karp and
//! R. Kleinberg, *Noisy binary search and its applications*, 2007.) It never reads a clock, and knows no engine.

mod answer;
mod grid;
mod limit;
mod rule;
mod seen;
mod tried;

pub use answer::{SearchAnswer, SearchStop};
pub use grid::{Over, SearchRange};
pub use limit::Limit;
pub use rule::{SearchNext, Why};
pub use seen::{CARRIED_LEAST, DirectionSums, Seen, StepSums};
pub use tried::Tried;

use crate::model::{Metric, Setting};
use units::{Bytes, Iops, Percent};

/// The key `search` of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The setting that is searched, as an axis of a sweep is written: `depth`, or `WORKLOAD.rate`.
    pub key: String,
    /// What that is, and between which values.
    pub range: SearchRange,
    /// What is looked for.
    pub aim: Aim,
    /// Runs of a load that decides, at most: a majority of them settles it.
    pub repeats: u32,
    /// Two loads this close are neighbours.
    pub within: Percent,
    /// Steps at most.
    pub steps: u32,
}

/// What a search looks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Aim {
    /// Where more load buys latency and no more work.
    Knee,
    /// The most work while all limits hold.
    Most {
        /// The work.
        metric: Metric,
        /// What must hold; at least one.
        limits: Vec<Limit>,
    },
}

impl Search {
    /// Runs of a load that decides, unless given.
    pub const REPEATS: u32 = 3;
    /// Steps at most, unless given.
    pub const STEPS: u32 = 30;
    /// The tolerance of a limit's bracket, unless given.
    pub const WITHIN_LIMIT: Percent = Percent(5.0);
    /// The tolerance of a knee's, unless given: it is never sharp.
    pub const WITHIN_KNEE: Percent = Percent(10.0);

    /// A load as a setting of the workload.
    pub fn setting(&self, load: f64) -> Setting {
        // Casts saturate; `load` comes from the range, which was checked.
        match self.range.over {
            Over::Depth => Setting::Depth(load as u32),
            Over::Workers => Setting::Workers(load as u32),
            Over::Members => Setting::Members(load as u32),
            Over::Rate => Setting::Rate(Iops(load)),
            Over::Block => Setting::Block(Bytes(load as u64)),
        }
    }

    /// Whether a setting is a load within the range.
    pub fn can_try(&self, setting: &Setting) -> bool {
        let load = match (self.range.over, setting) {
            (Over::Depth, Setting::Depth(n))
            | (Over::Workers, Setting::Workers(n))
            | (Over::Members, Setting::Members(n)) => f64::from(*n),
            (Over::Rate, Setting::Rate(rate)) => rate.0,
            (Over::Block, Setting::Block(size)) => size.0 as f64,
            _ => return false,
        };
        (self.range.from..=self.range.to).contains(&load)
    }

    /// The metric of the work that the search maximises, or that has a knee.
    pub fn metric(&self) -> Metric {
        match (&self.aim, self.range.over) {
            (Aim::Most { metric, .. }, _) => *metric,
            (Aim::Knee, Over::Block) => Metric::TotalRate,
            (Aim::Knee, _) => Metric::Iops,
        }
    }

    /// The limits; none where it is the knee that is looked for.
    pub fn limits(&self) -> &[Limit] {
        match &self.aim {
            Aim::Knee => &[],
            Aim::Most { limits, .. } => limits,
        }
    }

    /// What is looked for, in words: `the knee over depth`, `most IOPS while p99 ≤ 5 ms, over depth`.
    pub fn question(&self) -> String {
        match &self.aim {
            Aim::Knee => format!("the knee over {}", self.key),
            Aim::Most { metric, limits } => {
                let limits: Vec<String> = limits.iter().map(Limit::to_string).collect();
                format!("most {metric} while {}, over {}", limits.join(" and "), self.key)
            }
        }
    }
}

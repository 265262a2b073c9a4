//! The loads that a search can try: between two values, on a grid that fits the setting.

use std::fmt;
use units::{Bytes, Iops};

/// Digits of a rate that is tried: more would pretend a precision that no step has.
const RATE_DIGITS: i32 = 3;

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Operations outstanding per worker: whole numbers.
    Depth,
    /// Workers for each VM or target: whole numbers.
    Workers,
    /// Those of a load's VMs and targets that run it, the first so many: whole numbers.
    Members,
    /// Operations a second per worker: numbers of three digits.
    Rate,
    /// Size of every operation: doublings of the first.
    Block,
}

/// Between which values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchRange {
    /// Of what.
    pub over: Over,
    /// The first and least load that is tried; more than 0.
    pub from: f64,
    /// The largest.
    pub to: f64,
}

impl SearchRange {
    /// What is searched unless the plan says otherwise. A rate has the widest range, since nothing is known of it.
    pub fn usual(over: Over) -> SearchRange {
        let (from, to) = match over {
            Over::Depth => (1.0, 256.0),
            Over::Workers | Over::Members => (1.0, 64.0),
            Over::Rate => (100.0, 1e6),
            Over::Block => (4096.0, (1 << 20) as f64),
        };
        SearchRange { over, from, to }
    }

    /// The next load while nothing is bracketed. A rate grows faster, because its range is wide.
    pub(super) fn grown(&self, load: f64) -> f64 {
        let factor = if self.over == Over::Rate { 4.0 } else { 2.0 };
        (load * factor).min(self.to)
    }

    /// A load between two, in the middle of a logarithmic scale; `None` where they are neighbours: no load lies
    /// between them, or they differ by no more than the share `within`.
    pub(super) fn between(&self, low: f64, high: f64, within: f64) -> Option<f64> {
        let middle = match self.over {
            _ if high <= low * (1.0 + within) => return None,
            Over::Depth | Over::Workers | Over::Members if high - low < 2.0 => return None,
            Over::Depth | Over::Workers | Over::Members => {
                (low * high).sqrt().round().max(low + 1.0).min(high - 1.0)
            }
            Over::Rate => rounded((low * high).sqrt()),
            Over::Block => low * f64::from(((high / low).log2() / 2.0).floor().exp2() as u32),
        };
        (low < middle && middle < high).then_some(middle)
    }

    /// A load as it is shown.
    pub fn show(&self, load: f64) -> String {
        match self.over {
            Over::Depth | Over::Workers | Over::Members => format!("{load}"),
            Over::Rate => Iops(load).to_string(),
            Over::Block => Bytes(load as u64).to_string(),
        }
    }
}

/// A number to three digits.
fn rounded(load: f64) -> f64 {
    let digits = (load.log10().floor() as i32).saturating_add(1);
    let unit = 10_f64.powi(digits.saturating_sub(RATE_DIGITS).max(0));
    (load / unit).round() * unit
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Over::Depth => "depth",
            Over::Workers => "workers",
            Over::Members => "members",
            Over::Rate => "rate",
            Over::Block => "block",
        })
    }
}

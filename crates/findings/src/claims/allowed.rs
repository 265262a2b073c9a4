//! What a published figure allows ours to be: its rounding, and the side that its relation leaves open.

use super::span::FigureBounds;
use crate::rounding::WIDEST;
use scenario::Relation;

/// Binary fractions: figures that are at the edge in decimal agree. Relative to the published figure.
const EDGE: f64 = 1e-9;

/// Between which values ours may lie.
pub(super) struct Allowed {
    low: f64,
    high: f64,
}

impl Allowed {
    /// Of a figure and its allowance for rounding, relative to it. A published zero has no relative allowance: only zero
    /// agrees with it, except that anything is over it.
    pub fn of(published: f64, relation: Relation, allowance: f64) -> Allowed {
        let around = |share: f64| published + published.abs() * share;
        let (below, above) = (around(-allowance - EDGE), around(allowance + EDGE));
        let (low, high) = match relation {
            Relation::Equal | Relation::About => (below, above),
            Relation::Over => (around(-EDGE), f64::INFINITY),
            Relation::JustOver => (around(-EDGE), around(WIDEST + EDGE)),
            Relation::UpTo if published == 0.0 => (0.0, 0.0),
            Relation::UpTo => (f64::NEG_INFINITY, above),
        };
        Allowed { low, high }
    }

    /// How far an interval lies from it, relative to its nearer end; 0 where they overlap.
    pub fn gap(&self, span: FigureBounds) -> f64 {
        let relative = |gap: f64, end: f64| gap / end.abs().max(f64::MIN_POSITIVE);
        match () {
            () if span.high < self.low => relative(self.low - span.high, self.low),
            () if span.low > self.high => relative(span.low - self.high, self.high),
            () => 0.0,
        }
    }
}

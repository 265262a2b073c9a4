//! Which colour belongs to what, by the names of `assets/charts.css`.

use plotly::common::{ColorScale, ColorScaleElement};

/// Tones of the ramp.
const RAMP: usize = 8;

pub(super) const INK: &str = "var(--ink)";
pub(super) const MUTED: &str = "var(--muted)";
pub(super) const RULE: &str = "var(--rule)";
pub(super) const PAPER: &str = "var(--paper)";
/// Lines that lie on a heat map.
pub(super) const OVER_HEAT: &str = "var(--over-heat)";

/// The ramp as a scale of amounts.
pub(super) fn ramp() -> ColorScale {
    let at = |n: usize| n as f64 / (RAMP - 1) as f64;
    let element = |n: usize| ColorScaleElement(at(n), format!("var(--ramp-{})", n + 1));
    ColorScale::Vector((0..RAMP).map(element).collect())
}

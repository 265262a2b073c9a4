//! Which colour belongs to what, by the names of `assets/charts.css`. A source has one style on every chart.

use super::trace::{DashType, MarkerSymbol, PatternShape};

/// Colours of sources.
const SOURCES: usize = 8;
/// Tones of the ramp.
const RAMP: usize = 8;

pub(super) const THROUGHPUT: &str = "var(--throughput)";
pub(super) const OPERATIONS: &str = "var(--operations)";
pub(super) const READ: &str = "var(--read)";
pub(super) const WRITE: &str = "var(--write)";
pub(super) const ERRORS: &str = "var(--errors)";
pub(super) const INK: &str = "var(--ink)";
pub(super) const MUTED: &str = "var(--muted)";
pub(super) const RULE: &str = "var(--rule)";
pub(super) const PAPER: &str = "var(--paper)";
pub(super) const SHADE: &str = "var(--shade)";
/// Lines that lie on a heat map.
pub(super) const OVER_HEAT: &str = "var(--over-heat)";

/// How a source is drawn.
pub(super) struct TraceStyle {
    pub color: String,
    pub dash: DashType,
    pub pattern: PatternShape,
    pub symbol: MarkerSymbol,
}

/// The style of the VM or target at a place of [`findings::Evidence::groups`]: a colour of its own, and from the ninth on
/// the same colours with other dashes and hatchings.
pub(super) fn source(place: usize) -> TraceStyle {
    let (dash, pattern, symbol) = match place / SOURCES % 4 {
        0 => (DashType::Solid, PatternShape::None, MarkerSymbol::Circle),
        1 => (DashType::Dash, PatternShape::RightDiagonalLine, MarkerSymbol::Square),
        2 => (DashType::Dot, PatternShape::Cross, MarkerSymbol::Diamond),
        _ => (DashType::DashDot, PatternShape::Dot, MarkerSymbol::Cross),
    };
    TraceStyle { color: format!("var(--source-{})", place % SOURCES + 1), dash, pattern, symbol }
}

/// The tone of the `n`-th of an order, from faint to strong; the faintest is not used: thin lines of it would be lost.
pub(super) fn ordered(n: usize, of: usize) -> String {
    let tones = RAMP - 2;
    let tone = if of < 2 { tones - 1 } else { n.min(of - 1) * (tones - 1) / (of - 1) };
    format!("var(--ramp-{})", tone + 3)
}

/// The ramp as a scale of amounts.
pub(super) fn ramp() -> [(f64, String); RAMP] {
    let at = |n: usize| n as f64 / (RAMP - 1) as f64;
    std::array::from_fn(|n| (at(n), format!("var(--ramp-{})", n + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn thirty_two_sources_look_different() {
        let styles: BTreeSet<String> = (0..32)
            .map(source)
            .map(|l| format!("{} {:?} {:?}", l.color, l.dash, l.pattern))
            .collect();
        assert_eq!(styles.len(), 32);
    }

    #[test]
    fn tones_rise_and_are_those_of_the_style_sheet() {
        let style = include_str!("../../assets/charts.css");
        for of in 1..20 {
            let tones: Vec<String> = (0..of).map(|n| ordered(n, of)).collect();
            assert!(tones.is_sorted(), "{tones:?}");
        }
        let names = (0..8).map(|n| source(n).color).chain((0..6).map(|n| ordered(n, 6)));
        let roles =
            [THROUGHPUT, OPERATIONS, READ, WRITE, ERRORS, SHADE, OVER_HEAT].map(str::to_owned);
        for name in names.chain(roles) {
            let name = name.trim_start_matches("var(").trim_end_matches(')');
            assert_eq!(style.matches(&format!("{name}:")).count(), 1, "{name}");
        }
    }
}

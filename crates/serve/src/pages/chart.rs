//! Lines over time as plain SVG: drawn by the server, so that a page without script shows them as well, and the same for
//! everybody who looks at one run. Words stand outside of the picture, which is stretched to its place: they stay legible on
//! a telephone.

use maud::{Markup, html};
use std::fmt::Write as _;

/// Points of a line at most: more cannot be told apart on a screen.
pub(crate) const POINTS: usize = 240;
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 160.0;

/// One line.
pub(crate) struct Series<'a> {
    pub name: &'a str,
    /// Time and value, by time.
    pub points: Vec<(f64, f64)>,
}

/// How points that fall together are one.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Together {
    /// Rates: their mean.
    Mean,
    /// Percentiles, which are never averaged: the worst.
    Worst,
}

/// A chart of several lines over the same time.
pub(crate) struct Chart<'a> {
    pub title: &'a str,
    pub series: Vec<Series<'a>>,
    pub together: Together,
    /// A value with its unit.
    pub show: fn(f64) -> String,
    /// Moments at which something else began.
    pub marks: Vec<f64>,
}

impl Chart<'_> {
    /// The chart with its legend and its axes.
    pub fn markup(&self) -> Markup {
        let all = || self.series.iter().flat_map(|series| &series.points);
        let (from, to) = all()
            .fold((f64::INFINITY, 0.0_f64), |(from, to), (at, _)| (from.min(*at), to.max(*at)));
        let from = if from.is_finite() { from } else { 0.0 };
        let most = all().map(|(_, value)| *value).filter(|value| value.is_finite());
        let top = nice(most.fold(0.0, f64::max));
        let place = Place { from, span: (to - from).max(1.0), top };
        html! {
            figure.line-chart {
                figcaption { h3 { (self.title) } p.legend { (self.legend()) } }
                div.plot {
                    div.ys aria-hidden="true" {
                        @for part in [1.0, 0.5, 0.0] { span { ((self.show)(top * part)) } }
                    }
                    svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                        aria-label=(self.words()) {
                        @for part in [0.0, 0.5, 1.0] {
                            path.rule d={ "M0 " (HEIGHT * part) "H" (WIDTH) } {}
                        }
                        @for mark in self.marks.iter().filter(|mark| **mark > from && **mark < to) {
                            path.edge d={ "M" (coordinate(place.x(*mark))) " 0V" (HEIGHT) } {}
                        }
                        @for (n, series) in self.series.iter().enumerate() {
                            path class={ "curve s" (n + 1) } d=(path(&series.points, self.together, &place)) {}
                        }
                    }
                }
                div.xs aria-hidden="true" { span { (clock(from)) } span { (clock(to)) } }
            }
        }
    }

    /// Every line with its latest value.
    fn legend(&self) -> Markup {
        html! {
            @for (n, series) in self.series.iter().enumerate() {
                span.key {
                    i class={ "sample s" (n + 1) } {} (series.name) " "
                    b { @match series.points.last() { Some((_, value)) => ((self.show)(*value)), None => "–" } }
                }
                " "
            }
        }
    }

    fn words(&self) -> String {
        let last = |series: &Series| {
            let value = series.points.last().map(|(_, value)| (self.show)(*value));
            format!("{} {}", series.name, value.unwrap_or_else(|| "nothing yet".to_owned()))
        };
        let now: Vec<String> = self.series.iter().map(last).collect();
        format!("{} over time; now {}", self.title, now.join(", "))
    }
}

/// Where values lie in the picture.
struct Place {
    from: f64,
    span: f64,
    top: f64,
}

impl Place {
    fn x(&self, at: f64) -> f64 {
        (at - self.from) / self.span * WIDTH
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - (value / self.top).clamp(0.0, 1.0) * (HEIGHT - 2.0) - 1.0
    }
}

/// A line through at most [`POINTS`] points; a gap where nothing is known.
fn path(points: &[(f64, f64)], together: Together, place: &Place) -> String {
    let mut out = String::new();
    let mut pen = 'M';
    for (at, value) in thinned(points, together) {
        if !value.is_finite() {
            pen = 'M';
            continue;
        }
        let (x, y) = (coordinate(place.x(at)), coordinate(place.y(value)));
        // Writing to a text cannot fail.
        let _infallible = write!(out, "{pen}{x} {y}");
        pen = 'L';
    }
    out
}

/// At most [`POINTS`] points for all of them, each for equally many.
pub(crate) fn thinned(points: &[(f64, f64)], together: Together) -> Vec<(f64, f64)> {
    let each = points.len().div_ceil(POINTS).max(1);
    let one = |part: &[(f64, f64)]| {
        let values = part.iter().map(|(_, value)| *value).filter(|value| value.is_finite());
        let (count, sum, worst) = values.fold((0_u32, 0.0, f64::NAN), |(n, sum, worst), v| {
            (n + 1, sum + v, f64::max(worst, v))
        });
        let at = part.last().map_or(0.0, |(at, _)| *at);
        match together {
            Together::Mean => (at, sum / f64::from(count)),
            Together::Worst => (at, worst),
        }
    };
    points.chunks(each).map(one).collect()
}

fn coordinate(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The least of 1, 2, 2.5, 5 times a power of ten that is not below a value.
fn nice(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|step| step * power >= value * 0.999);
    step.unwrap_or(10.0) * power
}

/// `75 s`, `5:07`, `1:02:03`.
pub(crate) fn clock(seconds: f64) -> String {
    let s = seconds.max(0.0).round() as u64;
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0 | 1, _) => format!("{s} s"),
        (0, m, s) => format!("{m}:{s:02}"),
        (h, m, s) => format!("{h}:{m:02}:{s:02}"),
    }
}

/// A course without axes, for a row of a table or a card: hidden from who hears the page, since figures stand beside it.
pub(crate) fn sparkline(values: &[f64]) -> Markup {
    // A single value is a level line.
    let values = if let [only] = values { &[*only, *only][..] } else { values };
    let points: Vec<(f64, f64)> = (0..).map(f64::from).zip(values.iter().copied()).collect();
    let top = values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    let place = Place { from: 0.0, span: (values.len().max(2) - 1) as f64, top: top.max(1e-9) };
    html! {
        svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
            path.curve.s1 d=(path(&points, Together::Mean, &place)) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_an_axis_is_a_round_number() {
        for (value, expected) in [
            (0.0, 1.0),
            (1.0, 1.0),
            (1.2, 2.0),
            (2.1, 2.5),
            (37.0, 50.0),
            (501.0, 1000.0),
            (0.03, 0.05),
        ] {
            assert!((nice(value) - expected).abs() < 1e-9, "{value}: {}", nice(value));
        }
        assert_eq!(nice(f64::NAN), 1.0);
    }

    #[test]
    fn percentiles_that_fall_together_are_the_worst_of_them() {
        let points: Vec<(f64, f64)> =
            (0..POINTS * 2).map(|n| (n as f64, if n % 2 == 0 { 1.0 } else { 9.0 })).collect();
        let worst = thinned(&points, Together::Worst);
        assert!(worst.len() == POINTS && worst.iter().all(|(_, value)| *value == 9.0));
        let mean = thinned(&points, Together::Mean);
        assert!(mean.len() == POINTS && mean.iter().all(|(_, value)| *value == 5.0));
        assert_eq!(thinned(&points[..3], Together::Mean).len(), 3);
    }

    #[test]
    fn what_is_not_known_is_a_gap() {
        let place = Place { from: 0.0, span: 2.0, top: 1.0 };
        let line = path(&[(0.0, 1.0), (1.0, f64::NAN), (2.0, 0.0)], Together::Worst, &place);
        assert_eq!(line, "M0 1M600 159");
    }

    #[test]
    fn times_are_short() {
        for (seconds, expected) in
            [(0.0, "0 s"), (119.0, "119 s"), (307.0, "5:07"), (3723.0, "1:02:03")]
        {
            assert_eq!(clock(seconds), expected);
        }
    }
}

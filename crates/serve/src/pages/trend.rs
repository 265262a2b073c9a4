//! A series of records over time: the same steps in each, and where their level changed.

use super::chart::sparkline;
use super::figures::{bytes_rate, latency, moment, ops};
use findings::statistics::{CHANGE_ALPHA, LevelCheck, POINTS_MIN, Shape};
use findings::{Analysis, StepFigures};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// The smallest change that is looked for, of the mean.
const TOLERANCE: f64 = 0.03;

/// A record of the series.
pub(crate) struct Member {
    pub id: String,
    pub title: String,
    pub unix_s: i64,
    pub analysis: Analysis,
}

/// A figure of one step over the series.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub step: String,
    pub figure: &'static str,
    /// The member and the value.
    pub values: Vec<(usize, f64)>,
    pub show: fn(f64) -> String,
    /// Where its level changed, in the order of time.
    pub changes: Vec<Change>,
}

/// A change of the level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    /// The member from which on it holds; nothing for a drift over all of them.
    pub from: Option<usize>,
    /// Of the level before; of a drift, of the mean.
    pub size: f64,
    pub p: f64,
}

type Figure = (&'static str, fn(&StepFigures) -> Option<f64>, fn(f64) -> String);

const FIGURES: [Figure; 3] = [
    ("throughput", |step| Some(step.total.both.bytes_per_s), bytes_rate),
    ("IOPS", |step| Some(step.total.both.iops), ops),
    (
        "p99",
        |step| step.total.both.latency().map(|l| l.p99_ns as f64),
        |ns| latency(Some(ns as u64)),
    ),
];

/// The figures that at least two records have, by step. Repetitions of a step are one value, their mean, where the figure is
/// a rate; of a percentile the worst stands for all, since percentiles are never averaged.
pub(crate) fn courses(members: &[Member]) -> Vec<Course> {
    let mut all = Vec::new();
    // Steps of different scenarios are not the same, whatever they are called.
    let alike = members.windows(2).all(|two| two[0].title == two[1].title);
    let named = |member: &Member, step: &StepFigures| match alike {
        true => step.label(),
        false => format!("{}: {}", member.title, step.label()),
    };
    for (figure, of, show) in FIGURES {
        let mut by_step: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
        for (n, member) in members.iter().enumerate() {
            let mut steps: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for step in &member.analysis.steps {
                let value = of(step).filter(|value| value.is_finite() && *value > 0.0);
                steps.entry(named(member, step)).or_default().extend(value);
            }
            for (step, values) in steps.into_iter().filter(|(_, values)| !values.is_empty()) {
                let value = match figure {
                    "p99" => values.iter().copied().fold(0.0, f64::max),
                    _ => values.iter().sum::<f64>() / values.len() as f64,
                };
                by_step.entry(step).or_default().push((n, value));
            }
        }
        all.extend(by_step.into_iter().filter(|(_, values)| values.len() > 1).map(
            |(step, values)| {
                let changes = changes(&values);
                Course { step, figure, values, show, changes }
            },
        ));
    }
    all.sort_by(|a, b| a.step.cmp(&b.step));
    all
}

/// The changes of a series: the strongest one cuts it in two, and each part is looked at again, as long as it is long enough.
fn changes(values: &[(usize, f64)]) -> Vec<Change> {
    let series: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let Some((from, found)) = strongest(&series) else { return Vec::new() };
    let Some(Shape::Step(at)) = found.shape else {
        return vec![Change { from: None, size: found.size, p: found.p }];
    };
    let at = from + at;
    let Some((member, _)) = values.get(at).filter(|_| at > 0) else { return Vec::new() };
    let (before, after) = values.split_at(at);
    let (mut all, later) = (changes(before), changes(after));
    // How far the level moved there is told by the parts beside it, up to the changes next to it.
    let from = all.iter().rev().find_map(|c| c.from).map_or(0, |m| index_of(values, m));
    let until = later.iter().find_map(|c| c.from).map_or(values.len(), |m| index_of(values, m));
    let size = mean(&series[at..until]) / mean(&series[from..at]) - 1.0;
    all.push(Change { from: Some(*member), size, p: found.p });
    all.extend(later);
    all
}

/// The strongest change, with where the part begins in which it was looked for: of the whole series, or, where levels that go
/// down and up again hide each other in that, of halves or quarters of it that overlap.
fn strongest(series: &[f64]) -> Option<(usize, LevelCheck)> {
    let n = series.len();
    [1, 2, 4].into_iter().find_map(|scale| {
        let (length, count) = (n / scale, 2 * scale - 1);
        if scale > 1 && length < 2 * POINTS_MIN {
            return None;
        }
        let parts = (0..count).filter_map(|part| {
            let from = (n - length) * part / (count - 1).max(1);
            let found = LevelCheck::of(&series[from..from + length], TOLERANCE)?;
            let counts = scale == 1 || matches!(found.shape, Some(Shape::Step(_)));
            // One of so many parts is steady by chance less often than one alone.
            (counts && found.p * (count as f64) < CHANGE_ALPHA).then_some((from, found))
        });
        parts.min_by(|a, b| a.1.p.total_cmp(&b.1.p))
    })
}

fn index_of(values: &[(usize, f64)], member: usize) -> usize {
    values.iter().position(|(one, _)| *one == member).unwrap_or(0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The page of a series, the oldest record first.
pub(crate) fn page(members: &[Member]) -> Markup {
    let courses = courses(members);
    let body = html! {
        section {
            h1 { "Trend of " (members.len()) " records" }
            @if let (Some(first), Some(last)) = (members.first(), members.last()) {
                p { (moment(first.unix_s)) " to " (moment(last.unix_s)) " UTC" }
            }
            @if members.len() < POINTS_MIN {
                p.none { "A change of the level is looked for from " (POINTS_MIN) " records on." }
            }
            @if courses.is_empty() {
                p { "These records have no step in common." }
            } @else {
                div.scroll tabindex="0" role="region" aria-label="Trend" { table {
                    caption { "Figures of equal steps over the records" }
                    thead { tr {
                        th scope="col" { "step" } th scope="col" { "figure" } th scope="col" { "course" }
                        th.number scope="col" { "first" } th.number scope="col" { "last" } th.number scope="col" { "change" } th scope="col" { "level" }
                    } }
                    tbody { @for course in &courses { (row(course, members)) } }
                } }
            }
        }
        section { h2 { "Records" }
            ol { @for member in members { li { time { (moment(member.unix_s)) } " " a href={ "/records/" (member.id) } { (member.title) } } } }
        }
    };
    super::frame("Trend", Some("Library"), &body)
}

fn row(course: &Course, members: &[Member]) -> Markup {
    let values: Vec<f64> = course.values.iter().map(|(_, value)| *value).collect();
    let (first, last) =
        (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
    html! {
        tr {
            th scope="row" { (review::clean(&course.step)) }
            td { (course.figure) }
            td.course { (sparkline(&values)) }
            td.number { ((course.show)(first)) }
            td.number { ((course.show)(last)) }
            td.number { (format!("{:+.1}%", (last / first - 1.0) * 100.0)) }
            td {
                @if values.len() < POINTS_MIN { "not judged" }
                @else if course.changes.is_empty() { "no change found" }
                @for (n, change) in course.changes.iter().enumerate() {
                    @if n > 0 { "; " }
                    b { (format!("{:+.1}%", change.size * 100.0)) }
                    @match change.from.and_then(|n| members.get(n)) {
                        Some(member) => { " from " (moment(member.unix_s)) " on" },
                        None => " as a drift",
                    }
                    span.none { (format!(", p = {:.3}", change.p)) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series with noise of a percent around levels, each for so many records.
    fn series(levels: &[(usize, f64)]) -> Vec<(usize, f64)> {
        let all = levels.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count));
        let noise = [0.4, -0.9, 0.1, 0.8, -0.5, 0.9, -0.7, 0.2, -0.3, 0.6, -0.6];
        all.enumerate().map(|(n, level)| (n, level * (1.0 + noise[n % 11] / 100.0))).collect()
    }

    #[test]
    fn every_change_of_a_series_is_found_where_it_was_made() {
        for (levels, expected) in [
            (&[(30, 100.0)][..], &[][..]),
            (&[(15, 100.0), (15, 80.0)], &[(15, -0.2)]),
            (&[(20, 100.0), (20, 80.0), (20, 120.0)], &[(20, -0.2), (40, 0.5)]),
            (&[(6, 100.0)], &[]),
        ] {
            let found = changes(&series(levels));
            let places: Vec<usize> = found.iter().filter_map(|change| change.from).collect();
            let wanted: Vec<usize> = expected.iter().map(|(at, _)| *at).collect();
            assert_eq!(places, wanted, "{found:?}");
            for (change, (_, size)) in found.iter().zip(expected) {
                assert!((change.size / size - 1.0).abs() < 0.06, "{change:?}, {size}");
            }
        }
    }
}

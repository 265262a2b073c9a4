//! A series of records over time: the same steps in each, and where their level changed.

use super::chart::sparkline;
use super::figures::{bytes_rate, latency, moment, ops};
use findings::statistics::{LevelCheck, POINTS_MIN, Shape};
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
    pub change: Option<Change>,
}

/// A change of the level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    /// The member from which on it holds; nothing for a drift over all of them.
    pub from: Option<usize>,
    /// As a share of the mean.
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
                let change = change(&values);
                Course { step, figure, values, show, change }
            },
        ));
    }
    all.sort_by(|a, b| a.step.cmp(&b.step));
    all
}

fn change(values: &[(usize, f64)]) -> Option<Change> {
    let series: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let found = LevelCheck::of(&series, TOLERANCE).filter(LevelCheck::changed)?;
    let from = match found.shape? {
        Shape::Step(at) => Some(values.get(at)?.0),
        Shape::Drift => None,
    };
    Some(Change { from, size: found.size, p: found.p })
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
            div.scroll tabindex="0" role="region" aria-label="Trend" { table {
                caption { "Figures of equal steps over the records" }
                thead { tr {
                    th scope="col" { "step" } th scope="col" { "figure" } th scope="col" { "course" }
                    th.number scope="col" { "first" } th.number scope="col" { "last" } th.number scope="col" { "change" } th scope="col" { "level" }
                } }
                tbody { @for course in &courses { (row(course, members)) } }
            } }
            @if courses.is_empty() { p { "These records have no step in common." } }
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
                @match &course.change {
                    None if values.len() < POINTS_MIN => "not judged",
                    None => "no change found",
                    Some(change) => {
                        b { (format!("{:+.1}%", change.size * 100.0)) }
                        @match change.from.and_then(|n| members.get(n)) {
                            Some(member) => { " from " (moment(member.unix_s)) " on" },
                            None => " over all of them, as a drift",
                        }
                        span.none { (format!(", p = {:.3}", change.p)) }
                    }
                }
            }
        }
    }
}

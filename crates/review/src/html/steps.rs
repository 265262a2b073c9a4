//! The figures of the steps: what was done, and how long it took.

use super::conditions;
use super::grid::{Column, table};
use super::ports;
use crate::highlights;
use crate::number::{TimeUnit, digits, percent};
use crate::proof;
use crate::results::{self, ResultColumn, ResultRow};
use crate::steps::{fullest, is_knee, loops_told, other_kinds, time_unit};
use crate::text::clean;
use findings::{Analysis, IoFigures, Latency, StepFigures, Sweep};
use maud::{Markup, html};
use scenario::Plan;

/// Steps of a plan up to which its reads and writes apart are shown unfolded.
const OPEN_MAX: usize = 12;

pub(super) type Steps<'a> = Column<'a, &'a StepFigures>;
type FiguresOf = fn(&StepFigures) -> &IoFigures;
type PercentileField = fn(&Latency) -> u64;

pub(super) fn section(analysis: &Analysis) -> Markup {
    html! {
        section id="steps" aria-labelledby="steps-heading" {
            h2 id="steps-heading" { "Figures of the steps" }
            @if analysis.steps.is_empty() { p.none { "The record holds no step." } }
            @for steps in analysis.steps.chunk_by(|a, b| a.plan == b.plan) {
                @let sweeps: Vec<&Sweep> = analysis.sweeps.iter().filter(|s| s.plan == steps[0].plan).collect();
                @if steps.iter().all(StepFigures::network_only) {
                    @if let Some(name) = plan_name(&steps[0].plan) { h3 { (name) } }
                    p.none { "Network loads alone, and no storage: " a href={ "#network-" (steps[0].index) } { "Network" } "." }
                } @else if steps.iter().all(StepFigures::is_job) {
                    @if let Some(name) = plan_name(&steps[0].plan) { h3 { (name) } }
                    (happened("Phases of the job", &results::PHASES, &results::phases(steps), true))
                } @else {
                    (plan(steps, &sweeps))
                }
            }
        }
    }
}

/// What happened within steps; `own` where its first row is that of the step itself.
fn happened(caption: &str, columns: &[ResultColumn], rows: &[ResultRow], own: bool) -> Markup {
    let cell = |n: usize| move |row: &&ResultRow| row.cells[n].clone();
    let column = |(n, (name, unit, number)): (usize, &ResultColumn)| match number {
        true => Column::numbers(name, unit, cell(n)),
        false => Column::words(name, move |row: &&ResultRow| html! { (row.cells[n]) }),
    };
    let columns: Vec<Column<'_, &ResultRow>> = columns.iter().enumerate().map(column).collect();
    let rows: Vec<&ResultRow> = rows.iter().collect();
    let mut last = None;
    let firsts: Vec<bool> =
        rows.iter().map(|row| last.replace(row.step) != Some(row.step)).collect();
    let first = |row: &ResultRow| {
        rows.iter().position(|r| std::ptr::eq(*r, row)).is_some_and(|n| firsts[n])
    };
    table(caption, &columns, &rows, |row| {
        ((own && first(row)).then(|| format!("step-{}", row.step)), "")
    })
}

fn plan(steps: &[StepFigures], sweeps: &[&Sweep]) -> Markup {
    let rows: Vec<&StepFigures> = steps.iter().collect();
    let name = plan_name(&steps[0].plan);
    let mut columns = named(steps, sweeps);
    columns.extend(work(steps));
    columns.extend(latencies(steps, |s| &s.total.both, ""));
    columns.extend(load(steps));
    let both = steps.iter().any(|s| s.total.read.ops > 0 && s.total.write.ops > 0);
    html! {
        @if let Some(name) = &name { h3 { (name) } }
        p.loops { (loops_told(steps)) "." }
        (table(&titled("Steps", name.as_deref()), &columns, &rows, |s| {
            let class = if is_knee(s, sweeps) { "knee" } else { "" };
            (Some(format!("step-{}", s.index)), class)
        }))
        @let ended = results::phases(steps);
        @if !ended.is_empty() {
            (happened(&titled(results::ENDED, name.as_deref()), &results::PHASES, &ended, false))
        }
        @let faults = results::faults(steps);
        @if !faults.is_empty() {
            (happened(&titled("Planned faults: the load before, during and after", name.as_deref()),
                &results::FAULTS, &faults, false))
            @for line in results::times(steps) { p.loops { (line) } }
        }
        @let proven = proof::lines(steps);
        @if !proven.is_empty() {
            (happened(&titled(proof::HEADING, name.as_deref()), &proof::COLUMNS, &proof::rows(steps), false))
            @for line in proven { p.loops { (line) } }
        }
        @if both {
            details open[steps.len() <= OPEN_MAX] {
                summary { "Reads and writes apart" }
                (apart(steps, &rows, sweeps, name.as_deref()))
            }
        }
        @if other_kinds(steps).next().is_some() {
            details open[steps.len() <= OPEN_MAX] {
                summary { (OTHERS) }
                (others(steps, &rows, sweeps, name.as_deref()))
            }
        }
        details {
            summary { "Conditions of each step: warm-up, steadiness, completeness, generator" }
            (conditions::table_of(steps, &rows, sweeps, name.as_deref()))
        }
        (conditions::served(steps, name.as_deref()))
        (ports::tables(steps, name.as_deref()))
    }
}

/// A plan's own name; `None` for the only one.
pub(super) fn plan_name(plan: &str) -> Option<String> {
    (plan != Plan::UNNAMED).then(|| clean(plan))
}

/// A caption, with the plan where it has a name.
pub(super) fn titled(what: &str, plan: Option<&str>) -> String {
    plan.map_or_else(|| what.to_owned(), |plan| format!("{what}, {plan}"))
}

/// The step's number, its settings and its repetition.
pub(super) fn named<'a>(steps: &'a [StepFigures], sweeps: &'a [&Sweep]) -> Vec<Steps<'a>> {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in steps.iter().flat_map(|s| &s.settings) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let number = |s: &&StepFigures| (u64::from(s.index) + 1).to_string();
    let mut columns = vec![Column::numbers("step", "", number)];
    columns.extend(keys.into_iter().enumerate().map(|(i, key)| {
        Column::words(&clean(key), move |s: &&StepFigures| {
            let value = s.settings.iter().find(|(k, _)| k == key).map(|(_, v)| clean(v));
            html! {
                (value.unwrap_or_default())
                @if i == 0 && is_knee(s, sweeps) { " " span.tag { "knee" } }
            }
        })
    }));
    if steps.iter().any(|s| s.repetition > 0) {
        let run = |s: &&StepFigures| (u64::from(s.repetition) + 1).to_string();
        columns.push(Column::numbers("run", "", run));
    }
    columns
}

fn work(steps: &[StepFigures]) -> Vec<Steps<'_>> {
    let some = |of: fn(&StepFigures) -> f64| steps.iter().any(|s| of(s) > 0.0);
    let number = |name, unit, of: fn(&StepFigures) -> f64| {
        Column::numbers(name, unit, move |s: &&StepFigures| digits(of(s))).under("work")
    };
    let mut columns = Vec::new();
    if some(|s| s.offered_iops) {
        columns.push(number("offered", "1/s", |s| s.offered_iops));
    }
    let iops = |s: &&StepFigures| highlights::iops(s).unwrap_or_else(|| "–".to_owned());
    columns.push(Column::numbers("IOPS", "1/s", iops).under("work"));
    columns.push(number("total", "MB/s", |s| s.total.both.bytes_per_s / 1e6));
    if steps.iter().any(|s| s.uncertainty().is_some()) {
        let share = |s: &&StepFigures| s.uncertainty().map_or("–".to_owned(), percent);
        columns.push(Column::numbers("±", "%", share).under("work"));
    }
    if some(|s| s.total.read.bytes as f64) && some(|s| s.total.write.bytes as f64) {
        columns.push(number("read", "MB/s", |s| s.total.read.bytes_per_s / 1e6));
        columns.push(number("write", "MB/s", |s| s.total.write.bytes_per_s / 1e6));
    }
    if some(|s| fullest(s).unwrap_or(0.0)) {
        let share = |s: &&StepFigures| fullest(s).map_or("–".to_owned(), percent);
        columns.push(Column::numbers("of port", "%", share).under("work"));
    }
    if some(|s| s.total.transactions_per_s.unwrap_or(0.0)) {
        columns.push(number("trans.", "1/s", |s| s.total.transactions_per_s.unwrap_or(0.0)));
    }
    if some(|s| s.total.both.errors as f64) {
        columns.push(number("errors", "", |s| s.total.both.errors as f64));
    }
    columns
}

/// Percentiles of service time, and of response time where there is one. `of` chooses the operations.
fn latencies<'a>(steps: &'a [StepFigures], of: FiguresOf, which: &str) -> Vec<Steps<'a>> {
    let response = steps.iter().any(|s| of(s).response.is_some());
    let unit = time_unit(steps.iter().map(of));
    let closed = format!("{which}service time");
    let mut columns = Vec::new();
    if steps.iter().any(|s| of(s).means_only()) {
        let mean = move |s: &&StepFigures| {
            of(s).mean_ns.map_or("–".to_owned(), |ns| unit.show(ns.round() as u64))
        };
        columns.push(Column::numbers("mean", unit.sign(), mean).under(&closed));
    }
    columns.extend(points(&closed, unit, move |s| of(s).service));
    if response {
        columns.extend(points(&format!("{which}response time"), unit, move |s| of(s).response));
    }
    columns
}

fn points<'a>(
    group: &str,
    unit: TimeUnit,
    of: impl Fn(&StepFigures) -> Option<Latency> + Copy + 'a,
) -> Vec<Steps<'a>> {
    let all: [(&str, PercentileField); 5] = [
        ("p50", |l| l.p50_ns),
        ("p95", |l| l.p95_ns),
        ("p99", |l| l.p99_ns),
        ("p99.9", |l| l.p999_ns),
        ("max", |l| l.max_ns),
    ];
    let column = |(name, point): (&str, PercentileField)| {
        let cell = move |s: &&StepFigures| of(s).map_or("–".to_owned(), |l| unit.show(point(&l)));
        Column::numbers(name, unit.sign(), cell).under(group)
    };
    all.into_iter().map(column).collect()
}

/// Mean operations in flight.
fn load(steps: &[StepFigures]) -> Vec<Steps<'_>> {
    if steps.iter().all(|s| s.total.in_flight.is_none()) {
        return Vec::new();
    }
    let flight = |s: &&StepFigures| s.total.in_flight.map_or("–".to_owned(), digits);
    vec![Column::numbers("in flight", "mean", flight)]
}

/// How the page calls them.
const OTHERS: &str = "Operations without data";

/// Trims, zeroes and flushes, each kind with its own latency.
fn others(
    steps: &[StepFigures],
    rows: &[&StepFigures],
    sweeps: &[&Sweep],
    plan: Option<&str>,
) -> Markup {
    let mut columns = named(steps, sweeps);
    for (name, of) in other_kinds(steps) {
        let rate = move |s: &&StepFigures| of(s).map_or("–".to_owned(), |f| digits(f.iops));
        columns.push(Column::numbers(name, "1/s", rate).under(&format!("{name} work")));
        let unit = time_unit(steps.iter().filter_map(of));
        let latency = move |s: &StepFigures| of(s).and_then(IoFigures::latency);
        columns.extend(points(&format!("{name} latency"), unit, latency));
        if steps.iter().filter_map(of).any(|f| f.errors > 0) {
            let failed =
                move |s: &&StepFigures| of(s).map_or("–".to_owned(), |f| digits(f.errors as f64));
            columns.push(Column::numbers("errors", "", failed).under(&format!("{name} work")));
        }
    }
    table(&titled(OTHERS, plan), &columns, rows, |_| (None, ""))
}

fn apart(
    steps: &[StepFigures],
    rows: &[&StepFigures],
    sweeps: &[&Sweep],
    plan: Option<&str>,
) -> Markup {
    let mut columns = named(steps, sweeps);
    let parts: [(&str, FiguresOf); 2] =
        [("read ", |s| &s.total.read), ("write ", |s| &s.total.write)];
    for (which, of) in parts {
        let iops = move |s: &&StepFigures| digits(of(s).iops);
        columns.push(Column::numbers("IOPS", "1/s", iops).under(&format!("{which}work")));
        columns.extend(latencies(steps, of, which));
    }
    table(&titled("Reads and writes apart", plan), &columns, rows, |_| (None, ""))
}

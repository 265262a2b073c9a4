//! The ports of embedded arrays, one row for each step and port: utilization in each direction, and the array's counters
//! beside those of the workers.

use super::grid::{Column, table};
use super::steps::titled;
use crate::fabric::speed;
use crate::number::{digits, percent};
use crate::text::clean;
use findings::{ByteCounts, CounterCheck, PortFlow, PortLoad, StepFigures};
use maud::{Markup, html};
use units::count;

struct PortRow<'a, T> {
    step: &'a StepFigures,
    of: &'a T,
    /// Whether it is the step's first, which carries the address.
    first: bool,
}

fn rows<'a, T>(steps: &'a [StepFigures], of: fn(&StepFigures) -> &[T]) -> Vec<PortRow<'a, T>> {
    let each = |step: &'a StepFigures| {
        of(step).iter().enumerate().map(move |(i, of)| PortRow { step, of, first: i == 0 })
    };
    steps.iter().flat_map(each).collect()
}

/// Both tables, folded away; nothing where no port counted.
pub(super) fn tables(steps: &[StepFigures], plan: Option<&str>) -> Markup {
    let ports = rows(steps, |s| &s.ports[..]);
    let stories = rows(steps, |s| &s.counter_checks[..]);
    if ports.is_empty() {
        return html! {};
    }
    let row = |r: &PortRow<'_, PortLoad>| {
        let class = if r.of.saturated { "knee" } else { "" };
        (r.first.then(|| format!("ports-{}", r.step.index)), class)
    };
    html! {
        details {
            summary { "Ports of the arrays, and whether counters of workers and ports agree" }
            (table(&titled("Traffic of the ports", plan), &loads(), &ports, row))
            (table(&titled("Bytes moved by the workers, and counted by ports and volumes", plan), &counters(),
                &stories, |_| (None, "")))
        }
    }
}

fn step_of<'a, T>() -> Column<'a, PortRow<'a, T>> {
    Column::words(
        "step",
        |r: &PortRow<'_, T>| html! { (u64::from(r.step.index) + 1) " · " (clean(&r.step.label())) },
    )
}

fn loads<'a>() -> Vec<Column<'a, PortRow<'a, PortLoad>>> {
    let rate =
        |flow: Option<PortFlow>| flow.map_or("–".to_owned(), |f| digits(f.bytes_per_s / 1e6));
    let share = |flow: Option<PortFlow>| flow.and_then(|f| f.share).map_or("–".to_owned(), percent);
    vec![
        step_of(),
        Column::words("port", |r: &PortRow<'_, PortLoad>| {
            html! {
                (clean(&r.of.port))
                @if r.of.saturated { " " span.tag { "full" } }
            }
        }),
        Column::words("speed each way", |r: &PortRow<'_, PortLoad>| html! { (speed(r.of)) }),
        Column::numbers("read", "MB/s", move |r: &PortRow<'_, PortLoad>| rate(r.of.read))
            .under("read"),
        Column::numbers("of speed", "%", move |r: &PortRow<'_, PortLoad>| share(r.of.read))
            .under("read"),
        Column::numbers("written", "MB/s", move |r: &PortRow<'_, PortLoad>| rate(r.of.write))
            .under("write"),
        Column::numbers("of speed", "%", move |r: &PortRow<'_, PortLoad>| share(r.of.write))
            .under("write"),
        Column::numbers("queue", "mean", |r: &PortRow<'_, PortLoad>| {
            r.of.queue.map_or("–".to_owned(), digits)
        }),
    ]
}

fn counters<'a>() -> Vec<Column<'a, PortRow<'a, CounterCheck>>> {
    let bytes = |part: fn(&ByteCounts) -> f64| {
        move |tale: Option<ByteCounts>| tale.map_or("–".to_owned(), |t| count(part(&t).round()))
    };
    let direction = |name: &'static str, of: fn(&CounterCheck) -> Option<ByteCounts>| {
        let column = |title: &str, part: fn(&ByteCounts) -> f64| {
            let show = bytes(part);
            Column::numbers(title, "bytes", move |r: &PortRow<'_, CounterCheck>| show(of(r.of)))
                .under(name)
        };
        [
            column("workers", |t| t.worker_bytes),
            column("ports", |t| t.port_bytes),
            column("volumes", |t| t.volume_bytes),
            column("at the edges", |t| t.edge_bytes),
        ]
    };
    let verdict = |r: &PortRow<'_, CounterCheck>| {
        let tales = [r.of.read, r.of.write].into_iter().flatten();
        let text = match &r.of.unknown {
            Some(why) => format!("not determined: {}", clean(why)),
            None if tales.clone().count() == 0 => "–".to_owned(),
            None if tales.clone().all(|t| t.agrees) => "agree".to_owned(),
            None => "disagree".to_owned(),
        };
        html! { (text) }
    };
    let mut columns = vec![
        step_of(),
        Column::words("array", |r: &PortRow<'_, CounterCheck>| html! { (clean(&r.of.array)) }),
    ];
    columns.extend(direction("read", |s| s.read));
    columns.extend(direction("written", |s| s.write));
    columns.push(Column::words("", verdict));
    columns
}

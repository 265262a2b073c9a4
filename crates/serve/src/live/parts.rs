//! The parts of a live page, each by the name of the element that holds it: the server draws them, and the page's script
//! only puts them in place. A page that was just loaded, and one without script, show the same.

use super::document::{GroupNow, Live, first};
use super::state::{Second, State};
use crate::pages::chart::{Chart, Series, Together, clock, sparkline};
use crate::pages::figures::{bytes_rate, latency, ops};
use clock::Ns;
use maud::{Markup, PreEscaped, html};
use serde_json::{Map, Value};

/// Hops that the table has, the fullest: the map has all of them.
const HOPS: usize = 16;

/// Parts in the order of the page, with whether they hold anything.
pub(crate) struct Parts {
    pub state: Markup,
    pub tiles: Markup,
    pub charts: Markup,
    pub map: Markup,
    pub groups: Markup,
    pub hops: Markup,
    pub steps: Markup,
    pub events: Markup,
}

impl Parts {
    pub fn of(live: &Live, state: &State, map: Option<String>) -> Parts {
        Parts {
            state: header(live),
            tiles: tiles(live),
            charts: charts(state),
            map: map.map_or_else(|| html! {}, |svg| html! { (PreEscaped(svg)) }),
            groups: groups(&live.groups),
            hops: hops(live),
            steps: steps(live),
            events: events(live),
        }
    }

    /// The parts by name, for the script.
    pub fn document(&self) -> Value {
        let all = self.all().into_iter();
        Value::Object(
            all.map(|(name, part)| (name.to_owned(), Value::from(part.0.clone())))
                .collect::<Map<_, _>>(),
        )
    }

    /// The parts as they were drawn; `None` where nothing is drawn yet.
    pub fn read(document: &str) -> Option<Parts> {
        let all: Value = serde_json::from_str(document).ok()?;
        let part = |name: &str| PreEscaped(all[name].as_str().unwrap_or_default().to_owned());
        all.is_object().then(|| Parts {
            state: part("live-state"),
            tiles: part("live-now"),
            charts: part("live-charts"),
            map: part("live-map"),
            groups: part("live-groups"),
            hops: part("live-hops"),
            steps: part("live-steps"),
            events: part("live-events"),
        })
    }

    fn all(&self) -> [(&'static str, &Markup); 8] {
        [
            ("live-state", &self.state),
            ("live-now", &self.tiles),
            ("live-charts", &self.charts),
            ("live-map", &self.map),
            ("live-groups", &self.groups),
            ("live-hops", &self.hops),
            ("live-steps", &self.steps),
            ("live-events", &self.events),
        ]
    }
}

/// What goes on, in a line; a screen reader hears it when it changes.
fn header(live: &Live) -> Markup {
    let state = match live.state {
        "running" => ("caution", "Running"),
        "complete" => ("good", "Complete"),
        "stopped" => ("plain", "Stopped"),
        "failed" => ("bad", "Failed"),
        _ => ("bad", "Ended without an end: killed"),
    };
    html! {
        b class={ "state " (state.0) } { (state.1) } " "
        @if let Some(step) = &live.step {
            span {
                "step " (step.index + 1)
                @if let Some(of) = step.of_at_most { " of " (of) }
                ": " (step.name)
                @if let (Some(phase), "running") = (step.phase, live.state) { ", " (phase) }
            }
            @if live.state == "running" {
                " " span.none { (clock(step.elapsed_s)) " of " (clock(step.length_s)) " of this step" }
            }
        } @else {
            span { "no step has begun: targets are opened and filled" }
        }
    }
}

fn tiles(live: &Live) -> Markup {
    let Some(now) = &live.now else {
        return html! { p.none { "No second of load is recorded yet." } };
    };
    let net = now.net_bytes_per_s > 0.0;
    html! {
        dl.tiles {
            div { dt { "Throughput" } dd { (bytes_rate(now.read_bytes_per_s + now.write_bytes_per_s)) } }
            @if net { div { dt { "Network, received" } dd { (bytes_rate(now.net_bytes_per_s)) } } }
            div { dt { "IOPS" } dd { (ops(now.iops)) } }
            @for (name, value) in [("p50", now.p50_ns), ("p99", now.p99_ns), ("p99.9", now.p999_ns)] {
                div { dt { (name) } dd { (latency(value)) } }
            }
            div { dt { "Errors" } dd { (now.errors) } }
        }
        p.limit-now { (live.limit.join(" · ")) }
    }
}

fn charts(state: &State) -> Markup {
    let began = first(state);
    let at = |second: &u64| (*second - began) as f64;
    let line = |of: &dyn Fn(&Second) -> f64| -> Vec<(f64, f64)> {
        state.seconds.iter().map(|(second, found)| (at(second), of(found))).collect()
    };
    let percentile =
        |n: usize| line(&|second| second.latency.map_or(f64::NAN, |all| all[n].0 as f64));
    let marks: Vec<f64> = state
        .steps
        .iter()
        .map(|step| step.times.start.since(Ns::secs(began).min(step.times.start)).as_secs_f64())
        .collect();
    let series = |name, points| Series { name, points };
    let mut carried = vec![
        series("read", line(&|second| second.read)),
        series("written", line(&|second| second.write)),
    ];
    if state.seconds.values().any(|second| second.net > 0.0) {
        carried.push(series("network", line(&|second| second.net)));
    }
    let all = [
        Chart {
            title: "Throughput",
            series: carried,
            together: Together::Mean,
            show: bytes_rate,
            marks: marks.clone(),
        },
        Chart {
            title: "IOPS",
            series: vec![series("all", line(&|second| second.iops))],
            together: Together::Mean,
            show: ops,
            marks: marks.clone(),
        },
        Chart {
            title: "Response time",
            series: vec![
                series("p50", percentile(0)),
                series("p99", percentile(1)),
                series("p99.9", percentile(2)),
            ],
            together: Together::Worst,
            show: |ns| if ns <= 0.0 { "0".to_owned() } else { latency(Some(ns as u64)) },
            marks,
        },
    ];
    html! { @for chart in &all { (chart.markup()) } }
}

fn groups(groups: &[GroupNow]) -> Markup {
    html! {
        table {
            caption { "VMs and targets in the latest second" }
            thead { tr {
                th scope="col" { "VM or target" }
                @for (name, unit) in [("IOPS", ""), ("read", "MB/s"), ("written", "MB/s"), ("p99", ""), ("errors", "")] {
                    th.number scope="col" { (name) @if !unit.is_empty() { " " span.unit { (unit) } } }
                }
                th scope="col" { "last minute" }
            } }
            tbody {
                @for group in groups {
                    tr {
                        th scope="row" { (group.name) }
                        td.number { (ops(group.iops)) }
                        td.number { (ops(group.read_bytes_per_s / 1e6)) }
                        td.number { (ops(group.write_bytes_per_s / 1e6)) }
                        td.number { (latency(group.p99_ns)) }
                        td.number { (group.errors) }
                        td.course { (sparkline(&group.course)) }
                    }
                }
                @if groups.is_empty() { tr { td colspan="7" { "Nothing has reported yet." } } }
            }
        }
    }
}

fn hops(live: &Live) -> Markup {
    html! {
        table {
            caption { "Hops in the latest second, the fullest first" }
            thead { tr { th scope="col" { "hop" } th.number scope="col" { "full" } th scope="col" { "share of" } } }
            tbody {
                @for hop in live.hops.iter().take(HOPS) {
                    tr {
                        th scope="row" { (hop.name) }
                        td.number { (units::percent((hop.share * 100.0).floor())) }
                        td { (hop.of) }
                    }
                }
                @if live.hops.is_empty() { tr { td colspan="3" { "No hop is counted." } } }
            }
        }
        @if live.hops.len() > HOPS { p.none { (live.hops.len() - HOPS) " more are less full." } }
    }
}

fn steps(live: &Live) -> Markup {
    html! {
        table {
            caption { "Measured time of each step so far" }
            thead { tr {
                th.number scope="col" { "step" } th scope="col" { "settings" }
                @for (name, unit) in [("measured", "s"), ("IOPS", ""), ("read", "MB/s"), ("written", "MB/s"), ("p50", ""), ("p99", ""), ("p99.9", "")] {
                    th.number scope="col" { (name) @if !unit.is_empty() { " " span.unit { (unit) } } }
                }
            } }
            tbody {
                @for step in live.steps.iter().rev() {
                    tr {
                        td.number { (step.index + 1) }
                        th scope="row" { (step.name) }
                        td.number { (ops(step.measured_s.round())) }
                        td.number { (ops(step.iops)) }
                        td.number { (ops(step.read_bytes_per_s / 1e6)) }
                        td.number { (ops(step.write_bytes_per_s / 1e6)) }
                        td.number { (latency(step.p50_ns)) }
                        td.number { (latency(step.p99_ns)) }
                        td.number { (latency(step.p999_ns)) }
                    }
                }
                @if live.steps.is_empty() { tr { td colspan="9" { "Nothing is measured yet." } } }
            }
        }
    }
}

fn events(live: &Live) -> Markup {
    html! {
        @if live.events.is_empty() { p.none { "Nothing happened." } }
        ol.events {
            @for event in &live.events {
                li class=(event.level) { span.at { (clock(event.at_s)) } " " b { (event.level) } " " span { (event.text) } }
            }
        }
    }
}

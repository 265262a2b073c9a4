//! The agents of a run on several machines: a row a step, and a row for each agent of a step in a fold.

use super::grid::{Column, table};
use crate::agents::{clock_error, drift};
use crate::number::{digits, latency, percent};
use crate::text::clean;
use findings::{AgentFigures, Analysis, StepAgents, StepFigures};
use maud::{Markup, html};

/// Rows of agents on the page; the JSON review has them all.
const ROWS_MAX: usize = 400;

type OfStep<'a> = (&'a StepFigures, &'a StepAgents);
type OfAgent<'a> = (&'a StepFigures, &'a AgentFigures);

pub(super) fn section(analysis: &Analysis) -> Markup {
    let steps = analysis.steps.iter();
    let steps: Vec<OfStep<'_>> = steps.filter_map(|s| Some((s, s.agents.as_ref()?))).collect();
    if steps.is_empty() {
        return html! {};
    }
    let all = steps.iter().flat_map(|(step, of)| of.agents.iter().map(|agent| (*step, agent)));
    let agents: Vec<OfAgent<'_>> = all.take(ROWS_MAX).collect();
    let count: usize = steps.iter().map(|(_, of)| of.agents.len()).sum();
    html! {
        section id="agents" aria-labelledby="agents-heading" {
            h2 id="agents-heading" { "Agents" }
            (table("The agents of each step", &by_step(), &steps, |(step, _)| {
                (Some(format!("agents-{}", step.index)), "")
            }))
            details {
                summary { "Every agent" }
                (table("What each agent carried, and its clock", &by_agent(), &agents, |_| (None, "")))
                @if count > ROWS_MAX {
                    p { "The first " (ROWS_MAX) " of " (count) " rows; the JSON review has them all." }
                }
            }
        }
    }
}

fn step_name(step: &StepFigures) -> Markup {
    html! { (u64::from(step.index) + 1) " · " (clean(&step.label())) }
}

fn by_step<'a>() -> Vec<Column<'a, OfStep<'a>>> {
    let pace = |of: &StepAgents, least: bool| {
        let paces = of.agents.iter().filter_map(|agent| agent.pace);
        let end = if least { paces.reduce(f64::min) } else { paces.reduce(f64::max) };
        end.map_or("–".to_owned(), percent)
    };
    let lag = |(_, of): &OfStep<'_>| {
        let names = of.stragglers.iter().map(|name| clean(name)).collect::<Vec<_>>();
        html! { (if names.is_empty() { "–".to_owned() } else { names.join(", ") }) }
    };
    let spread =
        |of: Option<&findings::Balance>| of.map_or("–".to_owned(), |b| percent(b.spread));
    vec![
        Column::words("step", |(step, _): &OfStep<'_>| step_name(step)),
        Column::numbers("agents", "", |(_, of): &OfStep<'_>| of.agents.len().to_string()),
        Column::numbers("slowest", "% of median", move |(_, of): &OfStep<'_>| pace(of, true)),
        Column::numbers("fastest", "% of median", move |(_, of): &OfStep<'_>| pace(of, false)),
        Column::words("stragglers", lag),
        Column::numbers("spread of sites", "%", move |(_, of): &OfStep<'_>| {
            spread(of.sites.as_ref())
        }),
        Column::numbers("spread of hosts", "%", move |(_, of): &OfStep<'_>| {
            spread(of.hosts.as_ref())
        }),
        Column::numbers("clocks known within", "", |(_, of): &OfStep<'_>| clock_error(of)),
        Column::numbers("drift", "ppm", |(_, of): &OfStep<'_>| drift(of)),
    ]
}

fn by_agent<'a>() -> Vec<Column<'a, OfAgent<'a>>> {
    let words =
        |text: &Option<String>| html! { (text.as_deref().map(clean).unwrap_or("–".into())) };
    let dash = || "–".to_owned();
    vec![
        Column::words("step", |(step, _): &OfAgent<'_>| step_name(step)),
        Column::words("agent", |(_, of): &OfAgent<'_>| html! { (clean(&of.agent)) }),
        Column::words("site", move |(_, of): &OfAgent<'_>| words(&of.site)),
        Column::words("host", move |(_, of): &OfAgent<'_>| words(&of.host)),
        Column::numbers("VMs or targets", "", |(_, of): &OfAgent<'_>| of.groups.to_string()),
        Column::numbers("IOPS", "", |(_, of): &OfAgent<'_>| digits(of.iops)),
        Column::numbers("throughput", "MB/s", |(_, of): &OfAgent<'_>| digits(of.bytes_per_s / 1e6)),
        Column::numbers("pace", "% of median", move |(_, of): &OfAgent<'_>| {
            of.pace.map_or_else(dash, percent)
        }),
        Column::numbers("last done after", "", move |(_, of): &OfAgent<'_>| {
            of.done_ns.map_or_else(dash, |ns| latency(ns as f64))
        }),
        Column::numbers("generator's share", "%", move |(_, of): &OfAgent<'_>| {
            of.generator.map_or_else(dash, percent)
        }),
        Column::numbers("issued late", "", |(_, of): &OfAgent<'_>| of.late.to_string()),
        Column::numbers("reported", "%", |(_, of): &OfAgent<'_>| percent(of.reported)),
        Column::numbers("clock", "", move |(_, of): &OfAgent<'_>| {
            of.clock.map_or_else(dash, |clock| {
                let sign = if clock.ahead_ns < 0.0 { "−" } else { "+" };
                let (off, within) = (clock.ahead_ns.abs(), clock.within_ns);
                format!("{sign}{} ± {}", latency(off), latency(within))
            })
        }),
        Column::numbers("drift", "ppm", move |(_, of): &OfAgent<'_>| {
            let drift = of.clock.and_then(|c| Some((c.drift_ppm?, c.drift_within_ppm?)));
            drift.map_or_else(dash, |(ppm, within)| format!("{ppm:+.1} ± {within:.1}"))
        }),
    ]
}

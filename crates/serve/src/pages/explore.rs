//! Explore: one slider for each axis of a sweep, and what the estimator says of the step that they choose.

use super::figures::{bytes_rate, ops};
use super::start::{limit, mean};
use crate::folder::Listed;
use maud::{Markup, html};
use review::clean;
use review::estimate::Estimated;
use scenario::Scenario;
use serde::Serialize;

/// An axis with its values in words, and the one that is chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Axis {
    pub key: String,
    pub values: Vec<String>,
    pub chosen: usize,
}

/// The answer, in figures and in words.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answer {
    pub plan: String,
    pub axes: Vec<Axis>,
    pub iops: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
    pub latency_s: Option<f64>,
    pub shown: Shown,
}

/// The same as the page shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Shown {
    pub iops: String,
    pub throughput: String,
    pub latency: String,
    pub limit: String,
    pub next: String,
    pub settings: String,
}

/// The axes of a plan with what an address says of them: the number of a value each.
pub(crate) fn axes(scenario: &Scenario, plan: &str, said: &[(String, String)]) -> Vec<Axis> {
    let Some(plan) = scenario.plans.iter().find(|known| known.name == plan) else {
        return Vec::new();
    };
    let chosen = |key: &str, most: usize| {
        let value = said.iter().find(|(said, _)| said == &format!("axis:{key}"));
        value.and_then(|(_, value)| value.parse::<usize>().ok()).unwrap_or(0).min(most)
    };
    plan.sweep
        .iter()
        .map(|axis| Axis {
            key: axis.key.clone(),
            values: axis.values.iter().map(ToString::to_string).collect(),
            chosen: chosen(&axis.key, axis.values.len().saturating_sub(1)),
        })
        .collect()
}

impl Answer {
    pub fn of(plan: &str, axes: Vec<Axis>, step: &Estimated) -> Answer {
        let settings: Vec<String> =
            axes.iter().map(|axis| format!("{} {}", axis.key, axis.values[axis.chosen])).collect();
        Answer {
            plan: plan.to_owned(),
            axes,
            iops: step.iops,
            read_bytes_per_s: step.read_rate,
            write_bytes_per_s: step.write_rate,
            latency_s: step.latency,
            shown: Shown {
                iops: ops(step.iops),
                throughput: bytes_rate(step.read_rate + step.write_rate),
                latency: mean(step),
                limit: step.limits.first().map(limit).unwrap_or_default(),
                next: step.limits.get(1).map(limit).unwrap_or_default(),
                settings: clean(&settings.join(", ")),
            },
        }
    }
}

/// The page of a scenario.
pub(crate) fn page(
    listed: &Listed,
    scenario: &Scenario,
    plan: &str,
    axes: &[Axis],
    answer: &Result<Answer, String>,
) -> Markup {
    let body = html! {
        section {
            h1 { "Explore: " (clean(&scenario.head.title)) }
            form.explore method="get" action="/explore" data-explore="/api/v1/explore" {
                input type="hidden" name="scenario" value=(listed.id);
                @if scenario.plans.len() > 1 {
                    div { label for="plan" { "Plan" }
                        select id="plan" name="plan" data-reload="true" {
                            @for one in &scenario.plans { option selected[one.name == plan] value=(one.name) { (clean(&one.name)) } }
                        }
                    }
                } @else { input type="hidden" name="plan" value=(plan); }
                @for axis in axes {
                    @let value = clean(&axis.values[axis.chosen]);
                    div.axis {
                        label for={ "axis-" (axis.key) } { (clean(&axis.key)) ": " output for={ "axis-" (axis.key) } { (value) } }
                        input type="range" id={ "axis-" (axis.key) } name={ "axis:" (axis.key) } min="0"
                            max=(axis.values.len() - 1) step="1" value=(axis.chosen) aria-valuetext=(value)
                            data-values=(serde_json::to_string(&axis.values).unwrap_or_default());
                    }
                }
                @if axes.is_empty() { p.none { "This plan sweeps over nothing: it has one step." } }
                p.buttons { button type="submit" { "Estimate" } }
            }
            div.answer role="status" aria-live="polite" { (shown(answer)) }
            p { a href={ "/start?scenario=" (listed.id) } { "Start this scenario" } }
        }
    };
    super::frame("Explore", Some("Explore"), &body)
}

fn shown(answer: &Result<Answer, String>) -> Markup {
    let (answer, problem) = match answer {
        Ok(answer) => (Some(&answer.shown), ""),
        Err(why) => (None, why.as_str()),
    };
    let text = |of: fn(&Shown) -> &str| answer.map(of).unwrap_or("–");
    html! {
        p.problem data-out="problem" hidden[problem.is_empty()] { (clean(problem)) }
        dl.tiles {
            div { dt { "IOPS" } dd data-out="iops" { (text(|s| &s.iops)) } }
            div { dt { "Throughput" } dd data-out="throughput" { (text(|s| &s.throughput)) } }
            div { dt { "Mean latency" } dd data-out="latency" { (text(|s| &s.latency)) } }
            div.words { dt { "Limit" } dd data-out="limit" { (text(|s| &s.limit)) } }
            div.words { dt { "Next limit, with that doubled" } dd data-out="next" { (text(|s| &s.next)) } }
        }
    }
}

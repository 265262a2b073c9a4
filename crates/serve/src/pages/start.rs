//! Start: a scenario, its settings, what would happen, what is expected of it; then a run or a simulation.

use super::figures::{bytes_rate, latency, ops};
use crate::folder::Listed;
use maud::{Markup, html};
use review::clean;
use review::estimate::{Estimated, LimitKind, Limited};
use scenario::{Diagnostics, Scenario};

/// Steps whose estimate is shown.
const STEPS: usize = 40;

/// A setting that the form offers: its key as `--set` has it, its name, and its value now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offered {
    pub key: String,
    pub name: String,
    pub now: String,
}

/// A target that is written only with its token: its name and what it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Guarded {
    pub name: String,
    pub what: String,
    pub token: String,
}

/// What is known of a scenario with its settings.
#[derive(Default)]
pub(crate) struct Checked {
    pub mistakes: Option<Diagnostics>,
    pub title: String,
    pub offered: Vec<Offered>,
    pub plan: String,
    pub guarded: Vec<Guarded>,
    /// The estimate, or why there is none.
    pub estimate: Option<Result<Vec<Estimated>, String>>,
}

/// What was typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Typed {
    pub id: String,
    pub name: String,
    pub text: String,
    pub sets: Vec<(String, String)>,
}

/// The settings that most people change: seed and phases.
pub(crate) fn offered(scenario: &Scenario) -> Vec<Offered> {
    let duration = |d: std::time::Duration| format!("{}ms", d.as_millis());
    let mut all = vec![Offered {
        key: "scenario.seed".to_owned(),
        name: "seed".to_owned(),
        now: scenario.head.seed.to_string(),
    }];
    for plan in scenario.plans.iter().take(12) {
        let (table, of) = match plan.name.as_str() {
            scenario::Plan::UNNAMED => ("plan".to_owned(), String::new()),
            name => (format!("plan.\"{}\"", name.replace('"', "")), format!("{}: ", clean(name))),
        };
        for (key, now) in [
            ("warmup", duration(plan.warmup)),
            ("measure", duration(plan.measure)),
            ("repeat", plan.repeat.to_string()),
        ] {
            all.push(Offered { key: format!("{table}.{key}"), name: format!("{of}{key}"), now });
        }
    }
    all
}

/// The list of scenarios.
pub(crate) fn list(all: &[Listed], way: &str) -> Markup {
    let (address, what) = match way {
        "Explore" => ("/explore", "Explore a scenario"),
        _ => ("/start", "Start a scenario"),
    };
    let body = html! {
        section {
            h1 { (what) }
            @if all.is_empty() { p { "There is no scenario (" code { ".toml" } ") in the folder." } }
            ul.scenarios {
                @for one in all {
                    li { a href={ (address) "?scenario=" (one.id) } { (one.name) } @if one.carried { " " span.none { "comes with the program" } } }
                }
            }
        }
    };
    super::frame(what, Some(way), &body)
}

/// The form, with what was found out about what it holds.
pub(crate) fn page(
    typed: &Typed,
    checked: &Checked,
    problem: Option<&str>,
    read_only: bool,
) -> Markup {
    let runnable = checked.mistakes.is_none();
    let body = html! {
        section {
            h1 { "Start" @if !checked.title.is_empty() { ": " (clean(&checked.title)) } }
            @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
            @if let Some(mistakes) = &checked.mistakes { (diagnostics(mistakes)) }
            form.start method="post" action="/start" {
                input type="hidden" name="id" value=(typed.id);
                input type="hidden" name="name" value=(typed.name);
                (settings(typed, checked))
                details open[checked.mistakes.is_some()] {
                    summary { "The scenario, " (clean(&typed.name)) }
                    label.sr for="text" { "Scenario" }
                    textarea.code id="text" name="text" rows="24" spellcheck="false" { (typed.text) }
                }
                @for guarded in &checked.guarded {
                    div.guarded {
                        p { b { "A run would write to " (clean(&guarded.name)) } ": " (clean(&guarded.what)) ". Type the token that the plan below prints for it." }
                        label for={ "token-" (guarded.name) } { "Token of " (clean(&guarded.name)) }
                        input id={ "token-" (guarded.name) } name={ "token:" (guarded.name) } autocomplete="off";
                    }
                }
                p.buttons {
                    button type="submit" name="action" value="check" { "Check and estimate" }
                    @if !read_only && runnable {
                        button type="submit" name="action" value="simulate" { "Simulate" }
                        button type="submit" name="action" value="run" { "Run" }
                    }
                }
            }
        }
        @if let Some(estimate) = &checked.estimate { section { h2 { "Estimate" } (estimates(estimate)) } }
        @if !checked.plan.is_empty() { section { h2 { "Plan" } pre.plan { (checked.plan) } } }
    };
    super::frame("Start", Some("Start"), &body)
}

fn settings(typed: &Typed, checked: &Checked) -> Markup {
    let known = |key: &str| checked.offered.iter().any(|offered| offered.key == key);
    let further: Vec<String> = typed
        .sets
        .iter()
        .filter(|(key, _)| !known(key))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    html! {
        fieldset.settings {
            legend { "Settings" }
            @for offered in &checked.offered {
                div {
                    label for={ "set-" (offered.key) } { (offered.name) }
                    input id={ "set-" (offered.key) } name={ "set:" (offered.key) } placeholder=(offered.now)
                        value=[typed.sets.iter().find(|(key, _)| *key == offered.key).map(|(_, value)| value)];
                }
            }
            div.wide {
                label for="set" { "Further settings, one a line, as in " code { "workload.w.block=8KiB" } }
                textarea id="set" name="set" rows="2" spellcheck="false" { (further.join("\n")) }
            }
        }
    }
}

fn diagnostics(mistakes: &Diagnostics) -> Markup {
    html! {
        div.problem role="alert" {
            p { (mistakes.len() + mistakes.omitted()) @if mistakes.len() == 1 { " mistake" } @else { " mistakes" } " in the scenario" }
            ol { @for mistake in mistakes {
                li {
                    b { (clean(mistakes.name(mistake.place.origin))) ":" (mistake.place.line) ":" (mistake.place.column) } " "
                    (clean(&mistake.message))
                    @if let Some(help) = &mistake.help { span.next { (clean(help)) } }
                }
            } }
        }
    }
}

fn estimates(estimate: &Result<Vec<Estimated>, String>) -> Markup {
    let steps = match estimate {
        Err(why) => return html! { p.none { (clean(why)) } },
        Ok(steps) => steps,
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label="Estimate" { table {
            caption { "What each step is expected to carry" }
            thead { tr {
                th scope="col" { "step" } th.number scope="col" { "IOPS" } th.number scope="col" { "throughput" }
                th.number scope="col" { "mean latency" } th scope="col" { "limit" } th scope="col" { "next, with that doubled" }
            } }
            tbody { @for step in steps.iter().take(STEPS) { tr {
                th scope="row" { (clean(&step.name)) }
                td.number { (ops(step.iops)) }
                td.number { (bytes_rate(step.read_rate + step.write_rate)) }
                td.number { (mean(step)) }
                td { (step.limits.first().map(limit).unwrap_or_default()) }
                td { (step.limits.get(1).map(limit).unwrap_or_default()) }
            } } }
        } }
        @if steps.len() > STEPS { p.none { (steps.len() - STEPS) " more steps are not shown." } }
        p.none { "Means of a model of the lab, solved at once; a simulation has percentiles." }
    }
}

/// Mean latency in words.
pub(crate) fn mean(step: &Estimated) -> String {
    let ns = step.latency.filter(|s| s.is_finite() && *s >= 0.0).map(|s| (s * 1e9) as u64);
    latency(ns)
}

/// What limits, in words.
pub(crate) fn limit(limited: &Limited) -> String {
    let hops = clean(&limited.hops.join(", "));
    match limited.limit {
        LimitKind::Hop => hops,
        LimitKind::Depth => format!("outstanding I/Os (fullest: {hops})"),
        LimitKind::Rate => "the rate that is asked for".to_owned(),
        LimitKind::Unknown => "not determined".to_owned(),
    }
}

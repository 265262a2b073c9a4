//! What a plan says of agents: which each VM or target wants, and, of a fleet that is there, which it gets and what is missing.

use super::{arrays, candidates, connect, gather};
use crate::cli::{Format, PlanArgs};
use crate::exit::{Exit, Failure};
use crate::out;
use fleet::Bound;
use nats::Announcement;
use scenario::{Scenario, Stage};
use serde_json::json;
use std::fmt::Write as _;

/// The agents that a scenario wants.
pub fn wanted(scenario: &Scenario, _stages: &[Stage]) -> Vec<String> {
    let vms = scenario.lab.vms.iter().filter_map(|vm| Some((&vm.name, vm.agents.as_ref()?)));
    let hosts = scenario.lab.hosts.iter().filter_map(|h| Some((&h.name, h.agents.as_ref()?)));
    let mut lines = Vec::new();
    for (name, choice) in vms.chain(hosts) {
        if lines.is_empty() {
            lines.push("\nagents (run --fleet)".to_owned());
        }
        let alone = if choice.count.is_some() { "in turns on" } else { "on" };
        lines.push(format!("  {name:<12} {alone} {}", choice.text));
    }
    lines
}

/// Prints what is bound to which agents that are there, or all that is missing.
pub fn show(scenario: &Scenario, args: &PlanArgs) -> Result<Exit, Failure> {
    let stages = scenario.stages();
    let fleet = connect(args.fleet.fleet.as_deref(), &args.server)?;
    let there = gather(&fleet, &args.fleet, scenario, &stages)?;
    let bound = fleet::bind(scenario, &stages, &candidates(&there));
    if let Ok(bound) = &bound {
        let agents: Vec<&Announcement> = bound.used.iter().map(|n| &there[*n]).collect();
        arrays::access(scenario, &agents, args.fleet.arrays_at)?;
    }
    let at =
        args.fleet.arrays_at.map_or("on loopback".to_owned(), |address| format!("at {address}"));
    let served: Vec<(&str, String)> =
        arrays::embedded(scenario).map(|array| (array, at.clone())).collect();
    let text = match args.output.format {
        Format::Text => text(scenario, &there, &bound, &served),
        Format::Json => format!("{:#}\n", as_json(&there, &bound, &served)),
    };
    out::result(&text)?;
    Ok(if bound.is_ok() { Exit::Met } else { Exit::Incomplete })
}

/// What is bound, or what is missing.
type Binding = Result<Bound, Vec<String>>;

fn text(
    scenario: &Scenario,
    there: &[Announcement],
    bound: &Binding,
    served: &[(&str, String)],
) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("a String takes every line");
    line(scenario.head.title.clone());
    line(format!("{} agents are there", there.len()));
    match bound {
        Ok(bound) => {
            for (place, n) in bound.used.iter().enumerate() {
                let carried = bound.binding.agents.iter().filter(|(_, agent)| **agent == place);
                let carried: Vec<&str> = carried.map(|(group, _)| group.as_str()).collect();
                line(format!("  {:<20} {}", there[*n].name, carried.join(", ")));
            }
            for (array, at) in served {
                line(format!("  {array:<20} an array, served by the coordinator {at}"));
            }
        }
        Err(missing) => missing.iter().for_each(|text| line(format!("  missing: {text}"))),
    }
    out
}

fn as_json(
    there: &[Announcement],
    bound: &Binding,
    served: &[(&str, String)],
) -> serde_json::Value {
    let served = served.iter().map(|(array, at)| json!({ "array": array, "served": at }));
    let served: Vec<serde_json::Value> = served.collect();
    match bound {
        Ok(bound) => {
            let agents = bound.used.iter().enumerate().map(|(place, n)| {
                let carried = bound.binding.agents.iter().filter(|(_, agent)| **agent == place);
                let carried: Vec<&String> = carried.map(|(group, _)| group).collect();
                json!({ "agent": there[*n].name, "carries": carried })
            });
            json!({ "there": there.len(), "bound": agents.collect::<Vec<_>>(), "arrays": served, "missing": [] })
        }
        Err(missing) => json!({ "there": there.len(), "bound": [], "missing": missing }),
    }
}

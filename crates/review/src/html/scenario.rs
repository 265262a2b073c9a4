//! The scenario in words, as a laboratory prints it in a box: under examination, what was tested, how it was tested. All
//! of it is read off the scenario inside the record.

use super::embedded;
use super::net_words;
use super::words::{arrivals, disk_of, listed, workload};
use crate::headline::plural;
use crate::highlights::loops;
use crate::number::began;
use crate::text::clean;
use findings::{Analysis, Loops, StepFigures};
use maud::{Markup, html};
use scenario::search::{Aim, Search};
use scenario::{Lab, Plan, Scenario, Vm, Workload};
use std::time::Duration;

/// One line under the title: how much was tested, on what, when.
pub(super) fn tested(analysis: &Analysis, scenario: Option<&Scenario>) -> String {
    let run = &analysis.run;
    let steps = match run.steps_planned {
        Some(planned) if planned != run.steps_recorded => {
            format!("{} of {} recorded", run.steps_recorded, plural(planned as usize, "step"))
        }
        _ => plural(run.steps_recorded as usize, "step"),
    };
    let mut parts = vec![steps];
    if let Some(scenario) = scenario {
        let shown = scenario.workloads.iter().filter(|workload| in_words(workload).is_some());
        let mut names: Vec<String> = shown.map(|workload| workload.name().to_owned()).collect();
        if names.is_empty() {
            // Jobs alone: what they copy.
            names = scenario.workloads.iter().map(|workload| workload.name().to_owned()).collect();
        }
        if !names.is_empty() {
            let word = if names.len() == 1 { "workload" } else { "workloads" };
            parts.push(format!("{word} {}", listed(&names)));
        }
        let lab = &scenario.lab;
        let counted = [
            (lab.vms.len(), "VM"),
            (lab.hosts.len(), "host"),
            (lab.arrays.len(), "array"),
            (lab.targets.len(), "target"),
            (lab.receivers.len(), "receiver"),
        ];
        let on: Vec<String> =
            counted.iter().filter(|(n, _)| *n > 0).map(|(n, word)| plural(*n, word)).collect();
        if !on.is_empty() {
            parts.push(format!("on {}", on.join(", ")));
        }
    }
    if let Some(all) = all_loops(&analysis.steps) {
        parts.push(loops(all).to_owned());
    }
    parts.push(clean(&run.producer));
    parts.push(began(run.wall_ns));
    parts.join(" · ")
}

/// The loops of all steps together; `None` without steps that issue anything to disks.
fn all_loops(steps: &[StepFigures]) -> Option<Loops> {
    // Network loads are no loops of operations.
    let mut steps = steps.iter().filter(|s| !s.network_only());
    let first = steps.next()?.loops;
    Some(if steps.all(|s| s.loops == first) { first } else { Loops::Mixed })
}

/// The box.
pub(super) fn section(analysis: &Analysis, scenario: Option<&Scenario>) -> Markup {
    html! {
        section id="scenario" aria-labelledby="scenario-heading" {
            h2 id="scenario-heading" { "The scenario" }
            @match scenario {
                None => p.none { "The scenario inside this record cannot be read; its text is below." },
                Some(scenario) => {
                    @if let Some(text) = &scenario.head.description { p { (clean(text)) } }
                    div.box {
                        (part("Under examination", &examined(analysis, &scenario.lab)))
                        (part("What we tested", &what(scenario)))
                        (part("How we tested", &how(analysis, scenario)))
                    }
                }
            }
        }
    }
}

/// A part of the box: lines that begin with a name.
fn part(heading: &str, lines: &[(String, String)]) -> Markup {
    html! {
        div {
            h3 { (heading) }
            dl {
                @for (name, text) in lines { dt { (clean(name)) } dd { (clean(text)) } }
            }
        }
    }
}

fn line(name: impl Into<String>, text: impl Into<String>) -> (String, String) {
    (name.into(), text.into())
}

/// The lab's parts, and the machines that issued the load.
fn examined(analysis: &Analysis, lab: &Lab) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for target in &lab.targets {
        let size = target.create.or(target.size).map(|b| format!(", {b}")).unwrap_or_default();
        let cache = if target.buffered { ", through the page cache" } else { "" };
        lines.push(line(&target.name, format!("{}{size}{cache}", target.url)));
    }
    lines.extend(lab.receivers.iter().map(|r| line(&r.name, net_words::receiver(r))));
    let same = |a: &Vm, b: &Vm| {
        let (name, destinations) = (b.name.clone(), b.destinations.clone());
        Vm { name, destinations, ..a.clone() } == *b
    };
    for alike in lab.vms.chunk_by(same) {
        let names: Vec<String> = alike.iter().map(|vm| vm.name.clone()).collect();
        lines.push(line(listed(&names), vm(&alike[0])));
    }
    for host in &lab.hosts {
        let adapters: Vec<String> =
            host.adapters.iter().map(|a| model(lab, a.part.as_deref(), &a.name)).collect();
        let parts = [
            Some(model(lab, host.part.as_deref(), "a host")),
            host.hypervisor.as_deref().map(|h| model(lab, Some(h), "")),
            (!adapters.is_empty()).then(|| listed(&adapters)),
        ];
        lines.push(line(&host.name, parts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    }
    lines.extend(
        lab.switches.iter().map(|s| line(&s.name, model(lab, s.part.as_deref(), "a switch"))),
    );
    for array in &lab.arrays {
        let volumes = lab.volumes.iter().filter(|v| v.array == array.name).count();
        let volumes =
            if volumes > 0 { format!(", {}", plural(volumes, "volume")) } else { String::new() };
        let stood = match (&array.embedded, &array.part) {
            (None, part) => model(lab, part.as_deref(), "an array"),
            (Some(embedded), None) => embedded::array(embedded),
            (Some(embedded), Some(part)) => {
                format!(
                    "{}, for which stood {}",
                    model(lab, Some(part), ""),
                    embedded::array(embedded)
                )
            }
        };
        lines.push(line(&array.name, stood + &volumes));
    }
    lines.extend(crate::footer::hosts(&analysis.run));
    lines
}

fn vm(vm: &Vm) -> String {
    let disks: Vec<String> = vm.disks.iter().map(disk_of).collect();
    let parts = [
        vm.vcpus.map(|n| plural(n as usize, "vCPU")),
        vm.memory.map(|m| m.to_string()),
        vm.host.as_ref().map(|host| format!("on {host}")),
        (!disks.is_empty()).then(|| {
            format!("its {} on {}", if disks.len() == 1 { "disk" } else { "disks" }, listed(&disks))
        }),
        net_words::nics(vm),
    ];
    format!("VM, {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// The full name of a part of the lab or of the catalog, or what there is.
fn model(lab: &Lab, part: Option<&str>, otherwise: &str) -> String {
    let Some(part) = part else { return otherwise.to_owned() };
    let known = lab.part(part).and_then(|p| p.model.clone());
    known.unwrap_or_else(|| part.to_owned())
}

/// The workloads, in words.
fn what(scenario: &Scenario) -> Vec<(String, String)> {
    scenario.workloads.iter().filter_map(|w| Some(line(w.name(), in_words(w)?))).collect()
}

/// What a workload does; `None` for copies, which no page shows.
fn in_words(known: &Workload) -> Option<String> {
    match known {
        Workload::Disk(known) => Some(workload(known)),
        Workload::Net(known) => Some(net_words::workload(known)),
        _ => None,
    }
}

/// The plans, in words, and what holds for all of them.
fn how(analysis: &Analysis, scenario: &Scenario) -> Vec<(String, String)> {
    let mut lines: Vec<_> =
        scenario.plans.iter().map(|p| line(name_of(p), plan(p, scenario))).collect();
    let steps = scenario.steps();
    let total: Duration = steps.iter().map(scenario::Step::duration).sum();
    lines.push(line(
        "in all",
        format!(
            "{}, {} of load, seed {}",
            plural(steps.len(), "step"),
            units::duration(total),
            analysis.run.seed
        ),
    ));
    lines.push(line(
        "judged",
        format!(
            "{}, {}; percentiles are read off merged histograms, never averaged",
            plural(scenario.goals.len(), "goal"),
            plural(scenario.claims.len(), "published figure")
        ),
    ));
    lines
}

fn name_of(plan: &Plan) -> &str {
    if plan.name == Plan::UNNAMED { "plan" } else { &plan.name }
}

fn plan(plan: &Plan, scenario: &Scenario) -> String {
    let loads = plan.loads.iter().filter(|load| in_words(&load.workload).is_some()).map(|load| {
        let loops = load.workload.disk().map(|w| format!(" ({})", arrivals(&w.spec.arrivals)));
        let (name, on) = (load.workload.name(), listed(&load.on));
        format!("{name} on {on}{}", loops.unwrap_or_default())
    });
    let loads: Vec<String> = loads.collect();
    let axes = plan.sweep.iter().map(|axis| {
        let values: Vec<String> = axis.values.iter().map(ToString::to_string).collect();
        format!("; {} {}", axis.key, listed(&values))
    });
    let search = plan.search.as_ref().map(search).unwrap_or_default();
    let warm_up = match plan.steady {
        None => units::duration(plan.warmup),
        Some(steady) => format!(
            "{} to {} (until steady)",
            units::duration(plan.warmup),
            units::duration(steady.within.max(plan.warmup))
        ),
    };
    let repeat =
        if plan.repeat > 1 { format!("; everything {} times", plan.repeat) } else { String::new() };
    let faults = embedded::faults(plan, &scenario.lab) + &net_words::frames(plan);
    let condition = if plan.precondition { "; targets preconditioned after SNIA PTS" } else { "" };
    format!(
        "{}{}{search}; each step {warm_up} warm-up, then {} measured{repeat}{condition}{faults}",
        loads.join(" and "),
        axes.collect::<String>(),
        units::duration(plan.measure)
    )
}

/// What a plan looks for, by steps that it decides on the way.
fn search(search: &Search) -> String {
    let aim = match &search.aim {
        Aim::Knee => "the knee".to_owned(),
        Aim::Most { limits, .. } => {
            let limits: Vec<String> = limits.iter().map(ToString::to_string).collect();
            format!("the most work while {}", limits.join(" and "))
        }
    };
    let (from, to) = (search.setting(search.range.from), search.setting(search.range.to));
    format!("; a search over {} from {from} to {to} for {aim}", search.key)
}

//! The emulated part of a scenario's lab in a live run: it is made before the first agent starts, every host and every array is
//! an agent in its namespace and control group, and what the cables carry is counted from outside.

mod changes;
mod hops;
mod receivers;

use crate::cli::AgentKind;
use crate::control;
use crate::exit::Failure;
use crate::{hops as machine, live, out};
use changes::LabChanges;
use fleet::AgentLink;
use hops::{Carrier, LabSampler};
use lab::{Fabric, LabError, LabPlan, Program};
use receivers::LabReceivers;
use scenario::Scenario;
use std::process::Command;
use std::sync::Arc;

/// Where labs are recorded, beneath the directory of this user's sockets.
const DIRECTORY: &str = "labs";

/// This program, as labs start it.
pub fn program() -> Result<Program, Failure> {
    let file = std::env::current_exe().map_err(Failure::incomplete)?;
    Ok(Program { file, directory: control::place::directory().join(DIRECTORY) })
}

/// A failure to make a lab, with its exit code.
pub fn failure(error: LabError) -> Failure {
    match error {
        LabError::Scenario(mistakes) => mistakes.into(),
        LabError::Plan(problem) => Failure::usage(problem),
        other => Failure::incomplete(other),
    }
}

/// The agents of a run with an emulated lab: this machine's own, then those of hosts and of VMs with a quota, then arrays. The
/// lab ends with the last of them.
pub fn agents(scenario: &Scenario, kind: AgentKind) -> Result<Vec<AgentLink>, Failure> {
    if kind == AgentKind::InProcess {
        let problem = "an emulated host is a process in its own namespace; leave --agent out";
        return Err(Failure::usage(problem));
    }
    let plan = lab::plan(scenario).map_err(failure)?;
    let fabric = Fabric::build(plan, &scenario.head.title, &program()?).map_err(failure)?;
    fabric.notes().iter().for_each(|note| out::note(format_args!("emulated lab: {note}")));
    let receivers = LabReceivers::start(scenario, &fabric)?;
    let mut carriers = Vec::new();
    let mut inside = Vec::new();
    let mut by_host = receivers.processes();
    let mut processes = by_host.clone();
    for (host, name) in carried(scenario, fabric.plan()) {
        let command = receivers.known_to(name, agent(&fabric, host, name)?);
        let agent = AgentLink::child(name, command).map_err(Failure::incomplete)?;
        let carrier = |process| Carrier::of(scenario, (host, name), process, fabric.group(name));
        carriers.extend(agent.process().map(carrier));
        by_host.extend(agent.process().map(|process| (host.to_owned(), process)));
        inside.push(agent);
    }
    for array in scenario.lab.arrays.iter().filter(|array| array.emulate) {
        let mut command = agent(&fabric, &array.name, &array.name)?;
        command.args(listens(fabric.plan(), &array.name));
        let agent = AgentLink::child(&array.name, command).map_err(Failure::incomplete)?;
        inside.push(agent.serving(&array.name));
    }
    let agents =
        inside.iter().filter_map(AgentLink::process).map(|process| (String::new(), process));
    processes.extend(agents);
    let sampler = LabSampler::new(fabric.plan(), fabric.processes(), carriers, processes);
    let fabric = Arc::new(fabric);
    let engines = live::engines(machine::sources_with(scenario, Box::new(sampler)));
    let changes = Box::new(LabChanges { fabric: Arc::clone(&fabric), processes: by_host });
    let engines = engines.carries(fleet::LAB_ENGINE, changes);
    let mut agents =
        live::local(scenario, AgentKind::Auto, engines).map_err(Failure::incomplete)?;
    // Receivers end before the lab that they live in.
    let last = inside.pop().map(|agent| agent.holding(Box::new((receivers, fabric))));
    agents.extend(inside.into_iter().chain(last));
    Ok(agents)
}

/// The processes of emulated hosts: one for each host that sends, receives, or has VMs without a quota, and one for each VM that
/// has one. With the host.
fn carried<'a>(scenario: &'a Scenario, plan: &'a LabPlan) -> Vec<(&'a str, &'a str)> {
    let mut all: Vec<(&str, &str)> = Vec::new();
    let mut add = |host: &'a str, name: &'a str| {
        if !all.iter().any(|(_, known)| *known == name) {
            all.push((host, name));
        }
    };
    for vm in &scenario.lab.vms {
        let Some(host) = scenario.lab.emulated_host(vm) else { continue };
        vm.carrier().into_iter().for_each(|carrier| add(&host.name, carrier));
    }
    for reach in &plan.nets {
        let hosts = [(reach.vm.is_none()).then_some(&reach.host), Some(&reach.to)];
        hosts.into_iter().flatten().for_each(|host| add(host, host));
    }
    all
}

fn listens(plan: &LabPlan, array: &str) -> Vec<String> {
    plan.listens(array).map(|(port, address)| format!("--listen={port}={address}")).collect()
}

/// What starts an agent in the namespace of a node.
fn agent(fabric: &Fabric, node: &str, name: &str) -> Result<Command, Failure> {
    let mut command = command(fabric, node, name)?;
    command.args(["lab", "agent", "--name", name]);
    Ok(command)
}

/// What runs this program in the namespace of a node, in the control group of `carrier`.
fn command(fabric: &Fabric, node: &str, carrier: &str) -> Result<Command, Failure> {
    let command = fabric.command(node, carrier);
    command.ok_or_else(|| Failure::incomplete(format!("the lab has no `{node}`")))
}

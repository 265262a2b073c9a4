//! The emulated part of a scenario's lab in a live run: it is made before the first agent starts, every host and every array is
//! an agent in its namespace and control group, and what the cables carry is counted from outside.

mod changes;
mod hops;
mod movers;
mod receivers;
mod stays;

use crate::cli::AgentKind;
use crate::control;
use crate::exit::Failure;
use crate::{hops as machine, live, out};
use changes::LabChanges;
use fleet::AgentLink;
use hops::{Carrier, LabSampler};
use lab::{Fabric, LabError, LabPlan, Program};
use movers::Mover;
use receivers::LabReceivers;
use scenario::Scenario;
use stays::Whereabouts;
use std::path::PathBuf;
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

/// The agents of a run with an emulated lab: this machine's own, then those of hosts and of VMs with their own process, then arrays. The
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
    let whereabouts = Whereabouts::default();
    let mut movers = Vec::new();
    for (host, name) in carried(scenario, fabric.plan()) {
        let mut command = agent(&fabric, (host, fabric.carrier(name, host)), name)?;
        let number = movers::number(scenario, name);
        if let Some(number) = number {
            let link = fabric.seat(number, host).map_err(Failure::incomplete)?;
            command.arg("--network").arg(link);
        }
        let command = receivers.known_to(name, command);
        let agent = AgentLink::child(name, command).map_err(Failure::incomplete)?;
        if let Some(process) = agent.process() {
            let groups = groups(scenario, &fabric, name);
            carriers.push(Carrier::of(scenario, (host, name), Some(process), groups));
            match name == host {
                true => by_host.push((host.to_owned(), process)),
                false => whereabouts.put(process, host),
            }
            let (vm, home) = (name.to_owned(), host.to_owned());
            movers.extend(number.map(|number| Mover { vm, number, home, process }));
        }
        inside.push(agent);
    }
    carriers.extend(vacant(scenario, &fabric, &movers));
    for array in scenario.lab.arrays.iter().filter(|array| array.emulate) {
        let mut command = agent(&fabric, (&array.name, &array.name), &array.name)?;
        command.args(listens(fabric.plan(), &array.name));
        let agent = AgentLink::child(&array.name, command).map_err(Failure::incomplete)?;
        inside.push(agent.serving(&array.name));
    }
    let agents =
        inside.iter().filter_map(AgentLink::process).map(|process| (String::new(), process));
    processes.extend(agents);
    let nodes = fabric.processes();
    let made = (fabric.plan(), fabric.kernel());
    let sampler = LabSampler::new(made, nodes, carriers, processes, whereabouts.clone());
    let fabric = Arc::new(fabric);
    let engines = live::engines(machine::sources_with(scenario, Box::new(sampler)));
    let (processes, of_run) = (by_host, Arc::clone(&fabric));
    let changes = LabChanges { fabric: of_run, processes, whereabouts, movers };
    let engines = engines.carries(fleet::LAB_ENGINE, Box::new(changes));
    let mut agents =
        live::local(scenario, AgentKind::Auto, engines).map_err(Failure::incomplete)?;
    // Receivers end before the lab that they live in.
    let last = inside.pop().map(|agent| agent.holding(Box::new((receivers, fabric))));
    agents.extend(inside.into_iter().chain(last));
    Ok(agents)
}

/// The control groups of a host, or of a VM with a quota: it has one on each host that it moves to.
fn groups(scenario: &Scenario, fabric: &Fabric, name: &str) -> Vec<Vec<PathBuf>> {
    let own = fabric.group(name);
    let moves = scenario.lab.vms.iter().filter(|vm| vm.name == name && vm.cpus.is_some());
    let elsewhere = moves.flat_map(|vm| &vm.destinations).map(|host| fabric.group_on(name, host));
    [own].into_iter().chain(elsewhere).filter(|of| !of.is_empty()).map(<[_]>::to_vec).collect()
}

/// Hosts that VMs move from and to, and that have no process of their own.
fn vacant(scenario: &Scenario, fabric: &Fabric, movers: &[Mover]) -> Vec<Carrier> {
    let vms = movers.iter().filter_map(|mover| scenario.lab.vms.get(mover.number));
    let mut hosts: Vec<&String> =
        vms.flat_map(|vm| vm.host.iter().chain(&vm.destinations)).collect();
    hosts.sort();
    hosts.dedup();
    let of = |host: &String| {
        let groups = groups(scenario, fabric, host);
        Carrier::of(scenario, (host, host), None, groups)
    };
    let busy = carried(scenario, fabric.plan());
    let vacant = hosts.into_iter().filter(|host| !busy.contains(&(host.as_str(), host.as_str())));
    vacant.map(of).collect()
}

/// The processes of emulated hosts: one for each host that sends, receives, or has VMs without a quota that stay, and one for each
/// other VM. With the host.
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

/// What starts an agent in the namespace of a node, in the control group of a carrier.
fn agent(fabric: &Fabric, (node, carrier): (&str, &str), name: &str) -> Result<Command, Failure> {
    let mut command = command(fabric, node, carrier)?;
    command.args(["lab", "agent", "--name", name]);
    Ok(command)
}

/// What runs this program in the namespace of a node, in the control group of `carrier`.
fn command(fabric: &Fabric, node: &str, carrier: &str) -> Result<Command, Failure> {
    let command = fabric.command(node, carrier);
    command.ok_or_else(|| Failure::incomplete(format!("the lab has no `{node}`")))
}

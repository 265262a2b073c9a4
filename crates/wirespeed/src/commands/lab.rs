//! `wirespeed lab up|down|ls`: the emulated part of a scenario's lab, beyond a run.

use crate::cli::{Format, LabAction, LabArgs, LabFile, LabInside, OutputArgs};
use crate::emulated::{failure, program};
use crate::exit::{Exit, Failure};
use crate::{files, live, out};
use lab::{BondMode, Built, Fabric, Kernel, LabPlan, PlannedTeam, State};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

pub fn lab(args: &LabArgs) -> Result<Exit, Failure> {
    match &args.action {
        LabAction::Up(file) => up(file),
        LabAction::Down(file) => down(file),
        LabAction::Ls(ls) => show(&ls.output),
        LabAction::Inside(inside) => within(inside),
    }
}

fn within(inside: &LabInside) -> Result<Exit, Failure> {
    match inside {
        LabInside::Guard => lab::guard().map(|()| Exit::Met).map_err(failure),
        LabInside::Node => lab::node().map(|()| Exit::Met).map_err(failure),
        LabInside::Agent(args) => {
            let listens = args.listen.iter().cloned().collect();
            let receivers = args.receiver.iter().cloned().collect();
            args.network.clone().into_iter().for_each(san::initiator::connect_from);
            live::serve_emulated(&args.name, listens, receivers).map(|()| Exit::Met)
        }
        LabInside::Enter(args) => {
            let (code, problem) = lab::enter(args.process, &args.group, &args.command);
            out::note(format_args!("wirespeed: {problem}"));
            std::process::exit(code.into())
        }
    }
}

/// The name under which a scenario's lab is recorded: its file, however it is spelled.
fn name(file: &Path) -> String {
    fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()).display().to_string()
}

fn up(file: &LabFile) -> Result<Exit, Failure> {
    let source = files::scenario_source(&file.scenario)?;
    let scenario = scenario::load(&source)?;
    if !scenario.lab.is_emulated() {
        return Err(Failure::usage(
            "nothing of this lab is emulated: say `emulate = true` at its hosts, switches and arrays",
        ));
    }
    let plan = lab::plan(&scenario).map_err(failure)?;
    let before = described(&plan, None);
    let (state, described, notes) =
        match Fabric::up(plan, &name(&file.scenario.file), &program()?).map_err(failure)? {
            Built::Already(state) => (state, before, vec!["it stood already".to_owned()]),
            Built::New(fabric) => {
                let notes = fabric.notes().to_vec();
                let described = described(fabric.plan(), Some(fabric.kernel()));
                fabric.stay().map_err(failure)?;
                (standing(&file.scenario.file)?, described, notes)
            }
        };
    if file.output.format == Format::Json {
        return out::result(&format!("{:#}\n", as_json(&state))).map(|()| Exit::Met);
    }
    let mut text = format!("{}\n{described}", file.scenario.file.display());
    for note in &notes {
        let _ = writeln!(text, "note: {note}");
    }
    text += &entries(&state);
    out::result(&text).map(|()| Exit::Met)
}

/// The state of the lab that was made just now.
fn standing(file: &Path) -> Result<State, Failure> {
    let found = lab::find(&program()?.directory, &name(file));
    found.ok_or_else(|| Failure::incomplete("the lab was taken down as it was made"))
}

fn down(file: &LabFile) -> Result<Exit, Failure> {
    let directory = program()?.directory;
    lab::sweep(&directory);
    let Some(state) = lab::find(&directory, &name(&file.scenario.file)) else {
        if !file.output.quiet {
            out::note(format_args!("no lab of {} stands", file.scenario.file.display()));
        }
        return Ok(Exit::Met);
    };
    lab::stop(&directory, &state).map_err(failure)?;
    Ok(Exit::Met)
}

fn show(output: &OutputArgs) -> Result<Exit, Failure> {
    let directory = program()?.directory;
    lab::sweep(&directory);
    let labs = lab::list(&directory);
    if output.format == Format::Json {
        let labs: Vec<Value> = labs.iter().map(as_json).collect();
        return out::result(&format!("{:#}\n", json!({ "labs": labs }))).map(|()| Exit::Met);
    }
    let mut text = String::new();
    for lab in &labs {
        let why = if lab.stays { "until it is taken down" } else { "for the time of a run" };
        let _ = writeln!(text, "{}  {}, {why}", lab.tag, lab.scenario);
        text += &entries(lab);
    }
    if labs.is_empty() {
        text += "no emulated lab stands\n";
    }
    out::result(&text).map(|()| Exit::Met)
}

/// How to get into each node.
fn entries(state: &State) -> String {
    let mut text = String::new();
    for (name, process) in &state.nodes {
        let _ = writeln!(text, "  {name:<16} nsenter --net=/proc/{process}/ns/net");
    }
    text
}

fn as_json(state: &State) -> Value {
    let node = |(name, process): &(String, u32)| json!({ "name": name, "process": process });
    let nodes: Vec<Value> = state.nodes.iter().map(node).collect();
    json!({ "tag": state.tag, "scenario": state.scenario, "stays": state.stays, "nodes": nodes })
}

/// The VLANs of a cable, behind other words.
fn vlans(all: &[u16]) -> String {
    let words: Vec<String> = all.iter().map(u16::to_string).collect();
    format!(", VLAN{} {}", if all.len() > 1 { "s" } else { "" }, words.join(", "))
}

/// What a team is made of: a bond where the kernel makes them, or else routes.
fn by_team(team: Option<&PlannedTeam>, members: &str, kernel: Option<Kernel>) -> String {
    let routes = format!("equal-cost routes over {members} by a hash of addresses and ports");
    let Some(team) = team.filter(|team| team.apart.is_none()) else { return routes };
    let bond = format!("a bond ({}) of {members}, {}", team.mode.word(), team.mode.chooses());
    match kernel {
        Some(kernel) if kernel.bonds(team) => bond,
        None if team.mode == BondMode::ActiveBackup => bond,
        None => format!("{bond}; equal-cost routes where the kernel has no bonding"),
        Some(_) => routes,
    }
}

/// What would be made, or was by this kernel: for `plan` and `lab up`.
pub fn described(plan: &LabPlan, kernel: Option<Kernel>) -> String {
    let mut text = String::new();
    let count = |kind| plan.nodes.iter().filter(|node| node.kind == kind).count();
    let kinds = [lab::NodeKind::Host, lab::NodeKind::Switch, lab::NodeKind::Array];
    let nodes: Vec<String> = kinds
        .into_iter()
        .map(|kind| (count(kind), kind.word()))
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| match (n, word) {
            (1, word) => format!("1 {word}"),
            (n, "switch") => format!("{n} switches"),
            (n, word) => format!("{n} {word}s"),
        })
        .collect();
    let scaled = match plan.scale < 100.0 {
        true => format!(", every speed scaled to {}%", plan.scale),
        false => String::new(),
    };
    let _ = writeln!(text, "  {}, {} interfaces{scaled}", nodes.join(", "), plan.interfaces());
    for cable in &plan.cables {
        let end = |n: usize| {
            let end = &cable.ends[n];
            &plan.nodes[end.node].ports[end.port].label
        };
        let speed = match (cable.payload, &cable.rate) {
            (Some(payload), Some(rate)) => format!("{} each way ({rate})", units::rate(payload)),
            (Some(payload), None) => format!("{} each way", units::rate(payload)),
            (None, _) => "as fast as it goes".to_owned(),
        };
        let vlans = if plan.tagged() { vlans(&cable.vlans) } else { String::new() };
        let _ = writeln!(text, "  {} — {}: {speed}, MTU {}{vlans}", end(0), end(1), cable.mtu);
    }
    for quota in &plan.quotas {
        if let Some(cpus) = quota.cpus {
            let _ = writeln!(text, "  {}: the time of {cpus} processors", quota.name);
        }
    }
    for reach in &plan.reaches {
        let by = match &reach.team {
            None => reach.from.clone(),
            Some(team) => {
                let members: Vec<&str> = team.members.iter().map(|(hop, _)| hop.as_str()).collect();
                let planned = plan.teams.iter().find(|of| of.name == reach.from);
                format!("{}, {}", reach.from, by_team(planned, &members.join(", "), kernel))
            }
        };
        let _ = writeln!(
            text,
            "  {} reaches {}.{} at {} by {by}",
            reach.host, reach.array, reach.port, reach.address
        );
    }
    for reach in &plan.nets {
        let _ = writeln!(
            text,
            "  {} sends to {} of {} at {} by {}",
            reach.vm.as_deref().unwrap_or(&reach.host),
            reach.receiver,
            reach.to,
            reach.address,
            reach.from
        );
    }
    text
}

//! Which agent carries which VM or target, where agents are on several machines.
//!
//! A target's file or device is then that of the machine whose agent uses it: two agents that use one target use two files.

use crate::arrays::ArrayAccess;
use crate::assign::{AssignError, Assignment};
use crate::draft::{TargetTable, draft};
use scenario::{AgentChoice, Scenario, Stage, Step};
use std::collections::{BTreeMap, BTreeSet};

/// The agents of VMs and targets, by the agents' positions. Empty for a run on one machine, whose agents share all targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// The agent of each VM, and of each target that a load names itself.
    pub agents: BTreeMap<String, usize>,
    /// How these agents reach the embedded arrays.
    pub arrays: Option<ArrayAccess>,
}

impl Binding {
    /// The agent of a VM or target.
    pub fn agent_of(&self, group: &str) -> Option<usize> {
        self.agents.get(group).copied()
    }
}

/// An agent that may be bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Labels and facts that it can be chosen by.
    pub known: BTreeMap<String, String>,
    /// Why it cannot be used, as the end of a sentence that begins with its name.
    pub problem: Option<String>,
}

/// What is bound to which agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The candidates that are used, by their positions, in the order of their names.
    pub used: Vec<usize>,
    /// What each carries, by the position among those used.
    pub binding: Binding,
}

/// What one agent is to carry.
struct Slot {
    choice: AgentChoice,
    groups: Vec<String>,
}

impl Slot {
    fn takes(&self, candidate: &Candidate) -> bool {
        self.choice.takes(&candidate.name, &|key| candidate.known.get(key).cloned())
    }
}

/// Binds what the stages load to agents, or says all that is missing.
///
/// Each slot gets an agent of its own if there is any way to give each one (augmenting paths); the agents' names decide among
/// the ways. What the scenario binds to no agent is dealt to those that are left, or to all.
/// # Errors
/// One sentence for each thing that is missing, or that a run on several machines cannot carry.
pub fn bind(
    scenario: &Scenario,
    stages: &[Stage],
    candidates: &[Candidate],
) -> Result<Bound, Vec<String>> {
    let steps: Vec<Step> = stages.iter().flat_map(Stage::examples).collect();
    let groups = groups(scenario, &steps).map_err(|error| vec![error.to_string()])?;
    let mut missing = uncarried(scenario, &steps, &groups);
    let (slots, unbound) = slots(scenario, &groups);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| candidates[*a].name.cmp(&candidates[*b].name));
    let usable: Vec<usize> =
        order.iter().copied().filter(|&n| candidates[n].problem.is_none()).collect();
    let mut of_agent: BTreeMap<usize, usize> = BTreeMap::new();
    for slot in 0..slots.len() {
        if !augment(slot, &slots, candidates, &usable, &mut of_agent, &mut BTreeSet::new()) {
            missing.push(unmatched(&slots, slot, candidates, &of_agent));
        }
    }
    let left: Vec<usize> = usable.iter().copied().filter(|n| !of_agent.contains_key(n)).collect();
    let dealt = if left.is_empty() { &usable } else { &left };
    if dealt.is_empty() && !unbound.is_empty() {
        missing.push(format!("`{}` needs an agent, and none can be used", unbound[0]));
    }
    if !missing.is_empty() {
        return Err(missing);
    }
    let mut carried: BTreeMap<String, usize> = BTreeMap::new();
    for (agent, slot) in &of_agent {
        carried.extend(slots[*slot].groups.iter().map(|group| (group.clone(), *agent)));
    }
    carried.extend(unbound.into_iter().zip(dealt.iter().cycle().copied()));
    let used: BTreeSet<usize> = carried.values().copied().collect();
    let used: Vec<usize> = order.into_iter().filter(|n| used.contains(n)).collect();
    let position = |agent| used.iter().position(|other| *other == agent).unwrap_or(0);
    let agents = carried.into_iter().map(|(group, agent)| (group, position(agent))).collect();
    let binding = Binding { agents, arrays: None };
    let names: Vec<String> = used.iter().map(|n| candidates[*n].name.clone()).collect();
    // What cannot be divided so is said before any agent is engaged.
    Assignment::bound(scenario, &steps, scenario.head.seed, &names, &binding)
        .map_err(|error| vec![error.to_string()])?;
    Ok(Bound { used, binding })
}

/// VMs and targets that steps load, in order.
fn groups(scenario: &Scenario, steps: &[Step]) -> Result<Vec<String>, AssignError> {
    let table = TargetTable::new(scenario);
    let (mut groups, mut known) = (Vec::new(), BTreeSet::new());
    for step in steps {
        for worker in draft(&table, step)? {
            if known.insert(worker.group.to_owned()) {
                groups.push(worker.group.to_owned());
            }
        }
    }
    Ok(groups)
}

/// What agents of several machines do not carry.
fn uncarried(scenario: &Scenario, steps: &[Step], groups: &[String]) -> Vec<String> {
    let mut missing = Vec::new();
    if steps.iter().any(|step| step.net_loads().next().is_some()) {
        missing.push(
            "network loads run on one machine: leave them out, or run without --fleet".to_owned(),
        );
    }
    for array in scenario.lab.arrays.iter().filter(|array| array.embedded.is_some()) {
        let name = &array.name;
        let why = match (array.emulate, scenario.lab.is_library(name)) {
            (true, _) => {
                "is emulated, in a namespace of the coordinator's machine that no agent of another one reaches"
            }
            (false, true) => {
                "is a tape library, whose drives are used on the coordinator's machine alone"
            }
            (false, false) => continue,
        };
        missing.push(format!("the embedded array `{name}` {why}: run without --fleet"));
    }
    let guests = scenario.lab.vms.iter().filter(|vm| vm.machine.is_some());
    let guests = guests.filter(|vm| groups.contains(&vm.name));
    missing.extend(guests.map(|vm| {
        format!("`{}` is a guest of QEMU, which runs on the coordinator's machine alone", vm.name)
    }));
    missing
}

/// What is bound, by agent, and what is not.
fn slots(scenario: &Scenario, groups: &[String]) -> (Vec<Slot>, Vec<String>) {
    let (mut slots, mut unbound): (Vec<Slot>, Vec<String>) = (Vec::new(), Vec::new());
    // The slots of a table, and how many of its VMs have been dealt.
    let mut tables: BTreeMap<(String, bool), (Vec<usize>, usize)> = BTreeMap::new();
    for group in groups {
        let vm = scenario.lab.vms.iter().find(|vm| vm.name == *group);
        let host = vm.and_then(|vm| vm.host.as_ref());
        let host = host.and_then(|name| scenario.lab.hosts.iter().find(|h| h.name == *name));
        let own = vm.and_then(|vm| vm.agents.as_ref()).map(|choice| (choice, None));
        let hosted = || host.and_then(|host| Some((host.agents.as_ref()?, Some(&host.name))));
        let Some((choice, host)) = own.or_else(hosted) else {
            unbound.push(group.clone());
            continue;
        };
        let mut alone = || {
            slots.push(Slot { choice: choice.clone(), groups: Vec::new() });
            slots.len() - 1
        };
        let slot = match (host, choice.count) {
            (None, None) => alone(),
            // All VMs of a host are together, or the VMs of a table in turns on so many agents.
            (host, count) => {
                let key = (host.unwrap_or(&choice.table).clone(), host.is_some());
                let (of_table, dealt) = tables.entry(key).or_default();
                let turn = *dealt % count.unwrap_or(1) as usize;
                *dealt += 1;
                if turn == of_table.len() {
                    of_table.push(alone());
                }
                of_table[turn]
            }
        };
        slots[slot].groups.push(group.clone());
    }
    (slots, unbound)
}

/// Gives a slot an agent, if that is possible with others moved to other agents.
fn augment(
    slot: usize,
    slots: &[Slot],
    candidates: &[Candidate],
    usable: &[usize],
    of_agent: &mut BTreeMap<usize, usize>,
    tried: &mut BTreeSet<usize>,
) -> bool {
    let takes = |agent: &&usize| slots[slot].takes(&candidates[**agent]);
    // One that is free first, so that none is moved without need.
    if let Some(&agent) = usable.iter().filter(takes).find(|agent| !of_agent.contains_key(agent)) {
        of_agent.insert(agent, slot);
        return true;
    }
    for &agent in usable.iter().filter(takes) {
        if tried.insert(agent)
            && let Some(other) = of_agent.get(&agent).copied()
            && augment(other, slots, candidates, usable, of_agent, tried)
        {
            of_agent.insert(agent, slot);
            return true;
        }
    }
    false
}

/// Why a slot has no agent.
fn unmatched(
    slots: &[Slot],
    slot: usize,
    candidates: &[Candidate],
    of_agent: &BTreeMap<usize, usize>,
) -> String {
    let Slot { choice, groups } = &slots[slot];
    let mut why = Vec::new();
    for (n, candidate) in candidates.iter().enumerate().filter(|(_, c)| slots[slot].takes(c)) {
        let name = &candidate.name;
        why.extend(match (&candidate.problem, of_agent.get(&n)) {
            (Some(problem), _) => Some(format!("`{name}` {problem}")),
            (None, Some(other)) => {
                Some(format!("`{name}` carries {}", listed(&slots[*other].groups)))
            }
            (None, None) => None,
        });
    }
    let why = match why.is_empty() {
        true => format!("none of the {} that are there fits", candidates.len()),
        false => why.join(", "),
    };
    format!("{} needs an agent with `{}`: {why}", listed(groups), choice.text)
}

/// Names in words, the first few.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(3).map(|name| format!("`{name}`")).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

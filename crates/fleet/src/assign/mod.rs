//! Divides the steps of a scenario into the orders of each agent and the sources of the record.
//!
//! All steps are assigned before the first one starts, so that mistakes are found early and a worker of several steps is one
//! source; the steps of a search are represented by examples with all its workers and targets. Orders are made step by step,
//! since those of a long sweep would fill memory. Nothing is opened here.

mod copies;
mod counted;
mod jobs;
mod nets;

use crate::arrays::disk::{ArrayDisk, ReachableArray, ReachedDisk};
use crate::arrays::{ArraySpec, ArrayStep, Portals, plan};
use crate::bind::Binding;
use crate::draft::{self, IoTarget, TargetTable, WorkerDraft, draft};
use crate::guests::Guests;
use crate::prove;
use clock::Ns;
use engine::{
    AttendedProcess, CountedHosts, EngineLoad, Fill, LabChange, LabEvent, LabStep, QueueKind,
    StepSpec, TargetSpec, WorkerSpec,
};
use nets::NetNumbers;
use record::{Loop, Proof, Source, SourceId, SourceKind, StreamLoad, WorkerLoad};
use scenario::crew::{Copier, cluster};
use scenario::{Change, Hamper, Incident, Scenario, Step, Target};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;
use workload::{Arrivals, IoDemand};

/// A run as it is divided among agents.
pub struct Assignment<'a> {
    pub(crate) lab: TargetTable<'a>,
    seed: u64,
    agents: Vec<String>,
    /// The agents that are guests, with what they need.
    pub(crate) guests: Guests<'a>,
    /// The agent of each VM and target that has workers.
    places: BTreeMap<String, usize>,
    /// The demand of all steps on each medium, by the position of its first target.
    demands: BTreeMap<usize, IoDemand>,
    /// What agents of other machines count of their hosts.
    counted: BTreeMap<usize, CountedHosts>,
    /// The one agent that fills a volume that several read, by the volume's medium.
    fillers: BTreeMap<usize, usize>,
    /// The embedded arrays, once they are served.
    pub(crate) reachable: BTreeMap<String, ReachableArray>,
    sources: Vec<Source>,
    by_name: BTreeMap<String, SourceId>,
    /// The sources of network loads.
    nets: NetNumbers,
    /// The agent that carries nothing and counts in each step.
    witness: Option<usize>,
}

/// The agent that counts the processes of guests on this machine.
const ATTENDANT: usize = 0;

/// One step as it is divided among agents.
#[derive(Clone, Debug, PartialEq)]
pub struct AssignedStep {
    /// The load of every worker, for the record.
    pub loads: Vec<WorkerLoad>,
    /// The load of both ends of every network stream, for the record.
    pub streams: Vec<StreamLoad>,
    /// The orders of each agent; `None` for one without workers or network loads in this step.
    pub specs: Vec<Option<StepSpec>>,
    /// The orders to the embedded arrays, where there are some.
    pub arrays: Option<ArrayStep>,
    /// The rounds that follow the measured time; they are in the orders.
    pub proof: Option<Proof>,
}

impl AssignedStep {
    /// The workers that copy.
    pub(crate) fn copiers(&self) -> BTreeSet<SourceId> {
        let workers = self.specs.iter().flatten().flat_map(|spec| &spec.workers);
        workers.filter(|worker| worker.copy.is_some()).map(|worker| worker.source).collect()
    }
}

/// Why a scenario cannot be run on live engines, with the remedy.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AssignError {
    /// Hardware of the lab that is not available.
    #[error(
        "`{vm}` has a disk on the array `{array}`, which is not present: `wirespeed simulate` runs this scenario on a \
         model; to measure, let the array stand on this machine (`embedded = {{ ports = [{{ name = \"p1\" }}] }}`), or \
         give the disk a `target`"
    )]
    NotAtHand {
        /// The VM.
        vm: String,
        /// The array.
        array: String,
    },
    /// A receiver that is a host of a lab and nowhere else.
    #[error(
        "`{receiver}` is a host of the lab and has no address: `wirespeed simulate` runs this scenario on a model; to \
         measure, give the receiver an `address`, or let it stand on this machine (`embedded = true`)"
    )]
    Modelled {
        /// The receiver.
        receiver: String,
    },
    /// A disk smaller than what backs it.
    #[error(
        "a disk of `{vm}` is smaller than its target, which a live run cannot enforce: leave out the disk's `size`, or \
         give the workload a `working_set`"
    )]
    DiskSize {
        /// The VM.
        vm: String,
    },
    /// A VM without disks.
    #[error(
        "`{vm}` has no disks for `{workload}` to use; give it `disks = [{{ target = \"…\" }}]`"
    )]
    NoDisks {
        /// The VM.
        vm: String,
        /// The workload.
        workload: String,
    },
    /// A member of a network load that leads to no receiver.
    #[error(
        "`{member}` leads to no receiver for `{workload}`: run it on a `[[receiver]]`, or give the VM \
         `nics = [{{ receiver = \"…\" }}]`"
    )]
    NoReceiver {
        /// The member.
        member: String,
        /// The workload.
        workload: String,
    },
    /// A name that is neither a VM nor a target.
    #[error("`{name}` is neither a VM nor a target of this scenario")]
    Unknown {
        /// The name.
        name: String,
    },
    /// More targets than a step can number.
    #[error("step {step} uses more than 65,536 targets; divide it into several plans")]
    TooManyTargets {
        /// The step.
        step: u32,
    },
    /// An embedded array without volumes.
    #[error("the embedded array `{array}` has no volumes; give it a `[[volume]]` with a `size`")]
    NoVolume {
        /// The array.
        array: String,
    },
    /// More ports and volumes than an array can count at.
    #[error(
        "the embedded array `{array}` has more than {most} ports and volumes; divide it into several"
    )]
    TooManyHops {
        /// The array.
        array: String,
        /// As many as it may have.
        most: usize,
    },
    /// An embedded array is not served as the scenario has it.
    #[error("the embedded array `{array}` is not served as the scenario has it")]
    NotServed {
        /// The array.
        array: String,
    },
    /// Something that a VM that is a guest cannot have.
    #[error("`{vm}` is a virtual machine of QEMU: {problem}")]
    Guest {
        /// The VM.
        vm: String,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// A LUN that agents of several machines would write.
    #[error(
        "`{target}` is one LUN, and agents of several machines would write it; give each a LUN of its own"
    )]
    SharedLun {
        /// The target.
        target: String,
    },
    /// There is no agent.
    #[error("there is no agent to carry out the run")]
    NoAgents,
}

impl<'a> Assignment<'a> {
    /// Divides the steps of a scenario among agents, given by name. The seed is that of all streams.
    /// # Errors
    /// Where the scenario cannot be run on live engines.
    pub fn new(
        scenario: &'a Scenario,
        steps: &[Step],
        seed: u64,
        agents: &[String],
    ) -> Result<Assignment<'a>, AssignError> {
        Assignment::bound(scenario, steps, seed, agents, &Binding::default())
    }

    /// The same where VMs and targets are bound to agents of several machines.
    /// # Errors
    /// Where the scenario cannot be run on live engines, or not on several machines.
    pub fn bound(
        scenario: &'a Scenario,
        steps: &[Step],
        seed: u64,
        agents: &[String],
        binding: &Binding,
    ) -> Result<Assignment<'a>, AssignError> {
        if agents.is_empty() {
            return Err(AssignError::NoAgents);
        }
        let lab = TargetTable::bound(scenario, binding);
        let mut named: BTreeMap<String, &str> = BTreeMap::new();
        let mut names: Vec<String> = Vec::new();
        let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
        let mut known: BTreeSet<&str> = BTreeSet::new();
        let mut demands = BTreeMap::new();
        let mut users: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
        let mut copied: Vec<usize> = Vec::new();
        for step in steps {
            for SourceDraft { name, group, media, asked, waits } in parts(&lab, step)? {
                for (medium, demand) in asked {
                    users.entry(medium).or_default().insert(group);
                    let sum: &mut IoDemand = demands.entry(medium).or_default();
                    *sum = sum.and(demand);
                }
                if named.insert(name.clone(), group).is_none() {
                    names.push(name);
                }
                if known.insert(group) {
                    groups.push((group, media.clone()));
                }
                if waits {
                    // All copies, and all that wait for each other, are on one agent.
                    copied.extend(media);
                    let mine = groups.iter_mut().find(|(known, _)| *known == group);
                    mine.into_iter().for_each(|(_, of)| of.extend(copied.iter().copied()));
                }
            }
        }
        let guests = Guests::new(scenario, agents);
        guests.check(&lab, &groups, &demands, steps)?;
        let own =
            |group: &str| guests.agent_of(group).or_else(|| emulated(scenario, agents, group));
        let places = place(&groups, agents, &own, binding);
        let source = |(number, name): (usize, String)| Source {
            id: SourceId(number as u32),
            kind: SourceKind::Worker,
            group: named[&name].to_owned(),
            agent: agents[places[named[&name]]].clone(),
            name,
        };
        let sources: Vec<Source> = names.into_iter().enumerate().map(source).collect();
        let mut made = Assignment {
            fillers: fillers(&lab, &users, &demands, &places, binding)?,
            lab,
            seed,
            agents: agents.to_vec(),
            guests,
            places,
            demands,
            counted: BTreeMap::new(),
            reachable: BTreeMap::new(),
            by_name: sources.iter().map(|s| (s.name.clone(), s.id)).collect(),
            sources,
            nets: NetNumbers::default(),
            witness: None,
        };
        made.number_nets(steps)?;
        Ok(made)
    }

    /// Numbers what network loads report, after all workers.
    fn number_nets(&mut self, steps: &[Step]) -> Result<(), AssignError> {
        let mut taken: BTreeSet<String> = self.by_name.keys().cloned().collect();
        for step in steps {
            for draft in nets::draft(self.lab.scenario, step)? {
                let agent = draft.agent(&self.lab.scenario.lab, &self.agents);
                self.nets.take(&draft, &self.agents[agent], &mut taken, &mut self.sources);
            }
        }
        Ok(())
    }

    /// The embedded arrays are served from here on, and disks on them are reached there. Until then the URL of such a
    /// disk has the scheme [`crate::ARRAY_SCHEME`].
    /// # Errors
    /// Where an array is not served.
    pub fn stand(
        &mut self,
        arrays: Vec<ArraySpec>,
        portals: Vec<Portals>,
    ) -> Result<(), AssignError> {
        let reachable = ReachableArray::all(arrays, portals);
        self.reachable = reachable.map_err(|array| AssignError::NotServed { array })?;
        Ok(())
    }

    /// This agent carries nothing, and counts in each step.
    pub fn witness(&mut self, agent: Option<usize>) {
        self.witness = agent;
    }

    /// Every worker of every step, then all sources of network loads, by first appearance; a source's number is its
    /// position.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The orders of each agent for a step that uses only assigned workers and targets.
    /// # Errors
    /// Where the step uses a worker or target that was not assigned.
    pub fn step(&self, step: &Step) -> Result<AssignedStep, AssignError> {
        let drafts = draft(&self.lab, step)?;
        let proof = prove::proof(&self.lab, step, &drafts, self.seed);
        let mut changes =
            proof.as_ref().map(|proof| prove::changes(proof, &drafts)).into_iter().flatten();
        let empty = || self.empty_spec(step, proof.as_ref());
        let of = |agent: usize| StepSpec { counted: self.counted.get(&agent).cloned(), ..empty() };
        let mut specs: Vec<StepSpec> = (0..self.agents.len()).map(of).collect();
        let mut numbers: Vec<BTreeMap<usize, u16>> = vec![BTreeMap::new(); self.agents.len()];
        let copiers = draft::copies(&self.lab, step)?;
        let ending = jobs::ending(&drafts, &copiers, |name| self.by_name.get(name).copied());
        let mut loads = Vec::with_capacity(drafts.len());
        for (key, draft) in drafts.iter().enumerate() {
            let unknown = || AssignError::Unknown { name: draft.name.clone() };
            let source = *self.by_name.get(&draft.name).ok_or_else(unknown)?;
            let agent = *self.places.get(draft.group).ok_or_else(unknown)?;
            loads.push(worker_load(step, draft, source));
            let (spec, numbers) = (&mut specs[agent], &mut numbers[agent]);
            let targets = self.numbered(&draft.targets, (agent, step), spec, numbers);
            let worker = worker_spec(draft, source, key as u32, targets);
            let after = jobs::waits_for(draft.load.phase, &ending).collect();
            let changes = changes.next().unwrap_or_default();
            spec.workers.push(WorkerSpec { changes, after, ..worker });
        }
        let known = |of: &Copier| self.by_name.get(&of.name).copied();
        let ids: Option<Vec<SourceId>> = copiers.iter().map(known).collect();
        let ids = ids.unwrap_or_default();
        for (index, copier) in copiers.iter().enumerate() {
            let unknown = || AssignError::Unknown { name: copier.name.clone() };
            let source = *ids.get(index).ok_or_else(unknown)?;
            let agent = *self.places.get(copier.group).ok_or_else(unknown)?;
            loads.push(copies::load(copier, source));
            let (spec, numbers) = (&mut specs[agent], &mut numbers[agent]);
            let targets = self.numbered(&[copier.from, copier.to], (agent, step), spec, numbers);
            let place = (index, (drafts.len() + index) as u32);
            spec.workers.push(copies::order(&self.lab, &copiers, &ids, &ending, place, targets));
        }
        let mut streams = Vec::new();
        for draft in nets::draft(self.lab.scenario, step)? {
            let (spec, ends) = self.nets.spec(&draft, step)?;
            let agent = draft.agent(&self.lab.scenario.lab, &self.agents);
            specs[agent].loads.push(EngineLoad::Net(spec));
            streams.extend(ends);
        }
        specs[ATTENDANT].attended = self.guests.attended.clone();
        if let Some(spec) = self.witness.and_then(|agent| specs.get_mut(agent)) {
            let own =
                AttendedProcess { name: "coordinator".to_owned(), process: std::process::id() };
            spec.attended.push(own);
        }
        let changed = lab_step(step);
        let concerned = self.lab.scenario.lab.is_emulated() || !changed.changes.is_empty();
        specs[ATTENDANT].lab = concerned.then_some(changed);
        let has_load = |spec: &StepSpec| {
            // What an emulated lab carries is counted from outside, whatever loads it.
            let lab = spec.lab.is_some();
            lab || !(spec.workers.is_empty() && spec.loads.is_empty() && spec.attended.is_empty())
        };
        let specs = specs.into_iter().map(|spec| has_load(&spec).then_some(spec)).collect();
        let arrays = plan::step(self.lab.scenario, step, proof.as_ref());
        Ok(AssignedStep { loads, streams, specs, arrays, proof })
    }

    /// The numbers of targets in the orders of an agent, to which they are added where they are new.
    fn numbered(
        &self,
        targets: &[usize],
        (agent, step): (usize, &Step),
        spec: &mut StepSpec,
        numbers: &mut BTreeMap<usize, u16>,
    ) -> Vec<u16> {
        let number = |target: &usize| {
            *numbers.entry(*target).or_insert_with(|| {
                let target = match self.guests.is(agent) {
                    true => self.in_guest(agent, *target, step),
                    false => self.shared(agent, *target, step.precondition),
                };
                spec.targets.push(target);
                (spec.targets.len() - 1) as u16
            })
        };
        targets.iter().map(number).collect()
    }

    /// A target as an agent opens it: of those that read a volume only one fills it.
    fn shared(&self, agent: usize, target: usize, precondition: bool) -> TargetSpec {
        let spec = self.target_spec(target, precondition);
        match self.fillers.get(&self.lab.medium(target)) {
            Some(filler) if *filler != agent => {
                TargetSpec { made_as: None, fill: Fill::Elsewhere, ..spec }
            }
            _ => spec,
        }
    }

    /// A target as this machine opens it.
    pub(crate) fn target_spec(&self, thing: usize, precondition: bool) -> TargetSpec {
        let (medium, demand) = self.demand(thing);
        match &self.lab.targets[thing] {
            IoTarget::Target(target) => target_spec(target, precondition, demand),
            IoTarget::Disk(disk) => self.disk_spec(disk, thing == medium, precondition, demand),
        }
    }

    /// The medium of a target, and what all steps ask of it.
    pub(crate) fn demand(&self, thing: usize) -> (usize, IoDemand) {
        let medium = self.lab.medium(thing);
        (medium, self.demands.get(&medium).copied().unwrap_or_default())
    }

    /// A disk on an embedded array. The first way to a volume is named after it, others after their ways as well.
    fn disk_spec(
        &self,
        disk: &ArrayDisk,
        is_first: bool,
        precondition: bool,
        demand: IoDemand,
    ) -> TargetSpec {
        let name = match is_first {
            true => disk.name(),
            false => format!("{} by {}", disk.name(), disk.ways()),
        };
        let fill = if precondition { Fill::SniaPts } else { Fill::Auto };
        let Some(ReachedDisk { url, serial, secret }) = disk.reached(&self.reachable) else {
            return TargetSpec { fill, demand, ..TargetSpec::new(name, disk.url()) };
        };
        TargetSpec { fill, demand, made_as: Some(serial), secret, ..TargetSpec::new(name, url) }
    }

    fn empty_spec(&self, step: &Step, proof: Option<&Proof>) -> StepSpec {
        let [rounds, slice] = proof.map_or([Ns::ZERO; 2], |of| [of.length(), of.settle]);
        StepSpec {
            index: step.index,
            seed: self.seed,
            warmup: step.warmup_max().into(),
            measure: step.measure.into(),
            cooldown: rounds.plus(step.cooldown.into()),
            slice,
            targets: Vec::new(),
            workers: Vec::new(),
            loads: Vec::new(),
            attended: Vec::new(),
            counted: None,
            lab: None,
        }
    }
}

/// A worker or a copy of a step, as all steps are assigned.
struct SourceDraft<'a> {
    name: String,
    group: &'a str,
    media: Vec<usize>,
    /// What it asks of each medium.
    asked: Vec<(usize, IoDemand)>,
    /// Whether it waits for others, or others for it.
    waits: bool,
}

/// The workers and the copies of a step.
fn parts<'a>(lab: &TargetTable, step: &'a Step) -> Result<Vec<SourceDraft<'a>>, AssignError> {
    let worker = |WorkerDraft { load, name, group, targets, .. }: WorkerDraft<'a>| {
        let (demand, media) = (IoDemand::of(&load.workload.spec), lab.media(&targets));
        let asked = media.iter().map(|medium| (*medium, demand)).collect();
        let waits = jobs::is_part(load.phase);
        SourceDraft { name, group, media, asked, waits }
    };
    let copier = |copier: Copier<'a>| {
        let media = lab.media(&[copier.from, copier.to]);
        let asked = media.iter().copied().zip(copies::demands(&copier)).collect();
        SourceDraft { name: copier.name, group: copier.group, media, asked, waits: true }
    };
    let workers = draft(lab, step)?.into_iter().map(worker);
    Ok(workers.chain(draft::copies(lab, step)?.into_iter().map(copier)).collect())
}

/// Agents of several machines do not write to one LUN: none knows what the others wrote.
fn refuse_shared(
    lab: &TargetTable<'_>,
    demands: &BTreeMap<usize, IoDemand>,
) -> Result<(), AssignError> {
    let written = |place: &usize| demands.get(place).is_some_and(|demand| demand.writes);
    match lab.shared_luns().iter().find(|(_, all)| all.iter().any(written)) {
        Some((target, _)) => Err(AssignError::SharedLun { target: target.name.clone() }),
        None => Ok(()),
    }
}

/// The agent that fills each volume of an embedded array that agents of several machines read. None of them writes it: none
/// knows what the others wrote.
fn fillers(
    lab: &TargetTable<'_>,
    users: &BTreeMap<usize, BTreeSet<&str>>,
    demands: &BTreeMap<usize, IoDemand>,
    places: &BTreeMap<String, usize>,
    binding: &Binding,
) -> Result<BTreeMap<usize, usize>, AssignError> {
    refuse_shared(lab, demands)?;
    let mut fillers = BTreeMap::new();
    if binding.agents.is_empty() {
        return Ok(fillers);
    }
    for (medium, groups) in users {
        let IoTarget::Disk(disk) = &lab.targets[*medium] else { continue };
        let agents: BTreeSet<usize> =
            groups.iter().filter_map(|group| places.get(*group).copied()).collect();
        let Some(first) = agents.first().filter(|_| agents.len() > 1) else { continue };
        if demands.get(medium).is_some_and(|demand| demand.writes) {
            return Err(AssignError::SharedLun { target: disk.name() });
        }
        fillers.insert(*medium, *first);
    }
    Ok(fillers)
}

/// What happens to an emulated lab, or to guests, in a step.
fn lab_step(step: &Step) -> LabStep {
    let change = |incident: &Incident| {
        let (part, event) = match &incident.change {
            Change::Fail(part) => (part, LabEvent::Fail),
            Change::Restore(part) => (part, LabEvent::Restore),
            Change::Kill(host) => (host, LabEvent::Kill),
            Change::Hamper { part, how } => match how {
                Hamper::Slow(rate) => (part, LabEvent::Slow(rate.to_string())),
                Hamper::Lose(share) => (part, LabEvent::Lose((share.fraction() * 1e6) as u32)),
                Hamper::Mismatch(mtu) => (part, LabEvent::Mismatch(*mtu)),
                Hamper::Stall => (part, LabEvent::Stall),
            },
            Change::Move { vm, to } => (vm, LabEvent::Move(to.clone())),
        };
        LabChange { at: incident.at.into(), part: part.clone(), event }
    };
    LabStep { changes: step.incidents.iter().map(change).collect() }
}

/// The agent of a VM on an emulated host.
fn emulated(scenario: &Scenario, agents: &[String], group: &str) -> Option<usize> {
    let vm = scenario.lab.vms.iter().find(|vm| vm.name == group)?;
    scenario.lab.emulated_host(vm)?;
    agents.iter().position(|agent| Some(agent.as_str()) == vm.carrier())
}

/// The agent of each VM or target. A VM that is a guest, or on an emulated host, has `own`. Of the others those that share a
/// target, directly or through others, are on one agent: two agents never create, fill or write the same file. The rest goes
/// round the other agents.
fn place(
    groups: &[(&str, Vec<usize>)],
    agents: &[String],
    own_of: &dyn Fn(&str) -> Option<usize>,
    binding: &Binding,
) -> BTreeMap<String, usize> {
    let (inside, outside): (Vec<_>, Vec<_>) =
        groups.iter().partition(|(group, _)| own_of(group).is_some());
    let taken: BTreeSet<usize> = groups.iter().filter_map(|(group, _)| own_of(group)).collect();
    let carriers: Vec<usize> = (0..agents.len()).filter(|agent| !taken.contains(agent)).collect();
    let clusters = cluster(outside.iter().map(|(_, targets)| targets.as_slice()));
    let place = |((group, _), cluster): (&&(&str, _), usize)| {
        let next = || carriers.get(cluster % carriers.len().max(1)).copied().unwrap_or(0);
        ((*group).to_owned(), binding.agent_of(group).unwrap_or_else(next))
    };
    let own = |(group, _): &&(&str, _)| Some(((*group).to_owned(), own_of(group)?));
    outside.iter().zip(clusters).map(place).chain(inside.iter().filter_map(own)).collect()
}

fn worker_spec(draft: &WorkerDraft, source: SourceId, key: u32, targets: Vec<u16>) -> WorkerSpec {
    WorkerSpec {
        source,
        name: draft.name.clone(),
        key,
        targets,
        sharer: draft.sharer,
        sharers: draft.sharers,
        workload: draft.load.workload.spec.clone(),
        verify: draft.load.workload.verify,
        limit: draft.limit(),
        changes: Vec::new(),
        copy: None,
        after: Vec::new(),
    }
}

fn target_spec(target: &Target, precondition: bool, demand: IoDemand) -> TargetSpec {
    let fill = match target.fill {
        _ if precondition => Fill::SniaPts,
        scenario::Fill::Auto => Fill::Auto,
        scenario::Fill::Always => Fill::Always,
        scenario::Fill::Never => Fill::Never,
    };
    TargetSpec {
        create: target.create.map(|b| b.0),
        size: target.size.map(|b| b.0),
        buffered: target.buffered,
        verify_state: target.verify_state.clone(),
        verify_flushed: target.verify_flushed,
        write_token: target.write_token.clone(),
        overwrite: target.overwrite,
        queue: match target.queue {
            scenario::QueueEngine::Auto => QueueKind::Auto,
            scenario::QueueEngine::Uring => QueueKind::Uring,
            scenario::QueueEngine::Aio => QueueKind::Aio,
            scenario::QueueEngine::Pread => QueueKind::Pread,
        },
        polled: target.polled,
        data: target.data,
        fill,
        demand,
        ..TargetSpec::new(&target.name, &target.url)
    }
}

fn worker_load(step: &Step, draft: &WorkerDraft, source: SourceId) -> WorkerLoad {
    let workload = &draft.load.workload;
    let offered = workload.spec.offered(step.warmup.into(), step.measure.into());
    let arrivals = match (workload.spec.arrivals, offered) {
        (Arrivals::Closed { depth, think }, _) => Loop::Closed { depth, think: think > Ns::ZERO },
        (Arrivals::Open { .. }, offered) => Loop::Open { rate: offered.unwrap_or(0.0) },
    };
    WorkerLoad {
        source,
        workload: workload.name.clone(),
        arrivals,
        ops_per_transaction: workload.spec.ops_per_transaction().unwrap_or(1),
    }
}

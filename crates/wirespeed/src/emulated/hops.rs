//! The hops of an emulated lab: cables, the ports at their ends, and the processors of hosts and VMs, with what their processes
//! took, what quotas held back, and what control groups waited for.
//!
//! What an interface carried is what the kernel counted for it, less the headers of its packets. An end nearer the initiators
//! reads what comes in and writes what goes out; the other end counts the same the other way round.

use super::stays::{Shares, Whereabouts};
use crate::hops::{PROCESSORS, taken};
use clock::Ns;
use engine::StepSpec;
use fleet::{HopReading, Sample, SampledHop, Sampler};
use lab::counters::{self, InterfaceCounts, Payload};
use lab::{Cable, Kernel, LabPlan, Node, NodeKind, cgroup};
use probe::process::{ProcessLook, WatchedProcess};
use probe::{cpu, host};
use record::{CounterId, HopKind};
use scenario::Scenario;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A host, or a VM with a process of its own.
#[derive(Clone, Debug)]
pub struct Carrier {
    /// The hop of its processors.
    hop: String,
    kind: HopKind,
    /// Its process; none for a host all of whose VMs have their own.
    process: Option<u32>,
    /// Processors whose time it may use.
    cpus: Option<f64>,
    /// The files by which processes enter its control groups; a VM that moves has some on each of its hosts.
    groups: Vec<Vec<PathBuf>>,
}

impl Carrier {
    /// Of a host, or of one of its VMs.
    pub fn of(
        scenario: &Scenario,
        (host, name): (&str, &str),
        process: Option<u32>,
        groups: Vec<Vec<PathBuf>>,
    ) -> Carrier {
        let cpus = match name == host {
            true => scenario.lab.hosts.iter().find(|of| of.name == host).and_then(|of| of.cpus),
            false => scenario.lab.vms.iter().find(|of| of.name == name).and_then(|of| of.cpus),
        };
        let kind = if name == host { HopKind::HostCpu } else { HopKind::VmCpu };
        Carrier { hop: format!("{name}.cpu"), kind, process, cpus, groups }
    }
}

/// Samples an emulated lab from outside.
pub struct LabSampler {
    /// What is counted at which interface: node, port, and whether it is the end nearer the initiators.
    wires: Vec<WireHop>,
    /// The processes that hold the namespaces.
    nodes: Vec<u32>,
    carriers: Vec<Carrier>,
    /// All processes of the run, hosts, arrays, receivers and this one; with its host, of those that are counted there beside
    /// its carrier.
    processes: Vec<(String, WatchedProcess)>,
    /// What VMs took on each host.
    shares: Shares,
}

struct WireHop {
    name: String,
    kind: HopKind,
    node: usize,
    interface: String,
    near: bool,
    /// Bytes of payload a second that it can carry, if that is bounded.
    rate: Option<f64>,
    carried: Payload,
    facts: Vec<(String, String)>,
}

impl LabSampler {
    /// Of a lab whose namespaces these processes hold.
    pub fn new(
        (plan, kernel): (&LabPlan, Kernel),
        nodes: &[u32],
        carriers: Vec<Carrier>,
        mut processes: Vec<(String, u32)>,
        whereabouts: Whereabouts,
    ) -> LabSampler {
        processes.push((String::new(), std::process::id()));
        let wires = plan.cables.iter().flat_map(|cable| wires(plan, kernel, cable)).collect();
        let watched = |(host, process)| (host, WatchedProcess::new(process));
        let processes = processes.into_iter().map(watched).collect();
        let shares = Shares::new(whereabouts);
        LabSampler { wires, nodes: nodes.to_vec(), carriers, processes, shares }
    }
}

/// A cable as hops: itself, by what its first end counts, and the ports at its ends.
fn wires(plan: &LabPlan, kernel: Kernel, cable: &Cable) -> Vec<WireHop> {
    let facts = facts(plan, kernel, cable);
    let of = |name: &str, kind, end: usize| WireHop {
        name: name.to_owned(),
        kind,
        node: cable.ends[end].node,
        interface: Node::interface(cable.ends[end].port),
        near: end == 0,
        rate: cable.payload,
        carried: Payload::default(),
        facts: facts.clone(),
    };
    let kind = if cable.trunk { HopKind::Trunk } else { HopKind::Link };
    let mut all = vec![of(&cable.name, kind, 0)];
    for (n, end) in cable.ends.iter().enumerate() {
        let Some(hop) = &end.hop else { continue };
        let kind = match plan.nodes[end.node].kind {
            NodeKind::Host if end.several => HopKind::InitiatorPort,
            NodeKind::Host => HopKind::Adapter,
            NodeKind::Switch => HopKind::SwitchPort,
            NodeKind::Array => HopKind::TargetPort,
        };
        all.push(of(hop, kind, n));
    }
    all
}

fn facts(plan: &LabPlan, kernel: Kernel, cable: &Cable) -> Vec<(String, String)> {
    let scale = plan.scale;
    let mut all = vec![("mtu".to_owned(), cable.mtu.to_string())];
    if let Some(payload) = cable.payload {
        all.push(("wire-rate".to_owned(), format!("{:.6} MB/s", payload / 1e6)));
        all.push(("scale".to_owned(), format!("{scale}%")));
    }
    all.extend(cable.rate.clone().map(|name| ("rate-name".to_owned(), name)));
    if let Some(of) = cable.shaping {
        let words =
            format!("{} bit/s, {} B at once, {} B may wait", of.bits_per_s, of.burst, of.limit);
        all.push(("token-bucket".to_owned(), words));
    }
    if plan.tagged() {
        let vlans: Vec<String> = cable.vlans.iter().map(u16::to_string).collect();
        all.push(("vlan".to_owned(), vlans.join(", ")));
    }
    let team = cable.ends.iter().find_map(|end| plan.team_at(end.node, end.port));
    if let Some(team) = team {
        let made = match kernel.bonds(team) {
            true => format!("a bond ({}), {}", team.mode.word(), team.mode.chooses()),
            false => "equal-cost routes, by a hash of addresses and ports".to_owned(),
        };
        all.push(("team".to_owned(), format!("{}: {made}", team.name)));
    }
    all
}

impl Sampler for LabSampler {
    fn hops(&mut self, _: &StepSpec) -> Vec<SampledHop> {
        let wires = self.wires.iter().map(|wire| SampledHop {
            name: wire.name.clone(),
            kind: wire.kind,
            facts: wire.facts.clone(),
        });
        let hop = |name: &str, kind| SampledHop { name: name.to_owned(), kind, facts: Vec::new() };
        let carriers = self.carriers.iter().map(|of| hop(&of.hop, of.kind));
        // All of the lab shares one machine, of which this is what the lab takes.
        wires.chain(carriers).chain([hop(PROCESSORS, HopKind::HostCpu)]).collect()
    }

    fn sample(&mut self) -> Vec<Sample> {
        let looks: Vec<(Ns, Option<BTreeMap<String, InterfaceCounts>>)> = self
            .nodes
            .iter()
            .map(|process| (clock::now(), counters::of_process(*process)))
            .collect();
        let wires = self.wires.iter_mut().map(|wire| {
            let (at, look) = &looks[wire.node];
            let counts = look.as_ref().and_then(|all| all.get(&wire.interface));
            Sample { at: *at, readings: readings(wire, counts) }
        });
        let mut samples: Vec<Sample> = wires.collect();
        let at = clock::now();
        let looks: BTreeMap<u32, Option<ProcessLook>> =
            self.processes.iter_mut().map(|(_, of)| (of.id(), of.look())).collect();
        self.shares.take(&looks);
        samples.extend(self.carriers.iter().map(|of| self.carried(of, at, &looks)));
        let readings = spent(looks.values().copied(), None);
        samples.push(Sample { at, readings });
        samples
    }
}

/// What a hop carried; what is gone has no number.
fn readings(wire: &mut WireHop, counts: Option<&InterfaceCounts>) -> Vec<HopReading> {
    let reading = |counter, value: Option<u64>| HopReading {
        counter,
        value: value.map_or(f64::NAN, |value| value as f64),
    };
    let carried = counts.map(|counts| {
        wire.carried.take(counts);
        (wire.carried.into, wire.carried.out)
    });
    let (into, out) = carried.unzip();
    let (read, write) = if wire.near { (into, out) } else { (out, into) };
    vec![
        reading(CounterId::ReadBytes, read),
        reading(CounterId::WriteBytes, write),
        reading(CounterId::Discards, counts.map(|of| of.in_lost.saturating_add(of.out_lost))),
        HopReading { counter: CounterId::PortRate, value: wire.rate.unwrap_or(f64::NAN) },
    ]
}

impl LabSampler {
    /// What a host's processes took, or a VM's, and what their control group did without.
    fn carried(&self, of: &Carrier, at: Ns, looks: &BTreeMap<u32, Option<ProcessLook>>) -> Sample {
        let name = of.hop.strip_suffix(".cpu").unwrap_or(&of.hop);
        let beside = self.processes.iter().filter(|(host, _)| host == name);
        let processes = of.process.into_iter().chain(beside.map(|(_, process)| process.id()));
        let own = processes.map(|process| looks.get(&process).copied().flatten());
        let vms = match of.kind {
            HopKind::HostCpu => self.shares.on(name, looks),
            _ => Vec::new(),
        };
        // A host that VMs have left, or will come to, takes nothing.
        let none = of.process.is_none().then_some(Some(ProcessLook::NOTHING));
        let mut readings = spent(own.chain(vms).chain(none), of.cpus);
        readings.extend(held_back(of));
        Sample { at, readings }
    }
}

fn reading(counter: CounterId, value: Option<f64>) -> HopReading {
    HopReading { counter, value: value.unwrap_or(f64::NAN) }
}

/// What processes took, of so many processors; of all that the machine has, where nothing is said.
fn spent(looks: impl Iterator<Item = Option<ProcessLook>>, cpus: Option<f64>) -> Vec<HopReading> {
    // One that is gone leaves the sum unknown.
    let sum = looks.reduce(|a, b| a.zip(b).map(|(a, b)| a.with(b))).flatten();
    let machine = || cpu::look().stat.map(|stat| f64::from(stat.processors));
    let busy = reading(CounterId::CpuBusy, sum.map(|sum| sum.cpu.0 as f64));
    let count = reading(CounterId::CpuCount, cpus.or_else(machine));
    [busy, count].into_iter().chain(taken(sum)).collect()
}

/// What a quota held back, and what the processes of a control group waited for. What this kernel does not count is left out.
fn held_back(of: &Carrier) -> Vec<HopReading> {
    let mut all = Vec::new();
    // Of a VM that moved, in all its groups.
    let held = of.groups.iter().map(|groups| cgroup::throttling(groups));
    let held = held.reduce(|a, b| a.zip(b).map(|(a, b)| a.with(b))).flatten();
    if let Some((cpus, held)) = of.cpus.zip(held) {
        all.push(reading(CounterId::CpuQuota, Some(cpus)));
        all.push(reading(CounterId::CpuPeriod, Some(cgroup::period(cpus).0 as f64)));
        all.push(reading(CounterId::CpuThrottles, Some(held.throttles as f64)));
        all.push(reading(CounterId::CpuThrottled, Some(held.throttled.0 as f64)));
    }
    let [groups] = &of.groups[..] else { return all };
    let Some(waits) = cgroup::waits_of(groups) else { return all };
    let pressures = [
        ("cpu", CounterId::PressureCpu),
        ("io", CounterId::PressureIo),
        ("memory", CounterId::PressureMemory),
    ];
    all.extend(pressures.into_iter().filter_map(|(what, counter)| {
        let text = fs::read_to_string(waits.join(format!("{what}.pressure"))).ok()?;
        Some(reading(counter, Some(host::pressure(&text)? as f64 * 1000.0)))
    }));
    all
}

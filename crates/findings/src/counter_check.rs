//! Whether the counters of workers and array agree: the bytes that workers moved in the measured time, against those that
//! the array's ports and volumes counted in it.
//!
//! A worker counts an operation when it ends, a port when its data passes. The two may therefore differ by the bytes in
//! flight at the edges of the measured time, by what passes between an edge and the array's nearest sample, by operations that
//! moved to another path and passed two ports, and by what a guest did for as long as its clock may have been wrong. Anything
//! beyond that is a difference.

use crate::counters::{CounterReading, beside_the_edges};
use crate::step::{COMPLETE_SHARE, StepData, WorkerData};
use record::{Completed, Counter, CounterId, Loop};
use scenario::{Backing, Change, Scenario, Step};
use serde::Serialize;
use std::collections::BTreeSet;

/// Share of the measured time that may lie beyond its edges by a guest's clock; where it is more, nothing is compared.
const ASTRAY: f64 = 0.02;

/// The bytes that one array and its workers counted in one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterCheck {
    /// The array.
    pub array: String,
    /// Its ports.
    pub ports: Vec<String>,
    /// Its volumes.
    pub volumes: Vec<String>,
    /// Reads; `None` where nothing was read, or it is unknown.
    pub read: Option<ByteCounts>,
    /// Writes, in the same way.
    pub write: Option<ByteCounts>,
    /// Why it is unknown.
    pub unknown: Option<String>,
}

/// One direction over the measured time, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByteCounts {
    /// What the workers moved.
    pub worker_bytes: f64,
    /// What all ports of the array counted.
    pub port_bytes: f64,
    /// What all volumes of the array counted.
    pub volume_bytes: f64,
    /// How far these may differ because of bytes in flight at the edges of the measured time, of those that moved to another path,
    /// and of edges that lie elsewhere by a guest's clock.
    pub edge_bytes: f64,
    /// Whether they differ by no more.
    pub agrees: bool,
}

impl ByteCounts {
    /// The largest distance from what the workers moved.
    pub fn apart(&self) -> f64 {
        let of = |bytes: f64| (bytes - self.worker_bytes).abs();
        of(self.port_bytes).max(of(self.volume_bytes))
    }
}

/// Compares the workers of a step with each embedded array that they use.
pub(crate) fn checks(step: &StepData, scenario: &Scenario, planned: &Step) -> Vec<CounterCheck> {
    let arrays = scenario.lab.arrays.iter().filter(|a| a.embedded.is_some());
    arrays.filter_map(|array| check(step, scenario, planned, &array.name)).collect()
}

fn check(
    step: &StepData,
    scenario: &Scenario,
    planned: &Step,
    array: &str,
) -> Option<CounterCheck> {
    let users = users(scenario, array);
    let mine = |w: &&WorkerData| users.all.contains(w.source.group.as_str());
    let workers: Vec<&WorkerData> = step.workers.iter().filter(mine).collect();
    if workers.is_empty() {
        return None;
    }
    let ports: Vec<String> =
        step.wires.iter().filter(|w| w.array == array).map(|w| w.hop.clone()).collect();
    let volumes = scenario.lab.volumes.iter().filter(|v| v.array == array);
    let mut check = CounterCheck {
        array: array.to_owned(),
        ports,
        volumes: volumes.map(|v| scenario.lab.volume_hop(array, &v.name)).collect(),
        read: None,
        write: None,
        unknown: None,
    };
    match directions(step, scenario, planned, &workers, &users, &check) {
        Ok([read, write]) => (check.read, check.write) = (read, write),
        Err(why) => check.unknown = Some(why),
    }
    Some(check)
}

/// VMs that use an array.
struct ArrayUsers<'a> {
    all: BTreeSet<&'a str>,
    /// Those that use other storage too.
    elsewhere: BTreeSet<&'a str>,
}

fn users<'a>(scenario: &'a Scenario, array: &str) -> ArrayUsers<'a> {
    let mut users = ArrayUsers { all: BTreeSet::new(), elsewhere: BTreeSet::new() };
    for vm in &scenario.lab.vms {
        let here = |b: &Backing| matches!(b, Backing::Lun { array: a, .. } if a == array);
        let on_it = vm.disks.iter().filter(|d| here(&d.backing)).count();
        if on_it > 0 {
            users.all.insert(&vm.name);
        }
        if on_it > 0 && on_it < vm.disks.len() {
            users.elsewhere.insert(&vm.name);
        }
    }
    users
}

fn directions(
    step: &StepData,
    scenario: &Scenario,
    planned: &Step,
    workers: &[&WorkerData],
    users: &ArrayUsers<'_>,
    check: &CounterCheck,
) -> Result<[Option<ByteCounts>; 2], String> {
    if let Some(w) = workers.iter().find(|w| users.elsewhere.contains(w.source.group.as_str())) {
        return Err(format!("{} has disks elsewhere as well", w.source.group));
    }
    let dead = planned.incidents.iter().find_map(|of| dead_host(scenario, &of.change));
    if let Some(host) = dead.filter(|_| workers.iter().any(|w| clock_bound(step, w) > 0.0)) {
        return Err(format!(
            "what guests of {host} did just before they lost their power is not known"
        ));
    }
    if let Some(w) = workers.iter().find(|w| step.completeness(w) < COMPLETE_SHARE) {
        return Err(format!("{} did not report the whole measured time", w.source.name));
    }
    let measured = step.head.times.measured().as_secs_f64();
    let astray = |w: &&&WorkerData| 2.0 * clock_bound(step, w) > ASTRAY * measured;
    if let Some(w) = workers.iter().find(astray) {
        let seconds = clock_bound(step, w);
        let vm = &w.source.group;
        return Err(format!("the clock of {vm} may have been wrong by {seconds:.1} s"));
    }
    let counts = |of: fn(&WorkerData) -> Option<&Completed>, id: CounterId| -> Result<_, String> {
        let sum = |hops: &[String]| total(step, hops, id);
        let moved = |w: &&WorkerData| of(w).map_or(0.0, |t| t.bytes as f64);
        let worker_bytes: f64 = workers.iter().map(moved).sum();
        let (port_bytes, volume_bytes) = (sum(&check.ports)?, sum(&check.volumes)?);
        if worker_bytes == 0.0 && port_bytes == 0.0 && volume_bytes == 0.0 {
            return Ok(None);
        }
        let in_flight: f64 = workers.iter().map(|w| in_flight_max(w, planned)).sum();
        let again: f64 = workers.iter().map(|w| moved_max(step, w, planned)).sum();
        let beside = |hop: &String| {
            let cuts = step.counters.iter().filter(|(of, c)| of == hop && c.kind.id() == Some(id));
            beside_the_edges(cuts.map(|(_, counter)| counter), &step.head.times)
        };
        let skew: f64 = check.ports.iter().map(beside).fold(0.0, f64::max);
        let measured = step.head.times.measured().as_secs_f64();
        let astray =
            workers.iter().map(|w| moved(w) / measured * 2.0 * clock_bound(step, w)).sum::<f64>();
        let passed = worker_bytes / step.head.times.measured().as_secs_f64() * skew;
        let mut counts = ByteCounts {
            worker_bytes,
            port_bytes,
            volume_bytes,
            edge_bytes: in_flight + passed + again + astray,
            agrees: false,
        };
        counts.agrees = counts.apart() <= counts.edge_bytes;
        Ok(Some(counts))
    };
    Ok([
        counts(|w| w.read.as_ref(), CounterId::ReadBytes)?,
        counts(|w| w.write.as_ref(), CounterId::WriteBytes)?,
    ])
}

/// The host that a change ends.
fn dead_host<'a>(scenario: &Scenario, change: &'a Change) -> Option<&'a str> {
    let (Change::Fail(name) | Change::Kill(name)) = change else { return None };
    scenario.lab.hosts.iter().any(|host| host.name == *name).then_some(name)
}

/// What some hops counted together.
fn total(step: &StepData, hops: &[String], id: CounterId) -> Result<f64, String> {
    let mut sum = 0.0;
    for hop in hops {
        match step.integrals.counted(hop, id) {
            CounterReading::Whole(bytes) => sum += bytes,
            CounterReading::Part(_) => {
                return Err(format!("{hop} was not sampled over the whole measured time"));
            }
            CounterReading::NoNumber => return Err(format!("no counters from {hop}")),
            CounterReading::Absent => {
                return Err(format!("the record has no counter `{}` of {hop}", id.name()));
            }
        }
    }
    Ok(sum)
}

/// The most bytes that a worker can have had in flight: its depth, or the seen one, times its largest operation.
fn in_flight_max(worker: &WorkerData, planned: &Step) -> f64 {
    let depth = match worker.load.arrivals {
        Loop::Closed { depth, .. } => depth,
        Loop::Open { .. } | Loop::Observed => worker.open_max.max(1),
    };
    f64::from(depth) * largest(worker, planned)
}

/// Seconds by which the clock of a worker may have been wrong, where its VM is a guest with a clock of its own.
fn clock_bound(step: &StepData, worker: &WorkerData) -> f64 {
    let hop = format!("{}.cpu", worker.source.group);
    let bound = |c: &Counter| c.kind.id() == Some(CounterId::ClockBound);
    let mine = step.counters.iter().filter(|(of, c)| *of == hop && bound(c));
    mine.map(|(_, c)| c.value / 1e9).fold(0.0, f64::max)
}

/// The most bytes of a worker that can have passed two ports, because their path was lost under way.
fn moved_max(step: &StepData, worker: &WorkerData, planned: &Step) -> f64 {
    let name = &worker.source.name;
    let moved = |c: &Counter| c.kind.id() == Some(CounterId::PathIosMoved);
    let mine = step.counters.iter().filter(|(source, c)| source == name && moved(c));
    mine.map(|(_, c)| c.value).sum::<f64>() * largest(worker, planned)
}

/// The bytes of a worker's largest operation.
fn largest(worker: &WorkerData, planned: &Step) -> f64 {
    let loads = planned.disk_loads().filter(|l| l.workload.name == worker.load.workload);
    f64::from(loads.map(|l| l.workload.spec.largest()).max().unwrap_or(0))
}

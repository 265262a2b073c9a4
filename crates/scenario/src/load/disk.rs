//! Workloads of disks: operations on the disks of VMs and hosts, and on targets.

use super::{Load, LoadFamily, LoadOf, Uses, workers};
use crate::directory::NameKind;
use crate::live::SIMULATE;
use crate::model::{Plan, Scenario, Setting};
use clock::Ns;
use std::fmt;
use std::time::Duration;
use units::Bytes;
use workload::{
    Arrivals, Durability, Ladder, Process, Regions, ReplayMode, Row, Skew, Spec, TraceSpec,
    WorkingSet, WorkloadKind,
};

/// Operations outstanding per worker at most in an open loop, unless a limit is given.
pub(crate) const LIMIT_DEFAULT: u32 = 256;

/// `[workload.NAME]` of kind `disk`.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskWorkload {
    /// Its name.
    pub name: String,
    /// What it issues.
    pub spec: Spec,
    /// Workers for each VM or target it runs on; 1 unless given.
    pub workers: u32,
    /// What it writes can be checked, and what it reads is.
    pub verify: bool,
    /// Each disk of a VM has so many workers of its own, instead of each worker issuing to all of its disks.
    pub each_disk: bool,
}

/// A load of disks.
pub type DiskLoad<'a> = LoadOf<'a, DiskWorkload>;

impl LoadFamily for DiskWorkload {
    fn name(&self) -> &str {
        &self.name
    }

    fn uses(&self) -> Uses {
        Uses::Disks
    }

    fn members(&self) -> &'static [NameKind] {
        &[NameKind::Vm, NameKind::Host, NameKind::Disk, NameKind::Target]
    }

    fn apply(&mut self, setting: &Setting) -> Result<(), String> {
        let spec = &mut self.spec;
        if spec.trace.is_some() && Uses::of(setting) == Some(Uses::Disks) {
            return change_of_replay(setting, spec);
        }
        match *setting {
            Setting::Workers(workers) => self.workers = workers,
            Setting::WorkingSet(set) => spec.working_set = Some(set),
            // Those of arrays, of interfaces and of loads, whatever the workload is.
            Setting::Members(_) | Setting::Port(_) | Setting::Mtu(_) | Setting::Offload(_) => {}
            Setting::StreamRate(rate) => {
                return Err(format!(
                    "a disk workload has a rate of operations, such as `5000 IOPS`, not {rate}"
                ));
            }
            Setting::Message(_)
            | Setting::Batch(_)
            | Setting::Streams(_)
            | Setting::Direction(_) => {
                return Err("it belongs to network workloads, and this is a disk workload".into());
            }
            Setting::Depth(n) => match &mut spec.arrivals {
                Arrivals::Closed { depth, .. } => *depth = n,
                Arrivals::Open { .. } => {
                    return Err(
                        "an open loop has no depth; `limit` bounds what is outstanding".into()
                    );
                }
            },
            Setting::Rate(rate) => spec.arrivals = open(spec.arrivals, rate.0)?,
            Setting::Read(share) => match &mut spec.kind {
                WorkloadKind::Access(access) => {
                    access.rows.iter_mut().for_each(|row| row.read = share.0)
                }
                WorkloadKind::Transaction(transaction) => transaction.read = share.0,
            },
            Setting::Random(share) => match &mut spec.kind {
                WorkloadKind::Access(access) => {
                    access.rows.iter_mut().for_each(|row| row.random = share.0)
                }
                WorkloadKind::Transaction(_) => {
                    return Err("transactions have skews instead of `random`".into());
                }
            },
            Setting::Block(size) => match &mut spec.kind {
                WorkloadKind::Access(access) if access.ladder.is_some() => {
                    return Err("the workload's `ladder` sets the block size".into());
                }
                WorkloadKind::Access(access) => match access.rows.as_mut_slice() {
                    [row] => {
                        row.size = u32::try_from(size.0).map_err(|_| {
                            format!("{size} is more than the maximum of one operation")
                        })?;
                    }
                    rows => {
                        return Err(format!(
                            "the workload has {} rows, each with its size",
                            rows.len()
                        ));
                    }
                },
                WorkloadKind::Transaction(_) => {
                    return Err("a transaction has pages; set `transaction = { page = … }`".into());
                }
            },
        }
        Ok(())
    }

    fn problems(&self, settings: &[(&str, &Setting)]) -> Vec<(String, String)> {
        let mut all = Vec::new();
        if !self.spec.problems().is_empty() {
            return all;
        }
        let mut settled = self.clone();
        for (axis, setting) in settings {
            let problem = settled.apply(setting).err().or_else(|| {
                settled.spec.problems().first().map(|problem| format!("{setting}: {problem}"))
            });
            all.extend(problem.map(|problem| ((*axis).to_owned(), problem)));
        }
        all
    }

    fn is_searched(&self) -> bool {
        self.spec.trace.is_none()
    }

    fn not_live(&self, load: &Load, plan: &Plan, scenario: &Scenario) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let after = load.phase.iter().flat_map(|phase| &phase.after);
        let before = |name: &String| {
            plan.loads.iter().find(|of| of.phase.iter().any(|p| p.name.as_ref() == Some(name)))
        };
        let waited: Vec<&Load> = after.filter_map(before).collect();
        if waited.iter().any(|of| of.workload.net().is_some()) {
            all.push(format!("a live run cannot let `{}` wait for a network load", self.name));
        }
        let apart = |name: &&String| {
            let vm = scenario.lab.vms.iter().find(|vm| vm.name == **name);
            vm.is_some_and(|vm| vm.machine.is_some() || scenario.lab.emulated_host(vm).is_some())
        };
        let waiting = (!waited.is_empty()).then_some(load);
        let on = waiting.into_iter().chain(waited.iter().copied()).flat_map(|of| &of.on);
        if let Some(vm) = on.into_iter().find(apart) {
            all.push(format!(
                "a live run cannot let `{}` wait: `{vm}` is a machine apart, where loads do not know of others",
                self.name
            ));
        }
        if let Some(host) = load.on.iter().find_map(|name| host_of(scenario, name)) {
            all.push(format!("a live run cannot load the disks of the host `{host}`"));
        }
        all.into_iter().map(|what| (what, SIMULATE.to_owned())).collect()
    }

    fn describe(&self) -> String {
        if let Some(trace) = &self.spec.trace {
            return replayed(trace, &self.spec);
        }
        let each = if self.each_disk { "for each disk" } else { "each" };
        let mut all =
            vec![self.operations(), format!("{} {each}", workers(self.workers)), self.arrivals()];
        all.push(match self.spec.working_set {
            None => "on all of each disk".to_owned(),
            Some(WorkingSet::Bytes(bytes)) => format!("on the first {} of each disk", Bytes(bytes)),
            Some(WorkingSet::Percent(share)) => {
                format!("on the first {} of each disk", units::percent(share))
            }
        });
        if self.spec.regions == Regions::Own && self.workers > 1 {
            all.push("each worker in a region of its own".to_owned());
        }
        if self.verify {
            all.push("verified".to_owned());
        }
        all.join("; ")
    }
}

impl fmt::Display for DiskWorkload {
    /// What a dry run says of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl DiskWorkload {
    /// What is done to its bytes: `are read`.
    pub(super) fn done(&self) -> &'static str {
        let reads = |row: &Row| row.read >= 100.0;
        let writes = |row: &Row| row.write() >= 100.0;
        match &self.spec.kind {
            _ if self.spec.trace.is_some() => "are read and written",
            WorkloadKind::Access(access) if access.rows.iter().all(reads) => "are read",
            WorkloadKind::Access(access) if access.rows.iter().all(writes) => "are written",
            WorkloadKind::Access(_) | WorkloadKind::Transaction(_) => "are read and written",
        }
    }

    /// When it issues, for a dry run.
    fn arrivals(&self) -> String {
        let rate = |r: f64| format!("{} IOPS", units::count(r));
        match self.spec.arrivals {
            Arrivals::Closed { depth, think } if think > Ns::ZERO => {
                let think = units::duration(Duration::from_nanos(think.0));
                format!("closed loop, depth {depth}, think time {think}")
            }
            Arrivals::Closed { depth, .. } => format!("closed loop, depth {depth}"),
            Arrivals::Open { process, limit } => {
                let when = match process {
                    Process::Bursts { high, low, burst, pause } => format!(
                        "bursts of {} for {} and {} for {}",
                        rate(high),
                        units::duration(burst.into()),
                        rate(low),
                        units::duration(pause.into())
                    ),
                    Process::Fixed { rate: r } => format!("fixed {}", rate(r)),
                    Process::Poisson { rate: r } => format!("Poisson {}", rate(r)),
                    Process::Ramp { from, to, .. } => {
                        format!("ramp {} to {}", rate(from), rate(to))
                    }
                };
                format!("open loop, {when} a worker, at most {limit} outstanding")
            }
        }
    }

    /// What it issues, for a dry run.
    fn operations(&self) -> String {
        let access = match &self.spec.kind {
            WorkloadKind::Access(access) => access,
            WorkloadKind::Transaction(of) => {
                return format!(
                    "transactions of {} index and {} table pages of {}, {} of the table pages read",
                    of.index_pages,
                    of.table_pages,
                    Bytes(of.page.into()),
                    units::percent(of.read)
                );
            }
        };
        let row = |row: &Row| {
            let size = match access.ladder {
                None => Bytes(row.size.into()).to_string(),
                Some(Ladder { from, to, .. }) => {
                    format!("{} to {}", Bytes(from.into()), Bytes(to.into()))
                }
            };
            let mut text = format!("{size} {}", mix(row));
            if row.delay > Ns::ZERO {
                let pause = units::duration(Duration::from_nanos(row.delay.0));
                text += &format!(", bursts of {} with pauses of {pause}", row.burst);
            }
            if row.align > 0 && row.align != row.size {
                text += &format!(", aligned to {}", Bytes(row.align.into()));
            }
            text
        };
        let mut text = match access.rows.as_slice() {
            [one] => row(one),
            rows => {
                let one = |of: &Row| format!("{} of {}", units::percent(of.share), row(of));
                rows.iter().map(one).collect::<Vec<_>>().join(" + ")
            }
        };
        match access.skew {
            Skew::Uniform => {}
            Skew::Zipf(theta) => text += &format!(", Zipf {theta}"),
            Skew::Pareto(shape) => text += &format!(", Pareto {shape}"),
            Skew::HotSpot { accesses, blocks } => {
                let (accesses, blocks) = (units::percent(accesses), units::percent(blocks));
                text += &format!(", {accesses} of the random I/Os on {blocks} of the blocks");
            }
        }
        let Durability { flush_every, fua } = self.spec.durability;
        if fua > 0.0 {
            text += &format!(", {} of the writes with FUA", units::percent(fua));
        }
        if flush_every > 0 {
            text += &format!(", a flush after every {flush_every} writes of a slot");
        }
        if let Some(stride) = access.stride {
            text += &format!(", stride {}", Bytes(stride));
        }
        text
    }
}

/// Applies a setting to a trace that is replayed, which can have only a depth.
fn change_of_replay(setting: &Setting, spec: &mut Spec) -> Result<(), String> {
    match (setting, &mut spec.arrivals) {
        (Setting::Depth(n), Arrivals::Closed { depth, .. }) => {
            *depth = *n;
            Ok(())
        }
        _ => Err("a trace has its own; `speed` and `mode` change how it is replayed".into()),
    }
}

/// What is replayed, for a dry run.
fn replayed(trace: &TraceSpec, spec: &Spec) -> String {
    let mut all = vec![format!("the trace {}", trace.file)];
    all.push(match trace.mode {
        ReplayMode::Open => "at its recorded times".to_owned(),
        ReplayMode::Closed => "each I/O after those that it waited for".to_owned(),
        ReplayMode::Fast => "as fast as it goes".to_owned(),
    });
    if trace.speed != 1.0 && trace.mode != ReplayMode::Fast {
        all.push(format!("speed {}", trace.speed));
    }
    all.push(if trace.writes { "reads and writes" } else { "reads only" }.to_owned());
    let time = |ns: Ns| units::duration(Duration::from_nanos(ns.0));
    if trace.from > Ns::ZERO {
        all.push(format!("from {}", time(trace.from)));
    }
    all.extend(trace.length.map(|length| format!("{} of it", time(length))));
    all.push(match spec.outstanding_max() {
        0 => "as many outstanding as it had".to_owned(),
        most => format!("at most {most} outstanding"),
    });
    all.join("; ")
}

/// `random reads`, or `at 70% reads, 5% trims, 100% random`.
fn mix(row: &Row) -> String {
    let Row { read, trim, zeroes, random, .. } = *row;
    let order = if random == 100.0 { "random" } else { "sequential" };
    let kinds = [(read, "reads"), (row.write(), "writes"), (trim, "trims"), (zeroes, "zeroes")];
    match kinds.iter().find(|(share, _)| *share == 100.0) {
        Some((_, kind)) if [0.0, 100.0].contains(&random) => format!("{order} {kind}"),
        _ => {
            let named = [(read, "reads"), (trim, "trims"), (zeroes, "zeroes")];
            let of = |(share, kind): &(f64, &str)| format!("{} {kind}", units::percent(*share));
            let some = named.iter().filter(|(share, kind)| *share > 0.0 || *kind == "reads");
            let shares: Vec<String> = some.map(of).collect();
            format!("at {}, {} random", shares.join(", "), units::percent(random))
        }
    }
}

/// The host that is meant, or whose disk is (`HOST.disk0`).
fn host_of<'s>(scenario: &'s Scenario, member: &str) -> Option<&'s str> {
    let owner = member.rsplit_once(".disk").map(|(host, _)| host);
    let mut hosts = scenario.lab.hosts.iter().map(|host| host.name.as_str());
    hosts.find(|host| *host == member || Some(*host) == owner)
}

fn open(arrivals: Arrivals, rate: f64) -> Result<Arrivals, String> {
    match arrivals {
        Arrivals::Open { process: Process::Poisson { .. }, limit } => {
            Ok(Arrivals::Open { process: Process::Poisson { rate }, limit })
        }
        Arrivals::Open { process: Process::Fixed { .. }, limit } => {
            Ok(Arrivals::Open { process: Process::Fixed { rate }, limit })
        }
        Arrivals::Open { process: Process::Bursts { .. }, .. } => {
            Err("the workload's `bursts` set the rate".into())
        }
        Arrivals::Open { process: Process::Ramp { .. }, .. } => {
            Err("the workload's `ramp` sets the rate".into())
        }
        Arrivals::Closed { think, .. } if think.0 > 0 => {
            Err("the workload has a `think` time, which open loops do not have".into())
        }
        Arrivals::Closed { .. } => {
            Ok(Arrivals::Open { process: Process::Fixed { rate }, limit: LIMIT_DEFAULT })
        }
    }
}

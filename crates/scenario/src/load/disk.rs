//! Workloads of disks: operations on the disks of VMs and hosts, and on targets.

use super::{Load, LoadFamily, LoadOf, Uses, workers};
use crate::directory::NameKind;
use crate::live::SIMULATE;
use crate::model::{Plan, Scenario, Setting};
use workload::{Arrivals, Process, WorkloadKind};

/// Operations outstanding per worker at most in an open loop, unless a limit is given.
pub(crate) const LIMIT_DEFAULT: u32 = 256;

/// `[workload.NAME]` of kind `disk`.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskWorkload {
    /// Its name.
    pub name: String,
    /// What it issues.
    pub spec: workload::Spec,
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
        true
    }

    fn not_live(&self, load: &Load, _: &Plan, scenario: &Scenario) -> Vec<(String, String)> {
        let mut all = Vec::new();
        if load.in_job() {
            all.push(format!(
                "a live run cannot delay or end `{}`: all loads of a step run for the whole step",
                self.name
            ));
        }
        if let Some(host) = load.on.iter().find_map(|name| host_of(scenario, name)) {
            all.push(format!("a live run cannot load the disks of the host `{host}`"));
        }
        all.into_iter().map(|what| (what, SIMULATE.to_owned())).collect()
    }

    fn describe(&self) -> String {
        let rate = |r: f64| format!("{} IOPS", units::count(r));
        let arrivals = match self.spec.arrivals {
            Arrivals::Closed { depth, .. } => format!("closed loop, depth {depth}"),
            Arrivals::Open { process, limit } => {
                let when = match process {
                    Process::Fixed { rate: r } => format!("fixed {}", rate(r)),
                    Process::Poisson { rate: r } => format!("Poisson {}", rate(r)),
                    Process::Ramp { from, to, .. } => {
                        format!("ramp {} to {}", rate(from), rate(to))
                    }
                };
                format!("open loop, {when} a worker, at most {limit} outstanding")
            }
        };
        format!("{} each, {arrivals}", workers(self.workers))
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

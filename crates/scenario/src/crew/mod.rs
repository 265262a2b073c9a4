//! The workers of a step before they have numbers and agents: who they are, what they are called, what they share.
//!
//! A live run and the simulator both ask here, so that a worker has the same name, the same number and the same share of
//! its targets in both, and draws the same operations. What a target is only the caller knows: here it is a number.

mod cluster;

pub use cluster::cluster;

use crate::{CopyLoad, DiskLoad, Step};
use std::collections::BTreeMap;
use units::Bytes;

/// A worker of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker<'a> {
    /// What it does.
    pub load: DiskLoad<'a>,
    /// The VM or target that it works for.
    pub group: &'a str,
    /// Its name, unique in the step.
    pub name: String,
    /// What it issues to, by the caller's numbers.
    pub targets: Vec<usize>,
    /// Its number among those that share its targets under the same load.
    pub sharer: u32,
    /// How many they are.
    pub sharers: u32,
    /// Its part of what its load does before it ends.
    pub part: Part,
}

/// One of the equal parts of a load's amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number.
    pub number: u64,
    /// How many there are.
    pub of: u64,
}

impl Part {
    /// Blocks of this part: all parts together have as many as the amount takes, and each has at least one.
    pub fn blocks(self, amount: Bytes, block: u64) -> u64 {
        let (all, of) = (amount.0.div_ceil(block.max(1)), self.of.max(1));
        (all / of + u64::from(self.number < all % of)).max(1)
    }
}

impl Worker<'_> {
    /// Bytes after which it ends by its load's amount: whole blocks where all operations have one size.
    pub fn limit(&self) -> Option<u64> {
        let amount = self.load.phase?.amount?;
        let block = u64::from(self.load.workload.spec.uniform_size().unwrap_or(1));
        Some(self.part.blocks(amount, block).saturating_mul(block))
    }
}

/// The workers of a step, in the order of its loads; a worker's number is its position. `targets_of` yields the targets of a
/// VM or target for a workload, by their names; `medium` the first number that is the same storage as a target.
/// # Errors
/// What `targets_of` refuses.
pub fn workers<'a, E>(
    step: &'a Step,
    mut targets_of: impl FnMut(&'a str, &'a str) -> Result<Vec<usize>, E>,
    medium: impl Fn(usize) -> usize,
) -> Result<Vec<Worker<'a>>, E> {
    let mut workers = Vec::new();
    for load in step.disk_loads() {
        let first = workers.len();
        for group in load.on {
            let targets = targets_of(group, &load.workload.name)?;
            let given: Vec<Vec<usize>> = match load.workload.each_disk {
                true => targets.into_iter().map(|target| vec![target]).collect(),
                false => vec![targets],
            };
            for targets in given {
                workers.extend((0..load.workload.workers).map(|_| Worker {
                    load,
                    group,
                    name: String::new(),
                    targets: targets.clone(),
                    sharer: 0,
                    sharers: 1,
                    part: Part { number: 0, of: 1 },
                }));
            }
        }
        let of = (workers.len() - first) as u64;
        for (number, worker) in (0..).zip(&mut workers[first..]) {
            worker.part = Part { number, of };
        }
        share(&medium, &mut workers[first..]);
    }
    name(&mut workers);
    Ok(workers)
}

/// A worker of a copy.
#[derive(Clone, Debug)]
pub struct Copier<'a> {
    /// What is copied.
    pub copy: CopyLoad<'a>,
    /// The VM or host that it runs on.
    pub group: &'a str,
    /// Its name, unique in the step.
    pub name: String,
    /// What it reads, by the caller's numbers.
    pub from: usize,
    /// What it writes.
    pub to: usize,
    /// The worker before it in its stream, by its position: it begins when that one has ended.
    pub follows: Option<usize>,
    /// Its part of what its load copies before it ends.
    pub part: Part,
}

impl Copier<'_> {
    /// Blocks after which it ends; `None` where it does not.
    pub fn blocks(&self) -> Option<u64> {
        let amount = self.copy.phase?.amount?;
        Some(self.part.blocks(amount, self.copy.workload.block.into()))
    }
}

/// The workers of a step's copies, in the order of its loads. `way` yields the disk of a VM or host that is on something, for a
/// workload, by their names.
/// # Errors
/// What `way` refuses.
pub fn copiers<'a, E>(
    step: &'a Step,
    mut way: impl FnMut(&'a str, &'a str, &'a str) -> Result<usize, E>,
) -> Result<Vec<Copier<'a>>, E> {
    let mut copiers: Vec<Copier<'a>> = Vec::new();
    for copy in step.copies() {
        let (of, first) = (copy.workload, copiers.len());
        let members = copy.on.iter().flat_map(|group| (0..of.workers).map(move |n| (group, n)));
        for (turn, (group, number)) in members.enumerate() {
            let mut disk = |list: &'a [String]| {
                let name = list.get(turn % list.len().max(1)).map_or("", String::as_str);
                way(group, name, &of.name)
            };
            let (from, to) = (disk(&of.from)?, disk(&of.to)?);
            let mut name = match of.workers {
                1 => format!("{group}/{}", of.name),
                _ => format!("{group}/{}/{number}", of.name),
            };
            let same = copiers.iter().filter(|other| other.name.starts_with(&name)).count();
            if copiers.iter().any(|other| other.name == name) {
                name = format!("{name}.{same}");
            }
            let before = of.streams.and_then(|streams| turn.checked_sub(streams as usize));
            let follows = before.map(|before| first + before);
            let part = Part { number: turn as u64, of: 1 };
            copiers.push(Copier { copy, group, name, from, to, follows, part });
        }
        let of = (copiers.len() - first) as u64;
        copiers[first..].iter_mut().for_each(|copier| copier.part.of = of);
    }
    Ok(copiers)
}

/// Numbers the workers of a load that share targets, directly or not, so that their own regions are disjoint.
fn share(medium: &impl Fn(usize) -> usize, workers: &mut [Worker]) {
    let media: Vec<Vec<usize>> = workers
        .iter()
        .map(|worker| worker.targets.iter().map(|target| medium(*target)).collect())
        .collect();
    let clusters = cluster(media.iter().map(Vec::as_slice));
    let mut members: BTreeMap<usize, u32> = BTreeMap::new();
    for (worker, cluster) in workers.iter_mut().zip(&clusters) {
        let count = members.entry(*cluster).or_default();
        worker.sharer = *count;
        *count += 1;
    }
    for (worker, cluster) in workers.iter_mut().zip(&clusters) {
        worker.sharers = members[cluster];
    }
}

/// Names workers after their VM or target; with the workload, and with a number, where several would be equal.
fn name(workers: &mut [Worker]) {
    let mut counts: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
    for worker in workers.iter() {
        let on_group = counts.entry(worker.group).or_default();
        *on_group.entry(&worker.load.workload.name).or_default() += 1;
    }
    let mut next: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for worker in workers.iter_mut() {
        let workload = worker.load.workload.name.as_str();
        worker.name = worker.group.to_owned();
        if counts[worker.group].len() > 1 {
            worker.name = format!("{}/{workload}", worker.name);
        }
        if counts[worker.group][workload] > 1 {
            let number = next.entry((worker.group, workload)).or_default();
            worker.name = format!("{}/{number}", worker.name);
            *number += 1;
        }
    }
}

//! Workers and copies of a step, numbered as in a live run.
//!
//! A worker becomes a load whose operations are drawn from the same stream as a live worker's: with the same seed, step
//! and worker number, over the same targets in the same order, with the same share of shared targets. A copy is a
//! closed load: each block in flight is read from one disk and then written to the other, so reads and writes overlap
//! from two blocks on.

use super::LabError;
use scenario::Step;
use scenario::crew::{Copier, Worker, copiers, workers};
use scenario::topology::Topology;
use std::collections::BTreeMap;

/// Targets that a worker can have, limited by the numbers of a stream.
const TARGETS_MAX: usize = 1 << 16;

/// The disks of a lab, by owner and individually.
pub struct Disks<'a> {
    topology: &'a Topology,
    of: BTreeMap<String, Vec<usize>>,
    /// For each path set the first one to the same volume.
    first: Vec<usize>,
}

impl<'a> Disks<'a> {
    /// The disks of a topology.
    pub fn new(topology: &'a Topology) -> Disks<'a> {
        let mut of: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut volumes: BTreeMap<&str, usize> = BTreeMap::new();
        let mut first = Vec::with_capacity(topology.ways.len());
        for (number, way) in topology.ways.iter().enumerate() {
            of.entry(way.member.clone()).or_default().push(number);
            // A single disk, as a scenario may load it.
            of.entry(format!("{}.disk{}", way.member, way.disk)).or_default().push(number);
            first.push(*volumes.entry(&way.volume).or_insert(number));
        }
        of.values_mut().for_each(|ways| ways.sort_by_key(|way| topology.ways[*way].disk));
        Disks { topology, of, first }
    }

    /// The workers of a step.
    pub fn workers(&self, step: &'a Step) -> Result<Vec<Worker<'a>>, LabError> {
        let targets_of = |group: &'a str, workload: &'a str| {
            let none =
                || LabError::NoDisks { member: group.to_owned(), workload: workload.to_owned() };
            let ways = self.of.get(group).cloned().ok_or_else(none)?;
            match ways.len() {
                0..=TARGETS_MAX => Ok(ways),
                _ => Err(LabError::TooManyDisks { member: group.to_owned() }),
            }
        };
        workers(step, targets_of, |way| self.first[way])
    }

    /// The workers of a step's copies.
    pub fn copiers(&self, step: &'a Step) -> Result<Vec<Copier<'a>>, LabError> {
        copiers(step, |group, volume, workload| self.way(group, volume, workload))
    }

    fn way(&self, group: &str, volume: &str, workload: &str) -> Result<usize, LabError> {
        let ways = self.of.get(group).map_or(&[][..], Vec::as_slice);
        let found = ways.iter().find(|way| self.topology.ways[**way].volume == volume);
        found.copied().ok_or_else(|| LabError::NoDisk {
            member: group.to_owned(),
            volume: volume.to_owned(),
            workload: workload.to_owned(),
        })
    }
}

//! The disk I/Os of a visit to a RAID group, averaged over the sizes of a class's I/Os and their places in a stripe.

use super::mix::SizeShare;
use crate::model::{DiskParts, RaidLevel, RaidVisit, StripeChoice};
use std::collections::BTreeMap;

/// Places in a stripe over which is averaged, at most.
const PHASES_MAX: u64 = 64;
/// Shares of disks closer than this are equal.
const EQUAL: f64 = 0.02;

/// The averages of a visit.
#[derive(Clone, Debug, PartialEq)]
pub struct RaidAverages {
    /// What happens at once, first what is read before it is written.
    pub rounds: Vec<RaidRound>,
    /// The share of the disk I/Os on each disk; empty where all have the same.
    pub shares: Vec<f64>,
}

/// Disk I/Os at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaidRound {
    /// How many.
    pub parts: u32,
    /// How often, for each I/O.
    pub often: f64,
    /// Mean bytes of one.
    pub bytes: f64,
}

/// Averages a visit by I/Os of these sizes.
pub fn averages(visit: &RaidVisit, sizes: &[SizeShare]) -> RaidAverages {
    let group = &visit.group;
    let mut parts = DiskParts::new(group.disks);
    // By round and number of disks: how often, and bytes on each disk.
    let mut found: BTreeMap<(bool, u32), (f64, f64)> = BTreeMap::new();
    let mut shares = vec![0.0; group.disks as usize];
    for size in sizes {
        let phases: Vec<u64> = group.phases(u64::from(size.align), PHASES_MAX).collect();
        let share = size.share / phases.len() as f64;
        for offset in phases {
            let mut add = |before| {
                let (start, io) = (group.addressed(offset), (offset, size.bytes));
                group.place(visit.access, before, start, io, &mut parts, || true);
                let count = parts.disks.len() as u32;
                let sum: u64 = parts.disks.iter().map(|disk| parts.bytes(*disk)).sum();
                let entry = found.entry((!before, count)).or_default();
                entry.0 += share;
                entry.1 += share * sum as f64 / f64::from(count.max(1));
                parts.disks.iter().for_each(|disk| shares[*disk as usize] += share);
            };
            if group.reads_before(visit.access, offset, size.bytes) {
                add(true);
            }
            add(false);
        }
    }
    let rounds = found.into_iter().map(|((_, parts), (often, bytes))| RaidRound {
        parts,
        often,
        bytes: bytes / often,
    });
    let rounds = rounds.collect();
    // Parity turns, and so do groups and what is on any stripe.
    let fixed = visit.choice == StripeChoice::Addressed && group.turns_never();
    if group.raid == RaidLevel::Mirrored {
        // Either copy is read as often.
        for pair in shares.chunks_exact_mut(2) {
            pair.fill((pair[0] + pair[1]) / 2.0);
        }
    }
    RaidAverages { rounds, shares: if fixed { uneven(&shares) } else { Vec::new() } }
}

/// The shares of these disk I/Os, if they differ.
fn uneven(found: &[f64]) -> Vec<f64> {
    let all: f64 = found.iter().sum();
    let mean = all / found.len() as f64;
    match found.iter().all(|one| (one - mean).abs() <= EQUAL * mean) {
        true => Vec::new(),
        false => found.iter().map(|one| one / all).collect(),
    }
}

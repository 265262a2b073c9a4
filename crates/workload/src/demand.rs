//! What a workload needs of its targets, derived from its specification before any target is opened.

use crate::{Dir, Durability, Spec, WorkingSet, WorkloadKind};
use serde::{Deserialize, Serialize};

/// Directions, largest block and footprint of a workload, or of several workloads that share a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IoDemand {
    /// The workload may read.
    pub reads: bool,
    /// The workload may change what the target holds: it writes, trims or zeroes.
    pub writes: bool,
    /// The workload may write data.
    #[serde(default)]
    pub data: bool,
    /// The operations without data that it may issue, in the order of [`Dir::WITHOUT_DATA`].
    #[serde(default)]
    pub without_data: [bool; 3],
    /// Writes may have FUA.
    #[serde(default)]
    pub fua: bool,
    /// Largest block in bytes.
    pub block_max: u32,
    /// How much of each target the workload may touch.
    pub reach: Footprint,
}

/// How far from its start a target may be touched: the larger of a number of bytes and a share of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Footprint {
    /// Bytes from the start.
    pub bytes: u64,
    /// Share of the target in percent.
    pub percent: f64,
}

impl IoDemand {
    /// The demand of one workload.
    pub fn of(spec: &Spec) -> IoDemand {
        let reach = Footprint::of(spec.working_set);
        let Durability { flush_every, fua } = spec.durability;
        let (flushes, fua) = (flush_every > 0, fua > 0.0);
        match &spec.kind {
            WorkloadKind::Access(access) => {
                let rows = || access.rows.iter().filter(|row| row.share > 0.0);
                let largest = rows().map(|row| row.size).max().unwrap_or(0);
                IoDemand {
                    reads: rows().any(|row| row.read > 0.0),
                    writes: rows().any(|row| row.read < 100.0),
                    data: rows().any(|row| row.write() > 0.0),
                    without_data: [
                        rows().any(|row| row.trim > 0.0),
                        rows().any(|row| row.zeroes > 0.0),
                        flushes,
                    ],
                    fua,
                    block_max: access.ladder.map_or(largest, |ladder| ladder.to),
                    reach,
                }
            }
            WorkloadKind::Transaction(t) => IoDemand {
                reads: t.index_pages > 0 || t.read > 0.0,
                writes: t.table_pages > 0 && t.read < 100.0,
                data: t.table_pages > 0 && t.read < 100.0,
                without_data: [false, false, flushes],
                fua,
                block_max: t.page,
                reach,
            },
        }
    }

    /// Whether operations of this kind may be issued.
    pub fn has(&self, dir: Dir) -> bool {
        match (dir, dir.without_data()) {
            (Dir::Read, _) => self.reads,
            (_, Some(n)) => self.without_data[n],
            (_, None) => self.data,
        }
    }

    /// The combined demand of two workloads.
    pub fn and(self, other: IoDemand) -> IoDemand {
        IoDemand {
            reads: self.reads || other.reads,
            writes: self.writes || other.writes,
            data: self.data || other.data,
            without_data: [0, 1, 2].map(|n| self.without_data[n] || other.without_data[n]),
            fua: self.fua || other.fua,
            block_max: self.block_max.max(other.block_max),
            reach: Footprint {
                bytes: self.reach.bytes.max(other.reach.bytes),
                percent: self.reach.percent.max(other.reach.percent),
            },
        }
    }
}

impl Footprint {
    /// The whole target.
    pub const WHOLE: Footprint = Footprint { bytes: 0, percent: 100.0 };

    fn of(working_set: Option<WorkingSet>) -> Footprint {
        match working_set {
            None => Footprint::WHOLE,
            Some(WorkingSet::Bytes(bytes)) => Footprint { bytes, percent: 0.0 },
            Some(WorkingSet::Percent(percent)) => Footprint { bytes: 0, percent },
        }
    }

    /// Bytes from the start of a target that has `size` bytes.
    pub fn within(self, size: u64) -> u64 {
        let share = if self.percent >= 100.0 {
            size
        } else {
            (size as f64 * (self.percent / 100.0)).ceil() as u64
        };
        self.bytes.max(share).min(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reach: Footprint, size: u64, bytes: u64) {
        assert_eq!(reach.within(size), bytes);
    }

    #[test]
    fn a_footprint_is_its_larger_bound_and_at_most_the_target() {
        check(Footprint::default(), 1000, 0);
        check(Footprint::WHOLE, 1000, 1000);
        check(Footprint::WHOLE, u64::MAX, u64::MAX);
        check(Footprint::of(Some(WorkingSet::Bytes(300))), 1000, 300);
        check(Footprint::of(Some(WorkingSet::Bytes(3000))), 1000, 1000);
        check(Footprint::of(Some(WorkingSet::Percent(25.1))), 1000, 251);
        check(Footprint { bytes: 300, percent: 20.0 }, 1000, 300);
        check(Footprint { bytes: 300, percent: 40.0 }, 1000, 400);
    }
}

//! The copies of a step as orders to an engine: which region is whose, who waits for whom, and how much each copies.

use super::jobs::{EndingWorker, waits_for};
use crate::draft::TargetTable;
use clock::Ns;
use engine::{CopySpec, WorkerSpec};
use record::{Loop, SourceId, WorkerLoad};
use scenario::crew::Copier;
use workload::{
    Access, Arrivals, Durability, Footprint, IoDemand, Regions, Row, Spec, WorkloadKind,
};

/// What a copy asks of the medium that it reads, and of the one that it writes.
pub(crate) fn demands(copier: &Copier) -> [IoDemand; 2] {
    let block_max = copier.copy.workload.block;
    let read = IoDemand { reads: true, block_max, reach: Footprint::WHOLE, ..IoDemand::default() };
    let write = IoDemand {
        reads: false,
        writes: true,
        data: true,
        without_data: [false, false, true],
        ..read
    };
    [read, write]
}

/// The load of a copy, for the record.
pub(crate) fn load(copier: &Copier, source: SourceId) -> WorkerLoad {
    let of = copier.copy.workload;
    WorkerLoad {
        source,
        workload: of.name.clone(),
        // It waits for those before it, and for its other side: fewer may be in flight.
        arrivals: Loop::Closed { depth: of.depth, think: true },
        ops_per_transaction: 1,
    }
}

/// The order of one of a step's copies, whose sources are numbered alike.
pub(crate) fn order(
    lab: &TargetTable,
    all: &[Copier],
    sources: &[SourceId],
    ending: &[EndingWorker<'_>],
    (index, key): (usize, u32),
    targets: Vec<u16>,
) -> WorkerSpec {
    let copier = &all[index];
    let of = copier.copy.workload;
    let of_load = |other: &&Copier| std::ptr::eq(other.copy.workload, copier.copy.workload);
    let share = |side: fn(&Copier) -> usize| {
        let medium = lab.medium(side(copier));
        let same = |other: &&Copier| of_load(other) && lab.medium(side(other)) == medium;
        let before = all[..index].iter().filter(same).count();
        (before as u32, all.iter().filter(same).count() as u32)
    };
    let copy = CopySpec {
        block: of.block,
        depth: of.depth,
        reads: of.reads(),
        writes: of.writes(),
        blocks: copier.blocks(),
        after: after(sources, ending, copier),
        from_share: share(|of| of.from),
        to_share: share(|of| of.to),
        verify: of.verify,
        retry: Ns::from(of.retry),
    };
    let workload = average(of.block, of.depth);
    let spec = WorkerSpec::new(sources[index].0, copier.name.clone(), targets, workload);
    WorkerSpec { key, copy: Some(copy), ..spec }
}

/// What a copy is on average, for those who draw no operations.
fn average(block: u32, depth: u32) -> Spec {
    Spec {
        kind: WorkloadKind::Access(Access::new(vec![Row::new(block, 50.0, 0.0)])),
        arrivals: Arrivals::closed(depth),
        working_set: None,
        regions: Regions::Own,
        durability: Durability::default(),
        passes: 0,
        trace: None,
    }
}

/// Those that a copy waits for: the one before it in its stream, and all of the phases before its own.
fn after(sources: &[SourceId], ending: &[EndingWorker<'_>], copier: &Copier) -> Vec<SourceId> {
    let before = copier.follows.and_then(|before| sources.get(before).copied());
    before.into_iter().chain(waits_for(copier.copy.phase, ending)).collect()
}

//! The workers' I/O: tallies of an interval, as of a live worker, and sums of a cell.
//!
//! Times of I/Os are counted here, one by one and exactly, rather than read off the engine's own histograms, so that a
//! simulated interval holds what a measured one holds. Nothing here decides anything.

use crate::Ps;
use crate::engine::{Ended, Observer};
use crate::model::{Load, Source};
use crate::plant::Plant;
use clock::Ns;
use record::{Completed, Loop};
use workload::{Dir, IoDemand};

/// A class without a worker.
const NO_WORKER: u32 = u32::MAX;

/// Reads and writes of a worker; `None` where it never does that.
pub(super) type Tallies = [Option<Completed>; 2];

/// Sums over workers in a part of the measured time; bytes and operations read, then written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub ops: [u64; 2],
    pub bytes: [u64; 2],
    /// Sums of the times from issue to end, and from due to end.
    pub served: u128,
    pub responded: u128,
}

impl Cell {
    /// This part and another as one.
    pub fn joined(&self, other: &Cell) -> Cell {
        Cell {
            ops: [self.ops[0] + other.ops[0], self.ops[1] + other.ops[1]],
            bytes: [self.bytes[0] + other.bytes[0], self.bytes[1] + other.bytes[1]],
            served: self.served + other.served,
            responded: self.responded + other.responded,
        }
    }

    /// Operations of both directions.
    pub fn all_ops(&self) -> u64 {
        self.ops[0] + self.ops[1]
    }
}

/// Counts every completed I/O.
pub(super) struct Meter {
    /// For each class the worker that issues it, that worker's group, and whether it writes.
    classes: Vec<(u32, u32, Dir)>,
    /// Whether each worker reads, writes, and keeps response times.
    kinds: Vec<WorkerKind>,
    tallies: Vec<Tallies>,
    /// Of each group since the last cell was taken, and in the cells taken since its own sums were.
    cells: Vec<Cell>,
    groups: Vec<Cell>,
    /// Of each stream of a network load: since it was last asked for, and its jobs ever since.
    streams: Vec<StreamCounts>,
    ever: Vec<u64>,
    /// Of all streams since the last cell was taken.
    net: Cell,
}

/// What a stream of a network load did.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamCounts {
    /// Jobs that came to their end, and those that were given up.
    pub jobs: u64,
    pub lost: u64,
    /// Their times, of requests and responses.
    pub times: Option<Completed>,
}

/// The groups of a plant, each once, in the order of the issuers.
pub(super) fn groups(plant: &Plant) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for issuer in &plant.issuers {
        if known.insert(issuer.group.as_str()) {
            groups.push(issuer.group.clone());
        }
    }
    groups
}

#[derive(Clone, Copy, Debug, Default)]
struct WorkerKind {
    reads: bool,
    writes: bool,
    open: bool,
}

impl Meter {
    /// A meter for the workers of a plant, which go by the order of `names`.
    pub fn new(plant: &Plant, names: &[String]) -> Meter {
        let mut kinds = vec![WorkerKind::default(); names.len()];
        let groups = groups(plant);
        let mut worker_of = vec![(NO_WORKER, NO_WORKER); plant.network.loads().len()];
        for issuer in &plant.issuers {
            let Some(worker) = names.iter().position(|name| *name == issuer.source) else {
                continue;
            };
            let Some(load) = plant.network.loads().get(issuer.load.0 as usize) else { continue };
            let group = groups.iter().position(|group| *group == issuer.group);
            let group = group.map_or(NO_WORKER, |group| group as u32);
            worker_of[issuer.load.0 as usize] = (worker as u32, group);
            let (reads, writes) = directions(load);
            let kind = &mut kinds[worker];
            kind.reads |= reads;
            kind.writes |= writes;
            kind.open |= matches!(issuer.arrivals, Loop::Open { .. });
        }
        // Streams are numbered behind the workers.
        for (number, stream) in (names.len()..).zip(plant.streams()) {
            if let Some(of) = worker_of.get_mut(stream.load.0 as usize) {
                *of = (number as u32, NO_WORKER);
            }
        }
        let streams: Vec<StreamCounts> =
            plant.streams().map(|stream| StreamCounts::none(stream.job.timed)).collect();
        let loads = plant.network.loads().iter().zip(&worker_of);
        let classes = loads
            .flat_map(|(load, (worker, group))| {
                load.classes.iter().map(|class| (*worker, *group, class.dir))
            })
            .collect();
        let tallies = kinds.iter().map(WorkerKind::empty).collect();
        let none = vec![Cell::default(); groups.len()];
        let (ever, net) = (vec![0; streams.len()], Cell::default());
        Meter { classes, kinds, tallies, cells: none.clone(), groups: none, streams, ever, net }
    }

    /// What all streams did since they were last asked.
    pub fn take_streams(&mut self) -> Vec<StreamCounts> {
        let fresh = self.streams.iter().map(|of| StreamCounts::none(of.times.is_some())).collect();
        std::mem::replace(&mut self.streams, fresh)
    }

    /// Jobs of each stream since the beginning.
    pub fn jobs(&self) -> &[u64] {
        &self.ever
    }

    /// A job of a stream ended.
    fn carried(&mut self, stream: usize, dir: Dir, io: &Ended) {
        let Some(of) = self.streams.get_mut(stream) else { return };
        if io.lost {
            of.lost += 1;
            return;
        }
        let served = io.now.since(io.issued);
        of.jobs += 1;
        if let Some(times) = &mut of.times {
            times.success(io.bytes.into(), nanos(served), nanos(served));
        }
        self.ever[stream] += 1;
        let way = usize::from(dir == Dir::Write);
        self.net.ops[way] += 1;
        self.net.bytes[way] += u64::from(io.bytes);
        self.net.served += u128::from(served.0);
        self.net.responded += u128::from(served.0);
    }

    /// What all workers did since they were last asked.
    pub fn take(&mut self) -> Vec<Tallies> {
        let fresh = self.kinds.iter().map(WorkerKind::empty).collect();
        std::mem::replace(&mut self.tallies, fresh)
    }

    /// The sums over all workers since they were last asked for; where there are none, over all streams.
    pub fn take_cell(&mut self) -> Cell {
        let net = std::mem::take(&mut self.net);
        if self.tallies.is_empty() {
            return net;
        }
        let mut all = Cell::default();
        for (cell, group) in self.cells.iter_mut().zip(&mut self.groups) {
            let taken = std::mem::take(cell);
            *group = group.joined(&taken);
            all = all.joined(&taken);
        }
        all
    }

    /// The sums of each group in the cells that were taken since this was last asked for.
    pub fn take_groups(&mut self) -> Vec<Cell> {
        let fresh = vec![Cell::default(); self.groups.len()];
        std::mem::replace(&mut self.groups, fresh)
    }
}

impl StreamCounts {
    fn none(timed: bool) -> StreamCounts {
        StreamCounts { jobs: 0, lost: 0, times: timed.then(|| Completed::empty(false)) }
    }
}

impl WorkerKind {
    fn empty(&self) -> Tallies {
        [self.reads, self.writes].map(|does| does.then(|| Completed::empty(self.open)))
    }
}

/// Whether a load may read, and whether it may write.
fn directions(load: &Load) -> (bool, bool) {
    match &load.source {
        Source::Operations(operations) => {
            let demand = IoDemand::of(&operations.spec);
            (demand.reads, demand.writes)
        }
        Source::Closed { shares, .. } | Source::Open { shares, .. } => {
            let does = |dir| {
                let mut used = load.classes.iter().zip(shares).filter(|(_, share)| **share > 0.0);
                used.any(|(class, _)| class.dir == dir)
            };
            (does(Dir::Read), does(Dir::Write))
        }
    }
}

/// To the nearest nanosecond, of which every time has at least one.
fn nanos(span: Ps) -> Ns {
    Ns((span.0 / 1_000 + u64::from(span.0 % 1_000 >= 500)).max(1))
}

impl Observer for Meter {
    // It counts them itself, of workers and of intervals.
    const TIMES: bool = false;

    #[inline]
    fn ended(&mut self, io: &Ended) {
        let (worker, group, dir) = self.classes[io.class as usize];
        if let Some(stream) = (worker as usize).checked_sub(self.tallies.len())
            && worker != NO_WORKER
        {
            return self.carried(stream, dir, io);
        }
        let way = usize::from(dir == Dir::Write);
        let Some(Some(tally)) = self.tallies.get_mut(worker as usize).map(|both| &mut both[way])
        else {
            return;
        };
        if io.lost {
            tally.errors += 1;
            return;
        }
        let (served, responded) = (io.now.since(io.issued), io.now.since(io.due));
        tally.success(io.bytes.into(), nanos(served), nanos(responded));
        let Some(cell) = self.cells.get_mut(group as usize) else { return };
        cell.ops[way] += 1;
        cell.bytes[way] += u64::from(io.bytes);
        cell.served += u128::from(served.0);
        cell.responded += u128::from(responded.0);
    }
}

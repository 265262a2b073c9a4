//! What workers see of their I/O: tallies of an interval, as a live worker keeps them, and sums of a cell.
//!
//! Times of I/Os are counted here, one by one and exactly, rather than read off the engine's own histograms, so that a
//! simulated interval holds what a measured one holds. Nothing here decides anything.

use crate::Ps;
use crate::engine::{Ended, Observer};
use crate::model::{Load, Source};
use crate::plant::Plant;
use clock::Ns;
use record::{Loop, Tally};
use workload::{Demand, Dir};

/// A class that no worker issues.
const NOBODY: u32 = u32::MAX;

/// Reads and writes of a worker; `None` where it never does that.
pub(super) type Tallies = [Option<Tally>; 2];

/// Sums over all workers in a part of the measured time; bytes and operations read, then written.
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

/// Hears of every I/O's end.
pub(super) struct Meter {
    /// For each class the worker that issues it, and whether it writes.
    classes: Vec<(u32, Dir)>,
    /// Whether each worker reads, writes, and keeps response times.
    kinds: Vec<Kind>,
    tallies: Vec<Tallies>,
    cell: Cell,
}

#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    reads: bool,
    writes: bool,
    open: bool,
}

impl Meter {
    /// A meter for the workers of a plant, which go by the order of `names`.
    pub fn new(plant: &Plant, names: &[String]) -> Meter {
        let mut kinds = vec![Kind::default(); names.len()];
        let mut worker_of = vec![NOBODY; plant.network.loads().len()];
        for issuer in &plant.issuers {
            let Some(worker) = names.iter().position(|name| *name == issuer.source) else {
                continue;
            };
            let Some(load) = plant.network.loads().get(issuer.load.0 as usize) else { continue };
            worker_of[issuer.load.0 as usize] = worker as u32;
            let (reads, writes) = directions(load);
            let kind = &mut kinds[worker];
            kind.reads |= reads;
            kind.writes |= writes;
            kind.open |= matches!(issuer.arrivals, Loop::Open { .. });
        }
        let loads = plant.network.loads().iter().zip(&worker_of);
        let classes = loads
            .flat_map(|(load, worker)| load.classes.iter().map(|class| (*worker, class.dir)))
            .collect();
        let tallies = kinds.iter().map(Kind::empty).collect();
        Meter { classes, kinds, tallies, cell: Cell::default() }
    }

    /// What all workers did since they were last asked.
    pub fn take(&mut self) -> Vec<Tallies> {
        let fresh = self.kinds.iter().map(Kind::empty).collect();
        std::mem::replace(&mut self.tallies, fresh)
    }

    /// The sums since they were last asked for.
    pub fn take_cell(&mut self) -> Cell {
        std::mem::take(&mut self.cell)
    }
}

impl Kind {
    fn empty(&self) -> Tallies {
        [self.reads, self.writes].map(|does| does.then(|| Tally::empty(self.open)))
    }
}

/// Whether a load may read, and whether it may write.
fn directions(load: &Load) -> (bool, bool) {
    match &load.source {
        Source::Operations(operations) => {
            let demand = Demand::of(&operations.spec);
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
    #[inline]
    fn ended(&mut self, io: &Ended) {
        let (worker, dir) = self.classes[io.class as usize];
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
        self.cell.ops[way] += 1;
        self.cell.bytes[way] += u64::from(io.bytes);
        self.cell.served += u128::from(served.0);
        self.cell.responded += u128::from(responded.0);
    }
}

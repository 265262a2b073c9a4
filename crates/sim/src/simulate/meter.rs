//! The workers' I/O: tallies of an interval, as of a live worker, and sums of a cell.
//!
//! Times of I/Os are counted here, one by one and exactly, rather than read off the engine's own histograms, so that a
//! simulated interval holds what a measured one holds. Nothing here decides anything.
//!
//! I/Os and bytes that cross the edge of an interval count on each side of it by the share of their transfer there
//! ([`crate::engine::UnderWay`]): many that begin together end together, and all of them would otherwise count on the
//! side where they end, which may be more than the wires carry. Times and histograms hold each I/O once, where it ends.

use crate::Ps;
use crate::engine::{Ended, Observer, UnderWay};
use crate::model::{Load, Source};
use crate::plant::Plant;
use clock::Ns;
use record::{Completed, Loop, OtherTallies};
use workload::{Dir, IoDemand};

/// A class without a worker.
const NO_WORKER: u32 = u32::MAX;

/// Reads and writes of a worker; `None` where it never does that.
pub(super) type Tallies = [Option<Completed>; 2];

/// Sums over workers in a part of the measured time; bytes and operations read, then written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cell {
    /// Parts of those that cross an edge included.
    pub ops: [f64; 2],
    pub bytes: [f64; 2],
    /// I/Os that ended.
    pub ended: u64,
    /// Sums of their times from issue to end, and from due to end.
    pub served: u128,
    pub responded: u128,
}

impl Cell {
    /// This part and another as one.
    pub fn joined(&self, other: &Cell) -> Cell {
        Cell {
            ops: [self.ops[0] + other.ops[0], self.ops[1] + other.ops[1]],
            bytes: [self.bytes[0] + other.bytes[0], self.bytes[1] + other.bytes[1]],
            ended: self.ended + other.ended,
            served: self.served + other.served,
            responded: self.responded + other.responded,
        }
    }

    fn ended(&mut self, way: usize, bytes: u32, served: Ps, responded: Ps) {
        self.ops[way] += 1.0;
        self.bytes[way] += f64::from(bytes);
        self.ended += 1;
        self.served += u128::from(served.0);
        self.responded += u128::from(responded.0);
    }

    /// What I/Os under way add to those that ended, where `before` was added at the last edge.
    fn add_parts(&mut self, now: &[Parts; 2], before: &[Parts; 2]) {
        for way in 0..2 {
            self.ops[way] += now[way].ops - before[way].ops;
            self.bytes[way] += now[way].bytes - before[way].bytes;
        }
    }
}

/// Parts of I/Os under way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Parts {
    ops: f64,
    bytes: f64,
}

impl Parts {
    fn add(&mut self, io: &UnderWay) {
        self.ops += io.share;
        self.bytes += io.share * f64::from(io.bytes);
    }
}

/// What ended ever and is under way, and how much of it has been told.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    ended: u64,
    bytes: u64,
    parts: Parts,
    told: u64,
    told_bytes: u64,
    /// Mean nanoseconds of those that ended last.
    mean: f64,
}

/// The golden ratio's fraction: its multiples fill the unit interval evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

impl Moved {
    /// I/Os and bytes so far, of the worker with this number. What is left of a whole I/O is rounded up by some workers and
    /// down by others, evenly, since I/Os that are alike are as far everywhere. Bytes are those that were moved.
    fn ios(&self, number: usize) -> (u64, u64) {
        let rounded = (number as f64 * GOLDEN).fract();
        let more = (self.parts.ops + rounded).floor().max(0.0);
        (self.ended + more as u64, self.bytes + self.parts.bytes.max(0.0) as u64)
    }

    /// Whole I/Os, and bytes, since the last time. Where transfers were given up, later ones make up for it.
    fn take(&mut self, number: usize) -> (u64, u64) {
        let (ios, bytes) = self.ios(number);
        let new = (ios.saturating_sub(self.told), bytes.saturating_sub(self.told_bytes));
        (self.told, self.told_bytes) = (self.told.max(ios), self.told_bytes.max(bytes));
        new
    }

    /// Changes a tally of those that ended to what was moved, with the same mean time.
    fn tell(&mut self, number: usize, tally: &mut Completed) {
        let (ops, bytes) = self.take(number);
        if tally.ops > 0 {
            self.mean = tally.service_sum.0 as f64 / tally.ops as f64;
        }
        if ops != tally.ops {
            tally.service_sum = Ns((self.mean * ops as f64).round() as u64);
        }
        (tally.ops, tally.bytes) = (ops, bytes);
    }
}

/// Counts every completed I/O.
pub(super) struct Meter {
    /// For each class the worker that issues it, that worker's group, and whether it writes.
    classes: Vec<(u32, u32, Dir)>,
    /// For each class the bytes that an operation without data stands for.
    ranges: Vec<u32>,
    /// Whether each worker reads, writes, and keeps response times.
    kinds: Vec<WorkerKind>,
    tallies: Vec<Tallies>,
    /// Of each worker, operations without data.
    others: Vec<OtherTallies>,
    /// What each worker, and each stream behind them, has moved; reads and writes.
    moved: Vec<[Moved; 2]>,
    /// Of each group, and of all streams: parts of I/Os under way now, and when the last cell was taken.
    parts: Vec<[[Parts; 2]; 2]>,
    /// Of each group since the last cell was taken, and in the cells taken since its own sums were.
    cells: Vec<Cell>,
    groups: Vec<Cell>,
    /// Of each stream of a network load: since it was last asked for, and its jobs ever since, parts included.
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
    others: [bool; 3],
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
            let (reads, writes, others) = directions(load);
            let kind = &mut kinds[worker];
            kind.reads |= reads;
            kind.writes |= writes;
            kind.others = [0, 1, 2].map(|n| kind.others[n] || others[n]);
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
        let all = plant.network.loads().iter().flat_map(|load| &load.classes);
        let ranges = all.map(|class| class.bytes).collect();
        let tallies = kinds.iter().map(WorkerKind::empty).collect();
        let others = kinds.iter().map(WorkerKind::others).collect();
        let none = vec![Cell::default(); groups.len()];
        let (ever, net) = (vec![0; streams.len()], Cell::default());
        let moved = vec![<[Moved; 2]>::default(); names.len() + streams.len()];
        let parts = vec![<[[Parts; 2]; 2]>::default(); groups.len() + 1];
        let (cells, groups) = (none.clone(), none);
        Meter {
            classes,
            ranges,
            kinds,
            tallies,
            others,
            moved,
            parts,
            cells,
            groups,
            streams,
            ever,
            net,
        }
    }

    /// Takes in the I/Os under way at an edge; to be called before anything is taken.
    pub fn edge(&mut self, under_way: &[UnderWay]) {
        for moved in self.moved.iter_mut().flatten() {
            moved.parts = Parts::default();
        }
        self.parts.iter_mut().for_each(|[now, _]| *now = <[Parts; 2]>::default());
        let streams = self.parts.len() - 1;
        for io in under_way {
            let (worker, group, dir) = self.classes[io.class as usize];
            let Some(moved) = self.moved.get_mut(worker as usize) else { continue };
            if !dir.moves_data() {
                continue;
            }
            let way = usize::from(dir == Dir::Write);
            moved[way].parts.add(io);
            let group =
                if worker as usize >= self.tallies.len() { streams } else { group as usize };
            if let Some([now, _]) = self.parts.get_mut(group) {
                now[way].add(io);
            }
        }
        for (stream, ever) in self.ever.iter_mut().enumerate() {
            let number = self.tallies.len() + stream;
            let ios = self.moved[number].iter().map(|moved| moved.ios(number).0).sum();
            *ever = ios;
        }
    }

    /// Counts from here on: what is under way now counts as told, by the share of its transfer that is done.
    pub fn restart(&mut self) {
        for (number, moved) in self.moved.iter_mut().enumerate() {
            moved.iter_mut().for_each(|moved| _ = moved.take(number));
        }
        self.take_cell();
    }

    /// What all streams did since they were last asked.
    pub fn take_streams(&mut self) -> Vec<StreamCounts> {
        let fresh = self.streams.iter().map(|of| StreamCounts::none(of.times.is_some())).collect();
        let mut taken: Vec<StreamCounts> = std::mem::replace(&mut self.streams, fresh);
        for (stream, counts) in taken.iter_mut().enumerate() {
            let number = self.tallies.len() + stream;
            counts.jobs = self.moved[number].iter_mut().map(|moved| moved.take(number).0).sum();
        }
        taken
    }

    /// Jobs of each stream since the beginning.
    pub fn jobs(&self) -> &[u64] {
        &self.ever
    }

    /// An operation without data ended.
    #[cold]
    fn other(&mut self, worker: u32, kind: usize, io: &Ended) {
        let range = self.ranges[io.class as usize];
        let of = self.others.get_mut(worker as usize).and_then(|all| all[kind].as_mut());
        let Some(tally) = of else { return };
        if io.lost {
            tally.errors += 1;
            return;
        }
        let (served, responded) = (io.now.since(io.issued), io.now.since(io.due));
        tally.success(range.into(), nanos(served), nanos(responded));
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
        let way = usize::from(dir == Dir::Write);
        let moved = &mut self.moved[self.tallies.len() + stream][way];
        (moved.ended, moved.bytes) = (moved.ended + 1, moved.bytes + u64::from(io.bytes));
        self.net.ended(way, io.bytes, served, served);
    }

    /// What all workers did since they were last asked.
    pub fn take(&mut self) -> Vec<Tallies> {
        let fresh = self.kinds.iter().map(WorkerKind::empty).collect();
        let mut taken: Vec<Tallies> = std::mem::replace(&mut self.tallies, fresh);
        for (number, (tallies, moved)) in taken.iter_mut().zip(&mut self.moved).enumerate() {
            for (tally, moved) in tallies.iter_mut().zip(moved) {
                tally.iter_mut().for_each(|tally| moved.tell(number, tally));
            }
        }
        taken
    }

    /// The operations without data of all workers since they were last asked for.
    pub fn take_others(&mut self) -> Vec<OtherTallies> {
        let fresh = self.kinds.iter().map(WorkerKind::others).collect();
        std::mem::replace(&mut self.others, fresh)
    }

    /// The sums over all workers since they were last asked for; where there are none, over all streams.
    pub fn take_cell(&mut self) -> Cell {
        let mut net = std::mem::take(&mut self.net);
        if let Some([now, before]) = self.parts.last_mut() {
            net.add_parts(now, before);
            *before = *now;
        }
        if self.tallies.is_empty() {
            return net;
        }
        let mut all = Cell::default();
        let parts = self.parts.iter_mut();
        for ((cell, group), [now, before]) in self.cells.iter_mut().zip(&mut self.groups).zip(parts)
        {
            let mut taken = std::mem::take(cell);
            taken.add_parts(now, before);
            *before = *now;
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

    fn others(&self) -> OtherTallies {
        self.others.map(|does| does.then(|| Completed::empty(self.open)))
    }
}

/// Whether a load may read, whether it may write, and which operations without data it may issue.
fn directions(load: &Load) -> (bool, bool, [bool; 3]) {
    match &load.source {
        Source::Operations(operations) => {
            let demand = IoDemand::of(&operations.spec);
            (demand.reads, demand.data, demand.without_data)
        }
        Source::Closed { shares, .. } | Source::Open { shares, .. } => {
            let does = |dir| {
                let mut used = load.classes.iter().zip(shares).filter(|(_, share)| **share > 0.0);
                used.any(|(class, _)| class.dir == dir)
            };
            (does(Dir::Read), does(Dir::Write), [false; 3])
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
        if let Some(kind) = dir.without_data() {
            return self.other(worker, kind, io);
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
        let moved = &mut self.moved[worker as usize][way];
        (moved.ended, moved.bytes) = (moved.ended + 1, moved.bytes + u64::from(io.bytes));
        if let Some(cell) = self.cells.get_mut(group as usize) {
            cell.ended(way, io.bytes, served, responded);
        }
    }
}

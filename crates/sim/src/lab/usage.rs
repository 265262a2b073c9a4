//! The load of a step on each volume: how much of it is touched, in which block sizes, random or sequential, and by which
//! load. What a volume's disks have in common depends on all loads together, weighted by their rates; what an I/O does
//! there depends on the load that issues it.
//!
//! An open load has the rate that it asks for. That of a closed load is known only once everything is solved; a rough one
//! stands in for it: its outstanding I/Os, each of which takes its think time and one unhurried I/O of the medium. Closed
//! loads without think time on one medium are therefore weighted by their outstanding I/Os.

use super::cache::BlockSet;
use scenario::DiskWorkload;
use workload::{Arrivals, Dir, IoDemand, Skew, Spec, WorkloadKind};

/// A share that rounding leaves of nothing.
const NEVER: f64 = 1e-9;

/// The loads on a volume, together and one by one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// The reads.
    pub reads: DirectionMix,
    /// The writes.
    pub writes: DirectionMix,
    /// Concurrent sequential streams.
    pub streams: u32,
    /// Bytes from the start that are touched.
    pub touched: u64,
    /// Trims, zeroes or flushes are among the operations.
    pub without_data: bool,
    /// The loads, those that are alike taken together, with the I/Os a second of all that are.
    pub loads: Vec<(VolumeLoad, f64)>,
}

/// What one load asks of a volume. Loads that are equal cannot be told apart there.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeLoad {
    /// The reads among its I/Os: weights are shares of all.
    pub reads: DirectionMix,
    /// The writes.
    pub writes: DirectionMix,
    /// Bytes from the start that it touches.
    touched: u64,
    /// Some of it is sequential.
    sequential: bool,
    without_data: bool,
    /// Skew of its random addresses.
    pub skew: Skew,
}

/// I/Os of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionMix {
    /// Their number as a relative weight.
    pub weight: f64,
    /// Sum of weights times bytes.
    bytes: f64,
    /// Sum of the weights of random I/Os.
    random: f64,
}

impl DirectionMix {
    fn add(&mut self, weight: f64, bytes: f64, random: f64) {
        self.weight += weight;
        self.bytes += weight * bytes;
        self.random += weight * random;
    }

    fn add_all(&mut self, of: &DirectionMix, times: f64) {
        self.weight += times * of.weight;
        self.bytes += times * of.bytes;
        self.random += times * of.random;
    }

    /// Mean bytes of an I/O; 4 KiB without I/Os.
    pub fn bytes(&self) -> f64 {
        if self.weight > 0.0 { self.bytes / self.weight } else { 4096.0 }
    }

    /// Share of random I/Os, 0 to 1; 1 without I/Os.
    pub fn random(&self) -> f64 {
        if self.weight > 0.0 { (self.random / self.weight).clamp(0.0, 1.0) } else { 1.0 }
    }
}

impl VolumeLoad {
    /// That of a worker's I/Os to a volume of `size` bytes.
    pub fn of(workload: &DiskWorkload, size: u64) -> VolumeLoad {
        let spec = &workload.spec;
        let demand = IoDemand::of(spec);
        let skew = match &spec.kind {
            WorkloadKind::Access(access) => access.skew,
            WorkloadKind::Transaction(transaction) => transaction.table_skew,
        };
        let mut load = VolumeLoad {
            touched: demand.reach.within(size),
            without_data: demand.without_data != [false; 3],
            skew,
            ..VolumeLoad::default()
        };
        for kind in kinds(spec) {
            load.reads.add(kind.share * kind.read, kind.bytes(), kind.random);
            load.writes.add(kind.share * kind.write, kind.bytes(), kind.random);
            load.sequential |= kind.share > 0.0 && kind.random < 1.0;
        }
        load
    }

    /// That of a stream of a copy, of `bytes` at a time over a volume of `size` bytes.
    pub fn stream(dir: Dir, bytes: u32, size: u64) -> VolumeLoad {
        let mut load = VolumeLoad { touched: size, sequential: true, ..VolumeLoad::default() };
        let mix = match dir {
            Dir::Read => &mut load.reads,
            _ => &mut load.writes,
        };
        mix.add(1.0, f64::from(bytes), 0.0);
        load
    }

    /// The blocks that it touches and how often, at so many I/Os a second: by writes alone, or by reads and writes; at random
    /// or in turn. `None` if it does not do that; a load without reads and writes touches its blocks all the same.
    pub fn blocks(&self, rate: f64, writes_alone: bool, stream: bool) -> Option<BlockSet> {
        let none = DirectionMix::default();
        let mixes = [if writes_alone { &none } else { &self.reads }, &self.writes];
        let all: f64 = mixes.iter().map(|mix| mix.weight).sum();
        let moved: f64 = mixes.iter().map(|mix| mix.bytes).sum();
        let random: f64 = mixes.iter().map(|mix| mix.random).sum();
        let weight = if stream { all - random } else { random };
        let idle = all <= 0.0 && !writes_alone && !stream;
        if weight <= all * NEVER && !idle {
            return None;
        }
        let bytes = if all > 0.0 { (moved / all).max(1.0) } else { self.reads.bytes() };
        let blocks = self.touched as f64 / bytes;
        Some(BlockSet { skew: self.skew, stream, blocks, bytes, rate: rate * weight })
    }
}

impl Default for VolumeLoad {
    /// Nothing is asked.
    fn default() -> VolumeLoad {
        let (reads, writes) = (DirectionMix::default(), DirectionMix::default());
        let (touched, sequential, without_data) = (0, false, false);
        VolumeLoad { reads, writes, touched, sequential, without_data, skew: Skew::Uniform }
    }
}

/// The I/Os a second of a worker: those that it asks for, or in a closed loop what stands in for them where an I/O takes
/// about `unhurried` seconds. `span` is that of the step: its warm-up and its measured time.
pub fn rate(spec: &Spec, span: (clock::Ns, clock::Ns), unhurried: f64) -> f64 {
    match (spec.offered(span.0, span.1), spec.arrivals) {
        (Some(offered), _) => offered,
        (None, Arrivals::Closed { depth, think }) => {
            closed_rate(depth, think.as_secs_f64() + unhurried)
        }
        (None, Arrivals::Open { limit, .. }) => closed_rate(limit, unhurried),
    }
}

/// What stands in for the I/Os a second of so many outstanding that take `cycle` seconds each.
pub fn closed_rate(depth: u32, cycle: f64) -> f64 {
    f64::from(depth) / cycle.max(1e-9)
}

impl Usage {
    /// Adds a load of `rate` I/Os a second.
    pub fn add(&mut self, load: VolumeLoad, rate: f64) {
        self.reads.add_all(&load.reads, rate);
        self.writes.add_all(&load.writes, rate);
        // The slots of a worker share one sequential run: one stream, however many I/Os are outstanding.
        self.streams += u32::from(load.sequential);
        self.touched = self.touched.max(load.touched);
        self.without_data |= load.without_data;
        match self.loads.iter_mut().find(|(known, _)| *known == load) {
            Some((_, all)) => *all += rate,
            None => self.loads.push((load, rate)),
        }
    }

    /// The probability that an I/O of a sequential stream finds the disk's arm elsewhere, because another stream or a
    /// random I/O came between.
    pub fn interrupted(&self) -> f64 {
        let weight = self.reads.weight + self.writes.weight;
        if weight <= 0.0 || self.streams == 0 {
            return 0.0;
        }
        let random = (self.reads.random + self.writes.random) / weight;
        1.0 - (1.0 - random) / f64::from(self.streams)
    }

    /// The blocks that each load touches: by writes alone, or by reads and writes.
    pub fn blocks(&self, writes_alone: bool) -> Vec<BlockSet> {
        let of = |(load, rate): &(VolumeLoad, f64)| {
            [false, true].map(|stream| load.blocks(*rate, writes_alone, stream))
        };
        self.loads.iter().flat_map(of).flatten().collect()
    }
}

/// One kind of I/O of a workload.
struct IoKind {
    share: f64,
    read: f64,
    write: f64,
    random: f64,
    /// Sizes in bytes, equally frequent.
    sizes: Vec<u32>,
}

impl IoKind {
    fn bytes(&self) -> f64 {
        let sum: f64 = self.sizes.iter().map(|size| f64::from(*size)).sum();
        sum / self.sizes.len().max(1) as f64
    }
}

fn kinds(spec: &Spec) -> Vec<IoKind> {
    match &spec.kind {
        WorkloadKind::Access(access) => {
            let climbed = access.ladder.map(|ladder| ladder.sizes().collect::<Vec<u32>>());
            let row = |row: &workload::Row| IoKind {
                share: row.share / 100.0,
                read: row.read / 100.0,
                write: row.write() / 100.0,
                random: row.random / 100.0,
                sizes: climbed.clone().unwrap_or_else(|| vec![row.size]),
            };
            access.rows.iter().map(row).collect()
        }
        WorkloadKind::Transaction(of) => {
            let (index, table) = (f64::from(of.index_pages), f64::from(of.table_pages));
            let all = (index + table).max(1.0);
            let read = (index + table * of.read / 100.0) / all;
            vec![IoKind { share: 1.0, read, write: 1.0 - read, random: 1.0, sizes: vec![of.page] }]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::preset;

    fn workload(name: &str) -> DiskWorkload {
        let spec = preset(name).expect("a preset").spec();
        DiskWorkload { name: name.to_owned(), spec, workers: 1, verify: false, each_disk: false }
    }

    #[test]
    fn rows_are_weighed_by_their_shares() {
        let mut usage = Usage::default();
        let of = workload("file-server");
        usage.add(VolumeLoad::of(&of, 1 << 30), 7.0);
        let WorkloadKind::Access(access) = &of.spec.kind else { panic!("rows") };
        let bytes: f64 =
            access.rows.iter().map(|row| row.share / 100.0 * f64::from(row.size)).sum();
        assert!(
            (usage.reads.bytes() / bytes - 1.0).abs() < 1e-9,
            "{} {bytes}",
            usage.reads.bytes()
        );
        assert!((usage.reads.random() - 1.0).abs() < 1e-9);
        assert_eq!(usage.touched, 1 << 30);
    }

    #[test]
    fn nothing_asked_is_nothing() {
        let usage = Usage::default();
        assert_eq!((usage.reads.bytes(), usage.reads.random()), (4096.0, 1.0));
        assert_eq!(usage.blocks(false), []);
    }

    /// 300 reads a second in sequence beside 100 at random: a quarter of all, and each load is what it is.
    #[test]
    fn loads_are_weighed_by_their_rates_and_keep_their_own_shares() {
        let of = |random| {
            let mut of = workload("file-server");
            let WorkloadKind::Access(access) = &mut of.spec.kind else { panic!("rows") };
            access.rows.iter_mut().for_each(|row| (row.read, row.random) = (100.0, random));
            VolumeLoad::of(&of, 1 << 30)
        };
        let mut usage = Usage::default();
        usage.add(of(0.0), 100.0);
        usage.add(of(100.0), 100.0);
        usage.add(of(0.0), 200.0);
        assert!((usage.reads.random() - 0.25).abs() < 1e-9);
        assert_eq!(usage.streams, 2);
        let own: Vec<(f64, f64)> =
            usage.loads.iter().map(|(load, rate)| (load.reads.random(), *rate)).collect();
        assert_eq!(own, [(0.0, 300.0), (1.0, 100.0)]);
    }

    /// 16 outstanding that think 1 ms and take about 1 ms stand for 8,000 a second; an open load asks for its own rate.
    #[test]
    fn closed_loads_stand_in_with_a_rate() {
        let mut spec = workload("file-server").spec;
        let think = clock::Ns::millis(1);
        spec.arrivals = Arrivals::Closed { depth: 16, think };
        let span = (clock::Ns::ZERO, clock::Ns::secs(1));
        assert!((rate(&spec, span, 1e-3) - 8000.0).abs() < 1e-6);
        let process = workload::Process::Fixed { rate: 70.0 };
        spec.arrivals = Arrivals::Open { process, limit: 256 };
        assert!((rate(&spec, span, 1e-3) - 70.0).abs() < 1e-9);
    }
}

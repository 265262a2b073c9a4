//! The load of a step on each volume: how much of it is touched, in which block sizes, random or sequential. Caches,
//! disks and RAID groups treat random and sequential I/O differently, and depend on how much of a volume is in use; all
//! workers of a step that share a volume are added up, weighted by their outstanding I/Os.

use super::cache::BlockSet;
use scenario::DiskWorkload;
use workload::{Dir, IoDemand, Skew, Spec, WorkloadKind};

/// The load on a volume, or on several together.
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
    /// Skew of random addresses: that of the workload with the most outstanding I/Os.
    skew: Option<(Skew, u64)>,
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

    /// Mean bytes of an I/O; 4 KiB without I/Os.
    pub fn bytes(&self) -> f64 {
        if self.weight > 0.0 { self.bytes / self.weight } else { 4096.0 }
    }

    /// Share of random I/Os, 0 to 1; 1 without I/Os.
    pub fn random(&self) -> f64 {
        if self.weight > 0.0 { (self.random / self.weight).clamp(0.0, 1.0) } else { 1.0 }
    }
}

impl Usage {
    /// Adds a worker that issues to `targets` targets, of which this volume of `size` bytes is one.
    pub fn add(&mut self, workload: &DiskWorkload, targets: usize, size: u64) {
        let spec = &workload.spec;
        let outstanding = u64::from(spec.outstanding_max());
        let here = outstanding as f64 / targets.max(1) as f64;
        let mut sequential = false;
        for kind in kinds(spec) {
            self.reads.add(here * kind.share * kind.read, kind.bytes(), kind.random);
            self.writes.add(here * kind.share * kind.write, kind.bytes(), kind.random);
            sequential |= kind.share > 0.0 && kind.random < 1.0;
        }
        self.without_data |= IoDemand::of(spec).without_data != [false; 3];
        // The slots of a worker share one sequential run: one stream, however many I/Os are outstanding.
        self.streams += u32::from(sequential);
        self.touched = self.touched.max(IoDemand::of(spec).reach.within(size));
        let skew = match &spec.kind {
            WorkloadKind::Access(access) => access.skew,
            WorkloadKind::Transaction(transaction) => transaction.table_skew,
        };
        if self.skew.is_none_or(|(_, most)| outstanding > most) {
            self.skew = Some((skew, outstanding));
        }
    }

    /// Adds a stream of a copy: `bytes` at a time, `depth` in flight, over a volume of `size` bytes.
    pub fn add_stream(&mut self, dir: Dir, bytes: u32, depth: u32, size: u64) {
        let mix = match dir {
            Dir::Read => &mut self.reads,
            _ => &mut self.writes,
        };
        mix.add(f64::from(depth), f64::from(bytes), 0.0);
        self.streams += 1;
        self.touched = self.touched.max(size);
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

    /// The blocks that are touched and how often: by writes alone, or by reads and writes.
    pub fn blocks(&self, writes_alone: bool) -> BlockSet {
        let (reads, writes) = (&self.reads, &self.writes);
        let mixes = [if writes_alone { &DirectionMix::default() } else { reads }, writes];
        let rate: f64 = mixes.iter().map(|mix| mix.weight).sum();
        let moved: f64 = mixes.iter().map(|mix| mix.bytes).sum();
        let bytes = if rate > 0.0 { (moved / rate).max(1.0) } else { reads.bytes() };
        BlockSet { skew: self.skew(), blocks: self.touched as f64 / bytes, bytes, rate }
    }

    /// Skew of random addresses.
    pub fn skew(&self) -> Skew {
        self.skew.map_or(Skew::Uniform, |(skew, _)| skew)
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
        usage.add(&of, 1, 1 << 30);
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
        assert_eq!(usage.skew(), Skew::Uniform);
    }
}

//! What a step asks of each volume: how much of it, in which blocks, in which order. Caches, disks and RAID groups work
//! differently for what is random and what is sequential, and by how much of a volume is in use; all workers of a step that
//! share a volume count together, each by how many I/Os it keeps outstanding.

use scenario::Workload;
use workload::{Demand, Dir, Skew, Spec, WorkloadKind};

/// What is asked of a volume, or of several together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Of what is read.
    pub reads: Mix,
    /// Of what is written.
    pub writes: Mix,
    /// Sequential streams that go on at once.
    pub streams: u32,
    /// Bytes from the start that are touched.
    pub touched: u64,
    /// How random addresses are distributed: that of the workload with the most outstanding.
    skew: Option<(Skew, u64)>,
}

/// I/Os of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mix {
    /// How many there are, in no unit of its own: weights against each other.
    pub weight: f64,
    /// Sum of weights times bytes.
    bytes: f64,
    /// Sum of weights of what is random.
    random: f64,
}

impl Mix {
    fn add(&mut self, weight: f64, bytes: f64, random: f64) {
        self.weight += weight;
        self.bytes += weight * bytes;
        self.random += weight * random;
    }

    /// Mean bytes of an I/O; a block of 4 KiB where there are none.
    pub fn bytes(&self) -> f64 {
        if self.weight > 0.0 { self.bytes / self.weight } else { 4096.0 }
    }

    /// Share of I/Os at random addresses, 0 to 1; all where there are none.
    pub fn random(&self) -> f64 {
        if self.weight > 0.0 { (self.random / self.weight).clamp(0.0, 1.0) } else { 1.0 }
    }
}

impl Usage {
    /// Adds a worker that issues to `targets` targets, of which this volume of `size` bytes is one.
    pub fn add(&mut self, workload: &Workload, targets: usize, size: u64) {
        let spec = &workload.spec;
        let outstanding = u64::from(spec.outstanding_max());
        let here = outstanding as f64 / targets.max(1) as f64;
        let mut sequential = false;
        for kind in kinds(spec) {
            self.reads.add(here * kind.share * kind.read, kind.bytes(), kind.random);
            self.writes.add(here * kind.share * (1.0 - kind.read), kind.bytes(), kind.random);
            sequential |= kind.share > 0.0 && kind.random < 1.0;
        }
        // The slots of a worker walk one run side by side: it is one stream, however many I/Os it has outstanding.
        self.streams += u32::from(sequential);
        self.touched = self.touched.max(Demand::of(spec).reach.within(size));
        let skew = match &spec.kind {
            WorkloadKind::Access(access) => access.skew,
            WorkloadKind::Transaction(transaction) => transaction.table_skew,
        };
        if self.skew.is_none_or(|(_, most)| outstanding > most) {
            self.skew = Some((skew, outstanding));
        }
    }

    /// Adds a stream of a copy: `bytes` at a time, `depth` under way, over the whole of a volume of `size` bytes.
    pub fn add_stream(&mut self, dir: Dir, bytes: u32, depth: u32, size: u64) {
        let mix = match dir {
            Dir::Read => &mut self.reads,
            Dir::Write => &mut self.writes,
        };
        mix.add(f64::from(depth), f64::from(bytes), 0.0);
        self.streams += 1;
        self.touched = self.touched.max(size);
    }

    /// The probability that an I/O of a sequential stream finds the disk's arm elsewhere, because another stream or a random
    /// I/O came between.
    pub fn interrupted(&self) -> f64 {
        let weight = self.reads.weight + self.writes.weight;
        if weight <= 0.0 || self.streams == 0 {
            return 0.0;
        }
        let random = (self.reads.random + self.writes.random) / weight;
        1.0 - (1.0 - random) / f64::from(self.streams)
    }

    /// How random addresses are distributed.
    pub fn skew(&self) -> Skew {
        self.skew.map_or(Skew::Uniform, |(skew, _)| skew)
    }
}

/// One kind of I/O of a workload.
struct Sort {
    share: f64,
    read: f64,
    random: f64,
    /// Equally often.
    sizes: Vec<u32>,
}

impl Sort {
    fn bytes(&self) -> f64 {
        let sum: f64 = self.sizes.iter().map(|size| f64::from(*size)).sum();
        sum / self.sizes.len().max(1) as f64
    }
}

fn kinds(spec: &Spec) -> Vec<Sort> {
    match &spec.kind {
        WorkloadKind::Access(access) => {
            let climbed = access.ladder.map(|ladder| ladder.sizes().collect::<Vec<u32>>());
            let row = |row: &workload::Row| Sort {
                share: row.share / 100.0,
                read: row.read / 100.0,
                random: row.random / 100.0,
                sizes: climbed.clone().unwrap_or_else(|| vec![row.size]),
            };
            access.rows.iter().map(row).collect()
        }
        WorkloadKind::Transaction(of) => {
            let (index, table) = (f64::from(of.index_pages), f64::from(of.table_pages));
            let all = (index + table).max(1.0);
            let read = (index + table * of.read / 100.0) / all;
            vec![Sort { share: 1.0, read, random: 1.0, sizes: vec![of.page] }]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::preset;

    fn workload(name: &str) -> Workload {
        let spec = preset(name).expect("a preset").spec();
        Workload { name: name.to_owned(), spec, workers: 1, verify: false, each_disk: false }
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

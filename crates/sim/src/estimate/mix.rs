//! The average of what a load issues: I/Os at once, pauses, shares of the classes and I/O sizes. Computed from a
//! workload's specification without random draws.

use super::bursts::Bursts;
use crate::model::{Load, Operations, Source};
use std::sync::Arc;
use workload::{
    Arrivals, Dir, Durability, Extent, Placement, Process, Regions, Row, Spec, WorkingSet,
    WorkloadKind,
};

const NS: f64 = 1e-9;

/// The averages of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadMix {
    /// Outstanding I/Os at most.
    pub customers: f64,
    /// Mean pause between an end and the next I/O, in seconds.
    pub think: f64,
    /// Squared coefficient of variation of the pause, or of the gap between arrivals; with bursts that of gaps with as
    /// variable a number of arrivals in a long time.
    pub scv: f64,
    /// Arrivals at two rates.
    pub bursts: Option<Bursts>,
    /// Arrivals a second, for an open load.
    pub rate: Option<f64>,
    /// How many such loads there are whose arrivals come evenly one after the other's; 1 where they know nothing of each other.
    pub in_turn: f64,
    /// One entry per class.
    pub parts: Vec<ClassMix>,
    /// The sizes of each class's I/Os.
    pub sizes: Vec<Arc<[SizeShare]>>,
}

/// I/Os of one size in a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeShare {
    /// Their bytes.
    pub bytes: u32,
    /// Alignment of their addresses.
    pub align: u32,
    /// Share of the class.
    pub share: f64,
    /// The bytes of the target that their addresses are among.
    pub region: (u64, u64),
}

/// Any address.
const ANYWHERE: (u64, u64) = (0, u64::MAX);

/// The averages of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassMix {
    /// Share of the load's I/Os.
    pub share: f64,
    /// Mean bytes.
    pub bytes: f64,
    /// Squared coefficient of variation of the bytes.
    pub scv: f64,
}

/// Computes the averages of a load.
pub fn mix(load: &Load) -> LoadMix {
    let constant = |shares: &[f64]| {
        let sum: f64 = shares.iter().sum();
        let parts = load.classes.iter().zip(shares).map(|(class, share)| ClassMix {
            share: if sum > 0.0 { share / sum } else { 0.0 },
            bytes: f64::from(class.bytes),
            scv: 0.0,
        });
        parts.collect()
    };
    let one = |bytes| -> Arc<[SizeShare]> {
        [SizeShare { bytes, align: bytes, share: 1.0, region: ANYWHERE }].into()
    };
    let sizes = || load.classes.iter().map(|class| one(class.bytes)).collect();
    match &load.source {
        Source::Closed { customers, think, shares } => LoadMix {
            customers: f64::from(*customers),
            think: think.mean() * 1e-12,
            scv: think.scv(),
            bursts: None,
            rate: None,
            in_turn: 1.0,
            parts: constant(shares),
            sizes: sizes(),
        },
        Source::Open { gap, limit, shares } => LoadMix {
            customers: f64::from(*limit),
            think: 0.0,
            scv: gap.scv(),
            bursts: None,
            rate: Some(1.0 / (gap.mean() * 1e-12).max(1e-12)),
            in_turn: 1.0,
            parts: constant(shares),
            sizes: sizes(),
        },
        Source::Operations(of) => operations(&of.spec, &of.place),
    }
}

/// Computes the averages of a worker.
fn operations(spec: &Spec, place: &Placement) -> LoadMix {
    let targets = place.targets.len();
    // Each begins at its part of the first gap.
    let in_turn = match spec.arrivals {
        Arrivals::Open { process: Process::Fixed { .. }, .. } => f64::from(place.sharers.max(1)),
        _ => 1.0,
    };
    let (pause, sides) = sides(&spec.kind);
    let (think, scv, rate) = match spec.arrivals {
        Arrivals::Closed { think, .. } => (think.0 as f64 * NS, 0.0, None),
        Arrivals::Open { process, .. } => match process {
            Process::Fixed { rate } => (0.0, 0.0, Some(rate)),
            Process::Poisson { rate } => (0.0, 1.0, Some(rate)),
            Process::Ramp { to, .. } => (0.0, 0.0, Some(to)),
            Process::Bursts { .. } => (
                0.0,
                process.dispersion(),
                Some(process.mean_rate(clock::Ns::ZERO, clock::Ns::ZERO)),
            ),
        },
    };
    let kinds = Operations::kinds(spec);
    let none: Arc<[SizeShare]> =
        [SizeShare { bytes: 0, align: 0, share: 1.0, region: ANYWHERE }].into();
    let of_target = |extent: &Extent| -> Vec<Arc<[SizeShare]>> {
        let region = region(spec, place, extent);
        let of_dir = [0, 1].map(|dir| sizes(&spec.kind, dir, region));
        let of_kind = |(dir, _): &(Dir, bool)| match dir {
            Dir::Read => of_dir[0].clone(),
            Dir::Write => of_dir[1].clone(),
            _ => none.clone(),
        };
        kinds.iter().map(of_kind).collect()
    };
    let shares = shares(spec, kinds, &sides);
    let count = targets.max(1) as f64;
    let side = |share: &ClassMix| ClassMix { share: share.share / count, ..*share };
    let parts = (0..targets).flat_map(|_| shares.iter().map(side));
    LoadMix {
        customers: f64::from(spec.outstanding_max()),
        // The pause after every so many operations is added to the pause after each.
        think: if rate.is_some() { 0.0 } else { think + pause },
        scv,
        bursts: Bursts::of(spec),
        rate,
        in_turn,
        parts: parts.collect(),
        sizes: place.targets.iter().flat_map(of_target).collect(),
    }
}

/// The share of each kind among all operations, flushes included, with its bytes.
fn shares(spec: &Spec, kinds: &[(Dir, bool)], sides: &[ClassMix; 2]) -> Vec<ClassMix> {
    let Durability { flush_every, fua } = spec.durability;
    let written = sides[1].share;
    let flushes = if flush_every > 0 { written / f64::from(flush_every) } else { 0.0 };
    let rows = match &spec.kind {
        WorkloadKind::Access(access) => access.rows.as_slice(),
        WorkloadKind::Transaction(_) => &[],
    };
    let whole: f64 = rows.iter().map(|row| row.share).sum();
    let of_rows = |share: fn(&Row) -> f64| {
        let sum: f64 = rows.iter().map(|row| row.share * share(row) / 100.0).sum();
        if whole > 0.0 { sum / whole } else { 0.0 }
    };
    let share = |(dir, forced): &(Dir, bool)| {
        let of_writes = if *forced { fua / 100.0 } else { 1.0 - fua / 100.0 };
        let mix = match dir {
            Dir::Read => sides[0],
            Dir::Write => ClassMix { share: written * of_writes, ..sides[1] },
            Dir::Trim => ClassMix { share: of_rows(|row| row.trim), ..ClassMix::default() },
            Dir::Zero => ClassMix { share: of_rows(|row| row.zeroes), ..ClassMix::default() },
            Dir::Flush => ClassMix { share: flushes, ..ClassMix::default() },
        };
        ClassMix { share: mix.share / (1.0 + flushes), ..mix }
    };
    kinds.iter().map(share).collect()
}

/// The bytes of a target that a worker's addresses are among.
fn region(spec: &Spec, place: &Placement, extent: &Extent) -> (u64, u64) {
    let all = match spec.working_set {
        None => extent.size,
        Some(WorkingSet::Bytes(bytes)) => bytes.min(extent.size),
        Some(WorkingSet::Percent(percent)) => (extent.size as f64 * percent / 100.0) as u64,
    };
    match spec.regions {
        Regions::Shared => (0, all),
        Regions::Own => {
            let each = all / u64::from(place.sharers.max(1));
            (each * u64::from(place.sharer), each * u64::from(place.sharer + 1))
        }
    }
}

/// The sizes of the reads (0) or the writes (1) of an operation.
fn sizes(kind: &WorkloadKind, dir: usize, region: (u64, u64)) -> Arc<[SizeShare]> {
    let mut all: Vec<SizeShare> = match kind {
        WorkloadKind::Access(access) => {
            let ladder: Option<Vec<u32>> = access.ladder.map(|ladder| ladder.sizes().collect());
            let of_row = |row: &Row| {
                let sizes = ladder.clone().unwrap_or_else(|| vec![row.size]);
                let side = [row.read, row.write()][dir];
                let (share, align) = (row.share * side / sizes.len().max(1) as f64, row.align);
                sizes.into_iter().map(move |bytes| SizeShare {
                    bytes,
                    align: if align == 0 { bytes } else { align },
                    share,
                    region,
                })
            };
            access.rows.iter().flat_map(of_row).filter(|size| size.share > 0.0).collect()
        }
        WorkloadKind::Transaction(of) => {
            vec![SizeShare { bytes: of.page, align: of.page, share: 1.0, region }]
        }
    };
    let sum: f64 = all.iter().map(|size| size.share).sum();
    all.iter_mut().for_each(|size| size.share /= sum);
    all.into()
}

/// The mean pause of an operation's row in seconds, and its reads and writes.
fn sides(kind: &WorkloadKind) -> (f64, [ClassMix; 2]) {
    match kind {
        WorkloadKind::Access(access) => {
            let whole: f64 = access.rows.iter().map(|row| row.share).sum();
            let ladder: Option<Vec<u32>> = access.ladder.map(|ladder| ladder.sizes().collect());
            let mut pause = 0.0;
            let mut sums = [[0.0; 3]; 2];
            for row in &access.rows {
                let share = if whole > 0.0 { row.share / whole } else { 0.0 };
                pause += share * row.delay.0 as f64 * NS / f64::from(row.burst.max(1));
                let one = [row.size];
                let sizes = ladder.as_deref().unwrap_or(&one);
                for (sum, of_side) in sums.iter_mut().zip([row.read, row.write()]) {
                    for size in sizes {
                        let weight = share * of_side / 100.0 / sizes.len().max(1) as f64;
                        let bytes = f64::from(*size);
                        sum[0] += weight;
                        sum[1] += weight * bytes;
                        sum[2] += weight * bytes * bytes;
                    }
                }
            }
            (pause, sums.map(part))
        }
        WorkloadKind::Transaction(of) => {
            let (index, table) = (f64::from(of.index_pages), f64::from(of.table_pages));
            let pages = (index + table).max(1.0);
            let reads = (index + table * of.read / 100.0) / pages;
            let bytes = f64::from(of.page);
            let side = |share: f64| ClassMix { share, bytes, scv: 0.0 };
            (0.0, [side(reads), side(1.0 - reads)])
        }
    }
}

/// From the sums of weights, of bytes and of squared bytes.
fn part([weight, first, second]: [f64; 3]) -> ClassMix {
    if weight <= 0.0 {
        return ClassMix::default();
    }
    let bytes = first / weight;
    let scv = if bytes > 0.0 { (second / weight / bytes / bytes - 1.0).max(0.0) } else { 0.0 };
    ClassMix { share: weight, bytes, scv }
}

//! How long commands take at the target, from the arrival of a command to the moment when the last of its answer is
//! with the socket: counted by each thread in cells of its own, by port and by logical unit.
//!
//! Counting is two loads and two stores. Cells are made at the first command of a thread for its port or unit, so that
//! a target with many units takes memory for those in use alone.

use clock::Ns;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Cells of an octave: a latency is known to within 1/32 of itself.
const FINE: u32 = 5;
/// The last octave ends beyond 18 minutes; what takes longer counts there.
const OCTAVES: usize = 36;
const CELLS: usize = (OCTAVES + 1) << FINE;

/// Latencies that were counted: how many commands took how long. Cells that are empty are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyCounts(Vec<(u16, u64)>);

/// Reads and writes of one port or unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// READ commands.
    pub reads: LatencyCounts,
    /// WRITE commands.
    pub writes: LatencyCounts,
}

/// The direction of a command whose latency is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimedWay {
    Read,
    Write,
}

/// What one thread counts for one port or unit.
#[derive(Debug, Default)]
pub(super) struct LatencyCells {
    reads: OnceLock<Box<[AtomicU64]>>,
    writes: OnceLock<Box<[AtomicU64]>>,
}

impl LatencyCounts {
    /// How many commands.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, n)| n).sum()
    }

    /// The latency that a share `p` (0 to 1) of the commands did not exceed, to within 1/32; `None` without any.
    pub fn percentile(&self, p: f64) -> Option<Ns> {
        let total = self.count();
        let wanted = ((p.clamp(0.0, 1.0) * total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let reached = |(_, n): &&(u16, u64)| {
            seen += n;
            seen >= wanted
        };
        self.0.iter().find(reached).map(|(cell, _)| Ns(highest(usize::from(*cell))))
    }

    /// Those that were counted after `earlier`.
    pub fn since(&self, earlier: &LatencyCounts) -> LatencyCounts {
        let mut before = earlier.0.iter().peekable();
        let left = self.0.iter().filter_map(|(cell, now)| {
            while before.next_if(|(other, _)| other < cell).is_some() {}
            let then = before.next_if(|(other, _)| other == cell).map_or(0, |(_, then)| *then);
            (*now > then).then(|| (*cell, now - then))
        });
        LatencyCounts(left.collect())
    }

    /// The sums of all threads' cells.
    fn of<'a>(threads: impl Iterator<Item = &'a Box<[AtomicU64]>> + Clone) -> LatencyCounts {
        let sum =
            |cell: usize| threads.clone().map(|cells| cells[cell].load(Ordering::Relaxed)).sum();
        let cells = (0..CELLS).map(|cell| (cell as u16, sum(cell)));
        match threads.clone().next() {
            None => LatencyCounts::default(),
            Some(_) => LatencyCounts(cells.filter(|(_, n)| *n > 0).collect()),
        }
    }
}

impl Latencies {
    /// Those that were counted after `earlier`.
    pub fn since(&self, earlier: &Latencies) -> Latencies {
        Latencies {
            reads: self.reads.since(&earlier.reads),
            writes: self.writes.since(&earlier.writes),
        }
    }

    /// What all threads counted.
    pub(super) fn total(threads: &[LatencyCells]) -> Latencies {
        Latencies {
            reads: LatencyCounts::of(threads.iter().filter_map(|cells| cells.reads.get())),
            writes: LatencyCounts::of(threads.iter().filter_map(|cells| cells.writes.get())),
        }
    }
}

impl LatencyCells {
    /// Cells for so many threads.
    pub fn of_threads(threads: usize) -> Box<[LatencyCells]> {
        (0..threads).map(|_| LatencyCells::default()).collect()
    }

    /// Counts a command; to be called by the thread of the cells alone.
    pub fn record(&self, way: TimedWay, took: Ns) {
        let cells = match way {
            TimedWay::Read => &self.reads,
            TimedWay::Write => &self.writes,
        };
        let cells = cells.get_or_init(|| (0..CELLS).map(|_| AtomicU64::new(0)).collect());
        let cell = &cells[index(took.0)];
        // No read-modify-write: there is one writer.
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

/// The cell of a latency: the first 32 hold one nanosecond each, then each octave has 32.
fn index(ns: u64) -> usize {
    if ns < 1 << FINE {
        return ns as usize;
    }
    let octave = ns.ilog2() - FINE;
    let within = (ns >> octave) as usize - (1 << FINE);
    (((octave as usize + 1) << FINE) + within).min(CELLS - 1)
}

/// The longest latency of a cell.
fn highest(index: usize) -> u64 {
    let (octave, within) = (index >> FINE, (index & ((1 << FINE) - 1)) as u64);
    match octave {
        0 => within,
        octave => ((within + (1 << FINE) + 1) << (octave - 1)) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_known_to_within_a_thirty_second_of_itself() {
        let mut rng = clock::Rng::keyed(1, &[]);
        let edges = (0..41).flat_map(|n| [(1u64 << n) - 1, 1 << n, (1 << n) + 1]);
        let drawn = (0..20_000).map(|n| rng.next_u64() >> (24 + n % 40));
        for ns in edges.chain(drawn).filter(|ns| *ns < 1 << 41) {
            let highest = highest(index(ns));
            assert!(highest >= ns && highest - ns <= ns / 32, "{ns} counts as {highest}");
            assert!(
                index(ns) == 0 || super::highest(index(ns) - 1) < ns,
                "{ns} is in the first cell that holds it"
            );
        }
        assert_eq!(index(u64::MAX), CELLS - 1, "what takes longer has a place");
    }

    #[test]
    fn percentiles_are_those_of_a_sorted_list() {
        let mut rng = clock::Rng::keyed(2, &[]);
        let threads = LatencyCells::of_threads(3);
        let mut all: Vec<u64> = (0..5000).map(|_| (rng.exp(300_000.0)) as u64).collect();
        for (n, took) in all.iter().enumerate() {
            threads[n % 3].record(TimedWay::Read, Ns(*took));
        }
        all.sort_unstable();
        let counted = Latencies::total(&threads);
        assert_eq!((counted.reads.count(), counted.writes.count()), (5000, 0));
        assert_eq!(counted.writes.percentile(0.5), None);
        for p in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let exact = all[((p * 5000.0_f64).ceil() as usize).max(1) - 1];
            let Some(Ns(found)) = counted.reads.percentile(p) else { panic!("there are some") };
            assert!(found >= exact && found - exact <= exact / 32, "{p}: {found}, exactly {exact}");
        }
    }

    #[test]
    fn what_came_since_is_told_apart() {
        let threads = LatencyCells::of_threads(1);
        let none = Latencies::total(&threads);
        threads[0].record(TimedWay::Write, Ns(1_000));
        let first = Latencies::total(&threads);
        assert_eq!(first.since(&none), first);
        threads[0].record(TimedWay::Write, Ns(9_000_000));
        let since = Latencies::total(&threads).since(&first);
        assert_eq!(since.writes.count(), 1);
        assert!(since.writes.percentile(0.5).is_some_and(|p| p >= Ns(9_000_000)));
    }
}

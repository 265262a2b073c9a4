//! The typed description of a workload, checked once when it is built.

use crate::TraceSpec;
use clock::Ns;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How far a sum of shares may be from 100: three thirds of 33.333% count as whole.
pub(crate) const SHARES_TOLERANCE: f64 = 0.001 + 1e-9;

/// What an operation does; fio's data direction. Only reads and writes move data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Dir {
    /// Data travels from the target to the initiator.
    Read,
    /// Data travels from the initiator to the target.
    Write,
    /// The range is deallocated: TRIM, UNMAP, discard, a punched hole.
    Trim,
    /// The range reads as zeroes afterwards, and no data travels: write zeroes, WRITE SAME.
    Zero,
    /// What was acknowledged before survives a loss of power afterwards: fdatasync, SYNCHRONIZE CACHE.
    Flush,
}

impl Dir {
    /// Those that move no data, in the order in which they are reported.
    pub const WITHOUT_DATA: [Dir; 3] = [Dir::Trim, Dir::Zero, Dir::Flush];

    /// Whether data travels.
    pub const fn moves_data(self) -> bool {
        matches!(self, Dir::Read | Dir::Write)
    }

    /// Whether the target may hold something else afterwards.
    pub const fn changes(self) -> bool {
        matches!(self, Dir::Write | Dir::Trim | Dir::Zero)
    }

    /// Several of them: `reads`, `trims`.
    pub const fn name(self) -> &'static str {
        match self {
            Dir::Read => "reads",
            Dir::Write => "writes",
            Dir::Trim => "trims",
            Dir::Zero => "zeroes",
            Dir::Flush => "flushes",
        }
    }

    /// The place of one that moves no data in [`Dir::WITHOUT_DATA`].
    pub const fn without_data(self) -> Option<usize> {
        match self {
            Dir::Read | Dir::Write => None,
            Dir::Trim => Some(0),
            Dir::Zero => Some(1),
            Dir::Flush => Some(2),
        }
    }
}

/// A workload: what one worker issues repeatedly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// What the operations are.
    pub kind: WorkloadKind,
    /// When they are issued.
    pub arrivals: Arrivals,
    /// The part of each target (from its start) that is touched; `None` = all of it.
    pub working_set: Option<WorkingSet>,
    /// Whether workers that share a target get disjoint regions or the whole target.
    pub regions: Regions,
    /// What is asked for so that writes survive a loss of power.
    #[serde(default)]
    pub durability: Durability,
    /// Each address of the working set is used exactly so many times, by all workers together; 0 = without end. Random
    /// addresses are then a new permutation in each pass.
    #[serde(default)]
    pub passes: u32,
    /// A trace that is replayed: then `kind` and `arrivals` are what it is on average, for those who draw no operations.
    #[serde(default)]
    pub trace: Option<Box<TraceSpec>>,
}

/// Flushes among the operations, and writes that wait for the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Durability {
    /// Each slot flushes the target of its last write after so many writes of its own; 0 = never.
    pub flush_every: u32,
    /// Share of writes with FUA (force unit access), in percent.
    pub fua: f64,
}

/// The type of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkloadKind {
    /// Iometer's access specification: 1 to 100 rows, chosen by their shares.
    Access(Access),
    /// oblLoad's model: dependent accesses to index and table pages.
    Transaction(Transaction),
}

/// Iometer's access specification with the address pattern of its random and sequential parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// 1 to 100 rows whose shares sum to 100%.
    pub rows: Vec<Row>,
    /// How random addresses are distributed.
    pub skew: Skew,
    /// Distance between the starts of sequential operations in bytes, at least the largest size and a multiple of
    /// every alignment; `None` = the operation's own length.
    pub stride: Option<u64>,
    /// When set, the block size climbs this ladder and every row's own size is ignored.
    pub ladder: Option<Ladder>,
}

/// One row of an access specification, as in Iometer's dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Transfer size in bytes.
    pub size: u32,
    /// Share of operations that this row describes, in percent.
    pub share: f64,
    /// Share of reads among these operations, in percent.
    pub read: f64,
    /// Share of trims among these operations, in percent; what is left after reads, trims and zeroes are writes.
    #[serde(default)]
    pub trim: f64,
    /// Share of operations that write zeroes without data, in percent.
    #[serde(default)]
    pub zeroes: f64,
    /// Share of random operations among these, in percent.
    pub random: f64,
    /// Pause after each burst.
    pub delay: Ns,
    /// Operations in a burst, at least 1.
    pub burst: u32,
    /// Alignment of addresses in bytes; 0 = aligned to `size`.
    pub align: u32,
    /// Size of the reply to a network request in bytes; unused for disks.
    pub reply: u32,
}

/// A block size that climbs from `from` to `to` by `factor`, after every `every` operations of a slot, cyclically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ladder {
    /// First size in bytes.
    pub from: u32,
    /// Last size in bytes.
    pub to: u32,
    /// At least 2.
    pub factor: u32,
    /// Operations at each size.
    pub every: u32,
}

/// How random addresses are distributed over the working set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Skew {
    /// Every block is equally likely.
    Uniform,
    /// Zipf with the exponent theta (0 < theta < 2, 1 included); popular blocks are scattered by a seeded permutation.
    Zipf(f64),
    /// Pareto with the shape h (0 < h < 1): a share 1-h of the accesses goes to a share h of the blocks, recursively.
    Pareto(f64),
    /// A share of the accesses (percent) goes to the first share of the blocks (percent).
    HotSpot {
        /// Accesses that hit the hot part, in percent.
        accesses: f64,
        /// The hot part, in percent of the working set.
        blocks: f64,
    },
}

/// When operations are issued.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arrivals {
    /// Each of `depth` slots issues its next operation once the previous one has completed and `think` has passed.
    Closed {
        /// Operations outstanding per worker, at least 1.
        depth: u32,
        /// Pause between a completion and the next issue.
        think: Ns,
    },
    /// Operations fall due by a clock, independent of the device; at most `limit` are outstanding at once.
    Open {
        /// How due times follow each other.
        process: Process,
        /// Most operations outstanding per worker.
        limit: u32,
    },
}

/// An arrival process; rates are operations a second per worker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Process {
    /// Equal gaps.
    Fixed {
        /// Operations a second.
        rate: f64,
    },
    /// Exponential gaps.
    Poisson {
        /// Mean operations a second.
        rate: f64,
    },
    /// A rate that changes linearly during `over`, then stays at `to`.
    Ramp {
        /// Operations a second at the start.
        from: f64,
        /// Operations a second at the end.
        to: f64,
        /// How long the change takes.
        over: Ns,
    },
    /// Exponential gaps at one of two rates: a two-state Markov-modulated Poisson process. Bursts and the time between
    /// them are exponential.
    Bursts {
        /// Mean operations a second in a burst.
        high: f64,
        /// Mean operations a second between bursts.
        low: f64,
        /// Mean length of a burst.
        burst: Ns,
        /// Mean time between bursts.
        pause: Ns,
    },
}

impl Process {
    /// Variance over mean of the arrivals in a long time: 0 where they are even, 1 for Poisson's, more where they come in
    /// bursts.
    pub fn dispersion(self) -> f64 {
        match self {
            Process::Fixed { .. } | Process::Ramp { .. } => 0.0,
            Process::Poisson { .. } => 1.0,
            Process::Bursts { high, low, burst, pause } => {
                let (leave, enter) = (1.0 / burst.as_secs_f64(), 1.0 / pause.as_secs_f64());
                let mean = self.mean_rate(Ns::ZERO, Ns::ZERO);
                let (both, apart) = (leave + enter, high - low);
                1.0 + 2.0 * apart * apart * leave * enter / (both * both * both * mean)
            }
        }
    }

    /// Mean operations a second from `start` on for `length`: the integral of the rate over the time.
    pub fn mean_rate(self, start: Ns, length: Ns) -> f64 {
        let (from, to, over) = match self {
            Process::Fixed { rate } | Process::Poisson { rate } => return rate,
            Process::Bursts { high, low, burst, pause } => {
                let (burst, pause) = (burst.0 as f64, pause.0 as f64);
                return (high * burst + low * pause) / (burst + pause).max(1.0);
            }
            Process::Ramp { from, to, over } => (from, to, over.as_secs_f64()),
        };
        // Operations from the start of the load until `t` seconds later.
        let until = |t: f64| {
            let climbing = t.min(over);
            let slope = if over > 0.0 { (to - from) / over } else { 0.0 };
            from * climbing + slope * climbing * climbing / 2.0 + to * (t - climbing)
        };
        let (start, length) = (start.as_secs_f64(), length.as_secs_f64());
        if length > 0.0 { (until(start + length) - until(start)) / length } else { 0.0 }
    }
}

/// A limit on the part of each target that is touched.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkingSet {
    /// This many bytes from the start.
    Bytes(u64),
    /// This share of the target, in percent.
    Percent(f64),
}

/// How workers share a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Regions {
    /// Each worker has an equal region of its own.
    Own,
    /// All workers use the whole target.
    Shared,
}

/// oblLoad's simulated database: a transaction walks an index (hot, few pages) and then touches a table (cold,
/// skewed). Each operation waits for the previous one; a worker runs one daemon for each slot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transaction {
    /// Page size in bytes.
    pub page: u32,
    /// Share of the working set that the index occupies, in percent.
    pub index: f64,
    /// Index pages read by a transaction.
    pub index_pages: u32,
    /// Table pages touched by a transaction.
    pub table_pages: u32,
    /// Skew of the index accesses.
    pub index_skew: Skew,
    /// Skew of the table accesses.
    pub table_skew: Skew,
    /// Share of reads among the table accesses, in percent; index accesses always read.
    pub read: f64,
}

/// Why a spec cannot be turned into a stream.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SpecError {
    /// A value that breaks a rule of the specification.
    #[error("{field}: {problem}")]
    Invalid {
        /// The field, as the scenario names it.
        field: &'static str,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// The worker has no targets.
    #[error("the worker has no targets; name at least one")]
    NoTargets,
    /// A length that is not a multiple of the target's logical block.
    #[error(
        "target {target} has logical blocks of {block} bytes, and {what} of {bytes} bytes is not a multiple of them"
    )]
    Misfit {
        /// Index of the target in the worker's list.
        target: u16,
        /// The item that has this length.
        what: &'static str,
        /// The length in bytes.
        bytes: u64,
        /// The target's logical block in bytes.
        block: u64,
    },
    /// The largest block does not fit into what the slot may touch.
    #[error("target {target} offers this slot {room} bytes, less than one block of {block} bytes")]
    TooSmall {
        /// Index of the target in the worker's list.
        target: u16,
        /// Bytes that the slot may touch.
        room: u64,
        /// Bytes that a block needs.
        block: u64,
    },
}

impl Ladder {
    /// The sizes in bytes, smallest first; empty if the ladder is invalid.
    pub fn sizes(self) -> impl Iterator<Item = u32> {
        let first = Some(self.from).filter(|from| (1..=self.to).contains(from));
        std::iter::successors(first, move |size| {
            size.checked_mul(self.factor.max(2)).filter(|next| *next <= self.to)
        })
    }
}

impl Row {
    /// All operations are of `size` bytes and aligned to it; `read` and `random` are percentages.
    pub const fn new(size: u32, read: f64, random: f64) -> Row {
        Row {
            size,
            share: 100.0,
            read,
            trim: 0.0,
            zeroes: 0.0,
            random,
            delay: Ns::ZERO,
            burst: 1,
            align: 0,
            reply: 0,
        }
    }

    /// Share of writes among these operations, in percent: what the other shares leave.
    pub fn write(&self) -> f64 {
        let left = 100.0 - self.read - self.trim - self.zeroes;
        // Thirds of 33.333% leave nothing.
        if left > SHARES_TOLERANCE { left } else { 0.0 }
    }
}

impl Access {
    /// Rows with uniformly random and with consecutive addresses.
    pub const fn new(rows: Vec<Row>) -> Access {
        Access { rows, skew: Skew::Uniform, stride: None, ladder: None }
    }
}

impl Arrivals {
    /// `depth` operations outstanding, without a pause.
    pub const fn closed(depth: u32) -> Arrivals {
        Arrivals::Closed { depth, think: Ns::ZERO }
    }
}

impl Spec {
    /// [`Access::new`] on the whole of every target.
    pub const fn access(rows: Vec<Row>, arrivals: Arrivals, regions: Regions) -> Spec {
        let kind = WorkloadKind::Access(Access::new(rows));
        let durability = Durability { flush_every: 0, fua: 0.0 };
        Spec { kind, arrivals, working_set: None, regions, durability, passes: 0, trace: None }
    }

    /// Operations that one worker may have outstanding: the depth, or the limit of an open loop.
    pub fn outstanding_max(&self) -> u32 {
        match self.arrivals {
            Arrivals::Closed { depth, .. } => depth,
            Arrivals::Open { limit, .. } => limit,
        }
    }

    /// Mean operations a second that an open loop offers from `start` on for `length`; `None` in a closed loop.
    pub fn offered(&self, start: Ns, length: Ns) -> Option<f64> {
        let Arrivals::Open { process, .. } = self.arrivals else { return None };
        let trace = self.trace.as_ref().and_then(|trace| trace.due_in(start, length));
        Some(trace.unwrap_or_else(|| process.mean_rate(start, length)))
    }

    /// Streams that one worker draws from: one a slot in a closed loop, one in an open loop.
    pub fn streams(&self) -> u32 {
        match self.arrivals {
            _ if self.trace.is_some() => 1,
            Arrivals::Closed { depth, .. } => depth,
            Arrivals::Open { .. } => 1,
        }
    }

    /// The size of every operation, where all have the same.
    pub fn uniform_size(&self) -> Option<u32> {
        match &self.kind {
            WorkloadKind::Access(Access { ladder: None, rows, .. }) => {
                let first = rows.first()?.size;
                rows.iter().all(|row| row.size == first).then_some(first)
            }
            WorkloadKind::Access(_) => None,
            WorkloadKind::Transaction(transaction) => Some(transaction.page),
        }
    }

    /// The largest operation, in bytes.
    pub fn largest(&self) -> u32 {
        match &self.kind {
            WorkloadKind::Access(access) => match access.ladder {
                Some(ladder) => ladder.to,
                None => access.rows.iter().map(|row| row.size).max().unwrap_or(0),
            },
            WorkloadKind::Transaction(transaction) => transaction.page,
        }
    }

    /// Operations in one transaction; `None` for a workload without transactions.
    pub fn ops_per_transaction(&self) -> Option<u32> {
        match self.kind {
            WorkloadKind::Access(_) => None,
            WorkloadKind::Transaction(t) => Some(t.index_pages.saturating_add(t.table_pages)),
        }
    }
}

//! Checks blocks that were read: sound ones cost a checksum and a comparison; faults are classified, counted, and reported in
//! detail while the ring to the control plane has room. Used by workers, and by the pass over a stored state.

use super::block::{BlockHeader, BlockReading, is_marked, stored_sum, sum};
use super::fault::{BlockContext, FaultKind, VerifyFault};
use super::state::TargetState;
use super::word::Age;
use clock::Ns;
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Faults that one examiner describes in detail; all are counted.
pub(crate) const DETAILS_MAX: usize = 16;

/// What one examiner has counted. One writer, and readers at any time.
#[derive(Debug, Default)]
pub(crate) struct ExaminerCounts {
    checked: AtomicU64,
    unknown: AtomicU64,
    written: AtomicU64,
    faults: [AtomicU64; FaultKind::ALL.len()],
}

impl ExaminerCounts {
    /// Blocks that were compared with what they must hold.
    pub fn checked(&self) -> u64 {
        self.checked.load(Ordering::Relaxed)
    }

    /// Blocks that were read and of which nothing was known.
    pub fn unknown(&self) -> u64 {
        self.unknown.load(Ordering::Relaxed)
    }

    /// Blocks whose write succeeded.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Faults of one kind.
    pub fn of(&self, kind: FaultKind) -> u64 {
        self.faults[kind as usize].load(Ordering::Relaxed)
    }

    pub fn add_written(&self, blocks: u64) {
        add(&self.written, blocks);
    }
}

/// Plain, because there is one writer.
fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// Examines blocks of some targets.
pub(crate) struct Examiner {
    targets: Box<[Arc<TargetState>]>,
    /// For each target, the identities of all others that are verified at the same time.
    others: Box<[Box<[u64]>]>,
    counts: Arc<ExaminerCounts>,
    faults: Producer<VerifyFault>,
    scratch: Box<[u8]>,
}

/// What comes out of an examiner, for the control plane.
pub(crate) struct Findings {
    pub counts: Arc<ExaminerCounts>,
    pub faults: Consumer<VerifyFault>,
}

/// What became of one block.
enum BlockVerdict {
    Right,
    Unknown,
    Wrong,
}

impl Examiner {
    /// An examiner of these targets, in the order that I/Os number them. `all` are the targets of the whole step.
    pub fn new(targets: &[Arc<TargetState>], all: &[Arc<TargetState>]) -> (Examiner, Findings) {
        let (faults, told) = RingBuffer::new(DETAILS_MAX);
        let counts = Arc::new(ExaminerCounts::default());
        let others = |state: &Arc<TargetState>| {
            all.iter().map(|s| s.id).filter(|id| *id != state.id).collect()
        };
        let block_max = targets.iter().map(|state| state.block).max().unwrap_or(0);
        let examiner = Examiner {
            targets: targets.into(),
            others: targets.iter().map(others).collect(),
            counts: counts.clone(),
            faults,
            scratch: vec![0; block_max as usize].into(),
        };
        (examiner, Findings { counts, faults: told })
    }

    /// The state of a target.
    #[inline]
    pub fn state(&self, target: u16) -> Option<&Arc<TargetState>> {
        self.targets.get(usize::from(target))
    }

    pub fn counts(&self) -> &ExaminerCounts {
        &self.counts
    }

    /// Examines what was read of a target from `offset` on. Whether nothing is wrong with it.
    pub fn examine(&mut self, target: u16, offset: u64, read: &[u8], now: Ns) -> bool {
        let Examiner { targets, others, counts, faults, scratch } = self;
        let number = usize::from(target);
        let (Some(state), Some(others)) = (targets.get(number), others.get(number)) else {
            return true;
        };
        let (mut checked, mut unknown, mut wrong) = (0, 0, 0);
        let addresses = (0..).map(|i| offset + i * u64::from(state.block));
        for (data, at) in read.chunks_exact(state.block as usize).zip(addresses) {
            match look(state, at, data) {
                BlockVerdict::Right => checked += 1,
                BlockVerdict::Unknown => unknown += 1,
                BlockVerdict::Wrong => {
                    wrong += 1;
                    let block = state.block_at(at);
                    let word = state.ledger.get(block);
                    if !state.ledger.note(block, word, word.accused()) {
                        continue;
                    }
                    let scene = BlockContext {
                        id: state.id,
                        block: state.block,
                        offset: at,
                        word,
                        at_least: state.at_least,
                        read,
                        read_at: offset,
                        others,
                    };
                    let fault = classify(&scene, target, data, scratch, now);
                    add(&counts.faults[fault.kind as usize], 1);
                    // If the ring is full the fault is only counted.
                    let _ = faults.push(fault);
                }
            }
        }
        add(&counts.checked, checked + wrong);
        add(&counts.unknown, unknown);
        wrong == 0
    }
}

#[cold]
fn classify(
    scene: &BlockContext,
    target: u16,
    data: &[u8],
    scratch: &mut [u8],
    now: Ns,
) -> VerifyFault {
    let (kind, found) = scene.classify(data, &mut scratch[..data.len()]);
    VerifyFault {
        at: now,
        target,
        offset: scene.offset,
        kind,
        expected: scene.word,
        found,
        stored_sum: stored_sum(data),
        sum: sum(data),
    }
}

/// Compares one block with what is known of it.
#[inline]
fn look(state: &TargetState, offset: u64, data: &[u8]) -> BlockVerdict {
    let block = state.block_at(offset);
    let word = state.ledger.get(block);
    if word.is_open() {
        return match word.is_zeroed() {
            true => look_at_zeroed(state, offset, data),
            false => look_at_open(state, offset, data),
        };
    }
    let BlockReading::Whole(header) = BlockReading::of(data) else { return BlockVerdict::Wrong };
    let age = if state.at_least {
        word.age_at_least(header.generation)
    } else {
        word.age(header.generation)
    };
    if header.id == state.id && header.offset == offset && age == Age::Fits {
        state.ledger.note(block, word, word.seen());
        BlockVerdict::Right
    } else {
        BlockVerdict::Wrong
    }
}

/// A block that must read as zeroes; after a power cut it may hold what was written later, too.
fn look_at_zeroed(state: &TargetState, offset: u64, data: &[u8]) -> BlockVerdict {
    match data.iter().all(|byte| *byte == 0) {
        true => BlockVerdict::Right,
        false if state.at_least => look_at_open(state, offset, data),
        false => BlockVerdict::Wrong,
    }
}

/// A block that may hold anything is still wrong where it holds what was written for another place, and it is right
/// where it holds one of the generations in doubt.
fn look_at_open(state: &TargetState, offset: u64, data: &[u8]) -> BlockVerdict {
    if !is_marked(data) || BlockHeader::parse(data).id != state.id {
        return BlockVerdict::Unknown;
    }
    let word = state.ledger.get(state.block_at(offset));
    match BlockReading::of(data) {
        BlockReading::Whole(header) if header.offset != offset => BlockVerdict::Wrong,
        BlockReading::Whole(header) => match word.age(header.generation) {
            Age::Fits => BlockVerdict::Right,
            Age::Unissued if !state.at_least => BlockVerdict::Wrong,
            _ => BlockVerdict::Unknown,
        },
        BlockReading::Broken => BlockVerdict::Unknown,
    }
}

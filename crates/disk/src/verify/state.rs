//! The verification state of one target: shared by its workers, kept from step to step.

use super::block::{BLOCK_MAX, BLOCK_MIN};
use super::ledger::{Ledger, WORD};
use super::memory::{RememberedState, StateMemory};
use super::state_file::{self, Loaded, StateFile, StateRequest};
use crate::surface::OpenTarget;
use clock::Rng;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use workload::Extent;

/// The verification state of one target.
#[derive(Debug)]
pub(crate) struct TargetState {
    /// The target's name and place, for messages.
    pub label: String,
    /// The identity that its blocks carry, which differs from that of every other state, however alike the runs.
    pub id: u64,
    /// Bytes of one verified block: the target's logical block.
    pub block: u32,
    /// What each block must hold.
    pub ledger: Ledger,
    /// When it was taken up in this run, in nanoseconds since the Unix epoch.
    pub since: u64,
    /// Only what was flushed before a power cut is certain: newer generations are as good, and writes are forbidden.
    pub at_least: bool,
    /// A trim of whole granules of so many bytes leaves zeroes; 0 = it may leave anything.
    pub trim_zeroes: AtomicU64,
    /// Where it outlives the process.
    pub kept: Option<StateFile>,
}

impl TargetState {
    /// An empty state, in memory.
    pub fn new(label: String, extent: Extent) -> Result<TargetState, String> {
        let blocks = blocks_of(extent)?;
        let ledger = Ledger::in_memory(blocks).map_err(|e| {
            format!("no memory for the verification state of {blocks} blocks ({e})")
        })?;
        let (id, since) = (new_id(), clock::wall_ns());
        Ok(TargetState {
            label,
            id,
            block: extent.block,
            ledger,
            since,
            at_least: false,
            trim_zeroes: AtomicU64::new(0),
            kept: None,
        })
    }

    /// The state that a target of this name has in memory that outlives this process.
    pub fn remembered(
        label: String,
        extent: Extent,
        name: &str,
        memory: &StateMemory,
    ) -> Result<(TargetState, StateFound), String> {
        let RememberedState { id, ledger, old } = memory.state(name, extent)?;
        let known = ledger.words().filter(|word| word.is_known()).count() as u64;
        let state = TargetState {
            label,
            id,
            block: extent.block,
            ledger,
            since: clock::wall_ns(),
            at_least: false,
            trim_zeroes: AtomicU64::new(0),
            kept: None,
        };
        Ok((state, StateFound { old, known, damaged: 0 }))
    }

    /// A state that is kept in a file, with its content. `flushed` asks for no more than what had been flushed.
    pub fn kept(
        label: String,
        extent: Extent,
        path: &Path,
        flushed: bool,
        target: OpenTarget,
    ) -> Result<(TargetState, StateFound), String> {
        let Extent { size, block } = extent;
        let blocks = blocks_of(extent)?;
        let request = StateRequest { path, size, block, blocks, flushed, id: new_id(), target };
        let Loaded { kept, ledger, id, at_least, damaged, old } = state_file::open(request)
            .map_err(|e| format!("its verification state {} {e}", path.display()))?;
        let known = ledger.words().filter(|word| word.is_known()).count() as u64;
        let found = StateFound { old, known, damaged };
        let since = clock::wall_ns();
        let (trim_zeroes, kept) = (AtomicU64::new(0), Some(kept));
        Ok((TargetState { label, id, block, ledger, since, at_least, trim_zeroes, kept }, found))
    }

    /// The target is about to be overwritten with something else.
    pub fn forget(&self) {
        for block in 0..self.ledger.len() {
            self.ledger.set(block, self.ledger.get(block).forgotten());
        }
    }

    /// Whether what was trimmed there reads as zeroes.
    pub fn trims_to_zeroes(&self, offset: u64, len: u32) -> bool {
        let granule = self.trim_zeroes.load(Ordering::Relaxed);
        granule > 0 && offset.is_multiple_of(granule) && u64::from(len).is_multiple_of(granule)
    }

    /// What is worth knowing about it, for the record's provenance.
    pub fn describe(&self) -> String {
        let blocks = self.ledger.len();
        format!(
            "{blocks} blocks of {} B, state of {} KiB",
            self.block,
            (blocks * WORD).div_ceil(1024)
        )
    }

    /// The number of the block at a byte offset.
    #[inline]
    pub fn block_at(&self, offset: u64) -> u64 {
        // Logical blocks of devices are powers of two, which `blocks_of` has made sure of.
        offset >> self.block.trailing_zeros()
    }
}

/// What a kept state knew when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateFound {
    /// The file was there before.
    pub old: bool,
    /// Blocks of which it is known what they must hold.
    pub known: u64,
    /// Sectors of its table that were damaged.
    pub damaged: u64,
}

/// The blocks of a target, or why they cannot be verified.
pub(crate) fn blocks_of(extent: Extent) -> Result<u64, String> {
    let Extent { size, block } = extent;
    if !block.is_power_of_two() || !(BLOCK_MIN..=BLOCK_MAX).contains(&block) {
        return Err(format!(
            "its logical block of {block} bytes cannot be verified, only powers of two from {BLOCK_MIN} to {BLOCK_MAX}"
        ));
    }
    Ok(size / u64::from(block))
}

/// An identity that no other state has: made of the moment and a count.
pub(crate) fn new_id() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let process = u64::from(std::process::id());
    Rng::keyed(clock::wall_ns(), &[clock::now().0, process, count]).next_u64()
}

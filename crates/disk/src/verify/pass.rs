//! A pass over a target with a stored state: every block is read once and checked before any load, as after a crash or a
//! power cut. It runs on the control plane.

use super::examiner::{Examiner, ExaminerCounts, Findings};
use super::report;
use super::state::TargetState;
use crate::Arena;
use crate::surface::ReadSurface;
use engine::{EventNote, Stop};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of one read.
const CHUNK: u32 = 1 << 20;

/// What a pass found.
pub(crate) struct Passed {
    pub counts: Arc<ExaminerCounts>,
    /// Blocks that could not be read, and the first error.
    pub unreadable: u64,
    pub first: Option<Errno>,
    /// Blocks that were to be read.
    pub blocks: u64,
    /// The first faults in words.
    pub notes: Vec<EventNote>,
    /// It was called off before its end.
    pub stopped: bool,
}

/// Reads the whole target.
pub(crate) fn pass(
    state: &Arc<TargetState>,
    source: ReadSurface<'_>,
    stop: &Stop,
) -> Result<Passed, String> {
    let block = u64::from(state.block);
    let arena = Arena::new(1, CHUNK.max(state.block)).map_err(|e| format!("no memory ({e})"))?;
    let base = arena.slot(0).ok_or("no memory")?;
    let room = arena.slot_bytes() as u64;
    // SAFETY: the slot is mapped and so long, and nothing else uses it.
    let buffer = unsafe { std::slice::from_raw_parts_mut(base, arena.slot_bytes()) };
    let (mut examiner, Findings { counts, mut faults }) =
        Examiner::new(std::slice::from_ref(state), std::slice::from_ref(state));
    let end = state.ledger.len() * block;
    let mut passed = Passed {
        counts,
        unreadable: 0,
        first: None,
        blocks: state.ledger.len(),
        notes: Vec::new(),
        stopped: false,
    };
    let mut at = 0;
    while at < end {
        if stop.asked() {
            passed.stopped = true;
            break;
        }
        let len = (end - at).min(room);
        let data = &mut buffer[..len as usize];
        if source.read_all(data, at).is_ok() {
            examiner.examine(0, at, data, clock::now());
        } else {
            // Block by block, so that one bad place hides no other.
            for (data, at) in
                data.chunks_exact_mut(state.block as usize).zip((at..).step_by(block as usize))
            {
                match source.read_all(data, at) {
                    Ok(()) => {
                        examiner.examine(0, at, data, clock::now());
                    }
                    Err(e) => {
                        passed.unreadable += 1;
                        passed.first.get_or_insert(e);
                    }
                }
            }
        }
        at += len;
    }
    while let Ok(fault) = faults.pop() {
        passed.notes.push(report::note(&fault, state, &BTreeMap::new()));
    }
    Ok(passed)
}

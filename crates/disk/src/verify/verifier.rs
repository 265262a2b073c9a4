//! Verification on a worker's thread: stamps what is written, checks what was read, and holds back what overlaps.
//!
//! At most one write is in flight for a block, and no read at the same time, so that the expected content of a read is
//! always known: I/Os wait in the batch until those that they overlap have completed.

use super::block::{BlockHeader, spoil};
use super::examiner::{Examiner, Findings};
use super::gate::RangeGate;
use super::report::{FaultLead, FaultReports};
use super::state::TargetState;
use crate::payload::{Payload, PayloadOpener};
use crate::{Arena, Completion, Io, IoBatch, OpenError};
use clock::Ns;
use engine::{Reports, WRONG_DATA};
use std::collections::BTreeMap;
use std::sync::Arc;
use workload::{Dir, Extent};

/// `EIO`: an operation that moved less than it should.
const EIO: i32 = 5;

/// A verifier before its thread exists: the payload of one worker.
pub struct VerifierSpec {
    /// The states of the worker's targets, in the order that I/Os number them.
    pub(crate) states: Vec<Arc<TargetState>>,
    /// Those of all targets that the step verifies.
    pub(crate) all: Vec<Arc<TargetState>>,
    /// Who writes, and in which step.
    pub(crate) worker: u32,
    pub(crate) step: u32,
    /// Bytes of its largest I/O.
    pub(crate) block_max: u32,
    /// What the pass before the load has counted, and the states whose blocks this worker's report sums up.
    pub(crate) lead: FaultLead,
    /// Names of the workers of this run, by number.
    pub(crate) writers: Arc<BTreeMap<u32, String>>,
}

impl VerifierSpec {
    /// Verification of targets that a queue of its own kind carries, for one worker and one step, with nothing known of
    /// them yet. The text says which target cannot be verified.
    /// # Errors
    /// A target's blocks cannot be verified, or memory is short.
    pub fn in_memory(
        targets: &[(&str, Extent)],
        block_max: u32,
    ) -> Result<VerifierSpec, OpenError> {
        let state = |(name, extent): &(&str, Extent)| {
            let target = (*name).to_owned();
            let state = TargetState::new(target.clone(), *extent);
            state.map(Arc::new).map_err(|problem| OpenError { target, problem })
        };
        let states: Vec<Arc<TargetState>> = targets.iter().map(state).collect::<Result<_, _>>()?;
        Ok(VerifierSpec {
            all: states.clone(),
            lead: FaultLead { states: states.clone(), pass: Vec::new() },
            states,
            worker: 0,
            step: 0,
            block_max,
            writers: Arc::default(),
        })
    }
}

struct Verifier {
    arena: Arena,
    examiner: Examiner,
    gate: RangeGate,
    slots: Box<[VerifySlot]>,
    stamp: Stamp,
    reports: Option<FaultReports>,
}

/// What all headers of a worker have in common.
struct Stamp {
    worker: u32,
    step: u32,
    /// Wall-clock time of the monotonic clock's zero.
    wall_zero: u64,
}

/// What one slot is doing.
#[derive(Clone, Copy)]
enum VerifySlot {
    Free,
    /// Admitted, and perhaps in flight.
    Busy(Io),
}

impl PayloadOpener for VerifierSpec {
    fn open(self: Box<Self>, arena: &Arena, slots: u32) -> Result<Box<dyn Payload>, OpenError> {
        let (examiner, Findings { counts, faults }) = Examiner::new(&self.states, &self.all);
        let states = self.states.into();
        let writers = self.writers;
        let reports = FaultReports { states, counts, faults, lead: self.lead, writers, told: 0 };
        Ok(Box::new(Verifier {
            arena: arena.clone(),
            examiner,
            gate: RangeGate::new(slots, self.block_max),
            slots: vec![VerifySlot::Free; slots as usize].into(),
            stamp: Stamp {
                worker: self.worker,
                step: self.step,
                wall_zero: clock::wall_ns().saturating_sub(clock::now().0),
            },
            reports: Some(reports),
        }))
    }
}

impl Payload for Verifier {
    fn admit(&mut self, batch: &mut IoBatch, now: Ns) -> usize {
        let Verifier { arena, examiner, gate, slots, stamp, .. } = self;
        batch.admit(|io| {
            let may_go = gate.admits(io);
            if may_go && let Some(slot) = slots.get_mut(io.slot as usize) {
                *slot = VerifySlot::Busy(*io);
                if let (Some(state), Some(buffer)) = (examiner.state(io.target), buffer(arena, io))
                {
                    prepare(state, io, buffer, stamp, now);
                }
            }
            may_go
        })
    }

    fn completed(&mut self, done: &mut [Completion], now: Ns) {
        for completion in done {
            let Some(slot) = self.slots.get_mut(completion.slot as usize) else { continue };
            // A queue that completes something twice is not to be believed the second time.
            let VerifySlot::Busy(io) = std::mem::replace(slot, VerifySlot::Free) else { continue };
            if completion.result.is_ok_and(|bytes| bytes != io.len) {
                completion.result = Err(EIO);
            }
            if completion.result.is_ok() && !self.conclude(&io, now) {
                completion.result = Err(WRONG_DATA);
            }
            self.gate.leave(completion.slot);
        }
    }

    fn reports(&mut self) -> Option<Box<dyn Reports>> {
        self.reports.take().map(|reports| Box::new(reports) as Box<dyn Reports>)
    }

    fn ended(&mut self, unsent: &[Io]) {
        for io in unsent.iter().filter(|io| io.dir == Dir::Write) {
            let Some(state) = self.examiner.state(io.target) else { continue };
            for block in blocks(state, io) {
                state.ledger.set(block, state.ledger.get(block).withdrawn());
            }
        }
    }
}

impl Verifier {
    /// Takes in an I/O that succeeded; whether it was right.
    fn conclude(&mut self, io: &Io, now: Ns) -> bool {
        match io.dir {
            Dir::Flush => true,
            Dir::Trim | Dir::Zero => {
                let Some(state) = self.examiner.state(io.target) else { return true };
                if io.dir == Dir::Zero || state.trims_to_zeroes(io.offset, io.len) {
                    for block in blocks(state, io) {
                        state.ledger.set(block, state.ledger.get(block).zeroed());
                    }
                }
                true
            }
            Dir::Write => {
                let Some(state) = self.examiner.state(io.target) else { return true };
                let mut written = 0;
                for block in blocks(state, io) {
                    state.ledger.set(block, state.ledger.get(block).settled());
                    written += 1;
                }
                self.examiner.counts().add_written(written);
                true
            }
            Dir::Read => match buffer(&mut self.arena, io) {
                Some(buffer) => self.examiner.examine(io.target, io.offset, buffer, now),
                None => true,
            },
        }
    }
}

/// Stamps the blocks of a write; makes those of a read fail unless data arrives in them.
fn prepare(state: &TargetState, io: &Io, buffer: &mut [u8], stamp: &Stamp, now: Ns) {
    match io.dir {
        Dir::Flush => return,
        Dir::Trim | Dir::Zero => {
            return blocks(state, io)
                .for_each(|block| state.ledger.set(block, state.ledger.get(block).emptied()));
        }
        Dir::Read | Dir::Write => {}
    }
    let places = buffer.chunks_exact_mut(state.block as usize).zip(blocks(state, io));
    if io.dir == Dir::Read {
        return places.for_each(|(data, _)| spoil(data));
    }
    let written = stamp.wall_zero.saturating_add(now.0);
    let count = io.len / state.block;
    for ((data, block), index) in places.zip(0..) {
        let word = state.ledger.get(block).issued();
        state.ledger.set(block, word);
        let header = BlockHeader {
            id: state.id,
            offset: io.offset + u64::from(index) * u64::from(state.block),
            generation: word.newest(),
            step: stamp.step,
            written,
            worker: stamp.worker,
            index,
            count,
        };
        header.stamp(data);
    }
}

/// The blocks that an I/O covers.
#[inline]
fn blocks(state: &TargetState, io: &Io) -> std::ops::Range<u64> {
    let first = state.block_at(io.offset);
    first..first + u64::from(io.len / state.block)
}

/// The buffer of an I/O that is not in flight.
#[inline]
fn buffer<'a>(arena: &'a mut Arena, io: &Io) -> Option<&'a mut [u8]> {
    let len = io.len as usize;
    let base = arena.slot(io.slot).filter(|_| len <= arena.slot_bytes())?;
    // SAFETY: the slot is mapped and at least `len` long. Its I/O has not been submitted or has completed, and the
    // worker's thread, which alone knows the arena, holds no other reference to it.
    Some(unsafe { std::slice::from_raw_parts_mut(base, len) })
}

//! Fresh data for every write: the payload of workers that write and do not verify.
//!
//! Generating all bytes for each I/O would cost more than many an I/O, so a buffer keeps its random bytes and only its
//! stamps are renewed: every sector of 512 bytes then differs from all others written, at a few nanoseconds a KiB. Data
//! that a read left in a buffer is overwritten from a template first. For repeated blocks, a block of 4 KiB keeps the
//! stamps of its last write from this buffer. Read data is not examined here.

use crate::content::{BLOCK, ContentMaker, SECTOR};
use crate::feed::IoBatch;
use crate::{Arena, Completion, Io, OpenError, Payload, PayloadOpener};
use clock::{Ns, Rng};
use workload::{Dir, Reduction};

/// Bytes of random data that one worker keeps to cover read data, at most; longer buffers repeat it.
const TEMPLATE_MAX: usize = 1 << 20;

/// A stamp that no block has been given yet.
const NONE: u64 = u64::MAX;

/// Purpose of the random stream that decides which blocks are repeated.
const REPEATS: u64 = 0x7265_7065;

/// Prepares what one worker writes.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// What data is like on each of the worker's targets.
    targets: Vec<Reduction>,
    salt: u64,
}

impl Fresh {
    /// Data of these kinds for a worker's targets, in their order. `salt` must differ from that of every other worker,
    /// step and run that writes to the same storage.
    pub fn new(targets: Vec<Reduction>, salt: u64) -> Fresh {
        Fresh { targets, salt }
    }
}

impl PayloadOpener for Fresh {
    fn open(self: Box<Self>, arena: &Arena, slots: u32) -> Result<Box<dyn Payload>, OpenError> {
        let mut kinds: Vec<Reduction> = Vec::new();
        let mut kind_of = |data: &Reduction| {
            kinds.iter().position(|kind| kind == data).unwrap_or_else(|| {
                kinds.push(*data);
                kinds.len() - 1
            })
        };
        let of_target = self.targets.iter().map(&mut kind_of).collect();
        let repeats = kinds.iter().any(|kind| kind.dedupe > 1.0);
        let blocks = arena.slot_bytes().div_ceil(BLOCK);
        let template = arena.slot_bytes().min(TEMPLATE_MAX);
        let kind = |(n, data)| FreshKind::new(data, self.salt, n as u64, template);
        Ok(Box::new(Writes {
            kinds: kinds.into_iter().enumerate().map(kind).collect(),
            of_target,
            slots: vec![SlotState { kind: 0, covered: 0 }; slots as usize],
            stamps: vec![NONE; if repeats { slots as usize * blocks } else { 0 }],
            blocks,
            next: 0,
            rng: Rng::keyed(self.salt, &[REPEATS]),
            arena: arena.clone(),
        }))
    }
}

struct Writes {
    arena: Arena,
    /// The kinds of data, without doubles.
    kinds: Vec<FreshKind>,
    /// The kind of each target.
    of_target: Vec<usize>,
    slots: Vec<SlotState>,
    /// The first stamp of each block of each slot, where blocks are repeated.
    stamps: Vec<u64>,
    /// Blocks of a slot.
    blocks: usize,
    /// The next stamp.
    next: u64,
    rng: Rng,
}

struct FreshKind {
    content: ContentMaker,
    template: Box<[u8]>,
    /// Of 2⁶⁴ blocks, how many are repeated.
    repeated: u64,
}

/// What a buffer holds.
#[derive(Clone, Copy)]
struct SlotState {
    kind: usize,
    /// Bytes from its start that hold random bytes of this kind.
    covered: usize,
}

impl Payload for Writes {
    fn admit(&mut self, batch: &mut IoBatch, _now: Ns) -> usize {
        batch.admit_all(|io| self.prepare(io))
    }

    fn completed(&mut self, _done: &mut [Completion], _now: Ns) {}
}

impl FreshKind {
    fn new(data: Reduction, salt: u64, stream: u64, template: usize) -> FreshKind {
        let content = ContentMaker::new(data, salt);
        let mut bytes = vec![0; template].into_boxed_slice();
        for (n, block) in (0..).zip(bytes.chunks_mut(BLOCK)) {
            content.noise(stream << 32 | n, block);
        }
        let repeated = if data.dedupe > 1.0 { 1.0 - 1.0 / data.dedupe } else { 0.0 };
        FreshKind { content, template: bytes, repeated: (repeated * (u64::MAX as f64)) as u64 }
    }
}

impl Writes {
    fn prepare(&mut self, io: &Io) {
        let (Some(slot), Some(base)) =
            (self.slots.get_mut(io.slot as usize), self.arena.slot(io.slot))
        else {
            return;
        };
        match io.dir {
            Dir::Write => {}
            Dir::Flush => return,
            // A queue may need the buffer for a parameter list.
            Dir::Read | Dir::Trim | Dir::Zero => {
                slot.covered = 0;
                return;
            }
        }
        let kind = self.of_target.get(usize::from(io.target)).copied().unwrap_or(0);
        let len = (io.len as usize).min(self.arena.slot_bytes());
        // SAFETY: the buffer is mapped and at least `len` long, and its I/O has not been submitted yet.
        let buffer = unsafe { std::slice::from_raw_parts_mut(base, len) };
        if slot.kind != kind {
            *slot = SlotState { kind, covered: 0 };
            self.forget(io.slot);
        }
        self.cover(io.slot, kind, buffer);
        match self.kinds[kind].repeated {
            0 => {
                self.kinds[kind].content.stamp(self.next, buffer);
                self.next += len.div_ceil(SECTOR) as u64;
            }
            repeated => self.stamp_some(io.slot, kind, repeated, buffer),
        }
    }

    /// Covers what a read, or another kind of data, has left in a buffer.
    fn cover(&mut self, slot: u32, kind: usize, buffer: &mut [u8]) {
        let slot = &mut self.slots[slot as usize];
        if slot.covered < buffer.len() {
            let template = &self.kinds[kind].template;
            for part in buffer.chunks_mut(template.len()) {
                part.copy_from_slice(&template[..part.len()]);
            }
            slot.covered = buffer.len();
        }
    }

    /// Stamps a buffer's blocks, some of them as they were stamped last time.
    fn stamp_some(&mut self, slot: u32, kind: usize, repeated: u64, buffer: &mut [u8]) {
        let first = slot as usize * self.blocks;
        for (stamp, block) in self.stamps[first..].iter_mut().zip(buffer.chunks_mut(BLOCK)) {
            if *stamp == NONE || self.rng.next_u64() >= repeated {
                *stamp = self.next;
                self.next += (BLOCK / SECTOR) as u64;
            }
            self.kinds[kind].content.stamp(*stamp, block);
        }
    }

    /// A buffer's blocks are of another kind from now on.
    fn forget(&mut self, slot: u32) {
        let first = slot as usize * self.blocks;
        let stamps = self.stamps.get_mut(first..first + self.blocks);
        stamps.into_iter().for_each(|stamps| stamps.fill(NONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    const LEN: u32 = 16 << 10;

    /// What `n` I/Os write from one slot, every other one a read where `mixed`; with the target of each.
    fn written(kinds: &[Reduction], mixed: bool, n: u32) -> Vec<Vec<u8>> {
        let arena = Arena::new(2, LEN).expect("memory");
        let fresh = Box::new(Fresh::new(kinds.to_vec(), 7));
        let mut payload = fresh.open(&arena, 2).expect("a payload");
        let base = arena.slot(1).expect("a slot");
        // SAFETY: the slot is mapped and `LEN` long, and nothing else uses it in this test.
        let buffer = || unsafe { std::slice::from_raw_parts_mut(base, LEN as usize) };
        let mut all = Vec::new();
        for i in 0..n {
            if mixed {
                admit(&mut *payload, Dir::Read, 0, LEN);
                buffer().fill(i as u8);
            }
            // Lengths differ, so that a buffer is covered in part.
            let len = LEN >> (i % 3);
            admit(&mut *payload, Dir::Write, (i % kinds.len() as u32) as u16, len);
            all.push(buffer()[..len as usize].to_vec());
        }
        all
    }

    fn admit(payload: &mut dyn Payload, dir: Dir, target: u16, len: u32) {
        let mut batch = IoBatch::of(Io { fua: false, slot: 1, dir, target, offset: 0, len });
        assert_eq!(payload.admit(&mut batch, Ns::ZERO), 1);
        payload.completed(&mut [Completion { slot: 1, result: Ok(len) }], Ns::ZERO);
    }

    fn count(all: &[Vec<u8>], granularity: usize) -> (usize, usize) {
        let mut seen: HashMap<&[u8], u32> = HashMap::new();
        let parts = || all.iter().flat_map(|io| io.chunks(granularity));
        parts().for_each(|part| *seen.entry(part).or_default() += 1);
        (parts().count(), seen.len())
    }

    fn data(compress: f64, dedupe: f64) -> Reduction {
        Reduction { compress, dedupe }
    }

    #[test]
    fn every_sector_differs_from_all_others_whatever_was_read_in_between() {
        for kinds in [&[data(1.0, 1.0)][..], &[data(4.0, 1.0), data(1.0, 1.0), data(4.0, 1.0)]] {
            for mixed in [false, true] {
                let (sectors, different) = count(&written(kinds, mixed, 300), SECTOR);
                assert_eq!(sectors, different);
            }
        }
    }

    #[test]
    fn nothing_that_was_read_is_written_back() {
        for io in written(&[data(1.0, 1.0)], true, 30) {
            let runs = io.chunks(64).filter(|part| part.iter().all(|b| *b == part[0]));
            assert_eq!(runs.count(), 0);
        }
    }

    #[test]
    fn compressible_data_keeps_its_zeros() {
        for io in written(&[data(2.0, 1.0)], true, 30) {
            let zeros = io.iter().filter(|b| **b == 0).count() as f64 / io.len() as f64;
            assert!((zeros - 0.5).abs() < 0.03, "{zeros}");
        }
    }

    #[test]
    fn blocks_are_repeated_as_often_as_was_asked_for() {
        for asked in [1.25, 2.0, 4.0] {
            for mixed in [false, true] {
                let (blocks, different) = count(&written(&[data(1.0, asked)], mixed, 3000), BLOCK);
                let ratio = blocks as f64 / different as f64;
                assert!((ratio / asked - 1.0).abs() < 0.1, "{ratio} instead of {asked}");
            }
        }
    }

    #[test]
    fn other_workers_write_other_data() {
        let arena = Arena::new(1, LEN).expect("memory");
        let mut stamps = Vec::new();
        for salt in [1, 2, 3] {
            let fresh = Box::new(Fresh::new(vec![Reduction::default()], salt));
            let mut payload = fresh.open(&arena, 1).expect("a payload");
            let mut batch = IoBatch::of(Io {
                slot: 0,
                dir: Dir::Write,
                target: 0,
                offset: 0,
                len: 512,
                fua: false,
            });
            payload.admit(&mut batch, Ns::ZERO);
            let base = arena.slot(0).expect("a slot");
            // SAFETY: the slot is mapped and longer than a sector, and nothing else uses it in this test.
            stamps.push(unsafe { std::slice::from_raw_parts(base, SECTOR) }.to_vec());
        }
        assert!(stamps[0] != stamps[1] && stamps[1] != stamps[2] && stamps[0] != stamps[2]);
    }
}

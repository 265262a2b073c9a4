//! Which I/Os of a worker may be in flight together: never two that overlap, unless both read. The others wait in arrival
//! order, so that a stream of reads cannot starve a write.
//!
//! Ranges are found by a hash of the stretches that they touch. A stretch is at least as long as the largest I/O, so an
//! I/O touches two at most. Each bucket is a list in order of arrival.

use crate::Io;
use workload::Dir;

/// No entry.
const NONE: u32 = u32::MAX;

/// The I/Os of one worker that wait or are in flight.
pub(crate) struct RangeGate {
    /// The logarithm of a stretch's length.
    shift: u32,
    buckets: Box<[Bucket]>,
    /// Two a slot, for its first and its last stretch.
    entries: Box<[GateEntry]>,
    ranges: Box<[Option<GateRange>]>,
}

#[derive(Clone, Copy)]
struct Bucket {
    head: u32,
    tail: u32,
}

#[derive(Clone, Copy)]
struct GateEntry {
    bucket: u32,
    before: u32,
    after: u32,
}

#[derive(Clone, Copy)]
struct GateRange {
    target: u16,
    dir: Dir,
    start: u64,
    end: u64,
}

impl GateRange {
    fn excludes(&self, other: &GateRange) -> bool {
        self.target == other.target
            && self.start < other.end
            && other.start < self.end
            && (self.dir, other.dir) != (Dir::Read, Dir::Read)
    }
}

impl RangeGate {
    /// A gate for so many slots and I/Os of at most `block_max` bytes.
    pub fn new(slots: u32, block_max: u32) -> RangeGate {
        let slots = slots.max(1) as usize;
        let empty = Bucket { head: NONE, tail: NONE };
        let unused = GateEntry { bucket: NONE, before: NONE, after: NONE };
        RangeGate {
            shift: u64::from(block_max.max(1)).next_power_of_two().trailing_zeros(),
            buckets: vec![empty; (slots * 4).next_power_of_two()].into(),
            entries: vec![unused; slots * 2].into(),
            ranges: vec![None; slots].into(),
        }
    }

    /// Whether this I/O may go now. It is remembered until [`RangeGate::leave`], whatever the answer.
    pub fn admits(&mut self, io: &Io) -> bool {
        let Some(place) = self.ranges.get(io.slot as usize) else { return false };
        let range = match place {
            Some(range) => *range,
            None => self.enter(io),
        };
        let first = io.slot * 2;
        (first..first + 2).all(|entry| self.is_first(entry, &range))
    }

    /// The I/O of this slot is over.
    pub fn leave(&mut self, slot: u32) {
        let Some(place) = self.ranges.get_mut(slot as usize) else { return };
        if place.take().is_some() {
            self.unlink(slot * 2);
            self.unlink(slot * 2 + 1);
        }
    }

    fn enter(&mut self, io: &Io) -> GateRange {
        let end = io.offset.saturating_add(io.len.into());
        let range = GateRange { target: io.target, dir: io.dir, start: io.offset, end };
        self.ranges[io.slot as usize] = Some(range);
        let last = end.saturating_sub(1).max(io.offset);
        let (first, last) = (io.offset >> self.shift, last >> self.shift);
        self.link(io.slot * 2, self.bucket(io.target, first));
        if last != first {
            self.link(io.slot * 2 + 1, self.bucket(io.target, last));
        }
        range
    }

    fn bucket(&self, target: u16, stretch: u64) -> u32 {
        let key = stretch ^ u64::from(target) << 48;
        let hash = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 32;
        hash as u32 & (self.buckets.len() - 1) as u32
    }

    /// Whether nothing that stands before an entry excludes the range.
    fn is_first(&self, entry: u32, range: &GateRange) -> bool {
        let GateEntry { bucket, .. } = self.entries[entry as usize];
        if bucket == NONE {
            return true;
        }
        let mut at = self.buckets[bucket as usize].head;
        while at != NONE && at / 2 != entry / 2 {
            match &self.ranges[at as usize / 2] {
                Some(earlier) if earlier.excludes(range) => return false,
                _ => at = self.entries[at as usize].after,
            }
        }
        true
    }

    fn link(&mut self, entry: u32, bucket: u32) {
        let Bucket { head, tail } = &mut self.buckets[bucket as usize];
        let before = std::mem::replace(tail, entry);
        match before {
            NONE => *head = entry,
            before => self.entries[before as usize].after = entry,
        }
        self.entries[entry as usize] = GateEntry { bucket, before, after: NONE };
    }

    fn unlink(&mut self, entry: u32) {
        let unused = GateEntry { bucket: NONE, before: NONE, after: NONE };
        let GateEntry { bucket, before, after } =
            std::mem::replace(&mut self.entries[entry as usize], unused);
        if bucket == NONE {
            return;
        }
        match before {
            NONE => self.buckets[bucket as usize].head = after,
            before => self.entries[before as usize].after = after,
        }
        match after {
            NONE => self.buckets[bucket as usize].tail = before,
            after => self.entries[after as usize].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn io(slot: u32, dir: Dir, offset: u64, len: u32) -> Io {
        Io { fua: false, slot, dir, target: 0, offset, len }
    }

    #[test]
    fn overlapping_writes_go_one_after_the_other_in_their_order() {
        let mut gate = RangeGate::new(4, 8192);
        let ios = [
            io(0, Dir::Write, 4096, 8192),
            io(1, Dir::Write, 8192, 4096),
            io(2, Dir::Read, 8192, 512),
            io(3, Dir::Read, 8704, 512),
        ];
        assert_eq!(ios.map(|io| gate.admits(&io)), [true, false, false, false]);
        assert_eq!(ios.map(|io| gate.admits(&io)), [true, false, false, false], "asked again");
        gate.leave(0);
        assert_eq!([1, 2, 3].map(|i| gate.admits(&ios[i])), [true, false, false]);
        gate.leave(1);
        assert_eq!([2, 3].map(|i| gate.admits(&ios[i])), [true, true], "reads share");
        gate.leave(2);
        assert!(!gate.admits(&io(0, Dir::Write, 0, 8192 + 1024)));
        gate.leave(3);
        gate.leave(3);
        assert!(gate.admits(&io(0, Dir::Write, 0, 8192 + 1024)));
    }

    #[test]
    fn a_waiting_write_holds_back_later_reads() {
        let mut gate = RangeGate::new(3, 4096);
        assert!(gate.admits(&io(0, Dir::Read, 0, 4096)));
        assert!(!gate.admits(&io(1, Dir::Write, 0, 4096)));
        assert!(!gate.admits(&io(2, Dir::Read, 0, 4096)));
        gate.leave(0);
        assert!(gate.admits(&io(1, Dir::Write, 0, 4096)));
        assert!(!gate.admits(&io(2, Dir::Read, 0, 4096)));
    }

    #[test]
    fn other_targets_and_neighbours_do_not_wait() {
        let mut gate = RangeGate::new(4, 4096);
        assert!(gate.admits(&io(0, Dir::Write, 4096, 4096)));
        assert!(gate.admits(&io(1, Dir::Write, 0, 4096)));
        assert!(gate.admits(&io(2, Dir::Write, 8192, 4096)));
        assert!(gate.admits(&Io { target: 1, ..io(3, Dir::Write, 4096, 4096) }));
        assert!(!gate.admits(&io(4, Dir::Read, 1 << 40, 4096)), "there is no such slot");
    }

    proptest! {
        /// Against the plain rule: an I/O goes if and only if no earlier one that it excludes is still there.
        #[test]
        fn it_is_the_plain_rule(
            steps in prop::collection::vec((0u32..16, any::<bool>(), 0u64..40, 1u32..9, any::<bool>()), 1..200)
        ) {
            let mut gate = RangeGate::new(16, 8 * 512);
            let mut present: Vec<Io> = Vec::new();
            for (slot, write, block, blocks, leave) in steps {
                if let Some(at) = present.iter().position(|io| io.slot == slot) {
                    if leave {
                        present.remove(at);
                        gate.leave(slot);
                    }
                } else {
                    let dir = if write { Dir::Write } else { Dir::Read };
                    let target = (block % 2) as u16;
                    present.push(Io { fua: false,  slot, dir, target, offset: block * 512, len: blocks * 512 });
                }
                for (i, io) in present.iter().enumerate() {
                    let excludes = |other: &Io| {
                        io.target == other.target
                            && io.offset < other.offset + u64::from(other.len)
                            && other.offset < io.offset + u64::from(io.len)
                            && (io.dir, other.dir) != (Dir::Read, Dir::Read)
                    };
                    prop_assert_eq!(gate.admits(io), !present[..i].iter().any(excludes));
                }
            }
        }
    }
}

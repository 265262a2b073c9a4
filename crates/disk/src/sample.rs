//! Sampling: reads a thousand blocks spread over what a workload touches.
//!
//! One block is drawn from each of a thousand equal parts, so that none is read twice. They are read in ten rounds that each
//! span the whole, so that stopping early on a slow device still gives an even picture. Reads bypass the page cache where the
//! file system allows it; 4 MiB in all is too little to warm any cache that matters. Nothing is written here.

use crate::Arena;
use crate::content::{BLOCK, BlockOrigin, ContentMaker, SECTOR};
use crate::surface::ReadSurface;
use clock::{Ns, Rng};
use engine::Stop;
use record::Sampling;
use rustix::fd::BorrowedFd;
use rustix::fs::{Advice, SeekFrom, fadvise, seek};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;

/// Blocks to sample.
const SAMPLES: u64 = 1000;

/// Rounds over the whole target; each looks at every tenth part.
const ROUNDS: usize = 10;

/// Time limit; sampling stops with what it has then.
const BUDGET: Ns = Ns::secs(3);

/// Purpose of the random stream that draws the blocks.
const SAMPLING: u64 = 0x7361_6d70;

pub(crate) struct SampleSpec<'a> {
    pub from: ReadSurface<'a>,
    /// A file: its file system knows what was never written.
    pub file: bool,
    /// Reads go through the page cache, from which they are then removed.
    pub cached: bool,
    /// Bytes from the target's start.
    pub over: u64,
    /// Its logical block in bytes.
    pub align: u32,
    pub seed: u64,
    /// The content that is wanted there: its own blocks may repeat.
    pub content: ContentMaker,
}

/// What was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleResult {
    pub sampling: Sampling,
    /// Blocks of ours, made for the ratios that are wanted.
    pub ours: u32,
    /// Blocks of ours, made for other ratios.
    pub others: u32,
}

impl SampleResult {
    /// Whether everything that was seen is data like no other, and reducible as far as is wanted.
    pub fn is_filled_with(&self, content: &ContentMaker) -> bool {
        let Sampling { blocks, .. } = self.sampling;
        let sound = blocks > 0 && self.sampling.sound() == blocks && self.others == 0;
        sound && (content.is_plain() || self.ours == blocks)
    }
}

/// Looks at samples; fewer where time is up, reads fail or `stop` is set. An error where no block could be read.
pub(crate) fn sample(spec: &SampleSpec, stop: &Stop) -> Result<SampleResult, Errno> {
    let block = (spec.align.max(BLOCK as u32)).next_multiple_of(spec.align.max(1));
    let arena = Arena::new(1, block).map_err(|_| Errno::NOMEM)?;
    let base = arena.slot(0).ok_or(Errno::NOMEM)?;
    // SAFETY: the slot is mapped, `block` long, and used by nothing else.
    let buffer = unsafe { std::slice::from_raw_parts_mut(base, block as usize) };
    let mut tally = SampleCounts::default();
    let limit = clock::now().plus(BUDGET);
    for at in places(spec.seed, spec.over / u64::from(block)) {
        if stop.asked() || clock::now() >= limit {
            break;
        }
        let at = at * u64::from(block);
        if let (true, ReadSurface::Fd(fd)) = (spec.file, spec.from)
            && is_hole(fd, at, block.into())
        {
            tally.unwritten += 1;
            continue;
        }
        match spec.from.read_all(buffer, at) {
            Ok(()) => tally.add(buffer, &spec.content),
            Err(e) if tally.blocks() == 0 => return Err(e),
            // The load will meet it, too, and count it.
            Err(_) => break,
        }
        if let (true, ReadSurface::Fd(fd)) = (spec.cached, spec.from) {
            let _ = fadvise(fd, at, NonZeroU64::new(block.into()), Advice::DontNeed);
        }
    }
    Ok(tally.seen(block, spec.over))
}

/// The numbers of the blocks to look at, in the order in which they are read; all of them where there are few.
fn places(seed: u64, blocks: u64) -> impl Iterator<Item = u64> {
    let mut rng = Rng::keyed(seed, &[SAMPLING]);
    let parts = SAMPLES.min(blocks);
    let bound = move |part: u64| {
        // At most `blocks`, since `part` is at most `parts`.
        (u128::from(blocks) * u128::from(part) / u128::from(parts.max(1))) as u64
    };
    let rounds = (0..ROUNDS as u64).flat_map(move |round| (round..parts).step_by(ROUNDS));
    rounds.map(move |part| bound(part) + rng.below(bound(part + 1) - bound(part)))
}

/// Whether the file system knows that nothing was ever written to a block.
fn is_hole(fd: BorrowedFd<'_>, at: u64, len: u64) -> bool {
    match seek(fd, SeekFrom::Data(at)) {
        Ok(data) => data >= at + len,
        // No data from here to the end. Other errors mean that the file system keeps no such knowledge.
        Err(e) => e == Errno::NXIO,
    }
}

/// Counts as they come together.
#[derive(Default)]
struct SampleCounts {
    unwritten: u32,
    zero: u32,
    ours: u32,
    others: u32,
    /// Blocks that are all alike in themselves.
    uniform: u32,
    /// Blocks that may be repeated on purpose.
    exempt: u32,
    /// How often each other content was seen.
    contents: BTreeMap<u64, u32>,
}

impl SampleCounts {
    fn add(&mut self, block: &[u8], wanted: &ContentMaker) {
        if block.iter().all(|byte| *byte == 0) {
            self.zero += 1;
            return;
        }
        let origin = wanted.origin(block);
        self.ours += u32::from(origin == BlockOrigin::Ours);
        self.others += u32::from(origin == BlockOrigin::OtherRatios);
        if origin == BlockOrigin::Ours && wanted.repeats() {
            self.exempt += 1;
            return;
        }
        let (first, rest) = block.split_at(SECTOR.min(block.len()));
        if !rest.is_empty() && rest.chunks(SECTOR).all(|sector| sector == first) {
            self.uniform += 1;
            return;
        }
        let mut hasher = DefaultHasher::new();
        block.hash(&mut hasher);
        *self.contents.entry(hasher.finish()).or_default() += 1;
    }

    fn blocks(&self) -> u32 {
        let different: u32 = self.contents.values().sum();
        self.unwritten + self.zero + self.uniform + self.exempt + different
    }

    fn seen(&self, block: u32, over: u64) -> SampleResult {
        let equals: u32 = self.contents.values().filter(|n| **n > 1).sum();
        let sampling = Sampling {
            blocks: self.blocks(),
            block,
            over,
            unwritten: self.unwritten,
            zero: self.zero,
            repeated: self.uniform + equals,
        };
        SampleResult { sampling, ours: self.ours, others: self.others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use workload::Reduction;

    const PLAIN: Reduction = Reduction { compress: 1.0, dedupe: 1.0 };
    const REDUCIBLE: Reduction = Reduction { compress: 2.0, dedupe: 2.0 };

    fn content(data: Reduction) -> ContentMaker {
        ContentMaker::new(data, 11)
    }

    fn spec(file: &File, wanted: Reduction) -> SampleResult {
        let over = file.metadata().expect("there").len();
        let content = content(wanted);
        let (seed, align) = (1, 512);
        let spec = SampleSpec {
            from: ReadSurface::Fd(file.as_fd()),
            file: true,
            cached: true,
            over,
            align,
            seed,
            content,
        };
        sample(&spec, &Stop::default()).expect("a readable file")
    }

    /// A file of `blocks`, the first `n` of which come from `make`.
    fn file(blocks: usize, n: usize, make: impl Fn(u64, &mut [u8])) -> File {
        let file = tempfile::tempfile().expect("a file");
        file.set_len((blocks * BLOCK) as u64).expect("room");
        for i in 0..n {
            let mut block = vec![0; BLOCK];
            make((i * BLOCK) as u64, &mut block);
            file.write_all_at(&block, (i * BLOCK) as u64).expect("room");
        }
        file
    }

    #[track_caller]
    fn check(file: &File, wanted: Reduction, counts: [u32; 4], filled: bool) {
        let seen = spec(file, wanted);
        let Sampling { blocks, unwritten, zero, repeated, .. } = seen.sampling;
        assert_eq!([blocks, unwritten, zero, repeated], counts, "{seen:?}");
        assert_eq!(seen.is_filled_with(&content(wanted)), filled, "{seen:?}");
    }

    #[test]
    fn what_is_small_is_seen_whole() {
        let ours = |data| move |at: u64, block: &mut [u8]| content(data).write(at, block);
        check(&file(100, 100, ours(PLAIN)), PLAIN, [100, 0, 0, 0], true);
        check(&file(100, 100, ours(REDUCIBLE)), REDUCIBLE, [100, 0, 0, 0], true);
        check(&file(100, 60, ours(PLAIN)), PLAIN, [100, 40, 0, 0], false);
        check(&file(100, 0, ours(PLAIN)), PLAIN, [100, 100, 0, 0], false);
        check(&file(0, 0, ours(PLAIN)), PLAIN, [0, 0, 0, 0], false);
    }

    #[test]
    fn content_of_other_ratios_is_not_what_is_wanted() {
        let ours = |data| move |at: u64, block: &mut [u8]| content(data).write(at, block);
        check(&file(100, 100, ours(PLAIN)), REDUCIBLE, [100, 0, 0, 0], false);
        let compressible = Reduction { compress: 2.0, dedupe: 1.0 };
        check(&file(100, 100, ours(compressible)), PLAIN, [100, 0, 0, 0], false);
        assert!(spec(&file(512, 512, ours(REDUCIBLE)), PLAIN).sampling.repeated > 400);
    }

    #[test]
    fn zeros_patterns_and_copies_are_distinguished() {
        check(&file(50, 50, |_, _| {}), PLAIN, [50, 0, 50, 0], false);
        check(&file(50, 50, |_, block| block.fill(0x5a)), PLAIN, [50, 0, 0, 50], false);
        let copies = |at: u64, block: &mut [u8]| content(PLAIN).write(at / 2 / 4096 * 4096, block);
        check(&file(50, 50, copies), PLAIN, [50, 0, 0, 50], false);
        let foreign = |at, block: &mut [u8]| Rng::keyed(at, &[]).fill(block);
        check(&file(50, 50, foreign), PLAIN, [50, 0, 0, 0], true);
        check(&file(50, 50, foreign), REDUCIBLE, [50, 0, 0, 0], false);
    }

    #[test]
    fn places_are_spread_and_none_comes_twice() {
        for blocks in [0, 1, 9, 999, 1000, 1001, 123_456, u64::MAX / 4096] {
            let places: Vec<u64> = places(3, blocks).collect();
            let different: BTreeSet<u64> = places.iter().copied().collect();
            assert_eq!(places.len() as u64, blocks.min(SAMPLES));
            assert_eq!(different.len(), places.len());
            assert!(different.last().is_none_or(|last| *last < blocks));
            let first = &places[..places.len() / ROUNDS];
            let spans = first.last().is_none_or(|last| *last >= blocks / 100 * 98);
            assert!(spans && first.is_sorted(), "a round spans the whole");
        }
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let path = tempfile::tempdir().expect("a directory");
        let folder = File::open(path.path()).expect("readable");
        let content = content(PLAIN);
        let spec = SampleSpec {
            from: ReadSurface::Fd(folder.as_fd()),
            file: false,
            cached: false,
            over: 1 << 20,
            align: 512,
            seed: 1,
            content,
        };
        assert_eq!(sample(&spec, &Stop::default()), Err(Errno::ISDIR));
    }
}

//! One [`BlockWord`] for each block of a target: in anonymous memory, or in a file that outlives the process.
//!
//! Several workers use it at once, each in its own region, through relaxed atomics: a block has one writer, and who
//! looks at all of them (a checkpoint) needs each word whole, not all of one moment.

use super::word::BlockWord;
use rustix::fd::BorrowedFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of one word.
pub(crate) const WORD: u64 = 4;

/// The words of one target.
#[derive(Debug)]
pub(crate) struct Ledger {
    base: *mut c_void,
    bytes: usize,
    count: usize,
}

// SAFETY: the mapping is owned, never moves, and is touched only through atomics.
unsafe impl Send for Ledger {}
// SAFETY: as above.
unsafe impl Sync for Ledger {}

impl Ledger {
    /// Words of zero for so many blocks; their memory is taken at once.
    pub fn in_memory(count: u64) -> io::Result<Ledger> {
        let (bytes, count) = Ledger::size(count)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a new private mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags)? };
        Ok(Ledger { base, bytes, count })
    }

    /// The words that a file holds from `offset` on, a multiple of the page size. The file must stay long enough.
    pub fn in_file(fd: BorrowedFd<'_>, offset: u64, count: u64) -> io::Result<Ledger> {
        let (bytes, count) = Ledger::size(count)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice; other processes that map the file are kept out by
        // a lock, and atomics are sound whatever they do.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags, fd, offset)? };
        Ok(Ledger { base, bytes, count })
    }

    /// Blocks that it knows.
    pub fn len(&self) -> u64 {
        self.count as u64
    }

    /// What is known of a block; nothing of one beyond the end.
    #[inline]
    pub fn get(&self, block: u64) -> BlockWord {
        self.cell(block)
            .map_or(BlockWord::default(), |cell| BlockWord(cell.load(Ordering::Relaxed)))
    }

    /// Changes what is known of a block.
    #[inline]
    pub fn set(&self, block: u64, word: BlockWord) {
        if let Some(cell) = self.cell(block) {
            cell.store(word.0, Ordering::Relaxed);
        }
    }

    /// Notes what was read of a block, unless it changed meanwhile: readers may share a block that has no writer.
    /// Returns whether this call noted it.
    #[inline]
    pub fn note(&self, block: u64, before: BlockWord, after: BlockWord) -> bool {
        let note = |cell: &AtomicU32| {
            let (before, after) = (before.0, after.0);
            cell.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        before != after && self.cell(block).is_some_and(note)
    }

    /// Every word, in the order of the blocks.
    pub fn words(&self) -> impl Iterator<Item = BlockWord> + '_ {
        (0..self.len()).map(|block| self.get(block))
    }

    #[inline]
    fn cell(&self, block: u64) -> Option<&AtomicU32> {
        let block = usize::try_from(block).ok().filter(|block| *block < self.count)?;
        // SAFETY: within the mapping, which lives as long as `self` and is aligned to pages.
        Some(unsafe { &*self.base.cast::<AtomicU32>().add(block) })
    }

    fn size(count: u64) -> io::Result<(usize, usize)> {
        let bytes = count.max(1).checked_mul(WORD).and_then(|b| usize::try_from(b).ok());
        match (bytes, usize::try_from(count)) {
            (Some(bytes), Ok(count)) => Ok((bytes, count)),
            _ => {
                Err(io::Error::new(io::ErrorKind::OutOfMemory, "more blocks than can be addressed"))
            }
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // SAFETY: mapped by one of the constructors with this length; nothing borrows from it any more.
        let _ = unsafe { munmap(self.base, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_what_it_is_told_and_nothing_beyond_its_end() {
        let ledger = Ledger::in_memory(1000).expect("memory");
        let word = BlockWord::default().issued().settled();
        for block in [0, 999, 1000, u64::MAX] {
            ledger.set(block, word);
        }
        assert_eq!((ledger.get(0), ledger.get(999)), (word, word));
        assert_eq!(
            (ledger.get(1000), ledger.get(u64::MAX)),
            (BlockWord::default(), BlockWord::default())
        );
        assert!(!ledger.note(0, BlockWord::default(), word.seen()), "it has changed meanwhile");
        assert!(ledger.note(0, word, word.seen()) && !ledger.note(0, word, word.seen()));
        assert_eq!(ledger.words().filter(|w| w.is_seen()).count(), 1);
        assert!(Ledger::in_memory(u64::MAX).is_err());
    }
}

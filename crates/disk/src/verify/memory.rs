//! States in memory that outlives this process and its kernel: that of a host which gives some to its guest. The guest's machine
//! may lose its power at any moment; the words are then what they were, as those of a state's file are after a kill.
//!
//! The first page lists the states: for each the hash of its target's name, its identity, the target's size and block, and the
//! page where its words begin. A state counts once the number of states says so.

use super::ledger::{Ledger, WORD};
use super::state::{blocks_of, new_id};
use super::word::BlockWord;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::fstat;
use std::io;
use workload::Extent;

/// Bytes of the list, and the unit in which memory is given to states.
const PAGE: u64 = 4096;
/// Words of the list before its first entry; the first of them is the number of entries.
const HEAD: u64 = 16;
/// Words of an entry: two each for name, identity and size, one each for block and first page.
const ENTRY: u64 = 8;
const ENTRIES_MAX: u64 = (PAGE / WORD - HEAD) / ENTRY;

/// Memory that keeps states.
#[derive(Debug)]
pub struct StateMemory {
    file: OwnedFd,
    bytes: u64,
    list: Ledger,
}

/// What one target has there.
pub(super) struct RememberedState {
    pub id: u64,
    pub ledger: Ledger,
    /// It was there before: it may know blocks.
    pub old: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    name: u64,
    id: u64,
    size: u64,
    block: u32,
    page: u32,
}

impl StateMemory {
    /// Memory that is mapped from a file: what is all zero holds no states yet.
    /// # Errors
    /// It cannot be mapped, or has not even a page.
    pub fn new(file: OwnedFd) -> io::Result<StateMemory> {
        let bytes = u64::try_from(fstat(&file)?.st_size).unwrap_or(0);
        if bytes < PAGE {
            return Err(io::Error::other("it has no room"));
        }
        let list = Ledger::in_file(file.as_fd(), 0, PAGE / WORD)?;
        Ok(StateMemory { file, bytes, list })
    }

    /// The state of the target of a name: the one that it has here, or a new one.
    pub(super) fn state(&self, name: &str, extent: Extent) -> Result<RememberedState, String> {
        let blocks = blocks_of(extent)?;
        let (name, Extent { size, block }) = (hash(name), extent);
        let count = u64::from(self.list.get(0).0).min(ENTRIES_MAX);
        let entries: Vec<Entry> = (0..count).map(|number| self.entry(number)).collect();
        if let Some(entry) = entries.iter().find(|entry| entry.name == name) {
            if (entry.size, entry.block) != (size, block) {
                return Err("its verification state is of a target of another size".to_owned());
            }
            let ledger = self.words(entry.page, blocks)?;
            for block in 0..ledger.len() {
                let word = ledger.get(block);
                if word.is_seen() || word.is_accused() {
                    ledger.set(block, word.unread());
                }
            }
            return Ok(RememberedState { id: entry.id, ledger, old: true });
        }
        let pages = |entry: &Entry| (entry.size / u64::from(entry.block) * WORD).div_ceil(PAGE);
        let ends = entries.iter().map(|entry| u64::from(entry.page) + pages(entry));
        let page = u32::try_from(ends.max().unwrap_or(1)).unwrap_or(u32::MAX);
        let entry = Entry { name, id: new_id(), size, block, page };
        if count == ENTRIES_MAX || (u64::from(page) + pages(&entry)) * PAGE > self.bytes {
            return Err(format!(
                "the memory of {} MiB that its guest keeps has no room for the verification state of {blocks} blocks",
                self.bytes >> 20
            ));
        }
        let ledger = self.words(page, blocks)?;
        // What was begun and never counted may have left something.
        (0..ledger.len()).for_each(|block| ledger.set(block, BlockWord::default()));
        self.put(count, entry);
        self.list.set(0, BlockWord(count as u32 + 1));
        Ok(RememberedState { id: entry.id, ledger, old: false })
    }

    fn words(&self, page: u32, blocks: u64) -> Result<Ledger, String> {
        Ledger::in_file(self.file.as_fd(), u64::from(page) * PAGE, blocks)
            .map_err(|e| format!("its verification state cannot be mapped ({e})"))
    }

    fn entry(&self, number: u64) -> Entry {
        let word = |n: u64| self.list.get(HEAD + number * ENTRY + n).0;
        let two = |n: u64| u64::from(word(n)) | u64::from(word(n + 1)) << 32;
        Entry { name: two(0), id: two(2), size: two(4), block: word(6).max(1), page: word(7) }
    }

    fn put(&self, number: u64, entry: Entry) {
        let Entry { name, id, size, block, page } = entry;
        let halves = [name, id, size].into_iter().flat_map(|all| [all as u32, (all >> 32) as u32]);
        for (n, word) in (0..).zip(halves.chain([block, page])) {
            self.list.set(HEAD + number * ENTRY + n, BlockWord(word));
        }
    }
}

/// FNV-1a.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(blocks: u64) -> Extent {
        Extent { size: blocks * 512, block: 512 }
    }

    #[test]
    fn states_are_found_again_by_name_with_what_was_in_flight() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(64 << 10).expect("its size");
        let settled = BlockWord::default().issued().settled();
        let opened = || StateMemory::new(file.reopen().expect("it").into());
        let ids = {
            let memory = opened().expect("memory");
            let [a, b] = ["a", "b"].map(|name| memory.state(name, extent(2000)).expect("a state"));
            assert!(!a.old && !b.old && a.id != b.id);
            a.ledger.set(0, settled);
            a.ledger.set(1999, settled.issued());
            b.ledger.set(0, settled.issued().settled().seen());
            [a.id, b.id]
        };
        let memory = opened().expect("memory");
        let [b, a] = ["b", "a"].map(|name| memory.state(name, extent(2000)).expect("a state"));
        assert!(a.old && b.old);
        assert_eq!([a.id, b.id], ids);
        assert_eq!(a.ledger.get(0), settled);
        // Two generations are as good: nobody has said how the second write ended.
        assert_eq!(a.ledger.get(1999), settled.issued());
        assert_eq!(b.ledger.get(0), settled.issued().settled(), "it was not read in this life");
        assert_eq!(b.ledger.get(1999), BlockWord::default());
        let other = memory.state("a", extent(2001)).err().expect("another size");
        assert!(other.contains("another size"), "{other}");
        let none = memory.state("c", extent(20_000)).err().expect("no room");
        assert!(none.contains("no room"), "{none}");
        file.as_file().set_len(0).expect("cut");
        assert!(opened().is_err());
    }
}

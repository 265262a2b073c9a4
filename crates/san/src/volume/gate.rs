//! A gate before the blocks of one volume: some commands (COMPARE AND WRITE, ORWRITE, giving back memory) must have a range
//! for themselves, and all other writers must not pay for it while there are none.
//!
//! **How it works.** A writer announces itself in its thread's slot and then looks whether anybody is on the list; where
//! nobody is, it is in, and has touched only its own line of memory and loaded one that nobody changes. Who wants a range
//! alone enters the list first and then looks at all slots. All four accesses are `SeqCst`, so they have one order: either
//! the writer's announcement comes before the look at its slot, and is waited for; or the list was filled before the
//! writer looked, and the writer turns away and enters the list itself (Dekker's argument). While the list is not empty
//! nobody goes in past it, so that a slot that was once seen at zero has nobody in who went in earlier.
//!
//! On the list everybody has a range and an order: one waits for those before it that overlap, if either of the two wants
//! to be alone. So nobody starves, and writers elsewhere go on.
//!
//! A writer that leaves takes back its announcement and then looks at the list: again by the one order, either it sees who
//! waits and calls on them, or who waits sees it gone.

use super::mailbox::Wake;
use super::slots::{Place, Slots};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// How long the list is.
    listed: AtomicUsize,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    next: u64,
    entries: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    key: u64,
    bytes: Range<u64>,
    alone: bool,
    inside: bool,
    wake: Wake,
}

/// How somebody went in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Past the empty list.
    Open,
    /// By the list; not yet in while [`Gate::is_inside`] denies it.
    Listed(u64),
}

impl Gate {
    /// Goes in if nobody is on the list.
    pub fn try_enter(&self, slots: &Slots, place: &Place) -> bool {
        let writers = &slots[place].writers;
        writers.fetch_add(1, Ordering::SeqCst);
        if self.listed.load(Ordering::SeqCst) == 0 {
            return true;
        }
        writers.fetch_sub(1, Ordering::SeqCst);
        // Whoever waits may have looked in between.
        self.call(slots);
        false
    }

    /// Enters the list for these bytes of the volume.
    pub fn enlist(&self, slots: &Slots, bytes: Range<u64>, alone: bool, wake: Wake) -> Way {
        let mut list = self.list();
        let key = list.next;
        list.next += 1;
        list.entries.push_back(Entry { key, bytes, alone, inside: false, wake });
        self.listed.store(list.entries.len(), Ordering::SeqCst);
        list.admit(slots);
        Way::Listed(key)
    }

    /// Whether one that is on the list may go in, or is in.
    pub fn is_inside(&self, key: u64) -> bool {
        self.list().entries.iter().any(|entry| entry.key == key && entry.inside)
    }

    /// Goes out, or leaves the list without having been in.
    pub fn leave(&self, slots: &Slots, place: &Place, way: Way) {
        match way {
            Way::Open => {
                slots[place].writers.fetch_sub(1, Ordering::SeqCst);
                if self.listed.load(Ordering::SeqCst) != 0 {
                    self.call(slots);
                }
            }
            Way::Listed(key) => {
                let mut list = self.list();
                list.entries.retain(|entry| entry.key != key);
                self.listed.store(list.entries.len(), Ordering::SeqCst);
                list.admit(slots);
            }
        }
    }

    fn call(&self, slots: &Slots) {
        self.list().admit(slots);
    }

    fn list(&self) -> MutexGuard<'_, List> {
        // Nothing under this lock panics; if it did, the list would still be a list.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    /// Lets in who may go in.
    fn admit(&mut self, slots: &Slots) {
        let mut empty = None;
        for at in 0..self.entries.len() {
            let entry = &self.entries[at];
            if entry.inside || self.entries.range(..at).any(|before| before.bars(entry)) {
                continue;
            }
            let is_empty = || slots.iter().all(|slot| slot.writers.load(Ordering::SeqCst) == 0);
            if entry.alone && !*empty.get_or_insert_with(is_empty) {
                continue;
            }
            let entry = &mut self.entries[at];
            entry.inside = true;
            entry.wake.wake();
        }
    }
}

impl Entry {
    fn bars(&self, later: &Entry) -> bool {
        (self.alone || later.alone)
            && self.bytes.start < later.bytes.end
            && later.bytes.start < self.bytes.end
    }
}

//! A range lock over the blocks of one volume: some commands (COMPARE AND WRITE, ORWRITE, freeing memory) need exclusive
//! access to a range, at no cost to other writers while there are none.
//!
//! **How it works.** A writer announces itself in its thread's slot and then checks whether the list is empty; if so it
//! enters, having touched only its own cache line and loaded one that does not change. An exclusive command enters the list
//! first and then checks all slots. All four accesses are `SeqCst`, so they have one order: either the writer's announcement
//! comes before the check of its slot, and is waited for; or the list was filled before the writer checked it, and the
//! writer enters the list itself (Dekker's argument). While the list is not empty no writer bypasses it, so that a slot
//! once seen at zero holds no earlier writer.
//!
//! Each entry of the list has a range and a position: it waits for overlapping entries before it if either needs exclusive
//! access. So no entry starves, and writers elsewhere go on.

use super::inbox::Wake;
use super::slots::{Slots, ThreadSlot};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct CommandGate {
    /// How long the list is.
    listed: AtomicUsize,
    list: Mutex<GateList>,
}

#[derive(Debug, Default)]
struct GateList {
    next: u64,
    entries: VecDeque<LockedRange>,
}

#[derive(Debug)]
struct LockedRange {
    key: u64,
    bytes: Range<u64>,
    alone: bool,
    inside: bool,
    wake: Wake,
}

/// How a command entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryMode {
    /// Past the empty list.
    Open,
    /// By the list; not yet in while [`CommandGate::is_inside`] denies it.
    Listed(u64),
}

impl CommandGate {
    /// Enters if the list is empty.
    pub fn try_enter(&self, slots: &Slots, place: &ThreadSlot) -> bool {
        let writers = &slots[place].writers;
        writers.fetch_add(1, Ordering::SeqCst);
        if self.listed.load(Ordering::SeqCst) == 0 {
            return true;
        }
        writers.fetch_sub(1, Ordering::SeqCst);
        // A waiting command may have checked in between.
        self.call(slots);
        false
    }

    /// Enters the list for these bytes of the volume.
    pub fn enlist(&self, slots: &Slots, bytes: Range<u64>, alone: bool, wake: Wake) -> EntryMode {
        let mut list = self.list();
        let key = list.next;
        list.next += 1;
        list.entries.push_back(LockedRange { key, bytes, alone, inside: false, wake });
        self.listed.store(list.entries.len(), Ordering::SeqCst);
        list.admit(slots, Some(key));
        EntryMode::Listed(key)
    }

    /// Whether one that is on the list may go in, or is in.
    pub fn is_inside(&self, key: u64) -> bool {
        self.list().entries.iter().any(|entry| entry.key == key && entry.inside)
    }

    /// Goes out, or leaves the list without having been in.
    pub fn leave(&self, slots: &Slots, place: &ThreadSlot, way: EntryMode) {
        match way {
            EntryMode::Open => {
                slots[place].writers.fetch_sub(1, Ordering::SeqCst);
                if self.listed.load(Ordering::SeqCst) != 0 {
                    self.call(slots);
                }
            }
            EntryMode::Listed(key) => {
                let mut list = self.list();
                list.entries.retain(|entry| entry.key != key);
                self.listed.store(list.entries.len(), Ordering::SeqCst);
                list.admit(slots, None);
            }
        }
    }

    fn call(&self, slots: &Slots) {
        self.list().admit(slots, None);
    }

    fn list(&self) -> MutexGuard<'_, GateList> {
        // Nothing under this lock panics; if it did, the list would still be a list.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GateList {
    /// Lets in who may go in, and calls on them but for the one that is looking by itself.
    fn admit(&mut self, slots: &Slots, looking: Option<u64>) {
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
            if looking != Some(entry.key) {
                entry.wake.wake();
            }
        }
    }
}

impl LockedRange {
    fn bars(&self, later: &LockedRange) -> bool {
        (self.alone || later.alone)
            && self.bytes.start < later.bytes.end
            && later.bytes.start < self.bytes.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::inbox::{Messages, VolumeInbox};
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    /// A waiter with an inbox.
    struct Caller {
        place: ThreadSlot,
        mail: Arc<VolumeInbox>,
    }

    impl Caller {
        fn new() -> Caller {
            Caller {
                place: ThreadSlot::take(),
                mail: Arc::new(VolumeInbox::new().expect("an inbox")),
            }
        }

        fn wake(&self) -> Wake {
            Wake { mail: Arc::clone(&self.mail), task: 1 }
        }

        fn called(&self) -> bool {
            let mut messages = Messages::default();
            self.mail.collect(&mut messages);
            !messages.tasks.is_empty()
        }

        /// Goes in, however long it takes.
        fn enter(
            &self,
            gate: &CommandGate,
            slots: &Slots,
            bytes: Range<u64>,
            alone: bool,
        ) -> EntryMode {
            if !alone && gate.try_enter(slots, &self.place) {
                return EntryMode::Open;
            }
            let way = gate.enlist(slots, bytes, alone, self.wake());
            while let EntryMode::Listed(key) = way
                && !gate.is_inside(key)
            {
                std::thread::yield_now();
            }
            way
        }
    }

    #[track_caller]
    fn inside(gate: &CommandGate, way: EntryMode) -> bool {
        matches!(way, EntryMode::Listed(key) if gate.is_inside(key))
    }

    #[test]
    fn who_wants_to_be_alone_waits_for_who_is_in_and_keeps_out_who_comes() {
        let (gate, slots) = (CommandGate::default(), Slots::new());
        let (writer, alone) = (Caller::new(), Caller::new());
        assert!(gate.try_enter(&slots, &writer.place));
        let way = gate.enlist(&slots, 0..512, true, alone.wake());
        assert!(!inside(&gate, way) && !alone.called());
        assert!(!gate.try_enter(&slots, &writer.place), "past one that waits");
        assert!(!inside(&gate, way));
        gate.leave(&slots, &writer.place, EntryMode::Open);
        assert!(inside(&gate, way) && alone.called());
        // Elsewhere writers go on; here they wait.
        let there = gate.enlist(&slots, 512..1024, false, writer.wake());
        let here = gate.enlist(&slots, 511..1024, false, writer.wake());
        assert!(inside(&gate, there) && !inside(&gate, here) && !writer.called());
        gate.leave(&slots, &alone.place, way);
        assert!(inside(&gate, here) && writer.called());
        gate.leave(&slots, &writer.place, there);
        gate.leave(&slots, &writer.place, here);
        assert!(gate.try_enter(&slots, &writer.place));
    }

    #[test]
    fn no_waiter_starves() {
        let (gate, slots, caller) = (CommandGate::default(), Slots::new(), Caller::new());
        let enlist = |alone| gate.enlist(&slots, 0..8, alone, caller.wake());
        let (first, second, third) = (enlist(false), enlist(true), enlist(false));
        assert!(inside(&gate, first) && !inside(&gate, second) && !inside(&gate, third));
        // One that gives up makes way.
        gate.leave(&slots, &caller.place, second);
        assert!(inside(&gate, third));
    }

    /// Adds by a load and a later store, several threads of them alone and one among the writers; returns what is missing.
    fn missing(gated: bool) -> u64 {
        const EACH: u64 = 3000;
        let gate = Arc::new((CommandGate::default(), Slots::new(), AtomicU64::new(0)));
        let run = |alone: bool| {
            let gate = Arc::clone(&gate);
            std::thread::spawn(move || {
                let (gate, slots, sum) = &*gate;
                let caller = Caller::new();
                for _ in 0..EACH {
                    let way = gated.then(|| caller.enter(gate, slots, 0..1, alone));
                    let before = sum.load(Ordering::Relaxed);
                    std::thread::yield_now();
                    sum.store(before + 1, Ordering::Relaxed);
                    if let Some(way) = way {
                        gate.leave(slots, &caller.place, way);
                    }
                }
            })
        };
        let threads: Vec<_> = [true, false, true].map(run).into();
        threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
        3 * EACH - gate.2.load(Ordering::Relaxed)
    }

    #[test]
    fn nothing_comes_in_between() {
        assert_eq!(missing(true), 0);
    }

    #[test]
    fn a_broken_gate_is_detected() {
        assert!(missing(false) > 0);
    }
}

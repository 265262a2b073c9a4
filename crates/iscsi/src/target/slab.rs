//! Task slots: preallocated, found by slot and by the initiator task tag. A slot is reused with another generation,
//! so that a stale id matches no task.

use super::task::Task;
use super::types::TaskId;

/// Most slots: a slot must fit into 12 bits of a transfer tag, without the all-ones value.
pub(super) const MAX_SLOTS: usize = 4095;

const NONE: u16 = u16::MAX;

struct SlabEntry {
    generation: u32,
    task: Option<Task>,
    /// The next task in the same hash chain.
    chain: u16,
}

/// All tasks of a session. It allocates only when it is created.
pub(super) struct TaskSlab {
    entries: Box<[SlabEntry]>,
    free: Vec<u16>,
    /// First slots of hash chains of tags; the length is a power of two.
    chains: Box<[u16]>,
}

impl TaskSlab {
    pub(super) fn new(slots: usize) -> TaskSlab {
        let slots = slots.min(MAX_SLOTS);
        let entry = || SlabEntry { generation: 0, task: None, chain: NONE };
        TaskSlab {
            entries: (0..slots).map(|_| entry()).collect(),
            free: (0..slots as u16).rev().collect(),
            chains: vec![NONE; slots.next_power_of_two()].into(),
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.entries.len()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Stores a task and enters its tag; `None` if all slots are in use.
    pub(super) fn insert(&mut self, task: Task) -> Option<TaskId> {
        let slot = self.free.pop()?;
        let chain = self.chain_of(task.request.tag);
        let entry = &mut self.entries[usize::from(slot)];
        entry.chain = std::mem::replace(&mut self.chains[chain], slot);
        entry.task = Some(task);
        Some(TaskId { slot, generation: entry.generation })
    }

    /// Removes the tag of a task; another task may use it.
    pub(super) fn forget_tag(&mut self, id: TaskId) {
        let Some(task) = self.get_mut(id) else { return };
        if !std::mem::take(&mut task.tagged) {
            return;
        }
        let tag = task.request.tag;
        let after = self.entries[id.slot()].chain;
        let head = self.chain_of(tag);
        if self.chains[head] == id.slot {
            self.chains[head] = after;
            return;
        }
        let mut at = self.chains[head];
        while at != NONE {
            let next = self.entries[usize::from(at)].chain;
            if next == id.slot {
                self.entries[usize::from(at)].chain = after;
                return;
            }
            at = next;
        }
    }

    /// Frees the slot. Earlier ids of it become invalid.
    pub(super) fn remove(&mut self, id: TaskId) -> Option<Task> {
        self.forget_tag(id);
        let entry = self.entries.get_mut(id.slot()).filter(|at| at.generation == id.generation)?;
        let task = entry.task.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(id.slot);
        Some(task)
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Task> {
        let entry = self.entries.get(id.slot()).filter(|at| at.generation == id.generation)?;
        entry.task.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        let entry = self.entries.get_mut(id.slot()).filter(|at| at.generation == id.generation)?;
        entry.task.as_mut()
    }

    /// The task with this initiator task tag.
    pub(super) fn by_tag(&self, tag: u32) -> Option<TaskId> {
        let mut at = self.chains[self.chain_of(tag)];
        while at != NONE {
            let entry = &self.entries[usize::from(at)];
            if entry.task.as_ref().is_some_and(|task| task.request.tag == tag) {
                return Some(TaskId { slot: at, generation: entry.generation });
            }
            at = entry.chain;
        }
        None
    }

    /// The task in a slot, if the low bits of its generation match.
    pub(super) fn by_slot(&self, slot: u16, generation: u32, mask: u32) -> Option<TaskId> {
        let entry = self.entries.get(usize::from(slot))?;
        let same = entry.task.is_some() && entry.generation & mask == generation & mask;
        same.then_some(TaskId { slot, generation: entry.generation })
    }

    /// The task in a slot, if any, for iteration.
    pub(super) fn at(&self, slot: usize) -> Option<TaskId> {
        let entry = self.entries.get(slot)?;
        entry.task.as_ref().map(|_| TaskId { slot: slot as u16, generation: entry.generation })
    }

    fn chain_of(&self, tag: u32) -> usize {
        let mixed = tag.wrapping_mul(0x9e37_79b1);
        (mixed ^ mixed >> 16) as usize & (self.chains.len() - 1)
    }
}

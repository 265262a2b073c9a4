//! Copies of I/Os, and the order in which I/Os were issued. Kept only where networks make copies or pull I/Os out of
//! failed arms.

use super::build::any_hop;
use super::entity::NONE;
use super::layout::RouteStep;
use super::{Observer, Simulation};
use crate::model::{Change, Hop, Network, StripeStart};

/// The state of one I/O.
#[derive(Clone, Copy, Debug)]
pub struct CopyState {
    /// Of a copy: the I/O that waits for it.
    pub parent: u32,
    /// Copies that this I/O waits for.
    pub waits: u32,
    /// One of the copies was lost.
    pub lost: bool,
    /// Position in the order of issue.
    pub number: u64,
    /// The address of its first byte.
    pub offset: u64,
    /// Where it is on the disks of a RAID group, and whether it still has to write there.
    pub start: StripeStart,
    pub writes_then: bool,
}

impl CopyState {
    /// One for each of `ios` I/Os; none where `network` needs none.
    pub fn all(network: &Network, ios: u32) -> Box<[CopyState]> {
        let fails =
            network.changes.iter().any(|(_, change)| matches!(change, Change::ArmDown { .. }));
        let copies =
            |hop: &Hop| matches!(hop, Hop::Fork { .. } | Hop::Together { .. } | Hop::Raid { .. });
        let kept = if fails || any_hop(network, &copies) { ios } else { 0 };
        vec![CopyState::begun(NONE, 0, 0); kept as usize].into()
    }

    fn begun(parent: u32, number: u64, offset: u64) -> CopyState {
        let start = StripeStart::default();
        CopyState { parent, waits: 0, lost: false, number, offset, start, writes_then: false }
    }
}

impl<O: Observer> Simulation<O> {
    /// `who` begins at this address, as an I/O or as a copy of `parent`, and gets the next number.
    #[inline]
    pub(super) fn begins(&mut self, who: u32, parent: u32, offset: u64) {
        if let Some(copies) = self.copies.get_mut(who as usize) {
            *copies = CopyState::begun(parent, self.issued, offset);
            self.issued += 1;
        }
    }

    /// Starts a copy of `who` at step `first`; `None` where the table is full, which the network's check rules out.
    fn copy(&mut self, who: u32, first: u32) -> Option<u32> {
        let copy = self.sibling(who, first)?;
        self.ready.push(&mut self.entities, copy);
        Some(copy)
    }

    /// A copy of `who` at step `first` that is not ready yet.
    pub(super) fn sibling(&mut self, who: u32, first: u32) -> Option<u32> {
        let copy = self.entities.take()?;
        self.entities[copy] = self.entities[who];
        self.entities[copy].hop = first;
        self.begins(copy, who, self.copies[who as usize].offset);
        Some(copy)
    }

    /// Starts a copy in the background at step `start`.
    pub(super) fn fork(&mut self, start: u32, who: u32) {
        self.copy(who, start);
    }

    /// Starts copies that `who` waits for.
    pub(super) fn together(&mut self, starts: u32, count: u32, who: u32) {
        let copies = &mut self.copies[who as usize];
        (copies.waits, copies.lost) = (count, false);
        for number in starts..starts + count {
            let first = self.starts[number as usize];
            self.copy(who, first);
        }
    }

    /// A copy has ended; after the last one the waiting I/O continues.
    pub(super) fn joined(&mut self, who: u32, lost: bool) {
        let parent = self.copies[who as usize].parent;
        self.entities.give(who);
        let copies = &mut self.copies[parent as usize];
        copies.lost |= lost;
        copies.waits -= 1;
        if copies.waits > 0 {
            return;
        }
        if copies.lost {
            return self.end(parent, true);
        }
        match self.steps[self.entities[parent].hop as usize] {
            RouteStep::Together { next, .. } => {
                self.entities[parent].hop = next;
                self.ready.push(&mut self.entities, parent);
            }
            RouteStep::Raid { visit } => self.raid_joined(visit, parent),
            _ => {}
        }
    }
}

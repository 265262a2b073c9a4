//! What is known of an I/O besides its place on its route: where networks make copies or pull I/Os out. Elsewhere nothing is
//! kept.

use super::build::any_hop;
use super::entity::NONE;
use super::{Observer, Simulation};
use crate::model::{Change, Hop, Network};

/// Of one I/O.
#[derive(Clone, Copy, Debug)]
pub struct Kin {
    /// Of a copy: who waits for it.
    pub parent: u32,
    /// Copies that it waits for.
    pub waits: u32,
    /// One of them was lost.
    pub lost: bool,
    /// The order in which I/Os were issued.
    pub number: u64,
}

impl Kin {
    /// Of `ios` I/Os; of none where `network` asks for none.
    pub fn all(network: &Network, ios: u32) -> Box<[Kin]> {
        let fails =
            network.changes.iter().any(|(_, change)| matches!(change, Change::ArmDown { .. }));
        let copies = |hop: &Hop| matches!(hop, Hop::Fork { .. } | Hop::Together { .. });
        let kept = if fails || any_hop(network, &copies) { ios } else { 0 };
        let nobody = Kin { parent: NONE, waits: 0, lost: false, number: 0 };
        vec![nobody; kept as usize].into()
    }
}

impl<O: Observer> Simulation<O> {
    /// `who` is issued, or is a copy of `parent`: the next in the order of those who begin.
    #[inline]
    pub(super) fn begins(&mut self, who: u32, parent: u32) {
        if let Some(kin) = self.kin.get_mut(who as usize) {
            *kin = Kin { parent, waits: 0, lost: false, number: self.issued };
            self.issued += 1;
        }
    }

    /// A copy of `who` begins at step `first`; `None` where there is no place, which the network's check rules out.
    fn copy(&mut self, who: u32, first: u32) -> Option<u32> {
        let copy = self.entities.take()?;
        self.entities[copy] = self.entities[who];
        self.entities[copy].hop = first;
        self.begins(copy, who);
        self.ready.push(&mut self.entities, copy);
        Some(copy)
    }

    /// A copy goes on in the background.
    pub(super) fn fork(&mut self, who: u32) {
        let first = self.entities[who].hop + 1;
        self.copy(who, first);
    }

    /// Copies begin, and `who` waits for them.
    pub(super) fn together(&mut self, starts: u32, count: u32, who: u32) {
        let kin = &mut self.kin[who as usize];
        (kin.waits, kin.lost) = (count, false);
        for number in starts..starts + count {
            let first = self.starts[number as usize];
            self.copy(who, first);
        }
    }

    /// A copy has ended; the last one lets go on who waited.
    pub(super) fn joined(&mut self, who: u32, lost: bool) {
        let parent = self.kin[who as usize].parent;
        self.entities.give(who);
        let kin = &mut self.kin[parent as usize];
        kin.lost |= lost;
        kin.waits -= 1;
        if kin.waits > 0 {
            return;
        }
        if kin.lost {
            return self.end(parent, true);
        }
        if let super::layout::Step::Together { next, .. } =
            self.steps[self.entities[parent].hop as usize]
        {
            self.entities[parent].hop = next;
            self.ready.push(&mut self.entities, parent);
        }
    }
}

//! Visits to RAID groups: an I/O is divided among the disks that its address and the layout give, and continues when
//! the last of them has ended; a part of a stripe with parity is read first and then written to the same disks.
//!
//! Nothing is allocated: parts are computed in scratch space as large as the widest group, and a read of one disk is the
//! I/O itself.

use super::{Observer, Simulation};
use crate::model::{RaidAccess, RaidLevel, StripeChoice, StripeStart};

/// Stripes among which the one with the idlest disks is chosen, at most.
const LOOKED_AT: u64 = 32;

impl<O: Observer> Simulation<O> {
    /// `who` comes to a group.
    #[inline]
    pub(super) fn raid(&mut self, number: u32, who: u32) {
        let visit = &self.raids[number as usize];
        let (group, access, choice) = (visit.group, visit.access, visit.choice);
        let offset = self.copies[who as usize].offset;
        let bytes = self.entities[who].bytes;
        let before = group.reads_before(access, offset, bytes);
        let start = match choice {
            StripeChoice::Addressed => group.addressed(offset),
            StripeChoice::Drawn => group.start(self.chance_of(who).below(group.starts())),
            StripeChoice::Idle => self.idlest(number, before, who),
        };
        if access == RaidAccess::Read {
            let copy = group.raid == RaidLevel::Mirrored && self.chance_of(who).chance(0.5);
            if let Some(disk) = group.single(start, offset, bytes, copy) {
                return self.alone(group.first.0 + disk, who);
            }
        }
        let state = &mut self.copies[who as usize];
        (state.start, state.writes_then) = (start, before);
        self.parted(number, before, who);
    }

    /// All parts of `who` have ended: it writes what it has read, or continues.
    pub(super) fn raid_joined(&mut self, number: u32, who: u32) {
        if std::mem::take(&mut self.copies[who as usize].writes_then) {
            return self.parted(number, false, who);
        }
        self.entities[who].hop += 4;
        self.ready.push(&mut self.entities, who);
    }

    /// `who` itself goes to a disk.
    fn alone(&mut self, station: u32, who: u32) {
        self.entities[who].hop += 3;
        self.visit(station, who);
    }

    /// The disks of `who` get a part each: of what is read before, or of the rest.
    fn parted(&mut self, number: u32, before: bool, who: u32) {
        let start = self.copies[who as usize].start;
        self.place(number, before, start, who);
        let first = self.raids[number as usize].group.first.0;
        if let [disk] = self.parts.disks[..] {
            let bytes = self.parts.bytes(disk);
            if bytes == u64::from(self.entities[who].bytes)
                && !self.copies[who as usize].writes_then
            {
                return self.alone(first + disk, who);
            }
        }
        let state = &mut self.copies[who as usize];
        (state.waits, state.lost) = (self.parts.disks.len() as u32, false);
        let part = self.entities[who].hop + 1;
        for at in 0..self.parts.disks.len() {
            let disk = self.parts.disks[at];
            let Some(copy) = self.sibling(who, part) else { return };
            self.entities[copy].bytes = u32::try_from(self.parts.bytes(disk)).unwrap_or(u32::MAX);
            self.visit(first + disk, copy);
        }
    }

    fn place(&mut self, number: u32, before: bool, start: StripeStart, who: u32) {
        let visit = &self.raids[number as usize];
        let load = self.classes[self.entities[who].class as usize].load;
        let chance = &mut self.origins[load as usize].chance;
        let io = (self.copies[who as usize].offset, self.entities[who].bytes);
        visit.group.place(visit.access, before, start, io, &mut self.parts, || chance.chance(0.5));
    }

    /// The start whose busiest disk has the fewest I/Os, of all or of some at random.
    fn idlest(&mut self, number: u32, before: bool, who: u32) -> StripeStart {
        let group = self.raids[number as usize].group;
        let starts = group.starts();
        let first = self.chance_of(who).below(starts);
        let mut best = (u32::MAX, StripeStart::default());
        for at in 0..starts.min(LOOKED_AT) {
            let at = match starts <= LOOKED_AT {
                true => (first + at) % starts,
                false => self.chance_of(who).below(starts),
            };
            let start = group.start(at);
            self.place(number, before, start, who);
            let station = |disk: &u32| &self.stations[(group.first.0 + disk) as usize];
            let present = self.parts.disks.iter().map(|disk| station(disk).tally.level().present);
            let most = present.max().unwrap_or(0);
            if most < best.0 {
                best = (most, start);
            }
            if most == 0 {
                break;
            }
        }
        best.1
    }
}

//! RAID groups: on which disks the parts of an I/O lie.
//!
//! Units are dealt out stripe by stripe: to the disks in turn, to pairs of disks for mirrors, and around rotating parity
//! in the left-symmetric layout (E. Lee and R. Katz, *Performance consequences of parity placement in disk arrays*,
//! ASPLOS 1991). All parts of one I/O lie on different disks; all of its units on one disk are one disk I/O.

use super::{Demand, StationId};
use std::fmt;

/// How a group distributes and protects data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaidLevel {
    /// RAID-0, or a single disk: no redundancy.
    Striped,
    /// RAID-1 and RAID-10: two copies.
    Mirrored,
    /// RAID-5: one parity disk per group.
    Parity,
    /// RAID-6: two parity disks per group.
    DoubleParity,
}

/// The disks of a volume: one RAID group, or several over which stripes are dealt out in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaidGroup {
    /// The station of the first disk; the others follow.
    pub first: StationId,
    /// Number of disks.
    pub disks: u32,
    /// Disks of one RAID group, at least as many as its level needs.
    pub width: u32,
    /// The RAID level.
    pub raid: RaidLevel,
    /// Stripe unit in bytes, at least 1; [`u64::MAX`] for a single disk.
    pub unit: u64,
}

/// What a visit to a group does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaidAccess {
    /// Reads, from either copy of a mirror.
    Read,
    /// Writes; a part of a stripe with parity is read before.
    Write,
    /// Writes to the same disks, of which a part of a stripe with parity has been read before.
    Rewrite,
    /// Writes what a cache gathers into whole stripes: nothing is read.
    Gathered,
}

/// Which stripe an I/O is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripeChoice {
    /// Any, all equally probable.
    Drawn,
    /// That of its address.
    Addressed,
    /// One whose disks have the least to do: a cache that has data for every disk.
    Idle,
}

/// A visit to the disks of a RAID group.
#[derive(Clone, Debug, PartialEq)]
pub struct RaidVisit {
    /// The disks.
    pub group: RaidGroup,
    /// What it does.
    pub access: RaidAccess,
    /// Where.
    pub choice: StripeChoice,
    /// Service time of one disk I/O; the time per byte counts the bytes on that disk.
    pub demand: Demand,
}

/// Where an I/O begins: a stripe, and by how many disks its group's layout is turned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripeStart {
    /// The number of its first stripe.
    pub stripe: u64,
    /// Disks by which the layout is turned.
    pub turn: u32,
}

/// The bytes of one I/O on each disk of a group, with room for all disks.
#[derive(Clone, Debug, Default)]
pub struct DiskParts {
    /// By disk.
    bytes: Vec<u64>,
    /// The disks used, in the order of the address.
    pub disks: Vec<u32>,
}

impl DiskParts {
    /// For groups of at most this many disks.
    pub fn new(disks: u32) -> DiskParts {
        DiskParts { bytes: vec![0; disks as usize], disks: Vec::with_capacity(disks as usize) }
    }

    /// Bytes on a disk.
    #[inline]
    pub fn bytes(&self, disk: u32) -> u64 {
        // A disk's entry is one more than its bytes, so that a part without bytes is a part too.
        self.bytes[disk as usize].saturating_sub(1)
    }

    fn clear(&mut self) {
        for disk in self.disks.drain(..) {
            self.bytes[disk as usize] = 0;
        }
    }

    #[inline]
    fn has(&self, disk: u32) -> bool {
        self.bytes[disk as usize] > 0
    }

    #[inline]
    fn add(&mut self, disk: u32, bytes: u64) {
        let entry = &mut self.bytes[disk as usize];
        if *entry == 0 {
            *entry = 1;
            self.disks.push(disk);
        }
        *entry += bytes;
    }
}

impl RaidLevel {
    /// The level possible with `width` disks: a group with too few is striped.
    pub fn within(self, width: u32) -> RaidLevel {
        let least = match self {
            RaidLevel::Striped => 1,
            RaidLevel::Mirrored => 2,
            RaidLevel::Parity => 3,
            RaidLevel::DoubleParity => 4,
        };
        if width < least { RaidLevel::Striped } else { self }
    }

    /// Parity disks of a group.
    fn parities(self) -> u32 {
        match self {
            RaidLevel::Striped | RaidLevel::Mirrored => 0,
            RaidLevel::Parity => 1,
            RaidLevel::DoubleParity => 2,
        }
    }
}

impl fmt::Display for RaidLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RaidLevel::Striped => "raid-0",
            RaidLevel::Mirrored => "raid-1",
            RaidLevel::Parity => "raid-5",
            RaidLevel::DoubleParity => "raid-6",
        })
    }
}

impl RaidGroup {
    /// Units of a stripe that hold data.
    pub fn data(&self) -> u32 {
        match self.raid {
            RaidLevel::Mirrored => self.width.div_ceil(2).max(1),
            _ => self.width.saturating_sub(self.raid.parities()).max(1),
        }
    }

    /// Usable share of the capacity.
    pub fn usable(&self) -> f64 {
        f64::from(self.data()) / f64::from(self.width.max(1))
    }

    /// RAID groups side by side.
    pub fn groups(&self) -> u32 {
        (self.disks / self.width.max(1)).max(1)
    }

    /// Whether a unit's place in its stripe alone says on which disk it is: there is one group, without parity and with
    /// whole mirrors.
    pub fn turns_never(&self) -> bool {
        let mirrored = self.raid == RaidLevel::Mirrored;
        self.groups() == 1
            && self.raid.parities() == 0
            && (!mirrored || self.width.is_multiple_of(2))
    }

    /// Bytes of data of a stripe.
    pub fn stripe(&self) -> u64 {
        self.unit.saturating_mul(u64::from(self.data()))
    }

    /// The start of the I/O at this address.
    pub fn addressed(&self, offset: u64) -> StripeStart {
        StripeStart { stripe: offset / self.stripe(), turn: 0 }
    }

    /// How many starts differ.
    pub fn starts(&self) -> u64 {
        u64::from(self.width) * u64::from(self.groups())
    }

    /// One of the starts that differ, by its number.
    pub fn start(&self, number: u64) -> StripeStart {
        let groups = u64::from(self.groups());
        StripeStart { stripe: number % groups, turn: (number / groups) as u32 }
    }

    /// The offsets that I/Os aligned to `align` can have within a stripe, or as many of them as `most`.
    pub fn phases(&self, align: u64, most: u64) -> impl Iterator<Item = u64> {
        let stripe = self.stripe();
        let (mut step, mut rest) = (stripe, align.max(1));
        while rest > 0 {
            (step, rest) = (rest, step % rest);
        }
        let all = stripe / step;
        let taken = all.min(most.max(1));
        // Multiples of the golden ratio are spread evenly and share no rhythm with the units.
        let spread = |at: u64| (at as f64 * 0.618_033_988_749_895).fract();
        let place = move |at| if taken == all { at } else { (spread(at) * all as f64) as u64 };
        (0..taken).map(move |at| place(at) * step)
    }

    /// Disk I/Os of an I/O of `bytes` at most.
    pub fn parts_most(&self, bytes: u32) -> u32 {
        let units = u64::from(bytes).div_ceil(self.unit) + 1;
        let stripes = units / u64::from(self.data()) + 2;
        let parts = match self.raid {
            RaidLevel::Mirrored => 2 * units,
            raid => units + stripes * u64::from(raid.parities()),
        };
        parts.min(u64::from(self.disks)) as u32
    }

    /// Whether some I/Os must read before they write: there is parity.
    pub fn reads_to_write(&self) -> bool {
        self.raid.parities() > 0
    }

    /// Whether an I/O must read before it writes: its first and its last stripe are written in part.
    pub fn reads_before(&self, access: RaidAccess, offset: u64, bytes: u32) -> bool {
        let stripe = self.stripe();
        access == RaidAccess::Write
            && self.raid.parities() > 0
            && !(offset.is_multiple_of(stripe) && u64::from(bytes).is_multiple_of(stripe))
    }

    /// The only disk of a read within one unit.
    #[inline]
    pub fn single(&self, start: StripeStart, offset: u64, bytes: u32, copy: bool) -> Option<u32> {
        if offset % self.unit + u64::from(bytes) > self.unit {
            return None;
        }
        let place = (offset % self.stripe() / self.unit) as u32;
        Some(self.disk(start, 0, place, u32::from(copy)))
    }

    /// The parts of an I/O on each disk: of its reads before it writes, or of all that it reads or writes in the end.
    /// `copy` draws a copy of a mirror to read.
    pub fn place(
        &self,
        access: RaidAccess,
        before: bool,
        start: StripeStart,
        (offset, bytes): (u64, u32),
        parts: &mut DiskParts,
        mut copy: impl FnMut() -> bool,
    ) {
        parts.clear();
        let stripe = self.stripe();
        let (mut at, mut left, mut row) = (offset % stripe, u64::from(bytes), 0);
        // A part of a stripe that a cache completes later carries its share of the parity with it.
        let alone = access == RaidAccess::Gathered && left < stripe;
        let grown = if alone { 1.0 / self.usable() } else { 1.0 };
        loop {
            let here = left.min(stripe - at);
            if !before || here < stripe {
                if access != RaidAccess::Read && !alone {
                    let redundant = match access {
                        RaidAccess::Gathered => here / u64::from(self.data()),
                        _ => here.min(self.unit),
                    };
                    (0..self.raid.parities())
                        .for_each(|which| parts.add(self.parity(start, row, which), redundant));
                }
                self.data_parts(access, (start, row), (at, here, grown), parts, &mut copy);
            }
            left -= here;
            if left == 0 {
                return;
            }
            (at, row) = (0, row + 1);
        }
    }

    /// The data of one stripe, from byte `at` on.
    fn data_parts(
        &self,
        access: RaidAccess,
        (start, row): (StripeStart, u64),
        (mut at, here, grown): (u64, u64, f64),
        parts: &mut DiskParts,
        copy: &mut impl FnMut() -> bool,
    ) {
        let end = at + here;
        loop {
            let place = (at / self.unit) as u32;
            let until = (at / self.unit + 1).saturating_mul(self.unit).min(end);
            let disk = |copy| self.disk(start, row, place, copy);
            let bytes = until - at;
            match (self.raid, access) {
                (RaidLevel::Mirrored, RaidAccess::Read) => {
                    // All units that the I/O reads of a mirror are read from one copy.
                    let known = [disk(0), disk(1)].into_iter().find(|of| parts.has(*of));
                    parts.add(known.unwrap_or_else(|| disk(u32::from(copy()))), bytes);
                }
                (RaidLevel::Mirrored, _) => {
                    parts.add(disk(0), bytes);
                    parts.add(disk(1), bytes);
                }
                _ if grown > 1.0 => parts.add(disk(0), (bytes as f64 * grown) as u64),
                _ => parts.add(disk(0), bytes),
            }
            at = until;
            if at >= end {
                return;
            }
        }
    }

    /// The disk of a unit of data: the stripe `row` rows after the first, its place in it, and which copy.
    #[inline]
    fn disk(&self, start: StripeStart, row: u64, place: u32, copy: u32) -> u32 {
        let (base, turned) = self.row(start, row);
        let data = u64::from(self.data());
        let in_group = match self.raid {
            RaidLevel::Mirrored => {
                let row = (start.stripe + row) / u64::from(self.groups());
                2 * (row * data + u64::from(place)) + u64::from(copy) + u64::from(start.turn)
            }
            raid => turned + u64::from(raid.parities()) + u64::from(place),
        };
        base + (in_group % u64::from(self.width)) as u32
    }

    /// One of the parity disks of a stripe.
    fn parity(&self, start: StripeStart, row: u64, which: u32) -> u32 {
        let (base, turned) = self.row(start, row);
        base + ((turned + u64::from(which)) % u64::from(self.width)) as u32
    }

    /// The first disk of a stripe's group, and where in the group its parity and then its data begin.
    #[inline]
    fn row(&self, start: StripeStart, row: u64) -> (u32, u64) {
        let (groups, width) = (u64::from(self.groups()), u64::from(self.width));
        let stripe = start.stripe + row;
        let base = (stripe % groups) as u32 * self.width;
        let turn = u64::from(start.turn);
        match self.raid.parities() {
            0 => (base, turn),
            // From the last disk towards the first, stripe by stripe.
            _ => (base, width - 1 - stripe / groups % width + turn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u32 = 1024;

    fn group(raid: RaidLevel, disks: u32, width: u32) -> RaidGroup {
        RaidGroup { first: StationId(0), disks, width, raid, unit: 64 * 1024 }
    }

    /// The disks of an I/O at `kib` KiB, and KiB on each: before it writes, and in the end.
    #[track_caller]
    fn check(
        group: RaidGroup,
        access: RaidAccess,
        (at, kib): (u64, u32),
        before: &[(u32, u64)],
        then: &[(u32, u64)],
    ) {
        let mut parts = DiskParts::new(group.disks);
        let (offset, bytes) = (at * 1024, kib * KIB);
        let start = group.addressed(offset);
        let mut of = |before| {
            group.place(access, before, start, (offset, bytes), &mut parts, || true);
            let mut found: Vec<(u32, u64)> =
                parts.disks.iter().map(|disk| (*disk, parts.bytes(*disk) / 1024)).collect();
            found.sort_unstable();
            assert!(found.len() <= group.parts_most(bytes) as usize);
            found
        };
        assert_eq!(of(false), then);
        assert_eq!(group.reads_before(access, offset, bytes), !before.is_empty());
        if !before.is_empty() {
            assert_eq!(of(true), before);
        }
    }

    /// By hand, after the figure of the left-symmetric layout: P of stripe 0 on the last disk, data 0 to 3 on disks 0 to
    /// 3; P of stripe 1 on the last but one, its data on disks 4, 0, 1, 2.
    #[test]
    fn parity_turns_and_parts_lie_on_different_disks() {
        let five = group(RaidLevel::Parity, 5, 5);
        use RaidAccess::*;
        check(five, Read, (64, 4), &[], &[(1, 4)]);
        check(five, Read, (60, 8), &[], &[(0, 4), (1, 4)]);
        check(five, Read, (0, 256), &[], &[(0, 64), (1, 64), (2, 64), (3, 64)]);
        let two = [(0, 128), (1, 128), (2, 128), (3, 64), (4, 64)];
        check(five, Read, (0, 512), &[], &two);
        check(five, Write, (64, 4), &[(1, 4), (4, 4)], &[(1, 4), (4, 4)]);
        check(five, Write, (256, 4), &[(3, 4), (4, 4)], &[(3, 4), (4, 4)]);
        let part = [(0, 32), (1, 32), (4, 64)];
        check(five, Write, (32, 64), &part, &part);
        let whole = [(0, 64), (1, 64), (2, 64), (3, 64), (4, 64)];
        check(five, Write, (0, 256), &[], &whole);
        // A whole stripe, and 4 KiB of the next, which alone are read before.
        let more = [(0, 64), (1, 64), (2, 64), (3, 68), (4, 68)];
        check(five, Write, (0, 260), &[(3, 4), (4, 4)], &more);
        check(five, Gathered, (0, 64), &[], &[(0, 80)]);
        check(five, Gathered, (0, 256), &[], &whole);
        let six = group(RaidLevel::DoubleParity, 6, 6);
        let three = [(0, 4), (1, 4), (5, 4)];
        check(six, Write, (0, 4), &three, &three);
        let all = [(0, 64), (1, 64), (2, 64), (3, 64), (4, 64), (5, 64)];
        check(six, Write, (0, 256), &[], &all);
    }

    #[test]
    fn stripes_mirrors_and_groups_follow_the_address() {
        use RaidAccess::*;
        let four = group(RaidLevel::Striped, 4, 4);
        check(four, Read, (0, 512), &[], &[(0, 128), (1, 128), (2, 128), (3, 128)]);
        check(four, Write, (224, 64), &[], &[(0, 32), (3, 32)]);
        let mirror = group(RaidLevel::Mirrored, 4, 4);
        check(mirror, Write, (64, 8), &[], &[(2, 8), (3, 8)]);
        check(mirror, Read, (0, 256), &[], &[(1, 128), (3, 128)]);
        // Two groups of three: stripes in turn.
        let groups = group(RaidLevel::Parity, 6, 3);
        check(groups, Read, (0, 256), &[], &[(0, 64), (1, 64), (3, 64), (4, 64)]);
        check(groups, Write, (128, 128), &[], &[(3, 64), (4, 64), (5, 64)]);
        // An odd number of disks holds two copies too.
        let odd = group(RaidLevel::Mirrored, 3, 3);
        check(odd, Write, (64, 4), &[], &[(0, 4), (2, 4)]);
    }

    #[test]
    fn a_group_of_too_few_is_striped() {
        assert_eq!(RaidLevel::Mirrored.within(1), RaidLevel::Striped);
        assert_eq!(RaidLevel::Parity.within(2), RaidLevel::Striped);
        assert_eq!(RaidLevel::DoubleParity.within(3), RaidLevel::Striped);
        assert_eq!(RaidLevel::DoubleParity.within(4), RaidLevel::DoubleParity);
    }
}

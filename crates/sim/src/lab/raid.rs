//! RAID groups: which disks an I/O of the host asks, for what, and in which order.
//!
//! The penalties are those of D. Patterson, G. Gibson and R. Katz, *A case for redundant arrays of inexpensive disks*
//! (SIGMOD 1988): a small write to a group with parity reads the old data and the old parity, and then writes both anew; with
//! two parities it is three and three. A write of whole stripes reads nothing. A mirrored write goes to both copies. What
//! goes on at once goes on at once here: the disks that are read are read together, and a write waits for the last of them.
//! Which disk holds a block is drawn uniformly: a volume is striped over all of its disks, so that disks are equally loaded
//! in the long run and unequally in the short, as they are.

use crate::model::{Demand, Hop, StationId};
use std::fmt;

/// How a group spreads data and guards it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raid {
    /// RAID-0, or a single disk: nothing guarded.
    Striped,
    /// RAID-1 and RAID-10: everything twice.
    Mirrored,
    /// RAID-5: one disk's worth of parity a group.
    Parity,
    /// RAID-6: two.
    DoubleParity,
}

/// Parts that an I/O over several stripe units is divided into, at most.
const PARTS_MAX: u32 = 8;

impl Raid {
    /// What can be guarded with `width` disks: a group of too few is simply striped.
    pub fn within(self, width: u32) -> Raid {
        let least = match self {
            Raid::Striped => 1,
            Raid::Mirrored => 2,
            Raid::Parity => 3,
            Raid::DoubleParity => 4,
        };
        if width < least { Raid::Striped } else { self }
    }

    /// Disks' worth of redundancy among `width`.
    fn redundant(self, width: u32) -> u32 {
        match self {
            Raid::Striped => 0,
            Raid::Mirrored => width / 2,
            Raid::Parity => 1,
            Raid::DoubleParity => 2,
        }
    }
}

impl From<scenario::Raid> for Raid {
    fn from(said: scenario::Raid) -> Raid {
        match said {
            scenario::Raid::None | scenario::Raid::Raid0 => Raid::Striped,
            scenario::Raid::Raid1 | scenario::Raid::Raid10 => Raid::Mirrored,
            scenario::Raid::Raid5 => Raid::Parity,
            scenario::Raid::Raid6 => Raid::DoubleParity,
        }
    }
}

impl fmt::Display for Raid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Raid::Striped => "raid-0",
            Raid::Mirrored => "raid-1",
            Raid::Parity => "raid-5",
            Raid::DoubleParity => "raid-6",
        })
    }
}

/// The disks of a volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// The station of the first; the others follow.
    pub first: StationId,
    /// How many in all.
    pub disks: u32,
    /// Disks of one RAID group; several groups make a meta-LUN.
    pub width: u32,
    /// How a group guards data.
    pub raid: Raid,
    /// Bytes that lie on one disk before the next one's turn.
    pub unit: f64,
}

/// What the I/Os of one direction ask of a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// At a random address.
    pub random: Demand,
    /// In sequence.
    pub sequential: Demand,
    /// Share of the random ones, 0 to 1.
    pub random_share: f64,
    /// Mean bytes of an I/O.
    pub bytes: f64,
    /// What is sequential is written as whole stripes, because a cache gathers it.
    pub gathered: bool,
}

impl Group {
    /// Disks that hold data rather than redundancy, of one group.
    pub fn data(&self) -> u32 {
        self.width.saturating_sub(self.raid.redundant(self.width)).max(1)
    }

    /// Capacity that redundancy leaves, as a share.
    pub fn usable(&self) -> f64 {
        f64::from(self.data()) / f64::from(self.width.max(1))
    }

    /// Reads.
    pub fn read(&self, work: &Work) -> Vec<Hop> {
        let parts = self.parts(work.bytes);
        let of = |demand: &Demand| self.each(parts, |part| vec![self.part(part, parts, demand)]);
        mixed(work.random_share, of(&work.random), of(&work.sequential))
    }

    /// Writes, redundancy included.
    pub fn write(&self, work: &Work) -> Vec<Hop> {
        let whole = work.bytes >= self.unit * f64::from(self.data());
        let random = if whole {
            self.stripe(&work.random, work.bytes)
        } else {
            self.small(&work.random, work)
        };
        let sequential = if whole || work.gathered {
            self.stripe(&work.sequential, work.bytes)
        } else {
            self.small(&work.sequential, work)
        };
        mixed(work.random_share, random, sequential)
    }

    /// Bytes that the disks read and write for each byte that is written.
    pub fn transfers(&self, work: &Work) -> (f64, f64) {
        let stripe = (0.0, 1.0 / self.usable());
        let small = match self.raid {
            Raid::Striped => (0.0, 1.0),
            Raid::Mirrored => (0.0, 2.0),
            Raid::Parity => (2.0, 2.0),
            Raid::DoubleParity => (3.0, 3.0),
        };
        let whole = work.bytes >= self.unit * f64::from(self.data());
        let random = if whole { stripe } else { small };
        let sequential = if whole || work.gathered { stripe } else { small };
        let share = work.random_share;
        let mean = |random: f64, sequential: f64| share * random + (1.0 - share) * sequential;
        (mean(random.0, sequential.0), mean(random.1, sequential.1))
    }

    /// How many disks share one I/O of `bytes`.
    pub fn parts_of(&self, bytes: f64) -> f64 {
        f64::from(self.parts(bytes))
    }

    /// A write of less than a stripe.
    fn small(&self, demand: &Demand, work: &Work) -> Vec<Hop> {
        let parts = self.parts(work.bytes);
        let copies = match self.raid {
            Raid::Striped => 1,
            Raid::Mirrored | Raid::Parity => 2,
            Raid::DoubleParity => 3,
        };
        let at_once = |part| {
            let copy = |copy| match self.raid {
                Raid::Mirrored => self.mirror(copy, part, parts, demand),
                _ => self.part(part, parts, demand),
            };
            together((0..copies).map(|number| vec![copy(number)]).collect())
        };
        self.each(parts, |part| match self.raid {
            Raid::Striped | Raid::Mirrored => at_once(part),
            // What was there is read, and then written anew.
            Raid::Parity | Raid::DoubleParity => [at_once(part), at_once(part)].concat(),
        })
    }

    /// A write of whole stripes, or of what a cache gathers to whole stripes: redundancy is written and nothing is read.
    fn stripe(&self, demand: &Demand, bytes: f64) -> Vec<Hop> {
        let parts = self.parts(bytes);
        let grown = match self.raid {
            Raid::Mirrored => {
                let copy =
                    |copy| self.each(parts, |part| vec![self.mirror(copy, part, parts, demand)]);
                return together(vec![copy(0), copy(1)]);
            }
            _ => 1.0 / self.usable(),
        };
        let demand = Demand { time: demand.time.clone(), per_byte: demand.per_byte * grown };
        self.each(parts, |part| vec![self.part(part, parts, &demand)])
    }

    /// How many disks share one I/O of `bytes`.
    fn parts(&self, bytes: f64) -> u32 {
        let units = (bytes / self.unit).ceil().clamp(1.0, f64::from(PARTS_MAX));
        (units as u32).min(self.data() * (self.disks / self.width.max(1)).max(1))
    }

    /// The same for each part, at once.
    fn each(&self, parts: u32, of: impl Fn(u32) -> Vec<Hop>) -> Vec<Hop> {
        together((0..parts).map(of).collect())
    }

    /// One of `parts` parts of an I/O, at any disk. Where disks can be divided evenly among parts, no two parts meet.
    fn part(&self, part: u32, parts: u32, demand: &Demand) -> Hop {
        self.spread(0, self.disks, part, parts, demand)
    }

    /// The same at the disks of one copy of a mirror: they are one half of all.
    fn mirror(&self, copy: u32, part: u32, parts: u32, demand: &Demand) -> Hop {
        match self.disks.is_multiple_of(2) {
            true => self.spread(copy * (self.disks / 2), self.disks / 2, part, parts, demand),
            false => self.part(part, parts, demand),
        }
    }

    fn spread(&self, from: u32, count: u32, part: u32, parts: u32, demand: &Demand) -> Hop {
        let (from, count) = match count.is_multiple_of(parts) {
            true => (from + part * (count / parts), count / parts),
            false => (from, count),
        };
        let per_byte = demand.per_byte / f64::from(parts);
        let demand = Demand { time: demand.time.clone(), per_byte };
        let first = StationId(self.first.0 + from);
        match count {
            1 => Hop::Visit { station: first, demand },
            _ => Hop::Spread { first, count, demand },
        }
    }
}

/// Routes that begin at once; one alone is simply gone.
fn together(mut routes: Vec<Vec<Hop>>) -> Vec<Hop> {
    match routes.len() {
        1 => routes.swap_remove(0),
        _ => vec![Hop::Together { routes }],
    }
}

/// The one way with the probability `share`, or else the other; either may have no hops.
pub fn mixed(share: f64, first: Vec<Hop>, other: Vec<Hop>) -> Vec<Hop> {
    if share >= 1.0 {
        return first;
    }
    if share <= 0.0 {
        return other;
    }
    // Over the first way and, where there is another, over the hop that leads around that.
    let around = u32::from(!other.is_empty());
    let mut hops = Vec::with_capacity(first.len() + other.len() + 2);
    match first.is_empty() {
        true if other.is_empty() => return hops,
        true => hops.push(Hop::Skip { chance: share, hops: other.len() as u32 }),
        false => {
            hops.push(Hop::Skip { chance: 1.0 - share, hops: first.len() as u32 + around });
            hops.extend(first);
            if !other.is_empty() {
                hops.push(Hop::Skip { chance: 1.0, hops: other.len() as u32 });
            }
        }
    }
    hops.extend(other);
    hops
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ps;
    use crate::model::Law;

    const RANDOM: Ps = Ps::micros(5000);
    const KILO: f64 = 1024.0;

    fn group(raid: Raid, disks: u32, width: u32) -> Group {
        Group { first: StationId(10), disks, width, raid, unit: 64.0 * KILO }
    }

    fn work(kilobytes: f64, random_share: f64, gathered: bool) -> Work {
        let demand = |time| Demand { time, per_byte: 10_000.0 };
        Work {
            random: demand(Law::Constant(RANDOM)),
            sequential: demand(Law::ZERO),
            random_share,
            bytes: kilobytes * KILO,
            gathered,
        }
    }

    /// What an I/O of `bytes` does on the way: visits, picoseconds of them in all, and how long they take with nobody else
    /// there. Chances are followed as they weigh.
    fn sum(hops: &[Hop], bytes: f64) -> (f64, f64, f64) {
        let mut reached = vec![0.0; hops.len() + 1];
        reached[0] = 1.0;
        let mut all = (0.0, 0.0, 0.0);
        for (at, hop) in hops.iter().enumerate() {
            let here = reached[at];
            let mut onward = here;
            let (visits, time, span) = match hop {
                Hop::Visit { demand, .. } | Hop::Spread { demand, .. } => {
                    let time = demand.time.mean() + demand.per_byte * bytes;
                    (1.0, time, time)
                }
                Hop::Together { routes } => {
                    let each = routes.iter().map(|route| sum(route, bytes));
                    each.fold((0.0, 0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1, f64::max(a.2, b.2)))
                }
                Hop::Skip { chance, hops } => {
                    reached[at + 1 + *hops as usize] += here * chance;
                    onward = here * (1.0 - chance);
                    (0.0, 0.0, 0.0)
                }
                other => panic!("{other:?}"),
            };
            reached[at + 1] += onward;
            all = (all.0 + here * visits, all.1 + here * time, all.2 + here * span);
        }
        all
    }

    /// Disk I/Os and the time of all of them, in units of a random one.
    #[track_caller]
    fn check(hops: &[Hop], kilobytes: f64, visits: f64, work: f64, span: f64) {
        let found = sum(hops, kilobytes * KILO);
        let one = RANDOM.0 as f64;
        let near = |a: f64, b: f64| (a - b).abs() < 0.005 * b.max(0.1);
        let time = (found.1 / one, found.2 / one);
        assert!(
            near(found.0, visits) && near(time.0, work) && near(time.1, span),
            "{found:?} {time:?}"
        );
    }

    /// 4 KiB at random: the transfer of 41 us is nothing beside 5 ms.
    #[test]
    fn small_writes_pay_the_penalty_of_their_level() {
        let small = work(4.0, 1.0, true);
        check(&group(Raid::Striped, 4, 4).write(&small), 4.0, 1.0, 1.008, 1.008);
        check(&group(Raid::Mirrored, 2, 2).write(&small), 4.0, 2.0, 2.016, 1.008);
        check(&group(Raid::Mirrored, 16, 2).write(&small), 4.0, 2.0, 2.016, 1.008);
        check(&group(Raid::Parity, 5, 5).write(&small), 4.0, 4.0, 4.033, 2.016);
        check(&group(Raid::DoubleParity, 8, 8).write(&small), 4.0, 6.0, 6.049, 2.016);
        for raid in [Raid::Striped, Raid::Mirrored, Raid::Parity, Raid::DoubleParity] {
            check(&group(raid, 8, 8).read(&small), 4.0, 1.0, 1.008, 1.008);
        }
    }

    /// 256 KiB in sequence at 10 ns a byte: 2.62 ms, or 0.524 of a random I/O.
    #[test]
    fn whole_stripes_read_nothing() {
        let gathered = work(256.0, 0.0, true);
        check(
            &group(Raid::Parity, 5, 5).write(&gathered),
            256.0,
            4.0,
            0.524 * 1.25,
            0.524 * 1.25 / 4.0,
        );
        check(
            &group(Raid::DoubleParity, 6, 6).write(&gathered),
            256.0,
            4.0,
            0.524 * 1.5,
            0.524 * 1.5 / 4.0,
        );
        check(&group(Raid::Mirrored, 8, 8).write(&gathered), 256.0, 8.0, 0.524 * 2.0, 0.524 / 4.0);
        // A stripe of four units is whole without being gathered; one of seven is not.
        let alone = work(256.0, 0.0, false);
        check(
            &group(Raid::Parity, 5, 5).write(&alone),
            256.0,
            4.0,
            0.524 * 1.25,
            0.524 * 1.25 / 4.0,
        );
        check(
            &group(Raid::Parity, 8, 8).write(&alone),
            256.0,
            16.0,
            0.524 * 4.0,
            0.524 * 2.0 / 4.0,
        );
    }

    #[test]
    fn large_reads_ask_several_disks_at_once() {
        check(&group(Raid::Striped, 1, 1).read(&work(256.0, 0.0, true)), 256.0, 1.0, 0.524, 0.524);
        check(&group(Raid::Striped, 8, 8).read(&work(256.0, 0.0, true)), 256.0, 4.0, 0.524, 0.131);
        check(&group(Raid::Striped, 8, 8).read(&work(256.0, 1.0, true)), 256.0, 4.0, 4.524, 1.131);
        check(&group(Raid::Striped, 2, 2).read(&work(256.0, 0.0, true)), 256.0, 2.0, 0.524, 0.262);
    }

    #[test]
    fn random_and_sequential_mix_by_chance() {
        let half = work(4.0, 0.5, true);
        check(&group(Raid::Striped, 4, 4).read(&half), 4.0, 1.0, 0.508, 0.508);
        // Half of them 4.033, half of them 1.25 transfers of 41 us.
        check(
            &group(Raid::Parity, 5, 5).write(&half),
            4.0,
            2.5,
            (4.033 + 0.0102) / 2.0,
            (2.016 + 0.0102) / 2.0,
        );
    }

    /// What a cache answers has no hops: the other way is gone as often as it weighs, and no hop is left over nothing.
    #[test]
    fn a_way_of_no_hops_mixes_too() {
        let visit = || vec![Hop::visit(StationId(1), Law::Constant(RANDOM))];
        check(&mixed(0.3, visit(), Vec::new()), 0.0, 0.3, 0.3, 0.3);
        check(&mixed(0.3, Vec::new(), visit()), 0.0, 0.7, 0.7, 0.7);
        check(&mixed(0.3, visit(), [visit(), visit()].concat()), 0.0, 1.7, 1.7, 1.7);
        assert_eq!(mixed(0.3, Vec::new(), Vec::new()), []);
    }

    /// Copies of a mirror are on different disks, and parts of an I/O are where they can be.
    #[test]
    fn copies_and_parts_do_not_meet() {
        let ranges = |hops: &[Hop]| -> Vec<(u32, u32)> {
            let Hop::Together { routes } = &hops[0] else { panic!("{hops:?}") };
            let range = |route: &Vec<Hop>| match &route[0] {
                Hop::Spread { first, count, .. } => (first.0, *count),
                Hop::Visit { station, .. } => (station.0, 1),
                other => panic!("{other:?}"),
            };
            routes.iter().map(range).collect()
        };
        let small = work(4.0, 1.0, true);
        assert_eq!(ranges(&group(Raid::Mirrored, 2, 2).write(&small)), [(10, 1), (11, 1)]);
        assert_eq!(ranges(&group(Raid::Mirrored, 16, 2).write(&small)), [(10, 8), (18, 8)]);
        let large = work(256.0, 1.0, true);
        let four = [(10, 2), (12, 2), (14, 2), (16, 2)];
        assert_eq!(ranges(&group(Raid::Striped, 8, 8).read(&large)), four);
        assert_eq!(ranges(&group(Raid::Striped, 6, 6).read(&large)), [(10, 6); 4]);
    }

    #[test]
    fn what_disks_transfer_for_a_byte() {
        let check = |raid, work: &Work, expected: (f64, f64)| {
            let found = group(raid, 8, 8).transfers(work);
            let near = (found.0 - expected.0).abs() + (found.1 - expected.1).abs() < 1e-9;
            assert!(near, "{raid}: {found:?}, not {expected:?}");
        };
        check(Raid::Parity, &work(4.0, 1.0, true), (2.0, 2.0));
        check(Raid::DoubleParity, &work(4.0, 1.0, true), (3.0, 3.0));
        check(Raid::Parity, &work(4.0, 0.0, true), (0.0, 8.0 / 7.0));
        check(Raid::DoubleParity, &work(4.0, 0.0, true), (0.0, 8.0 / 6.0));
        check(Raid::Mirrored, &work(4.0, 0.5, true), (0.0, 2.0));
        check(Raid::Striped, &work(4.0, 0.5, true), (0.0, 1.0));
    }

    #[test]
    fn a_group_of_too_few_is_striped() {
        assert_eq!(Raid::Mirrored.within(1), Raid::Striped);
        assert_eq!(Raid::Parity.within(2), Raid::Striped);
        assert_eq!(Raid::DoubleParity.within(3), Raid::Striped);
        assert_eq!(Raid::DoubleParity.within(4), Raid::DoubleParity);
    }
}

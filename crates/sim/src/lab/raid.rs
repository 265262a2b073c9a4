//! RAID groups: which disk I/Os a host I/O causes, and in which order.
//!
//! The penalties are those of D. Patterson, G. Gibson and R. Katz, *A case for redundant arrays of inexpensive disks*
//! (SIGMOD 1988): a small write to a group with parity reads the old data and the old parity, and then writes both;
//! with double parity it is three and three. A full-stripe write reads nothing. A mirrored write goes to both copies.
//! Parallel disk I/Os are parallel here: disks are read together, and a write waits for the last of them. The disk of a
//! block is drawn uniformly: a volume is striped over all of its disks, so their load is equal in the long run and
//! unequal in the short.

use crate::model::{Demand, Hop, StationId};
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

/// Greatest number of parts of an I/O over several stripe units.
const PARTS_MAX: u32 = 8;

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

    /// Redundant disks among `width`.
    fn redundant(self, width: u32) -> u32 {
        match self {
            RaidLevel::Striped => 0,
            RaidLevel::Mirrored => width / 2,
            RaidLevel::Parity => 1,
            RaidLevel::DoubleParity => 2,
        }
    }
}

impl From<scenario::Raid> for RaidLevel {
    fn from(said: scenario::Raid) -> RaidLevel {
        match said {
            scenario::Raid::None | scenario::Raid::Raid0 => RaidLevel::Striped,
            scenario::Raid::Raid1 | scenario::Raid::Raid10 => RaidLevel::Mirrored,
            scenario::Raid::Raid5 => RaidLevel::Parity,
            scenario::Raid::Raid6 => RaidLevel::DoubleParity,
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

/// The disks of a volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaidGroup {
    /// The station of the first disk; the others follow.
    pub first: StationId,
    /// Number of disks.
    pub disks: u32,
    /// Disks of one RAID group; several groups make a meta-LUN.
    pub width: u32,
    /// The RAID level.
    pub raid: RaidLevel,
    /// Stripe unit in bytes.
    pub unit: f64,
}

/// The disk work of the I/Os of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskWork {
    /// Demand at a random address.
    pub random: Demand,
    /// Demand in sequence.
    pub sequential: Demand,
    /// Share of random I/Os, 0 to 1.
    pub random_share: f64,
    /// Mean bytes of an I/O.
    pub bytes: f64,
    /// Sequential writes are full stripes, because a cache gathers them.
    pub gathered: bool,
}

impl RaidGroup {
    /// Data disks of one group.
    pub fn data(&self) -> u32 {
        self.width.saturating_sub(self.raid.redundant(self.width)).max(1)
    }

    /// Usable share of the capacity.
    pub fn usable(&self) -> f64 {
        f64::from(self.data()) / f64::from(self.width.max(1))
    }

    /// The hops of a read.
    pub fn read(&self, work: &DiskWork) -> Vec<Hop> {
        let parts = self.parts(work.bytes);
        let of = |demand: &Demand| self.each(parts, |part| vec![self.part(part, parts, demand)]);
        mixed(work.random_share, of(&work.random), of(&work.sequential))
    }

    /// The hops of a write, redundancy included.
    pub fn write(&self, work: &DiskWork) -> Vec<Hop> {
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

    /// Bytes that the disks read and write per byte written.
    pub fn transfers(&self, work: &DiskWork) -> (f64, f64) {
        let stripe = (0.0, 1.0 / self.usable());
        let small = match self.raid {
            RaidLevel::Striped => (0.0, 1.0),
            RaidLevel::Mirrored => (0.0, 2.0),
            RaidLevel::Parity => (2.0, 2.0),
            RaidLevel::DoubleParity => (3.0, 3.0),
        };
        let whole = work.bytes >= self.unit * f64::from(self.data());
        let random = if whole { stripe } else { small };
        let sequential = if whole || work.gathered { stripe } else { small };
        let share = work.random_share;
        let mean = |random: f64, sequential: f64| share * random + (1.0 - share) * sequential;
        (mean(random.0, sequential.0), mean(random.1, sequential.1))
    }

    /// Number of disks that share an I/O of `bytes`.
    pub fn parts_of(&self, bytes: f64) -> f64 {
        f64::from(self.parts(bytes))
    }

    /// A write of less than a stripe.
    fn small(&self, demand: &Demand, work: &DiskWork) -> Vec<Hop> {
        let parts = self.parts(work.bytes);
        let copies = match self.raid {
            RaidLevel::Striped => 1,
            RaidLevel::Mirrored | RaidLevel::Parity => 2,
            RaidLevel::DoubleParity => 3,
        };
        let at_once = |part| {
            let copy = |copy| match self.raid {
                RaidLevel::Mirrored => self.mirror(copy, part, parts, demand),
                _ => self.part(part, parts, demand),
            };
            together((0..copies).map(|number| vec![copy(number)]).collect())
        };
        self.each(parts, |part| match self.raid {
            RaidLevel::Striped | RaidLevel::Mirrored => at_once(part),
            // Reads the old contents, then writes the new.
            RaidLevel::Parity | RaidLevel::DoubleParity => [at_once(part), at_once(part)].concat(),
        })
    }

    /// A full-stripe write, or one that a cache gathers into full stripes: writes redundancy and reads nothing.
    fn stripe(&self, demand: &Demand, bytes: f64) -> Vec<Hop> {
        let parts = self.parts(bytes);
        let grown = match self.raid {
            RaidLevel::Mirrored => {
                let copy =
                    |copy| self.each(parts, |part| vec![self.mirror(copy, part, parts, demand)]);
                return together(vec![copy(0), copy(1)]);
            }
            _ => 1.0 / self.usable(),
        };
        let demand = Demand { time: demand.time.clone(), per_byte: demand.per_byte * grown };
        self.each(parts, |part| vec![self.part(part, parts, &demand)])
    }

    /// Number of disks that share an I/O of `bytes`.
    fn parts(&self, bytes: f64) -> u32 {
        let units = (bytes / self.unit).ceil().clamp(1.0, f64::from(PARTS_MAX));
        (units as u32).min(self.data() * (self.disks / self.width.max(1)).max(1))
    }

    /// The same work for each part, in parallel.
    fn each(&self, parts: u32, of: impl Fn(u32) -> Vec<Hop>) -> Vec<Hop> {
        together((0..parts).map(of).collect())
    }

    /// One of `parts` parts of an I/O, at any disk. Where disks divide evenly among parts, no two parts share a disk.
    fn part(&self, part: u32, parts: u32, demand: &Demand) -> Hop {
        self.spread(0, self.disks, part, parts, demand)
    }

    /// The same at the disks of one copy of a mirror: one half of all disks.
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

/// Parallel routes; a single one is simply followed.
fn together(mut routes: Vec<Vec<Hop>>) -> Vec<Hop> {
    match routes.len() {
        1 => routes.swap_remove(0),
        _ => vec![Hop::Together { routes }],
    }
}

/// The first way with probability `share`, otherwise the other; either may be empty.
pub fn mixed(share: f64, first: Vec<Hop>, other: Vec<Hop>) -> Vec<Hop> {
    if share >= 1.0 {
        return first;
    }
    if share <= 0.0 {
        return other;
    }
    // Skips the first way and, if there is another, the hop that leads around that.
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

    fn group(raid: RaidLevel, disks: u32, width: u32) -> RaidGroup {
        RaidGroup { first: StationId(10), disks, width, raid, unit: 64.0 * KILO }
    }

    fn work(kilobytes: f64, random_share: f64, gathered: bool) -> DiskWork {
        let demand = |time| Demand { time, per_byte: 10_000.0 };
        DiskWork {
            random: demand(Law::Constant(RANDOM)),
            sequential: demand(Law::ZERO),
            random_share,
            bytes: kilobytes * KILO,
            gathered,
        }
    }

    /// The visits of an I/O of `bytes`, their total picoseconds, and its latency without queueing. Skips are weighted
    /// by their probability.
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

    /// Checks the disk I/Os and the total time, in units of a random I/O.
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

    /// 4 KiB at random: the transfer of 41 us is negligible beside 5 ms.
    #[test]
    fn small_writes_pay_the_penalty_of_their_level() {
        let small = work(4.0, 1.0, true);
        check(&group(RaidLevel::Striped, 4, 4).write(&small), 4.0, 1.0, 1.008, 1.008);
        check(&group(RaidLevel::Mirrored, 2, 2).write(&small), 4.0, 2.0, 2.016, 1.008);
        check(&group(RaidLevel::Mirrored, 16, 2).write(&small), 4.0, 2.0, 2.016, 1.008);
        check(&group(RaidLevel::Parity, 5, 5).write(&small), 4.0, 4.0, 4.033, 2.016);
        check(&group(RaidLevel::DoubleParity, 8, 8).write(&small), 4.0, 6.0, 6.049, 2.016);
        for raid in
            [RaidLevel::Striped, RaidLevel::Mirrored, RaidLevel::Parity, RaidLevel::DoubleParity]
        {
            check(&group(raid, 8, 8).read(&small), 4.0, 1.0, 1.008, 1.008);
        }
    }

    /// 256 KiB in sequence at 10 ns a byte: 2.62 ms, or 0.524 of a random I/O.
    #[test]
    fn whole_stripes_read_nothing() {
        let gathered = work(256.0, 0.0, true);
        check(
            &group(RaidLevel::Parity, 5, 5).write(&gathered),
            256.0,
            4.0,
            0.524 * 1.25,
            0.524 * 1.25 / 4.0,
        );
        check(
            &group(RaidLevel::DoubleParity, 6, 6).write(&gathered),
            256.0,
            4.0,
            0.524 * 1.5,
            0.524 * 1.5 / 4.0,
        );
        check(
            &group(RaidLevel::Mirrored, 8, 8).write(&gathered),
            256.0,
            8.0,
            0.524 * 2.0,
            0.524 / 4.0,
        );
        // A stripe of four units is full without a cache; one of seven is not.
        let alone = work(256.0, 0.0, false);
        check(
            &group(RaidLevel::Parity, 5, 5).write(&alone),
            256.0,
            4.0,
            0.524 * 1.25,
            0.524 * 1.25 / 4.0,
        );
        check(
            &group(RaidLevel::Parity, 8, 8).write(&alone),
            256.0,
            16.0,
            0.524 * 4.0,
            0.524 * 2.0 / 4.0,
        );
    }

    #[test]
    fn large_reads_ask_several_disks_at_once() {
        check(
            &group(RaidLevel::Striped, 1, 1).read(&work(256.0, 0.0, true)),
            256.0,
            1.0,
            0.524,
            0.524,
        );
        check(
            &group(RaidLevel::Striped, 8, 8).read(&work(256.0, 0.0, true)),
            256.0,
            4.0,
            0.524,
            0.131,
        );
        check(
            &group(RaidLevel::Striped, 8, 8).read(&work(256.0, 1.0, true)),
            256.0,
            4.0,
            4.524,
            1.131,
        );
        check(
            &group(RaidLevel::Striped, 2, 2).read(&work(256.0, 0.0, true)),
            256.0,
            2.0,
            0.524,
            0.262,
        );
    }

    #[test]
    fn random_and_sequential_mix_by_chance() {
        let half = work(4.0, 0.5, true);
        check(&group(RaidLevel::Striped, 4, 4).read(&half), 4.0, 1.0, 0.508, 0.508);
        // Half of them 4.033, half of them 1.25 transfers of 41 us.
        check(
            &group(RaidLevel::Parity, 5, 5).write(&half),
            4.0,
            2.5,
            (4.033 + 0.0102) / 2.0,
            (2.016 + 0.0102) / 2.0,
        );
    }

    /// A cache hit has no hops: the other way is taken as often as its weight, and no skip covers zero hops.
    #[test]
    fn a_way_of_no_hops_mixes_too() {
        let visit = || vec![Hop::visit(StationId(1), Law::Constant(RANDOM))];
        check(&mixed(0.3, visit(), Vec::new()), 0.0, 0.3, 0.3, 0.3);
        check(&mixed(0.3, Vec::new(), visit()), 0.0, 0.7, 0.7, 0.7);
        check(&mixed(0.3, visit(), [visit(), visit()].concat()), 0.0, 1.7, 1.7, 1.7);
        assert_eq!(mixed(0.3, Vec::new(), Vec::new()), []);
    }

    /// Copies of a mirror are on different disks, as are parts of an I/O where possible.
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
        assert_eq!(ranges(&group(RaidLevel::Mirrored, 2, 2).write(&small)), [(10, 1), (11, 1)]);
        assert_eq!(ranges(&group(RaidLevel::Mirrored, 16, 2).write(&small)), [(10, 8), (18, 8)]);
        let large = work(256.0, 1.0, true);
        let four = [(10, 2), (12, 2), (14, 2), (16, 2)];
        assert_eq!(ranges(&group(RaidLevel::Striped, 8, 8).read(&large)), four);
        assert_eq!(ranges(&group(RaidLevel::Striped, 6, 6).read(&large)), [(10, 6); 4]);
    }

    #[test]
    fn what_disks_transfer_for_a_byte() {
        let check = |raid, work: &DiskWork, expected: (f64, f64)| {
            let found = group(raid, 8, 8).transfers(work);
            let near = (found.0 - expected.0).abs() + (found.1 - expected.1).abs() < 1e-9;
            assert!(near, "{raid}: {found:?}, not {expected:?}");
        };
        check(RaidLevel::Parity, &work(4.0, 1.0, true), (2.0, 2.0));
        check(RaidLevel::DoubleParity, &work(4.0, 1.0, true), (3.0, 3.0));
        check(RaidLevel::Parity, &work(4.0, 0.0, true), (0.0, 8.0 / 7.0));
        check(RaidLevel::DoubleParity, &work(4.0, 0.0, true), (0.0, 8.0 / 6.0));
        check(RaidLevel::Mirrored, &work(4.0, 0.5, true), (0.0, 2.0));
        check(RaidLevel::Striped, &work(4.0, 0.5, true), (0.0, 1.0));
    }

    #[test]
    fn a_group_of_too_few_is_striped() {
        assert_eq!(RaidLevel::Mirrored.within(1), RaidLevel::Striped);
        assert_eq!(RaidLevel::Parity.within(2), RaidLevel::Striped);
        assert_eq!(RaidLevel::DoubleParity.within(3), RaidLevel::Striped);
        assert_eq!(RaidLevel::DoubleParity.within(4), RaidLevel::DoubleParity);
    }
}

//! RAID groups: which visits to the disks a host I/O causes.
//!
//! The penalties are those of D. Patterson, G. Gibson and R. Katz, *A case for redundant arrays of inexpensive disks*
//! (SIGMOD 1988): a write to a part of a stripe with parity reads the old data and the old parity, and then writes both
//! again, on the same disks; with double parity there are two parities. A full-stripe write reads nothing. A mirrored
//! write goes to both copies. Where the parts lie follows from the address of each I/O ([`RaidGroup`]). A cache destages
//! to stripes whose disks are idle; and what misses a cache under a skew is on any stripe, since hot blocks are hits.

use crate::model::{
    Demand, DiskParts, Hop, RaidAccess, RaidGroup, RaidLevel, RaidVisit, StripeChoice,
};
use std::sync::Arc;
use workload::Dir;

/// Positions within a stripe over which transfers are averaged, at most.
const PHASES_MAX: u64 = 64;

impl From<scenario::Raid> for RaidLevel {
    fn from(said: scenario::Raid) -> RaidLevel {
        match said {
            // Of several disks one after the other each is a unit.
            scenario::Raid::None | scenario::Raid::Raid0 => RaidLevel::Striped,
            scenario::Raid::Raid1 | scenario::Raid::Raid10 => RaidLevel::Mirrored,
            scenario::Raid::Raid5 => RaidLevel::Parity,
            scenario::Raid::Raid6 => RaidLevel::DoubleParity,
        }
    }
}

/// The disk work of the I/Os of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskWork {
    /// Demand of a disk I/O at a random address.
    pub random: Demand,
    /// Demand of a disk I/O in sequence.
    pub sequential: Demand,
    /// Share of random I/Os, 0 to 1.
    pub random_share: f64,
    /// Mean bytes of an I/O.
    pub bytes: f64,
    /// A cache gathers sequential writes into full stripes, and writes to idle disks.
    pub gathered: bool,
    /// What a write reads before has been read elsewhere.
    pub rewrites: bool,
    /// Where random I/Os are.
    pub choice: StripeChoice,
}

/// The hops of an I/O on a group's disks.
pub fn on_disks(group: &RaidGroup, dir: Dir, work: &DiskWork) -> Vec<Hop> {
    let visit = |access, choice, demand: &Demand| match group.disks {
        1 => vec![Hop::Visit { station: group.first, demand: demand.clone() }],
        _ => {
            let visit = RaidVisit { group: *group, access, choice, demand: demand.clone() };
            vec![Hop::Raid { visit: Arc::new(visit) }]
        }
    };
    let write = if work.rewrites { RaidAccess::Rewrite } else { RaidAccess::Write };
    let (random, sequential) = match dir {
        Dir::Read => (
            visit(RaidAccess::Read, work.choice, &work.random),
            visit(RaidAccess::Read, StripeChoice::Addressed, &work.sequential),
        ),
        Dir::Write if work.gathered => (
            visit(write, StripeChoice::Idle, &work.random),
            visit(RaidAccess::Gathered, StripeChoice::Idle, &work.sequential),
        ),
        _ => (
            visit(write, work.choice, &work.random),
            visit(write, StripeChoice::Addressed, &work.sequential),
        ),
    };
    mixed(work.random_share, random, sequential)
}

/// Bytes that the disks read and write for each byte written.
pub fn transfers(group: &RaidGroup, work: &DiskWork) -> (f64, f64) {
    let random = moved(group, RaidAccess::Write, work.whole_bytes());
    let sequential = moved(group, work.sequential_write(), work.whole_bytes());
    let mean = |random: f64, sequential: f64| {
        work.random_share * random + (1.0 - work.random_share) * sequential
    };
    (mean(random.0, sequential.0), mean(random.1, sequential.1))
}

impl DiskWork {
    fn whole_bytes(&self) -> u32 {
        (self.bytes as u32).max(1)
    }

    fn sequential_write(&self) -> RaidAccess {
        if self.gathered { RaidAccess::Gathered } else { RaidAccess::Write }
    }
}

/// The shares of random and of sequential writes that read before they write.
pub fn read_before(group: &RaidGroup, work: &DiskWork) -> (f64, f64) {
    let bytes = work.whole_bytes();
    let share = |access| {
        over_phases(group, bytes, |offset| {
            f64::from(u8::from(group.disks > 1 && group.reads_before(access, offset, bytes)))
        })
    };
    (share(RaidAccess::Write), share(work.sequential_write()))
}

/// Disks that a write is on at once, over its positions in a stripe.
pub fn written_disks(group: &RaidGroup, work: &DiskWork) -> f64 {
    if group.disks == 1 {
        return 1.0;
    }
    let (bytes, mut parts) = (work.whole_bytes(), DiskParts::new(group.disks));
    let mut mean = |access| {
        over_phases(group, bytes, |offset| {
            group.place(
                access,
                false,
                group.addressed(offset),
                (offset, bytes),
                &mut parts,
                || true,
            );
            parts.disks.len() as f64
        })
    };
    let (random, sequential) = (mean(RaidAccess::Write), mean(work.sequential_write()));
    work.random_share * random + (1.0 - work.random_share) * sequential
}

/// The mean of a figure over the positions in a stripe of I/Os of `bytes`.
fn over_phases(group: &RaidGroup, bytes: u32, of: impl FnMut(u64) -> f64) -> f64 {
    let all: Vec<f64> = group.phases(u64::from(bytes), PHASES_MAX).map(of).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// Disk I/Os that share an I/O of `bytes`, redundancy aside.
pub fn parts_of(group: &RaidGroup, bytes: f64) -> f64 {
    let units = (bytes / group.unit as f64).ceil().max(1.0);
    units.min(f64::from(group.data() * group.groups()))
}

/// Bytes read and written for each byte of an I/O of `bytes`, over its positions in a stripe.
fn moved(group: &RaidGroup, access: RaidAccess, bytes: u32) -> (f64, f64) {
    if group.disks == 1 {
        return (0.0, 1.0);
    }
    let mut parts = DiskParts::new(group.disks);
    let (mut reads, mut writes, mut phases) = (0, 0, 0);
    for offset in group.phases(u64::from(bytes), PHASES_MAX) {
        let mut sum = |before| {
            let start = group.addressed(offset);
            group.place(access, before, start, (offset, bytes), &mut parts, || true);
            parts.disks.iter().map(|disk| parts.bytes(*disk)).sum::<u64>()
        };
        writes += sum(false);
        if group.reads_before(access, offset, bytes) {
            reads += sum(true);
        }
        phases += 1;
    }
    let all = f64::from(bytes) * f64::from(phases.max(1));
    (reads as f64 / all, writes as f64 / all)
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
    use crate::model::{Law, StationId};

    const RANDOM: Ps = Ps::micros(5000);

    fn group(raid: RaidLevel, disks: u32, width: u32) -> RaidGroup {
        RaidGroup { first: StationId(10), disks, width, raid, unit: 64 * 1024 }
    }

    fn work(kilobytes: f64, random_share: f64, gathered: bool) -> DiskWork {
        let demand = |time| Demand { time, per_byte: 10_000.0 };
        DiskWork {
            random: demand(Law::Constant(RANDOM)),
            sequential: demand(Law::ZERO),
            random_share,
            bytes: kilobytes * 1024.0,
            gathered,
            rewrites: false,
            choice: StripeChoice::Addressed,
        }
    }

    #[test]
    fn a_single_disk_is_a_visit_and_a_group_is_one_hop() {
        let small = work(4.0, 1.0, true);
        let one = on_disks(&group(RaidLevel::Striped, 1, 1), Dir::Read, &small);
        assert!(matches!(one[..], [Hop::Visit { .. }]), "{one:?}");
        for dir in [Dir::Read, Dir::Write] {
            let all =
                on_disks(&group(RaidLevel::Striped, 960, 960), dir, &work(65536.0, 1.0, false));
            assert!(matches!(all[..], [Hop::Raid { .. }]), "{all:?}");
        }
    }

    /// A cache hit has no hops: the other way is taken as often as its weight, and no skip covers zero hops.
    #[test]
    fn a_way_of_no_hops_mixes_too() {
        let visit = || vec![Hop::visit(StationId(1), Law::Constant(RANDOM))];
        let skip = |chance, hops| Hop::Skip { chance, hops };
        let one = || visit().swap_remove(0);
        assert_eq!(mixed(0.25, visit(), Vec::new()), [skip(0.75, 1), one()]);
        assert_eq!(mixed(0.25, Vec::new(), visit()), [skip(0.25, 1), one()]);
        let both = [skip(0.75, 2), one(), skip(1.0, 2), one(), one()];
        assert_eq!(mixed(0.25, visit(), [visit(), visit()].concat()), both);
        assert_eq!(mixed(0.3, Vec::new(), Vec::new()), []);
    }

    #[test]
    fn what_disks_transfer_for_a_byte() {
        let check = |raid, work: &DiskWork, expected: (f64, f64)| {
            let found = transfers(&group(raid, 8, 8), work);
            let near = (found.0 - expected.0).abs() + (found.1 - expected.1).abs() < 1e-3;
            assert!(near, "{raid}: {found:?}, not {expected:?}");
        };
        check(RaidLevel::Parity, &work(4.0, 1.0, true), (2.0, 2.0));
        check(RaidLevel::DoubleParity, &work(4.0, 1.0, true), (3.0, 3.0));
        check(RaidLevel::Parity, &work(4.0, 0.0, true), (0.0, 8.0 / 7.0));
        check(RaidLevel::DoubleParity, &work(4.0, 0.0, true), (0.0, 8.0 / 6.0));
        check(RaidLevel::Parity, &work(448.0, 1.0, false), (0.0, 8.0 / 7.0));
        // Two units and their parity: 192 KiB read and written for 128.
        check(RaidLevel::Mirrored, &work(4.0, 0.5, true), (0.0, 2.0));
        check(RaidLevel::Striped, &work(4.0, 0.5, true), (0.0, 1.0));
    }
}

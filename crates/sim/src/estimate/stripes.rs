//! The disk I/Os of a visit to a RAID group, averaged over the sizes of a class's I/Os and their places in a stripe.

use super::mix::SizeShare;
use crate::model::{DiskParts, RaidAccess, RaidGroup, RaidLevel, RaidVisit, StripeChoice};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Places in a stripe over which is averaged, at most.
const PHASES_MAX: u64 = 64;
/// Shares of disks closer than this are equal.
const EQUAL: f64 = 0.02;

/// The averages of a visit.
#[derive(Clone, Debug, PartialEq)]
pub struct RaidAverages {
    /// What happens at once, first what is read before it is written.
    pub rounds: Vec<RaidRound>,
    /// The share of the disk I/Os on each disk; empty where all have the same.
    pub shares: Vec<f64>,
}

/// Disk I/Os at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaidRound {
    /// How many.
    pub parts: u32,
    /// How often, for each I/O.
    pub often: f64,
    /// Mean bytes of one.
    pub bytes: f64,
    /// The share of them that follow reads on the same disks.
    pub again: f64,
    /// Of what comes to one of their disks, the share that comes to another of them at the same moment, but for copies.
    pub together: f64,
}

/// What makes visits alike: the group's layout, what is done there, and the sizes.
type Alike = ([u64; 6], Vec<(u32, u32, u64, (u64, u64))>);

/// Averages of visits, each computed once: many paths lead to the same disks, and many groups are alike.
#[derive(Clone, Debug, Default)]
pub struct Stripes(RefCell<BTreeMap<Alike, Rc<RaidAverages>>>);

impl Stripes {
    /// Averages a visit by I/Os of these sizes.
    pub fn averages(&self, visit: &RaidVisit, sizes: &[SizeShare]) -> Rc<RaidAverages> {
        let RaidVisit { group, access, choice, .. } = visit;
        let (disks, width) = (u64::from(group.disks), u64::from(group.width));
        let kind = [group.raid as u64, *access as u64, *choice as u64];
        let layout = [disks, width, group.unit, kind[0], kind[1], kind[2]];
        let of_size = |size: &SizeShare| {
            let region = within(group, size).unwrap_or_default();
            (size.bytes, size.align, size.share.to_bits(), region)
        };
        let key = (layout, sizes.iter().map(of_size).collect());
        let mut known = self.0.borrow_mut();
        Rc::clone(known.entry(key).or_insert_with(|| Rc::new(averages(visit, sizes))))
    }
}

fn averages(visit: &RaidVisit, sizes: &[SizeShare]) -> RaidAverages {
    let group = &visit.group;
    let mut parts = DiskParts::new(group.disks);
    // By round and number of disks: how often, and bytes on each disk.
    let mut found: BTreeMap<(bool, u32), (f64, f64)> = BTreeMap::new();
    let mut shares = vec![0.0; group.disks as usize];
    let mut meetings = Meetings::of(visit);
    for size in sizes {
        let phases: Vec<u64> = match within(group, size) {
            Some(region) => places_within(region, size),
            None => places(group, u64::from(size.align)),
        };
        let share = size.share / phases.len() as f64;
        for offset in phases {
            let mut add = |before| {
                let (start, io) = (group.addressed(offset), (offset, size.bytes));
                group.place(visit.access, before, start, io, &mut parts, || true);
                let count = parts.disks.len() as u32;
                let sum: u64 = parts.disks.iter().map(|disk| parts.bytes(*disk)).sum();
                let entry = found.entry((!before, count)).or_default();
                entry.0 += share;
                entry.1 += share * sum as f64 / f64::from(count.max(1));
                parts.disks.iter().for_each(|disk| shares[*disk as usize] += share);
                meetings.add((!before, count), &parts.disks, share);
            };
            if group.reads_before(visit.access, offset, size.bytes) {
                add(true);
            }
            add(false);
        }
    }
    let all = |last: bool| -> f64 {
        found.iter().filter(|((then, _), _)| *then == last).map(|(_, (often, _))| often).sum()
    };
    let read_before = (all(false) / all(true).max(f64::MIN_POSITIVE)).min(1.0);
    let together = meetings.together(group, &shares);
    let rounds = found.into_iter().map(|((last, parts), (often, bytes))| RaidRound {
        parts,
        often,
        bytes: bytes / often,
        again: if last { read_before } else { 0.0 },
        together: together((last, parts)),
    });
    let rounds = rounds.collect();
    // Parity turns, and so do groups and what is on any stripe.
    let fixed = visit.choice == StripeChoice::Addressed && group.turns_never();
    if group.raid == RaidLevel::Mirrored {
        // Either copy is read as often.
        for pair in shares.chunks_exact_mut(2) {
            pair.fill((pair[0] + pair[1]) / 2.0);
        }
    }
    RaidAverages { rounds, shares: if fixed { uneven(&shares) } else { Vec::new() } }
}

/// How often disks are used at once.
struct Meetings {
    /// Disks that a mirrored write is on for each that holds data, and copies that a read chooses among.
    copies: u32,
    choices: f64,
    /// I/Os at fixed places; none where places turn.
    known: Option<Vec<PlacedIo>>,
}

/// An I/O at a place: of which round and how many disks, which these are, and how often.
struct PlacedIo {
    round: (bool, u32),
    disks: Vec<u32>,
    share: f64,
}

impl Meetings {
    /// Groups of more disks are not looked at in detail.
    const DISKS_MOST: u32 = 64;

    fn of(visit: &RaidVisit) -> Meetings {
        let mirrored = visit.group.raid == RaidLevel::Mirrored;
        let reads = visit.access == RaidAccess::Read;
        let fixed = visit.choice == StripeChoice::Addressed && visit.group.turns_never();
        Meetings {
            copies: if mirrored && !reads { 2 } else { 1 },
            choices: if mirrored && reads { 2.0 } else { 1.0 },
            known: (fixed && visit.group.disks <= Meetings::DISKS_MOST).then(Vec::new),
        }
    }

    fn add(&mut self, round: (bool, u32), disks: &[u32], share: f64) {
        if let Some(known) = &mut self.known {
            known.push(PlacedIo { round, disks: disks.to_vec(), share });
        }
    }

    /// For each round: of what comes to one of its disks, the share that comes to any other of them, by the pairs that it
    /// uses. `shares` is how often each disk is used.
    fn together(self, group: &RaidGroup, shares: &[f64]) -> impl Fn((bool, u32)) -> f64 + use<> {
        let (disks, copies) = (group.disks as usize, self.copies);
        let mut pairs = vec![0.0; if self.known.is_some() { disks * disks } else { 0 }];
        let apart = move |a: u32, b: u32| a / copies != b / copies;
        let of = move |on: &[u32]| {
            let each = on.iter().flat_map(|a| on.iter().map(move |b| (*a, *b)));
            each.filter(|(a, b)| apart(*a, *b)).collect::<Vec<_>>()
        };
        for PlacedIo { disks: on, share, .. } in self.known.iter().flatten() {
            of(on).into_iter().for_each(|(a, b)| pairs[a as usize * disks + b as usize] += share);
        }
        let mut sums: BTreeMap<(bool, u32), (f64, f64)> = BTreeMap::new();
        for PlacedIo { round, disks: on, share } in self.known.iter().flatten() {
            let sum = sums.entry(*round).or_default();
            for (a, b) in of(on) {
                sum.0 += share * pairs[a as usize * disks + b as usize] / shares[a as usize];
                sum.1 += share;
            }
        }
        let (choices, known) = (self.choices, self.known.is_some());
        move |round: (bool, u32)| match sums.get(&round).filter(|_| known) {
            Some((all, count)) if *count > 0.0 => (all / count / choices).min(1.0),
            // Any of the others as often.
            _ => {
                let others = f64::from(round.1.saturating_sub(copies));
                others / (disks as f64 - f64::from(copies)).max(others).max(1.0)
            }
        }
    }
}

/// The region of I/Os that touch a part of the only stripe: of disks that follow one another the last is used in part.
fn within(group: &RaidGroup, size: &SizeShare) -> Option<(u64, u64)> {
    let (from, to) = size.region;
    (to < group.stripe() && to > from + u64::from(size.bytes)).then_some((from, to))
}

/// Offsets of I/Os that are anywhere in a region.
fn places_within((from, to): (u64, u64), size: &SizeShare) -> Vec<u64> {
    const MANY: u64 = 512;
    let (all, align) = (to - from - u64::from(size.bytes), u64::from(size.align.max(1)));
    let at = |place: u64| (from + all / MANY * place + all / MANY / 2) / align * align;
    (0..MANY).map(at).collect()
}

/// Offsets within a stripe of I/Os aligned like this: all of them, or as many of each unit, so that no disk seems to have more
/// than others. Within a unit they are spread evenly, from another place in each (multiples of the golden ratio).
fn places(group: &RaidGroup, align: u64) -> Vec<u64> {
    // Multiples of what both have in common.
    let (mut step, mut rest) = (group.stripe(), align.max(1));
    while rest > 0 {
        (step, rest) = (rest, step % rest);
    }
    let (count, units) = (group.stripe() / step, u64::from(group.data()));
    if count <= PHASES_MAX || !count.is_multiple_of(units) {
        return group.phases(align, PHASES_MAX).collect();
    }
    let (each, some) = (count / units, (PHASES_MAX / units).max(1).min(count / units));
    let spread = |unit: u64| (unit as f64 * 0.618_033_988_749_895).fract();
    let within = |unit: u64, at: u64| {
        let place = (at as f64 + spread(unit)) / some as f64 * each as f64;
        (place as u64).min(each - 1)
    };
    let of_unit = |unit: u64| (0..some).map(move |at| (unit * each + within(unit, at)) * step);
    (0..units).flat_map(of_unit).collect()
}

/// The shares of these disk I/Os, if they differ.
fn uneven(found: &[f64]) -> Vec<f64> {
    let all: f64 = found.iter().sum();
    let mean = all / found.len() as f64;
    match found.iter().all(|one| (one - mean).abs() <= EQUAL * mean) {
        true => Vec::new(),
        false => found.iter().map(|one| one / all).collect(),
    }
}

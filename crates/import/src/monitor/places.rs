//! The places of several files that a record has: hops, and loads at the outermost ones that count operations, with the time
//! line of all loads together.

use super::join::Joined;
use super::model::{Feed, Flow, Leg, Measure, Place, Span};
use super::row::{Row, Usual, of_leg};
use super::window::{FEW, Load};
use record::{HopKind, SourceId};
use std::collections::{BTreeMap, BTreeSet};

/// Hops and loads that a record holds at most: the busiest.
const PLACES_MAX: usize = 2500;
/// Hops and loads that it holds however many counters they have.
const PLACES_LEAST: usize = 24;
/// Counters that a record holds at most for all of its places and steps.
const COUNTERS_MAX: usize = 1_200_000;

/// Kinds at which a load is looked at, the outermost first; kinds of one row are of one level.
pub(super) const LEVELS: &[&[HopKind]] = &[
    &[HopKind::VirtualDisk],
    &[HopKind::LunQueue, HopKind::BlockDevice],
    &[HopKind::Volume, HopKind::Disks],
    &[HopKind::InitiatorPort, HopKind::Adapter],
    &[HopKind::TargetPort],
    &[HopKind::Controller],
    &[HopKind::SwitchPort, HopKind::Trunk],
    &[HopKind::NetworkPair],
];

/// A place of a feed that is written.
pub(super) struct Written<'a> {
    pub feed: &'a Feed,
    pub place: usize,
    pub of: &'a Place,
    pub name: String,
    /// The number of the place that it is, of whichever file.
    pub group: usize,
    /// Whose it is, and of which kind, as the first file of it says.
    pub device: String,
    pub kind: HopKind,
    /// The number of its file.
    pub file: usize,
    pub hop: Option<SourceId>,
    /// What lies behind the adapter of a device, where it is told apart.
    pub storage: Option<SourceId>,
    pub load: Option<SourceId>,
    /// Throughput at which it was seen saturated, in operations a second.
    pub saturated: Option<f64>,
}

/// The places that are written, and those that carry something and are not.
pub(super) struct Chosen<'a> {
    pub kept: Vec<Written<'a>>,
    dropped: Vec<Dropped>,
}

/// The kind of a place and what it carries.
type Dropped = (HopKind, f64);

/// The places that are written: all, or the busiest of each kind where there are too many.
pub(super) fn chosen<'a>(feeds: &'a [Feed], joined: &Joined) -> Chosen<'a> {
    let hosts: BTreeSet<String> =
        feeds.iter().flat_map(|f| f.places.iter().map(|p| joined.device(&p.device))).collect();
    let several = hosts.iter().filter(|host| !host.is_empty()).count() > 1;
    let mut all: Vec<(f64, Written<'_>)> = Vec::new();
    // A place of several files has the name that the first of them gives it; no other place of its kind has that.
    let mut names: BTreeMap<usize, (String, String, HopKind)> = BTreeMap::new();
    let mut taken: BTreeSet<(HopKind, String)> = BTreeSet::new();
    for (file, feed) in feeds.iter().enumerate() {
        for (place, of) in feed.places.iter().enumerate() {
            let group = joined.place(file, place);
            let named = names.entry(group).or_insert_with(|| {
                let own = match several && !of.device.is_empty() {
                    true => format!("{}/{}", of.device, of.name),
                    false => of.name.clone(),
                };
                let name = match taken.insert((of.kind, own.clone())) {
                    true => own,
                    false => format!("{own} of {}", feed.name),
                };
                taken.insert((of.kind, name.clone()));
                (name, of.device.clone(), of.kind)
            });
            let written = Written {
                feed,
                place,
                of,
                name: named.0.clone(),
                group,
                device: named.1.clone(),
                kind: named.2,
                file,
                hop: None,
                storage: None,
                load: None,
                saturated: None,
            };
            let weight = weight(&written);
            // A disk that does nothing explains nothing; a processor or a port does even then.
            let idle_disk =
                matches!(of.kind, HopKind::BlockDevice | HopKind::LunQueue | HopKind::VirtualDisk);
            if weight > 0.0 || !idle_disk {
                all.push((weight, written));
            }
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    let (mut kept, dropped) = busiest(all);
    kept.sort_by(|a, b| {
        let of = |p: &Written<'_>| (order_of(p.kind), p.group, p.file);
        order_of(a.kind)
            .cmp(&order_of(b.kind))
            .then_with(|| a.name.cmp(&b.name))
            .then(of(a).cmp(&of(b)))
    });
    Chosen { kept, dropped }
}

/// As many places as a record holds, of those in the order of what they carry: of one kind half of them at most.
fn busiest(all: Vec<(f64, Written<'_>)>) -> (Vec<Written<'_>>, Vec<Dropped>) {
    let mut of_kind: BTreeMap<HopKind, [usize; 2]> = BTreeMap::new();
    let [mut count, mut counters] = [0; 2];
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    for (weight, written) in all {
        // About eight counters a place, in about two windows as long as the file.
        let cost = written.feed.rows.len() * 16;
        let of = of_kind.entry(written.of.kind).or_default();
        let room = |count: usize, counters: usize, part: usize| {
            count < PLACES_LEAST / part
                || count < PLACES_MAX / part && counters + cost <= COUNTERS_MAX / part
        };
        if room(count, counters, 1) && room(of[0], of[1], 2) {
            (count, counters) = (count + 1, counters + cost);
            *of = [of[0] + 1, of[1] + cost];
            kept.push(written);
        } else if weight > 0.0 && !written.of.within {
            dropped.push((written.of.kind, weight));
        }
    }
    (kept, dropped)
}

/// How much of the load is of places that a record has no room for: their number, and their share of all.
pub(super) fn left_out(chosen: &Chosen<'_>, level: &[HopKind]) -> Option<(usize, f64)> {
    let lost: Vec<f64> =
        chosen.dropped.iter().filter(|(kind, _)| level.contains(kind)).map(|of| of.1).collect();
    let here = chosen.kept.iter().filter(|p| level.contains(&p.of.kind) && !p.of.within);
    let all: f64 = here.map(weight).chain(lost.iter().copied()).sum();
    (!lost.is_empty()).then(|| (lost.len(), lost.iter().sum::<f64>() / all.max(1.0)))
}

/// Kinds in the order of a path, from the guest to the device.
fn order_of(kind: HopKind) -> usize {
    HopKind::ALL.iter().position(|k| *k == kind).unwrap_or(usize::MAX)
}

/// How much goes through a place: bytes, and operations where no bytes are counted.
fn weight(of: &Written<'_>) -> f64 {
    let all = 0..of.feed.rows.len();
    let mean = |measure| of.feed.mean(of.place, measure, all.clone()).unwrap_or(0.0);
    let bytes: f64 =
        [Flow::Read, Flow::Write, Flow::Any].map(|f| mean(Measure::Bytes(f))).iter().sum();
    let ops: f64 = [Flow::Read, Flow::Write, Flow::Any].map(|f| mean(Measure::Ops(f))).iter().sum();
    bytes + ops * 512.0
}

/// The outermost level at which operations or bytes are counted.
pub(super) fn level(places: &[Written<'_>]) -> Option<&'static [HopKind]> {
    let loaded =
        |kinds: &&&[HopKind]| places.iter().any(|p| kinds.contains(&p.of.kind) && weight(p) > 0.0);
    LEVELS.iter().find(loaded).copied()
}

/// Gives places their sources.
pub(super) fn number(places: &mut [Written<'_>], level: &[HopKind]) {
    let at_level = |p: &Written<'_>| level.contains(&p.of.kind) && weight(p) > 0.0;
    // What is stacked on other devices is a load only where these are not counted.
    let beside: BTreeSet<String> = places
        .iter()
        .filter(|p| at_level(p) && !p.of.within)
        .map(|p| p.of.device.clone())
        .collect();
    let wires: BTreeSet<(HopKind, String)> =
        places.iter().filter(|p| !p.of.within).map(|p| (p.of.kind, p.of.device.clone())).collect();
    let mut known: BTreeMap<usize, [Option<SourceId>; 3]> = BTreeMap::new();
    let mut next = 0;
    let mut id = || {
        next += 1;
        SourceId(next - 1)
    };
    for place in places {
        let is_load = at_level(place) && !(place.of.within && beside.contains(&place.of.device));
        // A virtual disk that is the load is no place behind it.
        let is_hop = place.of.kind != HopKind::VirtualDisk || !is_load;
        // Nor is a bond or a VLAN one beside its ports.
        let port = matches!(place.of.kind, HopKind::InitiatorPort | HopKind::SwitchPort);
        let ports = place.of.within && wires.contains(&(place.of.kind, place.of.device.clone()));
        let is_hop = is_hop && !(port && ports);
        let legs = place.feed.find(place.place, Measure::Time(Leg::Device, Flow::Any)).is_some()
            || place.feed.find(place.place, Measure::Time(Leg::Device, Flow::Read)).is_some();
        let behind = place.of.kind == HopKind::LunQueue && legs;
        let [hop, load, storage] = known.entry(place.group).or_default();
        for (source, wanted) in
            [(&mut *hop, is_hop), (&mut *load, is_load), (&mut *storage, behind)]
        {
            if wanted && source.is_none() {
                *source = Some(id());
            }
        }
        (place.hop, place.load) = (hop.filter(|_| is_hop), load.filter(|_| is_load));
        place.storage = storage.filter(|_| behind);
        place.saturated = saturated(place);
    }
}

/// Loads of all places on the intervals of the file with the most of them.
pub(super) fn time_line(places: &[Written<'_>]) -> (Vec<Span>, Vec<Load>) {
    let loads: Vec<&Written<'_>> = places.iter().filter(|p| p.load.is_some()).collect();
    let Some(first) = loads.iter().max_by_key(|p| p.feed.rows.len()) else {
        return (Vec::new(), Vec::new());
    };
    let mut rows = first.feed.rows.clone();
    // A file of other times altogether is on the time line too.
    for place in &loads {
        let own = &place.feed.rows;
        let Some((begins, ends)) = own.first().zip(own.last()) else { continue };
        let next = rows.partition_point(|of| of.to <= begins.from);
        if rows.get(next).is_none_or(|of| of.from >= ends.to) {
            rows.splice(next..next, own.iter().copied());
        }
    }
    // With what is in flight by Little's law, and the operations that it is of.
    let mut out = vec![(Load::default(), [0.0; 2]); rows.len()];
    let mut known = vec![false; rows.len()];
    for place in loads {
        let usual = Usual::of(place, Span { from: i64::MIN, to: i64::MAX });
        let mut at = 0;
        for (row, span) in place.feed.rows.iter().enumerate() {
            while at < rows.len() && rows[at].to <= span.from {
                at += 1;
            }
            let counted = Row::of(place, row);
            let (figures, _) = usual.fill(row, &counted);
            let ops = Row::all(figures.ops).unwrap_or(0.0);
            let amount = Row::all(figures.bytes).unwrap_or(ops * 512.0);
            let in_flight = figures.little(figures.time);
            let grid = rows[at..].iter().zip(&mut out[at..]).zip(&mut known[at..]);
            for ((grid, (load, sum)), known) in grid.take_while(|((g, _), _)| g.from < span.to) {
                *known |= counted.counts();
                let share = (span.to.min(grid.to) - span.from.max(grid.from)).max(0) as f64
                    / (grid.to - grid.from) as f64;
                load.amount += amount * share;
                load.ops += ops * share;
                if let Some(in_flight) = in_flight {
                    *sum = [sum[0] + in_flight * share, sum[1] + ops * share];
                }
            }
        }
    }
    let mean = |(load, [sum, of]): (Load, [f64; 2])| Load {
        latency: (of > 0.0 && sum > 0.0).then(|| sum / of * 1e9),
        ..load
    };
    // Where no load is known there is a gap.
    let all = rows.into_iter().zip(out.into_iter().map(mean)).zip(known);
    all.filter(|(_, known)| *known).map(|(row, _)| row).unzip()
}

/// Whether throughput stood still while the queue grew: at two load levels of one mix the same operations a second. Then what
/// is behind the place is saturated at that rate.
fn saturated(place: &Written<'_>) -> Option<f64> {
    if !matches!(place.of.kind, HopKind::BlockDevice | HopKind::LunQueue | HopKind::Volume) {
        return None;
    }
    let mut seen: Vec<(f64, f64, f64, f64)> = Vec::new();
    for row in 0..place.feed.rows.len() {
        let of = Row::of(place, row);
        let time = if place.storage.is_some() {
            [Flow::Read, Flow::Write].map(|f| of_leg(place, row, Leg::Device, f))
        } else {
            of.time
        };
        let (Some(ops), Some(queue)) =
            (Row::all(of.ops).filter(|ops| *ops >= FEW), of.little(time))
        else {
            continue;
        };
        let size = Row::all(of.bytes)? / ops;
        seen.push((queue, ops, size, of.ops[0].unwrap_or(0.0) / ops));
    }
    if seen.len() < 6 {
        return None;
    }
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The longest stretch of growing queues at whose ends throughput and mix are the same.
    let third = seen.len() / 3;
    let high = &seen[seen.len() - third..];
    let median = |rows: &[(f64, f64, f64, f64)], of: fn(&(f64, f64, f64, f64)) -> f64| {
        let mut values: Vec<f64> = rows.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let near = |a: f64, b: f64, by: f64| (a - b).abs() <= by * a.max(b);
    for low in
        seen[..seen.len() - third].chunks(third.max(1)).rev().chain(std::iter::once(&seen[..third]))
    {
        let (a, b) = (low, high);
        let grew = median(b, |r| r.0) >= 1.5 * median(a, |r| r.0) && median(a, |r| r.0) >= 2.0;
        let still = near(median(a, |r| r.1), median(b, |r| r.1), 0.03);
        let same = near(median(a, |r| r.2), median(b, |r| r.2), 0.1)
            && (median(a, |r| r.3) - median(b, |r| r.3)).abs() <= 0.05;
        if grew && still && same {
            return Some(median(b, |r| r.1));
        }
    }
    None
}

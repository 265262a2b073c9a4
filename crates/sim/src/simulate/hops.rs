//! The counters of hops between two cuts, from the engine's snapshots.
//!
//! A hop stands for several places of the network: stations in a row, both directions of a link, a queue limit. What went
//! through them is what the busiest of them saw; what stays in them adds up. A group of disks is the exception: each I/O
//! sees some of them, so that their traffic adds up too.
//!
//! **Data is counted where it is data:** where a hop has wires, on the one that gives its rate, as it crosses. A command
//! passes the hop's other places at another time than its data, so that what they saw in a window may be more than its
//! wires carry.

use super::elements::{ElementCounters, ElementCounts};
use super::meter::Meter;
use super::step_event::Reading;
use crate::engine::Simulation;
use crate::plant::{HopElement, Plant, PlantHop};
use record::{CounterId, HopKind};

/// Remembers what was read last.
pub(super) struct HopReader {
    hops: Vec<HopPlaces>,
    elements: ElementCounters,
}

/// Where a hop is counted.
struct HopPlaces {
    kind: HopKind,
    places: Vec<HopElement>,
    /// Where its traffic is counted instead; of disks these are lines to each, first all for reads and then all for writes.
    passed: Vec<HopElement>,
    /// Which of its places are the wires of its data: of reads, of writes.
    wires: [Option<usize>; 2],
}

impl HopReader {
    /// The hops of a plant, which has not moved yet.
    pub fn new(plant: &Plant) -> HopReader {
        HopReader::of(plant, |_| true)
    }

    /// Some hops of a plant.
    pub fn of(plant: &Plant, wanted: impl Fn(&PlantHop) -> bool) -> HopReader {
        let places = |hop: &PlantHop| HopPlaces {
            kind: hop.kind,
            places: hop.places.clone(),
            passed: hop.passed.clone(),
            wires: [0, 1].map(|way| hop.wire(&plant.network, way).map(|(at, _)| at)),
        };
        HopReader {
            hops: plant.hops.iter().filter(|hop| wanted(hop)).map(places).collect(),
            elements: ElementCounters::new(&plant.network),
        }
    }

    /// What every hop counted since it was last asked. A hop without places has nothing to count.
    pub fn readings(&mut self, simulation: &mut Simulation<Meter>) -> Vec<Vec<Reading>> {
        self.elements.look(simulation);
        let of = |hop: &HopPlaces| {
            let [seen, passed] = [&hop.places, &hop.passed].map(|places| -> Vec<ElementCounts> {
                places.iter().map(|place| self.elements.of(*place)).collect()
            });
            if seen.is_empty() {
                return Vec::new();
            }
            readings(hop, &seen, &passed, self.elements.span())
        };
        self.hops.iter().map(of).collect()
    }
}

fn is_disk(place: &HopElement) -> bool {
    matches!(place, HopElement::Station(_))
}

/// Seconds for which all that a hop has was at work: those of its busiest place. Of a group of disks the mean counts, since an
/// I/O takes whichever disk has its address; and where disks have lines, that of the busiest of the three.
fn busy(hop: &HopPlaces, seen: &[ElementCounts]) -> Option<f64> {
    let (kind, places) = (hop.kind, &hop.places);
    let most = |of: &mut dyn Iterator<Item = f64>| of.reduce(f64::max);
    let serving = || places.iter().zip(seen).filter(|(_, s)| s.serves);
    if kind != HopKind::Disks {
        return most(&mut serving().map(|(_, s)| s.busy));
    }
    let disks: Vec<f64> = serving().filter(|(p, _)| is_disk(p)).map(|(_, s)| s.busy).collect();
    let each = if hop.passed.is_empty() { disks.len() } else { hop.passed.len() / 2 };
    let means = disks.chunks(each.max(1)).map(|of| of.iter().sum::<f64>() / of.len() as f64);
    let wires = serving().filter(|(place, _)| !is_disk(place)).map(|(_, s)| s.busy);
    most(&mut wires.chain(means))
}

/// The counters of a hop over `span` seconds: what its places have seen, and those that it passed.
fn readings(
    hop: &HopPlaces,
    seen: &[ElementCounts],
    passed: &[ElementCounts],
    span: f64,
) -> Vec<Reading> {
    let (kind, places) = (hop.kind, &hop.places);
    let sum = |of: fn(&ElementCounts) -> f64| seen.iter().map(of).sum::<f64>();
    let most = |of: fn(&ElementCounts) -> f64| seen.iter().map(of).fold(0.0, f64::max);
    // What goes to several disks comes over the wires of all of them once more.
    let of_disks = |of: fn(&ElementCounts) -> f64| {
        let disks = places.iter().zip(seen).filter(|(place, _)| is_disk(place));
        disks.map(|(_, seen)| of(seen)).reduce(|a, b| a + b)
    };
    let traffic = |of: fn(&ElementCounts) -> f64| match kind {
        _ if !passed.is_empty() => passed.iter().map(of).sum(),
        HopKind::Disks => of_disks(of).unwrap_or_else(|| most(of)),
        _ => most(of),
    };
    // The wires of disks carry what redundancy adds, too.
    let wires = hop.wires.map(|at| at.and_then(|at| seen.get(at)).filter(|_| passed.is_empty()));
    let carried = |way: usize| match kind {
        HopKind::Disks => wires[way].map(|wire| wire.carried.floor()),
        _ => wires[way].map(|wire| wire.bytes[way]),
    };
    let mut all = vec![
        (CounterId::ReadOps, traffic(|s| s.ops[0])),
        (CounterId::WriteOps, traffic(|s| s.ops[1])),
        (CounterId::ReadBytes, carried(0).unwrap_or_else(|| traffic(|s| s.bytes[0]))),
        (CounterId::WriteBytes, carried(1).unwrap_or_else(|| traffic(|s| s.bytes[1]))),
        (CounterId::ReadTime, sum(|s| s.stayed[0]) * 1e9),
        (CounterId::WriteTime, sum(|s| s.stayed[1]) * 1e9),
    ];
    if let Some(busy) = busy(hop, seen) {
        all.push((CounterId::Busy, busy.min(span) * 1e9));
    }
    all.push((CounterId::QueueDepthMean, sum(|s| s.present) / span));
    all.push((CounterId::Waiting, sum(|s| s.waiting) / span));
    // Of several queue limits the one that is nearest to its end.
    let fullest = seen.iter().filter(|s| s.tokens > 0.0);
    let fullest = fullest.max_by(|a, b| (a.taken / a.tokens).total_cmp(&(b.taken / b.tokens)));
    if let Some(pool) = fullest {
        all.push((CounterId::SlotsUsed, pool.taken / span));
        all.push((CounterId::SlotsWaiting, pool.present / span));
    }
    all
}

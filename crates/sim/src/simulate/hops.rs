//! What hops count between two cuts, read off the engine's snapshots.
//!
//! A hop stands for several places of the network: stations in a row, both directions of a link, a queue limit. What went
//! through them is what the busiest of them saw; what stays in them adds up. A group of disks is the exception: each I/O
//! sees some of them, so that their traffic adds up too.

use super::meter::Meter;
use super::piece::Reading;
use super::sight::{Sight, Sights};
use crate::engine::Simulation;
use crate::plant::{HopElement, Plant, PlantHop};
use scenario::topology::HopKind;

/// Remembers what was read last.
pub(super) struct Ledger {
    hops: Vec<(HopKind, Vec<HopElement>)>,
    sights: Sights,
}

impl Ledger {
    /// The hops of a plant, which has not moved yet.
    pub fn new(plant: &Plant) -> Ledger {
        Ledger::of(plant, |_| true)
    }

    /// Some hops of a plant.
    pub fn of(plant: &Plant, wanted: impl Fn(&PlantHop) -> bool) -> Ledger {
        let places = |hop: &PlantHop| (hop.kind, hop.places.clone());
        Ledger {
            hops: plant.hops.iter().filter(|hop| wanted(hop)).map(places).collect(),
            sights: Sights::new(&plant.network),
        }
    }

    /// What every hop counted since it was last asked. A hop without places has nothing to count.
    pub fn readings(&mut self, simulation: &mut Simulation<Meter>) -> Vec<Vec<Reading>> {
        self.sights.look(simulation);
        let of = |(kind, places): &(HopKind, Vec<HopElement>)| {
            let seen: Vec<Sight> = places.iter().map(|place| self.sights.of(*place)).collect();
            if seen.is_empty() { Vec::new() } else { readings(*kind, &seen, self.sights.span()) }
        };
        self.hops.iter().map(of).collect()
    }
}

/// The counters of a hop of these places over `span` seconds.
fn readings(kind: HopKind, seen: &[Sight], span: f64) -> Vec<Reading> {
    let sum = |of: fn(&Sight) -> f64| seen.iter().map(of).sum::<f64>();
    let most = |of: fn(&Sight) -> f64| seen.iter().map(of).fold(0.0, f64::max);
    let traffic = |of: fn(&Sight) -> f64| if kind == HopKind::Disks { sum(of) } else { most(of) };
    let mut all = vec![
        ("read-ops", traffic(|s| s.ops[0]), "1"),
        ("write-ops", traffic(|s| s.ops[1]), "1"),
        ("read-bytes", traffic(|s| s.bytes[0]), "B"),
        ("write-bytes", traffic(|s| s.bytes[1]), "B"),
        ("read-time", sum(|s| s.stayed[0]) * 1e9, "ns"),
        ("write-time", sum(|s| s.stayed[1]) * 1e9, "ns"),
    ];
    if seen.iter().any(|s| s.serves) {
        all.push(("busy", most(|s| s.busy).min(span) * 1e9, "ns"));
    }
    all.push(("queue", sum(|s| s.present) / span, "1"));
    all.push(("waiting", sum(|s| s.waiting) / span, "1"));
    // Of several queue limits the one that is nearest to its end.
    let fullest = seen.iter().filter(|s| s.tokens > 0.0);
    let fullest = fullest.max_by(|a, b| (a.taken / a.tokens).total_cmp(&(b.taken / b.tokens)));
    if let Some(pool) = fullest {
        all.push(("slots-used", pool.taken / span, "1"));
        all.push(("slots-waiting", pool.present / span, "1"));
    }
    all
}
